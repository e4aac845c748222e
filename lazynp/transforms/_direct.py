"""Programs for numbers in place of sizes that run at once, by the reference rules.

Nothing is recorded, and checks raise where they stand: to record a call, and to take the checks out
of a program that runs once, would cost more than running it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp import _cost
from lazynp._allowance import Allowance, most
from lazynp._array import Array, new_array
from lazynp._config import config
from lazynp._errstate import strict
from lazynp._flush import host_value
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Jaxpr
from lazynp._memo import drop_oldest
from lazynp._node import is_interpreted, leaf
from lazynp._quiet import quietly
from lazynp._recorder import elsewhere, local
from lazynp.primitives.placing import placed_behind, places_inside
from lazynp.transforms._call import jit_call

Sizes = tuple[int, ...]
_KEPT = 256  # sizes whose costs are counted


class Earnings:
    """What the sizes of one program have spent by reference, and which have earned a program."""

    def __init__(self, program: Jaxpr) -> None:
        """program: with sizes in its types."""
        self.program = program
        self.largest = 1  # the largest size that was met
        self.limit = Allowance(lambda: most(self.largest))
        self.earned: set[Sizes] = set()
        self.spent: dict[Sizes, float] = {}  # microseconds
        self.compiling = sum([_cost.compiling(e.primitive, e.params) for e in program.eqns])

    def call(self, program: Jaxpr, sizes: Sizes, operands: list[Array], name: str) -> list[Array]:
        """The results of the program for these sizes."""
        self.largest = max(self.largest, *sizes)
        if not runs_here(self.program, operands):
            return list(jit_call(*operands, jaxpr=program, name=name, compiled=self.limit))
        if config.execution != "reference" and self._has_earned(program, sizes):
            return list(jit_call(*operands, jaxpr=program, name=name, compiled="generic"))
        return by_reference(program, operands)

    def leaves_room(self, cost: float) -> bool:
        """Whether a program may be compiled for sizes that are new, or will at once: it takes so
        long by reference.
        """
        if config.execution == "compiled":
            return self.limit.used < self.limit.room()
        return config.execution == "adaptive" and cost >= self.compiling

    def _has_earned(self, program: Jaxpr, sizes: Sizes) -> bool:
        if sizes in self.earned:
            return True
        if config.execution == "adaptive":
            if sizes not in self.spent and len(self.spent) >= _KEPT:
                drop_oldest(self.spent)
            if program.cost is None:
                program.cost = _cost.by_reference(program)
            spent = self.spent[sizes] = self.spent.get(sizes, 0.0) + program.cost
            if spent < self.compiling:
                return False
            if program.cost <= _cost.work(program) + _cost.DISPATCH:
                return False
        if not self.limit.take():
            return False
        self.earned.add(sizes)
        return True


def runs_here(program: Jaxpr, operands: Sequence[Array]) -> bool:
    """Whether values are all that matters: no trace, no device, no floating-point error. program:
    may have sizes in its types.
    """
    if local.recorder.staging or config.debug_nans or strict() or elsewhere:
        return False
    if places_inside(program):
        return False
    return not any(is_interpreted(x._read()) or placed_behind(x) is not None for x in operands)


def by_reference(program: Jaxpr, operands: Sequence[Array]) -> list[Array]:
    """The results of the reference rules. They share no memory with the operands."""
    values = [host_value(x._read()) for x in operands]
    found = apart(quietly(eval_reference, [program, values]), values)
    return [new_array(leaf(x)) for x in found]


def once(run: Any, operands: Sequence[Array]) -> list[Array]:
    """The results of a run of a program with sizes: see `_sized_program.Once`."""
    values = [host_value(x._read()) for x in operands]
    return [new_array(leaf(x)) for x in apart(quietly(run.run, values), values)]


def apart(results: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Results of reference rules that share no memory with these values, nor with each other."""
    seen = set(map(id, values))
    found = []
    for x in results:
        if isinstance(x, np.ndarray):
            if not x.ndim:
                x = x[()]
            elif x.base is not None or id(x) in seen or not x.flags.c_contiguous:
                x = np.array(x, order="C")
            seen.add(id(x))
        found.append(x)
    return found
