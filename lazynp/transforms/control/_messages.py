"""Exceptions that a program raises: `raise ValueError(f"element {i} is negative")`.

What the program knows only while it runs is a mark in the text, or stands among the arguments and
attributes of the exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FunctionType, TracebackType
from typing import Any

import numpy as np

from lazynp._dataclass import replace
from lazynp._errors import CONVERSIONS, MARK, Model, Shown
from lazynp._jaxpr import Jaxpr
from lazynp._recorder import local
from lazynp._sizes import is_size
from lazynp.primitives import elementwise, shaping
from lazynp.primitives.checks import check_later, check_like
from lazynp.transforms._branches import Merged
from lazynp.transforms._cond import cond_call
from lazynp.transforms._stage import Program, stage, weak_aval
from lazynp.transforms.control._asked import shown
from lazynp.transforms.control._marks import FORMATS
from lazynp.transforms.control._printing import Text
from lazynp.transforms.control._state import (
    CannotStage,
    mark_raised,
    note_depth,
    operators,
    session,
    undecided,
    when_raised,
)

# errors that an operation in a body may raise while it is traced: there is no such element
_OF_VALUES = (IndexError, KeyError, ZeroDivisionError)
_INT = np.dtype(np.int64)


class _Entry:
    """A number that an exception shows. inside: the branch or round has computed it, in this depth.
    bits: the number as a branch leaves it.
    """

    def __init__(self, value: Any) -> None:
        self.value, self.depth, self.bits = value, session.depth, None
        self.inside = local.recorder.owns(value._read())  # type: ignore[attr-defined]
        self.aval = weak_aval(value)

    def as_bits(self) -> Any:
        if self.bits is not None:
            return self.bits
        if self.aval.dtype.kind != "f":
            return elementwise.convert(self.value, dtype=_INT)
        wide = elementwise.convert(self.value, dtype=np.dtype(np.float64))
        return shaping.bitcast(wide, dtype=_INT, shape=())


def _place_of(value: Any) -> int:
    """The place of a traced value among those that exceptions of this trace show."""
    if value.ndim or value.dtype.kind not in "biuf":
        raise CannotStage("a traced value is formatted")
    for k, entry in enumerate(session.shown):
        if entry.value is value and entry.depth == session.depth:
            return k
    session.shown.append(_Entry(value))
    return len(session.shown) - 1


class _Formatted:
    """A traced value in an f-string."""

    def __init__(self, value: Any, conversion: str) -> None:
        self._value, self._conversion = value, conversion

    def _mark(self, how: str) -> str:
        if session.strict is not None:
            return "?"  # Python runs the call again, and raises the exception
        if "\0" in how:
            raise CannotStage("a traced value is formatted")
        return f"\0{_place_of(self._value)}{how}\0"

    def by(self, form: str) -> str:
        """`form % self`"""
        return self._mark(form)

    def __format__(self, form: str) -> str:
        return self._mark(f":{self._conversion}:{form}")

    def __str__(self) -> str:
        return format(self)

    def __repr__(self) -> str:
        return self._mark(":r:")


class _Said:
    """A text of traced values in an f-string."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def by(self, form: str) -> str:
        return _said(self._text)

    def __format__(self, form: str) -> str:
        return _said(self._text)

    def __str__(self) -> str:
        return _said(self._text)

    __repr__ = __str__


def message(x: Any, conversion: str | None = None) -> Any:
    """What a text for an exception is made of. conversion: of an f-string."""
    x = shown(x) if is_size(x) else x
    if type(x) is Text:
        return _Said(x)
    if (session.depth or session.asserts) and undecided(x):
        return _Formatted(x, conversion or "")
    return x if conversion is None else CONVERSIONS[conversion](x)


def said(function: Any, x: Any) -> Any:
    """`str(x)` or `repr(x)` for an exception."""
    ours = function is str or function is repr
    return function(message(x)) if ours else operators[0].call(function)(x)


