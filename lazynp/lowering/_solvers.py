"""Factorisations of stacks of matrices, by the library that a platform has: LAPACK or cuSOLVER.

Both classes have the same methods. The rules of linear algebra call them with their builder. Each
gives a status for each matrix, 0 where it succeeded. No dimension may be 0, or LAPACK kills the
process. Triangles that a routine does not define hold anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._errors import LoweringError
from lazynp.lowering import _chunks, _stacks
from lazynp.lowering._text import flag

_INT32 = np.dtype(np.int32)
_PREFIX = {"f": "s", "d": "d", "F": "c", "D": "z"}
Ranked = tuple[Aval, int]  # with 2 for stacks of matrices, 1 for vectors, 0 for numbers


def _status(a: Aval) -> Ranked:
    return aval_of(a.shape[:-2], _INT32), 0


def _vector(a: Aval, n: int, dtype: Any = None) -> Ranked:
    return aval_of((*a.shape[:-2], n), np.dtype(dtype or a.dtype)), 1


def _matrix(a: Aval, m: int, n: int, dtype: Any = None) -> Ranked:
    return aval_of((*a.shape[:-2], m, n), np.dtype(dtype or a.dtype)), 2


def _real(a: Aval) -> np.dtype[Any]:
    return np.dtype(a.dtype.char.lower())


def _complex(a: Aval) -> np.dtype[Any]:
    return np.dtype(a.dtype.char.upper())


def _call(
    b: Any,
    target: str,
    operands: Sequence[Any],
    outs: Sequence[Ranked],
    attrs: dict[str, str],
    *,
    ranks: Sequence[int] = (2, 2),
    aliases: dict[int, int] | None = None,
    by_rows: bool = False,
) -> list[Any]:
    """Call a target on a stack. Matrices are in column-major order, as both libraries want them;
    by_rows: in row-major order, so that the library sees the transposed ones.
    """
    given = [(x.aval, rank) for x, rank in zip(operands, ranks)]
    return b.custom_call(
        target,
        operands,
        [aval for aval, _ in outs],
        attrs=attrs,
        operand_layouts=[_layout(*x, by_rows) for x in given],
        result_layouts=[_layout(*x, by_rows) for x in outs],
        aliases=aliases,
        leading=operands[0].aval.ndim - ranks[0],
    )


def _layout(aval: Aval, rank: int, by_rows: bool) -> tuple[int, ...]:
    order = tuple(range(aval.ndim))[::-1]
    return (order[1], order[0], *order[2:]) if rank == 2 and not by_rows else order


class Lapack:
    """SciPy's LAPACK, on the host, by the targets of jaxlib."""

    def call(
        self, b: Any, routine: str, operands: Sequence[Any], outs: Sequence[Ranked],
        letters: dict[str, str] | None = None, *, ranks: Sequence[int] = (2, 2),
        aliases: dict[int, int] | None = None,
    ) -> list[Any]:  # fmt: skip
        """A routine for each matrix of the stacks. letters: what LAPACK takes as letters."""
        target = f"lapack_{_PREFIX[operands[0].aval.dtype.char]}{routine}_ffi"
        attrs = {name: f"{ord(letter)} : ui8" for name, letter in (letters or {}).items()}

        def call(b: Any, operands: list[Any], outs: list[Ranked]) -> list[Any]:
            return _call(b, target, operands, outs, attrs, ranks=ranks, aliases=aliases)

        leading = operands[0].aval.ndim - ranks[0]
        if b.mesh is not None and leading:
            config = _stacks.solver_config(routine, letters, ranks, [r for _, r in outs], aliases)
            made = [aval for aval, _ in outs]
            return b.custom_call(_stacks.SOLVER, operands, made, config=config, leading=leading)
        most = _chunks.length(routine, operands[-1 if routine == "trsm" else 0].aval)
        return _chunks.called(b, call, operands, ranks[: len(operands)], outs, most)

    def cholesky(self, b: Any, a: Any) -> list[Any]:
        """The factor in the lower triangle, status."""
        outs = [(a.aval, 2), _status(a.aval)]
        return self.call(b, "potrf", [a], outs, {"uplo": "L"}, aliases={0: 0})

    def lu(self, b: Any, a: Any) -> list[Any]:
        """Both factors in one matrix, pivots counted from 1, status."""
        outs = [(a.aval, 2), _vector(a.aval, min(a.aval.shape[-2:]), _INT32), _status(a.aval)]
        return self.call(b, "getrf", [a], outs, aliases={0: 0})

    def qr(self, b: Any, a: Any) -> list[Any]:
        """R with the Householder vectors below it, their factors."""
        outs = [(a.aval, 2), _vector(a.aval, min(a.aval.shape[-2:]))]
        return self.call(b, "geqrf", [a], outs, aliases={0: 0})

    def householder(self, b: Any, h: Any, tau: Any) -> Any:
        """The columns of Q, as many as h has."""
        routine = "ungqr" if h.aval.dtype.kind == "c" else "orgqr"
        return self.call(b, routine, [h, tau], [(h.aval, 2)], ranks=(2, 1), aliases={0: 0})[0]

    def triangular(self, b: Any, a: Any, x: Any, lower: bool, transpose: str, unit: bool) -> Any:
        """op(a)^-1 x; transpose: N, T or C."""
        letters = {
            "side": "L", "uplo": "L" if lower else "U", "trans_x": transpose,
            "diag": "U" if unit else "N",
        }  # fmt: skip
        return self.call(b, "trsm", [a, x], [(x.aval, 2)], letters, aliases={0: 1})[0]

    def hermitian(self, b: Any, a: Any, lower: bool, vectors: bool) -> list[Any]:
        """Eigenvectors (anything unless `vectors`), eigenvalues, status."""
        routine = "heevd" if a.aval.dtype.kind == "c" else "syevd"
        outs = [(a.aval, 2), _vector(a.aval, a.aval.shape[-1], _real(a.aval)), _status(a.aval)]
        letters = {"mode": "V" if vectors else "N", "uplo": "L" if lower else "U"}
        return self.call(b, routine, [a], outs, letters, aliases={0: 0})

    def eigen(self, b: Any, a: Any, vectors: bool) -> list[Any]:
        """Eigenvalues, right eigenvectors (anything unless `vectors`), status."""
        letters = {"compute_left": "N", "compute_right": "V" if vectors else "N"}
        return _of_parts(b, self.call(b, "geev", [a], _eigen_outs(a.aval), letters))

    def svd(self, b: Any, a: Any, full: bool, vectors: bool) -> list[Any]:
        """U, singular values, V^H (anything unless `vectors`), status."""
        m, n = a.aval.shape[-2:]
        k = min(m, n)
        rows, columns = (m, n) if full and vectors else (k, k)
        outs = [
            (a.aval, 2), _vector(a.aval, k, _real(a.aval)), _matrix(a.aval, m, rows),
            _matrix(a.aval, columns, n), _status(a.aval),
        ]  # fmt: skip
        mode = "N" if not vectors else "A" if full else "S"
        _, s, u, vh, info = self.call(b, "gesdd", [a], outs, {"mode": mode}, aliases={0: 0})
        return [u, s, vh, info]


