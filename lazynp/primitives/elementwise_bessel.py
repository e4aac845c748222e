"""Modified Bessel functions of orders 0 and 1. The references are SciPy's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._later import scipy_special
from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_arithmetic import (
    absolute,
    add,
    divide,
    multiply,
    multiply_no_nan,
    negative,
    sign as sign_,
    subtract,
)
from lazynp.primitives.elementwise_comparison import less, select
from lazynp.primitives.elementwise_emit import is_, like
from lazynp.primitives.elementwise_special import special_row
from lazynp.primitives.elementwise_transcendental import exp

# Chebyshev series of Cephes (np.i0 uses them too): exp(-x) I0(x) on [0, 8], times sqrt(x) beyond
_I0E_NEAR = (
    -4.4153416464793395e-18,
    3.3307945188222384e-17,
    -2.431279846547955e-16,
    1.715391285555133e-15,
    -1.1685332877993451e-14,
    7.676185498604936e-14,
    -4.856446783111929e-13,
    2.95505266312964e-12,
    -1.726826291441556e-11,
    9.675809035373237e-11,
    -5.189795601635263e-10,
    2.6598237246823866e-09,
    -1.300025009986248e-08,
    6.046995022541919e-08,
    -2.670793853940612e-07,
    1.1173875391201037e-06,
    -4.4167383584587505e-06,
    1.6448448070728896e-05,
    -5.754195010082104e-05,
    0.00018850288509584165,
    -0.0005763755745385824,
    0.0016394756169413357,
    -0.004324309995050576,
    0.010546460394594998,
    -0.02373741480589947,
    0.04930528423967071,
    -0.09490109704804764,
    0.17162090152220877,
    -0.3046826723431984,
    0.6767952744094761,
)
_I0E_FAR = (
    -7.233180487874754e-18,
    -4.830504485944182e-18,
    4.46562142029676e-17,
    3.461222867697461e-17,
    -2.8276239805165836e-16,
    -3.425485619677219e-16,
    1.7725601330565263e-15,
    3.8116806693526224e-15,
    -9.554846698828307e-15,
    -4.150569347287222e-14,
    1.54008621752141e-14,
    3.8527783827421426e-13,
    7.180124451383666e-13,
    -1.7941785315068062e-12,
    -1.3215811840447713e-11,
    -3.1499165279632416e-11,
    1.1889147107846439e-11,
    4.94060238822497e-10,
    3.3962320257083865e-09,
    2.266668990498178e-08,
    2.0489185894690638e-07,
    2.8913705208347567e-06,
    6.889758346916825e-05,
    0.0033691164782556943,
    0.8044904110141088,
)


def _chebyshev(b: Any, t: Any, coefficients: Sequence[float]) -> Any:
    """Clenshaw's recurrence, as in Cephes."""
    b0, b1, b2 = like(b, coefficients[0], t), like(b, 0.0, t), like(b, 0.0, t)
    for c in coefficients[1:]:
        b0, b1, b2 = e.plus(b, e.sub(b, e.mul(b, t, b0), b1), c), b0, b1
    return e.times(b, e.sub(b, b0, b2), 0.5)


def _i0e(b: Any, x: Any) -> Any:
    a = e.magnitude(b, x)
    near = _chebyshev(b, e.plus(b, e.times(b, a, 0.5), -2.0), _I0E_NEAR)
    t = e.plus(b, e.div(b, like(b, 32.0, a), a), -2.0)
    far = e.div(b, _chebyshev(b, t, _I0E_FAR), e.sqrt(b, a))
    return b.select(is_(b, a, "LE", 8.0), near, far)


def _i1e(b: Any, x: Any) -> Any:
    return b.unary("chlo.bessel_i1e", x)


def _unscaled(lower: Any) -> Any:
    """Times exp(|x|), in two factors that do not overflow before the result does."""

    def grown(b: Any, x: Any) -> Any:
        half = e.exp(b, e.times(b, e.magnitude(b, x), 0.5))
        y = e.mul(b, e.mul(b, lower(b, x), half), half)
        edge = e.magnitude(b, x) if lower is _i0e else x
        return b.select(e.is_inf(b, x), edge, y)

    return grown


def _at_infinity(name: str) -> Any:
    """SciPy's functions with the limits at infinity, where SciPy's are NaN."""

    def reference(x: Any) -> Any:
        edge = np.abs(x) if name == "i0" else x
        return np.where(np.isinf(x), edge, getattr(scipy_special, name)(x))

    return reference


_NEAR = 0.1
# of I1(x) / x in powers of x^2, highest first: 1 / (2^(2k+1) k! (k+1)!)
_PER_X = tuple(1 / (2 * 4**k * math.factorial(k) * math.factorial(k + 1)) for k in range(7, -1, -1))


def _per_x(ans: Any, x: Any, scale: Any = 1.0) -> Any:
    """ans / x, where ans is scale * I1(x). Near 0 by a series, which has all derivatives there."""
    near = less(absolute(x), _NEAR)
    small = select(near, x, 0.0)
    square, total = multiply(small, small), _PER_X[0]
    for c in _PER_X[1:]:
        total = add(multiply(square, total), c)
    return select(near, multiply(scale, total), divide(ans, select(near, 1.0, x)))


def _i0e_formula(g: Any, ans: Any, x: Any) -> Any:
    return multiply_no_nan(g, subtract(bessel_i1e(x), multiply(sign_(x), ans)))


def _i1e_formula(g: Any, ans: Any, x: Any) -> Any:
    """i0e - i1e * (sign(x) + 1/x); a half at zero."""
    per_x = _per_x(ans, x, exp(negative(multiply(sign_(x), x))))
    slope = subtract(bessel_i0e(x), add(multiply(ans, sign_(x)), per_x))
    return multiply_no_nan(g, slope)


bessel_i0e = special_row("bessel_i0e", _i0e, _i0e_formula, "i0e", 16, cost=(29.0, 18.0))
bessel_i1e = special_row("bessel_i1e", _i1e, _i1e_formula, "i1e", 16, cost=(30.0, 9.0))
bessel_i0 = special_row(
    "bessel_i0",
    _unscaled(_i0e),
    lambda g, ans, x: multiply_no_nan(g, bessel_i1(x)),
    _at_infinity("i0"),
    16,
    cost=(33.0, 20.0),
)
bessel_i1 = special_row(
    "bessel_i1",
    _unscaled(_i1e),
    lambda g, ans, x: multiply_no_nan(g, subtract(bessel_i0(x), _per_x(ans, x))),
    _at_infinity("i1"),
    16,
    cost=(34.0, 10.0),
)
