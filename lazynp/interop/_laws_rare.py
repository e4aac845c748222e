"""Distributions of scipy.stats that are met less often: as `_laws` has them."""

from __future__ import annotations

import math
from typing import Any

import numpy

import lazynp as np
from lazynp.interop._laws import HALF_LOG_TAU, Law, above, positive
from lazynp.interop._laws_more import CONTINUOUS
from lazynp.interop._special import call
from lazynp.interop._special_more import UFUNCS

_s = np.special
_betainc = UFUNCS["betainc"]
_ABOVE: dict[str, Any] = {"support": above(0.0), "valid": positive}
_UNIT: dict[str, Any] = {"support": lambda *_: (0.0, 1.0)}


def _log_normal(x: Any) -> Any:
    return -0.5 * x * x - HALF_LOG_TAU


# -- with gamma and beta functions -----------------------------------------------------------------


def _generalized_gamma(lower: bool) -> Any:
    def value(x: Any, a: Any, c: Any) -> Any:
        power, inside, outside = x**c, _s.gammainc, _s.gammaincc
        first, second = (inside, outside) if lower else (outside, inside)
        return np.where(c > 0, first(a, power), second(a, power))

    return value


def _log_generalized_gamma(x: Any, a: Any, c: Any) -> Any:
    zero = (x == 0) & (c < 0)
    y = np.where(zero, 1.0, x)
    value = np.log(abs(c)) + _s.xlogy(c * a - 1, y) - y**c - _s.gammaln(a)
    return np.where(zero, -numpy.inf, value)


def _pearson(skew: Any) -> tuple[Any, Any, Any]:
    """Whether it is no normal distribution, and the gamma distribution that it is: b, b^2."""
    skewed = abs(skew) >= 1.6e-5  # SciPy's bound
    b = 2 / np.where(skewed, skew, 1.0)
    return skewed, b, b * b


def _log_pearson(x: Any, skew: Any) -> Any:
    skewed, b, a = _pearson(skew)
    y = b * (x + b)
    outside = skewed & (y <= 0)  # SciPy's support is the whole line
    y = np.where(outside | np.logical_not(skewed), 1.0, y)
    of_gamma = np.log(abs(b)) + _s.xlogy(a - 1, y) - y - _s.gammaln(a)
    return np.where(outside, -numpy.inf, np.where(skewed, of_gamma, _log_normal(x)))


def _pearson_cumulative(lower: bool) -> Any:
    def value(x: Any, skew: Any) -> Any:
        skewed, b, a = _pearson(skew)
        y = np.where(skewed, np.maximum(b * (x + b), 0.0), 1.0)
        first, second = _s.gammainc(a, y), _s.gammaincc(a, y)
        of_gamma = np.where((skew > 0) == lower, first, second)
        return np.where(skewed, of_gamma, _s.ndtr(x if lower else -x))

    return value


def _skew_t_place(x: Any, a: Any, b: Any) -> Any:
    return x / np.sqrt(a + b + x * x)


def _log_skew_t(x: Any, a: Any, b: Any) -> Any:
    y = _skew_t_place(x, a, b)
    size = (a + b - 1) * math.log(2) + _s.betaln(a, b) + 0.5 * np.log(a + b)
    return (a + 0.5) * np.log1p(y) + (b + 0.5) * np.log1p(-y) - size


def _argus_share(x: Any, chi: Any) -> Any:
    return _s.gammainc(1.5, chi * chi * (1 - x * x) / 2)


def _log_argus(x: Any, chi: Any) -> Any:
    size = 3 * np.log(chi) - HALF_LOG_TAU - np.log(_s.gammainc(1.5, chi * chi / 2) / 2)
    inside = 1 - x * x
    return size + np.log(x) + 0.5 * np.log(inside) - chi * chi * inside / 2


# -- in pieces -------------------------------------------------------------------------------------


def _ball_size(beta: Any, m: Any) -> Any:
    tail = m / beta / (m - 1) * np.exp(-beta * beta / 2)
    return tail + math.sqrt(2 * math.pi) * _s.ndtr(beta)


def _ball_base(x: Any, beta: Any, m: Any) -> Any:
    return m / beta - beta - np.where(x > -beta, -beta, x)


def _log_crystal_ball(x: Any, beta: Any, m: Any) -> Any:
    tail = m * np.log(m / beta) - beta * beta / 2 - m * np.log(_ball_base(x, beta, m))
    return np.where(x > -beta, -0.5 * x * x, tail) - np.log(_ball_size(beta, m))


