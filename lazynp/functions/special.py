"""Special functions: names, arguments and results of `jax.scipy.special`, which are SciPy's.

Arguments broadcast and promote as in NumPy's ufuncs: float16 stays float16, int64 becomes float64,
and so does bool.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._avals import SCALAR_DTYPES
from lazynp._primitive import Primitive
from lazynp.functions import fourier, reductions, ufuncs
from lazynp.functions._arguments import static
from lazynp.functions._operands import as_array, cast
from lazynp.functions._recording import apply
from lazynp.primitives import convolution, elementwise as e, shaping

_FLOAT64 = np.dtype(np.float64)


def _operand(x: Any) -> Any:
    """An array or a number; bools become float64 (NumPy's ufuncs would make them float16)."""
    if type(x) in (int, float, complex):
        return x
    x = as_array(x)
    return cast(x, _FLOAT64) if x.dtype.kind == "b" else x


def _real(name: str, primitive: Primitive, *args: Any) -> Any:
    """Record the function. TypeError for complex arguments: these functions take real numbers."""
    operands = list(map(_operand, args))
    for x in operands:
        dtype = SCALAR_DTYPES[type(x)] if type(x) in SCALAR_DTYPES else x.dtype
        if dtype.kind not in "biuf":
            raise TypeError(f"{name}: real arguments are required, got dtype {dtype}")
    return apply(primitive, *operands)


# -- error functions, the normal distribution ------------------------------------------------------


def erf(x: Any) -> Any:
    """The error function, 2/sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    return _real("erf", e.erf, x)


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate where that is small."""
    return _real("erfc", e.erfc, x)


def erfinv(x: Any) -> Any:
    """The inverse of erf: infinite at -1 and 1, NaN beyond."""
    return _real("erfinv", e.erf_inv, x)


def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal distribution."""
    return _real("ndtr", e.ndtr, x)


def ndtri(p: Any) -> Any:
    """The inverse of ndtr: infinite at 0 and 1, NaN beyond."""
    return _real("ndtri", e.ndtri, p)


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), accurate in both tails. `series_order`, from JAX, has no effect."""
    return _real("log_ndtr", e.log_ndtr, x)


# -- logistic --------------------------------------------------------------------------------------


def expit(x: Any) -> Any:
    """The logistic function 1 / (1 + exp(-x))."""
    return _real("expit", e.logistic, x)


def logit(p: Any) -> Any:
    """log(p / (1 - p)), the inverse of expit: infinite at 0 and 1, NaN beyond."""
    return _real("logit", e.logit, p)


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b * exp(a))) over `axis`, without overflow.

    With `return_sign`, `(log(abs(sum)), sign(sum))`; without, NaN where the sum is negative.
    Elements where `where` is false, or b is 0, do not count.
    """
    a = _floating(a)
    if b is not None:
        b = as_array(b)
        a = ufuncs.where_(ufuncs.not_equal(b, 0), a, -math.inf)
    if where is not None:
        a = ufuncs.where_(where, a, -math.inf)
    shift = _shift(a, axis)
    terms = ufuncs.exp(ufuncs.subtract(a, shift))
    if b is not None:
        terms = ufuncs.multiply(terms, b)
    total = reductions.sum(terms, axis=axis, keepdims=keepdims)
    if not keepdims:
        shift = reductions.sum(shift, axis=axis)  # a sum over one element
    if not return_sign and total.dtype.kind == "c":
        return ufuncs.add(ufuncs.log(total), shift)
    out = ufuncs.add(ufuncs.log(ufuncs.absolute(total)), shift)
    if return_sign:
        return out, ufuncs.sign(total)
    return out if b is None else ufuncs.where_(ufuncs.less(total, 0), math.nan, out)


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) / sum(exp(x)) over `axis`; by default over all axes (`jax.nn.softmax` uses the
    last).
    """
    x = _floating(x)
    terms = ufuncs.exp(ufuncs.subtract(x, _shift(x, axis)))
    return ufuncs.divide(terms, reductions.sum(terms, axis=axis, keepdims=True))


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """log(softmax(x)), without its underflow; `axis` as in softmax."""
    x = _floating(x)
    x = ufuncs.subtract(x, _shift(x, axis))
    return ufuncs.subtract(x, ufuncs.log(reductions.sum(ufuncs.exp(x), axis=axis, keepdims=True)))


