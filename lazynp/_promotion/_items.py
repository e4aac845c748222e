"""What a running loop goes over: ranges, arrays of one axis, lists of numbers, and `enumerate` and
`zip` of them. A program counts the rounds, and takes its items from arrays.
"""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Iterator
from types import GeneratorType
from typing import Any

import numpy as np

from lazynp._array import NDArray, new_array, new_scalar
from lazynp._fronts import BUILT, fastpath
from lazynp._node import leaf
from lazynp._promotion._wrapped import Wrapped, wrapped
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._stack import node_of
from lazynp.transforms.control import CannotStage, copied, pythons

AT = ".at"  # the function's counter of rounds
ITEMS = ".items"  # its name of `Taking`
_RANGE, _LIST, _TUPLE = type(iter(range(0))), type(iter([])), type(iter(()))
_ARRAY = fastpath.Iterator if BUILT else None
_INT = np.dtype(np.int64)
_FEW = 2  # rounds that have surely run before a loop is taken


class Span:
    """The values of a range."""

    def __init__(self, values: range) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def value(self, k: int) -> Any:
        return self.values[k]

    def rest(self, at: int) -> Any:
        return iter(self.values[at:])

    def leaves(self) -> Iterator[Any]:
        yield from ()

    def code(self, at: ast.expr, places: dict[int, str], origin: int) -> ast.expr:
        step = self.values.step
        return counted(at, self.values.start - origin * step, step)


class Values:
    """Values in an array or a list, from a place on. A program takes them by `function`."""

    function: str

    def __init__(self, values: Any, first: int) -> None:
        self.values, self.first = values, first

    def __len__(self) -> int:
        return max(len(self.values) - self.first, 0)

    def value(self, k: int) -> Any:
        return self.values[self.first + k]

    def rest(self, at: int) -> Any:
        """An iterator of Python's for the values from there on; None if there is none."""
        return _from(self.values, self.first + at)

    def leaves(self) -> Iterator[Values]:
        yield self

    def code(self, at: ast.expr, places: dict[int, str], origin: int) -> ast.expr:
        array = ast.Name(places[id(self)], ast.Load())
        return _call(self.function, array, at, ast.Constant(self.first - origin))

    def array(self) -> Any:
        """All that the program needs of them."""
        return self.values


class Elements(Values):
    """An array of one axis."""

    function = "element"


class Numbers(Values):
    """A list, or tuple, of floats, or of ints."""

    function = "number"

    def __init__(self, values: Any, first: int) -> None:
        super().__init__(values, first)
        self._before: list[Any] = []
        self._array: Any = None

    def array(self) -> Any:
        """An array of all of it. A program must not miss a change."""
        return self._settled(self.values)

    def _settled(self, values: Any) -> Any:
        if self._array is None:
            kinds = set(map(type, values))
            if kinds != {float} and kinds != {int}:
                raise CannotStage("it is over a list that does not hold floats only, or ints only")
            self._before = list(values)
            self._array = new_array(leaf(np.array(values, float if kinds == {float} else _INT)))
        same = len(values) == len(self._before)
        if not same or not all(map(operator.is_, values, self._before)):
            raise CannotStage("it is over a list that changes")
        return self._array


class Column(Numbers):
    """What records have under one key."""

    def __init__(self, of: Records, key: Any, first: int) -> None:
        super().__init__(of.values, first)
        self._of, self._key = of, key

    def value(self, k: int) -> Any:
        return super().value(k)[self._key]

    def array(self) -> Any:
        self._of.check()
        return self._settled([r[self._key] for r in self.values])


