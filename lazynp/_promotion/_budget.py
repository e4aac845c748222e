"""How long the user's thread may look for programs: for a share of the time that it has run.

Most traces come to nothing: a function draws, prints or changes an object, or its program would not
gain. A script of a second must not spend half of another one on them.
"""

from __future__ import annotations

import os
import time

from lazynp.transforms.control import TooLong

LEAST = 0.04  # seconds of a trace: most take less
_ENOUGH, _BUSY = 4, 4  # cores: on fewer, so many times as much is lost


class Later(TooLong):
    """A trace has taken what it may now; it may take longer when Python has run for longer."""


class Budget:
    first = 0.05  # seconds
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


def lost_to_python(where_idle: float) -> float:
    """What part of the time that the compiler takes in the background is lost to Python.
    where_idle: with cores that do nothing else.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return where_idle * (1 if (count or 1) >= _ENOUGH else _BUSY)