def _crystal_ball(x: Any, beta: Any, m: Any) -> Any:
    edge = np.exp(-beta * beta / 2) / (m - 1)
    middle = m / beta * edge + math.sqrt(2 * math.pi) * (_s.ndtr(x) - _s.ndtr(-beta))
    tail = (m / beta) ** m * edge * _ball_base(x, beta, m) ** (1 - m)
    return np.where(x > -beta, middle, tail) / _ball_size(beta, m)


def _log_trapezoid(x: Any, c: Any, d: Any) -> Any:
    rising, falling = x < c, x > d
    up = np.where(rising, x, 1.0) / np.where(rising, c, 1.0)
    down = np.where(falling, 1 - x, 1.0) / np.where(falling, 1 - d, 1.0)
    return np.log(2 / (d - c + 1)) + np.log(up) + np.log(down)


def _trapezoid(x: Any, c: Any, d: Any) -> Any:
    rising, falling = x < c, x > d
    up = x * x / np.where(rising, c, 1.0)
    down = (1 - x) ** 2 / np.where(falling, 1 - d, 1.0)
    width = d - c + 1
    middle = (c + 2 * (x - c)) / width
    return np.where(rising, up / width, np.where(falling, 1 - down / width, middle))


# -- the table -------------------------------------------------------------------------------------


def _over_cumulated(x: Any, a: Any, b: Any, c: Any) -> Any:
    return (-a - b) * x - b * np.expm1(-c * x) / c


def _half_logistic_power(x: Any, c: Any) -> Any:
    return (1 - c * x) ** (1 / c)


def _weibull_mass(low: Any, high: Any, c: Any) -> Any:
    return np.exp(-(low**c)) - np.exp(-(high**c))


def _reciprocal_gauss(x: Any, mu: Any) -> Any:
    root = np.sqrt(x)
    first = _s.ndtr((x - 1 / mu) / root)
    return first - np.exp(2 / mu + _s.log_ndtr(-(x + 1 / mu) / root))