class Records:
    """A list, or tuple, of tuples of numbers, or of dicts of them, all alike."""

    def __init__(self, values: Any, first: int) -> None:
        self.values, self._first = values, first
        self._kind, self._keys = type(values[first]), _keys(values[first])
        self._columns = [Column(self, k, first) for k in self._keys]

    def __len__(self) -> int:
        return max(len(self.values) - self._first, 0)

    def value(self, k: int) -> Any:
        return self.values[self._first + k]

    def rest(self, at: int) -> Any:
        return _from(self.values, self._first + at)

    def leaves(self) -> Iterator[Any]:
        yield from self._columns

    def check(self) -> None:
        if not all(type(v) is self._kind and _keys(v) == self._keys for v in self.values):
            raise CannotStage("it is over records that are not alike")

    def code(self, at: ast.expr, places: dict[int, str], origin: int) -> ast.expr:
        parts = [c.code(copied(at), places, origin) for c in self._columns]
        if self._kind is tuple:
            return ast.Tuple(parts, ast.Load())
        keys: list[ast.expr] = [ast.Constant(k) for k in self._keys]
        return _call("record", ast.Tuple(keys, ast.Load()), *parts)


def _from(values: Any, place: int) -> Any:
    if type(values) not in (list, tuple):
        return None
    made = iter(values)
    made.__setstate__(place)
    return made


def _keys(record: Any) -> tuple[Any, ...]:
    return tuple(range(len(record))) if type(record) is tuple else tuple(record)


class Together:
    """`zip`, and `enumerate`: a range and something else."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return min(map(len, self._parts))

    def value(self, k: int) -> Any:
        return tuple([p.value(k) for p in self._parts])

    def rest(self, at: int) -> Any:
        parts = [p.rest(at) for p in self._parts]
        return None if None in parts else zip(*parts)

    def leaves(self) -> Iterator[Values]:
        for p in self._parts:
            yield from p.leaves()

    def code(self, at: ast.expr, places: dict[int, str], origin: int) -> ast.expr:
        return ast.Tuple([p.code(at, places, origin) for p in self._parts], ast.Load())


def counted(at: ast.expr, first: int | ast.expr, step: int) -> ast.expr:
    """`first + at * step`, which has at most 64 bits: Python's arithmetic would be checked."""
    start = ast.Constant(first) if isinstance(first, int) else first
    return _call("counted", at, start, ast.Constant(step))


def bounded(x: ast.expr, low: int | None, high: int | None) -> ast.expr:
    """A number of which it is known that it lies between these."""
    low, high = (b if b is not None and abs(b) < _FAR else None for b in (low, high))
    if low is None and high is None:
        return x
    return _call("bounded", x, ast.Constant(low), ast.Constant(high))


_FAR = 1 << 62


def _call(function: str, *args: ast.expr) -> ast.expr:
    of = ast.Attribute(ast.Name(ITEMS, ast.Load()), f".{function}", ast.Load())
    return ast.Call(of, list(args), [])


class Taking:
    """What the function of the rounds calls."""

    def counted(self, at: Any, first: Any, step: int) -> Any:
        k = new_array(node_of(at))
        k = k if step == 1 else elementwise.multiply(k, np.int64(step))
        start = np.int64(first) if type(first) is int else new_array(first._read())
        return pythons(elementwise.add(k, start), _INT)

    def bounded(self, x: Any, low: int | None, high: int | None) -> Any:
        """A number that lies between these. Saying so spares indices their checks."""
        found = new_array(x._read())
        found = found if low is None else elementwise.maximum(found, low)
        return pythons(found if high is None else elementwise.minimum(found, high), _INT)

    def element(self, values: Any, at: Any, first: int) -> Any:
        k = elementwise.add(new_array(at._read()), np.int64(first))
        whole = new_array(values._read())
        found = shaping.slice(whole, k, axes=(0,), sizes=(1,), strides=(1,), shape=())
        return new_scalar(found._read())

    def number(self, values: Any, at: Any, first: int) -> Any:
        return pythons(self.element(values, at, first), values.dtype)

    def record(self, keys: tuple[Any, ...], *values: Any) -> Any:
        """A dict that the round must not change: it was not made here."""
        return dict(zip(keys, values, strict=True))


for _name in ("counted", "bounded", "element", "number", "record"):
    # the function knows them by names that no variable of the user's has
    setattr(Taking, f".{_name}", getattr(Taking, _name))


