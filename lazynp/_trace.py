"""The always-on trace: records every operation, per thread, and flushes when a value is needed.

A thread's recorder holds the pending nodes, in order. `flush` evaluates all of them as one program.
A flush comes when a value is needed, and where the code returns to the same place (`_cutsites`).
`record` turns every operation outside the fast path into a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from sys import _getframe
from time import perf_counter
from types import FrameType
from typing import Any

import numpy as np

from lazynp import _errstate, _graph, _reference, _rounds
from lazynp._avals import TracedAval, on_device
from lazynp._config import config
from lazynp._cutsites import LARGE, Gathered, key_of
from lazynp._form import depth_first
from lazynp._jaxpr import Rules
from lazynp._math_calls import instead_of_math
from lazynp._memo import cached
from lazynp._node import (
    ARGS,
    AVAL,
    CODE,
    OFFSET,
    OP,
    PROJECT,
    VALUE,
    Node,
    Op,
    Trace,
    Traced,
    aval_of_node,
    escaped,
    has_effects,
    hosted,
    is_tracer,
    op_of,
    projection,
)
from lazynp._observers import observers
from lazynp._policy import Cut
from lazynp._positions import position, user_frame
from lazynp._quiet import quiet_result, quietly
from lazynp._recorder import (
    UNKNOWN,
    Recorder,
    StagingRecorder,
    known,
    local,
    staged,
    user_position,
)

on_force: list[Callable[[], None]] = []  # called when a value is needed: for reports


# -- flushing --------------------------------------------------------------------------------------


def flush(recorder: Recorder, asked: Node | None = None, reason: Any = "asked for") -> Any:
    """Evaluate the recorder's contents. If that fails, everything is still pending.

    Returns the plan that ran, if any. reason: text, or the position of a loop that returned there.
    """
    if isinstance(recorder, StagingRecorder):
        if asked is not None:
            _flush_staged(recorder, asked, reason)
        return None
    return _reference.exclusively(_cut, recorder, asked, reason)


def _cut(recorder: Recorder, asked: Node | None, reason: Any) -> Any:
    if asked is not None and asked[VALUE] is not None:
        return None
    if asked is not None:
        for tell in on_force:
            tell()
        pending = recorder.pending
        plan = _graph.run_alone(pending, asked, reason) if pending and not observers else None
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
    try:
        if gathered is not None:
            return _flush_gathered(recorder, nodes, asked, reason)
        return _run(recorder, nodes, asked, reason)
    except BaseException as error:
        recorder.pending[:0] = [n for n in nodes if n is not None]  # None: done, or dead
        if isinstance(error, MemoryError) and _without_largest(recorder.pending, asked, error):
            return _cut(recorder, asked, reason)
        raise


def _flush_gathered(recorder: Recorder, nodes: list[Node], asked: Node | None, reason: Any) -> Any:
    """Flush what several rounds of a loop have recorded: the complete rounds as one run.

    If no value is needed, the newest rounds stay pending. If no rounds are found, everything runs
    as if it had been flushed round by round.
    """
    sites = recorder.sites
    gathered, sites.gathered = sites.gathered, None
    unit = _rounds.roll(nodes, gathered, reason)
    recorder.gathered_rounds(inf if unit is None else unit.short_of())
    if unit is not None and asked is None and (unit.paid or unit.promises()):
        recorder.pending[:0] = nodes
        sites.gathered, recorder.limit = gathered, len(nodes) + unit.operations()
        return unit.plan
    plan = None
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
    return plan


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


def _size(node: Node) -> int:
    op = node[OP]
    return 0 if op is None or op.primitive.multiple_results else op.aval.nbytes


def _run(recorder: Recorder, nodes: list[Node], asked: Node | None, reason: Any) -> Any:
    """Run a flush; inform the policy and the observers."""
    count, learns = len(nodes), recorder.learns
    gain = sum([_gain(n[OP]) for n in nodes]) if learns else 0.0
    begin = perf_counter() if observers else 0.0
    first: Any = (nodes[0] if nodes else asked) if begin else None
    first = first and first[CODE:]  # holds no reference to a node
    plan = _graph.evaluate(nodes, asked, reason)
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
    first, count, inside = recorder.pending[:1], len(recorder.pending), recorder.inside
    if not first:  # a destructor has read a value meanwhile
        return
    first = first[0][OP], first[0][CODE], first[0][OFFSET]  # holds no reference to the node
    plan = flush(recorder, reason=reason)
    recorder.inside = inside  # this operation begins here
    if plan is not None and recorder.sites.gathers(plan, count):
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
    if not needed or any(n[OP] is None for n in needed):
        where = position(asked[CODE], asked[OFFSET]) if asked[OP] is not None else "its arguments"
        aval = aval_of_node(asked)
        raise TypeError(
            f"{recorder.staging} is only traced: there, the value of {aval} recorded at {where} is "
            f"not known, but {position(*user_position())} asks for it {cure(aval)}, or make the "
            "argument static (static_argnums)"
        )
    _reference.exclusively(_graph.evaluate, needed, asked, reason)


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


# -- recording -------------------------------------------------------------------------------------


def record(primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
    """Record one operation on nodes and Python scalars."""
    try:
        op = op_of(primitive, params, tuple([known(o) for o in operands]))
    except Traced:
        return record_traced(primitive, operands, params)
    if op.bounds is not None:
        check_bounds(op, operands)
    return node_of(op, operands)


def node_of(op: Op, operands: tuple[Any, ...]) -> Node:
    """The node of an operation: executed now if the back end accepts it, else pending."""
    recorder = local.recorder
    if op.host and not (recorder.staging and op.primitive.kind in ("host", "call")):
        return on_host(op, operands)
    node = recorder.backend.operation(op, operands)
    if node is not None:
        return node
    where = local.where
    if where is None:
        frame = user_frame(_getframe(1))
        where = frame.f_code, frame.f_lasti
    node = [op, operands, None, *where]
    recorder.pending.append(node)
    if op.host and _has_effects(op):
        recorder.effects.append(node)  # type: ignore[attr-defined]
    return node


def scalar_node(op: Op, operands: tuple[Any, ...]) -> Node | None:
    """Compute an operation on available scalars, which costs less than recording it, under every
    policy. None if one is pending, if a function is staged, and under `debug_nans`.
    """
    recorder = local.recorder
    if recorder.staging or config.debug_nans or op.host:
        return None
    values = []
    for o in operands:
        if type(o) is list:
            o = o[VALUE]
            if not isinstance(o, np.generic):
                return None
        values.append(o)
    if len(values) == 2 and type(values[0]) in _DOUBLES and type(values[1]) in _DOUBLES:
        of_floats = _OF_FLOATS.get(op.primitive.name)
        if of_floats is not None:  # Python's arithmetic is IEEE's, in a tenth of a ufunc's time
            return [None, None, np.float64(of_floats(*values)), None, op.aval]
    out = quiet_result(recorder.quiet, op.reference, *values)
    out = out[()] if type(out) is np.ndarray else out  # `numpy.where` of scalars returns an array
    return [None, None, out, None, op.aval]


_DOUBLES = frozenset({float, np.float64})
_OF_FLOATS = {"add": float.__add__, "subtract": float.__sub__, "multiply": float.__mul__}


def record_traced(primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Pass an operation on tracers to the innermost transformation that owns one of them.

    Tracers of transformations around the staged function are operands of it.
    """
    recorder = local.recorder
    top = innermost(operands)
    if top is not None:
        if local.where is not None:
            return top.process(primitive, operands, params)
        frame = user_frame(_getframe(1))
        local.where = frame.f_code, frame.f_lasti  # like `inside_operation`, inlined
        try:
            return top.process(primitive, operands, params)
        finally:
            local.where = None
    assert isinstance(recorder, StagingRecorder)
    operands = tuple([recorder.alias(o) if is_tracer(o) else o for o in operands])
    if primitive.multiple_results:
        return record_multiple(primitive, operands, params)
    return record(primitive, operands, params)


