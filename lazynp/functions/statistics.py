"""Covariance and correlation. Re-exports medians, quantiles and histograms from their modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import _errstate
from lazynp._array import Array
from lazynp._dimensions import require_some
from lazynp._errstate import quiet
from lazynp._extents import any_sized, known_empty, stand_in
from lazynp._sizes import largest, smallest
from lazynp.functions import reductions, rounding, ufuncs
from lazynp.functions._arguments import own, part
from lazynp.functions._checks import refuse
from lazynp.functions._eager import by_numpy
from lazynp.functions._host import host_call, needs_host
from lazynp.functions._operands import as_array, cast
from lazynp.functions._shapes import squeeze
from lazynp.functions._ufunc import OutputCastingError
from lazynp.functions.histograms import (
    bincount,
    digitize,
    histogram,
    histogram2d,
    histogram_bin_edges,
    histogramdd,
)
from lazynp.functions.order_statistics import (
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
)
from lazynp.primitives import contraction, convolution, elementwise, indexing, shaping

__all__ = [
    "bincount", "convolve", "corrcoef", "correlate", "cov", "digitize", "histogram",
    "histogram2d", "histogram_bin_edges", "histogramdd", "median", "nanmedian", "nanpercentile",
    "nanquantile", "percentile", "quantile",
]  # fmt: skip

_FLOAT64 = np.dtype(np.float64)


# -- covariance ------------------------------------------------------------------------------------


@by_numpy(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """See `numpy.cov`. Computes the weights; does not warn of too little weight."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m = as_array(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    others = [] if y is None else [as_array(y)]
    if others and others[0].ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    if needs_host(m, *others):
        return host_call(np.cov, m, y, rowvar, bias, ddof, fweights, aweights, dtype=dtype)
    if dtype is None:
        dtype = np.result_type(m.dtype, *[o.dtype for o in others], np.float64)
    if np.dtype(dtype).kind in "biu":
        raise OutputCastingError(np.subtract, "same_kind", _FLOAT64, np.dtype(dtype), 0)
    x = _rows(m, np.dtype(dtype))
    if not rowvar and m.ndim != 1:
        x = shaping.transpose(x, permutation=(1, 0))
    if known_empty(x.shape[0]) or others and x.shape[0] == 0:
        return shaping.full(0, shape=(0, 0), dtype=_FLOAT64)
    if others:
        other = _rows(others[0], np.dtype(dtype))
        if not rowvar and other.shape[0] != 1:
            other = shaping.transpose(other, permutation=(1, 0))
        x = shaping.concatenate(x, other, axis=0)
    ddof = (1 if bias == 0 else 0) if ddof is None else ddof
    return _covariance(x, ddof, *_all_weights(fweights, aweights, x.shape[1]))


def _rows(x: Array, dtype: np.dtype[Any]) -> Array:
    x = cast(x, dtype)
    return x if x.ndim == 2 else shaping.reshape(x, shape=(1, x.size))


def _all_weights(fweights: Any, aweights: Any, size: int) -> tuple[Any, Any]:
    """The product of both weights, and aweights; checked."""
    frequencies = _checked_weights("fweights", fweights, size)
    reliabilities = _checked_weights("aweights", aweights, size)
    if frequencies is None:
        return reliabilities, reliabilities
    if reliabilities is None:
        return frequencies, None
    return ufuncs.multiply(frequencies, reliabilities), reliabilities


def _checked_weights(name: str, weights: Any, size: int) -> Array | None:
    if weights is None:
        return None
    w = cast(weights, _FLOAT64)
    if name == "fweights":
        refuse(ufuncs.not_equal(w, ufuncs.rint(w)), TypeError, "fweights must be integer")
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if w.shape[0] != size:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    refuse(ufuncs.less(w, 0), ValueError, f"{name} cannot be negative")
    return w


def _covariance(x: Array, ddof: int, w: Any, aweights: Any) -> Any:
    u = ufuncs
    if w is None:
        average = reductions.mean(x, axis=1, keepdims=True)
        factor: Any = largest(x.shape[1] - ddof, 0)
        if known_empty(factor):
            _errstate.warn("Degrees of freedom <= 0 for slice")
    else:
        average, total = reductions.average(x, axis=1, weights=w, returned=True, keepdims=True)
        total = elementwise.real(reductions.sum(w))
        if ddof == 0:
            factor = total
        elif aweights is None:
            factor = u.subtract(total, ddof)
        else:
            squares = reductions.sum(u.multiply(w, aweights))
            factor = u.subtract(total, u.divide(u.multiply(ddof, squares), total))
        factor = u.maximum(factor, 0.0)
    x = u.subtract(x, average)
    right = x if w is None else cast(u.multiply(x, w), x.dtype)
    if x.dtype.kind == "c":
        right = elementwise.conjugate(right)
    c = contraction.dot_general(x, right, dimension_numbers=(((1,), (1,)), ((), ())))
    c = as_array(u.multiply(c, _inverse(factor, x.dtype)))
    # NumPy's `squeeze` makes a single variance an array too
    return own(squeeze(c))


