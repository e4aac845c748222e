"""Unread results: Python's temporaries, alive when a loop is flushed, dead a step later.

Two runs of a plan show which outputs these are: large outputs that no later program read, that
nobody looked at, and that are dead when the plan runs again. From then on the plan has a *lean*
twin without them (a pruned plan). Such a node stays pending, outside any list, with its operands.
If somebody does read it, it is computed then; if that happens often, the twin is dropped.
"""

from __future__ import annotations

from lazynp import lowering
from lazynp._node import OP, VALUE, Node
from lazynp._plan import Plan
from lazynp._plan_jaxpr import Step
from lazynp._reference import Watched, watched

_WORTH_LEAVING = 1 << 13  # bytes: below, storing a result costs next to nothing
_WATCHED_RUNS = 2
_PLAN = 5  # of a node that was left out: the entry after the usual ones


class Watch:
    """What is known of the large outputs of one plan."""

    __slots__ = ("candidates", "kept", "rounds")

    def __init__(self, candidates: set[int]) -> None:
        self.candidates = candidates
        self.kept: list[tuple[int, int, Watched]] = []  # output, id of its node, its value
        self.rounds = 0


DONE = Watch(set())


def before_run(plan: Plan) -> None:
    """The plan runs again: check what became of its results."""
    watch = plan.watch
    if not watch.kept:
        return
    for position, node, seen in watch.kept:
        if watched.get(node) is seen:
            del watched[node]
        if seen.read or seen.buffer() is not None:
            watch.candidates.discard(position)
    watch.kept.clear()
    watch.rounds += 1
    if watch.rounds >= _WATCHED_RUNS or not watch.candidates:
        plan.lean = lean(plan, watch.candidates)
        plan.watch = DONE


def after_run(plan: Plan, nodes: list[Node], asked: Node | None) -> None:
    """Watch the results of a run, except the first, whose surroundings are special."""
    watch = plan.watch
    if watch is None:
        large = {i for i in plan.outputs if _is_large(nodes[i])}
        plan.watch = Watch(large) if large else DONE
        return
    for i in list(watch.candidates):
        if nodes[i] is asked or type(nodes[i][VALUE]) is not lowering.Buffer:
            watch.candidates.discard(i)  # it is read, or a read would not be noticed
        else:
            seen = watched[id(nodes[i])] = Watched(nodes[i][VALUE])
            watch.kept.append((i, id(nodes[i]), seen))
    if not watch.kept:
        plan.watch = DONE


def _is_large(node: Node) -> bool:
    op = node[OP]
    return not op.primitive.multiple_results and op.aval.nbytes >= _WORTH_LEAVING


def lean(plan: Plan, left_out: set[int]) -> Plan | None:
    """The plan without these outputs and the steps that only they need; None if nothing remains."""
    outputs = [i for i in plan.outputs if i not in left_out]
    if not left_out or not outputs:
        return None
    steps = {s.position: s for s in plan.steps}
    needed, _ = _below(outputs, steps, set())
    _, held = _below(list(left_out), steps, set(outputs))
    if not held.isdisjoint(plan.donated()):
        return None  # copying an array that is updated in place would cost more than storing these
    spare = [dead and j not in held for j, dead in enumerate(plan.dead_leaves)]
    wanted = [s for s in plan.steps if s.position in needed]
    twin = Plan(wanted, plan.leaf_avals, spare, outputs)
    twin.left_out = sorted(left_out)
    return twin


def _below(roots: list[int], steps: dict[int, Step], known: set[int]) -> tuple[set[int], set[int]]:
    """The positions of the steps and leaves from which these are computed."""
    found, leaves = set(known), set()
    stack = [r for r in roots if r not in known]
    while stack:
        i = stack.pop()
        if i in found:
            continue
        found.add(i)
        for kind, j in steps[i].refs:
            if kind == "node" and j not in found:
                stack.append(j)
            elif kind == "leaf":
                leaves.add(j)
    return found - known, leaves


def leave(plan: Plan, nodes: list[Node]) -> None:
    """After a run of a plan's lean twin: mark the omitted nodes as pending."""
    assert plan.lean is not None
    for i in plan.lean.left_out:
        nodes[i].append(plan)


def regret(nodes: list[Node]) -> None:
    """Note that these are computed after all; some may have been left out."""
    for node in nodes:
        if len(node) > _PLAN:
            plan = node[_PLAN]
            del node[_PLAN]
            plan.regrets += 1
            if plan.lean is not None and 8 * plan.regrets > plan.lean.runs:
                plan.lean = None
