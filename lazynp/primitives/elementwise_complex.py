"""Lowerings of complex functions: XLA's operation where it is accurate, with C99's special values.

NumPy uses the C library's functions (Annex G of C99 for infinities, nan and signs of zero), or its
own short formulas (exp2, expm1, log2, log10, power), which we repeat. complex64 is computed in
complex128.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp.primitives import (
    elementwise_circular as circular,
    elementwise_emit as e,
    elementwise_formulas as f,
)
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
def _exp_by_parts(b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """exp(x) cos(y) and exp(x) sin(y), where exp(x) alone might overflow."""
    over = is_(b, x, "GT", 700.0)
    size = e.exp(b, b.select(over, e.times(b, x, 0.5), x))
    halves = [e.mul(b, size, f.cos(b, y)), e.mul(b, size, f.sin(b, y))]
    re, im = [b.select(over, e.mul(b, part, size), part) for part in halves]
    return re, im


def exp(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    many = circular.has_vectors(b, y)
    re, im = _exp_by_parts(b, x, y) if many else parts(b, e.exp(b, z))
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


def expm1(b: Any, z: Any) -> Any:
    """NumPy's formula. For complex64 NumPy's exp overflows in single precision."""
    limit = 88.72283935546875 if z.aval.dtype == e.C8 else np.inf  # the last whose exp is finite
    return _expm1(b, z, limit=limit)


@in_float64
def _expm1(b: Any, z: Any, limit: float) -> Any:
    x, y = parts(b, z)
    s = f.sin(b, e.times(b, y, 0.5))
    cos = f.cos(b, y)
    over = is_(b, x, "GT", limit)
    less_one = e.choose(b, f.expm1(b, x), (over, np.inf))
    re = e.sub(b, e.mul(b, less_one, cos), e.times(b, e.mul(b, s, s), 2.0))
    im = e.mul(b, e.choose(b, e.exp(b, x), (over, np.inf)), f.sin(b, y))
    return b.complex(re, im)


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
    re = e.log(b, e.modulus(b, e.times(b, x, 0.25), e.times(b, y, 0.25)))
    over = is_(b, big, "GT", 2.0**1020)
    re = b.select(over, e.plus(b, re, 2 * f.LN2), e.log(b, e.modulus(b, x, y)))
    re = b.select(near, re_near, re)
    return b.complex(re, f.arctan2(b, y, x))


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


def _of_exponential(b: Any, x: Any, grown: Any, factor: Any) -> Any:
    """grown * factor, where `grown` is sinh or cosh of x: it may overflow where the product does
    not.
    """
    product = _zero_wins(b, grown, factor)
    half = e.exp(b, e.times(b, e.magnitude(b, x), 0.5))
    sign = e.copysign(b, e.like(b, 0.5, x), grown)
    far = e.mul(b, e.mul(b, e.mul(b, half, sign), factor), half)
    over = _both(
        b, is_(b, e.magnitude(b, x), "GT", 700.0), _finite(b, x), is_(b, factor, "NE", 0.0)
    )
    return b.select(over, far, product)


@in_float64
def sinh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    edge = _both(b, e.is_inf(b, x), b.not_(_finite(b, y)))
    re = _of_exponential(b, x, f.sinh(b, x), f.cos(b, y))
    im = _of_exponential(b, x, f.cosh(b, x), f.sin(b, y))
    return b.complex(e.choose(b, re, (edge, np.inf)), im)


@in_float64
def cosh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    lost = b.not_(_finite(b, y))
    edge = _both(b, e.is_inf(b, x), lost)
    re = _of_exponential(b, x, f.cosh(b, x), f.cos(b, y))
    im = _of_exponential(b, x, f.sinh(b, x), f.sin(b, y))
    im = e.choose(b, im, (_both(b, lost, is_(b, x, "EQ", 0.0)), 0.0))
    return b.complex(e.choose(b, re, (edge, np.inf)), im)


@in_float64
def tanh(b: Any, z: Any) -> Any:
    """sinh x cosh x + i sin y cos y, over sinh(x)**2 + cos(y)**2: near a pole nothing cancels."""
    x, y = parts(b, z)
    sin, cos = f.sin(b, y), f.cos(b, y)
    s, c = f.sinh(b, x), f.cosh(b, x)
    below = e.add(b, e.mul(b, s, s), e.mul(b, cos, cos))
    far = is_(b, e.magnitude(b, x), "GT", 22.0)
    one = e.copysign(b, like(b, 1.0, x), x)
    re = b.select(far, one, e.div(b, e.mul(b, s, c), below))
    decay = e.exp(b, e.times(b, e.magnitude(b, x), -2.0))
    product = e.mul(b, sin, cos)
    im = b.select(far, e.times(b, e.mul(b, product, decay), 4.0), e.div(b, product, below))
    lost = b.not_(_finite(b, y))
    infinite = e.is_inf(b, x)
    re = e.choose(b, re, (infinite, one), (_both(b, lost, is_(b, x, "EQ", 0.0)), x), (lost, np.nan))
    zero = e.copysign(b, like(b, 0.0, x), product)
    cases = [(_both(b, infinite, lost), 0.0), (infinite, zero), (is_(b, y, "EQ", 0.0), y)]
    return b.complex(re, e.choose(b, im, *cases))


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


def _undefined(b: Any, x: Any, y: Any) -> Any:
    """Whether one part is nan and the other finite: of most functions both parts are nan then."""
    x_nan, y_nan = e.is_nan(b, x), e.is_nan(b, y)
    return b.or_(_both(b, x_nan, b.not_(e.is_inf(b, y))), _both(b, y_nan, b.not_(e.is_inf(b, x))))


@in_float64
def arcsin(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = parts(b, b.unary("chlo.asin", z))
    nan = _undefined(b, x, y)
    axis = _both(b, is_(b, x, "EQ", 0.0), e.is_nan(b, y))
    re = e.copysign(b, e.choose(b, re, (axis, 0.0), (nan, np.nan)), x)
    return b.complex(re, e.copysign(b, e.choose(b, im, (nan, np.nan)), y))


def _arccos(b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The real part, and the modulus of the imaginary part, whose sign is that of -y."""
    re, im = parts(b, b.unary("chlo.acos", b.complex(x, y)))
    nan = _undefined(b, x, y)
    axis = _both(b, is_(b, x, "EQ", 0.0), e.is_nan(b, y))
    re = e.choose(b, e.magnitude(b, re), (axis, PI_2), (nan, np.nan))
    return re, e.magnitude(b, e.choose(b, im, (nan, np.nan)))


