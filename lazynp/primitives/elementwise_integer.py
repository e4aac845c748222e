"""Integers: bits, shifts, quotients and remainders (also of floats), powers, gcd and lcm.

XLA's division by zero, shifts and powers differ from NumPy's; these lowerings correct them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._cost import MEMORY_BOUND
from lazynp._primitive import Primitive
from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_arithmetic import (
    divide,
    multiply_no_nan,
    negative,
)
from lazynp.primitives.elementwise_casts import cast
from lazynp.primitives.elementwise_emit import in_float32, is_, kind, like
from lazynp.primitives.elementwise_factory import row
from lazynp.primitives.elementwise_rounding import trunc

# -- bits ------------------------------------------------------------------------------------------


def _bitwise(name: str, op: str) -> Primitive:
    def lower(b: Any, *xs: Any) -> Any:
        return b.op("stablehlo." + op, *xs, out=xs[0].aval)

    return row(name, lower, cost=MEMORY_BOUND)


bitwise_and = _bitwise("bitwise_and", "and")
bitwise_or = _bitwise("bitwise_or", "or")
bitwise_xor = _bitwise("bitwise_xor", "xor")
invert = _bitwise("invert", "not")


def _bitwise_count(b: Any, x: Any) -> Any:
    """The number of bits set in the magnitude, as uint8."""
    if kind(x) == "i":
        x = e.magnitude(b, x)
    return b.convert(b.unary("stablehlo.popcnt", x), np.dtype("u1"))


def _shift_fits(b: Any, y: Any) -> Any:
    """Whether a count lies in [0, width); a negative count is large as an unsigned one."""
    unsigned = np.dtype(f"u{y.aval.dtype.itemsize}")
    return is_(b, b.convert(y, unsigned), "LT", e.bits(y))


def _left_shift(b: Any, x: Any, y: Any) -> Any:
    shifted = b.binary("stablehlo.shift_left", x, y)
    return b.select(_shift_fits(b, y), shifted, like(b, 0, x))


def _right_shift(b: Any, x: Any, y: Any) -> Any:
    """Past the width, only the sign remains."""
    if kind(x) == "u":
        shifted = b.binary("stablehlo.shift_right_logical", x, y)
        return b.select(_shift_fits(b, y), shifted, like(b, 0, x))
    count = b.select(_shift_fits(b, y), y, like(b, e.bits(y) - 1, y))
    return b.binary("stablehlo.shift_right_arithmetic", x, count)


bitwise_count = row("bitwise_count", _bitwise_count, cost=MEMORY_BOUND)
left_shift = row("left_shift", _left_shift, cost=MEMORY_BOUND)
right_shift = row("right_shift", _right_shift, cost=MEMORY_BOUND)


# -- quotients and remainders ----------------------------------------------------------------------


def _truncated(b: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """The quotient towards zero, the remainder, and the divisor used (1 in place of 0 and -1)."""
    odd = is_(b, y, "EQ", 0)
    if kind(x) == "i":
        odd = b.or_(odd, is_(b, y, "EQ", -1))
    divisor = b.select(odd, like(b, 1, y), y)
    return e.div(b, x, divisor), b.binary("stablehlo.remainder", x, divisor), divisor


def _other_side(b: Any, r: Any, y: Any) -> Any:
    """Whether a nonzero remainder has the opposite sign of the divisor."""
    differ = b.compare(is_(b, r, "LT", 0), is_(b, y, "LT", 0), "NE")
    return b.and_(is_(b, r, "NE", 0), differ)


def _int_floor_divide(b: Any, x: Any, y: Any) -> Any:
    q, r, divisor = _truncated(b, x, y)
    if kind(x) == "i":
        q = b.select(_other_side(b, r, divisor), e.plus(b, q, -1), q)
        q = b.select(is_(b, y, "EQ", -1), e.negate(b, x), q)
    return b.select(is_(b, y, "EQ", 0), like(b, 0, x), q)


def _int_remainder(b: Any, x: Any, y: Any) -> Any:
    _, r, divisor = _truncated(b, x, y)
    if kind(x) == "i":
        r = b.select(_other_side(b, r, divisor), e.add(b, r, divisor), r)
    return r


def _float_divmod(b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """NumPy's `npy_divmod`: the quotient comes from the remainder, which is exact."""
    r = b.binary("stablehlo.remainder", x, y)
    q = e.div(b, e.sub(b, x, r), y)
    other = _other_side(b, r, y)
    present = is_(b, r, "NE", 0.0)
    zero = e.copysign(b, like(b, 0.0, y), y)
    mod = b.select(present, b.select(other, e.add(b, r, y), r), zero)
    q = b.select(other, e.plus(b, q, -1.0), q)
    down = b.unary("stablehlo.floor", q)
    up = is_(b, e.sub(b, q, down), "GT", 0.5)
    whole = b.select(up, e.plus(b, down, 1.0), down)
    ratio = e.div(b, x, y)
    whole = b.select(is_(b, q, "EQ", 0.0), e.copysign(b, like(b, 0.0, q), ratio), whole)
    by_zero = is_(b, y, "EQ", 0.0)
    return b.select(by_zero, ratio, whole), b.select(by_zero, r, mod)


