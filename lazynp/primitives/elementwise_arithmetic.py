"""Arithmetic: sums, products, quotients, signs; real and complex parts."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, In, aval_of
from lazynp._cost import MEMORY_BOUND
from lazynp._extents import broadcast_shapes
from lazynp._fronts import in_front
from lazynp._primitive import Primitive, Undefined
from lazynp._quiet import quietly
from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_casts import real_dtype
from lazynp.primitives.elementwise_comparison import (
    equal,
    greater_equal,
    select,
)
from lazynp.primitives.elementwise_emit import in_float32, kind, like
from lazynp.primitives.elementwise_factory import (
    batch_of,
    enter,
    jvp_of,
    linear,
    loop_dtypes,
    made_explicit,
    row,
    same_shape,
)

# -- real and complex ------------------------------------------------------------------------------


def _part_abstract(x: Aval) -> Aval:
    return aval_of(x.shape, real_dtype(x.dtype))


def _real_transpose(ct: Any, x: Undefined) -> Any:
    return complex_(ct, 0.0) if x.aval.dtype.kind == "c" else ct


def _imag_transpose(ct: Any, x: Undefined) -> Any:
    return complex_(0.0, negative(ct)) if x.aval.dtype.kind == "c" else None


def _imag_jvp(g: Any, ans: Any, x: Any) -> Any:
    return imag(g) if x.dtype.kind == "c" else None


real = enter(
    Primitive(
        name="real",
        abstract=_part_abstract,
        reference=lambda x: np.real(x),
        lower=lambda b, x: b.real(x) if kind(x) == "c" else x,
        jvp=jvp_of(lambda: real, [lambda g, ans, x: real(g)]),
        transpose=linear(_real_transpose),
        batch=batch_of(lambda: real),
        kind="elementwise",
        cost=MEMORY_BOUND,
    )
)

imag = enter(
    Primitive(
        name="imag",
        abstract=_part_abstract,
        reference=lambda x: np.imag(np.asarray(x)),
        lower=lambda b, x: b.imag(x) if kind(x) == "c" else like(b, 0, x),
        jvp=jvp_of(lambda: imag, [_imag_jvp]),
        transpose=linear(_imag_transpose),
        batch=batch_of(lambda: imag),
        kind="elementwise",
        cost=MEMORY_BOUND,
    )
)


# the complex dtype of a part; long doubles are NumPy's
_COMPLEX = {np.dtype(r): np.dtype(c) for r, c in ("fF", "dD", "gG")}


def _complex_abstract(re: Aval, im: Aval) -> Aval:
    shape = same_shape("complex_", (re, im))
    if re.dtype != im.dtype or re.dtype not in _COMPLEX:
        raise TypeError(f"complex_: two operands of float32 or float64 are required: {re}, {im}")
    return aval_of(shape, _COMPLEX[re.dtype])


def _complex_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    dtype = loop_dtypes(np.arctan2, ins)[0]  # the real floating dtype of both
    return made_explicit(ins, [e.F4 if dtype == e.F2 else dtype] * 2)


def _complex_reference(re: Any, im: Any) -> Any:
    dtype = np.result_type(re, im, np.float32(0))
    out = np.empty(broadcast_shapes(np.shape(re), np.shape(im)), _COMPLEX[dtype])
    out.real, out.imag = re, im
    return out


def _complex_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    ans, (re, im) = complex_(*primals), tangents
    if re is None and im is None:
        return ans, None
    return ans, complex_(0.0 if re is None else re, 0.0 if im is None else im)


complex_ = enter(
    Primitive(
        name="complex_",
        abstract=_complex_abstract,
        explicit=_complex_explicit,
        reference=_complex_reference,
        lower=lambda b, re, im: b.complex(re, im),
        jvp=_complex_jvp,
        transpose=linear(
            lambda ct, re, im: real(ct),
            lambda ct, re, im: negative(imag(ct)),
        ),
        batch=batch_of(lambda: complex_),
        kind="elementwise",
        cost=MEMORY_BOUND,
    )
)


def _lower_conjugate(b: Any, x: Any) -> Any:
    return b.complex(b.real(x), e.negate(b, b.imag(x))) if kind(x) == "c" else x


conjugate = row(
    "conjugate",
    _lower_conjugate,
    [lambda g, ans, x: conjugate(g)],
    transpose=linear(lambda ct, x: conjugate(ct)),
    cost=MEMORY_BOUND,
)


# -- sums and products -----------------------------------------------------------------------------


def _by_kind(**lowers: Any) -> Any:
    """A lowering chosen by the kind of the first operand: b, iu, f, c; f16 is computed in f32."""

    @in_float32
    def lower(b: Any, *xs: Any) -> Any:
        return next(f for kinds, f in lowers.items() if kind(xs[0]) in kinds)(b, *xs)

    return lower


_product_transpose = linear(
    lambda ct, x, y: multiply_no_nan(ct, y), lambda ct, x, y: multiply_no_nan(ct, x)
)
_multiply = _by_kind(b=e.and_, iuf=e.mul, c=e.fused_mul)
_divide = _by_kind(f=e.div, c=e.complex_div)
_PRODUCT_FORMULAS = [
    lambda g, ans, x, y: multiply_no_nan(g, y),
    lambda g, ans, x, y: multiply_no_nan(x, g),
]


def _quotient_jvp(primitive: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """(dx - dy * ans) / y: one division, also backwards."""
    (dx, dy), ans = tangents, primitive(*primals)
    if dx is None and dy is None:
        return ans, None
    if dy is not None:
        change = multiply_no_nan(dy, ans)
        dx = negative(change) if dx is None else subtract(dx, change)
    return ans, xdivy(dx, primals[1])


add = row(
    "add",
    _by_kind(b=e.or_, iufc=e.add),
    [lambda g, ans, x, y: g, lambda g, ans, x, y: g],
    transpose=linear(lambda ct, x, y: ct, lambda ct, x, y: ct),
    cost=MEMORY_BOUND,
)
subtract = row(
    "subtract",
    in_float32(e.sub),
    [lambda g, ans, x, y: g, lambda g, ans, x, y: negative(g)],
    transpose=linear(lambda ct, x, y: ct, lambda ct, x, y: negative(ct)),
    cost=MEMORY_BOUND,
)
multiply = row(
    "multiply",
    _multiply,
    _PRODUCT_FORMULAS,
    transpose=_product_transpose,
    cost=MEMORY_BOUND,
)
divide = row(
    "divide",
    _divide,
    lambda primals, tangents: _quotient_jvp(divide, primals, tangents),
    transpose=linear(lambda ct, x, y: xdivy(ct, y), None),
    cost=(0.4, 0.4),
)


# -- products of tangents, or of cotangents, and factors -------------------------------------------
# Zero times infinity is zero: where a tangent is, it is of a branch that is not taken, as in
# `where(x > 0, log(x), 0)`; where a factor is, as in a point's distance from itself.


def _zeroed(out: Any, *factors: Any) -> Any:
    """A product by NumPy: 0 where one of the factors is and that gave nan."""
    if type(out) is np.ndarray:
        # quicker than to look for a nan; np.dot is not, while its threads wait for busy cores
        if (total := np.add.reduce(out, axis=None)) == total:
            return out
    elif out == out:
        return out
    zero = functools.reduce(np.logical_or, [np.equal(x, 0) for x in factors])
    return np.where(np.isnan(out) & zero, out.dtype.type(0), out)


def _guarded(ufunc: np.ufunc, reference: Any) -> Any:
    return in_front("guarded", reference, symbol="/" if ufunc is np.divide else "*")


def _lower_zeroed(b: Any, out: Any, *factors: Any) -> Any:
    """The same, lowered."""
    if kind(out) not in "fc" or any(b.static(x) and np.isfinite(b.static(x)) for x in factors):
        return out
    zero = functools.reduce(b.or_, [e.is_(b, x, "EQ", 0) for x in factors])
    return b.select(zero, like(b, 0, out), out)  # to ask for nan first costs twice as much


multiply_no_nan = row(
    "multiply_no_nan",
    in_float32(lambda b, x, y: _lower_zeroed(b, _multiply(b, x, y), x, y)),
    _PRODUCT_FORMULAS,
    ufunc=np.multiply,
    reference=_guarded(np.multiply, lambda x, y: _zeroed(np.multiply(x, y), x, y)),
    transpose=_product_transpose,
    cost=(0.4, 0.1),
)
xdivy = row(
    "xdivy",
    in_float32(lambda b, x, y: _lower_zeroed(b, _divide(b, x, y), x)),
    lambda primals, tangents: _quotient_jvp(xdivy, primals, tangents),
    ufunc=np.divide,
    reference=_guarded(np.divide, lambda x, y: _zeroed(np.divide(x, y), x)),
    transpose=linear(lambda ct, x, y: xdivy(ct, y), None),
    cost=(0.8, 0.5),
)


def _square(b: Any, x: Any) -> Any:
    return e.fused_mul(b, x, x) if kind(x) == "c" else e.mul(b, x, x)


def _reciprocal(b: Any, x: Any) -> Any:
    """For integers as NumPy casts 1.0 / x: 0 except for 1 and -1, and at 0 the cast of inf."""
    if kind(x) == "c":
        return e.complex_reciprocal(b, x)
    if kind(x) == "f":
        return e.div(b, like(b, 1.0, x), x)
    dtype = x.aval.dtype
    of_zero = int(quietly(np.reciprocal, [np.zeros(1, dtype)])[0])
    units = [(e.is_(b, x, "EQ", u), u) for u in ((1, -1) if dtype.kind == "i" else (1,))]
    return e.choose(b, like(b, 0, x), (e.is_(b, x, "EQ", 0), of_zero), *units)


square = row(
    "square",
    in_float32(_square),
    [lambda g, ans, x: multiply_no_nan(g, multiply(2, x))],
    cost=MEMORY_BOUND,
)
reciprocal = row(
    "reciprocal",
    in_float32(_reciprocal),
    [lambda g, ans, x: negative(multiply_no_nan(g, square(ans)))],
    cost=MEMORY_BOUND,
)


def _scaling(name: str, numerator: float, denominator: float) -> Primitive:
    """x times a quotient that is computed in the dtype, as in NumPy."""

    @in_float32
    def lower(b: Any, x: Any) -> Any:
        dtype = x.aval.dtype.type
        return e.mul(b, x, like(b, dtype(numerator) / dtype(denominator), x))

    scaling = row(
        name,
        lower,
        [lambda g, ans, x: scaling(g)],
        transpose=linear(lambda ct, x: scaling(ct)),
        cost=MEMORY_BOUND,
    )
    return scaling


deg2rad = _scaling("deg2rad", np.pi, 180)
radians = _scaling("radians", np.pi, 180)
rad2deg = _scaling("rad2deg", 180, np.pi)
degrees = _scaling("degrees", 180, np.pi)


# -- signs -----------------------------------------------------------------------------------------


def _negative(b: Any, x: Any) -> Any:
    if kind(x) == "c":
        return b.complex(*[e.negate(b, part) for part in e.parts(b, x)])
    return e.negate(b, x)


def _positive(b: Any, x: Any) -> Any:
    return x


def _absolute(b: Any, x: Any) -> Any:
    if kind(x) == "c":
        return e.modulus(b, *e.parts(b, x))
    return e.magnitude(b, x) if kind(x) in "if" else x


def _sign(b: Any, x: Any) -> Any:
    if kind(x) == "c":
        return _complex_sign(b, x)
    if kind(x) == "u":
        return b.convert(e.is_(b, x, "NE", 0), x.aval.dtype)
    positive_, negative_ = e.is_(b, x, "GT", 0), e.is_(b, x, "LT", 0)
    zero = e.is_(b, x, "EQ", 0)
    return e.choose(b, x, (positive_, 1), (negative_, -1), (zero, 0))


def _complex_sign(b: Any, z: Any) -> Any:
    """z / |z|; if |z| is infinite or overflows, the sign of an infinite real part, else of the
    imaginary part.
    """
    x, y = e.parts(b, z)
    size = e.modulus(b, x, y)
    x_inf = e.is_inf(b, x)
    bad = b.or_(b.and_(x_inf, e.is_inf(b, y)), e.is_nan(b, size))
    infinite, zero = e.is_inf(b, size), e.is_(b, size, "EQ", 0.0)

    def part(v: Any, chosen: Any) -> Any:
        one = e.copysign(b, like(b, 1.0, v), v)
        at_infinity = b.select(chosen, one, like(b, 0.0, v))
        return e.choose(b, e.div(b, v, size), (bad, np.nan), (infinite, at_infinity), (zero, 0.0))

    return b.complex(part(x, x_inf), part(y, b.not_(x_inf)))


def _absolute_jvp(g: Any, ans: Any, x: Any) -> Any:
    if x.dtype.kind == "c":
        return real(multiply_no_nan(g, conjugate(sign(x))))
    return _outwards(g, x)


def _outwards(g: Any, x: Any) -> Any:
    """The direction in which the modulus of a real number grows; 1 for both zeros, as in JAX."""
    return select(greater_equal(x, 0), g, negative(g))


def _sign_jvp(g: Any, ans: Any, x: Any) -> Any:
    """Zero for real numbers. For complex numbers, the part of g perpendicular to x, over the
    modulus. Zero at zero, as for real numbers.
    """
    if x.dtype.kind != "c":
        return None
    across = imag(multiply_no_nan(g, conjugate(ans)))
    modulus = absolute(x)
    size = select(equal(modulus, 0.0), 1.0, modulus)
    return multiply(complex_(0.0, divide(across, size)), ans)


negative = row(
    "negative",
    _negative,
    [lambda g, ans, x: negative(g)],
    transpose=linear(lambda ct, x: negative(ct)),
    cost=MEMORY_BOUND,
)
positive = row(
    "positive",
    _positive,
    [lambda g, ans, x: g],
    transpose=linear(lambda ct, x: ct),
    cost=MEMORY_BOUND,
)
absolute = row("absolute", _absolute, [_absolute_jvp], complex_ulp=2, cost=MEMORY_BOUND)
fabs = row("fabs", e.magnitude, [lambda g, ans, x: _outwards(g, x)], cost=(1.6, 0.0))
sign = row("sign", _sign, [_sign_jvp], complex_ulp=4, cost=MEMORY_BOUND)


# -- integer_power ---------------------------------------------------------------------------------


def _chain(x: Any, exponent: int, times: Any) -> Any:
    """x ** exponent (> 0) by squaring, in the order of NumPy's complex loop."""
    result, square_ = None, x
    while True:
        if exponent & 1:
            result = square_ if result is None else times(result, square_)
        exponent >>= 1
        if not exponent:
            return result
        square_ = times(square_, square_)


