"""Whether a compiled program keeps its promise: the clock decides about long runs.

`_cost` estimates when compiling pays. Its table is a fit to one machine. A program whose functions
NumPy computes by wider vectors, or whose arrays leave the caches, may take several times as long as
estimated. So runs that are long enough for a clock are timed, by NumPy and compiled. A program that
loses is dropped, and NumPy runs its form from then on.
"""

from __future__ import annotations

import math

_LONG = 200.0  # microseconds by NumPy, as estimated: shorter runs are left to the estimate
_CALL = 1e8  # and more: no estimate, but a call that is always compiled
_RUNS = 4  # of the program; the first meets cold caches and fresh memory, and does not count
_RUNS_LONG, _VERY_LONG = 2, 10000.0  # fewer of long runs, where noise matters less
_MARGIN = 1.2  # machines are noisy


class Verdict:
    """The best times of a form, in seconds, and what they decide.

    asks: NumPy shall make the next run, because its time is not known and the program is slower
    than NumPy was estimated to be. lost: NumPy shall make all runs.
    """

    __slots__ = ("estimate", "numpys", "compiled", "runs", "asks", "lost")

    def __init__(self, estimate: float) -> None:
        self.estimate = estimate
        self.numpys = self.compiled = math.inf
        self.runs = 0
        self.asks = self.lost = False

    @property
    def for_numpy(self) -> bool:
        """Whether NumPy shall make the next run."""
        return self.asks or self.lost

    def by_numpy(self, seconds: float) -> None:
        """Note a run by NumPy."""
        self.numpys = min(self.numpys, seconds)
        self.asks = False

    def by_program(self, seconds: float) -> None:
        """Note a compiled run."""
        self.runs += 1
        if self.runs > 1:
            self.compiled = min(self.compiled, seconds)
        if self.runs < (_RUNS_LONG if self.estimate >= _VERY_LONG else _RUNS):
            return
        if self.numpys == math.inf:
            self.asks = 1e6 * self.compiled > self.estimate
        else:
            self.lost = self.compiled > _MARGIN * self.numpys


def verdict(estimate: float) -> Verdict | None:
    """A verdict to be found, where NumPy's estimate in microseconds leaves one to the clock."""
    return Verdict(estimate) if _LONG <= estimate < _CALL else None
