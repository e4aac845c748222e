"""Shared by the lowerings of elementwise rows: constants, roundings, complex arithmetic, bits.

Every function emits through the builder `b`. x, y, z, w are values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._quiet import quietly

F2, F4, F8, C8, C16 = map(np.dtype, ("f2", "f4", "f8", "c8", "c16"))
BOOL = np.dtype("?")
Lower = Callable[..., Any]


def like(b: Any, value: Any, x: Any) -> Any:
    """A constant with `value` in every element and the aval of x."""
    return b.constant(value, x.aval.dtype, x.aval.shape)


def kind(x: Any) -> str:
    return x.aval.dtype.kind


def bits(x: Any) -> int:
    """The width of the dtype in bits."""
    return 8 * x.aval.dtype.itemsize


def add(b: Any, x: Any, y: Any) -> Any:
    return _added(b, "stablehlo.add", x, y)


def sub(b: Any, x: Any, y: Any) -> Any:
    return _added(b, "stablehlo.subtract", x, y)


def _added(b: Any, name: str, x: Any, y: Any) -> Any:
    """Complex numbers by their parts: XLA's emitters simplify complex z + 0 to z, whose zeros may
    be negative, and (z + w) - w as well.
    """
    if x.aval.dtype.kind != "c":
        known = b.static(x), b.static(y)
        if x.aval.dtype.kind == "f" and None not in known:  # XLA takes 0 + -0.0 for -0.0
            function = np.add if name == "stablehlo.add" else np.subtract
            return like(b, quietly(function, list(map(x.aval.dtype.type, known))), x)
        return b.binary(name, b.hidden(x), b.hidden(y))
    parts = [[b.hidden(part(v)) for v in (x, y)] for part in (b.real, b.imag)]
    return b.complex(*[b.binary(name, u, v) for u, v in parts])


def div(b: Any, x: Any, y: Any) -> Any:
    """x / y. With one divisor for all elements, XLA would divide once and multiply by the
    reciprocal, which rounds twice. It would also turn quotients of quotients into quotients of
    products. Barriers prevent both.
    """
    divisor = b.static(y)
    if not isinstance(divisor, float) or abs(math.frexp(divisor)[0]) != 0.5:
        y = b.barrier(y)
    return b.binary("stablehlo.divide", x if x.fixed else b.barrier(x), y)


def mul(b: Any, x: Any, y: Any) -> Any:
    """x * y; float products are rounded, never contracted to a fused multiply-add."""
    return b.product(x, y) if kind(x) == "f" else b.binary("stablehlo.multiply", x, y)


def kept(b: Any, x: Any) -> Any:
    """x behind a select that the compiler cannot remove, so that its rounding stays."""
    return b.select(is_nan(b, x), like(b, np.nan, x), x)


def times(b: Any, x: Any, factor: float) -> Any:
    return mul(b, x, like(b, factor, x))


def plus(b: Any, x: Any, term: float) -> Any:
    return add(b, x, like(b, term, x))


# Inside of a formula: a product may be fused with an addition, which only saves roundings. The
# guards against that cost as much as the products.


def product(b: Any, x: Any, y: Any) -> Any:
    return b.binary("stablehlo.multiply", x, y)


def scaled(b: Any, x: Any, factor: float) -> Any:
    return product(b, x, like(b, factor, x))


def total(b: Any, *terms: Any) -> Any:
    """Their sum, from left to right."""
    return functools.reduce(functools.partial(b.binary, "stablehlo.add"), terms)


def polynomial(b: Any, x: Any, coefficients: Sequence[float]) -> Any:
    """Horner's scheme, the highest power first."""
    y = like(b, coefficients[0], x)
    for c in coefficients[1:]:
        y = total(b, product(b, y, x), like(b, c, x))
    return y


def or_(b: Any, x: Any, y: Any) -> Any:
    return b.or_(x, y)


def and_(b: Any, x: Any, y: Any) -> Any:
    return b.and_(x, y)


def negate(b: Any, x: Any) -> Any:
    return b.unary("stablehlo.negate", x)


def magnitude(b: Any, x: Any) -> Any:
    """|x| for real x."""
    return b.unary("stablehlo.abs", x)


