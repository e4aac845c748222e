"""Lowerings of complex functions: XLA's operation where it is accurate, with C99's special values.

NumPy uses the C library's functions (Annex G of C99 for infinities, nan and signs of zero), or its
own short formulas (exp2, expm1, log2, log10, power), which we repeat. complex64 is computed in
complex128.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp.primitives import elementwise_emit as e, elementwise_formulas as f
from lazynp.primitives.elementwise_emit import in_float64, is_, like, parts

PI_2 = float(np.pi / 2)


def _both(b: Any, *conditions: Any) -> Any:
    result = conditions[0]
    for c in conditions[1:]:
        result = b.and_(result, c)
    return result


def _finite(b: Any, x: Any) -> Any:
    return is_(b, e.magnitude(b, x), "LT", np.inf)


def _zero_wins(b: Any, x: Any, y: Any) -> Any:
    """x * y; zero if a factor is zero, even beside inf or nan, with the sign of both."""
    product = e.mul(b, x, y)
    zero = b.or_(is_(b, x, "EQ", 0.0), is_(b, y, "EQ", 0.0))
    one = like(b, 1.0, x)
    signs = [e.copysign(b, one, b.select(e.is_nan(b, v), one, v)) for v in (x, y)]
    signed = e.times(b, e.mul(b, *signs), 0.0)
    return b.select(_both(b, zero, e.is_nan(b, product)), signed, product)


def _turned(lower: Callable[..., Any]) -> Callable[..., Any]:
    """-i f(i z): sin from sinh, tan from tanh, arctan from arctanh, arcsinh from arcsin."""

    @in_float64
    def turned(b: Any, z: Any) -> Any:
        x, y = parts(b, z)
        u, v = parts(b, lower(b, b.complex(e.negate(b, y), x)))
        return b.complex(v, e.negate(b, u))

    return turned


# -- exponentials, logarithms, roots ---------------------------------------------------------------


@in_float64
def exp(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = parts(b, e.exp(b, z))
    lost = b.not_(_finite(b, y))
    up, down = _both(b, lost, is_(b, x, "EQ", np.inf)), _both(b, lost, is_(b, x, "EQ", -np.inf))
    re = e.choose(b, re, (up, np.inf), (down, 0.0))
    im = e.choose(b, im, (up, np.nan), (down, 0.0), (is_(b, y, "EQ", 0.0), y))
    return b.complex(re, im)


def _scaled(b: Any, z: Any, factor: float) -> Any:
    return b.complex(*[e.times(b, part, factor) for part in parts(b, z)])


def exp2(b: Any, z: Any) -> Any:
    """NumPy's formula; the product is rounded to the dtype of z."""
    return exp(b, _scaled(b, z, f.LN2))


@in_float64
def expm1(b: Any, z: Any) -> Any:
    """NumPy's formula."""
    x, y = parts(b, z)
    s = b.unary("stablehlo.sine", e.times(b, y, 0.5))
    cos = b.unary("stablehlo.cosine", y)
    re = e.sub(b, e.mul(b, f.expm1(b, x), cos), e.times(b, e.mul(b, s, s), 2.0))
    return b.complex(re, e.mul(b, e.exp(b, x), b.unary("stablehlo.sine", y)))


@in_float64
def log(b: Any, z: Any) -> Any:
    """log|z| + i arg z. Near the unit circle, |z|**2 - 1 is computed from the larger part
    minus 1.
    """
    x, y = parts(b, z)
    ax, ay = e.magnitude(b, x), e.magnitude(b, y)
    big, small = b.binary("stablehlo.maximum", ax, ay), b.binary("stablehlo.minimum", ax, ay)
    near = _both(b, is_(b, big, "GT", 0.5), is_(b, big, "LT", 1.5))
    excess = e.mul(b, e.plus(b, big, -1.0), e.plus(b, big, 1.0))
    excess = e.add(b, excess, e.mul(b, small, small))
    re_near = e.times(b, f.log1p(b, excess), 0.5)
    re = b.select(near, re_near, e.log(b, e.modulus(b, x, y)))
    return b.complex(re, b.binary("stablehlo.atan2", y, x))


@in_float64
def log2(b: Any, z: Any) -> Any:
    return _scaled(b, log(b, z), f.LOG2_E)


@in_float64
def log10(b: Any, z: Any) -> Any:
    return _scaled(b, log(b, z), float(1 / np.log(10.0)))


@in_float64
def log1p(b: Any, z: Any) -> Any:
    """More accurate than NumPy's, which takes the logarithm of the rounded |1 + z|."""
    x, y = parts(b, z)
    one_more = e.plus(b, x, 1.0)
    excess = e.add(b, e.mul(b, x, e.plus(b, x, 2.0)), e.mul(b, y, y))  # |1 + z|**2 - 1
    small = e.times(b, f.log1p(b, excess), 0.5)
    near = _both(b, is_(b, e.magnitude(b, x), "LT", 0.5), is_(b, e.magnitude(b, y), "LT", 0.5))
    re, im = parts(b, log(b, b.complex(one_more, y)))
    return b.complex(b.select(near, small, re), im)


