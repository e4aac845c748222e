"""Contractions: one primitive, `dot_general`, and its rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._fronts import in_front
from lazynp._primitive import Primitive, Undefined
from lazynp._quiet import quietly
from lazynp.primitives import elementwise, shaping
from lazynp.primitives._axes import of_one_dtype, transposed
from lazynp.primitives._layout import reduce_by

# ((x's contracted axes, y's), (x's batch axes, y's)), as in StableHLO
AxisPairs = tuple[tuple[int, ...], tuple[int, ...]]
DimensionNumbers = tuple[AxisPairs, AxisPairs]

_INT32, _FLOAT32, _BOOL = np.dtype("i4"), np.dtype("f4"), np.dtype("?")


def _free_axes(ndim: int, contracted: Sequence[int], batch: Sequence[int]) -> tuple[int, ...]:
    return tuple(i for i in range(ndim) if i not in contracted and i not in batch)


def _argsort(axes: Sequence[int]) -> tuple[int, ...]:
    """The inverse of a permutation."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


# -- dot_general ---------------------------------------------------------------------------------


def _dot_general_abstract(x: Aval, y: Aval, *, dimension_numbers: DimensionNumbers) -> Aval:
    (lc, rc), (lb, rb) = dimension_numbers
    if x.dtype != y.dtype:
        raise TypeError(f"dot_general: operands of one dtype are required, got {x} and {y}")
    for i, j in zip(lb + lc, rb + rc, strict=True):
        if x.shape[i] != y.shape[j]:
            raise ValueError(
                f"shapes {x.shape} and {y.shape} not aligned: "
                f"{x.shape[i]} (dim {i}) != {y.shape[j]} (dim {j})"
            )
    x_free, y_free = _free_axes(x.ndim, lc, lb), _free_axes(y.ndim, rc, rb)
    shape = (
        *(x.shape[i] for i in lb),
        *(x.shape[i] for i in x_free),
        *(y.shape[i] for i in y_free),
    )
    return aval_of(shape, x.dtype)


def _dot_general_reference(x: Any, y: Any, *, dimension_numbers: DimensionNumbers) -> Any:
    """`np.matmul` of transposed views, which BLAS accepts without a copy. Several axes are summed
    in the order in which they lie in memory: one of the operands may have to be copied.
    """
    x, y = np.asarray(x), np.asarray(y)
    (lc, rc), (lb, rb) = dimension_numbers
    if not lb and len(lc) == 1 and x.ndim <= 2 and y.ndim <= 2:
        return np.matmul(x if lc[0] == x.ndim - 1 else x.T, y if rc[0] == 0 else y.T)
    if len(lc) > 1:
        steps = [x.strides[i] for i in lc] if x.size >= y.size else [y.strides[i] for i in rc]
        ordered = sorted(zip(steps, lc, rc, strict=True), key=lambda axis: -abs(axis[0]))
        _, lc, rc = zip(*ordered, strict=True)
    x_free, y_free = _free_axes(x.ndim, lc, lb), _free_axes(y.ndim, rc, rb)
    batch = tuple(x.shape[i] for i in lb)
    m_dims, n_dims = [x.shape[i] for i in x_free], [y.shape[i] for i in y_free]
    m, n, k = math.prod(m_dims), math.prod(n_dims), math.prod(x.shape[i] for i in lc)
    left = x.transpose((*lb, *x_free, *lc)).reshape((*batch, m, k))
    right = y.transpose((*rb, *rc, *y_free)).reshape((*batch, k, n))
    return np.matmul(left, right).reshape((*batch, *m_dims, *n_dims))


def _dot_general_specialize(params: dict[str, Any], avals: tuple[Aval, ...]) -> Any:
    """Products of matrices and vectors: `np.matmul`, of transposed views where necessary."""
    (lc, rc), (lb, _) = params["dimension_numbers"]
    x, y = avals
    if lb or len(lc) != 1 or not 0 < x.ndim <= 2 or not 0 < y.ndim <= 2:
        return None
    turned = int(lc[0] != x.ndim - 1) + 2 * int(rc[0] != 0)  # bits of the operands
    if not turned:
        return np.matmul

    def product(a: Any, b: Any) -> Any:
        return np.matmul(a.T if turned & 1 else a, b.T if turned & 2 else b)

    return in_front("product", product, function=np.matmul, symbol=turned)


