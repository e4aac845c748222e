"""Batching: run a function of one example once, on values that hold all examples.

A batched value has its batch axis in front. Each primitive's `batch` rule computes all examples
together. A value that is the same for every example is not a tracer, and is computed once. The
function sees the shape of one example; a batched value has no single value to look at.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from sys import _getframe
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from lazynp._array import Array, NDArray, new_array, new_scalar
from lazynp._avals import Aval, aval_of
from lazynp._flush import cure
from lazynp._jaxpr import Rules, jaxprs_in, meets
from lazynp._node import OP, VALUE, Node, Trace, Tracer, aval_of_node, leaf, op_of, tracer_node
from lazynp._positions import converts, position
from lazynp._primitive import Missing
from lazynp._recorder import user_position
from lazynp._tree import LEAF, broadcast_prefix, count, tree_flatten
from lazynp.primitives import elementwise, reduction, shaping
from lazynp.primitives.placing import SPMD
from lazynp.transforms._stack import (
    Flat,
    Params,
    argument_node,
    as_given,
    check,
    check_leaf,
    coerced,
    handle_like,
    kind_of,
    name_of,
    node_of,
    outside_name,
    refuse_shared,
    results,
    running,
    write_back,
)


class Wording:
    """How errors of a mapped function speak of its examples."""

    each = "example"
    same = "pass what is the same for all examples with in_axes=None"
    apart = "an argument with an axis for the examples"

    def __init__(self, what: str) -> None:
        self.what = what

    def differs(self, aval: Aval, axis_name: Any) -> str:
        """That a result differs along the axis, and has no axis for that."""
        return f"out_axes is None for a result of {aval} that differs from example to example"


class BatchTracer(Tracer):
    """All examples, on axis 0 of a node of the level below."""

    __slots__ = ("value",)

    differs = True

    def __init__(self, trace: Trace, value: Node) -> None:
        self.trace, self.value = trace, value
        aval = aval_of_node(value)
        self.aval = aval_of(aval.shape[1:], aval.dtype)
        self.code, self.offset = user_position()

    def seen(self) -> Any:
        wording = self.trace.wording  # type: ignore[attr-defined]
        error: Any = TypeError(
            f"{self.trace.what}: the value of {self.aval} recorded at "
            f"{position(self.code, self.offset)} is another for each {wording.each}, but "
            f"{position(*user_position())} asks for one {cure(self.aval)}; {wording.same}"
        )
        error.wording = wording  # `vmap` knows its own by that
        if converts(_getframe(1)):
            self.trace.asked = error  # type: ignore[attr-defined]
        raise error

    exact = seen

    def behind(self) -> Node:
        return self.value


class Shared:
    """A result of a call's batch rule that is the same for all examples."""

    __slots__ = ("value",)

    def __init__(self, value: Array) -> None:
        self.value = value


def flagged(outs: Sequence[Array], flags: Sequence[bool]) -> tuple[Any, ...]:
    """The results of a call's batch rule; results without the flag are shared."""
    return tuple([x if f else Shared(x) for x, f in zip(outs, flags, strict=True)])


