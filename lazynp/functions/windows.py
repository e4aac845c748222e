"""Window functions, and bits of bytes."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from lazynp._array import Array
from lazynp._dimensions import size_of
from lazynp._sizes import Size
from lazynp.functions import ufuncs
from lazynp.functions._eager import by_numpy
from lazynp.functions._fold import part
from lazynp.functions._operands import as_array, cast
from lazynp.functions.creation import arange, ones, zeros
from lazynp.functions.differences import i0
from lazynp.functions.indexing import where
from lazynp.functions.manipulation import concatenate, moveaxis, reshape
from lazynp.functions.reductions import sum as sum_


def _check_numbers(*given: Any) -> None:
    """Raise NumPy's error for sequences: it makes one array of what it is given."""
    shapes = [as_array(x).shape for x in given]
    if any(shapes):
        np.array([0.0, *map(np.zeros, shapes)])


def _points(M: Any) -> Any:
    """The number of points; an integer without a value is a size."""
    found = size_of(M)
    return M if found is None else found


def _window(M: Any, formula: Callable[[Any, Any], Any]) -> Any:
    """The window of so many points. formula: of the numbers 1 - M, 3 - M, ..., M - 1, and of M - 1,
    if there are at least two points.
    """
    M = _points(M)
    if type(M) is Size:
        of_one = ufuncs.equal(M, 1)
        return where(of_one, 1.0, formula(arange(1 - M, M, 2), where(of_one, 1.0, M - 1)))
    _check_numbers(M)
    M = float(M)
    if M <= 1:
        return zeros(0) if M < 1 else ones(1)
    return formula(arange(1 - M, M, 2), M - 1)


def bartlett(M: Any) -> Any:
    """See `numpy.bartlett`."""
    return _window(M, lambda n, m: where(ufuncs.less_equal(n, 0), 1 + n / m, 1 - n / m))


def blackman(M: Any) -> Any:
    """See `numpy.blackman`."""
    cos = ufuncs.cos
    return _window(
        M, lambda n, m: 0.42 + 0.5 * cos(np.pi * n / m) + 0.08 * cos(2.0 * np.pi * n / m)
    )


def hanning(M: Any) -> Any:
    """See `numpy.hanning`."""
    return _window(M, lambda n, m: 0.5 + 0.5 * ufuncs.cos(np.pi * n / m))


def hamming(M: Any) -> Any:
    """See `numpy.hamming`."""
    return _window(M, lambda n, m: 0.54 + 0.46 * ufuncs.cos(np.pi * n / m))


def kaiser(M: Any, beta: Any) -> Any:
    """See `numpy.kaiser`."""
    M = _points(M)
    if type(M) is Size:
        of_one = ufuncs.equal(M, 1)
        window = _kaiser(arange(0, M), where(of_one, 1.0, (M - 1) / 2.0), beta)
        return where(of_one, 1.0, window)
    _check_numbers(M, beta)
    M = float(M)
    return ones(1) if M == 1 else _kaiser(arange(0, M), (M - 1) / 2.0, beta)


def _kaiser(n: Any, alpha: Any, beta: Any) -> Any:
    inner = ufuncs.sqrt(1 - ufuncs.square((n - alpha) / alpha))
    return i0(beta * inner) / i0(beta)


# -- bits ------------------------------------------------------------------------------------------

_ORDERS = {"big": range(7, -1, -1), "little": range(8)}


def _weights(bitorder: Any, name: str, position: int, error: str) -> Any:
    if not isinstance(bitorder, str):
        kind = type(bitorder).__name__
        raise TypeError(f"{name}() argument {position} must be str, not {kind}")
    if bitorder not in _ORDERS:
        raise ValueError(error)
    return np.array(_ORDERS[bitorder], np.uint8)


@by_numpy(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: Any = "big") -> Any:
    """See `numpy.packbits`."""
    array = as_array(a)
    shifts = _weights(bitorder, "pack", 3, "'order' must be either 'little' or 'big'")
    if array.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    array, axis = _along(array, axis)
    bits = cast(ufuncs.not_equal(moveaxis(array, axis, -1), 0), np.uint8)
    lacking = -bits.shape[-1] % 8
    if type(lacking) is Size or lacking:
        bits = concatenate((bits, zeros((*bits.shape[:-1], lacking), np.uint8)), axis=-1)
    bits = reshape(bits, (*bits.shape[:-1], (bits.shape[-1] + 7) // 8, 8))
    return moveaxis(sum_(ufuncs.left_shift(bits, shifts), axis=-1, dtype=np.uint8), -1, axis)


@by_numpy(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: Any = "big") -> Any:
    """See `numpy.unpackbits`."""
    array = as_array(a)
    shifts = _weights(bitorder, "unpack", 4, "'order' must begin with 'l' or 'b'")
    if array.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    array, axis = _along(array, axis)
    array = moveaxis(array, axis, -1)
    bits = ufuncs.bitwise_and(ufuncs.right_shift(reshape(array, (*array.shape, 1)), shifts), 1)
    bits = reshape(bits, (*array.shape[:-1], array.shape[-1] * 8))
    if count is not None:
        size, count = bits.shape[-1], index(count)
        if count < -size:
            raise ValueError("-count larger than number of elements")
        kept = size + count if count < 0 else min(count, size)
        bits = part(bits, bits.ndim - 1, 0, kept)
        if count > size:
            more = zeros((*bits.shape[:-1], count - size), np.uint8)
            bits = concatenate((bits, more), axis=-1)
    return moveaxis(bits, -1, axis)


def _along(array: Array, axis: Any) -> tuple[Array, int]:
    if axis is None:
        return reshape(array, (array.size,)), 0
    return array, normalize_axis_index(index(axis), array.ndim)
