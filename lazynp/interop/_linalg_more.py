"""scipy.linalg: equations of control, polar factors, structured matrices and their systems."""

from __future__ import annotations

from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp._recorder import local
from lazynp.interop._calls import inexact, on_host, only, refuse
from lazynp.interop._linalg import circulant, eigh, pinv, solve, toeplitz
from lazynp.interop._matrix_functions import frechet, function_of, solve_sylvester

# -- equations of control --------------------------------------------------------------------------


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """X = A X A^H + Q, as a linear system of its elements."""
    a, q = inexact(a, q)
    n = a.shape[-1]
    system = np.eye(n * n, dtype=a.dtype) - np.kron(a, np.conj(a))
    return np.linalg.solve(system, q.reshape(n * n)).reshape(n, n)


def _solved(name: str, *given: Any) -> Any:
    """SciPy's solution, as a constant."""
    values = [np.stop_gradient(x) for x in given]

    def call(*xs: Any) -> Any:
        return numpy.asarray(getattr(scipy.linalg, name)(*xs), dtype=xs[0].dtype)

    shape = np.ShapeDtype(values[0].shape, values[0].dtype)
    return np.pure_callback(call, shape, *values, vmap_method="sequential")


def _valued(x: Any, value: Any) -> Any:
    """x, with the value that SciPy computes."""
    return x + (value - np.stop_gradient(x))


def valued_by_scipy(name: str, x: Any, *given: Any) -> Any:
    """x, with the value of SciPy's function of the given arrays."""
    return _valued(x, _solved(name, *given))


def _steps() -> range:
    """Each of Newton's steps doubles the number of right orders of the derivative."""
    return range(max(local.level, 1).bit_length())


def _riccati(name: str, a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, balanced: bool) -> Any:
    only(name, e=(e, None), s=(s, None), balanced=(balanced, True))
    return inexact(a, b, q, r)


def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Newton's step from the solution is Kleinman's: Lyapunov's equation of the closed loop."""
    a, b, q, r = _riccati("solve_continuous_are", a, b, q, r, e, s, balanced)
    x = value = _solved("solve_continuous_are", a, b, q, r)
    for _ in _steps():
        gain = np.linalg.solve(r, np.conj(b.mT) @ x)
        closed = np.conj((a - b @ gain).mT)
        right = -(q + np.conj(gain.mT) @ r @ gain)
        x = solve_sylvester(closed, np.conj(closed.mT), right)
    return _valued(x, value)


def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Newton's step from the solution is Hewer's: Stein's equation of the closed loop."""
    a, b, q, r = _riccati("solve_discrete_are", a, b, q, r, e, s, balanced)
    x = value = _solved("solve_discrete_are", a, b, q, r)
    for _ in _steps():
        turned = np.conj(b.mT) @ x
        gain = np.linalg.solve(r + turned @ b, turned @ a)
        closed = np.conj((a - b @ gain).mT)
        x = solve_discrete_lyapunov(closed, q + np.conj(gain.mT) @ r @ gain)
    return _valued(x, value)


# -- functions of a matrix -------------------------------------------------------------------------


