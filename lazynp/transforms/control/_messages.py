"""Messages of exceptions that a program raises: `raise ValueError(f"element {i} is negative")`.

What the program knows only while it runs is a mark in the text. One integer can be shown there.
"""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any

from lazynp._recorder import local
from lazynp.primitives.checks import check_later
from lazynp.transforms.control._state import (
    CannotStage,
    mark_raised,
    session,
    text,
    undecided,
    when_raised,
)

# errors that an operation in a body may raise while it is traced: there is no such element
_OF_VALUES = (IndexError, KeyError, ZeroDivisionError)
_MARK = re.compile("\0(\\d+)\0")


class _Shown:
    """A traced value in an f-string."""

    def __init__(self, value: Any) -> None:
        self._value, self._depth = value, session.depth

    def __format__(self, form: str) -> str:
        if session.strict is not None:
            return "?"  # Python runs the call again, and raises the exception
        if form or self._value.ndim or self._value.dtype.kind not in "iu":
            text(self._value)
            raise CannotStage("a traced value is formatted")
        for k, (value, depth, _) in enumerate(session.shown):
            if value is self._value and depth == self._depth:
                return f"\0{k}\0"
        inside = local.recorder.owns(self._value._read())  # type: ignore[attr-defined]
        session.shown.append((self._value, self._depth, inside))
        return f"\0{len(session.shown) - 1}\0"

    __str__ = lambda self: format(self)  # noqa: E731

    def __repr__(self) -> str:
        if session.strict is not None:
            return "?"
        raise CannotStage("a traced value is formatted")


def message(x: Any) -> Any:
    """A value of an f-string that an exception gets."""
    return _Shown(x) if session.depth and undecided(x) else x


def check_with_message(bad: Any, kind: type[Exception], said: str, depth: int) -> None:
    """Record that the program raises this exception. depth: where the message was made."""
    marks = set(_MARK.findall(said))
    if not marks:
        check_later(bad, kind, said)
        return
    value, made_at, inside = session.shown[int(marks.pop())]
    # a value that the branch has computed is not known outside, where the check is
    if marks or made_at != depth or bad.ndim or inside and depth > session.depth:
        raise CannotStage("a traced value is formatted")
    if "{}" in said:
        raise CannotStage("a traced value is formatted beside {}")
    check_later(bad, kind, _MARK.sub("{}", said), value)


def raised(error: Any) -> Any:
    """The exception of a `raise`."""
    if isinstance(error, type):
        error = error()
    mark_raised(error)
    return error


def is_deferred(error: BaseException, since: int) -> bool:
    """Whether only a body that runs raises what its trace, begun after that number, has raised."""
    return when_raised(error) >= since or isinstance(error, _OF_VALUES)


def check_raised(bad: Any, error: BaseException) -> None:
    """Record that the program raises this error, where its `raise` stands."""
    place: TracebackType | None = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    before = local.where
    if place is not None:
        local.where = place.tb_frame.f_code, place.tb_lasti
    try:
        check_with_message(bad, type(error), str(error), session.depth + 1)  # type: ignore
    finally:
        local.where = before