def sqrt(b: Any, x: Any) -> Any:
    return b.unary("stablehlo.sqrt", x)


def exp(b: Any, x: Any) -> Any:
    return b.unary("stablehlo.exponential", x)


def log(b: Any, x: Any) -> Any:
    return b.unary("stablehlo.log", x)


def is_(b: Any, x: Any, direction: str, value: Any) -> Any:
    """Compare with a constant."""
    return b.compare(x, like(b, value, x), direction)


def is_nan(b: Any, x: Any) -> Any:
    return b.compare(x, x, "NE")


def is_inf(b: Any, x: Any) -> Any:
    return is_(b, magnitude(b, x), "EQ", np.inf)


def choose(b: Any, x: Any, *cases: Any) -> Any:
    """The first value whose condition holds, else x: `choose(b, x, (c, v), ...)`."""
    for condition, value in reversed(cases):
        if not hasattr(value, "aval"):
            value = like(b, value, x)
        x = b.select(condition, value, x)
    return x


# -- floating formats ------------------------------------------------------------------------------


def to_float(b: Any, x: Any, dtype: np.dtype[Any]) -> Any:
    """Convert float to float. Prevents XLA from dropping a rounding to f16 that is converted
    back.
    """
    if x.aval.dtype == dtype:
        return x
    y = b.convert(x, dtype)
    return kept(b, y) if dtype == F2 else y


def in_float32(lower: Lower) -> Lower:
    """float16 as NumPy computes it: in float32, rounded once to float16."""

    @functools.wraps(lower)
    def widened(b: Any, *xs: Any, **params: Any) -> Any:
        if xs[0].aval.dtype != F2:
            return lower(b, *xs, **params)
        out = lower(b, *[b.convert(x, F4) if x.aval.dtype == F2 else x for x in xs], **params)
        return to_float(b, out, F2) if out.aval.dtype == F4 else out

    return widened


def in_float64(lower: Lower) -> Lower:
    """Compute in double precision, where a formula for float32 would be as long and less
    accurate.
    """

    @functools.wraps(lower)
    def widened(b: Any, *xs: Any, **params: Any) -> Any:
        dtype = xs[0].aval.dtype
        wide = C16 if dtype == C8 else F8 if dtype in (F2, F4) else dtype
        if wide == dtype:
            return lower(b, *xs, **params)
        out = lower(b, *[b.convert(x, wide) for x in xs], **params)
        return b.convert(out, dtype) if dtype == C8 else to_float(b, out, dtype)

    return widened


def op(name: str) -> Lower:
    """One StableHLO or CHLO operation on operands of one type; f16 in f32."""

    @in_float32
    def lower(b: Any, *xs: Any) -> Any:
        return b.op(name, *xs, out=xs[0].aval)

    return lower


def as_bits(b: Any, x: Any, signed: bool = False) -> Any:
    """The bits of a float as an integer of its width."""
    dtype = np.dtype(f"{'i' if signed else 'u'}{x.aval.dtype.itemsize}")
    return b.bitcast(x, dtype, x.aval.shape)


def from_bits(b: Any, u: Any) -> Any:
    return b.bitcast(u, np.dtype(f"f{u.aval.dtype.itemsize}"), u.aval.shape)


def copysign(b: Any, x: Any, y: Any) -> Any:
    """The magnitude of x with the sign bit of y."""
    sign_bit = 1 << (bits(x) - 1)
    u, v = as_bits(b, x), as_bits(b, y)
    kept = b.and_(u, like(b, sign_bit - 1, u))
    return from_bits(b, b.or_(kept, b.and_(v, like(b, sign_bit, v))))


def anywhere(b: Any, condition: Any) -> Any:
    """Whether the condition holds for any element: 0-d, for the condition of a loop."""
    axes = tuple(range(condition.aval.ndim))
    if not axes:
        return condition
    init = b.constant(False, BOOL)
    body = lambda b, s, t: [b.or_(s[0], t[0])]  # noqa: E731
    return b.reduce([condition], [init], axes, body, "stablehlo.or")[0]


# -- complex arithmetic ----------------------------------------------------------------------------


