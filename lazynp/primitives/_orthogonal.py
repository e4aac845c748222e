"""QR and singular value decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._primitive import NOT_LINEAR, Missing, Primitive
from lazynp._sizes import smallest
from lazynp.primitives import elementwise, shaping
from lazynp.primitives._matrices import (
    adjoint,
    as_column,
    as_row,
    check_matrix,
    diagonal,
    gaps,
    guarded,
    identity_like,
    inverse_or_zero,
    lower_band,
    lower_failed,
    lower_identity,
    lower_nan_where,
    lower_part,
    lower_triangle,
    lower_zeros,
    matmul,
    real,
    real_dtype,
    stacked_batch,
    status_of,
)
from lazynp.primitives._systems import solve, triangular_solve

# -- qr --------------------------------------------------------------------------------------------
# mode: 'reduced' and 'complete' return q, r; 'r' returns r


def _qr_avals(a: Aval, mode: str) -> tuple[Aval, Aval]:
    check_matrix("qr", a)
    *batch, m, n = a.shape
    k = m if mode == "complete" else smallest(m, n)
    return aval_of((*batch, m, k), a.dtype), aval_of((*batch, k, n), a.dtype)


def _qr_abstract(a: Aval, *, mode: str) -> tuple[Aval, ...]:
    q, r = _qr_avals(a, mode)
    return (r,) if mode == "r" else (q, r)


def _qr_reference(a: Any, *, mode: str) -> tuple[Any, ...]:
    out = np.linalg.qr(a, mode=mode)  # type: ignore[call-overload]
    return (out,) if mode == "r" else tuple(out)


def _qr_lower(b: Any, a: Any, *, mode: str) -> tuple[Any, ...]:
    q_aval, r_aval = _qr_avals(a.aval, mode)
    *batch, m, n = a.aval.shape
    k, columns = r_aval.shape[-2], q_aval.shape[-1]
    if a.aval.size == 0:
        q = lower_identity(b, q_aval.shape, q_aval.dtype)
        return (*([] if mode == "r" else [q]), lower_zeros(b, r_aval))
    solvers = b.platform.solvers
    h, tau = solvers.qr(b, a)
    r = lower_band(b, lower_part(b, h, k, 0, n), "GE")
    if mode == "r":
        return (r,)
    if columns > n:
        zero = b.constant(0, a.aval.dtype)
        nothing = (0,) * a.aval.ndim
        h = b.pad(h, zero, nothing, (*nothing[1:], columns - n))
    else:
        h = lower_part(b, h, m, 0, columns)
    return solvers.householder(b, h, tau), r


def _qr_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, mode: str) -> tuple[Any, Any]:
    (a,), (a_dot,) = primals, tangents
    *_, m, n = a.shape
    if a_dot is None:
        outs = qr(a, mode=mode)
        return outs, (None,) * len(outs)
    q, r = qr(a, mode="reduced")
    k = smallest(m, n)
    q_dot, square_dot = _qr_tangent(q, _columns(r, 0, k), _columns(a_dot, 0, k))
    r_dot = square_dot
    if n > m:
        beyond = elementwise.add(
            matmul(adjoint(q_dot), _columns(a, k, n)), matmul(adjoint(q), _columns(a_dot, k, n))
        )
        r_dot = shaping.concatenate(square_dot, beyond, axis=a.ndim - 1)
    if mode == "complete" and m > n:
        added_dot = _added_tangent(q, q_dot)
        q, r = qr(a, mode="complete")
        q_dot = shaping.concatenate(q_dot, added_dot, axis=a.ndim - 1)
        below = shaping.full(0, shape=(*r.shape[:-2], m - n, n), dtype=r.dtype)
        r_dot = shaping.concatenate(r_dot, below, axis=a.ndim - 2)
    return ((r,), (r_dot,)) if mode == "r" else ((q, r), (q_dot, r_dot))


def _columns(x: Any, first: int, last: int) -> Any:
    """The columns of each matrix from `first` to `last`."""
    shape = (*x.shape[:-1], last - first)
    if shape == x.shape:
        return x
    axis = x.ndim - 1
    return shaping.slice(x, first, axes=(axis,), sizes=(last - first,), strides=(1,), shape=shape)


def _qr_tangent(q: Any, r: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangent for square r: Q' = Q W + (1 - Q Q^H) A' R^-1, W skew (Walter, Lehmann 2010)."""
    if q.dtype.kind == "f" and q.shape[-1] == q.shape[-2]:
        return _square_tangent(q, r, a_dot)
    inverse = matmul(a_dot, _triangular_inverse(r))
    inside = matmul(adjoint(q), inverse)
    strict = lower_triangle(inside, -1)
    skew = elementwise.subtract(strict, adjoint(strict))
    if q.dtype.kind == "c":  # the diagonal of R stays real
        phase = elementwise.imag(elementwise.multiply(identity_like(inside), inside))
        phase = elementwise.multiply(1j, elementwise.convert(phase, dtype=q.dtype))
        skew = elementwise.add(skew, phase)
    rest = elementwise.subtract(skew, inside)
    q_dot = elementwise.add(matmul(q, rest), inverse)
    return q_dot, matmul(elementwise.negative(rest), r)


