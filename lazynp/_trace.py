"""The always-on trace: records every operation, per thread.

`record` turns every operation outside the fast path into a node, which `_flush` evaluates later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from sys import _getframe
from threading import RLock, get_ident
from typing import Any

import numpy as np

from lazynp import _errstate
from lazynp._avals import TracedAval, on_device
from lazynp._config import config
from lazynp._flush import host_value
from lazynp._fronts import in_front
from lazynp._jaxpr import Rules
from lazynp._memo import cached
from lazynp._node import (
    AVAL,
    CODE,
    OFFSET,
    OP,
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
from lazynp._positions import user_frame
from lazynp._quiet import quiet_result, quietly
from lazynp._recorder import (
    StagingRecorder,
    calls,
    known,
    local,
    staged,
)
from lazynp._turns import my_turn


def record(primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
    """Record one operation on nodes and Python scalars."""
    try:
        op = op_of(primitive, params, tuple([known(o) for o in operands]))
    except Traced:
        return record_traced(primitive, operands, params)
    if op.bounds is not None:
        check_bounds(op, operands)
    return node_of(op, operands)


record = in_front("record", record)


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
    if any(map(is_tracer, operands)):  # those of a transformation that has ended have values now
        assert isinstance(recorder, StagingRecorder)
        operands = tuple([recorder.alias(o) if is_tracer(o) else o for o in operands])
    if primitive.multiple_results:
        return record_multiple(primitive, operands, params)
    return record(primitive, operands, params)


def _outlived(node: Node) -> bool:
    """Whether a node of a transformation that has ended has a value all the same, as the primal of
    a gradient has. If so, that is what it holds from now on.
    """
    tracer = node[VALUE]
    inner = tracer.behind() if tracer.known() else None
    if inner is None or aval_of_node(inner) is not tracer.aval:
        return False
    if is_tracer(inner):
        if not inner[VALUE].trace.alive and not _outlived(inner):
            return False
        node[:] = inner
    elif local.recorder.staging and inner[VALUE] is None:
        return False
    else:
        node[:] = [None, None, host_value(inner), None, tracer.aval]
    return True


def innermost(operands: Iterable[Any]) -> Trace | None:
    """The innermost transformation that owns one of these; transformations around the function
    being staged do not count.
    """
    staged = getattr(local.recorder, "level", 0)
    top: Trace | None = None
    for o in operands:
        if type(o) is list and o[OP] is None and type(o[AVAL]) is TracedAval:  # `is_tracer`
            if not o[VALUE].trace.alive and not _outlived(o):
                raise escaped(o[VALUE])
            if not is_tracer(o):
                continue
            trace = o[VALUE].trace
            if trace.level > staged and (top is None or trace.level > top.level):
                top = trace
    return top


def record_multiple(
    primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]
) -> tuple[Node, ...]:
    """Record an operation with several results: one node for each."""
    if calls and primitive.kind in ("call", "host"):
        found = calls[0](primitive, operands, params)
        if found is not None:
            return found
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
            if not -(2**63) <= o < 2**63:
                raise OverflowError("Python int too large to convert to C long")
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


@cached(1 << 8)
def _has_effects(op: Op) -> bool:
    """Whether it calls host code or checks something."""
    return has_effects(op.primitive, op.params)


@cached(1 << 8)
def only_checks(op: Op) -> bool:
    """Whether it could be compiled apart from its checks."""
    return (
        op.primitive.kind == "call"
        and all([on_device(a.dtype) for a in (*op.explicit, *op.aval)])
        and not hosted(op.primitive, op.params, but="check")
    )


# -- active transformations ------------------------------------------------------------------------

# told True when a transformation begins and no thread has one, and False when the last one ends
on_transformations: list[Callable[[bool], None]] = []
_threads: set[int] = set()  # which have an active transformation
_told = [False]
_lock = RLock()  # destructors and signal handlers may trace


def _set_level(level: int) -> None:
    """The level of this thread, from now on. An exception of a signal handler may end this half
    way; then the caller does it again.
    """
    local.level = level
    if level > 1:
        return
    with _lock:
        (_threads.add if level else _threads.discard)(get_ident())
        some = bool(_threads)
        if some != _told[0]:
            for tell in on_transformations:
                tell(some)
            _told[0] = some


def _all_of(steps: list[Callable[[], Any]]) -> None:
    while steps:
        steps[0]()
        del steps[0]


@contextmanager
def staging(what: str) -> Iterator[StagingRecorder]:
    """Record into a separate list that is never evaluated. `what`: for errors, "jit of f"."""
    with my_turn():
        before, level = local.recorder, local.level
        recorder = StagingRecorder(what, before, level + 1)
        ends = [
            recorder.give_back,  # first: who sees nothing staged reads arrays as they are
            lambda: recorder in staged and staged.remove(recorder),
            lambda: setattr(local, "recorder", before),
            lambda: _set_level(level),
            recorder.release,
        ]
        try:
            _set_level(level + 1)
            local.recorder = recorder
            staged.append(recorder)
            yield recorder
        finally:
            try:
                _all_of(ends)
            except BaseException:  # a signal handler's: it may come at any point of these
                _all_of(ends)
                raise


@contextmanager
def around(recorder: StagingRecorder) -> Iterator[None]:
    """A block that records into the program around the one that is being staged. There, what was
    captured has the nodes that `StagingRecorder.handles` keeps.
    """
    local.recorder = recorder.outer
    try:
        yield
    finally:
        local.recorder = recorder


class interpreting:  # a block
    """Push a transformation on the stack. When it ends, its tracers are dead."""

    __slots__ = ("trace", "_recording", "_level")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> None:
        self._level = local.level
        try:
            self.trace.level = self._level + 1
            _set_level(self.trace.level)
            self._recording = None if self.trace.eager else local.recorder.recording()
            if self._recording is not None:
                self._recording.__enter__()
        except BaseException:
            _set_level(self._level)
            raise

    def __exit__(self, *error: Any) -> None:
        self.trace.alive = False
        _set_level(self._level)
        if self._recording is not None:
            self._recording.__exit__(*error)
