"""The always-on trace: every operation is recorded, per thread, and cut when a value is needed.

A thread's recorder holds what is pending, in order. Beyond values that are asked for, a cut
comes where the code recurs: once `_EARLY` operations are pending, the first instruction found
to be in the list already becomes a *cut site*, and from then on each visit to it is a cut, so
each iteration of a loop yields the same program. Sites are looked for at the entry of an
operation, never inside one, when no half-made result is on Python's stack.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from sys import _getframe
from types import CodeType, FrameType
from typing import Any

import numpy as np

from lazynp import _graph
from lazynp._avals import In
from lazynp._config import config
from lazynp._jaxpr import Rules
from lazynp._node import (
    ARGS,
    AVAL,
    CODE,
    OFFSET,
    OP,
    VALUE,
    Node,
    Op,
    leaf,
    op_of,
    projection,
)

_EARLY = 16  # pending nodes before recurrence is looked for
_LARGE = 1 << 16  # bytes: a slice assignment into this much ends a program (one stencil stage)


UNKNOWN = (0, -1)  # for `Recorder.inside`; None is outside any function of lazynp's


class Recorder:
    """What one thread has pending, and where it is cut."""

    __slots__ = ("pending", "limit", "sites", "due", "inside", "staging", "__weakref__")

    def __init__(self) -> None:
        self.pending: list[Node] = []
        self.limit = _EARLY
        self.sites: dict[tuple[int, int], CodeType] = {}  # (id of code, offset): the code
        self.due = False
        self.inside: tuple[int, int] | None = UNKNOWN  # the user's operation being recorded
        self.staging = ""  # what is being traced, where nothing has a value


class _Local(threading.local):
    def __init__(self) -> None:
        self.recorder = Recorder()
        _recorders.add(self.recorder)


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()
local = _Local()


# -- cutting ---------------------------------------------------------------------------------------


def flush(recorder: Recorder, asked: Node | None = None, reason: Any = "asked for") -> None:
    """Evaluate what the recorder holds. If it fails, everything is still pending.

    reason: text, or the position of a loop that came round.
    """
    if recorder.staging:
        if asked is None:
            return  # the whole trace is one program
        raise TypeError(
            f"{recorder.staging}: the value of {known(asked)} recorded at "
            f"{position(asked[CODE], asked[OFFSET])} is needed, but this function is only traced"
        )
    with _graph.lock:
        if asked is not None and asked[VALUE] is not None:
            return
        nodes = recorder.pending[:]
        recorder.pending.clear()
        recorder.due = False
        recorder.limit = 0 if recorder.sites else _EARLY
        recorder.inside = UNKNOWN
        try:
            _graph.evaluate(nodes, asked, reason)
        except BaseException:
            recorder.pending[:0] = nodes
            raise


def at_entry(recorder: Recorder, frame: FrameType) -> None:
    """At the entry of an operation, with enough pending to ask: cut here?"""
    count = len(recorder.pending)
    if not count:
        return
    where = (frame.f_code, frame.f_lasti)
    site = (id(frame.f_code), frame.f_lasti)
    reason: Any = where
    if recorder.due:
        reason = "a large slice assignment ends a program"
    elif site not in recorder.sites:
        if count >= config.max_pending:
            reason = f"{count} operations pending"
        elif count >= _EARLY and _begins(recorder, *where) and _recurs(recorder, *where):
            recorder.sites[site] = frame.f_code
        else:
            return
    inside = recorder.inside
    flush(recorder, reason=reason)
    recorder.inside = inside  # it is the operation that begins here


def _begins(recorder: Recorder, code: CodeType, offset: int) -> bool:
    """Whether this is a statement's first operation: no half-made result waits to be used."""
    last = recorder.pending[-1]
    if last[CODE] is not code or last[OFFSET] >= offset:
        return True
    return _line(code, offset) != _line(code, last[OFFSET]) or len(recorder.pending) >= 4 * _EARLY


def _recurs(recorder: Recorder, code: CodeType, offset: int) -> bool:
    return any(n[CODE] is code and n[OFFSET] == offset for n in recorder.pending)


def large_update(recorder: Recorder, op: Op) -> None:
    """Called when a slice assignment was recorded: a large one makes a cut due."""
    if op.aval.nbytes >= _LARGE and 4 * op.explicit[1].size >= op.aval.size:
        recorder.due = True
        recorder.limit = 0


