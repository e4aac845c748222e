"""Rounds: many rounds of a Python loop in one run of one program.

A loop that asks for no value leaves the same operations pending again and again. `find` recognises
the rounds among the pending nodes, and `roll` runs the complete ones from the front. The newest
rounds stay pending: the user's variables still refer to their results. A round can be taken only if
nothing but the next rounds refers to its results. Reference counts tell.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from lazynp import _graph, _reference
from lazynp._cutsites import Gathered
from lazynp._dataclass import dataclass
from lazynp._node import CODE, OFFSET, OP, VALUE, Node
from lazynp._observers import observers
from lazynp._ownership import counts
from lazynp._periods import LEAST, best_start, find_period
from lazynp._stale import let_go
from lazynp._unit import MOST, Shape, Unit, heads, units


@dataclass
class Found:
    """Rounds among the pending nodes."""

    unit: Unit
    start: int
    rounds: int
    leaves: list[list[Node]]
    rows: list[list[Any]]

    @property
    def end(self) -> int:
        return self.start + self.rounds * len(self.unit.ops)

    def run(self, reason: Any) -> None:
        self.unit.plan.reason, self.unit.plan.tier = reason, "compiled"
        self.unit.run(self.leaves, self.rows, self.rounds)

    def ready(self) -> bool:
        """Whether the first round has its operands."""
        for node in self.leaves[0]:
            if node[VALUE] is None and _reference.host_view(node) is None:
                return False
        return True


def find(nodes: list[Node]) -> Found | None:
    """The rounds among these nodes that a program may run now. Hold no other reference to them."""
    references = counts(nodes)
    for i, node in enumerate(nodes):
        unit = heads.get((node[OP], id(node[CODE]), node[OFFSET]))
        if unit is not None:
            found = _taken(unit, nodes, i, references)
            if found is not None and (found.rounds == MOST or 2 * found.end > len(nodes)):
                return found
            break
    return _search(nodes, references)


def _taken(unit: Unit, nodes: list[Node], start: int, references: list[int]) -> Found | None:
    leaves, rows = unit.matches(nodes, start)
    rounds = min(unit.free_rounds(references, start, len(rows)), MOST)
    if rounds < LEAST - 1 or len(leaves) <= rounds:
        return None
    return Found(unit, start, rounds, leaves, rows[:rounds])


def _search(nodes: list[Node], references: list[int]) -> Found | None:
    period = find_period(nodes)
    if period is None:
        return None
    begin, end, length = period
    start = best_start(nodes, begin, end, length)
    middle = start + length
    if middle + 2 * length > end:
        start, middle = begin, begin + length
    if middle + 2 * length > end:
        return None
    shape = Shape(nodes[middle : middle + length], nodes[middle + length : middle + 2 * length])
    if not shape.possible:
        return None
    signature = shape.signature()
    unit = units.get(signature)
    if unit is None:
        unit = units.put(signature, Unit(shape))
    head = nodes[start]
    heads.put((head[OP], id(head[CODE]), head[OFFSET]), unit)
    del head  # its reference
    return _taken(unit, nodes, start, references)


# -- a flush ---------------------------------------------------------------------------------------


def roll(nodes: list[Node], gathered: Gathered, reason: Any) -> Unit | None:
    """Run the complete rounds among these nodes, and what comes before them. Both leave the list.

    By a program, if that pays; else by reference.
    """
    let_go()
    found = find(nodes)
    if found is None or found.unit.refused:
        return None
    unit, end = found.unit, found.end
    begin, first = perf_counter() if observers else 0.0, (nodes[0][CODE], nodes[0][OFFSET])
    gained = unit.gain * gathered.spent  # if a program had run what ran eagerly
    if not (unit.worth_compiling(found.rounds, gained) and unit.ready(found.rows)):
        gathered.spent = 0.0
        del found  # its references
        part = nodes[:end]
        del nodes[:end]
        try:
            _graph.by_reference(part, None)
        except BaseException:
            nodes[:0] = part
            raise
    else:
        _evaluate_first(nodes, found.start, None, reason)
        if not found.ready():
            return None
        found.run(reason)
        del nodes[: end - found.start]
    if begin:
        for o in observers:
            o.ran(begin, "compiled" if unit.paid else "reference", end, first, reason)
    return unit


def in_parts(nodes: list[Node], asked: Any, reason: Any, gathered: Gathered) -> Any:
    """Evaluate all rounds but the last one by one, or up to the one with the value asked for."""
    plan = None
    if gathered.plan is None:
        return None
    while (count := gathered.part(nodes)) and (asked is None or asked[VALUE] is None):
        plan = _evaluate_first(nodes, count, None, reason)
    return plan


def _evaluate_first(nodes: list[Node], count: int, asked: Node | None, reason: Any) -> Any:
    """Evaluate the first nodes and drop them from the list."""
    part = nodes[:count]
    del nodes[:count]
    try:
        return _graph.evaluate(part, asked, reason) if part else None
    except BaseException:
        nodes[:0] = part
        raise
