"""Factorisations of matrices: cholesky, qr, svd, eigenvalues, with NumPy's signatures and
errors.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, NamedTuple

import numpy as np

from lazynp._array import Array
from lazynp._recorder import local
from lazynp._values import extent
from lazynp.functions import ufuncs
from lazynp.functions._eager import by_numpy
from lazynp.functions._getset import getitem
from lazynp.functions._host import host_call, needs_host
from lazynp.functions._matrices import (
    adjoint,
    check_square,
    check_stacked,
    common_types,
    decide,
    operand,
    real_type,
    result,
    swapped,
)
from lazynp.functions._operands import as_array, plain
from lazynp.functions.indexing import take_along_axis
from lazynp.functions.sorting import argsort, sort
from lazynp.primitives import elementwise, linear_algebra


class EigResult(NamedTuple):
    """The result of `eig`: eigenvalues (..., n), and eigenvectors (..., n, n) as columns."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """The result of `eigh`: eigenvalues (..., n) in ascending order, eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """The result of `qr`: A = Q R, with orthonormal columns in Q and a triangular R."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """The result of `svd`: A = U diag(S) Vh, with S (..., k) in descending order."""

    U: Any
    S: Any
    Vh: Any


# -- cholesky, qr ----------------------------------------------------------------------------------


@by_numpy(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """See `numpy.linalg.cholesky`."""
    x = as_array(a)
    check_square(x)
    dtype, final = common_types(np.linalg.cholesky, x)
    x = operand(x, dtype)
    # transpose rather than the adjoint, which would give zeros another sign
    factor, status = linear_algebra.cholesky(swapped(x) if upper else x)
    decide(status, "Matrix is not positive definite")
    return result(swapped(factor) if upper else factor, final)


@by_numpy(np.linalg.qr, kind=QRResult)
def qr(a: Any, mode: str = "reduced") -> Any:
    """See `numpy.linalg.qr`."""
    mode = _qr_mode(mode)
    x = as_array(a)
    check_stacked(x)
    if needs_host(x):
        found = host_call(np.linalg.qr, x, mode)
        return found if mode in ("r", "raw", "economic") else QRResult(*found)
    dtype, final = common_types(np.linalg.qr, x)
    x = operand(x, dtype)
    if mode in ("raw", "economic"):
        h, tau = linear_algebra.qr_raw(x)
        if mode == "economic":
            return result(h, final)
        return result(swapped(h), final), result(tau, final)
    if mode == "r":
        (r,) = linear_algebra.qr(x, mode="r")
        return result(r, final)
    q, r = linear_algebra.qr(x, mode=mode)
    return QRResult(result(q, final), result(r, final))


def _qr_mode(mode: Any) -> str:
    if mode in ("reduced", "complete", "r", "raw"):
        return mode
    if mode in ("f", "full"):
        message = (
            "The 'full' option is deprecated in favor of 'reduced'.\n"
            "For backward compatibility let mode default."
        )
        mode = "reduced"
    elif mode in ("e", "economic"):
        message, mode = "The 'economic' option is deprecated.", "economic"
    else:
        raise ValueError(f"Unrecognized mode '{mode}'")
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return mode


# -- eigenvalues -----------------------------------------------------------------------------------


# NumPy 2.5 and later; before, those of a real matrix were real if no imaginary part was nonzero
_ALWAYS_COMPLEX = np.linalg.eigvals(np.eye(1)).dtype.kind == "c"


def _eig(a: Any, compute_v: bool) -> tuple[Any, ...]:
    x = as_array(a)
    check_square(x)
    dtype, final = common_types(np.linalg.eig if compute_v else np.linalg.eigvals, x)
    x = operand(x, dtype)
    *outs, status = linear_algebra.eig(x, compute_v=compute_v)
    decide(status, "Eigenvalues did not converge", finite=x)
    if dtype.kind == "f":
        values = None if _ALWAYS_COMPLEX else extent(outs[0]._read())
        if local.recorder.staging or values is None or np.any(values.imag):
            final = np.result_type(final, np.complex64)
        else:
            outs = [elementwise.real(v) for v in outs]
    return tuple(result(v, final) for v in outs)


@by_numpy(np.linalg.eig, kind=EigResult)
def eig(a: Any) -> EigResult:
    """See `numpy.linalg.eig`. Before NumPy 2.5, its values decide whether the result is real."""
    return EigResult(*_eig(a, True))


@by_numpy(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """See `numpy.linalg.eigvals`. Before NumPy 2.5, its values decide whether it is real."""
    return _eig(a, False)[0]


def _eigh(a: Any, uplo: str, compute_v: bool) -> tuple[Any, ...]:
    uplo = uplo.upper()
    if uplo not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    x = as_array(a)
    check_square(x)
    dtype, final = common_types(np.linalg.eigh if compute_v else np.linalg.eigvalsh, x)
    params = {"lower": uplo == "L", "compute_v": compute_v}
    w, *v, status = linear_algebra.eigh(operand(x, dtype), **params)
    decide(status, "Eigenvalues did not converge")
    return result(w, real_type(final)), *(result(u, final) for u in v)


@by_numpy(np.linalg.eigh, kind=EighResult)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """See `numpy.linalg.eigh`."""
    return EighResult(*_eigh(a, UPLO, True))


@by_numpy(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """See `numpy.linalg.eigvalsh`."""
    return _eigh(a, UPLO, False)[0]


# -- singular values -------------------------------------------------------------------------------


@by_numpy(np.linalg.svd, kind=SVDResult)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """See `numpy.linalg.svd`."""
    x = as_array(a)
    if hermitian:
        return _svd_hermitian(x, compute_uv)
    check_stacked(x)
    params = {"full_matrices": bool(full_matrices and compute_uv), "compute_uv": bool(compute_uv)}
    dtype, final = common_types(functools.partial(np.linalg.svd, **params), x)
    *outs, status = linear_algebra.svd(operand(x, dtype), **params)
    decide(status, "SVD did not converge")
    if not compute_uv:
        return result(outs[0], real_type(final))
    u, s, vh = outs
    return SVDResult(result(u, final), result(s, real_type(final)), result(vh, final))


def _svd_hermitian(x: Array, compute_uv: bool) -> Any:
    """Sort the eigenvalues by magnitude; vh takes their signs."""
    backwards = (..., slice(None, None, -1))
    if not compute_uv:
        return plain(getitem(sort(ufuncs.absolute(eigvalsh(x))), backwards))
    w, v = eigh(x)
    sign, size = ufuncs.copysign(1.0, w), ufuncs.absolute(w)
    order = getitem(argsort(size), backwards)
    sign, size = take_along_axis(sign, order, -1), take_along_axis(size, order, -1)
    u = take_along_axis(v, getitem(order, (..., None, slice(None))), -1)
    vh = adjoint(ufuncs.multiply(u, getitem(sign, (..., None, slice(None)))))
    return SVDResult(u, size, vh)


@by_numpy(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """See `numpy.linalg.svdvals`."""
    return svd(x, compute_uv=False, hermitian=False)
