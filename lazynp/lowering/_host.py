"""Host memory: what may be handed to XLA as it is, and what may be written."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

ALIGNMENT = 64  # XLA's; memory less aligned is copied


def is_aligned(array: np.ndarray[Any, Any]) -> bool:
    """Whether `put` can hand this array's memory to XLA without a copy."""
    return array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0


def owns_base(array: np.ndarray[Any, Any]) -> bool:
    """Whether the memory under an `aligned_empty` array is known to that array alone."""
    base = array.base
    return type(base) is np.ndarray and base.base is None and getrefcount(base) == 3


def on_host() -> bool:
    """Whether buffers lie in host memory, so that reading them costs nothing."""
    return True
