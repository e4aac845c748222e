"""dP(a, x)/da of the incomplete gamma function and its derivatives by a, by NumPy, because SciPy
has none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazynp._later import scipy_special
from lazynp.primitives._truncated import Truncated

Values = np.ndarray[Any, Any]

HUGE = 1e5  # beyond this a, Temme's expansion applies
STEPS = 20_000  # of a series; below that bound for a, a few thousand suffice
EPS = 2.0**-53
# Temme's coefficients in powers of eta (highest first), of order 1 and 1/a; and those of mu - log(1
# + mu) = mu^2 (1/2 - mu/3 + mu^2/4 - ...)
C0 = (1 / 25515, -139 / 777600, 1 / 2835, 1 / 864, -2 / 135, 1 / 12, -1 / 3)
C1 = (25 / 12096, -1 / 288, -1 / 540)
HALF_SQUARE = tuple((-1.0) ** k / (k + 2) for k in range(14, -1, -1))
# log(gamma(2 + a)) = (1 - Euler's constant) a + sum of (zeta(k) - 1) (-a)^k / k, from k = 2
ZETA_SERIES = (
    0.3224670334241132,
    0.0673523010531981,
    0.020580808427784546,
    0.007385551028673986,
    0.0028905103307415234,
    0.001192753911703261,
    0.0005096695247430425,
    0.00022315475845357936,
    9.945751278180853e-05,
    4.492623673813314e-05,
    2.0507212775670694e-05,
    9.439488275268395e-06,
    4.374866789907487e-06,
    2.039215753801366e-06,
    9.55141213040742e-07,
    4.492469198764566e-07,
    2.1207184805554667e-07,
    1.00432248239681e-07,
    4.769810169363981e-08,
    2.2711094608943164e-08,
)
EULER = float(np.euler_gamma)


def slope(a: Values, x: Values) -> Values:
    """By the methods, and with the edges, of `elementwise_incomplete`."""
    return _everywhere((_by_temme, _by_series, _by_fraction), a, x)


def slopes(order: int) -> Any:
    """The derivative of this order by a, as `slope` is the first."""

    def by_stencil(a: Values, x: Values) -> Values:
        """By values of the slope. At this a, it is smooth over distances of sqrt(a)."""
        step = 0.15 * np.sqrt(a)
        k = np.arange(-5.0, 6.0)
        wanted = np.zeros(k.size)
        wanted[order - 1] = math.factorial(order - 1)
        weights = np.linalg.solve(np.vander(k, increasing=True).T, wanted)
        total = sum(w * _by_temme(a + i * step, x) for w, i in zip(weights, k, strict=True))
        return total / step ** (order - 1)

    def by(method: Any) -> Any:
        algebra = Truncated((order,))

        def way(a: Values, x: Values) -> Values:
            scale = np.maximum(1.0, np.sqrt(a))  # the function bends over such distances
            found = method(algebra, algebra.variable(0, a, scale), x)
            return algebra.derivative(found, scale)

        return way

    ways = by_stencil, by(_series), by(_fraction)
    return lambda a, x: _everywhere(ways, a, x)


def _everywhere(ways: Any, a: Values, x: Values) -> Values:
    a, x = np.broadcast_arrays(a, x)
    out = np.full(a.shape, np.nan)
    regular = (a > 0) & (a < np.inf) & (x > 0) & (x < np.inf)
    edges = (a >= 0) & (x >= 0) & (((a == 0) | (x == np.inf)) ^ ((x == 0) | (a == np.inf)))
    out[edges] = 0.0
    huge, below = a > HUGE, x <= a + 1
    for chosen, way in (
        (regular & huge, ways[0]),
        (regular & ~huge & below, ways[1]),
        (regular & ~huge & ~below, ways[2]),
    ):
        if chosen.any():
            out[chosen] = way(a[chosen], x[chosen])
    return out


def _by_series(a: Values, x: Values) -> Values:
    term, log_slope, total = np.ones_like(a), np.zeros_like(a), np.ones_like(a)
    slope = np.zeros_like(a)
    for k in range(1, STEPS):
        term = term * (x / (a + k))
        log_slope = log_slope - 1 / (a + k)
        added = term * log_slope
        total, slope = total + term, slope + added
        if not np.any((np.abs(added) > EPS * total) | (term > EPS * total)):
            break
    growth = np.log(x) - scipy_special.digamma(a + 1)
    return scipy_special.gammainc(a, x) * (growth + slope / total)


def _by_fraction(a: Values, x: Values) -> Values:
    """Lentz's method, for the derivative of the logarithm only."""
    base = x + 1 - a
    c, c_slope = np.full_like(a, 1e300), np.zeros_like(a)
    d = 1 / base
    d_slope, log_slope = d * d, d
    active = np.ones(a.shape, bool)
    for k in range(1, STEPS):
        base, top = base + 2, k * (a - k)
        c_slope = (k - top / c * c_slope) / c - 1
        c = base + top / c
        inverse = k * d + top * d_slope - 1
        d = 1 / (top * d + base)
        d_slope = -d * d * inverse
        more = c_slope / c + d_slope / d
        log_slope = np.where(active, log_slope + more, log_slope)
        active = active & (np.abs(c * d - 1) + np.abs(more) > EPS)
        if not active.any():
            break
    growth = np.log(x) - scipy_special.digamma(a) + log_slope
    return -scipy_special.gammaincc(a, x) * growth


