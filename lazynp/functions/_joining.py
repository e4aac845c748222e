"""concatenate, stack and related functions, block."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import SCALAR_DTYPES
from lazynp._steps import Broadcast
from lazynp._strides import in_order, joined_order, out_of_order
from lazynp.functions._arguments import (
    NO_AXIS,
    check_axis,
    converted,
    joined,
    reshaped,
    sliced,
)
from lazynp.functions._construct import asarray
from lazynp.functions._eager import by_numpy
from lazynp.functions._operands import as_array, cast, check_writeable, store
from lazynp.functions._refused import refused_as
from lazynp.primitives import shaping

_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
normalize_axis_index = np.lib.array_utils.normalize_axis_index


def _joined(x: Any) -> Array:
    """An operand as an Array. `as_array` refuses a masked array, which would lose its mask."""
    return asarray(x) if isinstance(x, (list, tuple)) else as_array(x)


@by_numpy(np.concatenate)
@refused_as(np.concatenate)
def concatenate(
    arrays: Any,
    /,
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Array:
    """See `numpy.concatenate`."""
    if dtype is not None and out is not None:
        raise TypeError(
            "concatenate() only takes `out` or `dtype` as an argument, but both were provided."
        )
    if out is not None:
        check_writeable(out, "'out' must be an array")
    if isinstance(arrays, Array) and arrays.ndim > 1 and arrays.shape[0]:
        return _delivered(_merged(arrays, axis, dtype, casting, out), out)
    items = _sequence(arrays, "The first input argument needs to be a sequence")
    if not items:
        raise ValueError("need at least one array to concatenate")
    xs = [_joined(x) for x in items]
    weak = [x if type(x) in SCALAR_DTYPES else a.dtype for x, a in zip(items, xs, strict=True)]
    if axis is None:
        xs, axis = [reshaped(x, (x.size,)) for x in xs], 0
    elif xs[0].ndim == 0:
        check_axis(axis, NO_AXIS)
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    check_axis(axis, NO_AXIS)
    axis = normalize_axis_index(axis, xs[0].ndim)
    target = _target(weak, [x.dtype for x in xs], dtype, casting, out)
    order = joined_order(xs) if out_of_order(*xs) or any(map(_is_spread, xs)) else None
    result = joined([x if x.dtype == target else converted(x, target) for x in xs], axis)
    return _delivered(in_order(result, order), out)


def _is_spread(x: Array) -> bool:
    """Whether it is a view by broadcasting, which has no order along some axes."""
    return x._base is not None and any([type(step) is Broadcast for step in x._path])


def _sequence(arrays: Any, message: str) -> Sequence[Any]:
    if not hasattr(arrays, "__getitem__"):
        raise TypeError(message)
    if isinstance(arrays, Array):
        if not arrays.ndim:
            raise TypeError("iteration over a 0-d array")
        if arrays.dtype == object and arrays.ndim == 1:
            return [arrays[i] for i in range(arrays.shape[0])]  # type: ignore[index]
        return [arrays[i, ...] for i in range(arrays.shape[0])]  # type: ignore[index]
    return list(arrays)


def _target(weak: list[Any], dtypes: list[Any], dtype: Any, casting: Any, out: Any) -> Any:
    """The dtype of the result. Raises if an operand cannot be cast to it."""
    if dtype is None and out is None:
        target = np.result_type(*weak)
        if casting == "same_kind" and target.kind != "M":  # to a date, NumPy casts no duration
            return target
        if casting not in _CASTINGS:
            wanted = ", ".join(map(repr, _CASTINGS))
            raise ValueError(f"casting must be one of {wanted} (got {casting!r})")
    else:
        target = np.dtype(dtype) if out is None else out.dtype
        if out is None and target.kind in "SUVmM":  # NumPy finds the length, or the unit
            empty = [np.empty(0, d) for d in dtypes]
            return np.concatenate(empty, dtype=dtype, casting=casting).dtype
    for d in dtypes:
        if not np.can_cast(d, target, casting):
            raise TypeError(
                f"Cannot cast array data from {d!r} to {target!r} according to the rule {casting!r}"
            )
    return target


def _merged(x: Array, axis: Any, dtype: Any, casting: Any, out: Any) -> Array:
    """Concatenate the arrays along axis 0 of one array, by a transposition and a reshape."""
    x = cast(x, _target([x.dtype], [x.dtype], dtype, casting, out))
    if axis is None:
        return reshaped(x, (x.size,))
    axis = normalize_axis_index(axis, x.ndim - 1)
    if axis:
        order = (*range(1, axis + 1), 0, *range(axis + 1, x.ndim))
        x = shaping.transpose(x, permutation=order)
    shape = x.shape
    return reshaped(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def _delivered(result: Array, out: Any) -> Array:
    if out is None:
        return result
    check_writeable(out, "return arrays must be of ArrayType")
    if out.shape != result.shape:
        raise ValueError("Output array is the wrong shape")
    return store(result, out, "unsafe")


concat = concatenate

_TO_STACK = 'arrays to stack must be passed as a "sequence" type such as list or tuple.'


@by_numpy(np.stack)
@refused_as(np.stack)
def stack(
    arrays: Any,
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Array:
    """See `numpy.stack`."""
    xs = [_joined(x) for x in _sequence(arrays, _TO_STACK)]
    if not xs:
        raise ValueError("need at least one array to stack")
    shape = xs[0].shape
    if any(x.shape != shape for x in xs):
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis_index(axis, len(shape) + 1)
    grown = (*shape[:axis], 1, *shape[axis:])
    if out_of_order(*xs) or len(shape) == 64:  # which is an error of the index in NumPy
        xs = [sliced(x, *[slice(None)] * axis, None) for x in xs]
    else:
        xs = [reshaped(x, grown) for x in xs]
    return concatenate(xs, axis, out, dtype=dtype, casting=casting)


def with_ndim(x: Any, ndim: int) -> Array:
    """The result of `atleast_1d`, `_2d` or `_3d`, as a value."""
    x = as_array(x)
    return reshaped(x, shape_atleast(x.shape, ndim)) if x.ndim < ndim else x


def shape_atleast(shape: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    if ndim == 3 and len(shape) in (1, 2):
        return (1, *shape, 1) if len(shape) == 1 else (*shape, 1)
    return (1,) * (ndim - len(shape)) + shape


@by_numpy(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Array:
    """See `numpy.vstack`."""
    xs = [with_ndim(x, 2) for x in _sequence(tup, _TO_STACK)]
    return concatenate(xs, 0, dtype=dtype, casting=casting)


def row_stack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Array:
    """See `numpy.vstack`; this is its old name."""
    warnings.warn(
        "`row_stack` alias is deprecated. Use `np.vstack` directly.",
        DeprecationWarning,
        stacklevel=3,  # the caller of what asks for overrides
    )
    return vstack(tup, dtype=dtype, casting=casting)


@by_numpy(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Array:
    """See `numpy.hstack`."""
    xs = [with_ndim(x, 1) for x in _sequence(tup, _TO_STACK)]
    axis = 0 if xs and xs[0].ndim == 1 else 1
    return concatenate(xs, axis, dtype=dtype, casting=casting)


@by_numpy(np.dstack)
def dstack(tup: Any) -> Array:
    """See `numpy.dstack`."""
    return concatenate([with_ndim(x, 3) for x in _sequence(tup, _TO_STACK)], 2)


@by_numpy(np.column_stack)
def column_stack(tup: Any) -> Array:
    """See `numpy.column_stack`."""
    xs = [as_array(x) for x in _sequence(tup, _TO_STACK)]
    return concatenate([reshaped(x, (x.size, 1)) if x.ndim < 2 else x for x in xs], 1)


# -- block -----------------------------------------------------------------------------------------


def block(arrays: Any) -> Array:
    """See `numpy.block`."""
    bottom, ndim = _check_depths(arrays, [])
    depth = len(bottom)
    if bottom and bottom[-1] is None:
        raise ValueError(f"List at {_place(bottom)} cannot be empty")
    made = _block(arrays, depth, max(ndim, depth), 0)
    return made if depth else asarray(made, order="C", copy=True)


def _place(index: list[Any]) -> str:
    return "arrays" + "".join(f"[{i}]" for i in index if i is not None)


def _check_depths(arrays: Any, place: list[Any]) -> tuple[list[Any], int]:
    """The index of the first block (None for an empty list), and the largest number of
    dimensions.
    """
    if isinstance(arrays, tuple):
        raise TypeError(
            f"{_place(place)} is a tuple. Only lists can be used to arrange blocks, and np.block "
            "does not allow implicit conversion from tuple to ndarray."
        )
    if not isinstance(arrays, list):
        return place, as_array(arrays).ndim
    if not arrays:
        return [*place, None], 0
    found: Iterator[Any] = (_check_depths(a, [*place, i]) for i, a in enumerate(arrays))
    first, most = next(found)
    for index, ndim in found:
        most = max(most, ndim)
        if len(index) != len(first):
            raise ValueError(
                f"List depths are mismatched. First element was at depth {len(first)}, but there "
                f"is an element at depth {len(index)} ({_place(index)})"
            )
        if index[-1] is None:
            first = index
    return first, most


def _block(arrays: Any, depth: int, ndim: int, level: int) -> Array:
    if level == depth:
        x = as_array(arrays)
        return x if x.ndim == ndim else reshaped(x, (1,) * (ndim - x.ndim) + x.shape)
    parts = [_block(a, depth, ndim, level + 1) for a in arrays]
    return concatenate(parts, axis=level - depth)
