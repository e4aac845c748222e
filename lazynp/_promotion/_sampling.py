"""Which functions are hot: operations, counted by the functions of the user's on the stack.

`Recorder.ticked` calls `ticked` once for so many operations. Each tick counts for every function of
the user's on the stack. After `HOT` ticks, a `Promoted` is put in front of the function. Counts are
exact: the same function is promoted at the same operation each time.
"""

from __future__ import annotations

import inspect
from types import CodeType, FrameType, FunctionType
from typing import Any

from lazynp._config import config
from lazynp._memo import Memo
from lazynp._promotion._function import promote
from lazynp.transforms.control import Door, is_users

HOT = 48  # ticks
_DEEP = 24  # frames of a stack that are looked at
_UNSUITED = (
    inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
)  # fmt: skip

# by code: ticks, or None once it is decided; and the code, kept alive
_tallies: Memo[int, list[Any]] = Memo("hot functions", 1024)


def ticked(frame: FrameType) -> None:
    if not config.promotion or config.execution != "adaptive":
        return
    found: FrameType | None = frame
    for _ in range(_DEEP):
        if found is None:
            break
        code = found.f_code
        is_function = code.co_flags & inspect.CO_NEWLOCALS  # not a module
        if is_function and not code.co_flags & _UNSUITED:
            _count(found, code)
        found = found.f_back


def _count(frame: FrameType, code: CodeType) -> None:
    tally = _tallies.get(id(code))
    if tally is None:
        front = any(isinstance(c, Door) for c in code.co_consts)
        tally = _tallies.put(id(code), [0 if is_users(code) and not front else None, code])
    if tally[0] is None:
        return
    tally[0] += 1
    if tally[0] >= HOT:
        tally[0] = None
        function = _function_of(frame, code)
        if function is not None:
            promote(function)


def _function_of(frame: FrameType, code: CodeType) -> FunctionType | None:
    """The function of a module that has this code."""
    found: Any = frame.f_globals.get(code.co_name)
    for _ in range(4):
        if isinstance(found, FunctionType) and found.__code__ is code:
            return None if code.co_freevars else found
        found = getattr(found, "__wrapped__", None)
    return None
