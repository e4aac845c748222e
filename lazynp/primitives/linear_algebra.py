"""Linear systems and factorisations on stacks of matrices (the last two axes).

| primitive | results |
|---|---|
| `cholesky(a)` | l, status |
| `solve(a, b)` | x, status |
| `triangular_solve(a, b; lower, transpose, unit_diagonal)` | x |
| `slogdet(a)` | sign, logabsdet |
| `qr(a; mode)`, `qr_raw(a)` | q, r or r; h, tau |
| `svd(a; full_matrices, compute_uv)` | u, s, vh, status or s, status |
| `eigh(a; lower, compute_v)` | w, v, status or w, status |
| `eig(a; compute_v)` | the same, always complex |
| `as_pseudo_inverse(a, p; triangle)` | p, with the derivative of the pseudo-inverse of a |

Status is LAPACK's `info`, an int32 for each matrix; where it is not 0, the results are nan. The
references call NumPy's own functions, so their results are NumPy's to the last bit.
"""

from __future__ import annotations

from lazynp.primitives._eigen import eig, eigh
from lazynp.primitives._orthogonal import qr, qr_raw, svd
from lazynp.primitives._pseudo_inverse import as_pseudo_inverse
from lazynp.primitives._systems import cholesky, slogdet, solve, triangular_solve

__all__ = [
    "as_pseudo_inverse", "cholesky", "eig", "eigh", "qr", "qr_raw", "slogdet", "solve", "svd",
    "triangular_solve",
]  # fmt: skip
