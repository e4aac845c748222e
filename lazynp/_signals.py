"""Exceptions that handlers of the user's signals raise: a timeout by `signal.alarm`, say.

They may come while lazynp traces or tries a hot function. Whatever else goes wrong there leaves the
function with Python, and nobody hears of it. But these must reach the user.
"""

from __future__ import annotations

import signal
from typing import Any

import numpy as np

_NO_HANDLERS = (__file__.rsplit("_signals", 1)[0], np.__file__.rsplit("__init__", 1)[0])


def signal_of(error: BaseException) -> int:
    """The signal whose handler has raised this exception; 0 if none has."""
    theirs, place = [], error.__traceback__
    while place is not None:
        code = place.tb_frame.f_code
        if not code.co_filename.startswith(_NO_HANDLERS):
            theirs.append(id(code))
        place = place.tb_next
    if not theirs:  # most often; to ask for all handlers takes 50 us
        return 0
    handlers = _handlers()
    return next((handlers[code] for code in theirs if code in handlers), 0)


def let_through(error: BaseException) -> None:
    """Raise the exception again if it comes from the handler of a signal."""
    if signal_of(error):
        raise error


def _handlers() -> dict[int, int]:
    """The signals that Python's code handles, by the id of its code."""
    found = {}
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        if callable(handler):
            handler = getattr(handler, "func", handler)  # of a partial
            function = getattr(handler, "__func__", handler)
            code = getattr(function, "__code__", None)
            if code is None:
                code = getattr(vars(type(handler)).get("__call__"), "__code__", None)
            if code is not None:
                found[id(code)] = int(number)
    return found
