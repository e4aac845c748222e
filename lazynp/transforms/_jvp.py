"""Forward mode: every value carries a tangent, and each primitive's `jvp` rule computes both.

It runs while Python runs (final style): control flow sees the primals, and in-place writes include
the tangents. A value without a tangent (an integer, a constant) is not a tracer, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import _getframe
from typing import Any

import numpy as np

from lazynp._array import Array, noted
from lazynp._avals import Aval
from lazynp._flush import host_value
from lazynp._fronts import BUILT
from lazynp._jaxpr import Rules
from lazynp._math_calls import instead_of_math
from lazynp._node import OP, VALUE, Node, Trace, Tracer, aval_of_node, tracer_node
from lazynp._positions import user_frame
from lazynp._primitive import NOT_DIFFERENTIABLE, Missing
from lazynp._recorder import local
from lazynp._trace import record, record_multiple
from lazynp._tree import flatten_up_to, tree_flatten, tree_unflatten
from lazynp._values import knowable, seen_value
from lazynp.transforms._for_users import for_users
from lazynp.transforms._forward import explicit, is_flat, replayed
from lazynp.transforms._recipes import with_recipe
from lazynp.transforms._stack import (
    Flat,
    Params,
    argument_node,
    as_given,
    as_weak_as,
    check_leaf,
    coerced,
    handle_like,
    inferred,
    kind_of,
    leaf_node,
    name_of,
    node_of,
    refuse_shared,
    result_handle,
    running,
    write_back,
    zeros,
)
from lazynp.transforms._templates import KINDS


class JVPTracer(Tracer):
    """A primal and its tangent, both nodes of the level below."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Trace, primal: Node, tangent: Node) -> None:
        self.trace, self.primal, self.tangent = trace, primal, tangent
        self.aval = aval_of_node(primal)
        self.code, self.offset = local.where or (None, 0)

    def seen(self) -> Any:
        return seen_value(self.primal)

    def behind(self) -> Node:
        return self.primal

    def known(self) -> bool:
        return knowable(self.primal)

    def exact(self) -> Any:
        if not self.trace.alive:
            return host_value(self.primal)
        named = instead_of_math(user_frame(_getframe(1)))
        if named is not None:
            raise TypeError(f"{self.trace.what}: {self.aval} carries a tangent. {named}")
        raise TypeError(
            f"{self.trace.what}: the value of {self.aval} carries a tangent, which float(), "
            "tolist(), numpy.asarray() or a function that only NumPy has would lose. Use "
            "stop_gradient(x) where that is meant (or, to store into arrays made by numpy, adopt)"
        )


class JVPTrace(Trace):
    """`linear` is the trace of the tangents if they are staged (linearize, vjp, grad)."""

    __slots__ = ("linear",)

    linear: Any  # a LinearTrace

    # stores are in place in C only; in Python, each would copy an array
    eager = BUILT

    def __init__(self, what: str, linear: Trace | None = None) -> None:
        super().__init__(what)
        self.linear = linear

    def split(self, x: Any) -> tuple[Any, Node | None]:
        """The primal and the tangent of an operand; None for zero."""
        if type(x) is list and x[OP] is None:
            tracer = x[VALUE]
            if type(tracer) is JVPTracer and tracer.trace is self:
                return tracer.primal, tracer.tangent
        return x, None

    def joined(self, primal: Node, tangent: Node | None) -> Node:
        if tangent is None:
            return primal
        return tracer_node(JVPTracer(self, primal, tangent))

    def process(self, primitive: Rules, operands: tuple[Any, ...], params: Params) -> Any:
        rule = primitive.jvp
        replays = primitive.kind in KINDS and (not isinstance(rule, Missing) or is_flat(primitive))
        if self.linear is not None and replays:
            made = self.linear.from_template(self, primitive, operands, params)
            if made is not None:
                return made
        primals, tangents = zip(*[self.split(o) for o in operands])
        if self.linear is None and replays:
            found = replayed(primitive, primals, tangents, params)
            if found is not None:
                nodes = tuple([self.joined(*pair) for pair in found])
                return nodes if primitive.multiple_results else nodes[0]
        if rule is NOT_DIFFERENTIABLE:
            if primitive.multiple_results:
                return record_multiple(primitive, primals, params)
            return record(primitive, primals, params)
        if isinstance(rule, Missing):
            raise TypeError(f"{self.what}: {primitive.name} has no derivative: {rule.reason}")
        op = inferred(primitive, primals, params)
        given, moving = explicit(op, primals, tangents)
        if self.linear is not None:
            rule = getattr(primitive, "linearize", None) or rule
        outs, outs_dot = rule(given, moving, **params)
        if not primitive.multiple_results:
            return self.joined(outs._node, None if outs_dot is None else outs_dot._node)
        return tuple(
            [
                self.joined(p._read(), None if t is None else t._read())
                for p, t in zip(outs, outs_dot, strict=True)
            ]
        )


def settle(handle: Array, before: Node) -> None:
    """Settle an outside handle that was written under differentiation: it keeps the primal.

    A function that is staged around this one noticed the handle when it was first written.
    """
    primal = handle._node[VALUE].primal
    noted(handle, primal, before)
    handle._node = primal