def percent(form: str, given: Any) -> str:
    """`form % given` for an exception."""
    values = list(given) if type(given) is tuple else [given]
    values = [shown(x) if is_size(x) else x for x in values]
    count = sum(found[0] != "%%" for found in FORMATS.finditer(form))
    if not any(undecided(x) or type(x) is Text for x in values) or count != len(values):
        return form % (tuple(values) if type(given) is tuple else values[0])

    def one(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        x = message(values.pop(0))
        return x.by(found[0]) if type(x) in (_Formatted, _Said) else found[0] % (x,)

    return FORMATS.sub(one, form)


def asserted(bad: Any, text: Callable[[], Any] | None) -> None:
    """Record that the program raises an AssertionError."""
    session.asserts += 1
    try:
        error = raised(AssertionError(*([] if text is None else [text()])))
        check_raised(bad, error, 0)
    finally:
        session.asserts -= 1


def constructing(kind: type) -> Callable[..., Any] | None:
    """What makes an exception of this class, if a constructor of the user's may format what it is
    given.
    """
    if not issubclass(kind, BaseException) or type(kind.__init__) is not FunctionType:
        return None

    def made(*args: Any, **kwargs: Any) -> Any:
        given = {n: message(x) for n, x in kwargs.items()}
        try:
            error = kind(*map(message, args), **given) if session.depth else None
        except TypeError:  # it computes with them
            error = None
        if error is None:
            return kind(*args, **kwargs)
        error.args = _values(error.args)
        vars(error).update({n: _values(x) for n, x in vars(error).items()})
        return error

    return made


def _values(x: Any) -> Any:
    """The traced values that texts stand for."""
    if type(x) is tuple:
        return tuple(map(_values, x))
    return x._value if type(x) is _Formatted else x


def raised(error: Any) -> Any:
    """The exception of a `raise`."""
    if isinstance(error, type):
        error = error()
    mark_raised(error)
    if any(type(x) is Text for x in error.args):
        error.args = tuple([_said(x) if type(x) is Text else x for x in error.args])
    if (session.depth or session.asserts) and session.strict is None:
        for x in _held(error):
            _place_of(x)
    return error


def _said(text: Text) -> str:
    """A text that was made before, in an exception. What is raised while tracing describes what has
    no value.
    """
    if session.depth or session.asserts:
        return text.filled(lambda k, how: f"\0{_place_of(session.said[k])}{how}\0")
    return text.filled(lambda k, how: str(session.said[k]))


def _noted(value: Any) -> int:
    """The place of a value that `raised` has noted."""
    return max(k for k, entry in enumerate(session.shown) if entry.value is value)


def _held(error: BaseException) -> list[Any]:
    """The traced values among the arguments and attributes of an exception."""
    return [x for x in _parts((*error.args, *vars(error).values())) if undecided(x)]


def _parts(x: Any) -> list[Any]:
    return [z for y in x for z in _parts(y)] if type(x) is tuple else [x]


def _marks(error: BaseException) -> set[int]:
    """The places of what an exception shows."""
    found = {_noted(x) for x in _held(error)}
    texts = [x for x in _parts((*error.args, *vars(error).values())) if type(x) is str]
    return found.union(int(m[0]) for x in texts for m in re.findall(MARK, x))


def computed_inside(error: Exception) -> list[Any]:
    """What the branch that ends with this exception has computed of what it shows."""
    if session.strict is not None:
        return []
    note_depth(error, session.depth)
    found = [session.shown[k] for k in sorted(_marks(error))]
    return [e for e in found if e.inside and e.depth == session.depth]


def left(entries: list[Any], program: Program, bad: Any) -> None:
    """Compute these as such a branch does, where it is `bad`. Writes do not count: the call undoes
    them.
    """
    whole, count = program.jaxpr, len(entries)
    jaxpr = Jaxpr(whole.inputs, whole.eqns, whole.outputs[:count])
    only = replace(program, jaxpr=jaxpr, written=[])
    none = stage(lambda _: [shaping.full(0, shape=(), dtype=_INT)] * count, [], "no numbers", [])
    merged = Merged([none, only], 0)
    index = elementwise.convert(bad, dtype=_INT)
    made = cond_call(index, *merged.captured, branches=tuple(merged.jaxprs))
    for entry, bits in zip(entries, made, strict=True):
        entry.bits, entry.depth = bits, session.depth


def is_deferred(error: BaseException, since: int) -> bool:
    """Whether only a body that runs raises what its trace, begun after that number, has raised."""
    return when_raised(error) >= since or isinstance(error, _OF_VALUES)


def check_raised(bad: Any, error: BaseException, depth: int = 1) -> None:
    """Record that the program raises this error, where its `raise` stands. depth: of that below
    this one.
    """
    place: TracebackType | None = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    before = local.where
    if place is not None:
        local.where = place.tb_frame.f_code, place.tb_lasti
    try:
        _check(bad, error, session.depth + depth)
    finally:
        local.where = before


def _check(bad: Any, error: Any, depth: int) -> None:
    if session.strict is not None:  # Python runs the call again
        check_later(bad, type(error), re.sub(MARK, "?", str(error)))
        return
    marks = sorted(_marks(error))
    entries = [session.shown[k] for k in marks]
    for e in entries:
        # a value that the branch has computed is not known outside, where the check is
        if bad.ndim or e.bits is None and (e.depth != depth or e.inside and depth > session.depth):
            raise CannotStage("a traced value is formatted")
    numbered = enumerate(zip(marks, entries, strict=True))
    marked = {k: Shown(i, e.aval.dtype, e.aval.weak) for i, (k, e) in numbered}
    held = {id(x): marked[_noted(x)] for x in _held(error)}
    said = re.sub(MARK, "...", str(error))
    check_like(bad, Model(error, marked, held), said, [e.as_bits() for e in entries])
