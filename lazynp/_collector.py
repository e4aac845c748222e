"""Python's garbage collector, which a large heap keeps busy for as long as a trace may take."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
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


_YOUNG = 10.0  # seconds after the import


class _Aside:
    """Whether there are objects that the collector passes over; how many; until when."""

    there = False
    count = 0
    until = 0.0


def set_aside() -> None:
    """Let the collector pass over all objects that there are, for the first seconds.

    The import leaves so many that a full collection takes 10 to 25 ms, and the first computations
    make enough objects to start one. The next full collection that the program asks for, or the
    first after some seconds, looks through all of them again: no garbage stays. A program that
    freezes objects itself is left alone.
    """
    if gc.get_freeze_count() or not gc.isenabled():
        return
    gc.freeze()
    _Aside.there = True
    _Aside.count, _Aside.until = gc.get_freeze_count(), time.monotonic() + _YOUNG
    gc.callbacks.append(_before)


def take_back() -> None:
    """End what `set_aside` began. `gc.get_referrers` too does not see what is set aside."""
    if _Aside.there:
        _Aside.there = False
        if gc.get_freeze_count() <= _Aside.count:  # otherwise the program has frozen its own
            gc.unfreeze()


def _before(phase: str, info: dict[str, Any]) -> None:
    """A callback of the collector. It stays in the list: a list that shrinks meanwhile would make
    the collector leave out another's callback.
    """
    if _Aside.there and phase == "start" and info["generation"] == 2 and not sys.is_finalizing():
        by_itself = gc.get_count()[2] > gc.get_threshold()[2]
        if not by_itself or time.monotonic() > _Aside.until:
            take_back()
