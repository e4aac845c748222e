"""Slices of unknown size in staged functions: `a[i, :j]`, `x[k + 1 :]` in a loop over j or k.

Such a slice is held as a window of its axis with a mask. Elementwise functions (`_part_functions`)
work on whole windows; reductions and products put their neutral element outside of the mask; a
store selects. What would need the size raises the error of a bound that is only traced, so that
Python runs the loop after all.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from lazynp._array import Array, new_array, new_scalar
from lazynp._dimensions import size_of, table
from lazynp._extents import slice_extent
from lazynp._intervals import distance, interval
from lazynp._recorder import StagingRecorder, local, user_position
from lazynp._sizes import largest
from lazynp._steps import expand_ellipsis
from lazynp.functions._assigned import assigned
from lazynp.functions._index_keys import unknown_bounds, with_sizes
from lazynp.functions._moving import has_window, moves, same_slice
from lazynp.functions._operands import as_array, broadcast, cast
from lazynp.functions._with_size import arrays, with_size
from lazynp.primitives import elementwise, shaping

_INT = np.dtype(np.int64)


class Region:
    """The places of one axis between two bounds, which NumPy counts from the end or cuts off.

    Only a window of the axis is held: from the least that the start may be to the most that the
    stop may be. Bounds count from its first place, so `x[1 : k + 1]` and `y[:k]` have one region.
    """

    __slots__ = ("bounds", "length", "mask", "given")

    def __init__(self, start: Any, stop: Any, length: int, given: Any = None) -> None:
        """given: the bounds as they are written, and what tells their windows apart."""
        self.bounds, self.length, self.given = (start, stop), length, given
        places = shaping.iota(shape=(length,), axis=0, dtype=_INT)
        inside = elementwise.greater_equal(places, start)
        self.mask = elementwise.logical_and(inside, elementwise.less(places, stop))

    def same(self, other: Region | None) -> bool:
        """Whether these are the same places of windows of one length."""
        if other is None or self.length != other.length:
            return False
        if self.given is not None and other.given is not None:
            if all(map(_equal, self.given, other.given)):
                return True
        return self is other or all(map(_equal, self.bounds, other.bounds))

    def size(self) -> Any:
        """How many places it has: a scalar without a value."""
        start, stop = self.bounds
        first = elementwise.maximum(start, 0) if isinstance(start, Array) else start
        end = elementwise.minimum(stop, self.length) if isinstance(stop, Array) else stop
        count = elementwise.maximum(elementwise.subtract(end, first), 0)
        return new_scalar(count._read())

    def extent(self) -> slice:
        """The places in the window, between bounds that are sizes."""
        if self.given is None:
            start, stop = [_as_size(b) for b in self.bounds]
            return slice(largest(start, 0), largest(stop, 0))
        start, stop = [_as_size(b) for b in self.given[:2]]
        low, length = self.given[2:]
        first, count, _ = slice_extent(slice(start, stop), length)
        return slice(first - low, first - low + count)

    def flipped(self) -> Region:
        start, stop = (_less(self.length, b) for b in reversed(self.bounds))
        return Region(start, stop, self.length)


def _window(item: slice, length: int) -> tuple[Region, slice]:
    """The region of a slice of an axis, and its window."""
    start, stop = _from_front(item.start, 0, length), _from_front(item.stop, length, length)
    low = min(max(_ends(start)[0], 0), length)
    high = max(min(_ends(stop)[1], length), low)
    given = _written(item.start, 0, length), _written(item.stop, length, length), low, length
    region = Region(_less(start, low), _less(stop, low), high - low, given)
    whole = low == 0 and high == length
    return region, slice(None) if whole else slice(low, high)


def _written(b: Any, default: int, length: int) -> Any:
    return new_array(b._read()) if isinstance(b, Array) else _from_front(b, default, length)


def _from_front(b: Any, default: int, length: int) -> Any:
    """An int within the axis, or an integer without a value that counts from its front."""
    if b is None:
        return default
    if not isinstance(b, Array):
        return min(max(b + length if b < 0 else b, 0), length)
    least, most = interval(b._read())
    counted = cast(new_array(b._read()), _INT)
    if least >= 0:
        return counted
    if most < 0:
        return elementwise.add(counted, length)
    negative = elementwise.less(counted, 0)
    return elementwise.select(negative, elementwise.add(counted, length), counted)


def moved(x: Part, regions: Regions) -> Part:
    """The part in windows with these regions, if it is certain to have their sizes."""
    for axis, wanted in enumerate(regions):
        region = x.regions[axis]
        if wanted is None or region is None or wanted.same(region):
            continue
        if _within(region) and _within(wanted) and _one_size(region, wanted):
            x = _shifted(x, axis, region, wanted)
    return x


def _within(region: Region) -> bool:
    """Whether the window cuts off nothing."""
    start, stop = region.bounds
    return _ends(start)[0] >= 0 and _ends(stop)[1] <= region.length


def _one_size(a: Region, b: Region) -> bool:
    return _equal(*[_less(region.bounds[1], region.bounds[0]) for region in (a, b)])


def _shifted(x: Part, axis: int, region: Region, wanted: Region) -> Part:
    """The slice of a window at other places of another window."""
    around = list(x.whole.shape)
    around[axis] = wanted.length
    blank = shaping.full(0, shape=tuple(around), dtype=x.dtype)
    whole = new_array(x.whole._read())
    padded = shaping.concatenate(blank, whole, blank, axis=axis)
    first = _less(elementwise.add(region.bounds[0], wanted.length), wanted.bounds[0])
    out = shaping.slice(
        padded, first, axes=(axis,), sizes=(wanted.length,), strides=(1,), shape=tuple(around)
    )
    return Part(out, (*x.regions[:axis], wanted, *x.regions[axis + 1 :]))


def _ends(b: Any) -> tuple[int, int]:
    return interval(b._read()) if isinstance(b, Array) else (b, b)


def _less(a: Any, b: Any) -> Any:
    """`a - b`, of ints or of integers without a value."""
    if not isinstance(a, Array) and not isinstance(b, Array):
        return a - b
    return elementwise.subtract(a, b) if not (type(b) is int and b == 0) else a


def _equal(a: Any, b: Any) -> bool:
    if type(a) is int or type(b) is int:
        return type(a) is type(b) and a == b
    return distance(a._read(), b._read()) == 0


def _as_size(b: Any) -> Any:
    size = size_of(b)
    return operator.index(b) if size is None else size


Regions = tuple[Region | None, ...]


class Part:
    """A slice of unknown size: the whole array, and for each axis its region or None.

    The whole is a view if the slice is; functions make new ones. Its values outside of the regions
    have no meaning, and are never used: they are replaced before every operation.
    """

    __slots__ = ("whole", "regions", "where")
    _stands_for_traced = _unsized = True

    def __init__(self, whole: Array, regions: Regions) -> None:
        self.whole, self.regions = whole, regions
        self.where = user_position()

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.whole.dtype

    @property
    def ndim(self) -> int:
        return self.whole.ndim

    def mask(self) -> Array:
        """Where the slice is, in the shape of the whole."""
        return mask_of(self.regions, self.whole.shape)

    def filled(self, value: Any) -> Array:
        """The whole with this value outside."""
        other = shaping.full(value, shape=(), dtype=self.dtype)
        return elementwise.select(self.mask(), new_array(self.whole._read()), other)

    def array(self) -> Array:
        """The slice, as an array, where its size may be a value."""
        if table() is None:
            return self.unknown()
        items: list[slice] = []
        for region in self.regions:
            items.append(slice(None) if region is None else region.extent())
        return self.whole[tuple(items)]  # type: ignore[return-value]

    def unknown(self, *_: Any, **__: Any) -> Any:
        """Raise the error that says that a bound has no value, at the line of the slice."""
        before, local.where = local.where, self.where
        try:
            for region in filter(None, self.regions):
                for b in region.bounds:
                    if type(b) is not int:
                        operator.index(b)
        finally:
            local.where = before
        raise AssertionError("a bound that has no value gave one")

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            return getattr(self.array(), name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @with_size
    def __getitem__(self, index: Any) -> Part:
        """Whole axes, also backwards, and new ones: what needs no size."""
        items = index if type(index) is tuple else (index,)
        if sum(i is Ellipsis for i in items) > 1 or sum(_is_whole(i) for i in items) > self.ndim:
            return self.unknown()
        regions: list[Region | None] = []
        left = list(self.regions)
        for item in expand_ellipsis(items, self.ndim):
            if item is None:
                regions.append(None)
            elif not _is_whole(item):
                return self.unknown()
            else:
                region = left.pop(0)
                back = item.step is not None and item.step == -1
                regions.append(region.flipped() if back and region is not None else region)
        return Part(self.whole[index], tuple(regions))

    @property
    def T(self) -> Part:
        return Part(self.whole.T, self.regions[::-1])

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes that are not known are scalars without a value."""
        if table() is not None:
            return self.array().shape
        sizes = zip(self.whole.shape, self.regions, strict=True)
        return tuple([n if r is None else r.size() for n, r in sizes])

    @property
    def size(self) -> Any:
        return math.prod(self.shape)

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.array()

    __len__ = __iter__ = __setitem__ = __contains__ = unknown
    __bool__ = __float__ = __int__ = __index__ = __complex__ = unknown
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.dtype} slice of {self.whole.aval}, between traced bounds>"


