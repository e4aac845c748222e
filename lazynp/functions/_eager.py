"""Composed functions done at once, as a whole, by NumPy's function of that name.

In a loop of small operations (see `_trace.Recorder.eager`) nothing is recorded that costs less to
do. A function made of ten primitives would then be ten calls of NumPy with a handle each; NumPy's
own function is one. Its result, its errors and its promotion are what ours must give anyway.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy import ndarray

from lazynp import _errstate
from lazynp._array import Array, Scalar, new_array
from lazynp._avals import on_device
from lazynp._node import leaf
from lazynp._quiet import quiet_result
from lazynp._trace import local, there
from lazynp.functions._scalars import AVALS, scalar

_PLAIN = frozenset({int, float, bool, complex, str, type(None), type(np._NoValue)})  # type: ignore[attr-defined]

_WRITTEN = frozenset({"out", "overwrite_input"})

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
            largest = recorder.largest
            values = [_value(a, largest) for a in args]
            if _Unfit in map(type, values) or not any(map(operator.is_not, values, args)):
                return function(*args, **kwargs)
            whole = reference
            if kwargs:
                named = {k: _value(v, largest) for k, v in kwargs.items()}
                if _Unfit in map(type, named.values()) or not _WRITTEN.isdisjoint(named):
                    return function(*args, **kwargs)
                whole = functools.partial(reference, **named)
            result = quiet_result(recorder.quiet, whole, *values)
            for value in values:
                if value is result:  # not fresh
                    return function(*args, **kwargs)
            out = _handle(result)
            return function(*args, **kwargs) if out is None else out

        return call  # type: ignore[return-value]

    return decorate


def _handle(result: Any) -> Any:
    """The Array or Scalar, or the tuple of them, for what NumPy returned; None for others."""
    if type(result) is ndarray:
        if not on_device(result.dtype):
            return None
        array = new_array(leaf(result))
        if result.flags.fnc:  # in Fortran's order and not in C's
            array._flags = {"order": "F"}
        return array
    aval = AVALS.get(type(result))
    if aval is not None:
        return scalar(result, aval)
    if type(result) is tuple and {*map(type, result)} == {ndarray}:
        return tuple(map(_handle, result))
    return None


class _Unfit:
    """The type of an argument that is not there, or that NumPy would take otherwise."""


_UNFIT: Any = _Unfit()


def _value(x: Any, largest: float) -> Any:
    """What NumPy is given for an argument."""
    t = type(x)
    if t is Array or t is Scalar:
        if x._flags is not None:  # of another order than its memory has
            return _UNFIT
        node = x._node if x._base is None else x._read()
        value = node[2]
        if type(value) is not ndarray:
            value = there(node)
        if value is None or value.nbytes > largest or not on_device(value.dtype):
            return _UNFIT
        return value
    if t in _PLAIN or isinstance(x, (type, np.dtype)):
        return x
    if t is tuple or t is list:
        items = [_value(item, largest) for item in x]
        return _UNFIT if _Unfit in map(type, items) else t(items)
    return _UNFIT
