"""Small programs as sequences: lists of operations, which one call of C runs by NumPy.

A compiled program takes longer to start than a few dozen operations on small arrays take, and the
interpreter of jaxprs takes longer for each of them than NumPy does.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from lazynp._cost import CALL, cost
from lazynp._fronts import BUILT, fastpath
from lazynp._jaxpr import Atom, Jaxpr, Literal
from lazynp._node import Op, op_of, projection
from lazynp._quiet import quiet_result
from lazynp._signals import let_through

Wiring = Sequence[tuple[Op, list[int]]]  # operations, each with the places of its operands

_MOST = 200  # operations
_LONGEST = 100.0  # microseconds: a sequence that takes longer gains nothing
_STEP = 0.4  # microseconds of an operation, in place of the interpreter's step and NumPy's overhead
_NOT_BY_NUMPY = frozenset({"call", "host", "once"})  # kinds of primitives


def last_reads(wiring: Wiring, first: int, outs: set[int]) -> dict[int, int]:
    """By place, the operation after which nothing reads it; not of results. first: the place of the
    first operation's result.
    """
    last: dict[int, int] = {}
    for i, (_, places) in enumerate(wiring):
        last[first + i] = i
        last.update(dict.fromkeys(places, i))
    return {place: i for place, i in last.items() if place not in outs}


def steps_of(wiring: Wiring, last: dict[int, int]) -> tuple[Any, ...]:
    """For C: each operation, the places of its operands, the places that nothing reads after it,
    and a bit for each of the first operands that is one of these."""
    dead: list[list[int]] = [[] for _ in wiring]
    for place, i in last.items():
        dead[i].append(place)
    made = []
    for (op, places), over in zip(wiring, dead, strict=True):
        ends = sum([1 << k for k, p in enumerate(places[:2]) if p in over and places.count(p) == 1])
        made.append((op, tuple(places), tuple(over), ends))
    return tuple(made)


class _Unfit(Exception):
    pass


class OpSequence:
    """The operations of a jaxpr, with those of the functions that it calls. Its values are the
    operands, the constants, and then the results of the operations.
    """

    __slots__ = ("constants", "steps", "outs", "cost")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.cost = 0.0  # microseconds, by estimate
        self.constants: list[Any] = []
        wiring: list[tuple[Op, list[Any]]] = []
        inputs = [("operand", i) for i in range(len(jaxpr.inputs))]
        outs = self._add(jaxpr, inputs, wiring)
        first = {"operand": 0, "constant": len(inputs)}
        first["step"] = len(inputs) + len(self.constants)
        placed = [(op, [first[kind] + i for kind, i in places]) for op, places in wiring]
        self.outs = [first[kind] + i for kind, i in outs]
        self.steps = steps_of(placed, last_reads(placed, first["step"], set(self.outs)))

    def _add(self, jaxpr: Jaxpr, inputs: Sequence[Any], wiring: list[Any]) -> list[Any]:
        """The places of the results."""
        known: dict[Atom, Any] = dict(zip(jaxpr.inputs, inputs, strict=True))

        def place(atom: Atom) -> Any:
            if atom not in known:
                assert isinstance(atom, Literal)
                self.constants.append(atom.value)
                known[atom] = "constant", len(self.constants) - 1
            return known[atom]

        for eqn in jaxpr.eqns:
            operands = list(map(place, eqn.inputs))
            if eqn.sizes:
                raise _Unfit
            if eqn.primitive.name == "jit":
                found = self._add(eqn.params["jaxpr"], operands, wiring)
            else:
                op = op_of(eqn.primitive, eqn.params, tuple([a.aval for a in eqn.inputs]))
                found = [self._step(op, operands, wiring)]
                if eqn.primitive.multiple_results:
                    results = [projection(op.aval, i) for i in range(len(op.aval))]
                    found = [self._step(result, found, wiring) for result in results]
            known.update(zip(eqn.outputs, found, strict=True))
        return list(map(place, jaxpr.outputs))

    def _step(self, op: Op, operands: list[Any], wiring: list[Any]) -> Any:
        if op.host or op.sized or op.primitive.kind in _NOT_BY_NUMPY:
            raise _Unfit
        outs = op.aval if type(op.aval) is tuple else (op.aval,)
        self.cost += cost(op.primitive, op.params, op.explicit, outs)[0] - CALL + _STEP
        if len(wiring) >= _MOST or self.cost > _LONGEST:
            raise _Unfit
        wiring.append((op, operands))
        return "step", len(wiring) - 1

    def run(self, quiet: Any, operands: Sequence[Any]) -> list[Any] | None:
        """The results, each in memory of its own; None: something else must run it. quiet: see
        `quiet_context`. operands: values, or nodes that have one.
        """
        try:
            given = [*operands, *self.constants]
            values = quiet_result(quiet, fastpath.run_steps, self.steps, given)
        except Exception as error:  # it is raised where the value is asked for
            let_through(error)
            return None
        return None if values is None else [_own(values, place) for place in self.outs]


_OWN = 4  # references to a result that nobody else has: of the list, and within `_own`


def _own(values: list[Any], place: int) -> Any:
    value = values[place]
    if type(value) is not np.ndarray:
        return value
    if not value.ndim:
        return value[()]
    flags = value.flags
    whole = flags.owndata and flags.c_contiguous and flags.writeable
    return value if whole and getrefcount(value) < _OWN else np.array(value)


def sequence_of(jaxpr: Jaxpr) -> OpSequence | None:
    """None if it is not small, or does what NumPy cannot do for it."""
    if not BUILT:
        return None
    try:
        return OpSequence(jaxpr)
    except _Unfit:
        return None
