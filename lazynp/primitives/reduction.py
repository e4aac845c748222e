"""Reductions over axes, argmax and argmin. `_cumulative` has the cumulative ones.

Operands keep their dtype: where NumPy widens (sums of bools and small integers), the caller
converts first. The names start with reduce_ because each reduction has an elementwise namesake.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._cost import MEMORY_BOUND, Cost
from lazynp._extents import known_empty
from lazynp._primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Primitive
from lazynp.primitives import elementwise
from lazynp.primitives._cumulative import (
    cumlogaddexp,
    cumlogaddexp2,
    cummax,
    cummin,
    cumprod,
    cumsum,
    linear_recurrence,
)
from lazynp.primitives._extrema import (
    before,
    greatest,
    is_nan,
    least,
    pick_larger,
    pick_smaller,
)
from lazynp.primitives._layout import (
    BOOL,
    INT64,
    Axes,
    broadcast_in_dim,
    check_axes,
    full,
    kept_axes,
    reduce_by,
    reduce_specialize,
    reduce_sum,
    reduced_shape,
    reshape,
    shifted,
    transpose,
)
from lazynp.primitives._products import other_products
from lazynp.primitives.elementwise_emit import in_float32
from lazynp.primitives.elementwise_transcendental import log_share

__all__ = [
    "argmax",
    "argmin",
    "cummax",
    "cummin",
    "cumlogaddexp",
    "cumlogaddexp2",
    "cumprod",
    "cumsum",
    "linear_recurrence",
    "other_products",
    "reduce_and",
    "reduce_logaddexp",
    "reduce_logaddexp2",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
]


def _reference_by(ufunc: np.ufunc) -> Any:
    def reference(x: Any, *, axes: Axes) -> Any:
        x = np.asarray(x)
        return ufunc.reduce(x, axis=axes, dtype=x.dtype)

    return reference


def _reduction(
    name: str,
    ufunc: np.ufunc,
    lower: Any,
    jvp: Any,
    abstract: Any = None,
    cost: Cost = MEMORY_BOUND,
) -> Primitive:
    """A nonlinear reduction; `jvp(x, out, dx, axes)` returns its tangent."""

    def plain_abstract(x: Aval, *, axes: Axes) -> Aval:
        return aval_of(reduced_shape(name, x.shape, axes), x.dtype)

    def full_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axes: Axes) -> tuple[Any, Any]:
        (x,), (dx,) = primals, tangents
        out = primitive(x, axes=axes)
        return out, None if dx is None else jvp(x, out, dx, axes)

    def batch(size: int, batched: Sequence[bool], x: Any, *, axes: Axes) -> Any:
        return primitive(x, axes=shifted(axes))

    primitive = Primitive(
        name,
        abstract=abstract or plain_abstract,
        reference=_reference_by(ufunc),
        specialize=reduce_specialize(ufunc),
        lower=lower,
        jvp=full_jvp if callable(jvp) else jvp,
        transpose=NOT_LINEAR,
        batch=batch,
        cost=cost,
        kind="reduction",
    )
    return primitive


# -- reduce_prod -------------------------------------------------------------------------------


def _reduce_prod_lower(b: Any, x: Any, *, axes: Axes) -> Any:
    op = "stablehlo.and" if x.aval.dtype == BOOL else "stablehlo.multiply"
    return reduce_by(b, op, x, 1, axes) if axes else x


def _reduce_prod_tangent(x: Any, out: Any, dx: Any, axes: Axes) -> Any:
    """The sum of each dx times the product of the other factors."""
    if not axes:
        return dx
    if len(axes) > 1:
        kept = kept_axes(len(x.shape), axes)
        shape = (*(x.shape[a] for a in kept), math.prod(x.shape[a] for a in axes))
        x, dx = (reshape(transpose(v, permutation=(*kept, *axes)), shape=shape) for v in (x, dx))
        axes = (len(kept),)
    others = other_products(x, axis=max(axes))
    return reduce_sum(elementwise.multiply_no_nan(dx, others), axes=axes)


reduce_prod = _reduction("reduce_prod", np.multiply, _reduce_prod_lower, _reduce_prod_tangent)


# -- reduce_logaddexp, reduce_logaddexp2 -------------------------------------------------------


def _log_sum(name: str, ufunc: np.ufunc, power: Primitive, log: Primitive) -> Primitive:
    def lower(b: Any, x: Any, *, axes: Axes) -> Any:
        if not axes or x.aval.size == 0:
            return x if not axes else _neutral(b, x, axes)
        largest = b.reduce_max(x, axes)
        infinite = b.compare(b.unary("stablehlo.abs", largest), _like(b, np.inf, largest), "EQ")
        largest = b.select(infinite, _like(b, 0, largest), largest)
        kept = kept_axes(len(x.aval.shape), axes)
        spread = b.broadcast_in_dim(largest, x.aval.shape, kept)
        parts = power.lower(b, b.binary("stablehlo.subtract", x, spread))
        total = reduce_by(b, "stablehlo.add", parts, 0, axes)
        return b.binary("stablehlo.add", log.lower(b, total), largest)

    def tangent(x: Any, out: Any, dx: Any, axes: Axes) -> Any:
        spread = broadcast_in_dim(out, shape=x.shape, dims=kept_axes(len(x.shape), axes))
        share = power(log_share(x, spread))
        return reduce_sum(elementwise.multiply_no_nan(dx, share), axes=axes)

    return _reduction(name, ufunc, in_float32(lower), tangent, cost=(30.0, 6.0))


def _like(b: Any, value: Any, x: Any) -> Any:
    return b.constant(value, x.aval.dtype, x.aval.shape)


def _neutral(b: Any, x: Any, axes: Axes) -> Any:
    kept = kept_axes(len(x.aval.shape), axes)
    return b.constant(-np.inf, x.aval.dtype, tuple(x.aval.shape[i] for i in kept))


reduce_logaddexp = _log_sum("reduce_logaddexp", np.logaddexp, elementwise.exp, elementwise.log)
reduce_logaddexp2 = _log_sum("reduce_logaddexp2", np.logaddexp2, elementwise.exp2, elementwise.log2)


# -- reduce_max, reduce_min --------------------------------------------------------------------


def _extremum(name: str, ufunc: np.ufunc, pick: Any, neutral: Any) -> Primitive:
    def abstract(x: Aval, *, axes: Axes) -> Aval:
        shape = reduced_shape(name, x.shape, axes)
        if any(known_empty(x.shape[a]) for a in axes):
            raise ValueError(
                f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
            )
        return aval_of(shape, x.dtype)

    def lower(b: Any, x: Any, *, axes: Axes) -> Any:
        if not axes:
            return x
        if x.aval.dtype.kind != "c" and x.aval.size:
            return getattr(b, name)(x, axes)  # XLA's own loses nan; the builder knows a fast way
        init = b.constant(neutral(x.aval.dtype), x.aval.dtype)
        return b.reduce([x], [init], axes, lambda b, acc, elem: [pick(b, acc[0], elem[0])])[0]

    return _reduction(name, ufunc, lower, _extremum_tangent, abstract, cost=(0.0, 0.2))


def _extremum_tangent(x: Any, out: Any, dx: Any, axes: Axes) -> Any:
    """Places that tie for the extremum share the tangent equally. The tangent of nan is nan."""
    spread = broadcast_in_dim(out, shape=x.shape, dims=kept_axes(len(x.shape), axes))
    tied = elementwise.equal(x, spread)
    zeros = full(0, shape=x.shape, dtype=dx.dtype)
    total = reduce_sum(elementwise.select(tied, dx, zeros), axes=axes)
    count = reduce_sum(elementwise.convert(tied, dtype=INT64), axes=axes)
    return elementwise.divide(total, elementwise.convert(count, dtype=dx.dtype))


reduce_max = _extremum("reduce_max", np.maximum, pick_larger, least)
reduce_min = _extremum("reduce_min", np.minimum, pick_smaller, greatest)


# -- reduce_and, reduce_or, reduce_xor ---------------------------------------------------------


def _bitwise(name: str, ufunc: np.ufunc, op: str, neutral: Callable[[Any], Any]) -> Primitive:
    def lower(b: Any, x: Any, *, axes: Axes) -> Any:
        return reduce_by(b, op, x, neutral(x.aval.dtype), axes) if axes else x

    return _reduction(name, ufunc, lower, NOT_DIFFERENTIABLE)


def _all_ones(dtype: np.dtype[Any]) -> Any:
    return -1 if dtype.kind == "i" else greatest(dtype)


reduce_and = _bitwise("reduce_and", np.bitwise_and, "stablehlo.and", _all_ones)
reduce_or = _bitwise("reduce_or", np.bitwise_or, "stablehlo.or", lambda dtype: 0)
reduce_xor = _bitwise("reduce_xor", np.bitwise_xor, "stablehlo.xor", lambda dtype: 0)


# -- argmax, argmin ----------------------------------------------------------------------------


# From this size on, two passes are faster than one reduction of pairs, which is not vectorised. On
# 1e6 float64, pairs take 5.8 ms and two passes 1.1 (and 20 ms against 50 to compile).
_TWO_PASSES = 1 << 13


def _arg(name: str, function: Any, direction: str, extremum: Primitive, neutral: Any) -> Primitive:
    def abstract(x: Aval, *, axis: int) -> Aval:
        check_axes(name, x.ndim, (axis,))
        if known_empty(x.shape[axis]):
            raise ValueError(f"attempt to get {name} of an empty sequence")
        return aval_of(reduced_shape(name, x.shape, (axis,)), INT64)

    def reference(x: Any, *, axis: int) -> Any:
        return function(x, axis=axis)

    def lower(b: Any, x: Any, *, axis: int) -> Any:
        if x.aval.size >= _TWO_PASSES and x.aval.dtype.kind in "fcb":
            return _place_of(b, x, extremum.lower(b, x, axes=(axis,)), axis)
        return _first_place(b, x, axis, direction, neutral(x.aval.dtype))

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int) -> tuple[Any, None]:
        return primitive(*primals, axis=axis), None

    def batch(size: int, batched: Sequence[bool], x: Any, *, axis: int) -> Any:
        return primitive(x, axis=axis + 1)

    primitive = Primitive(
        name,
        abstract=abstract,
        reference=reference,
        lower=lower,
        jvp=jvp,
        transpose=NOT_LINEAR,
        batch=batch,
        cost=(0.1, 0.6),
        kind="reduction",
    )
    return primitive


def _place_of(b: Any, x: Any, extremum: Any, axis: int) -> Any:
    """The first index where x equals its extremum, or is nan (then the extremum is nan)."""
    shape, n = x.aval.shape, x.aval.shape[axis]
    index_dtype = np.dtype(np.int32 if n < 2**31 else np.int64)
    found = b.compare(x, b.broadcast_in_dim(extremum, shape, kept_axes(len(shape), (axis,))), "EQ")
    if x.aval.dtype.kind in "fc":
        found = b.or_(found, is_nan(b, x))
    index = b.iota(shape, axis, index_dtype)
    index = b.select(found, index, b.constant(n, index_dtype, shape))
    return b.convert(reduce_by(b, "stablehlo.minimum", index, n, (axis,)), INT64)


def _first_place(b: Any, x: Any, axis: int, direction: str, neutral: Any) -> Any:
    """The first index of the extremum, or of the first nan, by one reduction of (value, index)
    pairs.
    """
    index = b.iota(x.aval.shape, axis, INT64)

    def body(b: Any, acc: list[Any], elem: list[Any]) -> list[Any]:
        (x, i), (y, j) = acc, elem
        earlier = b.compare(i, j, "LT")
        better, worse = before(b, x, y, direction), before(b, y, x, direction)
        if x.aval.dtype.kind in "fc":
            x_nan, y_nan = is_nan(b, x), is_nan(b, y)
            better = b.or_(b.and_(better, b.not_(y_nan)), b.and_(x_nan, b.not_(y_nan)))
            worse = b.or_(b.and_(worse, b.not_(x_nan)), b.and_(y_nan, b.not_(x_nan)))
        first = b.or_(better, b.and_(b.not_(worse), earlier))
        return [b.select(first, x, y), b.select(first, i, j)]

    inits = [b.constant(neutral, x.aval.dtype), b.constant(np.iinfo(np.int64).max, INT64)]
    return b.reduce([x, index], inits, (axis,), body)[1]


argmax = _arg("argmax", np.argmax, "GT", reduce_max, least)
argmin = _arg("argmin", np.argmin, "LT", reduce_min, greatest)
