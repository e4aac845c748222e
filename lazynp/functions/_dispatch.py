"""Functions of the namespace, for objects that decide themselves what functions do to them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._overrides import Overridden, catching, has_methods, overrides
from lazynp.functions._foreign import by_numpy, elements

_DISPATCHER = type(np.sum)
_WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
_METHODS = {"amax": "max", "amin": "min", "around": "round"}
_WRITTEN = ("dst", "a", "arr")  # their first arguments


def dispatching(names: dict[str, Any], reference: Any, module: str) -> dict[str, Any]:
    """Those of the functions that NumPy lets objects override, such that they can be."""
    made: dict[Any, Any] = {}
    out = {}
    for name, function in names.items():
        numpys = getattr(reference, name, None)
        if type(numpys) is not _DISPATCHER or not isinstance(function, FunctionType):
            continue
        if function.__module__.startswith("lazynp."):  # what is hosted has NumPy's own
            if function not in made:
                made[function] = _overridable(function, numpys, module)
            out[name] = made[function]
    return out


def _overridable(function: FunctionType, reference: Any, module: str) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Overridden as e:
            operand = e.operand
        if has_methods(operand) and not overrides(operand):
            name = function.__name__
            if not args or args[0] is not operand or not hasattr(operand, _METHODS.get(name, name)):
                return call(*map(_converted, args), **{k: _converted(v) for k, v in kwargs.items()})
        return _elsewhere(call, function, reference, args, kwargs)

    call.__module__ = module
    catching.add(call.__code__)  # type: ignore[attr-defined]
    return call


def _converted(x: Any) -> Any:
    """What has methods, but not for this function, as an array; also in lists of arguments."""
    if type(x) in (list, tuple):
        return type(x)([_converted(i) for i in x])
    return np.asarray(x) if has_methods(x) and not overrides(x) else x


def _elsewhere(public: Any, function: Any, reference: Any, args: Any, kwargs: Any) -> Any:
    """As with ufuncs, NumPy's own function goes first: most such objects know no other."""
    written = next((x for x in (*args[:1], *map(kwargs.get, _WRITTEN)) if x is not None), None)
    if function.__name__ in _WRITING and not isinstance(written, np.ndarray):
        # NumPy could not write into lazy arrays
        return function(*map(elements, args), **{k: elements(v) for k, v in kwargs.items()})
    objects = list(_objects((*args, *kwargs.values())))
    try:
        out = kwargs.get("out")
        options = kwargs if out is None or isinstance(out, tuple) else {**kwargs, "out": (out,)}
        return by_numpy(reference, args, options, single=options is not kwargs)
    except TypeError as error:
        if not objects or "no implementation found" not in str(error):
            raise
        refused = error
    types = list(dict.fromkeys(type(x) for x in objects))
    for x in objects:
        done = x.__array_function__(public, types, args, kwargs)
        if done is not NotImplemented:
            return done
    raise refused


def _objects(arguments: Any) -> Iterator[Any]:
    """Who has an `__array_function__` of its own, also in lists of arguments."""
    for x in arguments:
        if isinstance(x, (list, tuple)):
            yield from _objects(x)
        elif not isinstance(x, Array) and overrides(x):
            yield x
