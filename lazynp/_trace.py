"""The always-on trace: every operation is recorded, per thread, and cut when a value is needed.

A thread's recorder holds what is pending, in order. Beyond values that are asked for, a cut
comes where the code recurs: once `_EARLY` operations are pending, the first instruction found
to be in the list already becomes a *cut site*, and from then on each visit to it is a cut, so
each iteration of a loop yields the same program. Sites are looked for at the entry of an
operation, never inside one, when no half-made result is on Python's stack.
"""

from __future__ import annotations

import bisect
import dis
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
_FORMS = 4  # programs a cut site may have before it is cut at every visit
_LARGE = 1 << 16  # bytes: a slice assignment into this much ends a program (one stencil stage)


UNKNOWN = (0, -1, ())  # for `Recorder.inside`; None is outside any function of lazynp's


class Site:
    """An instruction where a loop is cut.

    Small arrays are worth several iterations a program, unless the iterations differ: then
    each number of them in each order would be a program of its own.
    """

    __slots__ = ("code", "minimum", "forms")

    def __init__(self, code: CodeType, minimum: int) -> None:
        self.code, self.minimum = code, minimum
        self.forms: set[int] = set()

    def saw(self, form: object) -> None:
        self.forms.add(id(form))
        if len(self.forms) > _FORMS:
            self.minimum = 1


class Recorder:
    """What one thread has pending, and where it is cut."""

    __slots__ = ("pending", "limit", "idle", "sites", "due", "inside", "staging", "__weakref__")

    def __init__(self) -> None:
        self.pending: list[Node] = []
        self.limit = _EARLY
        self.sites: dict[tuple[int, int], Site] = {}  # by id of code and offset
        self.idle = _EARLY  # `limit` just after a cut
        self.due = False
        # The user's operation being recorded: its position, and how far its function has come.
        self.inside: tuple[int, int, tuple[int, ...]] | None = UNKNOWN
        self.staging = ""  # what is being traced, where nothing has a value


class _Local(threading.local):
    def __init__(self) -> None:
        self.recorder = Recorder()
        _recorders.add(self.recorder)


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()
local = _Local()


# -- cutting ---------------------------------------------------------------------------------------


def flush(recorder: Recorder, asked: Node | None = None, reason: Any = "asked for") -> Any:
    """Evaluate what the recorder holds. If it fails, everything is still pending.

    Returns the plan that was run, if there was one.

    reason: text, or the position of a loop that came round.
    """
    if recorder.staging:
        if asked is None:
            return None  # the whole trace is one program
        raise TypeError(
            f"{recorder.staging}: the value of {known(asked)} recorded at "
            f"{position(asked[CODE], asked[OFFSET])} is needed, but this function is only traced"
        )
    with _graph.lock:
        if asked is not None and asked[VALUE] is not None:
            return None
        nodes = recorder.pending[:]
        recorder.pending.clear()
        recorder.due = False
        recorder.limit = recorder.idle
        recorder.inside = UNKNOWN
        try:
            return _graph.evaluate(nodes, asked, reason)
        except BaseException:
            recorder.pending[:0] = nodes
            raise


def at_entry(recorder: Recorder, frame: FrameType) -> None:
    """At the entry of an operation, with enough pending to ask: cut here?"""
    count = len(recorder.pending)
    if not count:
        return
    code, offset = frame.f_code, instruction(frame.f_code, frame.f_lasti)
    site = recorder.sites.get((id(code), offset))
    reason: Any = (code, offset)
    if recorder.due:
        reason = "a large slice assignment ends a program"
    elif site is None:
        if count >= config.max_pending:
            reason = f"{count} operations pending"
        elif count >= _EARLY and _comes_round(recorder, code, offset):
            if count < 4 * _EARLY and _has_site(recorder):
                return  # this loop has one already, which will come round
            site = Site(code, 1 if _any_large(recorder) else _EARLY)
            recorder.sites[id(code), offset] = site
        else:
            return
    elif count < site.minimum:
        if not _any_large(recorder):
            return
        site.minimum = 1
    inside = recorder.inside
    plan = flush(recorder, reason=reason)
    recorder.inside = inside  # it is the operation that begins here
    if site is not None:
        site.saw(plan)
        recorder.idle = 0 if min(s.minimum for s in recorder.sites.values()) == 1 else _EARLY
        recorder.limit = recorder.idle