def innermost(operands: Iterable[Any]) -> Trace | None:
    """The innermost transformation that owns one of these; transformations around the function
    being staged do not count.
    """
    staged = getattr(local.recorder, "level", 0)
    top: Trace | None = None
    for o in operands:
        if type(o) is list and o[OP] is None and type(o[AVAL]) is TracedAval:  # `is_tracer`
            trace = o[VALUE].trace
            if not trace.alive:
                raise escaped(o[VALUE])
            if trace.level > staged and (top is None or trace.level > top.level):
                top = trace
    return top


def record_multiple(
    primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]
) -> tuple[Node, ...]:
    """Record an operation with several results: one node for each."""
    node = record(primitive, operands, params)
    if type(node) is tuple:
        return node  # a transformation has interpreted it
    avals = node[OP].aval
    ops = [projection(avals, i) for i in range(len(avals))]
    if node[VALUE] is not None:
        return tuple([[None, None, v, None, a] for v, a in zip(node[VALUE], avals, strict=True)])
    outs = [[op, (node,), None, node[CODE], node[OFFSET]] for op in ops]
    local.recorder.pending.extend(outs)
    return tuple(outs)


def check_bounds(op: Op, operands: tuple[Any, ...]) -> None:
    """NEP 50: a Python int combined with an integer array must fit its dtype."""
    assert op.bounds is not None
    low, high = op.bounds
    for o in operands:
        if type(o) is int and not low <= o <= high:
            dtype = next(a.dtype for a, i in zip(op.explicit, op.ins, strict=True) if i is int)
            raise OverflowError(f"Python integer {o} out of bounds for {dtype.name}")


