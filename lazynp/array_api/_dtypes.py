"""The standard's data types: dtype objects, and `finfo` and `iinfo` for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._dataclass import dataclass

Dtype = np.dtype[Any]

# dtype objects, not scalar types, so that `x.dtype` equals the namespace's name and has its hash
bool = np.dtype("bool")
int8, int16, int32, int64 = (np.dtype(f"i{n}") for n in (1, 2, 4, 8))
uint8, uint16, uint32, uint64 = (np.dtype(f"u{n}") for n in (1, 2, 4, 8))
float32, float64 = np.dtype("f4"), np.dtype("f8")
complex64, complex128 = np.dtype("c8"), np.dtype("c16")


@dataclass(frozen=True)
class FloatInfo:
    """The result of `finfo`. All numbers are Python numbers, as the standard requires."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Dtype


@dataclass(frozen=True)
class IntegerInfo:
    """The result of `iinfo`."""

    bits: int
    max: int
    min: int
    dtype: Dtype


def _dtype_of(x: Any) -> Dtype:
    return x.dtype if isinstance(x, Array) else np.dtype(x)


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating-point dtype or array; for a complex one, those of its parts."""
    found = np.finfo(_dtype_of(type))
    return FloatInfo(
        bits=int(found.bits),
        eps=float(found.eps),
        max=float(found.max),
        min=float(found.min),
        smallest_normal=float(found.smallest_normal),
        dtype=np.dtype(found.dtype),
    )


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype or array."""
    dtype = _dtype_of(type)
    found = np.iinfo(dtype)
    return IntegerInfo(bits=int(found.bits), max=int(found.max), min=int(found.min), dtype=dtype)
