"""Access through masks: put_mask (a value for each place), put_masked_values and take_mask (a value
for each True).

None of them reads the mask's data when recorded. The caller of take_mask has counted the True.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, In, aval_of, aval_of_operand
from lazynp._extents import known_empty
from lazynp._primitive import Primitive, Undefined
from lazynp._sizes import is_size
from lazynp.primitives import elementwise, reduction, shaping
from lazynp.primitives._axes import broadcast_front, transposed
from lazynp.primitives._index_arrays import (
    cast_value,
    put,
    row_numbers,
    take,
    zeros_like,
)

_BOOL, _INT32, _INT64 = np.dtype("?"), np.dtype("i4"), np.dtype("i8")
_MAX_INT32 = 2**31 - 1


def _check_mask(name: str, x: Aval, mask: Aval) -> None:
    if mask is not aval_of(x.shape, _BOOL):
        raise IndexError(f"{name}: a bool mask of shape {x.shape} is required, got {mask}")


# -- put_mask --------------------------------------------------------------------------------------


def _put_mask_abstract(x: Aval, mask: Aval, u: Aval) -> Aval:
    _check_mask("put_mask", x, mask)
    if u is not x:
        raise ValueError(f"put_mask: values of {x} are required, got {u}")
    return x


def _put_mask_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    x = aval_of_operand(ins[0])
    return x, aval_of(x.shape, _BOOL), x


def _put_mask_reference(x: Any, mask: Any, u: Any) -> Any:
    x = np.asarray(x)
    return np.where(mask, cast_value(u, x.dtype), x)


def _put_mask_inplace(x: Any, mask: Any, u: Any) -> Any:
    np.copyto(x, cast_value(u, x.dtype), where=mask)
    return x


def _put_mask_lower(b: Any, x: Any, mask: Any, u: Any) -> Any:
    return b.select(mask, u, x)


def _put_mask_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x, mask, u), (x_dot, _, u_dot) = primals, tangents
    out = put_mask(x, mask, u)
    if x_dot is None and u_dot is None:
        return out, None
    x_dot = zeros_like(x) if x_dot is None else x_dot
    u_dot = zeros_like(u) if u_dot is None else u_dot
    return out, put_mask(x_dot, mask, u_dot)


def _put_mask_transpose(ct: Any, x: Any, mask: Any, u: Any) -> list[Any]:
    zeros = zeros_like(ct)
    # in this order: ct may be overwritten by the last that reads it
    ct_u = put_mask(zeros, mask, ct) if isinstance(u, Undefined) else None
    ct_x = put_mask(ct, mask, zeros) if isinstance(x, Undefined) else None
    return [ct_x, None, ct_u]


def _put_mask_batch(size: int, batched: Sequence[bool], *operands: Any) -> Any:
    return put_mask(
        *[
            v if is_batched else broadcast_front(v, size)
            for v, is_batched in zip(operands, batched, strict=True)
        ]
    )


put_mask = Primitive(
    "put_mask",
    abstract=_put_mask_abstract,
    explicit=_put_mask_explicit,
    reference=_put_mask_reference,
    lower=_put_mask_lower,
    jvp=_put_mask_jvp,
    transpose=_put_mask_transpose,
    batch=_put_mask_batch,
    inplace=_put_mask_inplace,
    cost=(1.5, 1.0),
    kind="update",
)


# -- put_masked_values -----------------------------------------------------------------------------
# There are as many `values` as True in the mask, in C order; the caller has counted them.


def _masked_values_abstract(x: Aval, mask: Aval, values: Aval) -> Aval:
    _check_mask("put_masked_values", x, mask)
    if values.ndim != 1 or values.dtype != x.dtype:
        raise ValueError(f"put_masked_values: a vector of {x.dtype} is required, got {values}")
    return x


def _masked_values_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    x, values = aval_of_operand(ins[0]), aval_of_operand(ins[2])
    return x, aval_of(x.shape, _BOOL), aval_of(values.shape, x.dtype)


def _masked_values_reference(x: Any, mask: Any, values: Any) -> Any:
    return _masked_values_inplace(np.array(x), mask, values)


def _masked_values_inplace(x: Any, mask: Any, values: Any) -> Any:
    x[mask] = cast_value(values, x.dtype)
    return x


def _masked_values_lower(b: Any, x: Any, mask: Any, values: Any) -> Any:
    """The n-th True takes the n-th value: a running count, a gather, a select."""
    n, count = x.aval.size, values.aval.size
    if n == 0 or count == 0:
        return x
    dtype = _INT32 if n <= _MAX_INT32 else _INT64
    ones = b.convert(b.reshape(mask, (n,)), dtype)
    nth = reduction.cumsum.lower(b, ones, axis=0)
    nth = b.binary("stablehlo.subtract", nth, b.constant(1, dtype, (n,)))
    spread = b.gather(  # before the first True, nth is -1; the gather clamps it
        values,
        nth,
        offset_dims=(),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1,),
    )
    return b.select(mask, b.reshape(spread, x.aval.shape), x)


def _ordinals(mask: Any) -> Any:
    """For each place of the last axis: the ordinal of the last True up to it; -1 before the
    first.
    """
    ones = elementwise.convert(mask, dtype=_INT64)
    return elementwise.subtract(reduction.cumsum(ones, axis=mask.ndim - 1), 1)


def _masked_values_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x, mask, values), (x_dot, _, values_dot) = primals, tangents
    out = put_masked_values(x, mask, values)
    if x_dot is None and values_dot is None:
        return out, None
    x_dot = zeros_like(x) if x_dot is None else x_dot
    values_dot = zeros_like(values) if values_dot is None else values_dot
    return out, put_masked_values(x_dot, mask, values_dot)


def _masked_values_transpose(ct: Any, x: Any, mask: Any, values: Any) -> list[Any]:
    ct_x = put_mask(ct, mask, zeros_like(ct)) if isinstance(x, Undefined) else None
    if not isinstance(values, Undefined):
        return [ct_x, None, None]
    return [ct_x, None, take_mask(ct, mask, size=values.aval.size)]


def _masked_values_batch(size: int, batched: Sequence[bool], x: Any, mask: Any, values: Any) -> Any:
    """Spread the values with recorded versions of the lowering's operations, then select."""
    x_batched, mask_batched, values_batched = batched
    x = x if x_batched else broadcast_front(x, size)
    n, count = math.prod(x.shape[1:]), values.shape[-1]
    if known_empty(n) or known_empty(count) or known_empty(size):
        return x
    if is_size(count):  # there may be none, and each place takes one
        none = shaping.full(0, shape=(*values.shape[:-1], 1), dtype=values.dtype)
        values = shaping.concatenate(values, none, axis=values.ndim - 1)
    flat = shaping.reshape(mask, shape=(size, n) if mask_batched else (n,))
    nth = elementwise.maximum(_ordinals(flat), 0)
    nth = elementwise.minimum(nth, count - 1)
    if not values_batched:
        spread = take(values, nth, axes=(0,))
    elif mask_batched:
        spread = take(values, row_numbers(size, (n,)), nth, axes=(0, 1))
    else:
        spread = transposed(take(values, nth, axes=(1,)), (1, 0))
    if spread.ndim == 1:
        spread = broadcast_front(spread, size)
    mask = mask if mask_batched else broadcast_front(mask, size)
    return put_mask(x, mask, shaping.reshape(spread, shape=x.shape))