@in_float64
def sqrt(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = parts(b, e.sqrt(b, z))
    nan = e.is_nan(b, y)
    tall, left = e.is_inf(b, y), _both(b, nan, is_(b, x, "EQ", -np.inf))
    right = _both(b, nan, is_(b, x, "EQ", np.inf))
    re = e.choose(b, re, (tall, np.inf), (left, np.nan), (right, np.inf))
    im = e.choose(b, im, (tall, y), (left, np.inf), (right, np.nan))
    return b.complex(re, e.copysign(b, im, y))


# -- hyperbolic and circular -----------------------------------------------------------------------


@in_float64
def sinh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    s, c = f.sinh(b, x), f.cosh(b, x)
    edge = _both(b, e.is_inf(b, x), b.not_(_finite(b, y)))
    re = _zero_wins(b, s, b.unary("stablehlo.cosine", y))
    im = _zero_wins(b, b.unary("stablehlo.sine", y), c)
    return b.complex(e.choose(b, re, (edge, np.inf)), im)


@in_float64
def cosh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    s, c = f.sinh(b, x), f.cosh(b, x)
    edge = _both(b, e.is_inf(b, x), b.not_(_finite(b, y)))
    re = e.mul(b, c, b.unary("stablehlo.cosine", y))
    im = _zero_wins(b, s, b.unary("stablehlo.sine", y))
    return b.complex(e.choose(b, re, (edge, np.inf)), im)


@in_float64
def tanh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = parts(b, b.unary("stablehlo.tanh", z))
    lost = b.not_(_finite(b, y))
    re = e.choose(b, re, (_both(b, lost, is_(b, x, "EQ", 0.0)), x))
    return b.complex(re, e.choose(b, im, (is_(b, y, "EQ", 0.0), y)))


@in_float64
def cos(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    return cosh(b, b.complex(e.negate(b, y), x))


@in_float64
def sin(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = parts(b, _turned(sinh)(b, z))
    lost = _both(b, b.not_(_finite(b, x)), e.is_inf(b, y))
    return b.complex(re, e.choose(b, im, (lost, np.inf)))


tan = _turned(tanh)


# -- inverses: the sign of a zero decides the side of a branch cut ---------------------------------


@in_float64
def arcsin(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = parts(b, b.unary("chlo.asin", z))
    axis = _both(b, is_(b, x, "EQ", 0.0), e.is_nan(b, y))
    return b.complex(e.choose(b, re, (axis, x)), e.copysign(b, im, y))


@in_float64
def arccos(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = parts(b, b.unary("chlo.acos", z))
    axis = _both(b, is_(b, x, "EQ", 0.0), e.is_nan(b, y))
    return b.complex(e.choose(b, re, (axis, PI_2)), e.copysign(b, im, e.negate(b, y)))


@in_float64
def arccosh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = parts(b, b.unary("chlo.acosh", z))
    axis = _both(b, is_(b, x, "EQ", 0.0), e.is_nan(b, y))
    return b.complex(re, e.copysign(b, e.choose(b, im, (axis, PI_2)), y))


@in_float64
def arctanh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = parts(b, b.unary("chlo.atanh", z))
    x_nan, y_nan, finite = e.is_nan(b, x), e.is_nan(b, y), _finite(b, y)
    zero = e.copysign(b, like(b, 0.0, x), x)
    nowhere = b.or_(is_(b, x, "EQ", 0.0), e.is_inf(b, x))
    re = e.choose(
        b, re,
        (_both(b, y_nan, nowhere), zero), (y_nan, np.nan),
        (e.is_inf(b, y), zero), (_both(b, x_nan, finite), np.nan),
    )  # fmt: skip
    up = e.copysign(b, like(b, PI_2, y), y)
    im = e.choose(b, im, (e.is_inf(b, y), up), (y_nan, np.nan), (x_nan, np.nan))
    return b.complex(e.copysign(b, re, x), e.copysign(b, im, y))


arctan, arcsinh = _turned(arctanh), _turned(arcsin)


# -- power -----------------------------------------------------------------------------------------


def _small_power(b: Any, z: Any, n: Any) -> Any:
    """z ** |n| for integral |n| < 100, by NumPy's multiplications."""
    i4 = np.dtype("i4")
    clamped = b.op("stablehlo.clamp", like(b, 0.0, n), n, like(b, 127.0, n), out=n.aval)
    count = b.convert(clamped, i4)
    result = like(b, 1.0, z)
    for bit in range(7):
        odd = is_(b, b.and_(count, like(b, 1 << bit, count)), "NE", 0)
        first = is_(b, b.and_(count, like(b, (1 << bit) - 1, count)), "EQ", 0)
        product = b.select(first, z, e.complex_mul(b, result, z))
        result = b.select(odd, product, result)
        if bit < 6:
            z = e.complex_mul(b, z, z)
    return result


@in_float64
def power(b: Any, z: Any, w: Any) -> Any:
    """NumPy's `npy_cpow`: 1 for w = 0, 0 or nan for z = 0, products for small integral w."""
    (x, y), (u, v) = parts(b, z), parts(b, w)
    general = exp(b, e.complex_mul(b, w, log(b, z)))
    size = e.magnitude(b, u)
    whole = _both(
        b, is_(b, v, "EQ", 0.0), is_(b, size, "LT", 100.0),
        b.compare(b.unary("stablehlo.floor", u), u, "EQ"),
    )  # fmt: skip
    product = _small_power(b, z, size)
    inverse = e.complex_div(b, like(b, 1.0, z), product)
    by_products = b.select(is_(b, u, "LT", 0.0), inverse, product)
    result = b.select(whole, by_products, general)
    no_base = _both(b, is_(b, x, "EQ", 0.0), is_(b, y, "EQ", 0.0))
    no_exponent = _both(b, is_(b, u, "EQ", 0.0), is_(b, v, "EQ", 0.0))
    of_zero = b.select(is_(b, u, "GT", 0.0), like(b, 0.0, z), like(b, complex(np.nan, np.nan), z))
    return e.choose(b, result, (no_exponent, 1.0), (no_base, of_zero))
