"""`while k < n: ...; k += 1`, which is a `for` loop if k and n are integers, and
`while t < end: ...; t += dt` of known numbers, whose rounds are counted by adding dt up.

A `for` loop knows its number of rounds, so it is staged at once, and has a reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray
from lazynp.transforms.control._loops import Applied, for_, while_
from lazynp.transforms.control._sequences import sequence
from lazynp.transforms.control._state import bind, cells_of, undecided, value_of


def counted(
    name: str, bound: Callable[[], Any], sized: Callable[[], Any], by: Callable[[], Any],
    beyond: int, test: Callable[[], Any], body: Callable[[Any], None], ends: Any, *facts: Any,
) -> None:  # fmt: skip
    """`while test(): body(k)`, with what `_counting` has found."""
    cell = cells_of(body)[name]
    start, step = value_of(cell), by()
    measured = all([isinstance(x, (Array, np.ndarray, tuple)) for x in sized()])
    measured = measured and type(start) is not NDArray  # `k += 1` writes an array of no axes
    if _is_integer(start) and type(step) is int and beyond * step >= 0 and step and measured:
        end = bound()
        if _is_integer(end):
            end = end + beyond if beyond else end
            for_(sequence(range)(start, end, step), body, ends, *facts)
            if ends is None and type(start) is int and type(end) is int:
                bind(cell, start + step * len(range(start, end, step)))  # known, as before
            return
    given = Applied(body, lambda: value_of(cell))
    if type(start) in _NUMBERS and type(step) in _NUMBERS and measured:
        if type(bound()) in _NUMBERS and (found := _added_up(cell, step, test)) is not None:
            count, last = found
            for_(range(count), given, ends, *facts)
            if ends is None:
                bind(cell, last)
            return
    while_(test, given, *facts)


_NUMBERS = (int, float)
_MOST = 100_000  # rounds that are counted: it takes some 30 ms


def _added_up(cell: Any, step: Any, test: Callable[[], Any]) -> tuple[int, Any] | None:
    """How many rounds there are, and what they leave in the variable; None: nobody knows."""
    start = value_of(cell)
    count, last = 0, start
    try:
        while not undecided(going := test()) and count <= _MOST:
            if not going:
                return count, last
            count, last = count + 1, last + step
            bind(cell, last)
    finally:
        bind(cell, start)
    return None


def _is_integer(x: Any) -> bool:
    if type(x) is int:
        return True
    return undecided(x) and isinstance(x, Array) and not x.ndim and x.dtype.kind in "iu"
