"""`dataclasses.dataclass`, made faster.

The decorator of the standard library compiles five functions for each class, and takes a quarter of
the import for that. This one compiles `__init__`; what else a class gets, all classes share. It has
the options that lazynp uses. `dataclasses.replace` and its other functions take these classes too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, field, replace
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, TypeVar, dataclass_transform, overload

__all__ = ["dataclass", "field", "replace"]

C = TypeVar("C", bound=type)

_FIELDS = "__dataclass_fields__"
_FIELD: Any = vars(dataclasses)["_FIELD"]  # private; the same in all versions


@overload
def dataclass(cls: C, /) -> C: ...
@overload
def dataclass(
    *, frozen: bool = ..., eq: bool = ..., unsafe_hash: bool = ...
) -> Callable[[C], C]: ...
@dataclass_transform(field_specifiers=(field,))
def dataclass(
    cls: Any = None, /, *, frozen: bool = False, eq: bool = True, unsafe_hash: bool = False
) -> Any:
    """See `dataclasses.dataclass`."""

    def decorate(cls: Any) -> Any:
        own = _fields(cls)
        fields = {**getattr(cls, _FIELDS, {}), **own}
        setattr(cls, _FIELDS, fields)
        cls.__dataclass_params__ = SimpleNamespace(frozen=frozen, eq=eq, unsafe_hash=unsafe_hash)
        _add(cls, "__init__", _init(cls, fields, frozen))
        _add(cls, "__repr__", _repr)
        if eq:
            values = _values(tuple(fields))
            cls._values_of_fields = values
            _add(cls, "__eq__", _eq)
            if frozen or unsafe_hash:
                cls.__hash__ = _hash
            elif "__hash__" not in vars(cls):
                cls.__hash__ = None
        if frozen:
            cls.__setattr__, cls.__delattr__ = _no_setattr, _no_delattr
        return cls

    return decorate if cls is None else decorate(cls)


def _fields(cls: Any) -> dict[str, Any]:
    """The fields that the class itself annotates."""
    found: dict[str, Any] = {}
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        if not str(annotation).startswith("ClassVar"):
            default = vars(cls).get(name, MISSING)
            if isinstance(default, dataclasses.Field):
                delattr(cls, name)
            found[name] = made = (
                default if isinstance(default, dataclasses.Field) else field(default=default)
            )
            made.name, made.type, made._field_type = name, annotation, _FIELD
    return found


def _init(cls: Any, fields: dict[str, Any], frozen: bool) -> Any:
    known: dict[str, Any] = {"MISSING": MISSING}
    head, body = ["self"], ["into = self.__dict__"] if frozen else []
    for name, its in fields.items():
        value = name
        if its.default_factory is not MISSING:
            known[f"make_{name}"] = its.default_factory
            head.append(f"{name}=MISSING")
            value = f"make_{name}() if {name} is MISSING else {name}"
        elif its.default is not MISSING:
            known[f"default_{name}"] = its.default
            head.append(f"{name}=default_{name}")
        else:
            head.append(name)
        body.append(f"into[{name!r}] = {value}" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    lines = [f"def __init__({', '.join(head)}):", *(body or ["pass"])]
    exec("\n ".join(lines), known)
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return known["__init__"]


def _add(cls: Any, name: str, function: Any) -> None:
    if name not in vars(cls):
        setattr(cls, name, function)


def _values(names: tuple[str, ...]) -> Any:
    """What gives a tuple of the fields, which is no method of the class."""
    if len(names) > 1:
        return staticmethod(attrgetter(*names))
    return staticmethod(lambda x: tuple([getattr(x, name) for name in names]))


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._values_of_fields(self) == self._values_of_fields(other)


def _hash(self: Any) -> int:
    return hash(self._values_of_fields(self))


def _repr(self: Any) -> str:
    fields = ", ".join([f"{name}={getattr(self, name)!r}" for name in getattr(self, _FIELDS)])
    return f"{self.__class__.__qualname__}({fields})"


def _no_setattr(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_delattr(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
