"""The tangent program, and reverse mode: the tape run backwards by the rules `transpose`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, begin, new_array
from lazynp._avals import Aval
from lazynp._config import config
from lazynp._node import VALUE, Node, aval_of_node
from lazynp._primitive import Missing, Undefined
from lazynp._recorder import inside_operation, local
from lazynp._trace import staging
from lazynp.primitives import contraction, indexing, shaping
from lazynp.transforms import _kept
from lazynp.transforms._stack import results, zeros
from lazynp.transforms._sums import Sums, written_parts
from lazynp.transforms._tape import Entry, LinearTracer, expanded, needed
from lazynp.transforms._templates import KINDS, Steps, Table, Unfit, known_by

_transposes = Table()
_FORWARDS: dict[Any, Any] = contraction.FORWARDS


class Linearized:
    """The tangent program: `inputs` and `outputs` are tracers; an output None is zero."""

    def __init__(
        self,
        tape: list[Any],
        inputs: Sequence[LinearTracer | None],
        outputs: Sequence[LinearTracer | Node | None],
        out_avals: Sequence[Aval],
    ) -> None:
        self.inputs, self.outputs, self.out_avals = inputs, outputs, out_avals
        self.written = tape  # as it was written: see `_tape`
        self._entries: list[Entry] | None = None

    @property
    def tape(self) -> list[Entry]:
        """The entries that the outputs depend on."""
        if self._entries is None:
            self._entries = needed(expanded(self.written), self.outputs)
        return self._entries

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
            primitive: Any = _FORWARDS.get(entry.primitive, entry.primitive)
            out = primitive(*operands, **entry.params)
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
        if not onto:
            found = _kept.backward(self, cts, run_backward)
            if found is not None:
                return found
        sums = Sums()
        for tracer, before in zip(self.inputs, onto):
            if before is not None:
                sums.add(tracer, before._read())
        given = [None if ct is None else ct._read() for ct in cts]
        found = run_backward(self.tape, self.inputs, self.outputs, given, sums)
        return [None if ct is None else new_array(ct) for ct in found]


def run_backward(
    tape: Sequence[Entry], inputs: Sequence[Any], outputs: Sequence[Any],
    cts: Sequence[Node | None], sums: Sums,
) -> list[Node | None]:  # fmt: skip
    """The cotangents of the inputs, added to what `sums` holds; None is zero."""
    for out, ct in zip(outputs, cts, strict=True):
        if isinstance(out, LinearTracer) and ct is not None:
            sums.add(out, ct)
    with inside_operation():
        for entry in reversed(tape):
            given = [sums.take(t) for t in entry.outs]
            for ct in given:
                if ct is not None:
                    if config.debug_nans:  # that line, not the line of grad
                        local.where = entry.where
                    _transpose(entry, given, sums)
                    break
        return [None if t is None else sums.take(t) for t in inputs]


def _transpose(entry: Entry, given: list[Node | None], sums: Sums) -> None:
    primitive: Any = entry.primitive
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
    into = range(0) if primitive.sums is None else primitive.sums(entry.params)
    operands = [
        Undefined(a.aval, _sum_of(a, sums) if k in into else None)
        if isinstance(a, LinearTracer)
        else new_array(a)
        for k, a in enumerate(entry.operands)
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


def _sum_of(tracer: LinearTracer, sums: Sums) -> Array | None:
    """The sum so far, which the rule returns with what it adds."""
    held = sums.take(tracer)
    return None if held is None else new_array(held)


class _TransposeTemplate:
    __slots__ = ("steps", "outs")

    def __init__(self, inputs: list[Node], recorder: Any, found: Sequence[Array | None]) -> None:
        nodes = [None if ct is None else ct._read() for ct in found]
        self.steps = Steps(inputs, recorder, [n for n in nodes if n is not None])
        if not self.steps.single:
            raise Unfit
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
