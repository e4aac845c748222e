"""Objects of the user's whose attributes a program may read and replace; lists and dicts.

Such an object is plain: its attributes are what its dict and its slots hold. Reading or setting one
runs no code. While a function is traced, a stand-in takes the place of the object. It is of the
same class, so that it has the same methods. The user sees nothing of what happens to it.

What a list or a dict holds is treated like attributes. Its name is a tuple, of the place or key.
"""

from __future__ import annotations

import abc
import sys
import typing
from collections.abc import Iterator
from types import MemberDescriptorType, SimpleNamespace
from typing import Any

from lazynp.transforms.control import PURE, CannotStage

MISSING: Any = object()  # the value of an attribute that is not there
MOST = 64  # attributes of one object
CONTAINERS = (list, dict)

_HEAP_TYPE = 1 << 9  # made by a class statement, or like such a class
_ABSTRACT = (object, abc.ABC, typing.Generic, typing.Protocol)


class Unread:
    """What stands for an attribute that no program reads: any use of it forbids the program."""

    def __getattribute__(self, name: str) -> Any:
        raise CannotStage("reads an attribute that may change")

    def _refuse(self, *_: Any) -> Any:
        raise CannotStage("reads an attribute that may change")

    __bool__ = __len__ = __iter__ = __call__ = __eq__ = __ne__ = __hash__ = __getitem__ = _refuse
    __contains__ = __lt__ = __le__ = __gt__ = __ge__ = __str__ = __repr__ = __enter__ = _refuse


def is_plain(cls: type) -> bool:
    """Whether reading, setting and deleting attributes of its objects runs no code."""
    if cls is SimpleNamespace:
        return True
    if type(cls) not in (type, abc.ABCMeta) or not cls.__flags__ & _HEAP_TYPE:
        return False
    if cls.__getattribute__ is not object.__getattribute__:
        return False
    if getattr(cls, "__getattr__", None) is not None:
        return False
    if getattr(cls, "__del__", None) is not None:
        return False  # it would be called for each stand-in
    own = cls.__setattr__ is object.__setattr__ and cls.__delattr__ is object.__delattr__
    frozen = getattr(cls.__dict__.get("__dataclass_params__"), "frozen", False)
    return (own or frozen) and all(c in _ABSTRACT or _is_simple(c) for c in cls.__mro__)


def _is_simple(cls: type) -> bool:
    package = cls.__module__.partition(".")[0]
    if package in sys.stdlib_module_names or package in PURE:
        return False
    if type(cls) not in (type, abc.ABCMeta) or not cls.__flags__ & _HEAP_TYPE:
        return False
    frozen = "__dataclass_params__" in cls.__dict__
    return all(
        not name.startswith("__") or name in _HARMLESS or frozen and name in _SETTING
        or _is_generated(value)
        for name, value in cls.__dict__.items()
    )  # fmt: skip


def _is_generated(value: Any) -> bool:
    """A method of a dataclass, or the mark that there is none."""
    code = getattr(value, "__code__", None)
    return value is None or getattr(code, "co_filename", "") == "<string>"


# Python calls other special methods for an operator or a statement: a trace would not notice
_HARMLESS = {
    "__module__", "__doc__", "__dict__", "__weakref__", "__slots__", "__annotations__", "__init__",
    "__new__", "__repr__", "__str__", "__call__", "__post_init__", "__match_args__",
    "__dataclass_fields__", "__dataclass_params__", "__abstractmethods__", "__init_subclass__",
    "__class_getitem__", "__orig_bases__", "__parameters__", "__qualname__", "__reduce__",
    "__getstate__", "__setstate__", "__copy__", "__deepcopy__", "__static_attributes__",
    "__firstlineno__", "__subclasshook__", "__annotate__", "__annotations_cache__", "__sizeof__",
    "__non_callable_proto_members__", "__protocol_attrs__", "__replace__", "__annotate_func__",
    "__slotnames__",  # `copy` and `pickle` keep it there
}  # fmt: skip
_SETTING = {"__setattr__", "__delattr__"}


def slots_of(cls: type) -> Iterator[tuple[str, Any]]:
    """The slots of a class, as name and descriptor."""
    for c in cls.__mro__:
        for name, value in c.__dict__.items():
            if type(value) is MemberDescriptorType and name != "__dict__":
                yield name, value


def attributes(x: Any) -> dict[Any, Any] | None:
    """All attributes of a plain object, or what a list or dict holds; None if that is too much."""
    found: dict[Any, Any] = {}
    if type(x) in CONTAINERS:
        items = x.items() if type(x) is dict else enumerate(x)
        return {(key,): value for key, value in items} if len(x) <= MOST else None
    for name, slot in slots_of(type(x)):
        try:
            found[name] = slot.__get__(x)
        except AttributeError:
            pass
    found.update(getattr(x, "__dict__", ()))
    return found if len(found) <= MOST else None


def bare(cls: type) -> Any:
    """A stand-in without attributes. No `__init__` or `__new__` of the user's runs."""
    return cls() if cls in (SimpleNamespace, *CONTAINERS) else object.__new__(cls)


def put(x: Any, name: Any, value: Any) -> None:
    """Set an attribute as the object stores it, also that of a frozen dataclass."""
    if type(name) is tuple:
        (key,) = name
        if value is MISSING:
            del x[key]
        elif type(x) is list and key == len(x):
            x.append(value)
        else:
            x[key] = value
        return
    for slot, descriptor in slots_of(type(x)):
        if slot == name:
            if value is MISSING:
                descriptor.__delete__(x)
            else:
                descriptor.__set__(x, value)
            return
    if value is MISSING:
        del x.__dict__[name]
    else:
        x.__dict__[name] = value
