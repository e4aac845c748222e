"""Templates of `jvp` rules, with their tangents: what they record is replayed, as in `_templates`.

They are for forward mode alone. Where tangents are written down, `_linearize` has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._array import Array
from lazynp._avals import TracedAval, aval_of
from lazynp._jaxpr import Rules
from lazynp._node import AVAL, OP, Node, Op
from lazynp._primitive import NOT_DIFFERENTIABLE
from lazynp._recorder import inside_operation
from lazynp._trace import check_bounds, record, staging
from lazynp.transforms._stack import Params, coerced, inferred
from lazynp.transforms._templates import MOST_VALUES, Steps, Table, Unfit, known_by, scalar_leaf


class JVPTemplate:
    """What a rule recorded: operations on the primals and the tangents that there are."""

    __slots__ = ("op", "dtypes", "steps", "outs", "compact")

    def __init__(
        self, op: Op, inputs: list[Node], recorder: Any, outs: Sequence[tuple[Node, Node | None]]
    ) -> None:
        self.op, self.dtypes = op, [a.dtype for a in op.explicit]
        self.steps = Steps(inputs, recorder, [n for pair in outs for n in pair if n is not None])
        place = self.steps.place
        self.outs = [(place(o), None if t is None else place(t)) for o, t in outs]
        self.compact = self._for_c()
        self.steps.sealed()

    def _for_c(self) -> tuple[Any, ...] | None:
        """What C needs to apply it; None if it shall not."""
        if self.steps.size > MOST_VALUES or not self.steps.single or len(self.outs) > 1:
            return None
        ((out, tangent),) = self.outs
        constants, wiring = tuple(self.steps.constants), tuple(self.steps.wiring)
        return constants, tuple(self.dtypes), wiring, out, -1 if tangent is None else tangent

    def apply(self, primals: Sequence[Any], moving: Sequence[Node]) -> list[tuple[Any, Any]]:
        """The node of each result, and that of its tangent."""
        if self.op.bounds is not None:
            check_bounds(self.op, tuple(primals))
        given = [
            p if type(p) is list else scalar_leaf(p, d)
            for p, d in zip(primals, self.dtypes, strict=True)
        ]
        values = self.steps.take([*given, *moving])
        return [(values[o], None if t is None else values[t]) for o, t in self.outs]


templates = Table()


def is_flat(primitive: Rules) -> bool:
    """Whether the result has no tangent, as that of a comparison: all there is to replay is the
    operation.
    """
    return primitive.jvp is NOT_DIFFERENTIABLE and not primitive.multiple_results


def replayed(
    primitive: Rules, primals: Sequence[Any], tangents: Sequence[Node | None], params: Params
) -> list[tuple[Any, Any]] | None:
    """The results with their tangents, without calling the rule; None if that is impossible."""
    key: list[Any] = [primitive, *params.items()] if params else [primitive]
    moving: list[Node] = []
    for p, t in zip(primals, tangents, strict=True):
        if type(p) is not list:
            key.append(type(p))
            continue
        op = p[OP]
        aval = p[AVAL] if op is None else op.aval  # `known_by`, inlined
        if type(aval) is TracedAval or not aval.dtype.isnative:
            return None
        key.append(aval)
        if t is not None:
            op = t[OP]
            aval = t[AVAL] if op is None else op.aval
            if type(aval) is TracedAval or not aval.dtype.isnative:
                return None
            key.append(True if aval is key[-1] else (aval,))
            moving.append(t)
    kinds = tuple(key)
    made = templates.get(kinds, templates)
    if made is templates:
        made = templates.put(kinds, _template(primitive, primals, tangents, params))
    return None if made is None else made.apply(primals, moving)


def _template(
    primitive: Rules, primals: Sequence[Any], tangents: Sequence[Node | None], params: Params
) -> JVPTemplate | None:
    op = inferred(primitive, primals, params)
    if op.host:
        return None
    rule: Any = primitive.jvp
    with staging("a rule") as recorder:
        inputs = [
            recorder.input(known_by(p) if type(p) is list else aval_of((), a.dtype, a.weak))
            for p, a in zip(primals, op.explicit, strict=True)
        ]
        nodes = [None if t is None else recorder.input(known_by(t)) for t in tangents]
        present = [n for n in nodes if n is not None]
        with inside_operation():
            try:
                if is_flat(primitive):
                    found = [(record(primitive, tuple(inputs), params), None)]
                    return JVPTemplate(op, [*inputs, *present], recorder, found)
                given, dots = explicit(inferred(primitive, inputs, params), inputs, nodes)
                outs, outs_dot = rule(given, dots, **params)
                if not primitive.multiple_results:
                    outs, outs_dot = (outs,), (outs_dot,)
                found = [
                    (o._read(), None if t is None else t._read())
                    for o, t in zip(outs, outs_dot, strict=True)
                ]
                return JVPTemplate(op, [*inputs, *present], recorder, found)
            except Unfit:
                return None


def explicit(
    op: Op, primals: Sequence[Any], tangents: Sequence[Node | None]
) -> tuple[tuple[Array, ...], tuple[Array | None, ...]]:
    """Operands and tangents in the form that the rules take.

    Elementwise operands without a tangent need no broadcasting: the rules record that implicitly.
    """
    everything = op.primitive.kind != "elementwise"
    given, moving = [], []
    for primal, tangent, aval in zip(primals, tangents, op.explicit, strict=True):
        given.append(coerced(primal, aval, shape=everything or tangent is not None))
        differentiable = tangent is not None and aval.dtype.kind in "fc"
        moving.append(coerced(tangent, aval) if differentiable else None)
    return tuple(given), tuple(moving)
