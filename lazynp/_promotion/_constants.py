"""Lists and dicts of constants that a program reads by global names, closures or classes. They may
change in place, so before each call the program compares what they hold.
"""

from __future__ import annotations

from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MOST = 128  # parts of one: they are compared each time


class Constants:
    """A list or dict. objects: it, and those in it."""

    def __init__(self, value: Any) -> None:
        self.objects: list[Any] = []
        self._value, self._parts = value, _parts_of(value, self.objects)

    def hold(self) -> bool:
        objects: list[Any] = []
        try:
            same = _parts_of(self._value, objects) == self._parts
        except _Others:
            return False
        return same and all(map(_is, objects, self.objects))


class _Others(Exception):
    """It holds something else, or too much."""


def constants_of(value: Any) -> Constants | None:
    if type(value) not in (list, dict):
        return None
    try:
        return Constants(value)
    except _Others:
        return None


def _is(a: Any, b: Any) -> bool:
    return a is b


def _parts_of(x: Any, objects: list[Any]) -> Any:
    """Types and values. (0.0 and -0.0 are equal, and so are 1 and True: their text is not.)"""
    kind = type(x)
    if kind in _PLAIN:
        return kind, repr(x)
    if kind in (list, dict):
        if any(x is o for o in objects):
            raise _Others
        objects.append(x)
    if kind not in (list, dict, tuple) or len(x) + len(objects) > _MOST:
        raise _Others
    items = [*x.keys(), *x.values()] if kind is dict else x
    return kind, tuple([_parts_of(y, objects) for y in items])
