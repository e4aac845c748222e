"""Calls of a jitted function that run by themselves.

Where nothing but a call and its results is pending when a value is asked for, the call's program is
known from its op: no search for a form is needed. Where that has come again and again, the next
call does not wait until it is asked for. It runs at once, and nothing is recorded.

Calls that gain nothing by a program, as those of a few small operations, run at once too: as
sequences of operations by NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._avals import aval_of
from lazynp._config import config
from lazynp._memo import Memo
from lazynp._node import ARGS, BORROWED, CODE, OP, PROJECT, VALUE, Node, Op
from lazynp._observers import observers
from lazynp._plan import STATS, Plan, Sighting
from lazynp._plan_jaxpr import VECTORS
from lazynp._recorder import Recorder
from lazynp._reference import exclusively, host, note_read
from lazynp._sequences import OpSequence, sequence_of


def run_alone(nodes: list[Node], asked: Node, reason: Any) -> Plan | None:
    """If these are a call of a function and its results, and ran before, run them the same way."""
    alone = ALONE.get(nodes[0][OP])
    if alone is None:
        return None
    if alone.sequence is not None:
        alone.times = alone.times + 1 if alone.fits(nodes, asked) else 0
        return None
    if alone.run(nodes, asked, reason):
        alone.times += 1
        return alone.plan
    alone.times = 0
    return None


TIMES = 2  # runs by itself, one after the other, before a call no longer waits for others
# Calls of sequences that run at once, before one waits whether a value is asked for: to compute
# with a value that is there does not count as that. One call of a program counts as so many.
PATIENCE = 64


def at_once(recorder: Recorder, op: Op, operands: tuple[Node, ...]) -> Any:
    """The plan and the results of a call, run now; None: record it.

    It runs now if it has always run by itself, and if a value was asked for since the last such
    call: otherwise, as in a loop, several calls may become one program.
    """
    alone = ALONE.get(op)
    if alone is None or alone.times < TIMES or recorder.unasked >= PATIENCE or recorder.pending:
        return None
    if observers or config.execution == "reference" or recorder.observed:
        return None
    if alone.sequence is not None:
        return exclusively(_run_sequence, recorder, alone, operands)
    return exclusively(_run_now, recorder, alone, operands)


def _run_now(recorder: Recorder, alone: Alone, operands: tuple[Node, ...]) -> Any:
    plan = alone.plan
    found = alone.values_of(operands) if alone.is_ready() else None
    if found is None:
        return None
    note_read(found[0])
    program = plan.current
    assert program is not None  # it is ready
    if alone.prepared is None or alone.prepared.program is not program:
        alone.prepared = Prepared(alone.slots, program)  # for the front in C
    results: list[Any] = []
    try:
        plan.run(*found, results)
    except lowering.Unfinished:  # its program for other numbers is still being compiled
        if plan.at_once:
            raise
        return None
    recorder.unasked = PATIENCE
    alone.count()
    return plan, results[0]


def _run_sequence(recorder: Recorder, alone: Alone, operands: tuple[Node, ...]) -> Any:
    if config.execution != "adaptive" or config.debug_nans or not alone.left:
        return None
    if any([a[VALUE] is None for a in operands]):
        return None
    results = alone.sequence.run(recorder.quiet, [host(a) for a in operands])
    if results is None:
        return None
    recorder.unasked += 1
    alone.left -= 1
    if not alone.left:
        alone.times = -_FOREVER  # the next calls make a program
    STATS.cuts += 1
    STATS.reference_runs += 1
    return None, results


def ran_by_numpy(known: Plan | Sighting, nodes: list[Node], asked: Node | None) -> None:
    """A call of a function is about to be interpreted, as its program does not pay yet: if it is
    small and by itself, the next ones may run as a sequence.
    """
    op = nodes[0][OP]
    alone = ALONE.get(op)
    if alone is not None and alone.sequence is not None and not alone.left:
        _charge(known)
    if alone is not None or asked is None or config.execution != "adaptive":
        return
    sequence = _sequences.get(op, _UNKNOWN)
    if sequence is _UNKNOWN:
        plain = op.primitive.name == "jit" and not op.params.get("donate")
        sequence = _sequences.put(op, sequence_of(op.params["jaxpr"]) if plain else None)
    if sequence is None:
        return
    place = next((i for i, n in enumerate(nodes) if n is asked), 0)
    alone = Alone(known, [n[OP] for n in nodes], place, [], sequence)
    if alone.fits(nodes, asked) and len(nodes) == 1 + len(op.aval):
        ALONE.put(op, alone)


def _charge(known: Plan | Sighting) -> None:
    """Runs of a sequence have cost as much as this form's program."""
    if isinstance(known, Sighting):
        known.left, known.paid = 0, known.costs[2]
    else:
        known.owed = max(known.owed, known.costs[2])


