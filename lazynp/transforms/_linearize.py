"""Linearization: the primals are computed below while the tangents' program is written down.

The tangents of a `JVPTrace` are tracers of a `LinearTrace`, right below it. Operations on
primals never touch it; operations on tangents become entries of a tape, whose other operands
(residuals) are values of the levels below. The tape is run forwards by `linearize` and
backwards, each entry by its primitive's `transpose` rule, by `vjp` and `grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._avals import Aval
from lazynp._config import config
from lazynp._jaxpr import Rules
from lazynp._node import OP, VALUE, Node, Trace, Tracer, aval_of_node, tracer_node
from lazynp._primitive import Missing, Undefined
from lazynp._trace import inside_operation, local
from lazynp.primitives import elementwise
from lazynp.transforms._jvp import jvp_nodes
from lazynp.transforms._stack import (
    Params,
    coerced,
    inferred,
    results,
    running,
    zeros,
)


class LinearTracer(Tracer):
    """A tangent: known only by its type, and by the entry that makes it."""

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

    __slots__ = ("primitive", "operands", "params", "outs", "where")

    def __init__(
        self,
        primitive: Rules,
        operands: list[Any],
        params: Params,
        outs: list[LinearTracer],
    ) -> None:
        self.primitive, self.operands, self.params, self.outs = primitive, operands, params, outs
        self.where = local.where  # the user's operation


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
        self.tape.append(Entry(primitive, atoms, params, outs))
        nodes = tuple([tracer_node(t) for t in outs])
        return nodes if primitive.multiple_results else nodes[0]


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
        """The values of other levels that the program reads, each once; no 0-d constants."""
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
        """The tangents of the results. `residuals`: what to take for which node."""
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

    def backward(self, cts: Sequence[Array | None]) -> list[Array | None]:
        """The cotangents of the inputs; None is zero."""
        sums: dict[LinearTracer, Array] = {}
        for out, ct in zip(self.outputs, cts, strict=True):
            if isinstance(out, LinearTracer) and ct is not None:
                _accumulate(sums, out, ct)
        with inside_operation():
            for entry in reversed(self.tape):
                given = [sums.pop(t, None) for t in entry.outs]
                for ct in given:
                    if ct is not None:
                        if config.debug_nans:  # that line, not that of grad
                            local.where = entry.where
                        _transpose(entry, given, sums)
                        break
        return [None if t is None else sums.get(t) for t in self.inputs]


def _needed(tape: list[Entry], outputs: Sequence[Any]) -> list[Entry]:
    """The entries that an output depends on."""
    wanted = {o for o in outputs if isinstance(o, LinearTracer)}
    kept = []
    for entry in reversed(tape):
        if not wanted.isdisjoint(entry.outs):
            wanted.update(a for a in entry.operands if isinstance(a, LinearTracer))
            kept.append(entry)
    kept.reverse()
    return kept


def _accumulate(sums: dict[LinearTracer, Array], tracer: LinearTracer, ct: Array) -> None:
    before = sums.get(tracer)
    sums[tracer] = ct if before is None else elementwise.add(before, ct)


def _transpose(entry: Entry, given: list[Array | None], sums: dict[LinearTracer, Array]) -> None:
    primitive = entry.primitive
    rule = primitive.transpose
    if isinstance(rule, Missing):
        raise TypeError(f"{primitive.name} has no transpose, so no reverse mode: {rule.reason}")
    operands = [
        Undefined(a.aval) if isinstance(a, LinearTracer) else new_array(a) for a in entry.operands
    ]
    if primitive.multiple_results:
        whole: Any = [
            zeros(t.aval) if ct is None else ct for ct, t in zip(given, entry.outs, strict=True)
        ]
    else:
        whole = given[0]
    for atom, ct in zip(entry.operands, rule(whole, *operands, **entry.params), strict=True):
        if ct is not None and isinstance(atom, LinearTracer):
            _accumulate(sums, atom, ct)


def _forget(handle: Array, before: Node) -> None:
    """A handle that holds a tangent: only a custom rule can have stored one."""
    handle._node = before


def linearize_nodes(
    function: Callable[[Sequence[Array]], list[Any]],
    arguments: Sequence[Any],
    primals: Sequence[Node],
    moving: Sequence[bool],
    what: str,
) -> tuple[list[Node], Linearized, list[Any]]:
    """Results as nodes, the tangent program, and what the function returned for the results."""
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
