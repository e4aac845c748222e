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
_ROOMS = ("indexing", "indexes.api", "groupby", "window", "resample", "arrays")
_SPECIAL = {
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


def _is_ours(x: Any, depth: int = 0) -> bool:
    """Whether it is, or holds, something that pandas would not know."""
    kind = type(x)
    if kind in _PLAIN:
        return False
    if kind is list or kind is tuple:
        if _PLAIN.issuperset(set(map(type, x))):
            return False
        return depth < _DEEPEST and any([_is_ours(y, depth + 1) for y in x])
    if kind is dict:
        return depth < _DEEPEST and any([_is_ours(y, depth + 1) for y in (*x, *x.values())])
    if kind is slice:
        return _is_ours(x.start) or _is_ours(x.stop) or _is_ours(x.step)
    if kind is FunctionType or isinstance(x, Array):
        return True
    if str(getattr(kind, "__module__", "")).partition(".")[0] in _KNOWN:
        _PLAIN.add(kind)
    return False


_KNOWN = {"builtins", "datetime", "decimal", "numpy", "pandas"}
# types that are nothing of ours, as far as they were met
_PLAIN: set[type] = {int, float, str, bool, type(None), np.ndarray, np.float64, np.int64, type}


def numpys(x: Any, depth: int = 0) -> Any:
    """The same with NumPy's numbers and arrays. What is only traced stays as it is."""
    kind = type(x)
    if kind in (list, tuple) and depth < _DEEPEST:
        return kind([numpys(y, depth + 1) for y in x])
    if kind is dict and depth < _DEEPEST:
        return {numpys(k): numpys(v, depth + 1) for k, v in x.items()}
    if kind is slice:
        return slice(numpys(x.start), numpys(x.stop), numpys(x.step))
    if kind is FunctionType:
        return _giving_numpys(x)
    if not isinstance(x, Array) or is_tracer(x._node):
        return x
    value = host_value(x._read())
    return value[()] if isinstance(x, Scalar) else np.array(value)


def _giving_numpys(function: Any) -> Any:
    """A function of the user's, for `map`, `apply` and the like."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return numpys(found) if type(found) not in _PLAIN and _is_ours(found) else found

    return call


@functools.cache  # two names of one function stay that
def _taking_ours(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("engine") == "numba":  # it takes no function in another's place
            return function(*args, **kwargs)
        for x in args:
            if type(x) not in _PLAIN and _is_ours(x):
                args = tuple([numpys(y) if _is_ours(y) else y for y in args])
                break
        if kwargs and any([type(x) not in _PLAIN and _is_ours(x) for x in kwargs.values()]):
            kwargs = {k: numpys(v) if _is_ours(v) else v for k, v in kwargs.items()}
        return function(*args, **kwargs)

    return call


# -- pandas ----------------------------------------------------------------------------------------


def _change(pandas: Any) -> None:
    for kind in set(_classes(pandas)):
        for name, member in list(vars(kind).items()):
            function = getattr(member, "__func__", member)
            public = name in _SPECIAL or not name.startswith("_")
            if not public or type(function) is not FunctionType or not _takes_more(function):
                continue
            made = _taking_ours(function)
            setattr(kind, name, made if function is member else type(member)(made))
    for name, member in list(vars(pandas).items()):
        if type(member) is FunctionType and not name.startswith("_"):
            home = sys.modules.get(member.__module__, pandas)
            setattr(pandas, name, _taking_ours(member))
            if vars(home).get(name) is member:  # so that pickle finds it
                setattr(home, name, _taking_ours(member))


def _classes(pandas: Any) -> Iterator[type]:
    """The classes whose objects users have, and their bases."""
    rooms = [importlib.import_module(f"pandas.core.{room}") for room in _ROOMS]
    for module in (pandas, *rooms):
        for found in vars(module).values():
            if isinstance(found, type) and not issubclass(found, (tuple, Exception)):
                yield from [k for k in found.__mro__ if k.__module__.partition(".")[0] == "pandas"]


def _takes_more(function: FunctionType) -> bool:
    """Whether it takes anything besides its object."""
    code = function.__code__
    return code.co_argcount > 1 or bool(code.co_kwonlyargcount or code.co_flags & 0x0C)


__all__ = ["hook"]
