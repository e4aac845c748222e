"""expm, logm, sqrtm and the like, with Fréchet's derivative; Sylvester's equation; LU.

For a matrix function f, f([[A, E], [0, A]]) has the derivative of f at A in the direction E in its
upper right block (Mathias 1996). The derivative is linear in E, and its transpose is the derivative
at the transpose of A. So one primitive serves for all functions, and for all orders.
"""

from __future__ import annotations

from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp._primitive import Undefined
from lazynp.interop._calls import each, inexact, like, on_host, refuse, stacked

# -- f(A) ------------------------------------------------------------------------------------------


def _apply(name: str, a: Any) -> Any:
    """SciPy's function of one matrix, in the dtype of the matrix."""
    out: Any = numpy.asarray(getattr(scipy.linalg, name)(a))
    if out.dtype.kind == "c" and a.dtype.kind == "f":
        if out.imag.any():
            raise ValueError(f"{name}: the result is complex: pass a complex matrix")
        out = out.real
    return out.astype(a.dtype)


def _reference(a: Any, *, name: str, effect: bool) -> tuple[Any, ...]:
    out = each(lambda x: _apply(name, x), (2,), numpy.asarray(a))
    return (numpy.zeros_like(a) if out is None else out,)


def _jvp(primals: Any, tangents: Any, *, name: str, effect: bool) -> Any:
    (a,), (a_dot,) = primals, tangents
    outs = function_of(a, name=name, effect=False)
    if a_dot is None:
        return outs, [None]
    return outs, list(frechet(a, a_dot, name=name, effect=False))


function_of = on_host("matrix_function", lambda a, **_: (a,), _reference, _jvp)


def _frechet_one(name: str, a: Any, e: Any) -> Any:
    n = a.shape[-1]
    if not e.any():
        return numpy.zeros_like(a)
    # the result is linear in E: a size near A's keeps the block matrix well scaled
    size = numpy.abs(a).max() / numpy.abs(e).max() or 1.0
    block = numpy.block([[a, e * size], [numpy.zeros_like(a), a]])
    return _apply(name, block)[:n, n:] / size


def _frechet_reference(a: Any, e: Any, *, name: str, effect: bool) -> tuple[Any, ...]:
    a, e = numpy.asarray(a), numpy.asarray(e)
    out = each(lambda x, y: _frechet_one(name, x, y), (2, 2), a, e)
    return (numpy.zeros_like(a) if out is None else out,)


def _frechet_jvp(primals: Any, tangents: Any, *, name: str, effect: bool) -> Any:
    (a, e), (a_dot, e_dot) = primals, tangents
    outs = frechet(a, e, name=name, effect=False)
    moved = None if e_dot is None else frechet(a, e_dot, name=name, effect=False)[0]
    if a_dot is not None:
        n, zero = a.shape[-1], np.zeros_like(a)
        block = np.block([[a, e], [zero, a]])
        turned = np.block([[a_dot, zero], [zero, a_dot]])
        (second,) = frechet(block, turned, name=name, effect=False)
        second = second[..., :n, n:]
        moved = second if moved is None else moved + second
    return outs, [moved]


def _frechet_transpose(cts: Any, a: Any, e: Any, *, name: str, effect: bool) -> list[Any]:
    if not isinstance(e, Undefined) or cts[0] is None:
        return [None, None]
    return [None, frechet(a.mT, cts[0], name=name, effect=False)[0]]


frechet = on_host(
    "frechet", lambda a, e, **_: (a,), _frechet_reference, _frechet_jvp, _frechet_transpose
)


def matrix_function(name: str) -> Any:
    """Our version of `scipy.linalg`'s function of this name."""

    def function(A: Any) -> Any:
        (a,) = inexact(A)
        if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
            raise ValueError(f"{name}: expected a square matrix, got {a.shape}")
        return function_of(a, name=name, effect=False)[0]

    function.__name__ = name
    return function


# -- A X + X B = Q ---------------------------------------------------------------------------------


def _sylvester_reference(a: Any, b: Any, q: Any, *, effect: bool) -> tuple[Any, ...]:
    a, b, q = map(numpy.asarray, (a, b, q))
    out = each(scipy.linalg.solve_sylvester, (2, 2, 2), a, b, q)
    return (numpy.zeros_like(q) if out is None else out.astype(q.dtype),)


def _sylvester_jvp(primals: Any, tangents: Any, *, effect: bool) -> Any:
    (a, b, q), (a_dot, b_dot, q_dot) = primals, tangents
    (x,) = sylvester(a, b, q, effect=False)
    right = q_dot
    if a_dot is not None:
        right = -(a_dot @ x) if right is None else right - a_dot @ x
    if b_dot is not None:
        right = -(x @ b_dot) if right is None else right - x @ b_dot
    return (x,), [None if right is None else sylvester(a, b, right, effect=False)[0]]


def _sylvester_transpose(cts: Any, a: Any, b: Any, q: Any, *, effect: bool) -> list[Any]:
    if not isinstance(q, Undefined) or cts[0] is None:
        return [None, None, None]
    return [None, None, sylvester(a.mT, b.mT, cts[0], effect=False)[0]]


sylvester = on_host(
    "sylvester",
    lambda a, b, q, **_: (q,),
    _sylvester_reference,
    _sylvester_jvp,
    _sylvester_transpose,
)


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    return sylvester(*stacked(*inexact(a, b, q)), effect=False)[0]


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    a, q = inexact(a, q)
    return solve_sylvester(a, np.conj(a.mT), q)


