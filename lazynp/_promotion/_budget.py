"""How long the user's thread may look for programs, and compilers may work on them: for a share of
the time that the thread has run.

Most traces come to nothing: a function draws, prints or changes an object, or its program would not
gain. Programs that are compiled may come too late. A script of a second must not spend half of
another one on them.
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


def few_cores() -> bool:
    """Whether what is compiled in the background takes its time from Python."""
    return lowering.cores() < _ENOUGH


class Budget:
    first = 0.1  # seconds
    share = 0.05  # of what the thread has run
    of_compilers, of_more = 0.4, 1.0  # the same for compilers: on few cores, and on more

    def __init__(self) -> None:
        self._spent = self._compiling = 0.0

    def left(self) -> float:
        """Seconds. If none are left, nobody looks for a program now."""
        return self.first + self.share * time.thread_time() - self._spent

    def spend(self, seconds: float) -> None:
        self._spent += seconds

    def affords(self, compiling: float) -> bool:
        """Whether a compiler may work for so many seconds, by estimate: on the first program when
        Python has spent its price on it; on others, too, while the first has not won yet, only for
        a share of the time. Functions call each other, so the same time is spent on several.
        """
        share = self.of_compilers if few_cores() else self.of_more
        both = self._compiling + compiling
        return not self._compiling or both <= share * time.thread_time()

    def compiles(self, seconds: float) -> None:
        self._compiling += seconds

    def won(self, compiling: float = 0.0) -> None:
        """A program has won, which took so long to compile: to look for others may pay as well."""
        self._spent /= 2
        self._compiling = max(self._compiling - compiling, 0.0)


budget = Budget()


def lost_to_python(compiling: float, call: float) -> float:
    """Of the seconds that the compiler takes, those that are lost to Python, for the program of a
    call. Long calls run loops: a program gains much there, and is worth some loss.
    """
    if not lowering.in_background():
        return compiling
    if call >= _LONG:
        return compiling * IN_BACKGROUND
    busy = _BUSY if few_cores() else 1
    return compiling * busy * IN_BACKGROUND + (0.0 if lowering.is_loaded() else LOADING)
