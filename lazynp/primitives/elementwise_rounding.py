"""Floats as bit patterns: rounding, signs, neighbours, exponents."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._cost import MEMORY_BOUND
from lazynp._primitive import Primitive
from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_arithmetic import multiply
from lazynp.primitives.elementwise_comparison import equal, select
from lazynp.primitives.elementwise_emit import F2, F4, in_float32, is_, kind, like
from lazynp.primitives.elementwise_factory import linear, row

_MANTISSA = {2: 10, 4: 23, 8: 52}  # bits stored, by size in bytes
I4 = np.dtype("i4")


# -- rounding --------------------------------------------------------------------------------------


def _rounding(name: str, lower: Any) -> Primitive:
    """Integers stay as they are; complex numbers are rounded by parts."""

    @in_float32
    def of_kind(b: Any, x: Any) -> Any:
        if kind(x) == "c":
            return b.complex(*[lower(b, part) for part in e.parts(b, x)])
        return lower(b, x) if kind(x) == "f" else x

    return row(name, of_kind, cost=MEMORY_BOUND)


def _trunc(b: Any, x: Any) -> Any:
    up, down = b.unary("stablehlo.ceil", x), b.unary("stablehlo.floor", x)
    return b.select(is_(b, x, "LT", 0.0), up, down)


floor = _rounding("floor", lambda b, x: b.unary("stablehlo.floor", x))
ceil = _rounding("ceil", lambda b, x: b.unary("stablehlo.ceil", x))
trunc = _rounding("trunc", _trunc)
rint = _rounding("rint", lambda b, x: b.unary("stablehlo.round_nearest_even", x))


# -- signs and steps -------------------------------------------------------------------------------


def _heaviside(b: Any, x: Any, y: Any) -> Any:
    cases = [(is_(b, x, "LT", 0.0), 0.0), (is_(b, x, "GT", 0.0), 1.0), (is_(b, x, "EQ", 0.0), y)]
    return e.choose(b, x, *cases)  # the rest is nan


copysign = row(
    "copysign",
    e.copysign,
    [lambda g, ans, x, y: multiply(g, multiply(copysign(1.0, x), copysign(1.0, ans))), None],
    cost=MEMORY_BOUND,
)
heaviside = row(
    "heaviside",
    _heaviside,
    [None, lambda g, ans, x, y: select(equal(x, 0.0), g, 0.0)],
    cost=MEMORY_BOUND,
)


# -- neighbours ------------------------------------------------------------------------------------


# whether NumPy's float16 keeps the sign of x where x equals y, as before 2.5
_F2_KEEPS_ZEROS = not np.signbit(np.nextafter(np.float16(0.0), np.float16(-0.0)))


def _nextafter(b: Any, x: Any, y: Any) -> Any:
    """By the bits: a step away from zero adds one to them, whatever the sign."""
    u = e.as_bits(b, x)
    away = b.compare(b.compare(x, y, "LT"), is_(b, x, "GT", 0.0), "EQ")
    one = like(b, 1, u)
    stepped = b.select(away, e.add(b, u, one), e.sub(b, u, one))
    least = e.copysign(b, e.from_bits(b, one), y)
    nan = b.or_(e.is_nan(b, x), e.is_nan(b, y))
    same = x if x.aval.dtype == F2 and _F2_KEEPS_ZEROS else y
    return e.choose(
        b, e.from_bits(b, stepped),
        (nan, np.nan), (b.compare(x, y, "EQ"), same), (is_(b, x, "EQ", 0.0), least),
    )  # fmt: skip


def _spacing(b: Any, x: Any) -> Any:
    """The distance to the next number away from zero, with the sign of x; for float16 to the next
    above, as in NumPy.
    """
    u = e.as_bits(b, x)
    one = like(b, 1, u)
    following = e.from_bits(b, e.add(b, u, one))
    if x.aval.dtype == F2:
        above = e.from_bits(b, e.sub(b, u, one))
        following = b.select(is_(b, x, "LT", 0.0), above, following)
    gap = e.sub(b, following, x)
    infinite = b.or_(e.is_inf(b, x), e.is_nan(b, x))
    return e.choose(b, gap, (infinite, np.nan), (is_(b, x, "EQ", 0.0), e.from_bits(b, one)))


nextafter = row("nextafter", _nextafter, [lambda g, ans, x, y: g, None], cost=(2.2, 0.1))
spacing = row("spacing", _spacing, cost=(1.7, 0.1))


# -- exponents -------------------------------------------------------------------------------------


def power_of_two(b: Any, n: Any, dtype: np.dtype[Any]) -> Any:
    """2.0 ** n for integers n within the normal range of the dtype (f4 or f8)."""
    width = dtype.itemsize
    bias = 127 if width == 4 else 1023
    u = b.convert(n, np.dtype(f"u{width}"))
    biased = e.plus(b, u, bias)
    return e.from_bits(
        b, b.binary("stablehlo.shift_left", biased, like(b, _MANTISSA[width], biased))
    )


@in_float32
def _ldexp(b: Any, x: Any, n: Any) -> Any:
    """x times four powers of two: no partial product leaves the range unless the result does."""
    dtype = x.aval.dtype
    limit = 300 if dtype == F4 else 2200
    if n.aval.dtype.itemsize > 4:
        n = b.op("stablehlo.clamp", like(b, -limit, n), n, like(b, limit, n), out=n.aval)
        n = b.convert(n, I4)
    n = b.op("stablehlo.clamp", like(b, -limit, n), n, like(b, limit, n), out=n.aval)
    quarter = b.binary("stablehlo.shift_right_arithmetic", n, like(b, 2, n))
    rest = e.sub(b, n, e.mul(b, quarter, like(b, 3, n)))
    factor = power_of_two(b, quarter, dtype)
    for _ in range(3):
        x = e.mul(b, x, factor)
    return e.mul(b, x, power_of_two(b, rest, dtype))


def split_float(b: Any, x: Any) -> tuple[Any, Any]:
    """The mantissa in [0.5, 1) and the exponent (f4 or f8); zero, inf and nan are their own
    mantissa.
    """
    width = x.aval.dtype.itemsize
    mantissa_bits, bias = _MANTISSA[width], 126 if width == 4 else 1022
    u = e.as_bits(b, x)
    field = (1 << (8 * width - 1 - mantissa_bits)) - 1
    raw = b.binary("stablehlo.shift_right_logical", u, like(b, mantissa_bits, u))
    raw = b.and_(raw, like(b, field, raw))
    kept = b.and_(u, like(b, (1 << (8 * width)) - 1 - (field << mantissa_bits), u))
    mantissa = e.from_bits(b, b.or_(kept, like(b, bias << mantissa_bits, u)))
    exponent = e.plus(b, b.convert(raw, I4), -bias)
    plain = b.and_(is_(b, raw, "NE", 0), is_(b, raw, "NE", field))
    return b.select(plain, mantissa, x), b.select(plain, exponent, like(b, 0, exponent))


@in_float32
def _mantissa(b: Any, x: Any) -> Any:
    return split_float(b, x)[0]


def _exponent(b: Any, x: Any) -> Any:
    return split_float(b, b.convert(x, F4) if x.aval.dtype == F2 else x)[1]


ldexp = row(
    "ldexp",
    _ldexp,
    [lambda g, ans, x, n: ldexp(g, n), None],
    transpose=linear(lambda ct, x, n: ldexp(ct, n), None),
    cost=(3.0, 0.4),
)
frexp_mantissa = row(
    "frexp_mantissa",
    _mantissa,
    [lambda g, ans, x: ldexp(g, multiply(-1, frexp_exponent(x)))],
    ufunc=np.frexp,
    reference=lambda x: np.frexp(x)[0],
    cost=MEMORY_BOUND,
)
frexp_exponent = row(
    "frexp_exponent",
    _exponent,
    ufunc=np.frexp,
    reference=lambda x: np.frexp(x)[1],
    output=1,
    cost=MEMORY_BOUND,
)
