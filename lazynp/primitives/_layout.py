"""full, iota, broadcast_in_dim and its transpose reduce_sum, reshape, transpose, reverse.

This module also holds what all structural primitives share: `linear`, which derives the jvp of a
linear operation from the operation itself, and the broadcasting that batch rules need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from lazynp._avals import Aval, In, Shape, aval_of
from lazynp._extents import may_be_equal, surely
from lazynp._fronts import in_front
from lazynp._interpreter import with_params
from lazynp._primitive import Missing, Primitive, Rule
from lazynp.primitives import elementwise

Dtype = np.dtype[Any]
Axes = tuple[int, ...]
INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)


def linear(
    name: str,
    *,
    abstract: Rule,
    reference: Rule,
    lower: Rule,
    transpose: Rule | Missing,
    batch: Rule,
    operands: int | None = 1,
    **others: Any,
) -> Primitive:
    """A primitive linear in its first `operands` operands taken together (None: in all).

    `others`: as `Primitive` takes them.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive(*primals, **params)
        n = len(primals) if operands is None else operands
        if out.dtype.kind not in "fc" or all(t is None for t in tangents[:n]):
            return out, None
        moving = [
            zeros_of(p) if t is None else t for p, t in zip(primals[:n], tangents[:n], strict=True)
        ]
        return out, primitive(*moving, *primals[n:], **params)

    primitive = Primitive(
        name=name,
        abstract=abstract,
        reference=reference,
        lower=lower,
        jvp=jvp,
        transpose=transpose,
        batch=batch,
        **others,
    )
    return primitive


def zeros_of(x: Any) -> Any:
    """A zero for the tangent of x, an Array or a Python scalar."""
    aval = getattr(x, "aval", None)
    return 0 if aval is None else full(0, shape=aval.shape, dtype=aval.dtype)


def shape_of(x: Any) -> Shape:
    """The shape of an operand; () for Python scalars."""
    return getattr(x, "shape", ())


def spread(size: int, batched: bool, x: Any, shape: Shape) -> Any:
    """x as a batch of arrays of this shape: (size, *shape). Broadcasts each example as NumPy
    does.
    """
    if not hasattr(x, "shape"):
        return full(x, shape=(size, *shape), dtype=np.asarray(x).dtype)
    if batched and x.ndim == 1 + len(shape):
        if all(surely(a == b) for a, b in zip(x.shape, (size, *shape), strict=True)):
            return x
    inner = x.shape[1:] if batched else x.shape
    dims = tuple(range(1 + len(shape) - len(inner), 1 + len(shape)))
    return broadcast_in_dim(x, shape=(size, *shape), dims=(0, *dims) if batched else dims)


def check_axes(name: str, ndim: int, axes: Sequence[int]) -> None:
    for axis in axes:
        if not 0 <= axis < ndim:
            raise AxisError(axis, ndim)
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis' of {name}: {tuple(axes)}")


def kept_axes(ndim: int, axes: Sequence[int]) -> Axes:
    return tuple(i for i in range(ndim) if i not in axes)


def reduced_shape(name: str, shape: Shape, axes: Sequence[int]) -> Shape:
    check_axes(name, len(shape), axes)
    return tuple(shape[i] for i in kept_axes(len(shape), axes))


def shifted(axes: Sequence[int]) -> Axes:
    """The axes of an array after a batch axis was put in front."""
    return tuple(a + 1 for a in axes)


# -- full --------------------------------------------------------------------------------------


def _full_abstract(value: Aval, *, shape: Shape, dtype: Dtype) -> Aval:
    if value.shape:
        raise ValueError(f"full: the value must be a scalar, got shape {value.shape}")
    return aval_of(shape, dtype)


def _full_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    return (aval_of((), params["dtype"]),)


_NUMBERS = (int, float, bool, np.float64)


def _full_reference(value: Any, *, shape: Shape, dtype: Dtype) -> Any:
    if type(value) in _NUMBERS and not value and math.copysign(1, value) > 0:
        return np.zeros(shape, dtype)  # the system may know that its pages hold zeros
    return np.full(shape, value, dtype)


def _full_lower(b: Any, value: Any, *, shape: Shape, dtype: Dtype) -> Any:
    return b.splat(value, shape)


