"""Composed functions done at once, as a whole, by NumPy's function of that name.

In a loop of small operations (see `_trace.Recorder.eager`) nothing is recorded that costs less to
do. A function made of ten primitives would then be ten calls of NumPy with a handle each; NumPy's
own function is one. Its result, its errors and its promotion are what ours must give anyway.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy import ndarray

from lazynp import _errstate
from lazynp._array import Array, Scalar, new_array, new_scalar
from lazynp._avals import on_device
from lazynp._node import leaf
from lazynp._quiet import quietly
from lazynp._trace import local, there

_LARGE = 1 << 18  # bytes: what is larger may gain from a program
_PLAIN = frozenset({int, float, bool, complex, str, type(None), type(np._NoValue)})  # type: ignore[attr-defined]

# what is written, and what NumPy's functions do not have
_NOT_NUMPYS = frozenset({"out", "overwrite_input", "length", "total_repeat_length", "size"})

F = TypeVar("F", bound=Callable[..., Any])


def by_numpy(reference: Callable[..., Any]) -> Callable[[F], F]:
    """Decorates a function that returns one fresh array. Not for calls that write: `out`,
    `overwrite_input`."""

    def decorate(function: F) -> F:
        names = list(inspect.signature(function).parameters)
        before_out = names.index("out") if "out" in names else len(names)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            recorder = local.recorder
            if not recorder.eager or _errstate.watching or len(args) > before_out:
                return function(*args, **kwargs)
            found = [False]
            values = [_value(a, found) for a in args]
            named = {k: _value(v, found) for k, v in kwargs.items()}
            fits = found[0] and not any([v is _UNFIT for v in (*values, *named.values())])
            if not fits or not named.keys().isdisjoint(_NOT_NUMPYS):
                return function(*args, **kwargs)
            try:
                result = recorder.quiet(functools.partial(reference, **named), *values)
            except RuntimeError:  # see `quiet_context`
                result = quietly(reference, values, **named)
            if type(result) is ndarray and not any([result is v for v in values]):
                if on_device(result.dtype):
                    return _array(result)
            if isinstance(result, np.generic) and on_device(result.dtype):
                return new_scalar(leaf(result))
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _array(result: np.ndarray[Any, Any]) -> Array:
    array = new_array(leaf(result))
    if result.flags.fnc:  # in Fortran's order and not in C's
        array._flags = {"order": "F"}
    return array


class _Unfit:
    """An argument that is not there, or that NumPy would take otherwise."""


_UNFIT: Any = _Unfit()


def _value(x: Any, found: list[bool]) -> Any:
    """What NumPy is given for an argument; `found` becomes true if one of them is an array."""
    t = type(x)
    if t is Array or t is Scalar:
        if x._flags is not None:  # of another order than its memory has
            return _UNFIT
        value = there(x._node if x._base is None else x._read())
        if value is None or value.nbytes > _LARGE or not on_device(value.dtype):
            return _UNFIT
        found[0] = True
        return value
    if t in _PLAIN or t is np.dtype or isinstance(x, type):
        return x
    if t is tuple or t is list:
        items = [_value(item, found) for item in x]
        return _UNFIT if any(i is _UNFIT for i in items) else t(items)
    return _UNFIT
