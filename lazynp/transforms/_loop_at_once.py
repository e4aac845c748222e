"""A loop whose body decides sizes, as one program: in its rounds, all arrays are as long as they
may become, and what lies behind a size has no meaning (`_padded`).

The axes around the loop are padded to a power of two, so one program serves many sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lazynp import _cost
from lazynp._allowance import Allowance, most
from lazynp._array import Array, new_array
from lazynp._avals import aval_of
from lazynp._config import config
from lazynp._dimensions import LONGEST
from lazynp._extents import Numbers, mapped
from lazynp._facts import hold
from lazynp._flush import host_value
from lazynp._jaxpr import Eqn, Jaxpr, Literal
from lazynp._node import leaf
from lazynp._sizes import Atom, Dim, Size, bounds
from lazynp.primitives import elementwise, shaping
from lazynp.primitives.checks import Failure
from lazynp.transforms._call import delivered, jit_call
from lazynp.transforms._checks import has_checks
from lazynp.transforms._padded import Padding, Refused
from lazynp.transforms._stage import literal, run_jaxpr, stage_closed
from lazynp.transforms._widened import cut, widened

loops: list[Any] = []  # `while_call`, which its module appends
_INT = np.dtype(np.int64)
_ROUND = 60.0  # microseconds that a round takes by itself, besides its operations
_CALL = 150.0  # of padding operands, calling the program, and taking parts of results


class _Rounds(Padding):
    """A body at a bucket. Of sizes that it decides, it is known how large they may become."""

    def __init__(self, buckets: dict[Atom, int], sizes: dict[Atom, Array]) -> None:
        super().__init__(buckets, sizes)
        self.needed: list[Dim] = []  # sizes that must not be negative

    def fits(self, size: Dim) -> bool:
        return True

    def number(self, size: Dim) -> int:
        found = _most(size, self.buckets)
        if not found < math.inf:
            raise Refused
        return max(int(found), 0)

    def equation(self, eqn: Eqn, operands: list[Array]) -> Sequence[Array]:
        failures = eqn.params.get("failures")
        if failures is not None:  # the rounds tell the error, and its sizes
            known = tuple([replace(f, size=None) if type(f) is Failure else f for f in failures])
            eqn = Eqn(eqn.primitive, eqn.inputs, eqn.params | {"failures": known}, eqn.outputs)
        self.needed += [n for n in _needed(eqn) if type(n) is Size and not _never_negative(n)]
        return super().equation(eqn, operands)


def _most(size: Dim, known: dict[Atom, int]) -> float:
    """The most that a size may be."""
    if type(size) is not Size:
        return size
    total = 0.0
    for monomial, count in size.terms.items():
        ends = [_most_of(a, known) if count > 0 else _least_of(a) for a in monomial]
        if len(monomial) > 1 and any(_least_of(a) < 0 for a in monomial):
            raise Refused
        total += count * (0 if 0 in ends else math.prod(ends))
    return total


def _least_of(atom: Atom) -> int:
    low = bounds(Size({(atom,): 1}))[0]
    if low is None:
        raise Refused
    return low


def _most_of(atom: Atom, known: dict[Atom, int]) -> float:
    if not atom.op:
        ends = [_most(last, known) for _, last in atom.between if last is not None]
        return min([known.get(atom, math.inf), *ends])
    if atom.op in ("maximum", "minimum"):
        choose = max if atom.op == "maximum" else min
        return choose([_most(a, known) for a in atom.args])
    by = atom.args[1]
    if type(by) is Size or by <= 0:
        raise Refused
    if atom.op == "remainder":
        return by - 1
    most_of = _most(atom.args[0], known)
    return most_of if most_of == math.inf else most_of // by


_OF_SOME = {"reduce_max", "reduce_min", "argmax", "argmin"}


def _needed(eqn: Eqn) -> list[Dim]:
    """What must not be negative for the operation to work on its operands: the sizes of its
    results, and how much longer the axes are than they must be.
    """
    found = [n for v in eqn.outputs for n in v.aval.shape]
    shape: Any = eqn.inputs[0].aval.shape if eqn.inputs else ()
    name, params = eqn.primitive.name, eqn.params
    if name in _OF_SOME:
        axes = params["axes"] if "axes" in params else (params["axis"],)
        found += [shape[a] - 1 for a in axes]
    elif name in ("slice", "update_slice"):
        starts = eqn.inputs[1 if name == "slice" else 2 :]
        for a, start, n, step in zip(
            params["axes"], starts, params["sizes"], params["strides"], strict=True
        ):
            if type(n) is not Size and n:
                first = int(start.value) if isinstance(start, Literal) and step > 0 else 0
                found.append(shape[a] - first - (n - 1) * abs(step) - 1)
    return found


def _never_negative(n: Dim) -> bool:
    low = bounds(n)[0]
    return low is not None and low >= 0


def _none_negative(sizes: Iterable[Any]) -> Array:
    found = shaping.full(True, shape=(), dtype=np.dtype(bool))
    for n in sizes:
        found = elementwise.logical_and(found, elementwise.greater_equal(n, 0))
    return found


def _counters(body: Jaxpr, made: Sequence[Atom], consts: int) -> list[tuple[Atom, int]]:
    """Sizes that count the rounds, and their places among the inputs."""
    first = len(body.outputs) - len(made)
    sums: dict[Any, Any] = {
        e.outputs[0]: e.inputs for e in body.eqns if e.primitive is elementwise.add
    }
    found = []
    for atom, var in zip(made, body.outputs[first:], strict=True):
        if var in body.inputs[consts:]:
            place = body.inputs.index(var)
            after = sums.get(body.outputs[place - consts], ())
            if len(after) == 2 and after[0] is var and _is_one(after[1]):
                found.append((atom, place))
    return found


def _is_one(x: Any) -> bool:
    return isinstance(x, Literal) and int(x.value) == 1


class LoopAtOnce:
    """What a loop has spent round by round, and which programs that has earned."""

    def __init__(
        self, body: Jaxpr, made: Sequence[Atom], test: Jaxpr | None, outer: Sequence[Atom],
        consts: int, required: Sequence[Dim],
    ) -> None:  # fmt: skip
        """made: the sizes that the body decides; its last outputs are their values. outer: those
        around it. required: those that must not be negative.
        """
        self.body, self.made, self.test, self.outer = body, tuple(made), test, tuple(outer)
        self.required = tuple(required)
        self.consts, self.carry = consts, len(body.inputs) - consts
        self.possible = len(body.outputs) == self.carry + len(self.made)
        self.counters = _counters(body, self.made, consts) if test is None else []
        self.largest = 1
        self.limit = Allowance(lambda: most(self.largest))
        self.programs: dict[tuple[int, ...], tuple[Jaxpr, float] | None] = {}
        self.ran: set[tuple[int, ...]] = set()
        self.empty: set[tuple[int, ...]] = set()  # too small for the places in a round
        self.spent: dict[tuple[int, ...], float] = {}  # microseconds
        self.compiling = sum([_cost.compiling(e.primitive, e.params) for e in body.eqns])

    def bucket(
        self, operands: Sequence[Array], values: dict[Atom, int], rounds: int | None
    ) -> tuple[int, ...]:
        """Powers of two, up to which the sizes around it are, and what counts its rounds."""
        sizes = [values[a] for a in self.outer]
        for _, place in self.counters:
            first = None if rounds is None else int(host_value(operands[place]._read()))
            sizes.append(LONGEST if first is None else max(first + (rounds or 0), 0))
        self.largest = max([self.largest, *sizes[: len(self.outer)]])
        return tuple([1 << max(n - 1, 0).bit_length() for n in sizes])

    def call(
        self, operands: Sequence[Array], values: dict[Atom, int], rounds: int | None, name: str
    ) -> list[Array] | None:
        """The results, if a program has been earned. None, too, if it finds an error."""
        program = self.way(self.bucket(operands, values, rounds), rounds)
        if program is None:
            return None
        sizes, first = [values[a] for a in self.outer], 1 + len(self.outer)
        given = [
            new_array(leaf(widened(host_value(x._read()), v.aval.shape)))
            for x, v in zip(operands, program.inputs[first:], strict=True)
        ]
        ints = [new_array(leaf(np.int64(n))) for n in (rounds or 0, *sizes)]
        try:
            outs = jit_call(*ints, *given, jaxpr=program, name=name, compiled="generic")
            fits, *found = [host_value(x._read()) for x in outs]
        except Exception:
            if not has_checks(program):
                raise
            return None
        if not fits:  # the rounds tell the error
            return None
        numbers = Numbers(values.__getitem__).__getitem__
        shapes = [mapped(v.aval.shape, numbers) for v in self.body.inputs[self.consts :]]
        return [new_array(leaf(cut(x, s))) for x, s in zip(found, shapes, strict=True)]

    def tell(
        self, operands: Sequence[Array], values: dict[Atom, int], rounds: int | None, ran: int
    ) -> None:
        """So many rounds were run one by one."""
        bucket = self.bucket(operands, values, rounds)
        cost = ran * (_ROUND + 5.0 * len(self.body.eqns))
        self.spent[bucket] = self.spent.get(bucket, 0.0) + cost

    def way(self, bucket: tuple[int, ...], rounds: int | None) -> Jaxpr | None:
        """The program, if it has been earned. rounds: how many there are, if that is known."""
        if not self.possible or config.execution == "reference":
            return None
        if config.execution == "adaptive":
            if self.spent.get(bucket, 0.0) < self.compiling:
                return None
        if bucket in self.empty or not hold(self.outer, bucket):
            return None
        if bucket not in self.programs:
            try:
                self.programs[bucket] = self._made(bucket)
            except (IndexError, ValueError):  # a round, if there is one, raises NumPy's error
                self.empty.add(bucket)
                return None
        pair = self.programs[bucket]
        if pair is None:
            self.possible = False
            return None
        program, gained = pair
        if config.execution == "adaptive" and rounds is not None and rounds * gained <= _CALL:
            return None
        if bucket not in self.ran:
            if not self.limit.take():
                return None
            self.ran.add(bucket)
        return program

    def _made(self, bucket: tuple[int, ...]) -> tuple[Jaxpr, float] | None:
        """`(number of rounds, sizes, constants, carry) -> whether no size was negative, carry`, and
        what each round gains, in microseconds; None if such a body cannot be padded.
        """
        known, k = dict(zip(self.outer, bucket, strict=False)), len(self.outer)
        known |= {a: n for (a, _), n in zip(self.counters, bucket[k:], strict=True) if n < LONGEST}
        number = _Rounds(known, {}).number
        try:
            avals = [aval_of(mapped(v.aval.shape, number), v.aval.dtype) for v in self.body.inputs]
            ints = [aval_of((), _INT)] * k
            step = self._padded(self.body, self.made, known, [*ints, *avals])
            test = None if self.test is None else self._padded(self.test, (), known, step.in_avals)
        except Refused:
            return None
        if [(a.shape, a.dtype) for a in step.out_avals[1:]] != [
            (a.shape, a.dtype) for a in avals[self.consts :]
        ]:
            return None
        first = k + self.consts  # of the carry, in a round

        def going(xs: list[Array]) -> list[Array]:
            length, (i, fits) = xs[0], xs[1 + first : 3 + first]
            if test is None:
                return [elementwise.logical_and(fits, elementwise.less(i, length))]
            goes = run_jaxpr(test, [*xs[1 : 1 + first], *xs[3 + first :]])[1]
            return [elementwise.logical_and(fits, goes)]

        def once(xs: list[Array]) -> list[Array]:
            outs = run_jaxpr(step, [*xs[1 : 1 + first], *xs[3 + first :]])
            return [elementwise.add(xs[1 + first], 1), *outs]

        whole = [ints[0] if ints else aval_of((), _INT), *step.in_avals]
        flags = [aval_of((), _INT), aval_of((), np.dtype(bool))]
        inner = [*whole[: 1 + first], *flags, *whole[1 + first :]]
        params = {"cond": stage_closed(going, inner), "body": stage_closed(once, inner)}

        def run(xs: list[Array]) -> list[Array]:
            start = [
                shaping.full(x, shape=(), dtype=f.dtype)
                for x, f in ((0, flags[0]), (True, flags[1]))
            ]
            outs = loops[0](
                *xs[: 1 + first], *start, *xs[1 + first :], **params, consts=1 + first, count=None,
                place="",
            )  # fmt: skip
            return list(outs[1:])

        by_itself = _ROUND + _cost.by_reference(step) / 2  # slices grow, or shrink
        return delivered(stage_closed(run, whole)), by_itself - _cost.work(step)

    def _padded(
        self, jaxpr: Jaxpr, made: Sequence[Atom], known: dict[Atom, int], avals: Sequence[Any]
    ) -> Jaxpr:
        """The jaxpr with its operands at a bucket, after the sizes around it. Its first result is
        whether no size is negative that must not be.
        """
        k = len(self.outer)
        count = len(jaxpr.outputs) - len(made)
        ends = dict(zip(jaxpr.outputs[count:], made, strict=True))
        required = self.required if jaxpr is self.body else ()

        def run(xs: list[Array]) -> list[Array]:
            p = _Rounds(known, dict(zip(self.outer, xs, strict=False)))
            env: dict[Any, Array] = {}

            def enter(var: Any, x: Array) -> None:
                env[var] = x
                if var in ends:
                    p.sizes[ends[var]] = elementwise.convert(x, dtype=_INT)

            for var, x in zip(jaxpr.inputs, xs[k:], strict=True):
                enter(var, x)
            for end, atom in ends.items():
                if isinstance(end, Literal):
                    p.sizes[atom] = literal(end)
            for eqn in jaxpr.eqns:
                operands = [literal(a) if isinstance(a, Literal) else env[a] for a in eqn.inputs]
                for var, x in zip(eqn.outputs, p.equation(eqn, operands), strict=True):
                    enter(var, x)
            outs = [literal(a) if isinstance(a, Literal) else env[a] for a in jaxpr.outputs[:count]]
            outs = [elementwise.convert(x, dtype=x.dtype) if x.aval.weak else x for x in outs]
            needed = dict.fromkeys([*required, *p.needed])
            return [_none_negative(map(p.valid, needed)), *outs]

        try:
            return stage_closed(run, avals)
        except KeyError:  # it needs a size before it is decided
            raise Refused from None