def _is_whole(item: Any) -> bool:
    """`:` or `::-1`"""
    return isinstance(item, slice) and item.start is None and item.stop is None and (
        item.step is None or type(item.step) is int and item.step in (1, -1)
    )  # fmt: skip


def mask_of(regions: Regions, shape: tuple[int, ...]) -> Array:
    out = None
    for axis, region in enumerate(regions):
        if region is not None:
            along = [1] * len(shape)
            along[axis] = shape[axis]
            mask = broadcast(shaping.reshape(region.mask, shape=tuple(along)), shape)
            out = mask if out is None else elementwise.logical_and(out, mask)
    assert out is not None
    return out


# -- reading and writing by index ------------------------------------------------------------------


def part(x: Array, index: Any) -> Part | None:
    """`x[index]` as a part; None if the index is of another kind."""
    if not isinstance(local.recorder, StagingRecorder) or not moves(index):
        return None
    if x.dtype.kind not in "biufc" or not x.dtype.isnative:
        return None
    items = expand_ellipsis(index if isinstance(index, tuple) else (index,), x.ndim)
    fixed: list[Any] = []
    regions: list[Region | None] = []
    for axis, item in enumerate(items):
        if item is None:
            return None
        if isinstance(item, slice) and unknown_bounds(item):
            if not has_window(item, x.shape[axis]):
                if item.step is not None and (type(item.step) is not int or item.step != 1):
                    return None
                region, window = _window(item, x.shape[axis])
                regions.append(region)
                fixed.append(window)
                continue
        fixed.append(item)
        if isinstance(item, slice):
            regions.append(None)
    if not any(regions):
        return None
    whole = x[tuple(fixed)]
    recorder: Any = local.recorder
    while isinstance(recorder, StagingRecorder):
        recorder.windows += whole.aval.nbytes
        recorder = recorder.outer
    return Part(whole, tuple(regions))


