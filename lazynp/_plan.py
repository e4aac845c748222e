"""Plans: how one canonical form runs.

A form is the structure of a flush: ops, wiring, wanted results. Its plan is built once and kept.
Scalars of the form are *slots*: constants of the compiled program while they repeat. When one has
varied, it becomes an operand (together with all of its sort: scalars, or start indices). Operands
of one kind are packed into one vector. So a loop over `dt*i` or `a[i] = ...` costs exactly one more
compilation.
"""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp import _cost, lowering
from lazynp._allowance import Allowance
from lazynp._avals import Aval, aval_of
from lazynp._config import config
from lazynp._dataclass import dataclass, field
from lazynp._jaxpr import Jaxpr, Var
from lazynp._memo import Memo, adopt, sizes
from lazynp._node import CODE, LENT, OP, VALUE, Node, Op
from lazynp._observers import observers
from lazynp._pieces import Pieces
from lazynp._plan_jaxpr import Lowerer, Program, Ref, Step, packed_scalars
from lazynp._verdict import verdict

MOVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")


@dataclass
class Stats:
    """Counters of this process. They are exact, so tests may compare them.

    compiles: programs that were compiled. cache_hits: programs that were found on disk instead.
    compile_seconds: for both, with lowering. promotions: kinds of arguments for which a hot
    function runs as one program. collectives: for each kind, how many ran in programs for several
    devices; collective_bytes: of their results on one device; gathers: arrays whose parts the host
    has collected. memo_entries: the entries of all memo tables at the
    moment of reading.
    """

    cuts: int = 0
    forms: int = 0
    compiles: int = 0
    cache_hits: int = 0
    compile_seconds: float = 0.0
    compiled_runs: int = 0
    reference_runs: int = 0
    promotions: int = 0
    collectives: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOVES, 0))
    collective_bytes: int = 0
    gathers: int = 0

    @property
    def memo_entries(self) -> int:
        """The number of entries in all memo tables together."""
        return sum([size for _, size in sizes()])


STATS = Stats()


