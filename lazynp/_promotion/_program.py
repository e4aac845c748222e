"""A whole function as one program: traced more strictly than under `jit`.

What the function does to objects of Python's would happen only while it is traced, so nothing of
the kind passes, but for attributes of plain objects: stand-ins keep what the function sets, and
each call sets it. Results that are Python's numbers, or structure, are rebuilt at each call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._array import Array, NDArray, Scalar, write_lock
from lazynp._collector import uncollected
from lazynp._cost import least
from lazynp._jaxpr import Jaxpr, Literal, Var
from lazynp._node import VALUE
from lazynp._promotion._budget import LEAST, Later, budget
from lazynp._promotion._copies import computed, copies
from lazynp._promotion._given import Given
from lazynp._promotion._guards import Guards, refuse_computed
from lazynp._promotion._objects import CONTAINERS
from lazynp._promotion._results import Path, Results, numpys_in, rebuilt, with_numpys
from lazynp._promotion._template import Again, Listed
from lazynp._signals import let_through
from lazynp.functions.tools import compute
from lazynp.transforms._arguments import Arguments
from lazynp.transforms._jit import Jitted
from lazynp.transforms._stack import name_of
from lazynp.transforms._stretches import on_host
from lazynp.transforms.control import CannotStage, TooLong, converted, left_behind, session

UNROLLED = 200  # equations that unrolling a loop may add
EQUATIONS = 800  # of the whole program: more take too long to compile
_RECORDED = 6  # times as many are recorded, of which some are not used: then the trace ends
# Bytes that are copied once more, so that a program can be timed again: always; for each second of
# a call; at most
LIGHT, _IN_A_SECOND, _HEAVY = 1 << 25, 1e9, 1 << 28
TRACING = 0.5  # seconds that a trace may take; most take a tenth of that

# of an array: what these give, or whether that is a view, depends on strides
_LAYOUT = {
    "ravel", "reshape", "view", "flags", "strides", "base", "data", "ascontiguousarray",
    "asfortranarray", "require", "resize", "ctypes", "order", "tobytes", "may_share_memory",
    "shares_memory", "as_strided", "sliding_window_view", "lib", "nditer", "newbyteorder",
}  # fmt: skip

_NO_SOURCE = "its source is not available, or not supported"

Changes = list[tuple[int, str, Any]]  # object, attribute, value


class Program:
    """The function for calls like this one."""

    most = EQUATIONS
    at_once = False  # whether it needs no compiler
    again: type[Again] = Again
    results: type[Results] = Results

    def __init__(self, plain: Any, given: Given | Listed) -> None:
        self.functions: list[FunctionType] = []  # of the user's, that were traced
        self.asked: set[str] = set()  # names of attributes, by `getattr`
        self.guards: Guards | None = None  # since it was traced
        self.replaced: list[tuple[int, str]] = []  # numbers: object, attribute
        self.read: frozenset[str] = frozenset()  # names that may be those of attributes
        self._plain, self._template = plain, given.template
        self._moving, self._unread = given.moving, frozenset(given.unread)
        self._in_calls = isinstance(given, Given)
        self.drew = False  # whether it needs random numbers
        self.seconds = 0.0  # that a call takes at least, by estimate
        self._until = 0.0
        self._results: Results | None = None
        self._numpys: frozenset[Path] = frozenset()
        self._seeded: Any = None  # the state that it leaves to NumPy's own generator
        staged = _named(self._staged, name_of(plain))
        self._jitted = Jitted(staged, (), (), loops="auto", compiled="generic")
        self._jitted.retries = self._in_calls  # the rounds of a loop are others each time

    def serves(self, originals: list[Any], objects: list[Any]) -> bool:
        """Whether the trace still holds, and for these arguments."""
        traces = self._jitted._cache
        if len(traces) != 1 or self.guards is None or not self.guards.hold():
            return False
        if not all(traced.valid() for traced in traces.values()):
            return False
        if any(x is o for x in objects for o in self.guards.changing()):
            return False
        captured = self._captured()
        if not captured:
            return True
        owners = [x._owner() for x in originals if type(x) is NDArray]
        if not self._in_calls:  # these are no views: each has a place
            owners = [owners[i] for i in self.written]
        return not any(a is c for a in owners for c in captured)

    def __call__(
        self, leaves: list[Any], originals: list[Any], objects: list[Any],
        arrays: Arguments | None = None,
    ) -> tuple[Any, Changes]:  # fmt: skip
        """The result, and what becomes of attributes, computed: else they would be compiled
        together with what uses them. After an error nothing is written. originals: the leaves as
        they are given back. arrays: the leaves, if they were taken apart before.
        """
        for x in leaves:
            if type(x) is Scalar:
                _settle(x)
        owners = [x._owner() for x in leaves if type(x) is NDArray]
        before = [(x, x._node) for x in (*owners, *self._captured())]
        try:
            values = self._jitted(*leaves) if arrays is None else self._jitted.again(arrays)
            results = self._results  # of this call: another number may have been traced for it
            if results is None:
                raise AssertionError("the program was not traced")
            for x in (*values, *owners):
                compute(x)
            values = results.rows_apart(values)
            out = rebuilt(results.out, values, originals, objects)
            changes = [
                (k, name, rebuilt(spec, values, originals, objects))
                for k, name, spec in results.changes
            ]
        except BaseException as error:
            with write_lock:
                for x, node in before:
                    x._node = node
            if isinstance(error, TooLong):  # it was traced again: whoever runs it goes on without
                raise TypeError(str(error)) from None
            raise
        if self._seeded is not None:
            np.random.set_state(self._seeded)
        return out, changes

    def gives_numpys(self, want: Any) -> None:
        """Python's result is this one: where it has numbers of NumPy's own, give such."""
        self._numpys = numpys_in(want)
        if self._numpys and self._results is not None:
            self._results.out = with_numpys(self._results.out, self._numpys)

    def begin(self, leaves: list[Any], objects: Sequence[Any] = ()) -> lowering.Work | None:
        """Have it compiled in the background, for arguments like these, before anything is copied
        for its trial. None if that need not be waited for.
        """
        if not lowering.in_background():
            return None
        computed(leaves)  # else what is pending would be compiled, too
        empty = copies(leaves, empty=True)
        try:
            with lowering.unfinished_allowed(only_begin=True):
                self(empty, empty, list(objects))
        except lowering.Unfinished as unfinished:
            return None if unfinished.work.done else unfinished.work
        except Exception as error:  # the trial will meet it, too
            let_through(error)
        return None

    def outcome(self, leaves: list[Any], back: Any = ()) -> Any:
        """Of the rounds of a loop. back: the first leaves, as they are given back."""
        out, _ = self(leaves, [*back, *leaves[len(back) :]], [])
        return out

    @property
    def written(self) -> set[int]:
        """The arguments that it writes: places among the owners of the leaves."""
        traces = self._jitted._cache.values()
        return {i for t in traces for where, i in t.written if where == "argument"}

    def bytes_written(self, leaves: list[Any]) -> int:
        """Of these arguments, the bytes of those that it writes."""
        arrays, written = [x for x in leaves if type(x) is NDArray], self.written
        return sum(x.nbytes for k, x in enumerate(arrays) if k in written)

    def trial_copies(self, leaves: list[Any], call: float = 0.0) -> list[list[Any]]:
        """What a trial runs on, and what to time the program on again; none where the copies would
        take long beside a call, of so many seconds.
        """
        light = max(LIGHT, min(call * _IN_A_SECOND, _HEAVY))
        many = 2 if self.bytes_written(leaves) <= light else 1
        return [copies(leaves, written=self.written) for _ in range(many)]

    def _captured(self) -> list[Array]:
        return [x for traced in self._jitted._cache.values() for x in traced.captured]

    def trace(self, leaves: list[Any], spent: float = 0.0, call: float = 0.0) -> int:
        """Trace it, and count its operations. Raises whatever forbids it. spent: seconds of
        Python's on such calls. A trace may take as long, so that a call never takes much longer
        than those before it: a loop over a list may call a function with loops a thousand times,
        and each call is traced. It ends earlier, by `Later`, where the budget is short, but it may
        take as long as one call.
        """
        begin, most = time.thread_time(), max(TRACING, spent)
        allowed = max(budget.left(), LEAST, call)
        self._until = begin + min(most, allowed)
        try:
            return self._traced(leaves)
        except TooLong as why:
            if allowed < most and time.thread_time() > self._until:
                raise Later(str(why)) from None
            raise
        finally:
            budget.spend(time.thread_time() - begin)

    def _traced(self, leaves: list[Any]) -> int:
        classes = [cls for cls, _ in self._template.specs]
        refuse_computed(self._plain, [*classes, *self._template.fixed])
        with uncollected():
            if self._moving:
                jaxpr = self._jitted.lower(*leaves).jaxpr
            else:
                jaxpr = self._jitted.trace(*leaves)
        self._until = 0.0
        operations = _count(jaxpr)
        if operations > self.most:
            raise CannotStage(f"more than {self.most} operations")
        for where in {where for t in self._jitted._cache.values() for where, _ in t.written}:
            self._check_written(where)
        if self._in_calls and any(type(x) in (int, float, complex) for x in leaves):
            _check_numbers(jaxpr, self._numbers(jaxpr, leaves))
        if self._results is not None:
            self._results.values.clear()  # they belong to the trace
        self.seconds = 1e-6 * least(on_host(jaxpr))
        return operations

    def _check_written(self, where: str) -> None:
        if where == "captured":
            raise CannotStage("writes an array that is no argument")  # a trial would write it too

    def _numbers(self, jaxpr: Jaxpr, leaves: list[Any]) -> set[Var]:
        """The inputs that are numbers of Python's."""
        return {v for v in jaxpr.inputs if v.aval.weak}

    def _guards(self, again: Again, classes: list[type]) -> Guards:
        return Guards(self.functions, again.cells, classes, asked=self.asked)

    def _called(self, again: Again) -> Any:
        function = converted(self._plain, True)
        if function is self._plain:
            raise CannotStage(_NO_SOURCE)
        return function(*again.args, **again.kwargs)

    def _staged(self, *leaves: Any) -> Any:
        again = self.again(self._template, self._plain, list(leaves))
        before = [leaves[i]._node for i in self._template.apart]
        place = again.cells, again.objects, again.scopes
        until = self._until or time.thread_time() + TRACING  # a call may trace it again
        with session.strictly(UNROLLED, *place, until, _RECORDED * self.most) as traced:
            try:
                out = self._called(again)
            except CannotStage:
                self.drew = session.drew
                raise
            self._seeded = left_behind()
        if self._seeded is not None and not self._in_calls:
            raise CannotStage("seeds NumPy's generator in each round")
        classes = [type(x) for x in again.objects if type(x) not in CONTAINERS]
        classes += [x for x in self._template.fixed if isinstance(x, type)]
        self.functions, self.asked = list(traced.values()), session.asked
        self.guards = self._guards(again, classes)
        self.read = self.guards.names
        for name in self._unread & self.guards.names:
            raise CannotStage(f"reads the attribute `{name}`, which may change")
        if not all(self._template.compact.values()) and self.read & _LAYOUT:
            raise CannotStage("what it does to a view depends on the order of its memory")
        if any(leaves[i]._node is not n for i, n in zip(self._template.apart, before, strict=True)):
            raise CannotStage("writes an array of NumPy's, or memory that another argument shows")
        again.kept += [x for c in self.guards.constants for x in c.objects]
        self._results = self.results(again, out, not self._in_calls)
        self._results.out = with_numpys(self._results.out, self._numpys)
        self.replaced = self._results.replaced_numbers(again)
        return list(self._results.values)


