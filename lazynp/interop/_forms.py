"""scipy.linalg: factors whose derivative follows from a triangular system: schur, hessenberg, ldl.

With A = Z T Z^H and M = Z^H A' Z, a rotation S = Z^H Z' gives T' = M + T S - S T. That T' has the
zeros of T determines S, but for the phases of complex vectors: those stay.
"""

from __future__ import annotations

from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp._primitive import Undefined
from lazynp._values import extent
from lazynp.functions._checks import refuse as check
from lazynp.interop._calls import inexact, like, on_host, refuse


def _square(name: str, a: Any) -> Any:
    (a,) = inexact(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name}: expected a square matrix, got {a.shape}")
    return a


def _adjoint(x: Any) -> Any:
    return np.conj(x.mT)


def _pairs(x: Any) -> Any:
    """Where the second row of a block of two rows begins: a mask of the places below the diagonal.
    x is zero there but within such blocks.
    """
    n = x.shape[-1]
    return (np.stop_gradient(x) != 0) & numpy.eye(n, k=-1, dtype=bool)


def _below(x: Any, pairs: Any) -> Any:
    """The part below the blocks of the diagonal."""
    return np.where(pairs, 0, np.tril(x, -1))


# -- the part below the blocks of T X - X T --------------------------------------------------------


def _starts(t: Any) -> list[int]:
    """The first row of each block, and the end."""
    n = len(t)
    return [i for i in range(n) if i == 0 or t[i, i - 1] == 0] + [n]


def _rotation(t: Any, c: Any, turned: bool) -> Any:
    """X, zero but below the blocks, where T X - X T, or the same of the transposed T, is c. Each
    block of columns is Sylvester's equation with triangular matrices.
    """
    starts = _starts(t)
    x = numpy.zeros_like(c)
    solve = scipy.linalg.get_lapack_funcs("trsyl", (t,))
    blocks = list(zip(starts[:-1], starts[1:], strict=True))[:-1]
    for i, j in reversed(blocks) if turned else blocks:
        corner, rest, right = t[i:j, i:j], t[j:, j:], c[j:, i:j]
        if turned:
            right = right + x[j:, j:] @ t[i:j, j:].T
            rest, corner, letter = rest.conj(), corner.conj(), "C"
        else:
            right, letter = right + x[j:, :i] @ t[:i, i:j], "N"
        found, scale, near = solve(rest, corner, right, letter, letter, -1)
        if near and right.any():  # equal eigenvalues: LAPACK has moved them
            found = numpy.full_like(right, numpy.nan)
        x[j:, i:j] = found / scale
    return x


def _rotation_reference(t: Any, c: Any, *, turned: bool, effect: bool) -> tuple[Any, ...]:
    t, c = numpy.asarray(t), numpy.asarray(c)
    out = numpy.zeros_like(c)
    for i in numpy.ndindex(*t.shape[:-2]):
        out[i] = _rotation(t[i], c[i], turned)
    return (out,)


def _rotation_jvp(primals: Any, tangents: Any, *, turned: bool, effect: bool) -> Any:
    (t, c), (t_dot, c_dot) = primals, tangents
    (x,) = rotation(t, c, turned=turned, effect=False)
    right = c_dot
    if t_dot is not None:
        side = t_dot.mT if turned else t_dot
        moved = _below(side @ x - x @ side, _pairs(t))
        right = -moved if right is None else right - moved
    if right is None:
        return (x,), [None]
    return (x,), [rotation(t, right, turned=turned, effect=False)[0]]


def _rotation_transpose(cts: Any, t: Any, c: Any, *, turned: bool, effect: bool) -> list[Any]:
    if not isinstance(c, Undefined) or cts[0] is None:
        return [None, None]
    return [None, rotation(t, cts[0], turned=not turned, effect=False)[0]]


rotation = on_host(
    "schur_rotation",
    lambda t, c, **_: (c,),
    _rotation_reference,
    _rotation_jvp,
    _rotation_transpose,
)

# -- A = Z T Z^H -----------------------------------------------------------------------------------


def _schur_reference(a: Any, *, sort: Any, effect: bool) -> tuple[Any, ...]:
    a = numpy.asarray(a)
    t, z = numpy.empty_like(a), numpy.empty_like(a)
    count = numpy.zeros(a.shape[:-2], numpy.int64)
    output = "complex" if a.dtype.kind == "c" else "real"
    for i in numpy.ndindex(*a.shape[:-2]):
        found = scipy.linalg.schur(a[i], output, sort=sort)
        t[i], z[i], count[i] = found if sort is not None else (*found, 0)
    return t, z, count


def _turn_of_pairs(t: Any, t_dot: Any, pairs: Any) -> Any:
    """Two rows of a pair of complex eigenvalues turn so that both have one element on the diagonal,
    [[a, b], [c, a]].
    """
    both = np.diagonal(t, 1, -2, -1) + np.diagonal(t, -1, -2, -1)
    diagonal = np.diagonal(t_dot, 0, -2, -1)
    is_pair = np.diagonal(pairs, -1, -2, -1)
    angle = (diagonal[..., 1:] - diagonal[..., :-1]) / (2 * np.where(is_pair, both, 1))
    n = t.shape[-1]
    grown = np.pad(np.where(is_pair, angle, 0), [(0, 0)] * (t.ndim - 2) + [(0, 1)])
    return grown[..., None, :] * numpy.eye(n, k=-1)[..., :, :]