def on_host(op: Op, operands: tuple[Any, ...]) -> Node:
    """Run an operation whose dtype XLA lacks, now, in NumPy."""
    if only_checks(op):
        return [op, None, op.primitive.decided(operands, op.params), None, 0]
    values = [host_value(o) if type(o) is list else o for o in operands]
    if _errstate.strict():
        value = _errstate.checked(op.reference, *values)
    else:
        value = quietly(op.reference, values)
    if not isinstance(value, (np.ndarray, np.generic, tuple)):  # a single Python object
        boxed = np.empty((), object)
        boxed[()] = value
        value = boxed
    elif type(value) is np.ndarray and value.dtype != op.aval.dtype and value.dtype.kind in "iufc":
        value = value.astype(op.aval.dtype)  # its bytes are in another order
    return [op, None, value, None, 0]


@cached()
def _has_effects(op: Op) -> bool:
    """Whether it calls host code or checks something."""
    return has_effects(op.primitive, op.params)


@cached()
def only_checks(op: Op) -> bool:
    """Whether it could be compiled apart from its checks."""
    return (
        op.primitive.kind == "call"
        and all([on_device(a.dtype) for a in (*op.explicit, *op.aval)])
        and not hosted(op.primitive, op.params, but="check")
    )


# -- active transformations ------------------------------------------------------------------------


@contextmanager
def staging(what: str) -> Iterator[StagingRecorder]:
    """Record into a separate list that is never evaluated. `what`: for errors, "jit of f"."""
    before = local.recorder
    local.level += 1
    recorder = local.recorder = StagingRecorder(what, before, local.level)
    staged.append(recorder)
    try:
        yield recorder
    finally:
        staged.remove(recorder)
        local.recorder = before
        local.level -= 1
        recorder.release()


@contextmanager
def interpreting(trace: Trace) -> Iterator[None]:
    """Push a transformation on the stack. When it ends, its tracers are dead."""
    local.level += 1
    trace.level = local.level
    try:
        with local.recorder.recording():
            yield
    finally:
        trace.alive = False
        local.level -= 1


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
