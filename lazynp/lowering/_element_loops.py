"""Programs whose loops go over single elements: what their rounds compute is small."""

from __future__ import annotations

import math
import re

_FEW = 64  # elements: so many make no kernel that is worth vector code
_LOOP = '"stablehlo.while"'
_OPENING = ('"stablehlo.while"', '"stablehlo.case"', '"stablehlo.if"')
_WRITE = '"stablehlo.dynamic_update_slice"'
_TYPE = re.compile(r"tensor<((?:\d+x)*)\w+>")


def only_elements(text: str) -> bool:
    """Whether the text of a module has loops, and all that their rounds compute are few elements,
    and parts of arrays, as small, that are written in place.
    """
    if _LOOP not in text:
        return False
    depth = 0
    for line in text.splitlines():
        if line.endswith("({"):
            if depth and not any(name in line for name in _OPENING):
                return False  # a reduction, a sort, ...
            depth += depth > 0 or _LOOP in line
        elif line.startswith("})"):
            depth -= depth > 0
        elif depth and line.startswith("%") and not _is_small(line):
            return False
    return True


def _is_small(line: str) -> bool:
    """Whether a line computes few elements."""
    _, _, types = line.rpartition(" : (")
    takes, arrow, gives = types.rpartition(") -> ")
    if not arrow:  # a region's parameters stand elsewhere
        return False
    found = _TYPE.findall(takes)[1:2] if _WRITE in line else _TYPE.findall(gives)
    return all(math.prod(map(int, shape.split("x")[:-1])) <= _FEW for shape in found)
