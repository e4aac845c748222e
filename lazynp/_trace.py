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
import functools
import math
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from sys import _getframe, getrefcount
from time import perf_counter
from types import CodeType, FrameType
from typing import Any

import numpy as np

from lazynp import _cost, _errstate, _graph, _reference
from lazynp._avals import In, TracedAval, aval_of, native, on_device
from lazynp._config import config
from lazynp._form import depth_first
from lazynp._jaxpr import Rules
from lazynp._math_calls import instead_of_math
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
    Tracer,
    aval_of_node,
    escaped,
    has_effects,
    hosted,
    is_tracer,
    op_of,
    projection,
    tracer_node,
)
from lazynp._observers import observers
from lazynp._quiet import quiet_context, quiet_result, quietly

_EARLY = 16  # pending nodes before recurrence is looked for
_FORMS = 2  # programs a cut site may have before it is cut at every visit
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


class Gap:
    """How many operations came between a cut at one place and the cut after it.

    Before the least of it, no cut site is to be expected, so none is looked for; up to the most of
    it, none but the known.
    """

    __slots__ = ("least", "most", "recent", "count", "visits", "novel")

    def __init__(self) -> None:
        self.least = self.most = self.count = self.visits = 0
        self.novel = 0  # visits by programs never met before, less others since
        self.recent = sys.maxsize

    def saw(self, length: int, asked: bool) -> None:
        """asked: a value was needed there; then no site came before, and none may ever come."""
        if length > self.most:
            self.most = length
        self.visits += 1
        if asked:
            if not self.count:
                self.least = self.most
            return
        self.least = min(self.least, length) if self.count else length
        self.recent = min(self.recent, length)
        self.count += 1
        if self.count % _WINDOW == 0:  # what was short once need not be so for ever
            self.least, self.recent = self.recent, sys.maxsize


_WINDOW = 64


class Recorder:
    """What one thread has pending, and where it is cut."""

    __slots__ = (
        "pending", "limit", "idle", "sites", "due", "inside", "staging", "gaps", "origin",
        "codes", "eager", "_small", "_novel", "_chosen", "largest", "quiet", "looked",
        "__weakref__",
    )  # fmt: skip

    def __init__(self) -> None:
        self.pending: list[Node] = []
        self.limit = _EARLY
        self.sites: dict[tuple[int, int], Site] = {}  # by id of code and offset
        self.codes: set[int] = set()  # of the sites
        self.idle = _EARLY  # `limit` just after a cut at an origin that is not known
        self.gaps: dict[Any, Gap] = {}  # by where a cut was made: what is recorded until the next
        self.origin: Any = None  # where the last cut was made
        self.looked = 0  # how much was pending when a cut site was last looked for
        self.unlearn()
        self.quiet = quiet_context()  # calls a pure function, without NumPy's warnings
        self.due = False
        # The user's operation being recorded: its position, and how far its function has come.
        self.inside: tuple[int, int, tuple[int, ...]] | None = UNKNOWN
        self.staging = ""  # what is being traced, where nothing has a value

    def unlearn(self) -> None:
        """Record everything, until loops are found in which that gains nothing."""
        self.eager = False  # small operations on what is there are done `at_once`
        self._small = 0  # operations in loops of small ones so far, less others since
        self._novel = 0  # operations of programs never met before, at places met often
        self._chosen = 0  # results whose shape only the data decide
        self.largest: float = _LARGEST  # bytes: eager, larger operands are recorded

    def chose(self) -> None:
        """Data are looked at for the shape of a result. Where that is done again and again, no
        program will be met twice."""
        self._chosen += 1
        if self._chosen > _CHOICES and config.execution != "compiled" and not config.debug_nans:
            self.eager = True

    def learns(self) -> bool:
        """Whether it is still to be found out if recording gains anything: see `ran`."""
        return not (self.eager or config.execution == "compiled" or config.debug_nans)

    def ran(self, nodes: int, gain: float, plan: Any) -> None:
        """A cut was run. Loops that no program will be compiled for are recorded for nothing: from
        some length on, small operations are done at once, and others of shapes rarely met.

        gain: what the operations might gain in a program; infinite if one is.
        """
        gap = self.gaps.get(self.origin)
        often = gap is not None and gap.visits >= _OFTEN
        large = gain > 2 * _cost.RECORDING * nodes or plan is not None and plan.tier != "reference"
        if large:
            self._chosen = 0
        novel = often and plan is not None and plan.runs == 1
        if gap is not None:
            gap.novel = gap.novel + 1 if novel else max(0, gap.novel - 1)
            novel = novel and (not large or gap.novel > _CHOICES)
        self._novel = self._novel + nodes if novel else max(0, self._novel - nodes)
        small = (
            often or type(self.origin) is tuple
        ) and gain <= _cost.CUT + _cost.RECORDING * nodes
        small = small and (plan is None or plan.tier == "reference")
        self._small = self._small + nodes if small else max(0, self._small - nodes)
        self.eager = max(self._small, self._novel) > _LOOP
        if self._novel > _LOOP:
            self.largest = math.inf
        if self.eager:  # what this iteration has yet to record would keep the next from being done
            self.due, self.limit = True, 1