def _floating(x: Any) -> Any:
    x = as_array(x)
    return x if x.dtype.kind in "fc" else cast(x, _FLOAT64)


def _real_part(x: Any) -> Any:
    return e.real(x) if x.dtype.kind == "c" else x


def _shift(x: Any, axis: Any) -> Any:
    """The largest element, as a constant for derivatives; 0 where it is not finite."""
    x = as_array(transforms.stop_gradient(x))
    largest = reductions.max(_real_part(x), axis=axis, keepdims=True, initial=-math.inf)
    return ufuncs.where_(ufuncs.isfinite(largest), largest, 0.0)


# -- entropies -------------------------------------------------------------------------------------


def xlogy(x: Any, y: Any) -> Any:
    """x * log(y); 0 where x is 0, unless y is NaN. The derivative with respect to y is 0
    there too.
    """
    return _real("xlogy", e.xlogy, x, y)


def xlog1py(x: Any, y: Any) -> Any:
    """x * log1p(y); 0 where x is 0, unless y is NaN. The derivative with respect to y is 0 there
    too.
    """
    return _real("xlog1py", e.xlog1py, x, y)


def entr(x: Any) -> Any:
    """-x * log(x); 0 at 0, -inf below."""
    return _real("entr", e.entr, x)


def rel_entr(p: Any, q: Any) -> Any:
    """p * log(p / q); 0 where p is 0 and q not negative, infinite where either is negative."""
    return _real("rel_entr", e.rel_entr, p, q)


def kl_div(p: Any, q: Any) -> Any:
    """rel_entr(p, q) - p + q."""
    entropy = rel_entr(p, q)
    rest = ufuncs.where_(ufuncs.isinf(entropy), 0.0, ufuncs.subtract(q, p))
    return ufuncs.add(entropy, rest)


# -- gamma, beta, zeta -----------------------------------------------------------------------------


def gamma(x: Any) -> Any:
    """The gamma function: signed infinity at the zeros, NaN at negative integers and -inf."""
    return _real("gamma", e.gamma, x)


def gammaln(x: Any) -> Any:
    """log(abs(gamma(x))); infinite at the poles."""
    return _real("gammaln", e.lgamma, x)


def digamma(x: Any) -> Any:
    """The derivative of gammaln; near its zeros, accurate to a fraction of 1."""
    return _real("digamma", e.digamma, x)


psi = digamma  # SciPy's ufunc has this name


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma; TypeError for the derivative with respect to n."""
    if type(n) is int and n == 1:
        return _real("polygamma", e.trigamma, x)
    return _real("polygamma", e.polygamma, n, x)


def factorial(n: Any, exact: bool = False) -> Any:
    """gamma(n + 1); 0 for negative n. NotImplementedError for `exact=True`."""
    if static(exact):
        raise NotImplementedError("factorial: exact=True, of integers, is not implemented")
    n = as_array(n)
    return ufuncs.where_(ufuncs.less(n, 0), 0.0, gamma(ufuncs.add(n, 1.0)))


def beta(a: Any, b: Any) -> Any:
    """gamma(a) * gamma(b) / gamma(a + b). Differs from SciPy at poles of gamma: NaN."""
    return _real("beta", e.beta, a, b)


def betaln(a: Any, b: Any) -> Any:
    """log(abs(beta(a, b))); more accurate than SciPy's for large a or b."""
    return _real("betaln", e.betaln, a, b)


def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function, for a and x not negative.

    Differentiable with respect to both; a second time with respect to x only.
    """
    return _real("gammainc", e.gammainc, a, x)


def gammaincc(a: Any, x: Any) -> Any:
    """1 - gammainc(a, x), accurate where that is small."""
    return _real("gammaincc", e.gammaincc, a, x)


def zeta(x: Any, q: Any) -> Any:
    """Hurwitz's zeta function, the sum of (k + q)**-x; Riemann's for x > 1 with q = 1.

    As in JAX, q is required. TypeError for the derivative with respect to x.
    """
    return _real("zeta", e.zeta, x, q)


# -- Bessel functions ------------------------------------------------------------------------------


def i0(x: Any) -> Any:
    """The modified Bessel function of order 0. Infinite at infinities, where SciPy's is NaN."""
    return _real("i0", e.bessel_i0, x)


