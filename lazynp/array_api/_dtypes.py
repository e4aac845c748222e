"""Data types of the standard: dtype objects, and what `finfo` and `iinfo` say about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lazynp._array import Array

Dtype = np.dtype[Any]

# dtype objects, not scalar types: `x.dtype` then equals, and hashes as, the namespace's name
bool = np.dtype("bool")
int8, int16, int32, int64 = (np.dtype(f"i{n}") for n in (1, 2, 4, 8))
uint8, uint16, uint32, uint64 = (np.dtype(f"u{n}") for n in (1, 2, 4, 8))
float32, float64 = np.dtype("f4"), np.dtype("f8")
complex64, complex128 = np.dtype("c8"), np.dtype("c16")


@dataclass(frozen=True)
class FloatInfo:
    """What `finfo` returns. All numbers are Python's, as the standard has it."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Dtype


@dataclass(frozen=True)
class IntegerInfo:
    """What `iinfo` returns."""

    bits: int
    max: int
    min: int
    dtype: Dtype


def _dtype_of(x: Any) -> Dtype:
    return x.dtype if isinstance(x, Array) else np.dtype(x)


def finfo(type: Any, /) -> FloatInfo:
    """Limits of a floating-point dtype, or of an array's; of the parts, for a complex one."""
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
    """Limits of an integer dtype, or of an array's."""
    dtype = _dtype_of(type)
    found = np.iinfo(dtype)
    return IntegerInfo(bits=int(found.bits), max=int(found.max), min=int(found.min), dtype=dtype)
