"""scipy.special beyond `lazynp.special`: SciPy computes the values, a formula gives the slopes.

A row names one of SciPy's ufuncs and, for each argument, its partial derivative as a function of
the arguments and of the result. `None`: SciPy has no function for it, and the error says so.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp._primitive import Primitive
from lazynp._quiet import quietly
from lazynp.functions._checks import refuse as check
from lazynp.interop._calls import inexact, on_host, only

Partial = Callable[..., Any] | None
_WHOLE = {"eval_hermite": 0, "eval_hermitenorm": 0, "lambertw": 1}  # arguments that are integers


def _partials(name: str) -> Sequence[Partial]:
    return ROWS[name]


def _reference(*xs: Any, name: str, effect: bool) -> tuple[Any, ...]:
    dtype = numpy.asarray(xs[0]).dtype
    i = _WHOLE.get(name)
    if i is not None:
        xs = (*xs[:i], numpy.real(xs[i]).astype(numpy.int64), *xs[i + 1 :])
    called, _, place = name.partition(" ")
    function = OWN.get(called) or getattr(scipy.special, called)
    out: Any = quietly(function, list(xs))
    return (numpy.asarray(out[int(place)] if place else out, dtype),)


def _jvp(primals: Any, tangents: Any, *, name: str, effect: bool) -> Any:
    (out,) = on_scipy(*primals, name=name, effect=False)
    moved: Any = None
    for i, (t, partial) in enumerate(zip(tangents, _partials(name), strict=True)):
        if t is None:
            continue
        if partial is None:
            raise TypeError(
                f"scipy.special.{name}: no derivative by argument {i} is known; "
                "stop_gradient(x) where it is not wanted"
            )
        term = partial(*primals, out) * t
        moved = term if moved is None else moved + term
    return (out,), [moved]


on_scipy: Primitive = on_host("scipy_special", lambda *xs, **_: (xs[0],), _reference, _jvp)


def function(name: str) -> Callable[..., Any]:
    """Our version of the ufunc of this name."""

    def called(*args: Any, **options: Any) -> Any:
        if options:
            raise TypeError(f"{name}: no options are taken while a function is transformed")
        if len(args) != len(ROWS[name]):
            raise TypeError(f"{name}() takes {len(ROWS[name])} arguments, got {len(args)}")
        arrays = [np.asarray(x) for x in args]
        dtype = numpy.result_type(*[a.dtype for a in arrays], numpy.float32)
        if dtype.kind not in "f":
            raise TypeError(f"{name}: real arguments are required, got {dtype}")
        arrays = np.broadcast_arrays(*[a.astype(dtype) for a in arrays])
        return on_scipy(*arrays, name=name, effect=False)[0][()]

    called.__name__ = name
    return called


def beta_density(a: Any, b: Any, x: Any) -> Any:
    logs = np.special.xlogy(a - 1.0, x) + np.special.xlog1py(b - 1.0, -x)
    return np.exp(logs - np.special.betaln(a, b))


def t_density(df: Any, t: Any) -> Any:
    logs = np.special.gammaln((df + 1) / 2) - np.special.gammaln(df / 2)
    return np.exp(logs - (df + 1) / 2 * np.log1p(t * t / df)) / np.sqrt(df * math.pi)


def gamma_density(a: Any, x: Any) -> Any:
    return np.exp(np.special.xlogy(a - 1.0, x) - x - np.special.gammaln(a))


def call(name: str, *args: Any) -> Any:
    return function(name)(*args)


def bessel(name: str, before: float, after: float) -> Callable[..., Any]:
    """(before J_{v-1} + after J_{v+1}) / 2."""

    def slope(v: Any, x: Any, out: Any) -> Any:
        return 0.5 * (before * call(name, v - 1.0, x) + after * call(name, v + 1.0, x))

    return slope


def _root(delta: Any, r: Any) -> Any:
    return np.sqrt(1 + (r / delta) ** 2)


def _lower(name: str, factor: Any, n: Any, *args: Any) -> Any:
    """A multiple of the polynomial of one degree less; nothing where there is none."""
    none = n == 0
    return np.where(none, 0.0, factor * call(name, np.where(none, 0.0, n - 1.0), *args))


def _order_one(name: str, sign: float) -> Callable[..., Any]:
    """The derivative of a Bessel function of order 1 by those of orders 0 and 2."""
    general = {"j1": "jv", "y1": "yv", "k1": "kv"}[name]
    return lambda x, out: 0.5 * (sign * call(general, 0.0, x) - abs(sign) * call(general, 2.0, x))


def _poisson(k: Any, m: Any, out: Any) -> Any:
    """The probability of floor(k); nothing below 0."""
    k = np.floor(k)
    low = k < 0
    safe = np.where(low, 0.0, k)
    logs = np.special.xlogy(safe, m) - m - np.special.gammaln(safe + 1)
    return np.where(low | np.isnan(out), np.nan, np.exp(logs))


def _binom_slope(n: Any, k: Any, out: Any, by_n: bool) -> Any:
    """Where binom is 0, this formula is zero times infinity: there, by the derivative of rgamma.
    NaN for a negative whole n, which SciPy has no value for.
    """
    first, second, both = n + 1.0, k + 1.0, n - k + 1.0
    psi, gamma, r = np.special.digamma, np.special.gamma, functools.partial(call, "rgamma")
    (none, *zeros) = ((x <= 0) & (x == np.floor(x)) for x in (first, second, both))
    zero = zeros[0] | zeros[1]
    x, y = np.where(none | zero, 1.0, both), np.where(none | zero, 1.0, first if by_n else second)
    value = out * (psi(y) - psi(x) if by_n else psi(x) - psi(y))
    a, b, c = (np.where(zero, x, 1.0) for x in (np.where(none, 1.0, first), second, both))
    at_zero = r(b) * _rgamma_slope(c, r(c))
    other = psi(a) * r(b) if by_n else _rgamma_slope(b, r(b))
    at_zero = other * r(c) + (at_zero if by_n else -at_zero)
    return np.where(none, np.nan, np.where(zero, gamma(a) * at_zero, value))


FAR = 30.0  # from here on, the error function's slopes are differences of nearly equal numbers


def tail(far: Any, u: Any) -> Any:
    """u/2 + 1*3 (u/2)^2 + 1*3*5 (u/2)^3 + ..., of a small u, where far."""
    half = np.where(far, u, 0.0) / 2
    total: Any = 1.0
    for k in range(10, 0, -1):
        total = 1 + (2 * k + 1) * half * total
    return half * total


def _erfcx_slope(x: Any, out: Any) -> Any:
    far = x > FAR
    y = np.where(far, x, 1.0)
    return np.where(far, tail(far, -1 / (y * y)) * 2 / ROOT_PI, 2 * x * out - 2 / ROOT_PI)


def _dawsn_slope(x: Any, out: Any) -> Any:
    far = abs(x) > FAR
    y = np.where(far, x, 1.0)
    return np.where(far, -tail(far, 1 / (y * y)), 1 - 2 * x * out)


def power_series(near: Any, x: Any, coefficient: Callable[[int], float], count: int) -> Any:
    """The sum of coefficient(k) x^k where x is near 0."""
    small: Any = np.where(near, x, 0.0)
    total: Any = 0.0
    for k in range(count - 1, -1, -1):
        total = total * small + coefficient(k)
    return total


def _spence_slope(z: Any) -> Any:
    """log(z) / (1 - z)"""
    near = abs(z - 1) < 0.1
    far = np.where(near, 0.5, z)
    series = power_series(near, z - 1, lambda k: (-1) ** (k + 1) / (k + 1), 20)
    return np.where(near, series, np.log(far) / (1 - far))


def _expn_of_all(n: Any, x: Any) -> Any:
    """Also of orders below 0, which SciPy lacks: x E_n = exp(-x) - n E_{n+1}."""
    below = n < 0
    out = scipy.special.expn(numpy.where(below, 0, n), x)
    for k in range(1, int(max(numpy.max(-n, initial=0), 0)) + 1):
        out = numpy.where(n <= -k, (numpy.exp(-x) + k * out) / x, out)
    return out


def _rgamma_slope(x: Any, out: Any) -> Any:
    """Below 1/2 by the reflection sin(pi x) gamma(1 - x) / pi, which has no poles there."""
    low = x < 0.5
    safe, high = np.where(low, x, 0.0), np.where(low, 1.0, x)
    whole = np.rint(np.stop_gradient(safe))
    sign, angle = 1 - 2 * (whole % 2), math.pi * (safe - whole)
    turned = np.cos(angle) - np.sin(angle) * np.special.digamma(1 - safe) / math.pi
    reflected = sign * np.special.gamma(1 - safe) * turned
    return np.where(low, reflected, -np.special.digamma(high) * out)


def _poch_slope(z: Any, m: Any, out: Any) -> Any:
    """By z. Of whole m, poch(z, m) is that of 1 - z - m, but for the sign. Elsewhere, near poles of
    gamma(z), it is gamma(z + m) rgamma(z).
    """
    psi, gamma = np.special.digamma, np.special.gamma
    turned = (m == np.floor(m)) & (z < 0.5) & (z + m < 0.5)
    pole = (z < 0.5) & (abs(z - np.rint(z)) < 0.1) & ~turned
    low, near, at = np.where(turned, z, -m), np.where(pole, z, 0.0), np.where(pole, z + m, 1.0)
    far = np.where(turned | pole, 1.0, z)
    by_poles = gamma(at) * _rgamma_slope(near, call("rgamma", near)) + out * psi(at)
    by_low = out * (psi(1 - low - m) - psi(1 - low))
    general = out * (psi(np.where(turned | pole, 1.0, z + m)) - psi(far))
    return np.where(turned, by_low, np.where(pole, by_poles, general))


def _boxcox_slope(log: Any, x: Any, ends: Any, lmbda: Any) -> Any:
    """By lmbda; the function is -1 / lmbda where the logarithm is infinite."""
    ends = ends & (lmbda > 0)
    logs = log(np.where(ends, 1.0, x))
    inside = logs**2 * _exprel_slope(logs * lmbda)
    return np.where(ends, np.where(ends, lmbda, 1.0) ** -2, inside)


def _inv_boxcox_slope(y: Any, lmbda: Any) -> Any:
    """By lmbda, over the function: y^2 (t / (1 + t) - log1p(t)) / t^2 with t = lmbda y."""
    t = lmbda * y
    near = abs(t) < 0.1
    far = np.where(near, 1.0, t)
    series = power_series(near, t, lambda k: (-1) ** (k + 1) * (k + 1) / (k + 2), 20)
    return y * y * np.where(near, series, (far / (1 + far) - np.log1p(far)) / far**2)


OWN: dict[str, Callable[..., Any]] = {  # functions of arrays of NumPy that SciPy lacks
    "expn-of-all": _expn_of_all,
}
ROOT_PI = math.sqrt(math.pi)
_ROOT_8_PI = math.sqrt(8 * math.pi)
ROWS: dict[str, Sequence[Partial]] = {
    "erfcx": (_erfcx_slope,),
    "erfi": (lambda x, out: 2 / ROOT_PI * np.exp(x * x),),
    "erfcinv": (lambda y, out: -ROOT_PI / 2 * np.exp(out * out),),
    "dawsn": (_dawsn_slope,),
    "expi": (lambda x, out: np.exp(x) / x,),
    "exp1": (lambda x, out: -np.exp(-x) / x,),
    "expn": (None, lambda n, x, out: -call("expn-of-all", np.trunc(n) - 1.0, x)),
    "expn-of-all": (None, lambda n, x, out: -call("expn-of-all", np.trunc(n) - 1.0, x)),
    "exprel": (lambda x, out: _exprel_slope(x),),
    "exp10": (lambda x, out: math.log(10.0) * out,),
    "cosm1": (lambda x, out: -np.sin(x),),
    "log_expit": (lambda x, out: np.special.expit(-x),),
    "rgamma": (_rgamma_slope,),
    "loggamma": (lambda x, out: np.special.digamma(x),),
    "spence": (lambda z, out: _spence_slope(z),),
    "j0": (lambda x, out: -call("j1", x),),
    "j1": (_order_one("j1", 1.0),),
    "y0": (lambda x, out: -call("y1", x),),
    "y1": (_order_one("y1", 1.0),),
    "k0": (lambda x, out: -call("k1", x),),
    "k1": (_order_one("k1", -1.0),),
    "pdtr": (lambda k, m, out: 0.0 * k, lambda k, m, out: -_poisson(k, m, out)),
    "pdtrc": (lambda k, m, out: 0.0 * k, lambda k, m, out: _poisson(k, m, out)),
    "binom": (
        lambda n, k, out: _binom_slope(n, k, out, True),
        lambda n, k, out: _binom_slope(n, k, out, False),
    ),
    "boxcox": (
        lambda x, lmbda, out: x ** (lmbda - 1),
        lambda x, lmbda, out: _boxcox_slope(np.log, x, x == 0, lmbda),
    ),
    "owens_t": (
        lambda h, a, out: -np.exp(-h * h / 2) * np.special.erf(a * h / math.sqrt(2)) / _ROOT_8_PI,
        lambda h, a, out: np.exp(-h * h * (1 + a * a) / 2) / (2 * math.pi * (1 + a * a)),
    ),
    "jv": (None, bessel("jv", 1.0, -1.0)),
    "yv": (None, bessel("yv", 1.0, -1.0)),
    "iv": (None, bessel("iv", 1.0, 1.0)),
    "ive": (None, lambda v, x, out: bessel("ive", 1.0, 1.0)(v, x, out) - np.sign(x) * out),
    "k0e": (lambda x, out: out - call("k1e", x),),
    "k1e": (lambda x, out: out - call("k0e", x) - out / x,),
    "huber": (
        lambda delta, r, out: np.where(abs(r) <= delta, 0.0, abs(r) - delta),
        lambda delta, r, out: np.clip(r, -delta, delta),
    ),
    "pseudo_huber": (
        lambda delta, r, out: 2 * out / delta - (r / delta) * (r / _root(delta, r)),
        lambda delta, r, out: r / _root(delta, r),
    ),
    "kl_div": (lambda x, y, out: np.log(x / y), lambda x, y, out: 1 - x / y),
    "poch": (
        _poch_slope,
        lambda z, m, out: out * np.special.digamma(z + m),
    ),
    "powm1": (
        lambda x, y, out: y * x ** (y - 1), lambda x, y, out: np.log(x) * (out + 1),
    ),
    "boxcox1p": (
        lambda x, lmbda, out: (1 + x) ** (lmbda - 1),
        lambda x, lmbda, out: _boxcox_slope(np.log1p, x, x == -1, lmbda),
    ),
    "inv_boxcox": (
        lambda y, lmbda, out: out ** (1 - lmbda),
        lambda y, lmbda, out: out * _inv_boxcox_slope(y, lmbda),
    ),
    "inv_boxcox1p": (
        lambda y, lmbda, out: (1 + out) ** (1 - lmbda),
        lambda y, lmbda, out: (1 + out) * _inv_boxcox_slope(y, lmbda),
    ),
    "sindg": (lambda x, out: math.pi / 180 * call("cosdg", x),),
    "cosdg": (lambda x, out: -math.pi / 180 * call("sindg", x),),
    "tandg": (lambda x, out: math.pi / 180 * (1 + out * out),),
    "hyp0f1": (None, lambda v, z, out: call("hyp0f1", v + 1.0, z) / v),
    "eval_hermite": (None, lambda n, x, out: _lower("eval_hermite", 2 * n, n, x)),
    "eval_hermitenorm": (None, lambda n, x, out: _lower("eval_hermitenorm", n, n, x)),
    "eval_chebyt": (None, lambda n, x, out: _lower("eval_chebyu", n, n, x)),
    "eval_laguerre": (
        None, lambda n, x, out: _lower("eval_genlaguerre", -1.0, n, np.ones_like(x), x),
    ),
    "eval_genlaguerre": (
        None, None, lambda n, a, x, out: _lower("eval_genlaguerre", -1.0, n, a + 1, x),
    ),
    "eval_legendre": (
        None,
        lambda n, x, out: _lower(
            "eval_jacobi", (n + 1) / 2, n, np.ones_like(x), np.ones_like(x), x
        ),
    ),
    "eval_gegenbauer": (
        None, None, lambda n, a, x, out: _lower("eval_gegenbauer", 2 * a, n, a + 1, x),
    ),
    "eval_jacobi": (
        None, None, None,
        lambda n, a, b, x, out: _lower(
            "eval_jacobi", (n + a + b + 1) / 2, n, a + 1, b + 1, x
        ),
    ),
    "eval_chebyu": (
        None, lambda n, x, out: _lower("eval_gegenbauer", 2.0, n, np.full_like(x, 2.0), x),
    ),
    "hyp1f1": (
        None, None, lambda a, b, x, out: a / b * call("hyp1f1", a + 1.0, b + 1.0, x),
    ),
    "hyp2f1": (
        None, None, None,
        lambda a, b, c, z, out: a * b / c * call("hyp2f1", a + 1.0, b + 1.0, c + 1.0, z),
    ),
}  # fmt: skip


def _exprel_slope(x: Any) -> Any:
    """((x - 1) exp(x) + 1) / x^2; near 0 its series, the sum of (k + 1) x^k / (k + 2)!."""
    near = abs(x) < 0.5
    small, large = np.where(near, x, 0.0), np.where(near, 1.0, x)
    series: Any = 0.0
    for k in range(14, -1, -1):
        series = series * small + (k + 1) / math.factorial(k + 2)
    return np.where(near, series, ((large - 1) * np.exp(large) + 1) / large**2)


# -- compositions ----------------------------------------------------------------------------------


def bdtr(k: Any, n: Any, p: Any) -> Any:
    k, n = np.floor(k), np.asarray(n)
    inside = k < n
    value = call("betainc", np.where(inside, n - k, 1.0), k + 1.0, 1.0 - np.asarray(p))
    return np.where(inside, value, 1.0)


def multigammaln(a: Any, d: Any) -> Any:
    a, d = np.asarray(a), int(d)
    message = f"condition a ({a.shape}) > 0.5 * (d-1) ({0.5 * (d - 1):f}) not met"
    check(np.any(a <= 0.5 * (d - 1)), ValueError, message)
    parts = [np.special.gammaln(a - j / 2) for j in range(d)]
    return sum(parts, d * (d - 1) * 0.25 * math.log(math.pi))


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    return np.special.logsumexp(a, axis, b, keepdims, return_sign)


def softmax(x: Any, axis: Any = None) -> Any:
    return np.special.softmax(x, axis=axis)


def log_softmax(x: Any, axis: Any = None) -> Any:
    return np.special.log_softmax(x, axis=axis)


def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    only("factorial", extend=(extend, "zero"))
    return np.special.factorial(n, exact)


def _counted(name: str, ufunc: str, N: Any, k: Any, exact: bool) -> Any:
    """Of gamma functions; 0 where there is nothing to count."""
    only(name, exact=(bool(exact), False))
    N, k = inexact(N, k)
    some = (k <= N) & (N >= 0) & (k >= 0)
    first, second = np.where(some, N, 1.0), np.where(some, k, 0.0)
    value = call(ufunc, first - second + 1 if ufunc == "poch" else first, second)
    return np.where(some, value, 0.0)[()]


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    if not repetition:
        return _counted("comb", "binom", N, k, exact)
    only("comb", exact=(bool(exact), False))
    N, k = inexact(N, k)
    none = (k == 0) & (N >= 0)
    return np.where(none, 1.0, call("binom", np.where(none, 1.0, N + k - 1), k))[()]


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    return _counted("perm", "poch", N, k, exact)
