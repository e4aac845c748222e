"""scipy.stats: densities and distribution functions, differentiable by x and the parameters.

`_laws` has the distributions in standard form. Location, scale, support and invalid parameters are
common to all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import lazynp as np
from lazynp._recorder import local
from lazynp.interop._areas import normal_area
from lazynp.interop._calls import inexact, only, refuse, stacked
from lazynp.interop._laws import DISCRETE, HALF_LOG_TAU, Law
from lazynp.interop._laws_noncentral import CONTINUOUS
from lazynp.primitives.linear_algebra import triangular_solve

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
    if law.cdf is None:
        refuse("cdf", "this distribution")
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


def _sought(law: Law, upper: bool, self: Any) -> Callable[..., Any]:
    """The inverse of a function that has no formula for it: SciPy's value, with the derivative that
    Newton's steps have. Each of them doubles the number of right orders.
    """
    inverse = self.isf if upper else self.ppf

    def whole(x: Any, *shapes: Any) -> Any:
        if not upper:
            return law.cdf(x, *shapes)  # type: ignore[misc]
        return 1.0 - law.cdf(x, *shapes) if law.sf is None else law.sf(x, *shapes)  # type: ignore[misc]

    def found(q: Any, *shapes: Any) -> Any:
        x = np.pure_callback(
            lambda *given: numpy.asarray(inverse(*given), q.dtype),
            np.ShapeDtype(q.shape, q.dtype),
            *[np.stop_gradient(v) for v in (q, *shapes)],
            vmap_method="broadcast_all",
        )
        rest = np.stop_gradient(whole(x, *shapes) - q)
        for _ in range(max(local.level, 1).bit_length()):
            slope = np.exp(law.log_density(x, *shapes))
            x = x - (whole(x, *shapes) - q - rest) / (-slope if upper else slope)
        return x

    return found


def _quantile(law: Law, upper: bool, q: Any, shapes: Any, loc: Any, scale: Any, self: Any) -> Any:
    """The inverse of the distribution function, or of the survival function."""
    q, loc, scale, *shapes = inexact(q, loc, scale, *shapes)
    q, loc, scale, *shapes = np.broadcast_arrays(q, loc, scale, *shapes)
    wrong = np.logical_not(law.valid(*shapes) & (scale > 0) & (q >= 0) & (q <= 1))
    shapes = [np.where(wrong, 1.0, s) for s in shapes]
    low, high = law.support(*shapes)
    first, last = (q == 1, q == 0) if upper else (q == 0, q == 1)
    safe = np.where(wrong | first | last, 0.5, q)
    if upper and law.upper is not None:
        value = law.upper(safe, *shapes)
    elif law.quantile is not None:
        value = law.quantile(1 - safe if upper else safe, *shapes)
    else:
        value = _sought(law, upper, self)(safe, *shapes)
    value = np.where(first, low, np.where(last, high, value))
    infinite = np.isinf(np.stop_gradient(value))  # depends on no parameter
    moved = np.where(infinite, 0.0, value) * scale + loc
    return np.where(wrong, numpy.nan, np.where(infinite, value, moved))[()]


def law_of(self: Any, discrete: bool) -> Law | None:
    """The row of this distribution; a derived class of the user's has none."""
    table = DISCRETE if discrete else CONTINUOUS
    ours = type(self).__module__.startswith("scipy.stats.")
    return table.get(self.name) if ours else None


def density(name: str, discrete: bool = False) -> Callable[..., Any]:
    """The method pdf, logpdf, pmf or logpmf."""
    logarithm = name.startswith("log")

    def method(self: Any, x: Any, *args: Any, **kwds: Any) -> Any:
        law = law_of(self, discrete)
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
        law = law_of(self, discrete)
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


def quantile(name: str) -> Callable[..., Any]:
    """The method ppf or isf."""

    def method(self: Any, q: Any, *args: Any, **kwds: Any) -> Any:
        law = law_of(self, False)
        if law is None or law.quantile is None and law.cdf is None:
            return NotImplemented
        shapes, loc, scale = self._parse_args(*args, **kwds)
        return _quantile(law, name == "isf", q, shapes, loc, scale, self)

    return method


