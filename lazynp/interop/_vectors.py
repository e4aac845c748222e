"""scipy.stats: distributions of vectors and matrices other than the normal distribution of vectors.

A row is the logarithm of the density, a function of the place and the parameters as SciPy's method
takes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

import lazynp as np
from lazynp.interop._calls import inexact, only, refuse
from lazynp.interop._special import call, multigammaln
from lazynp.interop._stats import log_normal_of_vectors, squares_of_vectors

_s = np.special


def _square(name: str, x: Any, dim: int | None = None) -> Any:
    """A matrix, of a number or of its diagonal too."""
    x = np.asarray(x)
    if x.ndim == 0:
        x = x * np.eye(1 if dim is None else dim)
    elif x.ndim == 1:
        x = np.diag(x)
    if x.ndim != 2 or x.shape[0] != x.shape[1] or dim not in (None, x.shape[0]):
        raise ValueError(f"{name}: a square matrix is required, got an array of shape {x.shape}")
    return x


def _logdet(x: Any) -> Any:
    return np.linalg.slogdet(x)[1]


# -- vectors ---------------------------------------------------------------------------------------


def log_t(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
    if type(df) in (float, numpy.float64) and df == numpy.inf:
        return log_normal_of_vectors(x, loc, shape)
    squares, half_logdet, dim = squares_of_vectors(x, loc, shape)
    half = 0.5 * (df + dim)
    logs = _s.gammaln(half) - _s.gammaln(0.5 * df) - dim / 2 * np.log(df * math.pi)
    return (logs - half_logdet - half * np.log1p(squares / df)).squeeze()[()]


def log_von_mises_fisher(x: Any, mu: Any = None, kappa: Any = 1) -> Any:
    x, mu, kappa = inexact(x, mu, kappa)
    half = mu.shape[-1] / 2
    size = half * math.log(2 * math.pi) + np.log(call("ive", half - 1, kappa)) + kappa
    return (kappa * (x @ mu) + (half - 1) * np.log(kappa) - size).squeeze()[()]


def log_dirichlet_multinomial(x: Any, alpha: Any, n: Any) -> Any:
    x, alpha, n = inexact(x, alpha, n)
    total = alpha.sum(axis=-1)
    parts = _s.gammaln(x + alpha) - _s.gammaln(alpha) - _s.gammaln(x + 1)
    whole = _s.gammaln(total) + _s.gammaln(n + 1) - _s.gammaln(n + total) + parts.sum(axis=-1)
    return np.where(x.sum(axis=-1) == n, whole, -numpy.inf)[()]


# -- matrices --------------------------------------------------------------------------------------


def _spread(name: str, x: Any, df: Any, scale: Any) -> tuple[Any, Any, int]:
    """The matrices, stacked in front, where SciPy has the stack at the end; the scale."""
    scale = _square(name, scale)
    dim = scale.shape[0]
    x = np.asarray(x)
    if x.ndim == 0:
        x = x * np.eye(dim)[..., None]
    elif x.ndim == 1:
        x = np.diag(x)[..., None] if dim > 1 else x[None, None, :]
    elif x.ndim == 2:
        x = x[..., None]
    if x.shape[:2] != (dim, dim):
        raise ValueError(f"{name}: matrices of {scale.shape} are required, got {x.shape[:2]}")
    x, scale = inexact(np.moveaxis(x, -1, 0), scale)
    return x, scale, dim


def log_wishart(x: Any, df: Any, scale: Any) -> Any:
    x, scale, dim = _spread("wishart", x, df, scale)
    trace = np.trace(np.linalg.solve(scale, x), axis1=-2, axis2=-1)
    size = df * dim * math.log(2) / 2 + df * _logdet(scale) / 2 + multigammaln(df / 2, dim)
    return ((df - dim - 1) / 2 * _logdet(x) - trace / 2 - size).squeeze()[()]


def log_inverse_wishart(x: Any, df: Any, scale: Any) -> Any:
    x, scale, dim = _spread("invwishart", x, df, scale)
    trace = np.trace(np.linalg.solve(x, np.broadcast_to(scale, x.shape)), axis1=-2, axis2=-1)
    size = df * dim * math.log(2) / 2 - df * _logdet(scale) / 2 + multigammaln(df / 2, dim)
    return (-(df + dim + 1) / 2 * _logdet(x) - trace / 2 - size).squeeze()[()]


def log_matrix_normal(X: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Any:
    X = np.asarray(X)
    m, n = X.shape[-2:]
    rows, columns = _square("matrix_normal", rowcov, m), _square("matrix_normal", colcov, n)
    X, rows, columns = inexact(X, rows, columns)
    away = X if mean is None else X - mean
    first = np.linalg.solve(np.broadcast_to(rows, (*X.shape[:-2], m, m)), away)
    second = np.linalg.solve(np.broadcast_to(columns, (*X.shape[:-2], n, n)), away.mT)
    trace = (first * second.mT).sum(axis=(-2, -1))
    size = m * n * math.log(2 * math.pi) + n * _logdet(rows) + m * _logdet(columns)
    return (-0.5 * (size + trace)).squeeze()[()]


# -- methods ---------------------------------------------------------------------------------------


def _method(log: Callable[..., Any], logarithm: bool) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        value = log(*args, **_without_options(kwargs))
        return value if logarithm else np.exp(value)

    return method


def _without_options(given: dict[str, Any]) -> dict[str, Any]:
    singular = bool(given.pop("allow_singular", False))
    only("a distribution of vectors", allow_singular=(singular, False))
    return {name: value for name, value in given.items() if name != "seed"}


class Frozen:
    """A distribution with traced parameters."""

    def __init__(self, log: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._log, self._args, self._kwargs = log, args, kwargs

    def logpdf(self, x: Any) -> Any:
        return self._log(x, *self._args, **self._kwargs)

    def pdf(self, x: Any) -> Any:
        return np.exp(self.logpdf(x))

    logpmf, pmf = logpdf, pdf

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        refuse("a distribution of vectors", f"the method {name}")


def frozen(log: Callable[..., Any]) -> Callable[..., Any]:
    """`__call__` of a distribution."""
    return lambda self, *args, **kwargs: Frozen(log, args, _without_options(kwargs))


def _at_place(log: Callable[..., Any], names: str, logarithm: bool) -> Callable[..., Any]:
    """A method of a frozen distribution of SciPy's own."""

    def method(self: Any, x: Any) -> Any:
        value = log(x, *[getattr(self, n) for n in names.split()])
        return value if logarithm else np.exp(value)

    return method


# class -> the logarithm, and the attributes of a frozen one that are its parameters
_ROWS: dict[str, tuple[Callable[..., Any], str]] = {
    "multivariate_t": (log_t, "loc shape df"),
    "wishart": (log_wishart, "df scale"),
    "invwishart": (log_inverse_wishart, "df scale"),
    "matrix_normal": (log_matrix_normal, "mean rowcov colcov"),
    "vonmises_fisher": (log_von_mises_fisher, "mu kappa"),
}


def methods() -> dict[str, dict[str, Callable[..., Any]]]:
    """class -> method -> ours."""
    place, found = "scipy.stats._multivariate:", dict[str, Any]()
    for name, (log, names) in _ROWS.items():
        both = (("logpdf", True), ("pdf", False))
        found[f"{place}{name}_gen"] = {n: _method(log, b) for n, b in both} | {
            "__call__": frozen(log)
        }
        found[f"{place}{name}_frozen"] = {n: _at_place(log, names, b) for n, b in both}
    found[f"{place}dirichlet_multinomial_gen"] = {
        "logpmf": _method(log_dirichlet_multinomial, True),
        "pmf": _method(log_dirichlet_multinomial, False),
        "__call__": frozen(log_dirichlet_multinomial),
    }
    return found
