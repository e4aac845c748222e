"""cholesky, triangular_solve, solve, slogdet: operations based on triangular factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._primitive import NOT_LINEAR, Primitive, Undefined
from lazynp.primitives import elementwise, reduction
from lazynp.primitives._matrices import (
    INT32,
    adjoint,
    band,
    check_matrix,
    conjugated,
    diagonal,
    guarded,
    hermitian,
    lower_band,
    lower_failed,
    lower_nan_where,
    lower_part,
    lower_triangle,
    lower_zeros,
    matmul,
    real_dtype,
    stacked_batch,
    status_of,
    swapped,
    upper_triangle,
)

# -- cholesky --------------------------------------------------------------------------------------


def _cholesky_abstract(a: Aval) -> tuple[Aval, ...]:
    check_matrix("cholesky", a, square=True)
    return a, status_of(a)


def _cholesky_reference(a: Any) -> tuple[Any, ...]:
    a = np.asarray(a)
    avals = _cholesky_abstract(aval_of(a.shape, a.dtype))
    return guarded(lambda a: (np.linalg.cholesky(a),), avals, a)


def _cholesky_lower(b: Any, a: Any) -> tuple[Any, ...]:
    status = status_of(a.aval)
    if a.aval.size == 0:
        return a, lower_zeros(b, status)
    factor, info = b.platform.solvers.cholesky(b, a)
    return lower_nan_where(b, lower_failed(b, info), lower_band(b, factor, "LE")), info


def _cholesky_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """L' = L tril(L^-1 A' L^-H), with half the diagonal. Only the lower triangle of A' counts."""
    l, status = cholesky(primals[0])  # noqa: E741
    if tangents[0] is None:
        return (l, status), (None, None)
    a_dot = hermitian(tangents[0])
    left = triangular_solve(l, a_dot, lower=True, transpose="N", unit_diagonal=False)
    both = triangular_solve(l, adjoint(left), lower=True, transpose="N", unit_diagonal=False)
    both = adjoint(both)
    half = elementwise.multiply(band(both, elementwise.equal), 0.5)
    phi = elementwise.add(lower_triangle(both, -1), half)
    return (l, status), (matmul(l, phi), None)


cholesky = Primitive(
    "cholesky",
    abstract=_cholesky_abstract,
    reference=_cholesky_reference,
    lower=_cholesky_lower,
    jvp=_cholesky_jvp,
    transpose=NOT_LINEAR,
    batch=stacked_batch(lambda: cholesky),
    multiple_results=True,
    kind="linalg",
)


# -- triangular_solve ------------------------------------------------------------------------------
# op(a) x = b, where op is nothing, the transpose or the adjoint: 'N', 'T', 'C'


def _check_system(name: str, a: Aval, b: Aval) -> None:
    check_matrix(name, a, square=True)
    if b.dtype != a.dtype:
        raise TypeError(f"{name}: operands of one dtype are required, got {a} and {b}")
    if b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1]:
        raise ValueError(f"{name}: as many rows are required in both operands, got {a} and {b}")


def _triangular_abstract(
    a: Aval, b: Aval, *, lower: bool, transpose: str, unit_diagonal: bool
) -> Aval:
    _check_system("triangular_solve", a, b)
    return b


def _triangular_reference(
    a: Any, b: Any, *, lower: bool, transpose: str, unit_diagonal: bool
) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = np.where(np.eye(a.shape[-1], dtype=bool), np.ones((), a.dtype), a)
    if transpose != "N":
        a, lower = np.swapaxes(a, -1, -2), not lower
    if transpose == "C":
        a = a.conj()
    return guarded(lambda a, b: (_substituted(a, b, lower),), _solve_avals(a, b), a, b)[0]


_BLOCK = 32  # rows: `solve` factorises their triangle, a third of the time of all of it


def _substituted(a: Any, b: Any, lower: bool) -> Any:
    """Substitution by blocks of rows. NumPy has none, and `solve` takes no notice of zeros."""
    n = a.shape[-1]
    if n < 2 * _BLOCK:
        return np.linalg.solve(a, b)
    x = np.empty_like(b)
    starts = range(0, n, _BLOCK)
    for start in starts if lower else reversed(starts):
        rows = slice(start, min(start + _BLOCK, n))
        known = slice(0, start) if lower else slice(rows.stop, n)
        right = b[..., rows, :] - a[..., rows, known] @ x[..., known, :]
        x[..., rows, :] = np.linalg.solve(a[..., rows, rows], right)
    return x


