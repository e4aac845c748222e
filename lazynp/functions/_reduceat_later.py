"""`ufunc.reduceat` at indices that have no value yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._array import Array
from lazynp._dimensions import as_operand
from lazynp.functions._checks import refuse
from lazynp.functions._operands import broadcast, plain
from lazynp.functions._reduce import Reduction
from lazynp.primitives import elementwise as e, indexing, reduction, shaping

_INT64 = np.dtype(np.int64)
_SCATTERS = {"add", "multiply", "minimum", "maximum"}


def reduceat_later(row: Reduction, x: Array, starts: Array, axis: int) -> Array:
    """x has the dtype of the loop. Slices that follow each other are reduced in one pass; others
    take a table with a row for each.
    """
    n, m = x.shape[axis], starts.shape[0]
    starts = plain(e.convert(starts, dtype=_INT64))
    outside = e.logical_or(e.less(starts, 0), e.greater_equal(starts, as_operand(n)))
    text = f"index {{}} out-of-bounds in {row.name}.reduceat [0, {{size}})"
    refuse(outside, IndexError, text, starts, n)
    order = (axis, *[a for a in range(x.ndim) if a != axis])
    rows = shaping.transpose(x, permutation=order)
    end = broadcast(plain(e.convert(as_operand(n), dtype=_INT64)), (1,))
    longer = shaping.concatenate(starts, end, axis=0)
    stops = shaping.slice(longer, 1, axes=(0,), sizes=(m,), strides=(1,), shape=(m,))
    if row.name not in _SCATTERS:
        found = _by_table(row, rows, starts, stops)
    else:
        behind = e.less(starts, stops)
        found = plain(
            transforms.cond(
                reduction.reduce_and(behind, axes=(0,)),
                lambda *a: _in_one_pass(row, *a[:2]),
                lambda *a: _by_table(row, *a),
                rows,
                starts,
                stops,
            )  # fmt: skip
        )
    back = tuple([order.index(a) for a in range(x.ndim)])
    return shaping.transpose(found, permutation=back)


def _in_one_pass(row: Reduction, rows: Array, starts: Array) -> Array:
    """Of increasing starts: each row is combined into the result of its slice."""
    n, m = rows.shape[0], starts.shape[0]
    ones = shaping.full(1, shape=(m,), dtype=_INT64)
    none = shaping.full(0, shape=(n,), dtype=_INT64)
    # rows before the first slice go to a place in front
    to = reduction.cumsum(indexing.put(none, ones, starts, axes=(0,), mode="add"), axis=0)
    if row.identity is None:
        first = indexing.take(rows, starts, axes=(0,))
    else:
        shape = (m, *rows.shape[1:])
        first = shaping.full(row.identity(rows.dtype), shape=shape, dtype=rows.dtype)
    low = (1, *[0] * (rows.ndim - 1))
    first = shaping.pad(first, 0, low=low, high=(0,) * rows.ndim, interior=(0,) * rows.ndim)
    found = indexing.put(first, rows, to, axes=(0,), mode=row.name)
    one: dict[str, Any] = {"axes": (0,), "sizes": (m,), "strides": (1,)}
    return shaping.slice(found, 1, **one, shape=(m, *rows.shape[1:]))


def _by_table(row: Reduction, rows: Array, starts: Array, stops: Array) -> Array:
    """A slice that does not end behind its start is its first row."""
    n, m = rows.shape[0], starts.shape[0]
    shape = (m, *rows.shape)
    place = shaping.broadcast_in_dim(
        shaping.iota(shape=(n,), axis=0, dtype=_INT64), shape=(m, n), dims=(1,)
    )
    low, high = (shaping.broadcast_in_dim(s, shape=(m, n), dims=(0,)) for s in (starts, stops))
    inside = e.logical_and(e.greater_equal(place, low), e.less(place, high))
    inside = e.logical_or(inside, e.equal(place, low))
    inside = shaping.broadcast_in_dim(plain(inside), shape=shape, dims=(0, 1))
    table = shaping.broadcast_in_dim(rows, shape=shape, dims=tuple(range(1, rows.ndim + 1)))
    if row.identity is None:
        first = indexing.take(rows, starts, axes=(0,))
        dims = (0, *range(2, rows.ndim + 1))
        neutral = shaping.broadcast_in_dim(first, shape=shape, dims=dims)
        table = e.select(inside, table, neutral)
        one = shaping.reshape(first, shape=(m, 1, *rows.shape[1:]))
        return row.over(shaping.concatenate(table, one, axis=1), axes=(1,))  # n may be 0
    neutral = shaping.full(row.identity(rows.dtype), shape=shape, dtype=rows.dtype)
    return row.over(e.select(inside, table, neutral), axes=(1,))
