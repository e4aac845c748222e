"""Linearization: compute the primals below while recording the tangents' program.

The tangents of a `JVPTrace` are tracers of a `LinearTrace`, directly below it. Operations on
primals never touch it. Operations on tangents become entries of a tape; their other operands
(residuals) are values of the levels below. `linearize` runs the tape forwards. `vjp` and `grad` run
it backwards, each entry by its primitive's `transpose` rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, begin, new_array
from lazynp._avals import Aval, TracedAval, aval_of
from lazynp._config import config
from lazynp._jaxpr import Rules
from lazynp._node import AVAL, OP, VALUE, Node, Op, Trace, Tracer, aval_of_node, tracer_node
from lazynp._primitive import Missing, Undefined
from lazynp._recorder import inside_operation, local
from lazynp._trace import check_bounds, interpreting, record, staging
from lazynp.primitives import elementwise, indexing, shaping
from lazynp.transforms._dependence import results_of
from lazynp.transforms._jvp import JVPTrace, JVPTracer, explicit, jvp_nodes
from lazynp.transforms._stack import (
    Params,
    coerced,
    inferred,
    results,
    running,
    zeros,
)
from lazynp.transforms._sums import Sums, fuses, is_small, is_written, written_parts
from lazynp.transforms._templates import KINDS, Steps, Table, Unfit, chosen, known_by, scalar_leaf


class LinearTracer(Tracer):
    """A tangent: known only by its type and by the entry that makes it."""

    __slots__ = ()

    def __init__(self, trace: Trace, aval: Aval) -> None:
        self.trace, self.aval = trace, aval

    def seen(self) -> Any:
        raise TypeError(
            f"{self.trace.what}: the value of a tangent ({self.aval}) is not known while the "
            "derivative is being written down; a custom rule must not look at tangents"
        )

    exact = seen


class Entry:
    """One operation on tangents. Operands are LinearTracers or nodes (residuals)."""

    __slots__ = ("primitive", "operands", "params", "outs", "where", "turned")

    def __init__(
        self,
        primitive: Rules,
        operands: list[Any],
        params: Params,
        outs: list[LinearTracer],
        where: Any,
        turned: list[Any] | None = None,
    ) -> None:
        """where: the user's operation. turned, of a template: the type of ct, and the transposed
        template.
        """
        self.primitive, self.operands, self.params, self.outs = primitive, operands, params, outs
        self.where, self.turned = where, turned


class LinearTrace(Trace):
    __slots__ = ("tape",)

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.tape: list[Entry] = []

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
        self, outer: JVPTrace, primitive: Rules, operands: Sequence[Any], params: Params
    ) -> tuple[Node, Node | None] | None:
        """The result and its tangent, without calling the rule; None if that is impossible.

        outer: the trace of the operands.
        """
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
        kinds = tuple(key)
        made = _rules.get(kinds, _rules)
        if made is _rules:
            tangents = [outer.split(o)[1] for o in operands]
            made = _rules.put(kinds, _rule_template(primitive, primals, tangents, params))
        if made is None:
            return None
        out, out_dot = made.apply(self, primals, moving)
        if primitive is shaping.slice and is_written(primals[0]) and not fuses():
            if is_small(aval_of_node(out), aval_of_node(primals[0])):
                out = record(elementwise.positive, (out,), {})
        return out, out_dot


_BILINEAR = {"multiply", "multiply_no_nan", "dot_general", "convolution"}


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


class _RuleTemplate:
    """A recorded jvp rule: operations on primals, and entries of the tape."""

    __slots__ = ("op", "dtypes", "steps", "entries", "out", "out_dot")

    def __init__(
        self, op: Op, inputs: list[Node], recorder: Any, trace: LinearTrace, moving: list[Any],
        outs: tuple[Node, Node | None],
    ) -> None:  # fmt: skip
        out, out_dot = outs
        self.op = op
        self.dtypes = [a.dtype for a in op.explicit]
        tracers = {id(t): i for i, t in enumerate(moving)}
        for entry in trace.tape:
            tracers.update({id(t): len(tracers) + i for i, t in enumerate(entry.outs)})
        tangent = None if out_dot is None else trace.tracer_of(out_dot)
        if out_dot is not None and tangent is None:
            raise Unfit
        read = [a for entry in trace.tape for a in entry.operands if type(a) is list]
        self.steps = Steps(inputs, recorder, [out, *read])
        self.out = self.steps.place(out)
        size = self.steps.size  # tangents stand behind the values
        self.out_dot = None if tangent is None else size + tracers[id(tangent)]

        def place(a: Any) -> int:
            return self.steps.place(a) if type(a) is list else size + tracers[id(a)]

        self.entries = [
            (e.primitive, chosen([place(a) for a in e.operands]), e.params,
             [t.aval for t in e.outs], [])
            for e in trace.tape
        ]  # fmt: skip
        self.steps.sealed()

    def apply(self, trace: LinearTrace, primals: Sequence[Any], moving: list[LinearTracer]) -> Any:
        if self.op.bounds is not None:
            check_bounds(self.op, tuple(primals))
        for p in primals:
            if type(p) is not list:
                primals = [
                    p if type(p) is list else scalar_leaf(p, d)
                    for p, d in zip(primals, self.dtypes)
                ]
                break
        values = self.steps.take(primals)
        values += moving
        where, tape = local.where, trace.tape
        for primitive, operands, params, avals, turned in self.entries:
            if len(avals) == 1:
                outs = [LinearTracer(trace, avals[0])]
            else:
                outs = [LinearTracer(trace, a) for a in avals]
            tape.append(Entry(primitive, list(operands(values)), params, outs, where, turned))
            values += outs
        if self.out_dot is None:
            return values[self.out], None
        return values[self.out], tracer_node(values[self.out_dot])


_rules, _transposes = Table(), Table()


def _rule_template(
    primitive: Rules, primals: Sequence[Any], tangents: Sequence[Any], params: Params
) -> _RuleTemplate | None:
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
                given, dots = explicit(inferred(primitive, inputs, params), inputs, nodes)
                out, out_dot = rule(given, dots, **params)
                found = out._node, None if out_dot is None else out_dot._node
                present = [t for t in moving if t is not None]
                return _RuleTemplate(op, inputs, recorder, trace, present, found)
            except Unfit:
                return None


class _TransposeTemplate:
    __slots__ = ("steps", "outs")

    def __init__(self, inputs: list[Node], recorder: Any, found: Sequence[Array | None]) -> None:
        nodes = [None if ct is None else ct._read() for ct in found]
        self.steps = Steps(inputs, recorder, [n for n in nodes if n is not None])
        self.outs = [None if n is None else self.steps.place(n) for n in nodes]
        self.steps.sealed()


def _transposed(entry: Entry, node: Node) -> list[Node | None] | None:
    """The result of the transpose rule for the cotangent `node`, without calling it; None if that
    is impossible.
    """
    aval = known_by(node)
    if aval is None:
        return None
    nodes = [node]
    nodes += [a for a in entry.operands if type(a) is list]
    turned = entry.turned
    if turned and turned[0] is aval:
        made = turned[1]
    else:
        made = _find_transposed(entry, nodes)
        if turned is not None:
            turned[:] = aval, made
    if made is None:
        return None
    recorder = local.recorder
    begin(recorder)
    values = made.steps.take(nodes)
    return [None if i is None else values[i] for i in made.outs]


def _find_transposed(entry: Entry, nodes: list[Node]) -> _TransposeTemplate | None:
    if entry.primitive.kind not in KINDS or any(known_by(n) is None for n in nodes):
        return None
    key: list[Any] = [entry.primitive, *entry.params.items(), known_by(nodes[0])]
    for a in entry.operands:
        key += (known_by(a),) if type(a) is list else (None, a.aval)
    made = _transposes.get(tuple(key), _transposes)
    if made is _transposes:
        made = _transposes.put(tuple(key), _transpose_template(entry, nodes))
    return made


def _transpose_template(entry: Entry, nodes: list[Node]) -> _TransposeTemplate | None:
    with staging("a rule") as recorder:
        inputs = [recorder.input(aval_of_node(n)) for n in nodes]
        rest = iter(inputs[1:])
        operands = [
            new_array(next(rest)) if type(a) is list else Undefined(a.aval) for a in entry.operands
        ]
        try:
            rule: Any = entry.primitive.transpose
            found = rule(new_array(inputs[0]), *operands, **entry.params)
            return _TransposeTemplate(inputs, recorder, found)
        except Unfit:
            return None


class Linearized:
    """The tangent program: `inputs` and `outputs` are tracers; an output None is zero."""

    def __init__(
        self,
        tape: list[Entry],
        inputs: Sequence[LinearTracer | None],
        outputs: Sequence[LinearTracer | Node | None],
        out_avals: Sequence[Aval],
    ) -> None:
        self.inputs, self.outputs, self.out_avals = inputs, outputs, out_avals
        self.tape = _needed(tape, outputs)

    def residuals(self) -> list[Node]:
        """The values of other levels that the program reads, each once, without 0-d constants."""
        found: dict[int, Node] = {}
        for entry in self.tape:
            for a in entry.operands:
                if type(a) is list and not isinstance(a[VALUE], np.generic):
                    found.setdefault(id(a), a)
        for o in self.outputs:
            if type(o) is list:
                found.setdefault(id(o), o)
        return list(found.values())

    def forward(
        self, tangents: Sequence[Array | None], residuals: dict[int, Array] | None = None
    ) -> list[Array | None]:
        """The tangents of the results. `residuals`: replacements for nodes."""
        given = residuals or {}

        def known(node: Node) -> Array:
            found = given.get(id(node))
            return new_array(node) if found is None else found

        env: dict[LinearTracer, Array] = {}
        for tracer, t in zip(self.inputs, tangents, strict=True):
            if tracer is not None:
                env[tracer] = zeros(tracer.aval) if t is None else t
        for entry in self.tape:
            operands = [env[a] if isinstance(a, LinearTracer) else known(a) for a in entry.operands]
            out = entry.primitive(*operands, **entry.params)  # type: ignore[operator]
            env.update(zip(entry.outs, results(entry.primitive, out), strict=True))
        return [
            env[o] if isinstance(o, LinearTracer) else None if o is None else known(o)
            for o in self.outputs
        ]

    def backward(
        self, cts: Sequence[Array | None], onto: Sequence[Array | None] = ()
    ) -> list[Array | None]:
        """The cotangents of the inputs; None is zero. onto: arrays to which those of the inputs are
        added.
        """
        sums = Sums()
        for tracer, before in zip(self.inputs, onto):
            if before is not None:
                sums.add(tracer, before._read())
        for out, ct in zip(self.outputs, cts, strict=True):
            if isinstance(out, LinearTracer) and ct is not None:
                sums.add(out, ct._read())
        with inside_operation():
            for entry in reversed(self.tape):
                given = [sums.take(t) for t in entry.outs]
                for ct in given:
                    if ct is not None:
                        if config.debug_nans:  # that line, not the line of grad
                            local.where = entry.where
                        _transpose(entry, given, sums)
                        break
            found = [None if t is None else sums.take(t) for t in self.inputs]
        return [None if ct is None else new_array(ct) for ct in found]


def _needed(tape: list[Entry], outputs: Sequence[Any]) -> list[Entry]:
    """The entries that an output depends on."""
    wanted = {o for o in outputs if isinstance(o, LinearTracer)}
    kept = []
    for entry in reversed(tape):
        outs = entry.outs
        if outs[0] in wanted if len(outs) == 1 else not wanted.isdisjoint(outs):
            for a in entry.operands:
                if type(a) is LinearTracer:
                    wanted.add(a)
            kept.append(entry)
    kept.reverse()
    return kept


def _transpose(entry: Entry, given: list[Node | None], sums: Sums) -> None:
    primitive = entry.primitive
    rule = primitive.transpose
    if isinstance(rule, Missing):
        raise TypeError(f"{primitive.name} has no transpose, so no reverse mode: {rule.reason}")
    if not primitive.multiple_results:
        ct: Any = given[0]
        if primitive is shaping.slice and sums.add_part(entry.operands, ct, entry.params):
            return
        if primitive is indexing.take and sums.add_taken(entry.operands, ct, entry.params):
            return
        found = None
        if primitive is shaping.update_slice:
            found = written_parts(entry.operands, ct, entry.params)
        if found is None:
            found = _transposed(entry, ct)
        if found is not None:
            for atom, ct in zip(entry.operands, found):
                if ct is not None and type(atom) is LinearTracer:
                    sums.add(atom, ct)
            return
    operands = [
        Undefined(a.aval) if isinstance(a, LinearTracer) else new_array(a) for a in entry.operands
    ]
    if primitive.multiple_results:
        whole: Any = [
            zeros(t.aval) if ct is None else new_array(ct)
            for ct, t in zip(given, entry.outs, strict=True)
        ]
    else:
        whole = new_array(given[0])  # type: ignore[arg-type]
    for atom, ct in zip(entry.operands, rule(whole, *operands, **entry.params), strict=True):
        if ct is not None and isinstance(atom, LinearTracer):
            sums.add(atom, ct._read())


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
    program = Linearized(trace.tape, inputs, ends, [aval_of_node(o) for o in outs])
    return outs, program, like
