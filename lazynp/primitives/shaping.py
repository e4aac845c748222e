"""Primitives that move values without changing them, and the sums that are their transposes.

`_layout` has full, iota, broadcast_in_dim, reduce_sum, reshape, transpose and reverse; `_slicing`
has slice, update_slice and add_slice; this module has constant, bitcast, concatenate, stack, pad.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from lazynp import _plan_jaxpr
from lazynp._avals import Aval, In, Shape, aval_of, aval_of_operand
from lazynp._extents import known_empty
from lazynp._primitive import NOT_LINEAR, Missing, Primitive, Undefined
from lazynp._sizes import is_size, largest
from lazynp.primitives import elementwise
from lazynp.primitives._layout import (
    BOOL,
    Axes,
    Dtype,
    broadcast_in_dim,
    full,
    iota,
    linear,
    reduce_sum,
    reshape,
    reverse,
    spread,
    transpose,
    zeros_of,
)
from lazynp.primitives._regions import region_of, update_case
from lazynp.primitives._slicing import add_slice, index_of, slice_, update_slice, write_slice

slice = slice_

__all__ = [
    "Constant",
    "add_slice",
    "bitcast",
    "broadcast_in_dim",
    "concatenate",
    "constant",
    "full",
    "index_of",
    "iota",
    "pad",
    "reduce_sum",
    "region_of",
    "reshape",
    "reverse",
    "slice",
    "stack",
    "transpose",
    "update_case",
    "update_slice",
    "write_slice",
]


# -- constant ----------------------------------------------------------------------------------


class Constant:
    """An array as a parameter. Constants with the same bytes are equal."""

    __slots__ = ("value", "_key", "_hash")

    def __init__(self, value: Any) -> None:
        self.value = np.array(value)
        self.value.flags.writeable = False
        self._key = self.value.dtype, self.value.shape, self.value.tobytes()
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return np.array2string(self.value, threshold=8)


def _constant_abstract(*, array: Constant) -> Aval:
    return aval_of(array.value.shape, array.value.dtype)


def _constant_reference(*, array: Constant) -> Any:
    return array.value.copy()


def _constant_lower(b: Any, *, array: Constant) -> Any:
    return b.dense(array.value)


def _constant_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, array: Constant) -> Any:
    return constant(array=array), None


def _constant_batch(size: int, batched: Sequence[bool], *, array: Constant) -> Any:
    return spread(size, False, constant(array=array), array.value.shape)


constant = Primitive(
    "constant",
    abstract=_constant_abstract,
    reference=_constant_reference,
    lower=_constant_lower,
    jvp=_constant_jvp,
    transpose=Missing("it has no operands"),
    batch=_constant_batch,
    free=True,
    kind="fill",
)


# -- bitcast -----------------------------------------------------------------------------------


def _bitcast_abstract(x: Aval, *, dtype: Dtype, shape: Shape) -> Aval:
    out = aval_of(shape, dtype)
    if out.nbytes != x.nbytes:
        raise ValueError(
            f"bitcast: {x.nbytes} bytes of {x} are required, got {out.nbytes} for {out}"
        )
    return out


def _bitcast_reference(x: Any, *, dtype: Dtype, shape: Shape) -> Any:
    return np.ascontiguousarray(x).reshape(-1).view(dtype).reshape(shape)


def _bitcast_lower(b: Any, x: Any, *, dtype: Dtype, shape: Shape) -> Any:
    """Bitcast the flat array: convert to real numbers of any size, to their bits, and back."""
    if x.aval.size == 0:
        return b.constant(0, dtype, shape)
    if x.aval.dtype == dtype:
        return b.reshape(x, shape)
    x = b.reshape(x, (x.aval.size,))
    if x.aval.dtype.kind == "c":
        parts = [b.reshape(part, (x.aval.size, 1)) for part in (b.real(x), b.imag(x))]
        x = b.reshape(b.concatenate(parts, 1), (2 * x.aval.size,))
    elif x.aval.dtype == BOOL:
        x = b.convert(x, np.dtype(np.uint8))
    if dtype.kind == "c":
        x = _bitcast_flat(b, x, np.dtype(f"f{dtype.itemsize // 2}"))
        n = x.aval.size // 2
        x = b.reshape(x, (n, 2))
        re, im = (b.reshape(b.slice(x, (0, k), (n, k + 1)), (n,)) for k in (0, 1))
        return b.reshape(b.complex(re, im), shape)
    if dtype == BOOL:
        x = _bitcast_flat(b, x, np.dtype(np.uint8))
        return b.reshape(b.compare(x, b.constant(0, x.aval.dtype, x.aval.shape), "NE"), shape)
    return b.reshape(_bitcast_flat(b, x, dtype), shape)


def _bitcast_flat(b: Any, x: Any, dtype: Dtype) -> Any:
    """Reinterpret a flat array of real numbers as another real type, low bytes first.

    XLA's simplifier makes one of two that follow each other, and fails where the first one joins
    elements and the second one takes them apart (`u2`, `u4`, `u1`).
    """
    size, old, new = x.aval.size, x.aval.dtype.itemsize, dtype.itemsize
    if x.aval.dtype == dtype:
        return x
    if old < new:
        joined = b.reshape(x, (size * old // new, new // old))
        return b.barrier(b.bitcast(joined, dtype, (size * old // new,)))
    if old > new:
        return b.reshape(b.bitcast(x, dtype, (size, old // new)), (size * old // new,))
    return b.bitcast(x, dtype, (size,))


def _bitcast_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, dtype: Dtype, shape: Shape
) -> tuple[Any, Any]:
    (x,), (tangent,) = primals, tangents
    out = bitcast(x, dtype=dtype, shape=shape)
    if tangent is None or dtype.kind not in "fc":
        return out, None
    return out, _bitcast_tangent(tangent, dtype, shape)


def _bitcast_tangent(t: Any, dtype: Dtype, shape: Shape) -> Any:
    """Reinterpret a complex number as its two parts, or the reverse, by operations that
    transpose.
    """
    if t.dtype == dtype:
        return reshape(t, shape=shape)
    n = t.size
    if t.dtype.kind == "c" and dtype.kind == "f" and t.dtype.itemsize == 2 * dtype.itemsize:
        parts = [reshape(part(t), shape=(n, 1)) for part in (elementwise.real, elementwise.imag)]
        return reshape(concatenate(*parts, axis=1), shape=shape)
    if t.dtype.kind == "f" and dtype.kind == "c" and 2 * t.dtype.itemsize == dtype.itemsize:
        pairs = reshape(t, shape=(n // 2, 2))
        re, im = (
            slice_(pairs, k, axes=(1,), sizes=(1,), strides=(1,), shape=shape) for k in (0, 1)
        )
        return elementwise.complex_(re, im)
    raise TypeError(f"view: the bits of {t.dtype} seen as {dtype} have no derivative")


def _bitcast_batch(
    size: int, batched: Sequence[bool], x: Any, *, dtype: Dtype, shape: Shape
) -> Any:
    return bitcast(x, dtype=dtype, shape=(size, *shape))


bitcast = Primitive(
    "bitcast",
    abstract=_bitcast_abstract,
    reference=_bitcast_reference,
    lower=_bitcast_lower,
    jvp=_bitcast_jvp,
    transpose=NOT_LINEAR,
    batch=_bitcast_batch,
    free=True,
    kind="view",
)


# -- concatenate -------------------------------------------------------------------------------


def _concatenate_abstract(*xs: Aval, axis: int) -> Aval:
    if not xs:
        raise ValueError("need at least one array to concatenate")
    first = xs[0]
    if not first.shape:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    if not 0 <= axis < first.ndim:
        raise AxisError(axis, first.ndim)
    for i, x in enumerate(xs):
        if x.ndim != first.ndim:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at index "
                f"0 has {first.ndim} dimension(s) and the array at index {i} has {x.ndim} "
                "dimension(s)"
            )
        for k, (n, m) in enumerate(zip(first.shape, x.shape, strict=True)):
            if k != axis and n != m:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {k}, the array at index 0 has size {n} and the "
                    f"array at index {i} has size {m}"
                )
        if x.dtype != first.dtype:
            raise TypeError(f"concatenate: one dtype is required, got {first.dtype}, {x.dtype}")
    shape = list(first.shape)
    shape[axis] = sum(x.shape[axis] for x in xs)
    return aval_of(tuple(shape), first.dtype)


def _concatenate_reference(*xs: Any, axis: int) -> Any:
    return np.concatenate(xs, axis)


def _concatenate_lower(b: Any, *xs: Any, axis: int) -> Any:
    parts = [x for x in xs if x.aval.shape[axis]]
    return b.concatenate(parts or xs[:1], axis)


def _concatenate_transpose(ct: Any, *xs: Any, axis: int) -> list[Any]:
    out, start = [], 0
    for x in xs:
        shape = x.aval.shape
        n = shape[axis]
        if isinstance(x, Undefined):
            part = slice_(ct, start, axes=(axis,), sizes=(n,), strides=(1,), shape=shape)
            out.append(part)
        else:
            out.append(None)
        start += n
    return out


def _concatenate_batch(size: int, batched: Sequence[bool], *xs: Any, axis: int) -> Any:
    rows = [
        spread(size, is_batched, x, x.shape[1:] if is_batched else x.shape)
        for x, is_batched in zip(xs, batched, strict=True)
    ]
    return concatenate(*rows, axis=axis + 1)


concatenate = linear(
    "concatenate",
    operands=None,
    abstract=_concatenate_abstract,
    reference=_concatenate_reference,
    lower=_concatenate_lower,
    transpose=_concatenate_transpose,
    batch=_concatenate_batch,
)


# -- stack -------------------------------------------------------------------------------------


def _stack_abstract(*xs: Aval) -> Aval:
    if not xs:
        raise ValueError("need at least one number to stack")
    for x in xs:
        if x.shape:
            raise ValueError(f"stack: numbers are required, got shape {x.shape}")
        if x.dtype != xs[0].dtype:
            raise TypeError(f"stack: one dtype is required, got {xs[0].dtype}, {x.dtype}")
    return aval_of((len(xs),), xs[0].dtype)


def _stack_reference(*xs: Any) -> Any:
    return np.array(xs)


def _stack_lower(b: Any, *xs: Any) -> Any:
    ones = [b.reshape(x, (1,)) for x in xs]
    return b.concatenate(ones, 0) if len(ones) > 1 else ones[0]


def _stack_transpose(ct: Any, *xs: Any) -> list[Any]:
    return [
        slice_(ct, i, axes=(0,), sizes=(1,), strides=(1,), shape=())
        if isinstance(x, Undefined)
        else None
        for i, x in enumerate(xs)
    ]


def _stack_batch(size: int, batched: Sequence[bool], *xs: Any) -> Any:
    columns = [
        reshape(spread(size, is_batched, x, ()), shape=(size, 1))
        for x, is_batched in zip(xs, batched, strict=True)
    ]
    return concatenate(*columns, axis=1)


# numbers as a vector
stack = linear(
    "stack",
    operands=None,
    abstract=_stack_abstract,
    reference=_stack_reference,
    lower=_stack_lower,
    transpose=_stack_transpose,
    batch=_stack_batch,
)


# -- pad ---------------------------------------------------------------------------------------


def _pad_abstract(x: Aval, value: Aval, *, low: Axes, high: Axes, interior: Axes) -> Aval:
    if not len(low) == len(high) == len(interior) == x.ndim:
        raise ValueError(f"pad: {x.ndim} widths are required, got {low}, {high}, {interior}")
    if value.shape or value.dtype != x.dtype:
        raise TypeError(f"pad: a scalar of dtype {x.dtype} is required, got {value}")
    if any(i < 0 for i in interior):
        raise ValueError(f"pad: interior widths cannot be negative, got {interior}")
    shape = tuple(
        lo + n + (largest(0, n - 1) * i if i else 0) + hi
        for n, lo, hi, i in zip(x.shape, low, high, interior, strict=True)
    )
    if any(n < 0 for n in shape if not is_size(n)):
        raise ValueError(f"pad: {low} and {high} cut more than there is of shape {x.shape}")
    return aval_of(shape, x.dtype)


def _pad_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    x = aval_of_operand(ins[0])
    return x, aval_of((), x.dtype)


def _pad_reference(x: Any, value: Any, *, low: Axes, high: Axes, interior: Axes) -> Any:
    x = np.asarray(x)
    spread_shape = [n + max(0, n - 1) * i for n, i in zip(x.shape, interior, strict=True)]
    # scatter into the array padded by the positive widths only; the negative widths then crop it
    shape = [n + max(0, lo) + max(0, hi) for n, lo, hi in zip(spread_shape, low, high, strict=True)]
    out = np.empty(shape, x.dtype)
    region = out  # all, but for the borders of the axes so far
    for axis, (n, lo) in enumerate(zip(spread_shape, low, strict=True)):
        before, at = (np.s_[:],) * axis, max(0, lo)
        region[(*before, np.s_[:at])] = value
        region[(*before, np.s_[at + n :])] = value
        region = region[(*before, np.s_[at : at + n])]
    if any(interior):
        region[...] = value
    region[tuple(np.s_[:: i + 1] for i in interior)] = x
    cuts = zip(shape, low, high, strict=True)
    return out[tuple(np.s_[max(0, -lo) : n - max(0, -hi)] for n, lo, hi in cuts)]


def _pad_lower(b: Any, x: Any, value: Any, *, low: Axes, high: Axes, interior: Axes) -> Any:
    out = _pad_abstract(x.aval, value.aval, low=low, high=high, interior=interior)
    if x.aval.size == 0 or out.size == 0:
        return b.splat(value, out.shape)
    return b.pad(x, value, low, high, interior)


def _pad_transpose(
    ct: Any, x: Any, value: Any, *, low: Axes, high: Axes, interior: Axes
) -> list[Any]:
    ct_x = ct_value = None
    if isinstance(x, Undefined):
        ct_x = _unpadded(ct, x.aval.shape, low, high, interior)
    if isinstance(value, Undefined):
        inside = full(True, shape=x.aval.shape, dtype=BOOL)
        inside = pad(inside, False, low=low, high=high, interior=interior)
        outside = elementwise.select(inside, zeros_of(ct), ct)
        ct_value = reduce_sum(outside, axes=tuple(range(len(low))))
    return [ct_x, ct_value]


def _unpadded(ct: Any, shape: Shape, low: Axes, high: Axes, interior: Axes) -> Any:
    """The part of a padded array that came from an array of this shape; 0 where padding
    cropped it.
    """
    if any(map(known_empty, shape)):
        return full(0, shape=shape, dtype=ct.dtype)
    cut = tuple(-n for n in low), tuple(-n for n in high)
    wide = pad(ct, 0, low=cut[0], high=cut[1], interior=(0,) * len(low))
    strides = tuple(i + 1 for i in interior)
    axes = tuple(range(len(low)))
    return slice_(wide, *[0] * len(low), axes=axes, sizes=shape, strides=strides, shape=shape)


def _pad_batch(
    size: int,
    batched: Sequence[bool],
    x: Any,
    value: Any,
    *,
    low: Axes,
    high: Axes,
    interior: Axes,
) -> Any:
    if not batched[0]:
        x = spread(size, False, x, x.shape)
    shape = x.shape[1:]
    low, high, interior = (0, *low), (0, *high), (0, *interior)
    if not batched[1]:
        return pad(x, value, low=low, high=high, interior=interior)
    inside = full(True, shape=(size, *shape), dtype=BOOL)
    inside = pad(inside, False, low=low, high=high, interior=interior)
    padded = pad(x, 0, low=low, high=high, interior=interior)
    row = elementwise.convert(value, dtype=x.dtype)
    return elementwise.select(inside, padded, broadcast_in_dim(row, shape=padded.shape, dims=(0,)))


pad = linear(
    "pad",
    operands=2,
    abstract=_pad_abstract,
    explicit=_pad_explicit,
    reference=_pad_reference,
    lower=_pad_lower,
    transpose=_pad_transpose,
    batch=_pad_batch,
)


# the engine uses these to make casts and broadcasts of recorded operands explicit
_plan_jaxpr.install(
    _plan_jaxpr.Structural(
        convert=elementwise.convert, broadcast_in_dim=broadcast_in_dim, slice=slice_
    )
)