def _settle(x: Scalar) -> None:
    """Have the value of a scalar as a number of NumPy's. In a buffer it would be an operand of
    another kind, and the program would be compiled again for it.
    """
    value = x._node[VALUE]
    if lowering.is_buffer(value):
        x._node[VALUE] = lowering.host(value)[()]


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def staged(*leaves: Any) -> Any:
        return function(*leaves)

    staged.__name__ = staged.__qualname__ = name
    return staged


def _count(jaxpr: Jaxpr) -> int:
    return len(jaxpr.eqns) + sum(map(_count, _inner(jaxpr)))


def _inner(jaxpr: Jaxpr) -> list[Jaxpr]:
    return [v for e in jaxpr.eqns for p in e.params.values() for v in _jaxprs(p)]


def _jaxprs(x: Any) -> list[Jaxpr]:
    if isinstance(x, Jaxpr):
        return [x]
    return [j for y in x for j in _jaxprs(y)] if isinstance(x, (tuple, list)) else []


# -- numbers of Python's that are inputs -----------------------------------------------------------

# operators that raise for Python's numbers where NumPy's give inf or nan, or give complex numbers
_STRICT = {
    "divide", "true_divide", "floor_divide", "remainder", "fmod", "mod", "divmod", "power", "pow",
    "float_power", "left_shift", "right_shift", "square", "sqrt", "exp2",
}  # fmt: skip
_BY_A_NUMBER = {"divide", "floor_divide", "remainder"}
# what may be Python's arithmetic: its results are Python's numbers as well
_PLAIN = {
    "add", "subtract", "multiply", "negative", "absolute", "positive", "convert", "select", "where",
    "minimum", "maximum", "copy", "reshape", "broadcast_in_dim", "bitwise_and", "bitwise_or",
    "bitwise_xor", "invert", *_BY_A_NUMBER,
}  # fmt: skip


