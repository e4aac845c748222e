"""`numpy.ctypeslib`, whose `as_ctypes` and `ndpointer` take lazy arrays."""

from __future__ import annotations

from functools import cache as _cache
from typing import Any

import numpy as _np
from numpy.ctypeslib import *  # noqa: F403
from numpy.ctypeslib import (
    __all__ as __all__,
    as_ctypes as _as_ctypes,
    ndpointer as _ndpointer,
)

from lazynp._array import Array as _Array, Scalar as _Scalar
from lazynp.functions._host import to_host as _to_host
from lazynp.functions._memory import memory_for_c as _memory_for_c


def as_ctypes(obj: Any) -> Any:
    """See `numpy.ctypeslib.as_ctypes`. It shares the memory of a lazy array."""
    if not isinstance(obj, _Array):
        return _as_ctypes(obj)
    return _as_ctypes(_np.array(_to_host(obj)) if isinstance(obj, _Scalar) else _memory_for_c(obj))


def ndpointer(dtype: Any = None, ndim: Any = None, shape: Any = None, flags: Any = None) -> Any:
    """See `numpy.ctypeslib.ndpointer`. What C writes into a lazy array arrives there."""
    return _taking_ours(_ndpointer(dtype, ndim, shape, flags))


@_cache  # NumPy's are the same for the same arguments
def _taking_ours(kind: Any) -> Any:
    def from_param(cls: Any, obj: Any) -> Any:
        return super(ours, cls).from_param(_memory_for_c(obj) if isinstance(obj, _Array) else obj)

    ours = type(kind.__name__, (kind,), {"from_param": classmethod(from_param)})
    ours.__module__ = kind.__module__
    return ours
