"""Further rows. Each calls several functions, so that there are few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import scipy.integrate
import scipy.interpolate as si
import scipy.linalg as sla
import scipy.ndimage as ndi
import scipy.signal as signal
import scipy.special as sp
import scipy.stats as st
from scipy.spatial.transform import Rotation

import lazynp as np
from tests.interop.sparse_rows import SPARSE

Row = Callable[[Any], Any]
_rng = numpy.random.default_rng(0)
M = _rng.normal(size=(4, 4)) + 4 * numpy.eye(4)
S = M @ M.T
A = _rng.normal(size=(4, 3))
B = _rng.normal(size=(4, 2))
V = _rng.normal(size=6)
PLACES = _rng.normal(size=(6, 2))
I4 = numpy.arange(4)


SADDLE = S * (1 - numpy.eye(4))  # with a zero diagonal: ldl has blocks of two rows


def _sizes(parts: Any) -> tuple[Any, ...]:
    """Without the phases, which are LAPACK's choice."""
    return tuple(map(abs, parts))


def _projection(vectors: Any) -> Any:
    return vectors @ vectors.T


def _bell(x: Any) -> Any:
    return numpy.exp(-x * x / 500)


def _parts(*results: Any) -> tuple[Any, ...]:
    """All results in one tuple."""
    flat: list[Any] = []
    for r in results:
        flat.extend(r if isinstance(r, tuple) else (r,))
    return tuple(flat)


SPECIAL: dict[str, Row] = {
    "comb, perm": lambda x: (
        sp.comb(6, x), sp.comb(x + 2, 1.3), sp.comb(x, [5, 0, -1, 0.2]), sp.perm(5.5, x),
        sp.comb(x + 3, x, repetition=True), sp.perm(x + 1, [0.4, 7, 0, 1]),
    ),
    "ellipk, ellipe near 0 and not": lambda x: (
        sp.ellipk((x - 0.7) * 0.01), sp.ellipk(x * 0.7), sp.ellipe(x * 0.7 - 0.3),
        sp.ellipkm1(x * 0.7), sp.ellipkinc(x, x * 0.5 - 0.3), sp.ellipeinc(x * 2, x * 0.5 - 0.3),
        sp.ellipkinc(x * 3, (x - 0.7) * 0.01),
    ),
    "ellipj": lambda x: _parts(sp.ellipj(x, x * 0.6), sp.ellipj(x * 3, 0.01 * x)),
    "Carlson": lambda x: (sp.elliprf(x, x[::-1] * 2, 1.5), sp.elliprc(x, x * x + 1)),
    "fresnel, airy": lambda x: _parts(sp.fresnel(x), sp.airy(x - 2)),
    "sici, shichi": lambda x: _parts(sp.sici(x), sp.shichi(x), sp.sici(x - 0.75)[0]),
    "lambertw": lambda x: (sp.lambertw(x), sp.lambertw(-0.1 * x, -1)),
    "wrightomega": lambda x: (sp.wrightomega(x), sp.wrightomega(x + 1j * x)),
    "wofz": lambda x: (sp.wofz(x + 0.3j), sp.voigt_profile(x - 0.5, x, x * 0.5)),
    "by the shape": lambda x: (
        sp.gammaincinv(x + 1, x * 0.5), sp.gammainccinv(x + 1, x * 0.5),
        sp.betainc(x * 2, x[::-1] + 0.2, x * 0.6), sp.betainc(x * 30, x + 0.1, 0.9 + x * 0.05),
        sp.betaincc(x, 0.5, 0.4), sp.betaincinv(x * 2, x + 1, x * 0.5),
        sp.stdtr(x * 3, x[::-1] - 0.8), sp.stdtrit(x * 3, x * 0.5),
    ),
    "struve, hyperu": lambda x: (
        sp.struve(1.3, x), sp.modstruve(0.5, x), sp.hyperu(0.5, 1.2, x), sp.ndtri_exp(-x),
    ),
    "Bessel": lambda x: (
        sp.kn(2, x + 1), sp.yn(2, x + 1), sp.jve(0.5, x), sp.yve(0.5, x), sp.hankel1(0.5, x),
        sp.hankel2(0.5, x),
    ),
    "spherical": lambda x: (
        sp.spherical_jn(I4, x), sp.spherical_yn(1, x + 1, derivative=True),
        sp.spherical_in(1, x), sp.spherical_kn(I4 % 2, x + 1),
    ),
    "zeta": lambda x: (
        sp.zeta(x + 1.5), sp.zeta(x + 1.5, x + 0.5), sp.zetac(x + 1.5), sp.zeta(x - 2.3),
        sp.polygamma(I4, x + 1),
    ),
    "Kelvin": lambda x: tuple(
        getattr(sp, n)(x + 0.5) for n in "ber bei ker kei berp beip kerp keip".split()
    ),
    "cumulative": lambda x: (
        sp.chdtr(x + 1, x), sp.chdtrc(x + 1, x), sp.chdtri(x + 1, x * 0.5), sp.gdtr(x, x + 1, 0.7),
        sp.gdtrc(x, x + 1, x), sp.fdtr(3.0, 4.0, x), sp.fdtrc(3.0, 4.0, x),
        sp.nbdtr(2, 3, x * 0.5), sp.nbdtrc(2, 3, x * 0.5),
    ),
    "as NumPy's": lambda x: (
        sp.cbrt(x), sp.exp2(x), sp.expm1(x), sp.log1p(x), sp.round(x * 3), sp.sinc(x),
        sp.softplus(x) if hasattr(sp, "softplus") else x, sp.cotdg(x * 50),
    ),
}  # fmt: skip
_KNOTS = numpy.array([0, 0, 0, 0, 1.3, 1.3, 1.3, 1.3])
_INNER = numpy.array([0, 0, 0, 0.6, 1.3, 1.3, 1.3])
_AT = numpy.array([0.1, 0.6, 1.3, 1.5])
_TCK = si.splrep(numpy.arange(6.0), V)
_RECT = si.RectBivariateSpline(numpy.arange(6.0), numpy.arange(5.0), _rng.normal(size=(6, 5)))
_SMOOTH = si.UnivariateSpline(numpy.arange(6.0), V, s=0.1)
_EXACT = si.InterpolatedUnivariateSpline(numpy.arange(6.0), V)


