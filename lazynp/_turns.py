"""Threads that stage functions take turns, and arrays that a staged function has borrowed.

While a function is staged, the arrays that it uses hold inputs of its program (see
`StagingRecorder.capture`). Another thread that came upon one would record an input that never gets
a value, or stage with it and give back the wrong node for good. So one thread stages at a time, and
the others wait for an array until it is given back. Both end after some time: what is staged may
itself wait for such a thread.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lazynp._recorder import StagingRecorder, staged
from lazynp._stale import write_lock

_PATIENCE = 20.0  # seconds
_POLL = 0.001

_turn = threading.RLock()
os.register_at_fork(after_in_child=_turn._at_fork_reinit)  # pyright: ignore[reportAttributeAccessIssue]


@contextmanager
def my_turn() -> Iterator[None]:
    """A block in which no other thread stages anything, if it comes to that in time."""
    mine = _turn.acquire(timeout=_PATIENCE)
    try:
        yield
    finally:
        if mine:
            _turn.release()


def wait_for(owner: Any) -> None:
    """Wait until no other thread has borrowed this array. If this thread holds the lock of writes,
    which the other may need, it lets go of that meanwhile.
    """
    before, end = None, 0.0
    while True:
        borrowed = StagingRecorder.borrowed
        borrower = _borrower(owner)
        if borrower is not before:  # many may have it one after the other
            before, end = borrower, time.monotonic() + _PATIENCE
        if borrower is None:
            if StagingRecorder.borrowed == borrowed:  # nor has any been borrowed meanwhile
                return
        elif time.monotonic() > end:
            raise RuntimeError(
                f"another thread has been tracing {borrower.staging} for {_PATIENCE:g} s. "
                "That uses this array: no other thread can use it until the trace has ended"
            )
        else:
            _sleep()


def borrow(recorder: StagingRecorder, owner: Any) -> None:
    """Let this array hold an input of what is staged, while no other thread is between reading and
    writing it: it would write over the input, and giving back would undo what it wrote.
    """
    if id(owner) in recorder.handles:
        recorder.capture(owner)
        return
    mine = write_lock.acquire(timeout=_PATIENCE)
    try:
        recorder.capture(owner)
    finally:
        if mine:
            write_lock.release()


def _sleep() -> None:
    held = write_lock._release_save() if write_lock._is_owned() else None  # type: ignore[attr-defined]
    time.sleep(_POLL)
    if held is not None:
        write_lock._acquire_restore(held)  # type: ignore[attr-defined]


def _borrower(owner: Any) -> StagingRecorder | None:
    """Who has borrowed the array in another thread."""
    me = threading.get_ident()
    for recorder in tuple(staged):
        if not isinstance(recorder, StagingRecorder):  # new arrays are made elsewhere
            continue
        if recorder.thread != me and id(owner) in recorder.handles:
            return recorder
    return None
