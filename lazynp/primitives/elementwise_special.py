"""Error functions, the normal and the logistic distribution, entropies. References: SciPy's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import SCALAR_DTYPES
from lazynp._cost import Cost
from lazynp._later import scipy_special
from lazynp._primitive import Primitive
from lazynp._quiet import quietly
from lazynp._ufunc_loops import resolve_dtypes
from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_arithmetic import (
    add,
    multiply,
    multiply_no_nan,
    negative,
    square,
    subtract,
    xdivy,
)
from lazynp.primitives.elementwise_emit import in_float64, is_, like
from lazynp.primitives.elementwise_factory import Formula, row
from lazynp.primitives.elementwise_formulas import log1p as emit_log1p
from lazynp.primitives.elementwise_transcendental import exp, log, log1p

ROOT_PI = math.sqrt(math.pi)
ROOT_TWO_PI = math.sqrt(2 * math.pi)
_ORACLES = {1: np.cbrt, 2: np.arctan2}  # ufuncs with loops for real numbers


def special_row(
    name: str,
    lower: Any,
    formulas: Formula | Sequence[Formula],
    of_scipy: str | Callable[..., Any],
    ulp: float,
    scale: float = 0.0,
    *,
    cost: Cost,
) -> Primitive:
    """A real function of one or two real variables, computed in float64."""
    given = [formulas] if callable(formulas) else list(formulas or [None])
    oracle = _ORACLES[len(given)]

    def reference(*xs: Any) -> Any:
        kinds = [type(x) if type(x) in SCALAR_DTYPES else x.dtype for x in xs]  # weak: Python's
        dtype = resolve_dtypes(oracle, (*kinds, None))[-1]
        xs = tuple([np.asarray(x) for x in xs])
        function = getattr(scipy_special, of_scipy) if isinstance(of_scipy, str) else of_scipy
        return quietly(lambda *xs: np.asarray(function(*xs)).astype(dtype),
                       [x.astype(np.float64) for x in xs])  # fmt: skip

    return row(
        name,
        in_float64(lower),
        given,
        cost=cost,
        ufunc=oracle,
        reference=reference,
        ulp=ulp,
        scale=scale,
    )


def no_formula(name: str, by: str) -> Formula:
    """For a derivative that is not implemented: raises, rather than returning zero."""

    def formula(*_: Any) -> Any:
        raise TypeError(f"{name}: no derivative by {by} is implemented; stop_gradient({by})")

    return formula


# -- error functions -------------------------------------------------------------------------------


def _erf_slope(x: Any) -> Any:
    return multiply(2 / ROOT_PI, exp(negative(square(x))))


def _erf(b: Any, x: Any) -> Any:
    return b.unary("chlo.erf", x)


def _erfc(b: Any, x: Any) -> Any:
    return b.unary("chlo.erfc", x)


def _erf_inv(b: Any, x: Any) -> Any:
    """XLA's, and two steps of Newton's method on erf, or on erfc where erf is flat."""
    a = e.magnitude(b, x)
    y = b.unary("chlo.erf_inv", a)
    for _ in range(2):
        near = e.sub(b, _erf(b, y), a)
        far = e.sub(b, e.sub(b, like(b, 1.0, a), a), _erfc(b, y))
        miss = b.select(is_(b, a, "LT", 0.5), near, far)
        slope = e.times(b, e.exp(b, e.negate(b, e.mul(b, y, y))), 2 / ROOT_PI)
        y = e.sub(b, y, e.div(b, miss, slope))
    edges = (is_(b, a, "EQ", 1.0), np.inf), (is_(b, a, "GT", 1.0), np.nan)
    return e.copysign(b, e.choose(b, y, *edges), x)


erf = special_row(
    "erf", _erf, lambda g, ans, x: multiply_no_nan(g, _erf_slope(x)), "erf", 4, cost=(2.3, 3.3)
)
erfc = special_row(
    "erfc",
    _erfc,
    lambda g, ans, x: negative(multiply_no_nan(g, _erf_slope(x))),
    "erfc",
    16,
    cost=(3.0, 2.5),
)  # just below 1, 1 - erf cancels
erf_inv = special_row(
    "erf_inv",
    _erf_inv,
    lambda g, ans, x: xdivy(g, _erf_slope(ans)),
    "erfinv",
    8,
    cost=(15.0, 50.0),
)


# -- the normal distribution -----------------------------------------------------------------------


def _ndtr(b: Any, x: Any) -> Any:
    """By erf in the middle and by erfc in the tails, as in Cephes."""
    z = e.times(b, x, math.sqrt(0.5))
    a = e.magnitude(b, z)
    tail = e.times(b, _erfc(b, a), 0.5)
    upper = e.sub(b, like(b, 1.0, x), tail)
    middle = e.plus(b, e.times(b, _erf(b, z), 0.5), 0.5)
    y = b.select(is_(b, z, "GT", 0.0), upper, tail)
    return b.select(is_(b, a, "LT", math.sqrt(0.5)), middle, y)


# ndtr's tail divided by its leading term, minus 1: -1/x^2 + 3/x^4 - 15/x^6 ..., as a polynomial in
# -1/x^2
_TAIL_SERIES = [float(math.prod(range(1, 2 * k, 2))) for k in range(10, 0, -1)]


def _log_ndtr(b: Any, x: Any) -> Any:
    """log1p(-upper tail); then log; below -20, the asymptotic series of the tail."""
    beyond = e.choose(b, x, (is_(b, x, "GT", -20.0), -20.0))
    r = e.div(b, like(b, -1.0, x), e.mul(b, beyond, beyond))
    series = emit_log1p(b, e.mul(b, r, e.polynomial(b, r, _TAIL_SERIES)))
    square_ = e.times(b, e.mul(b, beyond, beyond), -0.5)
    lead = e.plus(b, e.log(b, e.negate(b, beyond)), math.log(ROOT_TWO_PI))
    far = e.add(b, e.sub(b, square_, lead), series)
    middle = e.log(b, _ndtr(b, x))
    near = emit_log1p(b, e.negate(b, _ndtr(b, e.negate(b, x))))
    y = b.select(is_(b, x, "LT", -20.0), far, b.select(is_(b, x, "LT", -1.0), middle, near))
    return e.choose(b, y, (e.is_nan(b, x), np.nan), (is_(b, x, "EQ", -np.inf), -np.inf))


# rational approximations of Cephes: (z / sqrt(2 pi) - w) / w^3 in w^2, with w = p - 1/2; and the
# rest after log, in 1 / sqrt(-2 log p), for values of that up to 1/8 and beyond
_CENTRE = (
    (-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1,
     1.39312609387279679503e1, -1.23916583867381258016e0),
    (1.0, 1.95448858338141759834e0, 4.67627912898881538453e0, 8.63602421390890590575e1,
     -2.25462687854119370527e2, 2.00260212380060660359e2, -8.20372256168333339912e1,
     1.59056225126211695515e1, -1.18331621121330003142e0),
)  # fmt: skip
_TAIL = (
    (4.05544892305962419923e0, 3.15251094599893866154e1, 5.71628192246421288162e1,
     4.40805073893200834700e1, 1.46849561928858024014e1, 2.18663306850790267539e0,
     -1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4),
    (1.0, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1,
     1.50425385692907503408e1, 2.50464946208309415979e0, -1.42182922854787788574e-1,
     -3.80806407691578277194e-2, -9.33259480895457427372e-4),
)  # fmt: skip
_FAR_TAIL = (
    (3.23774891776946035970e0, 6.91522889068984211695e0, 3.93881025292474443415e0,
     1.33303460815807542389e0, 2.01485389549179081538e-1, 1.23716634817820021358e-2,
     3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9),
    (1.0, 6.02427039364742014255e0, 3.67983563856160859403e0, 1.37702099489081330271e0,
     2.16236993594496635890e-1, 1.34204006088543189037e-2, 3.28014464682127739104e-4,
     2.89247864745380683936e-6, 6.79019408009981274425e-9),
)  # fmt: skip


def _ratio(b: Any, x: Any, of: tuple[Sequence[float], Sequence[float]]) -> Any:
    return e.div(b, e.polynomial(b, x, of[0]), e.polynomial(b, x, of[1]))


def _ndtri(b: Any, p: Any) -> Any:
    """As in Cephes: a rational function in the middle, and one of 1 / sqrt(-2 log p) in the
    tails.
    """
    upper = is_(b, p, "GT", 1 - math.exp(-2.0))
    q = b.select(upper, e.sub(b, like(b, 1.0, p), p), p)
    w = e.plus(b, q, -0.5)
    ww = e.mul(b, w, w)
    centre = e.add(b, w, e.mul(b, w, e.mul(b, ww, _ratio(b, ww, _CENTRE))))
    z = e.sqrt(b, e.times(b, e.log(b, q), -2.0))
    r = e.div(b, like(b, 1.0, z), z)
    rest = b.select(is_(b, z, "LT", 8.0), _ratio(b, r, _TAIL), _ratio(b, r, _FAR_TAIL))
    tail = e.sub(b, e.sub(b, z, e.mul(b, r, e.log(b, z))), e.mul(b, r, rest))
    y = b.select(upper, tail, e.negate(b, tail))
    y = b.select(is_(b, q, "GT", math.exp(-2.0)), e.times(b, centre, ROOT_TWO_PI), y)
    return e.choose(b, y, (is_(b, p, "EQ", 0.0), -np.inf), (is_(b, p, "EQ", 1.0), np.inf))


def _density(x: Any) -> Any:
    return multiply(1 / ROOT_TWO_PI, exp(multiply(-0.5, square(x))))


def _log_ndtr_formula(g: Any, ans: Any, x: Any) -> Any:
    """density / ndtr, by their logarithms, because both vanish in the lower tail."""
    log_density = subtract(multiply(-0.5, square(x)), math.log(ROOT_TWO_PI))
    return multiply_no_nan(g, exp(subtract(log_density, ans)))


ndtr = special_row(
    "ndtr", _ndtr, lambda g, ans, x: multiply_no_nan(g, _density(x)), "ndtr", 16, cost=(2.8, 14.0)
)
ndtri = special_row(
    "ndtri", _ndtri, lambda g, ans, p: xdivy(g, _density(ans)), "ndtri", 16, cost=(6.5, 14.0)
)
log_ndtr = special_row("log_ndtr", _log_ndtr, _log_ndtr_formula, "log_ndtr", 16, cost=(13.0, 67.0))


# -- the logistic distribution ---------------------------------------------------------------------


def _logistic(b: Any, x: Any) -> Any:
    grown = e.plus(b, e.exp(b, e.negate(b, x)), 1.0)
    return e.div(b, like(b, 1.0, x), grown)


def _logit(b: Any, p: Any) -> Any:
    """log(p / (1 - p)); near 1/2 by log1p of the distance, which is exact."""
    away = e.log(b, e.div(b, p, e.sub(b, like(b, 1.0, p), p)))
    s = e.times(b, e.plus(b, p, -0.5), 2.0)
    close = b.and_(is_(b, p, "GT", 0.3), is_(b, p, "LT", 0.65))
    s = b.select(close, s, like(b, 0.0, s))
    near = e.sub(b, emit_log1p(b, s), emit_log1p(b, e.negate(b, s)))
    return b.select(close, near, away)


logistic = special_row(
    "logistic",
    _logistic,
    lambda g, ans, x: multiply_no_nan(g, multiply(ans, logistic(negative(x)))),
    "expit",
    4,
    cost=(3.8, 1.2),
)
logit = special_row(
    "logit",
    _logit,
    lambda g, ans, p: xdivy(g, multiply(p, subtract(1.0, p))),
    "logit",
    8,
    cost=(7.5, 12.0),
)


# -- entropies -------------------------------------------------------------------------------------


def _xlogy(b: Any, x: Any, y: Any) -> Any:
    zero = b.and_(is_(b, x, "EQ", 0.0), b.not_(e.is_nan(b, y)))
    return e.choose(b, e.mul(b, x, e.log(b, y)), (zero, 0.0))


def _xlog1py(b: Any, x: Any, y: Any) -> Any:
    zero = b.and_(is_(b, x, "EQ", 0.0), b.not_(e.is_nan(b, y)))
    return e.choose(b, e.mul(b, x, emit_log1p(b, y)), (zero, 0.0))


def _entr(b: Any, x: Any) -> Any:
    y = e.negate(b, e.mul(b, x, e.log(b, x)))
    return e.choose(b, y, (is_(b, x, "EQ", 0.0), 0.0), (is_(b, x, "LT", 0.0), -np.inf))


def _log_ratio(b: Any, x: Any, y: Any) -> Any:
    """log(x / y); near 1 by log1p; separate logarithms if the quotient is not a normal number."""
    ratio = e.div(b, x, y)
    tiny = float(np.finfo(np.float64).tiny)
    normal = b.and_(is_(b, ratio, "GT", tiny), is_(b, ratio, "LT", np.inf))
    far = b.select(normal, e.log(b, ratio), e.sub(b, e.log(b, x), e.log(b, y)))
    close = b.and_(is_(b, ratio, "GT", 0.5), is_(b, ratio, "LT", 2.0))
    return b.select(close, emit_log1p(b, e.div(b, e.sub(b, x, y), y)), far)


def _rel_entr(b: Any, x: Any, y: Any) -> Any:
    value = e.mul(b, x, _log_ratio(b, x, y))
    positive = b.and_(is_(b, x, "GT", 0.0), is_(b, y, "GT", 0.0))
    zero = b.and_(is_(b, x, "EQ", 0.0), is_(b, y, "GE", 0.0))
    unknown = b.or_(e.is_nan(b, x), e.is_nan(b, y))
    infinite = like(b, np.inf, x)
    return e.choose(b, infinite, (unknown, np.nan), (positive, value), (zero, 0.0))


def _quotient_or_zero(g: Any, x: Any, y: Any) -> Any:
    """g * x / y; zero where x is zero, whatever y, but with the quotient's derivatives."""
    return multiply_no_nan(g, xdivy(x, y))


xlogy = special_row(
    "xlogy",
    _xlogy,
    [
        lambda g, ans, x, y: multiply_no_nan(g, log(y)),
        lambda g, ans, x, y: _quotient_or_zero(g, x, y),
    ],
    "xlogy",
    4,
    cost=(3.6, 2.4),
)
xlog1py = special_row(
    "xlog1py",
    _xlog1py,
    [
        lambda g, ans, x, y: multiply_no_nan(g, log1p(y)),
        lambda g, ans, x, y: _quotient_or_zero(g, x, add(y, 1.0)),
    ],
    "xlog1py",
    8,
    cost=(3.8, 3.3),
)
entr = special_row(
    "entr",
    _entr,
    lambda g, ans, x: negative(multiply_no_nan(g, add(log(x), 1.0))),
    "entr",
    4,
    cost=(3.0, 2.5),
)
rel_entr = special_row(
    "rel_entr",
    _rel_entr,
    [
        lambda g, ans, x, y: multiply_no_nan(g, add(subtract(log(x), log(y)), 1.0)),
        lambda g, ans, x, y: negative(_quotient_or_zero(g, x, y)),
    ],
    "rel_entr",
    8,
    cost=(5.0, 14.0),
)
