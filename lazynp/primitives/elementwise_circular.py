"""Lowerings of sin and cos of float64, by fdlibm's method, in operations on vectors.

XLA calls the C library for each element, in five times the time. Arguments of less than a million
turns are brought near zero in three steps whose products are exact. If an array has larger ones,
all of it goes to the library: so these lowerings are for arrays that are large beside a loop.
Errors are below one ulp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_emit import is_, like

# elements: a program with a loop and a reduction takes some 50 ms longer to compile
LARGE = 1 << 15
_LIMIT = 2.0**20  # quarter turns

# pi / 2 in three parts, the first two of 33 bits
_HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_SIN = (
    1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
    -1.98412698298579493134e-04, 8.33333333332248946124e-03,
)  # fmt: skip
_SIN_FIRST = -1.66666666666666324348e-01
_COS = (
    -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
    2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02,
)  # fmt: skip


def has_vectors(b: Any, x: Any) -> bool:
    """Whether these lowerings serve here. An array that is split over devices would have to be
    looked at on all of them.
    """
    here = b.platform.host and b.mesh is None
    return here and x.aval.dtype == e.F8 and x.aval.size >= LARGE


def _less(b: Any, x: Any, y: Any) -> Any:
    return e.total(b, x, e.negate(b, y))


def _near_zero(b: Any, x: Any) -> tuple[Any, Any, Any]:
    """The number of quarter turns, a whole float, and the rest in two parts."""
    n = b.unary("stablehlo.round_nearest_even", e.scaled(b, x, 2 / np.pi))
    r = _less(b, x, e.scaled(b, n, _HALF_PI[0]))
    w = e.scaled(b, n, _HALF_PI[1])
    rest = _less(b, r, w)
    lost = _less(b, _less(b, r, rest), w)
    low = _less(b, e.scaled(b, n, _HALF_PI[2]), lost)
    y = _less(b, rest, low)
    return n, y, _less(b, _less(b, rest, y), low)


def _sin_near_zero(b: Any, y: Any, low: Any) -> Any:
    z = e.product(b, y, y)
    v = e.product(b, z, y)
    r = e.polynomial(b, z, _SIN)
    inner = _less(b, e.scaled(b, low, 0.5), e.product(b, v, r))
    inner = _less(b, e.product(b, z, inner), low)
    return _less(b, y, _less(b, inner, e.scaled(b, v, _SIN_FIRST)))


def _cos_near_zero(b: Any, y: Any, low: Any) -> Any:
    z = e.product(b, y, y)
    r = e.product(b, z, e.polynomial(b, z, _COS))
    half = e.scaled(b, z, 0.5)
    w = _less(b, like(b, 1.0, y), half)
    lost = _less(b, _less(b, like(b, 1.0, y), w), half)
    more = _less(b, e.product(b, z, r), e.product(b, y, low))
    return e.total(b, w, e.total(b, lost, more))


def _turned(b: Any, x: Any, quarters: int) -> Any:
    """sin(x + quarters * pi / 2)"""
    n, y, low = _near_zero(b, x)
    u = e.as_bits(b, e.total(b, n, like(b, 1.5 * 2.0**52 + quarters, n)))
    odd = is_(b, b.and_(u, like(b, 1, u)), "EQ", 1)
    below = is_(b, b.and_(u, like(b, 2, u)), "EQ", 2)
    value = b.select(odd, _cos_near_zero(b, y, low), _sin_near_zero(b, y, low))
    return b.select(below, e.negate(b, value), value)


def _or_library(b: Any, x: Any, ours: Any, library: str) -> Any:
    """XLA would compute both branches of a conditional, and select; a loop of no or one round is
    left alone.
    """
    a = e.magnitude(b, x)
    far = b.and_(is_(b, a, "GT", _LIMIT * np.pi / 2), is_(b, a, "LT", np.inf))
    _, y = b.while_loop(
        lambda b, state: state[0],
        lambda b, state: [b.constant(False, e.BOOL), b.unary(library, x)],
        [e.anywhere(b, far), ours(b, x)],
    )
    return y


def sin(b: Any, x: Any) -> Any:
    def ours(b: Any, x: Any) -> Any:
        tiny = is_(b, e.magnitude(b, x), "LT", 2.0**-27)  # also for the sign of zero
        return b.select(tiny, x, _turned(b, x, 0))

    return _or_library(b, x, ours, "stablehlo.sine")


def cos(b: Any, x: Any) -> Any:
    return _or_library(b, x, lambda b, x: _turned(b, x, 1), "stablehlo.cosine")