class Plan:
    """The wanted steps of a form, and the executables compiled for it so far."""

    __slots__ = (
        "steps", "leaf_avals", "dead_leaves", "outputs", "slot_avals", "start_slots", "constants",
        "family", "varying", "programs", "current", "jaxpr", "reason", "runs", "runs_seen", "owed",
        "costs", "zero_slots", "tier", "watch", "lean", "left_out", "regrets", "tied",
        "repeated", "verdict", "at_once", "_waiting", "place",
        "limited", "_limits",
    )  # fmt: skip

    def __init__(
        self,
        steps: list[Step],
        leaf_avals: list[Aval],
        dead_leaves: list[bool],
        outputs: list[int],
    ) -> None:
        self.steps, self.leaf_avals, self.outputs = steps, leaf_avals, outputs
        self.dead_leaves = dead_leaves
        # whether there is a call that is compiled when it is first met: see `transforms/_call`
        kinds = [s.op.params.get("compiled", False) for s in steps]
        self._waiting = lowering.Waiting()
        self._limits = tuple({k for k in kinds if isinstance(k, Allowance)})
        self.limited = bool(self._limits)
        self.at_once = "generic" if "generic" in kinds else True in kinds
        self.slot_avals: dict[int, Aval] = {}
        self.start_slots: set[int] = set()
        for step in steps:
            for k, (kind, index) in enumerate(step.refs):
                if kind == "slot":
                    self.slot_avals[index] = aval_of((), step.op.explicit[k].dtype)
                    if k >= step.op.first_start:
                        self.start_slots.add(index)
        self.constants: list[Any] | None = None
        self.zero_slots: list[int] = []
        self.varying: frozenset[int] = frozenset()
        # start slots -> the first slot that each one has always equalled
        self.tied: dict[int, int] | None = {}
        self.programs: dict[frozenset[int], Program] = {}
        self.current: Program | None = None  # the program for the varying slots known now
        self.jaxpr: Jaxpr | None = None
        self.reason: Any = ""  # text, or the position of a loop
        self.tier = "compiled"
        self.watch: Any = None  # see _unread
        self.lean: Plan | None = None
        self.left_out: list[int] = []
        self.regrets = 0
        self.runs = self.runs_seen = 0
        self.place: Any = None  # in the user's code, where it was first met
        self.repeated = 0  # runs for no value: see _cutsites
        self.owed = 0.0
        self.costs = _costs([s.op for s in steps])
        self.verdict = verdict(self.costs[0])
        if config.execution == "adaptive":  # it was a Sighting
            self.owed = _PLANNED_AT * self.costs[2]
        self.family = hash(tuple((s.op.primitive, _ranks(s.op), s.refs) for s in steps))
        STATS.forms += 1

    def run(self, leaves: Sequence[Node], slots: list[Any], into: list[Any]) -> None:
        """Make `into` a list of one item: the outputs, as buffers, in the order of `outputs`."""
        if slots == self.constants and not self.zero_slots and self.current is not None:
            program = self.current
        elif self.at_once or self.costs[0] > _LONG * self.costs[2]:
            program = self._program(slots)  # a trial may say that it does not wait
        else:
            program = self._waiting.ask(self._program, slots)
        STATS.compiled_runs += 1
        executable = program.executable
        args = []
        checked = not program.packed
        for j, wanted in zip(program.leaves, executable.wanted, strict=False):
            value = leaves[j][VALUE]
            if type(value) is not lowering.Buffer or value.aval is not wanted:
                value, checked = buffer_of(leaves[j], executable), False
            args.append(value)
        for kind, indices in program.packed:
            vector = packed_scalars(kind, [slots[k] for k in indices], program.dtypes[kind])
            args.append(executable.put(vector, True))
        executable.run(args, into, checked)

    def donated(self) -> set[int]:
        """Leaves whose memory the program may reuse: dead ones with a small slice assignment.

        For these, donation saves copying the whole. Elsewhere it halves the speed of fused loops,
        so only an explicit `jit` option donates.
        """
        donated = set()
        for step in self.steps:
            for kind, j in [step.refs[k] for k in step.op.params.get("donate", ())]:
                if kind == "leaf" and self.dead_leaves[j]:
                    donated.add(j)
            kind, j = step.refs[0] if step.refs else ("", 0)
            if step.op.primitive.name == "update_slice" and kind == "leaf":
                if self.dead_leaves[j] and 4 * step.op.explicit[1].size < step.op.aval.size:
                    donated.add(j)
        return donated

    def by_reference(self) -> bool:
        """Whether the reference interpreter makes this run.

        It does so under "compiled" too, if a program keeps changing its shapes (results of masks,
        triangular loops): a few of its forms are compiled, the others have to earn it. Under
        "compiled", a `jit` has earned it. A function of sizes has programs for few of them.
        """
        if self._by_cost() or not (self.programs or self._allowed()):
            return True
        return sys.is_finalizing()  # destructors run at the end, and XLA's texts need imports

    def _allowed(self) -> bool:
        """Whether the functions that are called may have one more program."""
        self._limits = tuple([k for k in self._limits if not k.take()])
        return not self._limits

    def _by_cost(self) -> bool:
        if config.execution == "compiled":
            if self.programs or _families.get(self.family, 0) < _VARIANTS:
                return False
            if any([s.op.primitive.name == "jit" for s in self.steps]):
                return False
        elif self.verdict is not None and self.verdict.for_numpy:
            return True
        return not self.worth_compiling()

    def took(self, seconds: float) -> None:
        """Note the time of a compiled run, where the clock decides."""
        verdict = self.verdict
        if verdict is None:
            return
        verdict.by_program(seconds)
        if verdict.for_numpy and config.execution == "adaptive":
            self.current = None
            if verdict.lost:
                self.programs.clear()
                self.lean = None

    def forget_programs(self) -> bool:
        """Drop the executables, unless this form ran since the last call."""
        if self.runs != self.runs_seen:
            self.runs_seen = self.runs
            return False
        self.programs.clear()
        self.current = None
        return True

    def worth_compiling(self) -> bool:
        """Ski rental: whether running by reference has cost as much as compiling would have."""
        reference, compiled, compiling = self.costs
        self.owed += reference - compiled
        if self._waiting.work is not None:
            return self._waiting.work.done
        return bool(self.programs) or self.owed >= compiling and lowering.has_room()

    def _program(self, slots: list[Any]) -> Program:
        if self.constants is None or not _same(slots, self.constants, self.zero_slots):
            self._see(slots)
        program = self.programs.get(self.varying)
        if self.tied and any([slots[k] != slots[first] for k, first in self.tied.items()]):
            program = self.tied = None
        if program is None:
            self._tie(slots)
            _make_room()
            program = self.programs[self.varying] = self._compile(slots)
            _compiled.append(self)
        self.current = program
        return program

    def _see(self, slots: list[Any]) -> None:
        """Decide which slots are operands, now that the values differ from the constants."""
        if self.constants is None:
            self.constants = list(slots)
            self.zero_slots = [k for k, v in enumerate(slots) if has_zero(v)]
            if self.limited or self.at_once == "generic":
                self.varying = frozenset(self.slot_avals)
                return
            before = self._slots_of_others(slots)
        else:
            before = self.constants
        changed = {
            k
            for k in self.slot_avals
            if k not in self.varying and not same_value(slots[k], before[k])
        }
        if not changed:
            return
        if changed - self.start_slots:
            changed |= self.slot_avals.keys() - self.start_slots
        if changed & self.start_slots and self.varying & self.start_slots:
            changed |= self.start_slots  # a second time: stop guessing
            self.tied = None
        self.varying |= changed

    def _slots_of_others(self, slots: list[Any]) -> list[Any]:
        """What forms of the same operations, at the same place, were compiled for; `slots` if there
        are none. The rounds of a loop may differ in what is referred to afterwards. Each such form
        compiled the values of one round, only to find that they vary.
        """
        if config.execution != "adaptive":
            return slots
        key = self.family, self.place
        before = _compiled_for.get(key)
        _compiled_for.put(key, list(slots))
        return before if before is not None and len(before) == len(slots) else slots

    def _tie(self, slots: list[Any]) -> None:
        """`x[i] += v` reads and writes at one place. A program that knows this works in place; with
        two starts that might differ, it would first have to read the whole.
        """
        if self.tied is None:  # the guess was wrong before
            return
        firsts: dict[Any, int] = {}
        self.tied = {}
        constants = self.constants or slots
        for k in sorted(self.varying & self.start_slots):
            first = firsts.setdefault((constants[k], slots[k]), k)
            if first != k and constants[k] != slots[k]:  # equal twice, and not by chance
                self.tied[k] = first

    def _compile(self, slots: list[Any]) -> Program:
        begin = time.perf_counter()
        program = Lowerer(self, slots, self.varying).program()
        if not self.programs:
            _families.put(self.family, _families.get(self.family, 0) + 1)
        self.jaxpr = program.jaxpr
        from_disk = program.executable.from_disk
        if from_disk is not None:  # otherwise NumPy runs all of it
            STATS.cache_hits += from_disk
            STATS.compiles += not from_disk
        STATS.compile_seconds += time.perf_counter() - begin
        for o in observers:
            o.compiled(begin, len(program.jaxpr.eqns), from_disk)
        return program

    def compiled(self, jaxpr: Jaxpr, leaves: list[int]) -> Any:
        """The executable of a jaxpr whose first inputs are these leaves."""
        left = _cost.left_to_host(jaxpr) if config.execution == "adaptive" else ()
        return Pieces(jaxpr, left) if left else lowering.compile_program(jaxpr, self.donate(leaves))

    def donate(self, leaves: list[int]) -> list[int]:
        donated = self.donated()
        return [i for i, j in enumerate(leaves) if j in donated]

    def to_jaxpr(self, slots: list[Any], outputs: list[Ref], origins: Sequence[Any] = ()) -> Jaxpr:
        """The jaxpr with every slot a constant, every leaf an input, and these outputs. origins: of
        the steps.
        """
        lowerer = Lowerer(self, slots, frozenset())
        lowerer.leaf_vars = {j: Var(aval) for j, aval in enumerate(self.leaf_avals)}
        return lowerer.jaxpr(outputs, origins)


