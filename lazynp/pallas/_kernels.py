"""What kernels call: program ids, masked loads and stores, atomics, branches, loops, scratch."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lazynp._array import Array, new_array, new_scalar
from lazynp._dataclass import dataclass
from lazynp._values import knowable
from lazynp.functions._operands import as_array, broadcast, cast
from lazynp.functions.ufuncs import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    maximum,
    minimum,
)
from lazynp.pallas._indexing import in_bounds, is_array, is_mask, items_of, lanes, places_of, read
from lazynp.pallas._marks import without_derivative
from lazynp.pallas._refs import Ref, blank, blanks, no_array
from lazynp.primitives import elementwise, indexing, shaping
from lazynp.primitives.checks import check_later
from lazynp.transforms import cond, debug_print, fori_loop

# -- where in the grid -----------------------------------------------------------------------------


@dataclass
class Program:
    """The program that runs, or is traced, in this thread."""

    name: str
    ids: Sequence[Any]
    grid: tuple[int, ...]


class _Running(threading.local):
    def __init__(self) -> None:
        self.programs: list[Program] = []


_running = _Running()


@contextmanager
def program(name: str, ids: Sequence[Any], grid: tuple[int, ...]) -> Iterator[None]:
    """Within, `program_id` and `num_programs` answer for this program."""
    _running.programs.append(Program(name, ids, grid))
    try:
        yield
    finally:
        _running.programs.pop()


def _axis(axis: Any, what: str) -> tuple[Program, int]:
    if not _running.programs:
        raise RuntimeError(f"{what} is called outside of a kernel")
    now, axis = _running.programs[-1], operator.index(axis)
    if not 0 <= axis < len(now.grid):
        raise ValueError(f"{what}: the grid {now.grid} of {now.name} has no axis {axis}")
    return now, axis


def program_id(axis: int) -> Any:
    """The place of this program along an axis of the grid: an integer as weak as Python's."""
    now, axis = _axis(axis, "program_id")
    return now.ids[axis]


def num_programs(axis: int) -> int:
    """The size of an axis of the grid."""
    now, axis = _axis(axis, "num_programs")
    return now.grid[axis]


# -- loads and stores ------------------------------------------------------------------------------


def _checked(ref: Any, what: str) -> Ref:
    if not isinstance(ref, Ref):
        raise TypeError(f"{what}: a Ref is required, got {type(ref).__name__}")
    return ref


def _spread(x: Any, shape: tuple[int, ...], what: str) -> Array:
    """x as an array of this shape."""
    if isinstance(x, Ref):
        raise no_array(x._name)
    array = as_array(x)
    try:
        fits = np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{what} of shape {array.shape} does not broadcast to {shape}")
    return broadcast(new_array(array._read()), shape)


def _mask(mask: Any, shape: tuple[int, ...], what: str) -> Array:
    found = _spread(mask, shape, f"{what}: a mask")
    if found.dtype.kind != "b":
        raise TypeError(f"{what}: a mask must be of bools, got {found.dtype}")
    return found


def _items(ref: Ref, idx: Any, what: str) -> tuple[Any, ...]:
    if any(map(is_mask, idx if isinstance(idx, tuple) else (idx,))):
        raise TypeError(f"{what}: the index has a boolean array; use mask=")
    return items_of(idx, ref.ndim)


def _as_read(x: Array) -> Array:
    return x if x.ndim else new_scalar(x._read())


class _Lanes:
    """The elements that an index names, one by one, where a mask leaves some of them out."""

    def __init__(self, x: Array, items: tuple[Any, ...], mask: Any, what: str) -> None:
        self.x = new_array(x._read())
        found, self.shape = lanes(items, x.shape)
        self.mask = _mask(mask, self.shape, what)
        if not x.size:
            message = f"{what}: an index that is not masked out is out of bounds: the Ref is empty"
            check_later(self.mask, IndexError, message)
        # one element more than x has: what is masked out is read and written there
        self.flat = shaping.concatenate(
            shaping.reshape(self.x, shape=(x.size,)), blanks((1,), x.dtype), axis=0
        )
        self.places = places_of(found, x.shape, self.mask)

    def read(self, other: Any, what: str) -> Array:
        got = indexing.take(self.flat, self.places, axes=(0,))
        if other is None:
            return got  # masked out, it is blank
        rest = cast(_spread(other, self.shape, f"{what}: other"), self.x.dtype)
        return elementwise.select(self.mask, got, rest)

    def written(self, value: Any, mode: str, what: str) -> Array:
        """x after the write; mode: how old and new join."""
        u = cast(_spread(value, self.shape, f"{what}: a value"), self.x.dtype)
        done = indexing.put(self.flat, u, self.places, axes=(0,), mode=mode)
        n = math.prod(self.x.shape)
        whole = shaping.slice_(done, 0, axes=(0,), sizes=(n,), strides=(1,), shape=(n,))
        return shaping.reshape(whole, shape=self.x.shape)