CONTINUOUS |= {
    "gengamma": Law(
        _log_generalized_gamma, _generalized_gamma(True), _generalized_gamma(False),
        support=above(0.0), valid=lambda a, c: (a > 0) & (c != 0),
    ),
    "halfgennorm": Law(
        lambda x, b: np.log(b) - _s.gammaln(1 / b) - x**b,
        lambda x, b: _s.gammainc(1 / b, x**b), lambda x, b: _s.gammaincc(1 / b, x**b), **_ABOVE,
    ),
    "pearson3": Law(
        _log_pearson, _pearson_cumulative(True), _pearson_cumulative(False),
        valid=np.isfinite, inside=0.0,
    ),
    "rdist": Law(
        lambda x, c: _s.xlog1py(c / 2 - 1, -x * x) + (1 - c) * math.log(2)
        - _s.betaln(c / 2, c / 2),
        lambda x, c: _betainc(c / 2, c / 2, (x + 1) / 2),
        lambda x, c: _betainc(c / 2, c / 2, (1 - x) / 2),
        support=lambda *_: (-1.0, 1.0), valid=positive, inside=0.0,
    ),
    "jf_skew_t": Law(
        _log_skew_t, lambda x, a, b: _betainc(a, b, (1 + _skew_t_place(x, a, b)) / 2),
        lambda x, a, b: _betainc(b, a, (1 - _skew_t_place(x, a, b)) / 2), valid=positive,
    ),
    "argus": Law(
        _log_argus, lambda x, chi: 1 - _argus_share(x, chi) / _argus_share(0.0, chi),
        lambda x, chi: _argus_share(x, chi) / _argus_share(0.0, chi), valid=positive,
        closed=False, **_UNIT,
    ),
    "gibrat": Law(
        lambda x: _log_normal(np.log(x)) - np.log(x), lambda x: _s.ndtr(np.log(x)),
        lambda x: _s.ndtr(-np.log(x)), support=above(0.0), closed=False,
    ),
    "powernorm": Law(
        lambda x, c: np.log(c) + _log_normal(x) + (c - 1) * _s.log_ndtr(-x),
        lambda x, c: -np.expm1(c * _s.log_ndtr(-x)), lambda x, c: np.exp(c * _s.log_ndtr(-x)),
        log_sf=lambda x, c: c * _s.log_ndtr(-x), valid=positive,
    ),
    "powerlognorm": Law(
        lambda x, c, s: np.log(c / (x * s)) + _log_normal(np.log(x) / s)
        + (c - 1) * _s.log_ndtr(-np.log(x) / s),
        lambda x, c, s: -np.expm1(c * _s.log_ndtr(-np.log(x) / s)),
        lambda x, c, s: np.exp(c * _s.log_ndtr(-np.log(x) / s)), closed=False, **_ABOVE,
    ),
    "exponpow": Law(
        lambda x, b: 1 + np.log(b) + _s.xlogy(b - 1, x) + x**b - np.exp(x**b),
        lambda x, b: -np.expm1(-np.expm1(x**b)), lambda x, b: np.exp(-np.expm1(x**b)),
        log_sf=lambda x, b: -np.expm1(x**b), **_ABOVE,
    ),
    "foldcauchy": Law(
        lambda x, c: np.log((1 / (1 + (x - c) ** 2) + 1 / (1 + (x + c) ** 2)) / math.pi),
        lambda x, c: (np.arctan(x - c) + np.arctan(x + c)) / math.pi,
        support=above(0.0), valid=lambda c: c >= 0,
    ),
    "genhalflogistic": Law(
        lambda x, c: math.log(2) + (1 / c - 1) * np.log1p(-c * x)
        - 2 * np.log1p(_half_logistic_power(x, c)),
        lambda x, c: (1 - _half_logistic_power(x, c)) / (1 + _half_logistic_power(x, c)),
        lambda x, c: 2 * _half_logistic_power(x, c) / (1 + _half_logistic_power(x, c)),
        support=lambda c: (0.0, 1 / c), valid=positive, inside=0.0,
    ),
    "anglit": Law(
        lambda x: np.log(np.cos(2 * x)), lambda x: np.sin(x + math.pi / 4) ** 2,
        lambda x: np.where(x < math.pi / 4, np.cos(x + math.pi / 4) ** 2, 0.0),
        support=lambda *_: (-math.pi / 4, math.pi / 4), inside=0.0,
    ),
    "cosine": Law(
        lambda x: np.log1p(np.cos(x)) - math.log(2 * math.pi),
        lambda x: np.where(x > -math.pi, math.pi + x + np.sin(x), 0.0) / (2 * math.pi),
        lambda x: np.where(x < math.pi, math.pi - x - np.sin(x), 0.0) / (2 * math.pi),
        support=lambda *_: (-math.pi, math.pi), inside=0.0,
    ),
    "genexpon": Law(
        lambda x, a, b, c: np.log(a - b * np.expm1(-c * x)) + _over_cumulated(x, a, b, c),
        lambda x, a, b, c: -np.expm1(_over_cumulated(x, a, b, c)),
        lambda x, a, b, c: np.exp(_over_cumulated(x, a, b, c)), log_sf=_over_cumulated, **_ABOVE,
    ),
    "truncpareto": Law(
        lambda x, b, c: np.log(b / -np.expm1(-b * np.log(c))) - (b + 1) * np.log(x),
        lambda x, b, c: np.expm1(-b * np.log(x)) / np.expm1(-b * np.log(c)),
        lambda x, b, c: (x**-b - c**-b) / -np.expm1(-b * np.log(c)),
        support=lambda b, c: (1.0, c), valid=lambda b, c: (b != 0) & (c > 1), inside=1.0,
    ),
    "truncweibull_min": Law(
        lambda x, c, a, b: np.log(c) + _s.xlogy(c - 1, x) - x**c - np.log(_weibull_mass(a, b, c)),
        lambda x, c, a, b: _weibull_mass(a, x, c) / _weibull_mass(a, b, c),
        lambda x, c, a, b: _weibull_mass(x, b, c) / _weibull_mass(a, b, c),
        support=lambda c, a, b: (a, b), valid=lambda c, a, b: (a >= 0) & (b > a) & (c > 0),
    ),
    "recipinvgauss": Law(
        lambda x, mu: -0.5 * np.log(x) - HALF_LOG_TAU - (1 - mu * x) ** 2 / (2 * x * mu * mu),
        _reciprocal_gauss, closed=False, **_ABOVE,
    ),
    "crystalball": Law(
        _log_crystal_ball, _crystal_ball, valid=lambda beta, m: (beta > 0) & (m > 1), inside=0.0
    ),
    "trapezoid": Law(
        _log_trapezoid, _trapezoid,
        valid=lambda c, d: (c >= 0) & (c <= 1) & (d >= 0) & (d <= 1) & (d >= c), **_UNIT,
    ),
    "norminvgauss": Law(
        lambda x, a, b: np.log(a / math.pi * call("k1e", a * np.sqrt(1 + x * x)))
        + b * x - a * np.sqrt(1 + x * x) + np.sqrt(a * a - b * b) - 0.5 * np.log1p(x * x),
        None, valid=lambda a, b: (a > 0) & (abs(b) < a), inside=0.0,
    ),
}  # fmt: skip
