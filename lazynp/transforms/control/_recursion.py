"""A function that calls itself in a branch whose test is not known: nothing ends such a trace.

Where the test is known, Python ends the recursion while tracing. Else both branches are traced, and
the one that calls the function calls it again. What is nested that deeply, or what is traced that
often, is an error.
"""

from __future__ import annotations

import sys
from collections import Counter
from types import CodeType, FrameType, TracebackType
from typing import Any

from lazynp._positions import position
from lazynp.transforms._stage import stage
from lazynp.transforms.control._source import RUNTIME

NESTED = 8  # calls of a function by itself
_DEEP = 100  # staged bodies in which no function is found again and again
_BRANCHES = 3  # staged bodies in a function from which its calls of itself are counted
_CALLS = 250  # of these; each takes 10 to 40 ms


class TooLong(BaseException):
    """A trace takes longer than it may. Unlike `CannotStage`, this unrolls no loop."""


class TooDeep(TooLong):
    """A function calls itself, and nothing ends that while it is traced."""


def check_depth(made: Any, session: Any) -> None:
    """Before a call of a rewritten function in a staged body."""
    if session.depth < _BRANCHES:
        return
    code = getattr(getattr(made, "__func__", made), "__code__", None)
    places = _running(sys._getframe(1))
    at = [k for k, (c, _) in enumerate(places) if c is code]
    if code is None or not at:
        return
    if session.depth >= _DEEP and len(at) >= NESTED:
        raise TooDeep(_endless(places, code, len(at)))
    staged = sum(c is stage.__code__ for c, _ in places[: at[-1]])
    session.recursive += staged >= _BRANCHES
    if session.recursive > _CALLS and session.mode == "auto":
        raise TooDeep(
            f"{_innermost(places)}: `{code.co_qualname}` calls itself in branches on traced "
            f"values, both of which are traced: more than {_CALLS} calls. Write a loop, with the "
            "calls that are left in an array, or call it without jit, or trace it all the same "
            'with jit(..., loops="unroll")'
        )


def instead(error: RecursionError) -> BaseException:
    """What a staged body raises instead of Python's error."""
    inner: list[_Place] = []
    tb: TracebackType | None = error.__traceback__
    while tb is not None:
        inner.append((tb.tb_frame.f_code, tb.tb_lasti))
        tb = tb.tb_next
    places = [*reversed(inner), *_running(sys._getframe(1))]
    ours = {id(c): c for c, _ in places if RUNTIME in c.co_freevars}
    times = Counter([id(c) for c, _ in places if id(c) in ours])
    which, count = max(times.items(), key=lambda pair: pair[1], default=(0, 0))
    return error if count < NESTED else TooDeep(_endless(places, ours[which], count))


_Place = tuple[CodeType, int]


def _running(frame: FrameType | None) -> list[_Place]:
    """The places of all frames, from the innermost on."""
    found: list[_Place] = []
    while frame is not None:
        found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return found


def _innermost(places: list[_Place]) -> str:
    """The line of the user's that runs."""
    return position(*next((p for p in places if RUNTIME in p[0].co_freevars), (None, 0)))


def _endless(places: list[_Place], code: CodeType, count: int) -> str:
    return (
        f"{_innermost(places)}: `{code.co_qualname}` calls itself where a branch depends on a "
        f"traced value, so nothing ends the recursion while it is traced (it is {count} calls "
        "deep). Make what ends it known (jit(..., static_argnames=...)), or write a loop, or call "
        "it without jit"
    )