def load(ref: Ref, idx: Any = ..., *, mask: Any = None, other: Any = None) -> Any:
    """What `ref[idx]` reads, as a value.

    Elements where mask is False are not touched, and may be out of bounds; there the result is
    `other`, or blank (NaN, the least integer, False).
    """
    ref = _checked(ref, "load")
    if mask is None:
        if other is not None:
            raise ValueError("load: other has no meaning without a mask")
        return ref[idx]
    items, x = _items(ref, idx, "load"), ref._held()
    if not in_bounds(items, x.shape):
        return _as_read(_Lanes(x, items, mask, "load").read(other, "load"))
    got = as_array(read(x, items))
    rest = blank(x.dtype) if other is None else other
    rest = cast(_spread(rest, got.shape, "load: other"), x.dtype)
    chosen = _mask(mask, got.shape, "load")
    return _as_read(elementwise.select(chosen, new_array(got._read()), rest))


def store(ref: Ref, idx: Any, value: Any, *, mask: Any = None) -> None:
    """`ref[idx] = value`; elements where mask is False stay, and may be out of bounds."""
    ref = _checked(ref, "store")
    if isinstance(value, Ref):
        raise no_array(value._name)
    if mask is None:
        ref[idx] = value
        return
    items, x = _items(ref, idx, "store"), ref._held()
    if not in_bounds(items, x.shape):
        ref._store(..., _Lanes(x, items, mask, "store").written(value, "set", "store"))
        return
    old = as_array(read(x, items))
    new = cast(_spread(value, old.shape, "store: a value"), x.dtype)
    ref._store(items, elementwise.select(_mask(mask, old.shape, "store"), new, old))


def swap(ref: Ref, idx: Any, value: Any, *, mask: Any = None) -> Any:
    """`ref[idx] = value`; returns what was there."""
    old = load(_checked(ref, "swap"), idx, mask=mask)
    store(ref, idx, value, mask=mask)
    return old


# -- atomics ---------------------------------------------------------------------------------------


_BITWISE = (bitwise_and, bitwise_or, bitwise_xor)


def _atomic(name: str, function: Any, ref: Any, idx: Any, value: Any, mask: Any) -> Any:
    """Update elements by a ufunc, also those that the index names several times."""
    ref = _checked(ref, name)
    if isinstance(value, Ref):
        raise no_array(value._name)
    items, x = _items(ref, idx, name), ref._held()
    if function in _BITWISE and x.dtype.kind not in "biu":
        raise TypeError(f"{name}: integers or bools are required, got {x.dtype}")
    if any(map(is_array, items)):
        given = _Lanes(x, items, True if mask is None else mask, name)
        old, new = given.read(None, name), given.written(value, function.__name__, name)
        ref._store(..., new if function is add else without_derivative(new, name))
        return _as_read(old)
    old = load(ref, items, mask=mask)
    new = function(old, cast(as_array(value), x.dtype))
    store(ref, items, new if function is add else without_derivative(new, name), mask=mask)
    return old


def atomic_add(ref: Ref, idx: Any, value: Any, *, mask: Any = None) -> Any:
    """Add to elements; returns what was there. Elements that occur several times add all up."""
    return _atomic("atomic_add", add, ref, idx, value, mask)


def atomic_max(ref: Ref, idx: Any, value: Any, *, mask: Any = None) -> Any:
    """The larger of elements and values; returns what was there."""
    return _atomic("atomic_max", maximum, ref, idx, value, mask)


def atomic_min(ref: Ref, idx: Any, value: Any, *, mask: Any = None) -> Any:
    """The smaller of elements and values; returns what was there."""
    return _atomic("atomic_min", minimum, ref, idx, value, mask)


