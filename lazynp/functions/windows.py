"""Window functions, and bits of bytes."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from lazynp._array import Array
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


def _of_few(M: Any) -> tuple[float, Any]:
    """The number of points, and the window if it has at most one."""
    _check_numbers(M)
    M = float(M)
    return M, zeros(0) if M < 1 else ones(1) if M == 1 else None


def bartlett(M: Any) -> Any:
    """See `numpy.bartlett`."""
    M, few = _of_few(M)
    if few is not None:
        return few
    n = arange(1 - M, M, 2)
    return where(ufuncs.less_equal(n, 0), 1 + n / (M - 1), 1 - n / (M - 1))


def _cosine(M: float) -> Any:
    n = arange(1 - M, M, 2)
    return np.pi * n / (M - 1)


def blackman(M: Any) -> Any:
    """See `numpy.blackman`."""
    M, few = _of_few(M)
    if few is not None:
        return few
    n = arange(1 - M, M, 2)
    return 0.42 + 0.5 * ufuncs.cos(_cosine(M)) + 0.08 * ufuncs.cos(2.0 * np.pi * n / (M - 1))


def hanning(M: Any) -> Any:
    """See `numpy.hanning`."""
    M, few = _of_few(M)
    return few if few is not None else 0.5 + 0.5 * ufuncs.cos(_cosine(M))


def hamming(M: Any) -> Any:
    """See `numpy.hamming`."""
    M, few = _of_few(M)
    return few if few is not None else 0.54 + 0.46 * ufuncs.cos(_cosine(M))


def kaiser(M: Any, beta: Any) -> Any:
    """See `numpy.kaiser`."""
    _check_numbers(M, beta)
    M = float(M)
    if M == 1:
        return ones(1)
    n, alpha = arange(0, M), (M - 1) / 2.0
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
    if lacking:
        bits = concatenate((bits, zeros((*bits.shape[:-1], lacking), np.uint8)), axis=-1)
    bits = reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
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
