"""psum, pmean, pmax, pmin, axis_index: communication between the examples of a named vmap axis.

The `BatchTrace` of that name interprets the primitive. Interpreters of other names map it,
differentiation pushes tangents through it, and a staged function keeps it as an equation. When
staged, its second operand is the numbers of the examples. Through that operand the equation reaches
its `BatchTrace` even if all other operands are the same for every example.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._avals import Aval, aval_of
from lazynp._node import VALUE, is_interpreted
from lazynp._primitive import Missing, Primitive, Rule, Undefined
from lazynp._recorder import StagingRecorder, local
from lazynp._tree import tree_map
from lazynp.primitives import elementwise
from lazynp.transforms._jvp import JVPTracer
from lazynp.transforms._stack import node_of, result_handle
from lazynp.transforms._vmap import BatchTrace, BatchTracer, named_trace, numbers_of, of_equals


def _unbound(*_: Any, axis_name: Any, **__: Any) -> Any:
    raise NameError(f"no active vmap has the axis name {axis_name!r}")


def _abstract(x: Aval, *numbers: Aval, axis_name: Any, op: str) -> Aval:
    return aval_of(x.shape, x.dtype)


def _batch(
    size: int, batched: Sequence[bool], x: Array, *numbers: Array, axis_name: Any, op: str
) -> Array:
    """Under a vmap with another name, each example has its own collective."""
    return _of_all(x, numbers, axis_name, op)


def _jvp(primals: Any, tangents: Any, *, axis_name: Any, op: str) -> Any:
    (x, *numbers), (t, *_) = primals, tangents
    out = _of_all(x, numbers, axis_name, op)
    if t is None or op == "sum":
        return out, None if t is None else _of_all(t, numbers, axis_name, op)
    here = elementwise.convert(elementwise.equal(x, out), dtype=x.dtype)
    count = _of_all(here, numbers, axis_name, "sum")
    share = elementwise.divide(elementwise.multiply(t, here), count)
    return out, _of_all(share, numbers, axis_name, "sum")


def _transpose(ct: Array, x: Any, *numbers: Any, axis_name: Any, op: str) -> list[Any]:
    back = _of_all(ct, numbers, axis_name, op) if isinstance(x, Undefined) else None
    return [back, *[None] * len(numbers)]


def _primitive(name: str, jvp: Rule | Missing, transpose: Rule | Missing) -> Primitive:
    return Primitive(
        name,
        abstract=_abstract,
        reference=_unbound,
        lower=_unbound,
        jvp=jvp,
        transpose=transpose,
        batch=_batch,
        kind="collective",
    )


collective = _primitive("collective", _jvp, _transpose)


def _differs(node: Any, trace: BatchTrace) -> bool:
    """Whether a value may differ between the examples of the trace."""
    if not is_interpreted(node):
        return isinstance(local.recorder, StagingRecorder) and local.recorder.owns(node)
    tracer = node[VALUE]
    if isinstance(tracer, JVPTracer):
        return _differs(tracer.primal, trace) or _differs(tracer.tangent, trace)
    if isinstance(tracer, BatchTracer):
        return tracer.trace is trace or _differs(tracer.value, trace)
    return True


def _of_all(x: Array, numbers: Sequence[Array], axis_name: Any, op: str) -> Array:
    """The collective. If x is the same for all examples (as the cotangent of a sum may be), compute
    the result directly, because no interpreter would see it.
    """
    if numbers:
        return collective(x, *numbers, axis_name=axis_name, op=op)
    trace = named_trace(axis_name)
    if not _differs(x._read(), trace):
        return of_equals(x, op, trace.size)
    if isinstance(local.recorder, StagingRecorder):
        return collective(x, new_array(numbers_of(trace)), axis_name=axis_name, op=op)
    return collective(x, axis_name=axis_name, op=op)


def _over(op: str, axis_name: Any, x: Any) -> Any:
    if isinstance(axis_name, (tuple, list)):
        for name in axis_name:
            x = _over(op, name, x)
        return x
    array = new_array(node_of(x))
    if op == "sum" and array.dtype.kind == "b":
        array = elementwise.convert(array, dtype=np.dtype(np.int64))
    return result_handle(_of_all(array, (), axis_name, op)._read(), type(x))


def _size(axis_name: Any) -> int:
    """The number of examples. NameError if no vmap has this name."""
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    return math.prod([named_trace(name).size for name in names])


def psum(x: Any, axis_name: Any) -> Any:
    """The sum over the examples of the vmap with this axis_name (or of several, as a tuple), for
    each leaf of a tree.
    """
    _size(axis_name)
    return tree_map(lambda leaf: _over("sum", axis_name, leaf), x)


def pmax(x: Any, axis_name: Any) -> Any:
    """The largest value over the examples of the vmap with this axis_name."""
    _size(axis_name)
    return tree_map(lambda leaf: _over("max", axis_name, leaf), x)


def pmin(x: Any, axis_name: Any) -> Any:
    """The smallest value over the examples of the vmap with this axis_name."""
    _size(axis_name)
    return tree_map(lambda leaf: _over("min", axis_name, leaf), x)


def pmean(x: Any, axis_name: Any) -> Any:
    """The mean over the examples of the vmap with this axis_name."""
    size = _size(axis_name)

    def mean(leaf: Any) -> Any:
        total = _over("sum", axis_name, leaf)
        return result_handle(elementwise.divide(total, size)._read(), type(total))

    return tree_map(mean, x)


def axis_index(axis_name: Any) -> Any:
    """The number of the example on the vmap axis of this name."""
    return result_handle(numbers_of(named_trace(axis_name)))
