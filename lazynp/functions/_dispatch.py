"""Functions of the namespace, for objects that decide themselves what functions do to them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._overrides import Overridden, catching, overrides
from lazynp.functions._foreign import by_numpy, elements

_DISPATCHER = type(np.sum)
_WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}


def dispatching(names: dict[str, Any], reference: Any, module: str) -> dict[str, Any]:
    """Those of the functions that NumPy lets objects override, such that they can be."""
    made: dict[Any, Any] = {}
    out = {}
    for name, function in names.items():
        numpys = getattr(reference, name, None)
        if type(numpys) is not _DISPATCHER or not isinstance(function, FunctionType):
            continue
        if vars(function).get("__wrapped__") is not numpys:  # is not hosted
            if function not in made:
                made[function] = _overridable(function, numpys, module)
            out[name] = made[function]
    return out


def _overridable(function: FunctionType, reference: Any, module: str) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Overridden:
            pass
        return _elsewhere(call, function, reference, args, kwargs)

    call.__module__ = module
    catching.add(call.__code__)  # type: ignore[attr-defined]
    return call


def _elsewhere(public: Any, function: Any, reference: Any, args: Any, kwargs: Any) -> Any:
    """As with ufuncs, NumPy's own function goes first: most such objects know no other."""
    if function.__name__ in _WRITING:  # NumPy could not write into lazy arrays
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
