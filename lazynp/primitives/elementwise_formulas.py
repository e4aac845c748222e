"""Lowerings of real functions for which XLA's own operation is less accurate than NumPy, or slow.

Errors of XLA's operations against NumPy over the range of float64, in ulp: log1p 128, arctanh 125,
sinh and cosh 458, tanh 6, cbrt 114. These lowerings have at most 4 (NumPy: 2). float32 arguments of
sinh, cosh, cbrt and expm1 are computed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp.primitives import (
    elementwise_circular as circular,
    elementwise_emit as e,
    elementwise_logarithms as logarithms,
    elementwise_powers as powers,
)
from lazynp.primitives.elementwise_emit import F4, in_float32, in_float64, is_
from lazynp.primitives.elementwise_rounding import power_of_two, split_float

LN2, LOG2_E = float(np.log(2.0)), float(1 / np.log(2.0))
I4 = np.dtype("i4")


def expm1(b: Any, x: Any) -> Any:
    return b.unary("stablehlo.exponential_minus_one", x)


@in_float32
def log(b: Any, x: Any) -> Any:
    """A number alone gains nothing from vectors."""
    alone = not x.aval.shape or x.aval.dtype == F4
    return b.unary("stablehlo.log", x) if alone else logarithms.log(b, x)


@in_float32
def log1p(b: Any, x: Any) -> Any:
    return b.unary("stablehlo.log_plus_one", x) if x.aval.dtype == F4 else logarithms.log1p(b, x)


@in_float32
def arctanh(b: Any, x: Any) -> Any:
    """log1p(2|x| / (1 - |x|)) / 2, with the sign of x."""
    if x.aval.dtype == F4:
        return b.unary("chlo.atanh", x)
    a = e.magnitude(b, x)
    ratio = e.div(b, e.add(b, a, a), e.sub(b, e.like(b, 1.0, a), a))
    y = e.times(b, log1p(b, ratio), 0.5)
    return e.copysign(b, e.choose(b, y, (is_(b, a, "GT", 1.0), np.nan)), x)


def _area(b: Any, a: Any, near: Any) -> Any:
    """log1p(near); log(2 a) for large a, whose square would overflow."""
    large = is_(b, a, "GT", 2.0**28)
    y = log1p(b, b.select(large, e.plus(b, a, -1.0), near))
    return b.select(large, e.plus(b, y, LN2), y)


@in_float32
def arcsinh(b: Any, x: Any) -> Any:
    """log1p(|x| + x**2 / (1 + sqrt(1 + x**2))), with the sign of x."""
    if x.aval.dtype == F4:
        return b.unary("chlo.asinh", x)
    a = e.magnitude(b, x)
    square = e.mul(b, a, a)
    below = e.plus(b, e.sqrt(b, e.plus(b, square, 1.0)), 1.0)
    y = _area(b, a, e.add(b, a, e.div(b, square, below)))
    return e.copysign(b, e.choose(b, y, (is_(b, a, "LT", 2.0**-28), a)), x)


@in_float32
def arccosh(b: Any, x: Any) -> Any:
    """log1p(t + sqrt(2 t + t**2)), t = x - 1"""
    if x.aval.dtype == F4:
        return b.unary("chlo.acosh", x)
    t = e.plus(b, x, -1.0)
    root = e.sqrt(b, e.mul(b, t, e.plus(b, t, 2.0)))
    return e.choose(b, _area(b, x, e.add(b, t, root)), (is_(b, x, "LT", 1.0), np.nan))


def _half_exp(b: Any, a: Any) -> Any:
    """exp(a) / 2, which does not overflow before the result does."""
    half = e.exp(b, e.times(b, a, 0.5))
    return e.mul(b, e.times(b, half, 0.5), half)


@in_float64
def sinh(b: Any, x: Any) -> Any:
    a = e.magnitude(b, x)
    t = expm1(b, a)
    small = e.times(b, e.add(b, t, e.div(b, t, e.plus(b, t, 1.0))), 0.5)
    y = b.select(is_(b, a, "LT", 22.0), small, e.times(b, e.exp(b, a), 0.5))
    y = b.select(is_(b, a, "LT", 700.0), y, _half_exp(b, a))
    return e.copysign(b, y, x)


@in_float64
def cosh(b: Any, x: Any) -> Any:
    a = e.magnitude(b, x)
    t = e.times(b, e.exp(b, a), 0.5)
    y = e.add(b, t, e.div(b, e.like(b, 0.25, t), t))
    return b.select(is_(b, a, "LT", 700.0), y, _half_exp(b, a))


@in_float32
def tanh(b: Any, x: Any) -> Any:
    """fdlibm's: by expm1 of 2|x| or of -2|x|."""
    if x.aval.dtype == F4:
        return b.unary("stablehlo.tanh", x)
    a = e.magnitude(b, x)
    large = is_(b, a, "GE", 1.0)
    twice = e.add(b, a, a)
    t = expm1(b, b.select(large, twice, e.negate(b, twice)))
    below = e.plus(b, t, 2.0)
    y_large = e.sub(b, e.like(b, 1.0, x), e.div(b, e.like(b, 2.0, x), below))
    y = b.select(large, y_large, e.div(b, e.negate(b, t), below))
    return e.copysign(b, e.choose(b, y, (is_(b, a, "GT", 22.0), 1.0)), x)


