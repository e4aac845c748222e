"""Which loops are looked at: those that have run for long, and go on."""

from __future__ import annotations

import math
import sys
from types import CodeType, FrameType
from typing import Any

from lazynp._fronts import BUILT, fastpath
from lazynp._memo import Memo
from lazynp._promotion import _clock, _ready, _running, has_loops
from lazynp._promotion._conditional import Conditional
from lazynp._promotion._earlier import has_won, key_of, of_code
from lazynp._promotion._expected import SHORT, expected
from lazynp._promotion._items import Items, source_of
from lazynp._promotion._iterated import Iterated
from lazynp._promotion._loops import Loop, loops_at, prepare
from lazynp._promotion._taken import Taken, taken
from lazynp.transforms.control import is_users

_SOON = 0.02  # seconds: if an earlier process has found that programs of its loops win
_PATIENCE = 1.0  # seconds of all calls of a function
_AGAIN = 16  # times that a loop is taken which is short each time: it may end before its trial does
_LEFT = 0.01  # seconds that such a loop must take
_MOST = 0.8  # of a loop's rounds: their mean is that of the loop
_OFTEN = 1.0  # times what must be left of another loop: so long, Python has run it before
_ALONE = 3  # references to an iterator: the frame's, our variable's, the question's
_RANGE = type(iter(range(0)))


class _Watch:
    """A loop that was seen: since when, and how many rounds were left then. of: its iterator, or,
    of a `while` loop, the id of the frame.
    """

    def __init__(self, of: Any, left: int = 0) -> None:
        self.of, self.left, self.time, self.elapsed = of, left, _clock.now(), 0.0
        self.done = 0  # rounds, in this time


class _Code:
    """Code that was seen, kept alive. begin: when it was first seen; seconds: until its loops are
    looked at. To look at them, its source is parsed, which takes time. So one of its calls must
    have run for that long, or all of them for `_PATIENCE`, or its loops must be expected.
    """

    def __init__(self, code: CodeType, seconds: float) -> None:
        self.code, self.seconds, self.begin = code, seconds, _clock.now()
        self.call, self._since = 0, self.begin  # the frame that was seen last, and since when
        self._parsed = False

    def is_due(self, frame: FrameType, now: _clock.Moment) -> bool:
        if self.call != id(frame):
            self.call, self._since = id(frame), now
        if not self._parsed:
            runs, all_ran = _clock.of_python(self._since, now), _clock.of_python(self.begin, now)
            long = runs >= self.seconds or all_ran >= _PATIENCE or expected(self.code) is not None
            self._parsed = long and all_ran >= self.seconds
        return self._parsed


_seen: Memo[int, _Code] = Memo("code with loops", 1024)  # by id of the code


def begins(code: CodeType) -> None:
    """Another call of a hot function begins. (Its frame may lie where that of the last one lay.)"""
    known = _seen.get(id(code))
    if known is not None:
        known.call = 0


def has_no_loops(code: CodeType) -> bool:
    """Whether this code was seen, and has no loop that could be looked at."""
    known = _seen.get(id(code))
    return known is not None and known.seconds == math.inf


def seen(frame: FrameType, now: _clock.Moment | None = None) -> None:
    """Operations have run in this frame: whether one of its loops has taken long, and will."""
    code = frame.f_code
    known = _seen.get(id(code)) or _new(code)
    seconds = known.seconds
    if seconds == math.inf or not known.is_due(frame, now or _clock.now()):
        return
    for loop in loops_at(frame):
        if loop.refused:
            _tell(loop, code, loop.refused)
            _give_back(loop, frame)
        elif loop.is_while:
            if _waited_for(loop, frame, seconds):
                return
        elif _iterated(loop, frame, seconds):
            return


def _new(code: CodeType) -> _Code:
    if not is_users(code) or not has_loops(code):
        return _seen.put(id(code), _Code(code, math.inf))
    soon = has_won(key_of("loops", of_code(code)))
    seconds = min(_SOON, _running.SECONDS) if soon else _running.SECONDS
    return _seen.put(id(code), _Code(code, seconds))


