"""Gamma and beta functions, their logarithms and derivatives, zeta. References: SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazynp._later import scipy_special
from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_arithmetic import (
    add,
    multiply,
    multiply_no_nan,
    negative,
    subtract,
)
from lazynp.primitives.elementwise_emit import is_, like
from lazynp.primitives.elementwise_formulas import log1p as emit_log1p
from lazynp.primitives.elementwise_special import ROOT_TWO_PI, no_formula, special_row

LARGE = 13  # from here on, Stirling's series below is exact to rounding
# log(gamma(x)) - ((x - 1/2) log x - x + log(2 pi) / 2), times x, as a polynomial in 1/x^2
_STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)


def stirling_rest(b: Any, x: Any) -> Any:
    """log(gamma(x)) minus Stirling's formula for it; x >= 13."""
    r = e.div(b, like(b, 1.0, x), x)
    return e.mul(b, r, e.polynomial(b, e.mul(b, r, r), _STIRLING))


# -- gamma -----------------------------------------------------------------------------------------


def _large_gamma(b: Any, y: Any) -> Any:
    """Stirling's formula. Its power, in two factors, overflows before the result does."""
    power = e.plus(b, e.times(b, y, 0.5), -0.25)
    root = b.binary("stablehlo.power", y, power)
    grown = e.mul(b, e.mul(b, root, e.exp(b, e.negate(b, y))), root)
    return e.mul(b, e.times(b, grown, ROOT_TWO_PI), e.exp(b, stirling_rest(b, y)))


def _sin_pi(b: Any, a: Any) -> Any:
    """sin(pi a) for a >= 0; exactly 0 at integers."""
    whole = b.unary("stablehlo.round_nearest_even", a)
    y = b.unary("stablehlo.sine", e.times(b, e.sub(b, a, whole), math.pi))
    half = e.times(b, whole, 0.5)
    odd = b.compare(b.unary("stablehlo.floor", half), half, "NE")
    return b.select(odd, e.negate(b, y), y)


def emit_gamma(b: Any, x: Any) -> Any:
    """gamma(a + n) / (a (a + 1) ... (a + n - 1)) with a + n >= 13, for a = |x|; reflected for x <
    0.
    """
    a = e.magnitude(b, x)
    steps = e.sub(b, like(b, float(LARGE), a), b.unary("stablehlo.floor", a))
    steps = e.choose(b, steps, (is_(b, steps, "LT", 0.0), 0.0))
    product = like(b, 1.0, a)
    for k in range(LARGE):
        factor = e.plus(b, a, float(k)) if k else a
        product = b.select(is_(b, steps, "GT", float(k)), e.mul(b, product, factor), product)
    y = e.kept(b, e.add(b, a, steps))
    rounded = e.sub(b, a, e.sub(b, y, steps))  # the rounding error of a + n
    correction = e.plus(b, e.mul(b, rounded, e.log(b, y)), 1.0)
    value = e.div(b, e.mul(b, _large_gamma(b, y), correction), product)
    value = e.choose(b, value, (is_(b, a, "GT", 172.0), np.inf))
    sine = _sin_pi(b, a)
    below = e.div(b, like(b, -math.pi, a), e.mul(b, e.mul(b, sine, value), a))
    pole = is_(b, sine, "EQ", 0.0)
    below = e.choose(b, below, (pole, np.nan), (is_(b, a, "EQ", np.inf), np.nan))
    value = b.select(is_(b, x, "LT", 0.0), below, value)
    return b.select(is_(b, x, "EQ", 0.0), e.div(b, like(b, 1.0, x), x), value)


def _lgamma(b: Any, x: Any) -> Any:
    return e.choose(b, b.unary("chlo.lgamma", x), (is_(b, x, "EQ", -np.inf), -np.inf))


def _digamma(b: Any, x: Any) -> Any:
    pole = e.copysign(b, like(b, np.inf, x), e.negate(b, x))
    return e.choose(b, b.unary("chlo.digamma", x), (is_(b, x, "EQ", 0.0), pole))


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_FAR = 10  # from here on, the asymptotic series is exact to the last bit or two


