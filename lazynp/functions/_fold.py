"""Reductions over slices, and reductions by ufuncs without a reduction primitive.

NumPy runs the long ones. Of traced arrays they are recorded, in fewer steps where the ufunc is
associative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._config import config
from lazynp._dimensions import require
from lazynp._extents import known_empty, slice_extent
from lazynp._flush import host_value
from lazynp._recorder import local
from lazynp._sizes import is_size, sized
from lazynp.functions._checks import traced
from lazynp.functions._fold_sized import check_fold, fold_along_size, fold_of_size, item
from lazynp.functions._host import host_into, needs_host
from lazynp.functions._operands import as_array, cast, scalar_if_0d, store
from lazynp.functions._reduce import (
    NO_VALUE,
    Reduction,
    accumulated_axis,
    check_out,
    kept_shape,
    loop_dtype,
    reduced_axes,
    reduced_shape,
    single_axis,
    single_out,
)
from lazynp.functions._reduceat_later import reduceat_later
from lazynp.primitives import elementwise, indexing, shaping

_UNROLLED = 32  # up to this many steps are recorded one by one; beyond, NumPy runs them
_ASSOCIATIVE = {"hypot", "gcd", "lcm"}
_WASTE = 4  # the table of all slices may have this many times the size of the data


def part(x: Array, axis: int, start: int, stop: int, step: int = 1) -> Array:
    """x[start:stop:step] on an axis, as a new array; bounds as in Python's slices."""
    start, size, step = slice_extent(slice(start, stop, step), x.shape[axis])
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    start = 0 if known_empty(size) else start
    return shaping.slice(x, start, axes=(axis,), sizes=(size,), strides=(step,), shape=shape)


# -- ufuncs without a primitive --------------------------------------------------------------------


