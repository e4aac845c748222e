"""A case: the calls of one function with arguments of one kind, and how far its program has come.

Python spends time on the calls. When that is enough, the function is traced, its program compiled,
and tried (`_trials`).
"""

from __future__ import annotations

import math
import weakref
from types import CodeType
from typing import Any

from lazynp import lowering
from lazynp._memo import Memo
from lazynp._promotion import _earlier
from lazynp._promotion._budget import budget, few_cores, lost_to_python
from lazynp._promotion._gains import FASTER, HOPELESS, Slower
from lazynp._promotion._given import Given
from lazynp._promotion._program import Program
from lazynp.transforms.control import plain_of

RENT = 0.04  # seconds of Python, before the function is traced for arguments like these
SECONDS = 0.1  # of Python: a call that takes as long is a long one
_UNSURE = 4  # calls that it runs before a second trial
_SLOW = 2.0  # a call is slow that takes so many times as long as the one before
_UNFIT = 3  # slow calls: after so many, the program does not fit
_CLOSE = 5.0  # times Python's time: a program that takes less may have had bad luck in its trial
_PAID = 8.0  # times as long as that trial: so long Python goes on before another one
# Times as long as compiling takes a call that waits for it. On few cores, what is compiled in the
# background takes its time from Python, whose calls then tell nothing either.
_WORTH_WAITING, _WORTH_WAITING_BUSY = 4.0, 1.5
_PARTS = 8  # of a program that are compiled in the background, before it is waited for


# running loops whose programs are to come; the iterator of a `for` loop ends with it
awaited: weakref.WeakSet[Any] = weakref.WeakSet()


def contains(program: Program | None, code: CodeType | None) -> bool:
    """Whether the function of this code was traced for a program."""
    functions = [] if program is None else program.functions
    return any([plain_of(f).__code__ is code for f in functions])


# functions within programs that were slower than Python, by the ids of their code
_slower: Memo[int, CodeType] = Memo("functions of slower programs", 256)


def note_slower(program: Program) -> None:
    for f in program.functions:
        code = plain_of(f).__code__
        _slower.put(id(code), code)


def is_in_slower(code: CodeType | None) -> bool:
    """Whether a program that contains this function has lost: one of its own seldom gains, then."""
    return id(code) in _slower


