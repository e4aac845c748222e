"""Host memory: what XLA may use without a copy, and what may be written."""

from __future__ import annotations

import ctypes
import os
import sys
from sys import getrefcount
from typing import Any

import numpy as np

ALIGNMENT = 64  # what XLA requires; memory with less alignment is copied


def is_aligned(array: np.ndarray[Any, Any]) -> bool:
    """Whether `put` can hand this array's memory to XLA without a copy."""
    return array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0


def owns_base(array: np.ndarray[Any, Any]) -> bool:
    """Whether only this array refers to the memory under an `aligned_empty` array."""
    base = array.base
    return type(base) is np.ndarray and base.base is None and getrefcount(base) == 3


def on_host() -> bool:
    """Whether buffers lie in host memory, so that reading them costs nothing."""
    return True


_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # glibc calls these M_...
# bytes: the most that glibc allows; larger arrays still go back to the system at once
_LARGEST = 32 << 20
_KEPT = 256 << 20  # bytes: the most freed memory to keep


def keep_freed_memory() -> None:
    """Let the C library keep the memory of freed arrays for the next arrays.

    By default, glibc returns free memory at the end of the heap to the system and takes it again a
    moment later, page by page. A loop over arrays of 3 MB then takes twice as long, in NumPy and in
    XLA alike. If the user has set malloc's variables, that choice stands.
    """
    chosen = ("GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
    if sys.platform != "linux" or not os.environ.keys().isdisjoint(chosen):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST)
    mallopt(_TRIM_THRESHOLD, _KEPT)
