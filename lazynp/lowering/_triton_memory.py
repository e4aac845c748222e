"""Memory in Triton: pointers to the elements that an index names, loaded and stored under masks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import aval_of
from lazynp._dataclass import dataclass, replace
from lazynp._errors import LoweringError
from lazynp.lowering._arith import BOOL, INT64
from lazynp.lowering._core import Value
from lazynp.lowering._memory import (
    Dim,
    Memory,
    as_value,
    blank,
    check_version,
    plus,
    steps,
    times,
    within,
    written,
)
from lazynp.lowering._triton import Triton, element_text, kind, tensor_text

Index = tuple[Any, tuple[int, ...]]  # an int or an int64 value, and the axes of the result it has


def pointer_text(dtype: np.dtype[Any]) -> str:
    """Bools are bytes in memory."""
    return f"!tt.ptr<{'i8' if dtype.kind == 'b' else element_text(dtype)}>"


# -- addresses -------------------------------------------------------------------------------------


@dataclass
class _Address:
    pointers: str
    kind: str
    mask: Value | None


def _address(
    t: Triton, m: Memory, index: Sequence[Index], shape: tuple[int, ...], mask: Value | None
) -> _Address:
    """The elements of a result of this shape. index: for each axis of the Ref."""
    given, offset = iter(index), 0
    for dim in m.dims:
        place, axes = next(given) if dim.axis else (0, ())
        place = plus(t, place, dim.start)
        if dim.stands_out:
            inside = within(t, place, dim.length)
            inside = t.broadcast_in_dim(inside, shape, axes if inside.aval.shape else ())
            mask = inside if mask is None else t.and_(mask, inside)
        step = times(t, place, dim.stride)
        if isinstance(step, Value) and step.aval.shape:
            step = t.broadcast_in_dim(step, shape, axes)
        offset = plus(t, offset, step)
    base = pointer_text(m.dtype)
    if not shape:
        here = m.pointer
        if offset != 0:
            here = t._fresh()
            name = t.use(as_value(t, offset, ()))
            t.line(f"{here} = tt.addptr {m.pointer}, {name} : {base}, i64")
        return _Address(here, base, mask)
    many = tensor_text(shape, base)
    splat, here = t._fresh(), t._fresh()
    t.line(f"{splat} = tt.splat {m.pointer} : {base} -> {many}")
    offsets = t.use(as_value(t, offset, shape))
    t.line(f"{here} = tt.addptr {splat}, {offsets} : {many}, {tensor_text(shape, 'i64')}")
    return _Address(here, many, mask)


def load(
    t: Triton, m: Memory, index: Sequence[Index], shape: tuple[int, ...], mask: Value | None = None
) -> Value:
    """The elements; blank where the mask is False and out of the array."""
    out = aval_of(shape, m.dtype)
    _wait(t, m)
    if m.blank:
        return t.constant(blank(m.dtype), m.dtype, shape)
    at = _address(t, m, index, shape, mask)
    is_bool = m.dtype.kind == "b"
    held = aval_of(shape, np.dtype("i1") if is_bool else m.dtype)
    tail = ""
    if at.mask is not None:
        other = t.use(t.constant(0 if is_bool else blank(m.dtype), held.dtype, shape))
        tail = f", {t.use(at.mask)}, {other}"
    got = t.write(f"tt.load {at.pointers}{tail} : {at.kind}", held, again=True)
    return t.convert(got, BOOL) if is_bool else Value(got.name, out)


def store(
    t: Triton, m: Memory, index: Sequence[Index], value: Value, mask: Value | None = None
) -> None:
    """Write the elements that are in the array, and not masked out."""
    _wait(t, m)
    at = _address(t, m, index, value.aval.shape, mask)
    if m.dtype.kind == "b":
        value = t.convert(value, np.dtype("i1"))
    tail = f", {t.use(at.mask)}" if at.mask is not None else ""
    t.line(f"tt.store {at.pointers}, {t.use(value)}{tail} : {at.kind}")


_ATOMICS = {"add": "add", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
            "maximum": "max", "minimum": "min"}  # fmt: skip


def atomic(
    t: Triton, m: Memory, index: Sequence[Index], value: Value, mode: str, mask: Value | None
) -> None:
    """Change elements, each as one step."""
    dtype, name = m.dtype, _ATOMICS.get(mode)
    is_sum = mode == "add" and dtype.kind == "f"
    if name is None or dtype.kind == "b" or (dtype.itemsize < 4 and not is_sum) or (
        dtype.kind == "f" and not is_sum
    ):  # fmt: skip
        raise LoweringError(f"Triton has no atomic {mode} of {dtype}")
    _wait(t, m)
    shape = value.aval.shape
    at = _address(t, m, index, shape, mask)
    name = "fadd" if is_sum else "u" + name if dtype.kind == "u" and name[0] == "m" else name
    chosen = at.mask if at.mask is not None else t.constant(True, BOOL, shape)
    types = f"{at.kind}, {kind(value.aval)}, {tensor_text(shape, 'i1')}"
    t.line(
        f"{t._fresh()} = tt.atomic_rmw {name}, acq_rel, gpu, {at.pointers}, {t.use(value)}, "
        f"{t.use(chosen)} : ({types}) -> {kind(value.aval)}"
    )


# -- views of memory -------------------------------------------------------------------------------


def every(t: Triton, m: Memory) -> list[Index]:
    """The index of the whole block."""
    return [
        (t.iota((n,), 0, INT64) if n > 1 else t.constant(0, INT64, (1,)), (axis,))
        for axis, n in enumerate(m.aval.shape)
    ]


def whole(t: Triton, m: Memory) -> Value:
    """The block as a value."""
    if m.flat:
        raise LoweringError("a flattened Ref is read as a whole")
    return load(t, m, every(t, m), m.aval.shape)


def part(t: Triton, m: Memory, starts: Sequence[Any], shape: Any, **region: Any) -> Value:
    """What the primitive `slice` gives of memory."""
    index, sizes = _places_of(t, m, starts, **region)
    return t.reshape(load(t, m, index, sizes), tuple(shape))


def replaced(
    t: Triton, m: Memory, value: Value, starts: Sequence[Any], shape: Any, **region: Any
) -> Memory:
    """What the primitive `update_slice` makes of memory: the part is stored."""
    index, sizes = _places_of(t, m, starts, **region)
    store(t, m, index, t.reshape(value, sizes))
    return written(t, m, "stores")


def _wait(t: Triton, m: Memory) -> None:
    """Threads of a program must wait before they touch what others of them have stored."""
    check_version(t, m)
    if m.version:
        t.line("gpu.barrier")


def _places_of(
    t: Triton, m: Memory, starts: Sequence[Any], axes: Sequence[int], sizes: Sequence[int],
    strides: Sequence[int],
) -> tuple[list[Index], tuple[int, ...]]:  # fmt: skip
    """The index of a region, and its shape."""
    region, index = list(m.aval.shape), every_of(m)
    for axis, size in zip(axes, sizes, strict=True):
        region[axis] = size
    for axis, n in enumerate(region):
        index[axis] = steps(t, n), (axis,)
    for axis, start, stride in zip(axes, starts, strides, strict=True):
        place, at = index[axis]
        start = start.static if isinstance(start.static, int) else start
        place = plus(t, times(t, place, stride), start)
        index[axis] = place, at if isinstance(place, Value) and place.aval.shape else ()
    return index, tuple(region)


def every_of(m: Memory) -> list[Index]:
    return [(0, ())] * m.aval.ndim


def picked(t: Triton, m: Memory, indices: Sequence[Value], axes: Sequence[int]) -> Value:
    """What the primitive `take` gives of memory: the axes of the indices first, then the rest."""
    lead = indices[0].aval.shape
    if m.flat:
        return _picked_flat(t, m, indices[0])
    rest = [k for k in range(m.aval.ndim) if k not in axes]
    shape = (*lead, *(m.aval.shape[k] for k in rest))
    index = every_of(m)
    for axis, value in zip(axes, indices, strict=True):
        index[axis] = t.convert(value, INT64), tuple(range(len(lead)))
    for place, axis in enumerate(rest, len(lead)):
        n = m.aval.shape[axis]
        index[axis] = steps(t, n), (place,)
    return load(t, m, index, shape)


def _picked_flat(t: Triton, m: Memory, places: Value) -> Value:
    """Elements by their number; those behind the last one are blank."""
    line, index, mask = _by_number(t, m, places)
    return load(t, line, index, places.aval.shape, mask)


def put(t: Triton, m: Memory, value: Value, places: Value, mode: str) -> Memory:
    """What the primitive `put` makes of flat memory; what stands behind its end is dropped."""
    line, index, mask = _by_number(t, m, places)
    if mode == "set":
        store(t, line, index, value, mask)
        return written(t, m, "stores")
    atomic(t, line, index, value, mode, mask)
    return written(t, m, "atomics")


def _by_number(
    t: Triton, m: Memory, places: Value
) -> tuple[Memory, list[Index], Value | None]:  # fmt: skip
    """Memory, index and mask of the elements with these numbers."""
    places = t.convert(places, INT64)
    shape, sizes = places.aval.shape, [d.size for d in m.dims if d.axis]
    mask = within(t, places, math.prod(sizes)) if m.behind else None
    if all(d.size == d.length and d.start == 0 for d in m.dims):  # they are the places in memory
        line = Dim(math.prod(sizes), math.prod(sizes), 1, 0, True, False)
        return replace(m, dims=(line,)), [(places, tuple(range(len(shape))))], mask
    index: list[Index] = []
    for n in reversed(sizes[1:]):
        size = t.constant(n, INT64, shape)
        index.append((t.binary("remainder", places, size), tuple(range(len(shape)))))
        places = t.binary("divide", places, size)
    index.append((places, tuple(range(len(shape)))))
    return m, index[::-1], mask


__all__ = ["atomic", "every", "load", "part", "picked", "pointer_text", "put", "replaced", "store"]