_LARGEST = 5 << 16
_OFTEN = 3  # cuts at one place
_LOOP = 64
_CHOICES = 16


class StagingRecorder(Recorder):
    """Records a function that is only traced: nothing in it is evaluated.

    What it meets from outside becomes an operand: a handle by its owner, which holds an input of
    the staged program until that is complete, so that reads and writes of it are seen here like
    any other; a tracer, or the node of an immutable scalar, by itself.
    """

    __slots__ = (
        "level", "outer", "handles", "aliases", "inputs", "effects", "_own", "_counted", "_fresh",
    )  # fmt: skip

    def __init__(self, what: str, outer: Recorder, level: int) -> None:
        super().__init__()
        self.staging, self.outer, self.level = what, outer, level
        self.limit = -1  # `enter` is called for every operation
        self.handles: dict[int, tuple[Any, Node, Node]] = {}  # owner, its node before, the input
        self.aliases: dict[int, tuple[Node, Node]] = {}  # of tracers of outer levels
        self.inputs: list[Node] = []
        self.effects: list[Node] = []  # calls of host code that are made for no result
        self._own: set[int] = set()
        self._counted = 0
        self._fresh: dict[int, Node] = {}  # nodes of handles made while this is traced

    def input(self, aval: Any) -> Node:
        node = [None, None, None, None, aval]
        self.inputs.append(node)
        self._fresh[id(node)] = node
        return node

    def owns(self, node: Node) -> bool:
        """Whether the node was recorded here, or is that of a handle made here."""
        return id(node) in self._fresh or self.recorded(node)

    def recorded(self, node: Node) -> bool:
        if self._counted < len(self.pending):
            self._own.update(map(id, self.pending[self._counted :]))
            self._counted = len(self.pending)
        return id(node) in self._own

    def fresh(self, node: Node) -> None:
        self._fresh[id(node)] = node

    def alias(self, node: Node) -> Node:
        """The input that stands for a tracer of an outer level."""
        found = self.aliases.get(id(node))
        if found is None:
            found = self.aliases[id(node)] = node, self.input(aval_of_node(node))
        return found[1]

    def capture(self, owner: Any) -> None:
        """Let an array from outside hold an input of this program."""
        node = owner._node
        if is_tracer(node):
            if not node[VALUE].trace.alive:
                raise escaped(node[VALUE])
            if node[VALUE].trace.level > self.level:
                return  # of a transformation inside the function
        if id(owner) not in self.handles and not self.owns(node):
            aval = aval_of_node(node)
            aval = aval if aval.dtype.isnative else aval_of(aval.shape, native(aval.dtype))
            self.handles[id(owner)] = owner, node, self.input(aval)
            owner._node = self.handles[id(owner)][2]

    def release(self) -> None:
        """Arrays from outside hold again what they held; what escapes tells where it was made."""
        for owner, node, _ in self.handles.values():
            owner._node = node
        trace = Trace(self.staging)
        trace.alive = False
        self._fresh.clear()
        self.effects.clear()
        node = None
        while self.pending:  # from the end, so that operands are free when they are looked at
            node = self.pending.pop()
            if node[VALUE] is not None:  # no operand decides it: a constant of the program
                continue
            if getrefcount(node) > 2 and not isinstance(aval_of_node(node), tuple):
                _make_dead(node, trace)
        for node in self.inputs:
            _make_dead(node, trace)


