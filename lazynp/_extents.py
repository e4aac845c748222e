"""Shapes, parameters and slices that contain sizes without values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from typing import Any

import numpy as np

from lazynp._sizes import Atom, Dim, Size, bounds, largest, sized, smallest
from lazynp._who_asks import undecided

# -- shapes ----------------------------------------------------------------------------------------


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """`numpy.broadcast_shapes`, for up to 64 dimensions, as ufuncs have them: NumPy's own function
    stops at 32. A size without a value is not taken for 1.
    """
    most = max(map(len, shapes), default=0)
    if most > 32:
        leading = [(*[1] * (most - len(s)), *s) for s in shapes]
        parts = [[s[k : k + 32] for s in leading] for k in range(0, most, 32)]
        return tuple([n for part in parts for n in broadcast_shapes(*part)])
    if not any(map(sized, shapes)):
        return np.broadcast_shapes(*shapes)
    out: list[Dim] = [1] * most
    for shape in shapes:
        for axis, n in enumerate(shape, len(out) - len(shape)):
            if out[axis] is not n and out[axis] != n and n != 1:
                if out[axis] != 1:
                    raise ValueError(
                        "shape mismatch: objects cannot be broadcast to a single shape: "
                        f"{out[axis]} and {n} are not known to be equal"
                    )
                out[axis] = n
    return tuple(out)


def product(dims: Iterable[Dim]) -> Dim:
    """The number of elements."""
    total: Dim = 1
    for n in dims:
        total = total * n
    return total


class Numbers(dict[Size, int]):
    """The values of sizes, from those of variables. `numbers[size]` remembers what it computes."""

    def __init__(self, values: Callable[[Atom], int]) -> None:
        super().__init__()
        self._values = values

    def __missing__(self, size: Size) -> int:
        found = self[size] = size.at(self._values)
        return found


def mapped(x: Any, values: Callable[[Size], Any]) -> Any:
    """A parameter of an operation, with these values for its sizes. A slice is of the places of an
    axis (`_steps.basic_slice`): a negative stop lies before the first.
    """
    if type(x) is Size:
        return values(x)
    if type(x) is tuple:
        return tuple([mapped(y, values) for y in x])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[mapped(y, values) for y in x])
    if type(x) is slice:
        start, stop, step = [mapped(y, values) for y in (x.start, x.stop, x.step)]
        return slice(start, None if type(stop) is int and stop < 0 else stop, step)
    return x


def sizes_in(x: Any) -> list[Size]:
    """The sizes in a parameter of an operation, in order."""
    if type(x) is Size:
        return [x]
    return [s for y in x for s in sizes_in(y)] if type(x) is tuple else []


def emptied(x: Any) -> Any:
    """A parameter of an operation with None for each size."""
    if type(x) is Size:
        return None
    return tuple(map(emptied, x)) if type(x) is tuple else x


def filled(x: Any, sizes: Iterator[Any]) -> Any:
    """The inverse of `emptied`."""
    if x is None:
        return next(sizes)
    return tuple([filled(y, sizes) for y in x]) if type(x) is tuple else x


def known_empty(x: Dim) -> bool:
    """Whether there are none, for all values. Where that depends on the call, what does not work on
    nothing fails when the numbers are put in.
    """
    return type(x) is not Size and not x


def surely(test: Any) -> bool:
    """Whether a comparison holds for all values: for code that is right in either case."""
    return test is True


def same_shape(a: Iterable[Dim], b: Iterable[Dim]) -> bool:
    """Whether they are equal for all values."""
    first, second = tuple(a), tuple(b)
    return len(first) == len(second) and all(map(surely, map(_equal, first, second)))


def _equal(a: Dim, b: Dim) -> Any:
    return a == b


def may_be_equal(a: Dim, b: Dim) -> bool:
    """Whether they are equal for some values, as far as is known."""
    if type(a) is not Size and type(b) is not Size:
        return a == b
    low, high = bounds(a - b)
    return (low is None or low <= 0) and (high is None or high >= 0)


def known_negative(x: Dim) -> bool:
    """Whether it is less than 0, for all values."""
    return _negative(x)


def any_sized(*arrays: Any) -> bool:
    """Whether one of these arrays has a size without a value."""
    return any(sized(getattr(x, "shape", ())) for x in arrays)


_STAND_INS = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061)


def stand_in(x: Any) -> Any:
    """Numbers in place of sizes, where only the order of strides matters."""
    return mapped(x, lambda size: size.at(lambda a: _STAND_INS[a.order % len(_STAND_INS)]))


def named(error: Exception, shapes: Iterable[Any]) -> Exception:
    """NumPy's error about stand-ins for sizes, with the names of these."""
    names = {str(stand_in(n)): str(n) for n in sizes_in(tuple(shapes))}
    return type(error)(re.sub(r"\d+", lambda found: names.get(found[0], found[0]), str(error)))


