"""More distributions of scipy.stats: of extremes, of waiting times, and folded or skewed ones."""

from __future__ import annotations

import math
from typing import Any

import numpy

import lazynp as np
from lazynp.interop._laws import (
    CONTINUOUS,
    HALF_LOG_TAU,
    Law,
    above,
    by_cumulative,
    by_survival,
    positive,
)
from lazynp.interop._special_more import UFUNCS

_s = np.special
_log_expit = UFUNCS["log_expit"]
_BELOW_ONE = math.nextafter(1.0, 0.0)  # `closed` is about the lower end
_ABOVE: dict[str, Any] = {"support": above(0.0), "valid": positive}


def _log_normal(x: Any) -> Any:
    return -0.5 * x * x - HALF_LOG_TAU


# -- extremes --------------------------------------------------------------------------------------


def log1p_over(c: Any, x: Any) -> Any:
    """log(1 + c x) / c, which is x where c is 0."""
    z = c * x
    small = abs(z) < 1e-4
    safe = np.where(small, 1.0, c)
    series = x * (1 - z * (1 / 2 - z * (1 / 3 - z * (1 / 4 - z * (1 / 5 - z / 6)))))
    return np.where(small, series, np.log1p(safe * np.where(small, 0.0, x)) / safe)


def expm1_over(c: Any, y: Any) -> Any:
    """(exp(c y) - 1) / c, which is y where c is 0."""
    z = c * y
    small = abs(z) < 1e-4
    safe = np.where(small, 1.0, c)
    series = y * (1 + z / 2 * (1 + z / 3 * (1 + z / 4 * (1 + z / 5))))
    return np.where(small, series, np.expm1(safe * np.where(small, 0.0, y)) / safe)


def _pareto_support(c: Any) -> tuple[Any, Any]:
    return 0.0, np.where(c < 0, -1.0 / np.where(c < 0, c, -1.0), numpy.inf)


def _extreme_support(c: Any) -> tuple[Any, Any]:
    end = 1.0 / np.where(c == 0, 1.0, c)
    return np.where(c < 0, end, -numpy.inf), np.where(c > 0, end, numpy.inf)


def _log_extreme_density(x: Any, c: Any) -> Any:
    t = log1p_over(-c, x)  # minus the logarithm of -log cdf
    return -np.exp(-t) - t * (1 - c)


# -- triangles -------------------------------------------------------------------------------------


def _triangle(x: Any, c: Any, left: Any, right: Any) -> Any:
    """left and right: of x up to c, and of 1 - x from there on to 1."""
    rises = (x < c) | (c == 1)
    up, down = np.where(rises, c, 1.0), np.where(rises, 1.0, 1.0 - c)
    return np.where(rises, left(x, up), right(np.where(rises, 0.5, 1 - x), down))


def _two_sided(lower: Any, upper: Any) -> Any:
    """A function of x by those below and above 0, of the distance to it."""

    def of(x: Any, *shapes: Any) -> Any:
        right, away = x > 0, abs(x)
        return np.where(right, upper(away, *shapes), lower(away, *shapes))

    return of


def _inverse_gauss_terms(x: Any, mu: Any) -> tuple[Any, Any]:
    root = 1 / np.sqrt(x)
    return root * (x / mu - 1), 2 / mu + _s.log_ndtr(-root * (x / mu + 1))


def _inverse_gauss(x: Any, mu: Any) -> Any:
    z, more = _inverse_gauss_terms(x, mu)
    return np.add(_s.ndtr(z), np.exp(more))


def _inverse_gauss_above(x: Any, mu: Any) -> Any:
    z, more = _inverse_gauss_terms(x, mu)
    return np.subtract(_s.ndtr(np.negative(z)), np.exp(more))


def _log_inverse_gauss(x: Any, mu: Any) -> Any:
    return -HALF_LOG_TAU - 1.5 * np.log(x) - (x / mu - 1) ** 2 / (2 * x)


def _log_birnbaum_saunders(x: Any, c: Any) -> Any:
    logs = np.log(x + 1) - np.log(2 * c) - HALF_LOG_TAU - 1.5 * np.log(x)
    return logs - (x - 1) ** 2 / (2 * x * c * c)


