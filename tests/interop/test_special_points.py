"""Derivatives of SciPy's special functions where a formula has a case of its own: removable
singularities, poles of the gamma function, orders below 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import pytest
import scipy.special as sp

import lazynp as np
from lazynp import grad, hessian, jit, jvp, vmap
from lazynp.interop import scipy as hooks

Z, E, G = 0.7, math.exp(-0.7), numpy.euler_gamma
L = math.log(0.3)
_T0 = math.gamma(1.5) / math.sqrt(2 * math.pi)  # Student's density at 0, with 2 degrees of freedom
_SLOPE = (sp.digamma(1.5) - sp.digamma(1.0) - 1 / 2) / 2  # of its logarithm, by the degrees
# name: the function, the point, its derivatives from the first on
TABLE: dict[str, tuple[Callable[[Any], Any], float, Sequence[float | None]]] = {
    "spence at 1": (sp.spence, 1.0, [-1, 1 / 2, -2 / 3, 3 / 2]),
    "spence near 1": (sp.spence, 1 + 1e-11, [-1, 1 / 2, -2 / 3, 3 / 2]),
    "spence at 1.1": (
        sp.spence, 1.1, [-10 * math.log(1.1), 100 * math.log(1.1) - 10 / 1.1],
    ),
    "spence at 2": (sp.spence, 2.0, [-math.log(2), math.log(2) - 0.5]),
    "expn of order 0": (
        lambda z: sp.expn(0, z), Z, [-E * (1 + Z) / Z**2, E * (1 / Z + 2 / Z**2 + 2 / Z**3)],
    ),
    "expn of order 1": (lambda z: sp.expn(1, z), Z, [-E / Z, E * (1 + Z) / Z**2]),
    "expn of order 3": (
        lambda z: sp.expn(3, z), Z, [-sp.expn(2, Z), sp.expn(1, Z), -E / Z, E * (1 + Z) / Z**2],
    ),
    "rgamma at 0": (sp.rgamma, 0.0, [1, 2 * G, 3 * G**2 - math.pi**2 / 2]),
    "rgamma at -1": (sp.rgamma, -1.0, [-1, 2 * (1 - G)]),
    "rgamma at -2": (sp.rgamma, -2.0, [2, 2 * (2 * G - 3)]),
    "rgamma near -2": (sp.rgamma, -2.0 + 1e-11, [2, 2 * (2 * G - 3)]),
    "rgamma at 2": (sp.rgamma, 2.0, [G - 1, (1 - G) ** 2 - math.pi**2 / 6 + 1]),
    "poch(0, 2)": (lambda z: sp.poch(z, 2.0), 0.0, [1, 2, 0]),
    "poch(-1, 2)": (lambda z: sp.poch(z, 2.0), -1.0, [-1, 2, 0]),
    "poch(-3, 2)": (lambda z: sp.poch(z, 2.0), -3.0, [-5, 2, 0]),
    "poch(-1, 3)": (lambda z: sp.poch(z, 3.0), -1.0, [-1, 0, 6]),
    "poch(-2.05, 3)": (lambda z: sp.poch(z, 3.0), -2.05, [3 * 2.05**2 - 12.3 + 2, -6.3, 6]),
    "poch(0, -1)": (lambda z: sp.poch(z, -1.0), 0.0, [-1, -2, -6]),
    "poch(0, 1.5)": (lambda z: sp.poch(z, 1.5), 0.0, [math.gamma(1.5)]),
    "poch(2, 2)": (lambda z: sp.poch(z, 2.0), 2.0, [5, 2, 0]),
    **{
        f"zeta at {-2 * n}": (  # a zero of it
            lambda z: sp.zeta(z), -2.0 * n,
            [(-1) ** n * math.gamma(2 * n + 1) * sp.zeta(2 * n + 1) / 2 / (2 * math.pi) ** (2 * n)],
        )
        for n in (1, 3, 6, 15, 40)
    },
    "binom(0, 1) by n": (lambda n: sp.binom(n, 1.0), 0.0, [1, 0, 0]),
    "binom(1, 2) by n": (lambda n: sp.binom(n, 2.0), 1.0, [0.5, 1, 0]),
    "binom(3, 4) by n": (lambda n: sp.binom(n, 4.0), 3.0, [0.25, 11 / 12]),
    "binom(0, 1) by k": (lambda k: sp.binom(0.0, k), 1.0, [-1, 2]),
    "binom(5, -1) by k": (lambda k: sp.binom(5.0, k), -1.0, [1 / 6]),
    "betainc by b at 1": (lambda b: sp.betainc(1.0, b, 0.5), 1.0, [0.5 * math.log(2)]),
    "betainc by b at 2": (lambda b: sp.betainc(1.0, b, 0.5), 2.0, [0.25 * math.log(2)]),
    "betainc by a at 1": (lambda a: sp.betainc(a, 1.0, 0.8), 1.0, [0.8 * math.log(0.8)]),
    "betainc by a at 3": (lambda a: sp.betainc(a, 1.0, 0.9), 3.0, [0.9**3 * math.log(0.9)]),
    "stdtr by df at t = 0": (lambda df: sp.stdtr(df, 0.0), 3.3, [0]),
    "stdtr by df near t = 0": (
        lambda df: sp.stdtr(df, 1e-9) * 1e9, 2.0,
        [_T0 * _SLOPE],
    ),
    "stdtrit by df at p = 1/2": (lambda df: sp.stdtrit(df, 0.5), 3.3, [0]),
    "i1 at 0": (sp.i1, 0.0, [0.5, 0, 0.375, 0, 0.3125]),
    "i1 near 0": (sp.i1, 1e-9, [0.5, 0, 0.375, 0, 0.3125]),
    "i1e at 0": (sp.i1e, 0.0, [0.5, 0]),
    "struve of order 0 at 0": (
        lambda x: sp.struve(0, x), 0.0, [2 / math.pi, 0, -4 / math.pi / 3, 0, 240 / 225 / math.pi],
    ),
    "struve of order 1 at 0": (lambda x: sp.struve(1, x), 0.0, [0, 4 / math.pi / 3, 0]),
    "struve of order 2 at 0": (lambda x: sp.struve(2.0, x), 0.0, [0, 0, 0.8 / math.pi]),
    "modstruve of order 0 at 0": (
        lambda x: sp.modstruve(0, x), 0.0, [2 / math.pi, 0, 4 / math.pi / 3],
    ),
    "modstruve of order 1 at 0": (lambda x: sp.modstruve(1, x), 0.0, [0, 4 / math.pi / 3, 0]),
    "voigt_profile by sigma at 0": (
        lambda s: sp.voigt_profile(0.5, s, 0.8), 0.0,
        [0, 0.8 / math.pi * (6 * 0.25 - 2 * 0.64) / 0.89**3],
    ),
    "kv by order 1/2": (
        lambda v: sp.kv(v, Z), 0.5, [math.sqrt(math.pi / (2 * Z)) / E * sp.exp1(2 * Z)],
    ),
    "kv by order": (  # values of mpmath's
        lambda v: sp.kv(v, 0.7), 1.3,
        [1.5988556394833062, 2.804420780699039, 5.025307191666791, 10.341016376422917],
    ),
    "kv by order 0": (lambda v: sp.kv(v, 3.0), 0.0, [0, 0.010118715333460433, 0]),
    "kve by order": (
        lambda v: sp.kve(v, 60.0), -2.5, [-0.007024512997562155, 0.0030984571138683806],
    ),
    # values of mpmath's
    "jv by order": (
        lambda v: sp.jv(v, 3.0), 2.5, [-0.19203804272791766, -0.11477549756027261],
    ),
    "jv by a large order": (
        lambda v: 1e32 * sp.jv(v, 5.0), 40.0, [-2.4203530489304532, 6.7100785411538071],
    ),
    "yv by order": (
        lambda v: sp.yv(v, 2.0), 0.5, [-0.67660065606847252, -0.22905146713808578],
    ),
    "iv by order": (
        lambda v: sp.iv(v, 0.7), 1.0, [-0.55872077655395231, 0.61045468595971607],
    ),
    "ive by order": (
        lambda v: math.exp(0.7) * sp.ive(v, 0.7), 1.0, [-0.55872077655395231, 0.61045468595971607],
    ),
    "jve by order": (
        lambda v: sp.jve(v, 3.0), 2.5, [-0.19203804272791766, -0.11477549756027261],
    ),
    "yve by order": (
        lambda v: sp.yve(v, 2.0), 0.5, [-0.67660065606847252, -0.22905146713808578],
    ),
    "struve by order": (
        lambda v: sp.struve(v, 3.0), 2.5, [-0.40102371754917077, 0.12218689850121286],
    ),
    "modstruve by order": (
        lambda v: sp.modstruve(v, 0.7), 1.3, [-0.11775330253192276, 0.1977338836611759],
    ),
    "hyperu by a": (
        lambda a: sp.hyperu(a, 1.3, 0.7), 0.3, [0.09616609478129359, -1.6739071626945126],
    ),
    "hyperu by b": (
        lambda b: sp.hyperu(0.3, b, 0.7), 1.3, [0.30079065375709274, 0.23350324394612276],
    ),
    "tklmbda out of the support": (lambda x: sp.tklmbda(x, 2.0), 1.4, [0, 0]),
    "tklmbda by lambda, out of the support": (lambda p: sp.tklmbda(-1.4, p), 2.0, [0, 0]),
    "hyp2f1 by a": (
        lambda a: sp.hyp2f1(a, 0.4, 1.2, 0.5), 0.3, [0.23047564579570476, 0.099108878435444008],
    ),
    "hyp2f1 by c": (
        lambda c: sp.hyp2f1(0.3, 0.4, c, 0.5), 1.2, [-0.062836196716733149, 0.11427545533631963],
    ),
    "hyp1f1 by a": (
        lambda a: sp.hyp1f1(a, 2.0, 0.5), 1.0, [0.32324091230322973, 0.053780252761026658],
    ),
    "hyp1f1 of equal parameters": (lambda a: sp.hyp1f1(a, a, 0.5), -0.5, [0, 0]),
    "hyp0f1": (lambda b: sp.hyp0f1(b, -3.0), 2.5, [0.21579179540628998, -0.12434496665667104]),
    "ber at 0": (sp.ber, 0.0, [0, 0, 0, -0.375, 0]),
    "bei at 0": (sp.bei, 0.0, [0, 0.5, 0, 0, 0]),
    "berp at 0": (sp.berp, 0.0, [0, 0, -0.375]),
    "beip at 0": (sp.beip, 0.0, [0.5, 0, 0, 0, -0.3125]),
    "betainc by a, thrice": (
        lambda a: sp.betainc(a, 1.0, 0.8), 1.0, [0.8 * math.log(0.8) ** n for n in (1, 2, 3, 4)],
    ),
    "betainc by b, thrice": (
        lambda b: sp.betaincc(1.0, b, 0.7), 2.5, [0.3**2.5 * math.log(0.3) ** n for n in (1, 2, 3)],
    ),
    "betainc by both": (  # values of mpmath's
        lambda t: sp.betainc(2.5 + t, 0.7 + t, 0.4), 0.0,
        [None, 0.06588067118360177 - 2 * 0.09850849500822963 + 0.06610979746869663],
    ),
    "betainc by a and x": (
        lambda t: sp.betainc(1.0 + t, 1.0, 0.5 + t), 0.0,  # (1/2 + t)^(1 + t)
        [0.5 * (2 + math.log(0.5)), 0.5 * (2 + math.log(0.5)) ** 2],
    ),
    "stdtr by df": (
        lambda df: sp.stdtr(df, 0.7), 2.5,
        [0.01069033476798638, -0.007582044826070748, 0.007977387190379158],
    ),
    "stdtr by both at t = 0": (lambda v: sp.stdtr(2.0 + v, v), 0.0, [_T0, 2 * _T0 * _SLOPE]),
    "stdtrit by both at p = 1/2": (
        lambda v: sp.stdtrit(2.0 + v, 0.5 + v), 0.0, [1 / _T0, -2 / _T0 * _SLOPE],
    ),
    "stdtr by df, far": (
        lambda df: sp.stdtr(df, 3.0), 2.5,
        [0.01812979095737399, -0.01540328461774246, 0.017853209052938718],
    ),
    "betaincinv by a": (  # y^(1/a)
        lambda a: sp.betaincinv(a, 1.0, 0.3), 1.0,
        [-0.3 * L, 0.3 * L * (L + 2), -0.3 * L * (L * L + 6 * L + 6)],
    ),
    # values of mpmath's
    "elliprf of equal ones": (
        lambda x: sp.elliprf(x, 0.7, 0.7), 0.7, [-1 / 6 / 0.7**1.5, 0.365886308979916420],
    ),
    "elliprf": (
        lambda x: sp.elliprf(x, 1 + 2 * x, 1.5), 0.5,
        [-0.389663989606614311, 0.655452603143493968],
    ),
    "elliprd": (
        lambda x: sp.elliprd(x, 1.0, 2 * x), 0.5, [-2.87692296186851945, 12.2632944657829547],
    ),
    "elliprd of equal ones": (
        lambda t: sp.elliprd(1.0 + t, 1.0, 1.0 + t), 0.0, [-1.2, 18 / 7],
    ),
    "elliprc of equal ones": (lambda x: sp.elliprc(x, 1.0), 1.0, [-1 / 6, 0.15]),
    "elliprc by x, principal value": (
        lambda x: sp.elliprc(x, -0.8), 0.6, [0.224607474292675846, -0.624875403627809129],
    ),
    "elliprc by y, principal value": (
        lambda y: sp.elliprc(0.6, y), -0.8, [0.582264056167202673, 1.05610695149693778],
    ),
    "boxcox of 0 by lambda": (lambda p: sp.boxcox(0.0, p), 0.5, [4, -16, 96]),
    "boxcox1p of -1 by lambda": (lambda p: sp.boxcox1p(-1.0, p), 0.5, [4, -16, 96]),
    "inv_boxcox at 0": (lambda p: sp.inv_boxcox(Z, p), 0.0, [-(Z**2) / 2 / E]),
    "inv_boxcox1p at 0": (lambda p: sp.inv_boxcox1p(Z, p), 0.0, [-(Z**2) / 2 / E]),
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _hooked() -> Iterator[None]:
    hooks.hook()
    yield
    hooks.unhook()


def _close(got: Any, want: Any, tol: float = 1e-9) -> None:
    numpy.testing.assert_allclose(got, want, rtol=tol, atol=tol)


@pytest.mark.parametrize("name", TABLE)
def test_derivatives(name: str) -> None:
    f, x, wanted = TABLE[name]
    forward: Any = f
    backward: Any = f
    for want in wanted:
        backward = grad(backward)
        forward = lambda x, f=forward: jvp(f, (x,), (1.0,))[1]  # noqa: E731
        if want is None:
            continue
        _close(backward(x), want)
        _close(forward(x), want)
        _close(jit(backward)(x), want)
        _close(vmap(backward)(np.array([x, x])), [want, want])


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "spence": sp.spence,
    "expn": lambda x: sp.expn(0, abs(x)) + sp.expn(2, abs(x)),
    "rgamma": sp.rgamma,
    "poch(x, 2)": lambda x: sp.poch(x, 2.0),
    "poch(x, -2)": lambda x: sp.poch(x, -2.0),
    "poch(x, 0.3)": lambda x: sp.poch(x, 0.3),
    "poch(1.2, x)": lambda x: sp.poch(1.2, x),
    "inv_boxcox by lmbda": lambda x: sp.inv_boxcox(0.3, x),
    "inv_boxcox1p by lmbda": lambda x: sp.inv_boxcox1p(0.3, x),
    "inv_boxcox of both": lambda x: sp.inv_boxcox(x, 0.3 + x),
}
POINTS = numpy.array([-3.46, -2.08, -1.93, -1.5, -0.45, -0.07, 0.08, 0.32, 0.49, 0.51, 0.95, 2.3])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_are_those_of_differences(name: str) -> None:
    f, h = FUNCTIONS[name], 3e-4
    with numpy.errstate(invalid="ignore"):
        g = [f(POINTS + k * h) for k in (-2, -1, 1, 2)]
    want = (g[0] - 8 * g[1] + 8 * g[2] - g[3]) / (12 * h)
    known = numpy.isfinite(want)
    assert known.sum() >= 6
    slope = vmap(grad(f))
    _close(numpy.asarray(slope(POINTS))[known], want[known], 1e-6)
    g = [numpy.asarray(slope(POINTS + k * h)) for k in (-2, -1, 1, 2)]
    want = (g[0] - 8 * g[1] + 8 * g[2] - g[3]) / (12 * h)
    _close(numpy.asarray(vmap(grad(grad(f)))(POINTS))[known], want[known], 1e-6)


@pytest.mark.parametrize("x", [31.0, 300.0, 1e4, 1e6])
def test_slopes_of_error_functions_far_from_0(x: float) -> None:
    """The first terms of their expansions: the usual formulas are differences of nearly 1 and 1."""
    u = 1 / x**2
    down, up = (1 + s * 1.5 * u + 3.75 * u**2 + s * 13.125 * u**3 for s in (-1, 1))
    down2, up2 = (1 + s * 3 * u + 11.25 * u**2 + s * 52.5 * u**3 for s in (-1, 1))
    root = math.sqrt(math.pi)
    for f, size, first, second in (
        (sp.erfcx, 1 / root, down, down2), (sp.dawsn, 0.5, up, up2),
        (lambda v: sp.wofz(v + 0j).imag, 1 / root, up, up2),
    ):  # fmt: skip
        numpy.testing.assert_allclose(float(grad(f)(x)), -size * u * first, rtol=1e-8)
        numpy.testing.assert_allclose(float(grad(grad(f))(x)), 2 * size * u / x * second, rtol=1e-7)


def test_bessel_functions_by_order_satisfy_their_equation() -> None:
    v, x = 1.3, 0.7
    for f, sign in (sp.jv, 1.0), (sp.yv, 1.0), (sp.iv, -1.0):
        by_order = grad(f)
        once, twice = grad(by_order, 1), grad(grad(f, 1), 1)
        second = grad(lambda x, once=once: once(v, x))(x)
        _close(x * x * second + x * once(v, x) + (sign * x * x - v * v) * by_order(v, x),
               2 * v * f(v, x), 1e-8)  # fmt: skip
        _close(x * x * twice(v, x) + x * grad(f, 1)(v, x), (v * v - sign * x * x) * f(v, x))
    assert numpy.isnan(grad(sp.jv)(1.0, -1.0))
    with pytest.raises(TypeError, match="no derivative by argument 0"):
        grad(grad(grad(sp.jv)))(1.3, 0.7)


def test_hypergeometric_functions_by_parameters_and_place() -> None:
    x = numpy.array([0.3, 0.4, 1.2, 0.5])
    for f, p in (sp.hyp2f1, x), (sp.hyp1f1, x[1:]), (sp.hyp0f1, x[2:]):
        slope, h = grad(lambda p, f=f: f(*p)), 1e-4
        want = [(slope(p + h * d) - slope(p - h * d)) / (2 * h) for d in numpy.eye(p.size)]
        _close(hessian(lambda p, f=f: f(*p))(p), numpy.array(want), 1e-6)
    _close(grad(sp.hyp2f1)(0.3, 0.4, 0.4, 0.5), -math.log(0.5) * 0.5**-0.3)


def test_bessel_functions_by_order_and_place() -> None:
    """The derivative by the order of Bessel's equation: x^2 K'' + x K' - (x^2 + v^2) K = 0."""
    v, x = 1.3, 0.7
    by_order = grad(sp.kv)
    once, twice = grad(by_order, 1), grad(grad(by_order, 1), 1)
    left = x * x * twice(v, x) + x * once(v, x) - (x * x + v * v) * by_order(v, x)
    _close(left, 2 * v * sp.kv(v, x))
    _close(grad(grad(sp.kv, 1), 0)(v, x), once(v, x))
    _close(grad(sp.kve)(v, x), math.exp(x) * by_order(v, x))
    assert numpy.isnan(by_order(1.0, -1.0)) and float(by_order(1.0, numpy.inf)) == 0.0
    with pytest.raises(TypeError, match="no derivative by argument 0"):
        jvp(lambda v: sp.kn(v, 0.7), (2.0,), (1.0,))


@pytest.mark.filterwarnings("ignore:floating point number truncated")
def test_of_orders_whose_fraction_scipy_leaves_out() -> None:
    _close(grad(sp.expn, 1)(2.7, Z), -sp.expn(1, Z))
    _close(grad(sp.kn, 1)(1.7, Z), -sp.k0(Z) - sp.k1(Z) / Z)
    _close(grad(sp.yn, 1)(1.7, Z), sp.y0(Z) - sp.y1(Z) / Z)


def test_by_orders_and_place() -> None:
    """The equations of Struve (with its right side) and Kummer, differentiated by a parameter."""
    v, x = 1.3, 0.7
    by_order = grad(sp.struve)
    once = grad(by_order, 1)
    second = grad(lambda x: once(v, x))(x)
    right = grad(lambda v: 4 * (x / 2) ** (v + 1) * sp.rgamma(v + 0.5) / math.sqrt(math.pi))(v)
    left = x * x * second + x * once(v, x) + (x * x - v * v) * by_order(v, x)
    _close(left, right + 2 * v * sp.struve(v, x), 1e-8)
    _close(grad(grad(sp.struve, 1), 0)(v, x), once(v, x), 1e-8)
    a, b = 0.3, 1.3
    by_a, by_b = grad(sp.hyperu, 0), grad(sp.hyperu, 1)
    for slope, left in (by_a, sp.hyperu(a, b, x)), (by_b, -grad(sp.hyperu, 2)(a, b, x)):
        once = grad(slope, 2)
        second = grad(lambda x, once=once: once(a, b, x))(x)
        _close(x * second + (b - x) * once(a, b, x) - a * slope(a, b, x), left, 1e-8)
    _close(grad(by_a, 1)(a, b, x), grad(by_b, 0)(a, b, x), 1e-8)


def test_of_no_centrality() -> None:
    """SciPy gives nan below 0, for that element."""
    x = numpy.array([1.0, 1.0, 2.0])
    nc = numpy.array([-1.0, 0.5, 2.0])
    value, slope = jvp(lambda x: sp.chndtr(x, 2.0, nc), (np.array(x),), (np.ones(3),))
    _close(value, sp.chndtr(x, 2.0, nc))
    assert numpy.isnan(slope).tolist() == [True, False, False]
