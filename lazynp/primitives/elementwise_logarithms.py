"""Lowerings of logarithms of float64, by fdlibm's method, in operations on vectors.

XLA's logarithm takes twice the time, and others would be composed from it: log2 and log10 by a
split of the argument, log1p by two divisions more. The errors of these are below one ulp, those of
log1p below two.

x = 2**k * m with m in [sqrt(1/2), sqrt(2)), and f = m - 1:

    log(m) = f - f*f/2 + s * (f*f/2 + R),  s = f / (2 + f),  R a polynomial in s*s

Products may be fused with additions here: that saves roundings.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_emit import is_, like

_R_EVEN = (1.531383769920937332e-01, 2.222219843214978396e-01, 3.999999999940941908e-01)
_R_ODD = (
    1.479819860511658591e-01, 1.818357216161805012e-01, 2.857142874366239149e-01,
    6.666666666666735130e-01,
)  # fmt: skip
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)  # in two parts, as all of these
_LOG2_E = (1.44269504072144627571e00, 1.67517131648865118353e-10)
_LOG10_E = (4.34294481878168880939e-01, 2.50829467116452752298e-11)
_LOG10_2 = (3.01029995663611771306e-01, 3.69423907715893078616e-13)

_ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
ONE = 0x3FF0000000000000
FRACTION = (1 << 52) - 1
_HIGH = 0xFFFFFFFF00000000
TWO_52 = 0x4330000000000000  # of 2**52; its fraction counts ones


class _Parts(NamedTuple):
    """A positive number: its power k, a float, and f."""

    k: Any
    f: Any


def exponent(b: Any, u: Any) -> Any:
    """Of the bits of positive normal numbers, as a float: made by bits, for not every processor
    converts vectors of 64-bit integers.
    """
    count = b.binary("stablehlo.shift_right_logical", u, like(b, 52, u))
    k = e.from_bits(b, b.or_(count, like(b, TWO_52, u)))
    return e.total(b, k, like(b, -(2.0**52) - 1023, k))


def high(b: Any, x: Any) -> Any:
    """The leading digits: their products with each other are exact."""
    u = e.as_bits(b, x)
    return e.from_bits(b, b.and_(u, like(b, _HIGH, u)))


def _split(b: Any, u: Any) -> _Parts:
    """Of the bits of positive normal numbers."""
    u = e.total(b, u, like(b, ONE - _ROOT_HALF, u))
    fraction = b.and_(u, like(b, FRACTION, u))
    m = e.from_bits(b, e.total(b, fraction, like(b, _ROOT_HALF, u)))
    return _Parts(exponent(b, u), e.total(b, m, like(b, -1.0, m)))


def normal(b: Any, x: Any) -> tuple[Any, Any]:
    """The bits of x, and the power to add: a subnormal number is scaled by 2**1074, as the integer
    that its bits are. (Programs take subnormal operands for zero.)
    """
    u = e.as_bits(b, x)
    small = is_(b, u, "LE", FRACTION)
    whole = e.from_bits(b, b.or_(b.and_(u, like(b, FRACTION, u)), like(b, TWO_52, u)))
    scaled = e.as_bits(b, e.total(b, whole, like(b, -(2.0**52), x)))
    lower = b.select(small, like(b, -1074.0, x), like(b, 0.0, x))
    return b.select(small, scaled, u), lower


def _parts(b: Any, x: Any) -> _Parts:
    u, lower = normal(b, x)
    k, f = _split(b, u)
    return _Parts(e.total(b, k, lower), f)


def _rest(b: Any, f: Any) -> tuple[Any, Any]:
    """f*f/2, and log(1 + f) - f + f*f/2."""
    s = b.binary("stablehlo.divide", f, e.total(b, f, like(b, 2.0, f)))
    z = e.product(b, s, s)
    w = e.product(b, z, z)
    r = e.total(
        b,
        e.product(b, w, e.polynomial(b, w, _R_EVEN)),
        e.product(b, z, e.polynomial(b, w, _R_ODD)),
    )
    half = e.product(b, e.scaled(b, f, 0.5), f)
    return half, e.product(b, s, e.total(b, half, r))


def _edges(b: Any, y: Any, x: Any) -> Any:
    """-inf at zero, nan below, infinity and nan themselves; else y."""
    u = e.as_bits(b, x)
    sign = like(b, 1 << 63, u)
    odd = b.compare(e.total(b, u, like(b, (1 << 64) - 1, u)), like(b, 0x7FEFFFFFFFFFFFFF, u), "GE")
    edge = b.select(b.compare(u, sign, "GT"), like(b, np.nan, x), x)
    edge = b.select(is_(b, e.total(b, u, u), "EQ", 0), like(b, -np.inf, x), edge)
    return b.select(odd, edge, y)


def _scaled(
    b: Any, x: Any, one_over: tuple[float, float], of_two: tuple[float, float] | None
) -> Any:
    """log(x) times `one_over`, with the logarithm of two in that base (None: it is one)."""
    k, f = _parts(b, x)
    half, rest = _rest(b, f)
    near = e.total(b, f, e.negate(b, half))
    head = high(b, near)
    low = e.total(b, f, e.negate(b, head), e.negate(b, half), rest)
    main = e.scaled(b, head, one_over[0])
    whole = k if of_two is None else e.scaled(b, k, of_two[0])
    more = e.total(
        b, e.scaled(b, e.total(b, low, head), one_over[1]), e.scaled(b, low, one_over[0])
    )
    if of_two is not None:
        more = e.total(b, e.scaled(b, k, of_two[1]), more)
    total = e.total(b, whole, main)
    lost = e.total(b, whole, e.negate(b, total), main)
    return _edges(b, e.total(b, more, lost, total), x)


def log(b: Any, x: Any) -> Any:
    k, f = _parts(b, x)
    half, rest = _rest(b, f)
    inner = e.total(b, half, e.negate(b, e.total(b, rest, e.scaled(b, k, _LN2[1]))))
    y = e.total(b, e.scaled(b, k, _LN2[0]), e.negate(b, e.total(b, inner, e.negate(b, f))))
    return _edges(b, y, x)


def log2(b: Any, x: Any) -> Any:
    """Exact at powers of two."""
    return _scaled(b, x, _LOG2_E, None)


def log10(b: Any, x: Any) -> Any:
    """Exact at powers of ten."""
    return _scaled(b, x, _LOG10_E, _LOG10_2)


def log1p(b: Any, x: Any) -> Any:
    """The logarithm of u = 1 + x rounded, and what the rounding lost, divided by u.

    The rounding must be hidden from XLA, which would simplify u - 1 to x.
    """
    one = like(b, 1.0, x)
    u = e.kept(b, e.total(b, x, one))
    k, f = _split(b, e.as_bits(b, u))
    below = is_(b, k, "EQ", 0.0)  # there f = x, and nothing is lost
    big = is_(b, k, "GE", 1.0)
    lost = b.select(
        big,
        e.total(b, one, e.negate(b, e.total(b, u, e.negate(b, x)))),
        e.total(b, x, e.negate(b, e.total(b, u, e.negate(b, one)))),
    )
    lost = b.select(below, like(b, 0.0, x), b.binary("stablehlo.divide", lost, u))
    f = b.select(below, x, f)
    half, rest = _rest(b, f)
    low = e.total(b, e.scaled(b, k, _LN2[1]), lost)
    inner = e.total(b, half, e.negate(b, e.total(b, rest, low)))
    y = e.total(b, e.scaled(b, k, _LN2[0]), e.negate(b, e.total(b, inner, e.negate(b, f))))
    tiny = is_(b, e.magnitude(b, x), "LT", 2.0**-54)
    return b.select(tiny, x, _edges(b, y, u))