def atomic_and(ref: Ref, idx: Any, value: Any, *, mask: Any = None) -> Any:
    """Bitwise and; returns what was there."""
    return _atomic("atomic_and", bitwise_and, ref, idx, value, mask)


def atomic_or(ref: Ref, idx: Any, value: Any, *, mask: Any = None) -> Any:
    """Bitwise or; returns what was there."""
    return _atomic("atomic_or", bitwise_or, ref, idx, value, mask)


def atomic_xor(ref: Ref, idx: Any, value: Any, *, mask: Any = None) -> Any:
    """Bitwise exclusive or; returns what was there."""
    return _atomic("atomic_xor", bitwise_xor, ref, idx, value, mask)


def atomic_xchg(ref: Ref, idx: Any, value: Any, *, mask: Any = None) -> Any:
    """Replace elements; returns what was there."""
    if isinstance(value, Ref):
        raise no_array(value._name)
    ref = _checked(ref, "atomic_xchg")
    new = without_derivative(cast(as_array(value), ref.dtype), "atomic_xchg")
    return swap(ref, idx, new, mask=mask)


def atomic_cas(ref: Ref, cmp: Any, value: Any) -> Any:
    """Replace elements that are equal to cmp; returns what was there."""
    old = as_array(_checked(ref, "atomic_cas")[...])
    expected = cast(_spread(cmp, old.shape, "atomic_cas: cmp"), old.dtype)
    new = cast(_spread(value, old.shape, "atomic_cas: a value"), old.dtype)
    new = elementwise.select(elementwise.equal(old, expected), new, old)
    ref._store(..., without_derivative(new, "atomic_cas"))
    return _as_read(old)


# -- control ---------------------------------------------------------------------------------------


def when(condition: Any) -> Callable[[Callable[[], Any]], None]:
    """A decorator: the body runs if the condition holds. A Python bool decides at once."""

    def decide(body: Callable[[], Any]) -> None:
        def run() -> None:
            body()

        if isinstance(condition, Ref):
            raise no_array(condition._name)
        if not isinstance(condition, Array) or knowable(condition._read()):
            if bool(condition):
                run()
            return
        cond(condition, run, lambda: None)

    return decide


def loop(
    lower: Any, upper: Any, *, step: int = 1, init_carry: Any = None,
    unroll: int | bool | None = None,
) -> Callable[[Callable[..., Any]], Any]:  # fmt: skip
    """A decorator: the body runs for each number from lower to upper.

    With init_carry, the body gets `(number, carry)` and returns the next carry, and the name of
    the function is bound to the last.
    """
    step = operator.index(step)
    if step == 0:
        raise ValueError("loop: step must not be zero")

    def run(body: Callable[..., Any]) -> Any:
        def rounds(k: Any, carry: Any) -> Any:
            i = k if step == 1 and not isinstance(first, int) else k * step + lower
            if init_carry is None:
                body(i)
                return carry
            return body(i, carry)

        first, last, known = lower, upper, unroll
        if _is_int(lower) and _is_int(upper):
            first, last = 0, len(range(int(lower), int(upper), step))
            known = None if unroll is False else unroll
        elif step != 1:
            away = step - (1 if step > 0 else -1)
            first, last = 0, (upper - lower + away) // step
        final = fori_loop(first, last, rounds, init_carry, unroll=known)
        return None if init_carry is None else final

    return run


def _is_int(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, Array)


def run_scoped(f: Callable[..., Any], *scratch: Any) -> Any:
    """`f` of a Ref for each description of scratch (`VMEM(shape, dtype)`), blank at first, which
    ends with the call. Returns what f returns.
    """
    refs = [
        Ref(f"scratch {i} of run_scoped", blanks(tuple(s.shape), s.dtype))
        for i, s in enumerate(scratch)
    ]
    try:
        return f(*refs)
    finally:
        for ref in refs:
            ref._close()


__all__ = [
    "atomic_add", "atomic_and", "atomic_cas", "atomic_max", "atomic_min", "atomic_or",
    "atomic_xchg", "atomic_xor", "debug_print", "load", "loop", "num_programs", "program",
    "program_id", "run_scoped", "store", "swap", "when",
]  # fmt: skip