def _integer_power_abstract(x: Aval, *, exponent: int) -> Aval:
    if x.dtype.kind == "b" or (exponent < 0 and x.dtype.kind in "iu"):
        raise ValueError("Integers to negative integer powers are not allowed.")
    return aval_of(x.shape, x.dtype, x.weak)


def _integer_power_reference(x: Any, *, exponent: int) -> Any:
    """The same multiplications as in the compiled program; NumPy's own for complex numbers."""
    dtype = np.asarray(x).dtype if type(x) is float or type(x) is int else x.dtype
    if exponent > 1 and dtype.char in "fd":
        return _chain(x, exponent, np.multiply)
    x = np.asarray(x, e.F4 if dtype == e.F2 else dtype)
    if exponent == 0:
        return np.ones(x.shape, dtype)
    if dtype.kind == "c":
        return np.power(x, dtype.type(exponent))
    power = _chain(x, abs(exponent), np.multiply)
    power = np.reciprocal(power) if exponent < 0 else np.positive(power)
    return power.astype(dtype, copy=False)


@in_float32
def _lower_integer_power(b: Any, x: Any, *, exponent: int) -> Any:
    if exponent == 0:
        return like(b, 1, x)
    if kind(x) == "c":
        return _lower_complex_power(b, x, exponent)
    power = _chain(x, abs(exponent), lambda u, v: e.mul(b, u, v))
    return _reciprocal(b, power) if exponent < 0 else power


