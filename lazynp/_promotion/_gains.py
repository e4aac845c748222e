"""What programs of a running loop take, and what Python would have taken for the same rounds."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable

from lazynp.transforms.control import CannotStage

FASTER = 0.8  # a program must take less than this part of Python's time
_RUNS = 3  # of a program, before it is said to be slow: memory may be new, the machine busy
_LOST = 2.0  # of Python's time: such a run needs no other
_NEVER = math.inf  # where copying takes longer than the rounds
# Of Python's time, by an estimate of what one core takes at least: such a program is not even
# tried. Cores share the memory, so that more of them help less than their number says.
HOPELESS = FASTER * math.sqrt(os.cpu_count() or 1)
_TOLD = 3.0  # of the time for copying: from here on, a run tells how long its rounds take
_MORE = 8  # times as many rounds, while a run does not
_RECENT = 3  # rounds of Python's between programs: they tell how long a round takes now
_COPYING = 2.5e-10  # seconds, for each byte, at least
_COPIES = 0.1  # of a round: copies that take less do not matter
_LOSING = 4  # runs after which a program is given up that takes longer than Python
_WEIGHED = 16  # ... and one that gains too little


class Slower(CannotStage):
    """A program takes longer than Python."""


class Gains:
    """rate: the seconds of a round in Python. Rounds may become longer or shorter as the loop goes
    on, so it follows those that Python runs between programs.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._runs: deque[tuple[float, float]] = deque(maxlen=_WEIGHED)  # by programs, by Python
        self._count = 0
        self.written = 0  # bytes of the arrays that the last program has written

    def expects(self, seconds: float) -> None:
        """A program takes at least so long for a round, by estimate."""
        if seconds > HOPELESS * self.rate:
            raise Slower(f"it would take {seconds / self.rate:.1f} of Python's time")

    def was_copying(self, seconds: float) -> bool:
        """Whether the first round of Python's after a program, of so many seconds, may have spent
        them on copies: what a program has made cannot be written in place.
        """
        written, self.written = self.written, 0
        return written * _COPYING > _COPIES * seconds

    def of_round(self, seconds: float, has_effects: bool) -> None:
        """Python has run a round in this time. Rounds with effects may take longer than others."""
        self._recent.append(seconds)
        full = len(self._recent) == _RECENT and not has_effects
        self.rate = min(self._recent) if full else min(self.rate, seconds)

    def paying(
        self, run: Callable[[int], tuple[float, int]], count: int, fewest: int, most: int,
        allowed: float,
    ) -> tuple[int, float]:  # fmt: skip
        """How many rounds at once, `count` or more, take less than Python's time, and how long they
        take. Each run copies the arrays that it writes, so more rounds may gain where fewer lose.
        run: runs so many rounds; gives the seconds, and the number of rounds up to an effect.
        allowed: seconds, for another number of rounds than `count`.
        """
        seconds, complete = self._tried(run, count)
        if seconds <= FASTER * self.rate * complete:
            return count, seconds
        slower = Slower(f"it takes {seconds / self.rate / complete:.1f} of Python's time")
        if complete < count or count >= most or count <= fewest or seconds > allowed:
            raise slower
        copying, _ = self._tried(run, fewest, _NEVER)
        seconds = min(seconds, self._tried(run, count, _NEVER)[0])  # memory was new
        while seconds < _TOLD * copying:
            more = min(_MORE * count, most)
            if more == count or copying + (seconds - copying) * more / count > allowed:
                raise slower
            count = more
            seconds, complete = self._tried(run, count, _NEVER)
            if seconds <= FASTER * self.rate * complete:
                return count, seconds
            if complete < count:
                raise slower
        each = max(seconds - copying, 0.0) / (count - fewest)
        gain = FASTER * self.rate - each
        needed = int(2 * copying / gain) if gain > 0 else most
        if gain <= 0 or needed >= most or copying + needed * each > allowed:
            raise slower
        count = max(count, needed - needed % fewest)
        seconds, complete = self._tried(run, count)
        if seconds > FASTER * self.rate * complete:
            raise slower
        return count, seconds

    def _tried(
        self, run: Callable[[int], tuple[float, int]], count: int, lost: float = _LOST
    ) -> tuple[float, int]:
        """The least time of some runs, and how many rounds were complete. lost: of Python's time; a
        run that takes longer needs no other.
        """
        least = float("inf")
        for _ in range(_RUNS):
            seconds, complete = run(count)
            least, complete = min(least, seconds), max(complete, 1)
            python = self.rate * complete
            if least <= FASTER * python or least > lost * python:
                break
        return least, complete  # type: ignore[possibly-undefined]

    def weigh(self, seconds: float, rounds: int) -> None:
        """A program has run. Now and then, ask whether they still gain."""
        self._runs.append((seconds, self.rate * rounds))
        self._count += 1
        if self._count % _LOSING:
            return
        newest = list(self._runs)[-_LOSING:]
        if (
            _ratio(newest) > max(FASTER, 1.0)
            or len(self._runs) == _WEIGHED
            and _ratio(self._runs) > FASTER
        ):
            raise Slower("programs of so few rounds between effects gain nothing")


def _ratio(runs: deque[tuple[float, float]] | list[tuple[float, float]]) -> float:
    ours, pythons = map(sum, zip(*runs, strict=True))
    return ours / max(pythons, 1e-9)
