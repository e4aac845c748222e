"""Host memory: what XLA may use without a copy, and what may be written."""

from __future__ import annotations

import math
import mmap
import os
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
