"""The linalg extension: lazynp's functions, except where the standard requires other results."""

from __future__ import annotations

from typing import Any, NamedTuple

from lazynp import linalg as _linalg
from lazynp._array import Array
from lazynp.functions._operands import as_array, cast
from lazynp.functions.manipulation import matrix_transpose as matrix_transpose
from lazynp.functions.products import (
    matmul as matmul,
    tensordot as tensordot,
    vecdot as vecdot,
)
from lazynp.linalg import (
    cholesky as cholesky,
    cross as cross,
    det as det,
    diagonal as diagonal,
    eigh as eigh,
    eigvalsh as eigvalsh,
    inv as inv,
    matrix_norm as matrix_norm,
    matrix_power as matrix_power,
    matrix_rank as matrix_rank,
    outer as outer,
    qr as qr,
    slogdet as slogdet,
    solve as solve,
    svd as svd,
    svdvals as svdvals,
    trace as trace,
    vector_norm as vector_norm,
)

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


class EigResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


def _complex(x: Any, like: Array) -> Array:
    return cast(x, "c8" if like.dtype in ("f4", "c8") else "c16")


def eig(x: Any, /) -> EigResult:
    """Eigenvalues and eigenvectors; complex even if all are on the real axis."""
    x = as_array(x)
    values, vectors = _linalg.eig(x)
    return EigResult(_complex(values, x), _complex(vectors, x))


def eigvals(x: Any, /) -> Array:
    """Eigenvalues; complex even if all are on the real axis."""
    x = as_array(x)
    return _complex(_linalg.eigvals(x), x)


def pinv(x: Any, /, *, rtol: Any = None) -> Array:
    """The pseudo-inverse. Singular values up to `rtol` times the largest count as zero.

    rtol: max(M, N) * eps by default.
    """
    return _linalg.pinv(x, rtol=rtol)
