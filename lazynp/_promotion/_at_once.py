"""Small programs of derivatives, run by NumPy: one call of C for all their operations.

A compiled program takes longer to start than a few dozen operations on small arrays take. So the
program of a small derivative is not compiled: it is a list of steps, like a kept backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from lazynp._array import NDArray, new_array, new_scalar
from lazynp._avals import Aval, aval_of
from lazynp._cost import CALL, DISPATCH, cost, work
from lazynp._fronts import BUILT, fastpath
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Literal
from lazynp._node import VALUE, Op, is_tracer, op_of, projection
from lazynp._quiet import quiet_result
from lazynp._recorder import local
from lazynp._sequences import last_reads, steps_of
from lazynp._signals import let_through
from lazynp.primitives.shaping import concatenate, reshape, slice as slicing
from lazynp.transforms._checks import discharged, has_checks
from lazynp.transforms._traced import Traced

_MOST = 4000  # steps
_STARTING = 150.0  # microseconds: to give a program its operands, and to take its results
_SCALAR = 0.1  # microseconds of a step on numbers
_STEP = 0.4  # of any other, in place of the interpreter's step and NumPy's overhead
_SMALL = 1 << 12  # bytes of a result that is kept, where it is the same each time
_START = aval_of((), np.dtype(np.int64))

Place = Any  # (kind, number); or ("stack", places of rows)


def steps_for(traced: Traced) -> Steps | None:
    """The program of a trace as steps; None if they would not be faster, or cannot be."""
    plain = not (traced.captured or traced.written or traced.changes or traced.starts)
    if not BUILT or not plain or traced.sized is not None:
        return None
    if any(kind != ("new", kind[1], None, None) for kind in traced.outs):
        return None
    if any(n[VALUE] is None or is_tracer(n) for n in traced.nodes):
        return None
    jaxpr, checked = traced.jaxpr, has_checks(traced.jaxpr)
    if checked:
        jaxpr, _ = discharged(jaxpr, 0)
    wiring = _Wiring(jaxpr)
    if not wiring.fits or wiring.cost > _STARTING + DISPATCH + work(jaxpr):
        return None
    kinds = [kind[1] is NDArray for kind in traced.outs]
    return Steps(wiring, traced.nodes, kinds, jaxpr, checked)


class _Unfit(Exception):
    pass


class _Wiring:
    """The operations of a jaxpr, with those of the functions that it calls and of the rounds of its
    loops; for each operand its place among the constants, inputs and results of operations.
    """

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.constants: list[Any] = []
        self.steps: list[tuple[Op, list[Place]]] = []
        self.cost = 0.0  # microseconds, by estimate
        self.fits = True
        self._whole: dict[int, Place] = {}  # stacks that are one array, by id
        self._kept: list[Place] = []  # so that no id comes twice
        inputs = [("input", i) for i in range(len(jaxpr.inputs))]
        try:
            self.outs = list(map(self._as_one, self._add(jaxpr, inputs)))
        except _Unfit:
            self.fits = False

    def _add(self, jaxpr: Jaxpr, inputs: Sequence[Place]) -> list[Place]:
        known: dict[Atom, Place] = dict(zip(jaxpr.inputs, inputs, strict=True))

        def place(atom: Atom) -> Place:
            if atom not in known:
                assert isinstance(atom, Literal)
                known[atom] = self._constant(atom.value)
            return known[atom]

        for eqn in jaxpr.eqns:
            operands = list(map(place, eqn.inputs))
            if eqn.sizes:
                raise _Unfit
            if eqn.primitive.name == "jit":
                found = self._add(eqn.params["jaxpr"], operands)
            elif eqn.primitive.name == "scan":
                found = self._rounds(eqn, operands)
            elif eqn.primitive.name == "cond":
                found = self._branch(eqn, operands)
            else:
                found = self._operation(eqn, list(map(self._as_one, operands)))
            known.update(zip(eqn.outputs, found, strict=True))
        return list(map(place, jaxpr.outputs))

    def _operation(self, eqn: Eqn, operands: list[Place]) -> list[Place]:
        op = op_of(eqn.primitive, eqn.params, tuple([a.aval for a in eqn.inputs]))
        if op.host or op.sized or op.primitive.kind in ("call", "host"):
            raise _Unfit
        made = self._step(op, operands)
        if not eqn.primitive.multiple_results:
            return [made]
        return [self._step(projection(op.aval, i), [made]) for i in range(len(op.aval))]

    def _branch(self, eqn: Eqn, operands: list[Place]) -> list[Place]:
        """The branch that is taken each time, as where an inner loop counts to an outer counter."""
        kind, place = operands[0][:2]
        if kind != "constant":
            raise _Unfit
        branches = eqn.params["branches"]
        chosen = min(max(int(self.constants[place]), 0), len(branches) - 1)
        return self._add(branches[chosen], operands[1:])

    def _rounds(self, eqn: Eqn, operands: list[Place]) -> list[Place]:
        """The rounds of a loop, one after the other. What they stack stays apart: mostly it is what
        the rounds of another loop read.
        """
        jaxpr, length, consts = eqn.params["jaxpr"], eqn.params["length"], eqn.params["consts"]
        carry = eqn.params["carry"]
        fixed, state, xs = operands[:consts], operands[consts:], operands[consts + carry :]
        state = state[:carry]
        avals = [v.aval for v in eqn.inputs[consts + carry :]]
        if len(self.steps) + length * len(jaxpr.eqns) > _MOST:
            raise _Unfit
        rows: list[Any] = [None] * length
        for i in reversed(range(length)) if eqn.params["reverse"] else range(length):
            given = [self._row(x, aval, i) for x, aval in zip(xs, avals, strict=True)]
            outs = self._add(jaxpr, [*fixed, *state, *given])
            state, rows[i] = outs[:carry], outs[carry:]
        made = [v.aval for v in eqn.outputs[carry:]]
        stacks = [("stack", [r[k] for r in rows], aval) for k, aval in enumerate(made)]
        return [*state, *stacks]

    def _row(self, x: Place, aval: Aval, i: int) -> Place:
        if x[0] == "stack":
            return x[1][i]
        shape = aval.shape[1:]
        params = {
            "axes": (0,), "sizes": (1,), "strides": (1,), "shape": shape,
        }  # fmt: skip
        return self._step(op_of(slicing, params, (aval, _START)), [x, self._constant(np.int64(i))])

    def _as_one(self, x: Place) -> Place:
        """A stack as an array."""
        if x[0] != "stack":
            return x
        found = self._whole.get(id(x))
        if found is None:
            _, rows, aval = x
            row = aval_of(aval.shape[1:], aval.dtype)
            thin = aval_of((1, *row.shape), aval.dtype)
            op = op_of(reshape, {"shape": thin.shape}, (row,))
            parts = [self._step(op, [self._as_one(r)]) for r in rows]
            op = op_of(concatenate, {"axis": 0}, (thin,) * len(parts))
            found = self._whole[id(x)] = self._step(op, parts)
            self._kept.append(x)
        return found

    def _constant(self, value: Any) -> Place:
        self.constants.append(value)
        return "constant", len(self.constants) - 1

    def _step(self, op: Op, operands: list[Place]) -> Place:
        if all([kind == "constant" for kind, *_ in operands]) and _is_small(op):
            value = op.reference(*[self.constants[i] for _, i in operands])
            return self._constant(np.array(value) if type(value) is np.ndarray else value)
        if len(self.steps) >= _MOST:
            raise _Unfit
        few = op.scalar and op.primitive.kind == "elementwise"
        outs = op.aval if type(op.aval) is tuple else (op.aval,)
        by_numpy = cost(op.primitive, op.params, op.explicit, outs)[0] - CALL + _STEP
        self.cost += _SCALAR if few else by_numpy
        self.steps.append((op, operands))
        return "step", len(self.steps) - 1


def _is_small(op: Op) -> bool:
    return type(op.aval) is Aval and op.aval.nbytes <= _SMALL


class NotNow(Exception):
    """Python must make this call of a program of steps."""


class Steps:
    """A program that NumPy runs. Its operands are those of the jaxpr."""

    __slots__ = ("_constants", "_constants_last", "_steps", "_outs", "_finding")

    def __init__(
        self, wiring: _Wiring, constants: Sequence[Any], kinds: Sequence[bool], jaxpr: Jaxpr,
        checked: bool,
    ) -> None:  # fmt: skip
        """constants: the last inputs. kinds: of each result, whether it is an Array even if 0-d.
        checked: whether the last result is the finding of checks.
        """
        before = len(wiring.constants)
        first = {"constant": 0, "input": before, "step": before + len(jaxpr.inputs)}
        steps = [(op, [first[kind] + i for kind, i in places]) for op, places in wiring.steps]
        outs = [first[kind] + i for kind, i in wiring.outs]
        last = last_reads(steps, first["step"], set(outs))
        self._steps = steps_of(steps, last)
        self._constants, self._constants_last = wiring.constants, list(constants)
        self._finding = outs.pop() if checked else None
        self._outs = [
            (place, atom.aval, is_array or atom.aval.ndim > 0)
            for place, atom, is_array in zip(outs, jaxpr.outputs, kinds, strict=False)
        ]

    def run(self, operands: Sequence[Any]) -> list[Any] | None:
        """The results, as new arrays; None: something else must run it. operands: values, or nodes
        that have one.
        """
        given = [*self._constants, *operands, *self._constants_last]
        try:
            values = quiet_result(local.recorder.quiet, fastpath.run_steps, self._steps, given)
        except Exception as error:  # Python raises it where it belongs
            let_through(error)
            return None
        if values is None or self._finding is not None and values[self._finding][0]:
            return None
        made = []
        for place, aval, is_array in self._outs:
            value = values[place]
            if not is_array:
                number = value[()] if type(value) is np.ndarray else value
                made.append(new_scalar([None, None, number, None, aval]))
                continue
            if type(value) is not np.ndarray or getrefcount(value) > _OWN or not _is_whole(value):
                value = np.array(value)  # a step may give a view, or an operand
            made.append(new_array([None, None, value, None, aval]))
        return made


_OWN = 3  # references to a result that nobody else has: of the list, the name and the argument


def _is_whole(value: Any) -> bool:
    flags = value.flags
    return flags.owndata and flags.c_contiguous and flags.writeable
