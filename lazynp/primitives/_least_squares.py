"""pinv and lstsq, by way of singular values; small ones are taken for zero.

Their derivatives hold where the rank does not change: Golub, Pereyra, SIAM J. Numer. Anal. 10
(1973) 413. Those of the singular vectors would not do, which are lost where values are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._primitive import NOT_LINEAR, Primitive
from lazynp.primitives import elementwise, shaping
from lazynp.primitives._matrices import (
    INT32,
    adjoint,
    check_matrix,
    diagonal,
    guarded,
    lower_failed,
    lower_nan_where,
    lower_zeros,
    matmul,
    real,
    real_dtype,
    stacked_batch,
    status_of,
)
from lazynp.primitives._orthogonal import svd

_add, _subtract = elementwise.add, elementwise.subtract


def _lower_adjoint(b: Any, x: Any) -> Any:
    n = x.aval.ndim
    x = b.transpose(x, (*range(n - 2), n - 1, n - 2))
    if x.aval.dtype.kind != "c":
        return x
    return b.complex(b.real(x), b.unary("stablehlo.negate", b.imag(x)))


def _lower_matmul(b: Any, x: Any, y: Any) -> Any:
    n = x.aval.ndim
    batch = tuple(range(n - 2))
    return b.dot_general(x, y, ((n - 1,), (n - 2,)), (batch, batch))


def _lower_largest(b: Any, s: Any) -> Any:
    """The first singular value of each matrix, spread over all of them."""
    shape = s.aval.shape
    axes = tuple(range(len(shape) - 1))
    first = b.slice(s, (0,) * len(shape), (*shape[:-1], 1))
    return b.broadcast_in_dim(b.reshape(first, shape[:-1]), shape, axes)


def _lower_inverse(b: Any, s: Any, above: Any, dtype: np.dtype[Any], k: int) -> Any:
    """1 / s, and 0 where s is too small, in k equal columns."""
    shape = s.aval.shape
    one, zero = (b.constant(v, s.aval.dtype, shape) for v in (1, 0))
    inverse = b.binary("stablehlo.divide", one, b.select(above, s, one))
    inverse = b.convert(b.select(above, inverse, zero), dtype)
    return b.broadcast_in_dim(inverse, (*shape, k), tuple(range(len(shape))))


# -- pinv ------------------------------------------------------------------------------------------
# rcond: one of each matrix, float64


def _pinv_abstract(a: Aval, rcond: Aval) -> tuple[Aval, ...]:
    check_matrix("pinv", a)
    if rcond is not aval_of(a.shape[:-2], np.float64):
        raise TypeError(f"pinv: one float64 is required for each matrix of {a}, got {rcond}")
    return aval_of((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype), status_of(a)


def _pinv_reference(a: Any, rcond: Any) -> tuple[Any, ...]:
    a, rcond = np.asarray(a), np.asarray(rcond)
    avals = _pinv_abstract(aval_of(a.shape, a.dtype), aval_of(rcond.shape, rcond.dtype))
    return guarded(lambda a, rcond: (np.linalg.pinv(a, rcond),), avals, a, rcond)


def _pinv_lower(b: Any, a: Any, rcond: Any) -> tuple[Any, ...]:
    out, status = _pinv_abstract(a.aval, rcond.aval)
    if a.aval.size == 0:
        return lower_zeros(b, out), lower_zeros(b, status)
    double = np.dtype("c16" if a.aval.dtype.kind == "c" else "f8")
    a = b.convert(a, double)
    u, s, vh, info = svd.lower(b, a, full_matrices=False, compute_uv=True)
    axes = tuple(range(s.aval.ndim - 1))
    fraction = b.broadcast_in_dim(rcond, s.aval.shape, axes)
    cutoff = b.binary("stablehlo.multiply", fraction, _lower_largest(b, s))
    above = b.compare(s, cutoff, "GT")
    inverse = _lower_inverse(b, s, above, double, u.aval.shape[-2])
    scaled = b.binary("stablehlo.multiply", inverse, _lower_adjoint(b, u))
    product = b.convert(_lower_matmul(b, _lower_adjoint(b, vh), scaled), out.dtype)
    return lower_nan_where(b, lower_failed(b, info), product), info


def _pinv_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """P' = - P A' P + P P^H A'^H (1 - A P) + (1 - P A) A'^H P^H P"""
    (a, rcond), (a_dot, _) = primals, tangents
    p, status = pinv(a, rcond)
    if a_dot is None:
        return (p, status), (None, None)
    back = adjoint(a_dot)
    left = matmul(matmul(p, adjoint(p)), back)
    right = matmul(back, matmul(adjoint(p), p))
    p_dot = _subtract(left, matmul(left, matmul(a, p)))
    p_dot = _add(p_dot, _subtract(right, matmul(p, matmul(a, right))))
    return (p, status), (_subtract(p_dot, matmul(matmul(p, a_dot), p)), None)


pinv = Primitive(
    "pinv",
    abstract=_pinv_abstract,
    reference=_pinv_reference,
    lower=_pinv_lower,
    jvp=_pinv_jvp,
    transpose=NOT_LINEAR,
    batch=stacked_batch(lambda: pinv),
    multiple_results=True,
    kind="linalg",
)


# -- lstsq -----------------------------------------------------------------------------------------
# results: x, rank, singular values, status. rcond: a Python float


def _lstsq_abstract(a: Aval, b: Aval, *, rcond: float) -> tuple[Aval, ...]:
    check_matrix("lstsq", a)
    if b.dtype != a.dtype:
        raise TypeError(f"lstsq: operands of one dtype are required, got {a} and {b}")
    if b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1]:
        raise ValueError(f"lstsq: as many rows are required in both operands, got {a} and {b}")
    *batch, m, n = a.shape
    values = aval_of((*batch, min(m, n)), real_dtype(a.dtype))
    return aval_of((*batch, n, b.shape[-1]), a.dtype), status_of(a), values, status_of(a)


def _lstsq_reference(a: Any, b: Any, *, rcond: float) -> tuple[Any, ...]:
    a, b = np.asarray(a), np.asarray(b)
    avals = _lstsq_abstract(aval_of(a.shape, a.dtype), aval_of(b.shape, b.dtype), rcond=rcond)
    if a.ndim == 2:
        return guarded(lambda a, b: _numpys_lstsq(a, b, rcond), avals, a, b)
    outs = tuple(np.zeros(x.shape, x.dtype) for x in avals)
    for i in range(len(a)):
        for out, row in zip(outs, _lstsq_reference(a[i], b[i], rcond=rcond), strict=True):
            out[i] = row
    return outs


def _numpys_lstsq(a: Any, b: Any, rcond: float) -> tuple[Any, ...]:
    x, _, rank, s = np.linalg.lstsq(a, b, rcond)
    return x, np.int32(rank), s


def _lstsq_lower(b: Any, a: Any, right: Any, *, rcond: float) -> tuple[Any, ...]:
    x_aval, rank_aval, s_aval, status = _lstsq_abstract(a.aval, right.aval, rcond=rcond)
    if a.aval.size == 0:
        x, rank, s = (lower_zeros(b, v) for v in (x_aval, rank_aval, s_aval))
        return x, rank, s, lower_zeros(b, status)
    u, s, vh, info = svd.lower(b, a, full_matrices=False, compute_uv=True)
    fraction = rcond if 0 < rcond < 1 else np.finfo(s_aval.dtype).eps / 2  # as LAPACK has it
    largest = _lower_largest(b, s)
    fraction = b.constant(fraction, s_aval.dtype, s_aval.shape)
    above = b.compare(s, b.binary("stablehlo.multiply", fraction, largest), "GT")
    zero = b.constant(0, INT32)
    counted = b.convert(above, INT32)
    (rank,) = b.reduce(
        [counted], [zero], (s_aval.ndim - 1,),
        lambda b, accs, xs: b.binary("stablehlo.add", accs[0], xs[0]),
    )  # fmt: skip
    if x_aval.size == 0:
        return lower_zeros(b, x_aval), rank, s, info
    inverse = _lower_inverse(b, s, above, a.aval.dtype, right.aval.shape[-1])
    parts = _lower_matmul(b, _lower_adjoint(b, u), right)
    x = _lower_matmul(
        b, _lower_adjoint(b, vh), b.binary("stablehlo.multiply", inverse, parts)
    )
    return lower_nan_where(b, lower_failed(b, info), x), rank, s, info


def _lstsq_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, rcond: float
) -> tuple[Any, Any]:
    """x = P b, with the derivative of P; no n x m matrix but P itself is made."""
    (a, b), (a_dot, b_dot) = primals, tangents
    x, rank, s, status = lstsq(a, b, rcond=rcond)
    outs = x, rank, s, status
    fraction = rcond if 0 < rcond < 1 else float(np.finfo(s.dtype).eps / 2)
    p = pinv(a, shaping.full(fraction, shape=a.shape[:-2], dtype=np.dtype("f8")))[0]
    if a_dot is None:
        return outs, (None if b_dot is None else matmul(p, b_dot), None, None, None)
    u, _, vh, _ = svd(a, full_matrices=False, compute_uv=True)
    s_dot = real(diagonal(matmul(matmul(adjoint(u), a_dot), adjoint(vh))))
    back = adjoint(a_dot)
    moved = elementwise.negative(matmul(a_dot, x))
    right = _add(moved, matmul(adjoint(p), matmul(back, _subtract(b, matmul(a, x)))))
    if b_dot is not None:
        right = _add(right, b_dot)
    free = matmul(back, matmul(adjoint(p), x))
    x_dot = _add(matmul(p, right), _subtract(free, matmul(p, matmul(a, free))))
    return outs, (x_dot, None, s_dot, None)


lstsq = Primitive(
    "lstsq",
    abstract=_lstsq_abstract,
    reference=_lstsq_reference,
    lower=_lstsq_lower,
    jvp=_lstsq_jvp,
    transpose=NOT_LINEAR,
    batch=stacked_batch(lambda: lstsq),
    multiple_results=True,
    kind="linalg",
)
