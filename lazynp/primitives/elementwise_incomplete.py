"""Incomplete gamma functions: a series, a continued fraction, and Temme's expansion.

With D = x^a exp(-x) / gamma(a + 1),

P(a, x) = D (1 + x/(a+1) + x^2/((a+1)(a+2)) + ...)                  for x <= a + 1 Q(a, x) = a D /
(x+1-a - 1(1-a) / (x+3-a - 2(2-a) / (x+5-a - ...))) beyond: Lentz's method

For a > 1e5 both would take thousands of steps. There they are error functions of eta sqrt(a/2) with
corrections (Temme 1979, DLMF 8.12), where eta^2 / 2 = x/a - 1 - log(x/a).

Derivatives with respect to `a` are computed alongside. The derivative with respect to x is the
density, with respect to a it is `gammainc_slope`, and further ones are `gammainc_slopes`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._primitive import NOT_LINEAR, Primitive, host_only
from lazynp._quiet import quietly
from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_arithmetic import (
    add,
    multiply,
    multiply_no_nan,
    negative,
    subtract,
)
from lazynp.primitives.elementwise_emit import F8, is_, like
from lazynp.primitives.elementwise_factory import batch_of, jvp_of, loop_dtypes, made_explicit
from lazynp.primitives.elementwise_formulas import log1p as emit_log1p
from lazynp.primitives.elementwise_gamma import (
    LARGE,
    digamma,
    emit_gamma,
    lgamma,
    polygamma,
    stirling_rest,
)
from lazynp.primitives.elementwise_incomplete_host import (
    C0,
    C1,
    EPS,
    EULER,
    HALF_SQUARE,
    HUGE,
    STEPS,
    ZETA_SERIES,
    slope as slope_on_host,
    slopes as slopes_on_host,
)
from lazynp.primitives.elementwise_special import (
    ROOT_TWO_PI,
    special_row,
    xlogy,
)
from lazynp.primitives.elementwise_transcendental import exp, log


def _prefactor(b: Any, a: Any, x: Any) -> Any:
    """x^a exp(-x) / gamma(a + 1), for large a by Stirling's formula; nothing overflows."""
    low = e.choose(b, x, (is_(b, x, "GT", 800.0), 800.0))  # exp(-800) is 0
    few = e.choose(b, a, (is_(b, a, "GE", float(LARGE)), 1.0))
    power = b.binary("stablehlo.power", low, few)
    small = e.mul(b, power, e.exp(b, e.negate(b, low)))
    small = e.div(b, small, emit_gamma(b, e.plus(b, few, 1.0)))
    many = e.choose(b, a, (is_(b, a, "LT", float(LARGE)), float(LARGE)))
    u = e.div(b, e.sub(b, x, many), many)
    log_ratio = b.select(is_(b, u, "LT", -0.5), e.log(b, e.div(b, x, many)), emit_log1p(b, u))
    exponent = e.sub(b, e.mul(b, many, e.sub(b, log_ratio, u)), stirling_rest(b, many))
    large = e.div(b, e.exp(b, exponent), e.times(b, e.sqrt(b, many), ROOT_TWO_PI))
    return b.select(is_(b, a, "LT", float(LARGE)), small, large)


def _iterated(b: Any, step: Any, state: list[Any]) -> list[Any]:
    """`step(b, k, state) -> (what continues, state)` until nothing does. k is 1, 2, ...

    state[0] says which elements still change; the others keep their state.
    """
    shape = state[1].aval.shape

    def goes_on(b: Any, s: list[Any]) -> Any:
        within = b.compare(s[0], b.constant(float(STEPS), F8), "LT")
        return b.and_(within, e.anywhere(b, s[1]))

    def body(b: Any, s: list[Any]) -> list[Any]:
        k = b.op("stablehlo.add", s[0], b.constant(1.0, F8), out=s[0].aval)
        moves, new = step(b, b.splat(k, shape), s[2:])
        kept = [b.select(s[1], n, o) for n, o in zip(new, s[2:], strict=True)]
        return [k, b.and_(s[1], moves), *kept]

    return b.while_loop(goes_on, body, [b.constant(0.0, F8), *state])[2:]


