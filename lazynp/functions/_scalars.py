"""Arithmetic between available scalars: NumPy's own, immediate under every policy.

A Scalar cannot change and takes no memory worth sharing, so recording known values gains nothing.
Loops over single elements consist of this, and of reading and storing elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._array import Scalar
from lazynp._avals import NUMBERS, Aval, aval_of
from lazynp._config import config
from lazynp._flush import host_value
from lazynp._quiet import quiet_context, told
from lazynp._recorder import staged
from lazynp._values import watched

_new = object.__new__
quiet = quiet_context()
# The aval of a Scalar with such a value; others (a weak one, a date) take the general path.
AVALS: dict[type, Aval] = {t: aval_of((), np.dtype(t)) for t in NUMBERS}
# NumPy's ufuncs -> methods of Scalars that compute the same, the second for a Scalar on the right
OF_SCALARS: dict[np.ufunc, tuple[Any, Any]] = {}


def scalar(value: Any, aval: Aval) -> Scalar:
    out = _new(Scalar)
    out._node = [None, None, value, None, aval]
    out._base = out._flags = out._seen = out._order = None
    return out


def operator_of(function: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """`Scalar`'s method for an operator. `function`: the same for NumPy's scalars.

    general: the method for everything else. It is called one frame below the user's.
    """

    def call(x: Any, y: Any, modulus: Any = None) -> Any:
        if modulus is not None:  # `pow(x, y, z)`
            return NotImplemented
        node = x._node
        a = node[2]
        t = type(y)
        try:
            if t is Scalar:
                other = y._node
                b = other[2]
                there = other[4] is AVALS[type(b)]
            else:
                b = y
                there = t is float or t is int or t is bool or t is complex
            if there and node[4] is AVALS[type(a)]:
                if not _is_looked_at():
                    value = told(quiet(function, a, b))
                    if type(value) is complex:  # `1j * x` of a float64, which is a float: Python's
                        return value
                    aval = AVALS[type(value)]
                    out = _new(Scalar)
                    out._node = [None, None, value, None, aval]
                    out._base = out._flags = out._seen = out._order = None
                    return out
        except (KeyError, RuntimeError):  # see `quiet_context`: another thread is in it
            pass
        return general(x, y)

    return call


def _is_looked_at() -> bool:
    """Whether somebody may observe an operation: errors, NaN, a function being staged."""
    return watched() or config.debug_nans or bool(staged)


def swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        return function(y, x)

    return call


def unary_operator_of(
    function: Callable[..., Any], general: Callable[..., Any]
) -> Callable[..., Any]:
    def call(x: Any) -> Any:
        node = x._node
        if node[4] is not AVALS.get(type(node[2])) or _is_looked_at():
            return general(x)
        try:
            value = told(quiet(function, node[2]))
        except RuntimeError:
            return general(x)
        aval = AVALS.get(type(value))
        return general(x) if aval is None else scalar(value, aval)

    return call


def conversion_of(function: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """`bool`, `int`, `float` of a value that is, or can be made, available."""

    def call(x: Any) -> Any:
        node = x._node
        value = node[2]
        if type(value) is lowering.Buffer or value is None and not staged:
            value = host_value(node)
        return function(value) if type(value) in AVALS else general(x)

    # separate code objects: profiles say which conversion needed a value
    call.__code__ = call.__code__.replace(co_name=f"__{function.__name__}__")
    return call


def reader_of(function: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """`hash`, `repr`, `format`, ... of a value that is available."""

    def call(x: Any, *args: Any) -> Any:
        node = x._node
        value = node[2]
        if type(value) in AVALS:
            return function(value, *args)
        return general(x, *args)

    return call
