"""Polynomials whose number of coefficients has no value yet: one loop for all sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._array import Array
from lazynp._dimensions import as_operand, length_of, require_some
from lazynp._sizes import largest, smallest
from lazynp.functions import reductions, ufuncs
from lazynp.functions._fold import item, part
from lazynp.functions._operands import as_array, broadcast, cast, plain
from lazynp.functions.creation import zeros
from lazynp.primitives import elementwise, indexing, shaping

_INT64 = np.dtype(np.int64)


def from_zeros(zeros_: Array) -> Array:
    """`poly`: multiplies by x - zero, one after the other, in place."""
    n = zeros_.shape[0]
    none = ValueError("poly of no zeros is a number, not an array, so it has no size to trace")
    require_some(n, none)
    one = shaping.full(1, shape=(1,), dtype=zeros_.dtype)
    start = shaping.pad(one, 0, low=(0,), high=(n,), interior=(0,))

    def more(k: Any, made: Any) -> Any:
        before = shaping.pad(part(made, 0, 0, n), 0, low=(1,), high=(0,), interior=(0,))
        return plain(ufuncs.subtract(made, ufuncs.multiply(item(zeros_, 0, k), before)))

    return plain(transforms.fori_loop(0, n, more, start))


def divided(u: Array, v: Array) -> tuple[Array, Array]:
    """`polydiv`, of floating-point coefficients of one dtype. The remainder has one coefficient
    less than v, and at least one.
    """
    m, n = u.shape[0], v.shape[0]
    steps = largest(m - n + 1, 0)
    quotient = zeros(largest(steps, 1), u.dtype)
    none = IndexError("index 0 is out of bounds for axis 0 with size 0")
    require_some(m, none)
    require_some(n, none)
    scale = ufuncs.divide(1.0, item(v, 0, 0))

    def more(k: Any, both: Any) -> Any:
        done, rest = both
        d = ufuncs.multiply(scale, item(rest, 0, k))
        done = _put(done, k, d, 1, add=False)
        return done, _put(rest, k, ufuncs.negative(ufuncs.multiply(d, v)), n, add=True)

    quotient, rest = transforms.fori_loop(0, steps, more, (quotient, u))
    first = largest(smallest(m - 1, steps), 0)
    return quotient, part(plain(rest), 0, first, m)


def _put(x: Array, k: Any, value: Any, size: Any, add: bool) -> Array:
    """With so many places from k on set, or added to."""
    places = shaping.iota(shape=(size,), axis=0, dtype=_INT64)
    value = shaping.reshape(cast(value, x.dtype), shape=(size,))
    places = plain(ufuncs.add(places, k))
    return indexing.put(x, value, places, axes=(0,), mode="add" if add else "set")


def companion(p: Array, first: Any, size: Any) -> Array:
    """The matrix whose eigenvalues are the roots, of so many coefficients from the first on."""
    m = largest(size - 1, 0)
    more = shaping.pad(p, 0, low=(0,), high=(1,), interior=(0,))  # there may be none
    lead = indexing.take(more, plain(as_array(first)), axes=(0,))
    places = plain(ufuncs.add(shaping.iota(shape=(m,), axis=0, dtype=_INT64), 1))
    others = indexing.take(more, plain(ufuncs.add(places, first)), axes=(0,))
    top = plain(ufuncs.divide(ufuncs.negative(others), lead))
    rows, columns = (shaping.iota(shape=(m, m), axis=k, dtype=_INT64) for k in (0, 1))
    below = cast(ufuncs.equal(rows, ufuncs.add(columns, 1)), p.dtype)
    return elementwise.select(plain(ufuncs.equal(rows, 0)), broadcast(top, (m, m)), below)


def without_zeros(p: Array) -> tuple[Any, Any, Any]:
    """Where the first coefficient is that is not 0, how many there are up to the last of them, and
    how many come behind it. The data decide these sizes.
    """
    n = p.shape[0]
    places = shaping.iota(shape=(n,), axis=0, dtype=_INT64)
    zero = ufuncs.equal(p, 0)
    first = reductions.min(elementwise.select(plain(zero), _spread(n, n), places), initial=n)
    last = reductions.max(elementwise.select(plain(zero), _spread(-1, n), places), initial=-1)
    kept = ufuncs.maximum(ufuncs.subtract(last, first) + 1, 0)
    behind = ufuncs.multiply(ufuncs.greater(kept, 0), ufuncs.subtract(n - 1, last))
    return first, length_of(kept), length_of(behind)


def _spread(value: Any, n: Any) -> Array:
    return broadcast(cast(as_array(as_operand(value)), _INT64), (n,))
