"""Host memory: what XLA may use without a copy, and what may be written."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from lazynp._avals import Aval

ALIGNMENT = 64  # what XLA requires; memory with less alignment is copied


def is_aligned(array: np.ndarray[Any, Any]) -> bool:
    """Whether `put` can hand this array's memory to XLA without a copy."""
    return array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0


def aligned_empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """`np.empty`, aligned so that `put(..., owned=True)` needs no copy."""
    dtype = np.dtype(dtype)
    if dtype.hasobject:  # raw bytes are not valid object references
        return np.empty(shape, dtype)
    raw = np.empty(math.prod(shape) * dtype.itemsize + ALIGNMENT, np.uint8)
    place = raw.__array_interface__["data"][0]  # in half the time of `raw.ctypes.data`
    return np.ndarray(shape, dtype, raw, -place % ALIGNMENT)


def on_host() -> bool:
    """Whether buffers lie in host memory, so that reading them costs nothing."""
    return True


_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # glibc calls these M_...
# Bytes: larger arrays still go back to the system at once. Before 2.35, glibc allows the smaller.
_LARGEST, _LARGEST_OLD = 256 << 20, 32 << 20
_KEPT = 2  # times as much freed memory is kept at most
_SHARE = 32  # of the machine's memory: the largest array that is kept


def keep_freed_memory() -> None:
    """Let the C library keep the memory of freed arrays for the next arrays.

    By default, glibc returns free memory at the end of the heap to the system and takes it again a
    moment later, page by page. A loop over arrays of 3 MB then takes twice as long, in NumPy and in
    XLA alike. On 70 MB, NumPy's operations take twice as long, and compiled ones three times: only
    NumPy asks for huge pages. If the user has set malloc's variables, that choice stands.
    """
    chosen = ("GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
    if sys.platform != "linux" or not os.environ.keys().isdisjoint(chosen):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    largest = max(min(_LARGEST, machine // _SHARE), _LARGEST_OLD)
    if not mallopt(_MMAP_THRESHOLD, largest):
        largest = _LARGEST_OLD
        mallopt(_MMAP_THRESHOLD, largest)
    mallopt(_TRIM_THRESHOLD, max(_KEPT * largest, _LARGEST))


_STACK = 8 << 20  # bytes of a thread's stack
_ARENA = 64 << 20  # of the address space that glibc reserves for each thread which allocates
_COMPILER = 256 << 20  # of compiling anything
_LINE = 64 << 10  # of compiling one operation


def room_for_client(threads: int) -> None:
    """Raise MemoryError if a client could not be made (it has ten threads of other kinds)."""
    _demand((10 + threads) * (_STACK + _ARENA))


def room_for_compiling(text: str) -> None:
    """Raise MemoryError if the compiler could not work."""
    _demand(_COMPILER + (os.cpu_count() or 1) * _STACK + _LINE * text.count("\n"))


_PROBED = 1 << 28  # bytes: to ask for less costs more than XLA's own complaint


def large(avals: Iterable[Aval]) -> tuple[Aval, ...]:
    """Those that `room_for_arrays` asks for."""
    return tuple([a for a in avals if a.nbytes >= _PROBED])


def room_for_arrays(avals: Iterable[Aval]) -> None:
    """Raise NumPy's MemoryError if NumPy could not make all these arrays now.

    No page of them is touched, so this takes as long for large arrays as for small ones.
    """
    held = []
    for aval in avals:
        held.append(np.empty(aval.shape, aval.dtype))
    del held


def _demand(nbytes: int) -> None:
    """Raise MemoryError if the system would not give so much now (20 us).

    XLA and LLVM end the process when they are refused memory or a thread, so it is asked first.
    """
    try:
        mmap.mmap(-1, nbytes).close()
    except (OSError, ValueError):
        text = f"to compile takes up to {nbytes >> 20} MiB, which the system does not give"
        raise MemoryError(text) from None
