"""scipy.stats: mean, variance and entropy of distributions with traced parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

import lazynp as np
from lazynp.interop._calls import inexact
from lazynp.interop._stats import law_of, quantile

_EULER = 0.5772156649015329
_s = np.special


def _gamma_of(*numbers: Any) -> list[Any]:
    return [np.exp(_s.gammaln(v)) for v in numbers]


def _weibull(c: Any) -> tuple[Any, Any]:
    first, second = _gamma_of(1 + 1 / c, 1 + 2 / c)
    return first, second - first * first


def _beta(a: Any, b: Any) -> tuple[Any, Any]:
    both = a + b
    return a / both, a * b / (both * both * (both + 1))


def _lognorm(s: Any) -> tuple[Any, Any]:
    square = s * s
    return np.exp(square / 2), np.expm1(square) * np.exp(square)


def _t(df: Any) -> tuple[Any, Any]:
    heavy = df <= 2
    variance = np.where(heavy, numpy.inf, df / np.where(heavy, 1.0, df - 2))
    mean = np.where(df > 1, 0.0, numpy.inf)
    return mean, np.where(df > 1, variance, numpy.nan)


def _pareto(b: Any) -> tuple[Any, Any]:
    mean = np.where(b > 1, b / np.where(b > 1, b - 1, 1.0), numpy.inf)
    fine = b > 2
    safe = np.where(fine, b, 3.0)
    return mean, np.where(fine, safe / ((safe - 1) ** 2 * (safe - 2)), numpy.inf)


def _constant(mean: float, variance: float) -> Callable[[], tuple[Any, Any]]:
    return lambda: (mean, variance)


# mean and variance in standard form, by the shape parameters
MOMENTS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "norm": _constant(0.0, 1.0),
    "expon": _constant(1.0, 1.0),
    "uniform": _constant(0.5, 1 / 12),
    "laplace": _constant(0.0, 2.0),
    "logistic": _constant(0.0, math.pi**2 / 3),
    "gumbel_r": _constant(_EULER, math.pi**2 / 6),
    "gumbel_l": _constant(-_EULER, math.pi**2 / 6),
    "rayleigh": _constant(math.sqrt(math.pi / 2), 2 - math.pi / 2),
    "halfnorm": _constant(math.sqrt(2 / math.pi), 1 - 2 / math.pi),
    "maxwell": _constant(2 * math.sqrt(2 / math.pi), 3 - 8 / math.pi),
    "gamma": lambda a: (a, a),
    "chi2": lambda df: (df, 2 * df),
    "beta": _beta,
    "lognorm": _lognorm,
    "weibull_min": _weibull,
    "t": _t,
    "pareto": _pareto,
    "poisson": lambda mu: (mu, mu),
    "binom": lambda n, p: (n * p, n * p * (1 - p)),
    "bernoulli": lambda p: (p, p * (1 - p)),
    "geom": lambda p: (1 / p, (1 - p) / (p * p)),
    "nbinom": lambda n, p: (n * (1 - p) / p, n * (1 - p) / (p * p)),
}


def _beta_entropy(a: Any, b: Any) -> Any:
    psi = _s.digamma
    return _s.betaln(a, b) - (a - 1) * psi(a) - (b - 1) * psi(b) + (a + b - 2) * psi(a + b)


ENTROPIES: dict[str, Callable[..., Any]] = {
    "norm": lambda: 0.5 * math.log(2 * math.pi * math.e),
    "expon": lambda: 1.0,
    "uniform": lambda: 0.0,
    "laplace": lambda: 1 + math.log(2.0),
    "logistic": lambda: 2.0,
    "gumbel_r": lambda: 1 + _EULER,
    "gamma": lambda a: a + _s.gammaln(a) + (1 - a) * _s.digamma(a),
    "beta": _beta_entropy,
    "lognorm": lambda s: np.log(s) + 0.5 * math.log(2 * math.pi * math.e),
    "weibull_min": lambda c: _EULER * (1 - 1 / c) - np.log(c) + 1,
}


def _prepared(self: Any, args: Any, kwds: Any) -> Any:
    """The shapes, the location and the scale in one shape, and where they are valid."""
    shapes, loc, scale = self._parse_args(*args, **kwds)
    loc, scale, *shapes = np.broadcast_arrays(*inexact(loc, scale, *shapes))
    return shapes, loc, scale


def moment_of(name: str, discrete: bool = False) -> Callable[..., Any]:
    """The method mean, var, std or entropy."""

    def method(self: Any, *args: Any, **kwds: Any) -> Any:
        law = law_of(self, discrete)
        table: dict[str, Callable[..., Any]] = ENTROPIES if name == "entropy" else MOMENTS
        if law is None or self.name not in table:
            return NotImplemented
        shapes, loc, scale = _prepared(self, args, kwds)
        wrong = np.logical_not(law.valid(*shapes) & (scale > 0))
        safe = [np.where(wrong, 0.5, s) for s in shapes]
        found = table[self.name](*safe)
        if name == "entropy":
            value = found + np.log(np.where(wrong, 1.0, scale))
        elif name == "mean":
            value = found[0] * scale + loc
        else:
            value = found[1] * scale * scale
            value = np.sqrt(value) if name == "std" else value
        return np.where(wrong, numpy.nan, value)[()]

    return method


_quantile = quantile("ppf")


def median(self: Any, *args: Any, **kwds: Any) -> Any:
    return _quantile(self, 0.5, *args, **kwds)
