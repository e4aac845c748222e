"""Linear algebra. At present each function runs in NumPy on the values of its arguments."""

from __future__ import annotations

import numpy.linalg as _numpy

from lazynp.functions._host import hosted as _hosted

matrix_power = _hosted(_numpy.matrix_power)
solve = _hosted(_numpy.solve)
tensorsolve = _hosted(_numpy.tensorsolve)
tensorinv = _hosted(_numpy.tensorinv)
inv = _hosted(_numpy.inv)
cholesky = _hosted(_numpy.cholesky)
eigvals = _hosted(_numpy.eigvals)
eigvalsh = _hosted(_numpy.eigvalsh)
pinv = _hosted(_numpy.pinv)
slogdet = _hosted(_numpy.slogdet)
det = _hosted(_numpy.det)
svd = _hosted(_numpy.svd)
svdvals = _hosted(_numpy.svdvals)
eig = _hosted(_numpy.eig)
eigh = _hosted(_numpy.eigh)
lstsq = _hosted(_numpy.lstsq)
norm = _hosted(_numpy.norm)
qr = _hosted(_numpy.qr)
cond = _hosted(_numpy.cond)
matrix_rank = _hosted(_numpy.matrix_rank)
LinAlgError = _numpy.LinAlgError
multi_dot = _hosted(_numpy.multi_dot)
trace = _hosted(_numpy.trace)
diagonal = _hosted(_numpy.diagonal)
cross = _hosted(_numpy.cross)
outer = _hosted(_numpy.outer)
tensordot = _hosted(_numpy.tensordot)
matmul = _hosted(_numpy.matmul)
matrix_transpose = _hosted(_numpy.matrix_transpose)
matrix_norm = _hosted(_numpy.matrix_norm)
vector_norm = _hosted(_numpy.vector_norm)
vecdot = _hosted(_numpy.vecdot)

__all__ = [
    "matrix_power",
    "solve",
    "tensorsolve",
    "tensorinv",
    "inv",
    "cholesky",
    "eigvals",
    "eigvalsh",
    "pinv",
    "slogdet",
    "det",
    "svd",
    "svdvals",
    "eig",
    "eigh",
    "lstsq",
    "norm",
    "qr",
    "cond",
    "matrix_rank",
    "LinAlgError",
    "multi_dot",
    "trace",
    "diagonal",
    "cross",
    "outer",
    "tensordot",
    "matmul",
    "matrix_transpose",
    "matrix_norm",
    "vector_norm",
    "vecdot",
]