def _full_transpose(ct: Any, value: Any, *, shape: Shape, dtype: Dtype) -> list[Any]:
    return [reduce_sum(ct, axes=tuple(range(len(shape))))]


def _full_batch(
    size: int, batched: Sequence[bool], value: Any, *, shape: Shape, dtype: Dtype
) -> Any:
    row = value if value.dtype == dtype else elementwise.convert(value, dtype=dtype)
    return broadcast_in_dim(row, shape=(size, *shape), dims=(0,))


full = linear(
    "full",
    abstract=_full_abstract,
    explicit=_full_explicit,
    reference=_full_reference,
    lower=_full_lower,
    transpose=_full_transpose,
    batch=_full_batch,
    free=True,
    kind="fill",
)


# -- iota --------------------------------------------------------------------------------------


def _iota_abstract(*, shape: Shape, axis: int, dtype: Dtype) -> Aval:
    check_axes("iota", len(shape), (axis,))
    return aval_of(shape, dtype)


def _iota_reference(*, shape: Shape, axis: int, dtype: Dtype) -> Any:
    counted = dtype if dtype == np.float64 else None  # other dtypes may not hold the last numbers
    line = np.arange(shape[axis], dtype=counted).astype(dtype, copy=False)
    if len(shape) == 1:
        return line
    line = line.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(line, shape).copy()


def _iota_lower(b: Any, *, shape: Shape, axis: int, dtype: Dtype) -> Any:
    if dtype.itemsize >= 4 and dtype.kind in "iuf":
        return b.iota(shape, axis, dtype)
    count = b.iota(shape, axis, INT64)  # then round or wrap as a cast does
    if dtype == BOOL:
        return b.compare(count, b.constant(0, INT64, shape), "NE")
    return b.convert(count, dtype)


def _iota_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, None]:
    return iota(**params), None


def _iota_batch(size: int, batched: Sequence[bool], **params: Any) -> Any:
    return spread(size, False, iota(**params), params["shape"])


iota = Primitive(
    "iota",
    abstract=_iota_abstract,
    reference=_iota_reference,
    lower=_iota_lower,
    jvp=_iota_jvp,
    transpose=Missing("it has no operands"),
    batch=_iota_batch,
    free=True,
    kind="fill",
)


# -- broadcast_in_dim and reduce_sum, transposes of each other ---------------------------------


def _broadcast_in_dim_abstract(x: Aval, *, shape: Shape, dims: Axes) -> Aval:
    fits = len(dims) == x.ndim and all(
        0 <= d < len(shape) and n in (1, shape[d]) for n, d in zip(x.shape, dims, strict=True)
    )
    if not fits or list(dims) != sorted(set(dims)):
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{x.shape}  and requested shape {shape}"
        )
    return aval_of(shape, x.dtype)


_COPIED = 1024  # elements: up to this size, copying is faster than making a view by broadcast_to


def _broadcast_in_dim_reference(x: Any, *, shape: Shape, dims: Axes) -> Any:
    x = np.asarray(x)
    if dims and dims[0] != len(shape) - len(dims):  # aligned differently from NumPy's broadcasting
        aligned = [1] * len(shape)
        for n, d in zip(x.shape, dims, strict=True):
            aligned[d] = n
        x = x.reshape(aligned)
    if math.prod(shape) > _COPIED:
        return np.broadcast_to(x, shape)
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def _broadcast_specialize(params: dict[str, Any], avals: tuple[Aval, ...]) -> Any:
    """Small results in C."""
    shape, dims = params["shape"], params["dims"]
    if math.prod(shape) > _COPIED:
        return None
    aligned = [1] * len(shape)
    for n, d in zip(avals[0].shape, dims, strict=True):
        aligned[d] = n
    rule = with_params(_broadcast_in_dim_reference, params)
    return in_front("shaped", rule, aligned=tuple(aligned), shape=shape, symbol="b")


def _broadcast_in_dim_lower(b: Any, x: Any, *, shape: Shape, dims: Axes) -> Any:
    return b.broadcast_in_dim(x, shape, dims)


