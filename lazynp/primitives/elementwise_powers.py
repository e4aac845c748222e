"""Lowerings of powers and cube roots of float64, by fdlibm's methods, in operations on vectors.

XLA calls the C library for each element, which takes two to five times as long. |x|**y is two to
the power of y * log2|x|. The logarithm has two parts, for its error counts as often as the exponent
says. Errors are below one ulp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_emit import is_, like
from lazynp.primitives.elementwise_logarithms import (
    FRACTION,
    ONE,
    TWO_52,
    exponent,
    high,
    normal,
)

Pair = tuple[Any, Any]  # leading digits, and the rest

_L = (
    2.06975017800338417784e-01, 2.30660745775561754067e-01, 2.72728123808534006489e-01,
    3.33333329818377432918e-01, 4.28571428578550184252e-01, 5.99999999999994648725e-01,
)  # fmt: skip
_P = (
    4.13813679705723846039e-08, -1.65339022054652515390e-06, 6.61375632143793436117e-05,
    -2.77777777770155933842e-03, 1.66666666666666019037e-01,
)  # fmt: skip
_LN2 = 6.93147180559945286227e-01
_LN2_HIGH, _LN2_LOW = 6.93147182464599609375e-01, -1.90465429995776804525e-09
_CP = 9.61796693925975554329e-01  # 2 / (3 log(2))
_CP_HIGH, _CP_LOW = 9.61796700954437255859e-01, -7.02846165095275826516e-09
_LOG2_OF_3_2 = 5.84962487220764160156e-01, 1.35003920212974897128e-08
_ROOT_3_2, _ROOT_3 = float(np.sqrt(1.5)), float(np.sqrt(3.0))


def _is_zero(b: Any, x: Any) -> Any:
    """Whether neither the exponent nor the fraction has a bit, the latter counted as a float. LLVM
    would make float comparisons of simpler tests, and programs take subnormal operands for zero.
    """
    u = e.as_bits(b, x)
    fraction = e.from_bits(b, b.or_(b.and_(u, like(b, FRACTION, u)), like(b, TWO_52, u)))
    none = is_(b, fraction, "EQ", 2.0**52)
    return b.and_(none, is_(b, e.magnitude(b, x), "LT", np.finfo(float).tiny))


def _less(b: Any, x: Any, y: Any) -> Any:
    return e.total(b, x, e.negate(b, y))


def _quotient(b: Any, m: Any, base: Any) -> tuple[Any, Pair]:
    """s = (m - base) / (m + base), rounded and in two parts."""
    u = _less(b, m, base)
    v = b.binary("stablehlo.divide", like(b, 1.0, m), e.total(b, m, base))
    s = e.product(b, u, v)
    s_high = high(b, s)
    t_high = high(b, e.total(b, m, base))
    t_low = _less(b, m, _less(b, t_high, base))
    rest = _less(b, u, e.product(b, s_high, t_high))
    return s, (s_high, e.product(b, v, _less(b, rest, e.product(b, s_high, t_low))))


def _log2(b: Any, a: Any) -> Pair:
    """Of positive numbers: m in [sqrt(3) / 2, sqrt(3)) beside 1 or 3/2, times a power of two."""
    u, lower = normal(b, a)
    n = e.total(b, exponent(b, u), lower)
    m = e.from_bits(b, b.or_(b.and_(u, like(b, FRACTION, u)), like(b, ONE, u)))
    up = is_(b, m, "GE", _ROOT_3)
    middle = b.and_(is_(b, m, "GE", _ROOT_3_2), b.not_(up))
    n = b.select(up, e.total(b, n, like(b, 1.0, n)), n)
    m = b.select(up, e.scaled(b, m, 0.5), m)

    def of_middle(value: float, otherwise: float = 0.0) -> Any:
        return b.select(middle, like(b, value, m), like(b, otherwise, m))

    s, (s_high, s_low) = _quotient(b, m, of_middle(1.5, 1.0))
    z = e.product(b, s, s)
    r = e.product(b, e.product(b, z, z), e.polynomial(b, z, _L))
    r = e.total(b, r, e.product(b, s_low, e.total(b, s_high, s)))
    z = e.product(b, s_high, s_high)
    t_high = high(b, e.total(b, like(b, 3.0, z), z, r))
    t_low = _less(b, r, _less(b, e.total(b, t_high, like(b, -3.0, z)), z))
    u = e.product(b, s_high, t_high)
    v = e.total(b, e.product(b, s_low, t_high), e.product(b, t_low, s))
    p_high = high(b, e.total(b, u, v))
    p_low = _less(b, v, _less(b, p_high, u))
    z_high = e.scaled(b, p_high, _CP_HIGH)
    z_low = e.total(b, e.scaled(b, p_high, _CP_LOW), e.scaled(b, p_low, _CP))
    z_low = e.total(b, z_low, of_middle(_LOG2_OF_3_2[1]))
    step = of_middle(_LOG2_OF_3_2[0])
    head = high(b, e.total(b, z_high, z_low, step, n))
    return head, _less(b, z_low, _less(b, _less(b, _less(b, head, n), step), z_high))


def _power_of_two(b: Any, n: Any) -> Any:
    """Of whole floats in [-1022, 1023], by their bits."""
    u = e.as_bits(b, e.total(b, n, like(b, 2.0**52 + 1023, n)))
    return e.from_bits(b, b.binary("stablehlo.shift_left", u, like(b, 52, u)))


def _exp2(b: Any, parts: Pair) -> Any:
    """Infinity and zero beyond the range; nan where the parts are."""
    head, low = parts
    far = is_(b, e.magnitude(b, head), "GT", 2200.0)
    limit = like(b, 2200.0, head)
    head = b.op("stablehlo.clamp", e.negate(b, limit), head, limit, out=limit.aval)
    low = e.choose(b, low, (far, 0.0))
    n = b.unary("stablehlo.round_nearest_even", e.total(b, head, low))
    head = _less(b, head, n)
    t = high(b, e.total(b, head, low))
    u = e.scaled(b, t, _LN2_HIGH)
    low = _less(b, low, _less(b, t, head))
    v = e.total(b, e.scaled(b, low, _LN2), e.scaled(b, t, _LN2_LOW))
    z = e.total(b, u, v)
    w = _less(b, v, _less(b, z, u))
    square = e.product(b, z, z)
    t = _less(b, z, e.product(b, square, e.polynomial(b, square, _P)))
    r = b.binary("stablehlo.divide", e.product(b, z, t), e.total(b, t, like(b, -2.0, t)))
    r = _less(b, r, e.total(b, w, e.product(b, z, w)))
    y = _less(b, like(b, 1.0, z), _less(b, r, z))
    for _ in range(2):  # factors in the range of normal numbers
        part = b.unary("stablehlo.round_nearest_even", e.scaled(b, n, 0.25))
        y = e.product(b, y, _power_of_two(b, part))
        y = e.product(b, y, _power_of_two(b, part))
        n = _less(b, n, e.total(b, part, part))
    return e.product(b, y, _power_of_two(b, n))


def power(b: Any, x: Any, y: Any) -> Any:
    """As C's pow. Programs take subnormal operands for zero, so such exponents become normal."""
    subnormal = b.and_(is_(b, e.magnitude(b, y), "LT", 1e-300), b.not_(_is_zero(b, y)))
    y = b.select(subnormal, e.copysign(b, like(b, 1e-300, y), y), y)
    a = e.magnitude(b, x)
    bound = like(b, 2.0**65, y)  # beyond, a power is that of infinity
    c = b.op("stablehlo.clamp", e.negate(b, bound), y, bound, out=y.aval)
    head, low = _log2(b, a)
    c_high = high(b, c)
    rest = e.total(b, e.product(b, _less(b, c, c_high), head), e.product(b, c, low))
    size = _exp2(b, (e.product(b, c_high, head), rest))

    falls = is_(b, y, "LT", 0.0)
    zero, infinity = _is_zero(b, x), is_(b, a, "EQ", np.inf)
    size = b.select(b.and_(zero, falls), like(b, np.inf, x), size)
    size = b.select(b.and_(infinity, falls), like(b, 0.0, x), size)
    size = e.choose(b, size, (b.and_(zero, b.not_(falls)), 0.0))
    size = e.choose(b, size, (b.and_(infinity, b.not_(falls)), np.inf))
    half = e.scaled(b, y, 0.5)
    whole = b.compare(b.unary("stablehlo.floor", y), y, "EQ")
    odd = b.and_(whole, b.compare(b.unary("stablehlo.floor", half), half, "NE"))
    negative = is_(b, e.as_bits(b, x, signed=True), "LT", 0)
    undefined = b.and_(negative, b.not_(b.or_(whole, b.or_(zero, infinity))))
    size = e.choose(b, size, (undefined, np.nan))
    size = b.select(b.and_(negative, odd), e.negate(b, size), size)
    unknown = b.or_(e.is_nan(b, x), e.is_nan(b, y))
    ones = b.or_(is_(b, x, "EQ", 1.0), is_(b, y, "EQ", 0.0))
    return e.choose(b, size, (ones, 1.0), (unknown, np.nan))


