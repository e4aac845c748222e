"""What a loop may count by a traced number: ranges, first axes of arrays, lists of numbers, and
combinations.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, new_array
from lazynp._dimensions import as_number, is_unsized, sized
from lazynp._node import leaf
from lazynp._sizes import Size, largest, smallest
from lazynp.primitives import elementwise
from lazynp.primitives.checks import check_later
from lazynp.transforms.control._state import (
    CannotStage,
    may_change,
    operators,
    pythons,
    session,
    undecided,
)

_INT = np.dtype(np.int64)
# by characters of dtypes: the types of the numbers in lists
_LISTED: dict[str, type] = {"?": bool, **dict.fromkeys("bhilqBHI", int), "f": float, "d": float}
SHORT = 8  # rounds: loops that are no longer are unrolled
_MANY = 64  # rounds over an array of NumPy's, whose values Python knows, that are unrolled
_HELD = "?bhilqBHILQfdFD"  # dtypes that programs hold


class Rounds:
    """`item(first + k * step)` for `k` in `range(length)`. The length may be traced."""

    def __init__(
        self, first: Any, step: int, length: Any, item: Callable[[Any], Any], stop: Any = None
    ) -> None:
        self.first, self.step, self.length, self.item = first, step, length, item
        if stop is None and step == 1:  # a size stays one
            stop = length if type(first) is int and not first else first + length
        self.stop = stop

    def __iter__(self) -> Iterator[Any]:
        if undecided(self.length):
            raise CannotStage("the number of rounds is not known while tracing")
        before = self._nodes()
        for k in range(int(self.length)):
            yield self.item(self.first + k * self.step)
            self._check(before)

    def run(self, body: Callable[[Any], Any], number: Any) -> None:
        """A round of a loop."""
        before = self._nodes()
        body(self.item(number))
        self._check(before)

    def _nodes(self) -> list[Any]:
        return [x._read() for x in self.kept]

    def _check(self, before: list[Any]) -> None:
        if any(x is not y for x, y in zip(self._nodes(), before, strict=True)):
            raise CannotStage("the loop changes the array whose neighbours `pairwise` gives")

    def bounds(self, skipped: int) -> tuple[Any, Any]:
        """The first counter and the end, without the first rounds; see `at`."""
        if self.step == 1:
            return self.first + skipped, self.stop
        return skipped, self.length

    def number(self, counter: Any) -> Any:
        """Of a counter between the bounds, what the item is made of."""
        if self.step == 1:
            return counter
        return self.first - counter if self.step == -1 else self.first + counter * self.step

    def at(self, counter: Any) -> Any:
        return self.item(self.number(counter))

    def part(self, begin: int, end: int, divided: bool = True) -> Rounds:
        """These of the rounds."""
        made = Rounds(self.first + begin * self.step, self.step, end - begin, self.item)
        made.divided, made.kept = divided, self.kept
        return made

    divided = False  # by the windows of slices; see `_divided`
    reversible = False  # whether Python reverses it, beside ranges
    listed = False  # whether all items come from lists of Python's
    kept: tuple[Any, ...] = ()  # arrays that no round may change: Python reads some items early

    def reverse(self) -> Rounds:
        last = self.first + (self.length - 1) * self.step
        made = Rounds(last, -self.step, self.length, self.item)
        made.kept = self.kept
        return made

    def plain(self) -> Callable[[int], Any]:
        """The item by number from 0."""
        return lambda k: self.item(self.first + k * self.step)


class Endless:
    """`itertools.count(first, step)`, made for a loop."""

    def __init__(self, first: int, step: int) -> None:
        self.first, self.step = first, step

    def __iter__(self) -> Iterator[int]:
        return itertools.count(self.first, self.step)


def rounds_of(x: Any) -> Rounds | None:
    if isinstance(x, Rounds):
        return x
    if type(x) is range:
        return Rounds(x.start, x.step, len(x), _itself)
    if isinstance(x, NDArray) and type(x) is NDArray and x.ndim:
        return Rounds(0, 1, as_number(x.shape[0]), lambda i: x[i])
    if is_unsized(x):
        rows: Any = x
        first, count, item = rows.rows()
        return Rounds(first, 1, pythons(count, _INT) if isinstance(count, Array) else count, item)
    if session.strict is not None and type(x) in (list, tuple) and len(x) > SHORT:
        return _of_numbers(x)
    if session.strict is None and type(x) is np.ndarray and x.ndim and len(x) > _MANY:
        return _of_numpys(x)
    return None


def _of_numbers(x: Any) -> Rounds | None:
    """A list or tuple of floats, or of ints, that nothing changes while it is traced. Only in
    functions that may stay Python's: what a loop under `jit` adds up may be a size behind it.
    """
    kinds = set(map(type, x))
    if kinds not in ({float}, {int}) or type(x) is list and may_change(x):
        return None
    try:
        values = np.array(x, float if kinds == {float} else np.int64)
    except OverflowError:
        return None
    array = new_array(leaf(values))

    def item(k: Any) -> Any:
        if not undecided(k):
            return x[int(k)]
        found = new_array(array[k]._read())
        if values.dtype.kind == "i":  # so that indices need no checks
            found = elementwise.minimum(elementwise.maximum(found, values.min()), values.max())
        return pythons(found, values.dtype)

    made = Rounds(0, 1, len(x), item)
    made.listed = True
    return made


def _of_numpys(x: Any) -> Rounds | None:
    """The rows of an array of NumPy's, which are constants of the program. A body that writes into
    a row, or needs its value, fails and stays Python's.
    """
    if x.dtype.char not in _HELD or not x.dtype.isnative:
        return None
    array = new_array(leaf(x.copy()))
    array.setflags(write=False)

    def item(k: Any) -> Any:
        return array[k] if undecided(k) else x[k]

    made = Rounds(0, 1, len(x), item)
    made.listed = True
    return made


def _itself(i: Any) -> Any:
    return i


def sequence(function: Any) -> Any:
    """The function that makes what a `for` loops over."""
    of = getattr(function, "__self__", None)
    if type(of) is NDArray and of.ndim == 1 and undecided(of) and of.dtype.char in _LISTED:
        return functools.partial(_listed, of)
    try:
        found = _MADE.get(function)
    except TypeError:  # it cannot be hashed
        found = None
    if found is not None:
        return found
    made = operators[0].call(function)  # of the user's, by such a name
    return lambda *args, **options: made(
        *[iter(x) if type(x) in (Rounds, Endless) else x for x in args], **options
    )


def _listed(x: Any) -> Rounds:
    """`x.tolist()`"""
    values, dtype = new_array(x._read()), np.dtype(_LISTED[x.dtype.char])
    made = Rounds(0, 1, as_number(x.shape[0]), lambda i: pythons(values[i], dtype))
    made.reversible = True
    return made


def _range(*args: Any) -> Any:
    if any(type(x) is Size for x in args) and all(type(x) in (int, Size) for x in args[2:]):
        return _of_sizes(*args)
    if not any(map(undecided, args)) or not 1 <= len(args) <= 3:
        return range(*args)
    given: tuple[Any, ...] = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    start, stop, step = given
    for b in given:
        if undecided(b) and (b.ndim or b.dtype.kind not in "iu"):
            kind = "float" if b.dtype.kind == "f" else str(b.dtype)
            raise TypeError(f"'{kind}' object cannot be interpreted as an integer")
    if undecided(step):
        return _by_steps(*[pythons(b, _INT) if undecided(b) else operator.index(b) for b in given])
    step = operator.index(step)
    if not step:
        raise ValueError("range() arg 3 must not be zero")
    distance = stop - start if step > 0 else start - stop
    length = distance if abs(step) == 1 else (distance + (abs(step) - 1)) // abs(step)
    if step == 1:  # a loop from start to stop has no rounds if stop is less
        return Rounds(start, 1, length, _itself, stop)
    return Rounds(start, step, elementwise.maximum(length, 0), _itself)


def _by_steps(start: Any, stop: Any, step: Any) -> Rounds:
    """A range with a step that is only traced, of either sign."""
    zero = elementwise.equal(step, 0)
    check_later(zero, ValueError, "range() arg 3 must not be zero")
    length = -((start - stop) // elementwise.select(zero, 1, step))  # rounded up
    made = Rounds(0, 1, elementwise.maximum(length, 0), lambda k: start + k * step)
    made.reversible = True
    return made


def _of_sizes(*args: Any) -> Any:
    """A range between bounds one of which is a size at least."""
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if type(step) is int and step and all(type(b) in (int, Size) for b in (start, stop)):
        distance = stop - start if step > 0 else start - stop
        length = largest((distance + (abs(step) - 1)) // abs(step), 0)
        return Rounds(as_number(start), step, as_number(length), _itself, as_number(stop))
    return _range(*map(as_number, (start, stop, step)))


def _enumerate(x: Any, start: Any = 0) -> Any:
    given = rounds_of(x)
    if given is None:
        return enumerate(x, start)
    item = given.plain()
    made = Rounds(0, 1, given.length, lambda k: (k + start if start else k, item(k)))
    made.listed, made.kept = given.listed, given.kept
    return made


def _zip(*xs: Any, strict: Any = False) -> Any:
    others = [x for x in xs if type(x) is not Endless]
    if 0 < len(others) < len(xs) and not strict and type(made := _zip(*others)) is Rounds:
        return _zip(*[Rounds(x.first, x.step, made.length, _itself) if type(x) is Endless else x
                      for x in xs])  # fmt: skip
    given = [rounds_of(x) for x in xs]
    lengths = [sized(r.length) for r in given if r]
    alike = all(type(n) is int and n == lengths[0] for n in lengths)
    if not xs or None in given or strict and not alike:
        return zip(*xs, strict=strict)
    items = [r.plain() for r in given if r]
    if any(map(undecided, lengths)):
        length = pythons(
            functools.reduce(elementwise.minimum, [r.length for r in given if r]), _INT
        )
    else:
        length = functools.reduce(smallest, [n if type(n) is Size else int(n) for n in lengths])
    made = Rounds(0, 1, as_number(length), lambda k: tuple(item(k) for item in items))
    made.listed = all(r.listed for r in given if r)
    made.kept = tuple([x for r in given if r for x in r.kept])
    return made


def _reversed(x: Any) -> Any:
    given = rounds_of(x)
    if given is None or isinstance(x, Rounds) and x.item is not _itself and not x.reversible:
        given_by_python: Any = x
        return reversed(given_by_python)  # Python's error, for zip and enumerate
    return given.reverse()


def _map(function: Any, *xs: Any) -> Any:
    given = _zip(*xs)
    made = operators[0].call(function)
    if type(given) is not Rounds:
        return map(made, *xs)
    out = Rounds(0, 1, given.length, lambda k: made(*given.item(k)))
    out.kept = given.kept
    return out


def _product(*xs: Any) -> Any:
    """`itertools.product`"""
    given = [rounds_of(x) for x in xs]
    lengths = [r.length for r in given if r]
    if len(lengths) < max(len(xs), 2) or not all(type(n) is int for n in lengths):
        return itertools.product(*xs)
    items = [r.plain() for r in given if r]
    count, shape = math.prod(lengths), tuple(lengths)
    return Rounds(0, 1, count, lambda k: tuple([
        item(i) for item, i in zip(items, indices(k, shape), strict=True)
    ]))  # fmt: skip


def _count(*args: Any) -> Any:
    plain = len(args) <= 2 and all(type(x) is int for x in args)
    return Endless(*args, *(0, 1)[len(args) :]) if plain else itertools.count(*args)


def _pairwise(x: Any) -> Any:
    """`itertools.pairwise`"""
    given = rounds_of(x)
    if given is None or type(given.length) is not int:
        return itertools.pairwise(x)
    item = given.plain()
    made = Rounds(0, 1, max(given.length - 1, 0), lambda k: (item(k), item(k + 1)))
    made.listed = given.listed
    flat = type(x) is NDArray and x.ndim == 1  # the rows of others are views
    made.kept = (*given.kept, *([x] if flat else ()))
    return made


def _islice(x: Any, *ends: Any) -> Any:
    """`itertools.islice` of what has not begun."""
    given = rounds_of(x)
    plain = all(e is None or type(e) is int and e >= 0 for e in ends) and 1 <= len(ends) <= 3
    if given is None or type(given.length) is not int or not plain or ends[2:] == (0,):
        return itertools.islice(x, *ends)
    places = range(given.length)[slice(*ends)]
    item = given.plain()
    made = Rounds(places.start, places.step, len(places), item)
    made.listed, made.kept = given.listed, given.kept
    return made


def _chosen(function: Any) -> Any:
    """`itertools.combinations` and the like: their places are a constant of the program."""

    def of(x: Any, *args: Any) -> Any:
        if type(x) is NDArray and x.ndim == 1 and undecided(x):
            given = rounds_of(new_array(x._read()))  # as it is now: Python reads it beforehand
        else:
            given = rounds_of(x) if type(x) is not Rounds or x.item is _itself else None
        n, r = given and given.length, args[0] if len(args) == 1 else None
        if given is None or type(n) is not int or type(r) is not int or not 0 < r <= min(n, 4):
            return function(x, *args)
        if n**r > _MOST_CHOSEN:
            return function(x, *args)
        places = np.array(list(function(range(n), r)), np.int64).reshape(-1, r)
        columns, item = [new_array(leaf(c.copy())) for c in places.T], given.plain()

        def at(k: Any) -> Any:
            if not undecided(k):
                return tuple([item(int(i)) for i in places[int(k)]])
            found = [new_array(c[k]._read()) for c in columns]
            inside = [elementwise.minimum(elementwise.maximum(i, 0), n - 1) for i in found]
            return tuple([item(pythons(i, _INT)) for i in inside])

        return Rounds(0, 1, len(places), at)

    return of


_MOST_CHOSEN = 2**21


def _ndindex(*args: Any) -> Any:
    given = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    shape: tuple[Any, ...] = tuple(given)
    if not all(type(n) is int and n >= 0 for n in shape):
        return np.ndindex(*args)
    return Rounds(0, 1, math.prod(shape), lambda k: indices(k, shape))


def indices(k: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The indices of the element with a number in C order, which may be traced."""
    found: list[Any] = []
    for n in reversed(shape[1:]):
        k, last = k // n, k % n
        found.append(last)
    return (k, *found[::-1]) if shape else ()


def elements(x: Any) -> Any:
    """An iterator over the elements of an array, made for this loop, as what a loop may count."""
    ours = (type(x).__module__ or "").partition(".")[0] == "lazynp"
    name, indexed = getattr(x, "_walks", ("", False)) if ours else ("", False)
    array = getattr(x, name, None)
    if type(array) is not NDArray or getattr(x, "index", 0):
        return x
    shape = array.shape
    if not all(type(n) is int for n in shape):
        return x

    def item(k: Any) -> Any:
        index = indices(k, shape)
        return (index, array[index]) if indexed else array[index]

    return Rounds(0, 1, math.prod(shape), item)


_MADE: dict[Any, Any] = {
    range: _range, enumerate: _enumerate, zip: _zip, reversed: _reversed, map: _map,
    itertools.product: _product, np.ndindex: _ndindex, itertools.pairwise: _pairwise,
    itertools.islice: _islice, itertools.count: _count,
    **{f: _chosen(f) for f in (itertools.combinations, itertools.permutations,
                               itertools.combinations_with_replacement)},
}  # fmt: skip
