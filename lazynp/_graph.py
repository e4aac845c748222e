"""The pending graph: what a flush contains, in which order, and who evaluates it.

A flush takes the pending nodes of one thread in recording order, which is a topological order, and
every pending node that they refer to and that is in no list (a parked view, another thread's work).
Reference counts determine its outputs: nodes that something outside the flush still refers to. A
count that is too high only adds an output. Results that cost nothing to recompute (views,
broadcasts, iotas) stay pending, outside any list ("parked"); their operands become outputs instead.

One lock serialises evaluation. Its holder claims the nodes, so nothing is computed twice. A flush
that fails leaves every node as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from lazynp import _blocks, _reference, _unit, lowering
from lazynp._alone import ALONE, Alone, ran_by_numpy, run_compiled
from lazynp._config import config
from lazynp._form import Likeness, depth_first, drop_dead, outside_of, place_of, scan
from lazynp._fronts import in_front
from lazynp._memo import Memo
from lazynp._node import ARGS, CODE, OFFSET, OP, PROJECT, VALUE, Node, aval_of_node
from lazynp._ownership import COUNTED, counts
from lazynp._plan import STATS, Plan, Sighting
from lazynp._plan_jaxpr import Ref, Step
from lazynp._reference import is_parked, keep_views, note_read, watched
from lazynp._stale import let_go
from lazynp._unread import after_run, before_run, leave, regret

lowering.keep_freed_memory()  # at import: eager operations allocate before anything is flushed


def evaluate(nodes: list[Node], asked: Node | None, reason: Any) -> Plan | Sighting | None:
    """Give a value to `asked` and to everything still referred to. Call with the lock held.

    Returns what is known of the form; None under a policy that ignores forms.

    `nodes` is consumed. Nodes left in it afterwards, also after an exception, are pending.
    """
    STATS.cuts += 1
    let_go()
    if nodes and nodes[0][OP].primitive.kind == "once":
        _run_first(nodes, asked)
        if asked is not None and asked[VALUE] is not None:
            asked = None
        if not nodes and asked is None:
            return None
    if config.execution == "reference" or config.debug_nans:
        by_reference(nodes, asked)
        return None
    plan, leaves, slots = _planned(nodes, asked)
    if watched:
        note_read(leaves)
    if isinstance(plan, Plan):
        if not plan.outputs:
            nodes.clear()
            return plan
        plan.reason = reason
        plan.runs += 1
    verdict, begin = plan.verdict, perf_counter()
    if isinstance(plan, Plan) and (plan.current is not None or not plan.by_reference()):
        if _by_program(plan, nodes, asked, leaves, slots, reason):
            nodes.clear()
            if verdict is not None:
                plan.took(perf_counter() - begin)
            return plan
    elif nodes and nodes[0][OP].primitive.kind == "call":
        ran_by_numpy(plan, nodes, asked)
    STATS.reference_runs += 1
    plan.tier = "reference"
    del leaves  # references that would keep operands from being reused
    _blocks.run(nodes, asked)
    if verdict is not None:
        verdict.by_numpy(perf_counter() - begin)
    return plan


def _by_program(
    plan: Plan, nodes: list[Node], asked: Node | None, leaves: list[Node], slots: list[Any],
    reason: Any,
) -> bool:  # fmt: skip
    """Whether there is a program; it has run. If not, it is being compiled in the background."""
    plan.tier = "compiled"
    if plan.watch is not None and plan.lean is None:
        before_run(plan)
    try:
        if plan.lean is not None:
            run_compiled(plan.lean, nodes, leaves, slots)
            plan.lean.runs += 1
            plan.lean.reason = reason
            leave(plan, nodes)
            return True
        if nodes and nodes[0][OP].primitive.kind == "call":
            alone = Alone.of(plan, nodes, asked)
            if alone is not None:
                ALONE.put(nodes[0][OP], alone)
        run_compiled(plan, nodes, leaves, slots)
        if not plan.limited and (plan.watch is None or plan.watch.candidates):
            after_run(plan, nodes, asked)
    except lowering.Unfinished:
        if plan.at_once:
            raise
        return False
    return True


def _run_first(nodes: list[Node], asked: Node | None) -> None:
    """Run the first node, and what takes its results. No table knows its op, so that a form with it
    would never come again: see `single_ops`.
    """
    count = 1
    while count < len(nodes) and nodes[count][OP].primitive is PROJECT:
        if nodes[count][ARGS][0] is not nodes[0]:
            break
        count += 1
    first = nodes[:count]
    del nodes[:count]
    STATS.reference_runs += 1
    try:
        _reference.run(first, asked)
    finally:
        nodes[:0] = first


def by_reference(nodes: list[Node], asked: Node | None) -> None:
    """Evaluate without looking for a form."""
    STATS.reference_runs += 1
    if asked is not None and not any(n is asked for n in reversed(nodes)):
        _complete(nodes, asked)
    _blocks.run(nodes, asked)


# -- collecting ----------------------------------------------------------------------------------


def _complete(nodes: list[Node], asked: Node | None) -> None:
    """Drop evaluated nodes; insert pending nodes that are in no list, operands first."""
    if asked is not None and asked[VALUE] is None and asked[OP] is not None:
        project_now(asked)
    drop_evaluated(nodes)
    known = set(map(id, nodes))
    if asked is not None and asked[VALUE] is None and id(asked) not in known:
        nodes.append(asked)  # another node that reads it may come too early
    if all(
        type(a) is not list or a[VALUE] is not None or id(a) in known
        for node in nodes
        for a in node[ARGS]
    ):
        regret(nodes)
        return
    # What another thread recorded may read nodes of this thread: sort all of them.
    order: list[Node] = []
    here = set(map(id, nodes))
    known.clear()
    for node in nodes:
        if id(node) not in known:
            depth_first(node, known, order)
    node = None  # a leftover loop variable would count as an outside reference
    regret(order)
    if len(order) > len(nodes) and keep_views(nodes, here, len(order) - len(nodes)):
        _complete(nodes, asked)
    else:
        nodes[:] = order
        drop_evaluated(nodes)


def drop_evaluated(nodes: list[Node]) -> None:
    """Whoever evaluated a node with several results may have left these to be taken."""
    for node in nodes:
        if node[VALUE] is None:
            project_now(node)
    node = None  # a leftover loop variable would count as an outside reference
    if any(n[VALUE] is not None for n in nodes):
        nodes[:] = [n for n in nodes if n[VALUE] is None]


# -- canonical form --------------------------------------------------------------------------------


_MAX_PLANS = 1 << 14
_plans: Memo[Any, Plan] = Memo("plans", _MAX_PLANS, costly=True)
_plans_by_count: Memo[Any, Plan | Sighting] = Memo("forms", 1 << 12, costly=True)  # by raw counts
_likenesses: Memo[Any, Likeness[Plan | Sighting]] = Memo("places", 1 << 12, costly=True)
Planned = tuple[Plan | Sighting, list[Node], list[Any]]


def _planned(nodes: list[Node], asked: Node | None) -> Planned:
    """The plan of these nodes, with the leaves and slots to run it on.

    A sighting if a plan would not pay yet: making it costs more than some runs by reference.
    """
    known = _recognised(nodes, asked)
    if known is None and drop_dead(nodes, asked):  # dead nodes must not make a separate form
        known = _recognised(nodes, asked)
    found = scan(nodes, asked) if known is None else None
    if known is None and found is None:
        _complete(nodes, asked)
        known = _recognised(nodes, asked)
        found = scan(nodes, asked) if known is None else None
    if known is not None:
        return known
    key, leaves, slots = found  # type: ignore[misc]
    node_counts, leaf_counts = counts(nodes), counts(leaves)
    quick = (tuple(key), tuple(node_counts), tuple(leaf_counts))
    plan = _plans_by_count.get(quick)
    if plan is not None:
        _remember(nodes, leaves, asked, key[-1], plan)
    elif config.execution == "adaptive":
        plan = _plans_by_count.put(quick, Sighting(nodes))
    if isinstance(plan, Sighting) and config.execution == "adaptive" and plan.again():
        return plan, leaves, slots
    if plan is None or isinstance(plan, Sighting):
        seen, plan = plan, _form(nodes, leaves, key, node_counts, leaf_counts)
        if seen is not None and plan.runs == 0:
            plan.verdict = seen.verdict
            plan.owed += seen.paid
        _plans_by_count.put(quick, plan)
    return plan, leaves, slots


def _matched(like: Likeness[Any], nodes: list[Node], asked: Node | None) -> Any:
    """The leaves and slots if the nodes match, including the references to them; else None."""
    operands = like.compare(nodes, asked)
    asked = None  # `_remember` counted references without a variable of this function
    if operands is None or counts(nodes) != like.counts:
        return None
    return operands if counts(operands[0]) == like.leaf_counts else None


_matched = in_front("matched", _matched, function=Likeness, slot_type=np.generic, counted=COUNTED)


def _recognised(nodes: list[Node], asked: Node | None) -> Planned | None:
    """The same without a key, if this form came before at this place."""
    like = _likenesses.get(place_of(nodes))
    if like is None:
        return None
    operands = _matched(like, nodes, asked)
    if operands is None:
        return None
    leaves, slots = operands
    plan = like.plan
    if isinstance(plan, Sighting):
        return (plan, leaves, slots) if plan.left > 0 and plan.again() else None
    return plan, leaves, slots


def _remember(
    nodes: list[Node], leaves: list[Node], asked: Node | None, where: int, plan: Plan | Sighting
) -> None:
    """Must hold exactly the references that `_recognised` holds, or the counts will not match."""
    node_counts, leaf_counts = counts(nodes), counts(leaves)
    place = place_of(nodes)
    before = _likenesses.get(place)
    if before is None or before.replaced < _REPLACED:
        like = Likeness(nodes, leaves, where, node_counts, leaf_counts, plan)
        like.replaced = 0 if before is None else before.replaced + 1
        _likenesses.put(place, like)


_REPLACED = 4  # times; a place whose forms change is left to `scan`


def forget() -> None:
    """Drop all plans and the executables compiled for them."""
    _plans.clear()
    _plans_by_count.clear()
    _likenesses.clear()
    ALONE.clear()
    _unit.forget()


def _form(
    nodes: list[Node],
    leaves: list[Node],
    key: list[Any],
    node_counts: list[int],
    leaf_counts: list[int],
) -> Plan:
    """The plan of a form: counts reduced to whether anything outside refers to a node."""
    outside, leaf_outside = outside_of(nodes, leaves, node_counts, leaf_counts)
    where = key[-1]
    if where >= 0:
        outside[where] = True
    form = (tuple(key), tuple(outside), tuple(leaf_outside))
    plan = _plans.get(form)
    if plan is None:
        if len(_plans) >= _MAX_PLANS:  # a program whose shapes never repeat
            forget()
        plan = _plans.put(form, build(nodes, leaves, outside, leaf_outside, where))
        if nodes:
            plan.place = id(nodes[0][CODE]), nodes[0][OFFSET]
    return plan


def build(
    nodes: list[Node],
    leaves: list[Node],
    outside: list[bool],
    leaf_outside: list[bool],
    asked: int,
    free_too: bool = False,
    make: Callable[..., Plan] = Plan,
) -> Plan:
    position = {id(n): i for i, n in enumerate(nodes)}
    if free_too:
        outputs, parked = {i for i, wanted in enumerate(outside) if wanted}, set()
    else:
        outputs, parked = _outputs(nodes, position, outside, asked)
    needed = set(outputs)
    for i in range(len(nodes) - 1, -1, -1):
        if i in needed:
            needed.update(_operand_positions(nodes[i], position))
    leaf_position = {id(n): j for j, n in enumerate(leaves)}
    steps: list[Step] = []
    slot = 0
    for i, node in enumerate(nodes):
        refs: list[Ref] = []
        for a in node[ARGS]:
            if type(a) is not list or isinstance(a[VALUE], np.generic):
                refs.append(("slot", slot))
                slot += 1
            elif id(a) in position:
                refs.append(("node", position[id(a)]))
            else:
                refs.append(("leaf", leaf_position[id(a)]))
        if i in needed:
            steps.append(Step(i, node[OP], tuple(refs)))
    leaf_avals = [aval_of_node(n) for n in leaves]
    held = {id(a) for i in parked for a in nodes[i][ARGS] if type(a) is list}
    spare = [not o and id(n) not in held for n, o in zip(leaves, leaf_outside, strict=True)]
    return make(steps, leaf_avals, spare, sorted(outputs))


def project_now(node: Node) -> bool:
    """Take a result of a node whose results exist: one was needed while it was staged."""
    if node[OP].primitive is not PROJECT or node[ARGS][0][VALUE] is None:
        return False
    node[VALUE] = node[ARGS][0][VALUE][node[OP].params["index"]]
    node[ARGS] = ()
    return True


def _operand_positions(node: Node, position: dict[int, int]) -> list[int]:
    return [position[id(a)] for a in node[ARGS] if type(a) is list and id(a) in position]


def _outputs(
    nodes: list[Node], position: dict[int, int], outside: list[bool], asked: int
) -> tuple[set[int], set[int]]:
    """The wanted nodes, with the operands of a free node in place of the node unless it was asked
    for; and the free nodes, which stay pending, so their operands must not change.
    """
    outputs: set[int] = set()
    stack = [i for i, wanted in enumerate(outside) if wanted]
    seen = set(stack)
    while stack:
        i = stack.pop()
        if i != asked and is_parked(nodes[i][OP]):
            for j in _operand_positions(nodes[i], position):
                if j not in seen:
                    seen.add(j)
                    stack.append(j)
        else:
            outputs.add(i)
    return outputs, seen - outputs