class Case:
    """Arguments of one kind. seconds: what Python has spent on them. candidate: traced, and waits
    until that is the price of compiling it. program: None before a trial, and for good if `refused`
    says why. key: of a note for later processes; won: what an earlier one has noted. texts: among
    its constants.
    """

    def __init__(
        self, seconds: float, key: str | None = None, texts: tuple[str, ...] = (),
        rent: float | None = None,
    ) -> None:  # fmt: skip
        self.seconds, self.refused, self.texts = seconds, "", texts
        self._rent = RENT if rent is None else rent
        self.least = self._rent  # seconds of Python's, before a trace
        self.key, self.won = key, _earlier.has_won(key)
        if self.won:
            self.seconds = max(seconds, RENT)
        self.candidate: Program | None = None
        self.program: Program | None = None
        self._works: list[lowering.Work] = []  # compiling for the candidate in the background
        self.compiling = 0.0  # seconds, by estimate, for each of these
        self.takes_long = False  # whether the candidate took longer than Python until it gave way
        self.last: float | None = None  # seconds of Python's last call
        self._shortest = math.inf  # ... and of its shortest
        self._ran = 0.0  # ... and of one that began before, at least
        self._by_loops = False  # whether programs of its loops take most of a call's time
        self._unfit = 0
        self._wins = 0
        self.lost = ""  # why a trial was lost that is to be followed by another one
        self._put_off = 0.0  # seconds of Python, before that
        self._left: int | None = None  # calls before the second trial

    def begins(self, program: Program, given: Given) -> bool:
        """Whether the candidate is compiled in the background from now on, so that its trial has
        to wait. If Python's calls take much longer than compiling, the trial waits for the
        compiler instead.
        """
        return not (self._works or self._waits) and self.has_begun(program, given)

    def has_begun(self, program: Program, given: Given) -> bool:
        """Have the candidate compiled in the background; False if there is nothing to wait for."""
        work = program.begin(given.leaves, given.objects)
        if work is not None:
            budget.compiles(self.compiling)
        self._works += [] if work is None else [work]
        return work is not None

    @property
    def _waits(self) -> bool:
        worth = _WORTH_WAITING_BUSY if few_cores() else _WORTH_WAITING
        return max(self.last or 0.0, self._ran) >= worth * self.compiling

    @property
    def ready(self) -> bool:
        """Whether the candidate may have its trial."""
        begun = self._works or self.won or not self.compiling or budget.affords(self.compiling)
        return bool(begun) and self.seconds >= self.price and self.is_compiled()

    def is_compiled(self) -> bool:
        """Whether what was begun in the background has ended."""
        return all(w.done for w in self._works)

    def first_run(self, program: Program, *args: Any) -> Any:
        """The program's first results. Raises `Unfinished` while the program is compiled in the
        background.
        """
        if len(self._works) >= _PARTS or self._waits:
            return program(*args)
        try:
            with lowering.unfinished_allowed():
                return program(*args)
        except lowering.Unfinished as unfinished:
            self.candidate = program
            self._works.append(unfinished.work)
            budget.compiles(self.compiling)
            raise

    @property
    def price(self) -> float:
        """Seconds of Python, before the candidate is compiled. A program that runs in pieces is
        compiled piece by piece, and each has its price.
        """
        if not self.compiling and self.candidate is not None:
            return max(self._rent, self._put_off)
        pieces = max(len(self._works), 1)
        lost = pieces * lost_to_python(self.compiling, min(self._shortest, self.last or 0.0))
        return max(RENT, _earlier.times(self.won) * lost, self._at_stake, self._put_off)

    @property
    def _at_stake(self) -> float:
        """Seconds of a trial that gains little: programs of its loops run most of the call. So a
        program of the whole call saves what they leave to Python, and Python must have spent as
        much there as the trial takes.
        """
        return (self.last or 0.0) if self._by_loops else 0.0

    def covers(self, code: CodeType | None) -> bool:
        """Whether its candidate contains the function of this code."""
        return not self.refused and not self.lost and contains(self.candidate, code)

    def check_hope(self, program: Program) -> None:
        """Raise `Slower` if the program would not win, by estimate. Where a trial takes long, the
        estimate must leave it a chance without the help of other cores: NumPy's BLAS has them too.
        A program that has won needs no estimate.
        """
        python = self.last
        if self._wins or not python:
            return
        if program.seconds > (min(FASTER, HOPELESS) if python > SECONDS else HOPELESS) * python:
            raise Slower(f"it would take {program.seconds / python:.1f} of Python's time")

    def is_unfit(self, python: float, made: bool) -> bool:
        """Whether this run of Python's tells nothing: the machine was busy, or programs were made
        meanwhile. Then the next call is the trial.
        """
        slow = self.last is not None and python > _SLOW * self.last
        self.last = python
        self._unfit += made or slow
        return (made or slow) and self._unfit <= _UNFIT

    def began(self, before: float, running: float, by_loops: bool) -> None:
        """Calls have run before there was a case, and one ran when the front was made, for at least
        `running` seconds. If programs of loops have run a part of it, nobody knows which.
        """
        self._by_loops = by_loops
        if not by_loops:
            self.seconds, self._ran = self.seconds + before + running, running

    def took(self, spent: float, in_loops: float) -> None:
        """Python ran a call in so many seconds, some of them programs of its loops. If these have
        begun to run most of it, then what Python spent before tells nothing.
        """
        self.last, self._shortest = spent, min(self._shortest, spent)
        if in_loops > spent / 2 and not self._by_loops:
            self._by_loops, self.seconds = True, 0.0
        self.seconds += max(spent - in_loops, 0.0)

    def loses(self, program: Program, took: float, python: float) -> None:
        """The program took so many seconds in its trial. Its memory may have been new, the machine
        busy: so it has another trial, once Python has spent much more than this one has cost.
        Raises `Slower` if that was it, or if it is far too slow.
        """
        why = f"it takes {took / python:.1f} of Python's time"
        if self.lost or self._wins or took > _CLOSE * python:
            raise Slower(why)
        self.lost, self.candidate = why, program
        self._put_off = self.seconds + _PAID * took

    def wins(self, program: Program, sure: bool) -> bool:
        """The program has won a trial: it runs later calls. Whether this is its first win.

        A slow moment of the machine may make Python lose, so whoever wins by little is asked again.
        """
        self.program = program
        self._wins += 1
        self._left = None if sure or self._wins > 1 else _UNSURE
        return self._wins == 1

    @property
    def unsure(self) -> bool:
        """Whether the program has a second trial to come."""
        return self._left is not None

    def asks_again(self) -> bool:
        """Whether the program, about to run a call, has its second trial instead."""
        if self._left is None:
            return False
        self._left -= 1
        if self._left >= 0:
            return False
        self.candidate, self.program, self._left = self.program, None, None
        return True

    @property
    def due(self) -> bool:
        """Whether Python has spent enough for a trace."""
        waiting = self.won is False and self.least <= self._rent
        least = _earlier.WAITING * self._rent if waiting else self.least
        return self.seconds >= max(least, self._at_stake)

    def refuse(self, why: BaseException) -> None:
        self.refused = str(why) or type(why).__name__
        if not (self.won and isinstance(why, Slower)):  # the machine may be busy
            _earlier.keep(self.key, won=False)
