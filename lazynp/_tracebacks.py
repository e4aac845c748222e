"""Tracebacks that show the user's frames alone, as NumPy's compiled code leaves none of its own.

Functions that users call hand what is raised to `show_users`. `LAZYNP_DEBUG=1` keeps all frames,
and so does an error that is probably a defect of ours: who reports it needs them.
"""

from __future__ import annotations

import sys
from types import TracebackType

from lazynp._config import config
from lazynp._errors import InternalError
from lazynp._positions import user_frame

_DEFECTS = (InternalError, AssertionError, AttributeError, KeyError, NameError, SystemError)
everything = False  # whether all frames are kept; set by the tests


def show_users(error: BaseException) -> None:
    """Remove our frames from the traceback, if the user calls the function that asks for this."""
    caller = sys._getframe(1).f_back
    if caller is None or user_frame(caller) is not caller:
        return  # a function of ours calls it, which may look at the traceback
    if not (everything or config.debug or _is_defect(error)):
        remove_ours(error)


def remove_ours(error: BaseException | None) -> None:
    """Remove our frames from the tracebacks of this exception and of the exceptions behind it."""
    _remove(error, set())


def _remove(error: BaseException | None, done: set[int]) -> None:
    if error is None or id(error) in done:
        return
    done.add(id(error))
    error.__traceback__ = _users(error.__traceback__)
    _remove(error.__cause__, done)
    _remove(error.__context__, done)
    behind = error.__context__
    if behind is not None and behind.__traceback__ is None:  # only we caught it
        error.__context__ = behind.__context__


def _users(trace: TracebackType | None) -> TracebackType | None:
    kept, theirs = None, []
    while trace is not None:
        if user_frame(trace.tb_frame) is trace.tb_frame:
            theirs.append(trace)
        trace = trace.tb_next
    for t in reversed(theirs):
        kept = TracebackType(kept, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return kept


def _is_defect(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    ours = trace is not None and user_frame(trace.tb_frame) is not trace.tb_frame
    return ours and isinstance(error, _DEFECTS)