def fold(
    ufunc: np.ufunc,
    function: Callable[..., Any],
    array: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Any:
    """`ufunc.reduce` element by element: recorded for few elements, else run by NumPy.

    Many that are traced are halved again and again.
    """
    x, out = as_array(array), single_out(out)
    of_size, halved = sized(x.shape) and not needs_host(x), False
    axes = _axes(x, axis)
    if of_size:
        check_fold(ufunc, x, axes, dtype, initial, where)
    else:
        options = {} if initial is NO_VALUE else {"initial": initial}
        if where is not True and where is not NO_VALUE:
            options["where"] = where
        one = len(axes) == 1 and 0 < x.shape[axes[0]] <= _UNROLLED
        one = one and not (x.shape[axes[0]] == 1 and ufunc in _CHANGES_ONE)
        halved = bool(axes) and not one and _may_be_halved(ufunc, x, axes)
        if options or not (one or halved):
            return host_into(
                ufunc.reduce, x, axis=axis, dtype=dtype, out=out, keepdims=bool(keepdims), **options
            )
    loop = ufunc, x.dtype, dtype, None if out is None else out.dtype
    first, x = cast(x, loop_dtype(*loop, 0)), cast(x, loop_dtype(*loop))
    shape = kept_shape(x.shape, axes) if keepdims else reduced_shape(x.shape, axes)
    if out is not None:
        check_out(ufunc.__name__, out, shape, bool(keepdims))
    if of_size:
        result = fold_of_size(ufunc, function, x, axes, initial, where)
    elif halved:
        result = x
        for a in axes:
            result = _halved(function, result, a)
    else:
        result = item(first, axes[0], 0)
        for i in range(1, x.shape[axes[0]]):
            result = as_array(function(result, item(x, axes[0], i)))
    result = shaping.reshape(result, shape=shape)
    return scalar_if_0d(result) if out is None else store(result, out, "unsafe")


# of a single element, whose identity NumPy does not leave out: hypot.reduce([-3.0]) is 3.0
_CHANGES_ONE = (np.hypot, np.gcd, np.lcm)


def _axes(x: Array, axis: Any) -> tuple[int, ...]:
    return () if needs_host(x) else reduced_axes(axis, x.ndim)


def _may_be_halved(ufunc: np.ufunc, x: Array, axes: tuple[int, ...]) -> bool:
    """Whether the value is not there for NumPy, and operands may be grouped in any way."""
    sizes = [x.shape[a] for a in axes]
    known = all(type(n) is int and n > 0 for n in sizes)
    return known and ufunc.__name__ in _ASSOCIATIVE and traced(x)


def _halved(function: Callable[..., Any], x: Array, axis: int) -> Array:
    """Combine the halves of an axis until its size is 1."""
    while (n := x.shape[axis]) > 1:
        half = n // 2
        first, second = part(x, axis, 0, half), part(x, axis, half, 2 * half)
        combined = as_array(function(first, second))
        rest = part(x, axis, 2 * half, n)
        x = shaping.concatenate(combined, rest, axis=axis) if n % 2 else combined
    return x


def _doubled(function: Callable[..., Any], x: Array, axis: int) -> Array:
    """All partial results along an axis: those of 2, 4, 8, ... elements, until each has all."""
    n, step = x.shape[axis], 1
    while step < n:
        combined = as_array(function(part(x, axis, 0, n - step), part(x, axis, step, n)))
        x = shaping.concatenate(part(x, axis, 0, step), combined, axis=axis)
        step *= 2
    return x


def fold_along(
    ufunc: np.ufunc, function: Callable[..., Any], array: Any, axis: Any, dtype: Any, out: Any
) -> Any:
    """`ufunc.accumulate` element by element."""
    x, out = as_array(array), single_out(out)
    if x.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    axis = accumulated_axis(axis, x, out)
    if is_size(x.shape[axis]) and not needs_host(x):
        x = cast(x, loop_dtype(ufunc, x.dtype, dtype, None if out is None else out.dtype))
        return store(fold_along_size(function, x, axis), out, "unsafe")
    one = not needs_host(x) and 0 < x.shape[axis] <= _UNROLLED and ufunc is not np.ldexp
    doubled = not one and not needs_host(x) and _may_be_halved(ufunc, x, (axis,))
    if not (one or doubled):
        return host_into(ufunc.accumulate, x, axis=axis, dtype=dtype, out=out)
    x = cast(x, loop_dtype(ufunc, x.dtype, dtype, None if out is None else out.dtype))
    if doubled:
        return store(_doubled(function, x, axis), out, "unsafe")
    steps = [item(x, axis, 0)]
    for i in range(1, x.shape[axis]):
        steps.append(as_array(function(steps[-1], item(x, axis, i))))
    shape = kept_shape(x.shape, (axis,))
    result = shaping.concatenate(*[shaping.reshape(s, shape=shape) for s in steps], axis=axis)
    return store(result, out, "unsafe")


# -- reduceat


def reduceat(row: Reduction, array: Any, indices: Any, axis: int, dtype: Any, out: Any) -> Any:
    """`ufunc.reduceat`. Reads the indices, because they may be an error.

    NumPy runs it for many slices, and in eager mode for few, unless the data are traced, or the
    policy is `compiled` and a table of the slices is small.
    """
    x, out = as_array(array), single_out(out)
    if isinstance(indices, Array) and _is_later(x, indices):
        axis = single_axis(axis, x.ndim, "reduceat")
        x = cast(x, loop_dtype(row.ufunc, x.dtype, dtype, None if out is None else out.dtype))
        return store(reduceat_later(row, x, indices, axis), out, "unsafe")
    indices = host_value(indices._read()) if isinstance(indices, Array) else indices
    starts = np.asarray(indices)
    few = starts.size <= _UNROLLED
    if needs_host(x) or not x.ndim or starts.ndim != 1 or not np.can_cast(starts.dtype, np.int64):
        return host_into(row.ufunc.reduceat, x, indices, axis=axis, dtype=dtype, out=out)
    axis = single_axis(axis, x.ndim, "reduceat")
    n = x.shape[axis]
    _check_starts(row, starts, n)

    def by_numpy() -> Any:
        return host_into(row.ufunc.reduceat, x, starts, axis=axis, dtype=dtype, out=out)

    if not traced(x):
        compiled = config.execution == "compiled"
        # for many uneven slices, NumPy is ten times as fast
        if starts.size == 0 or not (few or compiled and _even(starts, n)):
            return by_numpy()
        done = local.recorder.backend.attempt(by_numpy) if few and not compiled else None
        if done is not None:
            return done
    x = cast(x, loop_dtype(row.ufunc, x.dtype, dtype, None if out is None else out.dtype))
    by_windows = not few and not is_size(n) and _even(starts, n)
    result = (_by_windows if by_windows else _by_slices)(row, x, starts, axis)
    return store(result, out, "unsafe")


def _is_later(x: Array, indices: Array) -> bool:
    places = indices.ndim == 1 and indices.dtype.kind in "iub"
    return places and x.ndim > 0 and not needs_host(x) and traced(indices)


def _check_starts(row: Reduction, starts: Any, n: Any) -> None:
    """Raise NumPy's error of the first slice that starts outside, now or from the call."""

    def error(n: Any) -> IndexError:
        beyond = starts[(starts < 0) | (starts >= n)]
        return IndexError(f"index {beyond[0]} out-of-bounds in {row.name}.reduceat [0, {n})")

    if starts.size and is_size(n):
        require(-n - 1 if starts.min() < 0 else n - 1 - int(starts.max()), error, n)
    elif starts.size and (starts.min() < 0 or starts.max() >= n):
        raise error(n)


def _even(starts: Any, size: int) -> bool:
    """Whether the slices are consecutive, with lengths similar enough for a table."""
    lengths = np.diff(starts, append=size)
    return bool(np.all(lengths > 0) and len(starts) * lengths.max() <= _WASTE * size)


def _by_slices(row: Reduction, x: Array, starts: Any, axis: int) -> Array:
    if starts.size == 0:
        return part(x, axis, 0, 0)
    stops = [*map(int, starts[1:]), x.shape[axis]]
    shape = kept_shape(x.shape, (axis,))
    results = []
    for start, stop in zip(map(int, starts), stops, strict=True):
        if start < 0:  # which the call refuses
            start = 0
        if is_size(stop) or start < stop:
            one = row.over(part(x, axis, start, stop), axes=(axis,))
        else:
            one = item(x, axis, start)
        results.append(shaping.reshape(one, shape=shape))
    return shaping.concatenate(*results, axis=axis)


def _by_windows(row: Reduction, x: Array, starts: Any, axis: int) -> Array:
    """For increasing indices: each slice becomes a row of a table as wide as the longest slice."""
    lengths = np.diff(starts, append=x.shape[axis])
    steps = np.arange(int(lengths.max()))
    inside = steps < lengths[:, None]
    # beyond its end, a slice repeats its first element, which leaves any extremum unchanged
    places = as_array(starts[:, None] + np.where(inside, steps, 0))
    table = indexing.take(x, places, axes=(axis,))
    if row.identity is not None and not inside.all():
        mask = shaping.broadcast_in_dim(as_array(inside), shape=table.shape, dims=(0, 1))
        neutral = shaping.full(row.identity(x.dtype), shape=table.shape, dtype=x.dtype)
        table = elementwise.select(mask, table, neutral)
    reduced = row.over(table, axes=(1,))
    order = (*range(1, axis + 1), 0, *range(axis + 1, x.ndim))
    return shaping.transpose(reduced, permutation=order)
