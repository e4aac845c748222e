"""Flat indices and coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._extents import product
from lazynp._sizes import largest, sized
from lazynp.functions import ufuncs
from lazynp.functions._arguments import as_size
from lazynp.functions._checks import refuse_outside
from lazynp.functions._eager import by_numpy
from lazynp.functions._integers import checked_mode
from lazynp.functions._operands import as_array, cast, plain, scalar_if_0d

_INT64 = np.dtype(np.int64)


def _dims(shape: Any) -> tuple[int, ...]:
    try:
        return (as_size(shape),)
    except TypeError:
        return tuple([as_size(n) for n in shape])


def _check_order(order: str) -> None:
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")


def _integers(x: Any) -> Array:
    array = as_array(x)
    if array.dtype.kind not in "biu":
        if array.size == 0 and not isinstance(x, (Array, np.ndarray)):
            raise TypeError(
                "indices must be integral: the provided empty sequence was inferred as float. "
                "Wrap it with 'np.array(indices, dtype=np.intp)'"
            )
        raise TypeError("only int indices permitted")
    return cast(array, _INT64)


@by_numpy(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """See `numpy.unravel_index`. Computes `indices`, to check them against the shape."""
    dims = _dims(shape)
    _check_order(order)
    index = _integers(indices)
    if not dims and index.ndim:
        raise ValueError("multiple indices are not supported for 0d arrays")
    size = product(dims)
    message = f"index {{}} is out of bounds for array with size {size}"
    refuse_outside(index, size, ValueError, message)
    parts: list[Any] = []
    rest: Any = plain(index)
    fastest_first = dims[::-1] if order == "C" else dims
    for n in fastest_first:
        parts.append(scalar_if_0d(plain(ufuncs.remainder(rest, largest(n, 1)))))
        rest = ufuncs.floor_divide(rest, largest(n, 1))
    return tuple(parts[::-1] if order == "C" else parts)


@by_numpy(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """See `numpy.ravel_multi_index`. With mode "raise" it computes the indices."""
    sizes = _dims(dims)
    _check_order(order)
    modes = [mode] * len(sizes) if isinstance(mode, (str, int)) else list(mode)
    if len(modes) != len(sizes):
        raise ValueError(f"mode must be a string or a sequence of length {len(sizes)}")
    modes = [checked_mode(m) for m in modes]
    coordinates = list(multi_index)
    if len(coordinates) != len(sizes):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(sizes)}")
    if not sized(sizes) and product(sizes) > np.iinfo(np.int64).max:
        raise ValueError(
            "invalid dims: array size defined by dims is larger than the maximum possible size."
        )
    arrays = [_integers(c) for c in coordinates]
    placed = [_placed(c, n, m) for c, n, m in zip(arrays, sizes, modes, strict=True)]
    if order == "F":
        placed, sizes = placed[::-1], sizes[::-1]
    total: Any = as_array(0)
    for coordinate, n in zip(placed, sizes, strict=True):
        total = ufuncs.add(ufuncs.multiply(total, n), coordinate)
    return scalar_if_0d(plain(total))


def _placed(coordinate: Array, n: int, mode: str) -> Any:
    if mode == "wrap":
        return ufuncs.remainder(coordinate, n)
    if mode == "clip":
        return ufuncs.minimum(ufuncs.maximum(coordinate, 0), n - 1)
    refuse_outside(coordinate, n, ValueError, "invalid entry in coordinates array")
    return coordinate
