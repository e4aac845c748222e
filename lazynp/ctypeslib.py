"""`numpy.ctypeslib`: the same functions, except `as_ctypes`, which copies lazy arrays."""

from __future__ import annotations

from typing import Any

import numpy as _np
from numpy.ctypeslib import *  # noqa: F403
from numpy.ctypeslib import __all__ as __all__, as_ctypes as _as_ctypes

from lazynp._array import Array as _Array
from lazynp.functions._host import to_host as _to_host


def as_ctypes(obj: Any) -> Any:
    """See `numpy.ctypeslib.as_ctypes`. Copies the memory of a lazy array."""
    return _as_ctypes(_np.array(_to_host(obj)) if isinstance(obj, _Array) else obj)
