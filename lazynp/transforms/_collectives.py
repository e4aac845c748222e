"""psum, pmean, pmax, pmin, axis_index: communication between the examples of a named vmap axis.

The `BatchTrace` of that name interprets the primitive. Interpreters of other names map it,
differentiation pushes tangents through it, and a staged function keeps it as an equation. When
staged, its second operand is the numbers of the examples. Through that operand the equation reaches
its `BatchTrace` even if all other operands are the same for every example.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from lazynp._array import Array, NDArray, new_array
from lazynp._avals import Aval, aval_of
from lazynp._node import VALUE, is_interpreted
from lazynp._primitive import Missing, Primitive, Rule, Undefined
from lazynp._recorder import StagingRecorder, local
from lazynp._tree import tree_map
from lazynp.primitives import elementwise, indexing, shaping
from lazynp.transforms._jvp import JVPTracer
from lazynp.transforms._stack import data_leaf, node_of, result_handle, zeros
from lazynp.transforms._vmap import (
    BatchTrace,
    BatchTracer,
    moved,
    named_trace,
    numbers_of,
    of_equals,
    unbound,
)


def _unbound(*_: Any, axis_name: Any, **__: Any) -> Any:
    raise unbound(axis_name)


def _abstract(x: Aval, *numbers: Aval, axis_name: Any, op: str, count: int = 0) -> Aval:
    return aval_of((count, *x.shape) if op == "gather" else x.shape, x.dtype)


def _batch(
    size: int, batched: Sequence[bool], x: Array, *numbers: Array, axis_name: Any, op: str,
    count: int = 0,
) -> Array:  # fmt: skip
    """Under a vmap with another name, each example has its own collective."""
    out = _of_all(x, numbers, axis_name, op, count)
    return moved(out, 1, 0) if op == "gather" else out


def _jvp(primals: Any, tangents: Any, *, axis_name: Any, op: str, count: int = 0) -> Any:
    (x, *numbers), (t, *_) = primals, tangents
    out = _of_all(x, numbers, axis_name, op, count)
    if t is None or op in ("sum", "gather"):
        return out, None if t is None else _of_all(t, numbers, axis_name, op, count)
    here = elementwise.convert(elementwise.equal(x, out), dtype=x.dtype)
    ties = _of_all(here, numbers, axis_name, "sum")
    share = elementwise.divide(elementwise.multiply(t, here), ties)
    return out, _of_all(share, numbers, axis_name, "sum")


def _transpose(
    ct: Array, x: Any, *numbers: Any, axis_name: Any, op: str, count: int = 0
) -> list[Any]:
    back = _of_all(ct, numbers, axis_name, "sum") if isinstance(x, Undefined) else None
    if back is not None and op == "gather":  # of the sum, each example gets its part
        here = numbers[0] if numbers else new_array(numbers_of(named_trace(axis_name)))
        back = indexing.take(back, here, axes=(0,))
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
    if not trace.alive:  # its name is used in a backward rule, for what all examples share
        return False
    if not is_interpreted(node):
        return isinstance(local.recorder, StagingRecorder) and local.recorder.owns(node)
    tracer = node[VALUE]
    if tracer.trace.level < trace.level:  # of a transformation around the vmap, so made without it
        return False
    if isinstance(tracer, JVPTracer):
        return _differs(tracer.primal, trace) or _differs(tracer.tangent, trace)
    if isinstance(tracer, BatchTracer):
        return tracer.trace is trace or _differs(tracer.value, trace)
    return True


def _of_all(x: Array, numbers: Sequence[Array], axis_name: Any, op: str, count: int = 0) -> Array:
    """The collective. If x is the same for all examples (as the cotangent of a sum may be), compute
    the result directly, because no interpreter would see it.
    """
    params = {"count": count} if op == "gather" else {}
    if numbers:
        return collective(x, *numbers, axis_name=axis_name, op=op, **params)
    trace = named_trace(axis_name)
    if not _differs(x._read(), trace):
        return of_equals(x, op, trace.size)
    if isinstance(local.recorder, StagingRecorder):
        numbered = new_array(numbers_of(trace))
        return collective(x, numbered, axis_name=axis_name, op=op, **params)
    return collective(x, axis_name=axis_name, op=op, **params)


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
    """The number of the example on the vmap axis of this name; of several, as a tuple, the first
    varies slowest.
    """
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    found = None
    for name in names:
        trace = named_trace(name)
        here = new_array(numbers_of(trace))
        found = here if found is None else elementwise.add(
            elementwise.multiply(found, trace.size), here
        )  # fmt: skip
    assert found is not None
    return result_handle(found._read())


def axis_size(axis_name: Any) -> int:
    """The number of examples of the vmap, or of devices of the mesh, with this axis_name."""
    return _size(axis_name)


# -- exchanges -------------------------------------------------------------------------------------


def _gathered(x: Array, axis_name: Any) -> Array:
    """The values of all examples, along a new first axis."""
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    shape = x.shape
    for name in reversed(names):
        x = _of_all(x, (), name, "gather", named_trace(name).size)
    return shaping.reshape(x, shape=(_size(axis_name), *shape)) if len(names) > 1 else x


def _here(axis_name: Any) -> Array:
    return new_array(axis_index(axis_name)._read())


def _merged(x: Array, axis: int) -> Array:
    """Join this axis and the next."""
    shape = (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :])
    return shaping.reshape(x, shape=shape)


def _axis(axis: int, ndim: int, what: str) -> int:
    if not -ndim <= axis < ndim:
        raise AxisError(axis, ndim, what)
    return axis % ndim


def _leafwise(function: Callable[[Array], Array], tree: Any) -> Any:
    return tree_map(lambda x: result_handle(function(new_array(node_of(x)))._read(), NDArray), tree)


def all_gather(x: Any, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Any:
    """The values of all examples (devices) along a new axis; tiled: along one that is there."""

    def gather(leaf: Array) -> Array:
        out = _gathered(leaf, axis_name)
        place = _axis(axis, leaf.ndim if tiled else out.ndim, "all_gather")
        out = moved(out, 0, place)
        return _merged(out, place) if tiled else out

    _size(axis_name)
    return _leafwise(gather, x)


def _part(x: Array, axis: int, axis_name: Any, tiled: bool, what: str) -> Array:
    """Of the parts of this axis, as many as there are examples, that with the example's number."""
    n = _size(axis_name)
    size = x.shape[axis]
    if size % n or not tiled and size != n:
        raise ValueError(
            f"{what}: an axis {'divisible by' if tiled else 'of'} {n}, the size of {axis_name!r}, "
            f"is required, got {size}"
        )
    if tiled:
        shape = (*x.shape[:axis], n, size // n, *x.shape[axis + 1 :])
        x = shaping.reshape(x, shape=shape)
    return indexing.take(moved(x, axis, 0), _here(axis_name), axes=(0,))


def psum_scatter(x: Any, axis_name: Any, *, scatter_dimension: int = 0, tiled: bool = False) -> Any:
    """Of the sum over all examples (devices), each gets its part of this dimension."""

    def scatter(leaf: Array) -> Array:
        total = new_array(node_of(psum(leaf, axis_name)))
        axis = _axis(scatter_dimension, leaf.ndim, "psum_scatter")
        return _part(total, axis, axis_name, tiled, "psum_scatter")

    _size(axis_name)
    return _leafwise(scatter, x)


def ppermute(x: Any, axis_name: Any, perm: Any) -> Any:
    """The value of another example (device): `perm` has pairs (source, destination). Zeros where
    nobody sends.
    """
    n = _size(axis_name)
    pairs = [(int(a), int(b)) for a, b in perm]
    if len({a for a, _ in pairs}) < len(pairs) or len({b for _, b in pairs}) < len(pairs):
        raise ValueError(f"ppermute: sources and destinations must differ, got {pairs}")
    if any(not 0 <= k < n for pair in pairs for k in pair):
        raise ValueError(f"ppermute: numbers below {n} are required, got {pairs}")
    source, sent = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    for a, b in pairs:
        source[b], sent[b] = a, True

    def permute(leaf: Array) -> Array:
        here = _here(axis_name)
        sender = indexing.take(new_array(data_leaf(source)), here, axes=(0,))
        got = indexing.take(_gathered(leaf, axis_name), sender, axes=(0,))
        any_sent = indexing.take(new_array(data_leaf(sent)), here, axes=(0,))
        return elementwise.select(any_sent, got, zeros(got.aval))

    return _leafwise(permute, x)


def all_to_all(
    x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, tiled: bool = False
) -> Any:
    """Each example (device) sends the parts of `split_axis` to the others; what it gets is joined
    along `concat_axis`: a new axis, or tiled, one that is there.
    """

    def exchange(leaf: Array) -> Array:
        split = _axis(split_axis, leaf.ndim, "all_to_all")
        joined = _axis(concat_axis, leaf.ndim, "all_to_all")
        every = _gathered(leaf, axis_name)
        out = _part(every, split + 1, axis_name, tiled, "all_to_all")
        out = moved(out, 0, joined)
        return _merged(out, joined) if tiled else out

    _size(axis_name)
    return _leafwise(exchange, x)