def _lower_complex_power(b: Any, z: Any, exponent: int) -> Any:
    """As NumPy's loop: a power of zero is 0 + 0j, and of most exponents the first factor is 1."""
    power = _chain(z, abs(exponent), lambda u, v: e.fused_mul(b, u, v))
    one = like(b, 1, z)
    if exponent not in (1, 2, 3):
        power = e.fused_mul(b, one, power)
    if exponent < 0:
        return e.complex_div(b, one, power)
    zero = like(b, 0, z)
    return b.select(b.compare(z, zero, "EQ"), zero, power)


def _integer_power_jvp(g: Any, ans: Any, x: Any, *, exponent: int) -> Any:
    if exponent == 0:
        return None
    is_cube = exponent == 3 and x.dtype.kind == "f"
    slope = square(x) if is_cube else integer_power(x, exponent=exponent - 1)
    return multiply_no_nan(g, multiply(exponent, slope))


integer_power = enter(
    Primitive(
        name="integer_power",
        abstract=_integer_power_abstract,
        reference=_integer_power_reference,
        lower=_lower_integer_power,
        jvp=jvp_of(lambda: integer_power, [_integer_power_jvp]),
        transpose=linear(None),
        batch=batch_of(lambda: integer_power),
        kind="elementwise",
        cost=MEMORY_BOUND,
    )
)
