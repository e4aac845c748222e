"""One jaxpr for all programs that were staged alike.

A function that is staged at each call (a branch of `cond`, the body of `scan`) gives a new jaxpr
each time. What is made of jaxprs is kept by their identity: derivatives, transposes, programs. So
the first of those that are equal stands for the others: same equations at the same places of the
code, same types, same constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._avals import Aval
from lazynp._jaxpr import Jaxpr, Literal, jaxprs_in
from lazynp._memo import Memo
from lazynp._primitive import Primitive
from lazynp.primitives import shaping

_MOST = 256  # equations of a jaxpr that is looked for
_PLAIN = {bool, int, str, bytes, type(None)}
_known: Memo[Any, Jaxpr] = Memo("jaxprs", 1024)


class _Single(Exception):
    """The jaxpr holds what cannot be compared, or keeps memory."""


def first_alike(jaxpr: Jaxpr) -> Jaxpr:
    """The first jaxpr that was equal to this one."""
    if len(jaxpr.eqns) > _MOST or jaxpr.sizes:
        return jaxpr
    try:
        key = _key(jaxpr)
    except _Single:
        return jaxpr
    return _known.get(key) or _known.put(key, jaxpr)


def _key(jaxpr: Jaxpr) -> Any:
    """Ids in it are those of what the jaxpr itself keeps alive."""
    places: dict[Any, int] = {}

    def atom(a: Any) -> Any:
        return (_constant(a.value), _aval(a.aval)) if type(a) is Literal else places[a]

    for v in jaxpr.inputs:
        places[v] = len(places)
    parts: list[Any] = [tuple([_aval(v.aval) for v in jaxpr.inputs])]
    for eqn in jaxpr.eqns:
        if eqn.sizes or eqn.plain is not None:
            raise _Single
        code, offset = eqn.origin or (None, 0)
        params = tuple([(k, _constant(p)) for k, p in eqn.params.items()])
        inputs = tuple(map(atom, eqn.inputs))
        for v in eqn.outputs:
            places[v] = len(places)
        outputs = tuple([_aval(v.aval) for v in eqn.outputs])
        parts.append((id(eqn.primitive), inputs, params, outputs, id(code), offset))
    parts.append(tuple(map(atom, jaxpr.outputs)))
    return tuple(parts)


def _aval(aval: Any) -> Any:
    if type(aval) is not Aval:
        raise _Single
    return aval


def _constant(x: Any) -> Any:
    """Of a parameter or literal: equal only for what computes the same, to the last bit."""
    kind = type(x)
    if kind in _PLAIN:
        return kind, x
    if kind is float or kind is complex:
        return kind, repr(x)
    if kind is tuple:
        return kind, tuple(map(_constant, x))
    if isinstance(x, np.generic):
        return kind, x.dtype, x.tobytes()
    if isinstance(x, np.dtype):
        return x
    if isinstance(x, (Aval, Primitive, type)) or kind is Jaxpr and not _holds_arrays(x):
        return kind, id(x)
    raise _Single


def _holds_arrays(jaxpr: Jaxpr) -> bool:
    return any(
        eqn.primitive is shaping.constant or any(map(_holds_arrays, jaxprs_in(eqn.params)))
        for eqn in jaxpr.eqns
    )