def _twice(x: Any) -> Any:
    return x[[0, 1, 2, 3, 3, 1, 2, 0]] ** 2


_LONG = _rng.normal(size=24)


def _long(x: Any) -> Any:
    """24 elements."""
    return (x[:, None] * _LONG.reshape(4, 6) + x[:, None] ** 2).reshape(24)


CURVES: dict[str, Row] = {
    "BSpline": lambda x: (
        si.BSpline(_KNOTS, x, 3)(_AT),
        si.BSpline(_INNER, x[:, None] * B, 2, extrapolate=False)(_AT - 0.2),
        si.BSpline(_INNER, x, 2, extrapolate="periodic")(_AT),
        si.BSpline(_KNOTS, A.T * x, 3, axis=1)(x),
    ),
    "BSpline by its argument": lambda x: (
        si.BSpline(_INNER, V, 2)(x), si.BSpline(_KNOTS, V, 3)(x, 1),
    ),
    "BSpline's derivative": lambda x: (
        si.BSpline(_KNOTS, x, 3).derivative()(x), si.BSpline(_INNER, x, 2).antiderivative()(x),
        si.BSpline(_INNER, x, 2).integrate(0.1, x[1]),
    ),
    "make_interp_spline, make_lsq_spline": lambda x: (
        si.make_interp_spline(I4 * 1.0, x * x, k=3)(x),
        si.make_interp_spline(I4 * 1.0, (x[:, None] * B).T, k=2, axis=1)(0.7),
        si.make_interp_spline(I4 * 1.0, x, bc_type="natural")(0.7),
        si.make_lsq_spline(I4 * 1.0, x, numpy.array([0, 0, 1.5, 3, 3.0]), 1)(0.7),
    ),
    "splev": lambda x: (
        si.splev(x, _TCK), si.splev(x - 0.5, _TCK, der=1, ext=1),
        si.splev(0.4, (_KNOTS, x, 3), ext=3), _SMOOTH(x), _SMOOTH(x - 1, 1), _EXACT(x, ext=3),
    ),
    "bivariate": lambda x: (
        _RECT.ev(x, x * 2), _RECT(x[:2] + 0.1, x[1:3]), _RECT.ev(x - 1, x, dx=1),
        _RECT(x, x, grid=False),
    ),
    "PPoly": lambda x: (
        si.PPoly(x[:3, None] * x, numpy.arange(5.0))(x * 3), si.PPoly(x[:, None] * A, I4)(x, 1),
        si.PPoly((x[:, None, None] * A[:3])[..., None], I4 * 1.0, axis=1)(0.4),
    ),
    "PPoly's derivatives": lambda x: (
        si.CubicSpline(I4, x).derivative()(x * 2), si.PchipInterpolator(I4, x).derivative(2)(x),
        si.CubicSpline(I4, x).derivative(4)(0.5), si.CubicSpline(I4, x).derivative(-1)(1.5),
        si.CubicSpline(I4, x[:, None] * B).antiderivative(2)(x * 2),
        si.CubicSpline(I4, (x[:, None] * B).T, axis=1).antiderivative().derivative()(x),
    ),
    "PPoly's integrals": lambda x: (
        si.CubicSpline(I4, x).integrate(0.2, x[1] * 3),
        si.CubicSpline(I4, V[:4]).integrate(x[0], 2),
        si.CubicSpline(I4, x[:, None] * B).integrate(2.5, -0.5),
        si.CubicSpline(I4, x).integrate(0.5, 3.5, extrapolate=False),
    ),
    "CubicHermiteSpline": lambda x: (
        si.CubicHermiteSpline(I4, x, x * x)(x * 2), si.CubicHermiteSpline(I4, x, V[:4])(1.5, 1),
        si.CubicHermiteSpline(I4, V[:4], x, extrapolate=False)(3.5),
        si.CubicHermiteSpline(I4, (x[:, None] * B).T, B.T, axis=1)(x),
    ),
    "Akima1DInterpolator": lambda x: (
        si.Akima1DInterpolator(I4, x)(x * 2), si.Akima1DInterpolator(I4, x)(3.5),
        si.Akima1DInterpolator(I4, x, method="makima", extrapolate=True)(x * 4 - 1),
        si.Akima1DInterpolator(I4, (x[:, None] * B).T, axis=1)(x, 1),
        si.Akima1DInterpolator(I4[:2], x[:2])(0.3), si.Akima1DInterpolator(I4[:3], x[:3])(1.3),
        si.Akima1DInterpolator(I4 * 1.0, 2.0 * I4 * x[0])(1.3),
    ),
    "splrep": lambda x: (
        si.splev(x * 2, si.splrep(I4, x)), si.splev(0.4, si.splrep(I4, x, k=2, s=0), der=1),
        si.splev(0.4, si.splrep(I4, x, t=[1.4], k=1, task=-1)), si.splrep(I4, x)[1],
    ),
    "UnivariateSpline": lambda x: (
        si.InterpolatedUnivariateSpline(I4, x)(x * 2), si.UnivariateSpline(I4, x, s=0)(x * 2, 1),
        si.InterpolatedUnivariateSpline(I4, x, k=2, ext="const")([-1, 0.4, 5]),
        si.InterpolatedUnivariateSpline(I4, x, bbox=[-1, 4]).derivative()(x),
        si.InterpolatedUnivariateSpline(I4, x, k=1, ext=3).derivative()(-1.0),
        si.UnivariateSpline(I4, x, k=2, s=0).antiderivative()(x + 1),
        si.UnivariateSpline(I4, x, s=0).integral(0.3, x[2] * 2),
    ),
    "make_smoothing_spline": lambda x: (
        si.make_smoothing_spline(numpy.arange(8.0), _twice(x), lam=0.1)(x * 4),
        si.make_smoothing_spline(numpy.arange(8.0), _twice(x), V[[0] * 8] ** 2, lam=2.0)(0.7),
    ),
    "RBFInterpolator": lambda x: (
        si.RBFInterpolator(PLACES, V * x[0])(PLACES[:2] + 0.1),
        si.RBFInterpolator(PLACES * x[:2], V, kernel="gaussian", epsilon=x[2])(PLACES[:2] + 0.1),
        si.RBFInterpolator(PLACES, V)(x[:, None] * B),
        si.RBFInterpolator(PLACES, numpy.stack([V, V * V], -1), smoothing=x[0], kernel="cubic",
                           degree=1)(x[:, None] * B),
    ),
}  # fmt: skip
_KDE = st.gaussian_kde(V)
SAMPLES: dict[str, Row] = {
    "gaussian_kde": lambda x: (
        st.gaussian_kde(x)([0.2, 1.0]), st.gaussian_kde(x, weights=x).logpdf(x), _KDE(x),
        _KDE.logpdf(x), st.gaussian_kde(x * B.T, "silverman")(B.T), st.gaussian_kde(V, x[0])(0.3),
        st.gaussian_kde(x).integrate_box_1d(0.1, x[1]), _KDE.integrate_box_1d(-1, x[1]),
    ),
    "iqr, median_abs_deviation, trim_mean": lambda x: (
        st.iqr(x), st.iqr(x[:, None] * A, axis=0, rng=(10, 60), scale="normal"),
        st.median_abs_deviation(x, scale="normal"), st.trim_mean(x, 0.25),
    ),
    "pearsonr, linregress": lambda x: _parts(
        tuple(st.pearsonr(x, V[:4])), tuple(st.linregress(x, x * V[:4])),
        st.linregress(x, V[:4]).intercept_stderr,
    ),
    "t and beta by their shapes": lambda x: (
        st.t.cdf(x, x + 2), st.t.ppf(0.3, x + 2), st.beta.cdf(x * 0.5, x, 2.0),
        st.gamma.ppf(0.4, x + 1), st.f.cdf(x, x + 2, 3.0),
    ),
}  # fmt: skip
_SHAPES: dict[str, Any] = {
    "t": lambda x: (x + 2.5,), "binom": lambda x: (5, x * 0.5), "bernoulli": lambda x: (x * 0.5,),
    "geom": lambda x: (x * 0.5,), "nbinom": lambda x: (3.0, x * 0.5), "beta": lambda x: (x, x + 1),
    "gamma": lambda x: (x,), "chi2": lambda x: (x,), "lognorm": lambda x: (x,),
    "weibull_min": lambda x: (x + 1,), "pareto": lambda x: (x + 2.5,), "poisson": lambda x: (x,),
}  # fmt: skip
_OF_SCALE = (
    "norm expon uniform laplace logistic gumbel_r gumbel_l rayleigh halfnorm maxwell".split()
)
_WITH_ENTROPY = (
    "norm expon uniform laplace logistic gumbel_r gamma beta lognorm weibull_min".split()
)


