"""Calls of a jitted function that run by themselves.

Where nothing but a call and its results is pending when a value is asked for, the call's program is
known from its op: no search for a form is needed. Where that has come again and again, the next
call does not wait until it is asked for. It runs at once, and nothing is recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._config import config
from lazynp._memo import Memo
from lazynp._node import ARGS, BORROWED, CODE, OP, PROJECT, VALUE, Node, Op
from lazynp._observers import observers
from lazynp._plan import STATS, Plan
from lazynp._recorder import Recorder
from lazynp._reference import exclusively, note_read


def run_alone(nodes: list[Node], asked: Node, reason: Any) -> Plan | None:
    """If these are a call of a function and its results, and ran before, run them the same way."""
    alone = ALONE.get(nodes[0][OP])
    if alone is None:
        return None
    if alone.run(nodes, asked, reason):
        alone.times += 1
        return alone.plan
    alone.times = 0
    return None


TIMES = 2  # runs by itself, one after the other, before a call no longer waits for others


def at_once(recorder: Recorder, op: Op, operands: tuple[Node, ...]) -> Any:
    """The plan and the results of a call, run now; None: record it.

    It runs now if it has always run by itself, and if a value was asked for since the last such
    call: otherwise, as in a loop, several calls may become one program.
    """
    alone = ALONE.get(op)
    if alone is None or alone.times < TIMES or not recorder.was_asked or recorder.pending:
        return None
    if observers or config.execution == "reference" or recorder.observed:
        return None
    return exclusively(_run_now, recorder, alone, operands)


def _run_now(recorder: Recorder, alone: Alone, operands: tuple[Node, ...]) -> Any:
    plan = alone.plan
    found = alone.values_of(operands) if alone.is_ready() else None
    if found is None:
        return None
    note_read(found[0])
    program = plan.current
    assert program is not None  # it is ready
    if not program.packed and (alone.prepared is None or alone.prepared.program is not program):
        alone.prepared = Prepared(alone.slots, program)  # for the front in C
    results: list[Any] = []
    try:
        plan.run(*found, results)
    except lowering.Unfinished:  # its program for other numbers is still being compiled
        if plan.at_once:
            raise
        return None
    recorder.was_asked = False
    alone.count()
    return plan, results[0]


class Alone:
    """How a call of a function (`jit`) ran when nothing but its results was pending.

    The next such call runs without a search for its form. In general, references decide which
    memory results may reuse and which are wanted. Here no result reuses an operand's memory, and
    all are wanted.
    """

    __slots__ = ("plan", "ops", "place", "slots", "times", "prepared")

    def __init__(self, plan: Plan, ops: list[Op], place: int, slots: list[bool]) -> None:
        self.plan, self.ops, self.place, self.slots = plan, ops, place, slots
        self.times = 0  # runs by itself, one after the other
        self.prepared: Any = None

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


class Prepared:
    """What does not change from call to call: the program, and where its operands are."""

    __slots__ = ("program", "executable", "run", "places", "leaves", "slots", "moves")

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


ALONE: Memo[Op, Alone] = Memo("calls", costly=True)  # by the op of the call


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
