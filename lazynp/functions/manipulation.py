"""Rearrange arrays. A result is a view exactly where NumPy's is.

`_shapes` changes shapes and orders of axes, `_joining` joins, `_splitting` splits, inserts and
deletes, `_padding` pads; repetition, rolling and storing are here.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar, new_array, write_lock
from lazynp._avals import SCALAR_DTYPES, native
from lazynp._dimensions import as_operand, is_unsized, length_of, table
from lazynp._extents import known_empty, may_be_equal
from lazynp._node import VALUE
from lazynp._overrides import check
from lazynp._sizes import Size, is_size, largest, sized
from lazynp._strides import are_same, copied_order, in_order, may_write
from lazynp._values import knowable
from lazynp.functions._arguments import (
    NO_AXIS,
    as_size,
    check_axis,
    check_device,
    converted,
    dtype_argument,
    fortran,
    is_fortran,
    joined,
    mask_argument,
    own,
    part,
    reshaped,
    static,
    taken,
)
from lazynp.functions._assigned import assigned
from lazynp.functions._checks import asking, refuse, traced
from lazynp.functions._construct import copy, require
from lazynp.functions._eager import by_numpy, looked_at
from lazynp.functions._getset import setitem
from lazynp.functions._joining import (
    block,
    column_stack,
    concat,
    concatenate,
    dstack,
    hstack,
    row_stack,
    stack,
    vstack,
)
from lazynp.functions._nested import of_size
from lazynp.functions._operands import as_array, broadcast, cast, plain, scalar_if_0d
from lazynp.functions._padding import pad
from lazynp.functions._placing import placing
from lazynp.functions._recording import apply
from lazynp.functions._shapes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    flip,
    fliplr,
    flipud,
    matrix_transpose,
    moveaxis,
    permute_dims,
    ravel,
    reshape,
    rollaxis,
    rot90,
    squeeze,
    swapaxes,
    transpose,
)
from lazynp.functions._splitting import (
    append,
    array_split,
    delete,
    dsplit,
    hsplit,
    insert,
    split,
    trim_zeros,
    unstack,
    vsplit,
)
from lazynp.functions._stores import write_into
from lazynp.functions._written import by_writing
from lazynp.functions.creation import zeros
from lazynp.primitives import elementwise, reduction, shaping, sorting

__all__ = [
    "append", "array_split", "astype", "atleast_1d", "atleast_2d", "atleast_3d", "block",
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "column_stack", "concat",
    "concatenate", "copy", "copyto", "delete", "dsplit", "dstack", "expand_dims", "flip",
    "fliplr", "flipud", "hsplit", "hstack", "insert", "matrix_transpose", "moveaxis", "ndim",
    "pad", "permute_dims", "ravel", "repeat", "require", "reshape", "resize", "roll", "rollaxis",
    "rot90", "row_stack", "shape", "size", "split", "squeeze", "stack", "swapaxes", "tile",
    "transpose", "trim_zeros", "unstack", "vsplit", "vstack",
]  # fmt: skip

normalize_axis_index = np.lib.array_utils.normalize_axis_index
normalize_axis_tuple = np.lib.array_utils.normalize_axis_tuple
Array_or_scalar = (Array, np.ndarray, np.generic)


# -- properties ------------------------------------------------------------------------------------


@looked_at(np.ndim)
def ndim(a: Any) -> int:
    """See `numpy.ndim`."""
    return a.ndim if hasattr(a, "ndim") else as_array(a).ndim


@looked_at(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    """See `numpy.shape`."""
    return a.shape if hasattr(a, "shape") else as_array(a).shape


@looked_at(np.size)
def size(a: Any, axis: Any = None) -> int:
    """See `numpy.size`."""
    dims = shape(a)
    if axis is None:
        return math.prod(dims)
    return math.prod([dims[i] for i in normalize_axis_tuple(static(axis), len(dims))])


# -- repetition ------------------------------------------------------------------------------------


@by_numpy(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None, *, total_repeat_length: Any = None) -> Array:
    """See `numpy.repeat`. Computes repeats, because they determine the shape.

    total_repeat_length (as in JAX, not in NumPy): a fixed length of the result; missing elements
    repeat the last one. Required if repeats is traced.
    """
    x = as_array(a)
    check_axis(axis, NO_AXIS)
    if axis is None or x.ndim == 0:
        if axis is not None:
            normalize_axis_index(axis, 1)
        x, axis = reshaped(x, (x.size,)), 0
    axis, n = normalize_axis_index(axis, x.ndim), x.shape[axis]
    if total_repeat_length is not None:
        return _repeated_to(x, repeats, axis, operator.index(total_repeat_length))
    sized = _repeated_by_sizes(x, repeats, axis)
    if sized is not None:
        return sized
    with asking("repeats, which decide the shape", "Give repeat a total_repeat_length="):
        counts = static(repeats)
    converts = isinstance(repeats, Scalar) or not isinstance(repeats, (Array, np.ndarray))
    counts = np.asarray(counts, np.intp if converts else None)
    if counts.size == 1 and counts.ndim < 2:
        if counts.dtype.kind not in "biu":
            np.repeat(0, counts)  # NumPy's TypeError
        times = int(counts.ravel()[0])
        if times < 0:
            raise ValueError("negative dimensions are not allowed")
        return _each_repeated(x, times, axis)
    return taken(x, np.repeat(np.arange(n), counts), axis)


def _each_repeated(x: Array, times: Any, axis: int) -> Array:
    dims = (*range(axis + 1), *range(axis + 2, x.ndim + 1))
    wide = (*x.shape[: axis + 1], times, *x.shape[axis + 1 :])
    spread = shaping.broadcast_in_dim(x, shape=wide, dims=dims)
    return reshaped(spread, (*x.shape[:axis], x.shape[axis] * times, *x.shape[axis + 1 :]))


def _repeated_by_sizes(x: Array, repeats: Any, axis: int) -> Array | None:
    """`repeat` by numbers that have no value yet, where these may be sizes; else None."""
    times = length_of(repeats) if is_size(repeats) or isinstance(repeats, Array) else None
    if is_size(times):
        return _each_repeated(x, times, axis)
    if isinstance(repeats, (list, tuple)) and table() is not None:
        repeats = as_array(repeats)
    counts = repeats if isinstance(repeats, Array) and repeats.ndim else None
    if counts is None or counts.dtype.kind not in "biu" or knowable(counts._read()):
        return None
    if counts.ndim == 1 and type(counts.aval.size) is int and counts.aval.size == 1:  # for all
        times = length_of(reshaped(cast(counts, np.int64), ()))
        return None if times is None else _each_repeated(x, times, axis)
    total = length_of(reduction.reduce_sum(plain(cast(counts, np.int64)), axes=(0,)))
    return None if total is None else _repeated_to(x, repeats, axis, total)


def _repeated_to(x: Array, repeats: Any, axis: int, total: Any) -> Array:
    n, counts = x.shape[axis], as_array(repeats)
    if (
        counts.ndim == 1
        and not may_be_equal(counts.aval.size, 1)
        and not may_be_equal(counts.aval.size, n)
    ):
        raise ValueError(
            f"operands could not be broadcast together with shape ({n},) ({counts.size},)"
        )
    counts = broadcast(counts, (n,))
    refuse(
        apply(elementwise.less, counts, 0), ValueError, "repeats may not contain negative values."
    )
    ends = reduction.cumsum(cast(counts, np.int64), axis=0)
    numbers = shaping.iota(shape=(total,), axis=0, dtype=np.dtype(np.int64))
    source = sorting.searchsorted(ends, numbers, side="right")
    source = apply(elementwise.minimum, source, n - 1)
    return taken(x, source, axis)


@by_numpy(np.tile)
def tile(A: Any, reps: Any) -> Array:
    """See `numpy.tile`."""
    x = as_array(A)
    reps = static(reps) if table() is None else reps
    try:
        times = tuple([as_size(r) for r in reps])
    except TypeError:
        times = (as_size(reps),)
    if any(type(t) is int and t < 0 for t in times):
        raise ValueError("negative dimensions are not allowed")
    rank = max(len(times), x.ndim)
    dims = (1,) * (rank - x.ndim) + x.shape
    times = (1,) * (rank - len(times)) + times
    if all(t == 1 for t in times):
        return reshaped(x, dims)
    if known_empty(x.size):  # however often
        return reshaped(x, tuple(t * n for t, n in zip(times, dims, strict=True)))
    wide = tuple(n for pair in zip(times, dims, strict=True) for n in pair)
    places = tuple(range(2 * (rank - x.ndim) + 1, 2 * rank, 2))
    spread = shaping.broadcast_in_dim(x, shape=wide, dims=places)
    return reshaped(spread, tuple(t * n for t, n in zip(times, dims, strict=True)))


@by_numpy(np.resize)
def resize(a: Any, new_shape: Any) -> Array:
    """See `numpy.resize`: repeats the array as often as needed to fill the shape."""
    try:
        target: tuple[int, ...] = (as_size(new_shape),)
    except TypeError:
        target = tuple([as_size(n) for n in new_shape])
    if any(type(n) is int and n < 0 for n in target):
        raise ValueError("all elements of `new_shape` must be non-negative")
    x, count = as_array(a), math.prod(target)
    if (sized(target) or is_size(x.aval.size)) and not known_empty(x.aval.size):
        return _repeated(reshaped(x, (x.aval.size,)), count, target)
    if x.size == 0 or count == 0:
        return zeros(target, x.dtype)
    if not x.dtype.isnative:
        x = cast(x, native(x.dtype))
    flat = reshaped(x, (x.size,))
    if count > x.size:
        flat = tile(flat, -(-count // x.size))
    return reshaped(own(part(flat, 0, 0, count)), target)


def _repeated(flat: Array, count: Any, shape: Any) -> Array:
    """As many elements of an array that may be empty, which has zeros then, again and again."""
    n = flat.aval.size
    places = shaping.iota(shape=(count,), axis=0, dtype=np.dtype(np.int64))
    places = elementwise.remainder(places, as_operand(largest(n, 1)))
    if is_size(n):
        flat = shaping.pad(plain(flat), 0, low=(0,), high=(1,), interior=(0,))
    return reshaped(taken(flat, places, 0), shape)


# -- roll ------------------------------------------------------------------------------------------


@by_numpy(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    """See `numpy.roll`. A pending shift stays pending."""
    x = as_array(a)
    shift = of_size(shift) if type(shift) is Size else shift
    if axis is None:
        return reshaped(roll(reshaped(x, (x.size,)), shift, 0), x.shape)
    axes = normalize_axis_tuple(static(axis), x.ndim, allow_duplicate=True)
    out = own(x)
    if traced(shift):
        shift = as_array(shift)
        shifts = np.broadcast_shapes(shift.shape, (len(axes),))
        if len(shifts) > 1:
            raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
        amounts = broadcast(shift, shifts)
        for k in range(amounts.size):
            out = _rolled_by_lazy(out, amounts[k], axes[k if len(axes) > 1 else 0])
        return in_order(out, copied_order(x))
    if _is_pending(shift) and len(axes) == 1:
        return in_order(_rolled_by_lazy(out, shift, axes[0]), copied_order(x))
    pairs = np.broadcast(static(shift), axes)
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    shifts = dict.fromkeys(range(x.ndim), 0)
    for amount, place in pairs:
        shifts[int(place)] += int(amount)
    for place, amount in shifts.items():
        n = x.shape[place]
        first = 0 if known_empty(n) else amount % n
        if type(first) is Size:
            out = _rolled_by_lazy(out, as_array(amount), place)
        elif first:
            out = joined([part(out, place, n - first, n), part(out, place, 0, n - first)], place)
    return in_order(out, copied_order(x))


def _is_pending(shift: Any) -> bool:
    return (
        isinstance(shift, Array)
        and shift.ndim == 0
        and shift.dtype.kind in "iu"
        and shift._read()[VALUE] is None
    )


def _rolled_by_lazy(x: Array, shift: Array, axis: int) -> Array:
    """Take a window of two concatenated copies, so that one program serves every shift."""
    n = x.shape[axis]
    if known_empty(n):
        return x
    wide = cast(shift, np.int64)
    start = apply(elementwise.remainder, apply(elementwise.negative, wide), n)
    twice = shaping.concatenate(x, x, axis=axis)
    return shaping.slice(twice, start, axes=(axis,), sizes=(n,), strides=(1,), shape=x.shape)


# -- dtype and storing -----------------------------------------------------------------------------


@placing
@by_numpy(np.astype, itself=2)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """See `numpy.astype`."""
    if not isinstance(x, Array_or_scalar) and not is_unsized(x):
        raise TypeError(f"Input should be a NumPy array or scalar. It is a {type(x)} instead.")
    check_device(device)
    scalar = isinstance(x, (Scalar, np.generic))
    x, dtype = as_array(x), dtype_argument(dtype)
    if x.dtype == dtype and not copy:
        return x
    out = fortran(own(converted(x, dtype)), is_fortran(x))
    return scalar_if_0d(out) if scalar else out


@by_writing(np.copyto, 4)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """See `numpy.copyto`."""
    if where is not True and write_into(
        dst, (src, where), lambda s, w, memory: np.copyto(memory, s, casting, w), casts=True
    ):
        return
    if isinstance(dst, np.ndarray):
        np.copyto(dst, static(src), casting, static(where))
        return
    if not isinstance(dst, Array) or isinstance(dst, Scalar):
        raise TypeError(f"copyto() argument 1 must be a numpy.ndarray, not {type(dst).__name__}")
    if not may_write(dst):
        if are_same(dst, src):
            return
        raise ValueError("assignment destination is read-only")
    if type(src) in SCALAR_DTYPES or isinstance(src, np.generic):  # NumPy converts it
        lazy, filled = isinstance(src, Scalar), np.empty((), dst.dtype)
        np.copyto(filled, src.dtype.type() if lazy else src, casting)
        src = as_array(src) if lazy else filled
    else:
        src = src if isinstance(src, Array) else as_array(src)  # the cast is that of an array
        _check_copyto(src, dst, casting)
    if where is True:
        setitem(dst, ..., src)
        return
    check(where)  # whose truth is not asked for
    mask = mask_argument(where)
    try:
        mask = broadcast(own(mask), dst.shape)
    except ValueError as error:
        raise ValueError(str(error).replace("input array", "where mask")) from None
    value = assigned(src, dst.dtype, dst.shape)
    value = cast(new_array(value), dst.dtype) if type(value) is list else value
    with write_lock:
        chosen = apply(elementwise.select, mask, value, own(dst))
        dst._write(cast(chosen, dst.dtype)._read())


def _check_copyto(src: Any, dst: Array, casting: Any) -> None:
    """Apply NumPy's rule, and raise its exception."""
    source = as_array(src).dtype
    if not np.can_cast(source, dst.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {source!r} to {dst.dtype!r} according to the rule "
            f"{casting!r}"
        )
