"""Objects of dataclasses that the rounds of a loop make anew, `s = step(s)`: the loop carries what
they hold. Each round begins with an object of its own, and must end with one that it has made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from lazynp._tree import LEAF, is_registered, register_pytree_node, tree_flatten
from lazynp.transforms.control._messages import constructing
from lazynp.transforms.control._state import fresh, numeric, session

_FIXED = (bool, str, bytes, type(None))


class Record:
    """What an object holds, as a tree. fixed: the fields that are no numbers or arrays."""

    __slots__ = ("fixed", "kind", "parts")

    def __init__(self, kind: type, parts: dict[str, Any], fixed: tuple[Any, ...]) -> None:
        self.kind, self.parts, self.fixed = kind, parts, fixed


register_pytree_node(
    Record,
    lambda x: (tuple(x.parts.values()), (x.kind, tuple(x.parts), x.fixed)),
    lambda static, parts: Record(static[0], dict(zip(static[1], parts, strict=True)), static[2]),
)


def closed(x: Any) -> Any:
    """The record of an object, or x itself if it is none that a loop can carry."""
    close = getattr(type(x), "_lazynp_taken_apart", None)
    if close is not None:
        return close(x)
    names = _fields(type(x))
    if names is None:
        return x
    found: dict[str, Any] = {}
    fixed: list[tuple[str, type, Any]] = []
    for name in names:
        try:
            value = getattr(x, name)
        except AttributeError:
            return x
        if type(value) in _FIXED:
            fixed.append((name, type(value), value))
        elif _is_part(value):
            found[name] = value
        else:
            return x
    known = found and all(name in names for name in getattr(x, "__dict__", ()))
    return Record(type(x), found, tuple(fixed)) if known else x


def opened(x: Any) -> Any:
    """An object that holds this, or x itself if it is no record."""
    if type(x) is not Record:
        return x._lazynp_together() if hasattr(type(x), "_lazynp_together") else x
    made = object.__new__(x.kind)
    values = {**x.parts, **{name: value for name, _, value in x.fixed}}
    for name in _fields(x.kind) or ():
        object.__setattr__(made, name, values[name])
    return made


def taken_apart(x: Any) -> Any:
    """x with what holds arrays in place of what masks select, also in tuples."""
    if type(x) is tuple:
        parts = tuple([taken_apart(part) for part in x])
        return x if all(a is b for a, b in zip(x, parts, strict=True)) else parts
    close = getattr(type(x), "_lazynp_taken_apart", None)
    return x if close is None else close(x)


def name_twice(x: Any) -> None:
    """After a loop or branch, other variables may stand for what masks select in x."""
    for part in x if type(x) is tuple else (x,):
        if type(part) is tuple:
            name_twice(part)
        elif hasattr(type(part), "_lazynp_taken_apart"):
            part.named = True


def put_together(x: Any) -> Any:
    """The converse."""
    if type(x) is tuple:
        parts = tuple([put_together(part) for part in x])
        return x if all(a is b for a, b in zip(x, parts, strict=True)) else parts
    return x._lazynp_together() if hasattr(type(x), "_lazynp_together") else x


def is_frozen(x: Record) -> bool:
    return x.kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


def making(kind: type) -> Callable[..., Any] | None:
    """What makes an object of this class, if loops may carry such objects, or it is raised."""
    if issubclass(kind, BaseException):
        return constructing(kind)
    return None if _fields(kind) is None else lambda *a, **k: fresh(kind(*a, **k))


def replaced(check: Callable[[type], None]) -> Callable[..., Any]:
    """`dataclasses.replace`. check: whether objects of a class may be made here."""

    def made(*args: Any, **changes: Any) -> Any:
        if session.depth:
            for x in args[:1]:
                check(type(x))
        return fresh(dataclasses.replace(*args, **changes))

    return made


def _is_part(value: Any) -> bool:
    """Whether it is a number, an array, or a tuple of these: nothing that may change."""
    leaves, tree = tree_flatten(value, lambda v: not isinstance(v, tuple))
    plain = tree is LEAF or isinstance(value, tuple)
    return plain and bool(leaves) and all(map(numeric, leaves))


def _fields(kind: Any) -> tuple[str, ...] | None:
    """The names of what such objects hold; None if reading or setting it may run code."""
    is_dataclass: Any = dataclasses.is_dataclass
    if not is_dataclass(kind) or is_registered(kind):
        return None
    frozen = kind.__dataclass_params__.frozen
    own = kind.__setattr__ is object.__setattr__ and kind.__delattr__ is object.__delattr__
    plain = kind.__getattribute__ is object.__getattribute__ and not hasattr(kind, "__getattr__")
    plain = plain and kind.__new__ is object.__new__ and not hasattr(kind, "__del__")
    if not (own or frozen) or not plain or hasattr(kind, "__post_init__"):
        return None
    names = tuple([f.name for f in dataclasses.fields(kind)])
    slots = {n for c in kind.__mro__ for n in c.__dict__.get("__slots__", ())}
    for name in names:
        if name not in slots and hasattr(type(getattr(kind, name, None)), "__set__"):
            return None
    return names