def _make_dead(node: Node, trace: Trace) -> None:
    """Whoever uses this node from now on is told what traced it."""
    tracer = Tracer()
    tracer.trace, tracer.aval = trace, aval_of_node(node)
    tracer.code, tracer.offset = (None, 0) if node[OP] is None else (node[CODE], node[OFFSET])
    node[:] = tracer_node(tracer)


class _Local(threading.local):
    level = 0  # of the innermost transformation
    where: tuple[CodeType, int] | None = None  # the user's operation that a rule is about
    cure: str | None = None  # for who asks for a value where there is none

    def __init__(self) -> None:
        self.recorder = Recorder()
        _recorders.add(self.recorder)


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()
local = _Local()


def _unlearn() -> None:
    """With other settings, loops may better be recorded."""
    for recorder in list(_recorders):
        recorder.unlearn()


config.observers.append(_unlearn)


on_force: list[Callable[[], None]] = []  # called when a value is needed: for reports


# -- cutting ---------------------------------------------------------------------------------------


def flush(recorder: Recorder, asked: Node | None = None, reason: Any = "asked for") -> Any:
    """Evaluate what the recorder holds. If it fails, everything is still pending.

    Returns the plan that was run, if there was one.

    reason: text, or the position of a loop that came round.
    """
    if isinstance(recorder, StagingRecorder):
        if asked is not None:
            _flush_staged(recorder, asked, reason)
        return
    with _reference.lock:
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
        nodes = [n for n in recorder.pending if n[VALUE] is None]  # else: by another thread
        recorder.pending.clear()
        recorder.due = False
        recorder.inside = UNKNOWN
        _origin(recorder, len(nodes), asked is not None, _place(asked, reason))
        count = len(nodes)
        learns = recorder.learns()
        gain = sum([_gain(n[OP]) for n in nodes]) if learns else 0.0
        begin = perf_counter() if observers else 0.0
        first: Any = (nodes[0] if nodes else asked) if begin else None
        first = first and first[CODE:]  # no reference to a node
        try:
            plan = _graph.evaluate(nodes, asked, reason)
            if learns:
                recorder.ran(count, gain, plan)
            if begin:
                for o in observers:
                    o.ran(begin, "reference" if plan is None else plan.tier, count, first, reason)
            return plan
        except BaseException:
            recorder.pending[:0] = [n for n in nodes if n is not None]  # None: done, or dead
            raise


def _origin(recorder: Recorder, count: int, asked: bool, origin: Any) -> None:
    """A cut of so many operations was made here: from how many on is the next to be looked for?

    If it is, one operation early: whether a composed function has just been entered is seen by
    comparing with the operation before.
    """
    recorder.looked = 0
    gap = recorder.gaps.get(recorder.origin)
    if gap is None and count:
        if len(recorder.gaps) >= _MOST_GAPS:
            recorder.gaps.clear()
        gap = recorder.gaps[recorder.origin] = Gap()
    if gap is not None:
        gap.saw(count, asked)
    if origin != recorder.origin:
        recorder.origin = origin
        gap = recorder.gaps.get(origin)
    # at least 1: with nothing pending there is nothing to ask
    if gap is None:
        recorder.limit = recorder.idle
    else:
        least = gap.least - 1 if gap.count else gap.least
        recorder.limit = least if least > 1 else 1