def _birnbaum_saunders_place(x: Any, c: Any) -> Any:
    return (np.sqrt(x) - 1 / np.sqrt(x)) / c


def _exponnorm_terms(x: Any, k: Any) -> Any:
    """The logarithm of what is taken from, or added to, the normal probability."""
    rate = 1 / k
    return rate * (0.5 * rate - x) + _s.log_ndtr(x - rate)


def _wrapped_cauchy(x: Any, c: Any) -> Any:
    first = x < math.pi
    half = np.where(first, x, 2 * math.pi - x) / 2
    share = np.arctan((1 + c) / (1 - c) * np.tan(half)) / math.pi
    return np.where(first, share, 1 - share)


CONTINUOUS |= {
    "genpareto": by_survival(
        lambda x, c: -(c + 1) * log1p_over(c, x), lambda x, c: -log1p_over(c, x),
        quantile=lambda q, c: expm1_over(c, -np.log1p(-q)),
        upper=lambda q, c: expm1_over(c, -np.log(q)),
        support=_pareto_support, valid=lambda c: np.isfinite(c), inside=0.0,
    ),
    "genextreme": by_cumulative(
        _log_extreme_density, lambda x, c: -np.exp(-log1p_over(-c, x)),
        support=_extreme_support, valid=lambda c: np.isfinite(c), inside=0.0, closed=False,
    ),
    "weibull_max": by_cumulative(
        lambda x, c: np.log(c) + _s.xlogy(c - 1, -x) - (-x) ** c, lambda x, c: -((-x) ** c),
        support=lambda *_: (-numpy.inf, 0.0), valid=positive, inside=-0.5,
    ),
    "exponweib": Law(
        lambda x, a, c: np.log(a) + np.log(c) + _s.xlogy(a - 1, -np.expm1(-(x**c))) - x**c
        + _s.xlogy(c - 1, x),
        lambda x, a, c: (-np.expm1(-(x**c))) ** a, **_ABOVE,
    ),
    "burr": by_cumulative(
        lambda x, c, d: np.log(c) + np.log(d) - (c + 1) * np.log(x) - (d + 1) * np.log1p(x**-c),
        lambda x, c, d: -d * np.log1p(x**-c), closed=False, **_ABOVE,
    ),
    "burr12": by_survival(
        lambda x, c, d: np.log(c) + np.log(d) + _s.xlogy(c - 1, x) - (d + 1) * np.log1p(x**c),
        lambda x, c, d: -d * np.log1p(x**c), **_ABOVE,
    ),
    "mielke": by_cumulative(
        lambda x, k, s: np.log(k) + (k - 1) * np.log(x) - (1 + k / s) * np.log1p(x**s),
        lambda x, k, s: k * np.log(x) - k / s * np.log1p(x**s), closed=False, **_ABOVE,
    ),
    "kappa3": Law(
        lambda x, a: np.log(a) - (1 + 1 / a) * np.log(a + x**a),
        lambda x, a: x * (a + x**a) ** (-1 / a), **_ABOVE,
    ),
    "betaprime": Law(
        lambda x, a, b: _s.xlogy(a - 1, x) - (a + b) * np.log1p(x) - _s.betaln(a, b),
        lambda x, a, b: UFUNCS["betainc"](a, b, x / (1 + x)),
        lambda x, a, b: UFUNCS["betaincc"](a, b, x / (1 + x)), **_ABOVE,
    ),
    "invgauss": Law(
        _log_inverse_gauss, _inverse_gauss, _inverse_gauss_above, closed=False, **_ABOVE,
    ),
    "fatiguelife": Law(
        _log_birnbaum_saunders, lambda x, c: _s.ndtr(_birnbaum_saunders_place(x, c)),
        lambda x, c: _s.ndtr(-_birnbaum_saunders_place(x, c)), closed=False, **_ABOVE,
    ),
    "nakagami": Law(
        lambda x, nu: math.log(2) + _s.xlogy(nu, nu) - _s.gammaln(nu) + _s.xlogy(2 * nu - 1, x)
        - nu * x * x,
        lambda x, nu: _s.gammainc(nu, nu * x * x), lambda x, nu: _s.gammaincc(nu, nu * x * x),
        **_ABOVE,
    ),
    "rice": Law(
        lambda x, b: np.log(x) - 0.5 * (x - b) ** 2 + np.log(_s.i0e(x * b)), None,
        support=above(0.0), valid=lambda b: b >= 0,
    ),
    "exponnorm": Law(
        lambda x, k: _exponnorm_terms(x, k) - np.log(k),
        lambda x, k: _s.ndtr(x) - np.exp(_exponnorm_terms(x, k)),
        lambda x, k: _s.ndtr(-x) + np.exp(_exponnorm_terms(x, k)), valid=positive,
    ),
    "johnsonsu": Law(
        lambda x, a, b: np.log(b) - 0.5 * np.log1p(x * x) + _log_normal(a + b * np.arcsinh(x)),
        lambda x, a, b: _s.ndtr(a + b * np.arcsinh(x)),
        lambda x, a, b: _s.ndtr(-a - b * np.arcsinh(x)), valid=lambda a, b: (b > 0) & (a == a),
    ),
    "johnsonsb": Law(
        lambda x, a, b: np.log(b) - np.log(x) - np.log1p(-x) + _log_normal(a + b * _s.logit(x)),
        lambda x, a, b: _s.ndtr(a + b * _s.logit(x)),
        lambda x, a, b: _s.ndtr(-a - b * _s.logit(x)),
        support=lambda *_: (0.0, _BELOW_ONE), valid=lambda a, b: (b > 0) & (a == a), closed=False,
    ),
    "foldnorm": Law(
        lambda x, c: np.logaddexp(_log_normal(x + c), _log_normal(x - c)),
        lambda x, c: 0.5 * (_s.erf((x - c) / math.sqrt(2)) + _s.erf((x + c) / math.sqrt(2))),
        lambda x, c: _s.ndtr(c - x) + _s.ndtr(-c - x),
        support=above(0.0), valid=lambda c: c >= 0,
    ),
    "triang": Law(
        lambda x, c: np.log(_triangle(x, c, lambda x, w: 2 * x / w, lambda x, w: 2 * x / w)),
        lambda x, c: _triangle(x, c, lambda x, w: x * x / w, lambda x, w: 1 - x * x / w),
        support=lambda *_: (0.0, 1.0), valid=lambda c: (c >= 0) & (c <= 1),
    ),
    "loguniform": Law(
        lambda x, a, b: -np.log(x) - np.log(np.log(b) - np.log(a)),
        lambda x, a, b: (np.log(x) - np.log(a)) / (np.log(b) - np.log(a)),
        support=lambda a, b: (a, b), valid=lambda a, b: (a > 0) & (b > a),
        quantile=lambda q, a, b: np.exp(np.log(a) + q * (np.log(b) - np.log(a))),
    ),
    "truncexpon": Law(
        lambda x, b: -x - np.log(-np.expm1(-b)), lambda x, b: np.expm1(-x) / np.expm1(-b),
        lambda x, b: (np.exp(-b) - np.exp(-x)) / np.expm1(-b),
        support=lambda b: (0.0, b), valid=positive,
    ),
    "bradford": Law(
        lambda x, c: np.log(c) - np.log1p(c * x) - np.log(np.log1p(c)),
        lambda x, c: np.log1p(c * x) / np.log1p(c), support=lambda *_: (0.0, 1.0), valid=positive,
    ),
    "halflogistic": Law(
        lambda x: math.log(2) - x - 2 * np.log1p(np.exp(-x)), lambda x: np.tanh(x / 2),
        lambda x: 2 * _s.expit(-x), support=above(0.0),
    ),
    "genlogistic": by_cumulative(
        lambda x, c: np.log(c) + _log_expit(x) * c + _log_expit(-x),
        lambda x, c: c * _log_expit(x), valid=positive,
    ),
    "hypsecant": Law(
        lambda x: -math.log(math.pi) - np.logaddexp(x, -x) + math.log(2),
        lambda x: 2 / math.pi * np.arctan(np.exp(x)),
        lambda x: 2 / math.pi * np.arctan(np.exp(-x)),
    ),
    "moyal": Law(
        lambda x: -0.5 * (x + np.exp(-x)) - HALF_LOG_TAU,
        lambda x: _s.erfc(np.exp(-0.5 * x) / math.sqrt(2)),
        lambda x: _s.erf(np.exp(-0.5 * x) / math.sqrt(2)),
    ),
    "laplace_asymmetric": Law(
        lambda x, k: x * np.where(x >= 0, -k, 1 / k) - np.log(k + 1 / k),
        _two_sided(lambda d, k: np.exp(-d / k) * k / (k + 1 / k),
                   lambda d, k: 1 - np.exp(-d * k) / k / (k + 1 / k)),
        _two_sided(lambda d, k: 1 - np.exp(-d / k) * k / (k + 1 / k),
                   lambda d, k: np.exp(-d * k) / k / (k + 1 / k)),
        valid=positive,
    ),
    "dgamma": Law(
        lambda x, a: _s.xlogy(a - 1, abs(x)) - abs(x) - math.log(2) - _s.gammaln(a),
        _two_sided(lambda d, a: 0.5 * _s.gammaincc(a, d),
                   lambda d, a: 0.5 + 0.5 * _s.gammainc(a, d)),
        _two_sided(lambda d, a: 0.5 + 0.5 * _s.gammainc(a, d),
                   lambda d, a: 0.5 * _s.gammaincc(a, d)),
        valid=positive,
    ),
    "dweibull": Law(
        lambda x, c: np.log(c) - math.log(2) + _s.xlogy(c - 1, abs(x)) - abs(x) ** c,
        _two_sided(lambda d, c: 0.5 * np.exp(-(d**c)), lambda d, c: 1 - 0.5 * np.exp(-(d**c))),
        _two_sided(lambda d, c: 1 - 0.5 * np.exp(-(d**c)), lambda d, c: 0.5 * np.exp(-(d**c))),
        valid=positive,
    ),
    "skewcauchy": Law(
        lambda x, a: -math.log(math.pi) - np.log1p(x * x / (a * np.sign(x) + 1) ** 2),
        _two_sided(
            lambda d, a: (1 - a) / 2 - (1 - a) / math.pi * np.arctan(d / (1 - a)),
            lambda d, a: (1 - a) / 2 + (1 + a) / math.pi * np.arctan(d / (1 + a)),
        ),
        valid=lambda a: abs(a) < 1,
    ),
    "wrapcauchy": Law(
        lambda x, c: np.log1p(-c * c) - np.log(2 * math.pi * (1 + c * c - 2 * c * np.cos(x))),
        _wrapped_cauchy,
        support=lambda *_: (0.0, 2 * math.pi), valid=lambda c: (c > 0) & (c < 1),
    ),
    "semicircular": Law(
        lambda x: math.log(2 / math.pi) + 0.5 * np.log1p(-x * x),
        lambda x: 0.5 + (x * np.sqrt(1 - x * x) + np.arcsin(x)) / math.pi,
        support=lambda *_: (-1.0, 1.0),
    ),
    "arcsine": Law(
        lambda x: -math.log(math.pi) - 0.5 * (np.log(x) + np.log1p(-x)),
        lambda x: 2 / math.pi * np.arcsin(np.sqrt(x)), support=lambda *_: (0.0, 1.0),
    ),
    "alpha": Law(
        lambda x, a: -2 * np.log(x) + _log_normal(a - 1 / x) - _s.log_ndtr(a),
        lambda x, a: _s.ndtr(a - 1 / x) / _s.ndtr(a), closed=False, **_ABOVE,
    ),
    "loglaplace": Law(
        lambda x, c: np.log(c / 2) + _s.xlogy(np.where(x < 1, c, -c) - 1, x),
        lambda x, c: np.where(x < 1, 0.5 * x**c, 1 - 0.5 * x**-c),
        lambda x, c: np.where(x < 1, 1 - 0.5 * x**c, 0.5 * x**-c), **_ABOVE,
    ),
}  # fmt: skip
CONTINUOUS["reciprocal"] = CONTINUOUS["loguniform"]
CONTINUOUS["wald"] = Law(
    lambda x: _log_inverse_gauss(x, 1.0),
    lambda x: _inverse_gauss(x, 1.0),
    lambda x: _inverse_gauss_above(x, 1.0),
    support=above(0.0),
    closed=False,
)