def _broadcast_in_dim_transpose(ct: Any, x: Any, *, shape: Shape, dims: Axes) -> list[Any]:
    same = [d for n, d in zip(x.aval.shape, dims, strict=True) if n == shape[d]]
    out = reduce_sum(ct, axes=kept_axes(len(shape), same))
    return [out if out.shape == x.aval.shape else reshape(out, shape=x.aval.shape)]


def _broadcast_in_dim_batch(
    size: int, batched: Sequence[bool], x: Any, *, shape: Shape, dims: Axes
) -> Any:
    return broadcast_in_dim(x, shape=(size, *shape), dims=(0, *shifted(dims)))


broadcast_in_dim = linear(
    "broadcast_in_dim",
    abstract=_broadcast_in_dim_abstract,
    reference=_broadcast_in_dim_reference,
    specialize=_broadcast_specialize,
    lower=_broadcast_in_dim_lower,
    transpose=_broadcast_in_dim_transpose,
    batch=_broadcast_in_dim_batch,
    free=True,
    kind="view",
)


def _reduce_sum_abstract(x: Aval, *, axes: Axes) -> Aval:
    return aval_of(reduced_shape("reduce_sum", x.shape, axes), x.dtype)


def _reduce_sum_reference(x: Any, *, axes: Axes) -> Any:
    x = np.asarray(x)
    return np.add.reduce(x, axis=axes, dtype=x.dtype)


def reduce_specialize(ufunc: np.ufunc) -> Any:
    """The reference of a reduction by this ufunc; decides ahead what need not be decided at every
    call.
    """

    def specialize(params: dict[str, Any], avals: tuple[Aval, ...]) -> Any:
        axes, dtype, over = params["axes"], avals[0].dtype, ufunc.reduce
        if not axes:
            return None
        axis = axes[0] if len(axes) == 1 else axes
        if dtype.kind in "fc":  # NumPy chooses this too
            return lambda x: over(x, axis)
        return lambda x: over(x, axis, dtype)

    return specialize


# Sum float16 and float32 in the next wider precision. One rounding at the end is more accurate than
# pairwise summation, and it costs little because a sum waits for its additions anyway.
_ACCUMULATE_IN = {"e": "f4", "f": "f8"}


def _reduce_sum_lower(b: Any, x: Any, *, axes: Axes) -> Any:
    dtype = x.aval.dtype
    if not axes:
        return x
    if dtype.kind == "c":  # part by part: XLA adds complex numbers sequentially
        return b.complex(
            *[_reduce_sum_lower(b, part, axes=axes) for part in (b.real(x), b.imag(x))]
        )
    exact = b.platform.host or dtype.itemsize < 4  # elsewhere float64 is slow, and trees are exact
    wide = np.dtype(_ACCUMULATE_IN.get(dtype.char, dtype) if exact else dtype)
    op = "stablehlo.or" if dtype == BOOL else "stablehlo.add"
    return b.convert(reduce_by(b, op, b.convert(x, wide), 0, axes), dtype)


def reduce_by(b: Any, op: str, x: Any, init: Any, axes: Axes) -> Any:
    """Reduce by one StableHLO operation."""
    if b.is_wide(x.aval, axes):
        return b.folded(op, x, axes)
    init = b.constant(init, x.aval.dtype)
    return b.reduce([x], [init], axes, lambda b, acc, elem: [b.binary(op, acc[0], elem[0])], op)[0]


def _reduce_sum_transpose(ct: Any, x: Any, *, axes: Axes) -> list[Any]:
    shape = x.aval.shape
    return [broadcast_in_dim(ct, shape=shape, dims=kept_axes(len(shape), axes))]


def _reduce_sum_batch(size: int, batched: Sequence[bool], x: Any, *, axes: Axes) -> Any:
    return reduce_sum(x, axes=shifted(axes))


reduce_sum = linear(
    "reduce_sum",
    abstract=_reduce_sum_abstract,
    reference=_reduce_sum_reference,
    specialize=reduce_specialize(np.add),
    lower=_reduce_sum_lower,
    transpose=_reduce_sum_transpose,
    batch=_reduce_sum_batch,
    kind="reduction",
)


# -- reshape -----------------------------------------------------------------------------------


def _reshape_abstract(x: Aval, *, shape: Shape) -> Aval:
    if not may_be_equal(math.prod(shape), x.size):
        wanted = str(tuple(shape)).replace(" ", "")
        raise ValueError(f"cannot reshape array of size {x.size} into shape {wanted}")
    return aval_of(shape, x.dtype)


