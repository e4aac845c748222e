"""Linear algebra: the namespace of `numpy.linalg`."""

from __future__ import annotations

import numpy.linalg as _numpy

from lazynp.functions import linear_algebra as _linalg  # noqa: F401 - packages name its EigResult
from lazynp.functions._dispatch import make_overridable as _make_overridable
from lazynp.functions.linear_algebra import (
    LinAlgError as LinAlgError,
    cholesky as cholesky,
    cond as cond,
    cross as cross,
    det as det,
    diagonal as diagonal,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    inv as inv,
    lstsq as lstsq,
    matmul as matmul,
    matrix_norm as matrix_norm,
    matrix_power as matrix_power,
    matrix_rank as matrix_rank,
    matrix_transpose as matrix_transpose,
    multi_dot as multi_dot,
    norm as norm,
    outer as outer,
    pinv as pinv,
    qr as qr,
    slogdet as slogdet,
    solve as solve,
    svd as svd,
    svdvals as svdvals,
    tensordot as tensordot,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
    trace as trace,
    vecdot as vecdot,
    vector_norm as vector_norm,
)

__all__: list[str] = []
__all__ += _numpy.__all__

test = _numpy.test  # type: ignore[attr-defined]
_make_overridable(globals(), _numpy)
