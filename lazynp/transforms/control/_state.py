"""What the operators share: variables as cells, what is traced, what may not be staged."""

from __future__ import annotations

import itertools
import math
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import CellType, FunctionType
from typing import Any

import numpy as np

from lazynp._array import Array, new_scalar
from lazynp._cost import call_by_reference
from lazynp._flush import known_observers
from lazynp._node import OP
from lazynp._ownership import COUNTED, counts
from lazynp._positions import position
from lazynp._recorder import local, tracing_observers, user_position
from lazynp._tree import register_pytree_node, show
from lazynp._values import knowable
from lazynp.primitives import elementwise, shaping
from lazynp.primitives.checks import check_later
from lazynp.transforms._stack import inner_observers
from lazynp.transforms.control._recursion import TooDeep, TooLong, instead

Cells = dict[str, CellType]

operators: list[Any] = []  # the namespace that the rewritten code calls
# makes what a loop carries in place of an array whose shape changes: `functions._resized.window_of`
VALUE = ".value"  # the variable of what a function returns
LIMIT = 2000  # equations that unrolling may add where a loop should have been staged
_KNOWN = 50e3  # microseconds of computing, by estimate, for a value that a trace asks for


class CannotStage(BaseException):
    """Why a loop or a branch cannot be part of a program. Nothing has been changed yet. (No
    `except Exception` of the user's may stop it.)
    """