class Alone:
    """How a call of a function (`jit`) ran when nothing but its results was pending.

    The next such call runs without a search for its form. In general, references decide which
    memory results may reuse and which are wanted. Here no result reuses an operand's memory, and
    all are wanted.
    """

    __slots__ = ("plan", "ops", "place", "slots", "times", "prepared", "sequence", "left")

    def __init__(
        self, plan: Any, ops: list[Op], place: int, slots: list[bool],
        sequence: OpSequence | None = None,
    ) -> None:  # fmt: skip
        """sequence: what runs instead of the plan's program. Then the plan may be a sighting."""
        self.plan, self.ops, self.place, self.slots = plan, ops, place, slots
        self.times = 0  # runs by itself, one after the other
        self.prepared: Any = None
        self.sequence: Any = sequence
        self.left = (
            0 if sequence is None else _runs_of(sequence, plan.costs)
        )  # until a program pays

    @staticmethod
    def of(plan: Plan, nodes: list[Node], asked: Node | None) -> Alone | None:
        """None if other such calls may not run this way."""
        call, *results = nodes
        if not call[OP].primitive.multiple_results or len(results) != len(call[OP].aval):
            return None
        if not all(n[OP].primitive is PROJECT and n[ARGS][0] is call for n in results):
            return None
        place = next((i for i, n in enumerate(results, 1) if n is asked), 0)
        whole = plan.outputs[0] == 0 or len(plan.outputs) == len(call[OP].aval)
        if not place or not whole or plan.donated():
            return None
        args = call[ARGS]
        if not all([type(a) is list for a in args]) or len(set(map(id, args))) < len(args):
            return None
        slots = [isinstance(a[VALUE], np.generic) for a in args]
        return Alone(plan, [n[OP] for n in nodes], place, slots)

    def fits(self, nodes: list[Node], asked: Node | None) -> bool:
        """Whether these are such a call again, with operands that are there."""
        call, *results = nodes
        if [n[OP] for n in nodes] != self.ops or not self.place or nodes[self.place] is not asked:
            return False
        if not all(n[OP].primitive is PROJECT and n[ARGS][0] is call for n in results):
            return False
        return all([type(a) is list and a[VALUE] is not None for a in call[ARGS]])

    def is_ready(self) -> bool:
        """Whether its program may run, as things stand."""
        plan = self.plan
        if config.debug_nans or plan.current is None or plan.lean is not None:
            return False
        return not (plan.watch and plan.watch.candidates)

    def values_of(self, operands: tuple[Node, ...]) -> tuple[list[Node], list[Any]] | None:
        """The operands that are arrays, and the numbers; None: not as its program takes them."""
        if len(operands) > 1 and len(set(map(id, operands))) < len(operands):
            return None
        slots = []
        leaves = []
        for a, slot in zip(operands, self.slots, strict=True):
            value = a[VALUE]
            if value is None or isinstance(value, np.generic) is not slot:
                return None
            if slot:
                slots.append(value)
            else:  # a program's buffer of borrowed memory is for this run alone
                leaves.append(a[:] if a[CODE] is BORROWED else a)
        return leaves, slots

    def run(self, nodes: list[Node], asked: Node, reason: Any, placed: bool = False) -> bool:
        """Run the call, if nothing else is to run. placed: elsewhere, where no policy matters."""
        plan = self.plan
        call = nodes[0]
        if [n[OP] for n in nodes] != self.ops or nodes[self.place] is not asked:
            return False
        if call[VALUE] is not None or not self.is_ready():
            return False
        if config.execution == "reference" and not placed:
            return False
        found = self.values_of(call[ARGS])
        if found is None:
            return False
        del call  # a held reference would make it one of the results
        note_read(found[0])
        try:
            run_compiled(plan, nodes, *found)
        except lowering.Unfinished:  # its program for other numbers is still being compiled
            if plan.at_once:
                raise
            return False
        self.count()
        plan.reason = reason
        nodes.clear()
        return True

    def count(self) -> None:
        STATS.cuts += 1
        self.plan.runs += 1
        self.plan.tier = "compiled"


