"""scipy.stats: correlation and regression, spread by quantiles, and densities from samples."""

from __future__ import annotations

from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.functions._checks import refuse as check
from lazynp.interop._calls import inexact, is_traced, only, refuse
from lazynp.interop._special import call

# -- spread ----------------------------------------------------------------------------------------


def iqr(
    x: Any, axis: Any = None, rng: Any = (25, 75), scale: Any = 1.0, nan_policy: str = "propagate",
    interpolation: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    only("iqr", nan_policy=(nan_policy, "propagate"))
    (x,) = inexact(x)
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} not a valid scale for `iqr`")
        scale = 2 * numpy.sqrt(2) * 0.4769362762044699
    high, low = (
        np.percentile(x, q, axis=axis, method=interpolation, keepdims=keepdims)
        for q in (max(rng), min(rng))
    )
    return (high - low) / scale


def median_abs_deviation(
    x: Any, axis: Any = 0, center: Any = np.median, scale: Any = 1.0,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    only("median_abs_deviation", nan_policy=(nan_policy, "propagate"), keepdims=(keepdims, False))
    (x,) = inexact(x)
    if axis is None:
        x, axis = x.ravel(), 0
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} is not a valid scale value.")
        scale = 0.6744897501960817
    center = np.median if center is numpy.median else center
    middle = np.expand_dims(center(x, axis=axis), axis)
    return np.median(abs(x - middle), axis=axis) / scale


def trim_mean(a: Any, proportiontocut: float, axis: Any = 0, **options: Any) -> Any:
    if options:
        refuse("trim_mean", f"{', '.join(options)}")
    (a,) = inexact(a)
    if axis is None:
        a, axis = a.ravel(), 0
    n = a.shape[axis]
    cut = int(proportiontocut * n)
    if cut >= n - cut:
        raise ValueError("Proportion too big.")
    order = [slice(None)] * a.ndim
    order[axis] = slice(cut, n - cut)
    return np.sort(a, axis=axis)[tuple(order)].mean(axis=axis)


# -- two variables ---------------------------------------------------------------------------------


def _two_sided(r: Any, df: Any) -> Any:
    """The probability of a correlation farther from 0, by Student's distribution."""
    t = r * np.sqrt(df / ((1.0 - r) * (1.0 + r)))
    return 2 * call("stdtr", df, -abs(t))


def pearsonr(
    x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: Any = 0
) -> Any:
    only("pearsonr", alternative=(alternative, "two-sided"), method=(method, None))
    x, y = inexact(x, y)
    if axis is None:
        x, y, axis = x.ravel(), y.ravel(), 0
    if x.ndim != y.ndim or x.shape[axis] != y.shape[axis]:
        refuse("pearsonr", f"arrays of shapes {x.shape} and {y.shape}")
    n = x.shape[axis]
    if n < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    dx, dy = (v - v.mean(axis=axis, keepdims=True) for v in (x, y))
    squares = (dx * dx).sum(axis=axis) * (dy * dy).sum(axis=axis)
    r = (dx * dy).sum(axis=axis) / np.sqrt(squares)
    p = np.ones_like(r) if n == 2 else _p_of_beta(r, n)
    found = scipy.stats._stats_py.PearsonRResult(
        statistic=r, pvalue=p, alternative=alternative, n=n, x=x, y=y, axis=axis
    )
    return found


def _p_of_beta(r: Any, n: int) -> Any:
    """Twice the tail of the beta distribution on (-1, 1) with both parameters n/2 - 1."""
    half = np.full_like(r, n / 2 - 1.0)
    return 2 * call("betainc", half, half, (1 - abs(r)) / 2)


def spearmanr(a: Any, b: Any = None, *options: Any, **named: Any) -> Any:
    """Ranks do not change with small changes: the derivative is 0."""
    values = [numpy.asarray(np.stop_gradient(np.asarray(v))) for v in (a, b) if v is not None]
    return scipy.stats.spearmanr(*values, *options, **named)


def kendalltau(x: Any, y: Any, *options: Any, **named: Any) -> Any:
    values = [numpy.asarray(np.stop_gradient(np.asarray(v))) for v in (x, y)]
    return scipy.stats.kendalltau(*values, *options, **named)


