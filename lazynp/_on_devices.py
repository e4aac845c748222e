"""A flush of what belongs on other devices than the first: compiled for them, under every policy.

The nodes of one place are in a recorder of their own (`_placed`), so a program has operands of one
place only. Values from elsewhere are leaves that hold a `Later`; they are fetched before it runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._alone import TIMES, Alone, Prepared, run_compiled
from lazynp._form import depth_first, drop_dead, outside_of, scan
from lazynp._graph import build, drop_evaluated, project_now
from lazynp._jaxpr import Jaxpr
from lazynp._memo import Memo
from lazynp._node import ARGS, OP, VALUE, Node, Op
from lazynp._observers import observers
from lazynp._ownership import counts, only_here
from lazynp._plan import STATS, Plan
from lazynp._program_of import program_of
from lazynp._recorder import PlacedRecorder
from lazynp._stale import let_go


class Later:
    """The value of a leaf that is elsewhere: `fetch` brings it to the host."""

    __slots__ = ("node", "fetch", "layout")

    def __init__(self, node: Node, fetch: Any, layout: Any = None) -> None:
        self.node, self.fetch, self.layout = node, fetch, layout


class PlacedPlan(Plan):
    """How a form runs on these devices, its leaves laid out so."""

    __slots__ = ("place", "layouts")

    place: Any
    layouts: tuple[Any, ...]

    def compiled(self, jaxpr: Jaxpr, leaves: list[int]) -> Any:
        layouts = [self.layouts[j] for j in leaves]
        layouts += [None] * (len(jaxpr.inputs) - len(leaves))  # packed scalars
        return lowering.compile_spread(jaxpr, self.donate(leaves), self.place, layouts)


_plans: Memo[Any, PlacedPlan] = Memo("placed plans", costly=True)
ALONE: Memo[Any, Alone] = Memo("placed calls", costly=True)  # by the place and the call's op


def evaluate(
    recorder: PlacedRecorder, nodes: list[Node], asked: Node | None, reason: Any
) -> Plan | None:
    """`_graph.evaluate` for the devices of this recorder."""
    place = recorder.place
    if nodes and asked is not None and not recorder.sources:
        alone = ALONE.get((place, nodes[0][OP]))
        if (
            alone is not None
            and _fits(alone, nodes)
            and alone.run(nodes, asked, reason, placed=True)
        ):
            alone.times += 1
            count(alone.plan)
            return alone.plan
    STATS.cuts += 1
    let_go()
    _forget_sources(recorder)
    drop_dead(nodes, asked)
    found = scan(nodes, asked)
    if found is None:
        _complete(nodes, asked)
        found = scan(nodes, asked)
        assert found is not None
    _not_alone(place, nodes)
    there = place.there()
    key, leaves, slots = _brought(nodes, asked, found, there)
    layouts = tuple([lowering.layout_of(n[VALUE]) for n in leaves])
    node_counts, leaf_counts = counts(nodes), counts(leaves)
    outside, leaf_outside = outside_of(nodes, leaves, node_counts, leaf_counts)
    if key[-1] >= 0:
        outside[key[-1]] = True
    form = (place, layouts, tuple(key), tuple(outside), tuple(leaf_outside))
    plan = _plans.get(form)
    if plan is None:
        made: Any = build(nodes, leaves, outside, leaf_outside, key[-1], make=PlacedPlan)
        made.place, made.layouts = there, layouts
        plan = _plans.put(form, made)
    if plan.outputs:
        if nodes[0][OP].primitive.kind == "call":
            alone = Alone.of(plan, nodes, asked)
            if alone is not None:
                ALONE.put((place, nodes[0][OP]), alone)
        plan.reason = reason
        plan.runs += 1
        run_compiled(plan, nodes, leaves, slots)
        count(plan)
    nodes.clear()
    return plan


def _brought(nodes: list[Node], asked: Node | None, found: Any, there: Any) -> Any:
    """What `scan` found, with the leaves here. One that comes from another place may have needed a
    value of these nodes, in a chain of places: that one is a leaf now.
    """
    while True:
        leaves = found[1]
        for i in range(len(leaves)):
            bring(leaves[i], there)
        if all([n[VALUE] is None for n in nodes]):
            return found
        nodes[:] = [n for n in nodes if n[VALUE] is None]
        found = scan(nodes, asked)


def at_once(recorder: PlacedRecorder, op: Op, operands: tuple[Node, ...]) -> Any:
    """The plan and the results of a call, run now; None: record it.

    It runs now if it has always run by itself, and if a value was asked for since the last such
    call: otherwise, as in a loop, several calls may become one program.
    """
    place = recorder.place
    alone = ALONE.get((place, op))
    if alone is None or alone.times < TIMES or recorder.pending or recorder.sources:
        return None
    if not place.asked or place.shared:
        return None
    plan = alone.plan
    program = plan.current
    if program is None or observers:
        return None
    prepared = alone.prepared
    if prepared is None or prepared.program is not program:
        prepared = alone.prepared = Prepared(alone.slots, program)
    buffers = []
    for j, wanted in prepared.leaves:
        value = operands[j][VALUE]
        if type(value) is not lowering.Buffer or value.aval is not wanted:
            return None
        buffers.append(value)
    if prepared.slots:
        results = _with_numbers(plan, prepared, operands)
        if results is None:
            return None
    else:
        results = prepared.run(buffers, None, True)
        STATS.compiled_runs += 1
    place.asked = False
    plan.runs += 1
    STATS.cuts += 1
    if prepared.moves:
        count(plan)
    return plan, results


def _with_numbers(plan: Plan, prepared: Prepared, operands: tuple[Node, ...]) -> Any:
    """Run with numbers that may differ from call to call; None: not now."""
    numbers = [operands[j][VALUE] for j in prepared.slots]
    into: list[Any] = []
    try:
        plan.run([operands[j] for j in prepared.places], numbers, into)
    except lowering.Unfinished:  # its program for other numbers is still being compiled
        if plan.at_once:
            raise
        return None
    return into[0]


def _not_alone(place: Any, nodes: list[Node]) -> None:
    """Calls among these did not run by themselves."""
    if len(nodes) > 1 and ALONE:
        for node in nodes:
            if node[OP].primitive.kind == "call":
                alone = ALONE.get((place, node[OP]))
                if alone is not None:
                    alone.times = 0


def _fits(alone: Alone, nodes: list[Node]) -> bool:
    """Whether the operands of the call lie where and as the program takes them."""
    program = alone.plan.current
    operands = nodes[0][ARGS]
    if program is None or len(operands) != len(alone.slots):
        return False
    leaves = [a for a, slot in zip(operands, alone.slots, strict=True) if not slot]
    for j, wanted in zip(program.leaves, program.executable.wanted, strict=False):
        value = leaves[j][VALUE]
        if type(value) is not lowering.Buffer or value.aval is not wanted:
            return False
    return True


def foreseen(node: Node, place: Any) -> Any:
    """The program that would compute a pending node and nothing else."""
    jaxpr, leaves = program_of([node], [])
    there = place.there()
    for leaf in leaves:
        bring(leaf, there)
    layouts = [lowering.layout_of(leaf[VALUE]) for leaf in leaves]
    return lowering.compile_spread(jaxpr, (), there, layouts)


def count(plan: Plan) -> None:
    """Add what a run has moved to the counters."""
    program = plan.current
    assert program is not None
    kinds, size = program.executable.moved
    for kind, n in kinds.items():
        STATS.collectives[kind] += n
    STATS.collective_bytes += size


def _forget_sources(recorder: PlacedRecorder) -> None:
    """Forget the nodes from elsewhere that nobody else refers to any more."""
    for key in list(recorder.sources):
        if only_here(recorder.sources[key], 0):
            del recorder.sources[key]


def bring(leaf: Node, there: Any) -> None:
    """Make the value of a leaf a buffer on these devices."""
    value = leaf[VALUE]
    layout = None
    if type(value) is Later:
        layout = value.layout
        value = np.asarray(value.fetch(value.node))
    if type(value) is lowering.Buffer:
        if lowering.is_at(value, there):
            return
        value = lowering.gathered(value)
    leaf[VALUE] = there.put(value, layout)


def _complete(nodes: list[Node], asked: Node | None) -> None:
    """Drop evaluated nodes; insert pending nodes that are in no list, operands first."""
    if asked is not None and asked[VALUE] is None and asked[OP] is not None:
        project_now(asked)
    drop_evaluated(nodes)
    if asked is not None and asked[VALUE] is None:
        nodes.append(asked)
    order: list[Node] = []
    known: set[int] = set()
    for node in nodes:
        if id(node) not in known:
            depth_first(node, known, order)
    node = None  # a leftover loop variable would count as an outside reference
    nodes[:] = order
    drop_evaluated(nodes)