def _check_numbers(jaxpr: Jaxpr, numbers: set[Var]) -> None:
    """Refuse arithmetic between Python's numbers that NumPy does in another way, and ints that
    NumPy may refuse to convert. numbers: the inputs that are Python's.
    """
    numbers = set(numbers)
    for eqn in jaxpr.eqns:
        ours = [a for a in eqn.inputs if a in numbers]
        if not ours:
            continue
        name, to = eqn.primitive.name, eqn.outputs[0].aval
        only = all(a in numbers or isinstance(a, Literal) for a in eqn.inputs)
        if only and name in _STRICT:
            by = eqn.inputs[-1]
            if name not in _BY_A_NUMBER or not isinstance(by, Literal) or not np.all(by.value):
                raise CannotStage(f"{name} of a number of Python's that varies")
        kinds = ours[0].aval.dtype.kind, to.dtype.kind
        if name == "convert" and kinds == ("f", "f") and not to.weak:
            continue  # for an operation of Python's, which has recorded where it fails
        if name == "convert" and kinds in (("i", "i"), ("i", "u")) and to.dtype != np.int64:
            raise CannotStage(f"an int of Python's that varies becomes {to.dtype}")
        inner = [j for p in eqn.params.values() for j in _jaxprs(p)]
        for j in inner:
            _check_numbers(j, {v for v in j.inputs if not v.aval.shape})
        if inner or only and name in _PLAIN:
            numbers.update(v for v in eqn.outputs if not v.aval.shape and v.aval.dtype.kind != "b")