# -- slices ----------------------------------------------------------------------------------------


def slice_extent(item: slice, length: Dim) -> tuple[Dim, Dim, int]:
    """The first place of a slice of an axis, how many places it has, and its step."""
    start, stop, step = item.start, item.stop, 1 if item.step is None else item.step
    if type(start) is not Size and type(stop) is not Size and type(length) is not Size:
        start, stop, step = item.indices(length)
        return start, len(range(start, stop, step)), step
    if type(step) is Size:
        raise undecided(step)
    step = index(step)  # NumPy's integers would ask for the value of a size beside them
    start, stop = (b if b is None or type(b) is Size else index(b) for b in (start, stop))
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step > 0:
        first = 0 if start is None else _from_front(start, length)
        if start is not None and stop is None and _negative(start):
            count = smallest(-start, length)  # x[-k:]
        else:
            end = length if stop is None else smallest(_from_front(stop, length, False), length)
            count = end - largest(first, 0)
            low = bounds(count)[0]
            if low is None or low <= -step:  # else none are counted: x[1::2] of n has n // 2
                count = largest(count, 0)
        return largest(first, 0), (count + (step - 1)) // step, step
    first = length - 1 if start is None else smallest(_from_front(start, length, False), length - 1)
    end = -1 if stop is None else largest(_from_front(stop, length, False), -1)
    return largest(first, 0), (largest(first - end, 0) + (-step - 1)) // -step, step


def _negative(x: Dim) -> bool:
    high = bounds(x)[1]
    return high is not None and high < 0


def _from_front(bound: Dim, length: Dim, cut: bool = True) -> Dim:
    """A bound that counts from the front: negative ones count from the end. One that lies before
    the first place is 0, or negative where `cut` is False: a step backwards ends or starts there.
    """
    low, high = bounds(bound)
    if low is not None and low >= 0:
        return bound
    if high is not None and high < 0:
        return largest(bound + length, 0) if cut else bound + length
    if bound - length in (-1, -2):  # x[: n - 1] of n: it is negative where nothing is there
        return largest(bound, 0)
    negative = smallest(largest(-bound, 0), 1)
    return largest(bound, 0) + negative * largest(bound + length, 0 if cut else -1)


# -- messages --------------------------------------------------------------------------------------

_LONG = 40  # characters of a size
_CURE = (
    "(sizes are not known to be equal: y.reshape(x.shape) says that they are; for a part of known "
    "length at a traced place, write x[i + np.arange(n)])"
)


def shown(shapes: Iterable[Sequence[Any]]) -> str:
    """Shapes in a message, as NumPy writes them. If sizes are among them, it ends with a cure."""
    parts, has_sizes = [], False
    for shape in shapes:
        names = [str(n).replace(" ", "") for n in shape]
        names = [n if len(n) <= _LONG else "?" for n in names]
        has_sizes = has_sizes or any([type(n) is Size for n in shape])
        parts.append("(" + ",".join(names) + ("," if len(names) == 1 else "") + ")")
    return " ".join(parts) + (f" {_CURE}" if has_sizes else "")