def _trigamma(b: Any, x: Any) -> Any:
    """The sum of 1 / (x + k)^2, its far terms by their asymptotic series; reflected below 0."""
    below = is_(b, x, "LE", 0.0)
    y = b.select(below, e.plus(b, e.negate(b, x), 1.0), x)
    r = e.div(b, like(b, 1.0, x), e.plus(b, y, float(_FAR)))
    square = e.mul(b, r, r)
    series = e.polynomial(b, square, _BERNOULLI[::-1])
    series = e.plus(b, e.add(b, e.mul(b, series, square), e.times(b, r, 0.5)), 1.0)
    total = e.mul(b, series, r)
    for k in reversed(range(_FAR)):
        r = e.div(b, like(b, 1.0, x), e.plus(b, y, float(k)) if k else y)
        total = e.add(b, total, e.mul(b, r, r))
    ratio = e.div(b, like(b, math.pi, x), _sin_pi(b, x))
    return b.select(below, e.sub(b, e.mul(b, ratio, ratio), total), total)


def _trigamma_on_host(x: Any) -> Any:
    """The same; SciPy's takes ten times as long, as it is a zeta function's."""
    below = x <= 0
    y = np.where(below, 1 - x, x)
    r = 1 / (y + _FAR)
    square = r * r
    series = np.full_like(r, _BERNOULLI[-1])
    for c in reversed(_BERNOULLI[:-1]):
        series *= square
        series += c
    total = (series * square + 0.5 * r + 1) * r
    for k in reversed(range(_FAR)):
        r = 1 / (y + k)
        total = total + r * r
    if below.any():
        ratio = math.pi / np.sin(math.pi * (x - np.rint(x)))
        total = np.where(below, ratio * ratio - total, total)
    return total


def _zeta(b: Any, x: Any, q: Any) -> Any:
    """XLA's is NaN where the first term is infinite or equals the sum, and for large q; fix
    these.
    """
    first = b.binary("stablehlo.power", q, e.negate(b, x))
    less_one = e.plus(b, x, -1.0)
    integral = e.div(b, b.binary("stablehlo.power", q, e.negate(b, less_one)), less_one)
    regular = is_(b, x, "GT", 1.0)
    far = b.and_(is_(b, q, "GT", 1e30), regular)
    all_ = b.or_(is_(b, x, "GT", 1e17), b.and_(is_(b, first, "EQ", np.inf), regular))
    all_ = b.and_(all_, is_(b, q, "GT", 0.0))
    return e.choose(b, b.binary("chlo.zeta", x, q), (far, integral), (all_, first))


gamma = special_row(
    "gamma",
    emit_gamma,
    lambda g, ans, x: multiply_no_nan(g, multiply(ans, digamma(x))),
    "gamma",
    16,
    cost=(5.0, 63.0),
)
# near their zeros, these are accurate to a fraction of 1, not of the value; digamma is less
# accurate near its poles on the negative axis
digamma = special_row(
    "digamma",
    _digamma,
    lambda g, ans, x: multiply_no_nan(g, trigamma(x)),
    "digamma",
    1000,
    scale=1.0,
    cost=(5.5, 20.0),
)
trigamma = special_row(
    "trigamma",
    _trigamma,
    lambda g, ans, x: multiply_no_nan(g, polygamma(2, x)),
    _trigamma_on_host,
    1000,
    cost=(25.0, 25.0),
)
lgamma = special_row(
    "lgamma",
    _lgamma,
    lambda g, ans, x: multiply_no_nan(g, digamma(x)),
    "gammaln",
    64,
    scale=1.0,
    cost=(10.0, 25.0),
)
polygamma = special_row(
    "polygamma",
    lambda b, n, x: b.binary("chlo.polygamma", n, x),
    [
        no_formula("polygamma", "n"),
        lambda g, ans, n, x: multiply_no_nan(g, polygamma(add(n, 1.0), x)),
    ],
    "polygamma",
    1000,
    cost=(900.0, 300.0),
)
zeta = special_row(
    "zeta",
    _zeta,
    [
        no_formula("zeta", "x"),
        lambda g, ans, x, q: negative(multiply_no_nan(g, multiply(x, zeta(add(x, 1.0), q)))),
    ],
    "zeta",
    16,
    cost=(155.0, 133.0),
)


# -- beta ------------------------------------------------------------------------------------------


