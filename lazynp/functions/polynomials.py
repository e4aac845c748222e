"""Polynomials as arrays of coefficients, highest power first: NumPy's older functions.

`numpy.poly1d` objects are NumPy's own; a function that gets one returns one.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._array import Array
from lazynp._dimensions import require_some, table
from lazynp._extents import any_sized, known_empty, known_negative
from lazynp._node import is_tracer
from lazynp._positions import depth_of_user
from lazynp._sizes import is_size, largest
from lazynp._values import knowable, seen_value
from lazynp.functions import linear_algebra, sorting, ufuncs
from lazynp.functions._checks import asking
from lazynp.functions._eager import by_numpy
from lazynp.functions._factorizations import eigvals
from lazynp.functions._fold import item, part
from lazynp.functions._getset import getitem
from lazynp.functions._host import host_call, to_host
from lazynp.functions._operands import as_array, cast, plain
from lazynp.functions._sized_polynomials import companion, divided, from_zeros, without_zeros
from lazynp.functions.creation import arange, diag, ones, vander, zeros, zeros_like
from lazynp.functions.logic import allclose
from lazynp.functions.manipulation import atleast_1d, concatenate, hstack
from lazynp.functions.products import dot, outer
from lazynp.functions.reductions import sum as sum_
from lazynp.functions.statistics import convolve
from lazynp.primitives import shaping


def _is_poly(*xs: Any) -> bool:
    return any(isinstance(x, np.poly1d) for x in xs)


@by_numpy(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """See `numpy.poly`. Computes complex zeros, because conjugate pairs give real coefficients."""
    zeros_ = atleast_1d(as_array(seq_of_zeros))
    shape = zeros_.shape
    error = ValueError("input must be 1d or non-empty square 2d array.")
    if len(shape) == 2 and shape[0] == shape[1] and not known_empty(shape[0]):
        require_some(shape[0], error)
        zeros_ = eigvals(zeros_)
    elif len(shape) != 1:
        raise error
    elif zeros_.dtype != object:
        zeros_ = cast(zeros_, np.mintypecode(zeros_.dtype.char))  # type: ignore[arg-type]
    if is_size(zeros_.shape[0]):
        return from_zeros(zeros_)
    if not zeros_.size:
        return 1.0
    made = ones(1, zeros_.dtype)
    for k in range(zeros_.size):
        zero = item(zeros_, 0, k)
        made = convolve(made, hstack((ones(1, zeros_.dtype), ufuncs.negative(zero))))
    if made.dtype.kind != "c" or not _known(zeros_):
        return made
    sorted_, conjugates = (sorting.sort(z) for z in (zeros_, ufuncs.conjugate(zeros_)))
    return made.real.copy() if bool((sorted_ == conjugates).all()) else made


def _known(x: Array) -> bool:
    node = x._read()
    return knowable(node) and not is_tracer(node)


@by_numpy(np.roots)
def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """See `numpy.roots`. Computes p, because it strips zero coefficients.

    strip_zeros=False (as in JAX, not in NumPy): keep them, so that p may be traced. Then p must not
    begin with a zero.
    """
    p = atleast_1d(as_array(p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if strip_zeros and table() is not None and not knowable(p._read()):
        first, kept, behind = without_zeros(p)
        p = p if p.dtype.kind in "fc" else cast(p, float)
        found = eigvals(companion(p, first, kept))
        return hstack((found, zeros(behind, found.dtype)))
    if not strip_zeros:
        return _all_roots(p if p.dtype.kind in "fc" else cast(p, float))
    with asking("roots, whose number it decides", "Set strip_zeros=False"):
        nonzero = np.flatnonzero(seen_value(p._read()))
    if not nonzero.size:
        return zeros(0)
    trailing = p.size - int(nonzero[-1]) - 1
    p = part(p, 0, int(nonzero[0]), int(nonzero[-1]) + 1)
    if p.dtype.kind not in "fc":
        p = cast(p, float)
    found = _all_roots(p)
    return hstack((found, zeros(trailing, found.dtype)))


def _all_roots(p: Array) -> Any:
    if is_size(p.shape[0]):
        return eigvals(companion(p, 0, p.shape[0]))
    if p.size < 2:
        return zeros(0)
    matrix = diag(ones(p.size - 2, p.dtype), -1)
    matrix[0, :] = ufuncs.negative(p[1:]) / p[0]
    found = eigvals(matrix)
    if found.dtype.kind == "c" and p.dtype.kind == "f" and _known(found):
        found = found if found.imag.any() else found.real.copy()  # as before NumPy 2.5
    return found


@by_numpy(np.polyint)
def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """See `numpy.polyint`."""
    if _is_poly(p):
        return host_call(np.polyint, p, m, k)
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = atleast_1d(zeros(m) if k is None else as_array(k))
    if constants.size == 1 and m > 1:
        constants = constants[0] * ones(m)
    if constants.size < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = as_array(p)
    for i in range(m):
        terms = ufuncs.divide(p, _falling(p.size))
        p = concatenate((terms, part(constants, 0, i, i + 1)))
    return p


@by_numpy(np.polyder)
def polyder(p: Any, m: Any = 1) -> Any:
    """See `numpy.polyder`."""
    if _is_poly(p):
        return host_call(np.polyder, p, m)
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = as_array(p)
    for _ in range(m):
        degree = largest(p.size - 1, 0)
        p = ufuncs.multiply(part(p, 0, 0, degree), _falling(degree))
    return p


def _falling(n: Any) -> Any:
    """The integers from n down to 1."""
    return arange(n, 0, -1) if is_size(n) else np.arange(n, 0, -1)


@by_numpy(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """See `numpy.polyval`."""
    if _is_poly(x) or isinstance(p, np.poly1d) and not isinstance(x, Array):
        return host_call(np.polyval, p, x)
    p, x = as_array(p.coeffs if isinstance(p, np.poly1d) else p), as_array(x)
    if is_size(p.shape[0]):
        start = zeros_like(x, dtype=np.result_type(p.dtype, x.dtype))
        add, times = ufuncs.add, ufuncs.multiply
        return transforms.fori_loop(
            0, p.shape[0], lambda k, y: add(times(y, x), getitem(p, k)), start
        )
    y = zeros_like(x)
    for k in range(len(p)):
        y = ufuncs.add(ufuncs.multiply(y, x), p[k])
    return y


def _padded(a1: Any, a2: Any) -> tuple[Array, Array]:
    a1, a2 = atleast_1d(as_array(a1)), atleast_1d(as_array(a2))
    if any_sized(a1, a2):
        n = largest(a1.shape[0], a2.shape[0])
        return _led(a1, n), _led(a2, n)
    more = len(a2) - len(a1)
    if more > 0:
        a1 = concatenate((zeros(more, a1.dtype), a1))
    elif more < 0:
        a2 = concatenate((zeros(-more, a2.dtype), a2))
    return a1, a2


def _led(p: Array, n: Any) -> Array:
    """With zeros before it, n coefficients."""
    low = n - p.shape[0]
    return shaping.pad(plain(p), 0, low=(low,), high=(0,), interior=(0,))


@by_numpy(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """See `numpy.polyadd`."""
    if _is_poly(a1, a2):
        return host_call(np.polyadd, a1, a2)
    return ufuncs.add(*_padded(a1, a2))


@by_numpy(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """See `numpy.polysub`."""
    if _is_poly(a1, a2):
        return host_call(np.polysub, a1, a2)
    return ufuncs.subtract(*_padded(a1, a2))


@by_numpy(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """See `numpy.polymul`. Drops leading zeros, as NumPy does, so it computes the coefficients
    unless traced.
    """
    if _is_poly(a1, a2):
        return host_call(np.polymul, a1, a2)
    return convolve(_without_leading_zeros(a1), _without_leading_zeros(a2))


def _without_leading_zeros(p: Any) -> Array:
    p = atleast_1d(as_array(p))
    if p.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    if is_size(p.shape[0]):
        return _led(p, largest(p.shape[0], 1))
    if not _known(p):
        return p
    nonzero = np.flatnonzero(to_host(p))
    return part(p, 0, int(nonzero[0]), p.size) if nonzero.size else zeros(1, p.dtype)


@by_numpy(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """See `numpy.polydiv`. Drops leading coefficients of the remainder that are nearly zero. For
    traced coefficients, the remainder has a fixed length: one coefficient less than v, and at least
    one.
    """
    if _is_poly(u, v):
        return host_call(np.polydiv, u, v)
    u, v = atleast_1d(as_array(u)) + 0.0, atleast_1d(as_array(v)) + 0.0
    dtype = np.result_type(u.dtype, v.dtype)
    if any_sized(u, v):
        return divided(cast(u, dtype), cast(v, dtype))
    m, n = u.size - 1, v.size - 1
    scale = 1.0 / v[0]
    quotient, rest = zeros(max(m - n + 1, 1), dtype), cast(u, dtype).copy()
    for k in range(m - n + 1):
        d = scale * rest[k]
        quotient[k] = d
        rest[k : k + n + 1] -= d * v
    if not _known(rest):
        return quotient, part(rest, 0, min(m, max(m - n + 1, 0)), u.size)
    while rest.shape[-1] > 1 and bool(allclose(rest[0], 0, rtol=1e-14)):
        rest = rest[1:]
    return quotient, rest


@by_numpy(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False
) -> Any:
    """See `numpy.polyfit`."""
    order = int(deg) + 1
    x, y = as_array(x) + 0.0, as_array(y) + 0.0
    _check_fit(x, y, deg)
    if rcond is None:
        rcond = np.finfo(x.dtype).eps * x.shape[0]
    left, right = vander(x, order), y
    if w is not None:
        w = as_array(w) + 0.0
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left = left * w[:, None]
        right = right * (w[:, None] if right.ndim == 2 else w)
    scale = ufuncs.sqrt(sum_(left * left, axis=0))
    left = left / scale
    c, residuals, rank, s = linear_algebra.lstsq(left, right, rcond)
    c = (c.T / scale).T
    if not full and (not isinstance(rank, Array) or _known(rank)) and int(rank) != order:
        depth = depth_of_user(sys._getframe())
        text = "Polyfit may be poorly conditioned"
        warnings.warn(text, np.exceptions.RankWarning, stacklevel=depth)
    if full:
        return c, residuals, rank, s, rcond
    return (c, _covariance(left, scale, residuals, x, y, order, cov)) if cov else c


def _check_fit(x: Array, y: Array, deg: Any) -> None:
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    none = TypeError("expected non-empty vector for x")
    require_some(x.shape[0], none)
    if known_empty(x.shape[0]):
        raise none
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")


def _covariance(
    left: Array, scale: Array, residuals: Array, x: Array, y: Array, order: int, cov: Any
) -> Array:
    base = linear_algebra.inv(dot(left.T, left)) / outer(scale, scale)
    if cov == "unscaled":
        factor: Any = 1
    elif known_negative(x.shape[0] - order - 1):
        raise ValueError(
            "the number of data points must exceed order to scale the covariance matrix"
        )
    else:
        factor = residuals / (x.shape[0] - order)
    return base * factor if y.ndim == 1 else base[:, :, None] * factor
