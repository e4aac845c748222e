"""One round of a loop, and the program that runs many of them.

A unit is the structure of a round: its operations, how they are wired, and which result of a round
each operand of the next one is. Its programs are loops with a run-time count. What flows from a
round to the next is carried. Python scalars and indices that change are rows of a matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np

from lazynp import _cost, _reference, lowering
from lazynp._allowance import Allowance
from lazynp._avals import Aval, aval_of
from lazynp._config import config
from lazynp._cutsites import PROMISING
from lazynp._dataclass import dataclass
from lazynp._fronts import in_front
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Literal, Rules, Var, check
from lazynp._memo import Memo
from lazynp._node import ARGS, OP, PROJECT, VALUE, Node, Op, aval_of_node
from lazynp._ownership import COUNTED
from lazynp._periods import LEAST
from lazynp._plan import STATS, Plan, buffer_of, has_zero, same_value
from lazynp._plan_jaxpr import Ref, Step, lowered_plan, packed_scalars
from lazynp._policy import LARGEST

_SECONDS = 0.02  # of a run, about
_RECORDED = 1.0  # microseconds to record an operation, and to recognise it again
_GAIN = 1.5e-5  # microseconds a byte: of operations that only move memory
_PAUSE = 0.25  # of the price of a program, before it is asked for again
MOST = 256  # rounds of a run: rows of a matrix of scalars


@dataclass(frozen=True)
class Looping:
    """The primitives that a program of rounds needs besides its own."""

    loop: Rules
    add: Rules
    less: Rules
    slice: Rules


_looping: list[Looping] = []
loaders: list[Callable[[], None]] = []  # load the module that installs it


def install(looping: Looping) -> None:
    """Called once, by the module that declares the loop."""
    _looping[:] = [looping]


# -- one round -------------------------------------------------------------------------------------


class Unit:
    """The structure of a round, and the programs of rounds compiled for it."""

    __slots__ = (
        "ops", "plan", "next", "depth", "programs", "constants", "varying", "owed", "costs", "tied",
        "seconds", "refused", "_waiting",
        "_firsts", "_pairs", "_slots", "_host", "_carried", "_counts",
    )  # fmt: skip

    def __init__(self, shape: Shape) -> None:
        self.ops = shape.ops
        self.next: list[Ref] = shape.next
        self._firsts, self._slots, self._host = shape.firsts, shape.slots, shape.host
        self._pairs = shape.wired, shape.sources
        n = len(self.ops)
        self._carried = [i if kind == "node" else n + i for kind, i in self.next]
        self.depth, self._counts = shape.depth, shape.counts
        self.plan = Plan(shape.steps, shape.avals, [False] * len(shape.avals), [])
        self.programs: dict[Any, _Program] = {}
        self.constants: list[Any] | None = None
        self.varying: frozenset[int] = frozenset()
        self.tied: dict[int, int] | None = {}
        reference, compiled, compiling = self.plan.costs
        # A round needs no dispatch of its own, but it is recorded; eagerly, it would not be.
        compiled += _RECORDED * len(self.ops) - _cost.DISPATCH
        self.costs = reference, compiled, _cost.of_loop(self.ops, compiling)
        self.owed = 0.0
        self.seconds = 0.0  # of a round in the last run
        self._waiting = lowering.Waiting()
        # NumPy runs some of the operations much faster
        self.refused = config.execution == "adaptive" and any([_by_host(op) for op in self.ops])

    def matches(self, nodes: list[Node], start: int) -> tuple[list[list[Node]], list[list[Any]]]:
        """The rounds from `start` on: the leaves of each and of the next one, and their slots."""
        n = len(self.ops)
        leaves: Any = None
        before: list[Node] = []
        found: list[list[Node]] = []
        rows: list[list[Any]] = []
        while start + n <= len(nodes):
            part = nodes[start : start + n]
            operands = matched_round(self, part, before, leaves)
            if operands is None:
                break
            leaves = operands[0]
            found.append(leaves)
            rows.append(operands[1])
            before = part
            start += n
        if leaves is not None:
            found.append(self.next_leaves(before, leaves))
        return found, rows

    def next_leaves(self, before: list[Node], leaves: list[Node]) -> list[Node]:
        """The leaves of the round after this one."""
        both = [*before, *leaves]
        return [both[k] for k in self._carried]

    def free_rounds(self, references: list[int], start: int, rounds: int) -> int:
        """How many of the rounds nothing else refers to. `references`: of all nodes."""
        n = len(self.ops)
        for r in range(rounds - self.depth):
            if references[start + r * n : start + (r + 1) * n] != self._counts:
                return r
        return max(rounds - self.depth, 0)

    # -- running -----------------------------------------------------------------------------------

    def operations(self) -> int:
        """The number of operations to record before the next run."""
        rounds = int(_SECONDS / self.seconds) if self.seconds else LEAST
        most = min(MOST, 2 * config.max_pending // len(self.ops))
        return max(LEAST + self.depth, min(rounds, most)) * len(self.ops)

    def promises(self) -> bool:
        """Whether recording rounds that NumPy runs costs less than a program will gain."""
        reference, compiled, _ = self.costs
        return reference - compiled > PROMISING * len(self.ops)

    @property
    def small(self) -> bool:
        """Whether eager operations compute the rounds: none of the arrays is large."""
        results = [op.aval if isinstance(op.aval, tuple) else (op.aval,) for op in self.ops]
        return all([aval.nbytes <= LARGEST for avals in results for aval in avals])

    @property
    def gain(self) -> float:
        """The microseconds that a program gains for each byte that eager operations write."""
        reference, compiled, _ = self.costs
        results = [op.aval if isinstance(op.aval, tuple) else (op.aval,) for op in self.ops]
        written = sum([aval.nbytes for avals in results for aval in avals])
        return max((reference - compiled) / max(written, 1), _GAIN)

    def gain_of(self, operations: int) -> float:
        """The microseconds that a program gains in so many operations."""
        reference, compiled, _ = self.costs
        return max(reference - compiled, 0.0) * operations / len(self.ops)

    def short_of(self) -> float:
        """The bytes that rounds must still write before a program pays."""
        if self._waiting.work is not None:
            return _PAUSE * self.costs[2] / self.gain
        return 0.0 if self.programs else max(self.costs[2] - self.owed, 1.0) / self.gain

    @property
    def paid(self) -> bool:
        """Whether there is a program."""
        return bool(self.programs)

    def worth_compiling(self, rounds: int, more: float = 0.0) -> bool:
        """As for a plan; rounds that ran otherwise count. more: microseconds besides these."""
        if config.execution == "compiled" or self.programs:
            return True
        reference, compiled, compiling = self.costs
        self.owed += rounds * (reference - compiled) + more
        return self.owed >= compiling and lowering.has_room()

    def ready(self, rows: list[list[Any]]) -> bool:
        """Whether there is a program. If not, one is being compiled in the background."""
        try:
            self._waiting.ask(self._program, rows)
        except lowering.Unfinished:
            return False
        return True

    def run(self, leaves: list[list[Node]], rows: list[list[Any]], rounds: int) -> None:
        """Run these rounds, and give the leaves of the round after them their values."""
        program = self._program(rows)
        begin = perf_counter()
        # It consumes no operand, so a run that is interrupted can be repeated.
        values = program.run(leaves[0], rows, rounds)
        for j, value in zip(program.moving, values, strict=True):
            node = leaves[rounds][j]
            if node[VALUE] is None:
                node[VALUE], node[ARGS] = value, self.plan
        self.seconds = (perf_counter() - begin) / rounds
        STATS.compiled_runs += 1
        self.plan.runs += 1

    def _program(self, rows: list[list[Any]]) -> _Program:
        self._see(rows)
        tied = self.tied or {}
        if any([row[k] != row[first] for k, first in tied.items() for row in rows]):
            self.tied = None
            self.programs.clear()
        program = self.programs.get(self.varying)
        if program is None:
            if self.tied is not None:
                self.tied = self._equal_starts(rows)
            program = self.programs[self.varying] = _Program(self, rows[0])
        return program

    def _see(self, rows: list[list[Any]]) -> None:
        """Decide which slots are operands."""
        if self.constants is None:
            self.constants = list(rows[0])
        zeros = [k for k, v in enumerate(self.constants) if has_zero(v)]
        if not zeros and all([row == self.constants for row in rows]):
            return
        for k, constant in enumerate(self.constants):
            if k not in self.varying:
                column = [row[k] for row in rows]
                if k in zeros or column.count(constant) < len(column):
                    if not all([same_value(v, constant) for v in column]):
                        self.varying |= {k}

    def _equal_starts(self, rows: list[list[Any]]) -> dict[int, int]:
        """Start indices that were equal to an earlier one in all of these rounds."""
        firsts: dict[Any, int] = {}
        tied = {}
        for k in sorted(self.varying & self.plan.start_slots):
            first = firsts.setdefault(tuple([row[k] for row in rows]), k)
            if first != k:
                tied[k] = first
        return tied


def matched_round_in_python(
    unit: Unit, part: list[Node], before: list[Node], leaves: list[Node] | None
) -> tuple[list[Node], list[Any]] | None:
    """The leaves and slots of these nodes, if they are a round after that with these leaves."""
    if [x[OP] for x in part] != unit.ops:
        return None
    flat = list(chain.from_iterable([x[ARGS] for x in part]))
    if leaves is None:
        leaves = [flat[k] for k in unit._firsts]
    else:
        leaves = unit.next_leaves(before, leaves)
    wired, sources = unit._pairs
    both = [*part, *leaves]
    if not all([flat[k] is both[i] for k, i in zip(wired, sources, strict=True)]):
        return None
    slots = [flat[k] for k in unit._slots]
    for k in unit._host:
        value = slots[k] = slots[k][VALUE] if type(slots[k]) is list else None
        if not isinstance(value, np.generic):
            return None
    return leaves, slots


matched_round = in_front("round", matched_round_in_python, function=Unit, slot_type=np.generic)


def _by_host(op: Op) -> bool:
    outs = op.aval if isinstance(op.aval, tuple) else (op.aval,)
    return _cost.better_by_host(op.primitive, op.params, op.explicit, outs)


def _is_limited(op: Op) -> bool:
    """Whether it calls a function that may have few programs."""
    return isinstance(op.params.get("compiled"), Allowance)


class Shape:
    """What two rounds in succession show of the structure of one."""

    def __init__(self, part: list[Node], after: list[Node]) -> None:
        self.ops: list[Op] = [n[OP] for n in part]
        self.possible = not any(op.host or _is_limited(op) for op in self.ops)
        places = {id(n): i for i, n in enumerate(part)}
        leaves: dict[int, int] = {}
        found: list[Node] = []
        self.firsts: list[int] = []
        self.wired: list[int] = []
        self.sources: list[int] = []
        self.slots: list[int] = []
        self.host: list[int] = []
        self.steps: list[Step] = []
        flat_index = 0
        for i, node in enumerate(part):
            refs: list[Ref] = []
            for a in node[ARGS]:
                if type(a) is not list or isinstance(a[VALUE], np.generic):
                    if type(a) is list:
                        self.host.append(len(self.slots))
                    refs.append(("slot", len(self.slots)))
                    self.slots.append(flat_index)
                elif id(a) in places:
                    refs.append(("node", places[id(a)]))
                    self.wired.append(flat_index)
                    self.sources.append(places[id(a)])
                else:
                    if id(a) not in leaves:
                        leaves[id(a)] = len(found)
                        found.append(a)
                        self.firsts.append(flat_index)
                    refs.append(("leaf", leaves[id(a)]))
                    self.wired.append(flat_index)
                    self.sources.append(len(part) + leaves[id(a)])
                flat_index += 1
            if node[OP].primitive is PROJECT and refs[0][0] != "node":
                self.possible = False
            self.steps.append(Step(i, node[OP], tuple(refs)))
        self.avals: list[Aval] = [aval_of_node(n) for n in found]
        self.next = self._carries(places, leaves, after)
        # the rounds after one that hold some of its nodes; the references to each of its nodes
        self.depth, self.counts = 1, [COUNTED] * len(part)
        if self.possible:
            self._count()

    def _carries(
        self, places: dict[int, int], leaves: dict[int, int], after: list[Node]
    ) -> list[Ref]:
        """For each leaf: which node, or which leaf, of a round is this leaf of the next round."""
        flat = [a for n in after for a in n[ARGS]]
        carries: list[Ref] = []
        for k, aval in zip(self.firsts, self.avals, strict=True):
            a = flat[k] if k < len(flat) else None
            if type(a) is not list or isinstance(aval, tuple):
                self.possible = False
            elif id(a) in places:
                carries.append(("node", places[id(a)]))
                self.possible = self.possible and self.ops[places[id(a)]].aval is aval
            elif id(a) in leaves:
                carries.append(("leaf", leaves[id(a)]))
                self.possible = self.possible and self.avals[leaves[id(a)]] is aval
            else:
                self.possible = False
        return carries

    def _count(self) -> None:
        """Count the references that a round in the middle and the rounds after it make."""
        n = len(self.ops)
        uses = Counter(self.sources)
        self.counts = [COUNTED + uses[i] for i in range(n)]
        for j, (kind, i) in enumerate(self.next):
            if kind == "node":
                holders, length = [j], 1
                while holders:  # the leaves that get this value in the rounds after
                    self.counts[i] += sum([uses[n + h] for h in holders])
                    self.depth = max(self.depth, length)
                    length += 1
                    holders = [
                        h
                        for h, ref in enumerate(self.next)
                        if ref[0] == "leaf" and ref[1] in holders
                    ]
                    if holders and length > len(self.next):  # a circle
                        self.possible = False
                        break

    def signature(self) -> Any:
        refs = tuple([s.refs for s in self.steps])
        return tuple(self.ops), refs, tuple(self.next), tuple(self.host)


# -- the program -----------------------------------------------------------------------------------


class _Program:
    """A loop over rounds, compiled. Operands: the number of rounds, what stays the same, the
    matrices of scalars, what is carried.
    """

    __slots__ = ("fixed", "moving", "packed", "dtypes", "executable", "jaxpr")

    def __init__(self, unit: Unit, slots: list[Any]) -> None:
        begin = perf_counter()
        leaves = range(len(unit.next))
        self.moving = [j for j in leaves if unit.next[j] != ("leaf", j)]
        self.fixed = [j for j in leaves if unit.next[j] == ("leaf", j)]
        unit.plan.tied = unit.tied
        wanted = [unit.next[j] for j in self.moving]
        body, leaf_vars, vectors = lowered_plan(unit.plan, slots, unit.varying, wanted)
        self.packed = [(kind, indices) for kind, (_, indices) in vectors.items()]
        self.dtypes = {k: [unit.plan.slot_avals[i].dtype for i in ks] for k, ks in self.packed}
        rows = [var for var, _ in vectors.values()]
        self.jaxpr = self._looped(body, leaf_vars, rows)
        if config.debug:
            check(self.jaxpr)
        self.executable = lowering.compile_program(self.jaxpr)
        STATS.cache_hits += self.executable.from_disk
        STATS.compiles += not self.executable.from_disk
        STATS.compile_seconds += perf_counter() - begin
        unit.plan.jaxpr = self.jaxpr

    def _looped(self, body: Jaxpr, leaves: list[Var], rows: list[Var]) -> Jaxpr:
        if not _looping:
            loaders[0]()
        tools = _looping[0]
        count = aval_of((), np.dtype(np.int64))
        stop, place = Var(count), Var(count)
        fixed = [leaves[j] for j in self.fixed]
        moving = [leaves[j] for j in self.moving]
        matrices = [Var(aval_of((MOST, *r.aval.shape), r.aval.dtype)) for r in rows]
        eqns: list[Eqn] = []
        for row, matrix in zip(rows, matrices, strict=True):
            (n,) = row.aval.shape
            zero = Literal(np.int64(0), count)
            params = {"axes": (0, 1), "sizes": (1, n), "strides": (1, 1), "shape": (n,)}
            eqns.append(Eqn(tools.slice, [matrix, place, zero], params, [row]))
        after = Var(count)
        more = Eqn(tools.add, [place, Literal(np.int64(1), count)], {}, [after])
        inputs = [stop, *fixed, *matrices, place, *moving]
        body = Jaxpr(inputs, [*eqns, *body.eqns, more], [after, *body.outputs])
        going = Var(aval_of((), np.dtype(np.bool_)))
        tested = [Var(v.aval) for v in inputs]
        at = len(inputs) - len(moving) - 1
        test = Jaxpr(tested, [Eqn(tools.less, [tested[at], tested[0]], {}, [going])], [going])
        params = {"cond": test, "body": body, "consts": at, "count": None, "place": ""}
        outer = [Var(v.aval) for v in inputs]
        begins: list[Atom] = [*outer]
        begins[at] = Literal(np.int64(0), count)
        outs = [Var(v.aval) for v in inputs[at:]]
        del outer[at]
        return Jaxpr(outer, [Eqn(tools.loop, begins, params, outs)], outs[1:])

    def run(self, leaves: list[Node], rows: list[list[Any]], rounds: int) -> list[Any]:
        executable = self.executable
        args = [executable.put(np.array(rounds, np.int64), True)]
        args += [_buffer(leaves[j], executable) for j in self.fixed]
        for kind, indices in self.packed:
            dtypes = self.dtypes[kind]
            vectors = [
                packed_scalars(kind, [row[k] for k in indices], dtypes) for row in rows[:rounds]
            ]
            matrix = np.zeros((MOST, len(indices)), vectors[0].dtype)
            matrix[:rounds] = vectors
            args.append(executable.put(matrix, True))
        args += [_buffer(leaves[j], executable) for j in self.moving]
        return executable.run(args)


def _buffer(node: Node, executable: Any) -> Any:
    if node[VALUE] is None:
        return executable.put(np.array(_reference.host_view(node), order="C"), True)
    return buffer_of(node, executable)


heads: Memo[Any, Unit] = Memo("heads", 1 << 10, costly=True)  # by the first operation
units: Memo[Any, Unit] = Memo("rounds", 1 << 10, costly=True)  # by signature


def forget() -> None:
    """Drop the programs."""
    heads.clear()
    units.clear()
