"""A traced function with sizes, and the programs that numbers make of it.

A size that is met once leaves no program behind: the reference rules take the numbers while they
run. What comes again is an ordinary jaxpr, which may earn a program, and is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp import _cost
from lazynp._avals import Aval, aval_of
from lazynp._dimensions import LONGEST
from lazynp._extents import Numbers, mapped, sizes_in
from lazynp._jaxpr import Jaxpr, Literal, Var
from lazynp._memo import cached, drop_oldest
from lazynp._sizes import Atom
from lazynp.transforms._sizing import (
    Required,
    Values,
    avals_with,
    hosts_of,
    numbered,
    steps_of,
    with_values,
)
from lazynp.transforms._unused import Unused

Sizes = tuple[int, ...]
_lock = threading.RLock()  # of the tables; destructors and signal handlers may compute
_KEPT_EQUATIONS = 16384  # of all programs that one jaxpr with sizes keeps
_MET = 4096  # sizes of which is known that they came once
_NEAR = 64  # classes of sizes whose costs are kept


class Once:
    """A program with sizes, and the numbers for one run of it by the reference rules."""

    __slots__ = ("program", "numbers", "sizes", "params", "avals")

    def __init__(
        self, program: Programs, numbers: Values, sizes: Sequence[int],
        params: list[dict[str, Any]], avals: tuple[Aval, ...],
    ) -> None:  # fmt: skip
        """sizes: what the first inputs hold. params: of each equation. avals: of the results."""
        self.program, self.numbers, self.sizes = program, numbers, sizes
        self.params, self.avals = params, avals

    def jaxpr(self) -> Jaxpr:
        """The same program with numbers for its sizes."""
        return with_values(self.program.jaxpr, self.numbers, self.sizes)

    def run(self, *args: Any) -> tuple[Any, ...]:
        """The results. Each value is dropped after its last use."""
        return self.program.run([*map(np.int64, self.sizes), *args], self.params)


class Programs:
    """What numbers make of one jaxpr with sizes."""

    __slots__ = ("jaxpr", "known", "_met", "_costs", "_room")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.known: dict[Sizes, Jaxpr] = {}  # of the sizes met last, and not only once
        self._met: dict[Sizes, None] = {}
        self._costs: dict[Sizes, float] = {}  # by reference, at about these sizes
        self._room = min(max(_KEPT_EQUATIONS // max(len(jaxpr.eqns), 1), 64), 4096)

    def exact(self, key: Sizes, numbers: Values, sizes: Sequence[int]) -> Jaxpr:
        """The jaxpr for numbers. sizes: those that its first inputs hold."""
        found = self.known.get(key)
        if found is None:
            found = with_values(self.jaxpr, numbers, sizes)
            found.cost = self._cost(key, lambda: found)
            with _lock:
                if len(self.known) >= self._room:
                    drop_oldest(self.known)
                self.known[key] = found
        return found

    def _cost(self, key: Sizes, made: Callable[[], Jaxpr]) -> float:
        near = tuple([n >> max(n.bit_length() - 3, 0) << max(n.bit_length() - 3, 0) for n in key])
        cost = self._costs.get(near)
        if cost is None:
            cost = _cost.by_reference(made())
            with _lock:
                if len(self._costs) >= _NEAR:
                    drop_oldest(self._costs)
                self._costs[near] = cost
        return cost

    def cost(self, key: Sizes, numbers: Values, sizes: Sequence[int]) -> float:
        """What it takes by the reference rules, about."""
        return self._cost(key, lambda: with_values(self.jaxpr, numbers, sizes))

    def first(self, key: Sizes) -> bool:
        """Whether these sizes have not come before, as far as is known. They have, from now on."""
        if key in self.known or key in self._met:
            return False
        with _lock:
            if len(self._met) >= _MET:
                drop_oldest(self._met)
            self._met[key] = None
        return True

    def once(self, numbers: Values, sizes: Sequence[int]) -> Once | None:
        """A run by the reference rules. Raises the errors of sizes. None: it needs the jaxpr."""
        aval, params = avals_with(numbers), []
        for step in steps_of(self.jaxpr):
            eqn, given = step.eqn, step.eqn.params
            if step.length and not numbers(given["length"]):
                return None
            if step.keys:
                given = given | {k: numbered(given[k], numbers) for k in step.keys}
            params.append(given)
            if step.checked:
                out = eqn.primitive.abstract(*[aval(a.aval) for a in eqn.inputs], **given)
                outs = out if eqn.primitive.multiple_results else (out,)
                for a, v in zip(outs, eqn.outputs, strict=True):
                    if a.shape != aval(v.aval).shape:
                        return None
            else:
                for v in eqn.outputs:
                    aval(v.aval)
        avals = [aval(a.aval) for a in self.jaxpr.outputs]
        return Once(self, numbers, sizes, params, tuple([aval_of(a.shape, a.dtype) for a in avals]))

    def run(self, args: Sequence[Any], params: list[dict[str, Any]]) -> tuple[Any, ...]:
        """The results by the reference rules. Each value is dropped after its last use."""
        steps, outputs, constants, count = _prepared(self.jaxpr)
        env = [*args, *[None] * (count - len(args))]
        for i, x in constants:
            env[i] = x
        for (rule, ins, outs, several, dead), given in zip(steps, params, strict=True):
            result = rule(*[env[i] for i in ins], **given)
            if several:
                for i, x in zip(outs, result, strict=True):
                    env[i] = x
            else:
                env[outs[0]] = result
            for i in dead:
                env[i] = None
        return tuple([env[i] for i in outputs])


@cached()
def _prepared(jaxpr: Jaxpr) -> tuple[Any, ...]:
    """Places in a list in the place of variables, as in `_interpreter`: of each equation the rule
    and the places of its operands, of its results, and of what nothing reads afterwards; the places
    of the outputs; those of constants, with their values; and how many there are.
    """
    places: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.inputs)}
    constants: list[tuple[int, Any]] = []

    def place(a: Any) -> int:
        if a not in places:
            places[a] = len(places)
            if isinstance(a, Literal):
                constants.append((places[a], a.value))
        return places[a]

    reads = [tuple(map(place, eqn.inputs)) for eqn in jaxpr.eqns]
    outputs = list(map(place, jaxpr.outputs))
    kept = {*outputs, *(i for i, _ in constants)}
    steps = []
    for eqn, ins in zip(reversed(jaxpr.eqns), reversed(reads), strict=True):
        outs = tuple(map(place, eqn.outputs))
        dead = tuple({*ins, *outs} - kept)
        kept.update(ins)
        p = eqn.primitive
        steps.append((p.reference, ins, outs, p.multiple_results, dead))
    return steps[::-1], outputs, constants, len(places)


def computing(jaxpr: Jaxpr, place: int) -> Jaxpr:
    """The part of a jaxpr that computes one of its outputs."""
    wanted = {jaxpr.outputs[place]}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        if wanted.intersection(eqn.outputs):
            wanted.update(eqn.inputs)
            eqns.append(eqn)
    return Jaxpr(jaxpr.inputs, eqns[::-1], (jaxpr.outputs[place],))


# -- a traced program ------------------------------------------------------------------------------


class SizedProgram:
    """A program that was traced once for all sizes.

    raw: with sizes in its types; its first inputs are the sizes in `places` (by name: leaves of the
    arguments, axes), its last outputs the integers that `made` stand for.
    """

    __slots__ = ("raw", "places", "axes", "made", "jaxpr", "programs", "required", "unused",
                 "pieces",
                 "by_data", "buckets", "whole", "largest", "hosts")  # fmt: skip

    def __init__(
        self,
        raw: Jaxpr,
        places: dict[str, list[tuple[int, int]]],
        axes: Sequence[Atom],
        made: Sequence[Atom],
        jaxpr: Jaxpr,
        required: Sequence[Required],
        unused: Sequence[Unused] = (),
    ) -> None:
        """jaxpr: the expanded one. required: see `Table`. unused: operations that are not in it."""
        self.raw, self.places, self.axes, self.made = raw, places, list(axes), list(made)
        self.required, self.unused = list(required), list(unused)
        self.jaxpr = jaxpr
        self.pieces: Any = None  # see `_sized_runs`
        self.by_data: bool | None = None
        first = len(raw.outputs) - len(self.made)
        self.whole = Jaxpr(raw.inputs, raw.eqns, raw.outputs[:first])  # without these
        self.programs = Programs(self.whole)
        self.hosts = hosts_of(raw)
        self.buckets: Any = None  # see `_buckets`
        self.largest = 1  # the largest size that was met

    def values(self, sizes: list[int], value: Callable[[Jaxpr | int], int]) -> tuple[Sizes, Values]:
        """The values of its variables: all of them, and a function of sizes. value: an integer that
        the program takes (by place) or computes (by a jaxpr).
        """
        if any([n > LONGEST for n in sizes]):  # its integers would not be checked
            raise ValueError(f"an axis that has a name has more than {LONGEST} elements")
        values: dict[Atom, int] = dict(zip(self.axes, sizes, strict=True))
        numbers = Numbers(values.__getitem__).__getitem__
        first = len(self.raw.outputs) - len(self.made)
        inputs = {v: i for i, v in enumerate(self.raw.inputs)}
        for i, atom in enumerate(self.made):
            out = self.raw.outputs[first + i]
            if isinstance(out, Var) and out in inputs:
                values[atom] = value(inputs[out] - len(self.axes))
            else:
                part = computing(self.raw, first + i)
                values[atom] = value(with_values(part, numbers, sizes))
        key = tuple(values.values())
        self.largest = max(self.largest, *sizes) if sizes else max(self.largest, *key)
        return key, numbers

    def check(self, numbers: Values) -> None:
        """Raise the error of a size that must not be negative and is."""
        for size, told, error in self.required:
            if mapped(size, numbers) < 0:
                raise error(mapped(told, numbers))
        for operation in self.unused:
            operation.check(numbers)

    def check_axes(self, numbers: Values) -> None:
        """The same for what the arguments' axes decide. Whatever else is required waits for the
        piece that decides it.
        """
        axes = frozenset(self.axes)
        for size, told, error in self.required:
            used = [a for s in sizes_in((size, told)) for a in s.variables()]
            if axes.issuperset(used) and mapped(size, numbers) < 0:
                raise error(mapped(told, numbers))
        for operation in self.unused:
            if operation.atoms <= axes:
                operation.check(numbers)

    def exact(self, key: Sizes, numbers: Values) -> Jaxpr:
        """The program for these sizes."""
        if key not in self.programs.known:
            self.check(numbers)
        return self.programs.exact(key, numbers, key[: len(self.axes)])
