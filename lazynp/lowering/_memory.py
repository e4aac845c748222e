"""Blocks of arrays in memory, as a kernel's values stand for them.

The jaxpr of a kernel is about values: blocks go in, and come out. Where the kernel is launched, a
block that goes in is a `Memory`, and a slice of one reads just that slice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._dataclass import dataclass, replace
from lazynp._errors import LoweringError
from lazynp.lowering._arith import BOOL, INT64, Arith
from lazynp.lowering._core import Value


@dataclass(frozen=True)
class Dim:
    """A dimension of an array in memory. start: of the block; axis: whether the Ref has one."""

    length: int
    size: int
    stride: int
    start: Any
    axis: bool
    stands_out: bool


@dataclass(frozen=True)
class Memory:
    """A block of an array. blank: an output that nobody wrote. flat: seen as one axis, with so many
    blanks behind. writeable: an output. writes: what was done to it, "stores" or "atomics";
    version: how often.
    """

    aval: Aval
    pointer: str
    dtype: np.dtype[Any]
    dims: tuple[Dim, ...]
    blank: bool = False
    flat: bool = False
    behind: int = 0
    writes: str = ""
    version: int = 0
    writeable: bool = False


def blank(dtype: np.dtype[Any]) -> Any:
    """What memory holds that nobody wrote: NaN, the least integer, False."""
    if dtype.kind == "f":
        return math.nan
    return False if dtype.kind == "b" else int(np.iinfo(dtype).min)


# -- arithmetic on places, by Python where both are ints -------------------------------------------


def plus(t: Arith, x: Any, y: Any) -> Any:
    return _folded(t, "add", x, y, lambda a, b: a + b, 0)


def times(t: Arith, x: Any, y: Any) -> Any:
    return _folded(t, "multiply", x, y, lambda a, b: a * b, 1)


def _folded(t: Arith, name: str, x: Any, y: Any, known: Any, neutral: int) -> Any:
    if isinstance(x, int) and isinstance(y, int):
        return known(x, y)
    if isinstance(x, int) and x == neutral:
        return y
    if isinstance(y, int) and y == neutral:
        return x
    return t.binary(name, *_alike(t, x, y))


def _alike(t: Arith, x: Any, y: Any) -> tuple[Value, Value]:
    """Both as int64 values of one shape."""
    shape = next((v.aval.shape for v in (x, y) if isinstance(v, Value) and v.aval.shape), ())
    return as_value(t, x, shape), as_value(t, y, shape)


def as_value(t: Arith, x: Any, shape: tuple[int, ...]) -> Value:
    if isinstance(x, int):
        return t.constant(x, INT64, shape)
    return t.broadcast_in_dim(t.convert(x, INT64), shape, tuple(range(x.aval.ndim)))


def known(place: Any) -> Any:
    """The place as an int, if it is one."""
    return int(place.static) if isinstance(place, Value) and place.static is not None else place


def within(t: Arith, place: Any, length: int) -> Value:
    """Whether places are of an axis of this length."""
    place = place if isinstance(place, Value) else t.constant(place, INT64)
    low, high = (t.constant(n, INT64, place.aval.shape) for n in (0, length))
    return t.binary("and", t.compare(place, low, "GE"), t.compare(place, high, "LT"))


def steps(t: Arith, n: int) -> Any:
    """The numbers below n; a bare 0 is cheaper than an axis of one."""
    return t.iota((n,), 0, INT64) if n > 1 else 0


# -- the states of memory --------------------------------------------------------------------------


def written(t: Arith, m: Memory, how: str) -> Memory:
    """The memory after a write."""
    t.written[m.pointer] = m.version + 1
    how = "stores" if m.writes == "stores" else how
    return replace(m, writes=how, version=m.version + 1, blank=False)


def check_version(t: Arith, m: Memory) -> None:
    """Memory has one state, and a value that stands for an earlier one cannot be had."""
    if t.written.get(m.pointer, 0) != m.version:
        raise LoweringError("what a Ref held before a store is used after it")


# -- views of memory -------------------------------------------------------------------------------


def flattened(m: Memory) -> Memory:
    return replace(m, aval=aval_of((m.aval.size,), m.aval.dtype), flat=True)


def unflattened(m: Memory) -> Memory:
    """The inverse of `flattened`."""
    sizes = tuple(d.size for d in m.dims if d.axis)
    return replace(m, aval=aval_of(sizes, m.aval.dtype), flat=False)


def with_blanks(m: Memory, count: int) -> Memory:
    """With so many blanks behind the last element."""
    return replace(m, aval=aval_of((m.aval.size + count,), m.aval.dtype), behind=count)


def without_blanks(m: Memory) -> Memory:
    """The inverse of `with_blanks`."""
    return replace(m, aval=aval_of((m.aval.size - m.behind,), m.aval.dtype), behind=0)


__all__ = [
    "BOOL", "Dim", "Memory", "as_value", "blank", "check_version", "flattened", "known", "plus",
    "steps", "times", "unflattened", "with_blanks", "within", "without_blanks", "written",
]  # fmt: skip
