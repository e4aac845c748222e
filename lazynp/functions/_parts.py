"""Slices of unknown size in staged functions: `a[i, :j]`, `x[k + 1 :]` in a loop over j or k.

Such a slice is held as a window of its axis with a mask. Elementwise functions (`_part_functions`)
work on whole windows; reductions and products put their neutral element outside of the mask; a
store selects. What would need the size raises the error of a bound that is only traced, so that
Python runs the loop after all.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array, new_array, new_scalar
from lazynp._dimensions import table
from lazynp._intervals import distance
from lazynp._recorder import StagingRecorder, local, user_position
from lazynp._steps import expand_ellipsis
from lazynp.functions._assigned import assigned
from lazynp.functions._checks import refuse
from lazynp.functions._index_keys import unknown_bounds, with_sizes
from lazynp.functions._moving import has_window, moves, same_slice
from lazynp.functions._operands import as_array, broadcast, cast
from lazynp.functions._regions import (
    INT,
    Region,
    count,
    ends,
    equal,
    fitted,
    forwards,
    less,
    one_size,
    window,
    within,
)
from lazynp.functions._with_size import arrays, with_size
from lazynp.primitives import elementwise, shaping


def moved(x: Part, regions: Regions) -> Part:
    """The part in windows with these regions, if it is certain to have their sizes."""
    for axis, wanted in enumerate(regions):
        region = x.regions[axis]
        if wanted is None or region is None or wanted.same(region):
            continue
        if one_size(region, wanted):
            x = _shifted(x, axis, region, wanted)
    return x


def _shifted(x: Part, axis: int, region: Region, wanted: Region) -> Part:
    """The slice of a window at other places of another window."""
    whole = new_array(x.whole._read())
    start, new = region.first(), wanted.first()
    if type(start) is type(new) is int:
        out = fitted(whole, axis, wanted.length, start - new)
    else:
        shape = list(whole.shape)
        shape[axis] = wanted.length
        first = less(elementwise.add(start, wanted.length), new)
        blank = shaping.full(0, shape=tuple(shape), dtype=x.dtype)
        padded = shaping.concatenate(blank, whole, blank, axis=axis)
        if not (within(region) and within(wanted)):  # one without places may begin anywhere
            most = region.length + wanted.length
            first = elementwise.minimum(elementwise.maximum(first, 0), most)
        out = shaping.slice(
            padded, first, axes=(axis,), sizes=(wanted.length,), strides=(1,), shape=tuple(shape)
        )
    return Part(out, (*x.regions[:axis], wanted, *x.regions[axis + 1 :]))


def resized(x: Part, wanted: Regions, shape: tuple[int, ...]) -> Array | None:
    """A window of this shape with the slice in these regions, which begin at 0; None if the slice
    may have other sizes.
    """
    for axis, to in enumerate(wanted):
        region = x.regions[axis]
        if to is None or region is None:
            if to is not region or x.whole.shape[axis] != shape[axis]:
                return None
            continue
        if not within(region) or not one_size(region, to):
            return None
        if not equal(region.bounds[0], 0) or region.length != to.length:
            x = _shifted(x, axis, region, to)
    return new_array(x.whole._read())


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

    @property
    def _of_this_body(self) -> bool:
        """Whether it was made where the trace is now, and shows no other array."""
        recorder, whole = local.recorder, self.whole
        if not isinstance(recorder, StagingRecorder) or whole._base is not None:
            return False
        return id(whole) not in recorder.handles and recorder.owns(whole._node)

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
    def __getitem__(self, index: Any) -> Any:
        """Whole axes, also backwards, new ones, and places that count from an end and that the
        slice is certain to have.
        """
        items = index if type(index) is tuple else (index,)
        if sum(i is Ellipsis for i in items) > 1:
            return self.unknown()
        if sum(i is not None and i is not Ellipsis for i in items) > self.ndim:
            return self.unknown()
        regions: list[Region | None] = []
        given: list[Any] = []
        left = list(self.regions)
        for item in expand_ellipsis(items, self.ndim):
            region = None if item is None else left.pop(0)
            if item is None or _is_whole(item):
                back = item is not None and item.step == -1
                regions.append(region.flipped() if back and region is not None else region)
                given.append(item)
                continue
            found = _taken(region, item)
            if found is None:
                return self.unknown()
            given.append(found[0])
            if isinstance(item, slice):
                regions.append(found[1])
        whole = self.whole[tuple(given)]
        return Part(whole, tuple(regions)) if any(regions) else whole

    def rows(self) -> tuple[Any, Any, Callable[[Any], Any]]:
        """What lies along the first axis: the first place in the window, how many, and each."""
        region, *rest = self.regions
        first = 0 if region is None else region.first()
        count = self.whole.shape[0] if region is None else region.size()

        def item(i: Any) -> Any:
            return Part(self.whole[i], tuple(rest)) if any(rest) else self.whole[i]

        return first, count, item

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


def windowed(whole: Array, regions: Regions) -> Part:
    """A part whose window counts for the loops around it (`transforms.control._divided`)."""
    recorder: Any = local.recorder
    while isinstance(recorder, StagingRecorder):
        recorder.windows += whole.aval.nbytes
        recorder = recorder.outer
    return Part(whole, regions)


def _is_whole(item: Any) -> bool:
    """`:` or `::-1`"""
    return isinstance(item, slice) and item.start is None and item.stop is None and (
        item.step is None or type(item.step) is int and item.step in (1, -1)
    )  # fmt: skip


def _taken(region: Region | None, item: Any) -> tuple[Any, Region | None] | None:
    """The window's index for one of a slice of it, between constants, and the region that is left;
    None if the slice may be too short, or the index is another.
    """
    number = type(item) is int or _is_integer(item)
    if region is None:
        known = number or type(item) is slice and not unknown_bounds(item)
        return (item, None) if known else None
    start, stop = region.bounds
    least = ends(stop)[0] - ends(start)[1] if within(region) else 0
    if number:
        sure = type(item) is int and _has(least, item)
        return (_more(start if item >= 0 else stop, item) if sure else _checked(region, item), None)
    if type(item) is not slice or item.step not in (None, 1):
        return None
    if not within(region):
        return slice(None), _cut(region, item)
    first, last = [
        of if b is None else _bound(b, region, least)
        for b, of in zip((item.start, item.stop), (start, stop), strict=True)
    ]
    if first is None or last is None:
        return slice(None), _cut(region, item)
    if type(first) is type(last) is int:
        size: int | None = last - first
    else:
        size = None if int in (type(first), type(last)) else distance(first._read(), last._read())
    if size is None:
        return slice(None), Region(first, last, region.length)
    return (slice(first, last), None) if size > 0 else None


def _cut(region: Region, item: slice) -> Region:
    """What a slice of a region leaves of it, wherever its bounds are."""
    size, first = region.size(), region.first()

    def place(b: Any, default: Any) -> Any:
        if b is None:
            return default
        b = cast(new_array(as_array(b)._read()), INT)
        b = elementwise.select(elementwise.less(b, 0), elementwise.add(b, size), b)
        return elementwise.minimum(elementwise.maximum(b, 0), size)

    begin, end = place(item.start, 0), place(item.stop, size)
    bounds = [new_scalar(elementwise.add(first, b)._read()) for b in (begin, end)]
    return Region(bounds[0], bounds[1], region.length)


def _checked(region: Region, place: Any) -> Any:
    """A place of a region that may have fewer, or that has no value, in its window."""
    size, place = region.size(), as_array(place)
    place = cast(new_array(place._read()), INT)
    bad = elementwise.logical_or(
        elementwise.less(place, elementwise.negative(size)), elementwise.greater_equal(place, size)
    )
    refuse(bad, IndexError, "index {} is out of bounds for a slice between traced bounds", place)
    place = elementwise.select(elementwise.less(place, 0), elementwise.add(place, size), place)
    place = elementwise.add(place, region.first())
    inside = elementwise.minimum(elementwise.maximum(place, 0), region.length - 1)
    return new_scalar(inside._read())


def _bound(b: Any, region: Region, least: int) -> Any:
    """A bound of a slice of a region, in its window; None if the region may be shorter."""
    start, stop = region.bounds
    if type(b) is int:
        return _more(start if b >= 0 else stop, b) if _has(least, b, 1) else None
    size = count(region)
    if not isinstance(b, Array) or not isinstance(size, Array) or ends(b)[0] < 0:
        return None
    more = distance(cast(new_array(b._read()), INT)._read(), size._read())
    return None if more is None or more < 0 else _more(b, start)


def _has(least: int, place: int, more: int = 0) -> bool:
    """Whether a slice of at least this size has a place, counted from the front or the end; or, if
    `more` is 1, whether it may end there.
    """
    return place < least + more if place >= 0 else -place <= least


def _more(bound: Any, more: Any) -> Any:
    if type(more) is int and not more:
        return bound
    if type(bound) is type(more) is int:
        return bound + more
    return new_scalar(elementwise.add(bound, more)._read())


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
    turned: list[slice] = []
    for axis, item in enumerate(items):
        if item is None:
            return None
        if isinstance(item, slice) and unknown_bounds(item):
            if not has_window(item, x.shape[axis]):
                back = type(item.step) is int and item.step == -1
                if not (back or item.step is None or type(item.step) is int and item.step == 1):
                    return None
                item = forwards(item, x.shape[axis]) if back else item
                region, place = window(item, x.shape[axis])
                regions.append(region)
                fixed.append(place)
                turned.append(slice(None, None, -1) if back else slice(None))
                continue
        fixed.append(item)
        if isinstance(item, slice):
            regions.append(None)
            turned.append(slice(None))
    if not any(regions):
        return None
    found = windowed(x[tuple(fixed)], tuple(regions))
    return found[tuple(turned)] if any(s.step for s in turned) else found  # type: ignore[no-any-return]


def _is_integer(x: Any) -> bool:
    return isinstance(x, Array) and not x.ndim and x.dtype.kind in "iu"


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
    if type(value) is Part and _shows(value.whole, whole):
        if same_regions(target.regions, value.regions):
            return  # the second half of `x[:k] += v`
    u = fitting(target, value)
    whole[...] = elementwise.select(target.mask(), u, new_array(whole._read()))


def fitting(target: Part, value: Any) -> Array:
    """A value for a slice of unknown size, in its window and its dtype."""
    whole = target.whole
    if type(value) is Part:
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
    return broadcast(cast(u, whole.dtype), whole.shape)


def ndim_of(x: Any) -> int:
    return x.ndim if type(x) is Part else np.ndim(x)


def same_regions(a: Regions, b: Regions) -> bool:
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
