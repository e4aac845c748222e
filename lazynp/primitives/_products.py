"""other_products: what the derivative of a product multiplies each tangent by.

A quotient of the product and the factor would be wrong where a factor is zero, or where the product
overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._primitive import NOT_LINEAR, Primitive
from lazynp.primitives import elementwise
from lazynp.primitives._cumulative import cumprod, cumprod_tangent, previous, scan
from lazynp.primitives._layout import check_axes, reverse

_ROWS = 32  # a long axis becomes so many rows: each step of a scan then multiplies whole rows
_LONG = 128


def _abstract(x: Aval, *, axis: int) -> Aval:
    check_axes("other_products", x.ndim, (axis,))
    return aval_of(x.shape, x.dtype)


def _reference(x: Any, *, axis: int) -> Any:
    out = np.empty(x.shape, x.dtype)
    if x.size:
        _fill(np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0))
    return out


def _fill(x: Any, out: Any) -> None:
    """Multiply pairs, pairs of pairs and so on; then hand to each half what the other half has."""
    n = len(x)
    if n == 1:
        out[0] = 1
        return
    half = n // 2
    first, second, paired = x[:half], x[half : 2 * half], np.empty_like(out[: n - half])
    np.multiply(first, second, out=paired[:half])
    paired[half:] = x[2 * half :]  # the one that is left of an odd number
    above = np.empty_like(paired)
    _fill(paired, above)
    np.multiply(above[:half], second, out=out[:half])
    np.multiply(above[:half], first, out=out[half : 2 * half])
    out[2 * half :] = above[half:]


def _lower(b: Any, x: Any, *, axis: int) -> Any:
    shape, dtype = x.aval.shape, x.aval.dtype
    n = shape[axis]
    if x.aval.size == 0 or n == 1:
        return b.constant(1, dtype, shape)
    if n < _LONG or not b.platform.host:
        ahead, behind = _running(b, x, axis, False), _running(b, x, axis, True)
        ahead, behind = _shifted(b, ahead, axis, 1), _shifted(b, behind, axis, -1)
        return b.binary("stablehlo.multiply", ahead, behind)
    columns = -(-n // _ROWS)
    before, after = shape[:axis], shape[axis + 1 :]
    beyond = [_ROWS * columns - n if i == axis else 0 for i in range(len(shape))]
    x = b.pad(x, b.constant(1, dtype), [0] * len(shape), beyond)
    x = b.reshape(x, (*before, _ROWS, columns, *after))
    ahead, behind = _running(b, x, axis, False), _running(b, x, axis, True)
    low = [_ROWS - 1 if i == axis else 0 for i in range(len(shape) + 1)]
    whole = b.reshape(b.slice(ahead, low, x.aval.shape), (*before, columns, *after))
    others = _lower(b, whole, axis=axis)
    kept = tuple(i for i in range(len(shape) + 1) if i != axis)
    others = b.broadcast_in_dim(others, x.aval.shape, kept)
    ahead, behind = _shifted(b, ahead, axis, 1), _shifted(b, behind, axis, -1)
    out = b.binary("stablehlo.multiply", b.binary("stablehlo.multiply", ahead, others), behind)
    out = b.reshape(out, (*before, _ROWS * columns, *after))
    return b.slice(out, [0] * len(shape), shape)


def _running(b: Any, x: Any, axis: int, backwards: bool) -> Any:
    return scan(
        b, x, axis, lambda b, acc, elem: b.binary("stablehlo.multiply", acc, elem), backwards
    )


def _shifted(b: Any, x: Any, axis: int, by: int) -> Any:
    """x moved by one place, with 1 at the place that becomes free."""
    into = [by if i == axis else 0 for i in range(len(x.aval.shape))]
    return b.pad(x, b.constant(1, x.aval.dtype), into, [-d for d in into])


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int) -> tuple[Any, Any]:
    """By the products of the factors ahead and behind, whose derivatives are recurrences."""
    (x,), (dx,) = primals, tangents
    out = other_products(x, axis=axis)
    if dx is None:
        return out, None
    parts = []
    for backwards in (False, True):
        v, dv = (reverse(u, axes=(axis,)) if backwards else u for u in (x, dx))
        product = cumprod(v, axis=axis)
        change = cumprod_tangent(v, product, dv, axis)
        if backwards:
            product, change = (reverse(u, axes=(axis,)) for u in (product, change))
        parts.append((previous(product, axis, 1, backwards), previous(change, axis, 0, backwards)))
    (ahead, d_ahead), (behind, d_behind) = parts
    return out, elementwise.add(
        elementwise.multiply_no_nan(d_ahead, behind), elementwise.multiply_no_nan(ahead, d_behind)
    )


def _batch(size: int, batched: Sequence[bool], x: Any, *, axis: int) -> Any:
    return other_products(x, axis=axis + 1)


# out[i] is the product of all x[j] along an axis but x[i]
other_products = Primitive(
    "other_products",
    abstract=_abstract,
    reference=_reference,
    lower=_lower,
    jvp=_jvp,
    transpose=NOT_LINEAR,
    batch=_batch,
    cost=(1.0, 3.0),
    kind="reduction",
)
