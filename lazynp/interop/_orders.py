"""Derivatives of the Bessel functions kv and kve by their order, by NumPy: SciPy has none.

K_v(x) is the integral of exp(-x cosh t) cosh(v t) over t > 0 (DLMF 10.32.9), which is even in t and
falls like a double exponential. Sums over t at equal distances converge exponentially.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from lazynp.interop import _special
from lazynp.interop._special import Partial, call

_MOST = 4  # how many derivatives by the order are taken
_DROP = 42.0  # of the exponent, from its maximum on: less is not seen
_PLACES = 400


def _range(v: Any, x: Any) -> tuple[Any, Any]:
    """Where the integrand is seen. Its exponent is -x (cosh t - 1) + v t."""
    peak, width = numpy.arcsinh(v / x), numpy.sqrt(2 * _DROP) / (x * x + v * v) ** 0.25

    def exponent(t: Any) -> Any:
        with numpy.errstate(over="ignore"):
            return v * t - x * (2 * numpy.sinh(t / 2) ** 2)

    least, ends = exponent(peak) - _DROP, []
    for sign in (-1.0, 1.0):
        far = numpy.minimum(width, 1.0)
        for _ in range(60):
            seen = (exponent(peak + sign * far) > least) & (peak + sign * far > 0)
            if not seen.any():
                break
            far = numpy.where(seen, 1.3 * far, far)
        ends.append(numpy.maximum(peak + sign * far, 0.0))
    return ends[0], ends[1]


def _by_order(count: int, scaled: bool) -> Callable[..., Any]:
    """The derivative `count` times by v; scaled: of exp(x) K_v(x)."""

    def function(v: Any, x: Any) -> Any:
        v, x = numpy.broadcast_arrays(v, x)
        inside = (x > 0) & numpy.isfinite(x) & numpy.isfinite(v)
        size, safe = numpy.where(inside, abs(v), 0.0), numpy.where(inside, x, 1.0)
        low, high = _range(size, safe)
        step = (high - low) / _PLACES
        t = low + numpy.arange(1.0, _PLACES + 1).reshape(-1, *[1] * x.ndim) * step
        exponent = size * t - safe * (2 * numpy.sinh(t / 2) ** 2) - (0.0 if scaled else safe)
        small = -numpy.expm1(-2 * size * t) if count % 2 else 1 + numpy.exp(-2 * size * t)
        total = (t**count * numpy.exp(exponent) * small / 2).sum(axis=0) * step
        total = numpy.where(numpy.isposinf(x), 0.0, numpy.where(inside, total, numpy.nan))
        return numpy.sign(v) * total if count % 2 else total

    return function


def _name(of: str, count: int) -> str:
    return f"{of}-by-order-{count}" if count else of


def _row(of: str, count: int) -> Sequence[Partial]:
    name, further = _name(of, count), _name(of, count + 1)

    def by_x(v: Any, x: Any, out: Any) -> Any:
        slope = -0.5 * (call(name, v - 1.0, x) + call(name, v + 1.0, x))
        return slope + out if of == "kve" else slope

    return (lambda v, x, out: call(further, v, x)) if count < _MOST else None, by_x


_KINDS = {"kv": False, "kve": True}
_special.OWN.update(
    {_name(of, n): _by_order(n, s) for of, s in _KINDS.items() for n in range(1, _MOST + 1)}
)
ROWS = {_name(of, n): _row(of, n) for of in _KINDS for n in range(_MOST + 1)}
