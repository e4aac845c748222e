"""scipy.stats: densities and distribution functions, differentiable by x and the parameters.

A row gives the logarithm of the density of the standard distribution and, where there is one, its
distribution function. Location, scale, support and invalid parameters are common to all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

import lazynp as np
from lazynp.interop._calls import inexact, only, refuse, stacked
from lazynp.interop._special import UFUNCS, bdtr
from lazynp.primitives.linear_algebra import triangular_solve

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Law:
    """A distribution in standard form: functions of x and its shape parameters."""

    log_density: Callable[..., Any]
    cdf: Callable[..., Any]
    sf: Callable[..., Any] | None = None  # 1 - cdf
    log_cdf: Callable[..., Any] | None = None
    log_sf: Callable[..., Any] | None = None
    support: Callable[..., tuple[Any, Any]] = lambda *_: (-numpy.inf, numpy.inf)
    valid: Callable[..., Any] = lambda *shapes: True
    inside: float = 0.5  # a place within the support: stands in for those outside of it
    closed: bool = True  # whether the density at the ends of the support counts


def _positive(*shapes: Any) -> Any:
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
        lambda x: -0.5 * x * x - _HALF_LOG_TAU,
        _s.ndtr,
        lambda x: _s.ndtr(-x),
        _s.log_ndtr,
        lambda x: _s.log_ndtr(-x),
    ),
    "t": Law(
        _log_t_density,
        lambda x, df: UFUNCS["stdtr"](df, x),
        lambda x, df: UFUNCS["stdtr"](df, -x),
        valid=_positive,
    ),
    "gamma": Law(
        _log_gamma_density,
        lambda x, a: _s.gammainc(a, x),
        lambda x, a: _s.gammaincc(a, x),
        support=lambda *_: (0.0, numpy.inf),
        valid=_positive,
    ),
    "chi2": Law(
        lambda x, k: _s.xlogy(k / 2 - 1, x) - x / 2 - _s.gammaln(k / 2) - math.log(2) * k / 2,
        lambda x, k: _s.gammainc(k / 2, x / 2),
        lambda x, k: _s.gammaincc(k / 2, x / 2),
        support=lambda *_: (0.0, numpy.inf),
        valid=_positive,
    ),
    "beta": Law(
        _log_beta_density,
        lambda x, a, b: UFUNCS["betainc"](a, b, x),
        lambda x, a, b: UFUNCS["betaincc"](a, b, x),
        support=lambda *_: (0.0, 1.0),
        valid=_positive,
    ),
    "expon": Law(
        lambda x: -x,
        lambda x: -np.expm1(-x),
        lambda x: np.exp(-x),
        log_sf=lambda x: -x,
        support=lambda *_: (0.0, numpy.inf),
    ),
    "uniform": Law(
        lambda x: 0.0 * x, lambda x: x, lambda x: 1.0 - x, support=lambda *_: (0.0, 1.0)
    ),
    "laplace": Law(
        lambda x: math.log(0.5) - abs(x),
        lambda x: np.where(x > 0, 1.0 - 0.5 * np.exp(-abs(x)), 0.5 * np.exp(-abs(x))),
        lambda x: np.where(x > 0, 0.5 * np.exp(-abs(x)), 1.0 - 0.5 * np.exp(-abs(x))),
    ),
    "logistic": Law(
        lambda x: -abs(x) - 2.0 * np.log1p(np.exp(-abs(x))),
        _s.expit,
        lambda x: _s.expit(-x),
        lambda x: -np.logaddexp(0.0, -x),
        lambda x: -np.logaddexp(0.0, x),
    ),
    "cauchy": Law(
        lambda x: -math.log(math.pi) - np.log1p(x * x),
        lambda x: np.arctan2(1.0, -x) / math.pi,
        lambda x: np.arctan2(1.0, x) / math.pi,
    ),
    "lognorm": Law(
        lambda x, s: -0.5 * (np.log(x) / s) ** 2 - np.log(s * x * math.sqrt(2 * math.pi)),
        lambda x, s: _s.ndtr(np.log(x) / s),
        lambda x, s: _s.ndtr(-np.log(x) / s),
        lambda x, s: _s.log_ndtr(np.log(x) / s),
        lambda x, s: _s.log_ndtr(-np.log(x) / s),
        support=lambda *_: (0.0, numpy.inf),
        valid=_positive,
        closed=False,
    ),
    "halfnorm": Law(
        lambda x: 0.5 * math.log(2.0 / math.pi) - x * x / 2.0,
        lambda x: _s.erf(x / math.sqrt(2)),
        lambda x: 2.0 * _s.ndtr(-x),
        support=lambda *_: (0.0, numpy.inf),
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


# -- methods ---------------------------------------------------------------------------------------


def _prepared(law: Law, x: Any, shapes: Any, loc: Any, scale: Any) -> Any:
    """The standardized x, its safe version, the shapes, and the masks: below, above, invalid."""
    x, loc, scale, *shapes = inexact(x, loc, scale, *shapes)
    x, loc, scale, *shapes = np.broadcast_arrays(x, loc, scale, *shapes)
    y = (x - loc) / scale
    low, high = law.support(*shapes)
    at = np.stop_gradient(y)
    below, above = (at < low, at > high) if law.closed else (at <= low, at > high)
    valid = law.valid(*shapes) & (scale > 0)
    wrong = np.logical_not(valid) | np.isnan(x)
    infinite = np.isinf(at)
    safe = np.where(below | above | wrong | infinite, law.inside, y)
    shapes = [np.where(wrong, 1.0, s) for s in shapes]
    return y, safe, shapes, scale, below | (at == -numpy.inf), above | (at == numpy.inf), wrong


def _density(law: Law, logarithm: bool, x: Any, shapes: Any, loc: Any, scale: Any) -> Any:
    _, safe, shapes, scale, below, above, wrong = _prepared(law, x, shapes, loc, scale)
    value = law.log_density(safe, *shapes) - np.log(np.where(wrong, 1.0, scale))
    value = value if logarithm else np.exp(value)
    value = np.where(below | above, -numpy.inf if logarithm else 0.0, value)
    return np.where(wrong, numpy.nan, value)[()]


def _mass(law: Law, logarithm: bool, k: Any, shapes: Any, loc: Any) -> Any:
    k, loc = np.asarray(k), np.asarray(loc)
    whole = np.floor(k - loc) == k - loc
    value = _density(law, logarithm, k, shapes, loc, 1.0)
    return np.where(whole | np.isnan(value), value, -numpy.inf if logarithm else 0.0)[()]


def _cumulative(
    law: Law, upper: bool, logarithm: bool, x: Any, shapes: Any, loc: Any, scale: Any
) -> Any:
    _, safe, shapes, scale, below, above, wrong = _prepared(law, x, shapes, loc, scale)
    direct = law.log_sf if upper else law.log_cdf
    if logarithm and direct is not None:
        value = direct(safe, *shapes)
    else:
        if not upper:
            value = law.cdf(safe, *shapes)
        else:
            value = 1.0 - law.cdf(safe, *shapes) if law.sf is None else law.sf(safe, *shapes)
        value = np.log(value) if logarithm else value
    low, high = (-numpy.inf, 0.0) if logarithm else (0.0, 1.0)
    value = np.where(below, high if upper else low, value)
    value = np.where(above, low if upper else high, value)
    return np.where(wrong, numpy.nan, value)[()]


def _law(self: Any, discrete: bool) -> Law | None:
    """The row of this distribution; a derived class of the user's has none."""
    table = DISCRETE if discrete else CONTINUOUS
    ours = type(self).__module__.startswith("scipy.stats.")
    return table.get(self.name) if ours else None