def _schur_jvp(primals: Any, tangents: Any, *, sort: Any, effect: bool) -> Any:
    (a,), (a_dot,) = primals, tangents
    outs = t, z, _ = schur_form(a, sort=sort, effect=False)
    if a_dot is None:
        return outs, [None, None, None]
    pairs = _pairs(t)
    inside = _adjoint(z) @ a_dot @ z
    low = rotation(t, -_below(inside, pairs), turned=False, effect=False)[0]
    if a.dtype.kind == "f" and a.shape[-1] > 1:
        turn = low - low.mT
        low = low + _turn_of_pairs(t, inside + t @ turn - turn @ t, pairs).astype(a.dtype)
    turn = low - _adjoint(low)
    t_dot = inside + t @ turn - turn @ t
    return outs, [np.where(pairs, t_dot, np.triu(t_dot)), z @ turn, None]


schur_form = on_host(
    "schur",
    lambda a, **_: (a, a, like(a, a.shape[:-2], numpy.int64)),
    _schur_reference,
    _schur_jvp,
)


def schur(
    a: Any, output: str = "real", lwork: Any = None, overwrite_a: bool = False, sort: Any = None,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    a = _square("schur", a)
    if output in ("complex", "c"):
        a = a.astype(numpy.result_type(a.dtype, numpy.complex64))
    t, z, count = schur_form(a, sort=sort, effect=False)
    return (t, z) if sort is None else (t, z, count)


# -- A = Q H Q^H -----------------------------------------------------------------------------------


def _hessenberg_reference(a: Any, *, effect: bool) -> tuple[Any, ...]:
    a = numpy.asarray(a)
    h, q = numpy.empty_like(a), numpy.empty_like(a)
    for i in numpy.ndindex(*a.shape[:-2]):
        h[i], q[i] = scipy.linalg.hessenberg(a[i], calc_q=True)
    return h, q


def _hessenberg_turn(h: Any, inside: Any) -> Any:
    """S, a column after the other: the first one of Q stays, and H' is zero where H is."""
    n = h.shape[-1]
    turn = np.zeros_like(inside)
    for j in range(n - 1):
        step = h[..., j + 1, j][..., None]
        moved = (inside[..., j] + (h @ turn[..., j, None])[..., 0])[..., j + 1 :]
        moved = (moved - (turn[..., j + 1 :, : j + 1] @ h[..., : j + 1, j, None])[..., 0]) / step
        if h.dtype.kind == "c":  # the elements below the diagonal stay real
            turn[..., j + 1, j + 1] = 1j * moved[..., 0].imag
        if j + 2 < n:
            turn[..., j + 2 :, j + 1] = moved[..., 1:]
            turn[..., j + 1, j + 2 :] = -np.conj(moved[..., 1:])
    return turn


def _hessenberg_jvp(primals: Any, tangents: Any, *, effect: bool) -> Any:
    (a,), (a_dot,) = primals, tangents
    outs = h, q = hessenberg_form(a, effect=False)
    if a_dot is None:
        return outs, [None, None]
    inside = _adjoint(q) @ a_dot @ q
    turn = _hessenberg_turn(h, inside)
    return outs, [np.triu(inside + h @ turn - turn @ h, -1), q @ turn]


hessenberg_form = on_host(
    "hessenberg", lambda a, **_: (a, a), _hessenberg_reference, _hessenberg_jvp
)


def hessenberg(
    a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    a = _square("hessenberg", a)
    if a.shape[-1] <= 2:
        h, q = a, np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    else:
        h, q = hessenberg_form(a, effect=False)
    return (h, q) if calc_q else h


# -- A = L D L^H -----------------------------------------------------------------------------------


def _ldl_reference(a: Any, *, lower: bool, hermitian: bool, effect: bool) -> tuple[Any, ...]:
    a = numpy.asarray(a)
    factor, middle = numpy.empty_like(a), numpy.empty_like(a)
    order = numpy.empty(a.shape[:-1], numpy.int64)
    for i in numpy.ndindex(*a.shape[:-2]):
        factor[i], middle[i], order[i] = scipy.linalg.ldl(a[i], lower, hermitian)
    return factor, middle, order


def _ldl_jvp(primals: Any, tangents: Any, *, lower: bool, hermitian: bool, effect: bool) -> Any:
    """With X = L^-1 A' L^-H, which is N D + D' + D N^H: D' is what X has in the blocks of D, and
    N = L^-1 L' has the part below them.
    """
    (a,), (a_dot,) = primals, tangents
    outs = factor, middle, _ = ldl_form(a, lower=lower, hermitian=hermitian, effect=False)
    if a_dot is None:
        return outs, [None, None, None]
    inside = np.linalg.solve(factor, a_dot)
    turned = _adjoint if hermitian else np.matrix_transpose
    inside = turned(np.linalg.solve(factor, turned(inside)))
    pairs = _pairs(middle)
    blocks = pairs | pairs.mT | numpy.eye(a.shape[-1], dtype=bool)
    beside = np.where(blocks, 0, np.tril(inside) if lower else np.triu(inside))
    moved = np.linalg.solve(middle.mT, beside.mT).mT
    return outs, [factor @ moved, np.where(blocks, inside, 0), None]


ldl_form = on_host(
    "ldl", lambda a, **_: (a, a, like(a, a.shape[:-1], numpy.int64)), _ldl_reference, _ldl_jvp
)


def ldl(
    A: Any, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    a = _square("ldl", A)
    part = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal, other = np.tril(np.triu(a)), part.mT
    if hermitian and a.dtype.kind == "c":
        diagonal, other = diagonal.real, np.conj(other)
    return ldl_form(part + diagonal + other, lower=bool(lower), hermitian=bool(hermitian),
                    effect=False)  # fmt: skip


# -- bases and functions ---------------------------------------------------------------------------


def _rank(name: str, s: Any, shape: Any, rcond: Any) -> int:
    """How many singular values count: all of them where they are not known."""
    rcond = numpy.finfo(s.dtype).eps * max(shape) if rcond is None else rcond
    s = np.stop_gradient(s)
    count = (s > s.max(initial=0.0) * rcond).sum()
    known = extent(count._read())
    if known is not None:
        first, *others = set(numpy.ravel(known).tolist()) or {s.size}
        if others:
            raise ValueError(f"{name}: matrices of equal rank are required, got {first}, {others}")
        return first
    check(count < s.size, ValueError, f"{name}: under jit and vmap, full rank is required")
    return s.size


def null_space(A: Any, rcond: Any = None, **options: Any) -> Any:
    """The vectors turn among themselves no more than they must."""
    (a,) = inexact(A)
    if a.ndim != 2:
        refuse("null_space", f"stacks of matrices, {a.shape}")
    _, s, vh = np.linalg.svd(a)
    return _adjoint(vh[_rank("null_space", s, a.shape, rcond) :])


def orth(A: Any, rcond: Any = None) -> Any:
    (a,) = inexact(A)
    if a.ndim != 2:
        refuse("orth", f"stacks of matrices, {a.shape}")
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    return u[:, : _rank("orth", s, a.shape, rcond)]


_GAUSS = numpy.polynomial.legendre.leggauss(2)


def _slopes(func: Any, w: Any) -> Any:
    """(f(w_i) - f(w_j)) / (w_i - w_j), where both are near, f' halfway."""
    value, row, column = func(w), w[None, :], w[:, None]
    gap, middle = column - row, (column + row) / 2
    near = abs(gap) <= 1e-5 * np.maximum(abs(middle), numpy.finfo(w.dtype).tiny)
    slope = np.jvp(func, (middle,), (np.ones_like(middle),))[1]
    differences = (value[:, None] - value[None, :]) / np.where(near, 1.0, gap)
    return np.where(near, slope, differences)


def funm(A: Any, func: Any, disp: Any = True) -> Any:
    """f(A) - f(A0) is an integral from A0 to A, of what the slopes of f make of A - A0 (Daleckii,
    Krein). A0 is the value of A; with two places of Gauss, four derivatives are exact.
    """
    (a,) = inexact(A)
    if a.ndim != 2 or disp is not True:
        refuse("funm", "stacks of matrices, and disp=False")
    begin = np.stop_gradient(a)
    w, v = np.linalg.eig(begin.astype(numpy.result_type(a.dtype, numpy.complex64)))
    out = np.linalg.solve(v.T, (v * func(w)).T).T
    for place, weight in zip(*_GAUSS, strict=True):
        w, v = np.linalg.eig((begin + (1 + place) / 2 * (a - begin)).astype(v.dtype))
        moved = _slopes(func, w) * np.linalg.solve(v, (a - begin) @ v)
        out = out + weight / 2 * np.linalg.solve(v.T, (v @ moved).T).T

    if a.dtype.kind == "c":
        return out
    size = 1e3 * numpy.finfo(a.dtype).eps * np.maximum(abs(out).max(), 1.0)
    large = abs(out.imag).max() > size
    check(large, ValueError, "funm: the result is complex: pass a complex matrix")
    return out.real


WITHOUT = {
    "cossin": "take np.linalg.svd of the blocks, x[:p, :q] and the others",
    "qz": "take scipy.linalg.schur of solve(b, a)",
    "ordqz": "take scipy.linalg.schur(solve(b, a), sort=...)",
    "rsf2csf": "take scipy.linalg.schur(a, 'complex')",
}


def without(name: str, instead: str) -> Any:
    """For a function whose result no derivative describes."""

    def refused(*args: Any, **options: Any) -> Any:
        raise TypeError(f"{name}: its result has no derivative that is defined: {instead}")

    refused.__name__ = name
    return refused