class Items:
    """The items that are left of a loop, as `target` takes them apart."""

    def __init__(self, source: Any, target: ast.expr) -> None:
        self.source, self.target = source, target
        span = source.of if type(source) is Wrapped else source
        self.plain = type(span) is Span and isinstance(target, ast.Name)
        self.step = span.values.step if self.plain else 1
        self._leaves = list(source.leaves())
        # rounds are counted from the beginning of an array, not from when the loop was taken
        self._origin = self._leaves[0].first if self._leaves else 0
        self.places = {id(x): f".over{k}" for k, x in enumerate(self._leaves)}

    def __len__(self) -> int:
        return len(self.source)

    def bound(self, at: int) -> int:
        """How a program counts a round."""
        if not self.plain:
            return self._origin + at
        values = self.source.values
        return values[at] if at < len(values) else values.start + at * values.step

    def ends(self, together: int) -> tuple[int | None, int | None]:
        """Between what the numbers lie by which a program counts rounds, of which it runs so many
        at once. These do not tell when the loop was taken, so that another process, which takes it
        a few rounds later, makes the same program.
        """
        first, last = self.bound(0), self.bound(max(len(self) - together, 0))
        if last < first:
            return last, None
        return (min(first, _FEW) if first >= 0 else None), last

    def bindings(self, at: int) -> list[tuple[str, Any]]:
        """What the target binds in a round."""
        return list(_parts(self.target, self.source.value(at)))

    def arrays(self) -> dict[str, Any]:
        """What a program needs, by name."""
        return {self.places[id(x)]: x.array() for x in self._leaves}

    def binding(self, more: int) -> ast.stmt:
        """The statement that binds the target, so many rounds after the counter's."""
        at: ast.expr = ast.Name(AT, ast.Load())
        at = ast.BinOp(at, ast.Add(), ast.Constant(more)) if more else at
        return ast.Assign([self.target], self.source.code(at, self.places, self._origin))


def _parts(target: ast.expr, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        if type(value) is not tuple or len(value) != len(target.elts):
            raise CannotStage("its target takes items apart in another way")
        for t, v in zip(target.elts, value, strict=True):
            yield from _parts(t, v)


def source_of(iterator: Any) -> Any:
    """What an iterator will give, or None. It stays as it is."""
    kind = type(iterator)
    if kind is _RANGE:
        return Span(rest(iterator))
    if kind is _LIST or kind is _TUPLE:
        _, (values,), *state = iterator.__reduce__()
        return _listed(values, state[0] if state else 0)
    if kind is GeneratorType:
        return wrapped(iterator, source_of)
    if kind is _ARRAY:
        values, at = iterator.source()
        return Elements(values, at) if type(values) is NDArray and values.ndim == 1 else None
    if kind is not zip and kind is not enumerate:
        return None
    inner, counts = _taken_apart(iterator)
    if any(n > _ALONE[kind] for n in counts):
        return None  # another variable refers to an iterator
    made = [source_of(p) for p in (inner[:1] if kind is enumerate else inner)]
    if not made or None in made:
        return None
    passing = any(type(m) is Wrapped for m in made)
    made = [m.of if type(m) is Wrapped else m for m in made]
    if kind is enumerate:
        made.insert(0, Span(range(inner[1], inner[1] + len(made[0]))))
    return Wrapped(iterator, Together(made)) if passing else Together(made)


def _listed(values: Any, first: int) -> Any:
    """What is left of a list or tuple of numbers, or of records of numbers."""
    if type(values) not in (list, tuple):
        return None
    some = values[first] if first < len(values) else None
    return Records(values, first) if type(some) in (tuple, dict) else Numbers(values, first)


def _taken_apart(iterator: Any) -> tuple[Any, list[int]]:
    """What an iterator holds, and how many references there are to the iterators among that."""
    inner = iterator.__reduce__()[1]
    count = 1 if type(iterator) is enumerate else len(inner)
    return inner, [sys.getrefcount(inner[i]) for i in range(count)]


def rest(iterator: Any) -> range:
    """The values that a range's iterator has not given yet."""
    _, (values,), *state = iterator.__reduce__()
    return values[(state[0] or 0) if state else 0 :]  # before Python 3.12, the range was whole


_ALONE: dict[Any, int] = {type(x): _taken_apart(x)[1][0] for x in (zip([]), enumerate([]))}