class BatchTrace(Trace):
    __slots__ = ("asked", "size", "axis_name", "spmd", "wording", "met", "numbers")

    def __init__(
        self, what: str | Wording, size: int, axis_name: Any = None, spmd: Any = None
    ) -> None:
        self.wording = Wording(what) if isinstance(what, str) else what
        super().__init__(self.wording.what)
        self.size, self.axis_name = size, axis_name
        self.asked: BaseException | None = None  # the error of who has asked for a value
        self.met = False  # whether the examples have met in a collective
        self.numbers: Node | None = None  # see `numbers_of`
        self.spmd = spmd  # the axis of a mesh that splits the examples in constraints

    def mine(self, x: Any) -> bool:
        if type(x) is list and x[OP] is None:
            tracer = x[VALUE]
            return type(tracer) is BatchTracer and tracer.trace is self
        return False

    def split(self, x: Any) -> tuple[Any, bool]:
        return (x[VALUE].value, True) if self.mine(x) else (x, False)

    def tracer(self, node: Node) -> Node:
        return tracer_node(BatchTracer(self, node))

    def process(self, primitive: Rules, operands: tuple[Any, ...], params: Params) -> Any:
        rule = primitive.batch
        if primitive.kind == "collective" and params["axis_name"] == self.axis_name:
            node, batched = self.split(operands[0])
            x, op, self.met = new_array(node), params["op"], True
            return (reduced(x, op) if batched else of_equals(x, op, self.size))._read()
        if isinstance(rule, Missing):
            raise TypeError(f"{self.what}: {primitive.name} cannot be batched: {rule.reason}")
        ins = tuple([aval_of_node(o) if type(o) is list else type(o) for o in operands])
        op = check(op_of(primitive, params, ins), operands)
        everything = op.primitive.kind != "elementwise"
        given, batched = [], []
        for o, aval in zip(operands, op.explicit, strict=True):
            node, is_batched = self.split(o)
            batched.append(is_batched)
            given.append(
                self._coerced(node, aval) if is_batched else coerced(node, aval, shape=everything)
            )
        _axes.current.append(self.axis_name)
        SPMD.names.append(self.spmd)
        try:
            outs = rule(self.size, tuple(batched), *given, **params)
        finally:
            _axes.current.pop()
            SPMD.names.pop()
        if self.axis_name is not None:
            self.met = self.met or any(meets(j, self.axis_name) for j in jaxprs_in(params))
        nodes = tuple([
            o.value._read() if type(o) is Shared else self.tracer(o._read())
            for o in results(primitive, outs)
        ])  # fmt: skip
        return nodes if primitive.multiple_results else nodes[0]

    def _coerced(self, node: Node, target: Any) -> Array:
        """All examples, cast and broadcast to the type that one example must have."""
        array = new_array(node)
        if array.dtype != target.dtype:
            array = elementwise.convert(array, dtype=target.dtype)
        if array.shape[1:] != target.shape:
            first = 1 + target.ndim - (array.ndim - 1)
            dims = (0, *range(first, 1 + target.ndim))
            shape = (self.size, *target.shape)
            array = shaping.broadcast_in_dim(array, shape=shape, dims=dims)
        return array


# -- axes with a name ------------------------------------------------------------------------------


class _Axes(threading.local):
    def __init__(self) -> None:
        self.named: list[BatchTrace] = []
        self.current: list[Any] = []  # names of the vmaps whose batch rules are running


_axes = _Axes()


@contextmanager
def naming(trace: BatchTrace) -> Iterator[None]:
    if trace.axis_name is None:
        yield
        return
    _axes.named.append(trace)
    try:
        yield
    finally:
        _axes.named.pop()
        trace.numbers = None  # it refers to the trace


def names_here() -> list[BatchTrace]:
    """The active vmaps whose axes have names."""
    return [trace for trace in _axes.named if trace.alive]


