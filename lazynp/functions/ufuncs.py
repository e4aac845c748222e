"""Universal functions: each a line that names its primitive, and a docstring for editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazynp._array import Array, as_operand, new_array
from lazynp._primitive import Primitive
from lazynp._recorder import known
from lazynp._ufunc_loops import resolve_dtypes
from lazynp._values import extent
from lazynp.functions._eager import by_numpy
from lazynp.functions._host import host_call, needs_host
from lazynp.functions._operands import as_array
from lazynp.functions._recording import apply
from lazynp.functions._ufunc import ufunc
from lazynp.primitives import elementwise as e
from lazynp.primitives.checks import check_later


def _exponent(x: Any, y: Any) -> Any:
    """In NumPy, a negative integer power of integers is an error. Look for one in the data if they
    are available; in a traced function, check in the call.
    """
    base, exponent = as_operand(x), as_operand(y)
    if _kind(base) not in "biu" or _kind(exponent) != "i":
        return y
    if _kind(base) == "u" and type(exponent) is int:
        return y  # negative, it does not fit the dtype of the base: OverflowError
    if type(base) is int and not _fits(base, exponent):
        return y  # nor does the base
    if _are_floats(known(base), known(exponent)):
        return y  # uint64 and a signed integer
    value = extent(exponent) if type(exponent) is list else exponent
    if value is None:
        check_later(e.less(new_array(exponent), 0), ValueError, _NEGATIVE_POWER)
        return e.maximum(y, 0)
    nothing = type(base) is list and 0 in known(base).shape
    if np.any(np.less(value, 0)) and not nothing:
        raise ValueError(_NEGATIVE_POWER)
    return y


_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


def _fits(number: int, operand: Any) -> bool:
    kind = known(operand)
    if isinstance(kind, type):
        return True
    info = np.iinfo(kind.dtype)
    return info.min <= number <= info.max


def _are_floats(base: Any, exponent: Any) -> bool:
    """Whether NumPy computes with integers of these kinds in floating point."""
    if isinstance(base, type) or isinstance(exponent, type) or base.weak or exponent.weak:
        return False
    return np.result_type(base.dtype, exponent.dtype).kind == "f"


def _kind(operand: Any) -> str:
    k = known(operand)
    return np.dtype(k).kind if isinstance(k, type) else k.dtype.kind


def _power(x: Any, y: Any) -> Any:
    """Use the cheaper forms for constant exponents, the same as NumPy."""
    if type(y) in (int, float) and isinstance(x, Array):
        kind = x.dtype.kind
        if y == 2 and type(y) is int or (y == 2 and kind in "fc"):
            return apply(e.square, x) if kind not in "bO" else apply(e.power, x, y)
        # a complex z ** 1 and z ** -1.0 have other zeros than z and 1/z
        cheap = y in _CHEAP and (kind == "f" or kind == "c" and (y == 0.5 or repr(y) == "-1"))
        if cheap:
            return apply(_CHEAP[y], x)
        if kind == "c" and y in (-1, 1, 3, 4) and x.dtype.isnative:
            return apply(e.integer_power, x, exponent=int(y))
        if type(y) is int and kind == "f" and y in (3, 4) and x.dtype.isnative:
            return apply(e.integer_power, x, exponent=y)
    return apply(e.power, x, _exponent(x, y))


def _compare(primitive: Any, outside: tuple[bool, bool]) -> Any:
    """Comparisons accept Python ints beyond the dtype's range: `outside` is (below, above)."""

    def compare(x: Any, y: Any) -> Any:
        try:
            return apply(primitive, x, y)
        except OverflowError:
            pass
        flipped = type(x) is int
        array, number = (as_array(y), x) if flipped else (as_array(x), y)
        above = number > 0  # the number is above every element
        result = outside[1 if above != flipped else 0]
        if primitive in (e.equal, e.not_equal):
            result = outside[0]
        zero = apply(e.not_equal, array, array)
        return apply(e.logical_or, zero, True) if result else apply(e.logical_and, zero, False)

    return compare


def _frexp(x: Any) -> tuple[Any, Any]:
    return apply(e.frexp_mantissa, x), apply(e.frexp_exponent, x)


def _isnat(x: Any) -> Any:
    return host_call(np.isnat, x)


def _modf(x: Any) -> tuple[Any, Any]:
    array = as_array(x)
    if needs_host(array) or array.dtype.kind == "c":  # the latter is NumPy's error
        return host_call(np.modf, array if array.dtype.kind != "c" else np.empty(0, array.dtype))
    if array.dtype.kind in "biu":  # in the floating dtype that holds them, float16 first
        array = apply(e.convert, array, dtype=resolve_dtypes(np.modf, (array.dtype, None, None))[0])
    whole, sign = trunc(array), copysign(1.0, array)
    # of the distances: a zero gets its sign, and the slope stays 1, as copysign's at 0 is not
    part = where_(isinf(array), 0.0, subtract(multiply(sign, array), absolute(whole)))
    return multiply(sign, part), whole


