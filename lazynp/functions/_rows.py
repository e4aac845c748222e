"""Rows of arrays in lexicographic order, also where their number and length have no values."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._array import Array
from lazynp._extents import product
from lazynp._sizes import is_size
from lazynp.functions import ufuncs
from lazynp.functions._operands import plain
from lazynp.primitives import elementwise, indexing as gathers, reduction, shaping, sorting

_INT64 = np.dtype(np.int64)
_MOST_KEYS = 8  # of one sort: the compilation of a comparison grows with them


def order_of_rows(x: Array) -> Array:
    """The stable order of the subarrays along the first axis. Their first elements count first."""
    n, m = x.aval.shape[0], product(x.aval.shape[1:])
    rows = plain(transforms.stop_gradient(shaping.reshape(x, shape=(n, m))))
    places = shaping.iota(shape=(n,), axis=0, dtype=_INT64)
    if is_size(m) or m > _MOST_KEYS:
        columns = shaping.transpose(rows, permutation=(1, 0))

        def later(i: Any, order: Any) -> Any:
            """Ordered by one more column, from the last to the first."""
            column = gathers.take(columns, plain(ufuncs.subtract(m - 1, i)), axes=(0,))
            found = sorting.argsort(gathers.take(column, plain(order), axes=(0,)), axis=0)
            return gathers.take(plain(order), found, axes=(0,))

        return plain(transforms.fori_loop(0, m, later, places))
    keys = [
        shaping.reshape(
            shaping.slice(rows, i, axes=(1,), sizes=(1,), strides=(1,), shape=(n, 1)), shape=(n,)
        )
        for i in range(m)
    ]
    if not keys:
        return places
    return sorting.sort_pairs(*keys, places, axis=0, num_keys=m)[-1]


def starts_of_rows(x: Array) -> Array:
    """Which of the ordered subarrays differ from the one before. The first does."""
    n = x.aval.shape[0]
    places = shaping.iota(shape=(n,), axis=0, dtype=_INT64)
    before = elementwise.maximum(elementwise.subtract(places, 1), 0)
    differs = plain(ufuncs.not_equal(x, gathers.take(x, before, axes=(0,))))
    any_differs = reduction.reduce_or(differs, axes=tuple(range(1, x.ndim)))
    return plain(ufuncs.logical_or(elementwise.equal(places, 0), any_differs))
