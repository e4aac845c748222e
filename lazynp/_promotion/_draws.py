"""Random numbers that the rounds of a running loop draw.

NumPy's generators draw them, beforehand: as many rounds of numbers as a program will run, in the
order in which the rounds would draw them. So they are the numbers that the loop would get. The
program takes each from an array, by the number of the round. If it stops early, the generators go
back, and draw for the rounds that it runs then.

That needs rounds which all draw alike: in no branch, and with arguments that the loop does not
change. `normal`, `uniform` and `exponential` may be given what the rounds compute, because they
scale standard numbers. A first trace, the probe, finds the draws.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._array import Array, NDArray, Scalar, new_array, new_scalar
from lazynp._avals import aval_of
from lazynp._node import leaf
from lazynp._promotion import _clock
from lazynp._promotion._draw import PARAMETERS, Draw, Value, Variable
from lazynp._promotion._generators import is_generator
from lazynp._recorder import local
from lazynp._values import seen_value
from lazynp.functions._host import to_device
from lazynp.primitives import elementwise, shaping
from lazynp.primitives.checks import check_later
from lazynp.transforms._stack import node_of, zeros
from lazynp.transforms.control import CannotStage, pythons, session, undecided

DRAWS = ".draws"  # the function's name of the `Draws`
AT = ".draw"  # ... of the number of the round
_BYTES = 2**22  # of the numbers of one program
_ROWS = 2**16
FEW = 8  # numbers of a draw for which a call takes longer than to make them
_TRIED = 16  # rounds by which drawing all at once is compared with drawing one by one
_FLOAT = np.dtype(np.float64)

_OTHERS = {"seed", "set_state", "get_state", "bytes", "shuffle", "spawn", "test"}
_INSIDE = {"bit_generator", "_bit_generator", "_generator", "_poisson_lam_max"}  # show the state
STANDARD = {
    "normal": "standard_normal",
    "uniform": "random",
    "exponential": "standard_exponential",
}
_INTO = {"random", "standard_normal", "standard_exponential"}  # can draw into an array
_DEFAULTS = {"normal": (0.0, 1.0), "uniform": (0.0, 1.0), "exponential": (1.0,)}


class Draws:
    """What the function of the rounds calls; and the numbers of a program. arrays: the names of
    variables that the rounds only read. capacity: rounds of one program; 0 in the probe. asks:
    whether to read the words ahead instead, where that spares calls.
    """

    asks = True

    def __init__(self, value: Value) -> None:
        self.found: list[Draw] = []
        self.capacity, self.seconds = 0, 0.0  # for each round, to draw
        self.used: set[str] = set()  # variables that are arguments
        self.unequal = False  # whether rounds do not all draw alike
        self.mixed = False  # or do, but NumPy would be called for each draw
        self._value: Value = value  # while the probe is traced
        self._known: dict[int, tuple[str, Any]] = {}
        self._tables: tuple[Any, ...] = ()
        self._copies: dict[int, Any] = {}
        self._at: Any = None
        self._round: Any = None
        self._next = 0
        self._whole: tuple[Any, ...] | None = None  # all numbers are drawn by one call

    # -- while the rounds are traced ---------------------------------------------------------------

    def know(self, names: tuple[str, ...], *arrays: Any) -> None:
        """Before the first round. arrays: the variables of these names, and the numbers."""
        pairs = zip(names, arrays, strict=False)
        self._known = {id(x): (n, x) for n, x in pairs if type(x) is NDArray}
        self._tables = arrays[len(names) :]

    def begin(self, at: Any) -> None:
        """A round begins."""
        self._at, self._round, self._next = at, local.recorder, 0
        session.draws = self

    def of(self, function: Any) -> Callable[..., Any] | None:
        """What draws in place of this method of a generator."""
        method: Any = getattr(function, "__wrapped__", None)
        generator = getattr(method, "__self__", None)
        if not is_generator(generator):
            return None
        if method.__name__ in _OTHERS:
            raise CannotStage(f"calls `{method.__name__}` of a generator")

        def draw(*args: Any, **kwargs: Any) -> Any:
            return self._draw(method, args, kwargs)

        return draw

    def _draw(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = method.__name__
        if name in STANDARD and any(map(self._moves, (*args, *kwargs.values()))):
            return self._scaled(method, args, kwargs)
        if name == "integers" and any(map(self._moves, (*args, *kwargs.values()))):
            return self._bounded(method, args, kwargs)
        if kwargs.get("out") is not None:
            raise CannotStage(f"`{name}` draws into an array")
        draw = Draw(
            method, tuple(map(self._argument, args)),
            {k: self._argument(v) for k, v in kwargs.items()},
        )  # fmt: skip
        return self._drawn_by(draw)

    def _bounded(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Ints between bounds that the rounds compute: they take words as these say."""
        self.unequal = True
        raise CannotStage("draws `integers` between bounds that the rounds compute")

    def _drawn_by(self, draw: Draw) -> Any:
        """The numbers of a draw of this round."""
        name = draw.method.__name__
        if local.recorder is not self._round:
            self.unequal = True
            raise CannotStage(f"draws `{name}` in a branch, or in a loop within the loop")
        k, self._next = self._next, self._next + 1
        if self.capacity:
            if k >= len(self.found) or not self.found[k].is_like(draw):
                raise CannotStage(f"`{name}` draws other numbers in each round")
            return self._taken(self.found[k], self._tables[self.found[k].table])
        self.describe(draw)
        if k < len(self.found) and not self.found[k].is_like(draw):
            raise CannotStage(f"`{name}` draws other numbers in each round")
        self.found[k:] = [draw]
        return self._taken(draw, zeros(aval_of((2, draw.size), draw.dtype)))

    def _moves(self, x: Any) -> bool:
        """Whether this depends on what the rounds compute."""
        if type(x) is Scalar and undecided(x):
            return True
        return type(x) is NDArray and undecided(x) and not self._is_read(x)

    def _is_read(self, x: Any) -> bool:
        known = self._known.get(id(x))
        return known is not None and known[1] is x

    def _argument(self, x: Any) -> Any:
        if isinstance(x, Array):
            if type(x) is NDArray and self._is_read(x):
                name = self._known[id(x)][0]
                self.used.add(name)
                return Variable(name)
            if undecided(x):
                raise CannotStage("draws numbers with arguments that the rounds compute")
            value = seen_value(x._read())
            return value.item() if type(x) is Scalar and x.aval.weak else value
        if type(x) in (tuple, list):
            return type(x)(map(self._argument, x))
        if x is None or isinstance(x, (bool, int, float, str, type, np.dtype, np.generic)):
            return x
        raise CannotStage(f"draws numbers with an argument that is a {type(x).__name__}")

    def describe(self, draw: Draw) -> None:
        """Find out what it gives, by copies of the generators."""
        generator = draw.method.__self__
        made = self._copies.setdefault(id(generator), (generator, copy.deepcopy(generator)))[1]
        value = to_device(draw.ready(getattr(made, draw.method.__name__), self._value)())
        draw.form = type(value)
        if draw.form not in (NDArray, Scalar, float, int, bool):
            raise CannotStage(f"`{draw.method.__name__}` draws a {draw.form.__name__}")
        found = np.asarray(value)
        draw.shape, draw.dtype = found.shape, found.dtype
        if found.dtype.kind not in "biufc":
            raise CannotStage(f"`{draw.method.__name__}` draws no numbers")

    def _taken(self, draw: Draw, table: Any) -> Any:
        whole, at = new_array(table._read()), new_array(node_of(self._at))
        sizes = 1, draw.size
        row = shaping.slice(
            whole, at, draw.first, axes=(0, 1), sizes=sizes, strides=(1, 1), shape=draw.shape
        )
        if draw.form is NDArray:
            return new_array(row._read())
        made = new_scalar(row._read())
        return made if draw.form is Scalar else pythons(made, draw.dtype)

    def _scaled(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Standard numbers, moved and scaled as NumPy does it."""
        name = method.__name__
        names = PARAMETERS[name]
        given = dict(zip(names, _DEFAULTS[name])) | dict(zip(names, args)) | kwargs
        if given.keys() - set(names) or len(args) > len(names):
            raise CannotStage(f"`{name}` with unknown arguments")
        size = given.pop("size", None)
        parts = [_double(x) for x in given.values()]
        shape: tuple[int, ...] = np.broadcast_shapes(*[p.shape for p in parts])
        if size is not None:
            whole = (int(size),) if isinstance(size, (int, np.integer)) else tuple(size)
            if np.broadcast_shapes(shape, whole) != whole:
                raise CannotStage(f"`{name}` of another shape than its arguments")
            shape = whole
        standard = getattr(method.__self__, STANDARD[name])
        alone = size is None and not shape
        drawn = _double(self._draw(standard, () if alone else (shape,), {}))
        scale = parts[-1]
        if name == "uniform":
            scale = elementwise.subtract(parts[1], parts[0])
        fine = elementwise.logical_not(elementwise.signbit(scale))
        fine = elementwise.logical_and(fine, elementwise.isfinite(scale))
        check_later(elementwise.logical_not(new_array(fine._read()).all()), ValueError, "")
        out = elementwise.multiply(drawn, _wide(scale, shape))
        if name != "exponential":
            out = elementwise.add(_wide(parts[0], shape), out)
        return pythons(out, _FLOAT) if alone else new_array(out._read())

    # -- numbers -----------------------------------------------------------------------------------

    def check(self, read: set[str] | frozenset[str], value: Value) -> None:
        """After the probe: choose the capacity, and how to draw. read: names that the functions
        read.
        """
        if not self.found:
            return
        self.check_names(read)
        size = sum([d.size * d.dtype.itemsize for d in self.found])
        self.capacity = min(_ROWS, max(8, int(_BYTES / max(size, 1))))
        kinds = {d.at_once() for d in self.found}
        generators = {id(d.method.__self__) for d in self.found}
        dtypes = {d.dtype for d in self.found}
        if len(kinds) == len(generators) == len(dtypes) == 1 and None not in kinds:
            whole = kinds.pop()
            if self._is_right(whole, value):
                self._whole = whole
        if self.asks and self._whole is None and all(d.size <= FEW for d in self.found):
            self.unequal = self.mixed = True
            raise CannotStage("its draws are of several kinds")
        self._place(self._whole is not None)
        self.end_probe()

    def check_names(self, read: set[str] | frozenset[str]) -> None:
        inside = _INSIDE & read
        if inside:
            raise CannotStage(f"looks into a generator, by `{min(inside)}`")

    def end_probe(self) -> None:
        self._copies.clear()
        self._value, self._known = _gone, {}

    def _is_right(self, whole: tuple[Any, ...] | None, value: Value) -> bool:
        """Whether drawing many numbers at once gives those that are drawn one by one."""
        before, found = self.states(), []
        for self._whole in (whole, None):
            self._place(True)
            try:
                table = self._drawn(min(_TRIED, self.capacity), value)[0]
                found.append((table[: min(_TRIED, self.capacity)], self.states()))
            finally:
                self.restore(before)
        (ours, after), (theirs, end) = found
        return np.array_equal(ours, theirs) and same_states(after, end)

    def _place(self, together: bool) -> None:
        """Lay out the numbers of a round: in one array, or in one for each draw."""
        first = 0
        for k, d in enumerate(self.found):
            d.table, d.first = (0, first) if together else (k, 0)
            first += d.size

    def names(self) -> tuple[str, ...]:
        """Parameters of the function, for the numbers."""
        count = self.found[-1].table + 1 if self.capacity else 0
        return tuple([f".numbers{k}" for k in range(count)])

    def empty(self) -> list[Any]:
        """Arrays of the right types, for a trace."""
        return [new_array(leaf(t)) for t in self._arrays()] if self.capacity else []

    def _arrays(self) -> list[Any]:
        widths: dict[int, int] = {}
        for d in self.found:
            widths[d.table] = widths.get(d.table, 0) + d.size
        return [lowering.aligned_empty((self.capacity + 1, w), self.found[k].dtype)
                for k, w in widths.items()]  # fmt: skip

    def draw(self, count: int, value: Value) -> list[Any]:
        """The numbers of so many rounds."""
        if not self.found:
            return []
        begin = _clock.now()
        tables = self._drawn(count, value)
        self.seconds = _clock.since(begin) / max(count, 1)
        return [new_array(leaf(t)) for t in tables]

    def ahead(self, count: int, value: Value) -> tuple[list[Any], list[Any]]:
        """The numbers that Python will draw in so many rounds, and the states after them. (They
        come again and again, so that more rounds can be timed.)
        """
        before = self.states()
        try:
            self.draw(count, value)
            after, first = self.states(), self.seconds
            self.restore(before)
            tables = self.draw(count, value)  # again: the first time, memory is new
            self.seconds = min(self.seconds, first)
        finally:
            self.restore(before)
        for t in tables:
            whole = np.asarray(t)
            made = lowering.aligned_empty(whole.shape, whole.dtype)
            made[...] = np.resize(whole[:count], whole.shape)
            t._node = leaf(made)
        return tables, after

    def _drawn(self, count: int, value: Value) -> list[Any]:
        tables = self._arrays()
        if self._whole is not None:
            name, *given = self._whole
            _fill(self.found[0].method.__self__, name, dict(given), tables[0][:count])
            return tables
        draws = [
            (tables[d.table][:, d.first : d.first + d.size], d.shape, d.ready(d.method, value))
            for d in self.found
        ]
        for k in range(count):
            for table, shape, draw in draws:
                drawn = draw()
                table[k] = drawn if len(shape) < 2 else drawn.ravel()
        return tables

    def again(self, generators: dict[int, Any]) -> Draws:
        """For the next time that the loop is entered. generators: others, by id of those here."""
        made = copy.copy(self)
        made.found = [d.of(generators) for d in self.found]
        made._tables, made._at, made._round, made._value = (), None, None, _gone
        return made

    def limit(self, count: int) -> int:
        """How many of so many rounds a program may run."""
        return count

    def after(self, out: Any, count: int) -> Any:
        """What a program of so many rounds has found about the generators, for `go_on`; None if
        it has run out of numbers.
        """
        return ()

    def go_on(self, after: Any) -> None:
        """Bring the generators to where a program has left them."""

    def is_at(self, after: Any, states: list[Any]) -> bool:
        """Whether Python has left the generators there. states: those that `ahead` has found."""
        return same_states(self.states(), states)

    def state_of(self) -> Any:
        """What the function of the rounds gives for `after`."""
        return ()

    def states(self) -> list[Any]:
        """The generators and their states, each once."""
        generators = {id(d.method.__self__): d.method.__self__ for d in self.found}
        return [(g, _state(g)) for g in generators.values()]

    def restore(self, states: list[Any]) -> None:
        for g, state in states:
            if isinstance(g, np.random.RandomState):
                g.set_state(state)
            else:
                g.bit_generator.state = state


class CalledDraws(Draws):
    """Where words cannot be read ahead: NumPy draws number by number, before the program runs."""

    asks = False


def _fill(generator: Any, name: str, given: dict[str, Any], table: Any) -> None:
    """Draw so many numbers at once."""
    standard = STANDARD.get(name, name)
    if standard not in _INTO or not isinstance(generator, np.random.Generator):
        table[...] = getattr(generator, name)(size=table.shape, **given)
        return
    getattr(generator, standard)(out=table)
    if name != standard:
        parts = dict(zip(PARAMETERS[name], _DEFAULTS[name], strict=False)) | given
        first, last = [*parts.values()][0], [*parts.values()][-1]
        table *= last - first if name == "uniform" else last
        if name != "exponential":
            table += first


for _name in ("begin", "know", "state_of"):
    # the function of the rounds knows them by names that no variable of the user's has
    setattr(Draws, f".{_name}", getattr(Draws, _name))


def _state(g: Any) -> Any:
    if isinstance(g, np.random.RandomState):
        return g.get_state(legacy=False)
    return g.bit_generator.state


def same_states(a: list[Any], b: list[Any]) -> bool:
    return repr_of(a) == repr_of(b)


def repr_of(states: list[Any]) -> list[Any]:
    """States, for comparisons."""
    return [_plain(s) for _, s in states]


def _plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items()}
    return x.tobytes() if isinstance(x, np.ndarray) else x


def _double(x: Any) -> Any:
    """An operand of doubles."""
    if isinstance(x, Array):
        made = new_array(x._read())
        if made.dtype.kind not in "biuf":
            raise CannotStage("draws numbers with arguments that are no real numbers")
        return elementwise.convert(made, dtype=_FLOAT, weak=False)
    return new_array(leaf(np.asarray(x, _FLOAT)))


def _wide(x: Any, shape: tuple[int, ...]) -> Any:
    if x.shape == shape:
        return x
    dims = tuple(range(len(shape) - x.ndim, len(shape)))
    return shaping.broadcast_in_dim(x, shape=shape, dims=dims)


def _gone(name: str) -> Any:
    raise AssertionError(f"`{name}` after the probe")


# -- the source ------------------------------------------------------------------------------------


def prologue(names: tuple[str, ...], tables: tuple[str, ...]) -> list[ast.stmt]:
    """names: of variables that the rounds read only."""
    known = ast.Tuple([ast.Constant(n) for n in names], ast.Load())
    arrays = [ast.Name(n, ast.Load()) for n in (*names, *tables)]
    zero = ast.Assign([ast.Name(AT, ast.Store())], ast.Constant(0))
    return [ast.Expr(_call("know", known, *arrays)), zero]


def begun() -> list[ast.stmt]:
    """Statements at the beginning of a round."""
    at = ast.Name(AT, ast.Load())
    more = ast.BinOp(at, ast.Add(), ast.Constant(1))
    return [ast.Expr(_call("begin", at)), ast.Assign([ast.Name(AT, ast.Store())], more)]


def ended() -> ast.expr:
    """What the function gives, beside what rounds compute."""
    return _call("state_of")


def _call(function: str, *args: ast.expr) -> ast.expr:
    of = ast.Attribute(ast.Name(DRAWS, ast.Load()), f".{function}", ast.Load())
    return ast.Call(of, list(args), [])
