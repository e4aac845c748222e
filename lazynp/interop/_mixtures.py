"""Sums and integrals, by NumPy, for distributions whose functions have no formula: the noncentral
ones are mixtures, and Landau's is an integral.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import scipy

from lazynp.interop import _special
from lazynp.interop._incomplete import by
from lazynp.primitives.elementwise_incomplete_host import slope as gamma_by_shape, slopes

_log_two_pi = math.log(2 * math.pi)

# -- sums with the weights of Poisson's distribution -----------------------------------------------


def _log_gamma(a: Any, y: Any) -> Any:
    return scipy.special.xlogy(a - 1, y) - y - scipy.special.gammaln(a)


def _log_beta(a: Any, b: Any, y: Any) -> Any:
    logs = scipy.special.xlogy(a - 1, y) + scipy.special.xlog1py(b - 1, -y)
    return logs - scipy.special.betaln(a, b)


def _weights(nc: Any, others: list[Any]) -> tuple[Any, Any, list[Any]]:
    """Which terms matter, the logarithms of their weights, and the other arguments, where terms are
    a leading axis.
    """
    nc, *others = numpy.broadcast_arrays(nc, *others)
    mean = numpy.maximum(numpy.nan_to_num(nc / 2), 0.0)  # below 0, logarithms are nan
    low, high = mean.min(initial=math.inf), mean.max(initial=0.0)
    first = max(0, int(low - 9 * math.sqrt(low) - 40)) if math.isfinite(low) else 0
    last = int(high + 9 * math.sqrt(high) + 60)
    j = numpy.arange(first, last + 1.0).reshape(-1, *[1] * nc.ndim)
    return j, scipy.special.xlogy(j, nc / 2) - nc / 2 - scipy.special.gammaln(j + 1), others


def mixed(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The mean of kernel(a + j, ...) over j, which has Poisson's distribution of mean nc / 2."""

    def function(nc: Any, *given: Any) -> Any:
        j, logs, (a, *rest) = _weights(nc, list(given))
        return (numpy.exp(logs) * kernel(*numpy.broadcast_arrays(a + j, *rest))).sum(axis=0)

    return function


def mixed_logarithm(log_density: Callable[..., Any], *slopes: Callable[..., Any]) -> Any:
    """The logarithm of the mean density; with a slope, its derivative by a parameter, by that of
    the logarithms. With three, the second one: by both parameters, and that of the slopes.
    """

    def function(nc: Any, *given: Any) -> Any:
        j, logs, (a, *rest) = _weights(nc, list(given))
        terms = logs + log_density(a + j, *rest)
        total = scipy.special.logsumexp(terms, axis=0)
        if not slopes:
            return total
        weights = numpy.exp(terms - total)
        means = [(weights * slope(a + j, *rest)).sum(axis=0) for slope in slopes]
        if len(means) == 1:
            return means[0]
        first, second = (slope(a + j, *rest) for slope in slopes[:2])
        return (weights * (first - means[0]) * (second - means[1])).sum(axis=0) + means[2]

    return function


def _psi(x: Any) -> Any:
    return scipy.special.digamma(x)


def _trigamma(x: Any) -> Any:
    return scipy.special.polygamma(1, x)


def _gamma_by_a(a: Any, y: Any) -> Any:
    return numpy.log(y) - _psi(a)


def _beta_by_a(a: Any, b: Any, y: Any) -> Any:
    return numpy.log(y) - _psi(a) + _psi(a + b)


def _beta_by_b(a: Any, b: Any, y: Any) -> Any:
    return numpy.log1p(-y) - _psi(b) + _psi(a + b)


def _beta_twice(which: int | None) -> Callable[..., Any]:
    return lambda *args: (
        _trigamma(args[0] + args[1]) - (0.0 if which is None else _trigamma(args[which]))
    )