def density(name: str, discrete: bool = False) -> Callable[..., Any]:
    """The method pdf, logpdf, pmf or logpmf."""
    logarithm = name.startswith("log")

    def method(self: Any, x: Any, *args: Any, **kwds: Any) -> Any:
        law = _law(self, discrete)
        if law is None:
            return NotImplemented
        shapes, loc, scale = self._parse_args(*args, **kwds)
        if discrete:
            return _mass(law, logarithm, x, shapes, loc)
        return _density(law, logarithm, x, shapes, loc, scale)

    return method


def cumulative(name: str, discrete: bool = False) -> Callable[..., Any]:
    """The method cdf, logcdf, sf or logsf."""
    logarithm, upper = name.startswith("log"), name.endswith("sf")

    def method(self: Any, x: Any, *args: Any, **kwds: Any) -> Any:
        law = _law(self, discrete)
        if law is None:
            return NotImplemented
        shapes, loc, scale = self._parse_args(*args, **kwds)
        if not discrete:
            return _cumulative(law, upper, logarithm, x, shapes, loc, scale)
        if law.sf is not None or not upper:
            return _cumulative(law, upper, logarithm, np.floor(x), shapes, loc, 1.0)
        value = 1.0 - _cumulative(law, False, False, np.floor(x), shapes, loc, 1.0)
        return np.log(value) if logarithm else value

    return method