class Session(threading.local):
    """How the function that is being traced treats its loops."""

    def __init__(self) -> None:
        self.mode = "auto"
        self.notes: list[str] = []  # for `explain`
        self.depth = 0  # of staged bodies and branches
        self.exact = False  # whether a loop is unrolled rather than that an int may grow large
        self.fresh: dict[int, tuple[Any, int]] = {}  # lists and dicts, and the depth of each
        self.shown: list[Any] = []  # traced values in the messages of exceptions
        self.said: list[Any] = []  # traced values in other texts
        self.prints = False  # whether the program prints: what is known, it prints from then on
        self.asserts = 0  # whether the message of an `assert` is being made
        self.limit = LIMIT
        # by id, the user's functions that were traced, where anything that Python could notice is
        # refused
        self.strict: dict[int, FunctionType] | None = None
        self.asked: set[str] = set()  # names of attributes that were asked for by `getattr`
        self.cells: dict[int, CellType] = {}  # by id of a variable's cell: what stands for it
        self.scopes: dict[int, dict[str, Any]] = {}  # by id of global names: what stands for them
        self.counting: list[Any] = []  # loops over numbers whose bodies are being traced
        self.pieces = 0  # that loops were divided into
        # what the body that is being traced stores in objects from outside; None: it must not
        self.stores: Any = None
        self.merged: dict[int, Any] = {}  # by id: lists and dicts of which a branch picked one
        # by what stands there: the places that branches set, when they were traced before
        self.places: dict[Any, list[Any]] = {}
        # by id of the first element: arrays whose elements are in lists, whether these are Python's
        # numbers, and the elements
        self.tables: dict[int, tuple[Any, bool, tuple[Any, ...]]] = {}
        self.growth: Any = None  # lists to which the rounds of the innermost loop may append
        self.carry: Any = None  # of the loop whose round is being traced, the innermost one
        # by id: arrays that only a variable of the body has, and how many references the loops and
        # branches around it have to each (`_aliases`)
        self.own: dict[int, int] = {}
        self.draws: Any = None  # what draws random numbers, in a loop that is running
        # by id: generators that a strict trace has made, and the depth of each; what they drew, in
        # bytes
        self.seeded: dict[int, tuple[Any, int]] = {}
        self.reseeded: Any = None  # the state of NumPy's own generator before the trace seeded it
        self.drawn = 0
        self.drew = False  # whether a random number was asked for
        self.unlaid = ""  # why nobody knows the order in memory of an array (`_laid`)
        self.number = 0  # of the function
        self.handlers: list[tuple[int, Any]] = []  # of each `try` that runs: line, and types
        self.within: dict[int, Any] = {}  # by id: jitted functions that are being traced, plain
        self.recursive = 0  # calls of functions, by themselves, deep in staged bodies
        self.picks: dict[int, Any] = {}  # by id of an array that a branch has picked: see there
        self.takes_none: list[Any] = []  # codes of functions that are called where None is taken
        self.facts: dict[int, Any] = {}  # by id of a test: what it says of variables (`_absent`)
        self.until = math.inf  # seconds of this thread's when tracing ends, finished or not
        self.most = math.inf  # operations, those included that nobody uses

    def check_time(self) -> None:
        """Call this where a trace comes by often."""
        if time.thread_time() > self.until:
            raise TooLong("tracing it takes too long")
        if len(local.recorder.pending) > self.most:
            raise TooLong("it records too many operations")

    def check_known(self, nodes: list[Any]) -> None:
        """A trace asks for a known value, which the interpreter is about to compute. If loops would
        take long there, the trace of a function that nobody has asked to stage ends.
        """
        if self.strict is None:
            return
        calls = [n[OP] for n in nodes if n[OP].primitive.kind == "call"]
        if sum([call_by_reference(op.primitive, op.params) for op in calls]) > _KNOWN:
            raise TooLong("asks for what a loop computes, while it is traced")

    def note_pick(self, made: Any, predicate: Any, old: tuple[Any, ...], nested: bool) -> None:
        """A branch has picked an array, or a bool that may be Python's or NumPy's (nested). old:
        the arrays from before the branch, or None for a new one, if the predicate is false, and if
        it is true. nested: an inner branch has picked as well.
        """
        if nested or made.ndim and any(x is not None for x in old):
            refs = None if nested else [None if x is None else weakref.ref(x) for x in old]
            self.picks[id(made)] = weakref.ref(made), predicate, refs

    def pick_of(self, x: Any) -> Any:
        """The predicate, and the arrays (see `note_pick`) of one that a branch has picked."""
        found = self.picks.get(id(x))
        if found is None or found[0]() is not x:
            return None
        refs = found[2]
        return found[1], None if refs is None else [r and r() for r in refs]

    def inner(self) -> Callable[[], None]:
        """A transformation begins to run a function within the one that is traced. At the end, the
        lists that it has made are let go, and with them the arrays that they hold.
        """
        made = [(table, len(table)) for table in (self.fresh, self.tables)]

        def end() -> None:
            for table, known in made:
                while len(table) > known:
                    table.popitem()

        return end

    @contextmanager
    def tracing(self, mode: str, notes: list[str], within: dict[int, Any]) -> Any:
        """Trace a function; another may be traced meanwhile. within: see there."""
        before = dict(self.__dict__)
        self.mode, self.notes, self.depth, self.fresh = mode, notes, 0, {}
        self.number = next(numbers)
        self.exact, self.limit, self.strict, self.cells = False, LIMIT, None, {}
        self.scopes, self.shown, self.said, self.asserts = {}, [], [], 0
        self.counting, self.pieces, self.growth, self.draws = [], 0, None, None
        self.handlers, self.picks, self.stores, self.places = [], {}, None, {}
        self.merged, self.facts, self.takes_none, self.prints = {}, {}, [], False
        self.own, self.carry, self.tables = {}, None, {}
        outermost, self.recursive, self.within = not self.within, 0, self.within | within
        try:
            yield
        except CannotStage as why:
            error: Any = TypeError(str(why))
            error.only_traced = True
            raise error from None
        except TooDeep as why:
            if not outermost:
                raise
            raise RecursionError(str(why)) from None
        finally:
            self.__dict__.update(before)

    @contextmanager
    def staged(self, exact: bool = False, counted: bool = True) -> Any:
        """A body or a branch that is traced once, and may run any number of times. counted: not by
        a number that is unknown. In such a loop, unrolling one around it makes no int known.
        """
        self.check_time()
        before, stores = self.exact, self.stores
        self.exact = counted and (self.exact or exact and not self.depth)
        self.stores = None
        self.depth += 1
        try:
            yield
        except RecursionError as error:  # to unroll a loop would not help
            raise instead(error) from None
        except Exception as error:
            note_depth(error, self.depth)
            raise
        finally:
            self.depth -= 1
            self.exact, self.stores = before, stores

    @contextmanager
    def within_body(self, own: dict[int, int], carry: Any = None) -> Any:
        """A branch, or a round of a loop, with the arrays that are its own."""
        before = self.own, self.carry
        self.own, self.carry = own, carry or self.carry
        try:
            yield
        finally:
            self.own, self.carry = before

    @contextmanager
    def strictly(
        self,
        limit: int,
        cells: dict[int, CellType],
        objects: Iterable[Any],
        scopes: dict[int, dict[str, Any]],
        until: float = math.inf,
        most: float = math.inf,
    ) -> Iterator[dict[int, FunctionType]]:
        """The whole function is like a staged body: what changes an object of Python's, or draws
        a random number, is refused. Gives the functions that were traced. (`tracing` ends it.)

        cells: stand for variables of functions around it. objects: may be changed. scopes: stand
        for global names. until, most: see there; traces of inner functions keep them.
        """
        self.until, self.most = until, most
        self.limit, self.strict, self.cells, self.scopes = limit, {}, cells, scopes
        self.asked, self.drew, self.seeded, self.drawn = set(), False, {}, 0
        self.reseeded, self.unlaid = None, ""
        try:
            with self.staged():
                for x in objects:
                    self.fresh[id(x)] = x, self.depth
                yield self.strict
        finally:
            if self.reseeded is not None:
                np.random.set_state(self.reseeded)


