"""The end of the process: no thread is inside XLA while the interpreter is torn down.

A daemon thread that asks for the interpreter then is ended where it stands, by unwinding its stack.
Frames of C++ cannot be unwound so: they end the process by SIGABRT. So the last thing before is to
wait until no thread is inside, and threads that want to enter from then on are kept waiting.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from types import CodeType, FrameType

_PATIENCE = 10.0  # seconds for programs that run at the end
_KEPT = 5.0  # seconds: who is not gone by then is waited for by another thread, and goes on

closing = False
_closer = 0  # the thread that ends the process
_doors: set[CodeType] = set()


def is_door(*functions: object) -> None:
    """These functions call XLA, and call `keep_out` before they do if it is `closing`."""
    _doors.update(function.__code__ for function in functions)  # type: ignore[attr-defined]


def keep_out() -> None:
    """Called where a thread is about to enter XLA at the end of the process."""
    if threading.get_ident() != _closer:
        time.sleep(_KEPT)


@atexit.register
def _close() -> None:
    global closing, _closer
    _closer, closing = threading.get_ident(), True
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and any(
        _inside(frame) for thread, frame in sys._current_frames().items() if thread != _closer
    ):
        time.sleep(0.001)


def _inside(top: FrameType) -> bool:
    """Whether a thread that is here has frames of XLA's on its stack."""
    frame: FrameType | None = top
    if top.f_code is keep_out.__code__ and top.f_back is not None:
        frame = top.f_back.f_back  # it stands before the door, unless XLA has called it
    while frame is not None:
        if frame.f_code in _doors:
            return True
        frame = frame.f_back
    return False
