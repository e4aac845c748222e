"""Which function of `math` or `cmath` asks for a value, and what NumPy has in its place.

Those functions are C, and want a float: there is no way for them to take what is traced. What the
user's line calls is read from its text, so that the error can name what to write instead.
"""

from __future__ import annotations

import linecache
import re
from itertools import islice
from types import FrameType, ModuleType
from typing import Any

import numpy as np

_CALL = re.compile(rb"\s*([A-Za-z_][\w.]*)\s*\(")
# where the name is another
_NAMES = {
    "dist": "linalg.norm", "erf": "special.erf", "erfc": "special.erfc",
    "fsum": "sum", "gamma": "special.gamma", "lgamma": "special.gammaln", "phase": "angle",
    "sumprod": "dot", "ulp": "spacing",
}  # fmt: skip
_NONE = frozenset({"remainder", "polar"})  # NumPy's of the name is something else, or there is none


def instead_of_math(frame: FrameType) -> str | None:
    """`math.sin: write np.sin`, if that is what this frame is calling."""
    called = _called(frame)
    module, name = getattr(called, "__module__", None), getattr(called, "__name__", "")
    if module not in ("math", "cmath") or name in _NONE:
        return None
    ours = _NAMES.get(name, name)
    if "." not in ours and not hasattr(np, ours):
        return None
    return f"{module}.{name} takes no traced value: write np.{ours}"


def _called(frame: FrameType) -> Any:
    """What the present instruction calls, by the text of its line; None if that is not known."""
    code = frame.f_code
    place = frame.f_lasti // 2
    line, _, begin, _ = next(islice(code.co_positions(), place, None), (None,) * 4)
    if line is None or begin is None:
        return None
    found = _CALL.match(linecache.getline(code.co_filename, line).encode()[begin:])
    if found is None:
        return None
    first, *rest = found[1].decode().split(".")
    value = frame.f_locals.get(first, frame.f_globals.get(first))
    for name in rest:
        if not isinstance(value, ModuleType):
            return None
        value = getattr(value, name, None)
    return value
