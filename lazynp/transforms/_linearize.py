"""Linearization: compute the primals below while recording the tangents' program.

The tangents of a `JVPTrace` are tracers of a `LinearTrace`, directly below it. Operations on
primals never touch it. Operations on tangents become entries of a tape; their other operands
(residuals) are values of the levels below. `linearize` runs the tape forwards. `vjp` and `grad` run
it backwards, each entry by its primitive's `transpose` rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazynp._array import Array, new_array
from lazynp._avals import TracedAval, aval_of
from lazynp._fronts import in_front
from lazynp._jaxpr import Rules
from lazynp._node import AVAL, OP, VALUE, Node, Trace, aval_of_node, tracer_node
from lazynp._recorder import inside_operation, local
from lazynp._trace import interpreting, record, staging
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._backward import Linearized
from lazynp.transforms._dependence import results_of
from lazynp.transforms._forward import JVPTemplate, explicit, is_flat, templates
from lazynp.transforms._jvp import JVPTrace, JVPTracer, jvp_nodes
from lazynp.transforms._stack import Params, coerced, inferred, running, zeros
from lazynp.transforms._sums import fuses, is_small, is_written
from lazynp.transforms._tape import Entry, LinearTracer, RuleTemplate
from lazynp.transforms._templates import Table, Unfit, scalars


class LinearTrace(Trace):
    __slots__ = ("tape", "count")

    eager = True  # what `JVPTrace` above it says counts

    def __init__(self, what: str) -> None:
        super().__init__(what)
        # entries, and applied templates: see `_tape`
        self.tape: list[Any] = []
        self.count = 0  # of its tracers

    def taken(self) -> list[Any]:
        """The tape. Its tracers refer to the trace, so the trace lets go of it: a cycle would keep
        all that it reads until the collector comes.
        """
        tape, self.tape = self.tape, []
        return tape

    def tracer_of(self, x: Any) -> LinearTracer | None:
        if type(x) is list and x[OP] is None:
            tracer = x[VALUE]
            if type(tracer) is LinearTracer and tracer.trace is self:
                return tracer
        return None

    def process(self, primitive: Rules, operands: tuple[Any, ...], params: Params) -> Any:
        op = inferred(primitive, operands, params)
        if primitive.kind == "call" and primitive.multiple_results:
            linear = [self.tracer_of(o) is not None for o in operands]
            if not all(results_of(primitive.name, params, linear, len(op.aval))):
                return self._linearized(primitive, operands, params)
        atoms: list[Any] = []
        everything = primitive.kind != "elementwise"
        for o, aval in zip(operands, op.explicit):
            if type(o) is list and aval_of_node(o) is aval:
                atoms.append(self.tracer_of(o) or o)
                continue
            linear = self.tracer_of(o) is not None
            array = coerced(o, aval, shape=linear or everything)
            node = array._read()
            atoms.append(self.tracer_of(node) if linear else node)
        avals = op.aval if primitive.multiple_results else (op.aval,)
        outs = [LinearTracer(self, aval) for aval in avals]
        self.tape.append(Entry(primitive, atoms, params, outs, local.where))
        nodes = tuple([tracer_node(t) for t in outs])
        return nodes if primitive.multiple_results else nodes[0]

    def _linearized(self, primitive: Rules, operands: Sequence[Any], params: Params) -> Any:
        """A call some of whose results depend on no tangent, because a user's rule may compute
        values and tangents in one call. It is differentiated by its own rule, which keeps them
        apart. For a linear call, the result is the same.
        """
        linear = [self.tracer_of(o) is not None for o in operands]
        primals = [
            zeros(aval_of_node(o)) if f else new_array(o)
            for o, f in zip(operands, linear, strict=True)
        ]
        moving = [new_array(o) if f else None for o, f in zip(operands, linear, strict=True)]
        rule: Any = getattr(primitive, "linearize", None)
        outs, dots = rule(primals, moving, **params)
        chosen = [o if d is None else d for o, d in zip(outs, dots, strict=True)]
        return tuple([x._read() for x in chosen])

    def from_template(
        self, outer: JVPTrace, primitive: Rules, operands: tuple[Any, ...], params: Params
    ) -> Node | None:
        """The result with its tangent, without calling the rule; None if that is impossible.

        outer: the trace of the operands.
        """
        return _replayed(local.recorder, local.where, outer, primitive, operands, params)


_rules = Table()
_STORED = "stored"


def _replay(
    recorder: Any, where: Any, outer: JVPTrace, primitive: Rules, operands: tuple[Any, ...],
    params: Params,
) -> Any:  # fmt: skip
    """See `from_template`. In C for templates that exist."""
    self = outer.linear
    key: list[Any] = [primitive, *params.items()] if params else [primitive]
    primals: list[Any] = []
    moving: list[LinearTracer] = []
    for o in operands:
        if type(o) is not list:
            key.append(type(o))
            primals.append(o)
            continue
        t = None
        op = o[OP]
        if op is None:
            tracer = o[VALUE]
            if type(tracer) is JVPTracer and tracer.trace is outer:
                o, t = tracer.primal, tracer.tangent
                op = o[OP]
        aval = o[AVAL] if op is None else op.aval  # `known_by`, inlined
        if type(aval) is TracedAval or not aval.dtype.isnative:
            return None
        key.append(aval)
        if t is not None:
            tracer = t[VALUE]
            if type(tracer) is not LinearTracer or tracer.trace is not self:
                return None
            if tracer.aval is not aval:
                return None
            moving.append(tracer)
            key.append(True)
        primals.append(o)
    stored = primitive is shaping.slice and _stores(primals[0], params)
    if stored:
        key.append(_STORED)
    kinds = tuple(key)
    made = _rules.get(kinds, _rules)
    if made is _rules:
        tangents = [outer.split(o)[1] for o in operands]
        made = _rules.put(kinds, _rule_template(primitive, primals, tangents, params, stored))
    if made is None:
        return None
    found = made.apply(self, primals, moving)
    if primitive.multiple_results:
        return tuple([outer.joined(*pair) for pair in found])
    return outer.joined(*found)


def _stores(primal: Node, params: Params) -> bool:
    """Whether to store a slice: see `is_written`."""
    aval = aval_of_node(primal)
    small = is_small(aval_of(params["shape"], aval.dtype), aval)
    return small and is_written(primal) and not fuses()


_replayed = in_front(
    "replayed", _replay, rules=_rules,
    function=(JVPTrace, JVPTracer, LinearTrace, LinearTracer, RuleTemplate, JVPTemplate),
    more=(scalars, _stores, shaping.slice, _STORED, shaping.update_slice, templates),
)  # fmt: skip


_BILINEAR = {"multiply", "multiply_no_nan", "dot_general", "dot_no_nan", "convolution"}


class TransposeTrace(LinearTrace):
    """The trace of `linear_transpose`: raises if the user's function is not linear."""

    __slots__ = ()

    def process(self, primitive: Rules, operands: tuple[Any, ...], params: Params) -> Any:
        nodes = super().process(primitive, operands, params)
        entry, name = self.tape[-1], primitive.name
        linear = [type(a) is LinearTracer for a in entry.operands]
        twice = name in _BILINEAR and all(linear[:2]) or name in ("divide", "xdivy") and linear[1]
        if twice or any(t.aval.dtype.kind == "b" for t in entry.outs):
            raise TypeError(f"{self.what}: {name} is not linear in what it is applied to")
        return nodes


