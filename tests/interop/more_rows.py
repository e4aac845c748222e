"""Further rows: distributions, summaries of samples, filters that SciPy's matrix differentiates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import scipy.interpolate
import scipy.ndimage as ndi
import scipy.signal as signal
import scipy.sparse.linalg
import scipy.spatial.distance as ssd
import scipy.special as sp
import scipy.stats as st

Row = Callable[[Any], Any]
G = numpy.random.default_rng(1).normal(size=(4, 5))
LONG = numpy.random.default_rng(2).normal(size=12)
LAWS: dict[str, tuple[Any, Any]] = {  # where, and the parameters in SciPy's order
    "weibull_min": (lambda x: x, lambda x: (x + 0.5, 0.1, x + 1)),
    "invweibull": (lambda x: x, lambda x: (x + 0.5, 0.1)),
    "pareto": (lambda x: x + 2, lambda x: (x + 0.5, 0.1, 1.2)),
    "lomax": (lambda x: x, lambda x: (x + 0.5,)),
    "gumbel_r": (lambda x: x, lambda x: (x * 0.2, x + 0.3)),
    "gumbel_l": (lambda x: x, lambda x: (x * 0.2, x + 0.3)),
    "gompertz": (lambda x: x, lambda x: (x + 0.5,)),
    "rayleigh": (lambda x: x, lambda x: (0.1, x + 0.5)),
    "maxwell": (lambda x: x, lambda x: (0.1, x + 0.5)),
    "chi": (lambda x: x, lambda x: (x + 1,)),
    "invgamma": (lambda x: x, lambda x: (2.5, 0.1, x)),
    "f": (lambda x: x, lambda x: (3.0, 4.5)),
    "fisk": (lambda x: x, lambda x: (x + 0.5,)),
    "levy": (lambda x: x, lambda x: (0.1, x)),
    "halfcauchy": (lambda x: x, lambda x: (0.1, x)),
    "loggamma": (lambda x: x - 0.5, lambda x: (x + 1,)),
    "powerlaw": (lambda x: x * 0.5, lambda x: (x + 0.5,)),
    "gennorm": (lambda x: x - 0.5, lambda x: (x + 1,)),
    "skewnorm": (lambda x: x, lambda x: (x - 0.5,)),
    "vonmises": (lambda x: x, lambda x: (x * 3, 0.2)),
    "truncnorm": (lambda x: x * 0.2, lambda x: (-x, x + 0.1)),
    "erlang": (lambda x: x, lambda x: (3.0, 0.1, x)),
}
NO_CDF = ("vonmises", "betabinom")


def _all_of(name: str, where: Any, parameters: Any) -> Row:
    law, methods = getattr(st, name), ["pdf", "logpdf"]
    if name not in NO_CDF:
        methods += ["cdf", "logcdf", "sf", "logsf"]

    def row(x: Any) -> Any:
        return tuple(getattr(law, m)(where(x), *parameters(x)) for m in methods)

    return row


QUANTILES = {name: LAWS[name][1] for name in (
    "weibull_min", "invweibull", "pareto", "lomax", "gumbel_r", "gumbel_l", "gompertz", "rayleigh",
    "fisk", "halfcauchy", "powerlaw", "erlang", "invgamma",
)} | {
    "norm": lambda x: (x, x + 1),
    "t": lambda x: (3.5, x),
    "gamma": lambda x: (2.5, 0.1, x),
    "chi2": lambda x: (3.0, x),
    "beta": lambda x: (2.0, 3.0, x),
    "expon": lambda x: (0.1, x),
    "uniform": lambda x: (0.1, x),
    "laplace": lambda x: (0.1, x),
    "logistic": lambda x: (0.1, x),
    "cauchy": lambda x: (0.1, x),
    "lognorm": lambda x: (x, 0.1, x),
    "halfnorm": lambda x: (0.1, x),
}  # fmt: skip


def _quantiles(name: str) -> Row:
    law, parameters = getattr(st, name), QUANTILES[name]
    ends = numpy.array([0.0, 0.3, 1.0, 1.5])

    def row(x: Any) -> Any:
        inside, given = x * 0.6, parameters(x)
        return law.ppf(inside, *given), law.isf(inside, *given), law.ppf(ends, *given)

    return row


STATS: dict[str, Row] = {
    **{name: _all_of(name, *given) for name, given in LAWS.items()},
    **{f"{name} quantiles": _quantiles(name) for name in QUANTILES},
    "nbinom": lambda x: (
        st.nbinom.logpmf(numpy.arange(4), x + 1, x * 0.5), st.nbinom.cdf(2.0, 3.0, x * 0.5),
        st.nbinom.sf(2.0, 3.0, x * 0.5), st.nbinom.pmf(-1, x, 0.5),
    ),
    "betabinom": lambda x: st.betabinom.logpmf(numpy.arange(4), 5, x, x + 1),
    "dirichlet": lambda x: (
        st.dirichlet.logpdf([0.1, 0.2, 0.3, 0.4], x), st.dirichlet.pdf([0.1, 0.2, 0.3], x),
    ),
    "multinomial": lambda x: (
        st.multinomial.logpmf([1, 0, 2, 1], 4, x / x.sum()),
        st.multinomial.pmf([1, 0, 2, 1], 4, x / x.sum()),
    ),
    "zscore": lambda x: st.zscore(x, ddof=1),
    "zmap": lambda x: st.zmap(x, x**2),
    "gmean": lambda x: (st.gmean(x), st.gmean(x[:, None] * abs(G), axis=None)),
    "hmean": lambda x: st.hmean(x),
    "moment": lambda x: st.moment(x, 3),
    "skew": lambda x: (st.skew(x), st.skew(x[:, None] * G, axis=1, bias=False)),
    "kurtosis": lambda x: (st.kurtosis(x), st.kurtosis(x[:, None] * G, axis=1, bias=False)),
    "sem": lambda x: st.sem(x),
    "variation": lambda x: st.variation(x, ddof=1),
    "entropy": lambda x: (st.entropy(x), st.entropy(x, numpy.ones(4), base=2)),
}  # fmt: skip
_SOS = signal.butter(2, 0.3, output="sos")
SIGNAL: dict[str, Row] = {
    "savgol_filter": lambda x: signal.savgol_filter(x[:, None] * G, 3, 1, axis=0),
    "savgol_filter mirror": lambda x: signal.savgol_filter(x, 3, 2, deriv=1, mode="mirror"),
    "filtfilt": lambda x: signal.filtfilt([0.3, 0.4], [1.0, -0.2], x[:, None] * LONG),
    "sosfiltfilt": lambda x: signal.sosfiltfilt(_SOS, x[:, None] * LONG, padlen=5),
    "hilbert": lambda x: signal.hilbert(x),
    "detrend": lambda x: signal.detrend(x[:, None] * G, axis=0),
    "resample": lambda x: signal.resample(x, 7),
    "resample_poly": lambda x: signal.resample_poly(x, 3, 2),
    "decimate": lambda x: signal.decimate(x[:, None] * numpy.tile(LONG, 4), 2),
    "welch": lambda x: signal.welch(x[:, None] * LONG, fs=2.0, nperseg=6)[1],
    "welch spectrum": lambda x: signal.welch(
        x[:, None] * LONG, window="boxcar", nperseg=5, nfft=8, scaling="spectrum",
        detrend="linear", return_onesided=False,
    )[1],
    "periodogram": lambda x: signal.periodogram(x[:, None] * LONG, window="hann")[1],
}  # fmt: skip
NDIMAGE: dict[str, Row] = {
    "shift": lambda x: ndi.shift(x[:, None] * G, (0.3, -0.6), order=1),
    "shift fill": lambda x: ndi.shift(x, 1.2, order=3, cval=2.0),
    "zoom": lambda x: ndi.zoom(x, 2, order=1),
    "rotate": lambda x: ndi.rotate(x[:, None] * G, 20.0, reshape=False, order=1),
    "affine_transform": lambda x: ndi.affine_transform(x[:, None] * G, [0.9, 1.1], order=1),
    "spline_filter": lambda x: ndi.spline_filter(x[:, None] * G),
    "median_filter": lambda x: ndi.median_filter(x[:, None] * G, 3),
    "median_filter even": lambda x: ndi.median_filter(x[:, None] * G, (2, 3), mode="wrap"),
    "minimum_filter": lambda x: ndi.minimum_filter(x[:, None] * G, (3, 2), mode="constant"),
    "maximum_filter": lambda x: ndi.maximum_filter(
        x[:, None] * G, footprint=[[0, 1, 0], [1, 1, 0]], mode="mirror"
    ),
}
DISTANCE: dict[str, Row] = {
    name: lambda x, name=name: getattr(ssd, name)(x, LONG[:4] + 0.2)
    for name in (
        "euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra",
        "braycurtis",
    )
} | {
    "minkowski": lambda x: ssd.minkowski(x, LONG[:4], 3.0),
    "seuclidean": lambda x: ssd.seuclidean(x, LONG[:4], numpy.arange(1, 5.0)),
    "mahalanobis": lambda x: ssd.mahalanobis(x, LONG[:4], numpy.diag(numpy.arange(1, 5.0))),
}  # fmt: skip
_CORNERS = numpy.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
_BIDIAGONAL = scipy.sparse.csc_array(2 * numpy.eye(4) + numpy.eye(4, k=1))


def _grid(values: Any) -> Any:
    return scipy.interpolate.RegularGridInterpolator((numpy.arange(4.0), numpy.arange(5.0)), values)


OTHERS: dict[str, Row] = {
    "RegularGridInterpolator values": lambda x: _grid(x[:, None] * G)(
        numpy.array([[0.3, 1.2], [2.9, 3.5], [1.0, 2.0]])
    ),
    "RegularGridInterpolator one place": lambda x: _grid(x[:, None] * G)(numpy.array([1.5, 0.3])),
    "RegularGridInterpolator places": lambda x: _grid(G)(numpy.stack([x, x + 0.4], axis=-1)),
    "RegularGridInterpolator more": lambda x: scipy.interpolate.RegularGridInterpolator(
        ([2.0, 1.0, 0.0, -2.0],), x[:, None] * G, bounds_error=False
    )(numpy.array([0.3, 5.0, numpy.nan])),
    "interpn": lambda x: scipy.interpolate.interpn(
        (numpy.arange(4.0), numpy.arange(5.0)), x[:, None] * G, numpy.stack([x, x + 0.4], axis=-1)
    ),
    "RegularGridInterpolator nearest": lambda x: _grid(x[:, None] * G)(([0.3], [1.2]), "nearest"),
    "PchipInterpolator": lambda x: scipy.interpolate.PchipInterpolator(
        [0.0, 1.0, 1.5, 3.0], x[:, None] * G
    )(numpy.array([-0.1, 0.4, 1.0, 2.2])),
    "PchipInterpolator axis": lambda x: scipy.interpolate.PchipInterpolator(
        numpy.arange(5.0), x[:, None] * G, axis=1, extrapolate=False
    )(2.5),
    "griddata": lambda x: scipy.interpolate.griddata(_CORNERS, x, [[0.3, 0.4], [0.2, 0.9]]),
    "spsolve": lambda x: scipy.sparse.linalg.spsolve(_BIDIAGONAL, x),
}


_si: Any = scipy.interpolate


def _by_places(x: Any, make: Any, **options: Any) -> Any:
    """A curve by the places of its data, by their values, and by where it is asked for."""
    places = numpy.stack([0.0 * x[0], 0.6 + 0.2 * x[0], 1.7 + 0 * x[1], 2.4 + x[1], 4 + x[2]])
    made = make(places, x[[0, 1, 2, 3, 0]], **options)
    return made(numpy.stack([0.3 + x[2], x[3] + 2, 3.6 + 0 * x[0]]))


_PLACES = {
    "CubicSpline": _si.CubicSpline,
    "PchipInterpolator": _si.PchipInterpolator,
    "Akima1DInterpolator": _si.Akima1DInterpolator,
    "interp1d": _si.interp1d,
}
INTERPOLATE_BY_PLACES: dict[str, Row] = {
    f"{name} by places": lambda x, make=make: _by_places(x, make)
    for name, make in _PLACES.items()
} | {
    "CubicSpline natural by places": lambda x: _by_places(
        x, _si.CubicSpline, bc_type="natural"
    ),
    "CubicSpline with values at the ends": lambda x: _si.CubicSpline(
        numpy.arange(5.0), LONG[5:10], bc_type=((1, x[0]), (2, x[1]))
    )(x * 3),
    "CubicSpline with values at the other ends": lambda x: _si.CubicSpline(
        numpy.arange(5.0), LONG[5:10], bc_type=((2, x[0]), (1, x[1]))
    )(x * 3),
    "CubicHermiteSpline by places": lambda x: _si.CubicHermiteSpline(
        numpy.cumsum(x + 0.0), x[::-1], x
    ).integrate(0.4, 2.3),
    "CubicSpline derived by places": lambda x: (
        lambda s: (s.derivative()(0.9), s.antiderivative()(2.2), s(1.1, 2))
    )(_si.CubicSpline(numpy.cumsum(x + 0.0), numpy.stack([x, x * x], axis=1))),
    "interp1d of unsorted places": lambda x: _si.interp1d(
        x, G[:, 0] * x, bounds_error=False, fill_value=(x[0], 2.0)
    )(numpy.array([0.0, 0.5, 0.95, 7.0])),
    "interp1d nearest of places": lambda x: _si.interp1d(
        x, G[0, :4] * x, "nearest", fill_value="extrapolate"
    )(numpy.array([0.0, 0.55, 0.95, 7.0])),
}  # fmt: skip
MORE = {
    "stats": STATS,
    "signal": SIGNAL,
    "ndimage": NDIMAGE,
    "distance": DISTANCE,
    "others": OTHERS,
    "interpolate by places": INTERPOLATE_BY_PLACES,
}
SPECIAL_CALLS: dict[str, Row] = {
    "owens_t": lambda x: sp.owens_t(x - 0.5, x),
    "ive": lambda x: sp.ive(1.5, x),
    "kve": lambda x: sp.kve(1.5, x),
    "k0e": sp.k0e,
    "k1e": sp.k1e,
    "huber": lambda x: sp.huber(x, 0.8),
    "huber r": lambda x: sp.huber(0.8, x),
    "pseudo_huber": lambda x: sp.pseudo_huber(x, x - 0.5),
    "kl_div": lambda x: sp.kl_div(x, x[::-1]),
    "poch": lambda x: sp.poch(x, x + 1),
    "powm1": lambda x: sp.powm1(x, x + 1),
    "boxcox1p": lambda x: sp.boxcox1p(x, x - 0.5),
    "inv_boxcox": lambda x: sp.inv_boxcox(x, 0.3),
    "inv_boxcox1p": lambda x: sp.inv_boxcox1p(x, 0.3),
    "sindg": sp.sindg,
    "cosdg": sp.cosdg,
    "tandg": sp.tandg,
    "ellipkinc": lambda x: sp.ellipkinc(x, 0.3),
    "ellipeinc": lambda x: sp.ellipeinc(x, 0.3),
    "hyp0f1": lambda x: sp.hyp0f1(1.5, x),
} | {
    name: lambda x, name=name, rest=rest: getattr(sp, name)(numpy.arange(4), *rest, x - 0.4)
    for name, rest in {
        "eval_hermite": (), "eval_hermitenorm": (), "eval_chebyt": (), "eval_chebyu": (),
        "eval_laguerre": (), "eval_legendre": (), "eval_genlaguerre": (0.5,),
        "eval_gegenbauer": (0.7,), "eval_jacobi": (0.5, 0.3),
    }.items()
}  # fmt: skip
MORE["special"] = SPECIAL_CALLS