def _square_tangent(q: Any, r: Any, a_dot: Any) -> tuple[Any, Any]:
    """For square real q, Q' = Q W, where W needs the inverse of all but the last row and column of
    R. So there is a derivative if the last column depends on the others.
    """
    n, axis = r.shape[-1], r.ndim - 1
    strict = inside = matmul(adjoint(q), a_dot)
    if type(n) is int and n > 1:
        leading = _columns(_rows(r, 0, n - 1), 0, n - 1)
        first = matmul(_columns(inside, 0, n - 1), _triangular_inverse(leading))
        last = shaping.full(0, shape=(*r.shape[:-1], 1), dtype=r.dtype)
        strict = shaping.concatenate(first, last, axis=axis)
    strict = lower_triangle(strict, -1)
    skew = elementwise.subtract(strict, adjoint(strict))
    return matmul(q, skew), elementwise.subtract(inside, matmul(skew, r))


def _added_tangent(q: Any, q_dot: Any) -> Any:
    """The tangent of the columns that mode 'complete' adds. LAPACK's Q is a product of reflections,
    I - V T V^H, whose first columns are known: I - Q = V T V1^H =: M, with the rows M1 above M2. So
    the added columns are those of the identity less M W, where W = V1^-H V2^H = M1^-H M2^H.
    """
    *_, m, k = q.shape
    rest = elementwise.subtract(identity_like(q), q)
    first = adjoint(_rows(rest, 0, k))
    w = solve(first, adjoint(_rows(rest, k, m)))[0]
    moved = elementwise.subtract(
        adjoint(_rows(q_dot, k, m)), matmul(adjoint(_rows(q_dot, 0, k)), w)
    )
    return elementwise.add(matmul(q_dot, w), matmul(rest, solve(first, moved)[0]))


def _rows(x: Any, first: int, last: int) -> Any:
    """The rows of each matrix from `first` to `last`."""
    return adjoint(_columns(adjoint(x), first, last))


def _triangular_inverse(r: Any) -> Any:
    return triangular_solve(r, identity_like(r), lower=False, transpose="N", unit_diagonal=False)


qr = Primitive(
    "qr",
    abstract=_qr_abstract,
    reference=_qr_reference,
    lower=_qr_lower,
    jvp=_qr_jvp,
    transpose=NOT_LINEAR,
    batch=stacked_batch(lambda: qr),
    multiple_results=True,
    kind="linalg",
)


# -- qr_raw ----------------------------------------------------------------------------------------
# h holds r in its upper triangle and the Householder vectors below it; tau holds their factors


def _qr_raw_abstract(a: Aval) -> tuple[Aval, ...]:
    check_matrix("qr", a)
    *batch, m, n = a.shape
    return a, aval_of((*batch, smallest(m, n)), a.dtype)


def _qr_raw_reference(a: Any) -> tuple[Any, ...]:
    h, tau = np.linalg.qr(a, mode="raw")
    return np.swapaxes(h, -1, -2), tau


def _qr_raw_lower(b: Any, a: Any) -> tuple[Any, ...]:
    if a.aval.size == 0:
        return a, lower_zeros(b, _qr_raw_abstract(a.aval)[1])
    return tuple(b.platform.solvers.qr(b, a))


qr_raw = Primitive(
    "qr_raw",
    abstract=_qr_raw_abstract,
    reference=_qr_raw_reference,
    lower=_qr_raw_lower,
    jvp=Missing("the compact form of a product of reflections; differentiate mode='reduced'"),
    transpose=NOT_LINEAR,
    batch=stacked_batch(lambda: qr_raw),
    multiple_results=True,
    kind="linalg",
)


# -- svd -------------------------------------------------------------------------------------------