# -- bands -----------------------------------------------------------------------------------------
# ab[u + i - j, j] is the element (i, j)


def _bands_turned(ab: Any, low: int, up: int) -> Any:
    """The bands of the transpose, on the host."""
    out, n = numpy.zeros_like(ab), ab.shape[-1]
    for d in range(-low, up + 1):  # the diagonal j - i = d becomes -d
        row, turned = up - d, low + d
        if d >= 0:
            out[..., turned, : n - d] = ab[..., row, d:]
        else:
            out[..., turned, -d:] = ab[..., row, : n + d]
    return out


def _banded_reference(
    ab: Any, b: Any, *, low: int, up: int, turned: bool, effect: bool
) -> tuple[Any, ...]:
    ab, b = numpy.asarray(ab), numpy.asarray(b)
    if turned:
        ab, low, up = _bands_turned(ab, low, up), up, low
    out = each(lambda x, y: scipy.linalg.solve_banded((low, up), x, y), (2, 2), ab, b)
    return (numpy.zeros_like(b) if out is None else out.astype(b.dtype),)


def _banded_product(ab: Any, x: Any, low: int, up: int, turned: bool) -> Any:
    """The band matrix, or its transpose, times x."""
    n, out = x.shape[-2], np.zeros_like(x)
    for d in range(-low, up + 1):
        band = ab[..., up - d, :]
        i, j = max(0, -d), max(0, d)
        size = n - abs(d)
        if size <= 0:
            continue
        rows, columns = (j, i) if turned else (i, j)
        part = band[..., j : j + size, None] * x[..., columns : columns + size, :]
        out[..., rows : rows + size, :] += part
    return out


def _banded_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    (ab, b), (ab_dot, b_dot) = primals, tangents
    (x,) = banded(ab, b, **params)
    right = b_dot
    if ab_dot is not None:
        moved = _banded_product(ab_dot, x, params["low"], params["up"], params["turned"])
        right = -moved if right is None else right - moved
    return (x,), [None if right is None else banded(ab, right, **params)[0]]


def _banded_transpose(cts: Any, ab: Any, b: Any, **params: Any) -> list[Any]:
    if not isinstance(b, Undefined) or cts[0] is None:
        return [None, None]
    params["turned"] = not params["turned"]
    return [None, banded(ab, cts[0], **params)[0]]


banded = on_host(
    "solve_banded", lambda ab, b, **_: (b,), _banded_reference, _banded_jvp, _banded_transpose
)


def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    low, up = map(int, l_and_u)
    ab, b = inexact(ab, b)
    if ab.shape[-2] != low + up + 1:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 ({low + up + 1}) "
            f"does not equal ab.shape[0] ({ab.shape[-2]})"
        )
    if ab.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError("shapes of ab and b are not compatible.")
    column = b[:, None] if b.ndim == 1 else b
    ab, column = stacked(ab, column)
    (x,) = banded(ab, column, low=low, up=up, turned=False, effect=False)
    return x[..., 0] if b.ndim == 1 else x


# -- P A = L U -------------------------------------------------------------------------------------


def _order(pivots: Any) -> Any:
    """The permutation p for which P A = A[p], from LAPACK's swaps."""
    p = numpy.arange(len(pivots))
    for i, k in enumerate(pivots):
        p[[i, k]] = p[[k, i]]
    return p


def _lu_reference(a: Any, *, effect: bool) -> tuple[Any, ...]:
    a = numpy.asarray(a)
    lead, n = a.shape[:-2], a.shape[-1]
    packed, pivots = numpy.empty_like(a), numpy.empty((*lead, n), numpy.int32)
    order = numpy.empty((*lead, n), numpy.int64)
    for i in numpy.ndindex(*lead):
        packed[i], pivots[i] = scipy.linalg.lu_factor(a[i])
        order[i] = _order(pivots[i])
    return packed, pivots, order


def _lu_jvp(primals: Any, tangents: Any, *, effect: bool) -> Any:
    """With X = L^-1 P dA U^-1: dL = L (strict lower part of X), dU = (upper part of X) U."""
    (a,), (a_dot,) = primals, tangents
    outs = packed, _, order = factor(a, effect=False)
    if a_dot is None:
        return outs, [None, None, None]
    n = packed.shape[-1]
    lower, upper = np.tril(packed, -1) + np.eye(n, dtype=packed.dtype), np.triu(packed)
    rows = np.take_along_axis(a_dot, order[..., None], axis=-2)
    inside = np.linalg.solve(lower, rows)
    inside = np.linalg.solve(upper.mT, inside.mT).mT
    return outs, [lower @ np.tril(inside, -1) + np.triu(inside) @ upper, None, None]


factor = on_host(
    "lu_factor",
    lambda a, **_: (a, like(a, a.shape[:-1], numpy.int32), like(a, a.shape[:-1], numpy.int64)),
    _lu_reference,
    _lu_jvp,
)


def factored(name: str, a: Any) -> Any:
    (a,) = inexact(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        refuse(name, f"a matrix that is not square, {a.shape}")
    return factor(a, effect=False)


def order_of(pivots: Any) -> Any:
    """The permutation that LAPACK's swaps make."""
    pivots = np.asarray(pivots)
    return np.pure_callback(
        lambda p: each(_order, (1,), p),
        np.ShapeDtype(pivots.shape, numpy.int64),
        pivots,
        vmap_method="expand_dims",
    )