def _gain(op: Op) -> float:
    """What an operation might gain in a program, in microseconds, where it ran by reference."""
    return 0.0 if op.primitive.kind == "call" else max(op.gain, 0.0)


def _place(asked: Node | None, reason: Any) -> Any:
    if asked is not None and asked[OP] is not None:
        return id(asked[CODE]), asked[OFFSET]
    return (id(reason[0]), reason[1]) if type(reason) is tuple else reason


_MOST_GAPS = 1 << 12


def _flush_staged(recorder: StagingRecorder, asked: Node, reason: Any) -> None:
    """What is asked for while a function is staged can be had if no operand decides it."""
    if not recorder.owns(asked):
        flush(recorder.outer, asked, reason)
        return
    needed = _below(asked) if asked[OP] is not None else []
    if not needed or any(n[OP] is None for n in needed):
        where = position(asked[CODE], asked[OFFSET]) if asked[OP] is not None else "its arguments"
        aval = aval_of_node(asked)
        raise TypeError(
            f"{recorder.staging} is only traced: there, the value of {aval} recorded at {where} is "
            f"not known, but {position(*user_position())} asks for it {cure(aval)}, or make the "
            "argument static (static_argnums)"
        )
    with _reference.lock:
        _graph.evaluate(needed, asked, reason)


def cure(aval: Any) -> str:
    """What must have asked for a value that is not known, and what to write instead."""
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


def at_entry(recorder: Recorder, frame: FrameType) -> None:
    """At the entry of an operation, with enough pending to ask: cut here?"""
    count = len(recorder.pending)
    if not count:
        return
    code = frame.f_code
    gap = recorder.gaps.get(recorder.origin)
    expected = gap is not None and count <= min(gap.most, config.max_pending - 1)
    expected = expected and not recorder.due
    if expected and id(code) not in recorder.codes:
        return
    offset = instruction(code, frame.f_lasti)
    site = recorder.sites.get((id(code), offset))
    if expected and site is None:
        return
    reason: Any = (code, offset)
    if recorder.due:
        reason = "the end of a large slice assignment, or of recording small operations"
    elif site is None:
        if count >= config.max_pending:
            reason = f"{count} operations pending"
        elif count >= _EARLY and _comes_round(recorder, code, offset):
            if count < 4 * _EARLY and _has_site(recorder):
                return  # this loop has one already, which will come round
            site = Site(code, 1 if _any_large(recorder) else _EARLY)
            recorder.sites[id(code), offset] = site
            recorder.codes.add(id(code))
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
        before = site.minimum
        site.saw(plan if isinstance(plan, _graph.Plan) else None)
        if site.minimum < before:  # what is known of gaps was learned with another
            recorder.gaps.clear()
        recorder.idle = 1 if min(s.minimum for s in recorder.sites.values()) == 1 else _EARLY
        if recorder.origin not in recorder.gaps:
            recorder.limit = recorder.idle


def _comes_round(recorder: Recorder, code: CodeType, offset: int) -> bool:
    count = len(recorder.pending)
    if count > 4 * _EARLY and count < recorder.looked + _EARLY:
        return False  # a long program without loops: each look costs as much as it is long
    if not _begins(recorder, code, offset):
        return False
    recorder.looked = count
    return _recurs(recorder, code, offset)


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
    if len(recorder.pending) >= 16 * _EARLY:
        return True
    ends = _table(code).ends
    place = bisect.bisect_left(ends, instruction(code, last[OFFSET]))
    return place < len(ends) and ends[place] < offset


def _recurs(recorder: Recorder, code: CodeType, offset: int) -> bool:
    end = next_instruction(code, offset)
    return any(n[CODE] is code and offset <= n[OFFSET] < end for n in recorder.pending)


