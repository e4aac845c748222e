"""The recorder: what one thread has pending, where it flushes, and which back end is active.

`Recorder.backend` answers the question that every operation asks: execute now, or record? `Backend`
itself declines everything, so everything is recorded. The others (`_backends`) replace it when the
state changes, so that no step has to test the state: `FIRST` and `EAGER` at the beginning and in
loops of small operations, as the policy decides, and `STRICT` while floating-point errors must be
noticed somewhere. While a function is staged, everything is recorded.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from sys import _getframe
from types import CodeType, FrameType
from typing import Any

from lazynp._avals import In, aval_of, native
from lazynp._config import config
from lazynp._cutsites import EARLY, CutSites, Gathered
from lazynp._node import (
    AVAL,
    CODE,
    OFFSET,
    OP,
    VALUE,
    Node,
    Op,
    Trace,
    Tracer,
    aval_of_node,
    escaped,
    is_tracer,
    tracer_node,
)
from lazynp._ownership import only_here
from lazynp._policy import LoopPolicy, Mode
from lazynp._positions import user_frame
from lazynp._quiet import quiet_context
from lazynp._signals import let_through

UNKNOWN = (0, -1, ())  # for `Recorder.inside`; None means outside any function of lazynp


class Backend:
    """Records everything: it declines to execute anything.

    Nobody asks which back end is active. An operation offers itself to the back end by one of these
    methods, and is recorded if that declines.
    """

    # whether it executes, at any size, what gains nothing in a program, and flushes what is pending
    # for a small part of it
    in_loop = False

    def attempt(self, execute: Callable[..., Any], *args: Any) -> Any:
        """What `execute(*args)` makes by NumPy; None: record it. The general form of the others."""
        return None

    def goes_on(self, recorder: Recorder) -> bool:
        """Whether an operation may offer itself before anybody considers a flush."""
        return not recorder.is_full()

    def largest(self) -> float:
        """The largest operands, in bytes, on which NumPy runs a whole function; 0: on none."""
        return 0

    def value(self, node: Node, any_size: bool = False) -> Any:
        """The memory of this operand for immediate use by NumPy; None: record it."""
        return None

    def operation(self, op: Op, operands: tuple[Any, ...]) -> Node | None:
        """The executed operation; None: record it."""
        return None


RECORD = Backend()
TICK = 2048  # operations between two calls of `Recorder.ticked`
_TICKS = 64  # for one flush, however large: a function is hot after fewer
tick_observers: list[Callable[[FrameType], None]] = []  # called with the user's frame
tracing_observers: list[Callable[[], None]] = []  # called now and then while a function is staged
# "eager", "first", and "imposed", if there is one; `_backends` provides them
backends: dict[str, Backend] = {}


class GivesWay(BaseException):
    """Ends a call of the user's that runs, since a program will give its results. An observer of
    ticks may raise it. (No `except Exception` of the user's may stop it.)
    """


class _Unheard:
    """Tells `sys.unraisablehook` of an exception that nothing may raise: Python gives it those of
    destructors.
    """

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __del__(self) -> None:
        raise self._error


class Recorder:
    """What one thread has pending, and where it flushes."""

    __slots__ = (
        "pending", "limit", "due", "backend", "quiet", "inside", "staging", "sites", "policy",
        "countdown", "unasked", "observed", "__weakref__",
    )  # fmt: skip

    place: Any = None  # the devices of what is recorded, if not the first: see `_placed`

    def __init__(self) -> None:
        self.pending: list[Node] = []
        self.limit = EARLY  # with this many pending, the next operation considers a flush
        self.due = False  # the next operation must flush
        self.sites = CutSites()
        self.policy = LoopPolicy()
        self.quiet = quiet_context()  # calls a pure function, without NumPy's warnings
        # The user's operation being recorded: its position, and the progress of its function.
        self.inside: tuple[int, int, tuple[int, ...]] | None = UNKNOWN
        self.staging = ""  # what is being traced; nothing has a value there
        self.countdown = TICK  # the fast path in C has one of its own
        self.unasked = 0  # calls that ran at once since a value was asked for: `_alone.PATIENCE`
        self.observed = 0  # open blocks of `recording`
        self.choose()

    def is_full(self) -> bool:
        """Whether the next operation considers a flush."""
        return len(self.pending) >= self.limit

    def choose(self) -> None:
        """Install the back end for the present state. Called whenever that changes."""
        imposed = backends.get("imposed")
        if imposed is not None:
            self.backend = imposed
        elif not self.observed and (mode := self.policy.mode) is Mode.EAGER:
            self.backend = backends["eager"]
        elif not self.observed and mode is Mode.FIRST and self._may_learn:
            self.backend = backends.get("first", RECORD)  # none while this module is imported
        else:
            self.backend = RECORD

    @contextmanager
    def recording(self) -> Iterator[None]:
        """A block in which nothing is executed eagerly."""
        self.observed += 1
        self.choose()
        try:
            yield
        finally:
            self.observed -= 1
            self.choose()

    def reset_policy(self) -> None:
        """Forget the findings about loops."""
        if self.sites.gathered is not None:
            self.sites.gathered, self.limit = None, EARLY
        self.policy.reset()
        self.choose()

    @property
    def learns(self) -> bool:
        """Whether it is still unknown if recording gains anything."""
        return self._may_learn and self.policy.mode is not Mode.EAGER

    @property
    def _may_learn(self) -> bool:
        return config.execution != "compiled" and not config.debug_nans

    def gather(self, gathered: Gathered) -> None:
        """Record some rounds of a loop before the next flush."""
        self.sites.gathered, self.limit = gathered, gathered.first_look or gathered.limit
        self.policy.begin_rounds()
        self.choose()

    def gathered_rounds(self, short: float, small: bool = False) -> None:
        """They have run: see `LoopPolicy.end_rounds`."""
        self.policy.end_rounds(short, small)
        self.choose()

    def spent(self) -> None:
        """Eager operations have cost as much as recording some rounds would."""
        if not self.pending:
            self.gather(Gathered(spent=self.policy.patience))

    def ticked(self) -> None:
        """`TICK` more operations have come. (In C no operation may fail: there, a signal whose
        handler has raised an exception meanwhile comes again.)
        """
        self.countdown = TICK
        try:
            for observer in tick_observers:
                observer(user_frame(_getframe(1)))
        except RecursionError:  # a full stack is no matter
            pass
        except Exception as error:  # no operation of the user's fails because it is counted
            let_through(error)
            _Unheard(error)

    def worked(self, size: int) -> None:
        """So many bytes were computed that had been recorded: each 4 KB count as an operation, as
        those that are computed at once do.
        """
        left = self.countdown - (size >> 12)
        for _ in range(min((TICK - left) // TICK, _TICKS)):
            self.ticked()
        self.countdown = left % TICK or TICK

    def chose(self) -> None:
        """The data determined the shape of a result."""
        if config.execution != "compiled" and not config.debug_nans:
            self.policy.observe_choice()
            self.choose()

    def learnt(self) -> None:
        """The policy has observed something."""
        self.choose()
        if self.policy.mode is Mode.EAGER:
            # Flush what the rest of this iteration records, or the next one could not run eagerly.
            self.due, self.limit = True, 1


class PlacedRecorder(Recorder):
    """What one thread has pending for devices other than the first. Nothing of it runs by NumPy."""

    __slots__ = ("place", "sources")

    def __init__(self, place: Any) -> None:
        super().__init__()
        self.place = place
        # by id, nodes from elsewhere that operations read, and the leaves that stand for them
        self.sources: dict[int, tuple[Node, Node]] = {}

    def choose(self) -> None:
        self.backend = RECORD

    @property
    def learns(self) -> bool:
        return False


class StagingRecorder(Recorder):
    """Records a function that is only traced: nothing in it is evaluated.

    Anything from outside becomes an operand. A handle is captured through its owner, which holds an
    input of the staged program until that is complete, so that reads and writes of it are recorded
    like any other. A tracer, or the node of an immutable scalar, is captured itself.
    """

    __slots__ = (
        "level", "outer", "handles", "aliases", "inputs", "effects", "ranges", "checked", "_own",
        "_counted", "_fresh", "asked", "dependent", "fuses", "picked", "windows", "sizes", "thread",
    )  # fmt: skip

    borrowed = 0  # arrays so far, in all threads

    def __init__(self, what: str, outer: Recorder, level: int) -> None:
        super().__init__()
        self.staging, self.outer, self.level = what, outer, level
        self.thread = threading.get_ident()
        self.limit = -1  # `enter` is called for every operation
        self.handles: dict[int, tuple[Any, Node, Node]] = {}  # owner, its node before, the input
        self.aliases: dict[int, tuple[Node, Node]] = {}  # for tracers of outer levels
        self.inputs: list[Node] = []
        self.effects: list[Node] = []  # calls of host code made for their effect
        self.ranges: dict[int, tuple[int, int]] = {}  # of inputs (by id) that count rounds
        # indices checked so far, by id and length of the axis: the index, and it in bounds
        self.checked: dict[tuple[int, int], tuple[Node, Node]] = {}
        self.sizes: Any = None  # a `_dimensions.Table`, if its integers may be sizes
        self.windows = 0  # bytes that slices of unknown size may take in a round
        # by id of an array, weak references to it and to what branches made of it: an array that
        # may be the same, and is not written with it; whether it is; the error of using it later
        self.picked: dict[int, list[tuple[Any, Any, Callable[[], Any], Callable[[], Any]]]] = {}
        self.fuses = True  # whether what is staged will be compiled as a whole
        self._own: set[int] = set()
        self._counted = 0
        self._fresh: dict[int, Node] = {}  # nodes of handles made during this trace
        self.dependent: dict[int, Node] = {}  # nodes that depend on inputs, as far as was asked
        self.asked: BaseException | None = None  # the error of who has asked for a value

    def choose(self) -> None:
        self.backend = RECORD

    def input(self, aval: Any) -> Node:
        node = [None, None, None, None, aval]
        self.inputs.append(node)
        self._fresh[id(node)] = node
        return node

    def owns(self, node: Node) -> bool:
        """Whether the node was recorded here, or belongs to a handle made here."""
        return id(node) in self._fresh or self.recorded(node)

    def recorded(self, node: Node) -> bool:
        if self._counted < len(self.pending):
            self._own.update(map(id, islice(self.pending, self._counted, None)))
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

    def behind(self, node: Node) -> Node | None:
        """The tracer that an input stands for. (The input of an array stands for other values in
        later rounds of a loop that writes the array.)
        """
        return next((outer for outer, given in self.aliases.values() if given is node), None)

    def capture(self, owner: Any, given: Any = None) -> None:
        """Let an array from outside hold an input of this program. given: its type, if not the
        array's.
        """
        node = owner._node
        if is_tracer(node):
            if not node[VALUE].trace.alive:
                raise escaped(node[VALUE])
            if node[VALUE].trace.level > self.level:
                return  # belongs to a transformation inside the function
        if id(owner) not in self.handles and not self.owns(node):
            aval = aval_of_node(node)
            aval = aval if aval.dtype.isnative else aval_of(aval.shape, native(aval.dtype))
            self.handles[id(owner)] = owner, node, self.input(given or aval)
            StagingRecorder.borrowed += 1  # first: who reads the array compares this
            owner._node = self.handles[id(owner)][2]

    def written(self) -> list[Node]:
        """The new values of arrays from outside that were written."""
        return [o._node for o, _, given in self.handles.values() if o._node is not given]

    def outdate(self, owner: Any) -> None:
        """This array is written: what branches have picked of it can no longer be used."""
        recorder: Any = self
        while isinstance(recorder, StagingRecorder):
            for mine, its, test, error in recorder.picked.get(id(owner), ()):
                handle = its()
                if mine() is not owner or handle is None or not test():
                    continue
                if recorder is not self:  # what is staged here may have read it, and run again
                    raise error()
                trace = Trace(self.staging)
                trace.alive, trace.refusal = False, error
                handle._node = _dead(aval_of_node(handle._node), trace)
            recorder = recorder.outer

    def give_back(self) -> None:
        """Restore the arrays from outside."""
        for owner, node, _ in self.handles.values():
            owner._node = node

    def release(self) -> None:
        """From now on, an escaped value tells where it was made."""
        trace = Trace(self.staging)
        trace.alive = False
        self._fresh.clear()
        self.effects.clear()
        self.checked.clear()
        pending = self.pending
        while pending:  # from the end, so that operands are free when they are visited
            constant = pending[-1][VALUE] is not None  # no operand affects it
            if not constant and not only_here(pending, -1):
                if not isinstance(aval_of_node(pending[-1]), tuple):
                    _make_dead(pending[-1], trace)
            pending.pop()
        for node in self.inputs:
            _make_dead(node, trace)


def _make_dead(node: Node, trace: Trace) -> None:
    """From now on, using this node raises an error that names what traced it."""
    code, offset = (None, 0) if node[OP] is None else (node[CODE], node[OFFSET])
    node[:] = _dead(aval_of_node(node), trace, code, offset)


def _dead(aval: Any, trace: Trace, code: Any = None, offset: int = 0) -> Node:
    tracer = Tracer()
    tracer.trace, tracer.aval, tracer.code, tracer.offset = trace, aval, code, offset
    return tracer_node(tracer)


class _Local(threading.local):
    level = 0  # of the innermost transformation
    where: tuple[CodeType, int] | None = None  # the user's operation to which a rule belongs
    cure: str | None = None  # for errors about a needed but unknown value

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.placed: dict[Any, PlacedRecorder] = {}  # by place
        recorders.add(self.recorder)

    def recorder_of(self, place: Any) -> PlacedRecorder:
        """The recorder for what runs there."""
        found = self.placed.get(place)
        if found is None:
            found = self.placed[place] = PlacedRecorder(place)
        return found


recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()
staged: list[StagingRecorder] = []  # of all threads: empty on the usual path
elsewhere: list[Any] = []  # what puts NumPy's values on the default device, if that is another
calls: list[Any] = []  # what decides where functions are called, once one may be called elsewhere


def install(**declared: Backend) -> None:
    """Called once, by the module that declares these; a call of `impose` follows."""
    backends.update(declared)


local: _Local


def impose(backend: Backend | None) -> None:
    """Make all recorders use this back end, whatever their loops; None: each its own again."""
    if backend is None:
        backends.pop("imposed", None)
    else:
        backends["imposed"] = backend
    for recorder in list(recorders):
        recorder.choose()


def reset_everywhere() -> None:
    """After a change of settings, loops may be better recorded."""
    for recorder in list(recorders):
        recorder.reset_policy()


config.observers.append(reset_everywhere)
local = _Local()


def user_position() -> tuple[CodeType, int]:
    """The present position in the user's program."""
    if local.where is not None:
        return local.where
    frame = user_frame(_getframe(1))
    return frame.f_code, frame.f_lasti


class inside_operation:
    """While rules run: attribute what they record to the user's operation, which is found only
    once.
    """

    def __enter__(self) -> None:
        self.before = local.where
        if self.before is None:
            frame = user_frame(_getframe(1))
            local.where = frame.f_code, frame.f_lasti

    def __exit__(self, *_: Any) -> None:
        local.where = self.before


def known(operand: Any) -> In:
    """The key of an operand: an aval, or the type of a Python scalar."""
    if type(operand) is list:
        op = operand[OP]
        return operand[AVAL] if op is None else op.aval
    return type(operand)
