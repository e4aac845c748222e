"""Reading and writing parts of the arrays behind Refs: NumPy's indices and `ds`."""

from __future__ import annotations

import math
import operator
from types import EllipsisType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, new_array
from lazynp._dataclass import dataclass
from lazynp._intervals import interval
from lazynp._steps import expand_ellipsis
from lazynp._values import knowable
from lazynp.functions._advanced import bounded
from lazynp.functions._operands import as_array, broadcast, cast
from lazynp.functions.creation import arange
from lazynp.primitives import elementwise, shaping
from lazynp.primitives.checks import check_later

_INT = np.dtype(np.int64)


@dataclass(frozen=True, eq=False)
class Slice:
    """`ds(start, size, stride)`: so many elements from a start that may be traced."""

    start: Any
    size: int
    stride: int = 1

    @property
    def span(self) -> int:
        """The extent from the first element to the last."""
        return (self.size - 1) * self.stride + 1 if self.size else 0


def ds(start: Any, size: int, stride: int = 1) -> Slice:
    """`start : start + size * stride : stride`, in an index of a Ref. `start` may be traced."""
    size, stride = operator.index(size), operator.index(stride)
    if size < 0:
        raise ValueError(f"ds: size must not be negative, got {size}")
    if stride < 1:
        raise ValueError(f"ds: stride must be positive, got {stride}")
    return Slice(_place(start, "ds: start"), size, stride)


def _place(x: Any, what: str) -> Any:
    """A number of an element: an int, or a 0-d Array of integers whose value is not known."""
    if isinstance(x, bool) or isinstance(x, (float, complex)):
        raise TypeError(f"{what} must be an integer, got {x!r}")
    if isinstance(x, (int, np.integer)) and not isinstance(x, Array):
        return int(x)
    array = as_array(x)
    if array.ndim or array.dtype.kind not in "iu":
        raise TypeError(f"{what} must be an integer, got {array.dtype} of shape {array.shape}")
    return int(array) if knowable(array._read()) else array


def items_of(index: Any, ndim: int) -> tuple[Any, ...]:
    """The index as a tuple without `...`, with an item for each axis (None: a new axis)."""
    given = index if isinstance(index, tuple) else (index,)
    return expand_ellipsis(tuple(map(_item, given)), ndim)


def _item(item: Any) -> Any:
    if item is None or isinstance(item, (EllipsisType, Slice)):
        return item
    if isinstance(item, slice):
        parts = (item.start, item.stop, item.step)
        return slice(*[p if p is None else _place(p, "a slice's bound") for p in parts])
    if isinstance(item, (float, complex, np.inexact, str)):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None, `ds` and integer or boolean "
            f"arrays are valid indices, got {item!r}"
        )
    return item


def is_array(item: Any) -> bool:
    """Whether the item is an array of integers or bools, with axes of its own."""
    return isinstance(item, (list, range)) or bool(getattr(item, "ndim", 0))


def is_mask(item: Any) -> bool:
    """Whether the item selects by bools."""
    if isinstance(item, (bool, np.bool_)):
        return True
    if isinstance(item, list):
        return np.asarray(item).dtype.kind == "b" if not any(map(_is_ours, item)) else False
    return getattr(item, "dtype", None) is not None and item.dtype.kind == "b"


def _is_ours(x: Any) -> bool:
    return isinstance(x, (Array, list))


# -- a region with a computed start ----------------------------------------------------------------


def _start(item: Slice, length: int, axis: int) -> Any:
    """The start of a ds within an axis. IndexError, now or at the call, if the ds stands out."""
    start, last = item.start, length - item.span
    message = (
        f"ds({{}}, {item.size}, {item.stride}) is out of bounds for axis {axis} with size "
        + (str(length))
    )
    if isinstance(start, int):
        if start < 0 or start > last:
            raise IndexError(message.format(start))
        return start
    if last < 0:
        raise IndexError(message.format("..."))
    start = cast(start, _INT)
    low, high = interval(start._read())
    bad = []
    if low < 0:
        bad.append(elementwise.less(start, 0))
    if high > last:
        bad.append(elementwise.greater(start, last))
    if bad:
        either = bad[0] if len(bad) == 1 else elementwise.logical_or(*bad)
        check_later(either, IndexError, message, start)
        start = elementwise.minimum(elementwise.maximum(start, 0), last)
    return start


@dataclass
class Region:
    """Part of an array as `slice` and `update_slice` take it, with the index of what remains."""

    starts: list[Any]
    params: dict[str, Any]
    rest: tuple[Any, ...] | None  # arrays of integers among the items; None if there are none


def _region(shape: tuple[int, ...], items: tuple[Any, ...]) -> Region:
    """Items with a ds. Where there are arrays too, the region has all axes, and the rest of the
    index applies to it.
    """
    arrays = any(map(is_array, items))
    axes, sizes, strides, starts, out, rest = [], [], [], [], [], []
    axis = 0
    for item in items:
        if item is None:
            rest.append(None)
            out += [] if arrays else [1]
            continue
        n = shape[axis]
        if isinstance(item, Slice):
            region = (_start(item, n, axis), item.size, item.stride)
            rest.append(slice(None))
        elif isinstance(item, slice) and not arrays:
            places = range(*item.indices(n))
            region = (places.start if len(places) else 0, len(places), places.step)
        elif arrays:
            region = (0, n, 1)
            rest.append(item)
        else:
            region = (bounded(item, n, axis), 1, 1)
        axes.append(axis)
        starts.append(region[0])
        sizes.append(region[1])
        strides.append(region[2])
        if arrays or isinstance(item, (slice, Slice)):
            out.append(region[1])
        axis += 1
    params = {
        "axes": tuple(axes), "sizes": tuple(sizes), "strides": tuple(strides), "shape": tuple(out)
    }  # fmt: skip
    return Region(starts, params, tuple(rest) if arrays else None)