# Exceptions are marked: to keep one would keep its frames, and arrays in them.
numbers = itertools.count(1)


def mark_raised(error: Any) -> None:
    """A `raise` of the user's raises this exception now."""
    with suppress(AttributeError):
        error.by_raise = session.number, next(numbers)


def when_raised(error: Any) -> int:
    """When a `raise` in the function that is being traced has raised it; 0 if none has."""
    number, when = getattr(error, "by_raise", (0, 0))
    return when if number == session.number else 0


def note_depth(error: Any, depth: int) -> None:
    """Note on an exception the staged body that it comes from."""
    if not hasattr(error, "staged_depth"):
        with suppress(AttributeError):
            error.staged_depth = depth


session = Session()
tracing_observers.append(session.check_time)
known_observers.append(session.check_known)
inner_observers.append(session.inner)


def undecided(x: Any) -> bool:
    """Whether x is an array whose value is not known while tracing."""
    return isinstance(x, Array) and not knowable(x._read())


def involved(x: Any, depth: int = 0) -> bool:
    """Whether x may hold what is not known while tracing."""
    if isinstance(x, (Array, Maybe)):
        return isinstance(x, Maybe) or undecided(x)
    if x is None or isinstance(x, (bool, int, float, complex, str, bytes, np.generic, np.ndarray)):
        return False
    if type(x) in (tuple, list, set, dict) and depth < 4:
        parts = x.values() if type(x) is dict else x
        return any([involved(p, depth + 1) for p in parts])
    module = getattr(x, "__module__", None) or ""
    if isinstance(x, (type, type(np))) or module.partition(".")[0] in ("lazynp", "numpy", "math"):
        return False
    return type(x) is not type(len)


def numeric(x: Any) -> bool:
    """Whether x can be a value of a program."""
    if not isinstance(x, (Array, np.ndarray, np.generic, bool, int, float, complex)):
        return False
    return getattr(x, "dtype", np.dtype(bool)).kind in "biufc"


def pythons(x: Any, dtype: Any) -> Any:
    """A traced number as one of Python's."""
    return new_scalar(elementwise.convert(x, dtype=dtype, weak=True)._read())


def truth(x: Any) -> Any:
    """The truth value of an undecided array, as a 0-d array."""
    if x.size > 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or "
            "a.all()"
        )
    if not x.size:
        bool(x)  # raises that the value is not known
    if x.ndim:
        x = shaping.reshape(x, shape=())
    return x if x.dtype == np.bool_ else elementwise.not_equal(x, 0)


# -- variables -------------------------------------------------------------------------------------


class _Unbound:
    def __repr__(self) -> str:
        return "unbound"


UNBOUND: Any = _Unbound()


class Maybe:
    """The value of a variable that is bound only if a traced flag is true; none: or else None."""

    def __init__(self, value: Any, flag: Any, none: bool = False) -> None:
        self.value, self.flag, self.none = value, flag, none