GAMMA: dict[str, Callable[..., Any]] = {
    "gammas-cdf": mixed(lambda a, y: scipy.special.gammainc(a, y)),
    "gammas-sf": mixed(lambda a, y: scipy.special.gammaincc(a, y)),
    "gammas-cdf-by-a": mixed(gamma_by_shape),
    "gammas-cdf-by-aa": mixed(slopes(2)),
    "gammas-log-pdf": mixed_logarithm(_log_gamma),
    "gammas-log-pdf-by-a": mixed_logarithm(_log_gamma, _gamma_by_a),
    "gammas-log-pdf-by-aa": mixed_logarithm(
        _log_gamma, _gamma_by_a, _gamma_by_a, lambda a, y: -_trigamma(a)
    ),
}
_BETA_BY = {"a": _beta_by_a, "b": _beta_by_b}
BETA: dict[str, Callable[..., Any]] = {
    "betas-cdf": mixed(lambda a, b, y: scipy.special.betainc(a, b, y)),
    "betas-sf": mixed(lambda a, b, y: scipy.special.betaincc(a, b, y)),
    "betas-log-pdf": mixed_logarithm(_log_beta),
}
for _name, _i, _j, _which in (("aa", 2, 0, 0), ("ab", 1, 1, None), ("bb", 0, 2, 1)):
    BETA[f"betas-cdf-by-{_name}"] = mixed(_special.OWN[by(_i, _j)])
    BETA[f"betas-log-pdf-by-{_name}"] = mixed_logarithm(
        _log_beta, _BETA_BY[_name[0]], _BETA_BY[_name[1]], _beta_twice(_which)
    )
for _name, _i, _j in (("a", 1, 0), ("b", 0, 1)):
    BETA[f"betas-cdf-by-{_name}"] = mixed(_special.OWN[by(_i, _j)])
    BETA[f"betas-log-pdf-by-{_name}"] = mixed_logarithm(_log_beta, _BETA_BY[_name])

# -- integrals over the length s of a vector of df numbers -----------------------------------------
# The noncentral t is (z + nc) / s. With s = exp(u), sums over u at equal distances converge like
# exp(-1/step^2)

_DROP = 42.0  # of the logarithm, from the maximum on: less is not seen


def _log_length(u: Any, df: Any) -> Any:
    half = df / 2
    logs = math.log(2) + half * numpy.log(half) - scipy.special.gammaln(half)
    return df * u - half * numpy.exp(2 * u) + logs


def _range(exponent: Callable[[Any], Any], peak: Any, steps: tuple[float, float]) -> list[Any]:
    """Where the exponent has dropped, on both sides of its maximum."""
    top, ends = exponent(peak), []
    for step in steps:
        far = numpy.full_like(peak, step)
        for _ in range(60):
            near = exponent(peak + far) > top - _DROP
            if not near.any():
                break
            far = numpy.where(near, far * 1.5, far)
        ends.append(peak + far)
    return ends


def _places(ends: list[Any], step: Any) -> tuple[Any, Any]:
    """Places, and the distance between them."""
    low, high = ends
    step = numpy.minimum(step, 0.12)  # the density of exp(u) bends that fast
    with numpy.errstate(invalid="ignore"):
        wanted = numpy.nanmax((high - low) / step, initial=50.0)
    count = int(min(wanted, 5000)) + 1
    distance = (high - low) / (count - 1)
    return low + numpy.arange(count).reshape(-1, *[1] * low.ndim) * distance, distance


def _student_places(m: Any, x: Any, df: Any, nc: Any) -> Any:
    """Exponents of s^m phi(x s - nc), with the density of s, at places where they matter."""
    size, power = df + x * x, df + m
    s = (x * nc + numpy.sqrt((x * nc) ** 2 + 4 * size * power)) / (2 * size)
    s = numpy.where(s > 0, s, 1e-300)

    def exponent(u: Any) -> Any:
        return _log_length(u, df) + m * u - (x * numpy.exp(u) - nc) ** 2 / 2 - _log_two_pi / 2

    width = 1 / numpy.sqrt(size * s * s + power)
    u, distance = _places(_range(exponent, numpy.log(s), (-0.1, 0.1)), width / 3)
    return u, exponent(u), distance


