"""Which functions are hot: operations, counted by the functions of the user's on the stack.

`Recorder.ticked` calls `ticked` once for so many operations. Each tick counts for every function of
the user's on the stack. After `HOT` ticks, a `Promoted` is put in front of the function; after one
tick, if an earlier process has found that its programs win (`_earlier`). The first counts are
exact: the same function is promoted at the same operation each time. Later, looking at the stack
at each tick would take too much time. Ticks also tell how long the call takes that runs meanwhile.
"""

from __future__ import annotations

import gc
import inspect
import time
import weakref
from types import CodeType, FrameType, FunctionType
from typing import Any

from lazynp._collector import take_back
from lazynp._config import config
from lazynp._fronts import fastpath
from lazynp._memo import Memo
from lazynp._promotion import _clock, _watching
from lazynp._promotion._earlier import has_won, key_of, of_code
from lazynp._promotion._expected import expect, looked_for
from lazynp._promotion._function import Promoted, fronts, in_front, promote, was_promoted
from lazynp._promotion._loops import SUSPENDED
from lazynp.transforms.control import Door, front_of, is_users

HOT = 48  # ticks
_DEEP = 24  # frames of a stack that are looked at
_MANY = 8  # functions of one code, and searches for them


class _Tally:
    """ticks: None once it is decided; hot: so many are needed; begin: when they were first counted.
    code: kept alive. running: the front of a function whose call has begun before, and when the
    front was put there.
    """

    def __init__(self, code: CodeType, ticks: int | None) -> None:
        self.code, self.ticks, self.searches, self.hot = code, ticks, 0, HOT
        if ticks is not None and has_won(key_of("function", of_code(code))):
            self.hot = 1
        self.begin = _clock.now()
        self.running: tuple[weakref.ref[Promoted], _clock.Moment] | None = None


_tallies: Memo[int, _Tally] = Memo("hot functions", 1024)  # by id of the code
# code of which nothing more is to be found out, kept alive
_settled: Memo[int, CodeType] = Memo("code that stays with Python", 1024)


class _Looking:
    """When to look at the stack: at each tick at first; later for a small part of the time. Loops
    are looked at less often, because nothing counts how often they were seen.
    """

    each = 512  # ticks
    part = 0.01
    between = 0.001  # seconds between two looks at loops

    def __init__(self) -> None:
        self._ticks, self._next, self._loops = 0, 0.0, 0.0

    def is_due_for_loops(self, now: float) -> bool:
        due = _watching.KNOWN and now >= self._loops
        if due:
            self._loops = now + self.between
        return due

    def is_due(self) -> bool:
        self._ticks += 1
        return self._ticks <= self.each or time.perf_counter() >= self._next

    def looked(self, since: float) -> None:
        now = time.perf_counter()
        self._next = now + (now - since) / self.part


looking = _Looking()


def ticked(frame: FrameType) -> None:
    if not config.promotion or config.execution != "adaptive":
        return
    if not looking.is_due():
        _look_for_loops(frame)
        return
    begin = time.perf_counter()
    try:
        _look_at_all(frame)
    finally:
        looking.looked(begin)


def _look_for_loops(frame: FrameType) -> None:
    found = looked_for(frame) if _watching.KNOWN else None
    if found is None:
        return
    running, known = found
    begin = time.perf_counter()
    try:
        _watching.seen(running)
    finally:
        known.looked(begin)


def _look_at_all(frame: FrameType) -> None:
    found: FrameType | None = frame
    now = _clock.now()
    loops = looking.is_due_for_loops(now.wall)
    for _ in range(_DEEP):
        if found is None:
            break
        code = found.f_code
        if id(code) not in _settled:
            _look(found, code, now, loops)
        found = found.f_back


def _look(frame: FrameType, code: CodeType, now: _clock.Moment, loops: bool) -> None:
    if loops:
        _watching.seen(frame, now)
    is_function = code.co_flags & inspect.CO_NEWLOCALS  # not a module
    if is_function and not code.co_flags & SUSPENDED:
        _count(frame, code, now)
        tally = _tallies.get(id(code))
        if tally is None or tally.ticks is not None or tally.running is not None:
            return
    if not _watching.KNOWN or _watching.has_no_loops(code):
        _settled.put(id(code), code)


def _count(frame: FrameType, code: CodeType, now: _clock.Moment) -> None:
    tally = _tallies.get(id(code))
    if tally is None:
        door = any(isinstance(c, Door) for c in code.co_consts)
        inner = code.co_varnames[:1] == (".0",)  # a comprehension: no name calls it
        counts = is_users(code) and not door and not inner
        tally = _tallies.put(id(code), _Tally(code, 0 if counts else None))
    if tally.running is not None:
        _still_runs(tally, tally.running, now)
    if tally.ticks is None or frame.f_back is not None and frame.f_back.f_code in in_front:
        return
    tally.ticks += 1
    if tally.ticks >= tally.hot << (0 if _watching.KNOWN else tally.searches):
        tally.searches += 1
        # a function within another one is made again and again: each may be hot
        again = bool(code.co_freevars) and tally.searches < _MANY
        tally.ticks, begin = 0 if again else None, tally.begin
        tally.begin = now
        spent = _clock.of_python(begin, now)
        functions = _functions_of(frame, code)
        for function in functions:
            if was_promoted(function):  # and given back since
                continue
            promoted = front_of(function) if promote(function) else None
            if isinstance(promoted, Promoted):
                promoted.before = spent
                tally.running = weakref.ref(promoted), now
        if not any(map(was_promoted, functions)):  # none can have a front
            expect(code, spent)


def _still_runs(
    tally: _Tally, running: tuple[weakref.ref[Promoted], _clock.Moment], now: _clock.Moment
) -> None:
    """Its first call goes on."""
    promoted, begin = running[0](), running[1]
    if promoted is None or promoted.entered:
        tally.running = None
    else:
        promoted.running = _clock.of_python(begin, now)


def _functions_of(frame: FrameType, code: CodeType) -> list[FunctionType]:
    """The functions that have this code: the one that runs in the frame. If this Python's frames
    are not known, it is the module's function of that name, or those that the collector finds,
    which looks at all objects.
    """
    behind = {id(p.plain) for p in fronts()}
    if _watching.KNOWN:
        runs = fastpath.frame_function(frame)
        found = [runs] if isinstance(runs, FunctionType) and runs.__code__ is code else []
        return [f for f in found if id(f) not in behind]
    if not code.co_freevars:
        known: Any = frame.f_globals.get(code.co_name)
        for _ in range(4):
            if isinstance(known, FunctionType) and known.__code__ is code:
                return [known]
            known = getattr(known, "__wrapped__", None)
    take_back()
    functions = [
        f for f in gc.get_referrers(code)
        if type(f) is FunctionType and f.__code__ is code and id(f) not in behind
    ]  # fmt: skip
    return functions if len(functions) <= _MANY else []
