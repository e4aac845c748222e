"""Weighted quantiles of traced arrays; all others are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lazynp._array import Array
from lazynp.functions import reductions, ufuncs
from lazynp.functions._checks import refuse
from lazynp.functions._fold import item, part
from lazynp.functions._operands import as_array, broadcast, cast
from lazynp.functions._recording import apply
from lazynp.primitives import elementwise, indexing, shaping, sorting

_FLOAT64 = np.dtype(np.float64)


def spread_weights(weights: Any, x: Array, axis: Any, method: str) -> Array:
    """The weights in the shape of x. Raises NumPy's errors."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    w = as_array(weights)
    if w.shape != x.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        axes = normalize_axis_tuple(axis, x.ndim)
        if w.shape != tuple(x.shape[a] for a in axes):
            raise ValueError(
                "Shape of weights must be consistent with shape of a along specified axis."
            )
        w = shaping.transpose(w, permutation=tuple(int(i) for i in np.argsort(axes)))
        w = shaping.reshape(w, shape=tuple(n if i in axes else 1 for i, n in enumerate(x.shape)))
        w = broadcast(w, x.shape)
    refuse(ufuncs.less(w, 0), ValueError, "Weights must be non-negative.")
    return w


def weighted_quantile(rows: Array, weights: Array, q: Array, skip_nan: bool) -> Array:
    """The quantiles (*q, *lanes) of rows (*lanes, n): where the cumulative weight reaches q."""
    u, last, n = ufuncs, rows.ndim - 1, rows.shape[-1]
    lanes = rows.shape[:-1]
    order = sorting.argsort(rows, axis=last)
    places = [shaping.iota(shape=rows.shape, axis=k, dtype=order.dtype) for k in range(last)]
    every = tuple(range(rows.ndim))
    rows, weights = (indexing.take(x, *places, order, axes=every) for x in (rows, weights))
    weights = cast(weights, _FLOAT64)
    floating = rows.dtype.kind == "f"
    if skip_nan and floating:
        weights = apply(elementwise.select, u.isnan(rows), 0.0, weights)
    sums = as_array(u.add.accumulate(weights, axis=last))
    total = part(sums, last, n - 1, n)
    nothing = u.isnan(u.divide(total, total))
    if skip_nan and floating:  # a lane of only nan is not an error
        nothing = u.logical_and(nothing, u.logical_not(u.isnan(part(rows, last, 0, 1))))
    refuse(nothing, ValueError, "Weights included NaN, inf or were all zero.")
    reached = as_array(u.divide(sums, total))
    if q.dtype.kind == "f":
        reached = cast(reached, q.dtype)
    reached = apply(elementwise.select, u.equal(reached, 0), -1.0, reached)
    q = shaping.reshape(q, shape=q.shape + (1,) * rows.ndim)
    index = u.minimum(reductions.sum(u.less(reached, q), axis=-1), n - 1)
    shape = (*q.shape[: -rows.ndim], *lanes)
    index = broadcast(as_array(index), shape)
    lead = len(shape) - last
    where = [shaping.iota(shape=shape, axis=lead + k, dtype=order.dtype) for k in range(last)]
    result = indexing.take(rows, *where, index, axes=every)
    if not floating:
        return result
    end = item(rows, last, 0 if skip_nan else n - 1)
    return as_array(apply(elementwise.select, u.isnan(end), end, result))