def _fixed(items: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The items, with each ds of known start as a slice."""
    found, axis = [], 0
    for item in items:
        if isinstance(item, Slice) and isinstance(item.start, int):
            start = _start(item, shape[axis], axis)
            item = slice(start, start + item.span, item.stride)
        found.append(item)
        axis += item is not None
    return tuple(found)


# -- reading and writing ---------------------------------------------------------------------------


def read(x: Array, index: Any) -> Array:
    """`x[index]` as a value: nothing that is done to it changes x."""
    if any(map(is_mask, index if isinstance(index, tuple) else (index,))):
        raise TypeError(
            "a Ref cannot be read by a boolean array, because the shape of the result would "
            "depend on the data; use load(ref, ..., mask=mask)"
        )
    given = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(i, Slice) for i in given):
        return _value(x[tuple(map(_item, given))])
    items = _fixed(items_of(index, x.ndim), x.shape)
    if not any(isinstance(i, Slice) for i in items):
        return _value(x[items])
    region = _region(x.shape, items)
    part = shaping.slice_(new_array(x._read()), *region.starts, **region.params)
    return part if region.rest is None else read(part, region.rest)


def _value(got: Any) -> Any:
    """What was read, without a link to where it was read."""
    return new_array(got._read()) if isinstance(got, NDArray) else got


def write(x: Array, index: Any, value: Any) -> None:
    """`x[index] = value`"""
    if any(map(is_mask, index if isinstance(index, tuple) else (index,))):
        x[index] = value
        return
    given = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(i, Slice) for i in given):
        x[tuple(map(_item, given))] = value
        return
    items = _fixed(items_of(index, x.ndim), x.shape)
    if not any(isinstance(i, Slice) for i in items):
        x[items] = value
        return
    region = _region(x.shape, items)
    before = new_array(x._read())
    part = shaping.slice_(before, *region.starts, **region.params)
    part[... if region.rest is None else region.rest] = value
    x[...] = shaping.update_slice(before, new_array(part._read()), *region.starts, **region.params)


# -- lanes: elements one by one, some of them masked out ------------------------------------------


def in_bounds(items: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """Whether every element that the items name is known to exist, each once."""
    axis = 0
    for item in items:
        if item is None:
            continue
        n = shape[axis]
        if isinstance(item, Slice):
            low, high = _range(item.start)
            if low < 0 or high > n - item.span:
                return False
        elif is_array(item):
            return False
        elif not isinstance(item, slice):
            low, high = _range(item)
            if low < -n or high >= n:
                return False
        axis += 1
    return True


def _range(x: Any) -> tuple[int, int]:
    return interval(as_array(x)._read()) if isinstance(x, Array) else (int(x), int(x))


def lanes(items: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[list[Array], tuple[int, ...]]:
    """For each axis of an array, the place of each element that the items name; the shape of what
    they name. Places may be out of bounds. Those of a `ds` do not count from the end.
    """
    arrays = [i for i in items if is_array(i)]
    joint = np.broadcast_shapes(*map(np.shape, arrays))
    joined = [k for k, i in enumerate(items) if arrays and not _keeps_axis(i)]
    extents: list[tuple[int, ...]] = []  # of the dimensions of the result
    named: list[tuple[int | None, Any]] = []  # for each axis: which of these, the places
    group = None  # arrays make dimensions together: in front, if other items stand between them
    if joined and joined[-1] - joined[0] >= len(joined):
        group = 0
        extents.append(joint)
    for k, item in enumerate(items):
        if k in joined:
            if group is None:
                group = len(extents)
                extents.append(joint)
            named.append((group, cast(as_array(item), _INT)))
        elif item is None:
            extents.append((1,))
        elif isinstance(item, (slice, Slice)):
            places = _places(item, shape[len(named)])
            named.append((len(extents), places))
            extents.append(places.shape)
        else:
            named.append((None, cast(as_array(item), _INT)))
    whole = sum(extents, ())
    found = []
    for place, places in named:
        if place is not None:
            after = sum(map(len, extents[place + 1 :]))
            places = broadcast(places, extents[place])
            places = shaping.reshape(
                new_array(places._read()), shape=(*extents[place], *[1] * after)
            )
        found.append(broadcast(places, whole))
    return found, whole


def _keeps_axis(item: Any) -> bool:
    """Whether an item makes a dimension of its own."""
    return item is None or isinstance(item, (slice, Slice))


def _places(item: Any, n: int) -> Array:
    """The elements along an axis of length n that a slice or a ds names. Those of a ds before the
    first stand behind the last, where they are out of bounds too.
    """
    if isinstance(item, slice):
        return arange(*item.indices(n), dtype=_INT)
    places = cast(as_array(item.start), _INT) + arange(item.size, dtype=_INT) * item.stride
    low, _ = interval(places._read()) if item.size else (0, 0)
    return places if low >= 0 else elementwise.select(elementwise.less(places, 0), n, places)


def places_of(places: list[Array], shape: tuple[int, ...], mask: Array) -> Array:
    """Places in the flat array; one past its end where masked out. IndexError, now or at the call,
    for those out of bounds that are not masked out.
    """
    flat = shaping.full(0, shape=mask.shape, dtype=_INT)
    whole = math.prod(shape)
    if not whole:
        return flat
    for axis, (place, n) in enumerate(zip(places, shape, strict=True)):
        inside = bounded(elementwise.select(mask, place, 0), n, axis)
        flat = elementwise.add(elementwise.multiply(flat, n), inside)
    return elementwise.select(mask, flat, whole)
