"""What a method draws at each place of a tape, for all places at once.

Each function follows the algorithm of NumPy's method of the same name, by ufuncs, and gives values,
how many words they take, and where NumPy must be asked. NumPy draws at some of the other places as
well, and all must agree (`_tapes`): the algorithms are no part of NumPy's interface.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from lazynp._promotion._tape import Tape

_STEPS = 16  # by which the bound of a layer is found: 2**-16 of its words are asked for in vain
_PROBE = 2**40  # a number by which the factor of a layer is read off
# of the words: bits below the layer's, below the sign's, below the number's, and of the number
LAYOUTS = {"standard_normal": (0, 8, 9, 52), "standard_exponential": (3, None, 11, 53)}


def integers(words: np.ndarray, low: int, count: int, halves: bool) -> Any:
    """Ints of halves of words; the third result is what is kept."""
    half = words >> np.uint64(32) if halves else words & np.uint64(2**32 - 1)
    product = half * np.uint64(count)
    unclear = (product & np.uint64(2**32 - 1)) < np.uint64(count if count < 2**32 else 0)
    values = (product >> np.uint64(32)).astype(np.int64) + low
    read = np.full(len(words), 1 - halves)
    return values, read, np.full(len(words), 0 if halves else 3), unclear


def randint(words: np.ndarray, low: int, count: int, halves: bool) -> Any:
    """The first word that is small enough, for `RandomState`; nothing is kept."""
    values = (words & np.uint64(2 ** (count - 1).bit_length() - 1)).astype(np.int64)
    following, unclear = _next_where(values < count)
    read = following - np.arange(len(words)) + 1
    return values[following] + low, read, np.zeros(len(words), np.int64), unclear


def ziggurat(words: np.ndarray, name: str) -> Any:
    """Standard numbers of `Generator`. Most words lie so deep in a layer that they are all that is
    read.
    """
    factors, bounds = _layers(name)
    layer, sign, first, bits = LAYOUTS[name]
    which = ((words >> np.uint64(layer)) & np.uint64(255)).astype(np.intp)
    number = (words >> np.uint64(first)) & np.uint64(2**bits - 1)
    values = number.astype(float) * factors[which]
    if sign is not None:
        np.negative(values, out=values, where=(words & np.uint64(1 << sign)) != 0)
    return values, np.ones(len(words), np.int64), number.astype(np.int64) > bounds[which]


def doubles(words: np.ndarray, narrow: bool) -> np.ndarray:
    """Numbers from 0 to 1. narrow: of two words of 32 bits, each with the next one."""
    if not narrow:
        return (words >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    pairs = (words >> np.uint64(5)) * 67108864.0 + (np.roll(words, -1) >> np.uint64(6))
    return pairs / 9007199254740992.0


def polar(words: np.ndarray) -> Any:
    """Pairs of standard normal numbers of `RandomState`, each of the first two numbers that lie in
    the circle.
    """
    x = 2.0 * doubles(words, narrow=True) - 1.0
    y = np.roll(x, -2)
    square = x * x + y * y
    fits = (square < 1.0) & (square != 0.0)
    fits[-3:] = False  # these would be read from the beginning
    places = np.flatnonzero(fits)
    logs = np.fromiter(map(math.log, square[places].tolist()), float, len(places))
    factor = np.zeros(len(words))
    factor[places] = np.sqrt(-2.0 * logs / square[places])
    following, unclear = np.zeros(len(words), np.intp), np.ones(len(words), bool)
    for k in range(4):  # a pair that does not fit takes four words
        among, lost = _next_where(fits[k::4])
        following[k::4], unclear[k::4] = 4 * among + k, lost
    read = following - np.arange(len(words)) + 4
    return (factor * y)[following], (factor * x)[following], read, unclear


def _next_where(fits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each place, the next one that fits, and whether there is none."""
    found = np.where(fits, np.arange(len(fits)), len(fits))[::-1]
    following = np.minimum.accumulate(found)[::-1]
    lost = following == len(fits)
    return np.where(lost, 0, following), lost


@functools.cache
def _layers(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The factor of each layer, and the largest number that is known to lie within; -1: none. A
    tape tells, for such a number is all that is read.
    """
    layer, _, first, bits = LAYOUTS[name]
    heads = np.arange(256, dtype=np.uint64) << np.uint64(layer)
    low, high = np.full(256, -1), np.full(256, 2**bits)

    def drawn(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        words = heads | numbers.astype(np.uint64) << np.uint64(first)
        tape, read = Tape(words, narrow=False), np.zeros(256, np.int64)
        draw = getattr(np.random.Generator(tape), name)  # type: ignore[arg-type]
        values = tape.walk(draw, False, 0, read, np.zeros_like(read))
        return np.array(values), read == 1

    for _ in range(_STEPS):
        middle = (low + high) // 2
        _, within = drawn(middle)
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    values, within = drawn(np.full(256, _PROBE))
    return np.where(within, values / _PROBE, 0.0), np.where(within, low, -1)
