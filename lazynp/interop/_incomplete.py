"""Derivatives of the incomplete beta function by its parameters, by NumPy: SciPy has none."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop import _special
from lazynp.interop._special import Partial, beta_density, call
from lazynp.primitives._truncated import Truncated
from lazynp.primitives.elementwise_incomplete_host import log_gamma

_TINY = 1e-30  # an imaginary step of this size gives the derivative
_STEPS = 2000
_MOST = 4  # how many derivatives by the parameters are taken

# -- the first ones --------------------------------------------------------------------------------


def _fraction_of_beta(a: Any, b: Any, x: Any) -> Any:
    """I_x(a, b) by its continued fraction (Lentz), for x below the mean. a or b may be complex."""
    tiny, numerator, inverse = 1e-300, 1.0 + 0j * a, 1 - (a + b) * x / (a + 1)
    inverse = 1 / numpy.where(abs(inverse) < tiny, tiny, inverse)
    value = inverse
    for m in range(1, _STEPS):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            inverse = 1 / (1 + step * inverse)
            numerator = 1 + step / numerator
            value = value * inverse * numerator
        ratio = inverse * numerator  # for whole b, the value ends before its derivative does
        if (abs(ratio.real - 1) < 1e-16).all() and (abs(ratio.imag) < 1e-15 * _TINY).all():
            break
    gammaln = scipy.special.loggamma
    logs = a * numpy.log(x) + b * numpy.log1p(-x) + gammaln(a + b) - gammaln(a) - gammaln(b)
    return numpy.exp(logs) / a * value


def _by_tiny_step(i: int, j: int) -> Callable[..., Any]:
    """The imaginary part after a tiny imaginary step of a or b."""

    def way(a: Any, b: Any, x: Any) -> Any:
        steps = 1j * _TINY * i, 1j * _TINY * j
        return _fraction_of_beta(a + steps[0], b + steps[1], x).imag / _TINY

    return way


# -- any ones --------------------------------------------------------------------------------------


def _by_series(i: int, j: int) -> Callable[..., Any]:
    """The same fraction, of power series in changes of a and b."""
    algebra = Truncated((i, j))

    def way(a: Any, b: Any, x: Any) -> Any:
        scales = [numpy.maximum(1.0, numpy.sqrt(v)) for v in (a, b)]
        first, second = (algebra.variable(k, v, scales[k]) for k, v in enumerate((a, b)))
        return algebra.derivative(_series_of_beta(algebra, first, second, x), *scales)

    return way


def _series_of_beta(algebra: Truncated, a: Any, b: Any, x: Any) -> Any:
    one = algebra.constant(numpy.ones_like(x))
    both = a + b
    numerator, inverse = one, algebra.over(one, one - algebra.over(both * x, a + one))
    value = inverse
    for m in range(1, _STEPS):
        before, middle = value, a + 2 * m * one
        for top, bottom in (
            (m * (b - m * one), algebra.times(middle - one, middle)),
            (-algebra.times(a + m * one, both + m * one), algebra.times(middle, middle + one)),
        ):
            step = algebra.over(top * x, bottom)
            inverse = algebra.over(one, one + algebra.times(step, inverse))
            numerator = one + algebra.over(step, numerator)
            value = algebra.times(value, algebra.times(inverse, numerator))
        # for whole b, the value ends before its derivatives do
        if not algebra.differ(value, before, 2e-16):
            break
    logs = a * numpy.log(x) + b * numpy.log1p(-x)
    logs = logs + log_gamma(algebra, both) - log_gamma(algebra, a + one) - log_gamma(algebra, b)
    return algebra.times(algebra.exp(logs), value)


def _by_parameters(i: int, j: int) -> Callable[..., Any]:
    """The derivative of I_x(a, b) i times by a and j times by b. Above the mean, that of
    1 - I_(1-x)(b, a).
    """
    way = _by_tiny_step if i + j == 1 else _by_series
    below, above = way(i, j), way(j, i)

    def function(a: Any, b: Any, x: Any) -> Any:
        a, b, x = numpy.broadcast_arrays(a, b, x)
        out = numpy.asarray(0.0 * (a + b + x))
        low = x <= (a + 1) / (a + b + 2)
        inside = (x > 0) & (x < 1) & (out == 0)
        for chosen, method in ((inside & low, below), (inside & ~low, above)):
            if chosen.any():
                p, q, y = a[chosen], b[chosen], x[chosen]
                out[chosen] = method(p, q, y) if method is below else -method(q, p, 1 - y)
        return out

    return function


# -- rows ------------------------------------------------------------------------------------------


def by(i: int, j: int) -> str:
    """The name of such a derivative."""
    return f"betainc-by-{i}-{j}"


def _density_by(i: int, j: int) -> Partial:
    """The derivative of the density i times by a and j times by b."""
    f: Any = beta_density
    for place in [0] * i + [1] * j:
        f = _moved(f, place)
    return lambda a, b, x, out: f(a, b, x)


def _moved(f: Callable[..., Any], place: int) -> Callable[..., Any]:
    def slope(*args: Any) -> Any:
        def of_one(v: Any) -> Any:
            return f(*args[:place], v, *args[place + 1 :])

        return np.jvp(of_one, (args[place],), (np.ones_like(args[place]),))[1]

    return slope


def _parameter_row(i: int, j: int) -> Sequence[Partial]:
    if i + j == _MOST:
        return None, None, _density_by(i, j)
    return (
        lambda a, b, x, out: call(by(i + 1, j), a, b, x),
        lambda a, b, x, out: call(by(i, j + 1), a, b, x),
        _density_by(i, j),
    )


def _incomplete(sign: float) -> Sequence[Partial]:
    return (
        lambda a, b, x, out: sign * call(BY_A, a, b, x),
        lambda a, b, x, out: sign * call(BY_B, a, b, x),
        lambda a, b, x, out: sign * beta_density(a, b, x),
    )


BY_A, BY_B = by(1, 0), by(0, 1)
_ORDERS = [(i, j) for i, j in itertools.product(range(_MOST + 1), repeat=2) if 1 <= i + j <= _MOST]
_special.OWN.update({by(i, j): _by_parameters(i, j) for i, j in _ORDERS})
_special.ROWS.update({by(i, j): _parameter_row(i, j) for i, j in _ORDERS})
_special.ROWS.update({"betainc": _incomplete(1.0), "betaincc": _incomplete(-1.0)})