def position(code: CodeType | None, offset: int) -> str:
    """`file:line` of a recorded position."""
    if code is None:
        return "<data>"
    return f"{code.co_filename}:{_line(code, offset)}"


_lines: dict[tuple[int, int], tuple[int, CodeType]] = {}  # by identity, the code kept alive


def _line(code: CodeType, offset: int) -> int:
    found = _lines.get((id(code), offset))
    if found is None:
        line = code.co_firstlineno
        for start, stop, number in code.co_lines():
            if start <= offset < stop and number is not None:
                line = number
        found = _lines[id(code), offset] = line, code
    return found[0]


_PACKAGE = __file__.rsplit("_trace", 1)[0]
_internal: dict[int, tuple[bool, CodeType]] = {}  # by identity: hashing code reads all of it


def user_frame(frame: FrameType) -> FrameType:
    """The nearest frame that is not lazynp's own."""
    found: FrameType | None = frame
    while found is not None:
        code = found.f_code
        known_code = _internal.get(id(code))
        if known_code is None:
            known_code = _internal[id(code)] = (code.co_filename.startswith(_PACKAGE), code)
        if not known_code[0]:
            return found
        found = found.f_back
    return frame


# -- recording -------------------------------------------------------------------------------------


def known(operand: Any) -> In:
    """What an operand is known by: an aval, or the type of a Python scalar."""
    if type(operand) is list:
        op = operand[OP]
        return operand[AVAL] if op is None else op.aval
    return type(operand)


def record(primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
    """Record one operation on nodes and Python scalars."""
    op = op_of(primitive, params, tuple([known(o) for o in operands]))
    if op.bounds is not None:
        check_bounds(op, operands)
    return record_op(op, operands)


def record_op(op: Op, operands: tuple[Any, ...]) -> Node:
    if op.host:
        return on_host(op, operands)
    recorder = local.recorder
    frame = user_frame(_getframe(2))
    node = [op, operands, None, frame.f_code, frame.f_lasti]
    recorder.pending.append(node)
    return node


def record_multiple(
    primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]
) -> tuple[Node, ...]:
    """Record an operation with several results: one node each."""
    node = record(primitive, operands, params)
    avals = node[OP].aval
    ops = [projection(avals, i) for i in range(len(avals))]
    if node[VALUE] is not None:
        return tuple(leaf(v) for v in node[VALUE])
    outs = [[op, (node,), None, node[CODE], node[OFFSET]] for op in ops]
    local.recorder.pending.extend(outs)
    return tuple(outs)


def check_bounds(op: Op, operands: tuple[Any, ...]) -> None:
    """NEP 50: a Python int that meets an integer array must fit its dtype."""
    assert op.bounds is not None
    low, high = op.bounds
    for o in operands:
        if type(o) is int and not low <= o <= high:
            dtype = next(a.dtype for a, i in zip(op.explicit, op.ins, strict=True) if i is int)
            raise OverflowError(f"Python integer {o} out of bounds for {dtype.name}")


def on_host(op: Op, operands: tuple[Any, ...]) -> Node:
    """Run an operation that XLA has no dtype for, at once, with NumPy."""
    value = op.reference(*[host_value(o) if type(o) is list else o for o in operands])
    if not isinstance(value, (np.ndarray, np.generic, tuple)):  # one Python object
        boxed = np.empty((), object)
        boxed[()] = value
        value = boxed
    node = [op, None, value, None, 0]
    return node


@contextmanager
def staging(what: str) -> Iterator[Recorder]:
    """Record into a list of its own that is never evaluated."""
    before = local.recorder
    recorder = Recorder()
    recorder.staging, recorder.limit = what, sys.maxsize
    local.recorder = recorder
    try:
        yield recorder
    finally:
        local.recorder = before


# -- values ----------------------------------------------------------------------------------------


def materialize(node: Node) -> Any:
    """The node's value: a host array or a device buffer."""
    if node[VALUE] is None:
        flush(local.recorder, node)
    return node[VALUE]


def host_value(node: Node) -> Any:
    """The node's value as a NumPy array (not to be written) or scalar."""
    value = node[VALUE]
    if value is None:
        if node[OP] is None or node[OP].free:
            value = _graph.host_view(node)
            if value is not None:
                return value
        flush(local.recorder, node)
    elif isinstance(value, (np.ndarray, np.generic)):
        return value
    return _graph.host(node)


def is_pending(node: Node) -> bool:
    return node[VALUE] is None and node[ARGS] is not None
