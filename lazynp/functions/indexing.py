"""Indexing functions: read and write by index arrays, diagonals, places and coordinates."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lazynp import _views
from lazynp._array import Array, NDArray, array_of, from_host, new_array, write_lock
from lazynp._dimensions import require, table
from lazynp._extents import broadcast_shapes, known_empty, same_shape
from lazynp._sizes import is_size, sized, smallest
from lazynp._steps import Diagonal
from lazynp._strides import in_order, layout, order_of_strides
from lazynp._values import knowable, seen_value
from lazynp._who_asks import undecided
from lazynp.functions import _assigned
from lazynp.functions._arguments import NO_AXIS, check_axis, converted, dtype_of_no_array
from lazynp.functions._checks import traced
from lazynp.functions._coordinates import ravel_multi_index, unravel_index
from lazynp.functions._eager import by_numpy
from lazynp.functions._getset import getitem, setitem
from lazynp.functions._host import host_call, host_into, needs_host, write_on_host
from lazynp.functions._integers import (
    checked_mode,
    flat,
    in_range,
    index_array,
    normalize_axis_index,
    repeated,
    target,
)
from lazynp.functions._iteration import (
    apply_along_axis,
    apply_over_axes,
    ndenumerate,
    ndindex,
    nditer,
    nested_iters,
)
from lazynp.functions._operands import (
    as_array,
    broadcast,
    cast,
    check_writeable,
    plain,
    scalar_if_0d,
    store,
    tuple_text,
)
from lazynp.functions._places import places
from lazynp.functions._placing import beside
from lazynp.functions._reduce import check_out, to_loop
from lazynp.functions._refused import refused_as
from lazynp.functions._selection import (
    asking_where,
    check_taken,
    choose,
    compress,
    extract,
    nonzero,
    piecewise,
    place,
    putmask,
    select,
    truth,
    where,
)
from lazynp.functions._stores import host_index, write_into
from lazynp.functions._written import by_writing
from lazynp.primitives import indexing, reduction, shaping

__all__ = [
    "apply_along_axis", "apply_over_axes", "argwhere", "choose", "compress", "diagonal", "extract",
    "fill_diagonal", "flatnonzero", "ndenumerate", "ndindex", "nditer", "nested_iters",
    "nonzero", "piecewise", "place", "put", "put_along_axis", "putmask", "ravel_multi_index",
    "select", "take", "take_along_axis", "trace", "unravel_index", "where",
]  # fmt: skip


# -- by index arrays -------------------------------------------------------------------------------


@by_numpy(np.take)
@refused_as(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """See `numpy.take`."""
    x = as_array(a)
    if needs_host(x):
        return host_into(np.take, x, indices, axis, out=out, mode=mode)
    check_axis(axis, NO_AXIS)
    index = index_array(indices)
    if axis is None:
        x, axis = flat(x), 0
    elif not x.ndim:
        x = flat(x)
    axis = normalize_axis_index(axis, x.ndim)
    mode = checked_mode(mode)
    none = IndexError("cannot do a non-empty take from an empty axes.")
    if known_empty(x.shape[axis]) and index.size:
        raise none
    if is_size(x.shape[axis]):
        require(x.shape[axis] - smallest(index.size, 1), lambda _: none, x.shape[axis])
    if mode == "raise" and any([known_empty(n) for n in x.shape[:axis]]):
        mode = "clip"  # NumPy looks at an index where it takes something
    index = in_range(index, x.shape[axis], mode, axis)
    result = indexing.take(plain(x), index, axes=(axis,))
    if axis:
        k = index.ndim
        order = (*range(k, k + axis), *range(k), *range(k + axis, result.ndim))
        result = shaping.transpose(result, permutation=order)
    if out is not None and not isinstance(out, (Array, np.ndarray)):
        raise TypeError("output must be an array")
    if out is not None and out.shape != result.shape:
        raise ValueError("output array does not match result of ndarray.take")
    if out is not None and out.dtype != x.dtype:
        check_taken(x.dtype, out.dtype)
    return _written(result, out)


def _written(result: Array, out: Any) -> Any:
    """Store a result in `out`, converted as by `astype`."""
    result = result if out is None else converted(result, out.dtype)
    return store(scalar_if_0d(result), out, "unsafe")


@by_writing(np.put, 4)
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """See `numpy.put`."""
    x = target(a, "argument 1", "put: output array")
    if needs_host(x):
        with write_on_host(x) as memory:
            given = v if isinstance(v, Array) else np.array(v, x.dtype)
            np.put(memory, np.asarray(index_array(ind, "safe")), np.asarray(given), mode)
        return
    if x._base is not None and x.size > 1 and 0 in layout(x).strides:
        _put_repeated(x, ind, v, mode)
        return
    where = None if type(ind) is tuple else host_index(ind)
    if where is not None and write_into(
        x, (v,), lambda u, memory: np.put(memory, where, u, mode), casts=True
    ):
        return
    v = _refusing(v, x.dtype)
    index, mode = flat(index_array(ind, "safe")), checked_mode(mode)
    if known_empty(index.size):
        return
    none = IndexError("cannot replace elements of an empty array")
    if known_empty(x.size):
        raise none
    require(x.size - smallest(index.size, 1), lambda _: none, x.size)
    if known_empty(as_array(v).size):
        return
    index = in_range(index, x.size, mode)
    values = repeated(v, x.dtype, index.size)
    with write_lock:
        old = flat(x)
        new = indexing.put(old, values, index, axes=(0,), mode="set")
        x._write(shaping.reshape(new, shape=x.shape)._read())


def _put_repeated(x: Array, ind: Any, v: Any, mode: Any) -> None:
    """`put` into an array that shows elements repeatedly: NumPy puts into a copy, and copies that
    back, so the last of those that are one element in memory counts.
    """
    copied = new_array(x._read())
    put(copied, ind, v, mode)
    last = tuple([slice(None) if step else -1 for step in layout(x).strides])
    setitem(x, last, getitem(copied, last))


def _refusing(value: Any, dtype: np.dtype[Any]) -> Any:
    """Python's numbers as NumPy converts them for storage: unlike a cast, it refuses those that the
    dtype cannot hold.
    """
    if isinstance(value, (Array, np.ndarray, np.generic)) or traced(value):
        return value
    made = array_of(value)
    return made if isinstance(made, Array) else np.array(made, dtype)


def _along_axis(shape: tuple[int, ...], indices: Array, axis: int) -> tuple[Array, ...]:
    """One index array for each axis: `indices` for this axis, its own positions for the others."""
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if len(shape) != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    index = in_range(cast(indices, np.int64), shape[axis], "raise", axis)
    shapes = [
        index.shape if k == axis else tuple(n if i == k else 1 for i in range(len(shape)))
        for k, n in enumerate(shape)
    ]
    try:
        common = broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            + "".join(f"{tuple_text(s)} " for s in shapes)
        ) from None
    return tuple(
        broadcast(index, common) if k == axis else _numbers(common, k, shape[k])
        for k in range(len(shape))
    )


def _numbers(shape: tuple[int, ...], axis: int, length: int) -> Array:
    if length == 1:
        return shaping.full(0, shape=shape, dtype=np.dtype(np.int64))
    return shaping.iota(shape=shape, axis=axis, dtype=np.dtype(np.int64))


@by_numpy(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """See `numpy.take_along_axis`."""
    x, index = as_array(arr), as_array(indices)
    if needs_host(x):
        return host_call(np.take_along_axis, x, index, axis)
    if axis is None:
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        x, axis = flat(x), 0
    axis = normalize_axis_index(axis, x.ndim)
    places = _along_axis(x.shape, index, axis)
    return indexing.take(plain(x), *places, axes=tuple(range(x.ndim)))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """See `numpy.put_along_axis`."""
    ordered = axis is not None or isinstance(arr, Array) and layout(arr).flags.c_contiguous
    if (
        type(indices) is NDArray
        and ordered
        and write_into(
            arr,
            (indices, values),
            lambda i, v, memory: np.put_along_axis(memory, i, v, axis),
            casts=True,
        )
    ):
        return
    x, index = target(arr, "argument 1"), as_array(indices)
    if axis is None and not layout(x).flags.c_contiguous:  # NumPy writes to a copy that it protects
        raise ValueError("assignment destination is read-only")
    if needs_host(x):
        with write_on_host(x) as memory:
            np.put_along_axis(memory, np.asarray(index), np.asarray(values), axis)
        return
    if axis is None and index.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    with write_lock:
        old = flat(x) if axis is None else plain(x)
        axis = normalize_axis_index(0 if axis is None else axis, old.ndim)
        places = _along_axis(old.shape, index, axis)
        operand = _assigned.assigned(values, x.dtype, places[0].shape)
        u = new_array(operand) if type(operand) is list else as_array(operand)
        u = broadcast(plain(cast(u, x.dtype)), places[0].shape)
        new = indexing.put(old, u, *places, axes=tuple(range(old.ndim)), mode="set")
        x._write(shaping.reshape(new, shape=x.shape)._read())


# -- where something is true -----------------------------------------------------------------------


@by_numpy(np.argwhere)
def argwhere(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """See `numpy.argwhere`. Computes `a`, unless it gets a size; see `nonzero`."""
    if size is None and as_array(a).ndim and not knowable(as_array(a)._read()):
        found = places(truth(a))
        size = None if found is None else found[0].aval.size
    if size is not None:
        x = as_array(a)
        if not x.ndim:
            found = nonzero(shaping.reshape(x, shape=(1,)), size=size)[0]
            return shaping.full(0, shape=(found.size, 0), dtype=found.dtype)
        columns = nonzero(x, size=size, fill_value=fill_value)
        columns = [shaping.reshape(c, shape=(c.size, 1)) for c in columns]
        return shaping.concatenate(*columns, axis=1)
    with asking_where("argwhere"):
        found = np.argwhere(seen_value(as_array(a)._read()))
        made = beside(new_array(from_host(found, copy=False)), a)
        return in_order(made, order_of_strides(found))


@by_numpy(np.flatnonzero)
def flatnonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """See `numpy.flatnonzero`. Computes `a`, unless it gets a size; see `nonzero`."""
    if size is not None or not knowable(as_array(a)._read()) and table() is not None:
        return nonzero(flat(as_array(a)), size=size, fill_value=fill_value)[0]
    with asking_where("flatnonzero"):
        found = np.flatnonzero(seen_value(as_array(a)._read()))
        return beside(new_array(from_host(found, copy=False)), a)


# -- diagonals -------------------------------------------------------------------------------------


@_views.showing
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """See `numpy.diagonal`. A read-only view."""
    x = as_array(a)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    axis1 = normalize_axis_index(axis1, x.ndim, "axis1")
    axis2 = normalize_axis_index(axis2, x.ndim, "axis2")
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    order = [*(k for k in range(x.ndim) if k not in (axis1, axis2)), axis1, axis2]
    moved = x if order == list(range(x.ndim)) else _views.transpose(x, order)
    return _views.view(moved, Diagonal(operator.index(offset)), readonly=True)


@by_numpy(np.trace, always=True)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """See `numpy.trace`."""
    x = as_array(a)
    if out is not None and not isinstance(out, (Array, np.ndarray)):
        raise TypeError("output must be an array")
    if needs_host(x):
        return host_into(np.trace, x, offset, axis1, axis2, dtype, out=out)
    elements = diagonal(x, offset, axis1, axis2)
    if dtype is None:
        dtype = _sum_dtype(x.dtype) if out is None else np.promote_types(x.dtype, out.dtype)
    elements = to_loop(elements, dtype_of_no_array(dtype))
    result = reduction.reduce_sum(plain(elements), axes=(elements.ndim - 1,))
    if out is not None:
        check_writeable(out)
        check_out("add", out, result.shape, False)
    return store(scalar_if_0d(result), out, "unsafe")


def _sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a sum: small integers sum in the platform's integer."""
    if dtype.kind in "biu" and dtype.itemsize < 8:
        return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    return dtype


