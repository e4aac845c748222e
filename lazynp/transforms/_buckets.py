"""One compiled program for the sizes of a bucket: up to a power of two. `_padded` makes it.

Calls are counted, and what they cost by reference: that earns a program for a bucket, or for a size
that comes often.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal

import numpy as np

from lazynp import _cost
from lazynp._allowance import Allowance, most
from lazynp._array import Array, new_array
from lazynp._avals import Aval
from lazynp._config import config
from lazynp._facts import hold
from lazynp._flush import host_value
from lazynp._jaxpr import Jaxpr
from lazynp._memo import drop_oldest
from lazynp._node import leaf
from lazynp.transforms._call import Compiled, jit_call
from lazynp.transforms._checks import has_checks
from lazynp.transforms._padded import padded
from lazynp.transforms._sized_program import SizedProgram
from lazynp.transforms._widened import cut, widened

_PADDING = 150.0  # microseconds: of padding operands, and taking parts of results
_KEPT = 256  # sizes whose calls are counted
_lock = threading.RLock()  # destructors and signal handlers may compute
_OFTEN = 32  # calls at one size, from which it gets a program of its own
Sizes = tuple[int, ...]


def _bucket(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


class Buckets:
    """What a function of some sizes has spent, and which programs that has earned.

    Sizes up to N get at most 2 * ceil(log2(N)) + 4 programs: one for each power of two, to which
    all axes are padded, and as many others, for sizes that come often, and for axes that are padded
    to different powers. Where no bucket can be, all are for sizes.
    """

    def __init__(self, sized: SizedProgram, possible: bool) -> None:
        self.sized, self.raw, self.axes = sized, sized.whole, tuple(sized.axes)
        self.possible = possible and bool(sized.axes) and not sized.made
        self.limit = Allowance(self._others)  # of exact programs
        self.ran: set[Sizes] = set()  # buckets with programs
        self.calls: dict[Sizes, int] = {}  # at the sizes that were met last
        self.exact: set[Sizes] = set()  # sizes with programs of their own
        self.mixed: set[Sizes] = set()  # buckets that differ by axis
        self.costs: dict[Sizes, tuple[float, float]] = {}  # microseconds, of each bucket
        self.spent: dict[Sizes, float] = {}  # microseconds by reference, of each bucket
        self.cheap = False  # NumPy is as fast as the program of a bucket would be
        self.compiling = sum(_cost.compiling(e.primitive, e.params) for e in self.raw.eqns)

    def settled(self, ns: Sizes) -> Compiled | None:
        """How calls of the exact program at these sizes are compiled; None: the next one may run by
        another program (that of a bucket).
        """
        if ns in self.exact:
            return "generic"
        return None if self.possible and not self.cheap else self.limit

    def _others(self) -> int:
        """How many programs there may be that are for one size."""
        if self.possible:  # one for each power of two
            equal = max(self.sized.largest - 1, 1).bit_length() + 1
            return most(self.sized.largest) - equal - len(self.mixed)
        return most(self.sized.largest) - len(self.ran)

    def _buckets(self, ns: Sizes) -> Sizes:
        found = tuple(map(_bucket, ns))
        if len(set(found)) == 1 or found in self.mixed:
            return found
        with _lock:
            if self.limit.used < self._others():
                self.mixed.add(found)
                return found
        return (max(found),) * len(found)

    def leaves_room(self, cost: float) -> bool:
        """Whether the next exact program may be compiled, or will at once: it takes so long."""
        if config.execution == "compiled":
            return self.limit.used < self._others()
        return cost >= self.compiling

    def way(self, ns: Sizes, cost: float) -> Jaxpr | Literal[True] | None:
        """The program of a bucket; True for the exact program; None: the exact one has to earn its
        program, within the limit. cost: by the reference rules.
        """
        if not self.possible:
            return None
        with _lock:
            if ns not in self.calls and len(self.calls) >= _KEPT:
                drop_oldest(self.calls)
            self.calls[ns] = self.calls.get(ns, 0) + 1
        if config.execution == "adaptive" and cost <= _PADDING:
            self.cheap = True  # whatever the program costs
            return None
        if ns in self.exact:
            return True
        bucket = self._buckets(ns)
        if not hold(self.axes, bucket):
            return None
        program = padded(self.raw, self.axes, bucket)
        if program is None:
            self.possible = False
            return None
        with _lock:
            if self.calls.get(ns, 0) >= _OFTEN and self.limit.take():
                self.exact.add(ns)
                return True
        if config.execution == "adaptive":
            if bucket not in self.costs:
                self.costs[bucket] = cost, _cost.work(program) + _PADDING
            by_numpy, by_program = self.costs[bucket]
            self.cheap = by_numpy <= by_program
            if not self.cheap:
                self.spent[bucket] = self.spent.get(bucket, 0.0) + by_numpy
            if self.cheap or self.spent[bucket] < self.compiling:
                return None
        self.ran.add(bucket)
        return program


def run_in_bucket(
    program: Jaxpr, ns: Sizes, operands: Sequence[Array], avals: Sequence[Aval], name: str
) -> list[Array] | None:
    """The results of the exact program (these are their types), by that of its bucket. None if that
    finds an error, which is told by the exact one.
    """
    given = [
        new_array(leaf(widened(host_value(x._read()), v.aval.shape)))
        for x, v in zip(operands, program.inputs[len(ns) :], strict=True)
    ]
    sizes = [new_array(leaf(np.int64(n))) for n in ns]
    try:
        outs = jit_call(*sizes, *given, jaxpr=program, name=name, compiled="generic")
        values = [host_value(x._read()) for x in outs]
    except Exception:
        if not has_checks(program):
            raise
        return None
    return [new_array(leaf(cut(x, a.shape))) for x, a in zip(values, avals, strict=True)]
