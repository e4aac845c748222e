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
from lazynp._sizes import is_size
from lazynp.primitives import elementwise, shaping
from lazynp.primitives._index_arrays import put, take
from lazynp.primitives._layout import linear

_INT64 = np.dtype("i8")
_FEW = 32  # up to this many slices are concatenated; wider windows use a gather


def _windows_abstract(x: Aval, *, axis: int, length: int) -> Aval:
    shape = x.shape
    if known_negative(length) or known_negative(shape[axis] - length + surely(length == 0)):
        raise ValueError("window shape cannot be larger than input array shape")
    return aval_of((*shape[:axis], shape[axis] - length + 1, *shape[axis + 1 :], length), x.dtype)


def _windows_reference(x: Any, *, axis: int, length: int) -> Any:
    return np.lib.stride_tricks.sliding_window_view(np.asarray(x), length, axis)


def _windows_lower(b: Any, x: Any, *, axis: int, length: int) -> Any:
    out = _windows_abstract(x.aval, axis=axis, length=length)
    count = out.shape[axis]
    if not out.size:
        return b.constant(0, out.dtype, out.shape)
    if length > _FEW:
        grid = count, length
        places = b.binary("stablehlo.add", b.iota(grid, 0, _INT64), b.iota(grid, 1, _INT64))
        taken = take.lower(b, x, places, axes=(axis,))  # its two axes come first
        rest = range(2, x.aval.ndim + 1)
        return b.transpose(taken, (*rest[:axis], 0, *rest[axis:], 1))
    zeros = (0,) * x.aval.ndim
    parts = []
    for k in range(length):
        low, high = list(zeros), list(x.aval.shape)
        low[axis], high[axis] = k, k + count
        parts.append(b.reshape(b.slice(x, low, high), (*out.shape[:-1], 1)))
    return b.concatenate(parts, x.aval.ndim)


def _windows_transpose(ct: Any, x: Undefined, *, axis: int, length: int) -> list[Any]:
    """Add up, for each element, the cotangents from all windows that contain it."""
    shape = x.aval.shape
    total = shaping.full(0, shape=shape, dtype=x.aval.dtype)
    count, last = ct.shape[axis], len(shape)
    if is_size(length) or length > _FEW:
        rest = [a for a in range(last) if a != axis]
        grid = [shaping.iota(shape=(count, length), axis=k, dtype=_INT64) for k in (0, 1)]
        front = shaping.transpose(ct, permutation=(axis, last, *rest))
        sums = shaping.full(0, shape=(shape[axis], *(shape[a] for a in rest)), dtype=x.aval.dtype)
        sums = put(sums, front, elementwise.add(*grid), axes=(0,), mode="add")
        back = [*range(1, axis + 1), 0, *range(axis + 1, last)]
        return [shaping.transpose(sums, permutation=tuple(back))]
    for k in range(length):
        one = {"axes": (last,), "sizes": (1,), "strides": (1,), "shape": ct.shape[:-1]}
        into = {"axes": (axis,), "sizes": (count,), "strides": (1,), "shape": ct.shape[:-1]}
        zeros = shaping.full(0, shape=shape, dtype=x.aval.dtype)
        shifted = shaping.update_slice(zeros, shaping.slice(ct, k, **one), k, **into)
        total = elementwise.add(total, shifted)
    return [total]


def _windows_batch(size: int, batched: Sequence[bool], x: Any, *, axis: int, length: int) -> Any:
    return windows(x, axis=axis + 1, length=length)


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
