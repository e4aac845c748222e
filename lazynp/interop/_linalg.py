"""scipy.linalg: the same arguments and conventions.

Options that only save memory or checks have no effect: `overwrite_a`, `check_finite`,
`lapack_driver`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp._quiet import quietly
from lazynp.interop._calls import inexact, only, refuse, stacked
from lazynp.interop._matrix_functions import factored, order_of
from lazynp.primitives.linear_algebra import triangular_solve

# -- systems ---------------------------------------------------------------------------------------

_KINDS = {
    None: "gen", "general": "gen", "symmetric": "sym", "hermitian": "her",
    "positive definite": "pos",
    "upper triangular": "upper", "lower triangular": "lower", "diagonal": "diag",
}  # fmt: skip


def _assumed(name: str, a: Any, kind: Any, lower: bool) -> Any:
    """The matrix that SciPy reads, given what it is told of its structure."""
    kind = _KINDS.get(kind, kind)
    if kind == "gen":
        return a
    if kind in ("sym", "her", "pos"):
        part = np.tril(a, -1) if lower else np.triu(a, 1)
        other = part.mT if kind == "sym" else np.conj(part.mT)
        return part + other + np.tril(np.triu(a))
    if kind in ("upper", "lower"):
        return np.triu(a) if kind == "upper" else np.tril(a)
    if kind == "diag":
        return np.tril(np.triu(a))
    return refuse(name, f"assume_a={kind!r}")


def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: Any = None,
    lower: bool = False,
) -> Any:
    (a,) = inexact(a)
    return np.linalg.inv(_assumed("inv", a, assume_a, lower))


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Any:
    a, b = inexact(a, b)
    a = _assumed("solve", a, assume_a, lower)
    return np.linalg.solve(a.mT if transposed else a, b)


_LETTERS = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}


def _triangular(a: Any, b: Any, lower: bool, transpose: str, unit: bool = False) -> Any:
    a, b = inexact(a, b)
    column = b[:, None] if b.ndim == 1 else b
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError("expected square matrix")
    if a.shape[-1] != column.shape[-2]:
        raise ValueError(f"shapes of a {a.shape} and b {b.shape} are incompatible")
    a, column = stacked(a, column)
    options: dict[str, Any] = {"lower": bool(lower), "unit_diagonal": bool(unit)}
    x = triangular_solve(a, column, transpose=transpose, **options)
    return x[..., 0] if b.ndim == 1 else x


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    return _triangular(a, b, lower, _LETTERS[trans], unit_diagonal)


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    pair = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)
    return solve(toeplitz(*pair), b)


def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:
    a, b = inexact(a, b)
    x, residuals, rank, s = np.linalg.lstsq(
        a, b, numpy.finfo(a.dtype).eps if cond is None else cond
    )
    return x, residuals[0] if b.ndim == 1 and residuals.size else residuals, rank, s


def pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    only("pinv", atol=(atol, None), return_rank=(return_rank, False))
    (a,) = inexact(a)
    return np.linalg.pinv(
        a, rtol=max(a.shape[-2:]) * numpy.finfo(a.dtype).eps if rtol is None else rtol
    )


# -- factorizations --------------------------------------------------------------------------------


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    (a,) = inexact(a)
    if lower:
        return np.linalg.cholesky(a)
    return np.conj(np.linalg.cholesky(np.conj(a.mT)).mT)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    (a,) = inexact(a)
    if _clears_the_rest():
        return cholesky(a, lower), lower
    return cholesky(a, lower) + (np.triu(a, 1) if lower else np.tril(a, -1)), lower


@functools.cache
def _clears_the_rest() -> bool:
    """Whether the other triangle of `cho_factor` is zero. Before SciPy 1.18, `a` shows there."""
    return scipy.linalg.cho_factor(numpy.eye(2) + 1.0)[0][1, 0] == 0.0


def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    c, lower = c_and_lower
    first, second = ("N", "C") if lower else ("C", "N")
    return _triangular(c, _triangular(c, b, lower, first), lower, second)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    packed, pivots, _ = factored("lu_factor", a)
    return packed, pivots


def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    lower, upper, order = _factors(a)
    back = np.argsort(order, axis=-1)  # P is a permutation of rows: A = (L U)[back]
    if permute_l:
        return np.take_along_axis(lower, back[..., None], axis=-2), upper
    if p_indices:
        return back, lower, upper
    n = order.shape[-1]
    return np.asarray(back[..., None] == np.arange(n), lower.real.dtype), lower, upper


def _factors(a: Any) -> tuple[Any, Any, Any]:
    """L, U and the order of the rows. The rows and columns beyond the leading square follow from
    its factors: A12 = L U12, A21 = L21 U.
    """
    (a,) = inexact(a)
    *_, m, n = a.shape
    order = None
    if m != n:
        order = np.pure_callback(
            lambda x: numpy.argsort(scipy.linalg.lu(x, p_indices=True)[0], axis=-1),
            np.ShapeDtype((*a.shape[:-2], m), numpy.int64), np.stop_gradient(a),
            vmap_method="expand_dims",
        )  # fmt: skip
        a = np.take_along_axis(a, order[..., None], axis=-2)
    k = min(m, n)
    packed, _, rows = factored("lu", a[..., :k, :k])
    lower, upper = np.tril(packed, -1) + np.eye(k, dtype=packed.dtype), np.triu(packed)
    if n > k:
        beyond = _triangular(packed, a[..., k:], True, "N", True)
        upper = np.concatenate([upper, beyond], axis=-1)
    if m > k:
        below = _triangular(packed, a[..., k:, :].mT, False, "T").mT
        lower = np.concatenate([lower, below], axis=-2)
    return lower, upper, rows if order is None else order


def lu_solve(
    lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    packed, pivots = lu_and_piv
    b = np.asarray(b)
    order = order_of(pivots)
    column = b[:, None] if b.ndim == 1 else b
    if trans == 0:
        rows = np.take_along_axis(column, order[..., None], axis=-2)
        x = _triangular(packed, _triangular(packed, rows, True, "N", True), False, "N")
    else:
        letter = _LETTERS[trans]
        x = _triangular(packed, _triangular(packed, column, False, letter), True, letter, True)
        x = np.take_along_axis(x, np.argsort(order, axis=-1)[..., None], axis=-2)
    return x[..., 0] if b.ndim == 1 else x


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    (a,) = inexact(a)
    if pivoting:  # with the columns in that order, the reflections are the same
        order = _order_of_columns(a)
        a = np.take_along_axis(a, order[..., None, :], axis=-1)
        return (*qr(a, mode=mode), order)
    if mode == "economic":
        return tuple(np.linalg.qr(a, "reduced"))
    if mode not in ("full", "r"):
        refuse("qr", f"mode={mode!r}")
    if a.shape[-2] > a.shape[-1] and mode == "r":
        r = np.linalg.qr(a, "r")
        rows = np.zeros((*a.shape[:-2], a.shape[-2] - a.shape[-1], a.shape[-1]), r.dtype)
        return (np.concatenate([r, rows], axis=-2),)
    q, r = np.linalg.qr(a, "complete")
    return (r,) if mode == "r" else (q, r)


def _order_of_columns(a: Any) -> Any:
    """In which LAPACK takes them: one with the largest rest first."""

    def found(a: Any) -> Any:
        out = numpy.empty((*a.shape[:-2], a.shape[-1]), numpy.int32)
        for i in numpy.ndindex(*a.shape[:-2]):
            out[i] = scipy.linalg.qr(a[i], mode="r", pivoting=True)[-1]
        return out

    shape = np.ShapeDtype((*a.shape[:-2], a.shape[-1]), numpy.int32)
    return np.pure_callback(found, shape, np.stop_gradient(a), vmap_method="expand_dims")


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    (a,) = inexact(a)
    if not compute_uv:
        return np.linalg.svd(a, compute_uv=False)
    return tuple(np.linalg.svd(a, full_matrices=full_matrices))


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.svd(*inexact(a), compute_uv=False)


# -- eigenvalues -----------------------------------------------------------------------------------


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    only("eigh", type=(type, 1), subset_by_value=(subset_by_value, None))
    (a,) = inexact(a)
    given = a, b
    if b is not None:  # with b = L L^H, the eigenvectors of L^-1 a L^-H are L^H v
        a, b = (_assumed("eigh", x, "her", lower) for x in inexact(a, b))
        factor = np.linalg.cholesky(b)
        a = _triangular(factor, a, True, "N")
        a = np.conj(_triangular(factor, np.conj(a.mT), True, "N").mT)
        a = (a + np.conj(a.mT)) / 2
    letter = "L" if lower else "U"
    chosen = slice(None)
    if subset_by_index is not None:
        first, last = map(int, subset_by_index)
        chosen = slice(first, last + 1)
    if eigvals_only:
        return np.linalg.eigvalsh(a, letter)[..., chosen]
    w, v = np.linalg.eigh(a, letter)
    if b is not None:
        v = _triangular(factor, v, True, "C")
    w, v = w[..., chosen], v[..., chosen]
    return w, v * _signs(v, *given, lower, subset_by_index)


def _signs(v: Any, a: Any, b: Any, lower: bool, subset: Any) -> Any:
    """The factors that make v the eigenvectors that SciPy finds, by another driver of LAPACK's.
    Constants: the derivative stays orthogonal to v.
    """

    def found(v: Any, a: Any, b: Any = None) -> Any:
        out = numpy.empty((*v.shape[:-2], 1, v.shape[-1]), v.dtype)
        for i in numpy.ndindex(*v.shape[:-2]):
            _, ours = scipy.linalg.eigh(
                a[i], None if b is None else b[i], lower=lower, subset_by_index=subset
            )
            gram = v[i].conj() if b is None else _full(b[i], lower).conj() @ v[i].conj()
            inner = (gram * ours).sum(0)
            size = numpy.abs(inner)
            out[i] = numpy.where(size > 0.5, quietly(numpy.divide, [inner, size]), 1.0)
        return out

    operands = [np.stop_gradient(x) for x in (v, a, b) if x is not None]
    shape = (*v.shape[:-2], 1, v.shape[-1])
    lead = [np.broadcast_to(x, (*v.shape[:-2], *x.shape[-2:])) for x in operands]
    return np.pure_callback(
        found, np.ShapeDtype(shape, v.dtype), *lead, vmap_method="broadcast_all"
    )


def _full(b: Any, lower: bool) -> Any:
    part = numpy.tril(b, -1) if lower else numpy.triu(b, 1)
    return part + part.conj().T + numpy.diag(numpy.diag(b))


def eigvalsh(a: Any, b: Any = None, **options: Any) -> Any:
    return eigh(a, b, eigvals_only=True, **options)


def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    only("eig", b=(b, None), left=(left, False), homogeneous_eigvals=(homogeneous_eigvals, False))
    (a,) = inexact(a)
    if not right:
        return np.asarray(np.linalg.eigvals(a), numpy.result_type(a.dtype, numpy.complex64))
    w, v = np.linalg.eig(a)
    return np.asarray(w, numpy.result_type(w.dtype, numpy.complex64)), v


def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)


# -- numbers, special matrices ---------------------------------------------------------------------


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.det(*inexact(a))


def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    return np.linalg.norm(*inexact(a), ord=ord, axis=axis, keepdims=keepdims)


def _flat(x: Any) -> Any:
    x = np.asarray(x)
    if x.ndim > 1:
        refuse("toeplitz, circulant, hankel", "stacks of vectors")
    return x.ravel()


def toeplitz(c: Any, r: Any = None) -> Any:
    c = _flat(c)
    r = np.conj(c) if r is None else _flat(r)
    rows, columns = numpy.ogrid[: c.size, : r.size]
    return np.concatenate([r[:0:-1], c])[rows - columns + max(r.size - 1, 0)]


def circulant(c: Any) -> Any:
    c = _flat(c)
    rows, columns = numpy.ogrid[: c.size, : c.size]
    return c[(rows - columns) % max(c.size, 1)]


def hankel(c: Any, r: Any = None) -> Any:
    c = _flat(c)
    r = np.zeros_like(c) if r is None else _flat(r)
    rows, columns = numpy.ogrid[: c.size, : r.size]
    return np.concatenate([c, r[1:]])[rows + columns]


def block_diag(*arrs: Any) -> Any:
    blocks = [np.atleast_2d(np.asarray(x)) for x in arrs or ([],)]
    if any(b.ndim > 2 for b in blocks):
        refuse("block_diag", "stacks of matrices")
    shape = sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)
    out = np.zeros(shape, numpy.result_type(*[b.dtype for b in blocks]))
    i = j = 0
    for b in blocks:
        out[i : i + b.shape[0], j : j + b.shape[1]] = b
        i, j = i + b.shape[0], j + b.shape[1]
    return out
