"""Calls of SciPy as functions of one float array, by SciPy's module. Each row of the tables in
`lazynp.interop.scipy` occurs here."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg as sla
import scipy.ndimage as ndi
import scipy.signal
import scipy.sparse
import scipy.spatial.distance as ssd
import scipy.special
import scipy.stats

from tests.interop.further_rows import FURTHER
from tests.interop.more_rows import MORE

X = numpy.array([0.3, 0.7, 1.2, 0.9])
_rng = numpy.random.default_rng(0)
M = _rng.normal(size=(4, 4)) + 4 * numpy.eye(4)
A = _rng.normal(size=(4, 3))
B = _rng.normal(size=(4, 2))
S = M @ M.T


def _m(x: Any) -> Any:
    """A general matrix that depends on x."""
    return x[:, None] * x + M


def _s(x: Any) -> Any:
    """A symmetric positive definite one."""
    return x[:, None] * x + S


def _r(x: Any) -> Any:
    """A tall one."""
    return x[:, None] * A


def _gauge(v: Any) -> Any:
    """What does not depend on the phases of eigenvectors."""
    return (v * v.conj()).real


FROZEN = scipy.stats.multivariate_normal([0.1, 0.2, -0.3], S[:3, :3])
FACTORED = scipy.stats.multivariate_normal(
    [0.1, 0.2, -0.3], scipy.stats.Covariance.from_cholesky(numpy.linalg.cholesky(S[:3, :3]))
)
BANDS = _rng.normal(size=(4, 4)) + numpy.array([0, 5.0, 0, 0])[:, None]

LINALG: dict[str, Callable[[Any], Any]] = {
    "inv": lambda x: sla.inv(_m(x)),
    "inv sym": lambda x: sla.inv(_m(x), assume_a="sym"),
    "inv lower triangular": lambda x: sla.inv(_m(x), assume_a="lower triangular"),
    "pinv": lambda x: sla.pinv(_r(x)),
    "solve": lambda x: sla.solve(_m(x), x),
    "solve matrix": lambda x: sla.solve(M, x[:, None] * B),
    "solve pos": lambda x: sla.solve(_s(x), x, assume_a="pos", lower=True),
    "solve transposed": lambda x: sla.solve(_m(x), x, transposed=True),
    "lstsq": lambda x: sla.lstsq(_r(x), x * x)[0],
    "lstsq residues": lambda x: sla.lstsq(_r(x), x * x)[1],
    "solve_triangular": lambda x: sla.solve_triangular(_m(x), x),
    "solve_triangular T": lambda x: sla.solve_triangular(_m(x), B * x[:, None], "T", lower=True),
    "solve_triangular unit": lambda x: sla.solve_triangular(_m(x), x, unit_diagonal=True),
    "solve_toeplitz": lambda x: sla.solve_toeplitz(x + numpy.array([4.0, 0, 0, 0]), x),
    "cholesky": lambda x: sla.cholesky(_s(x)),
    "cholesky lower": lambda x: sla.cholesky(_s(x), lower=True),
    "cho_factor": lambda x: sla.cho_factor(_s(x))[0],
    "cho_solve": lambda x: sla.cho_solve(sla.cho_factor(_s(x)), x),
    "cho_solve lower": lambda x: sla.cho_solve(sla.cho_factor(_s(x), lower=True), B * x[:, None]),
    "lu": lambda x: sla.lu(_m(x)[::-1]),
    "lu indices": lambda x: sla.lu(_m(x)[::-1], p_indices=True)[1:],
    "lu permute_l": lambda x: sla.lu(_m(x)[::-1], permute_l=True),
    "lu_factor": lambda x: sla.lu_factor(_m(x)[::-1])[0],
    "lu_solve": lambda x: sla.lu_solve(sla.lu_factor(_m(x)[::-1]), x),
    "lu_solve trans": lambda x: sla.lu_solve(sla.lu_factor(_m(x)[::-1]), B * x[:, None], 1),
    "qr": lambda x: sla.qr(_m(x)),
    "qr economic": lambda x: sla.qr(_r(x), mode="economic"),
    "qr r": lambda x: sla.qr(_r(x), mode="r")[0],
    "svd": lambda x: sla.svd(_m(x))[1],
    "svd vectors": lambda x: sla.svd(_r(x), full_matrices=False),
    "svdvals": lambda x: sla.svdvals(_r(x)),
    "eigh": lambda x: tuple(map(_gauge, sla.eigh(_s(x)))),
    "eigh upper": lambda x: tuple(
        map(_gauge, sla.eigh(_s(x), lower=False, subset_by_index=[1, 2]))
    ),
    "eigh generalized": lambda x: tuple(map(_gauge, sla.eigh(_s(x), S + numpy.eye(4)))),
    "eigvalsh": lambda x: sla.eigvalsh(_s(x)),
    "eig": lambda x: tuple(_gauge(v) for v in sla.eig(_m(x))),
    "eigvals": lambda x: sla.eigvals(_m(x)).real,
    "det": lambda x: sla.det(_m(x)),
    "norm": lambda x: sla.norm(_m(x)),
    "norm 2": lambda x: sla.norm(_m(x), 2),
    "norm axis": lambda x: sla.norm(_m(x), 1, axis=0, keepdims=True),
    "toeplitz": lambda x: sla.toeplitz(x, x[::-1] * 2),
    "toeplitz symmetric": lambda x: sla.toeplitz(x),
    "circulant": lambda x: sla.circulant(x),
    "hankel": lambda x: sla.hankel(x, x * x),
    "block_diag": lambda x: sla.block_diag(_r(x), x, 2.0, M),
    "solve_banded": lambda x: sla.solve_banded((2, 1), BANDS * x, x),
    "solve_banded matrix": lambda x: sla.solve_banded((2, 1), BANDS, B * x[:, None]),
    "solve_sylvester": lambda x: sla.solve_sylvester(_m(x), M[:2, :2] * x[:2], B * x[:, None]),
    "solve_continuous_lyapunov": lambda x: sla.solve_continuous_lyapunov(_m(x), S),
    "expm": lambda x: sla.expm(_m(x) / 4),
    "logm": lambda x: sla.logm(_s(x)),
    "sqrtm": lambda x: sla.sqrtm(_s(x)),
    "sinm": lambda x: sla.sinm(_m(x)),
    "cosm": lambda x: sla.cosm(_m(x)),
    "tanm": lambda x: sla.tanm(_m(x) / 9),
    "sinhm": lambda x: sla.sinhm(_m(x) / 4),
    "coshm": lambda x: sla.coshm(_m(x) / 4),
    "tanhm": lambda x: sla.tanhm(_m(x) / 9),
}

U = numpy.array([0.2, 0.5, 0.7, 0.35])  # within (0, 1)
sp = scipy.special
SPECIAL: dict[str, Callable[[Any], Any]] = {
    "logsumexp": lambda x: sp.logsumexp(_m(x), axis=1),
    "logsumexp b": lambda x: sp.logsumexp(x, b=x * 2, keepdims=True),
    "softmax": lambda x: sp.softmax(_m(x), axis=0),
    "log_softmax": lambda x: sp.log_softmax(x),
    "factorial": lambda x: sp.factorial(x),
    "multigammaln": lambda x: sp.multigammaln(x + 2, 3),
    "betainc": lambda x: sp.betainc(2.0, 3.5, x * U),
    "betaincc": lambda x: sp.betaincc(2.0, 3.5, x * U),
    "betaincinv": lambda x: sp.betaincinv(2.0, 3.5, x * U),
    "gammaincinv": lambda x: sp.gammaincinv(2.5, x * U),
    "gammainccinv": lambda x: sp.gammainccinv(2.5, x * U),
    "stdtr": lambda x: sp.stdtr(3.5, x),
    "stdtrit": lambda x: sp.stdtrit(3.5, x * U),
    "erfcx": lambda x: sp.erfcx(x),
    "erfi": lambda x: sp.erfi(x),
    "erfcinv": lambda x: sp.erfcinv(x),
    "dawsn": lambda x: sp.dawsn(x),
    "expi": lambda x: sp.expi(x),
    "exp1": lambda x: sp.exp1(x),
    "expn": lambda x: sp.expn(3, x),
    "exprel": lambda x: sp.exprel(x - 0.6),
    "exp10": lambda x: sp.exp10(x),
    "cosm1": lambda x: sp.cosm1(x),
    "log_expit": lambda x: sp.log_expit(x),
    "rgamma": lambda x: sp.rgamma(x),
    "loggamma": lambda x: sp.loggamma(x),
    "spence": lambda x: sp.spence(x),
    "ellipk": lambda x: sp.ellipk(x * U),
    "ellipe": lambda x: sp.ellipe(x * U),
    "j0": lambda x: sp.j0(x),
    "j1": lambda x: sp.j1(x),
    "y0": lambda x: sp.y0(x),
    "y1": lambda x: sp.y1(x),
    "k0": lambda x: sp.k0(x),
    "k1": lambda x: sp.k1(x),
    "jv": lambda x: sp.jv(1.5, x),
    "yv": lambda x: sp.yv(1.5, x),
    "iv": lambda x: sp.iv(1.5, x),
    "kv": lambda x: sp.kv(1.5, x),
    "hyp1f1": lambda x: sp.hyp1f1(1.5, 2.5, x),
    "hyp2f1": lambda x: sp.hyp2f1(1.5, 2.5, 3.0, x * U),
    "pdtr": lambda x: sp.pdtr(2.0, x),
    "pdtrc": lambda x: sp.pdtrc(2.0, x),
    "bdtr": lambda x: sp.bdtr(2.0, 5, x * U),
    "boxcox": lambda x: sp.boxcox(x + 1, x - 0.7),
    "binom": lambda x: sp.binom(x + 3, x),
    "gammaln": lambda x: sp.gammaln(x),
    "erf": lambda x: sp.erf(x),
    "xlogy": lambda x: sp.xlogy(x, x),
    "gammainc": lambda x: sp.gammainc(x, x + 1),
}

T = numpy.array([0.0, 0.4, 1.5, 1.9])
integrate = scipy.integrate
INTEGRATE: dict[str, Callable[[Any], Any]] = {
    "trapezoid": lambda x: integrate.trapezoid(_r(x), T, axis=0),
    "trapezoid dx": lambda x: integrate.trapezoid(x, dx=0.5),
    "trapezoid x": lambda x: integrate.trapezoid(x, numpy.cumsum(x)),
    "simpson": lambda x: integrate.simpson(_r(x), x=T, axis=0),
    "simpson dx": lambda x: integrate.simpson(x, dx=0.5),
    "simpson odd": lambda x: integrate.simpson(x[:3], dx=0.5),
    "simpson odd x": lambda x: integrate.simpson(x[:3] ** 2, x=T[:3]),
    "simpson 2": lambda x: integrate.simpson(x[:2], x=T[:2]),
    "simpson x": lambda x: integrate.simpson(T, x=numpy.cumsum(x)),
    "cumulative_trapezoid": lambda x: integrate.cumulative_trapezoid(_r(x), T, axis=0, initial=0),
    "cumulative_trapezoid dx": lambda x: integrate.cumulative_trapezoid(x, dx=0.5),
    "cumulative_simpson": lambda x: integrate.cumulative_simpson(_r(x), x=T, axis=0),
    "cumulative_simpson dx": lambda x: integrate.cumulative_simpson(x, dx=0.5, initial=1.5),
    "cumulative_simpson odd": lambda x: integrate.cumulative_simpson(x[:3], dx=0.5),
    "cumulative_simpson 2": lambda x: integrate.cumulative_simpson(x[:2], dx=0.5),
}

K = numpy.array([0.0, 0.25, 0.8, 1.1, 1.6])
Y = numpy.array([1.0, -0.5, 0.3, 0.9, 0.2])
Y2 = numpy.stack([Y, Y**2], axis=1)
si = scipy.interpolate
AT = numpy.array([[0.1, 0.5], [1.0, 1.4]])


def _y(x: Any) -> Any:
    return numpy.concatenate([x, x[:1] * 2])


INTERPOLATE: dict[str, Callable[[Any], Any]] = {
    "CubicSpline": lambda x: si.CubicSpline(K, Y)(x),
    "CubicSpline columns": lambda x: si.CubicSpline(K, Y2)(x),
    "CubicSpline axis": lambda x: si.CubicSpline(K, Y2.T, axis=1)(x[:2]),
    "CubicSpline nu": lambda x: si.CubicSpline(K, Y)(x, 1),
    "CubicSpline beyond": lambda x: si.CubicSpline(K, Y, extrapolate=True)(x * 3),
    "CubicSpline y": lambda x: si.CubicSpline(K, _y(x))(AT),
    "CubicSpline y natural": lambda x: si.CubicSpline(K, _y(x), bc_type="natural")(x),
    "CubicSpline y clamped": lambda x: si.CubicSpline(K, _y(x), bc_type=((1, 0.0), "natural"))(AT),
    "CubicSpline y periodic": lambda x: si.CubicSpline(
        K, numpy.concatenate([x, x[:1]]), bc_type="periodic"
    )(AT + 2),
    "CubicSpline y axis": lambda x: si.CubicSpline(K, _y(x) * Y2.T, axis=1)(AT),
    "PchipInterpolator": lambda x: si.PchipInterpolator(K, Y)(x),
    "Akima1DInterpolator": lambda x: si.Akima1DInterpolator(K, Y)(x),
    "PPoly": lambda x: si.PPoly(numpy.array([[1.0, 2.0], [0.5, 0.3]]), [0, 1, 2])(x, nu=1),
    "interp1d": lambda x: si.interp1d(K, Y)(x),
    "interp1d y": lambda x: si.interp1d(K, _y(x))(AT),
    "interp1d unsorted": lambda x: si.interp1d(K[::-1], _y(x))(AT),
    "interp1d axis": lambda x: si.interp1d(K, _y(x) * Y2.T)(AT),
    "interp1d columns": lambda x: si.interp1d(K, Y2, axis=0)(x),
    "interp1d cubic": lambda x: si.interp1d(K, _y(x), kind="cubic")(x),
    "interp1d quadratic": lambda x: si.interp1d(K, Y, kind="quadratic")(x),
    "interp1d slinear": lambda x: si.interp1d(K, _y(x), kind="slinear")(x),
    "interp1d nearest": lambda x: si.interp1d(K, _y(x), kind="nearest")(AT),
    "interp1d next": lambda x: si.interp1d(K, _y(x), kind="next")(AT),
    "interp1d previous": lambda x: si.interp1d(K, _y(x), kind="previous", fill_value="extrapolate")(
        AT * 3 - 1
    ),
    "interp1d zero": lambda x: si.interp1d(K, _y(x), kind="zero")(AT),
    "interp1d fill": lambda x: si.interp1d(K, _y(x), bounds_error=False, fill_value=(2.0, 3.0))(
        x * 3 - 1.5
    ),
    "interp1d beyond": lambda x: si.interp1d(K, Y, fill_value="extrapolate")(x * 3 - 1.5),
}

W = _rng.normal(size=(3, 2))
G = _rng.normal(size=(4, 5))


def _g(x: Any) -> Any:
    return x[:, None] * G


NDIMAGE: dict[str, Callable[[Any], Any]] = {
    "convolve": lambda x: ndi.convolve(_g(x), W, mode="nearest"),
    "convolve weights": lambda x: ndi.convolve(G, x.reshape(2, 2), mode="constant", cval=1.5),
    "correlate": lambda x: ndi.correlate(_g(x), W, mode="mirror", origin=(1, 0)),
    "correlate wrap": lambda x: ndi.correlate(_g(x), W, mode="wrap", origin=-1),
    "convolve1d": lambda x: ndi.convolve1d(_g(x), x, axis=0, origin=1),
    "correlate1d": lambda x: ndi.correlate1d(_g(x), [1.0, 2.0], mode="reflect"),
    "gaussian_filter": lambda x: ndi.gaussian_filter(_g(x), (1.0, 0.4), order=(0, 1)),
    "gaussian_filter modes": lambda x: ndi.gaussian_filter(
        _g(x), 0.8, mode=["wrap", "constant"], cval=0.5
    ),
    "gaussian_filter sigma": lambda x: ndi.gaussian_filter(G, x[0] * 3, radius=2),
    "gaussian_filter1d": lambda x: ndi.gaussian_filter1d(x, 1.0, order=2),
    "uniform_filter": lambda x: ndi.uniform_filter(_g(x), 3),
    "uniform_filter1d": lambda x: ndi.uniform_filter1d(x, 4, origin=1),
    "laplace": lambda x: ndi.laplace(_g(x)),
    "sobel": lambda x: ndi.sobel(_g(x), axis=0),
    "prewitt": lambda x: ndi.prewitt(_g(x)),
}
for _mode in ("constant", "nearest", "mirror", "reflect", "wrap", "grid-wrap"):
    for _order in (0, 1, 3):
        NDIMAGE[f"map_coordinates {_mode} {_order}"] = lambda x, mode=_mode, order=_order: (
            ndi.map_coordinates(_g(x), numpy.stack([x * 4.1 - 1.3, x + 0.05]), None, order, mode)
        )

signal = scipy.signal
SOS = signal.butter(4, 0.3, output="sos")
NUM, DEN = signal.butter(3, 0.3)
LONG = _rng.normal(size=9)
SIGNAL: dict[str, Callable[[Any], Any]] = {
    "convolve": lambda x: signal.convolve(_g(x), W, mode="same"),
    "convolve valid": lambda x: signal.convolve(LONG, x, mode="valid"),
    "correlate": lambda x: signal.correlate(LONG, x),
    "correlate same": lambda x: signal.correlate(LONG, x, mode="same"),
    "correlate valid": lambda x: signal.correlate(x, LONG, mode="valid"),
    "fftconvolve": lambda x: signal.fftconvolve(LONG, x, mode="same"),
    "convolve2d": lambda x: signal.convolve2d(_g(x), W, boundary="symm"),
    "convolve2d same": lambda x: signal.convolve2d(_g(x), W, mode="same", boundary="wrap"),
    "lfilter": lambda x: signal.lfilter(NUM, DEN, x),
    "lfilter axis": lambda x: signal.lfilter(NUM, DEN, _g(x), axis=0),
    "lfilter coefficients": lambda x: signal.lfilter(x, [2.0, 0.5], LONG),
    "lfilter fir": lambda x: signal.lfilter(x, 2.0, LONG),
    "lfilter gain": lambda x: signal.lfilter([2.0], [0.5], x),
    "lfilter zi": lambda x: signal.lfilter(NUM, DEN, LONG, zi=x[:3]),
    "sosfilt": lambda x: signal.sosfilt(SOS, x),
    "sosfilt zi": lambda x: signal.sosfilt(SOS, LONG, zi=x.reshape(2, 2)),
}

DISTANCE: dict[str, Callable[[Any], Any]] = {
    f"cdist {metric}": lambda x, metric=metric: ssd.cdist(_r(x), A + 0.3, metric)
    for metric in (
        "euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation",
        "canberra", "braycurtis",
    )
} | {
    "cdist minkowski": lambda x: ssd.cdist(_r(x), A + 0.3, "minkowski", p=3.0, w=[1.0, 2.0, 0.5]),
    "cdist seuclidean": lambda x: ssd.cdist(_r(x), A + 0.3, "seuclidean", V=[1.0, 2.0, 0.5]),
    "cdist mahalanobis": lambda x: ssd.cdist(_r(x), A + 0.3, "mahalanobis", VI=S[:3, :3]),
    "pdist": lambda x: ssd.pdist(_r(x)),
    "squareform": lambda x: ssd.squareform(ssd.pdist(_r(x), "cityblock")),
    "squareform vector": lambda x: ssd.squareform(ssd.squareform(x[:3]), checks=False),
}  # fmt: skip

P = scipy.sparse.random_array((5, 4), density=0.5, rng=0)
SPARSE: dict[str, Callable[[Any], Any]] = {
    "csr @ x": lambda x: scipy.sparse.csr_array(P) @ x,
    "csc @ x": lambda x: scipy.sparse.csc_array(P) @ x,
    "csr @ matrix": lambda x: scipy.sparse.csr_array(P) @ _r(x),
    "dot": lambda x: scipy.sparse.csr_array(P).dot(x),
    "matrix *": lambda x: scipy.sparse.csr_matrix(P) * x,
    "x @ csr": lambda x: x @ scipy.sparse.csr_array(P).T,
    "matrix @ coo": lambda x: _r(x).T @ scipy.sparse.coo_array(P).T,
}

sf = scipy.fft
FFT: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda x, name=name: getattr(sf, name)(_g(x), 6, 0, "ortho")
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        name: lambda x, name=name: getattr(sf, name)(_g(x))
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
    },
    **{
        name: lambda x, name=name: getattr(sf, name)(_g(x), 3, 6, 0)
        for name in ("dct", "idct", "dst", "idst")
    },
    **{
        name: lambda x, name=name: getattr(sf, name)(_g(x), axes=(0,), norm="ortho")
        for name in ("dctn", "idctn", "dstn", "idstn")
    },
    "dct default": lambda x: sf.dct(x),
    "rfft workers": lambda x: sf.rfft(x, workers=1),
}

st = scipy.stats
_CALLS = {
    "norm": (lambda x: (x, x * 0.1, x + 0.5)),
    "t": (lambda x: (x - 0.5, 3.5, 0.1, x)),
    "gamma": (lambda x: (x + 0.1, x + 1, 0.0, x + 0.2)),
    "chi2": (lambda x: (x + 0.1, x + 2)),
    "beta": (lambda x: (x * U, 2.0, 3.5)),
    "expon": (lambda x: (x, 0.1, x + 1)),
    "uniform": (lambda x: (x, 0.1, x + 1)),
    "laplace": (lambda x: (x - 0.5, 0.1, x + 1)),
    "logistic": (lambda x: (x - 0.5, 0.1, x + 1)),
    "cauchy": (lambda x: (x - 0.5, 0.1, x + 1)),
    "lognorm": (lambda x: (x, x + 0.5)),
    "halfnorm": (lambda x: (x, 0.1, x + 1)),
}
_DISCRETE_CALLS = {
    "poisson": (lambda x: (numpy.array([0, 1, 3, 7]), x)),
    "binom": (lambda x: (numpy.array([0, 1, 3, 7]), 7, x * U)),
    "bernoulli": (lambda x: (numpy.array([0, 1, 0, 2]), x * U)),
    "geom": (lambda x: (numpy.array([1, 2, 3, 7]), x * U)),
}
STATS: dict[str, Callable[[Any], Any]] = {
    f"{law}.{method}": lambda x, law=law, method=method, args=args: getattr(
        getattr(st, law), method
    )(*args(x))
    for calls, methods in (
        (_CALLS, ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")),
        (_DISCRETE_CALLS, ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")),
    )
    for law, args in calls.items()
    for method in methods
} | {
    "norm frozen": lambda x: st.norm(loc=x, scale=2.0).logpdf(0.3),
    "gamma frozen": lambda x: st.gamma(x + 1.0, scale=x).logpdf(0.3),
    "norm far": lambda x: st.norm.logsf(x * 40),
    "gamma density by shape": lambda x: st.gamma.logpdf(x, a=x * 2),
    "beta density by shapes": lambda x: st.beta.pdf(U, x, b=x + 1),
    "t density by df": lambda x: st.t.logpdf(0.3, df=x),
    "expon outside": lambda x: st.expon.logpdf(numpy.array([-1.0, 0.5]), scale=x[:2]),
    "multivariate_normal.logpdf": lambda x: st.multivariate_normal.logpdf(x, x * 2, _s(x)),
    "multivariate_normal.pdf": lambda x: st.multivariate_normal.pdf(_r(x)[:, :2], x[:2]),
    "multivariate_normal frozen": lambda x: st.multivariate_normal(x, _s(x)).logpdf(M),
    "multivariate_normal frozen before": lambda x: FROZEN.pdf(_r(x)),
    "multivariate_normal frozen, log": lambda x: FROZEN.logpdf(x[1:] * 2),
    "multivariate_normal frozen, of a factor": lambda x: FACTORED.logpdf(x[:3]),
    "multivariate_normal frozen, of numbers": lambda x: st.multivariate_normal(0.3, 2.0).pdf(x),
    "multivariate_normal 1": lambda x: st.multivariate_normal.logpdf(x, cov=x[0]),
    "multivariate_normal diagonal": lambda x: st.multivariate_normal.logpdf(_r(x), x[:3], x[1:]),
}

ROWS = {
    f"{module}: {name}": row
    for module, rows in (
        ("linalg", LINALG), ("special", SPECIAL), ("integrate", INTEGRATE),
        ("interpolate", INTERPOLATE), ("ndimage", NDIMAGE), ("signal", SIGNAL),
        ("distance", DISTANCE), ("sparse", SPARSE), ("fft", FFT), ("stats", STATS),
    )
    for name, row in rows.items()
} | {
    f"{module}: {name} (more)": row
    for table in (MORE, FURTHER)
    for module, rows in table.items()
    for name, row in rows.items()
}  # fmt: skip
_ = math
