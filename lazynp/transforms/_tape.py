"""The tape: what `linearize` writes down of the tangents' program.

Most of it are *applied* templates, each one tuple: the template of a rule, its tangent, the code
and the offset of the user's operation, the tangents that it moves, and the nodes that it reads.
They become entries only where somebody looks at single entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._avals import Aval
from lazynp._jaxpr import Rules
from lazynp._node import Node, Op, Tracer, aval_of_node, tracer_node
from lazynp._recorder import StagingRecorder, local
from lazynp._trace import check_bounds
from lazynp.transforms._templates import MOST_VALUES, Steps, Unfit, chosen, scalar_leaf

Params = dict[str, Any]
FIXED = 4  # items of an applied template before its operands


class LinearTracer(Tracer):
    """A tangent: known only by its type and by the entry that makes it."""

    __slots__ = ("index",)

    def __init__(self, trace: Any, aval: Aval) -> None:
        """trace: a LinearTrace, which numbers its tracers."""
        self.trace, self.aval = trace, aval
        self.index = trace.count
        trace.count += 1

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


class RuleTemplate:
    """A recorded jvp rule: operations on primals, and entries of the tape.

    Places of entries count constants, then what they read of the primals' level, then the tangents
    of the operands, then what entries make.
    """

    __slots__ = (
        "op", "dtypes", "steps", "out", "read", "starts", "constants", "entries", "passes", "made",
        "aval", "compact", "moving", "outs",
    )  # fmt: skip

    def __init__(
        self, op: Op, inputs: list[Node], recorder: StagingRecorder, tape: Sequence[Entry],
        moving: Sequence[LinearTracer], outs: Sequence[tuple[Node, LinearTracer | None]],
    ) -> None:  # fmt: skip
        """outs: the result and its tangent; of each result, if there are several."""
        out, tangent = outs[0]
        self.op, self.moving = op, len(moving)
        self.dtypes = [a.dtype for a in op.explicit]
        nodes = {id(a): a for entry in tape for a in entry.operands if type(a) is list}
        self.steps = Steps(inputs, recorder, [*(o for o, _ in outs), *nodes.values()])
        self.out = self.steps.place(out)
        fixed = len(self.steps.constants)
        constants = [n for n in nodes.values() if self.steps.place(n) < fixed]
        read = [n for n in nodes.values() if self.steps.place(n) >= fixed]
        self.constants = constants
        places = [self.steps.place(n) for n in read]
        self.read = chosen(places)
        # which of them may be start indices, on which the sums of cotangents depend
        self.starts = [i for i, n in enumerate(read) if is_index(aval_of_node(n))]
        made = [t for entry in tape for t in entry.outs]
        numbers = {id(a): i for i, a in enumerate([*constants, *read, *moving, *made])}
        self.entries = [
            (e.primitive, chosen([numbers[id(a)] for a in e.operands]), e.params,
             [t.aval for t in e.outs], [])
            for e in tape
        ]  # fmt: skip
        # the result's tangent: that of an operand, or one that an entry makes, or none
        self.passes = next((i for i, t in enumerate(moving) if t is tangent), None)
        self.made = next((i for i, t in enumerate(made) if t is tangent), None)
        self.aval = None if tangent is None else tangent.aval
        if tangent is not None and self.passes is None and self.made is None:
            raise Unfit
        self.outs = None
        if op.primitive.multiple_results:  # the place of each, and of its tangent
            self.outs = [
                (self.steps.place(o), None if t is None else numbers[id(t)]) for o, t in outs
            ]
        self.compact = self._for_c(places)
        self.steps.sealed()

    def _for_c(self, read: Sequence[int]) -> tuple[Any, ...] | None:
        """What C needs to apply it; None if it shall not. C takes only Python scalars that
        `scalar_leaf` knows, so their bounds have been checked.
        """
        if self.steps.size > MOST_VALUES or not self.steps.single:
            return None
        passes = -1 if self.passes is None else self.passes
        made = self.aval if self.made is not None else None
        constants, wiring = tuple(self.steps.constants), tuple(self.steps.wiring)
        return constants, tuple(self.dtypes), wiring, self.out, tuple(read), passes, made

    def apply(self, trace: Any, primals: Sequence[Any], moving: list[LinearTracer]) -> Any:
        """The node of the result, and that of its tangent; of several results, a list of these."""
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
        if self.outs is not None:
            return self._several(trace, values, moving)
        if self.made is None or self.aval is None:
            if self.passes is None:
                return values[self.out], None
            return values[self.out], tracer_node(moving[self.passes])
        tangent = LinearTracer(trace, self.aval)
        code, offset = local.where  # type: ignore[misc]
        trace.tape.append((self, tangent, code, offset, *moving, *self.read(values)))
        return values[self.out], tracer_node(tangent)

    def _several(self, trace: Any, values: list[Any], moving: Sequence[LinearTracer]) -> Any:
        """The results and their tangents; the tape gets single entries."""
        known: list[Any] = [*self.constants, *self.read(values), *moving]
        for primitive, operands, params, avals, turned in self.entries:
            outs = [LinearTracer(trace, aval) for aval in avals]
            given = list(operands(known))
            trace.tape.append(Entry(primitive, given, params, outs, local.where, turned))
            known += outs
        assert self.outs is not None
        return [
            (values[place], None if made is None else tracer_node(known[made]))
            for place, made in self.outs
        ]

    def entries_of(
        self, tangent: LinearTracer, code: Any, offset: int, *operands: Any
    ) -> list[Entry]:
        """The entries that `apply` stands for."""
        moving, read, where = operands[: self.moving], operands[self.moving :], (code, offset)
        values: list[Any] = [*self.constants, *read, *moving]
        first = len(values)
        made: list[Entry] = []
        for primitive, places, params, avals, turned in self.entries:
            outs = []
            for aval in avals:
                place = len(values) - first
                outs.append(tangent if place == self.made else LinearTracer(tangent.trace, aval))
                values.append(outs[-1])
            made.append(Entry(primitive, list(places(values)), params, outs, where, turned))
        return made


def is_index(aval: Aval) -> bool:
    return not aval.shape and aval.dtype.kind in "iu"


def expanded(tape: Sequence[Any]) -> list[Entry]:
    """The tape as entries."""
    made: list[Entry] = []
    for item in tape:
        if type(item) is tuple:
            made += item[0].entries_of(*item[1:])
        else:
            made.append(item)
    return made


def needed(tape: Sequence[Entry], outputs: Sequence[Any]) -> list[Entry]:
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