def _eigen_outs(a: Aval) -> list[Ranked]:
    """Of real matrices, the values are real and imaginary parts; the vectors are always complex."""
    n, parts = a.shape[-1], 1 if a.dtype.kind == "c" else 2
    vectors = [_matrix(a, n, n, _complex(a))] * 2
    return [*[_vector(a, n)] * parts, *vectors, _status(a)]


def _of_parts(b: Any, results: list[Any]) -> list[Any]:
    *values, _, right, info = results
    return [values[0] if len(values) == 1 else b.complex(*values), right, info]


_JACOBI = 1024  # rows and columns: up to here Jacobi's method is the faster one on a GPU
_BATCHED = 32  # rows and columns: up to here it takes a whole stack at once, with all vectors


class Cusolver:
    """NVIDIA's cuSOLVER, by the targets of the CUDA plugin, and XLA's own triangular solver."""

    def _call(
        self, b: Any, target: str, operands: Sequence[Any], outs: Sequence[Ranked],
        attrs: Mapping[str, bool | str], **options: Any,
    ) -> list[Any]:  # fmt: skip
        """attrs: flags, or the MLIR text of other kinds of arguments."""
        texts = {k: flag(v) if isinstance(v, bool) else v for k, v in attrs.items()}
        return _call(b, target, operands, outs, texts, **options)

    def cholesky(self, b: Any, a: Any) -> list[Any]:
        """The factor in the lower triangle, status."""
        outs = [(a.aval, 2), _status(a.aval)]
        return self._call(b, "cusolver_potrf_ffi", [a], outs, {"lower": True}, aliases={0: 0})

    def lu(self, b: Any, a: Any) -> list[Any]:
        """Both factors in one matrix, pivots counted from 1, status."""
        outs = [(a.aval, 2), _vector(a.aval, min(a.aval.shape[-2:]), _INT32), _status(a.aval)]
        return self._call(b, "cusolver_getrf_ffi", [a], outs, {}, aliases={0: 0})

    def qr(self, b: Any, a: Any) -> list[Any]:
        """R with the Householder vectors below it, their factors."""
        outs = [(a.aval, 2), _vector(a.aval, min(a.aval.shape[-2:]))]
        return self._call(b, "cusolver_geqrf_ffi", [a], outs, {}, aliases={0: 0})

    def householder(self, b: Any, h: Any, tau: Any) -> Any:
        """The columns of Q, as many as h has."""
        outs, ranks = [(h.aval, 2)], (2, 1)
        return self._call(
            b, "cusolver_orgqr_ffi", [h, tau], outs, {}, ranks=ranks, aliases={0: 0}
        )[0]  # fmt: skip

    def triangular(self, b: Any, a: Any, x: Any, lower: bool, transpose: str, unit: bool) -> Any:
        """op(a)^-1 x; transpose: N, T or C. XLA calls cuBLAS for it."""
        return b.triangular_solve(a, x, lower=lower, transpose=transpose, unit_diagonal=unit)

    def hermitian(self, b: Any, a: Any, lower: bool, vectors: bool) -> list[Any]:
        """Eigenvectors, eigenvalues, status. The library computes the vectors in any case."""
        outs = [(a.aval, 2), _vector(a.aval, a.aval.shape[-1], _real(a.aval)), _status(a.aval)]
        attrs = {"lower": lower, "algorithm": "0 : ui8"}  # the library's choice
        return self._call(b, "cusolver_syevd_ffi", [a], outs, attrs, aliases={0: 0})

    def eigen(self, b: Any, a: Any, vectors: bool) -> list[Any]:
        """Eigenvalues, right eigenvectors (anything unless `vectors`), status.

        The plugin runs LAPACK on the host for it (or MAGMA, where that is installed), so vectors
        have LAPACK's normalisation. cuSOLVER's own routine is missing in older releases.
        """
        target = "cuhybrid_eig_comp" if a.aval.dtype.kind == "c" else "cuhybrid_eig_real"
        attrs = {"left": False, "magma": '"auto"', "right": vectors}
        return _of_parts(b, self._call(b, target, [a], _eigen_outs(a.aval), attrs))

    def svd(self, b: Any, a: Any, full: bool, vectors: bool) -> list[Any]:
        """U, singular values, V^H (anything unless `vectors`), status."""
        if max(a.aval.shape[-2:]) <= _JACOBI:
            return self._jacobi(b, a, full, vectors)
        return self._by_qr(b, a, full, vectors)

    def _jacobi(self, b: Any, a: Any, full: bool, vectors: bool) -> list[Any]:
        """Gives V, not V^H, and needs room for U and V in any case."""
        m, n = a.aval.shape[-2:]
        k = min(m, n)
        economic = not full and k > _BATCHED
        outs = [
            (a.aval, 2), _vector(a.aval, k, _real(a.aval)),
            _matrix(a.aval, m, k if economic else m), _matrix(a.aval, n, k if economic else n),
            _status(a.aval),
        ]  # fmt: skip
        flags = {"compute_uv": vectors, "full_matrices": not economic}
        _, s, u, v, info = self._call(b, "cusolver_gesvdj_ffi", [a], outs, flags, aliases={0: 0})
        if not full:
            u, v = _columns(b, u, k), _columns(b, v, k)
        return [u, s, _adjoint(b, v), info]

    def _by_qr(self, b: Any, a: Any, full: bool, vectors: bool) -> list[Any]:
        """Takes matrices of at least as many rows as columns. A wide one in row-major order is
        a tall one to the library, and its U and V^H change places.
        """
        m, n = a.aval.shape[-2:]
        k, wide = min(m, n), m < n
        rows, columns = (m, n) if full else (k, k)
        u, vh = _matrix(a.aval, m, rows), _matrix(a.aval, columns, n)
        if not vectors:
            u = vh = aval_of((), a.aval.dtype), 0
        first, second = (vh, u) if wide else (u, vh)
        outs = [(a.aval, 2), _vector(a.aval, k, _real(a.aval)), first, second, _status(a.aval)]
        flags = {"compute_uv": vectors, "full_matrices": full, "transposed": wide}
        results = self._call(
            b, "cusolver_gesvd_ffi", [a], outs, flags, aliases={0: 0}, by_rows=wide
        )
        _, s, first, second, info = results
        return [second, s, first, info] if wide else [first, s, second, info]


def _columns(b: Any, x: Any, k: int) -> Any:
    """The first k columns of each matrix."""
    limits = (*x.aval.shape[:-1], k)
    return b.slice(x, (0,) * x.aval.ndim, limits)


def _adjoint(b: Any, x: Any) -> Any:
    n = x.aval.ndim
    x = b.transpose(x, (*range(n - 2), n - 1, n - 2))
    if x.aval.dtype.kind != "c":
        return x
    return b.complex(b.real(x), b.unary("stablehlo.negate", b.imag(x)))


class NoSolvers:
    """Of a platform that has no library for matrices."""

    def __init__(self, platform: str) -> None:
        self.platform = platform

    def __getattr__(self, name: str) -> Any:
        raise LoweringError(f"{self.platform} has no library that factorises matrices")