def _rule_template(
    primitive: Rules, primals: Sequence[Any], tangents: Sequence[Any], params: Params,
    stored: bool,
) -> RuleTemplate | None:  # fmt: skip
    op = inferred(primitive, primals, params)
    if op.host:
        return None
    with staging("a rule") as recorder:
        inputs = [
            recorder.input(aval_of_node(p) if type(p) is list else aval_of((), a.dtype, a.weak))
            for p, a in zip(primals, op.explicit, strict=True)
        ]
        trace = LinearTrace("a rule")
        with inside_operation(), interpreting(trace):
            moving = [LinearTracer(trace, t[VALUE].aval) if t is not None else None
                      for t in tangents]  # fmt: skip
            nodes = [None if t is None else tracer_node(t) for t in moving]
            rule = getattr(primitive, "linearize", None) or primitive.jvp
            try:
                if is_flat(primitive):
                    out = record(primitive, tuple(inputs), params)
                    return RuleTemplate(op, inputs, recorder, (), (), [(out, None)])
                given, dots = explicit(inferred(primitive, inputs, params), inputs, nodes)
                outs, outs_dot = rule(given, dots, **params)
                if not primitive.multiple_results:
                    outs, outs_dot = (outs,), (outs_dot,)
                found = _found(trace, outs, outs_dot)
                if stored:
                    ((node, tangent),) = found
                    found = [(record(elementwise.positive, (node,), {}), tangent)]
                present = [t for t in moving if t is not None]
                return RuleTemplate(op, inputs, recorder, trace.tape, present, found)
            except Unfit:
                return None


def _found(
    trace: LinearTrace, outs: Sequence[Array], outs_dot: Sequence[Array | None]
) -> list[tuple[Node, LinearTracer | None]]:
    """The nodes of results, and their tangents."""
    found = []
    for out, dot in zip(outs, outs_dot, strict=True):
        tangent = None if dot is None else trace.tracer_of(dot._read())
        if dot is not None and tangent is None:
            raise Unfit
        found.append((out._read(), tangent))
    return found


def _forget(handle: Array, before: Node) -> None:
    """Reset a handle that holds a tangent; only a custom rule can have stored one."""
    handle._node = before


def linearize_nodes(
    function: Callable[[Sequence[Array]], list[Any]],
    arguments: Sequence[Any],
    primals: Sequence[Node],
    moving: Sequence[bool],
    what: str,
) -> tuple[list[Node], Linearized, list[Any]]:
    """The results as nodes, the tangent program, and what the function returned for the results."""
    trace = LinearTrace(what)
    with running(trace, _forget):
        inputs = [
            LinearTracer(trace, aval_of_node(p)) if m else None
            for p, m in zip(primals, moving, strict=True)
        ]
        tangents = [None if t is None else tracer_node(t) for t in inputs]
        outs, outs_dot, like = jvp_nodes(function, arguments, primals, tangents, what, trace)
        ends = [None if t is None else trace.tracer_of(t) or t for t in outs_dot]
    program = Linearized(trace.taken(), inputs, ends, [aval_of_node(o) for o in outs])
    return outs, program, like
