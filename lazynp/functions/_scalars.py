"""Arithmetic between scalars that are there: NumPy's own, done at once, whatever the recorder.

A Scalar cannot change and takes no memory worth sharing, so nothing is gained by recording what
is known. Loops over single elements consist of this, and of reading and storing elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp import _errstate
from lazynp._array import Scalar
from lazynp._avals import Aval, aval_of
from lazynp._config import config
from lazynp._trace import local

_new = object.__new__
# What the node of a Scalar with such a value bears; others (a weak one, a date) are not for here.
AVALS: dict[type, Aval] = {
    t: aval_of((), t) for t in map(np.dtype, "?bhilqBHILQefdFD") for t in (t.type,)
}


def scalar(value: Any, aval: Aval) -> Scalar:
    out = _new(Scalar)
    out._node = [None, None, value, None, aval]
    out._base = out._flags = None
    return out


def operator_of(function: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """`Scalar`'s method for an operator. `function`: the same of NumPy's scalars.

    general: the method for everything else. It is called one frame down from the user's.
    """

    def call(x: Any, y: Any) -> Any:
        node = x._node
        a = node[2]
        t = type(y)
        if t is Scalar:
            node_b = y._node
            b = node_b[2]
            op = node_b[0]
            if AVALS.get(type(b)) is not (node_b[4] if op is None else op.aval):
                return general(x, y)
        elif t is float or t is int:
            b = y
        else:
            return general(x, y)
        op = node[0]
        if AVALS.get(type(a)) is not (node[4] if op is None else op.aval):
            return general(x, y)
        if _errstate.watching or config.debug_nans:
            return general(x, y)
        try:
            value = local.recorder.quiet(function, a, b)
        except RuntimeError:  # see `quiet_context`
            return general(x, y)
        aval = AVALS.get(type(value))
        if aval is None:
            return general(x, y)
        out = _new(Scalar)
        out._node = [None, None, value, None, aval]
        out._base = out._flags = None
        return out

    return call


def swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        return function(y, x)

    return call


def unary_operator_of(
    function: Callable[..., Any], general: Callable[..., Any]
) -> Callable[..., Any]:
    def call(x: Any) -> Any:
        node = x._node
        op = node[0]
        if AVALS.get(type(node[2])) is not (node[4] if op is None else op.aval):
            return general(x)
        if _errstate.watching or config.debug_nans:
            return general(x)
        try:
            value = local.recorder.quiet(function, node[2])
        except RuntimeError:
            return general(x)
        aval = AVALS.get(type(value))
        return general(x) if aval is None else scalar(value, aval)

    return call


def conversion_of(function: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """`bool`, `int`, `float`: of a value that is there, that value's."""

    def call(x: Any) -> Any:
        value = x._node[2]
        return function(value) if type(value) in AVALS else general(x)

    return call