# by family and place: the values of the slots when the first program of a form was made
_compiled_for: Memo[Any, list[Any]] = Memo("scalars of programs", 1024)
_families: Memo[int, int] = Memo(
    "families", costly=True
)  # structure without sizes: the number of its forms compiled so far
_VARIANTS = 6
_LONG = 2.0  # times the time of compiling: a run by reference that takes as long waits for it


def _ranks(op: Op) -> tuple[Any, ...]:
    avals = op.aval if isinstance(op.aval, tuple) else (op.aval,)
    return tuple((a.ndim, a.dtype) for a in avals)


# An executable takes ten to twenty of the 65530 memory maps that Linux grants a process; see also
# `lowering/_maps.py`.
_MOST_PROGRAMS = 2000
_compiled: deque[Plan] = deque()  # a plan for each program, the oldest first


def _make_room() -> None:
    """Called before a compilation: if there are too many programs, drop old ones that are
    unused.
    """
    if len(_compiled) < _MOST_PROGRAMS:
        return
    for _ in range(len(_compiled)):
        plan = _compiled.popleft()
        if not plan.forget_programs():
            _compiled.append(plan)
    _keep(_MOST_PROGRAMS - 1)  # if all are in use


def _keep(most: int = 0) -> None:
    """Drop the oldest programs, used or not."""
    while len(_compiled) > most:
        plan = _compiled.popleft()
        plan.runs_seen = plan.runs
        plan.forget_programs()


