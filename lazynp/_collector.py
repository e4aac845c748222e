"""Python's garbage collector, which a large heap keeps busy for as long as a trace may take."""

from __future__ import annotations

import atexit
import gc
import operator
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uncollected() -> Iterator[None]:
    """A block that makes many objects and no garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class importing:
    """The processor's time that the import takes."""

    begin = seconds = 0.0


_YOUNG = 10.0  # seconds after the import


class _Aside:
    """Whether there are objects that the collector passes over; until when; what it does not pass
    over unless the program has set aside more (to count them takes some milliseconds); the objects
    that were there before the import.
    """

    there = False
    until = 0.0
    seen: list[object] = []
    older: list[object] = []
    callback: Any = None  # that the collector calls
    track_again: Callable[[list[Any]], object] | None = None


_MANY = 200_000  # objects: more than the import makes
_usual: list[tuple[int, int, int]] = []  # the thresholds, while the collector waits


def put_off() -> None:
    """Let the collector wait until `set_aside`: it would look through what the import makes, all of
    which stays, some 80 times. If the import fails, its first run ends that.
    """
    usual = gc.get_threshold()
    importing.begin = time.process_time()
    _Aside.older = gc.get_objects()
    if gc.isenabled() and 0 < usual[0] < _MANY and not _usual:
        _usual.append(usual)
        gc.set_threshold(_MANY, *usual[1:])
        _listen(_before)


def _go_on() -> None:
    """Undo `put_off`, unless somebody else has set the thresholds since."""
    if _usual:
        usual = _usual.pop()
        if gc.get_threshold() == (_MANY, *usual[1:]):
            gc.set_threshold(*usual)


def _listen(callback: Any) -> None:
    """Let the collector call this, in place of what it calls now."""
    if _Aside.callback in gc.callbacks:
        gc.callbacks[gc.callbacks.index(_Aside.callback)] = callback
    else:
        gc.callbacks.append(callback)
    _Aside.callback = callback


def _listen_no_more() -> None:
    """Replace the callback by one that does nothing and is written in C: a function of Python's
    fails where the collector runs at the limit of recursion. A list that became shorter would make
    the collector leave out another's callback.
    """
    if _Aside.callback in gc.callbacks:
        gc.callbacks[gc.callbacks.index(_Aside.callback)] = operator.is_


def set_aside(
    track_again: Callable[[list[Any]], object] | None, before_full: Callable[..., Any] | None = None
) -> None:
    """Let the collector pass over what the import has made, for the first seconds.

    That is so much that a full collection takes 10 to 25 ms, and the first computations make enough
    objects to start one. The next full collection that the program asks for, or the first after
    some seconds, looks through all of it again: no garbage stays. A program that freezes objects
    itself is left alone.

    The variables of the program's modules were there before. The collector ends them with the
    process: a file that is open is written then. track_again: what lets it look at them, or None;
    then it looks at everything before the process ends. before_full: makes a callback in C.
    """
    importing.seconds = time.process_time() - importing.begin
    _go_on()
    older, _Aside.older = _Aside.older, []
    if gc.get_freeze_count() or not gc.isenabled():
        _listen_no_more()
        return
    gc.freeze()
    if track_again is None:
        atexit.register(take_back)
    else:
        track_again(older)
    _Aside.there, _Aside.track_again = True, track_again
    _Aside.seen, _Aside.until = [object()], time.monotonic() + _YOUNG
    _listen(_before if before_full is None else before_full(_before))


_FEW = 50_000  # objects of the program's: to look at these once more takes some 15 ms


@contextmanager
def set_aside_too() -> Iterator[None]:
    """A block that makes many objects that stay. The collector passes over these as well, as long
    as it does over those of the import. What was there before, it goes on to look at.

    Otherwise the next collections of each generation would look through all of them, and the full
    ones too: some 30 ms. Another thread's new objects would be set aside with them.
    """
    alone = _Aside.there and gc.isenabled() and threading.active_count() == 1
    older = gc.get_objects() if alone and _Aside.track_again is not None else []
    with uncollected():
        yield
        # a program that has frozen objects itself is left alone
        if len(older) < _FEW and any([x is _Aside.seen for x in older]):
            gc.freeze()
            if _Aside.track_again is not None:
                _Aside.track_again(older)
            _Aside.seen = [object()]


def take_back() -> None:
    """End what `set_aside` began. `gc.get_referrers` too does not see what is set aside."""
    _listen_no_more()
    if _Aside.there:
        _Aside.there = False
        if any([x is _Aside.seen for x in gc.get_referrers(*_Aside.seen)]):
            gc.unfreeze()  # otherwise the program has frozen its own


def _before(phase: str, info: dict[str, Any]) -> None:
    """A callback of the collector."""
    if phase == "start":
        _go_on()
    if _Aside.there and phase == "start" and info["generation"] == 2 and not sys.is_finalizing():
        by_itself = gc.get_count()[2] > gc.get_threshold()[2]
        if not by_itself or time.monotonic() > _Aside.until:
            take_back()


put_off()