def parts(b: Any, z: Any) -> tuple[Any, Any]:
    return b.real(z), b.imag(z)


def complex_mul(b: Any, z: Any, w: Any) -> Any:
    """The plain formula, as in C."""
    (x, y), (u, v) = parts(b, z), parts(b, w)
    re = sub(b, mul(b, x, u), mul(b, y, v))
    return b.complex(re, add(b, mul(b, x, v), mul(b, y, u)))


def fused_mul(b: Any, z: Any, w: Any) -> Any:
    """As NumPy's loops multiply arrays: where the processor can, one product of each part is not
    rounded.
    """
    return b.product(z, w)


def _middle(b: Any, u: Any, v: Any) -> tuple[Any, Any, Any]:
    """A divisor scaled by a power of two, and that power: its reciprocal is a normal number.
    Compiled programs flush others to zero.
    """
    size = b.binary("stablehlo.maximum", magnitude(b, u), magnitude(b, v))
    top = np.finfo(u.aval.dtype).maxexp
    cases = [(is_(b, size, "GT", 2.0 ** (top - 4)), 2.0 ** -(top // 4))]
    cases += [(is_(b, size, "LT", 2.0 ** (6 - top * 3 // 4)), 2.0 ** (top // 4))]
    power = choose(b, like(b, 1.0, u), *cases)
    return mul(b, u, power), mul(b, v, power), power


def complex_div(b: Any, z: Any, w: Any) -> Any:
    """Smith's algorithm, in NumPy's order of operations."""
    (x, y), (u, v) = parts(b, z), parts(b, w)
    u, v, power = _middle(b, u, v)
    au, av = magnitude(b, u), magnitude(b, v)
    wide = b.compare(au, av, "GE")
    big, small = b.select(wide, u, v), b.select(wide, v, u)
    ratio = div(b, small, big)
    below = add(b, big, mul(b, small, ratio))
    scale = div(b, like(b, 1.0, u), below)
    # in NumPy's order, `below` itself may overflow
    top = np.finfo(u.aval.dtype).maxexp
    over = is_(b, magnitude(b, below), "GE", 2.0 ** (top - top // 4))
    nothing = copysign(b, like(b, 0.0, u), below)
    scale = choose(b, scale, (and_(b, over, is_(b, power, "LT", 1.0)), nothing))
    xr, yr = mul(b, x, ratio), mul(b, y, ratio)
    re = b.select(wide, add(b, x, yr), add(b, xr, y))
    im = b.select(wide, sub(b, y, xr), sub(b, yr, x))
    zero = b.and_(is_(b, au, "EQ", 0.0), is_(b, av, "EQ", 0.0))
    re = b.select(zero, div(b, x, au), mul(b, mul(b, re, scale), power))
    return b.complex(re, b.select(zero, div(b, y, au), mul(b, mul(b, im, scale), power)))


def complex_reciprocal(b: Any, z: Any) -> Any:
    """1/z as NumPy computes it."""
    x, y, power = _middle(b, *parts(b, z))
    wide = b.compare(magnitude(b, y), magnitude(b, x), "LE")
    big, small = b.select(wide, x, y), b.select(wide, y, x)
    ratio = div(b, small, big)
    d = add(b, big, mul(b, small, ratio))
    one = like(b, 1.0, x)
    re = div(b, b.select(wide, one, ratio), d)
    im = div(b, b.select(wide, negate(b, ratio), like(b, -1.0, x)), d)
    return b.complex(mul(b, re, power), mul(b, im, power))


def modulus(b: Any, x: Any, y: Any) -> Any:
    """hypot without overflow: inf if either is inf, even beside a nan."""
    ax, ay = magnitude(b, x), magnitude(b, y)
    infinite = b.or_(is_(b, ax, "EQ", np.inf), is_(b, ay, "EQ", np.inf))
    big = b.binary("stablehlo.maximum", ax, ay)
    small = b.binary("stablehlo.minimum", ax, ay)
    ratio = div(b, small, big)
    r = mul(b, big, sqrt(b, plus(b, mul(b, ratio, ratio), 1.0)))
    return choose(b, r, (infinite, np.inf), (is_(b, big, "EQ", 0.0), 0.0))