def under_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, in which the names that there are now can be used, also when they are gone."""
    named = list(_axes.named)
    if not named:
        return function

    def run(*args: Any) -> Any:
        before = _axes.named
        _axes.named = [*named, *before]
        try:
            return function(*args)
        finally:
            _axes.named = before

    return run


def named_trace(axis_name: Any) -> BatchTrace:
    """The innermost active vmap with this axis_name. NameError if there is none."""
    for trace in reversed(_axes.named):
        if trace.axis_name == axis_name:
            return trace
    raise unbound(axis_name)


def unbound(axis_name: Any) -> NameError:
    """The error for a name that stands for no axis here."""
    names = ", ".join(repr(trace.axis_name) for trace in _axes.named)
    there = f"the axes here are {names}" if names else "no axis has a name here"
    return NameError(f"no active vmap or shard_map has the axis name {axis_name!r}: {there}")


def current_axis() -> Any:
    """The axis_name of the vmap whose batch rule is running."""
    return _axes.current[-1] if _axes.current else None


_REDUCTIONS = {
    "sum": reduction.reduce_sum,
    "max": reduction.reduce_max,
    "min": reduction.reduce_min,
}


def reduced(array: Array, op: str) -> Array:
    """The collective over the examples of an array."""
    if op == "gather":  # all of them, for each
        return array
    return _REDUCTIONS[op](array, axes=(0,))


def of_equals(x: Array, op: str, size: int) -> Array:
    """The result of `reduced` where all examples are equal."""
    if op == "gather":
        return shaping.broadcast_in_dim(x, shape=(size, *x.shape), dims=tuple(range(1, x.ndim + 1)))
    return elementwise.multiply(x, size) if op == "sum" else x


def moved(array: Array, source: int, target: int) -> Array:
    """Move one axis of the array to another place."""
    if source == target:
        return array
    order = [i for i in range(array.ndim) if i != source]
    order.insert(target, source)
    return shaping.transpose(array, permutation=tuple(order))


def numbers_of(trace: BatchTrace) -> Node:
    """The number of each example. Not recorded, because it may be needed while a function is
    staged.
    """
    if trace.numbers is None:
        trace.numbers = trace.tracer(leaf(np.arange(trace.size)))
    return trace.numbers


def _settle_for(function: Callable[..., Any], trace: BatchTrace) -> Callable[[Array, Node], None]:
    def settle(handle: Array, before: Node) -> None:
        tracer = handle._node[VALUE]
        handle._node = before
        if handle._flags is not None and "argument" in handle._flags:
            name = f"argument {handle._flags['argument']} (in_axes None)"
        else:
            name = outside_name(function, handle)
        raise ValueError(
            f"{trace.what}: {name} of {aval_of_node(before)} is an array "
            f"from outside, which {position(tracer.code, tracer.offset)} gave another value for "
            f"each {trace.wording.each}. Pass it as {trace.wording.apart}, or create the array "
            "inside the function"
        )

    return settle


def batch_nodes(
    function: Callable[[Sequence[Array]], list[Any]],
    arguments: Sequence[Any],
    nodes: Sequence[Node],
    axes: Sequence[int | None],
    trace: BatchTrace,
    named: Callable[..., Any],
) -> tuple[list[tuple[Node, bool]], list[Any]]:
    """The results as nodes, whether each is batched (axis 0 in front), and what the function
    returned.
    """
    with running(trace, _settle_for(named, trace), strict=True), naming(trace):
        ins = []
        for node, axis in zip(nodes, axes, strict=True):
            if axis is not None:
                node = trace.tracer(moved(new_array(node), axis, 0)._read())
            ins.append(node)
        handles = [  # one example of a vector is a scalar, as in iteration over it
            handle_like(x, n) if axis is None or aval_of_node(n).ndim else new_scalar(n)
            for x, n, axis in zip(arguments, ins, axes, strict=True)
        ]
        given = [
            as_given(x, h) if axis is None else h
            for x, h, axis in zip(arguments, handles, axes, strict=True)
        ]
        leaves = function(given)
        if trace.asked is not None:  # a handler of the user's has caught it
            raise trace.asked
        outs = [trace.split(node_of(x)) for x in leaves]
        like = list(map(kind_of, leaves))
        del given, leaves  # handles made inside must be gone when `running` settles them
        refuse_shared(trace.what, arguments, handles, ins)
        for i, handle in enumerate(handles):
            if axes[i] is None and trace.mine(handle._node):
                handle._flags = {"argument": i}  # for an error message, see `_settle_for`
                continue
            _write_argument(arguments[i], handle, ins[i], axes[i], trace)
            handle._node = nodes[i]
    return outs, like


def _write_argument(
    argument: Any, handle: Array, initial: Node, axis: int | None, trace: BatchTrace
) -> None:
    def value(node: Node) -> Node:
        raw, batched = trace.split(node)
        if axis is None:
            return raw
        if not batched:
            aval = aval_of_node(raw)
            raw = shaping.broadcast_in_dim(
                new_array(raw), shape=(trace.size, *aval.shape), dims=tuple(range(1, aval.ndim + 1))
            )._read()
        return moved(new_array(raw), 0, axis)._read()

    write_back(argument, handle, initial, value)


# -- the mapped function ---------------------------------------------------------------------------


def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """`vmap` of functions that do not look at values."""
    return mapping(Wording(f"vmap of {name_of(fun)}"), fun, in_axes, out_axes, None, None, None)


def mapping(
    wording: Wording, fun: Callable[..., Any], in_axes: Any, out_axes: Any, axis_name: Any,
    axis_size: int | None, spmd_axis_name: Any,
) -> Callable[..., Any]:  # fmt: skip
    """What `vmap` returns; its errors speak of the function and its examples so."""
    what = wording.what
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, (int, tuple))):
        raise TypeError(
            f"{what}: in_axes must be an int, None or a tuple with an entry for each argument, "
            f"got {type(in_axes).__name__}"
        )

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree_flatten((args, kwargs))
        for x in leaves:
            check_leaf(x, what)
        nodes = [argument_node(x) for x in leaves]
        axes = _argument_axes(in_axes, args, structure, nodes, what)
        size = _common_size(args, kwargs, nodes, axes, axis_size, what)
        trace = BatchTrace(wording, size, axis_name, spmd_axis_name)
        flat = Flat(lambda a, k: fun(*a, **k), structure)
        outs, like = batch_nodes(flat, leaves, nodes, axes, trace, fun)
        targets = broadcast_prefix(out_axes, flat.tree, f"{what}: out_axes")
        placed = [
            _placed(n, batched, axis, trace)
            for (n, batched), axis in zip(outs, targets, strict=True)
        ]
        return flat.rebuilt(
            placed, [_mapped_kind(x, a) for x, a in zip(like, targets, strict=True)]
        )

    return mapped


def _argument_axes(
    in_axes: Any, args: tuple[Any, ...], structure: Any, nodes: Sequence[Node], what: str
) -> list[int | None]:
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            f"{what}: in_axes has {len(in_axes)} entries, but there are {len(args)} arguments"
        )
    positional, keywords = structure[2]
    axes = broadcast_prefix(in_axes, positional, f"{what}: in_axes") + [0] * count(keywords)
    found: list[int | None] = []
    for axis, node in zip(axes, nodes, strict=True):
        if axis is None:
            found.append(None)
            continue
        if not isinstance(axis, int) or isinstance(axis, bool):
            raise TypeError(f"{what}: an entry of in_axes must be an int or None, got {axis!r}")
        aval = aval_of_node(node)
        if not -aval.ndim <= axis < aval.ndim:
            i = len(found)
            raise ValueError(
                f"{what}: in_axes asks for axis {axis} of {_leaf_name(structure, i)}, "
                f"which has shape {aval.shape}"
            )
        found.append(axis % aval.ndim)
    return found


def _leaf_name(structure: Any, index: int) -> str:
    """The name of the argument that the leaf belongs to."""
    positional, keywords = structure[2]
    for i, child in enumerate(positional[2]):
        n = count(child)
        if index < n:
            return f"argument {i}" if child is LEAF else f"leaf {index} of argument {i}"
        index -= n
    for key, child in zip(keywords[1], keywords[2], strict=True):
        if index < count(child):
            return f"argument {key!r}"
        index -= count(child)
    return "an argument"


def _common_size(
    args: Any,
    kwargs: Any,
    nodes: Sequence[Node],
    axes: Sequence[int | None],
    axis_size: int | None,
    what: str,
) -> int:
    _, structure = tree_flatten((args, kwargs))
    sizes = {i: aval_of_node(nodes[i]).shape[a] for i, a in enumerate(axes) if a is not None}
    if not sizes and axis_size is None:
        raise ValueError(
            f"{what}: at least one argument must be mapped (in_axes is None for all), or axis_size "
            "given"
        )
    size = axis_size if axis_size is not None else next(iter(sizes.values()))
    if any(n != size for n in sizes.values()):
        listed = ", ".join(
            f"{_leaf_name(structure, i)} has {n} along axis {axes[i]}" for i, n in sizes.items()
        )
        given = "" if axis_size is None else f"; axis_size is {axis_size}"
        raise ValueError(f"{what}: mapped axes must have one size: {listed}{given}")
    return size


def _placed(node: Node, batched: bool, axis: Any, trace: BatchTrace) -> Node:
    """Move the batch axis of a result to where out_axes says."""
    if axis is None:
        if batched:
            why = trace.wording.differs(aval_of_node(node), trace.axis_name)
            raise ValueError(f"{trace.what}: {why}")
        return node
    aval = aval_of_node(node)
    ndim = aval.ndim if batched else aval.ndim + 1
    if not -ndim <= axis < ndim:
        raise AxisError(axis, ndim, f"{trace.what}: out_axes")
    axis %= ndim
    if batched:
        return moved(new_array(node), 0, axis)._read()
    shape = list(aval.shape)
    shape.insert(axis, trace.size)
    dims = tuple(i for i in range(ndim) if i != axis)
    return shaping.broadcast_in_dim(new_array(node), shape=tuple(shape), dims=dims)._read()


def _mapped_kind(kind: Any, axis: int | None) -> Any:
    return kind if axis is None else NDArray