def _iterated(loop: Loop, frame: FrameType, seconds: float) -> bool:
    """Whether a `for` loop is run by an iterator of ours."""
    code = frame.f_code
    iterator = fastpath.frame_value(frame, -1 - loop.depth, None)
    if type(iterator) is Iterated:
        return True
    watch = loop.watch
    watched = watch is not None and watch.of is iterator
    named = sys.getrefcount(iterator) > _ALONE + watched
    source = None if named else source_of(iterator)
    if source is None:
        _tell(loop, code, f"it is over a {type(iterator).__name__}")
        return False
    left, rate = len(source), loop.rate  # of an earlier entry
    needed = _needed(loop, code, seconds)
    if watch is None or not watched:
        if watch is not None:
            loop.spent += watch.elapsed
            if 0 < _MOST * watch.left <= watch.done:
                loop.whole = min(loop.whole, watch.elapsed / watch.done)
        watch = loop.watch = _Watch(iterator, left)
    if left * rate < 2 * needed or not _has_program(loop, source):
        elapsed, done = _clock.of_python(watch.time), watch.left - left
        watch.elapsed, watch.done = elapsed, done
        if elapsed < needed or done < 1:
            return False
        rate = elapsed / done
    if left < 4 or not _is_worth_it(loop, code, left * rate, seconds) or not _can_be(loop, code):
        return False
    loop.watch = None
    told = Taken(loop, code)
    running = Iterated(loop, told, Items(source, loop.node.target), rate)
    fastpath.set_frame_values(frame, (-1 - loop.depth,), [running])
    taken.append(told)
    return True


def _has_program(loop: Loop, source: Any) -> bool:
    items = Items(source, loop.node.target) if loop.ready else None
    return any(r.is_for(loop, items) for r in loop.ready)


def _give_back(loop: Loop, frame: FrameType) -> None:
    """A refused `for` loop gets an iterator of Python's back: ours takes longer for each round."""
    place = -1 - loop.depth
    iterator = None if loop.is_while else fastpath.frame_value(frame, place, None)
    plain = iterator.plain() if type(iterator) is Iterated else None
    if plain is not None:
        fastpath.set_frame_values(frame, (place,), [plain])


def _can_be(loop: Loop, code: CodeType) -> bool:
    """Whether rounds of it can be a program. (To find that out takes time.)"""
    prepare(loop)
    if loop.refused:
        _tell(loop, code, loop.refused)
    return not loop.refused


def _is_worth_it(loop: Loop, code: CodeType, left: float, seconds: float) -> bool:
    """Whether a loop is to be taken that Python would run for so many seconds more. A loop that has
    been entered before will be so again: for about as long as it has run.
    """
    known = expected(code)
    if known is not None and not loop.hot:
        loop.hot = True
        loop.spent += known.spent
    if loop.ready or loop.traced:
        worth = left >= _needed(loop, code, seconds)
    else:
        least = _running.least(loop.hot or seconds != _running.SECONDS)
        worth = left >= least
        if not worth and loop.attempts < _AGAIN and loop.spent >= _OFTEN * least:
            worth = left >= (_LEFT if known is None else SHORT)
            loop.attempts += worth
    if worth and known is not None:
        known.again()
    return worth


def _needed(loop: Loop, code: CodeType, seconds: float) -> float:
    """Seconds that it must take before it is taken."""
    least = _running.least(seconds != _running.SECONDS)
    often = loop.ready or loop.traced or loop.spent >= _OFTEN * least
    if expected(code) is not None and (often or not loop.is_while):
        return SHORT
    return _ready.SECONDS if often else seconds


def _waited_for(loop: Loop, frame: FrameType, seconds: float) -> bool:
    """Whether a `while` loop is waited for."""
    watch = loop.watch
    if isinstance(watch, Conditional):
        return True
    if watch is None or watch.of != id(frame):
        loop.spent += 0.0 if watch is None else watch.elapsed
        loop.watch = _Watch(id(frame))
        return False
    watch.elapsed = _clock.of_python(watch.time)
    if watch.elapsed < _needed(loop, frame.f_code, seconds):
        return False
    if not _can_be(loop, frame.f_code):
        return False
    told = Taken(loop, frame.f_code)
    running = Conditional(loop, told, watch.time)
    if not running.begin(frame):
        return False
    loop.watch = running
    taken.append(told)
    return True


def _tell(loop: Loop, code: CodeType, why: str) -> None:
    """Report that a long loop stays with Python, once."""
    if not any(t.loop is loop for t in taken):
        taken.append(Taken(loop, code, why))


def _known() -> bool:
    """Whether the values of a frame are where they are expected."""
    mark = object()  # the first variable
    frame = sys._getframe()
    for _ in range(1):
        try:
            first, top = fastpath.frame_value(frame, 0, None), fastpath.frame_value(frame, -1, None)
        except (NotImplementedError, IndexError):
            return False
        finally:
            del frame  # it refers to itself, and to all frames around it
        return first is mark and type(top) is _RANGE
    return False


KNOWN = BUILT and _known()