@in_float64
def cbrt(b: Any, x: Any) -> Any:
    return powers.cbrt(b, x)


@in_float32
def exp2(b: Any, x: Any) -> Any:
    """2**n * exp(ln2 * r), where r is the distance to the nearest integer n; exact at integers."""
    dtype = x.aval.dtype
    limit = 300.0 if dtype == F4 else 2200.0
    c = b.op("stablehlo.clamp", e.like(b, -limit, x), x, e.like(b, limit, x), out=x.aval)
    n = b.unary("stablehlo.round_nearest_even", c)
    y = e.exp(b, e.times(b, e.sub(b, c, n), LN2))
    half = b.binary("stablehlo.shift_right_arithmetic", b.convert(n, I4), _like_int(b, 1, n))
    rest = e.sub(b, b.convert(n, I4), half)
    # halves reach 1100: halve them again, so that every factor is a normal number
    for part in (half, rest):
        low = b.binary("stablehlo.shift_right_arithmetic", part, _like_int(b, 1, n))
        y = e.mul(b, y, power_of_two(b, low, dtype))
        y = e.mul(b, y, power_of_two(b, e.sub(b, part, low), dtype))
    return e.choose(b, y, (e.is_nan(b, x), np.nan))


def _like_int(b: Any, value: int, x: Any) -> Any:
    return b.constant(value, I4, x.aval.shape)


def _log_parts(b: Any, x: Any) -> tuple[Any, Any]:
    """Of float32: log(m), and k as a float, with x = m * 2**k and m about 1. Zero, infinity and nan
    are their own m.
    """
    m, k = split_float(b, x)
    low = b.and_(is_(b, m, "LT", float(np.sqrt(0.5))), is_(b, m, "GT", 0.0))
    m = b.select(low, e.add(b, m, m), m)
    k = b.convert(k, x.aval.dtype)
    return e.log(b, m), b.select(low, e.plus(b, k, -1.0), k)


@in_float32
def log2(b: Any, x: Any) -> Any:
    if x.aval.dtype != F4:
        return logarithms.log2(b, x)
    y, k = _log_parts(b, x)
    return e.add(b, k, e.times(b, y, LOG2_E))


@in_float32
def log10(b: Any, x: Any) -> Any:
    """log10(2) in two parts, the first with exact products."""
    if x.aval.dtype != F4:
        return logarithms.log10(b, x)
    y, k = _log_parts(b, x)
    low = e.add(b, e.times(b, k, 7.9034151668e-07), e.times(b, y, 1 / np.log(10.0)))
    return e.add(b, low, e.times(b, k, 3.0102920532e-01))


def _log_sum(b: Any, x: Any, y: Any, correction: Any, of_equal: float) -> Any:
    """The larger operand plus a correction by minus the distance; equal operands (infinities)
    separately.
    """
    larger, smaller = b.binary("stablehlo.maximum", x, y), b.binary("stablehlo.minimum", x, y)
    away = e.sub(b, smaller, larger)
    total = e.add(b, larger, correction(away))
    return b.select(b.compare(x, y, "EQ"), e.plus(b, x, of_equal), total)


@in_float32
def logaddexp(b: Any, x: Any, y: Any) -> Any:
    return _log_sum(b, x, y, lambda d: log1p(b, e.exp(b, d)), LN2)


@in_float32
def logaddexp2(b: Any, x: Any, y: Any) -> Any:
    return _log_sum(b, x, y, lambda d: e.times(b, log1p(b, exp2(b, d)), LOG2_E), 1.0)