@in_float64
def arccos(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = _arccos(b, x, y)
    return b.complex(re, e.copysign(b, im, e.negate(b, y)))


@in_float64
def arccosh(b: Any, z: Any) -> Any:
    """arccos(z), turned towards the positive real axis."""
    x, y = parts(b, z)
    angle, size = _arccos(b, x, y)
    sided = b.select(e.is_nan(b, y), angle, e.copysign(b, angle, y))
    return b.complex(size, sided)


@in_float64
def arctanh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    re, im = parts(b, b.unary("chlo.atanh", z))
    x_nan, y_nan, finite = e.is_nan(b, x), e.is_nan(b, y), _finite(b, y)
    zero = e.copysign(b, like(b, 0.0, x), x)
    nowhere = b.or_(is_(b, x, "EQ", 0.0), e.is_inf(b, x))
    # next to a pole, the square of the distance is lost
    one = like(b, 1.0, x)
    near, away = (e.modulus(b, op(b, e.magnitude(b, x), one), y) for op in (e.sub, e.add))
    at_pole = e.times(b, e.sub(b, e.log(b, away), e.log(b, near)), 0.5)
    re = e.choose(
        b, re,
        (_both(b, y_nan, nowhere), zero), (y_nan, np.nan),
        (e.is_inf(b, y), zero), (_both(b, x_nan, finite), np.nan),
        (is_(b, near, "LT", 2.0**-20), at_pole),
    )  # fmt: skip
    up = e.copysign(b, like(b, PI_2, y), y)
    im = e.choose(b, im, (e.is_inf(b, y), up), (y_nan, np.nan), (x_nan, np.nan))
    return b.complex(e.copysign(b, re, x), e.copysign(b, im, y))


arctan, arcsinh = _turned(arctanh), _turned(arcsin)


# -- power -----------------------------------------------------------------------------------------


def _small_power(b: Any, z: Any, n: Any) -> Any:
    """z ** |n| for integral |n| < 100, by NumPy's multiplications. The first is 1 * z, which makes
    nan of an infinite z.
    """
    i4 = np.dtype("i4")
    clamped = b.op("stablehlo.clamp", like(b, 0.0, n), n, like(b, 127.0, n), out=n.aval)
    count = b.convert(clamped, i4)
    result = e.complex_mul(b, like(b, 1.0, z), z)
    result = b.select(is_(b, b.and_(count, like(b, 1, count)), "NE", 0), result, like(b, 1.0, z))
    for bit in range(1, 7):
        z = e.complex_mul(b, z, z)
        odd = is_(b, b.and_(count, like(b, 1 << bit, count)), "NE", 0)
        result = b.select(odd, e.complex_mul(b, result, z), result)
    return result


def _boxed(b: Any, z: Any) -> tuple[Any, Any, Any]:
    """The direction of an infinite number, else the number; and whether it is infinite."""
    both = parts(b, z)
    infinite = b.or_(*[e.is_inf(b, v) for v in both])

    def boxed(v: Any) -> Any:
        unit = e.choose(b, like(b, 0.0, v), (e.is_inf(b, v), 1.0))
        return b.select(infinite, e.copysign(b, unit, v), v)

    return boxed(both[0]), boxed(both[1]), infinite


def _recovered_mul(b: Any, z: Any, w: Any) -> Any:
    """The product by Annex G of C99: infinite if a factor is, although both parts came to nan."""
    (x, y), (u, v) = parts(b, z), parts(b, w)
    products = [e.mul(b, *p) for p in ((x, u), (y, v), (x, v), (y, u))]
    re, im = e.sub(b, *products[:2]), e.add(b, *products[2:])
    over = e.is_inf(b, products[0])
    for p in products[1:]:
        over = b.or_(over, e.is_inf(b, p))
    x, y, z_infinite = _boxed(b, z)
    u, v, w_infinite = _boxed(b, w)
    infinite = b.or_(z_infinite, w_infinite)

    def cleared(t: Any) -> Any:  # nan beside infinity counts as zero
        return b.select(e.is_nan(b, t), e.copysign(b, like(b, 0.0, t), t), t)

    x, y, u, v = map(cleared, (x, y, u, v))
    again = parts(b, e.complex_mul(b, b.complex(x, y), b.complex(u, v)))
    lost = _both(b, e.is_nan(b, re), e.is_nan(b, im), b.or_(infinite, over))
    recovered = [e.times(b, part, np.inf) for part in again]
    return b.complex(*[b.select(lost, r, old) for r, old in zip(recovered, (re, im))])


@in_float64
def power(b: Any, z: Any, w: Any) -> Any:
    """NumPy's `npy_cpow`: 1 for w = 0, 0 or nan for z = 0, products for small integral w."""
    (x, y), (u, v) = parts(b, z), parts(b, w)
    general = exp(b, _recovered_mul(b, w, log(b, z)))
    size = e.magnitude(b, u)
    whole = _both(
        b, is_(b, v, "EQ", 0.0), is_(b, size, "LT", 100.0),
        b.compare(b.unary("stablehlo.floor", u), u, "EQ"),
    )  # fmt: skip
    product = _small_power(b, z, size)
    inverse = e.complex_div(b, like(b, 1.0, z), product)
    square = e.complex_mul(b, z, z)
    by_products = e.choose(
        b, product,
        (is_(b, u, "LT", 0.0), inverse), (is_(b, u, "EQ", 1.0), z),
        (is_(b, u, "EQ", 2.0), square), (is_(b, u, "EQ", 3.0), e.complex_mul(b, z, square)),
    )  # fmt: skip
    result = b.select(whole, by_products, general)
    no_base = _both(b, is_(b, x, "EQ", 0.0), is_(b, y, "EQ", 0.0))
    no_exponent = _both(b, is_(b, u, "EQ", 0.0), is_(b, v, "EQ", 0.0))
    of_zero = b.select(is_(b, u, "GT", 0.0), like(b, 0.0, z), like(b, complex(np.nan, np.nan), z))
    return e.choose(b, result, (no_exponent, 1.0), (no_base, of_zero))