def _triangular_lower(
    b: Any, a: Any, x: Any, *, lower: bool, transpose: str, unit_diagonal: bool
) -> Any:
    if x.aval.size == 0:
        return x
    return b.platform.solvers.triangular(b, a, x, lower, transpose, unit_diagonal)


def _triangular_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    lower: bool,
    transpose: str,
    unit_diagonal: bool,
) -> tuple[Any, Any]:
    (a, b), (a_dot, b_dot) = primals, tangents
    params = {"lower": lower, "transpose": transpose, "unit_diagonal": unit_diagonal}
    x = triangular_solve(a, b, **params)
    right = b_dot
    if a_dot is not None:
        k = int(unit_diagonal)
        a_dot = lower_triangle(a_dot, -k) if lower else upper_triangle(a_dot, k)
        a_dot = {"N": lambda v: v, "T": swapped, "C": adjoint}[transpose](a_dot)
        moved = matmul(a_dot, x)
        right = elementwise.negative(moved) if b_dot is None else elementwise.subtract(b_dot, moved)
    return x, None if right is None else triangular_solve(a, right, **params)


def _triangular_transpose(
    ct: Any, a: Any, b: Any, *, lower: bool, transpose: str, unit_diagonal: bool
) -> list[Any]:
    """The transpose of the adjoint is the conjugate, for which LAPACK has no letter."""
    assert isinstance(b, Undefined)
    if transpose == "C":
        a = conjugated(a)
    letter = "T" if transpose == "N" else "N"
    out = triangular_solve(a, ct, lower=lower, transpose=letter, unit_diagonal=unit_diagonal)
    return [None, out]


triangular_solve = Primitive(
    "triangular_solve",
    abstract=_triangular_abstract,
    reference=_triangular_reference,
    lower=_triangular_lower,
    jvp=_triangular_jvp,
    transpose=_triangular_transpose,
    batch=stacked_batch(lambda: triangular_solve),
    kind="linalg",
)


# -- solve -----------------------------------------------------------------------------------------


def _solve_abstract(a: Aval, b: Aval) -> tuple[Aval, ...]:
    _check_system("solve", a, b)
    return b, status_of(a)


def _solve_avals(a: Any, b: Any) -> tuple[Aval, ...]:
    return _solve_abstract(aval_of(a.shape, a.dtype), aval_of(b.shape, b.dtype))


def _solve_reference(a: Any, b: Any) -> tuple[Any, ...]:
    a, b = np.asarray(a), np.asarray(b)
    return guarded(lambda a, b: (np.linalg.solve(a, b),), _solve_avals(a, b), a, b)


def _solve_lower(b: Any, a: Any, right: Any) -> tuple[Any, ...]:
    """The LU factors of [A B] are those of A with L^-1 P B beside them, so P is not needed."""
    status, solvers = status_of(a.aval), b.platform.solvers
    *batch, n, k = right.aval.shape
    if right.aval.size == 0:
        if a.aval.size == 0:
            return right, lower_zeros(b, status)
        return right, solvers.lu(b, a)[2]
    wide = b.concatenate([a, right], len(batch) + 1)
    factors, _, info = solvers.lu(b, wide)
    upper, y = lower_part(b, factors, n, 0, n), lower_part(b, factors, n, n, n + k)
    x = solvers.triangular(b, upper, y, False, "N", False)
    return lower_nan_where(b, lower_failed(b, info), x), info


def _solve_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (a, b), (a_dot, b_dot) = primals, tangents
    x, status = solve(a, b)
    right = b_dot
    if a_dot is not None:
        moved = matmul(a_dot, x)
        right = elementwise.negative(moved) if b_dot is None else elementwise.subtract(b_dot, moved)
    return (x, status), (None if right is None else solve(a, right)[0], None)


