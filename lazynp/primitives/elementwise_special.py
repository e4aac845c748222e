"""Functions NumPy lacks and other rooms build on. The references are SciPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy  # scipy.special itself is loaded when first used: that takes 0.15 s

from lazynp._primitive import Primitive
from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_arithmetic import (
    add,
    divide,
    multiply,
    negative,
    sign as sign_,
    square,
    subtract,
)
from lazynp.primitives.elementwise_comparison import equal, select
from lazynp.primitives.elementwise_emit import in_float64, is_, like
from lazynp.primitives.elementwise_factory import Formula, row
from lazynp.primitives.elementwise_transcendental import exp

__all__ = [
    "bessel_i0e", "bessel_i1e", "digamma", "erf", "erf_inv", "erfc", "lgamma", "polygamma",
]  # fmt: skip

ROOT_PI = float(np.sqrt(np.pi))


def _special(
    name: str, lower: Any, formula: Formula, of_scipy: str, ulp: float, scale: float = 0.0
) -> Primitive:
    """A real function of one real variable; dtypes as for cbrt."""

    def reference(x: Any) -> Any:
        x = np.asarray(x)
        dtype = np.cbrt.resolve_dtypes((x.dtype, None))[1]
        return np.asarray(getattr(scipy.special, of_scipy)(x.astype(np.float64))).astype(dtype)

    return row(
        name, in_float64(lower), [formula],
        ufunc=np.cbrt, reference=reference, ulp=ulp, scale=scale,
    )  # fmt: skip


def _op(name: str) -> Any:
    return lambda b, x: b.unary(name, x)


# -- error functions -------------------------------------------------------------------------------


def _erf_slope(x: Any) -> Any:
    return multiply(2 / ROOT_PI, exp(negative(square(x))))


def _erf_inv(b: Any, x: Any) -> Any:
    """XLA's, and two steps of Newton's method on erf, or on erfc where erf is flat."""
    a = e.magnitude(b, x)
    y = b.unary("chlo.erf_inv", a)
    for _ in range(2):
        near = e.sub(b, b.unary("chlo.erf", y), a)
        far = e.sub(b, e.sub(b, like(b, 1.0, a), a), b.unary("chlo.erfc", y))
        miss = b.select(is_(b, a, "LT", 0.5), near, far)
        slope = e.times(b, e.exp(b, e.negate(b, e.mul(b, y, y))), 2 / ROOT_PI)
        y = e.sub(b, y, e.div(b, miss, slope))
    edges = (is_(b, a, "EQ", 1.0), np.inf), (is_(b, a, "GT", 1.0), np.nan)
    return e.copysign(b, e.choose(b, y, *edges), x)


erf = _special("erf", _op("chlo.erf"), lambda g, ans, x: multiply(g, _erf_slope(x)), "erf", 4)
erfc = _special(
    "erfc", _op("chlo.erfc"), lambda g, ans, x: negative(multiply(g, _erf_slope(x))), "erfc", 16
)  # 1 - erf cancels just below 1
erf_inv = _special("erf_inv", _erf_inv, lambda g, ans, x: divide(g, _erf_slope(ans)), "erfinv", 8)


# -- gamma functions -------------------------------------------------------------------------------


def _lgamma(b: Any, x: Any) -> Any:
    return e.choose(b, b.unary("chlo.lgamma", x), (is_(b, x, "EQ", -np.inf), -np.inf))


def _digamma(b: Any, x: Any) -> Any:
    pole = e.copysign(b, like(b, np.inf, x), e.negate(b, x))
    return e.choose(b, b.unary("chlo.digamma", x), (is_(b, x, "EQ", 0.0), pole))


def _polygamma_reference(n: Any, x: Any) -> Any:
    dtype = np.arctan2.resolve_dtypes((np.asarray(n).dtype, np.asarray(x).dtype, None))[2]
    return np.asarray(scipy.special.polygamma(n, np.asarray(x, np.float64))).astype(dtype)


# near their zeros these are accurate to a fraction of 1, not of the value; digamma is less so
# near its poles on the negative axis
digamma = _special(
    "digamma", _digamma, lambda g, ans, x: multiply(g, polygamma(1, x)), "digamma", 1000, scale=1.0
)
lgamma = _special(
    "lgamma", _lgamma, lambda g, ans, x: multiply(g, digamma(x)), "gammaln", 64, scale=1.0
)
polygamma = row(
    "polygamma",
    in_float64(lambda b, n, x: b.binary("chlo.polygamma", n, x)),
    [None, lambda g, ans, n, x: multiply(g, polygamma(add(n, 1.0), x))],
    ufunc=np.arctan2,
    reference=_polygamma_reference,
    ulp=1000,
)


# -- Bessel functions ------------------------------------------------------------------------------

# Chebyshev series of Cephes (also behind np.i0): exp(-x) I0(x) on [0, 8], and times sqrt(x) beyond
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


def _i0e_formula(g: Any, ans: Any, x: Any) -> Any:
    return multiply(g, subtract(bessel_i1e(x), multiply(sign_(x), ans)))


def _i1e_formula(g: Any, ans: Any, x: Any) -> Any:
    """i0e - i1e * (sign(x) + 1/x); a half at zero."""
    at_zero = equal(x, 0.0)
    safe = select(at_zero, 1.0, x)
    slope = subtract(bessel_i0e(x), multiply(ans, add(sign_(safe), divide(1.0, safe))))
    return multiply(g, select(at_zero, 0.5, slope))


bessel_i1e = _special("bessel_i1e", _op("chlo.bessel_i1e"), _i1e_formula, "i1e", 16)
bessel_i0e = _special("bessel_i0e", _i0e, _i0e_formula, "i0e", 16)