def frozen(self: Any, dist: Any, *args: Any, **kwds: Any) -> Any:
    """`rv_frozen.__init__`: the support depends on the shapes."""
    law = law_of(dist, False)
    if law is None:
        return NotImplemented
    shapes, _, _ = dist._parse_args(*args, **kwds)
    self.args, self.kwds = args, kwds
    self.dist = type(dist)(**dist._updated_ctor_param())
    self.a, self.b = law.support(*inexact(*shapes)) if shapes else law.support()
    return None


# -- vectors of probabilities ----------------------------------------------------------------------


def log_dirichlet(self: Any, x: Any, alpha: Any) -> Any:
    x, alpha = inexact(x, alpha)
    if x.shape[0] + 1 == alpha.shape[0]:
        x = np.concatenate([x, 1.0 - x.sum(axis=0, keepdims=True)], axis=0)
    weights = alpha.reshape(-1, *[1] * (x.ndim - 1))
    logs = np.special.gammaln(alpha.sum()) - np.special.gammaln(alpha).sum()
    return (logs + np.special.xlogy(weights - 1, x).sum(axis=0))[()]


def dirichlet_density(self: Any, x: Any, alpha: Any) -> Any:
    return np.exp(log_dirichlet(self, x, alpha))


def log_multinomial(self: Any, x: Any, n: Any, p: Any) -> Any:
    x, n, p = inexact(x, n, p)
    p = np.concatenate([p[..., :-1], 1.0 - p[..., :-1].sum(axis=-1, keepdims=True)], axis=-1)
    logs = np.special.gammaln(n + 1) - np.special.gammaln(x + 1).sum(axis=-1)
    good = (x.sum(axis=-1) == n) & (x >= 0).all(axis=-1)
    return np.where(good, logs + np.special.xlogy(x, p).sum(axis=-1), -numpy.inf)[()]


def multinomial_mass(self: Any, x: Any, n: Any, p: Any) -> Any:
    return np.exp(log_multinomial(self, x, n, p))


# -- the normal distribution of vectors ------------------------------------------------------------


def _of_vectors(x: Any, mean: Any, cov: Any) -> Any:
    """One point in each row, the mean as a vector, and cov as a matrix."""
    x = np.asarray(x)
    cov = np.asarray(1.0 if cov is None else cov)
    mean = None if mean is None else np.asarray(mean)
    given = [v for v in (mean, cov) if v is not None and v.ndim]
    dim = given[0].shape[-1] if given else 1
    mean = np.zeros(dim) if mean is None else np.atleast_1d(mean)
    if cov.ndim == 0:
        cov = cov * np.eye(dim)
    elif cov.ndim == 1:
        cov = np.diag(cov)
    if mean.shape != (dim,):
        raise ValueError(f"Array 'mean' must be a vector of length {dim}.")
    if cov.shape != (dim, dim):
        raise ValueError(f"Array 'cov' must be square and fit the mean, got {cov.shape}")
    return inexact(_points(x, dim), mean, cov)


def squares_of_vectors(x: Any, mean: Any, cov: Any) -> tuple[Any, Any, int]:
    """The squares of the distances in units of cov, half of its log det, and the dimension. By
    Cholesky's factor: log det is twice the sum of the logarithms of its diagonal.
    """
    x, mean, cov = _of_vectors(x, mean, cov)
    dim = mean.shape[0]
    factor = np.linalg.cholesky(cov)
    columns = (x - mean)[..., None]
    factors, columns = stacked(factor, columns)
    options: dict[str, Any] = {"lower": True, "transpose": "N", "unit_diagonal": False}
    white = triangular_solve(factors, columns, **options)[..., 0]
    logs = np.log(np.diagonal(factor)).sum()
    return (white * white).sum(-1), logs, dim


