"""Handlers of exceptions in a rewritten function. (`_raising` rewrites them.)

A handler gets what Python raises while it traces, if nothing traced decides whether it is raised.
What the program raises, no handler gets: the program says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from lazynp.primitives.checks import observers
from lazynp.transforms.control._state import CannotStage, kind, session


def depth() -> int:
    """Of staged bodies, where a `try` begins."""
    return session.depth


def surely(depth: int) -> bool:
    """Whether nothing traced decides if this statement of a `try` runs."""
    return session.depth == depth


class catching:
    """The body of a `try` at this line. types: gives those of its handlers."""

    def __init__(self, line: int, types: Callable[[], Any]) -> None:
        self._entry = line, types

    def __enter__(self) -> None:
        session.handlers.append(self._entry)

    def __exit__(self, *error: Any) -> None:
        session.handlers.pop()


def catches(error: Any, types: Any) -> bool:
    """Whether handlers of these types catch an exception, or those of a class."""
    cls = error if isinstance(error, type) else type(error)
    if not issubclass(cls, BaseException):
        raise CannotStage(f"which exception {kind(error)} gives is not known before it is raised")
    parts = types if isinstance(types, tuple) else (types,)
    return any(catches(error, t) if isinstance(t, tuple) else issubclass(cls, t) for t in parts)


def caught(depth: int, line: int) -> None:
    """A handler begins."""
    error: Any = sys.exc_info()[1]
    ours = type(error).__module__.startswith("lazynp.transforms.")
    if ours or getattr(error, "only_traced", False):
        raise error  # it says that Python's control flow cannot be traced
    if session.depth < getattr(error, "staged_depth", 0):
        raise CannotStage(
            f"line {line}: a handler catches {kind(error)} ({error}), which was raised in a branch "
            "or a loop that is traced: whether the program comes there is not known"
        )


def _told(cls: type[Exception], message: str) -> tuple[type[Exception], str]:
    """The exception that a program raises in place of one that a handler would catch."""
    if session.strict is not None:  # Python runs the call again
        return cls, message
    for line, types in reversed(session.handlers):
        if catches(cls, types()):
            return RuntimeError, (
                f"the program raises {cls.__name__} ({message}), which no handler of the `try` at "
                f"line {line} can catch under jit: test for it with `if`, or call the function "
                "without jit"
            )
    return cls, message


observers.append(_told)
