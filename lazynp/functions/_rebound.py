"""NumPy functions that are Python code on arrays, run on lazynp.

They are NumPy's own code with other globals: `numpy` is lazynp there, and a module's functions call
each other. So they can be traced, and none of them is written twice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._recorder import inside_operation, local
from lazynp.functions._checks import traced
from lazynp.functions._host import hosted

Scope = dict[str, Any]


class _Lazynp:
    """lazynp's namespace, which is created after this module."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["lazynp"], name)


LAZYNP: Any = _Lazynp()


class Names:
    """A scope, as the functions of another module see it."""

    def __init__(self, scope: Scope) -> None:
        self.__dict__ = scope


def rebound(function: Any, scope: Scope) -> Any:
    """The function with these globals."""
    made = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def scope_of(module: ModuleType, others: dict[str, Scope]) -> Scope:
    """The globals of a NumPy module, with lazynp in place of numpy. `others`: the scopes of the
    modules that it imports, by name.
    """
    scope: Scope = {}
    for name, value in vars(module).items():
        if value is np:
            value = LAZYNP
        elif isinstance(value, ModuleType) and value.__name__ in others:
            value = Names(others[value.__name__])
        elif type(value) is FunctionType and value.__module__ in others:
            value = others[value.__module__][value.__name__]
        elif type(value) is FunctionType and value.__module__ == module.__name__:
            value = rebound(value, scope)
        scope[name] = value
    # so that imports inside functions resolve to lazynp too
    scope["__name__"] = module.__name__.replace("numpy", "lazynp", 1)
    scope["__package__"] = scope["__name__"].rpartition(".")[0]
    scope["__spec__"] = None
    return scope


def where_traced(function: Callable[..., Any], traceable: Callable[..., Any], *, lazy: bool) -> Any:
    """NumPy's function on values, or `traceable` if a transformation traces an argument. `lazy`:
    use `traceable` for all arrays of numbers, because it reads no values.
    """
    by_numpy = hosted(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if traced(*given) or lazy and _numbers(given):
            with inside_operation():
                return traceable(*args, **kwargs)
        return by_numpy(*args, **kwargs)

    for name in ("__module__", "__name__", "__qualname__"):
        setattr(call, name, getattr(by_numpy, name))
    call.__wrapped__ = function  # type: ignore[attr-defined]  # its signature
    call.__doc__ = f"`numpy.{call.__name__}`, of NumPy's own code, which can be traced."
    return call


def _numbers(arguments: Iterable[Any]) -> bool:
    arrays = [x for x in arguments if isinstance(x, Array)]
    return bool(arrays) and all(x.dtype.kind in "biufc" for x in arrays)


def transforming() -> bool:
    """Whether a transformation is active here."""
    return local.level > 0
