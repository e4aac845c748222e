"""Derivatives of Bessel functions by their order, and of hypergeometric functions by their
parameters, by NumPy: SciPy has none.

K_v(x) is the integral of exp(-x cosh t) cosh(v t) over t > 0 (DLMF 10.32.9), which is even in t and
falls like a double exponential. Sums over t at equal distances converge exponentially.

The others are entire in the order, so differences of SciPy's values at 16 orders near it are exact
but for what SciPy's values lack, some ten times. They must agree with those at half the distance,
or the derivative is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import scipy

import lazynp as np
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


# -- by differences --------------------------------------------------------------------------------

_SIDE = 8  # places on each side
_AGREE = 1e-6  # of the larger of the value and its derivative
_WEIGHTS = [
    (-1) ** (k + 1) * math.factorial(_SIDE) ** 2
    / (k * math.factorial(_SIDE - k) * math.factorial(_SIDE + k))
    for k in range(1, _SIDE + 1)
]  # fmt: skip


def _difference(f: Callable[[Any], Any], at: Any, h: Any) -> Any:
    return sum(
        w * (f(at + k * h) - f(at - k * h)) / h for k, w in enumerate(_WEIGHTS, 1)
    )  # fmt: skip


def _by_difference(of: str, i: int, step: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative by argument i. step: of the arguments, how far the places are apart."""

    def function(*xs: Any) -> Any:
        below = _special.OWN.get(of) or getattr(scipy.special, of)
        xs = tuple(numpy.broadcast_arrays(*xs))

        def along(x: Any) -> Any:
            return below(*xs[:i], x, *xs[i + 1 :])

        h = step(*map(numpy.real, xs[:-1]), abs(xs[-1]))
        found = _difference(along, xs[i], h)
        again = _difference(along, xs[i], h / 2)
        size = numpy.maximum(abs(along(xs[i])), abs(found))
        return numpy.where(abs(found - again) <= _AGREE * size, again, numpy.nan)

    return function


def _of_order(*xs: Any) -> Any:
    """The logarithm changes by that much with the order. The last argument is the place."""
    *orders, x = xs
    tiny = numpy.finfo(float).tiny
    logs = sum([numpy.log1p(abs(v)) for v in orders])
    return 0.25 / (4.0 + abs(numpy.log(numpy.maximum(x, tiny) / 2)) + logs)


def _bessel_row(of: str, count: int) -> Sequence[Partial]:
    name, further = _name(of, count), _name(of, count + 1)
    sign = 1.0 if of in ("iv", "ive") else -1.0

    def by_x(v: Any, x: Any, out: Any) -> Any:
        slope = 0.5 * (call(name, v - 1.0, x) + sign * call(name, v + 1.0, x))
        return slope - np.sign(x) * out if of == "ive" else slope

    return (lambda v, x, out: call(further, v, x)) if count < 2 else None, by_x


_BESSEL = "jv", "yv", "iv", "ive"
_KINDS = {"kv": False, "kve": True}
_special.OWN.update(
    {_name(of, n): _by_order(n, s) for of, s in _KINDS.items() for n in range(1, _MOST + 1)}
)
ROWS = {_name(of, n): _row(of, n) for of in _KINDS for n in range(_MOST + 1)}
_special.OWN.update(
    {_name(of, n): _by_difference(_name(of, n - 1), 0, _of_order) for of in _BESSEL for n in (1, 2)}
)
ROWS.update({_name(of, n): _bessel_row(of, n) for of in _BESSEL for n in (1, 2)})
ROWS.update({of: (_bessel_row(of, 0)[0], _special.ROWS[of][1]) for of in _BESSEL})


# -- hypergeometric functions ----------------------------------------------------------------------

# the numbers of parameters above and below
_HYPERGEOMETRIC = {"hyp0f1": (0, 1), "hyp1f1": (1, 1), "hyp2f1": (2, 1)}


def _of_parameters(*xs: Any) -> Any:
    """The last parameter must keep its distance from 0, -1, -2, ...: there the functions have
    poles.
    """
    *above, below, z = xs
    logs = sum([numpy.log1p(abs(x)) for x in (*above, below, z)])
    apart = numpy.where(below > 0, below, abs(below - numpy.round(below)))
    return numpy.minimum(0.25 / (4.0 + logs), apart / 40.0)


def _by_parameters(of: str, *places: int) -> str:
    return "-".join([of, "by", *map(str, sorted(places))])


def _parameter_rows(of: str) -> dict[str, Sequence[Partial]]:
    above, _ = _HYPERGEOMETRIC[of]
    places = range(above + 1)

    def first(i: int) -> Partial:
        return lambda *xs: call(_by_parameters(of, i), *xs[:-1])

    def further(i: int) -> Sequence[Partial]:
        def by_z(*xs: Any) -> Any:
            """The product rule: by z, F becomes a b / c times F of parameters larger by 1."""
            *parameters, z, _ = xs
            larger = *(p + 1.0 for p in parameters), z
            top = math.prod(parameters[:above], start=1.0)
            moved = top / parameters[above] * call(_by_parameters(of, i), *larger)
            if i == above:
                factor = -top / parameters[above] ** 2
            else:
                factor = math.prod([p for k, p in enumerate(parameters[:above]) if k != i],
                                   start=1.0) / parameters[above]  # fmt: skip
            return moved + factor * call(of, *larger)

        partials: list[Partial] = [
            lambda *xs, j=j: call(_by_parameters(of, i, j), *xs[:-1]) for j in places
        ]
        return *partials, by_z

    rows: dict[str, Sequence[Partial]] = {of: (*map(first, places), _special.ROWS[of][-1])}
    for i in places:
        name = _by_parameters(of, i)
        rows[name] = further(i)
        _special.OWN[name] = _by_difference(of, i, _of_parameters)
        for j in places[: i + 1]:
            twice = _by_parameters(of, i, j)
            rows[twice] = (None,) * (above + 2)
            _special.OWN[twice] = _by_difference(name, j, _of_parameters)
    return rows


for _of in _HYPERGEOMETRIC:
    ROWS.update(_parameter_rows(_of))


# -- others ----------------------------------------------------------------------------------------


def _along(slope: Callable[..., Any], name: str, i: int) -> Callable[..., Any]:
    """The derivative of a slope by parameter i."""

    def moved(*xs: Any) -> Any:
        def at(p: Any) -> Any:
            changed = (*xs[:i], p, *xs[i + 1 : -1])
            return slope(*changed, call(name, *changed))

        return np.jvp(at, (xs[i],), (np.ones_like(xs[i]),))[1]

    return moved


def rows_by_orders(of: str, count: int, slope: Callable[..., Any]) -> dict[str, Sequence[Partial]]:
    """A function with so many orders, which is entire in them, and its derivatives by them, up to
    the second. slope: that by the place.
    """
    rows: dict[str, Sequence[Partial]] = {}

    def enter(places: tuple[int, ...], slope: Callable[..., Any]) -> None:
        name = _by_parameters(of, *places) if places else of

        def further(i: int) -> Partial:
            return lambda *xs: call(_by_parameters(of, *places, i), *xs[:-1])

        if len(places) == 2:
            rows[name] = (*[None] * count, slope)
            return
        rows[name] = (*map(further, range(count)), slope)
        for i in range(places[-1] if places else 0, count):
            _special.OWN[_by_parameters(of, *places, i)] = _by_difference(name, i, _of_order)
            enter((*places, i), _along(slope, name, i))

    enter((), slope)
    return rows
