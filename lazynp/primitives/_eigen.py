"""Eigenvalues and eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._primitive import NOT_LINEAR, Primitive
from lazynp.primitives import elementwise, reduction
from lazynp.primitives._matrices import (
    adjoint,
    as_row,
    check_matrix,
    complex_dtype,
    conjugated,
    diagonal,
    gaps,
    guarded,
    hermitian,
    inverse_or_zero,
    lower_failed,
    lower_nan_where,
    lower_zeros,
    matmul,
    real,
    real_dtype,
    stacked_batch,
    status_of,
)
from lazynp.primitives._systems import solve


def _with_vectors(w: Any, v: Any, status: Any, compute_v: bool) -> tuple[Any, ...]:
    return (w, v, status) if compute_v else (w, status)


# -- eigh ------------------------------------------------------------------------------------------


def _eigh_avals(a: Aval) -> tuple[Aval, Aval, Aval]:
    check_matrix("eigh", a, square=True)
    return aval_of(a.shape[:-1], real_dtype(a.dtype)), a, status_of(a)


def _eigh_abstract(a: Aval, *, lower: bool, compute_v: bool) -> tuple[Aval, ...]:
    w, v, status = _eigh_avals(a)
    return _with_vectors(w, v, status, compute_v)


def _eigh_reference(a: Any, *, lower: bool, compute_v: bool) -> tuple[Any, ...]:
    a, uplo = np.asarray(a), "L" if lower else "U"

    def decompose(a: Any) -> tuple[Any, ...]:
        return tuple(np.linalg.eigh(a, uplo)) if compute_v else (np.linalg.eigvalsh(a, uplo),)

    avals = _eigh_abstract(aval_of(a.shape, a.dtype), lower=lower, compute_v=compute_v)
    return guarded(decompose, avals, a)


def _eigh_lower(b: Any, a: Any, *, lower: bool, compute_v: bool) -> tuple[Any, ...]:
    w, v, status = _eigh_avals(a.aval)
    if a.aval.size == 0:
        return _with_vectors(lower_zeros(b, w), a, lower_zeros(b, status), compute_v)
    vectors, values, info = b.platform.solvers.hermitian(b, a, lower, compute_v)
    failed = lower_failed(b, info)
    values = lower_nan_where(b, failed, values)
    if compute_v:
        vectors = lower_nan_where(b, failed, vectors)
    return _with_vectors(values, vectors, info, compute_v)


def _eigh_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, lower: bool, compute_v: bool
) -> tuple[Any, Any]:
    """Only the triangle of A' that `lower` selects counts. Eigenvectors of equal eigenvalues get no
    rotation, where rounding counts as nothing: what depends on all of them, as their projection,
    would be a difference of large numbers.
    """
    (a,), (a_dot,) = primals, tangents
    if a_dot is None:
        outs = eigh(a, lower=lower, compute_v=compute_v)
        return outs, (None,) * len(outs)
    w, v, status = eigh(a, lower=lower, compute_v=True)
    inside = matmul(matmul(adjoint(v), hermitian(a_dot, lower)), v)
    w_dot = real(diagonal(inside))
    if not compute_v:
        return (w, status), (w_dot, None)
    v_dot = matmul(v, _turned(w, inside))
    return (w, v, status), (w_dot, v_dot, None)


def _turned(w: Any, inside: Any) -> Any:
    """inside[i, j] / (w[j] - w[i])"""
    return elementwise.multiply(inverse_or_zero(gaps(w)), inside)


eigh = Primitive(
    "eigh",
    abstract=_eigh_abstract,
    reference=_eigh_reference,
    lower=_eigh_lower,
    jvp=_eigh_jvp,
    transpose=NOT_LINEAR,
    batch=stacked_batch(lambda: eigh),
    multiple_results=True,
    kind="linalg",
)


# -- eig -------------------------------------------------------------------------------------------


def _eig_avals(a: Aval) -> tuple[Aval, Aval, Aval]:
    check_matrix("eig", a, square=True)
    dtype = complex_dtype(a.dtype)
    return aval_of(a.shape[:-1], dtype), aval_of(a.shape, dtype), status_of(a)


def _eig_abstract(a: Aval, *, compute_v: bool) -> tuple[Aval, ...]:
    w, v, status = _eig_avals(a)
    return _with_vectors(w, v, status, compute_v)


def _eig_reference(a: Any, *, compute_v: bool) -> tuple[Any, ...]:
    a = np.asarray(a)
    dtype = complex_dtype(a.dtype)

    def decompose(a: Any) -> tuple[Any, ...]:
        outs = np.linalg.eig(a) if compute_v else (np.linalg.eigvals(a),)
        return tuple(x.astype(dtype, copy=False) for x in outs)

    return guarded(decompose, _eig_abstract(aval_of(a.shape, a.dtype), compute_v=compute_v), a)


def _eig_lower(b: Any, a: Any, *, compute_v: bool) -> tuple[Any, ...]:
    w, v, status = _eig_avals(a.aval)
    if a.aval.size == 0:
        good = lower_zeros(b, status)
        return _with_vectors(lower_zeros(b, w), lower_zeros(b, v), good, compute_v)
    value, vectors, info = b.platform.solvers.eigen(b, a, compute_v)
    failed = lower_failed(b, info)
    value = lower_nan_where(b, failed, value)
    if compute_v:
        vectors = lower_nan_where(b, failed, vectors)
    return _with_vectors(value, vectors, info, compute_v)


def _eig_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, compute_v: bool
) -> tuple[Any, Any]:
    """Eigenvectors keep LAPACK's normalisation: unit length, largest component real."""
    (a,), (a_dot,) = primals, tangents
    if a_dot is None:
        outs = eig(a, compute_v=compute_v)
        return outs, (None,) * len(outs)
    w, v, status = eig(a, compute_v=True)
    a_dot = elementwise.convert(a_dot, dtype=v.dtype)
    inside = solve(v, matmul(a_dot, v))[0]
    w_dot = diagonal(inside)
    if not compute_v:
        return (w, status), (w_dot, None)
    free = matmul(v, _turned(w, inside))
    return (w, v, status), (w_dot, elementwise.add(free, _normalizing(v, free)), None)


def _normalizing(v: Any, free: Any) -> Any:
    """The multiple of each column that preserves its length and phase."""
    rows, dtype = v.ndim - 2, v.dtype
    stretch = _sum(elementwise.real(elementwise.multiply(conjugated(v), free)), rows)
    size = elementwise.absolute(v)
    peak = reduction.reduce_max(size, axes=(rows,))
    at = elementwise.equal(size, as_row(peak))
    # LAPACK makes the largest component real; it specifies no phase where several are equally large
    picked = elementwise.multiply(elementwise.select(at, 1.0, 0.0), elementwise.imag(free))
    turn = elementwise.divide(_sum(picked, rows), peak)
    factor = elementwise.negative(elementwise.complex_(stretch, turn))
    return elementwise.multiply(v, as_row(elementwise.convert(factor, dtype=dtype)))


def _sum(x: Any, axis: int) -> Any:
    return reduction.reduce_sum(x, axes=(axis,))


eig = Primitive(
    "eig",
    abstract=_eig_abstract,
    reference=_eig_reference,
    lower=_eig_lower,
    jvp=_eig_jvp,
    transpose=NOT_LINEAR,
    batch=stacked_batch(lambda: eig),
    multiple_results=True,
    kind="linalg",
)