def _dot_general_lower(b: Any, x: Any, y: Any, *, dimension_numbers: DimensionNumbers) -> Any:
    contracting, batching = dimension_numbers
    out = _dot_general_abstract(x.aval, y.aval, dimension_numbers=dimension_numbers)
    if out.size == 0 or x.aval.size == 0:
        return b.constant(False if out.dtype.kind == "b" else 0, out.dtype, out.shape)
    dtype = out.dtype
    if dtype.kind == "b":  # a float32 count of ones never falls back to 0, however large
        x, y = b.convert(x, _FLOAT32), b.convert(y, _FLOAT32)
        counts = b.dot_general(x, y, contracting, batching)
        return b.compare(counts, b.constant(0.0, _FLOAT32, out.shape), "NE")
    if dtype.kind == "f" and dtype.itemsize == 2:  # NumPy sums in float32 and rounds once
        wide = _FLOAT32
    elif dtype.kind in "iu" and dtype.itemsize <= 4:
        wide = _INT32  # has the same low bits, and is the only integer product with a fast kernel
    else:
        wide = dtype
    x, y = b.convert(x, wide), b.convert(y, wide)
    if dtype.kind in "iu" and dtype.itemsize == 8 and b.platform.host:
        return _int64_product(b, x, y, dimension_numbers)
    return b.convert(b.dot_general(x, y, contracting, batching), dtype)


def _int64_product(b: Any, x: Any, y: Any, dimension_numbers: DimensionNumbers) -> Any:
    """XLA's plain loop is ten times faster if the contracted axes are contiguous."""
    (lc, rc), (lb, rb) = dimension_numbers

    def contracted_last(v: Any, contracted: tuple[int, ...], batch: tuple[int, ...]) -> Any:
        perm = batch + _free_axes(v.aval.ndim, contracted, batch) + contracted
        if perm == tuple(range(v.aval.ndim)):
            return v
        return b.barrier(b.transpose(v, perm))  # otherwise XLA folds the transpose into the dot

    x, y = contracted_last(x, lc, lb), contracted_last(y, rc, rb)
    batch = tuple(range(len(lb)))
    last = [tuple(range(v.aval.ndim - len(lc), v.aval.ndim)) for v in (x, y)]
    return b.dot_general(x, y, tuple(last), (batch, batch))


def _dot_general_tangent(product: Primitive, primals: Any, tangents: Any, numbers: Any) -> Any:
    """The sum of the products with each tangent."""
    (x, y), (x_dot, y_dot) = primals, tangents
    terms = []
    if x_dot is not None:
        terms.append(product(x_dot, y, dimension_numbers=numbers))
    if y_dot is not None:
        terms.append(product(x, y_dot, dimension_numbers=numbers))
    if len(terms) == 2:
        return elementwise.add(*terms)
    return terms[0] if terms else None


def _dot_general_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, dimension_numbers: DimensionNumbers
) -> tuple[Any, Any]:
    out = dot_general(*primals, dimension_numbers=dimension_numbers)
    return out, _dot_general_tangent(dot_no_nan, primals, tangents, dimension_numbers)


def _dot_general_linearize(
    primals: Sequence[Any], tangents: Sequence[Any], *, dimension_numbers: DimensionNumbers
) -> tuple[Any, Any]:
    """The plain products: run backwards, a tangent that is infinite is not known yet."""
    out = dot_general(*primals, dimension_numbers=dimension_numbers)
    return out, _dot_general_tangent(dot_general, primals, tangents, dimension_numbers)


