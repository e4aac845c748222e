"""Slices of unknown size in staged functions: `a[i, :j]`, `x[k + 1 :]` in a loop over j or k.

Such a slice is held as its whole axis with a mask. Elementwise functions work on whole axes;
reductions and products put their neutral element outside of the mask; a store selects. What would
need the size raises the error of a bound that is only traced, so that Python runs the loop after
all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._intervals import distance, interval
from lazynp._node import aval_of_node
from lazynp._recorder import StagingRecorder, local, user_position
from lazynp._steps import expand_ellipsis
from lazynp.functions._assigned import assigned
from lazynp.functions._index_keys import unknown_bounds
from lazynp.functions._moving import has_window, moves, same_slice
from lazynp.functions._operands import as_array, broadcast, cast
from lazynp.primitives import elementwise, shaping

_INT = np.dtype(np.int64)


class Region:
    """The places of one axis between two bounds, which NumPy counts from the end or cuts off."""

    __slots__ = ("bounds", "length", "mask")

    def __init__(self, item: slice, length: int) -> None:
        self.length = length
        self.bounds = tuple(_bound(b, length, d) for b, d in ((item.start, 0), (item.stop, length)))
        places = shaping.iota(shape=(length,), axis=0, dtype=_INT)
        start, stop = (_from_front(b, length) for b in self.bounds)
        inside = elementwise.greater_equal(places, start)
        self.mask = elementwise.logical_and(inside, elementwise.less(places, stop))

    def same(self, other: Region | None) -> bool:
        """Whether these are the same places of axes of one length."""
        if other is None or self.length != other.length:
            return False
        return self is other or all(map(_equal, self.bounds, other.bounds))


def _bound(b: Any, length: int, default: int) -> Any:
    """An int within the axis, or an integer without a value."""
    if b is None:
        return default
    if isinstance(b, Array):
        return new_array(b._read())
    return min(max(b + length if b < 0 else b, 0), length)


def _from_front(b: Any, length: int) -> Any:
    if type(b) is int:
        return b
    counted = cast(b, _INT)
    if interval(b._read())[0] >= 0:
        return counted
    negative = elementwise.less(counted, 0)
    return elementwise.select(negative, elementwise.add(counted, length), counted)


def _equal(a: Any, b: Any) -> bool:
    if type(a) is int or type(b) is int:
        return type(a) is type(b) and a == b
    return distance(a._read(), b._read()) == 0


Regions = tuple[Region | None, ...]


class Part:
    """A slice of unknown size: the whole array, and for each axis its region or None.

    The whole is a view if the slice is; functions make new ones. Its values outside of the regions
    have no meaning, and are never used: they are replaced before every operation.
    """

    __slots__ = ("whole", "regions", "where")
    _stands_for_traced = True

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
        return _mask(self.regions, self.whole.shape)

    def filled(self, value: Any) -> Array:
        """The whole with this value outside."""
        other = shaping.full(value, shape=(), dtype=self.dtype)
        return elementwise.select(self.mask(), new_array(self.whole._read()), other)

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
        if not name.startswith("__"):
            self.unknown()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    __array__ = __len__ = __iter__ = __getitem__ = __setitem__ = __contains__ = unknown
    __bool__ = __float__ = __int__ = __index__ = __complex__ = unknown
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.dtype} slice of {self.whole.aval}, between traced bounds>"


def _mask(regions: Regions, shape: tuple[int, ...]) -> Array:
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
                regions.append(Region(item, x.shape[axis]))
                fixed.append(slice(None))
                continue
        fixed.append(item)
        if isinstance(item, slice):
            regions.append(None)
    return Part(x[tuple(fixed)], tuple(regions)) if any(regions) else None


def store_part(x: Array, index: Any, value: Any) -> bool:
    """`x[index] = value` if the index is that of a part."""
    target = part(x, index)
    if target is not None:
        store(target, value)
    return target is not None


def store(target: Part, value: Any) -> None:
    whole = target.whole
    if type(value) is Part:
        if _shows(value.whole, whole) and _matches(target.regions, value.regions):
            return  # the second half of `x[:k] += v`
        if not _fits(target, value.whole.shape, value.regions):
            target.unknown()
        value = value.filled(1)
    elif not _fits(target, np.shape(value), (None,) * _ndim(value)):
        target.unknown()
    if whole.dtype.kind in "iu" and type(value) is not int:
        kind = getattr(value, "dtype", None)
        if kind is None or not np.can_cast(kind, whole.dtype, "same_kind"):
            target.unknown()
    u = assigned(value, whole.dtype, whole.shape)
    u = new_array(u) if type(u) is list else as_array(np.asarray(u).astype(whole.dtype))
    u = broadcast(cast(u, whole.dtype), whole.shape)
    whole[...] = elementwise.select(target.mask(), u, new_array(whole._read()))


def _ndim(x: Any) -> int:
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


# -- functions -------------------------------------------------------------------------------------


def elementwise_of(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """An elementwise function of parts and of values that broadcast to them."""
    first = next(x for x in operands if type(x) is Part)
    for x in operands:
        if type(x) is not Part and not isinstance(x, (Array, np.ndarray, np.generic, *_NUMBERS)):
            first.unknown()
    ndim = max(map(_ndim, operands))
    regions: list[Region | None] = [None] * ndim
    for x in operands:
        for axis, region in enumerate(x.regions if type(x) is Part else (), ndim - _ndim(x)):
            if region is not None and regions[axis] is None:
                regions[axis] = region
    for x in operands:
        of = x.regions if type(x) is Part else (None,) * _ndim(x)
        shape = x.whole.shape if type(x) is Part else np.shape(x)
        for axis, (region, size) in enumerate(zip(of, shape, strict=True), ndim - _ndim(x)):
            wanted = regions[axis]
            if wanted is not None and not (wanted.same(region) if region else size == 1):
                first.unknown()
    shapes = [x.whole.shape if type(x) is Part else np.shape(x) for x in operands]
    shape = np.broadcast_shapes(*shapes)
    mask = _mask(tuple(regions), shape)
    found = function(*[_operand(x, mask, first.dtype) for x in operands])
    if isinstance(found, tuple):
        return tuple([Part(f, tuple(regions)) for f in found])
    return Part(found, tuple(regions))


_NUMBERS = (bool, int, float, complex)


def _operand(x: Any, mask: Array, dtype: np.dtype[Any]) -> Any:
    """An operand with 1 outside, where functions and their derivatives are defined. Each operand is
    selected for itself: where a derivative is not, its select drops the cotangent.
    """
    if type(x) is Part:
        return x.filled(1)
    if not isinstance(x, Array) or x.dtype.kind not in "fc":
        return x
    if not x.ndim and aval_of_node(x._read()).weak:  # it takes the dtype of the part
        number: Any = 0.0 if x.dtype.kind == "f" else 0j
        x = cast(new_array(x._read()), np.result_type(dtype, number))
    one = shaping.full(1, shape=(), dtype=x.dtype)
    return elementwise.select(mask, broadcast(new_array(x._read()), mask.shape), one)


def product(function: Callable[..., Any], a: Any, b: Any) -> Any:
    """`a @ b` of parts and arrays of one or two axes."""
    some = a if type(a) is Part else b
    for x in (a, b):
        if not isinstance(x, (Part, Array, np.ndarray)) or not 1 <= _ndim(x) <= 2:
            some.unknown()
    of_a, of_b = (x.regions if type(x) is Part else (None,) * _ndim(x) for x in (a, b))
    inner, other = of_a[-1], of_b[0]
    if not (other is None if inner is None else inner.same(other)):
        some.unknown()
    out = function(*[x.filled(0) if type(x) is Part else x for x in (a, b)])
    left = (*of_a[:-1], *of_b[1:])
    return Part(out, left) if any(left) else out


def outer(function: Callable[..., Any], a: Any, b: Any) -> Any:
    """`np.outer` of two vectors; function: multiplies."""
    some = a if type(a) is Part else b
    for x in (a, b):
        if not isinstance(x, (Part, Array, np.ndarray)) or _ndim(x) != 1:
            some.unknown()
    return elementwise_of(function, (_spread(a, (-1, 1)), _spread(b, (1, -1))))


def _spread(x: Any, shape: tuple[int, int]) -> Any:
    if type(x) is not Part:
        return x.reshape(shape)
    regions = (x.regions[0], None) if shape[1] == 1 else (None, x.regions[0])
    return Part(x.whole.reshape(shape), regions)


def reduced(x: Part, function: Callable[..., Any], axis: Any, options: dict[str, Any]) -> Any:
    """`function(x, axis=axis)` for reductions that take `where`."""
    if axis is not None and type(axis) is not int:
        x.unknown()
    axes = set(range(x.ndim)) if axis is None else {axis % x.ndim if -x.ndim <= axis < x.ndim
                                                   else x.unknown()}  # fmt: skip
    left = tuple(r for k, r in enumerate(x.regions) if k not in axes)
    whole = x.filled(1)  # its derivative outside would be 0 times what is there
    out = function(whole, axis=axis, where=x.mask(), **options)
    return Part(out, left) if any(left) else out
