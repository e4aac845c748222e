"""Places of an axis between bounds of which one has no value: how slices of unknown size (`_parts`)
know where they are.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lazynp._array import Array, new_array, new_scalar
from lazynp._dimensions import size_of
from lazynp._extents import slice_extent
from lazynp._intervals import distance, interval
from lazynp._sizes import largest
from lazynp.functions._operands import cast
from lazynp.primitives import elementwise, shaping

INT = np.dtype(np.int64)


class Region:
    """The places of one axis between two bounds, which NumPy counts from the end or cuts off.

    Only a window of the axis is held: from the least that the start may be to the most that the
    stop may be. Bounds count from its first place, so `x[1 : k + 1]` and `y[:k]` have one region.
    """

    __slots__ = ("bounds", "length", "mask", "given", "like", "mirror")

    def __init__(
        self, start: Any, stop: Any, length: int, given: Any = None, like: Region | None = None
    ) -> None:
        """given: the bounds as they are written, and what tells their windows apart. like: one of
        the same size, whatever the windows cut off.
        """
        self.bounds, self.length, self.given = (start, stop), length, given
        self.like: Region = self if like is None else like.like
        self.mirror: Region | None = None  # of which this is the same backwards
        places = shaping.iota(shape=(length,), axis=0, dtype=INT)
        inside = elementwise.greater_equal(places, start)
        self.mask = elementwise.logical_and(inside, elementwise.less(places, stop))

    def same(self, other: Region | None) -> bool:
        """Whether these are the same places of windows of one length."""
        if other is None or self.length != other.length:
            return False
        if self.given is not None and other.given is not None:
            if all(map(equal, self.given, other.given)):
                return True
        return self is other or all(map(equal, self.bounds, other.bounds))

    def first(self) -> Any:
        """The first place within the window."""
        start = self.bounds[0]
        return elementwise.maximum(start, 0) if isinstance(start, Array) else start

    def size(self) -> Any:
        """How many places it has: a scalar without a value."""
        first, stop = self.first(), self.bounds[1]
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
        if self.mirror is not None:
            return self.mirror
        start, stop = (less(self.length, b) for b in reversed(self.bounds))
        made = Region(start, stop, self.length, like=self)
        made.mirror = self
        return made


def window(item: slice, length: int) -> tuple[Region, slice]:
    """The region of a slice of an axis, and its window."""
    start, stop = _from_front(item.start, 0, length), _from_front(item.stop, length, length)
    low = min(max(ends(start)[0], 0), length)
    high = max(min(ends(stop)[1], length), low)
    given = _written(item.start, 0, length), _written(item.stop, length, length), low, length
    region = Region(less(start, low), less(stop, low), high - low, given)
    whole = low == 0 and high == length
    return region, slice(None) if whole else slice(low, high)


def forwards(item: slice, length: int) -> slice:
    """The places of a slice with step -1, in the order of the axis."""
    low, high = (_behind(b, length) for b in (item.stop, item.start))
    return slice(low, high)


def _behind(b: Any, length: int) -> Any:
    """The place behind one at which a slice with step -1 begins or ends."""
    if b is None:
        return None
    if isinstance(b, Array) and interval(b._read())[0] >= 0:
        return new_scalar(elementwise.add(cast(new_array(b._read()), INT), 1)._read())
    b = _from_front(b, 0, length) if isinstance(b, Array) else b + length if b < 0 else b
    if not isinstance(b, Array):
        return min(max(b, -1), length - 1) + 1
    return new_scalar(elementwise.add(elementwise.maximum(b, -1), 1)._read())


def _written(b: Any, default: int, length: int) -> Any:
    return new_array(b._read()) if isinstance(b, Array) else _from_front(b, default, length)


def _from_front(b: Any, default: int, length: int) -> Any:
    """An int within the axis, or an integer without a value that counts from its front."""
    if b is None:
        return default
    if not isinstance(b, Array):
        return min(max(b + length if b < 0 else b, 0), length)
    least, most = interval(b._read())
    counted = cast(new_array(b._read()), INT)
    if least >= 0:
        return counted
    if most < 0:
        return elementwise.add(counted, length)
    negative = elementwise.less(counted, 0)
    return elementwise.select(negative, elementwise.add(counted, length), counted)


def within(region: Region) -> bool:
    """Whether the window cuts off nothing."""
    start, stop = region.bounds
    return ends(start)[0] >= 0 and ends(stop)[1] <= region.length


def count(region: Region) -> Any:
    """How many places a region has that lies within its window; negative if it has none."""
    return less(region.bounds[1], region.bounds[0])


def one_size(a: Region, b: Region) -> bool:
    """Whether these are certain to have one size."""
    return a.like.same(b.like) or within(a) and within(b) and equal(count(a), count(b))


def ends(b: Any) -> tuple[int, int]:
    """The least and the most that a bound may be."""
    return interval(b._read()) if isinstance(b, Array) else (b, b)


def less(a: Any, b: Any) -> Any:
    """`a - b`, of ints or of integers without a value."""
    if not isinstance(a, Array) and not isinstance(b, Array):
        return a - b
    return elementwise.subtract(a, b) if not (type(b) is int and b == 0) else a


def equal(a: Any, b: Any) -> bool:
    if type(a) is int or type(b) is int:
        return type(a) is type(b) and a == b
    return distance(a._read(), b._read()) == 0


def _as_size(b: Any) -> Any:
    size = size_of(b)
    return operator.index(b) if size is None else size


# -- windows ---------------------------------------------------------------------------------------


def fitted(x: Array, axis: int, length: int, first: int = 0) -> Array:
    """The array from this place of an axis on, with another length there. A place before the first
    one, or behind the last one, has no meaning.
    """
    have = x.shape[axis]
    begin = min(max(first, 0), have)
    low = min(max(-first, 0), length)
    size = min(have - begin, length - low)
    if size != have:
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        x = shaping.slice(x, begin, axes=(axis,), sizes=(size,), strides=(1,), shape=shape)
    if size == length:
        return x
    blank = shaping.full(0, shape=(), dtype=x.dtype)
    more = [tuple([n if a == axis else 0 for a in range(x.ndim)])
            for n in (low, length - low - size)]  # fmt: skip
    return shaping.pad(x, blank, low=more[0], high=more[1], interior=(0,) * x.ndim)
