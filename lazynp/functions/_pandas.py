"""pandas takes numbers and arrays of lazynp's as it takes NumPy's.

pandas looks at types in C: what it does not know as a number is an object, as a cell, a label, a
position or a result of a function. So the methods of its classes, and its functions, get NumPy's
numbers and arrays in place of ours, and functions among their arguments give such. Where a call has
nothing of ours among its arguments, it is as it was.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar
from lazynp._flush import host_value
from lazynp._node import is_tracer
from lazynp.functions._loaded import when_loaded

_DEEPEST = 3  # lists in lists
_BY_FRAME = ("eval", "query")  # they look for `@name` in the frame that is `level` above theirs
_ROOMS = ("indexing", "indexes.api", "groupby", "window", "resample", "arrays")
SPECIAL = {
    "__init__", "__new__", "__getitem__", "__setitem__", "__contains__", "__eq__", "__ne__",
    "__lt__", "__le__", "__gt__", "__ge__", "__call__",
    *[f"__{r}{name}__" for r in ("", "r", "i") for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "matmul",
        "divmod")],
}  # fmt: skip


def hook() -> None:
    """Called once, when lazynp is imported."""
    when_loaded("pandas", _change)


# -- arguments -------------------------------------------------------------------------------------


def is_ours(x: Any) -> bool:
    return type(x) not in PLAIN and _is_ours(x)


def _is_ours(x: Any, depth: int = 0) -> bool:
    """Whether it is, or holds, something that pandas would not know."""
    kind = type(x)
    if kind in PLAIN:
        return False
    if kind is list or kind is tuple:
        if PLAIN.issuperset(set(map(type, x))):
            return False
        return depth < _DEEPEST and any([_is_ours(y, depth + 1) for y in x])
    if kind is dict:
        return depth < _DEEPEST and any([_is_ours(y, depth + 1) for y in (*x, *x.values())])
    if kind is slice:
        return _is_ours(x.start) or _is_ours(x.stop) or _is_ours(x.step)
    if kind is FunctionType:
        return root_of(x) not in KNOWN
    if isinstance(x, Array) or kind.__module__.startswith("lazynp"):
        return True
    if root_of(kind) in KNOWN:
        PLAIN.add(kind)
    return False


def root_of(x: Any) -> str:
    """The package that defines a class or a function."""
    return str(getattr(x, "__module__", "")).partition(".")[0]


KNOWN = {"builtins", "datetime", "decimal", "numpy", "pandas"}
# types that are nothing of ours, as far as they were met
PLAIN: set[type] = {int, float, str, bool, type(None), np.ndarray, np.float64, np.int64, type}


def numpys(x: Any, copy: Any = None, depth: int = 0) -> Any:
    """The same with NumPy's numbers and arrays. What is only traced stays as it is.

    copy: makes NumPy's array of one of ours.
    """
    kind = type(x)
    if kind in (list, tuple) and depth < _DEEPEST:
        return kind([numpys(y, copy, depth + 1) for y in x])
    if kind is dict and depth < _DEEPEST:
        return {numpys(k): numpys(v, copy, depth + 1) for k, v in x.items()}
    if kind is slice:
        return slice(numpys(x.start), numpys(x.stop), numpys(x.step))
    if kind is FunctionType:
        return _giving_numpys(x) if _is_ours(x) else x
    if not isinstance(x, Array):
        return _numpys_own(x) if kind.__module__.startswith("lazynp") else x
    if is_tracer(x._node):
        return x
    if copy is not None and not isinstance(x, Scalar):
        return copy(x)
    value = host_value(x._read())
    return value[()] if isinstance(x, Scalar) else np.array(value)


def _numpys_own(x: Any) -> Any:
    """NumPy's function for one of the namespace, NumPy's generator for one of ours."""
    if type(x).__module__ == "lazynp.random":
        return getattr(x, "_generator", x)
    name = getattr(x, "__name__", "")
    if name and vars(sys.modules["lazynp"]).get(name) is x:
        return getattr(np, name, x)
    return x


def _giving_numpys(function: Any) -> Any:
    """A function of the user's, for `map`, `apply` and the like."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return numpys(found) if is_ours(found) else found

    return call


@functools.cache  # two names of one function stay that
def _taking_ours(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("engine") == "numba":  # it takes no function in another's place
            return function(*args, **kwargs)
        for x in args:
            if type(x) not in PLAIN and _is_ours(x):
                args = tuple([numpys(y) if _is_ours(y) else y for y in args])
                break
        if kwargs and any([type(x) not in PLAIN and _is_ours(x) for x in kwargs.values()]):
            kwargs = {k: numpys(v) if _is_ours(v) else v for k, v in kwargs.items()}
        if by_frame:
            kwargs["level"] = kwargs.get("level", 0) + 1
        return function(*args, **kwargs)

    by_frame = function.__name__ in _BY_FRAME
    return call


# -- pandas ----------------------------------------------------------------------------------------


def _change(pandas: Any) -> None:
    for kind in set(_classes(pandas)):
        for name, member in list(vars(kind).items()):
            function = getattr(member, "__func__", member)
            public = name in SPECIAL or not name.startswith("_")
            if not public or type(function) is not FunctionType or not takes_more(function):
                continue
            made = _taking_ours(function)
            setattr(kind, name, made if function is member else type(member)(made))
    for name, member in list(vars(pandas).items()):
        if type(member) is FunctionType and not name.startswith("_"):
            home = sys.modules.get(member.__module__, pandas)
            setattr(pandas, name, _taking_ours(member))
            if vars(home).get(name) is member:  # so that pickle finds it
                setattr(home, name, _taking_ours(member))
    scope = importlib.import_module("pandas.core.computation.scope").Scope
    scope.resolve = _giving_numpys(scope.resolve)
    for name, member in list(vars(pandas.api.types).items()):
        if name.startswith("is_") and callable(member):
            setattr(pandas.api.types, name, _taking_ours(member))


def _classes(pandas: Any) -> Iterator[type]:
    """The classes whose objects users have, and their bases."""
    rooms = [importlib.import_module(f"pandas.core.{room}") for room in _ROOMS]
    for module in (pandas, *rooms):
        for found in vars(module).values():
            if isinstance(found, type) and not issubclass(found, (tuple, Exception)):
                yield from [k for k in found.__mro__ if k.__module__.partition(".")[0] == "pandas"]


def takes_more(function: FunctionType) -> bool:
    """Whether it takes anything besides its object."""
    code = function.__code__
    return code.co_argcount > 1 or bool(code.co_kwonlyargcount or code.co_flags & 0x0C)


__all__ = ["KNOWN", "PLAIN", "SPECIAL", "hook", "is_ours", "numpys", "root_of", "takes_more"]
