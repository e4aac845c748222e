"""Roots, exponentials, logarithms, powers; circular and hyperbolic functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval
from lazynp._cost import Cost
from lazynp._primitive import Primitive
from lazynp.primitives import (
    elementwise_complex as z,
    elementwise_emit as e,
    elementwise_formulas as f,
    elementwise_powers as powers,
)
from lazynp.primitives.elementwise_arithmetic import (
    add,
    complex_,
    divide,
    imag,
    multiply,
    multiply_no_nan,
    negative,
    real,
    square,
    subtract,
    xdivy,
)
from lazynp.primitives.elementwise_circular import LARGE
from lazynp.primitives.elementwise_comparison import equal, logical_and, select
from lazynp.primitives.elementwise_emit import in_float32, in_float64, kind, op
from lazynp.primitives.elementwise_factory import Formula, row
from lazynp.primitives.elementwise_integer import integer_pow

Lower = Callable[..., Any]


def _function(
    name: str,
    lower: Lower,
    formula: Formula,
    of_complex: Lower | None = None,
    ulp: float = 4,
    complex_ulp: float = 8,
    complex_scale: float = 0.0,
    *,
    cost: Cost | Callable[[Sequence[Aval]], Cost],
) -> Primitive:
    """A function of one variable, with another lowering for complex arguments."""

    def by_kind(b: Any, x: Any) -> Any:
        if kind(x) == "f" or of_complex is None:
            return lower(b, x)
        return of_complex(b, x)

    return row(
        name,
        by_kind,
        [formula],
        cost=cost,
        ulp=ulp,
        complex_ulp=complex_ulp,
        complex_scale=complex_scale,
    )


def _sealed(lower: Lower) -> Lower:
    """Hidden behind a barrier, or XLA would simplify log(exp(x)) to x and exp(x) * exp(y) to exp(x
    + y).
    """
    return lambda b, *xs: b.barrier(lower(b, *xs))


# -- roots, exponentials, logarithms ---------------------------------------------------------------

sqrt = _function(
    "sqrt",
    op("stablehlo.sqrt"),
    lambda g, ans, x: xdivy(multiply(0.5, g), ans),
    z.sqrt,
    ulp=0,
    cost=(1.0, 0.5),
)
cbrt = _function(
    "cbrt", f.cbrt, lambda g, ans, x: xdivy(g, multiply(3.0, square(ans))), cost=(0.8, 2.0)
)
exp = _function(
    "exp",
    _sealed(op("stablehlo.exponential")),
    lambda g, ans, x: multiply_no_nan(g, ans),
    z.exp,
    cost=(0.7, 0.9),
)
exp2 = _function(
    "exp2",
    f.exp2,
    lambda g, ans, x: multiply_no_nan(g, multiply(f.LN2, ans)),
    z.exp2,
    cost=(0.7, 1.7),
)
expm1 = _function(
    "expm1",
    in_float64(f.expm1),
    lambda g, ans, x: multiply_no_nan(g, add(ans, 1.0)),
    z.expm1,
    cost=(1.0, 1.6),
)
log = _function("log", f.log, lambda g, ans, x: xdivy(g, x), z.log, cost=(0.7, 1.3))
log2 = _function(
    "log2", f.log2, lambda g, ans, x: xdivy(g, multiply(f.LN2, x)), z.log2, cost=(0.8, 1.5)
)
log10 = _function(
    "log10",
    f.log10,
    lambda g, ans, x: xdivy(g, multiply(float(np.log(10.0)), x)),
    z.log10,
    cost=(0.8, 1.5),
)
log1p = _function(
    "log1p",
    f.log1p,
    lambda g, ans, x: xdivy(g, add(x, 1.0)),
    z.log1p,
    complex_scale=1.0,
    cost=(0.9, 1.9),
)  # NumPy's own has an absolute error for complex numbers


def log_share(v: Any, ans: Any) -> Any:
    """The logarithm of the part of a sum that a term is: where both are infinite, of a whole as in
    JAX, and of nothing where the sum is of nothing.
    """
    same = select(equal(v, -np.inf), v, 0.0)  # of the dtype of v
    return select(equal(v, ans), same, subtract(v, ans))


logaddexp = row(
    "logaddexp",
    f.logaddexp,
    [
        lambda g, ans, x, y: multiply_no_nan(g, exp(log_share(x, ans))),
        lambda g, ans, x, y: multiply_no_nan(g, exp(log_share(y, ans))),
    ],
    ulp=4,
    scale=1.0,  # the sum passes through zero
    cost=(15.0, 6.0),
)
logaddexp2 = row(
    "logaddexp2",
    f.logaddexp2,
    [
        lambda g, ans, x, y: multiply_no_nan(g, exp2(log_share(x, ans))),
        lambda g, ans, x, y: multiply_no_nan(g, exp2(log_share(y, ans))),
    ],
    ulp=4,
    scale=1.0,
    cost=(15.0, 11.0),
)


# -- circular and hyperbolic -----------------------------------------------------------------------


def _one_minus_square(x: Any) -> Any:
    return multiply(subtract(1.0, x), add(1.0, x))


def _circle(x: Any) -> Any:
    """sqrt(1 - x**2). On a branch cut, the sign of an imaginary part that is zero tells the side.
    Sums of complex numbers lose it.
    """
    if x.dtype.kind != "c":
        return sqrt(_one_minus_square(x))
    below = complex_(subtract(1.0, real(x)), negative(imag(x)))
    return multiply(sqrt(below), sqrt(complex_(add(1.0, real(x)), imag(x))))


def _hyperbola(x: Any) -> Any:
    """sqrt(1 + x**2)"""
    if x.dtype.kind != "c":
        return sqrt(add(1.0, square(x)))
    return _circle(complex_(negative(imag(x)), real(x)))


def _far_hyperbola(x: Any) -> Any:
    """sqrt(x - 1) sqrt(x + 1)"""
    if x.dtype.kind != "c":
        return multiply(sqrt(subtract(x, 1.0)), sqrt(add(x, 1.0)))
    below = complex_(subtract(real(x), 1.0), imag(x))
    return multiply(sqrt(below), sqrt(complex_(add(real(x), 1.0), imag(x))))


def _circular_cost(ins: Sequence[Aval]) -> Cost:
    size = ins[0].size
    return 8.0 * size, (7.0 if size < LARGE else 1.7) * size


sin = _function(
    "sin",
    f.sin,
    lambda g, ans, x: multiply_no_nan(g, cos(x)),
    z.sin,
    cost=_circular_cost,
)
cos = _function(
    "cos",
    f.cos,
    lambda g, ans, x: negative(multiply_no_nan(g, sin(x))),
    z.cos,
    cost=_circular_cost,
)
tan = _function(
    "tan",
    op("chlo.tan"),
    lambda g, ans, x: multiply_no_nan(g, add(1.0, square(ans))),
    z.tan,
    cost=(1.2, 9.0),
)
arcsin = _function(
    "arcsin",
    f.arcsin,
    lambda g, ans, x: xdivy(g, _circle(x)),
    z.arcsin,
    cost=(0.9, 1.9),
)
arccos = _function(
    "arccos",
    f.arccos,
    lambda g, ans, x: negative(xdivy(g, _circle(x))),
    z.arccos,
    cost=(0.9, 1.9),
)
arctan = _function(
    "arctan", f.arctan, lambda g, ans, x: xdivy(g, add(1.0, square(x))), z.arctan, cost=(0.8, 1.3)
)
sinh = _function(
    "sinh", f.sinh, lambda g, ans, x: multiply_no_nan(g, cosh(x)), z.sinh, cost=(0.9, 1.5)
)
cosh = _function(
    "cosh", f.cosh, lambda g, ans, x: multiply_no_nan(g, sinh(x)), z.cosh, cost=(0.8, 1.4)
)
tanh = _function(
    "tanh",
    f.tanh,
    lambda g, ans, x: multiply_no_nan(g, _one_minus_square(ans)),
    z.tanh,
    cost=(1.0, 1.8),
)
arcsinh = _function(
    "arcsinh",
    f.arcsinh,
    lambda g, ans, x: xdivy(g, _hyperbola(x)),
    z.arcsinh,
    cost=(1.5, 2.0),
)
arccosh = _function(
    "arccosh",
    f.arccosh,
    lambda g, ans, x: xdivy(g, _far_hyperbola(x)),
    z.arccosh,
    cost=(3.0, 1.9),
)
arctanh = _function(
    "arctanh",
    f.arctanh,
    lambda g, ans, x: xdivy(g, _one_minus_square(x)),
    z.arctanh,
    cost=(1.2, 1.8),
)
arctan2 = row(
    "arctan2",
    f.arctan2,
    [
        lambda g, ans, x, y: multiply_no_nan(g, divide(y, add(square(x), square(y)))),
        lambda g, ans, x, y: negative(multiply_no_nan(g, divide(x, add(square(x), square(y))))),
    ],
    ulp=4,
    cost=(1.9, 1.4),
)


@in_float32
def _hypot(b: Any, x: Any, y: Any) -> Any:
    return e.modulus(b, x, y)


def _hypot_by(leg: Any, ans: Any) -> Any:
    """leg / ans; where both legs are zero, half for each, as in JAX."""
    origin = equal(ans, 0.0)
    return select(origin, 0.5, divide(leg, select(origin, 1.0, ans)))


hypot = row(
    "hypot",
    _hypot,
    [
        lambda g, ans, x, y: multiply_no_nan(g, _hypot_by(x, ans)),
        lambda g, ans, x, y: multiply_no_nan(g, _hypot_by(y, ans)),
    ],
    ulp=2,
    cost=(5.0, 1.0),
)


# -- powers ----------------------------------------------------------------------------------------


def _power(b: Any, x: Any, y: Any) -> Any:
    if kind(x) in "iu":
        return integer_pow(b, x, y)
    if kind(x) == "c":
        return z.power(b, x, y)
    return _real_power(b, x, y)


@in_float32
def _real_power(b: Any, x: Any, y: Any) -> Any:
    """A number alone gains nothing from vectors. XLA's is inexact for subnormal bases, which
    otherwise count as zero.
    """
    if x.aval.shape and x.aval.dtype != e.F4:
        return b.barrier(powers.power(b, x, y))
    least = float(np.finfo(x.aval.dtype).tiny)
    zero = e.copysign(b, e.like(b, 0.0, x), x)
    x = e.choose(b, x, (e.is_(b, e.magnitude(b, x), "LT", least), zero))
    return b.barrier(b.op("stablehlo.power", x, y, out=x.aval))


def _power_by_base(g: Any, ans: Any, x: Any, y: Any) -> Any:
    """y * x**(y - 1), which is zero where y is zero, whatever x. Only where both are zero is the
    exponent another: elsewhere, it is what further derivatives by y go through.
    """
    neither = logical_and(equal(x, 0.0), equal(y, 0.0))
    less_one = select(neither, 1.0, subtract(y, 1.0))
    return multiply_no_nan(g, multiply_no_nan(y, power(x, less_one)))


def _power_by_exponent(g: Any, ans: Any, x: Any, y: Any) -> Any:
    """log(x) * ans; zero at x = 0."""
    return multiply_no_nan(g, multiply_no_nan(log(select(equal(x, 0.0), 1.0, x)), ans))


_POWER_FORMULAS = [_power_by_base, _power_by_exponent]
power = row(
    "power", _power, _POWER_FORMULAS, ulp=4, complex_ulp=4000, cost=(1.7, 5.5)
)  # errors of log grow with |w log z|
float_power = row("float_power", _power, _POWER_FORMULAS, ulp=4, complex_ulp=4000, cost=(8.0, 8.5))