def student_moment(m: Any, x: Any, df: Any, nc: Any) -> Any:
    _, exponents, distance = _student_places(*numpy.broadcast_arrays(m, x, df, nc))
    return numpy.exp(exponents).sum(axis=0) * distance


def _length_by_df(u: Any, df: Any) -> Any:
    """The slope of the logarithm of the density of s."""
    return (numpy.log(df / 2) + 1 - _psi(df / 2) - numpy.exp(2 * u)) / 2 + u


def _twice_by_df(u: Any, df: Any) -> Any:
    """The second derivative of the density of s, over it."""
    return _length_by_df(u, df) ** 2 + (1 / df - _trigamma(df / 2) / 2) / 2


_BY_DF = (_length_by_df, _twice_by_df)


def student_moment_by_df(times: int) -> Callable[..., Any]:
    def function(m: Any, x: Any, df: Any, nc: Any) -> Any:
        m, x, df, nc = numpy.broadcast_arrays(m, x, df, nc)
        u, exponents, distance = _student_places(m, x, df, nc)
        return (numpy.exp(exponents) * _BY_DF[times - 1](u, df)).sum(axis=0) * distance

    return function


def student_by_df(times: int) -> Callable[..., Any]:
    """Of the distribution function, the mean of Phi(x s - nc)."""

    def function(x: Any, df: Any, nc: Any) -> Any:
        x, df, nc = numpy.broadcast_arrays(x, df, nc)
        ends = _range(lambda u: _log_length(u, df), numpy.zeros_like(df), (-0.1, 0.1))
        step = 1 / (3 * numpy.sqrt(2 * df + nc * nc + 1))
        u, distance = _places(ends, step)
        weights = numpy.exp(_log_length(u, df)) * _BY_DF[times - 1](u, df)
        return (weights * scipy.special.ndtr(x * numpy.exp(u) - nc)).sum(axis=0) * distance

    return function


# -- Landau's distribution -------------------------------------------------------------------------


def _landau_left(n: Any, x: Any) -> Any:
    """The inverse Laplace transform of s^s, along the line where it has its saddle."""
    saddle = numpy.exp(-math.pi / 2 * x - 1)
    width = numpy.sqrt(math.pi / 2 * saddle)
    count = 1500
    step = (45 + 10 * width) / count
    s = saddle + 1j * step * numpy.arange(count).reshape(-1, *[1] * x.ndim)
    terms = (s**n * numpy.exp(s * x + 2 / math.pi * s * numpy.log(s))).real
    return (terms.sum(axis=0) - terms[0] / 2) * step / math.pi


def _landau_right(n: Any, x: Any) -> Any:
    """The same around the negative axis: an integral of exp(-s x - 2/pi s log s) sin(2 s)."""
    last = numpy.where(x > 3, 45 / numpy.maximum(x, 3.0), 25.0)
    distance = 42 / 2500
    u = numpy.log(last) - distance * numpy.arange(2500).reshape(-1, *[1] * x.ndim)
    s = numpy.exp(u)
    exponents = (n + 1) * u - s * x - 2 / math.pi * s * u
    return (-1.0) ** n * (numpy.exp(exponents) * numpy.sin(2 * s)).sum(axis=0) * distance / math.pi


def landau(n: Any, x: Any) -> Any:
    """The n-th derivative of the density."""
    n, x = numpy.broadcast_arrays(n, x)
    left = x < 0
    low, high = (
        _landau_left(n, numpy.where(left, x, -0.5)),
        _landau_right(n, numpy.where(left, 1.0, x)),
    )
    return numpy.where(left, low, high)