def _solve_transpose(cts: Sequence[Any], a: Any, b: Any) -> list[Any]:
    assert isinstance(b, Undefined)
    return [None, solve(swapped(a), cts[0])[0]]


solve = Primitive(
    "solve",
    abstract=_solve_abstract,
    reference=_solve_reference,
    lower=_solve_lower,
    jvp=_solve_jvp,
    transpose=_solve_transpose,
    batch=stacked_batch(lambda: solve),
    multiple_results=True,
    kind="linalg",
)


# -- slogdet ---------------------------------------------------------------------------------------


def _slogdet_abstract(a: Aval) -> tuple[Aval, ...]:
    check_matrix("slogdet", a, square=True)
    shape = a.shape[:-2]
    return aval_of(shape, a.dtype), aval_of(shape, real_dtype(a.dtype))


def _slogdet_reference(a: Any) -> tuple[Any, ...]:
    return tuple(np.linalg.slogdet(a))


def _slogdet_lower(b: Any, a: Any) -> tuple[Any, ...]:
    sign_aval, log_aval = _slogdet_abstract(a.aval)
    shape, dtype, real = sign_aval.shape, sign_aval.dtype, log_aval.dtype
    if a.aval.size == 0:
        return b.constant(1, dtype, shape), b.constant(0, real, shape)
    factors, pivots, info = b.platform.solvers.lu(b, a)
    axis = len(shape)
    diag = _fold(b, "stablehlo.add", lower_band(b, factors, "EQ"), 0, axis + 1)
    size = b.unary("stablehlo.abs", diag) if dtype.kind == "f" else _modulus(b, diag)
    log = _fold(b, "stablehlo.add", b.unary("stablehlo.log", size), 0, axis)
    ones = b.constant(1, INT32, pivots.aval.shape)
    steps = b.binary("stablehlo.add", b.iota(pivots.aval.shape, axis, INT32), ones)
    odd = b.compare(pivots, steps, "NE")
    minus, one = (b.constant(v, dtype, diag.aval.shape) for v in (-1, 1))
    sign = b.select(odd, minus, one)
    if dtype.kind == "f":
        negative = b.compare(diag, b.constant(0, dtype, diag.aval.shape), "LT")
        sign = b.binary("stablehlo.multiply", sign, b.select(negative, minus, one))
    else:
        parts = [b.binary("stablehlo.divide", part, size) for part in (b.real(diag), b.imag(diag))]
        sign = b.binary("stablehlo.multiply", sign, b.complex(*parts))
    sign = _fold(b, "stablehlo.multiply", sign, 1, axis)
    singular = lower_failed(b, info)
    return (
        b.select(singular, b.constant(0, dtype, shape), sign),
        b.select(singular, b.constant(-np.inf, real, shape), log),
    )


def _modulus(b: Any, x: Any) -> Any:
    return b.op("stablehlo.abs", x, out=aval_of(x.aval.shape, real_dtype(x.aval.dtype)))


def _fold(b: Any, name: str, x: Any, initial: Any, axis: int) -> Any:
    start = b.constant(initial, x.aval.dtype)
    body = lambda b, accs, xs: b.binary(name, accs[0], xs[0])  # noqa: E731
    return b.reduce([x], [start], (axis,), body, name)[0]


def _slogdet_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """d log det A = tr(A^-1 A')."""
    (a,), (a_dot,) = primals, tangents
    sign, log = slogdet(a)
    if a_dot is None:
        return (sign, log), (None, None)
    ratio = diagonal(solve(a, a_dot)[0])
    trace = reduction.reduce_sum(ratio, axes=(ratio.ndim - 1,))
    if a.dtype.kind == "f":
        return (sign, log), (None, trace)
    turn = elementwise.multiply(1j, elementwise.convert(elementwise.imag(trace), dtype=a.dtype))
    return (sign, log), (elementwise.multiply(sign, turn), elementwise.real(trace))


slogdet = Primitive(
    "slogdet",
    abstract=_slogdet_abstract,
    reference=_slogdet_reference,
    lower=_slogdet_lower,
    jvp=_slogdet_jvp,
    transpose=NOT_LINEAR,
    batch=stacked_batch(lambda: slogdet),
    multiple_results=True,
    kind="linalg",
)