def _moments(names: Any) -> Row:
    def row(x: Any) -> Any:
        found: list[Any] = []
        for name in names:
            law = getattr(st, name)
            discrete = hasattr(law, "pmf")
            given = _SHAPES[name](x) if name in _SHAPES else ()
            named = {"loc": x} if discrete else {"loc": x, "scale": x + 1}
            found += [law.mean(*given, **named), law.var(*given, **named), law.std(*given, **named)]
            if name in _WITH_ENTROPY:
                found.append(law.entropy(*given, **named))
            if name in ("norm", "expon", "gamma"):
                found.append(law.median(*given, **named))
        return tuple(found)

    return row


SAMPLES["moments of continuous distributions"] = _moments(
    [n for n in _SHAPES if not hasattr(getattr(st, n), "pmf")] + _OF_SCALE
)
SAMPLES["moments of discrete distributions"] = _moments(
    [n for n in _SHAPES if hasattr(getattr(st, n), "pmf")]
)


def _turn(x: Any) -> Any:
    return Rotation.from_rotvec(x[:3])


_FIXED = Rotation.from_euler("xyz", [0.1, 0.2, 0.3])
ROTATIONS: dict[str, Row] = {
    "Rotation": lambda x: (
        _turn(x).as_quat(), _turn(x).as_matrix(), _turn(x).as_euler("xyz"), _turn(x).as_mrp(),
        _turn(x).as_euler("ZYX"), _turn(x).as_euler("zxz", degrees=True) / 60, _turn(x).magnitude(),
        _turn(x).as_euler("YXY"), (_turn(x) ** 0.5).as_rotvec(), Rotation.from_rotvec(
            x[:3] * 4).as_rotvec(),
    ),
    "Rotation's products": lambda x: (
        _turn(x).apply(A), _turn(x).apply(A[0], inverse=True), _FIXED.apply(A * x[:, None]),
        (_FIXED * _turn(x) * _FIXED.inv()).as_rotvec(), (_turn(x) * _FIXED).as_quat(),
        Rotation.from_rotvec(A * x[:, None]).apply(A[::-1]),
        Rotation.from_rotvec(A * x[:, None])[1].as_euler("xyz"),
        Rotation.concatenate([_turn(x), _FIXED]).as_matrix(),
    ),
    "Rotation's constructors": lambda x: (
        Rotation.from_euler("zyx", x[:3]).as_rotvec(), Rotation.from_quat(x).as_rotvec(),
        Rotation.from_euler("ZX", x[:2] * 30, degrees=True).as_matrix(),
        Rotation.from_euler("y", x[:1]).as_quat(), Rotation.from_euler("Z", x[0]).as_quat(),
        Rotation.from_quat(x, scalar_first=True).inv().as_quat(canonical=True),
        Rotation.from_matrix(_turn(x).as_matrix()).as_quat(),
        Rotation.from_mrp(x[:3]).as_quat(),
    ),
}  # fmt: skip


