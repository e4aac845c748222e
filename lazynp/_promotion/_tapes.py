"""Random numbers that some rounds of a running loop draw and others do not: in branches, in inner
loops, after `and`.

How many words of a generator's stream such draws take is known only when the program runs. So the
words are read ahead, as a tape, and NumPy tells for each of its places what a draw there would
give, and how many words it would take (`_c/tape.h`). A program keeps its place. Each draw takes its
value from a table, by the place, and goes on. Afterwards, the generator skips as many words.

Half of a word, or the second of two normal numbers, may be left for the next draw. A program keeps
the place of the word that it comes from.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._array import new_array
from lazynp._fronts import BUILT
from lazynp._node import leaf
from lazynp._promotion import _at_places as at
from lazynp._promotion._draws import STANDARD
from lazynp._promotion._tape import Tape
from lazynp.transforms.control import CannotStage

_KINDS = {"PCG64", "PCG64DXSM", "SFC64", "Philox"}
_NARROW = "MT19937"  # of 32 bits, as those of `RandomState`
_GAUSS = {"standard_normal", "randn", "normal"}  # of `RandomState`: they come in pairs
# methods of `RandomState` that draw no normal numbers
_OTHERS = {"random", "random_sample", "ranf", "sample", "rand", "uniform", "randint", "choice",
           "standard_exponential", "exponential", "poisson", "geometric", "permutation",
           "triangular", "weibull", "pareto", "power", "laplace", "gumbel", "logistic",
           "rayleigh", "standard_cauchy", "binomial", "tomaxint"}  # fmt: skip
_DOUBLES = {"random", "random_sample", "ranf", "sample", "rand"}
_SEVERAL = 16  # draws that are compared with those of NumPy
_MIXED = 0.02  # of the draws that begin with half a word and need another one

PLACE, KEPT, HALF, BAD, MASK = range(5)  # what a program's state holds


class Source:
    """A generator whose words are read ahead."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator
        self.legacy = isinstance(generator, np.random.RandomState)
        self.bits = self._bits()
        name = type(self.bits).__name__
        self.narrow = name == _NARROW
        known = name == _NARROW if self.legacy else name in _KINDS or self.narrow
        if not BUILT or not known:
            raise CannotStage(f"draws from a {name} in a branch, or in a loop within the loop")
        self.keeps = False  # whether a draw leaves something for the next one
        self.words = np.zeros(1, np.uint64)
        self._state: Any = None
        self.tape: Any = None
        self.made: Any = None  # a generator that reads the tape

    def of(self, generator: Any) -> Source:
        """Of another generator of this kind."""
        made = Source(generator)
        made.keeps = self.keeps
        return made

    def _bits(self) -> Any:
        g = self.generator
        return g._bit_generator if self.legacy else g.bit_generator

    def read(self, count: int) -> None:
        """Read so many words ahead; the generator stays where it is."""
        if self._bits() is not self.bits:
            raise CannotStage("its generator has got another stream")
        self._state = before = self.bits.state
        self._left = self.generator.get_state(legacy=False) if self.legacy else before
        self.words = np.ascontiguousarray(self.bits.random_raw(count))
        self.bits.state = before
        self.tape = Tape(self.words, self.narrow)
        kind = np.random.RandomState if self.legacy else np.random.Generator
        self.made = kind(self.tape)  # type: ignore[arg-type]

    @property
    def left(self) -> Any:
        """What is left of the words before the tape: half of one, or a normal number; or None."""
        has, value = ("has_gauss", "gauss") if self.legacy else ("has_uint32", "uinteger")
        return self._left[value] if self._left.get(has) else None

    def forget_pairs(self) -> None:
        if self.legacy:
            self.made.set_state({**self.tape.state, "has_gauss": 0, "gauss": 0.0})

    def state_at(self, state: Any, second: Callable[[int], float]) -> Any:
        """The generator's state where a program has left it. second: the normal number that is
        left at a place.
        """
        now = self.bits.state
        try:
            self.bits.state = self._state
            self.bits.random_raw(int(state[PLACE]), output=False)
            made = self.bits.state
        finally:
            self.bits.state = now
        kept, has = int(state[KEPT]), int(state[HALF])
        if self.legacy:
            made |= {"has_gauss": has, "gauss": self._left["gauss"] if has else 0.0}
            if has and kept < len(self.words):
                made["gauss"] = second(kept)
        elif "has_uint32" in made:
            made["has_uint32"] = has
            if kept < len(self.words):
                made["uinteger"] = int(self.words[kept] >> np.uint64(32))
        return made

    def now(self) -> Any:
        """The generator's state."""
        return self.generator.get_state(legacy=False) if self.legacy else self.bits.state

    def set(self, state: Any) -> None:
        if self.legacy:
            self.generator.set_state(state)
        else:
            self.bits.state = state


