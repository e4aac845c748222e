"""`while k < n: ...; k += 1`, which is a `for` loop if k and n are integers.

A `for` loop knows its number of rounds, so it is staged at once, and has a reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp.transforms.control._loops import Applied, for_, while_
from lazynp.transforms.control._sequences import sequence
from lazynp.transforms.control._state import bind, cells_of, undecided, value_of


def counted(
    name: str, bound: Callable[[], Any], sized: Callable[[], Any], step: int, beyond: int,
    test: Callable[[], Any], body: Callable[[Any], None], ends: Any, *facts: Any,
) -> None:  # fmt: skip
    """`while test(): body(k)`, with what `_counting` has found."""
    cell = cells_of(body)[name]
    start = value_of(cell)
    if _is_integer(start) and all([isinstance(x, (Array, np.ndarray, tuple)) for x in sized()]):
        end = bound()
        if _is_integer(end):
            end = end + beyond if beyond else end
            for_(sequence(range)(start, end, step), body, ends, *facts)
            if ends is None and type(start) is int and type(end) is int:
                bind(cell, start + step * len(range(start, end, step)))  # known, as before
            return
    while_(test, Applied(body, lambda: value_of(cell)), *facts)


def _is_integer(x: Any) -> bool:
    if type(x) is int:
        return True
    return undecided(x) and isinstance(x, Array) and not x.ndim and x.dtype.kind in "iu"