_REPEATS = 16


def _reshape_reference(x: Any, *, shape: Shape) -> Any:
    """NumPy is ten times slower where a short last axis repeats each element (stride 0): it copies
    element by element. So copy all elements once for each place on that axis first.
    """
    if x.ndim and x.strides[-1] == 0 and 1 < x.shape[-1] <= _REPEATS and x.size > _COPIED:
        out = np.empty(x.shape, x.dtype)
        for i in range(x.shape[-1]):
            out[..., i] = x[..., i]
        x = out
    return np.reshape(x, shape)


def _reshape_specialize(params: dict[str, Any], avals: tuple[Aval, ...]) -> Any:
    rule = with_params(_reshape_reference, params)
    return in_front("shaped", rule, shape=params["shape"], symbol="r")


def _reshape_lower(b: Any, x: Any, *, shape: Shape) -> Any:
    return b.reshape(x, shape)


def _reshape_transpose(ct: Any, x: Any, *, shape: Shape) -> list[Any]:
    return [reshape(ct, shape=x.aval.shape)]


def _reshape_batch(size: int, batched: Sequence[bool], x: Any, *, shape: Shape) -> Any:
    return reshape(x, shape=(size, *shape))


reshape = linear(
    "reshape",
    abstract=_reshape_abstract,
    reference=_reshape_reference,
    specialize=_reshape_specialize,
    lower=_reshape_lower,
    transpose=_reshape_transpose,
    batch=_reshape_batch,
    free=True,
    copies=True,
    kind="view",
)


# -- transpose ---------------------------------------------------------------------------------


def _transpose_abstract(x: Aval, *, permutation: Axes) -> Aval:
    if len(permutation) != x.ndim:
        raise ValueError("axes don't match array")
    if sorted(permutation) != list(range(x.ndim)):
        raise ValueError("repeated axis in transpose")
    return aval_of(tuple(x.shape[p] for p in permutation), x.dtype)


def _transpose_reference(x: Any, *, permutation: Axes) -> Any:
    return np.asarray(x).transpose(permutation)


def _transpose_lower(b: Any, x: Any, *, permutation: Axes) -> Any:
    return b.transpose(x, permutation)


def _transpose_transpose(ct: Any, x: Any, *, permutation: Axes) -> list[Any]:
    inverse = sorted(range(len(permutation)), key=permutation.__getitem__)
    return [transpose(ct, permutation=tuple(inverse))]


def _transpose_batch(size: int, batched: Sequence[bool], x: Any, *, permutation: Axes) -> Any:
    return transpose(x, permutation=(0, *shifted(permutation)))


transpose = linear(
    "transpose",
    abstract=_transpose_abstract,
    reference=_transpose_reference,
    lower=_transpose_lower,
    transpose=_transpose_transpose,
    batch=_transpose_batch,
    free=True,
    kind="view",
)


def axis_to(x: Any, source: int, target: int) -> Any:
    """Move one axis of x and keep the others in order (a recorded transpose)."""
    order = [i for i in range(len(x.shape)) if i != source]
    order.insert(target, source)
    return x if source == target else transpose(x, permutation=tuple(order))


# -- reverse -----------------------------------------------------------------------------------


def _reverse_abstract(x: Aval, *, axes: Axes) -> Aval:
    check_axes("reverse", x.ndim, axes)
    return aval_of(x.shape, x.dtype)


def _reverse_reference(x: Any, *, axes: Axes) -> Any:
    return np.flip(x, axes)


def _reverse_lower(b: Any, x: Any, *, axes: Axes) -> Any:
    return b.reverse(x, axes)


def _reverse_transpose(ct: Any, x: Any, *, axes: Axes) -> list[Any]:
    return [reverse(ct, axes=axes)]


def _reverse_batch(size: int, batched: Sequence[bool], x: Any, *, axes: Axes) -> Any:
    return reverse(x, axes=shifted(axes))


reverse = linear(
    "reverse",
    abstract=_reverse_abstract,
    reference=_reverse_reference,
    lower=_reverse_lower,
    transpose=_reverse_transpose,
    batch=_reverse_batch,
    free=True,
    kind="view",
)