def store_part(x: Array, index: Any, value: Any) -> bool:
    """`x[index] = value` if the index is that of a part."""
    target = part(x, index)
    if target is None:
        return False
    try:
        store(target, value)
    except TypeError:
        if table() is None:
            raise
        x[with_sizes(index)] = arrays(value)  # type: ignore[index]
    return True


def store(target: Part, value: Any) -> None:
    whole = target.whole
    if type(value) is Part:
        if _shows(value.whole, whole) and _matches(target.regions, value.regions):
            return  # the second half of `x[:k] += v`
        if value.ndim > target.ndim:
            target.unknown()
        value = moved(value, target.regions[target.ndim - value.ndim :])
        if not _fits(target, value.whole.shape, value.regions):
            target.unknown()
        value = value.filled(1)
    elif not _fits(target, np.shape(value), (None,) * ndim_of(value)):
        target.unknown()
    if whole.dtype.kind in "iu" and type(value) is not int:
        kind = getattr(value, "dtype", None)
        if kind is None or not np.can_cast(kind, whole.dtype, "same_kind"):
            target.unknown()
    u = assigned(value, whole.dtype, whole.shape)
    u = new_array(u) if type(u) is list else as_array(np.asarray(u).astype(whole.dtype))
    u = broadcast(cast(u, whole.dtype), whole.shape)
    whole[...] = elementwise.select(target.mask(), u, new_array(whole._read()))


def ndim_of(x: Any) -> int:
    return x.ndim if type(x) is Part else np.ndim(x)


def _matches(a: Regions, b: Regions) -> bool:
    return len(a) == len(b) and all(
        r is s if r is None or s is None else r.same(s) for r, s in zip(a, b, strict=True)
    )


def _fits(target: Part, shape: tuple[int, ...], regions: Regions) -> bool:
    """Whether a value is certain to broadcast to the target."""
    if len(shape) > target.ndim:
        return False
    for wanted, size, region in zip(target.regions[::-1], shape[::-1], regions[::-1]):
        if wanted is None and region is not None:
            return False
        if wanted is not None and not (wanted.same(region) if region else size == 1):
            return False
    return True


def _shows(a: Array, b: Array) -> bool:
    """Whether two views are of the same part of one array."""
    if a._base is None or a._base is not b._base or len(a._path) != len(b._path):
        return False
    return all(map(same_slice, a._path, b._path))
