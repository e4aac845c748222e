"""The C library's heap: what arrays free is kept for the next arrays, in huge pages.

By default, glibc returns free memory at the end of the heap to the system and takes it again a
moment later, page by page. It also maps each block of more than 32 MB anew. A loop over arrays of
3 MB then takes twice as long, in NumPy and in XLA alike. On 500 MB, pages of 4 KB take almost as
long as computing: NumPy asks for huge pages, but XLA does not. So the heap is made longer at once,
by what will be kept, and asks for huge pages there. No page of it is used before something is
written.

If the user has set malloc's variables, or a limit of the address space, that choice stands.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from typing import Any

if sys.platform != "win32":
    import resource

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # glibc calls these M_...
_MADV_HUGEPAGE = 14
_HUGE = 2 << 20  # bytes of a huge page
_CHOSEN = (
    "GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_",
)  # fmt: skip
# Bytes that are kept at most, and blocks of half as many come from the heap. Processes of a pool,
# one for each core, keep half of the machine's memory at most.
_MOST = 1280 << 20  # glibc takes these numbers as ints of 32 bits
_SHARE, _SHARE_OF_CORES = 8, 2
_LEAST = 64 << 20  # before 2.35, glibc takes no larger blocks than half of this from the heap
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def keep_freed_memory() -> None:
    """Let the C library keep the memory of freed arrays for the next arrays."""
    if sys.platform != "linux" or not os.environ.keys().isdisjoint(_CHOSEN):
        return
    try:
        libc = ctypes.CDLL(None)
        mallopt = libc.mallopt
    except (OSError, AttributeError):  # another C library
        return
    kept = _kept(_memory(), os.cpu_count() or 1)
    if not mallopt(_MMAP_THRESHOLD, kept // 2):
        mallopt(_MMAP_THRESHOLD, _LEAST // 2)
    mallopt(_TRIM_THRESHOLD, kept + kept // 2)
    if not _is_limited():
        mallopt(_TOP_PAD, kept)
        _lengthen(libc)


def _kept(memory: int, cores: int) -> int:
    share = memory // max(_SHARE, _SHARE_OF_CORES * cores)
    return max(min(_MOST, share), _LEAST) & -_HUGE


def _memory() -> int:
    """Bytes of the machine, or of the container."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _LIMITS:
        with suppress(OSError, ValueError):  # "max" is no number
            with open(name, encoding="ascii") as file:
                found.append(int(file.read()))
    return min(found)


def _is_limited() -> bool:
    """Whether address space counts although nothing is written there."""
    limits = [resource.getrlimit(of)[0] for of in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    try:
        with open("/proc/sys/vm/overcommit_memory", encoding="ascii") as file:
            strict = file.read().strip() == "2"
    except OSError:
        strict = True
    return strict or any(limit != resource.RLIM_INFINITY for limit in limits)


def _lengthen(libc: Any) -> None:
    """Make the heap longer, and ask for huge pages there."""
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]
    libc.free.argtypes = [ctypes.c_void_p]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    begin = libc.sbrk(0)
    block = libc.malloc(_LEAST // 4)  # more than what is free at the end
    end = libc.sbrk(0)
    libc.free(block)
    begin = -(-begin // _HUGE) * _HUGE
    if end > begin and os.environ.get("NUMPY_MADVISE_HUGEPAGE") != "0":
        libc.madvise(begin, end - begin, _MADV_HUGEPAGE)
