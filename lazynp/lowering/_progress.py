"""Report long compilations, so that nobody takes them for a hang: `config.progress`."""

from __future__ import annotations

import os
import sys
import threading
from sys import _getframe

from lazynp._config import config
from lazynp._jaxpr import Jaxpr
from lazynp.lowering._background import nobody_waits

_LONG = 2.0  # seconds
_LINES = 20_000  # of a module: 0.1 ms each for elementwise operations, more for others
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Told:
    """Wraps a compilation. Prints one line on stderr once it has taken long, or if it surely
    will.
    """

    __slots__ = ("_text", "_jaxpr", "_timer")

    def __init__(self, text: str, jaxpr: Jaxpr | None) -> None:
        self._text, self._jaxpr = text, jaxpr
        self._timer: threading.Timer | None = None

    def __enter__(self) -> None:
        if nobody_waits() or not _wanted():
            return
        lines = self._text.count("\n")
        operations = lines if self._jaxpr is None else self._jaxpr.operations
        message = (
            f"lazynp: compiling a program of {operations} operations for {_users_line()} "
            f"(takes more than {_LONG:.0f} s)"
        )
        if lines >= _LINES:
            _tell(message)
            return
        self._timer = threading.Timer(_LONG, _tell, (message,))
        self._timer.daemon = True
        self._timer.start()

    def __exit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _wanted() -> bool:
    if config.progress != "auto":
        return config.progress
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is no stderr, or it is closed
        return False


def _users_line() -> str:
    frame = _getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _tell(message: str) -> None:
    try:
        print(message, file=sys.stderr, flush=True)
    except (AttributeError, OSError, ValueError):
        pass  # stderr was closed meanwhile
