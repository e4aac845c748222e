"""windows: all windows of one length on an axis, as a new last axis.

For NumPy this is a view; a compiled program concatenates shifted slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._extents import known_negative, surely
from lazynp._primitive import Undefined
from lazynp._sizes import sized
from lazynp.primitives import elementwise, reduction, shaping
from lazynp.primitives._index_arrays import put, take
from lazynp.primitives._layout import linear

_INT64 = np.dtype("i8")
_FEW = 32  # up to this many slices are concatenated; wider windows use a gather


def _windows_abstract(x: Aval, *, axis: int, length: int, step: int = 1) -> Aval:
    shape = x.shape
    if known_negative(length) or known_negative(shape[axis] - length + surely(length == 0)):
        raise ValueError("window shape cannot be larger than input array shape")
    count = shape[axis] - length + 1
    if step != 1:
        count = -(-count // step)
    return aval_of((*shape[:axis], count, *shape[axis + 1 :], length), x.dtype)


def _windows_reference(x: Any, *, axis: int, length: int, step: int = 1) -> Any:
    every = np.lib.stride_tricks.sliding_window_view(np.asarray(x), length, axis)
    return every if step == 1 else every[(slice(None),) * axis + (slice(None, None, step),)]


def _windows_lower(b: Any, x: Any, *, axis: int, length: int, step: int = 1) -> Any:
    out = _windows_abstract(x.aval, axis=axis, length=length, step=step)
    count = out.shape[axis]
    if not out.size:
        return b.constant(0, out.dtype, out.shape)
    if length > _FEW:
        grid = count, length
        first = b.iota(grid, 0, _INT64)
        if step != 1:
            first = b.binary("stablehlo.multiply", first, b.constant(step, _INT64, grid))
        places = b.binary("stablehlo.add", first, b.iota(grid, 1, _INT64))
        taken = take.lower(b, x, places, axes=(axis,))  # its two axes come first
        rest = range(2, x.aval.ndim + 1)
        return b.transpose(taken, (*rest[:axis], 0, *rest[axis:], 1))
    low, high, steps = [0] * x.aval.ndim, list(x.aval.shape), [1] * x.aval.ndim
    steps[axis] = step
    parts = []
    for k in range(length):
        low[axis], high[axis] = k, k + (count - 1) * step + 1
        parts.append(b.reshape(b.slice(x, low, high, steps), (*out.shape[:-1], 1)))
    return b.concatenate(parts, x.aval.ndim)


def _windows_transpose(ct: Any, x: Undefined, *, axis: int, length: int, step: int = 1) -> Any:
    """Add up, for each element, the cotangents from all windows that contain it."""
    if sized((*x.aval.shape, length)):
        return [_sums_by_place(ct, x.aval, axis, length, step)]
    if length > _FEW:
        return [_sums_of_rows(ct, x.aval, axis, length, step)]
    shape = x.aval.shape
    total = shaping.full(0, shape=shape, dtype=x.aval.dtype)
    for k in range(length):
        one = {"axes": (len(shape),), "sizes": (1,), "strides": (1,), "shape": ct.shape[:-1]}
        into = {"axes": (axis,), "sizes": (ct.shape[axis],), "strides": (step,)}
        zeros = shaping.full(0, shape=shape, dtype=x.aval.dtype)
        shifted = shaping.update_slice(
            zeros, shaping.slice(ct, k, **one), k, **into, shape=ct.shape[:-1]
        )
        total = elementwise.add(total, shifted)
    return [total]


def _sums_by_place(ct: Any, aval: Aval, axis: int, length: int, step: int) -> Any:
    shape, last = aval.shape, aval.ndim
    rest = [a for a in range(last) if a != axis]
    grid = [shaping.iota(shape=(ct.shape[axis], length), axis=k, dtype=_INT64) for k in (0, 1)]
    front = shaping.transpose(ct, permutation=(axis, last, *rest))
    sums = shaping.full(0, shape=(shape[axis], *(shape[a] for a in rest)), dtype=aval.dtype)
    places = elementwise.add(elementwise.multiply(grid[0], step), grid[1])
    sums = put(sums, front, places, axes=(0,), mode="add")
    return shaping.transpose(sums, permutation=(*range(1, axis + 1), 0, *range(axis + 1, last)))


def _sums_of_rows(ct: Any, aval: Aval, axis: int, length: int, step: int) -> Any:
    """Each window is cut into pieces of `step` elements. The pieces with one number in their
    windows are a row that is the array itself, shifted by that number of pieces. Rows are shifted
    by reading them, one behind the other and each with zeros after it, in rows a little shorter.
    """
    shape, last, count = aval.shape, aval.ndim, ct.shape[axis]
    if not count or not length:
        return shaping.full(0, shape=shape, dtype=aval.dtype)
    rest = [a for a in range(last) if a != axis]
    outer = tuple([shape[a] for a in rest])
    rows = -(-length // step)
    x = shaping.transpose(ct, permutation=(*rest, axis, last))
    x = _padded(x, rows * step - length)
    x = shaping.reshape(x, shape=(*outer, count, rows, step))
    n = last - 1
    x = shaping.transpose(x, permutation=(*range(n), n + 1, n, n + 2))
    x = shaping.reshape(x, shape=(*outer, rows, count * step))
    width = (count + rows - 1) * step
    x = _padded(x, rows * step)
    x = shaping.reshape(x, shape=(*outer, rows * (width + step)))
    x = _padded(x, -rows * step)
    x = reduction.reduce_sum(shaping.reshape(x, shape=(*outer, rows, width)), axes=(n,))
    x = _padded(x, shape[axis] - width)  # the last elements may be in no window
    return shaping.transpose(x, permutation=(*range(axis), n, *range(axis, n)))


def _padded(x: Any, more: int) -> Any:
    """With so many zeros behind the last axis; less than none: without its last elements."""
    none = (0,) * x.ndim
    return shaping.pad(x, 0, low=none, high=(*none[1:], more), interior=none) if more else x


def _windows_batch(
    size: int, batched: Sequence[bool], x: Any, *, axis: int, length: int, step: int = 1
) -> Any:
    return windows(x, axis=axis + 1, length=length, step=step)


windows = linear(
    "windows",
    abstract=_windows_abstract,
    reference=_windows_reference,
    lower=_windows_lower,
    transpose=_windows_transpose,
    batch=_windows_batch,
    free=True,
    kind="view",
)