def large_update(recorder: Recorder, op: Op) -> None:
    """Called when a slice assignment was recorded: a large one makes a cut due, but in a staged
    function, where nothing is ever cut."""
    if recorder.staging:
        return
    if op.aval.nbytes >= _LARGE and 4 * op.explicit[1].size >= op.aval.size:
        recorder.due, recorder.limit = True, 1


def position(code: CodeType | None, offset: int) -> str:
    """`file:line` of a recorded position."""
    if code is None:
        return "<data>"
    return f"{code.co_filename}:{_line(code, offset)}"


@dataclass(frozen=True)
class _Instructions:
    """Where the instructions of a code object begin, and the line of each; and which of them end
    a statement, as far as it stores what it has computed, or drops it."""

    code: CodeType  # kept alive: tables go by identity
    begins: list[int]
    lines: list[int]
    ends: list[int]


_instructions: dict[int, _Instructions] = {}


def _table(code: CodeType) -> _Instructions:
    found = _instructions.get(id(code))
    if found is None:
        begins, lines, ends, line = [], [], [], code.co_firstlineno
        starts = {start: number for start, _, number in code.co_lines()}
        for i in dis.get_instructions(code):
            line = starts.get(i.offset) or line
            begins.append(i.offset)
            lines.append(line)
            if i.opname.startswith("STORE_") or i.opname == "POP_TOP":
                ends.append(i.offset)
        found = _instructions[id(code)] = _Instructions(code, begins, lines, ends)
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
internal: dict[int, tuple[bool, CodeType]] = {}  # by identity: hashing code reads all of it


def user_frame(frame: FrameType) -> FrameType:
    """The nearest frame that is not lazynp's own."""
    found: FrameType | None = frame
    while found is not None:
        code = found.f_code
        known_code = internal.get(id(code))
        if known_code is None:
            known_code = _look(code)
        if not known_code[0]:
            return found
        found = found.f_back
    return frame


def user_position() -> tuple[CodeType, int]:
    """Where the user's program is now."""
    if local.where is not None:
        return local.where
    frame = user_frame(_getframe(1))
    return frame.f_code, frame.f_lasti


def progress(frame: FrameType) -> tuple[FrameType, tuple[int, ...]]:
    """The user's frame, and how far the functions below it have come, outermost first."""
    found: FrameType | None = frame
    offsets = []
    while found is not None and (internal.get(id(found.f_code)) or _look(found.f_code))[0]:
        offsets.append(found.f_lasti)
        found = found.f_back
    return found or frame, tuple(reversed(offsets))


def _look(code: CodeType) -> tuple[bool, CodeType]:
    return internal.setdefault(id(code), (code.co_filename.startswith(_PACKAGE), code))


# -- recording -------------------------------------------------------------------------------------


def known(operand: Any) -> In:
    """What an operand is known by: an aval, or the type of a Python scalar."""
    if type(operand) is list:
        op = operand[OP]
        return operand[AVAL] if op is None else op.aval
    return type(operand)