register_pytree_node(
    Maybe, lambda m: ((m.value, m.flag), m.none), lambda none, parts: Maybe(*parts, none=none)
)


def cells_of(*functions: Callable[..., Any] | None) -> Cells:
    """The variables that inner functions share with the function."""
    found: Cells = {}
    for f in functions:
        if f is not None:
            found.update(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    return found


def value_of(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def bind(cell: CellType, value: Any) -> None:
    if value is not UNBOUND:
        cell.cell_contents = value
    elif value_of(cell) is not UNBOUND:
        del cell.cell_contents


def values_of(cells: Iterable[CellType]) -> list[Any]:
    return list(map(value_of, cells))


def bind_all(cells: Iterable[CellType], values: Iterable[Any]) -> None:
    for cell, value in zip(cells, values, strict=True):
        bind(cell, value)


def load(value: Any, name: str) -> Any:
    """A variable that some path leaves unbound, or None: the program checks that none did."""
    if type(value) is not Maybe:
        return value
    if value.none and value.flag is not True:
        return _present(value, name)
    if value.flag is not True:
        flag = value.flag if isinstance(value.flag, Array) else np.bool_(value.flag)
        text = f"cannot access local variable '{name}' where it is not associated with a value"
        if not isinstance(flag, Array):
            if not flag:
                raise UnboundLocalError(text)
            return value.value
        check_later(elementwise.logical_not(flag), UnboundLocalError, text)
    return value.value


def _present(value: Maybe, name: str) -> Any:
    if not isinstance(value.flag, Array):
        return value.value if value.flag else None
    if session.strict is not None:
        raise CannotStage(f"line {user_line()}: {quoted(name)} may be None where it is used")
    text = f"`{name}` is None, and a traced function uses it other than in `{name} is None`"
    text = "the result is None, which a program cannot give" if name == VALUE else text
    check_later(elementwise.logical_not(value.flag), TypeError, text)
    return value.value


# -- what a staged body must not do ----------------------------------------------------------------


def fresh(x: Any) -> Any:
    """A list, dict or set that was made here; its changes are seen only where it was made."""
    if session.depth or local.recorder.staging:
        session.fresh[id(x)] = x, session.depth
    return x


def is_new(x: Any) -> bool:
    """Whether this object was made where the function is traced now."""
    return was_made(x) and session.fresh[id(x)][1] == session.depth


def was_made(x: Any) -> bool:
    """Whether this object was made in this trace, or stands for one that the trace may change."""
    made = session.fresh.get(id(x))
    return made is not None and made[0] is x


def is_alone(cell: Any) -> bool:
    """Whether only this variable refers to its object, which was made in this trace."""
    made = session.fresh.get(id(value_of(cell)))
    if made is None or made[0] is not cell.cell_contents:
        return False
    del made
    return counts([cell.cell_contents])[0] == COUNTED + 2  # the variable's, and `fresh`'s


def may_change(x: Any) -> bool:
    """Whether changing this object now has the effect that it has in Python."""
    if not session.depth or isinstance(x, Array) or is_new(x):
        return True
    return hasattr(type(x), "_of_this_body") and x._of_this_body


_IN_PLACE = [f"__i{name}__" for name in (
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and",
    "or", "xor",
)]  # fmt: skip


def changes_in_place(x: Any) -> bool:
    """Whether `x += v`, or another operator, may change the object."""
    return not isinstance(x, Array) and any(hasattr(type(x), name) for name in _IN_PLACE)


def user_line() -> str:
    """The number of the user's line that is being traced, for errors."""
    return position(*user_position()).rpartition(":")[2]


def quoted(name: str) -> str:
    """A variable in a message. Those of the rewriting have a dot: what a function returns."""
    return "the result" if name.startswith(".") else f"`{name}`"


def shown(value: Any, tree: Any) -> str:
    """A value in a message: its structure, or its class."""
    return show(tree) if isinstance(value, (tuple, list, dict)) else kind(value)


def kind(x: Any) -> str:
    return type(x).__name__


def equations() -> int:
    """How many operations have been recorded so far."""
    return len(local.recorder.pending)