def where_(c: Any, x: Any, y: Any) -> Any:
    return apply(e.select, c, x, y)


@by_numpy(np.divmod)  # whose warnings name it
def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    xs = as_array(x), as_array(y)
    if needs_host(*xs):
        return host_call(np.divmod, x, y)  # numbers of Python's take the array's dtype
    if any(v.dtype.kind == "c" for v in xs):
        np.divmod(*[np.ones((), v.dtype) for v in xs])  # NumPy's error
    return floor_divide(x, y), remainder(x, y)


if TYPE_CHECKING:  # the signatures, which an editor shows

    class _Unary(ufunc):
        def __call__(
            self, x: Any, /, out: Any = None, *, where: Any = True, casting: Any = "same_kind",
            order: Any = "K", dtype: Any = None, subok: bool = True, signature: Any = None,
        ) -> Any:  # fmt: skip
            """Element by element, as NumPy's function of that name."""

    class _Binary(ufunc):
        def __call__(
            self, x1: Any, x2: Any, /, out: Any = None, *, where: Any = True,
            casting: Any = "same_kind", order: Any = "K", dtype: Any = None, subok: bool = True,
            signature: Any = None,
        ) -> Any:  # fmt: skip
            """Element by element of the operands, broadcast, as NumPy's function of that name."""

else:
    _Unary = _Binary = ufunc


def _unary(primitive: Primitive) -> _Unary:
    return _Unary(getattr(np, primitive.name), primitive)


def _binary(primitive: Primitive, implementation: Any = None) -> _Binary:
    return _Binary(getattr(np, primitive.name), implementation or primitive)


def _comparison(primitive: Primitive, outside: tuple[bool, bool]) -> _Binary:
    return _Binary(getattr(np, primitive.name), _compare(primitive, outside), fast=primitive)