adopt(lambda: len(_compiled), _keep)


def _same(slots: list[Any], constants: list[Any], zero_slots: list[int]) -> bool:
    if slots != constants:
        return False
    return all(same_value(slots[k], constants[k]) for k in zero_slots)


def has_zero(value: Any) -> bool:
    """Whether equal values may differ: by the sign of a zero."""
    if isinstance(value, (complex, np.complexfloating)):
        return value.real == 0 or value.imag == 0
    return isinstance(value, (float, np.floating)) and value == 0


def same_value(a: Any, b: Any) -> bool:
    if isinstance(a, (complex, np.complexfloating)):
        return same_value(a.real, b.real) and same_value(a.imag, b.imag)
    if a != b:
        return bool(a != a and b != b)
    return not has_zero(a) or math.copysign(1.0, a) == math.copysign(1.0, b)


_KEPT_ON_HOST = 1 << 14  # bytes


def buffer_of(node: Node, executable: Any) -> Any:
    """The leaf's value on the device. Large host memory stays the value if it can be lent."""
    value = node[VALUE]
    buffer = lowering.behind(value) if type(value) is np.ndarray else value
    if type(buffer) is lowering.Buffer:
        buffer = executable.brought(buffer)
    elif type(value) is np.ndarray and lowering.is_aligned(value):
        buffer = executable.put(value, True)
        if value.nbytes >= _KEPT_ON_HOST and node[CODE] is not LENT:
            if node[OP] is None:
                # it stays one the next time too, unless something is stored into it
                node[CODE] = LENT
            return buffer
    else:
        buffer = executable.put(np.asarray(value), False)
    node[VALUE] = buffer
    return buffer


# -- the cost of running, for the adaptive policy -------------------------------------------------


class Sighting:
    """A form that does not deserve a plan yet: by reference, it costs too little."""

    __slots__ = ("left", "runs", "tier", "costs", "repeated", "verdict", "paid")

    def __init__(self, nodes: list[Node]) -> None:
        self.paid = (
            0.0  # microseconds that other runs than those by reference have cost: see _alone
        )
        self.runs, self.tier, self.repeated = 0, "reference", 0
        self.costs = reference, compiled, compiling = _costs([n[OP] for n in nodes])
        self.verdict = verdict(reference)
        gain = reference - compiled
        runs = _PLANNED_AT * compiling / gain if gain > 0 else math.inf
        # runs until the form gets a plan
        self.left = 0 if gain >= compiling else int(min(runs, 1 << 40))

    def again(self) -> bool:
        """Whether this run too needs no plan."""
        self.left -= 1
        self.runs += 1
        return self.left >= 0


_PLANNED_AT = 0.5  # share of the cost of compiling, spent by reference


def _costs(ops: list[Op]) -> tuple[float, float, float]:
    """The costs by reference, compiled, and of compiling."""
    reference, compiled, compiling = 0.0, _cost.DISPATCH, _cost.PROGRAM
    for op in ops:
        if op.cost is None:
            outs = op.aval if isinstance(op.aval, tuple) else (op.aval,)
            here = _cost.cost(op.primitive, op.params, op.explicit, outs)
            compiling_it = _cost.compiling(op.primitive, op.params)
            if _cost.better_by_host(op.primitive, op.params, op.explicit, outs):
                compiling_it += _cost.PROGRAM  # the rest is a separate piece
            op.cost = *here, compiling_it
        r, c, b = op.cost
        reference, compiled, compiling = reference + r, compiled + c, compiling + b
    return reference, compiled, compiling