@by_writing(np.fill_diagonal, 3)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """See `numpy.fill_diagonal`."""
    if write_into(a, (val,), lambda v, memory: np.fill_diagonal(memory, v, wrap), casts=True):
        return
    x = as_array(a)
    if x.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if sized(x.shape):
        _fill_of_size(target(a, "argument 1"), val, wrap)
        return
    end = x.size
    if x.ndim == 2:
        step = x.shape[1] + 1
        if not wrap:  # a tall matrix has one diagonal, without a second one below
            end = min(end, x.shape[1] * x.shape[1])
    else:
        if len(set(x.shape)) != 1:
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + sum(x.shape[0] ** k for k in range(1, x.ndim))
    x = target(a, "argument 1", "underlying array")
    count = len(range(0, end, step))
    val = val if needs_host(x) else _refusing(val, x.dtype)
    if not count or not as_array(val).size:
        return
    if needs_host(x):
        with write_on_host(x) as memory:
            np.fill_diagonal(memory, np.asarray(val), wrap)
        return
    values = repeated(val, x.dtype, count)
    region = {"axes": (0,), "sizes": (count,), "strides": (step,), "shape": (count,)}
    with write_lock:
        new = shaping.update_slice(flat(x), values, 0, **region)
        x._write(shaping.reshape(new, shape=x.shape)._read())


def _fill_of_size(x: Array, val: Any, wrap: bool) -> None:
    """`fill_diagonal` of an array whose size has no value yet."""
    if x.ndim > 2 and not same_shape(x.shape[1:], x.shape[:-1]):
        raise ValueError("All dimensions of input must be of equal length")
    if wrap and not same_shape(x.shape[1:], x.shape[:-1]):
        raise undecided(x.shape[0])
    count = smallest(x.shape[0], x.shape[1])
    places = shaping.iota(shape=(count,), axis=0, dtype=np.dtype(np.int64))
    setitem(x, (places,) * x.ndim, repeated(_refusing(val, x.dtype), x.dtype, count))
