"""Draws in branches and inner loops, in the function of the rounds: see `_tapes`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import NDArray, Scalar, new_array, new_scalar
from lazynp._avals import aval_of
from lazynp._promotion import _clock
from lazynp._promotion._draw import Draw, Value
from lazynp._promotion._draws import FEW, Draws, repr_of
from lazynp._promotion._tapes import (
    BAD,
    HALF,
    KEPT,
    MASK,
    PLACE,
    Kind,
    Source,
    compared,
    operand,
    room,
)
from lazynp.primitives import elementwise, shaping
from lazynp.primitives.checks import check_later
from lazynp.transforms._stack import node_of, zeros as zeros_of
from lazynp.transforms.control import CannotStage, pythons

_BYTES = 2**22  # of one table
_ROWS = 2**16
_PROBED = 512  # words that are read before a program is traced, at least
_MORE = 1.25  # times the words that rounds took so far
_SPARE = 64  # words
_TIMED = 16384  # ... by which it is found how long they take
_INT, _UINT = np.dtype(np.int64), np.dtype(np.uint64)


class PlacedDraws(Draws):
    """Draws that a program makes in whichever order its rounds come to them."""

    def __init__(self, value: Value) -> None:
        super().__init__(value)
        self.sources: list[Source] = []
        self.kinds: list[Kind] = []
        self._states: list[Any] = []  # of a trace, by source
        self._rows = _ROWS
        self._rate = 0.0  # words that a round takes, at most
        self._least = 1
        self._count, self._word = 1, 0.0  # words of the tape, and seconds for each

    # -- while the rounds are traced ---------------------------------------------------------------

    def know(self, names: tuple[str, ...], *arrays: Any) -> None:
        super().know(names, *arrays)
        given, self._tables = self._tables[: len(self.sources)], self._tables[len(self.sources) :]
        self._states = [s.copy() for s in given] if self.capacity else []

    def state_of(self) -> Any:
        """The places, after the rounds."""
        return tuple(self._states)

    def _bounded(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """NumPy multiplies half a word by the number of ints, and takes another one if the lower
        half of the product is too small. (That is seldom. Where two are not enough, the program is
        void.)
        """
        if not isinstance(method.__self__, np.random.Generator):
            raise CannotStage("draws `integers` between bounds that the rounds compute")
        low, count = _bounds(args, kwargs)
        halves = Draw(method, (0, 2**32), {})
        wide = elementwise.convert(count, dtype=_UINT)
        some = elementwise.not_equal(count, np.int64(1))  # else no word is taken
        least = elementwise.remainder(elementwise.subtract(_uint(2**32), wide), wide)
        value, again = wide, some
        for _ in range(2):
            half = self._drawn_by(halves, again)
            half = elementwise.convert(new_array(half._read()), dtype=_UINT)
            product = elementwise.multiply(half, wide)
            upper = elementwise.right_shift(product, _uint(32))
            value = elementwise.select(again, upper, value)
            lower = elementwise.bitwise_and(product, _uint(2**32 - 1))
            again = elementwise.logical_and(again, elementwise.less(lower, least))
        if self.capacity:
            kind = next(k for k in self.kinds if k.draw.is_like(halves))
            state = self._states[self.sources.index(kind.source)]
            bad = elementwise.add(_entry(state, BAD), elementwise.convert(again, dtype=_INT))
            state[BAD] = new_scalar(bad._read())
        value = elementwise.select(some, elementwise.convert(value, dtype=_INT), np.int64(0))
        return new_scalar(elementwise.add(value, low)._read())

    def _drawn_by(self, draw: Draw, some: Any = None) -> Any:
        """some: whether it is drawn; None if it always is."""
        alike = draw.one_by_one(FEW)
        if alike is not None:
            one, shape = alike
            made = [self._drawn_by(one, some) for _ in range(int(np.prod(shape)))]
            return _together(made, shape)
        found = next((k for k in self.kinds if k.draw.is_like(draw)), None)
        if self.capacity:
            if found is None:
                raise CannotStage(f"`{draw.method.__name__}` draws other numbers in each round")
            return self._at_place(found, some)
        if found is None:
            self.describe(draw)
            generator = draw.method.__self__
            source = next((s for s in self.sources if s.generator is generator), None)
            if source is None:
                source = Source(generator)
                self.sources.append(source)
            found = Kind(draw, source, 0)
            self.kinds.append(found)
            self.found.append(draw)
        return self._formed(found.draw, self._row(found.draw, None, self._at))

    def _row(self, draw: Draw, table: Any, at: Any) -> Any:
        whole = zeros_of(aval_of((2, draw.size), draw.dtype)) if table is None else table
        whole, at = new_array(whole._read()), new_array(node_of(at))
        sizes = 1, draw.size
        return shaping.slice(
            whole, at, 0, axes=(0, 1), sizes=sizes, strides=(1, 1), shape=draw.shape
        )

    def _formed(self, draw: Draw, row: Any) -> Any:
        if draw.form is NDArray:
            return new_array(row._read())
        made = new_scalar(row._read())
        return made if draw.form is Scalar else pythons(made, draw.dtype)

    def _at_place(self, kind: Kind, some: Any) -> Any:
        state = self._states[self.sources.index(kind.source)]
        before = [_entry(state, k) for k in (PLACE, KEPT, HALF, BAD)]
        made = self._taken_from(kind, state)
        for k, old in zip((PLACE, KEPT, HALF, BAD), before) if some is not None else ():
            state[k] = new_scalar(_either(some, _entry(state, k), old)._read())
        return made

    def _taken_from(self, kind: Kind, state: Any) -> Any:
        tables = self._tables[kind.first : kind.first + kind.tables]
        total = _entry(state, PLACE)
        mask = _entry(state, MASK)
        at = elementwise.bitwise_and(total, mask)
        words = _entry(tables[1], at)
        value = self._row(kind.draw, tables[0], at)
        if kind.tables == 2:
            state[PLACE] = new_scalar(elementwise.add(total, words)._read())
            return self._formed(kind.draw, value)
        kept, has = _entry(state, KEPT), _entry(state, HALF)
        left = elementwise.not_equal(has, np.int64(0))
        other = self._row(kind.draw, tables[3], kept)
        value = _either(left, other, value)
        after = _entry(tables[2], at)
        zero = elementwise.multiply(words, np.int64(0))
        words = _either(left, zero, words)
        bad = elementwise.multiply(has, _entry(tables[4], kept))
        halved = elementwise.right_shift(after, np.int64(1))
        some = elementwise.logical_and(
            elementwise.logical_not(left), elementwise.not_equal(halved, np.int64(0))
        )
        place = elementwise.subtract(elementwise.add(at, halved), np.int64(1))
        place = elementwise.bitwise_and(place, mask)
        state[KEPT] = new_scalar(_either(some, place, kept)._read())
        parity = elementwise.bitwise_and(after, np.int64(1))
        state[HALF] = new_scalar(_either(left, zero, parity)._read())
        state[BAD] = new_scalar(elementwise.add(_entry(state, BAD), bad)._read())
        state[PLACE] = new_scalar(elementwise.add(total, words)._read())
        return self._formed(kind.draw, value)

    # -- numbers -----------------------------------------------------------------------------------

    def check(self, read: set[str] | frozenset[str], value: Value) -> None:
        if not self.kinds:
            return
        self.check_names(read)
        count = max(_PROBED, *[16 * len(self.kinds) * k.draw.size for k in self.kinds])
        for s in self.sources:
            s.read(count)
        for k in self.kinds:
            k.describe(value)
        first = 0
        for k in self.kinds:
            k.check()
            k.first = first
            first += k.tables
        if not compared(self.sources, self.kinds, value):
            raise CannotStage("its draws take the words of the generator in another way")
        widest = max(k.draw.size * k.draw.dtype.itemsize for k in self.kinds)
        self._rows = min(_ROWS, 2 ** max(6, int(np.log2(max(_BYTES / max(widest, 1), 64)))))
        self.capacity = _ROWS
        self.end_probe()

    def names(self) -> tuple[str, ...]:
        if not self.capacity:
            return ()
        count = len(self.sources) + sum(k.tables for k in self.kinds)
        return tuple([f".numbers{k}" for k in range(count)])

    def _arrays(self) -> list[Any]:
        made = [np.zeros(5, _INT) for _ in self.sources]
        for k in self.kinds:
            shape, ints = (self._rows, k.draw.size, k.draw.dtype), (self._rows, 1, _INT)
            made += [room(*shape), room(*ints)]
            if k.tables > 2:
                made += [room(*ints), room(*shape), room(*ints)]
        return made

    def again(self, generators: dict[int, Any]) -> PlacedDraws:
        made = super().again(generators)
        assert isinstance(made, PlacedDraws)
        of = lambda s: generators.get(id(s.generator), s.generator)  # noqa: E731
        made.sources = [s.of(of(s)) for s in self.sources]
        sources = {id(s): t for s, t in zip(self.sources, made.sources, strict=True)}
        made.kinds = [k.of(d, sources[id(k.source)])
                      for k, d in zip(self.kinds, made.found, strict=True)]  # fmt: skip
        made._states = []
        return made

    def limit(self, count: int) -> int:
        """How many of so many rounds the tape will last for."""
        if not self._rate:
            return count
        return min(count, max(1, int((self._rows - _SPARE) / (_MORE * self._rate))))

    def draw(self, count: int, value: Value) -> list[Any]:
        begin = _clock.now()
        rate = self._rate or 8.0 * sum(max(k.draw.size, 1) for k in self.kinds)
        least = max(int(_MORE * rate * count) + _SPARE, self._least)
        self._count = min(self._rows, 2 ** (least - 1).bit_length())
        arrays = self._arrays()
        for s, state in zip(self.sources, arrays):
            s.read(self._count)
            state[KEPT] = self._rows
            state[HALF], state[MASK] = s.left is not None, self._count - 1
        for k in self.kinds:
            first = len(self.sources) + k.first
            k.fill(self._count, arrays[first : first + k.tables], value)
        self._word = _clock.since(begin) / self._count
        self.seconds = self._word * _MORE * rate
        self._value = value
        return [operand(a) for a in arrays]

    def ahead(self, count: int, value: Value) -> tuple[list[Any], list[Any]]:
        self._least = _TIMED  # a few words would not tell how long many take
        try:
            return self.draw(count, value), []
        finally:
            self._least = 1

    def after(self, out: Any, count: int) -> list[Any] | None:
        """The generators and their states after a program of so many rounds; None if it has read
        more than there was on the tape.
        """
        states = [np.asarray(x) for x in out[-1]] if self.sources else []
        most = max([int(s[PLACE]) for s in states], default=0)
        self._rate = max(0.9 * self._rate, most / count, 1e-3)
        self.seconds = self._word * _MORE * self._rate
        if most > self._count or any(s[BAD] for s in states):
            self._rate *= 2
            return None
        return [(s, s.state_at(state, lambda at, s=s: self._second(s, at)))
                for s, state in zip(self.sources, states)]  # fmt: skip

    def _second(self, source: Source, at: int) -> float:
        kind = next(k for k in self.kinds if k.source is source and k.pairs)
        return kind.second(at, self._value)

    def go_on(self, after: list[Any]) -> None:
        for source, state in after:
            source.set(state)

    def is_at(self, after: list[Any], states: list[Any]) -> bool:
        return repr_of([(s, s.now()) for s, _ in after]) == repr_of(after)

    def states(self) -> list[Any]:
        """Numbers that are read ahead leave the generators where they are."""
        return []


setattr(PlacedDraws, ".know", PlacedDraws.know)
setattr(PlacedDraws, ".state_of", PlacedDraws.state_of)


def _bounds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The least of the ints that `integers` draws, and how many there are."""
    given = dict(zip(("low", "high"), args)) | kwargs
    last = given.pop("endpoint", False)
    low, high = given.pop("low", None), given.pop("high", None)
    if given or len(args) > 2 or type(last) is not bool:
        raise CannotStage("draws `integers` of a size or dtype, between bounds that rounds compute")
    if high is None:
        low, high = 0, low
    parts = []
    for x in (low, high):
        if type(x) is not int and (type(x) is not Scalar or x.dtype.kind not in "iu"):
            raise CannotStage("draws `integers` between bounds that are no ints")
        parts.append(elementwise.convert(new_array(node_of(x)), dtype=_INT, weak=False))
    count = elementwise.subtract(parts[1], parts[0])
    count = elementwise.add(count, np.int64(1)) if last else count
    check_later(elementwise.less(count, np.int64(1)), ValueError, "low >= high")
    check_later(elementwise.greater_equal(count, np.int64(2**32)), ValueError, "many integers")
    return parts[0], count


def _together(drawn: list[Any], shape: tuple[int, ...]) -> Any:
    """Numbers that were drawn one by one, as an array."""
    parts = [new_array(node_of(x)) for x in drawn]
    wide = [elementwise.convert(p, dtype=p.dtype, weak=False) for p in parts]
    return new_array(shaping.reshape(shaping.stack(*wide), shape=shape)._read())


def _uint(x: int) -> Any:
    return np.uint64(x)


def _entry(table: Any, at: Any) -> Any:
    """An int of a table, or of a state."""
    whole = new_array(table._read())
    at = at if isinstance(at, int) else new_array(node_of(at))
    if whole.ndim == 1:
        return shaping.slice(whole, at, axes=(0,), sizes=(1,), strides=(1,), shape=())
    return shaping.slice(whole, at, 0, axes=(0, 1), sizes=(1, 1), strides=(1, 1), shape=())


def _either(test: Any, a: Any, b: Any) -> Any:
    """a where the test holds, else b."""
    if a.shape:
        test = shaping.broadcast_in_dim(test, shape=a.shape, dims=())
    return elementwise.select(test, a, b)