def expm_frechet(
    A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    a, e = inexact(A, E)
    moved = frechet(a, e, name="expm", effect=False)[0]
    return (function_of(a, name="expm", effect=False)[0], moved) if compute_expm else moved


def fractional_matrix_power(A: Any, t: Any) -> Any:
    """exp(t log A); for whole powers, products."""
    if isinstance(t, int) or (isinstance(t, float) and t.is_integer()):
        return np.linalg.matrix_power(inexact(A)[0], int(t))
    (a,) = inexact(A)
    logarithm = function_of(a, name="logm", effect=False)[0]
    return function_of(t * logarithm, name="expm", effect=False)[0]


def _unitary_reference(a: Any, *, effect: bool) -> tuple[Any, ...]:
    a = numpy.asarray(a)
    out = numpy.empty_like(a)
    for i in numpy.ndindex(*a.shape[:-2]):
        out[i] = scipy.linalg.polar(a[i])[0]
    return (out,)


def _unitary_jvp(primals: Any, tangents: Any, *, effect: bool) -> Any:
    """U' = U S and what leaves the columns of U, with S skew and P S + S P = U^H A' - A'^H U. The
    square of A is not formed: it would square the condition.
    """
    (a,), (a_dot,) = primals, tangents
    (u,) = unitary(a, effect=False)
    if a_dot is None:
        return (u,), [None]
    turned = np.conj(u.mT)
    p, inside = turned @ a, turned @ a_dot
    u_dot = u @ solve_sylvester(p, p, inside - np.conj(inside.mT))
    if a.shape[-2] > a.shape[-1]:
        beside = a_dot - u @ inside
        u_dot = u_dot + np.conj(np.linalg.solve(np.conj(p.mT), np.conj(beside.mT)).mT)
    return (u,), [u_dot]


unitary = on_host("polar_unitary", lambda a, **_: (a,), _unitary_reference, _unitary_jvp)


def polar(a: Any, side: str = "right") -> Any:
    """Also where singular values are equal: it takes none of their vectors."""
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    (a,) = inexact(a)
    if a.ndim != 2:
        raise ValueError("`a` must be a 2-D array.")
    if a.shape[0] >= a.shape[1]:
        u = unitary(a, effect=False)[0]
    else:
        u = np.conj(unitary(np.conj(a.mT), effect=False)[0].mT)
    p = np.conj(u.mT) @ a if side == "right" else a @ np.conj(u.mT)
    return u, (p + np.conj(p.mT)) / 2


def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> Any:
    a, b = inexact(A, B)
    if a.ndim != 2:
        raise ValueError(f"expected ndim to be 2, but observed {a.ndim}")
    if a.shape != b.shape:
        raise ValueError(f"the shapes of A and B differ ({a.shape} vs {b.shape})")
    u, p = polar(np.conj(a).mT @ b)
    return u, np.trace(p).real


def pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    only("pinvh", return_rank=(return_rank, False), atol=(atol, None), rtol=(rtol, None))
    (a,) = inexact(a)
    part = np.tril(a, -1) if lower else np.triu(a, 1)
    return pinv(part + np.conj(part.mT) + np.tril(np.triu(a)))


# -- structured matrices ---------------------------------------------------------------------------


def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: str = "a", select_range: Any = None,
    check_finite: bool = True, tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    only("eigh_tridiagonal", select=(select, "a"))
    d, e = inexact(d, e)
    found = eigh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1), eigvals_only=eigvals_only)
    if eigvals_only:
        return found
    w, v = found

    def call(d: Any, e: Any) -> Any:
        return scipy.linalg.eigh_tridiagonal(d, e)[1].astype(d.dtype)

    given = np.stop_gradient(d), np.stop_gradient(e)
    shape = np.ShapeDtype(v.shape, v.dtype)
    signs = np.pure_callback(call, shape, *given, vmap_method="sequential")
    return w, v * np.sign((np.stop_gradient(v) * signs).sum(axis=0))


def eigvalsh_tridiagonal(d: Any, e: Any, *args: Any, **options: Any) -> Any:
    return eigh_tridiagonal(d, e, True, *args, **options)


def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    ab, b = inexact(ab, b)
    return solve(hermitian_of_bands("solveh_banded", ab, lower), b)


def hermitian_of_bands(name: str, ab: Any, lower: bool) -> Any:
    """The whole matrix."""
    if ab.ndim != 2:
        refuse(name, f"stacks of bands, {ab.shape}")
    count, n = ab.shape
    a = np.diag(ab[0 if lower else -1])
    for k in range(1, count):
        band = ab[k, : n - k] if lower else ab[count - 1 - k, k:]
        below = band if lower else np.conj(band)
        a = a + np.diag(below, -k) + np.diag(np.conj(below), k)
    return a


def solve_circulant(c: Any, b: Any, singular: str = "raise", *options: Any, **named: Any) -> Any:
    c, b = inexact(c, b)
    if c.ndim != 1 or b.ndim > 2 or options or named or singular != "raise":
        refuse("solve_circulant", "options, and other than one matrix")
    return np.linalg.solve(circulant(c), b)


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    pair = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return toeplitz(*pair) @ inexact(x)[0]


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """Linear in a: each column is a moved copy of it."""
    (a,) = inexact(a)
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    parts = scipy.linalg.convolution_matrix(numpy.eye(a.shape[-1]), n, mode)
    return np.tensordot(a, parts, axes=1)


def companion(a: Any) -> Any:
    (a,) = inexact(a)
    if a.ndim != 1 or a.shape[0] < 2:
        refuse("companion", f"an array of shape {a.shape}")
    n = a.shape[0] - 1
    return np.concatenate([(-a[1:] / a[0])[None], np.eye(n - 1, n, dtype=a.dtype)])


def leslie(f: Any, s: Any) -> Any:
    f, s = inexact(f, s)
    if f.ndim != 1 or s.ndim != 1 or f.shape[0] != s.shape[0] + 1:
        refuse("leslie", f"arrays of shapes {f.shape} and {s.shape}")
    return np.concatenate([f[None], np.pad(np.diag(s), ((0, 0), (0, 1)))])


def khatri_rao(a: Any, b: Any) -> Any:
    a, b = inexact(a, b)
    return (a[..., :, None, :] * b[..., None, :, :]).reshape(
        *a.shape[:-2], a.shape[-2] * b.shape[-2], a.shape[-1]
    )


def fiedler(a: Any) -> Any:
    (a,) = inexact(a)
    return abs(a[..., :, None] - a[..., None, :])