class Kind:
    """A method of a generator and its arguments. draw: see `_draws`. tables: the numbers of its
    arrays among those of the program.
    """

    def __init__(self, draw: Any, source: Source, first: int) -> None:
        self.draw, self.source, self.first = draw, source, first
        self.pairs = source.legacy and draw.method.__name__ in _GAUSS
        self.keeps = self.pairs  # whether it takes what is left, too
        name = draw.method.__name__
        if source.legacy and not self.pairs and name not in _OTHERS:
            raise CannotStage(f"draws `{name}` in a branch, or in a loop within the loop")
        self._bounds = self._find_bounds()
        self._is_plain = True  # whether NumPy draws standard numbers as `_at_places` does
        if self.pairs and draw.shape:
            raise CannotStage(f"draws several of `{name}` in a branch, or in a loop in the loop")

    def of(self, draw: Any, source: Source) -> Kind:
        """Of another generator."""
        made = copy.copy(self)
        made.draw, made.source = draw, source
        return made

    def taking(self, value: Any) -> Callable[..., Any]:
        """What draws from the tape. value: of a variable."""
        method = getattr(self.source.made, self.draw.method.__name__)
        return self.draw.ready(method, value)

    def describe(self, value: Any) -> None:
        """Find out whether it takes, or leaves, halves of words."""
        source, count = self.source, len(self.source.words)
        if source.narrow:
            source.keeps = source.keeps or self.pairs
            if self.pairs:
                self._check(self._polar(count, value), self._pair_by_pair(count, value))
            return
        values, read, kept = self._walked(count, False, value)
        self._check(self._standard(count, value), (np.array(values), read, kept))
        source.keeps = source.keeps or bool((kept & 1).any())
        _, read, kept = self._walked(count, True, value)
        self.keeps = bool((read == 0).any() or (kept & 1 == 0).any())
        self._mixed = float(((read > 0) & (kept != 1)).mean())

    def _check(self, found: Any, walked: Any) -> None:
        """Compare what is made at once with what NumPy draws at each place, for some words."""
        if found is not None:
            self._is_plain = all(map(np.array_equal, found, walked))

    def check(self) -> None:
        if self.keeps and self.source.keeps and not self.pairs and self._mixed > _MIXED:
            name = self.draw.method.__name__
            raise CannotStage(f"`{name}` takes halves of words, in a branch or an inner loop")

    _mixed = 0.0

    @property
    def tables(self) -> int:
        return 5 if self.keeps and self.source.keeps else 2

    def _walked(self, count: int, halves: bool, value: Any) -> tuple[Any, Any, Any]:
        source, draw = self.source, self.taking(value)
        read, kept = np.zeros(count, np.int64), np.zeros(count, np.int64)
        return source.tape.walk(draw, halves, 0, read, kept), read, kept

    def fill(self, count: int, arrays: list[np.ndarray], value: Any) -> None:
        """Write the tables: values, words; what is left, values with that, and where that fails."""
        source, name = self.source, self.draw.method.__name__
        if name in _DOUBLES and not (self.draw.args or self.draw.kwargs):
            values: Any = at.doubles(source.words, source.narrow)
            read, kept = np.full(count, 1 + source.narrow), np.zeros(count, np.int64)
        elif self.pairs:
            values, read, kept = self._pairs(count, arrays, value)
        else:
            found = self._ints(count, False, value) or self._standard(count, value)
            values, read, kept = found or self._walked(count, False, value)
        rows = [arrays[0].reshape(-1, *self.draw.shape), arrays[1]]
        _put(rows[0], values, count)
        _put(rows[1][:, 0], read, count)
        if len(arrays) == 2:
            if (kept & 1).any() or self.keeps and source.left is not None:
                raise CannotStage(f"`{name}` leaves a part of a word")
            return
        _put(arrays[2][:, 0], kept, count)
        if not self.pairs:
            found = self._ints(count, True, value)
            values, read, kept = found or self._walked(count, True, value)
            _put(arrays[3].reshape(-1, *self.draw.shape), values, count)
            _put(arrays[4][:, 0], (read > 0) | (kept & 1), count)
            if source.left is not None:
                source.tape.place(0, source.left)
                arrays[3][-1] = np.ravel(self.taking(value)())
                arrays[4][-1] = source.tape.told()[0] > 0 or source.tape.told()[1]
        elif source.left is not None:
            arrays[3][-1] = _moved(self.draw, source.left, value)

    def _ints(self, count: int, halves: bool, value: Any) -> tuple[Any, Any, Any] | None:
        """Ints between bounds, all at once; None if NumPy must be asked for each."""
        bounds = self._bounds
        if bounds is None:
            return None
        make = at.randint if self.source.legacy else at.integers
        values, read, kept, unclear = make(self.source.words[:count], *bounds, halves)
        if not self._agrees((values, read, kept), unclear, halves, value):
            self._bounds = None
            return None
        return values, read, kept

    def _standard(self, count: int, value: Any) -> tuple[Any, Any, Any] | None:
        """Standard numbers, moved and scaled, all at once; None if NumPy must be asked for each."""
        method = self.draw.method.__name__
        name = STANDARD.get(method, method)
        if name not in at.LAYOUTS or self.source.narrow or self.draw.shape or not self._is_plain:
            return None
        values, read, unclear = at.ziggurat(self.source.words[:count], name)
        found = _moved(self.draw, values, value), read, np.zeros(count, np.int64)
        self._is_plain = self._agrees(found, unclear, False, value)
        return found if self._is_plain else None

    def _agrees(self, found: tuple[Any, Any, Any], unclear: Any, halves: bool, value: Any) -> bool:
        """Have NumPy draw where that is needed, and at some other places: whether these agree."""
        values, read, kept = found
        draw, tape = self.taking(value), self.source.tape
        sample = range(0, len(values), max(1, len(values) // _SEVERAL))
        for k in (*np.flatnonzero(unclear).tolist(), *sample):
            tape.place(k, int(self.source.words[k] >> np.uint64(32)) if halves else None)
            x, (n, has, last) = draw(), tape.told()
            if not unclear[k] and (values[k], read[k], kept[k]) != (x, n, 2 * last + has):
                return False
            values[k], read[k], kept[k] = x, n, 2 * last + has
        return True

    def _find_bounds(self) -> tuple[int, int] | None:
        """The first of the ints that are drawn, and how many there are."""
        draw = self.draw
        name = "randint" if self.source.legacy else "integers"
        if draw.method.__name__ != name or draw.shape or draw.kwargs or draw.dtype != np.int64:
            return None
        if not all(type(x) is int for x in draw.args) or not 1 <= len(draw.args) <= 2:
            return None
        low, high = (0, *draw.args)[-2:]
        whole = high - low == 2**32 and not self.source.legacy
        return (low, high - low) if 1 < high - low < 2**31 or whole else None

    def _pairs(self, count: int, arrays: list[np.ndarray], value: Any) -> tuple[Any, Any, Any]:
        found = self._polar(count, value) if self._is_plain else None
        first, second, read = found or self._pair_by_pair(count, value)
        _put(arrays[3][:, 0], second, count)
        _put(arrays[4][:, 0], 0, count)
        return first, read, np.full(count, 3)  # the second number, at the same place

    def _polar(self, count: int, value: Any) -> tuple[Any, Any, Any] | None:
        """All pairs at once; None if NumPy must be asked for each."""
        self.source.forget_pairs()
        *both, read, unclear = at.polar(self.source.words)
        first, second = [_moved(self.draw, x[:count], value) for x in both]
        draw, tape = self.taking(value), self.source.tape
        sample = range(0, count, max(1, count // _SEVERAL))
        for k in (*np.flatnonzero(unclear[:count]).tolist(), *sample):
            tape.place(k, None)
            pair, n = (draw(), draw()), tape.told()[0]
            if not unclear[k] and (first[k], second[k], read[k]) != (*pair, n):
                self._is_plain = False
                return None
            (first[k], second[k]), read[k] = pair, n
        return first, second, read[:count]

    def _pair_by_pair(self, count: int, value: Any) -> tuple[Any, Any, Any]:
        read, kept = np.zeros(count, np.int64), np.zeros(count, np.int64)
        draw = self.taking(value)
        self.source.forget_pairs()
        both = self.source.tape.walk(lambda: (draw(), draw()), False, 0, read, kept)
        values = np.array(both, float)
        return values[:, 0], values[:, 1], read

    def second(self, place: int, value: Any) -> float:
        """The normal number that is left after a draw at this place."""
        self.source.forget_pairs()
        self.source.tape.place(place, None)
        self.source.made.standard_normal()
        return self.source.made.get_state(legacy=False)["gauss"]


def _moved(draw: Any, x: Any, value: Any) -> Any:
    """Standard numbers as this method gives them."""
    parts, named = draw.given(value)
    if draw.method.__name__ == "exponential":
        return (*parts, *named.values(), 1.0)[0] * x
    if draw.method.__name__ != "normal":
        return x
    loc, scale = (*parts, *(0.0, 1.0)[len(parts) :])[:2]
    loc, scale = named.get("loc", loc), named.get("scale", scale)
    return loc + scale * x


def _put(column: np.ndarray, values: Any, count: int) -> None:
    """Write the first rows: a program comes to no others, but for the last, which is of what is
    left of the words before.
    """
    column[:count] = values


def compared(sources: list[Source], kinds: list[Kind], value: Any) -> bool:
    """Whether the tapes give what copies of the generators give."""
    real = {id(s): copy.deepcopy(s.generator) for s in sources}
    for s in sources:
        s.tape.place(0, None if s.legacy else s.left)
        if s.legacy:
            left = {k: s._left[k] for k in ("has_gauss", "gauss")}
            s.made.set_state({**s.tape.state, **left})
    for _ in range(_SEVERAL):
        if any(s.tape.told()[0] > len(s.words) // 2 for s in sources):
            break
        for k in kinds:
            theirs = k.draw.ready(getattr(real[id(k.source)], k.draw.method.__name__), value)()
            if not np.array_equal(np.asarray(k.taking(value)()), np.asarray(theirs)):
                return False
    return True


def room(rows: int, size: int, dtype: Any) -> np.ndarray:
    made = lowering.aligned_empty((rows + 1, size), dtype)
    made[-1] = 0
    return made


def operand(x: np.ndarray) -> Any:
    return new_array(leaf(x))