def _inverse(factor: Any, dtype: np.dtype[Any]) -> Array:
    real = np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype
    return cast(ufuncs.divide(cast(1.0, _FLOAT64), cast(factor, _FLOAT64)), real)


@by_numpy(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """See `numpy.corrcoef`."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return ufuncs.divide(c, c)
    if needs_host(c):
        return host_call(np.corrcoef, x, y, rowvar, dtype=dtype)
    n = c.shape[0]
    places = shaping.iota(shape=(n,), axis=0, dtype=np.dtype(np.int64))
    diagonal = elementwise.real(indexing.take(c, places, places, axes=(0, 1)))
    deviation = elementwise.sqrt(diagonal)
    c = ufuncs.divide(c, shaping.reshape(deviation, shape=(n, 1)))
    c = as_array(ufuncs.divide(c, deviation))
    if c.dtype.kind != "c":
        return rounding.clip(c, -1, 1)
    parts = (rounding.clip(p(c), -1, 1) for p in (elementwise.real, elementwise.imag))
    return elementwise.complex_(*parts)


# -- correlation in one dimension ------------------------------------------------------------------

_MODES = {0: "valid", 1: "same", 2: "full"}


def _mode(mode: Any) -> str:
    mode = _MODES.get(mode, mode) if isinstance(mode, int) else mode
    if isinstance(mode, str) and mode in _MODES.values():
        return mode
    given: Any = mode
    # raises; or recognises the mode by its first letter
    np.correlate(np.ones(1), np.ones(1), given)
    return {"v": "valid", "s": "same", "f": "full"}[str(mode)[0].lower()]


@by_numpy(np.correlate)
@quiet()
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """See `numpy.correlate`."""
    x, y = as_array(a), as_array(v)
    if _not_native(np.correlate, x, y, "first array argument", "second array argument"):
        return host_call(np.correlate, x, y, mode)
    mode = _mode(mode)
    x, y = _common(x, y)
    if y.dtype.kind == "c":
        y = elementwise.conjugate(y)
    if mode != "same" and any_sized(x, y):
        return _of_full(_slid(x, y, "full"), x, y, mode)
    if x.size >= y.size:
        return _slid(x, y, mode)
    return shaping.reverse(_slid(y, x, mode), axes=(0,))


@by_numpy(np.convolve)
@quiet()
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """See `numpy.convolve`; `lazynp.special.convolve` takes any number of dimensions."""
    x, y = as_array(a), as_array(v)
    x, y = (shaping.reshape(z, shape=(1,)) if z.ndim == 0 else z for z in (x, y))
    if _not_native(np.convolve, x, y, "a", "v"):
        return host_call(np.convolve, x, y, mode)
    mode = _mode(mode)
    if any_sized(x, y):
        x, y = _common(x, y)
        return _of_full(_slid(x, shaping.reverse(y, axes=(0,)), "full"), x, y, mode)
    if y.size > x.size:
        x, y = y, x
    x, y = _common(x, y)
    return _slid(x, shaping.reverse(y, axes=(0,)), mode)


def _of_full(found: Array, x: Array, y: Array, mode: str) -> Array:
    """The part of a mode, where it is not known which of two arrays is the longer one."""
    if mode == "full":
        return found
    longer, shorter = largest(x.size, y.size), smallest(x.size, y.size)
    start, stop = (shorter - 1, longer) if mode == "valid" else ((shorter - 1) // 2, None)
    return part(found, 0, start, start + longer if stop is None else stop)


def _not_native(function: Any, x: Array, y: Array, *names: str) -> bool:
    """Whether NumPy must run it: host dtypes. Raises its errors of shapes."""
    if x.ndim != 1 or y.ndim != 1 or known_empty(x.size) or known_empty(y.size):
        function(*[np.broadcast_to(np.zeros((), z.dtype), stand_in(z.shape)) for z in (x, y)])
    for z, name in zip((x, y), names, strict=True):
        require_some(z.size, ValueError(f"{name} cannot be empty"))
    return needs_host(x, y)


def _common(x: Array, y: Array) -> tuple[Array, Array]:
    dtype = np.result_type(x.dtype, y.dtype)
    return cast(x, dtype), cast(y, dtype)


def _slid(x: Array, y: Array, mode: str) -> Array:
    """The sums of x[i + j] * y[j] over j, where y is the shorter one."""
    m = y.size
    low = {"valid": 0, "same": m // 2, "full": m - 1}[mode]
    high = {"valid": 0, "same": m - 1 - low, "full": m - 1}[mode]
    return convolution.plain(x, y, ((low, high),))