def _comes_round(recorder: Recorder, code: CodeType, offset: int) -> bool:
    count = len(recorder.pending)
    if count > 4 * _EARLY and count & 15:
        return False  # a long program without loops: each look costs as much as it is long
    return _begins(recorder, code, offset) and _recurs(recorder, code, offset)


def _has_site(recorder: Recorder) -> bool:
    codes = {id(site.code) for site in recorder.sites.values()}
    return any(
        id(n[CODE]) in codes and (id(n[CODE]), instruction(n[CODE], n[OFFSET])) in recorder.sites
        for n in recorder.pending
    )


def _any_large(recorder: Recorder) -> bool:
    for node in recorder.pending:
        aval = node[OP].aval
        if type(aval) is not tuple and aval.nbytes >= _LARGE:
            return True
    return False


def _begins(recorder: Recorder, code: CodeType, offset: int) -> bool:
    """Whether this is a statement's first operation: no half-made result waits to be used."""
    last = recorder.pending[-1]
    if last[CODE] is not code or last[OFFSET] >= offset:
        return True
    return _line(code, offset) != _line(code, last[OFFSET]) or len(recorder.pending) >= 4 * _EARLY


def _recurs(recorder: Recorder, code: CodeType, offset: int) -> bool:
    end = next_instruction(code, offset)
    return any(n[CODE] is code and offset <= n[OFFSET] < end for n in recorder.pending)


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


@dataclass(frozen=True)
class _Instructions:
    """Where the instructions of a code object begin, and the line of each."""

    code: CodeType  # kept alive: tables go by identity
    begins: list[int]
    lines: list[int]


_instructions: dict[int, _Instructions] = {}


def _table(code: CodeType) -> _Instructions:
    found = _instructions.get(id(code))
    if found is None:
        begins, lines, line = [], [], code.co_firstlineno
        starts = {start: number for start, _, number in code.co_lines()}
        for i in dis.get_instructions(code):
            line = starts.get(i.offset) or line
            begins.append(i.offset)
            lines.append(line)
        found = _instructions[id(code)] = _Instructions(code, begins, lines)
    return found


def instruction(code: CodeType, offset: int) -> int:
    """The offset of the instruction itself.

    What a frame reports of a call varies once CPython has specialised the instruction: it may
    point into the inline cache that follows.
    """
    begins = _table(code).begins
    return begins[bisect.bisect_right(begins, offset) - 1]


def next_instruction(code: CodeType, offset: int) -> int:
    """Where the instruction at `offset` and its cache end."""
    begins = _table(code).begins
    place = bisect.bisect_right(begins, offset)
    return begins[place] if place < len(begins) else sys.maxsize


def _line(code: CodeType, offset: int) -> int:
    table = _table(code)
    return table.lines[bisect.bisect_right(table.begins, offset) - 1]


_PACKAGE = __file__.rsplit("_trace", 1)[0]
_internal: dict[int, tuple[bool, CodeType]] = {}  # by identity: hashing code reads all of it


def user_frame(frame: FrameType) -> FrameType:
    """The nearest frame that is not lazynp's own."""
    found: FrameType | None = frame
    while found is not None:
        if not _is_internal(found.f_code):
            return found
        found = found.f_back
    return frame


def progress(frame: FrameType) -> tuple[FrameType, tuple[int, ...]]:
    """The user's frame, and how far the functions below it have come, outermost first."""
    found: FrameType | None = frame
    offsets = []
    while found is not None and _is_internal(found.f_code):
        offsets.append(found.f_lasti)
        found = found.f_back
    return found or frame, tuple(reversed(offsets))


def _is_internal(code: CodeType) -> bool:
    known_code = _internal.get(id(code))
    if known_code is None:
        known_code = _internal[id(code)] = (code.co_filename.startswith(_PACKAGE), code)
    return known_code[0]


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
                op = node[OP]
                return value[()] if op is not None and op.scalar and not op.host else value
        flush(local.recorder, node)
    elif isinstance(value, (np.ndarray, np.generic)):
        return value
    return _graph.host(node)


def is_pending(node: Node) -> bool:
    return node[VALUE] is None and node[ARGS] is not None
