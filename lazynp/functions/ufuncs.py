"""Universal functions: for each, NumPy's ufunc and the primitive or composition."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, as_operand, new_array
from lazynp._trace import extent, known
from lazynp.functions._recording import apply, as_array
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
    value = extent(exponent) if type(exponent) is list else exponent
    if value is None:
        check_later(e.less(new_array(exponent), 0), ValueError, _NEGATIVE_POWER)
        return e.maximum(y, 0)
    if np.any(np.less(value, 0)):
        raise ValueError(_NEGATIVE_POWER)
    return y


_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


def _kind(operand: Any) -> str:
    k = known(operand)
    return np.dtype(k).kind if isinstance(k, type) else k.dtype.kind


def _power(x: Any, y: Any) -> Any:
    """Use the cheaper forms for constant exponents, the same as NumPy."""
    if type(y) in (int, float) and isinstance(x, Array):
        kind = x.dtype.kind
        if y == 2 and type(y) is int or (y == 2 and kind in "fc"):
            return square(x) if kind != "b" else apply(e.power, x, y)
        if kind in "fc" and y in _CHEAP:
            return _CHEAP[y](x)
        if type(y) is int and kind in "fc" and y in (3, 4):
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


def _modf(x: Any) -> tuple[Any, Any]:
    array = as_array(x)
    if array.dtype.kind in "biu":  # in the floating dtype that holds them, float16 first
        array = apply(e.convert, array, dtype=np.modf.resolve_dtypes((array.dtype, None, None))[0])
    whole = trunc(array)
    part = where_(isinf(array), 0.0, subtract(array, whole))
    return copysign(part, array), whole


def where_(c: Any, x: Any, y: Any) -> Any:
    return apply(e.select, c, x, y)


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    return floor_divide(x, y), remainder(x, y)


def _comparison(name: str, outside: tuple[bool, bool]) -> ufunc:
    primitive = getattr(e, name)
    return ufunc(getattr(np, name), _compare(primitive, outside), fast=primitive)


def _row(name: str, implementation: Any = None) -> ufunc:
    return ufunc(getattr(np, name), implementation or getattr(e, name))


absolute = _row("absolute")
add = _row("add")
arccos = _row("arccos")
arccosh = _row("arccosh")
arcsin = _row("arcsin")
arcsinh = _row("arcsinh")
arctan = _row("arctan")
arctan2 = _row("arctan2")
arctanh = _row("arctanh")
bitwise_and = _row("bitwise_and")
bitwise_count = _row("bitwise_count")
bitwise_or = _row("bitwise_or")
bitwise_xor = _row("bitwise_xor")
cbrt = _row("cbrt")
ceil = _row("ceil")
conjugate = _row("conjugate")
copysign = _row("copysign")
cos = _row("cos")
cosh = _row("cosh")
deg2rad = _row("deg2rad")
degrees = _row("degrees")
divide = _row("divide")
divmod = _row("divmod", _divmod)
equal = _comparison("equal", (False, False))
exp = _row("exp")
exp2 = _row("exp2")
expm1 = _row("expm1")
fabs = _row("fabs")
float_power = _row("float_power")
floor = _row("floor")
floor_divide = _row("floor_divide")
fmax = _row("fmax")
fmin = _row("fmin")
fmod = _row("fmod")
frexp = _row("frexp", _frexp)
gcd = _row("gcd")
greater = _comparison("greater", (True, False))
greater_equal = _comparison("greater_equal", (True, False))
heaviside = _row("heaviside")
hypot = _row("hypot")
invert = _row("invert")
isfinite = _row("isfinite")
isinf = _row("isinf")
isnan = _row("isnan")
lcm = _row("lcm")
ldexp = _row("ldexp")
left_shift = _row("left_shift")
less = _comparison("less", (False, True))
less_equal = _comparison("less_equal", (False, True))
log = _row("log")
log10 = _row("log10")
log1p = _row("log1p")
log2 = _row("log2")
logaddexp = _row("logaddexp")
logaddexp2 = _row("logaddexp2")
logical_and = _row("logical_and")
logical_not = _row("logical_not")
logical_or = _row("logical_or")
logical_xor = _row("logical_xor")
maximum = _row("maximum")
minimum = _row("minimum")
modf = _row("modf", _modf)
multiply = _row("multiply")
negative = _row("negative")
nextafter = _row("nextafter")
not_equal = _comparison("not_equal", (True, True))
positive = _row("positive")
power = _row("power", _power)
rad2deg = _row("rad2deg")
radians = _row("radians")
reciprocal = _row("reciprocal")
remainder = _row("remainder")
right_shift = _row("right_shift")
rint = _row("rint")
sign = _row("sign")
signbit = _row("signbit")
sin = _row("sin")
sinh = _row("sinh")
spacing = _row("spacing")
sqrt = _row("sqrt")
square = _row("square")
subtract = _row("subtract")
tan = _row("tan")
tanh = _row("tanh")
trunc = _row("trunc")

# NumPy's other names for the same functions
abs = absolute
acos, acosh, asin, asinh = arccos, arccosh, arcsin, arcsinh
atan, atan2, atanh = arctan, arctan2, arctanh
bitwise_invert, bitwise_left_shift, bitwise_right_shift = invert, left_shift, right_shift
bitwise_not, conj, mod, pow, true_divide = invert, conjugate, remainder, power, divide

_CHEAP = {1: positive, 0.5: sqrt, -1: reciprocal}
