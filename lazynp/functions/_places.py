"""Where arrays are true, in a number of places that may be a size."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, from_host, new_array
from lazynp._dimensions import count_of, length_of
from lazynp._extents import surely
from lazynp._flush import host_value
from lazynp._recorder import local
from lazynp._sizes import Dim, largest
from lazynp._values import knowable
from lazynp.functions._operands import cast, plain
from lazynp.primitives import elementwise, reduction, shaping, sorting

_INT64 = np.dtype(np.int64)


def sized_places(true: Array, size: Dim) -> Array:
    """The first `size` true places of a flat array, padded with its length."""
    if type(true.aval.size) is int and not true.aval.size:
        return shaping.full(0, shape=(size,), dtype=_INT64)
    count = reduction.cumsum(elementwise.convert(true, dtype=_INT64), axis=0)
    numbers = elementwise.add(shaping.iota(shape=(size,), axis=0, dtype=_INT64), 1)
    return sorting.searchsorted(count, numbers, side="left")


def places(mask: Array) -> tuple[Array, ...] | None:
    """`numpy.nonzero` where the number of true elements may be a size; else None."""
    count = count_of(mask)
    return None if count is None else places_of(mask, count)


def places_of(mask: Array, count: Dim) -> tuple[Array, ...]:
    """`numpy.nonzero` of an array of bools with so many true elements: an index for each axis."""
    shape = mask.aval.shape
    flat = shaping.reshape(mask, shape=(mask.aval.size,)) if len(shape) != 1 else mask
    places, found = sized_places(flat, count), []
    below: Any = 1
    for n in reversed(shape[1:]):  # rows in C order
        found.append(elementwise.remainder(elementwise.floor_divide(places, below), n))
        below = below * n
    found.append(elementwise.floor_divide(places, below) if len(shape) > 1 else places)
    return tuple(found[::-1])


def count_true(mask: Array) -> Any:
    """How many elements are true: an int, or a size."""
    count = None if knowable(mask._read()) else count_of(mask)
    return int(np.count_nonzero(host_value(mask._read()))) if count is None else count


def places_where(x: Array) -> tuple[Array, ...]:
    """`numpy.nonzero` of an array with axes whose sizes have no value."""
    mask = plain(cast(x, np.dtype(bool)))
    return places_of(mask, count_true(mask))


def side_of(n: Any) -> Any:
    """The size that an integer of a traced program stands for; all else as it is."""
    found = length_of(n) if isinstance(n, Array) else None
    return n if found is None else found


def places_of_triangle(mask: Array, n: Any, m: Any, k: int, above: bool) -> tuple[Array, ...]:
    """The places where the mask of a triangle of an (n, m) matrix is true: up to the diagonal k, or
    above it.
    """
    if not surely(n == m):
        return places_of(mask, count_true(mask))
    side = n - k - 1 if k > 0 else n + k  # of the triangle that lies apart
    side = side if k in (0, -1) else largest(side, 0)  # without rows, -1 * 0 elements
    twice = side * (side + 1)
    return places_of(mask, (twice if above == (k > 0) else 2 * n * n - twice) // 2)


def known_places(index: Any, value: np.ndarray[Any, Any], length: Any) -> Array:
    """An index array in bounds, of these values, as int64.

    A staged function makes one that counts all places of the axis anew. As data, it would belong to
    every device; so, XLA knows what it counts, and devices that split the axis need no others.
    """
    if local.recorder.staging and type(length) is int and value.size == length > 1:
        axis = value.shape.index(length) if length in value.shape else None
        if axis is not None and np.array_equal(value.ravel(), np.arange(length)):
            return shaping.iota(shape=value.shape, axis=axis, dtype=_INT64)
    if isinstance(index, Array):
        return cast(index, _INT64)
    return new_array(from_host(value.astype(np.int64)))


class InBounds:
    """An index array whose elements are in bounds, by how it was made."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def shape(self) -> Any:
        return self.array.aval.shape
