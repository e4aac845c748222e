"""scipy.linalg: factors that are made of those of `_linalg`: rq, those of bands, the sign."""

from __future__ import annotations

from typing import Any

import lazynp as np
from lazynp.interop._calls import inexact, refuse
from lazynp.interop._linalg import cho_solve, cholesky
from lazynp.interop._linalg_more import hermitian_of_bands, valued_by_scipy
from lazynp.interop._matrix_functions import function_of


def _turned(x: Any) -> Any:
    """The adjoint of a matrix with its rows and columns in reverse."""
    return np.conj(x[::-1, ::-1].T)


def rq(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full",
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """By qr of the turned matrix: its reflections are those of LAPACK's rq."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    (a,) = inexact(a)
    if a.ndim != 2:
        raise ValueError("expected matrix")
    q, r = map(_turned, np.linalg.qr(_turned(a), "reduced" if mode == "economic" else "complete"))
    return r if mode == "r" else (r, q)


def _packed(x: Any, ab: Any, lower: bool) -> Any:
    """The bands of a triangular matrix as LAPACK keeps them; it leaves the corners of ab alone."""
    count, n = ab.shape
    rows = []
    for k in range(count):
        band = np.diag(x, -k if lower else k)
        corner = ab[k, n - k :] if lower else ab[count - 1 - k, :k]
        rows.append(np.concatenate([band, corner] if lower else [corner, band]))
    return np.stack(rows if lower else rows[::-1])


def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    (ab,) = inexact(ab)
    factor = cholesky(hermitian_of_bands("cholesky_banded", ab, lower), lower)
    return _packed(factor, ab, lower)


def _triangle_of_bands(cb: Any, lower: bool) -> Any:
    count, n = cb.shape
    rows = [cb[k, : n - k] if lower else cb[count - 1 - k, k:] for k in range(count)]
    parts = [np.diag(row, -k if lower else k) for k, row in enumerate(rows)]
    return sum(parts[1:], parts[0])


def cho_solve_banded(
    cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    cb, lower = cb_and_lower
    cb, b = inexact(cb, b)
    if cb.ndim != 2:
        refuse("cho_solve_banded", f"stacks of bands, {cb.shape}")
    return cho_solve((_triangle_of_bands(cb, lower), lower), b)


def signm(A: Any, disp: Any = None) -> Any:
    """A (A^2)^(-1/2), with SciPy's value."""
    if disp is not None:
        refuse("signm", f"disp={disp!r}")
    (a,) = inexact(A)
    if a.ndim != 2:
        refuse("signm", f"stacks of matrices, {a.shape}")
    root = function_of(a @ a, name="sqrtm", effect=False)[0]
    return valued_by_scipy("signm", np.linalg.solve(root, a), a)