def _svd_avals(a: Aval, full_matrices: bool) -> tuple[Aval, ...]:
    check_matrix("svd", a)
    *batch, m, n = a.shape
    k = smallest(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    return (
        aval_of((*batch, m, rows), a.dtype),
        aval_of((*batch, k), real_dtype(a.dtype)),
        aval_of((*batch, columns, n), a.dtype),
        status_of(a),
    )


def _svd_abstract(a: Aval, *, full_matrices: bool, compute_uv: bool) -> tuple[Aval, ...]:
    u, s, vh, status = _svd_avals(a, full_matrices)
    return (u, s, vh, status) if compute_uv else (s, status)


def _svd_reference(a: Any, *, full_matrices: bool, compute_uv: bool) -> tuple[Any, ...]:
    a = np.asarray(a)

    def decompose(a: Any) -> tuple[Any, ...]:
        out = np.linalg.svd(a, full_matrices, compute_uv)
        return tuple(out) if compute_uv else (out,)

    avals = _svd_abstract(
        aval_of(a.shape, a.dtype), full_matrices=full_matrices, compute_uv=compute_uv
    )
    return guarded(decompose, avals, a)


def _svd_lower(b: Any, a: Any, *, full_matrices: bool, compute_uv: bool) -> tuple[Any, ...]:
    u, s, vh, status = _svd_avals(a.aval, full_matrices)
    if a.aval.size == 0:
        vectors = [lower_identity(b, x.shape, x.dtype) for x in (u, vh)]
        zeros, good = lower_zeros(b, s), lower_zeros(b, status)
        return (vectors[0], zeros, vectors[1], good) if compute_uv else (zeros, good)
    left, values, right, info = b.platform.solvers.svd(b, a, full_matrices, compute_uv)
    failed = lower_failed(b, info)
    wanted = [left, values, right] if compute_uv else [values]
    return *(lower_nan_where(b, failed, x) for x in wanted), info


def _svd_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool, compute_uv: bool
) -> tuple[Any, Any]:
    (a,), (a_dot,) = primals, tangents
    if a_dot is None:
        outs = svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
        return outs, (None,) * len(outs)
    outs = svd(a, full_matrices=bool(full_matrices and compute_uv), compute_uv=True)
    whole_u, s, vh, status = outs
    whole_v, k = adjoint(vh), s.shape[-1]
    u, v = _columns(whole_u, 0, k), _columns(whole_v, 0, k)
    inside = matmul(matmul(adjoint(u), a_dot), v)
    s_dot = real(diagonal(inside))
    if not compute_uv:
        return (s, status), (s_dot, None)
    u_dot, v_dot = _svd_tangents(a_dot, u, s, v, inside)
    u_dot, v_dot = _with_others(u_dot, u, whole_u), _with_others(v_dot, v, whole_v)
    return outs, (u_dot, s_dot, adjoint(v_dot), None)


def _with_others(dot: Any, part: Any, whole: Any) -> Any:
    """The tangent of all columns by that of the first. The others may turn among themselves; here
    they move no more than they must, so that what does not depend on their choice is right.
    """
    k, size = part.shape[-1], whole.shape[-1]
    if k == size:
        return dot
    moved = matmul(adjoint(dot), _columns(whole, k, size))
    return shaping.concatenate(dot, elementwise.negative(matmul(part, moved)), axis=whole.ndim - 1)


def _svd_tangents(a_dot: Any, u: Any, s: Any, v: Any, inside: Any) -> tuple[Any, Any]:
    """Townsend, "Differentiating the singular value decomposition" (2016), with u^H A' v as a sum:
    its Hermitian part turns u and v alike, and not at all where singular values are equal. Its skew
    part turns them against each other; that has no such exception.
    """
    add, multiply, subtract = elementwise.add, elementwise.multiply, elementwise.subtract
    row, column = as_row(s), as_column(s)
    sums, turned = add(row, column), adjoint(inside)
    even, skew = multiply(0.5, add(inside, turned)), multiply(0.5, subtract(inside, turned))
    alike = multiply(inverse_or_zero(gaps(s, sums)), even)
    identity = identity_like(inside)
    against = multiply(multiply(subtract(1, identity), inverse_or_zero(sums)), skew)
    phases = multiply(multiply(identity, skew), inverse_or_zero(row))
    u_dot = matmul(u, add(add(alike, against), phases))
    v_dot = matmul(v, subtract(alike, against))
    inverse = inverse_or_zero(row)
    m, n = u.shape[-2], v.shape[-2]
    if m > n:
        moved = matmul(a_dot, v)
        u_dot = add(u_dot, multiply(_outside(u, moved), inverse))
    if n > m:
        moved = matmul(adjoint(a_dot), u)
        v_dot = add(v_dot, multiply(_outside(v, moved), inverse))
    return u_dot, v_dot


def _outside(u: Any, x: Any) -> Any:
    """The part of x that is orthogonal to the columns of u."""
    return elementwise.subtract(x, matmul(u, matmul(adjoint(u), x)))


svd = Primitive(
    "svd",
    abstract=_svd_abstract,
    reference=_svd_reference,
    lower=_svd_lower,
    jvp=_svd_jvp,
    transpose=NOT_LINEAR,
    batch=stacked_batch(lambda: svd),
    multiple_results=True,
    kind="linalg",
)