# -- the normal distribution of vectors ------------------------------------------------------------


def _log_normal(x: Any, mean: Any, cov: Any) -> Any:
    """By Cholesky's factor: log det is twice the sum of the logarithms of its diagonal."""
    x = np.asarray(x)
    given = [v for v in (mean, cov) if v is not None and numpy.ndim(v)]
    dim = 1
    if given:
        dim = numpy.shape(given[0])[-1]
    mean = np.zeros(dim) if mean is None else np.atleast_1d(np.asarray(mean))
    cov = np.asarray(1.0 if cov is None else cov)
    if cov.ndim == 0:
        cov = cov * np.eye(dim)
    elif cov.ndim == 1:
        cov = np.diag(cov)
    if mean.shape != (dim,):
        raise ValueError(f"Array 'mean' must be a vector of length {dim}.")
    if cov.shape != (dim, dim):
        raise ValueError(f"Array 'cov' must be square and fit the mean, got {cov.shape}")
    if x.ndim == 0:
        x = x[None, None]
    elif x.ndim == 1:
        x = x[:, None] if dim == 1 else x[None, :]
    x, mean, cov = inexact(x, mean, cov)
    factor = np.linalg.cholesky(cov)
    columns = (x - mean)[..., None]
    factors, columns = stacked(factor, columns)
    options: dict[str, Any] = {"lower": True, "transpose": "N", "unit_diagonal": False}
    white = triangular_solve(factors, columns, **options)[..., 0]
    logs = np.log(np.diagonal(factor)).sum()
    out = -(dim * _HALF_LOG_TAU) - logs - 0.5 * (white * white).sum(-1)
    return out.squeeze()[()]


def normal_of_vectors(logarithm: bool) -> Callable[..., Any]:
    """`multivariate_normal.logpdf` and `pdf`."""

    def method(
        self: Any, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False
    ) -> Any:
        only("multivariate_normal", allow_singular=(allow_singular, False))
        if type(cov).__module__.startswith("scipy."):
            refuse("multivariate_normal", f"cov of type {type(cov).__name__}")
        value = _log_normal(x, mean, cov)
        return value if logarithm else np.exp(value)

    return method


class FrozenNormal:
    """`multivariate_normal(mean, cov)` with traced parameters."""

    def __init__(self, mean: Any, cov: Any) -> None:
        self.mean, self.cov = mean, cov

    def logpdf(self, x: Any) -> Any:
        return _log_normal(x, self.mean, self.cov)

    def pdf(self, x: Any) -> Any:
        return np.exp(self.logpdf(x))


def frozen_normal(
    self: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False, seed: Any = None,
    **kwds: Any,
) -> Any:  # fmt: skip
    """`multivariate_normal.__call__`."""
    only("multivariate_normal", allow_singular=(allow_singular, False), seed=(seed, None))
    return FrozenNormal(mean, cov)
