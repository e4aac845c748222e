"""Where a list is that rounds append to: a variable, or a part of an object (`hist["x"]`,
`self.path`), by what the source calls it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from lazynp._promotion._objects import MISSING, attributes, is_plain


def path_of(e: ast.expr) -> str | None:
    """The name of a variable, or how a part of it is written; None if it may be another each time
    that it is asked for.
    """
    part = e
    while not isinstance(part, ast.Name):
        if isinstance(part, ast.Attribute):
            part = part.value
        elif isinstance(part, ast.Subscript) and _is_key(part.slice):
            part = part.value
        else:
            return None
    return ast.unparse(e)


def _is_key(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and type(e.value) in (str, int)


@functools.cache
def _steps(path: str) -> tuple[str, tuple[tuple[bool, Any], ...]]:
    """The variable, and what is asked of it: an attribute, or a key."""
    part: Any = ast.parse(path, mode="eval").body
    found: list[tuple[bool, Any]] = []
    while not isinstance(part, ast.Name):
        by_key = isinstance(part, ast.Subscript)
        found.append((by_key, part.slice.value if by_key else part.attr))  # type: ignore
        part = part.value
    return part.id, tuple(found[::-1])


def root_of(path: str) -> str:
    return path if path.isidentifier() else _steps(path)[0]


def found_at(path: str, value: Callable[[str], Any]) -> Any:
    """What is there by now, or MISSING; no code of the user's runs. value: of a variable."""
    if path.isidentifier():
        return value(path)
    name, steps = _steps(path)
    found = value(name)
    for by_key, key in steps:
        if by_key:
            if type(found) not in (dict, list):
                return MISSING
            try:
                found = found[key]
            except LookupError:
                return MISSING
        elif is_plain(type(found)):
            found = (attributes(found) or {}).get(key, MISSING)
        else:
            return MISSING
    return found