def _stacked(*xs: Any) -> Any:
    return np.stack(xs) if any(isinstance(x, np.ndarray) for x in xs) else numpy.stack(xs)


LINALG: dict[str, Row] = {
    "Lyapunov, Riccati": lambda x: (
        sla.solve_discrete_lyapunov(0.05 * (M + x), S),
        sla.solve_continuous_are(M * 0.3 + x, B, S * 0.1, numpy.eye(2) * (1 + x[0])),
        sla.solve_discrete_are(M * 0.3 + x, B, S * 0.1, numpy.eye(2) * (1 + x[0])),
    ),
    "powers": lambda x: _parts(
        sla.expm_frechet(0.2 * M * x, x[:, None] * M), sla.fractional_matrix_power(S + x, 0.3),
        sla.fractional_matrix_power(M * x, -2), sla.pinvh(S + x),
    ),
    "polar": lambda x: _parts(
        sla.polar(M + x), sla.polar(A * x[:, None], "left"), sla.polar((A * x[:, None]).T),
        sla.orthogonal_procrustes(A * x[:, None], A + B[:, :1]),
    ),
    "tridiagonal": lambda x: _parts(
        sla.eigh_tridiagonal(x * x, x[1:]), sla.eigvalsh_tridiagonal(x * x, x[1:]),
        sla.solveh_banded(_stacked(x, x * 0 + 5), x),
        sla.solveh_banded(_stacked(x + 5, x), B * x[:, None], lower=True),
    ),
    "rq": lambda x: _parts(
        sla.rq(M * x), sla.rq((A * x[:, None]).T, mode="economic"), sla.rq(A * x[:, None]),
        sla.rq(x * A.T), sla.rq(M * (x + 1j * x[::-1])), sla.rq(B * x[:, None], mode="r"),
    ),
    "lu that is not square, qr of tall ones": lambda x: _parts(
        sla.lu(A[::-1] * x[:, None]), sla.lu(x * A.T, permute_l=True),
        sla.lu(x * B.T, p_indices=True)[1:], sla.qr(B * x[:, None]),
        numpy.linalg.qr(A * x[:, None], "complete") if type(x) is numpy.ndarray
        else tuple(np.linalg.qr(A * x[:, None], "complete")),
    ),
    "schur, hessenberg": lambda x: _parts(
        sla.schur(M * x - 4 * numpy.diag(x)), sla.schur(S * x, sort="rhp"),
        _sizes(sla.schur((M - 4) * x, "complex")), _sizes(sla.schur(M * (x + 1j * x[::-1]))),
        sla.hessenberg(M * x), sla.hessenberg(M * (x + 1j * x[::-1]), calc_q=True),
        sla.hessenberg(M[:2, :2] * x[:2], calc_q=True),
    ),
    "ldl": lambda x: _parts(
        sla.ldl(M * x - x[0]), sla.ldl(SADDLE * (x + x[:, None]), lower=False),
        sla.ldl(SADDLE * (x + 1j * x[::-1])), sla.ldl(M * (x + 1j * x[::-1]), hermitian=False),
    ),
    "null_space, orth, funm": lambda x: (
        sla.null_space((A * x[:, None]).T), sla.orth(A * x[:, None]),
        _projection(sla.null_space((B * x[:, None]).T)),
        sla.orth((A * x[:, None]).T), sla.funm(S * x, _bell), sla.funm(1j * M * x, _bell),
    ),
    "qr with pivoting": lambda x: _parts(
        sla.qr(M * x, pivoting=True), sla.qr(A * x[:, None], mode="r", pivoting=True),
        sla.qr(x * A.T, mode="economic", pivoting=True), sla.qr((M + 1j) * x, pivoting=True),
    ),
    "bands, sign": lambda x: (
        sla.cholesky_banded(_stacked(x, x * 0 + 5)),
        sla.cholesky_banded(_stacked(x + 5, x * (1 + 1j)), lower=True),
        sla.cho_solve_banded((_stacked(x, x * 0 + 5), False), x),
        sla.cho_solve_banded((_stacked(x + 5, x), True), B * x[:, None]),
        sla.signm(M * x - 3 * numpy.eye(4)),
    ),
    "structured": lambda x: (
        sla.solve_circulant(x + numpy.array([3.0, 0, 0, 0]), x), sla.matmul_toeplitz((x, x * 2), x),
        sla.convolution_matrix(x, 3, "same"), sla.companion(x), sla.leslie(x, x[1:]),
        sla.khatri_rao(x[:, None] * B, A[:, :2]), sla.fiedler(x),
    ),
}  # fmt: skip
VECTORS: dict[str, Row] = {
    "t of vectors": lambda x: (
        st.multivariate_t.logpdf(PLACES[:4, :1] + x[:, None] * B, x[:2], S[:2, :2] + x[0], 3.5),
        st.multivariate_t.pdf(B, x[:2], 2.0, x[0] * 3), st.multivariate_t(x, S, 4).logpdf(M),
        st.multivariate_t([0.1, 0.3], S[:2, :2], 4).logpdf(x[:, None] * B),
    ),
    "wishart": lambda x: (
        st.wishart.logpdf(S, 5.5 + x[0], S + numpy.eye(4) * x[1]),
        st.wishart(5, S).logpdf(S + x[0] * numpy.eye(4)), st.wishart.pdf(x, 3.2, 1.5 + x[1]),
        st.invwishart.logpdf(S, 5.5 + x[0], S + numpy.eye(4) * x[1]),
        st.invwishart(5, S).logpdf(S + x[0] * numpy.eye(4)), st.invwishart.logpdf(x, 3.2, 1.5),
        st.wishart(5 + x[0], S).logpdf(numpy.stack([S, S + numpy.eye(4)], axis=-1)),
    ),
    "matrices, directions, counts": lambda x: (
        st.matrix_normal.logpdf(A * 0.3, x[:, None] * A, S + x[0], S[:3, :3]),
        st.matrix_normal(rowcov=S, colcov=x[:2] + 1).logpdf(B),
        st.matrix_normal.pdf(x[:, None] * B * 0.2, numpy.zeros((4, 2)), 2.0, [1.0, 3.0]),
        st.vonmises_fisher.logpdf([0.6, 0.0, 0.8], [0.0, 0.6, 0.8], x[0] * 3),
        st.dirichlet_multinomial.logpmf([1, 2, 0, 3], x * 2, 6),
        st.dirichlet_multinomial(x, [6, 5]).pmf([1, 2, 0, 3]),
        st.dirichlet(x * 2).logpdf([0.1, 0.2, 0.3, 0.4]),
        st.multinomial(6, x / x.sum()).pmf([1, 2, 0, 3]),
    ),
}  # fmt: skip
FURTHER: dict[str, dict[str, Row]] = {
    "stats of vectors": VECTORS,
    "special": SPECIAL,
    "interpolate": CURVES,
    "stats": SAMPLES,
    "spatial": ROTATIONS,
    "linalg": LINALG,
    "sparse": SPARSE,
    "signal": {
        "oaconvolve, correlate2d": lambda x: (
            signal.oaconvolve(x, x[:2]), signal.oaconvolve(x * A.T, B.T[:1], "same"),
            signal.correlate2d(x * A.T, B), signal.correlate2d(x * A.T, B[:2] * (1 + 1j), "valid"),
            signal.correlate2d(A, x[:2, None] * B[:2], "same", "wrap"),
            signal.correlate2d(A * x[:, None], B[:3], "same", fillvalue=0.5),
        ),
        "freqz": lambda x: _parts(
            signal.freqz(x, worN=5), signal.freqz(x, [1.0, 0.3], 6, whole=True, fs=2.0),
            signal.freqz(0.5, x, worN=[0.1, 0.7]), signal.freqz(x[0], x, 4, include_nyquist=True),
        ),
        "upfirdn, czt": lambda x: (
            signal.upfirdn([1.0, 2.0, 1.0], x, 2, 3), signal.upfirdn(V, x * A.T, 1, 2),
            signal.czt(x, 5), signal.czt(x[:, None] * B, 3, axis=0),
        ),
        "csd, coherence": lambda x: _parts(
            signal.csd(_long(x), _long(x)[::-1], nperseg=8),
            signal.csd(_long(x), _LONG, 2.0, nperseg=6),
            signal.csd(_long(x), _LONG, window=numpy.hanning(5), scaling="spectrum", nfft=8),
            signal.coherence(_long(x), _LONG, nperseg=8, noverlap=6),
        ),
        "stft": lambda x: _parts(
            signal.stft(_long(x), nperseg=8), signal.stft(_long(x), 2.0, nperseg=7, noverlap=3),
            signal.stft(_long(x), nperseg=8, boundary=None, padded=False, scaling="psd"),
            signal.stft(_long(x).reshape(12, 2), nperseg=5, axis=0, return_onesided=False),
        ),
        "spectrogram": lambda x: _parts(
            signal.spectrogram(_long(x), nperseg=8),
            signal.spectrogram(_long(x), 3.0, "hann", 7, 4),
            signal.spectrogram(_long(x).reshape(12, 2), nperseg=6, axis=0, mode="magnitude"),
            signal.spectrogram(_long(x), nperseg=6, mode="complex", detrend=False),
        ),
    },
    "ndimage": {
        "gaussian_laplace, gaussian_gradient_magnitude": lambda x: (
            ndi.gaussian_laplace(x[:, None] * A, 0.7), ndi.gaussian_laplace(x, 2.0),
            ndi.gaussian_laplace(A * x[0], (0.5, 1.0), mode=["wrap", "nearest"], truncate=2.0),
            ndi.gaussian_gradient_magnitude(x[:, None] * A, 0.8, mode="constant", cval=0.3),
        ),
        "rank_filter, percentile_filter": lambda x: (
            ndi.rank_filter(x[:, None] * A, 2, 3), ndi.rank_filter(x, -1, size=2, mode="wrap"),
            ndi.percentile_filter(x[:, None] * A, 40, size=(3, 2), mode="mirror"),
            ndi.percentile_filter(x, 100, footprint=[1, 0, 1]), ndi.percentile_filter(x, -20, 3),
        ),
        "spline_filter1d": lambda x: (
            ndi.spline_filter1d(x), ndi.spline_filter1d(x[:, None] * A, 2, 0, mode="wrap"),
        ),
    },
    "others": {
        "medfilt, romb": lambda x: (
            signal.medfilt(x, 3), signal.medfilt2d(x[:, None] * A, 3),
            scipy.integrate.romb(numpy.ones(5) * x[0] * numpy.arange(5), dx=0.3),
        ),
    },
}  # fmt: skip