def record(primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
    """Record one operation on nodes and Python scalars."""
    try:
        op = op_of(primitive, params, tuple([known(o) for o in operands]))
    except Traced:
        return record_traced(primitive, operands, params)
    if op.bounds is not None:
        check_bounds(op, operands)
    if local.recorder.eager and not _errstate.watching:  # else record_op may have to look
        node = at_once(op, operands)
        if node is not None:
            return node
    return record_op(op, operands)


def at_once(op: Op, operands: tuple[Any, ...]) -> Node | None:
    """A small operation on values that are there, done rather than recorded; None if it is not.

    Only for a recorder that is `eager`: in a loop where recording costs more than it can gain.
    """
    first = operands[0] if operands else None
    if op.free and op.primitive.kind == "view" and not op.scalar and not _lists(operands):
        if type(first) is list and type(first[VALUE]) is np.ndarray:
            if op.aval.nbytes <= local.recorder.largest:  # else it is part of what reads it
                return [op, None, op.reference(first[VALUE], *operands[1:]), None, 0]
    if op.free and not op.scalar:  # is parked, wherever it comes from
        for o in operands:
            if type(o) is list and o[VALUE] is None and (o[OP] is None or not o[OP].free):
                return None
        return [op, operands, None, *user_position()]
    if not op.small:
        return None
    values = []
    for o in operands:
        if type(o) is list:
            value = o[VALUE]
            if type(value) is not np.ndarray:
                value = _there(o)
                if value is None:
                    return None
            values.append(value)
        else:
            values.append(o)
    result = quiet_result(local.recorder.quiet, op.reference, *values)
    if op.scalar:
        if type(result) is np.ndarray:
            result = result[()]
        return [None, None, result, None, op.aval]
    return [op, None, result, None, 0]


def _lists(args: tuple[Any, ...]) -> bool:
    return len(args) > 1 and any([type(a) is list for a in args[1:]])


def _there(node: Node) -> Any:
    """The host value if it takes no program to have it; else None."""
    value = node[VALUE]
    if isinstance(value, np.generic):
        return value
    op = node[OP]
    if isinstance(value, Tracer) or value is None and op is None:
        return None
    args = node[ARGS]
    if value is None and op.primitive.kind == "view" and type(args) is tuple:
        base = args[0]
        if type(base) is list and type(base[VALUE]) is np.ndarray:  # in short, the usual case
            if not _lists(args):
                return op.reference(base[VALUE], *args[1:])
    return _reference.host_view(node)


def there(node: Node) -> Any:
    """The value as NumPy has it, if it takes no program to have it; else None."""
    value = node[VALUE]
    return value if type(value) is np.ndarray else _there(node)


def record_traced(primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """An operation on tracers: it is for the innermost transformation that one belongs to.

    Tracers of transformations around the function that is being staged are operands of it.
    """
    recorder = local.recorder
    top = innermost(operands)
    if top is not None:
        if local.where is not None:
            return top.process(primitive, operands, params)
        frame = user_frame(_getframe(1))
        local.where = frame.f_code, frame.f_lasti  # as `inside_operation`, without its calls
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
    """The innermost transformation that one of these belongs to; those around the function that
    is being staged do not count."""
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


class inside_operation:
    """While rules run: what they record is of the user's operation, which is found only once."""

    def __enter__(self) -> None:
        self.before = local.where
        if self.before is None:
            frame = user_frame(_getframe(1))
            local.where = frame.f_code, frame.f_lasti

    def __exit__(self, *_: Any) -> None:
        local.where = self.before


def record_op(op: Op, operands: tuple[Any, ...]) -> Node:
    recorder = local.recorder
    if op.host:
        staged = op.primitive.kind in ("host", "call") and isinstance(recorder, StagingRecorder)
        if not staged:
            return on_host(op, operands)
    if _errstate.watching:
        done = checked(op, operands)
        if done is not None:
            return done
    where = local.where
    if where is None:
        frame = user_frame(_getframe(2))
        where = frame.f_code, frame.f_lasti
    node = [op, operands, None, *where]
    recorder.pending.append(node)
    if op.host and _has_effects(op):
        recorder.effects.append(node)  # type: ignore[attr-defined]
    return node


def record_multiple(
    primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]
) -> tuple[Node, ...]:
    """Record an operation with several results: one node each."""
    node = record(primitive, operands, params)
    if type(node) is tuple:
        return node  # a transformation interpreted it
    avals = node[OP].aval
    ops = [projection(avals, i) for i in range(len(avals))]
    if node[VALUE] is not None:
        return tuple([[None, None, v, None, a] for v, a in zip(node[VALUE], avals, strict=True)])
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


def watched() -> bool:
    """Whether floating-point errors are to be noticed here. In a staged function nothing has a
    value."""
    return _errstate.watching and not local.recorder.staging and _errstate.strict()


_RAISES_FLAGS = ("elementwise", "reduction", "contract", "fft")  # kinds of operations that may


def checked(op: Op, operands: tuple[Any, ...]) -> Node | None:
    """The operation done at once by NumPy, where the user's floating-point state asks for it."""
    if op.primitive.kind not in _RAISES_FLAGS or not watched():
        return None
    values = [host_value(o) if type(o) is list else o for o in operands]
    value = _errstate.checked(op.reference, *values)
    if not op.primitive.multiple_results and np.ndim(value) == 0:
        value = op.aval.dtype.type(value)
    return [op, None, value, None, 0]


def on_host(op: Op, operands: tuple[Any, ...]) -> Node:
    """Run an operation that XLA has no dtype for, at once, with NumPy."""
    if only_checks(op):
        return [op, None, op.primitive.decided(operands, op.params), None, 0]
    values = [host_value(o) if type(o) is list else o for o in operands]
    if _errstate.watching and _errstate.strict():
        value = _errstate.checked(op.reference, *values)
    else:
        value = quietly(op.reference, values)
    if not isinstance(value, (np.ndarray, np.generic, tuple)):  # one Python object
        boxed = np.empty((), object)
        boxed[()] = value
        value = boxed
    elif type(value) is np.ndarray and value.dtype != op.aval.dtype and value.dtype.kind in "iufc":
        value = value.astype(op.aval.dtype)  # of bytes in another order
    return [op, None, value, None, 0]


@functools.lru_cache(maxsize=4096)
def _has_effects(op: Op) -> bool:
    """Whether host code is called, or something checked, for no result."""
    return has_effects(op.primitive, op.params)


@functools.lru_cache(maxsize=4096)
def only_checks(op: Op) -> bool:
    """Whether it could be compiled but for the checks in it."""
    return (
        op.primitive.kind == "call"
        and all([on_device(a.dtype) for a in (*op.explicit, *op.aval)])
        and not hosted(op.primitive, op.params, but="check")
    )


@contextmanager
def staging(what: str) -> Iterator[StagingRecorder]:
    """Record into a list of its own that is never evaluated. `what`: for errors, "jit of f"."""
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


staged: list[StagingRecorder] = []  # of all threads: empty on the ordinary path


@contextmanager
def interpreting(trace: Trace) -> Iterator[None]:
    """Put a transformation on top of the stack. Afterwards its tracers are dead."""
    local.level += 1
    trace.level = local.level
    recorder = local.recorder
    eager, recorder.eager = recorder.eager, False
    try:
        yield
    finally:
        recorder.eager = eager
        trace.alive = False
        local.level -= 1


def seen_value(node: Node) -> Any:
    """`host_value` for those who only look, and for whom a tangent is not lost."""
    value = node[VALUE]
    return value.seen() if isinstance(value, Tracer) else host_value(node)


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
    """Whether what this is a result of has yet to be computed."""
    args = result[ARGS]
    return type(args) is tuple and args[0][VALUE] is None


def description(node: Node) -> str | None:
    """What is printed for a value that is not known."""
    if knowable(node):
        return None
    value = node[VALUE]
    what = value.trace.what if isinstance(value, Tracer) else local.recorder.staging
    return f"<{aval_of_node(node)} traced by {what}>"


def knowable(node: Node) -> bool:
    """Whether `seen_value` would give a value: not for what differs from example to example, nor
    for what depends on the operands of a function that is staged."""
    value = node[VALUE]
    if value is not None:
        return value.known() if isinstance(value, Tracer) else True
    recorder = local.recorder
    while isinstance(recorder, StagingRecorder):
        if recorder.owns(node):
            return node[OP] is not None and all(n[OP] is not None for n in _below(node))
        recorder = recorder.outer
    return True


def _below(node: Node) -> list[Node]:
    needed: list[Node] = []
    depth_first(node, set(), needed)
    return needed


def extent(node: Node) -> Any:
    """All values behind a node, for checks of bounds; None where they are not known."""
    value = node[VALUE]
    if isinstance(value, Tracer):
        return value.extent()
    return host_value(node) if knowable(node) else None