@in_float32
def _floor_divide(b: Any, x: Any, y: Any) -> Any:
    return _float_divmod(b, x, y)[0] if kind(x) == "f" else _int_floor_divide(b, x, y)


@in_float32
def _remainder(b: Any, x: Any, y: Any) -> Any:
    return _float_divmod(b, x, y)[1] if kind(x) == "f" else _int_remainder(b, x, y)


@in_float32
def _fmod(b: Any, x: Any, y: Any) -> Any:
    return b.binary("stablehlo.remainder", x, y) if kind(x) == "f" else _truncated(b, x, y)[1]


floor_divide = row("floor_divide", _floor_divide, cost=(0.7, 1.2))
remainder = row(
    "remainder",
    _remainder,
    [
        lambda g, ans, x, y: g,
        lambda g, ans, x, y: negative(multiply_no_nan(g, floor_divide(x, y))),
    ],
    cost=(8.5, 7.0),
)
fmod = row(
    "fmod",
    _fmod,
    [
        lambda g, ans, x, y: g,
        lambda g, ans, x, y: negative(multiply_no_nan(g, trunc(divide(x, y)))),
    ],
    cost=(8.0, 7.0),
)


# -- powers, gcd, lcm ------------------------------------------------------------------------------


def integer_pow(b: Any, x: Any, y: Any) -> Any:
    """x ** y, wrapping, by squaring; 1 where y < 0 (NumPy refuses these, so the caller checks).

    The loop ends when no exponent has bits left, usually after a few rounds.
    """
    one = like(b, 1, y)

    def more(b: Any, state: list[Any]) -> Any:
        return e.anywhere(b, is_(b, state[1], "GT", 0))

    def step(b: Any, state: list[Any]) -> list[Any]:
        base, exponent, result = state
        odd = is_(b, b.and_(exponent, one), "NE", 0)
        result = b.select(odd, e.mul(b, result, base), result)
        half = b.binary("stablehlo.shift_right_logical", exponent, one)
        half = b.select(is_(b, exponent, "GT", 0), half, like(b, 0, exponent))
        return [e.mul(b, base, base), half, result]

    return b.while_loop(more, step, [x, y, like(b, 1, x)])[2]


def _unsigned_gcd(b: Any, x: Any, y: Any) -> Any:
    """Euclid's algorithm, on all elements together."""

    def more(b: Any, state: list[Any]) -> Any:
        return e.anywhere(b, is_(b, state[1], "NE", 0))

    def step(b: Any, state: list[Any]) -> list[Any]:
        u, v = state
        done = is_(b, v, "EQ", 0)
        rest = b.binary("stablehlo.remainder", u, b.select(done, like(b, 1, v), v))
        return [b.select(done, u, v), rest]

    return b.while_loop(more, step, [x, y])[0]


def _magnitudes(b: Any, *xs: Any) -> list[Any]:
    """Magnitudes as unsigned integers, so that the smallest signed integer has one too."""
    if kind(xs[0]) == "u":
        return list(xs)
    unsigned = np.dtype(f"u{xs[0].aval.dtype.itemsize}")
    return [b.convert(e.magnitude(b, x), unsigned) for x in xs]


def _gcd(b: Any, x: Any, y: Any) -> Any:
    return cast(b, _unsigned_gcd(b, *_magnitudes(b, x, y)), x.aval.dtype)


def _lcm(b: Any, x: Any, y: Any) -> Any:
    u, v = _magnitudes(b, x, y)
    g = _unsigned_gcd(b, u, v)
    g = b.select(is_(b, g, "EQ", 0), like(b, 1, g), g)
    return cast(b, e.mul(b, e.div(b, u, g), v), x.aval.dtype)


gcd = row("gcd", _gcd, cost=(12.0, 9.0))
lcm = row("lcm", _lcm, cost=(13.0, 10.0))