# -- sin and cos -----------------------------------------------------------------------------------


def _circular(library: str, ours: Any) -> Any:
    @in_float32
    def lower(b: Any, x: Any) -> Any:
        return ours(b, x) if circular.has_vectors(b, x) else b.unary(library, x)

    return lower


sin = _circular("stablehlo.sine", circular.sin)
cos = _circular("stablehlo.cosine", circular.cos)


# -- arctan and related functions ------------------------------------------------------------------

# Cephes: the addition theorem brings |x| to [-0.66, 0.66]; then a polynomial (f4) or a quotient
# (f8) in x**2. XLA calls the C library for each element, 10 times slower than NumPy.
_ATAN_F4 = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
_ATAN_P = (
    -8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
    -1.228866684490136173410e2, -6.485021904942025371773e1,
)  # fmt: skip
_ATAN_Q = (
    1.0, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2,
    4.853903996359136964868e2, 1.945506571482613964425e2,
)  # fmt: skip
_PI_LOW = {4: -8.742278000372485e-08, 8: 1.2246467991473532e-16}  # pi minus pi rounded


def _atan_magnitude(b: Any, a: Any) -> Any:
    """arctan of a >= 0, including infinity."""
    width = a.aval.dtype.itemsize
    far = is_(b, a, "GT", 2.414213562373095)
    middle = is_(b, a, "GT", 0.4142135623730950 if width == 4 else 0.66)
    one = e.like(b, 1.0, a)
    near_one = e.div(b, e.sub(b, a, one), e.add(b, a, one))
    x = b.select(far, e.div(b, e.negate(b, one), a), b.select(middle, near_one, a))
    square = e.mul(b, x, x)
    if width == 4:
        series = e.mul(b, square, e.polynomial(b, square, _ATAN_F4))
    else:
        quotient = e.div(b, e.polynomial(b, square, _ATAN_P), e.polynomial(b, square, _ATAN_Q))
        series = e.mul(b, square, quotient)
    z = e.add(b, e.mul(b, x, series), x)
    low = _PI_LOW[width]
    pi = float(a.aval.dtype.type(np.pi))
    cases = [(far, low / 2), (middle, low / 4)]
    z = e.add(b, z, e.choose(b, e.like(b, 0.0, a), *cases))
    return e.add(b, z, e.choose(b, e.like(b, 0.0, a), (far, pi / 2), (middle, pi / 4)))


@in_float32
def arctan(b: Any, x: Any) -> Any:
    return e.copysign(b, _atan_magnitude(b, e.magnitude(b, x)), x)


@in_float32
def arcsin(b: Any, x: Any) -> Any:
    """arctan(x / sqrt(1 - x**2))"""
    a = e.magnitude(b, x)
    one = e.like(b, 1.0, x)
    cosine = e.sqrt(b, e.mul(b, e.sub(b, one, a), e.add(b, one, a)))
    return e.copysign(b, _atan_magnitude(b, e.div(b, a, cosine)), x)


@in_float32
def arccos(b: Any, x: Any) -> Any:
    """2 arctan(sqrt((1 - x) / (1 + x)))"""
    one = e.like(b, 1.0, x)
    ratio = e.div(b, e.sub(b, one, x), e.add(b, one, x))
    return e.times(b, _atan_magnitude(b, e.sqrt(b, ratio)), 2.0)


@in_float32
def arctan2(b: Any, y: Any, x: Any) -> Any:
    """arctan of |y| / |x| (0 for two zeros, 1 for two infinities), then the quadrant."""
    ax, ay = e.magnitude(b, x), e.magnitude(b, y)
    ratio = e.div(b, ay, ax)
    zeros = b.and_(is_(b, ax, "EQ", 0.0), is_(b, ay, "EQ", 0.0))
    infinities = b.and_(is_(b, ax, "EQ", np.inf), is_(b, ay, "EQ", np.inf))
    angle = _atan_magnitude(b, e.choose(b, ratio, (zeros, 0.0), (infinities, 1.0)))
    pi = e.like(b, float(x.aval.dtype.type(np.pi)), x)
    beyond = e.sub(b, pi, e.plus(b, angle, -_PI_LOW[x.aval.dtype.itemsize]))
    left = is_(b, e.as_bits(b, x, signed=True), "LT", 0)
    return e.copysign(b, b.select(left, beyond, angle), y)