def _betaln(b: Any, x: Any, y: Any) -> Any:
    """For large arguments, Stirling's series with its leading terms cancelled analytically."""
    swap = b.compare(x, y, "GT")
    s, t = b.select(swap, y, x), b.select(swap, x, y)  # small and large
    plain = e.sub(b, e.add(b, _lgamma(b, s), _lgamma(b, t)), _lgamma(b, e.add(b, s, t)))
    large = b.and_(is_(b, t, "GE", float(LARGE)), is_(b, s, "GT", 0.0))
    t = b.select(large, t, like(b, float(LARGE), t))
    total = e.add(b, s, t)
    rest = e.sub(b, stirling_rest(b, t), stirling_rest(b, total))
    log_ratio = emit_log1p(b, e.div(b, s, t))
    one = e.sub(b, _lgamma(b, s), e.mul(b, s, e.plus(b, e.log(b, total), -1.0)))
    one = e.add(b, e.sub(b, one, e.mul(b, e.plus(b, t, -0.5), log_ratio)), rest)
    both = e.mul(b, e.plus(b, s, -0.5), e.log(b, e.div(b, s, total)))
    both = e.sub(b, both, e.mul(b, t, log_ratio))
    both = e.sub(b, both, e.plus(b, e.times(b, e.log(b, t), 0.5), -math.log(ROOT_TWO_PI)))
    both = e.add(b, both, e.add(b, stirling_rest(b, s), rest))
    value = b.select(is_(b, s, "GE", float(LARGE)), both, one)
    value = b.select(large, value, plain)
    infinite = b.and_(is_(b, t, "EQ", np.inf), is_(b, s, "GT", 0.0))
    unknown = b.or_(e.is_nan(b, x), e.is_nan(b, y))
    return e.choose(b, value, (unknown, np.nan), (infinite, -np.inf))


def _beta(b: Any, x: Any, y: Any) -> Any:
    """By gamma where that does not overflow, else by the logarithm."""
    swap = b.compare(x, y, "GT")
    s, t = b.select(swap, y, x), b.select(swap, x, y)
    total = e.add(b, s, t)
    below = emit_gamma(b, total)
    below = e.choose(b, below, (e.is_nan(b, below), np.inf))  # poles
    product = e.mul(b, e.div(b, emit_gamma(b, t), below), emit_gamma(b, s))
    small = b.and_(is_(b, total, "LT", 170.0), is_(b, t, "LT", 170.0))
    return b.select(small, product, e.exp(b, _betaln(b, x, y)))


def _betaln_on_host(x: Any, y: Any) -> Any:
    """SciPy's where no large logarithms cancel in it; otherwise as above."""
    s, t = np.minimum(x, y), np.maximum(x, y)
    large = (t >= LARGE) & (s > 0) & (t < np.inf)
    s, t = np.where(large, s, 1.0), np.where(large, t, LARGE)
    total, log_ratio = s + t, np.log1p(s / t)
    rest = _stirling_rest_on_host(t) - _stirling_rest_on_host(total)
    one = scipy_special.gammaln(s) - s * (np.log(total) - 1) - (t - 0.5) * log_ratio + rest
    both = (s - 0.5) * np.log(s / total) - t * log_ratio - 0.5 * np.log(t) + np.log(ROOT_TWO_PI)
    both = both + _stirling_rest_on_host(np.maximum(s, LARGE)) + rest
    return np.where(large, np.where(s >= LARGE, both, one), scipy_special.betaln(x, y))


def _stirling_rest_on_host(x: Any) -> Any:
    return np.polyval(_STIRLING, 1 / (x * x)) / x


def _beta_on_host(x: Any, y: Any) -> Any:
    large = (x > 0) & (y > 0) & (x + y > 170)
    pole = (x < 0) & (x == np.floor(x)) | (y < 0) & (y == np.floor(y))
    value = np.where(pole, np.nan, scipy_special.beta(x, y))  # SciPy returns limits for some
    return np.where(large, np.exp(_betaln_on_host(x, y)), value)


def _slope(x: object, y: object) -> Any:
    return subtract(digamma(x), digamma(add(x, y)))


betaln = special_row(
    "betaln",
    _betaln,
    [
        lambda g, ans, x, y: multiply_no_nan(g, _slope(x, y)),
        lambda g, ans, x, y: multiply_no_nan(g, _slope(y, x)),
    ],
    _betaln_on_host,
    64,
    scale=1.0,
    cost=(83.0, 850.0),
)
beta = special_row(
    "beta",
    _beta,
    [
        lambda g, ans, x, y: multiply_no_nan(g, multiply(ans, _slope(x, y))),
        lambda g, ans, x, y: multiply_no_nan(g, multiply(ans, _slope(y, x))),
    ],
    _beta_on_host,
    1024,
    cost=(640.0, 1400.0),
)