def _runs_of(sequence: OpSequence, costs: tuple[float, float, float]) -> int:
    """How often it runs before a program would have paid. costs: by reference, of the program, and
    of compiling it.
    """
    _, compiled, compiling = costs
    gain = sequence.cost - compiled
    return int(min(compiling / gain, _FOREVER)) if gain > 0 else _FOREVER


_FOREVER = 1 << 40


class Prepared:
    """What does not change from call to call: the program, and where its operands are."""

    __slots__ = (
        "program", "executable", "run", "places", "leaves", "slots", "moves", "stages", "vectors",
        "fixed",
    )  # fmt: skip

    def __init__(self, slots: list[bool], program: Any) -> None:
        """slots: for each operand of the call, whether it is a number."""
        executable = program.executable
        self.places = [j for j, slot in enumerate(slots) if not slot]
        self.slots = [j for j, slot in enumerate(slots) if slot]
        # the operand's place, and the description of the buffer that it must have
        self.leaves = [
            (self.places[j], wanted)
            for j, wanted in zip(program.leaves, executable.wanted, strict=False)
        ]
        self.program, self.executable, self.run = program, executable, executable.run
        self.moves = bool(getattr(executable, "collectives", ()))  # on one device, none
        self.stages = [_stage(executable, wanted) for _, wanted in self.leaves]
        # the numbers that are operands, for each vector of them: memory that is a buffer, and their
        # places; None: C does not make one of them
        self.vectors: list[Any] | None = []
        varying: set[int] = set()
        for wanted, (kind, indices) in zip(executable.wanted[len(self.leaves) :], program.packed):
            vector = aval_of((len(indices),), VECTORS[kind])
            plain = all([d is vector.dtype for d in program.dtypes[kind]]) and kind in "if"
            stage = _stage(executable, wanted) if plain else None
            if stage is None:
                self.vectors = None
                break
            self.vectors.append((*stage, [self.slots[k] for k in indices]))
            varying.update(indices)
        # those that the program was compiled for, among the numbers
        self.fixed = [k for k in range(len(self.slots)) if k not in varying]


_STAGED = 1 << 16  # bytes: to copy more takes longer than to make a buffer


def _stage(executable: Any, wanted: Any) -> Any:
    """Memory to which C copies an operand of each run, and the buffer that it is: to make a buffer
    takes as long as to run a small program. None: there is no such memory.

    Runs are synchronous, and XLA copies an operand that is a result. So the memory is free again
    after a run.
    """
    if type(executable) is not lowering.Executable or executable.platform != "cpu":
        return None
    aval = wanted.aval
    if not 0 < aval.nbytes <= _STAGED:
        return None
    memory = lowering.aligned_empty(aval.shape, aval.dtype)
    memory[...] = 0
    buffer = executable.put(memory, True)
    places = [x.__array_interface__["data"][0] for x in (memory, lowering.host(buffer))]
    return (memory, buffer) if places[0] == places[1] else None


ALONE: Memo[Op, Alone] = Memo("calls", costly=True)  # by the op of the call
_UNKNOWN: Any = object()
_sequences: Memo[Op, OpSequence | None] = Memo("sequences")  # by the op of the call; None: unfit


def run_compiled(plan: Plan, nodes: list[Node], leaves: list[Node], slots: list[Any]) -> None:
    results: list[Any] = []
    try:
        plan.run(leaves, slots, results)
        _commit(nodes, plan, results[0])
    except BaseException:
        if results:  # interrupted after the run, which may have consumed donated operands
            _commit(nodes, plan, results[0])
        raise


def _commit(nodes: list[Node], plan: Plan, results: list[Any]) -> None:
    position = 0
    for i in plan.outputs:
        node = nodes[i]
        op = node[OP]
        if op.primitive.multiple_results:
            count = len(op.aval)
            node[VALUE] = tuple(results[position : position + count])
            position += count
        else:
            node[VALUE] = results[position]
            position += 1
        node[ARGS] = plan