def _dot_general_transpose(
    ct: Any, x: Any, y: Any, *, dimension_numbers: DimensionNumbers
) -> list[Any]:
    (lc, rc), (lb, rb) = dimension_numbers
    x_free, y_free = _free_axes(x.aval.ndim, lc, lb), _free_axes(y.aval.ndim, rc, rb)
    n_batch, n_x = len(lb), len(x_free)
    batch, ct_ndim = tuple(range(n_batch)), n_batch + n_x + len(y_free)
    if isinstance(x, Undefined):  # contract ct with y over y's free axes
        of_y = tuple(range(n_batch + n_x, ct_ndim))
        ct_x = _product(ct, y, ((of_y, y_free), (batch, rb)))
        # the axes are now: batch, x's free axes, x's contracted axes in the order of y's
        axes = lb + x_free + tuple(lc[i] for i in _argsort(rc))
        return [transposed(ct_x, _argsort(axes)), None]
    of_x = tuple(range(n_batch, n_batch + n_x))
    ct_y = _product(ct, x, ((of_x, x_free), (batch, lb)))
    axes = rb + y_free + tuple(rc[i] for i in _argsort(lc))
    return [None, transposed(ct_y, _argsort(axes))]


def _product(ct: Any, x: Any, dimension_numbers: DimensionNumbers) -> Any:
    """A contraction; of nothing contracted the plain products, where zero times infinity is zero
    (the derivative of sqrt(x @ x) at 0)."""
    (contracted, _), (batch, x_batch) = dimension_numbers
    if contracted:
        return dot_general(ct, x, dimension_numbers=dimension_numbers)
    # batch axes are first in ct
    free = _free_axes(x.aval.ndim, (), x_batch)
    row = transposed(x, (*x_batch, *free))
    mine, shape = ct.aval.shape[len(batch) :], row.aval.shape
    if mine and free:
        row = shaping.reshape(
            row, shape=(*shape[: len(batch)], *(1 for _ in mine), *shape[len(batch) :])
        )
    column = shaping.reshape(ct, shape=(*ct.aval.shape, *(1 for _ in free))) if free else ct
    return elementwise.multiply_no_nan(column, row)


def _batched(
    product: Primitive, batched: Sequence[bool], x: Any, y: Any, dimension_numbers: DimensionNumbers
) -> Any:
    """If both are batched, add a batch axis; if one is, add a free axis."""
    (lc, rc), (lb, rb) = dimension_numbers

    def shifted(axes: tuple[int, ...], by: bool) -> tuple[int, ...]:
        return tuple(i + 1 for i in axes) if by else axes

    x_batched, y_batched = batched
    lc, lb = shifted(lc, x_batched), shifted(lb, x_batched)
    rc, rb = shifted(rc, y_batched), shifted(rb, y_batched)
    if x_batched and y_batched:
        return product(x, y, dimension_numbers=((lc, rc), ((0, *lb), (0, *rb))))
    out = product(x, y, dimension_numbers=((lc, rc), (lb, rb)))
    # the new axis comes first among x's free axes, or first among y's
    at = len(lb) if x_batched else x.aval.ndim - len(lc)
    return transposed(out, (at, *(i for i in range(out.ndim) if i != at)))


def _dot_general_batch(
    size: int, batched: Sequence[bool], x: Any, y: Any, *, dimension_numbers: DimensionNumbers
) -> Any:
    return _batched(dot_general, batched, x, y, dimension_numbers)


dot_general = Primitive(
    "dot_general",
    abstract=_dot_general_abstract,
    explicit=of_one_dtype,
    reference=_dot_general_reference,
    specialize=_dot_general_specialize,
    lower=_dot_general_lower,
    jvp=_dot_general_jvp,
    transpose=_dot_general_transpose,
    batch=_dot_general_batch,
    linearize=_dot_general_linearize,
    kind="contract",
)


# -- dot_no_nan ----------------------------------------------------------------------------------