def i0e(x: Any) -> Any:
    """i0(x) * exp(-abs(x))."""
    return _real("i0e", e.bessel_i0e, x)


def i1(x: Any) -> Any:
    """The modified Bessel function of order 1. Infinite at infinities, where SciPy's is NaN."""
    return _real("i1", e.bessel_i1, x)


def i1e(x: Any) -> Any:
    """i1(x) * exp(-abs(x))."""
    return _real("i1e", e.bessel_i1e, x)


# -- convolution in any number of dimensions -------------------------------------------------------


def convolve(x: Any, kernel: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of arrays with equally many dimensions: `jax.scipy.signal.convolve`.

    mode: "full", "same" (the middle part, in x's shape), or "valid" (where one lies wholly in the
    other). method: "direct", which "auto" means, or "fft". Integers stay integers, as in SciPy. It
    is in this module because NumPy's own `convolve` is one-dimensional.
    """
    return _convolved("convolve", x, kernel, mode, method, turned=True)


def correlate(x: Any, kernel: Any, mode: str = "full", method: str = "auto") -> Any:
    """The cross-correlation, `jax.scipy.signal.correlate`: `convolve` with the kernel reversed
    along every axis and conjugated.
    """
    return _convolved("correlate", x, kernel, mode, method, turned=False)


def _convolved(name: str, x: Any, kernel: Any, mode: str, method: str, turned: bool) -> Any:
    x, kernel = as_array(x), as_array(kernel)
    if x.ndim != kernel.ndim:
        raise ValueError(f"{name}: dimensions must match, got {x.ndim} and {kernel.ndim}")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}")
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"{name}: method must be 'auto', 'direct' or 'fft', got {method!r}")
    dtype = np.result_type(x.dtype, kernel.dtype)
    x, kernel = cast(x, dtype), cast(kernel, dtype)
    axes = tuple(range(x.ndim))
    if not turned:
        kernel = shaping.reverse(e.conjugate(kernel) if dtype.kind == "c" else kernel, axes=axes)
    if not x.ndim:
        return ufuncs.multiply(x, kernel)
    if not x.size or not kernel.size:
        raise ValueError(f"{name}: operands must not be empty, got {x.shape} and {kernel.shape}")
    sizes = list(zip(x.shape, kernel.shape, strict=True))
    if mode == "valid" and any(k > n for n, k in sizes):
        if any(n > k for n, k in sizes):
            raise ValueError(f"{name}: neither fits into the other, got {x.shape}, {kernel.shape}")
        x, kernel = kernel, x  # convolution is symmetric
        sizes = [(n, k) for k, n in sizes]
    if method == "fft":
        return _by_fft(x, kernel, mode)
    # "same" begins at (k - 1) // 2 of the full convolution
    before = {"full": 0, "same": 1, "valid": 2}[mode]
    lows = [k - 1 - (0, (k - 1) // 2, k - 1)[before] for _, k in sizes]
    highs = [(k - 1, (k - 1) // 2, 0)[before] for _, k in sizes]
    kernel = shaping.reverse(kernel, axes=axes)
    return convolution.plain(x, kernel, tuple(zip(lows, highs, strict=True)))


def _by_fft(x: Any, kernel: Any, mode: str) -> Any:
    """Convolve by Fourier transforms. The result for integers and bools is float64."""
    axes = tuple(range(x.ndim))
    full = [n + k - 1 for n, k in zip(x.shape, kernel.shape, strict=True)]
    forward, backward = (
        (fourier.fftn, fourier.ifftn) if x.dtype.kind == "c" else (fourier.rfftn, fourier.irfftn)
    )
    product = ufuncs.multiply(forward(x, full, axes), forward(kernel, full, axes))
    out = backward(product, full, axes)
    if mode == "full":
        return out
    shape = [n if mode == "same" else n - k + 1 for n, k in zip(x.shape, kernel.shape)]
    starts = [(k - 1) // 2 if mode == "same" else k - 1 for k in kernel.shape]
    return out[tuple([slice(s, s + n) for s, n in zip(starts, shape)])]
