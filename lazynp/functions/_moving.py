"""Basic indices with places that have no value yet: `x[i]` and `x[i : i + 3]` in a loop, where `i`
counts its rounds, or differs between the examples of `vmap`.

The starts of such a slice are operands. Its size must be known, so its two bounds must be a
constant distance apart. NumPy cuts off what leaves the array, which changes the size: so the slice
must also be known to lie within.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import Aval
from lazynp._intervals import distance, interval
from lazynp._steps import Basic, Slice, basic_slice, expand_ellipsis
from lazynp._values import knowable
from lazynp.functions._advanced import bounded
from lazynp.functions._index_keys import unknown_bounds
from lazynp.functions._operands import cast
from lazynp.primitives import elementwise


class _IndexStep(Slice):
    """A slice that knows whether NumPy would return a scalar for it."""

    scalar = False


class _ScalarStep(Slice):
    scalar = True


def index_step(aval: Aval, index: Any) -> Any:
    items = index if isinstance(index, tuple) else (index,)
    meaning = basic_slice(aval, items)
    plain = all(type(i) is int for i in items) and len(items) == aval.ndim
    kind = _ScalarStep if plain else _IndexStep
    return kind(meaning.index, meaning.params, meaning.starts)


def moves(index: Any) -> bool:
    """Whether the index is basic apart from integers with unknown values (vmap, jit)."""
    unknown = False
    for item in index if isinstance(index, tuple) else (index,):
        if isinstance(item, slice):
            unknown = unknown or unknown_bounds(item)
        elif isinstance(item, Array):
            if item.ndim or item.dtype.kind not in "iu":
                return False
            unknown = unknown or not knowable(item._read())
        elif not (item is None or item is Ellipsis or isinstance(item, (int, np.integer))):
            return False
    return unknown


def has_window(item: slice, length: int) -> bool:
    """Whether the size of a slice with unknown bounds is known."""
    step = 1 if item.step is None else item.step
    return type(step) is int and step != 0 and (
        _extent(item.start, item.stop, step, length) is not None
    )  # fmt: skip


def same_slice(a: Any, b: Any) -> bool:
    """Whether two steps are the same slice."""
    a, b = (s.meaning if type(s) is Basic else s for s in (a, b))
    if not isinstance(a, Slice) or not isinstance(b, Slice):
        return False
    same = all(x is y or type(x) is not list and x == y for x, y in zip(a.starts, b.starts))
    return same and a.params == b.params


def sized_step(aval: Aval, index: Any) -> Any:
    """The step of an index with sizes for bounds, which may have integers without values, too."""
    if moves(index):
        return moving_step(aval, index)
    return basic_slice(aval, index if isinstance(index, tuple) else (index,))


def moving_step(aval: Aval, index: Any) -> Any:
    """The step of such an index. What is unknown of its places are operands."""
    items = expand_ellipsis(index if isinstance(index, tuple) else (index,), aval.ndim)
    fixed: list[Any] = []  # an index of the same shape at some known place
    moving: dict[int, Array] = {}  # by axis
    axis = 0
    for item in items:
        if isinstance(item, Array):
            moving[axis], item = bounded(item, aval.shape[axis], axis), 0
        elif isinstance(item, slice) and unknown_bounds(item):
            moving[axis], item = _window(item, aval.shape[axis])
        fixed.append(item)
        axis += item is not None
    step = index_step(aval, tuple(fixed))
    axes = step.params["axes"]  # without those that are taken as a whole
    starts = [moving[a]._read() if a in moving else s for a, s in zip(axes, step.starts)]
    return type(step)(step.index, step.params, tuple(starts))


def _window(item: slice, length: int) -> tuple[Array, slice]:
    """The first place of a slice with unknown bounds, and a slice of its size at a known place.
    Raises the error of a value that is asked for if the size is not known.
    """
    start, step = item.start, 1 if item.step is None else item.step
    found = _extent(start, item.stop, step, length) if type(step) is int and step else None
    if found is None:
        item.indices(length)
        raise AssertionError("a bound of unknown value is an int")
    back, size = found
    first = cast(start, np.int64)
    last = (size - 1) * step
    place = slice(max(0, -last), None if step < 0 else last + 1, step) if size else slice(0)
    return elementwise.add(first, back) if back else first, place


def _extent(start: Any, stop: Any, step: int, length: int) -> tuple[int, int] | None:
    """What to add to the start so that it counts from the front, and the size; None if the size may
    vary, or if NumPy might cut the slice off.
    """
    if not isinstance(start, Array) or not isinstance(stop, Array):
        return None
    between = distance(start._read(), stop._read())
    if between is None:
        return None
    ends, of_stop = interval(start._read()), interval(stop._read())
    low, high = max(ends[0], of_stop[0] - between), min(ends[1], of_stop[1] - between)
    if low >= 0 and low + between >= 0:
        back = 0
    elif high < 0 and high + between < 0:
        back = length  # both count from the end
    else:
        return None
    size = len(range(0, between, step))
    if not size:
        return back, 0
    low, high, last = low + back, high + back, (size - 1) * step
    fits = min(low, low + last) >= 0 and max(high, high + last) < length
    return (back, size) if fits else None
