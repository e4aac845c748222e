"""The end of the process: no thread is inside XLA while the interpreter shuts down.

During shutdown, CPython ends a daemon thread that asks for the interpreter by unwinding its stack.
C++ frames cannot be unwound this way: they end the process by SIGABRT. So an exit handler
waits until no thread is inside XLA. From then on, threads that are about to enter are kept waiting.
A thread that stays inside for long (a large program is being compiled) is stopped where it is: then
the C part handles SIGABRT. Without the C part, such a process dies by it.
Freeing a buffer of XLA's asks for the interpreter too, and may happen anywhere in a thread's code:
the handler holds all that there are. A thread that was freeing one, and gets the interpreter late
because others run, is stopped in the same way.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from lazynp._fronts import BUILT, fastpath

_PATIENCE = 10.0  # seconds that running programs get to finish
# Seconds that a thread waits at the door. If the process still lives, something waits for this
# thread, so it goes on. It does not wait that long where the end is seen to wait: in `threading`.
_KEPT, _LOOK = 5.0, 0.02
_FREED = 0.01  # seconds in which a thread that is freeing a buffer comes back

closing = False
_closer = 0  # the thread that ends the process
_doors: set[CodeType] = set()
_buffers: list[Callable[[], list[Any]]] = []
_held: list[list[Any]] = []  # never emptied
_last: list[Callable[[], None]] = []


def is_door(*functions: object) -> None:
    """Declare functions that call XLA. If `closing` is set, they call `keep_out` first."""
    _doors.update(function.__code__ for function in functions)  # type: ignore[attr-defined]


def holds(buffers: Callable[[], list[Any]]) -> None:
    """Declare a function that gives the buffers of a client."""
    _buffers.append(buffers)


def at_last(function: Callable[[], None]) -> None:
    """Call this after all other exit handlers, those registered before lazynp was loaded apart."""
    _last.append(function)


def keep_out() -> None:
    """Delay a thread that is about to enter XLA at the end of the process."""
    if threading.get_ident() == _closer:
        return
    end = time.monotonic() + _KEPT
    while not _end_waits() and time.monotonic() < end:
        time.sleep(_LOOK)


def _end_waits() -> bool:
    """Whether the thread that ends the process joins a thread, or waits for what one tells it."""
    frame = sys._current_frames().get(_closer)
    return frame is not None and frame.f_globals.get("__name__") == threading.__name__


@atexit.register
def _close() -> None:
    global closing, _closer
    _closer, closing = threading.get_ident(), True
    end, inside = time.monotonic() + _PATIENCE, False
    while not inside and _busy():
        inside = time.monotonic() > end
        time.sleep(0.001)
    if len(sys._current_frames()) > 1:
        if BUILT and (inside or _buffers):
            fastpath.end_beside_threads(inside)
        _held.extend([buffers() for buffers in _buffers])
        time.sleep(_FREED)
    for call in _last:
        call()


def _busy() -> bool:
    """Whether another thread is inside XLA."""
    frames = sys._current_frames().items()
    return any(_inside(frame) for thread, frame in frames if thread != _closer)


def _inside(top: FrameType) -> bool:
    """Whether a thread with this top frame may have XLA's frames on its stack."""
    frame: FrameType | None = top
    if top.f_code is keep_out.__code__ and top.f_back is not None:
        # It waits at a door, which is not inside XLA; its callers may be.
        frame = top.f_back.f_back
    while frame is not None:
        if frame.f_code in _doors:
            return True
        frame = frame.f_back
    return False
