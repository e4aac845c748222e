"""`print` of traced values, and texts of them (`f"{x[0]:.3f}"`, `str(x)`).

The program prints where Python would, each time it runs. A text that holds a traced number is no
`str`, since nobody knows its characters: `print` and exceptions take it, and anything else is an
error.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NoReturn

from lazynp._array import NDArray
from lazynp._errors import CONVERSIONS, MARK
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.transforms._extras import debug_callback
from lazynp.transforms._stage import weak_aval
from lazynp.transforms.control._marks import FORMATS
from lazynp.transforms.control._state import CannotStage, session, undecided, user_line


class Text:
    """A text in which marks stand for traced values: those of `session.said` with their numbers."""

    def __init__(self, marked: str) -> None:
        self.marked = marked

    def _unknown(self, *_: Any, **__: Any) -> NoReturn:
        if session.depth:  # Python may run the loop, and know the number
            raise CannotStage("a traced value is formatted")
        raise TypeError(
            f"line {user_line()}: the text of a traced value is used, and the value is not known "
            "while tracing; only print and exceptions can take it"
        )

    __str__ = __repr__ = __format__ = __hash__ = __eq__ = __lt__ = __le__ = __gt__ = _unknown
    __ge__ = __len__ = __iter__ = __getitem__ = __contains__ = __bool__ = __mod__ = _unknown

    def __getattr__(self, name: str) -> Any:
        if hasattr(str, name):
            self._unknown()
        raise AttributeError(name)

    def __add__(self, other: Any) -> Any:
        return Text(self.marked + _marked(other)) if _is_text(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Text(_marked(other) + self.marked) if _is_text(other) else NotImplemented

    def filled(self, of: Callable[[int, str], str]) -> str:
        """of: gives the text of a value, by its number and what else the mark says."""
        return re.sub(MARK, lambda m: of(int(m[1]), m[0][len(m[1]) + 1 : -1]), self.marked)


def _is_text(x: Any) -> bool:
    return type(x) in (str, Text)


def _marked(x: Any) -> str:
    return x.marked if type(x) is Text else x


_PLAIN = {"::", ":s:", "%s"}


class _Formatted:
    """A traced value, or a text that holds one, while a text is made of it."""

    def __init__(self, value: Any, conversion: str = "") -> None:
        self._value, self._conversion = value, conversion

    def by(self, how: str) -> str:
        if type(self._value) is Text:  # as wide as it is, without quotes
            return self._value.marked if how in _PLAIN else self._value._unknown()
        if "\0" in how:
            raise CannotStage("a traced value is formatted")
        session.said.append(self._value)
        return f"\0{len(session.said) - 1}{how}\0"

    def __format__(self, form: str) -> str:
        return self.by(f":{self._conversion}:{form}")

    def __str__(self) -> str:
        return self.by(":s:")

    def __repr__(self) -> str:
        return self.by(":r:")


def _is_told(x: Any) -> bool:
    """Whether this is formatted when the program runs."""
    return session.strict is None and (type(x) is Text or undecided(x))


def text(x: Any, conversion: str) -> Any:
    """A value of an f-string."""
    if session.strict is not None and session.depth and undecided(x):
        raise CannotStage("a traced value is formatted")
    return _Formatted(x, conversion) if _is_told(x) else CONVERSIONS[conversion](x)


def written(made: str) -> Any:
    """An f-string, or what else a format has made."""
    return Text(made) if "\0" in made and session.strict is None else made


def by_percent(form: str, given: Any) -> Any:
    """`form % given`, of which something is traced; None if that is not to be had."""
    values = list(given) if type(given) is tuple else [given]
    count = sum(found[0] != "%%" for found in FORMATS.finditer(form))
    if not any(map(_is_told, values)) or count != len(values):
        return None

    def one(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        x = values.pop(0)
        return _Formatted(x).by(found[0]) if _is_told(x) else found[0] % (x,)

    return written(FORMATS.sub(one, form))


def formatting(function: Any) -> Callable[..., Any] | None:
    """What `print`, `str`, `repr`, `format` and `"...".format` are; None for other functions."""
    if session.strict is not None:
        return None
    if function is print:
        return _printed
    of_text = type(getattr(function, "__self__", None)) is str
    if of_text and function.__name__ == "join":
        return functools.partial(_joined, function)
    formats = function in (str, repr, format) or of_text and function.__name__ == "format"
    return functools.partial(_made, function) if formats else None


def _made(function: Any, *args: Any, **kwargs: Any) -> Any:
    """`str(x)`, `format(x, form)`, `"{}".format(x)`"""
    if not any(map(_is_told, (*args, *kwargs.values()))):
        return function(*args, **kwargs)  # for an exception, with marks of its own
    given = {n: _Formatted(x) if _is_told(x) else x for n, x in kwargs.items()}
    return written(function(*[_Formatted(x) if _is_told(x) else x for x in args], **given))


def _joined(function: Any, parts: Any) -> Any:
    """`", ".join(parts)`"""
    parts = list(parts)
    if not any(type(x) is Text for x in parts):
        return function(parts)
    return written(function([x.marked if type(x) is Text else x for x in parts]))


def _printed(*args: Any, **kwargs: Any) -> None:
    """`print` where something is traced, or where the program decides whether it comes here."""
    leaves, tree = tree_flatten((args, kwargs))
    if not (session.depth or session.prints or any(map(_is_told, leaves))):
        print(*args, **kwargs)
        return
    session.prints = True
    operands: list[Any] = []
    places: dict[int, Any] = {}  # by the number of a value that a text holds
    plan: list[Any] = []
    for x in leaves:
        for k in map(int, re.findall("\0(\\d+)", x.marked)) if type(x) is Text else ():
            if k not in places:
                places[k] = _operand(session.said[k], operands)
        plan.append(_operand(x, operands) if undecided(x) else x)

    def show(*values: Any) -> None:
        def of(k: int, how: str) -> str:
            return _formatted(places[k].of(values), how)

        made = [
            x.filled(of) if type(x) is Text else x.of(values) if type(x) is _Operand else x
            for x in plan
        ]
        given, keywords = tree_unflatten(tree, made)
        print(*given, **keywords)

    debug_callback(show, *operands)


def _formatted(value: Any, how: str) -> str:
    if how.startswith("%"):
        return how % (value,)
    conversion, form = how[1:].split(":", 1)
    return format(CONVERSIONS[conversion](value), form)


class _Operand:
    """An operand of the call that prints: what it is there."""

    def __init__(self, place: int, of: Any) -> None:
        self._place, self._weak, self._array = place, weak_aval(of).weak, type(of) is NDArray

    def of(self, values: Any) -> Any:
        value = values[self._place]
        return value if self._array else value.item() if self._weak else value[()]


def _operand(x: Any, operands: list[Any]) -> _Operand:
    operands.append(x)
    return _Operand(len(operands) - 1, x)
