"""A long call of a derivative, which gives way to its program while Python still runs it.

Without a program, the gradient of a loop over elements takes some hundred times as long as the
loop: the first call alone may take a minute. So ticks (`Recorder.ticked`) look at how long a call
has taken. Once that would pay for a trace, another thread takes the call apart and traces it, and
Python waits; then the program is compiled while Python goes on. When it is there, and Python has
taken much longer than the program needs by estimate, `GivesWay` ends the call. A trace that
succeeds has shown that the function leaves nothing behind that Python could notice, so a call may
end anywhere. If the program gives the function's value too, as that of `value_and_grad` does, it is
compared with what the function gives.
"""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from lazynp import _reference, lowering
from lazynp._array import Array
from lazynp._promotion import _case, _clock
from lazynp._promotion._agreement import close
from lazynp._promotion._case import Case
from lazynp._promotion._given import Given
from lazynp._promotion._program import Program
from lazynp._recorder import GivesWay
from lazynp._stale import write_lock
from lazynp._tree import tree_flatten
from lazynp.functions.functional import adopting

_TIMES = 5.0  # as long as the program, by estimate, Python must have taken
_AGAIN = 4.0  # times as long, where a trace may come to something later
_PATIENCE = 20.0  # seconds: a trace ends much earlier, unless it waits for this thread


class Prepared(NamedTuple):
    """The program that is to run a call, and the call, taken apart for it."""

    case: Case
    given: Given
    program: Program

    def begin(self) -> None:
        """Have it compiled in the background."""
        self.case.has_begun(self.program, self.given)

    def gains(self, spent: float) -> bool:
        """Whether Python, which has taken so many seconds, should give way now."""
        enough = spent >= _TIMES * self.program.seconds
        return enough and self.case.is_compiled() and not self.case.takes_long


class Attempt:
    """A call that Python runs. prepare: what gives a `Prepared`, or None, after so many seconds."""

    def __init__(self, prepare: Callable[[float], Prepared | None]) -> None:
        self._prepare = prepare
        self.prepared: Prepared | None = None
        self.spent = 0.0  # seconds, when the call gave way
        self._due, self._compiles, self._over = _case.SECONDS, False, False

    def run(self, plain: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Python's results; or `GivesWay`, whatever the function makes of that."""
        outer, self._begin = _running.attempt, _clock.now()  # which may raise RecursionError
        try:
            _running.attempt = self
            out = plain(*args, **kwargs)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            if not self._over:
                raise
        finally:
            _running.attempt = outer
        if not self._over:
            return out
        try:
            _nothing()  # what C has put off is raised here
        except GivesWay:
            pass
        raise GivesWay

    def has(self, prepared: Prepared) -> None:
        """The call was taken apart before, and its program is being compiled."""
        self.prepared, self._compiles = prepared, True

    def tick(self) -> None:
        """Operations have been done."""
        if self._over:  # the function has caught it
            raise GivesWay
        spent = _clock.of_python(self._begin)
        if spent < self._due:
            return
        if (self.prepared is None or not self._compiles) and _holds_locks():
            return
        if self.prepared is None:
            self._due = _AGAIN * spent
            self.prepared = _by_another_thread(self._prepare, spent)
            if self.prepared is None:
                return
            self._due = self.prepared.case.price
        elif not self._compiles:
            self._compiles = True
            _by_another_thread(self.prepared.begin)
        elif self.prepared.gains(spent):
            self.spent, self._over = spent, True
            raise GivesWay


class _Running(threading.local):
    attempt: Attempt | None = None


_running = _Running()


def ticked(frame: FrameType) -> None:
    """An observer of ticks."""
    attempt = _running.attempt
    if attempt is not None:
        attempt.tick()


def _holds_locks() -> bool:
    """Whether another thread would have to wait for this one. (In adopted code, names of modules
    mean something else, too.)
    """
    return any(x._is_owned() for x in (write_lock, _reference.lock, adopting))  # type: ignore[attr-defined]


def _nothing() -> None:
    pass


def _by_another_thread(function: Callable[..., Any], *args: Any) -> Any:
    """What it gives in a thread where nothing is recorded or differentiated; None if it raises, or
    takes too long.
    """
    work = lowering.Work()
    start_new_thread(work.end_with, (function, *args))
    return work.result if work.ends_within(_PATIENCE) else None


def same_value(got: Any, want: Any) -> bool:
    """Whether a program's value is what the function gives, up to the class of its numbers."""
    ours, structure = tree_flatten(got)
    theirs, other = tree_flatten(want)
    return structure == other and all(map(_same, ours, theirs))


def _same(got: Any, want: Any) -> bool:
    if not isinstance(got, Array):
        return bool(got is want or got == want)
    value = np.asarray(want)
    return close(np.asarray(got).astype(value.dtype), value) if value.dtype != object else False