def _by_temme(a: Values, x: Values) -> Values:
    mu = (x - a) / a
    log_ratio = np.log1p(mu)
    half = np.where(abs(mu) < 0.05, mu * mu * np.polyval(HALF_SQUARE, mu), mu - log_ratio)
    eta = np.copysign(np.sqrt(2 * half), mu)
    bounded = np.clip(eta, -0.2, 0.2)
    c0 = np.polyval(C0, bounded) + np.polyval(C1, bounded) / a
    density = np.exp(-a * half) / np.sqrt(2 * math.pi * a)
    safe = np.where(mu == 0, 1.0, eta)
    of_log, of_mu = (np.where(mu == 0, 1.0, v / safe) for v in (log_ratio, mu))
    slope = of_log + c0 * (log_ratio - 0.5 / a) - of_mu / (12 * a)
    return np.where(density == 0, 0.0, -density * slope)


def log_gamma(algebra: Truncated, a: Values) -> Values:
    """The logarithm of gamma(a), as a series."""
    psi = scipy_special.polygamma
    terms = [psi(n - 1, a[0]) / math.factorial(n) for n in range(1, sum(algebra.exponents[-1]) + 1)]
    return algebra.compose([scipy_special.gammaln(a[0]), *terms], a)


def _front(algebra: Truncated, a: Values, x: Values, more: float) -> Values:
    """x^a exp(-x) / gamma(a + more)"""
    moved = a.copy()
    moved[0] += more
    logs = a * np.log(x) - log_gamma(algebra, moved)
    logs[0] -= x
    return algebra.exp(logs)


def _series(algebra: Truncated, a: Values, x: Values) -> Values:
    """P(a, x). All terms of a coefficient have one sign."""
    term = algebra.constant(np.ones_like(x))
    total, place = term, a.copy()
    for _ in range(1, STEPS):
        place[0] += 1
        term = algebra.over(term * x, place)
        before, total = total, total + term
        if not algebra.differ(total, before, EPS):
            break
    return algebra.times(_front(algebra, a, x, 1.0), total)


def _fraction(algebra: Truncated, a: Values, x: Values) -> Values:
    """-Q(a, x) = P(a, x) - 1 by Lentz's method."""
    one, base = algebra.constant(np.ones_like(x)), -a
    base[0] += x + 1
    inverse = value = algebra.over(one, base)
    ratio, top = one * 1e300, a.copy()
    for k in range(1, STEPS):
        base[0] += 2
        top[0] -= 1
        inverse = algebra.over(one, k * algebra.times(top, inverse) + base)
        ratio = base + algebra.over(k * top, ratio)
        before, value = value, algebra.times(value, algebra.times(ratio, inverse))
        if not algebra.differ(value, before, 4 * EPS):
            break
    return -algebra.times(_front(algebra, a, x, 0.0), value)
