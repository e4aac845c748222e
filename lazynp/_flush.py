"""Flushing: what is pending runs as one program, when a value is needed or a loop comes round.

A thread's recorder holds the pending nodes, in order. `flush` evaluates all of them. A flush comes
when a value is needed (`host_value`, `materialize`), and where the code returns to the same place
(`at_entry`; see `_cutsites`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from sys import _getframe
from time import perf_counter
from types import FrameType
from typing import Any

import numpy as np

from lazynp import _graph, _on_devices, _reference, _rounds
from lazynp._alone import run_alone
from lazynp._cutsites import LARGE, Gathered, key_of
from lazynp._entries import at
from lazynp._errors import InternalError
from lazynp._form import depth_first
from lazynp._math_calls import instead_of_math
from lazynp._node import (
    ARGS,
    CODE,
    OFFSET,
    OP,
    PROJECT,
    VALUE,
    Node,
    Op,
    aval_of_node,
)
from lazynp._observers import observers
from lazynp._policy import Cut
from lazynp._positions import converts, position, user_frame
from lazynp._recorder import (
    UNKNOWN,
    Recorder,
    StagingRecorder,
    local,
    user_position,
)

on_force: list[Callable[[], None]] = []  # called when a value is needed: for reports
# called when a traced function asks for a value that it knows, with the nodes to be computed for it
known_observers: list[Callable[[list[Node]], None]] = []


def flush(recorder: Recorder, asked: Node | None = None, reason: Any = "asked for") -> Any:
    """Evaluate the recorder's contents. If that fails, everything is still pending.

    Returns the plan that ran, if any. reason: text, or the position of a loop that returned there.
    """
    if isinstance(recorder, StagingRecorder):
        if asked is not None:
            _flush_staged(recorder, asked, reason)
        return None
    return _reference.exclusively(_cut, recorder, asked, reason)


PART = "part of a large result, in a loop of small operations"  # a reason to flush


def flush_for_part(part: int, whole: Node) -> bool:
    """Flush for so many bytes, if they are a small part of a pending result in a loop of small
    operations. Once that result is computed, its parts are read and written in its memory.
    """
    recorder = local.recorder
    if not recorder.backend.in_loop or not recorder.pending:
        return False
    small = 4 * part <= aval_of_node(whole).nbytes
    if small:
        flush(recorder, reason=PART)
    return small


def _cut(recorder: Recorder, asked: Node | None, reason: Any) -> Any:
    if asked is not None and asked[VALUE] is not None:
        return None
    if asked is not None:
        recorder.unasked = 0
        for tell in on_force:
            tell()
        pending = recorder.pending
        alone = pending and not observers and recorder.place is None
        plan = run_alone(pending, asked, reason) if alone else None
        if plan is not None:
            recorder.due, recorder.inside = False, UNKNOWN
            return plan
    # otherwise another thread evaluated it
    nodes = [n for n in recorder.pending if n[VALUE] is None]
    recorder.pending.clear()
    recorder.due, recorder.inside = False, UNKNOWN
    place = _place(asked, reason)
    gathered = recorder.sites.gathered
    if gathered is None:
        recorder.limit = recorder.sites.limit_after(len(nodes), asked is not None, place)
    size = _work(nodes)
    try:
        if gathered is not None:
            plan = _flush_gathered(recorder, nodes, asked, reason)
        else:
            plan = _run(recorder, nodes, asked, reason)
    except BaseException as error:
        recorder.pending[:0] = [n for n in nodes if n is not None]  # None: done, or dead
        if isinstance(error, MemoryError) and _without_largest(recorder.pending, asked, error):
            return _cut(recorder, asked, reason)
        if isinstance(error, InternalError) and _each_for_itself(recorder.pending, asked):
            return _cut(recorder, asked, reason)
        raise
    recorder.worked(size - _work(recorder.pending))
    return plan


def _flush_gathered(recorder: Recorder, nodes: list[Node], asked: Node | None, reason: Any) -> Any:
    """Flush what several rounds of a loop have recorded: the complete rounds as one run.

    If no value is needed, the newest rounds stay pending. If no rounds are found, everything runs
    as if it had been flushed round by round.
    """
    sites = recorder.sites
    gathered, sites.gathered = sites.gathered, None
    unit = None
    if not gathered.first_look or asked is not None:
        unit = _rolled(recorder, nodes, gathered, reason)
    elif not gathered.varies(nodes):
        recorder.pending[:0] = nodes
        sites.gathered, recorder.limit = gathered, gathered.limit
        return None
    sites.rounds_found(unit is not None)
    if unit is None:
        recorder.gathered_rounds(inf)
    else:
        recorder.gathered_rounds(unit.short_of(), unit.small)
    goes_on = unit is not None and (unit.paid or unit.promises() and recorder.learns)
    if unit is not None and asked is None and goes_on:
        # a break in the rounds ends a run: what is left must not grow from flush to flush
        while len(nodes) > unit.operations() and _rolled(recorder, nodes, gathered, reason):
            pass
        recorder.pending[:0] = nodes
        sites.gathered, recorder.limit = gathered, len(nodes) + unit.operations()
        return unit.plan
    plan, others = None, len(nodes)
    if unit is None:
        gathered.missed()
        plan = _rounds.in_parts(nodes, asked, reason, gathered)
    if asked is not None and asked[VALUE] is not None:
        recorder.pending[:0] = nodes
    elif unit is None and gathered.plan is None:
        _graph.by_reference(nodes, asked)
    else:
        plan = _run(recorder, nodes, asked, reason)
    recorder.limit = sites.limit_from(_place(asked, reason))
    if recorder.learns and recorder.policy.break_rounds(others):
        recorder.learnt()
    return plan


def _rolled(recorder: Recorder, nodes: list[Node], gathered: Gathered, reason: Any) -> Any:
    """The unit whose complete rounds have run and left the list; None if there were none."""
    before = len(nodes)
    unit = _rounds.roll(nodes, gathered, reason)
    if unit is not None and unit.paid and recorder.learns:
        recorder.policy.gains(unit.gain_of(before - len(nodes)))
    return unit


_HUGE = 1 << 28  # bytes


def _without_largest(pending: list[Node], asked: Node | None, error: MemoryError) -> bool:
    """Take the largest array off the list, and what is computed from it: from now on they are
    computed only for whoever needs them, and fail for nobody else. Returns whether that leaves
    something to do; else the error says where the largest array was recorded.
    """
    needed = [] if asked is None or asked[VALUE] is not None else below(asked)
    largest = max(pending, key=_size, default=None)
    if largest is not None and _size(largest) >= _HUGE:
        pending[:] = _reference.without_readers(pending, largest)
        if not any(n is largest for n in needed):
            return True
    largest = max(needed, key=_size, default=None)
    if largest is not None and _size(largest) >= _HUGE:
        where, aval = position(largest[CODE], largest[OFFSET]), largest[OP].aval
        error.add_note(f"the largest array that it needs, {aval}, was recorded at {where}")
    return False


def _each_for_itself(pending: list[Node], asked: Node | None) -> bool:
    """Empty the list, as what is on it fails together, and would fail again: from now on each is
    computed only for whoever needs it. Returns whether others were on it than are asked for.
    """
    needed = set() if asked is None else set(map(id, below(asked)))
    others = any(id(n) not in needed for n in pending)
    pending.clear()
    return asked is not None and others


def _size(node: Node) -> int:
    op = node[OP]
    return 0 if op is None or op.primitive.multiple_results else op.aval.nbytes


def _work(nodes: list[Node]) -> int:
    """The bytes that they compute: views and fills compute nothing."""
    return sum([_size(n) for n in nodes if n[OP] is not None and not n[OP].free])


def _run(recorder: Recorder, nodes: list[Node], asked: Node | None, reason: Any) -> Any:
    """Run a flush; inform the policy and the observers."""
    count, learns = len(nodes), recorder.learns
    gain = sum([_gain(n[OP]) for n in nodes]) if learns else 0.0
    begin = perf_counter() if observers else 0.0
    first: Any = (nodes[0] if nodes else asked) if begin else None
    first = first and first[CODE:]  # holds no reference to a node
    if recorder.place is None:
        plan = _graph.evaluate(nodes, asked, reason)
    else:
        plan = _on_devices.evaluate(recorder, nodes, asked, reason)  # type: ignore[arg-type]
    if learns:
        compiled = plan is not None and plan.tier != "reference"
        once = plan is not None and plan.runs == 1
        sites = recorder.sites
        recorder.policy.observe(Cut(count, gain, sites.origin, sites.visits(), once, compiled))
        recorder.learnt()
    if begin:
        for o in observers:
            o.ran(begin, "reference" if plan is None else plan.tier, count, first, reason)
    return plan


def _gain(op: Op) -> float:
    """The possible gain of an operation in a program, in microseconds, where it ran by
    reference.
    """
    return 0.0 if op.primitive.kind == "call" else max(op.gain, 0.0)


def _place(asked: Node | None, reason: Any) -> Any:
    if asked is not None and asked[OP] is not None:
        return id(asked[CODE]), asked[OFFSET]
    return (id(reason[0]), reason[1]) if type(reason) is tuple else reason


def at_entry(recorder: Recorder, frame: FrameType) -> None:
    """Flush where an operation begins, if the code has returned to the same place."""
    if not recorder.pending:
        return
    if recorder.sites.gathered is not None:
        inside = recorder.inside
        flush(recorder, reason="rounds of a loop")
        recorder.inside = inside
        return
    reason, site = recorder.sites.reason_to_cut(recorder.pending, frame, recorder.due)
    if reason is None:
        return
    oldest, count, inside = at(recorder.pending, 0), len(recorder.pending), recorder.inside
    if oldest is None:  # a destructor has read a value meanwhile
        return
    first = oldest[OP], oldest[CODE], oldest[OFFSET]
    del oldest  # a flush asks who refers to it
    plan = flush(recorder, reason=reason)
    recorder.inside = inside  # this operation begins here
    gathers = plan is not None and recorder.place is None
    if gathers and recorder.sites.gathers(plan, count, recorder.backend.in_loop):
        recorder.gather(Gathered(plan, key_of(*first), count))
        return
    if site is not None:
        form = plan if isinstance(plan, _graph.Plan) else None
        if recorder.sites.saw(site, form):
            recorder.limit = recorder.sites.idle


def large_update(recorder: Recorder, op: Op) -> None:
    """Called after recording a slice assignment. A large one makes a flush due, except in a staged
    function, which never flushes.
    """
    if recorder.staging or recorder.sites.gathered is not None:
        return
    if op.aval.nbytes >= LARGE and 4 * op.explicit[1].size >= op.aval.size:
        recorder.due, recorder.limit = True, 1


def _flush_staged(recorder: StagingRecorder, asked: Node, reason: Any) -> None:
    """While a function is staged, a value is available if none of the function's operands affects
    it.
    """
    if not recorder.owns(asked):
        flush(recorder.outer, asked, reason)
        return
    needed = below(asked) if asked[OP] is not None else []
    if not needed or not all(map(has_rule, needed)):
        where = position(asked[CODE], asked[OFFSET]) if asked[OP] is not None else "its arguments"
        aval = aval_of_node(asked)
        error: Any = TypeError(
            f"{recorder.staging} is only traced: there, the value of {aval} recorded at {where} is "
            f"not known, but {position(*user_position())} asks for it {cure(aval)}, or make the "
            "argument static (static_argnums)"
        )
        error.only_traced = True  # no handler of the user's may catch it
        if converts(_getframe(1)):
            recorder.asked = error
        raise error
    for observe in known_observers:
        observe(needed)
    _reference.exclusively(_graph.evaluate, needed, asked, reason)


def has_rule(node: Node) -> bool:
    """Whether a pending node can be evaluated: not inputs, nor where sizes have no values."""
    return node[OP] is not None and not node[OP].sized


def cure(aval: Any) -> str:
    """The remedy for a needed but unknown value: the likely cause, and what to write instead."""
    if local.cure is not None:
        return local.cure
    named = instead_of_math(user_frame(_getframe(1)))
    if named is not None:
        return f"({named})"
    if aval.dtype.kind == "b" and aval.shape:
        return "(a mask read, x[m]). Use x[m] = v, where(m, x, 0) or sums with where=m"
    if aval.dtype.kind in "iu" and not aval.shape:
        return (
            "(a bound, a size, int()). Use x[i + np.arange(n)] in place of x[i:i + n], and "
            "fori_loop in place of range"
        )
    return (
        "(bool(), float(), NumPy itself). Use cond, switch, while_loop or where in place of "
        "Python's control flow on values, and adopt(f) for code that stores into numpy's arrays"
    )


# -- values ----------------------------------------------------------------------------------------


def materialize(node: Node) -> Any:
    """The node's value: a host array or a device buffer."""
    if node[VALUE] is None:
        flush(local.recorder, node)
    return node[VALUE]


def host_value(node: Node) -> Any:
    """The node's value as a NumPy array (read-only by convention) or scalar."""
    value = node[VALUE]
    if value is None:
        op = node[OP]
        if op is None or op.free and (op.primitive is not PROJECT or not _unfinished(node)):
            value = _reference.host_view(node)
            if value is not None:
                pending = local.recorder.pending
                if node[VALUE] is not None and pending and not local.recorder.staging:
                    with _reference.lock:  # another thread may flush this recorder
                        if pending and pending[-1] is node:
                            pending.pop()  # which would hold its memory until the next flush
                op = node[OP]
                return value[()] if op is not None and op.scalar and not op.host else value
        flush(local.recorder, node)
    elif isinstance(value, (np.ndarray, np.generic)):
        return value
    return _reference.host(node)


def _unfinished(result: Node) -> bool:
    """Whether the node that this projects from is still pending."""
    args = result[ARGS]
    return type(args) is tuple and args[0][VALUE] is None


def below(node: Node) -> list[Node]:
    """The pending nodes below a node, operands first, and the node itself."""
    needed: list[Node] = []
    depth_first(node, set(), needed)
    return needed