def jvp_nodes(
    function: Callable[[Sequence[Array]], list[Any]],
    arguments: Sequence[Any],
    primals: Sequence[Node],
    tangents: Sequence[Node | None],
    what: str,
    linear: Trace | None = None,
) -> tuple[list[Node], list[Node | None], list[Any]]:
    """The results and their tangents, as nodes, and what the function returned for them."""
    trace = JVPTrace(what, linear)
    with running(trace, settle):
        nodes = [trace.joined(p, t) for p, t in zip(primals, tangents, strict=True)]
        handles = [handle_like(x, n) for x, n in zip(arguments, nodes, strict=True)]
        given = [
            as_given(x, h) if t is None else h
            for x, h, t in zip(arguments, handles, tangents, strict=True)
        ]
        leaves = function(given)
        outs = [trace.split(leaf_node(x)) for x in leaves]
        like = list(map(kind_of, leaves))
        # drop the references: handles made inside must be gone when `running` settles them
        del given, leaves
    refuse_shared(what, arguments, handles, nodes)
    for x, handle, node in zip(arguments, handles, nodes, strict=True):
        write_back(x, handle, node, lambda n: trace.split(n)[0])
    return [p for p, _ in outs], [t for _, t in outs], like


@for_users
def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """`(f(*primals), tangents of the results)`; with `has_aux`, f returns `(out, aux)`.

    Tangents have the types of the primals; for an integer primal, None or float0 means zero.
    `primals` and `tangents` are tuples or lists, one entry for each argument of f.

    >>> import lazynp as np
    >>> value, tangent = np.jvp(np.sin, (0.0,), (2.0,))
    >>> float(value), float(tangent)
    (0.0, 2.0)
    """
    if local.level or local.recorder.staging:
        return _jvp(fun, primals, tangents, has_aux)
    return _pushing(fun, has_aux)(primals, tangents)


def _pushing(fun: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    """`jvp` of this function, as a function that can be made again."""

    def push(primals: Any, tangents: Any) -> Any:
        return _jvp(fun, primals, tangents, has_aux)

    values = None if has_aux else lambda primals, tangents: (tuple(primals), {})
    return with_recipe(push, _pushing, fun, has_aux, moving=(0, 1), values=values)


_pushing.__name__ = "jvp"  # the name that explanations tell


def _jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool) -> Any:
    what = f"jvp of {name_of(fun)}"
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(f"{what}: primals and tangents must be tuples or lists of arguments")
    leaves, structure = tree_flatten(tuple(primals))
    for x in leaves:
        check_leaf(x, what)
    nodes = [argument_node(x) for x in leaves]
    given = tangent_nodes(list(map(aval_of_node, nodes)), structure, tuple(tangents), what)
    flat = Flat(fun, structure, has_aux=has_aux)
    outs, outs_dot, like = jvp_nodes(flat, leaves, nodes, given, what)
    avals = list(map(aval_of_node, outs))
    out_dot = whole_tangents(flat.tree, avals, outs_dot, like[: flat.count])
    out = flat.rebuilt(outs, like)
    return (out, out_dot, flat.aux(outs, like)) if has_aux else (out, out_dot)


def whole_tangents(
    tree: Any, avals: Sequence[Aval], tangents: Sequence[Node | None], like: Sequence[Any]
) -> Any:
    """The tangents of the results without aux, which are as many as `like`: zeros for None, float0
    for integer results.
    """
    made: list[Any] = []
    for aval, tangent, kind in zip(avals, tangents, like):
        if aval.dtype.kind not in "fc":
            made.append(np.zeros(aval.shape, FLOAT0))
            continue
        node = zeros(aval)._read() if tangent is None else tangent
        made.append(result_handle(as_weak_as(node, aval), kind))
    return tree_unflatten(tree, made)


def is_zero(x: Any) -> bool:
    """Whether x is the tangent of an integer: None, or JAX's float0."""
    return x is None or getattr(x, "dtype", None) == FLOAT0


FLOAT0 = np.dtype([("float0", np.void, 0)])


def tangent_nodes(
    primals: Sequence[Aval], structure: Any, tangents: Any, what: str
) -> list[Node | None]:
    """Tangents like the primals; weak Python numbers take the primal's dtype."""
    leaves = flatten_up_to(structure, tangents, what)
    return [_tangent_node(p, t, what) for p, t in zip(primals, leaves, strict=True)]


def _tangent_node(aval: Aval, tangent: Any, what: str) -> Node | None:
    if aval.dtype.kind not in "fc":
        if is_zero(tangent) or getattr(tangent, "dtype", None) == np.bool_:
            return None
        raise TypeError(f"{what}: the tangent of {aval} is zero: None or float0, got {tangent!r}")
    if tangent is None:
        return None
    if type(tangent) in (bool, int, float, complex):
        node = coerced(tangent, aval, shape=False)._read()
    else:
        node = node_of(tangent)
    given = aval_of_node(node)
    if given.shape != aval.shape or given.dtype != aval.dtype:
        raise TypeError(
            f"{what}: a tangent must be like its primal, got tangent {given} for {aval}"
        )
    return node
