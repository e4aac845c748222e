"""Distributions of scipy.stats in standard form, as compositions that have derivatives.

A row gives the logarithm of the density and, where there are formulas, the distribution function
and its inverse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

import lazynp as np
from lazynp._dataclass import dataclass
from lazynp.interop._special import bdtr
from lazynp.interop._special_more import UFUNCS

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Law:
    """A distribution in standard form: functions of x and its shape parameters."""

    log_density: Callable[..., Any]
    cdf: Callable[..., Any] | None
    sf: Callable[..., Any] | None = None  # 1 - cdf
    log_cdf: Callable[..., Any] | None = None
    log_sf: Callable[..., Any] | None = None
    support: Callable[..., tuple[Any, Any]] = lambda *_: (-numpy.inf, numpy.inf)
    valid: Callable[..., Any] = lambda *shapes: True
    inside: float = 0.5  # a place within the support: stands in for those outside of it
    closed: bool = True  # whether the density at the lower end of the support counts
    quantile: Callable[..., Any] | None = None  # the inverse of cdf
    upper: Callable[..., Any] | None = None  # that of sf


def positive(*shapes: Any) -> Any:
    out: Any = True
    for s in shapes:
        out = out & (s > 0)
    return out


_s = np.special


def _log_gamma_density(x: Any, a: Any) -> Any:
    return _s.xlogy(a - 1.0, x) - x - _s.gammaln(a)


def _log_beta_density(x: Any, a: Any, b: Any) -> Any:
    return _s.xlog1py(b - 1.0, -x) + _s.xlogy(a - 1.0, x) - _s.betaln(a, b)


def _log_t_density(x: Any, df: Any) -> Any:
    logs = _s.gammaln((df + 1) / 2) - _s.gammaln(df / 2) - 0.5 * np.log(df * math.pi)
    return logs - (df + 1) / 2 * np.log1p(x * x / df)


CONTINUOUS: dict[str, Law] = {
    "norm": Law(
        lambda x: -0.5 * x * x - HALF_LOG_TAU,
        _s.ndtr,
        lambda x: _s.ndtr(-x),
        _s.log_ndtr,
        lambda x: _s.log_ndtr(-x),
        quantile=_s.ndtri,
        upper=lambda q: -_s.ndtri(q),
    ),
    "t": Law(
        _log_t_density,
        lambda x, df: UFUNCS["stdtr"](df, x),
        lambda x, df: UFUNCS["stdtr"](df, -x),
        valid=positive,
        quantile=lambda q, df: UFUNCS["stdtrit"](df, q),
        upper=lambda q, df: -UFUNCS["stdtrit"](df, q),
    ),
    "gamma": Law(
        _log_gamma_density,
        lambda x, a: _s.gammainc(a, x),
        lambda x, a: _s.gammaincc(a, x),
        support=lambda *_: (0.0, numpy.inf),
        valid=positive,
        quantile=lambda q, a: UFUNCS["gammaincinv"](a, q),
        upper=lambda q, a: UFUNCS["gammainccinv"](a, q),
    ),
    "chi2": Law(
        lambda x, k: _s.xlogy(k / 2 - 1, x) - x / 2 - _s.gammaln(k / 2) - math.log(2) * k / 2,
        lambda x, k: _s.gammainc(k / 2, x / 2),
        lambda x, k: _s.gammaincc(k / 2, x / 2),
        support=lambda *_: (0.0, numpy.inf),
        valid=positive,
        quantile=lambda q, k: 2 * UFUNCS["gammaincinv"](k / 2, q),
        upper=lambda q, k: 2 * UFUNCS["gammainccinv"](k / 2, q),
    ),
    "beta": Law(
        _log_beta_density,
        lambda x, a, b: UFUNCS["betainc"](a, b, x),
        lambda x, a, b: UFUNCS["betaincc"](a, b, x),
        support=lambda *_: (0.0, 1.0),
        valid=positive,
        quantile=lambda q, a, b: UFUNCS["betaincinv"](a, b, q),
    ),
    "expon": Law(
        lambda x: -x,
        lambda x: -np.expm1(-x),
        lambda x: np.exp(-x),
        log_sf=lambda x: -x,
        support=lambda *_: (0.0, numpy.inf),
        quantile=lambda q: -np.log1p(-q),
        upper=lambda q: -np.log(q),
    ),
    "uniform": Law(
        lambda x: 0.0 * x,
        lambda x: x,
        lambda x: 1.0 - x,
        support=lambda *_: (0.0, 1.0),
        quantile=lambda q: q,
    ),
    "laplace": Law(
        lambda x: math.log(0.5) - abs(x),
        lambda x: np.where(x > 0, 1.0 - 0.5 * np.exp(-abs(x)), 0.5 * np.exp(-abs(x))),
        lambda x: np.where(x > 0, 0.5 * np.exp(-abs(x)), 1.0 - 0.5 * np.exp(-abs(x))),
        quantile=lambda q: np.where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q)),
    ),
    "logistic": Law(
        lambda x: -abs(x) - 2.0 * np.log1p(np.exp(-abs(x))),
        _s.expit,
        lambda x: _s.expit(-x),
        lambda x: -np.logaddexp(0.0, -x),
        lambda x: -np.logaddexp(0.0, x),
        quantile=_s.logit,
        upper=lambda q: -_s.logit(q),
    ),
    "cauchy": Law(
        lambda x: -math.log(math.pi) - np.log1p(x * x),
        lambda x: np.arctan2(1.0, -x) / math.pi,
        lambda x: np.arctan2(1.0, x) / math.pi,
        quantile=lambda q: np.tan(math.pi * (q - 0.5)),
    ),
    "lognorm": Law(
        lambda x, s: -0.5 * (np.log(x) / s) ** 2 - np.log(s * x * math.sqrt(2 * math.pi)),
        lambda x, s: _s.ndtr(np.log(x) / s),
        lambda x, s: _s.ndtr(-np.log(x) / s),
        lambda x, s: _s.log_ndtr(np.log(x) / s),
        lambda x, s: _s.log_ndtr(-np.log(x) / s),
        support=lambda *_: (0.0, numpy.inf),
        valid=positive,
        closed=False,
        quantile=lambda q, s: np.exp(s * _s.ndtri(q)),
        upper=lambda q, s: np.exp(-s * _s.ndtri(q)),
    ),
    "halfnorm": Law(
        lambda x: 0.5 * math.log(2.0 / math.pi) - x * x / 2.0,
        lambda x: _s.erf(x / math.sqrt(2)),
        lambda x: 2.0 * _s.ndtr(-x),
        support=lambda *_: (0.0, numpy.inf),
        quantile=lambda q: _s.ndtri((1 + q) / 2),
        upper=lambda q: -_s.ndtri(q / 2),
    ),
}


def _log_binom(k: Any, n: Any, p: Any) -> Any:
    g = _s.gammaln
    return g(n + 1) - g(k + 1) - g(n - k + 1) + _s.xlogy(k, p) + _s.xlog1py(n - k, -p)


DISCRETE: dict[str, Law] = {
    "poisson": Law(
        lambda k, mu: _s.xlogy(k, mu) - _s.gammaln(k + 1) - mu,
        lambda k, mu: UFUNCS["pdtr"](k, mu),
        lambda k, mu: UFUNCS["pdtrc"](k, mu),
        support=lambda *_: (0.0, numpy.inf),
        valid=lambda mu: mu >= 0,
        inside=0.0,
    ),
    "binom": Law(
        _log_binom,
        bdtr,
        support=lambda n, p: (0.0, n),
        valid=lambda n, p: (n >= 0) & (n == np.round(n)) & (p >= 0) & (p <= 1),
        inside=0.0,
    ),
    "bernoulli": Law(
        lambda k, p: _s.xlogy(k, p) + _s.xlog1py(1 - k, -p),
        lambda k, p: bdtr(k, 1.0, p),
        support=lambda *_: (0.0, 1.0),
        valid=lambda p: (p >= 0) & (p <= 1),
        inside=0.0,
    ),
    "geom": Law(
        lambda k, p: _s.xlog1py(k - 1, -p) + np.log(p),
        lambda k, p: -np.expm1(np.log1p(-p) * np.floor(k)),
        lambda k, p: np.exp(np.log1p(-p) * np.floor(k)),
        support=lambda *_: (1.0, numpy.inf),
        valid=lambda p: (p > 0) & (p <= 1),
        inside=1.0,
    ),
}


# -- positive numbers, extremes, angles ------------------------------------------------------------


def above(low: float) -> Callable[..., tuple[Any, Any]]:
    return lambda *_: (low, numpy.inf)


def by_survival(log_density: Any, log_sf: Any, **more: Any) -> Law:
    """A law whose survival function has a logarithm in closed form."""
    return Law(
        log_density,
        lambda x, *shapes: -np.expm1(log_sf(x, *shapes)),
        lambda x, *shapes: np.exp(log_sf(x, *shapes)),
        log_sf=log_sf,
        **more,
    )


def by_cumulative(log_density: Any, log_cdf: Any, **more: Any) -> Law:
    return Law(
        log_density,
        lambda x, *shapes: np.exp(log_cdf(x, *shapes)),
        lambda x, *shapes: -np.expm1(log_cdf(x, *shapes)),
        log_cdf=log_cdf,
        **more,
    )


def _truncated_mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal probability between a and b, in the tail that is smaller."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    more, less = _s.log_ndtr(high), _s.log_ndtr(low)
    across = (low <= 0) & (high > 0)
    tails = np.log1p(-_s.ndtr(low) - _s.ndtr(np.where(across, -high, 0.0)))
    return np.where(across, tails, more + np.log1p(-np.exp(np.minimum(less - more, 0.0))))


def _log_f_density(x: Any, n: Any, m: Any) -> Any:
    logs = m / 2 * np.log(m) + n / 2 * np.log(n) + _s.xlogy(n / 2 - 1, x)
    return logs - (n + m) / 2 * np.log(m + n * x) - _s.betaln(n / 2, m / 2)


def _general_normal(x: Any, b: Any) -> Any:
    """At 0, by its tangent: the power of abs(x) has none there."""
    middle = x == 0
    safe = np.where(middle, 1.0, x)
    away = 0.5 + 0.5 * np.sign(safe) * _s.gammainc(1 / b, abs(safe) ** b)
    return np.where(middle, 0.5 + x * np.exp(np.log(0.5 * b) - _s.gammaln(1 / b)), away)


_ABOVE: dict[str, Any] = {"support": above(0.0), "valid": positive}
CONTINUOUS |= {
    "weibull_min": by_survival(
        lambda x, c: np.log(c) + _s.xlogy(c - 1, x) - x**c,
        lambda x, c: -(x**c),
        quantile=lambda q, c: (-np.log1p(-q)) ** (1 / c),
        **_ABOVE,
    ),
    "invweibull": by_cumulative(
        lambda x, c: np.log(c) - (c + 1) * np.log(x) - x**-c, lambda x, c: -(x**-c),
        quantile=lambda q, c: (-np.log(q)) ** (-1 / c), closed=False, **_ABOVE,
    ),
    "pareto": by_survival(
        lambda x, b: np.log(b) - (b + 1) * np.log(x),
        lambda x, b: -b * np.log(x),
        quantile=lambda q, b: (1 - q) ** (-1 / b), upper=lambda q, b: q ** (-1 / b),
        support=above(1.0), valid=positive, inside=1.5,
    ),
    "lomax": by_survival(
        lambda x, c: np.log(c) - (c + 1) * np.log1p(x), lambda x, c: -c * np.log1p(x),
        quantile=lambda q, c: np.expm1(-np.log1p(-q) / c), **_ABOVE,
    ),
    "gumbel_r": by_cumulative(
        lambda x: -x - np.exp(-x), lambda x: -np.exp(-x), quantile=lambda q: -np.log(-np.log(q)),
    ),
    "gumbel_l": by_survival(
        lambda x: x - np.exp(x), lambda x: -np.exp(x), quantile=lambda q: np.log(-np.log1p(-q)),
    ),
    "gompertz": by_survival(
        lambda x, c: np.log(c) + x - c * np.expm1(x), lambda x, c: -c * np.expm1(x),
        quantile=lambda q, c: np.log1p(-np.log1p(-q) / c), **_ABOVE,
    ),
    "rayleigh": by_survival(
        lambda x: np.log(x) - 0.5 * x * x, lambda x: -0.5 * x * x,
        quantile=lambda q: np.sqrt(-2 * np.log1p(-q)), **_ABOVE,
    ),
    "maxwell": Law(
        lambda x: 0.5 * math.log(2 / math.pi) + 2 * np.log(x) - 0.5 * x * x,
        lambda x: _s.gammainc(1.5, x * x / 2),
        lambda x: _s.gammaincc(1.5, x * x / 2),
        **_ABOVE,
    ),
    "chi": Law(
        lambda x, k: (1 - k / 2) * math.log(2) - _s.gammaln(k / 2) + _s.xlogy(k - 1, x) - x * x / 2,
        lambda x, k: _s.gammainc(k / 2, x * x / 2),
        lambda x, k: _s.gammaincc(k / 2, x * x / 2),
        **_ABOVE,
    ),
    "invgamma": Law(
        lambda x, a: -(a + 1) * np.log(x) - _s.gammaln(a) - 1 / x,
        lambda x, a: _s.gammaincc(a, 1 / x),
        lambda x, a: _s.gammainc(a, 1 / x),
        quantile=lambda q, a: 1 / UFUNCS["gammainccinv"](a, q),
        closed=False, **_ABOVE,
    ),
    "f": Law(
        _log_f_density,
        lambda x, n, m: UFUNCS["betainc"](n / 2, m / 2, n * x / (n * x + m)),
        lambda x, n, m: UFUNCS["betainc"](m / 2, n / 2, m / (n * x + m)),
        **_ABOVE,
    ),
    "fisk": Law(
        lambda x, c: np.log(c) + (c - 1) * np.log(x) - 2 * np.log1p(x**c),
        lambda x, c: 1 / (1 + x**-c), lambda x, c: 1 / (1 + x**c),
        quantile=lambda q, c: (q / (1 - q)) ** (1 / c), closed=False, **_ABOVE,
    ),
    "levy": Law(
        lambda x: -HALF_LOG_TAU - 1.5 * np.log(x) - 0.5 / x,
        lambda x: _s.erfc(np.sqrt(0.5 / x)), lambda x: _s.erf(np.sqrt(0.5 / x)),
        support=above(0.0), closed=False,
    ),
    "halfcauchy": Law(
        lambda x: math.log(2 / math.pi) - np.log1p(x * x),
        lambda x: 2 / math.pi * np.arctan(x), lambda x: 2 / math.pi * np.arctan2(1.0, x),
        support=above(0.0), quantile=lambda q: np.tan(math.pi / 2 * q),
    ),
    "loggamma": Law(
        lambda x, c: c * x - np.exp(x) - _s.gammaln(c),
        lambda x, c: _s.gammainc(c, np.exp(x)), lambda x, c: _s.gammaincc(c, np.exp(x)),
        valid=positive,
    ),
    "powerlaw": Law(
        lambda x, a: np.log(a) + _s.xlogy(a - 1, x), lambda x, a: x**a,
        support=lambda *_: (0.0, 1.0), valid=positive, quantile=lambda q, a: q ** (1 / a),
    ),
    "gennorm": Law(
        lambda x, b: np.log(0.5 * b) - _s.gammaln(1 / b) - abs(x) ** b,
        _general_normal,
        valid=positive,
    ),
    "skewnorm": Law(
        lambda x, a: math.log(2) - HALF_LOG_TAU - 0.5 * x * x + _s.log_ndtr(a * x),
        lambda x, a: _s.ndtr(x) - 2 * UFUNCS["owens_t"](x, a),
        lambda x, a: _s.ndtr(-x) + 2 * UFUNCS["owens_t"](x, a),
        valid=lambda a: np.isfinite(a),
    ),
    "vonmises": Law(
        lambda x, k: k * (np.cos(x) - 1) - np.log(2 * math.pi * _s.i0e(k)), None,
        valid=lambda k: k >= 0,
    ),
    "truncnorm": Law(
        lambda x, a, b: -HALF_LOG_TAU - 0.5 * x * x - _truncated_mass(a, b),
        lambda x, a, b: np.exp(_truncated_mass(a, x) - _truncated_mass(a, b)),
        lambda x, a, b: np.exp(_truncated_mass(x, b) - _truncated_mass(a, b)),
        support=lambda a, b: (a, b), valid=lambda a, b: a < b,
    ),
}  # fmt: skip
CONTINUOUS["erlang"] = CONTINUOUS["gamma"]


def _log_negative_binomial(k: Any, n: Any, p: Any) -> Any:
    g = _s.gammaln
    return g(n + k) - g(k + 1) - g(n) + n * np.log(p) + _s.xlog1py(k, -p)


def _log_beta_binomial(k: Any, n: Any, a: Any, b: Any) -> Any:
    choices = -np.log(n + 1) - _s.betaln(n - k + 1, k + 1)
    return choices + _s.betaln(k + a, n - k + b) - _s.betaln(a, b)


DISCRETE |= {
    "nbinom": Law(
        _log_negative_binomial,
        lambda k, n, p: UFUNCS["betainc"](n, k + 1.0, p),
        lambda k, n, p: UFUNCS["betaincc"](n, k + 1.0, p),
        support=above(0.0),
        valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
        inside=0.0,
    ),
    "betabinom": Law(
        _log_beta_binomial,
        None,
        support=lambda n, a, b: (0.0, n),
        valid=lambda n, a, b: (n >= 0) & (n == np.round(n)) & (a > 0) & (b > 0),
        inside=0.0,
    ),
}
