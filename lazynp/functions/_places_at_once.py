"""`x[index]` and `x[index] = value` of values that carry a tangent, by index arrays that are there:
what code that is differentiated in Python does most, without the general way of `_advanced`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, from_host, new_array
from lazynp._avals import Aval, TracedAval
from lazynp._recorder import staged
from lazynp._values import there
from lazynp.primitives import indexing

_INT64 = np.dtype(np.int64)
_EXACT = 1 << 24  # ints up to this are numbers of both floating dtypes
_LARGE = 1e38  # float32 holds less
_FEW = 1000  # of a longer list, the conversion takes longer than the rest


def taken_at_once(x: Array, aval: Any, index: Any) -> Array | None:
    """`x[index]` of a value that carries a tangent, for the usual index: arrays or lists of places
    that are there and count from the front, for the first axes. None for any other.
    """
    found = _at_once(x, aval, index)
    if found is None:
        return None
    return indexing.take(new_array(x._read()), *found, axes=tuple(range(len(found))))


def put_at_once(x: Array, aval: Any, index: Any, value: Any) -> bool:
    """`x[index] = value` for such an index, and a number or an array of just this shape and dtype.
    False for any other.
    """
    kind = type(value)
    is_number = kind is float or kind is int and -_EXACT <= value <= _EXACT
    if type(aval) is not TracedAval or aval.dtype.char not in "fd":
        return False
    if is_number and aval.dtype.char == "f" and not -_LARGE < value < _LARGE:
        return False  # NumPy may warn
    if not is_number and (kind is not NDArray or value.dtype != aval.dtype):
        return False
    found = _at_once(x, aval, index)
    if found is None:
        return False
    shape = (*found[0].shape, *aval.shape[len(found) :])
    if is_number:
        value = new_array(from_host(np.full(shape, value, aval.dtype), copy=False))
    elif value.shape != shape:
        return False
    axes = tuple(range(len(found)))
    new = indexing.put(
        new_array(x._read()), new_array(value._read()), *found, axes=axes, mode="set"
    )
    x._write(new._read())
    return True


def _at_once(x: Array, aval: Any, index: Any) -> list[Array] | None:
    """The places along the first axes, of one shape; None if the index is none of the usual."""
    items = index if type(index) is tuple else (index,)
    if staged or x._order is not None or type(aval.plain) is not Aval or len(items) > aval.ndim:
        return None
    values = [_places_there(i, n) for i, n in zip(items, aval.shape, strict=False)]
    if not values or any([v is None for v in values]):
        return None
    shape = values[0].shape
    if any([v.shape != shape for v in values]):
        try:
            values = [np.array(v) for v in np.broadcast_arrays(*values)]
        except ValueError:
            return None
        items = (None,) * len(items)  # these values are nobody else's
    return [
        new_array(i._read() if type(i) is NDArray else from_host(v, copy=type(i) is np.ndarray))
        for i, v in zip(items, values, strict=True)
    ]


def _places_there(item: Any, length: int) -> Any:
    """The values of an index array that is there, if all are in bounds and count from the front."""
    kind = type(item)
    if kind is NDArray:
        item = there(item._read())
    elif kind is list or kind is range:
        is_plain = kind is range or all([type(i) is int for i in item])
        item = np.array(item, np.int64) if is_plain and 0 < len(item) <= _FEW else None
    if type(item) is not np.ndarray or item.dtype != _INT64 or not item.ndim or not item.size:
        return None
    return item if item.min() >= 0 and item.max() < length else None
