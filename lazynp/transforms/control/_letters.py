"""Strings that are read by a traced index: `s[i - 1] == t[j - 1]`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from lazynp._array import Array
from lazynp.primitives import elementwise
from lazynp.transforms.control._state import CannotStage, kind


class Letter:
    """One letter of a string, that is not known while tracing. code: its number, a traced int. What
    it can do is compared with letters; whatever else is asked of it is an error, so that the loop
    stays with Python.
    """

    __slots__ = ("code",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, code: Array) -> None:
        self.code = code

    def __eq__(self, other: object) -> Any:
        code = _code(other)
        if code is not None:
            return elementwise.equal(self.code, code)
        return False if _never_equal(other) else _refuse(other)

    def __ne__(self, other: object) -> Any:
        code = _code(other)
        if code is not None:
            return elementwise.not_equal(self.code, code)
        return True if _never_equal(other) else _refuse(other)

    def __lt__(self, other: object) -> Any:
        return self._compared(elementwise.less, operator.lt, other)

    def __le__(self, other: object) -> Any:
        return self._compared(elementwise.less_equal, operator.le, other)

    def __gt__(self, other: object) -> Any:
        return self._compared(elementwise.greater, operator.gt, other)

    def __ge__(self, other: object) -> Any:
        return self._compared(elementwise.greater_equal, operator.ge, other)

    def _compared(self, by: Any, name: Callable[[Any, Any], Any], other: object) -> Any:
        code = _code(other)
        return by(self.code, code) if code is not None else _refuse(other)

    def __bool__(self) -> bool:
        return True  # no letter is an empty string

    def __str__(self) -> str:
        raise CannotStage("a letter at a traced index becomes text")

    __repr__ = __str__

    def __format__(self, how: str) -> str:
        return str(self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise CannotStage("a letter at a traced index becomes an array")


def _code(x: object) -> Any:
    if type(x) is Letter:
        return x.code
    return ord(x) if isinstance(x, str) and len(x) == 1 else None


def _never_equal(x: object) -> bool:
    return x is None or isinstance(x, (str, bytes, bool, int, float, complex, tuple, list))


def _refuse(other: object) -> Any:
    raise CannotStage(f"compares a letter at a traced index with a {kind(other)}")


def order(x: Any) -> Any:
    """`ord`"""
    return x.code if type(x) is Letter else ord(x)


@functools.lru_cache(maxsize=64)
def codes(text: str | bytes) -> tuple[int, ...]:
    """The numbers of the letters of a string, or those of bytes."""
    return tuple(text) if isinstance(text, bytes) else tuple(map(ord, text))