def linregress(x: Any, y: Any, alternative: str = "two-sided", **options: Any) -> Any:
    only("linregress", alternative=(alternative, "two-sided"))
    if options:
        refuse("linregress", f"{', '.join(options)}")
    x, y = inexact(x, y)
    n = x.shape[0]
    check(x.max() == x.min(), ValueError, "Cannot calculate a linear regression "
          "if all x values are identical")  # fmt: skip
    dx, dy = x - x.mean(), y - y.mean()
    xx, xy, yy = (dx * dx).mean(), (dx * dy).mean(), (dy * dy).mean()
    slope = xy / xx
    flat = yy == 0
    r = np.where(flat, numpy.nan, xy / np.sqrt(xx * np.where(flat, 1.0, yy)))[()]
    if n == 2:
        p, error = np.where(y[0] == y[1], 1.0, 0.0)[()], 0.0
    else:
        p = _two_sided(r, np.full_like(r, n - 2.0))
        error = np.sqrt((1 - r * r) * yy / xx / (n - 2))
    return scipy.stats._stats_py.LinregressResult(
        slope=slope, intercept=y.mean() - slope * x.mean(), rvalue=r, pvalue=p, stderr=error,
        intercept_stderr=error * np.sqrt(xx + x.mean() ** 2),
    )  # fmt: skip


# -- gaussian_kde ----------------------------------------------------------------------------------


def density_estimate(self: Any, dataset: Any, bw_method: Any = None, weights: Any = None) -> Any:
    """`gaussian_kde.__init__`, for traced data, weights or bandwidth."""
    (data,) = inexact(dataset)
    self.dataset = data = np.atleast_2d(data)
    self.d, self.n = data.shape
    given = np.ones(self.n) if weights is None else np.asarray(weights, float)
    if given.shape != (self.n,):
        raise ValueError("`weights` input should be of length n")
    self._weights = given / given.sum()
    self._neff = 1 / (self._weights * self._weights).sum()
    if callable(bw_method):
        self.covariance_factor = lambda: bw_method(self)
    elif bw_method is not None and not isinstance(bw_method, str):
        self.covariance_factor = lambda: bw_method
    elif bw_method in (None, "scott", "silverman"):
        silverman = bw_method == "silverman"
        self.covariance_factor = self.silverman_factor if silverman else self.scotts_factor
    else:
        raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar or a callable.")
    factor: Any = self.covariance_factor()
    self.factor = factor
    middle = data @ self._weights
    moved = data - middle[:, None]
    self._data_covariance = (moved * self._weights) @ moved.T / (1 - 1 / self._neff)
    self.covariance = self._data_covariance * factor**2
    self._lazynp = np.linalg.cholesky(self.covariance)
    return None


def _logarithms(self: Any, points: Any) -> Any:
    """log of weight times kernel, for each point and each element of the data."""
    (points,) = inexact(points)
    points = np.atleast_2d(points)
    if points.shape[0] != self.d:
        if points.shape != (1, self.d):
            raise ValueError(
                f"points have dimension {points.shape[0]}, dataset has dimension {self.d}"
            )
        points = points.reshape(self.d, 1)
    factor = getattr(self, "_lazynp", None)
    factor = np.asarray(self.cho_cov) if factor is None else factor
    gaps = points[:, :, None] - np.asarray(self.dataset)[:, None, :]
    white = np.linalg.solve(factor, gaps.reshape(self.d, -1)).reshape(gaps.shape)
    logs = np.log(np.diagonal(factor)).sum() + self.d / 2 * numpy.log(2 * numpy.pi)
    return np.log(np.asarray(self.weights)) - (white * white).sum(axis=0) / 2 - logs


def _mine(self: Any, *given: Any) -> bool:
    return hasattr(self, "_lazynp") or is_traced(given)


def density_at(self: Any, points: Any) -> Any:
    """`gaussian_kde.evaluate`, `pdf` and the call."""
    if not _mine(self, points):
        return NotImplemented
    return np.exp(_logarithms(self, points)).sum(axis=-1)


def log_density_at(self: Any, x: Any) -> Any:
    if not _mine(self, x):
        return NotImplemented
    return np.special.logsumexp(_logarithms(self, x), axis=-1)


def between(self: Any, low: Any, high: Any) -> Any:
    """`gaussian_kde.integrate_box_1d`."""
    if not _mine(self, low, high):
        return NotImplemented
    if self.d != 1:
        raise ValueError("integrate_box_1d() only handles 1D pdfs")
    width, data = np.sqrt(np.asarray(self.covariance)[0, 0]), np.asarray(self.dataset)[0]
    shares = np.special.ndtr((high - data) / width) - np.special.ndtr((low - data) / width)
    return shares @ np.asarray(self.weights)


def unavailable(name: str) -> Any:
    """A method that needs what is not there for traced data."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        if _mine(self, args, tuple(options.values())):
            refuse(f"gaussian_kde.{name}", "traced data")
        return NotImplemented

    return method