def _series(b: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """The sum, and its derivative with respect to a."""

    def step(b: Any, k: Any, s: list[Any]) -> tuple[Any, list[Any]]:
        term, log_slope, total, slope = s
        place = e.add(b, a, k)
        term = e.mul(b, term, e.div(b, x, place))
        log_slope = e.sub(b, log_slope, e.div(b, like(b, 1.0, a), place))
        total, added = e.add(b, total, term), e.mul(b, term, log_slope)
        moves = b.compare(e.magnitude(b, added), e.times(b, total, EPS), "GT")
        moves = b.or_(moves, b.compare(term, e.times(b, total, EPS), "GT"))
        return moves, [term, log_slope, total, e.add(b, slope, added)]

    one, zero = like(b, 1.0, a), like(b, 0.0, a)
    return tuple(_iterated(b, step, [is_(b, x, "GT", 0.0), one, zero, one, zero])[2:])


def _fraction(b: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """The continued fraction, and the derivative of its logarithm with respect to a."""
    one, zero = like(b, 1.0, a), like(b, 0.0, a)

    def step(b: Any, k: Any, s: list[Any]) -> tuple[Any, list[Any]]:
        base, c, c_slope, d, d_slope, value, log_slope = s
        base = e.plus(b, base, 2.0)
        top = e.mul(b, k, e.sub(b, a, k))  # its derivative is k, that of base is -1
        ratio = e.div(b, top, c)
        c_slope = e.sub(b, e.div(b, e.sub(b, k, e.mul(b, ratio, c_slope)), c), one)
        c = e.add(b, base, ratio)
        inverse = e.sub(b, e.add(b, e.mul(b, k, d), e.mul(b, top, d_slope)), one)
        d = e.div(b, one, e.add(b, e.mul(b, top, d), base))
        d_slope = e.negate(b, e.mul(b, e.mul(b, d, d), inverse))
        factor = e.mul(b, c, d)
        more = e.add(b, e.div(b, c_slope, c), e.div(b, d_slope, d))
        value, log_slope = e.mul(b, value, factor), e.add(b, log_slope, more)
        size = e.add(b, e.magnitude(b, e.sub(b, factor, one)), e.magnitude(b, more))
        return is_(b, size, "GT", EPS), [base, c, c_slope, d, d_slope, value, log_slope]

    base = e.plus(b, e.sub(b, x, a), 1.0)
    first = e.div(b, one, base)
    huge = like(b, 1e300, a)
    state = [b.compare(a, a, "EQ"), base, huge, zero, first, e.mul(b, first, first), first, first]
    return tuple(_iterated(b, step, state)[5:])


def _log_gamma_of_more_than_one(b: Any, a: Any) -> Any:
    """log(gamma(1 + a)) for 0 <= a <= 1/2; relatively accurate for small a."""
    series = e.mul(b, e.mul(b, a, a), e.polynomial(b, e.negate(b, a), ZETA_SERIES[::-1]))
    return e.add(b, e.sub(b, e.times(b, a, 1 - EULER), emit_log1p(b, a)), series)


def _small_tail(b: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """Where Q is a small difference from 1, and its value there: expm1 gives 1 - x^a / gamma(1 +
    a).

    The rest is a sum of (-x)^n / ((a + n) n!), x <= 1.1, as in SciPy.
    """
    log_x = e.log(b, x)
    bound = b.select(is_(b, x, "LE", 0.5), e.div(b, like(b, -0.4, x), log_x), e.times(b, x, 1.1))
    here = b.and_(is_(b, x, "LE", 1.1), b.compare(a, bound, "LE"))
    small = e.choose(b, a, (is_(b, a, "GT", 0.5), 0.5))
    log_gamma = b.select(
        is_(b, a, "LE", 0.5),
        _log_gamma_of_more_than_one(b, small),
        b.unary("chlo.lgamma", e.plus(b, a, 1.0)),
    )
    lead = e.sub(b, e.mul(b, a, log_x), log_gamma)
    power, total = like(b, 1.0, x), like(b, 0.0, x)
    for n in range(1, 21):
        power = e.mul(b, power, e.times(b, x, -1.0 / n))
        total = e.add(b, total, e.div(b, power, e.plus(b, a, float(n))))
    rest = e.mul(b, e.mul(b, e.exp(b, lead), a), total)
    return here, e.sub(b, e.negate(b, b.unary("stablehlo.exponential_minus_one", lead)), rest)


def _temme(b: Any, a: Any, x: Any) -> tuple[Any, Any, Any]:
    """P, Q, and the derivative of P with respect to a, for a > 1e5."""
    mu = e.div(b, e.sub(b, x, a), a)
    close = is_(b, e.magnitude(b, mu), "LT", 0.05)
    near = b.select(close, mu, like(b, 0.0, mu))
    by_series = e.mul(b, e.mul(b, near, near), e.polynomial(b, near, HALF_SQUARE))
    log_ratio = emit_log1p(b, mu)
    half = b.select(close, by_series, e.sub(b, mu, log_ratio))
    eta = e.copysign(b, e.sqrt(b, e.times(b, half, 2.0)), mu)
    z = e.copysign(b, e.sqrt(b, e.mul(b, a, half)), mu)
    bounded = b.op("stablehlo.clamp", like(b, -0.2, eta), eta, like(b, 0.2, eta), out=eta.aval)
    c0 = e.add(b, e.polynomial(b, bounded, C0), e.div(b, e.polynomial(b, bounded, C1), a))
    density = e.exp(b, e.negate(b, e.mul(b, a, half)))
    density = e.div(b, density, e.times(b, e.sqrt(b, a), ROOT_TWO_PI))
    rest = e.mul(b, density, c0)
    p = e.sub(b, e.times(b, b.unary("chlo.erfc", e.negate(b, z)), 0.5), rest)
    q = e.add(b, e.times(b, b.unary("chlo.erfc", z), 0.5), rest)
    equal = is_(b, mu, "EQ", 0.0)
    of_log = e.choose(b, e.div(b, log_ratio, eta), (equal, 1.0))
    shift = e.sub(b, log_ratio, e.div(b, like(b, 0.5, a), a))
    of_c0 = e.times(b, e.choose(b, e.div(b, mu, eta), (equal, 1.0)), 1 / 12)
    slope = e.sub(b, e.add(b, of_log, e.mul(b, c0, shift)), e.div(b, of_c0, a))
    dead = is_(b, density, "EQ", 0.0)
    return p, q, e.choose(b, e.negate(b, e.mul(b, density, slope)), (dead, 0.0))


def _all(b: Any, a: Any, x: Any) -> tuple[Any, Any, Any]:
    """P, Q and dP/da for positive finite a and x; each element by the method that suits it."""
    huge = is_(b, a, "GT", HUGE)
    mild = e.choose(b, a, (huge, 1.0))
    below = b.compare(x, e.plus(b, mild, 1.0), "LE")
    in_series = e.choose(b, x, (b.or_(huge, b.not_(below)), 0.0))
    far = e.choose(b, x, (b.or_(huge, below), e.plus(b, mild, 2.0)), (is_(b, x, "GT", 1e10), 1e10))
    total, total_slope = _series(b, mild, in_series)
    value, log_slope = _fraction(b, mild, far)
    front = _prefactor(b, mild, x)
    psi = b.unary("chlo.digamma", e.plus(b, mild, 1.0))
    log_x = e.log(b, x)
    p, tail = e.mul(b, front, total), e.mul(b, e.mul(b, front, mild), value)
    one = like(b, 1.0, a)
    p_slope = e.mul(b, p, e.sub(b, log_x, psi))
    p_slope = e.add(b, p_slope, e.mul(b, front, total_slope))
    growth = e.add(b, e.sub(b, log_x, psi), e.add(b, log_slope, e.div(b, one, mild)))
    q_slope = e.negate(b, e.mul(b, tail, growth))
    temme_p, temme_q, temme_slope = _temme(b, e.choose(b, a, (b.not_(huge), 1e6)), x)
    here, small_tail = _small_tail(b, mild, x)
    return (
        b.select(huge, temme_p, b.select(below, p, e.sub(b, one, tail))),
        e.choose(b, tail, (huge, temme_q), (here, small_tail), (below, e.sub(b, one, p))),
        b.select(huge, temme_slope, b.select(below, p_slope, q_slope)),
    )


def _lower(which: int, at_zero: float, at_infinity: float) -> Any:
    """The edges: x = 0 and a = inf; x = inf and a = 0. Undefined where both hold."""

    def lower(b: Any, a: Any, x: Any) -> Any:
        regular = b.and_(is_(b, a, "GT", 0.0), is_(b, a, "LT", np.inf))
        regular = b.and_(regular, b.and_(is_(b, x, "GT", 0.0), is_(b, x, "LT", np.inf)))
        one = like(b, 1.0, a)
        value = _all(b, b.select(regular, a, one), b.select(regular, x, one))[which]
        a_end = b.or_(is_(b, a, "EQ", 0.0), is_(b, x, "EQ", np.inf))
        x_end = b.or_(is_(b, x, "EQ", 0.0), is_(b, a, "EQ", np.inf))
        bad = b.or_(b.not_(is_(b, a, "GE", 0.0)), b.not_(is_(b, x, "GE", 0.0)))
        bad = b.or_(bad, b.and_(a_end, x_end))
        return e.choose(
            b, value, (bad, np.nan), (regular, value), (x_end, at_zero), (a_end, at_infinity)
        )

    return lower


def _density(a: Any, x: Any) -> Any:
    """dP/dx = x^(a-1) exp(-x) / gamma(a), at x = 0 too."""
    return exp(subtract(subtract(xlogy(subtract(a, 1.0), x), x), lgamma(a)))


def _density_by_shape(order: int, a: Any, x: Any) -> Any:
    """The derivative of this order by a of dP/dx: that of an exponential, by those of its exponent
    (Bell's polynomials).
    """
    density = _density(a, x)
    found = [density]
    moved = [subtract(log(x), digamma(a))]
    moved += [negative(polygamma(float(n), a)) for n in range(1, order)]
    for n in range(order):
        terms = [
            multiply(math.comb(n, k) * 1.0, multiply(moved[k], found[n - k])) for k in range(n + 1)
        ]
        found.append(functools.reduce(add, terms))
    return found[order]


gammainc = special_row(
    "gammainc",
    _lower(0, 0.0, 1.0),
    [
        lambda g, ans, a, x: multiply_no_nan(g, gammainc_slope(a, x)),
        lambda g, ans, a, x: multiply_no_nan(g, _density(a, x)),
    ],
    "gammainc",
    4096,
    cost=(220.0, 1900.0),
)
gammaincc = special_row(
    "gammaincc",
    _lower(1, 1.0, 0.0),
    [
        lambda g, ans, a, x: negative(multiply_no_nan(g, gammainc_slope(a, x))),
        lambda g, ans, a, x: negative(multiply_no_nan(g, _density(a, x))),
    ],
    "gammaincc",
    8192,
    cost=(165.0, 7400.0),
)
gammainc_slope = special_row(
    "gammainc_slope",
    _lower(2, 0.0, 0.0),
    [
        lambda g, ans, a, x: multiply_no_nan(g, gammainc_slopes(a, x, order=2, effect=False)),
        lambda g, ans, a, x: multiply_no_nan(g, _density_by_shape(1, a, x)),
    ],
    slope_on_host,
    4096,
    scale=1e-3,
    cost=(7000.0, 3900.0),
)


def _slopes_jvp(g: Any, ans: Any, a: Any, x: Any, order: int, effect: bool) -> Any:
    return multiply_no_nan(g, gammainc_slopes(a, x, order=order + 1, effect=effect))


def _slopes_abstract(a: Aval, x: Aval, order: int, effect: bool) -> Aval:
    return aval_of(a.shape, a.dtype, a.weak and x.weak)


def _slopes_explicit(ins: Any, params: Any) -> Any:
    return made_explicit(ins, loop_dtypes(np.arctan2, ins))


def _slopes_reference(a: Any, x: Any, order: int, effect: bool) -> Any:
    dtype = np.asarray(a).dtype
    wide = [np.asarray(v, np.float64) for v in (a, x)]
    return quietly(lambda a, x: np.asarray(slopes_on_host(order)(a, x)).astype(dtype), wide)


# d^n P(a, x) / da^n for n >= 2
gammainc_slopes: Primitive = Primitive(
    "gammainc_slopes",
    abstract=_slopes_abstract,
    explicit=_slopes_explicit,
    reference=_slopes_reference,
    lower=host_only("NumPy sums its series, on the host"),
    jvp=jvp_of(
        lambda: gammainc_slopes,
        [
            _slopes_jvp,
            lambda g, ans, a, x, order, effect: multiply_no_nan(g, _density_by_shape(order, a, x)),
        ],
    ),
    transpose=NOT_LINEAR,
    batch=batch_of(lambda: gammainc_slopes),
    kind="host",
)