absolute = _unary(e.absolute)
"""|x|, of complex numbers the modulus."""
add = _binary(e.add)
"""x1 + x2."""
arccos = _unary(e.arccos)
"""The angle in [0, pi] whose cosine is x."""
arccosh = _unary(e.arccosh)
"""The inverse of the hyperbolic cosine."""
arcsin = _unary(e.arcsin)
"""The angle in [-pi/2, pi/2] whose sine is x."""
arcsinh = _unary(e.arcsinh)
"""The inverse of the hyperbolic sine."""
arctan = _unary(e.arctan)
"""The angle in [-pi/2, pi/2] whose tangent is x."""
arctan2 = _binary(e.arctan2)
"""The angle of the point (x2, x1), in [-pi, pi]."""
arctanh = _unary(e.arctanh)
"""The inverse of the hyperbolic tangent."""
bitwise_and = _binary(e.bitwise_and)
"""x1 & x2."""
bitwise_count = _unary(e.bitwise_count)
"""How many bits of |x| are set."""
bitwise_or = _binary(e.bitwise_or)
"""x1 | x2."""
bitwise_xor = _binary(e.bitwise_xor)
"""x1 ^ x2."""
cbrt = _unary(e.cbrt)
"""The cube root."""
ceil = _unary(e.ceil)
"""The least whole number not below x."""
conjugate = _unary(e.conjugate)
"""The complex conjugate."""
copysign = _binary(e.copysign)
"""|x1| with the sign of x2."""
cos = _unary(e.cos)
"""The cosine."""
cosh = _unary(e.cosh)
"""The hyperbolic cosine."""
deg2rad = _unary(e.deg2rad)
"""Degrees in radians."""
degrees = _unary(e.degrees)
"""Radians in degrees."""
divide = _binary(e.divide)
"""x1 / x2."""
divmod = _Binary(np.divmod, _divmod)
"""(x1 // x2, x1 % x2)."""
equal = _comparison(e.equal, (False, False))
"""x1 == x2."""
exp = _unary(e.exp)
"""e to the power of x."""
exp2 = _unary(e.exp2)
"""2 to the power of x."""
expm1 = _unary(e.expm1)
"""exp(x) - 1, accurate near 0."""
fabs = _unary(e.fabs)
"""|x| as a floating-point number."""
float_power = _binary(e.float_power)
"""x1 to the power of x2, in double precision at least."""
floor = _unary(e.floor)
"""The greatest whole number not above x."""
floor_divide = _binary(e.floor_divide)
"""x1 // x2."""
fmax = _binary(e.fmax)
"""The larger of both; a number rather than nan."""
fmin = _binary(e.fmin)
"""The smaller of both; a number rather than nan."""
fmod = _binary(e.fmod)
"""The remainder with the sign of x1, as in C."""
frexp = _Unary(np.frexp, _frexp)
"""(mantissa, exponent): x is mantissa * 2**exponent."""
gcd = _binary(e.gcd)
"""The greatest common divisor."""
greater = _comparison(e.greater, (True, False))
"""x1 > x2."""
greater_equal = _comparison(e.greater_equal, (True, False))
"""x1 >= x2."""
heaviside = _binary(e.heaviside)
"""0 where x1 is negative, x2 where it is 0, else 1."""
hypot = _binary(e.hypot)
"""sqrt(x1**2 + x2**2) without overflow."""
invert = _unary(e.invert)
"""~x, bit by bit; of booleans, not x."""
isfinite = _unary(e.isfinite)
"""Whether x is neither infinite nor nan."""
isinf = _unary(e.isinf)
"""Whether x is infinite."""
isnan = _unary(e.isnan)
"""Whether x is nan."""
isnat = _Unary(np.isnat, _isnat)
"""Whether x, a date or a duration, is no time."""
lcm = _binary(e.lcm)
"""The least common multiple."""
ldexp = _binary(e.ldexp)
"""x1 * 2**x2."""
left_shift = _binary(e.left_shift)
"""x1 << x2."""
less = _comparison(e.less, (False, True))
"""x1 < x2."""
less_equal = _comparison(e.less_equal, (False, True))
"""x1 <= x2."""
log = _unary(e.log)
"""The natural logarithm."""
log10 = _unary(e.log10)
"""The logarithm to base 10."""
log1p = _unary(e.log1p)
"""log(1 + x), accurate near 0."""
log2 = _unary(e.log2)
"""The logarithm to base 2."""
logaddexp = _binary(e.logaddexp)
"""log(exp(x1) + exp(x2)) without overflow."""
logaddexp2 = _binary(e.logaddexp2)
"""log2(2**x1 + 2**x2) without overflow."""
logical_and = _binary(e.logical_and)
"""x1 and x2."""
logical_not = _unary(e.logical_not)
"""not x."""
logical_or = _binary(e.logical_or)
"""x1 or x2."""
logical_xor = _binary(e.logical_xor)
"""Whether one of both is true, but not the other."""
maximum = _binary(e.maximum)
"""The larger of both; nan if one of them is."""
minimum = _binary(e.minimum)
"""The smaller of both; nan if one of them is."""
modf = _Unary(np.modf, _modf)
"""(fractional part, whole part), both with the sign of x."""
multiply = _binary(e.multiply)
"""x1 * x2."""
negative = _unary(e.negative)
"""-x."""
nextafter = _binary(e.nextafter)
"""The floating-point number after x1 on the way to x2."""
not_equal = _comparison(e.not_equal, (True, True))
"""x1 != x2."""
positive = _unary(e.positive)
"""+x, a copy."""
power = _binary(e.power, _power)
"""x1 ** x2."""
rad2deg = _unary(e.rad2deg)
"""Radians in degrees."""
radians = _unary(e.radians)
"""Degrees in radians."""
reciprocal = _unary(e.reciprocal)
"""1 / x."""
remainder = _binary(e.remainder)
"""x1 % x2, with the sign of x2."""
right_shift = _binary(e.right_shift)
"""x1 >> x2."""
rint = _unary(e.rint)
"""The nearest whole number; the even one of two."""
sign = _unary(e.sign)
"""-1, 0 or 1; of a complex number x / |x|."""
signbit = _unary(e.signbit)
"""Whether the sign is minus, also of -0.0."""
sin = _unary(e.sin)
"""The sine."""
sinh = _unary(e.sinh)
"""The hyperbolic sine."""
spacing = _unary(e.spacing)
"""The distance to the next floating-point number."""
sqrt = _unary(e.sqrt)
"""The square root."""
square = _unary(e.square)
"""x * x."""
subtract = _binary(e.subtract)
"""x1 - x2."""
tan = _unary(e.tan)
"""The tangent."""
tanh = _unary(e.tanh)
"""The hyperbolic tangent."""
trunc = _unary(e.trunc)
"""The whole part of x."""

# NumPy's other names for the same functions
abs = absolute
acos = arccos
acosh = arccosh
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
bitwise_invert = bitwise_not = invert
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift
conj = conjugate
mod = remainder
pow = power
true_divide = divide

_CHEAP = {1: e.positive, 0.5: e.sqrt, -1: e.reciprocal}