put_masked_values = Primitive(
    "put_masked_values",
    abstract=_masked_values_abstract,
    explicit=_masked_values_explicit,
    reference=_masked_values_reference,
    lower=_masked_values_lower,
    jvp=_masked_values_jvp,
    transpose=_masked_values_transpose,
    batch=_masked_values_batch,
    inplace=_masked_values_inplace,
    cost=(3.0, 8.0),
    kind="update",
)


# -- take_mask -------------------------------------------------------------------------------------
# The transpose of put_masked_values: the elements where the mask is True, in C order.


def _take_mask_abstract(x: Aval, mask: Aval, *, size: int) -> Aval:
    _check_mask("take_mask", x, mask)
    return aval_of((size,), x.dtype)


def _take_mask_reference(x: Any, mask: Any, *, size: int) -> Any:
    return x[mask]


def _take_mask_lower(b: Any, x: Any, mask: Any, *, size: int) -> Any:
    """Store the n-th True at place n, and everything unselected at one extra place."""
    n, dtype = x.aval.size, x.aval.dtype
    if not size:
        return b.constant(0, dtype, (0,))
    flat = b.reshape(mask, (n,))
    places = _INT32 if n < _MAX_INT32 else _INT64
    nth = reduction.cumsum.lower(b, b.convert(flat, places), axis=0)
    nth = b.binary("stablehlo.subtract", nth, b.constant(1, places, (n,)))
    target = b.select(flat, nth, b.constant(size, places, (n,)))
    zeros = b.constant(0, dtype, (size + 1,))
    out = put.lower(b, zeros, b.reshape(x, (n,)), target, axes=(0,), mode="set")
    return b.slice(out, (0,), (size,), (1,))


def _take_mask_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, size: int) -> Any:
    (x, mask), (x_dot, _) = primals, tangents
    return take_mask(x, mask, size=size), take_mask(x_dot, mask, size=size)


def _take_mask_transpose(ct: Any, x: Undefined, mask: Any, *, size: int) -> list[Any]:
    zeros = shaping.full(0, shape=x.aval.shape, dtype=x.aval.dtype)
    return [put_masked_values(zeros, mask, ct), None]


def _take_mask_batch(rows: int, batched: Sequence[bool], x: Any, mask: Any, *, size: int) -> Any:
    """Use recorded versions of the lowering's operations."""
    x, mask = (
        v if b else broadcast_front(v, rows) for v, b in zip((x, mask), batched, strict=True)
    )
    n = 0 if known_empty(rows) else x.size // rows
    zeros = shaping.full(0, shape=(rows, size + 1), dtype=x.dtype)
    if not known_empty(n) and not known_empty(rows):
        mask = shaping.reshape(mask, shape=(rows, n))
        nobody = shaping.full(size, shape=(rows, n), dtype=_INT64)
        target = elementwise.select(mask, _ordinals(mask), nobody)
        values = shaping.reshape(x, shape=(rows, n))
        places = row_numbers(rows, (n,)), target
        zeros = put(zeros, values, *places, axes=(0, 1), mode="set")
    return shaping.slice(zeros, 0, axes=(1,), sizes=(size,), strides=(1,), shape=(rows, size))


take_mask = Primitive(
    "take_mask",
    abstract=_take_mask_abstract,
    reference=_take_mask_reference,
    lower=_take_mask_lower,
    jvp=_take_mask_jvp,
    transpose=_take_mask_transpose,
    batch=_take_mask_batch,
    cost=(1.0, 10.0),
    kind="index",
)