def _dot_no_nan_reference(x: Any, y: Any, *, dimension_numbers: DimensionNumbers) -> Any:
    out = quietly(_dot_general_reference, [x, y], dimension_numbers=dimension_numbers)
    if (total := np.add.reduce(out, axis=None)) == total:  # quicker than to look for a nan
        return out
    lost = np.isnan(out)
    if not lost.any():
        return out
    (lc, rc), (lb, rb) = dimension_numbers
    x_free, y_free = _free_axes(x.ndim, lc, lb), _free_axes(y.ndim, rc, rb)
    left = x.transpose((*lc, *lb, *x_free)).reshape((-1, *(x.shape[i] for i in lb + x_free)))
    right = y.transpose((*rc, *rb, *y_free)).reshape((-1, *(y.shape[i] for i in rb + y_free)))
    left = left.reshape((*left.shape, *(1 for _ in y_free)))
    n = 1 + len(lb)
    right = right.reshape((*right.shape[:n], *(1 for _ in x_free), *right.shape[n:]))
    return np.where(lost, quietly(_outer_sum, [left, right, np.zeros_like(out)]), out)[()]


def _outer_sum(left: Any, right: Any, total: Any) -> Any:
    """The sum over the first axis, added to `total`, term by term."""
    for row, column in zip(left, right, strict=True):
        total += elementwise.multiply_no_nan.reference(row, column)
    return total


def _dot_no_nan_lower(b: Any, x: Any, y: Any, *, dimension_numbers: DimensionNumbers) -> Any:
    out = _dot_general_lower(b, x, y, dimension_numbers=dimension_numbers)
    if out.aval.size == 0 or x.aval.size == 0 or not hasattr(b, "if_"):  # none in kernels
        return out
    lost = b.compare(out, out, "NE")
    dims = tuple(range(out.aval.ndim))
    some = reduce_by(b, "stablehlo.or", lost, False, dims) if dims else lost

    def one_by_one(b: Any) -> Any:
        return [b.select(lost, _products(b, x, y, dimension_numbers), out)]

    return b.if_(some, one_by_one, lambda b: [out])[0]


def _products(b: Any, x: Any, y: Any, dimension_numbers: DimensionNumbers) -> Any:
    """The sum of the products that are not nan, without a kernel for matrices."""
    (lc, rc), (lb, rb) = dimension_numbers
    x_free, y_free = _free_axes(x.aval.ndim, lc, lb), _free_axes(y.aval.ndim, rc, rb)
    sizes = [x.aval.shape[i] for i in (*lb, *x_free)] + [y.aval.shape[i] for i in y_free]
    count, m, k = len(lb), len(x_free), len(lc)
    shape = (*sizes, *(x.aval.shape[i] for i in lc))
    mine = {axis: i for i, axis in enumerate((*lb, *x_free))}
    mine |= {axis: len(sizes) + i for i, axis in enumerate(lc)}
    other = {axis: i for i, axis in enumerate(rb)}
    other |= {axis: count + m + i for i, axis in enumerate(y_free)}
    other |= {axis: len(sizes) + i for i, axis in enumerate(rc)}
    rows = b.broadcast_in_dim(x, shape, tuple(mine[i] for i in range(len(mine))))
    columns = b.broadcast_in_dim(y, shape, tuple(other[i] for i in range(len(other))))
    products = elementwise.multiply_no_nan.lower(b, rows, columns)
    axes = tuple(range(len(sizes), len(sizes) + k))
    return reduce_by(b, "stablehlo.add", products, 0, axes) if k else products


def _dot_no_nan_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, dimension_numbers: DimensionNumbers
) -> tuple[Any, Any]:
    out = dot_no_nan(*primals, dimension_numbers=dimension_numbers)
    return out, _dot_general_tangent(dot_no_nan, primals, tangents, dimension_numbers)


def _dot_no_nan_batch(
    size: int, batched: Sequence[bool], x: Any, y: Any, *, dimension_numbers: DimensionNumbers
) -> Any:
    return _batched(dot_no_nan, batched, x, y, dimension_numbers)


# a product with a tangent: zero times infinity is zero, as in `multiply_no_nan`
dot_no_nan = Primitive(
    "dot_no_nan",
    abstract=_dot_general_abstract,
    explicit=of_one_dtype,
    reference=_dot_no_nan_reference,
    lower=_dot_no_nan_lower,
    jvp=_dot_no_nan_jvp,
    transpose=_dot_general_transpose,
    batch=_dot_no_nan_batch,
    kind="contract",
)
FORWARDS = {dot_general: dot_no_nan}  # of linear operations, when tangents are known
