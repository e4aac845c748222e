"""How long the user's thread may look for programs: for a share of the time that it has run.

Most traces come to nothing: a function draws, prints or changes an object, or its program would not
gain. A script of a second must not spend half of another one on them.
"""

from __future__ import annotations

import time

from lazynp import lowering
from lazynp.transforms.control import TooLong

LEAST = 0.04  # seconds of a trace: most take less
IN_BACKGROUND = 0.25  # of compiling, since Python goes on; but the end of the process waits
LOADING = 0.15  # seconds, if jaxlib is not loaded yet
_ENOUGH, _BUSY = 4, 4  # cores: on fewer, so many times as much is lost
_LONG = 0.005  # seconds of a call


class Later(TooLong):
    """A trace has taken what it may now; it may take longer when Python has run for longer."""


class Budget:
    first = 0.1  # seconds
    share = 0.05  # of what the thread has run

    def __init__(self) -> None:
        self._spent = 0.0

    def left(self) -> float:
        """Seconds. If none are left, nobody looks for a program now."""
        return self.first + self.share * time.thread_time() - self._spent

    def spend(self, seconds: float) -> None:
        self._spent += seconds

    def won(self) -> None:
        """A program has won: to look for others may pay as well."""
        self._spent /= 2


budget = Budget()


def lost_to_python(compiling: float, call: float) -> float:
    """Of the seconds that the compiler takes, those that are lost to Python, for the program of a
    call. Long calls run loops: a program gains much there, and is worth some loss.
    """
    if not lowering.in_background():
        return compiling
    if call >= _LONG:
        return compiling * IN_BACKGROUND
    busy = _BUSY if lowering.cores() < _ENOUGH else 1
    return compiling * busy * IN_BACKGROUND + (0.0 if lowering.is_loaded() else LOADING)