_CBRT = (
    0.145996192886612446982, -0.758397934778766047437, 1.621429720105354466140,
    -1.88497979543377169875, 1.87595182427177009643,
)  # fmt: skip
_CBRT_BIAS = 715094163


def cbrt(b: Any, x: Any) -> Any:
    """A third of the exponent, by the bits; a polynomial; a step of Newton's method whose first
    product is exact.
    """
    a = e.magnitude(b, x)
    u, lower = normal(b, a)
    small = is_(b, lower, "LT", 0.0)  # scaled by 2**1074, the cube of 2**358
    third = b.binary("stablehlo.shift_right_logical", u, like(b, 32, u))
    third = b.binary("stablehlo.multiply", third, like(b, 0xAAAAAAAB, u))  # a division by 3
    third = b.binary("stablehlo.shift_right_logical", third, like(b, 33, u))
    guess = e.total(b, third, like(b, _CBRT_BIAS, u))
    t = e.from_bits(b, b.binary("stablehlo.shift_left", guess, like(b, 32, u)))
    a = e.from_bits(b, u)
    r = e.product(b, e.product(b, t, t), b.binary("stablehlo.divide", t, a))
    t = e.product(b, t, e.polynomial(b, r, _CBRT))
    rounded = e.total(b, e.as_bits(b, t), like(b, 0x80000000, u))
    t = e.from_bits(b, b.and_(rounded, like(b, 0xFFFFFFFFC0000000, u)))
    r = b.binary("stablehlo.divide", a, e.product(b, t, t))
    w = e.total(b, t, t)
    r = b.binary("stablehlo.divide", _less(b, r, t), e.total(b, w, r))
    t = e.total(b, t, e.product(b, t, r))
    t = b.select(small, e.scaled(b, t, 2.0**-358), t)
    itself = b.or_(_is_zero(b, x), b.not_(is_(b, e.magnitude(b, x), "LT", np.inf)))
    return b.select(itself, x, e.copysign(b, t, x))