def log_normal_of_vectors(x: Any, mean: Any, cov: Any) -> Any:
    squares, logs, dim = squares_of_vectors(x, mean, cov)
    return (-(dim * HALF_LOG_TAU) - logs - 0.5 * squares).squeeze()[()]


def _points(x: Any, dim: int) -> Any:
    """One point in each row."""
    if x.ndim == 0:
        return x[None, None]
    return x if x.ndim > 1 else x[:, None] if dim == 1 else x[None, :]


def _only_arrays(cov: Any, allow_singular: bool) -> None:
    only("multivariate_normal", allow_singular=(allow_singular, False))
    if type(cov).__module__.startswith("scipy."):
        refuse("multivariate_normal", f"cov of type {type(cov).__name__}")


def cumulative_of_vectors(logarithm: bool) -> Callable[..., Any]:
    """`multivariate_normal.cdf` and `logcdf`. No options of an integration are needed."""

    def method(
        self: Any, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False,
        maxpts: Any = None, abseps: Any = 1e-5, releps: Any = 1e-5, *, lower_limit: Any = None,
        rng: Any = None,
    ) -> Any:  # fmt: skip
        _only_arrays(cov, allow_singular)
        area = normal_area(*_of_vectors(x, mean, cov), lower_limit=lower_limit)
        return np.log(area) if logarithm else area

    return method


def cumulative_of_frozen(logarithm: bool) -> Callable[..., Any]:
    """`cdf` and `logcdf` of a `multivariate_normal(mean, cov)` of SciPy's own."""

    def method(self: Any, x: Any, *, lower_limit: Any = None, rng: Any = None) -> Any:
        if self.cov_object.rank < self.dim:
            refuse("multivariate_normal", "a singular cov")
        area = normal_area(*_of_vectors(x, self.mean, self.cov), lower_limit=lower_limit)
        return np.log(area) if logarithm else area

    return method


def normal_of_vectors(logarithm: bool) -> Callable[..., Any]:
    """`multivariate_normal.logpdf` and `pdf`."""

    def method(
        self: Any, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False
    ) -> Any:
        _only_arrays(cov, allow_singular)
        value = log_normal_of_vectors(x, mean, cov)
        return value if logarithm else np.exp(value)

    return method


class FrozenNormal:
    """`multivariate_normal(mean, cov)` with traced parameters."""

    def __init__(self, mean: Any, cov: Any) -> None:
        self.mean, self.cov = mean, cov

    def logpdf(self, x: Any) -> Any:
        return log_normal_of_vectors(x, self.mean, self.cov)

    def pdf(self, x: Any) -> Any:
        return np.exp(self.logpdf(x))

    def cdf(self, x: Any, *, lower_limit: Any = None, rng: Any = None) -> Any:
        return normal_area(*_of_vectors(x, self.mean, self.cov), lower_limit=lower_limit)

    def logcdf(self, x: Any, *, lower_limit: Any = None, rng: Any = None) -> Any:
        return np.log(self.cdf(x, lower_limit=lower_limit))


def density_of_frozen(logarithm: bool) -> Callable[..., Any]:
    """`logpdf` and `pdf` of a `multivariate_normal(mean, cov)` of SciPy's own."""

    def method(self: Any, x: Any) -> Any:
        cov = self.cov_object
        if cov.rank < self.dim:
            refuse("multivariate_normal", "a singular cov")
        white = cov.whiten(numpy.eye(self.dim))
        x, mean, white = inexact(_points(np.asarray(x), self.dim), self.mean, white)
        squares = (((x - mean) @ white) ** 2).sum(-1)
        value = (-(self.dim * HALF_LOG_TAU) - 0.5 * (float(cov.log_pdet) + squares)).squeeze()[()]
        return value if logarithm else np.exp(value)

    return method


def frozen_normal(
    self: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False, seed: Any = None,
    **kwds: Any,
) -> Any:  # fmt: skip
    """`multivariate_normal.__call__`."""
    only("multivariate_normal", allow_singular=(allow_singular, False), seed=(seed, None))
    return FrozenNormal(mean, cov)
