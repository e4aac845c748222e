"""Data-dependent errors: raised now, or by the call of a traced function."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._node import is_tracer
from lazynp._recorder import local
from lazynp._values import extent, knowable, without_repeats
from lazynp.functions._operands import as_array, plain
from lazynp.primitives import elementwise
from lazynp.primitives.checks import check_later


def traced(*xs: Any) -> bool:
    """Whether a transformation traces one of these (or an element of a list of them), so that it
    has no value, or none that keeps its tangent.
    """
    seen: set[int] = set()
    waiting = list(xs)
    while waiting:
        x = waiting.pop()
        if isinstance(x, (tuple, list)):
            if id(x) not in seen:  # a list may hold itself
                seen.add(id(x))
                waiting += x
        elif isinstance(x, Array):
            node = x._read()
            if is_tracer(node) or not knowable(node):
                return True
    return False


def depth_of(value: Any) -> int:
    """`np.ndim`, also of a list of traced numbers."""
    if isinstance(value, (list, tuple)):
        return 1 + max(map(depth_of, value), default=0)
    return value.ndim if isinstance(value, Array) else np.ndim(value)


class asking:
    """The text of the error for a value that is needed but unknown: the reason `why`, and a remedy.
    If functions call each other, the one that the user called decides.
    """

    __slots__ = ("text", "before")

    def __init__(self, why: str, cure: str) -> None:
        self.text = f"({why}). {cure}"

    def __enter__(self) -> None:
        self.before = local.cure
        local.cure = self.before or self.text

    def __exit__(self, *error: Any) -> None:
        local.cure = self.before


def refuse(
    bad: Any, kind: type[Exception], message: str, value: Any = None, size: Any = None
) -> None:
    """Raise this error if an element of `bad` is true. In the message, {} stands for the element of
    `value` (integers of the same shape) at the first such place, {size} for the size.
    """
    bad = plain(as_array(bad))
    known = extent(bad._read())
    if known is None:
        check_later(bad, kind, message, value, size)
    elif np.any(known):
        at_fault = "" if value is None else extent(value._read())[known].flat[0]
        raise kind(message.replace("{size}", str(size)).replace("{}", str(at_fault)))


def refuse_outside(index: Array, n: int, kind: type[Exception], message: str) -> None:
    """Raise this error if an index is not in 0..n-1. In the message, {} stands for the first such
    index.
    """
    index = plain(index)
    known = extent(index._read())
    if known is None:
        below, above = elementwise.less(index, 0), elementwise.greater_equal(index, n)
        check_later(elementwise.logical_or(below, above), kind, message, index)
        return
    known = without_repeats(np.asarray(known))
    bad = np.less(known, 0) | np.greater_equal(known, n)
    if np.any(bad):
        raise kind(message.replace("{}", str(known[bad].flat[0])))
