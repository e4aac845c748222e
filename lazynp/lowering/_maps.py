"""Memory maps: the system gives a process only so many, and each program takes some ten.

LLVM ends the process when it is refused one. So they are counted now and then. When few are left,
the tables that keep programs are emptied; if that does not help, compiling raises MemoryError.
"""

from __future__ import annotations

import functools
import gc

from lazynp._memo import forget_programs

_EVERY, _AGAIN = 64, 16  # programs between two counts; after there was no room
_MANY, _ALL = 0.7, 0.9  # shares of the system's limit
_left, _full = _EVERY, False


def room_for_maps() -> None:
    """Call it before each compilation. Raise MemoryError if the program's code has no place."""
    global _left, _full
    _left -= 1
    most = limit()
    if _left <= 0 and most is not None:
        _left, _full = _EVERY, False
        if count() >= _MANY * most:
            forget_programs()
            gc.collect()
            if count() >= _ALL * most:
                _left, _full = _AGAIN, True
    if _full:
        raise MemoryError(f"programs take nearly all of a process's {most} memory maps")


@functools.cache
def limit() -> int | None:
    """The most memory maps of a process; None if the system does not tell."""
    try:
        with open("/proc/sys/vm/max_map_count", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def count() -> int:
    """The memory maps of this process."""
    try:
        with open("/proc/self/maps", "rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return 0
