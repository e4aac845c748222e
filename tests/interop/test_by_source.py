"""SciPy's functions whose own source runs on traced arrays: values as SciPy's, derivatives as the
differences of those values, also second ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse.csgraph
import scipy.spatial
import scipy.stats

import lazynp as np
from lazynp.interop import _by_source as by_source

pytestmark = pytest.mark.usefixtures("hooked")

ndi: Any = scipy.ndimage
sig: Any = scipy.signal
so: Any = scipy.optimize
sps: Any = scipy.spatial
st: Any = scipy.stats
X = numpy.array([0.61, 1.73, 0.94, 1.32, 0.55, 1.87, 1.08, 0.79])
Y = numpy.array([1.31, 0.62, 1.57, 0.88, 1.94, 0.71, 1.45, 1.12])
D = numpy.array([0.7, -0.4, 0.9, 0.35, -0.8, 0.25, 0.5, -0.6])
LABELS = numpy.array([0, 1, 2, 0, 1, 2, 1, 0])
T = numpy.arange(8.0)


def _three(x: Any) -> Any:
    return x[:3] / np.linalg.norm(x[:3])


def _table(x: Any) -> Any:
    return x.reshape(4, 2)


def _system(x: Any) -> Any:
    return x[:4].reshape(2, 2), x[4:6, None], x[None, 6:], numpy.zeros((1, 1))


def _of_zeros(zeros: Any, poles: Any, gain: Any) -> Any:
    return zeros.real.sum(), abs(poles).sum(), gain


PLAIN: dict[str, Callable[[Any], Any]] = {
    "newton_cotes": lambda x: scipy.integrate.newton_cotes(7)[0] @ x,
    "pchip_interpolate": lambda x: scipy.interpolate.pchip_interpolate(T, x, [0.3, 4.6]),
    "diagsvd": lambda x: scipy.linalg.diagsvd(x, 8, 9),
    "sum": lambda x: ndi.sum(x, LABELS, [0, 2]),
    "sum_labels": lambda x: ndi.sum_labels(x, LABELS, 1),
    "mean": lambda x: ndi.mean(_table(x), LABELS.reshape(4, 2), [0, 1]),
    "maximum": lambda x: ndi.maximum(x, LABELS, [0, 1]),
    "minimum": lambda x: ndi.minimum(x),
    "variance": lambda x: ndi.variance(x, LABELS, [0, 1]),
    "standard_deviation": lambda x: ndi.standard_deviation(x, LABELS, [0, 1]),
    "median": lambda x: ndi.median(x, LABELS, [0, 1]),
    "labeled_comprehension": lambda x: ndi.labeled_comprehension(
        x, LABELS, [0, 1], lambda v: (v * v).sum(), float, 0
    ),
    "extrema": lambda x: ndi.extrema(x)[:2],
    "rosen": lambda x: so.rosen(x),
    "rosen_der": lambda x: so.rosen_der(x),
    "rosen_hess": lambda x: so.rosen_hess(x),
    "rosen_hess_prod": lambda x: so.rosen_hess_prod(x, x[::-1]),
    "freqs": lambda x: sig.freqs(x[:3], x[3:], [0.1, 1.2])[1],
    "deconvolve": lambda x: sig.deconvolve(x, x[:3])[0],
    "hilbert2": lambda x: sig.hilbert2(_table(x)),
    "wiener": lambda x: sig.wiener(_table(x), 3),
    "istft": lambda x: sig.istft(_table(x) * (1 + 2j), nperseg=6)[1],
    "lombscargle": lambda x: sig.lombscargle(T + 0.1 * Y, x, [1.0, 2.0]),
    "gausspulse": lambda x: sig.gausspulse(x / 9, 3.0),
    "chirp": lambda x: sig.chirp(T / 8, x[0], x[1], x[2], "quadratic"),
    "sawtooth": lambda x: sig.sawtooth(5 * x, 0.3),
    "square": lambda x: sig.square(5 * x) * x,
    "zpk2tf": lambda x: sig.zpk2tf(x[:2], x[2:5], x[5]),
    "cont2discrete": lambda x: sig.cont2discrete(_system(x), 0.1)[0],
    "vectorstrength": lambda x: sig.vectorstrength(x, 2.0)[0],
    "envelope": lambda x: sig.envelope(x, (1, 3))[0],
    "group_delay": lambda x: sig.group_delay((x, [1.0]), 5)[1],
    "tf2zpk": lambda x: _of_zeros(*sig.tf2zpk(x[:3], x[3:])),
    "bilinear": lambda x: sig.bilinear(x[:2], x[2:5], 3.0),
    "firwin": lambda x: sig.firwin(5, x[0] / 2),
    "ellip": lambda x: sig.ellip(3, x[0], 40.0 * x[1], x[2] / 3),
    "bessel": lambda x: (
        *sig.bessel(3, x[0] / 3),
        *sig.bessel(2, x[:2] / 3, "band", norm="mag", output="sos").ravel(),
    ),
    "butter": lambda x: (
        *sig.butter(3, x[0] / 3),
        *sig.butter(2, x[:2] / 3, "bandstop", output="sos").ravel(),
        *sig.butter(2, x[1], "high", analog=True),
        sig.sosfilt(sig.butter(3, 20 * x[2], fs=100.0, output="sos"), x),
    ),
    "cheby1": lambda x: (*sig.cheby1(3, x[1], x[0] / 3), sig.cheby1(2, 1.0, x[2] / 3, "high")[0]),
    "cheby2": lambda x: (*sig.cheby2(3, 20 * x[1], x[0] / 3), sig.cheby2(2, 20.0, x[2] / 3)[0]),
    "iirfilter": lambda x: (
        *sig.iirfilter(2, x[:2] / 3, btype="band"),
        sig.iirfilter(2, x[2] / 3, x[1], ftype="cheby1", btype="low", output="zpk")[2],
    ),
    "iirpeak": lambda x: sig.iirpeak(x[0] / 3, 5 * x[1]),
    "iirnotch": lambda x: sig.iirnotch(x[0] / 3, 5 * x[1]),
    "distance_matrix": lambda x: sps.distance_matrix(_table(x), _table(Y), 3),
    "procrustes": lambda x: sps.procrustes(_table(x), _table(Y))[2],
    "geometric_slerp": lambda x: sps.geometric_slerp(_three(x), _three(x[5:]), [0.3]),
    "jensenshannon": lambda x: sps.distance.jensenshannon(x, Y),
    "laplacian": lambda x: scipy.sparse.csgraph.laplacian(x[:, None] * x, normed=True),
}  # fmt: skip
SAMPLES: dict[str, Callable[[Any], Any]] = {
    "wasserstein_distance": lambda x: st.wasserstein_distance(x, Y),
    "bartlett": lambda x: st.bartlett(x, Y).statistic,
    "boxcox": lambda x: (st.boxcox(x, x[0]), st.boxcox(_table(x), 0.0)),
    "yeojohnson": lambda x: (st.yeojohnson(x, 0.3), st.yeojohnson(x - 1.2, x[0])),
    "energy_distance": lambda x: st.energy_distance(x, Y),
    "gzscore": lambda x: st.gzscore(x),
    "levene": lambda x: st.levene(x, Y).statistic,
    "kstat": lambda x: st.kstat(x, 3),
    "kstatvar": lambda x: st.kstatvar(x, 2),
    "differential_entropy": lambda x: st.differential_entropy(x),
    "circmean": lambda x: (st.circmean(x, 5.0), st.circmean(_table(x), axis=1)),
    "circvar": lambda x: st.circvar(x),
    "circstd": lambda x: st.circstd(x),
    "directional_stats": lambda x: st.directional_stats(_table(x)).mean_direction,
    "combine_pvalues": lambda x: (
        *st.combine_pvalues(x / 2),
        st.combine_pvalues(x / 2, "stouffer").statistic,
    ),
    "lmoment": lambda x: st.lmoment(x),
    "scoreatpercentile": lambda x: st.scoreatpercentile(x, 30),
    "tmin": lambda x: st.tmin(x, 0.6),
    "tmax": lambda x: st.tmax(x, 1.8),
    "ttest_ind": lambda x: tuple(st.ttest_ind(x, Y, equal_var=False)),
    "ttest_rel": lambda x: tuple(st.ttest_rel(x, Y)),
    "ttest_1samp": lambda x: tuple(st.ttest_1samp(_table(x), 0.5, axis=1)),
    "chisquare": lambda x: tuple(st.chisquare(x)),
    "power_divergence": lambda x: tuple(st.power_divergence(x, lambda_=0.5)),
    "describe": lambda x: st.describe(x)[1:],
    "theilslopes": lambda x: st.theilslopes(x, Y)[0],
    "pmean": lambda x: st.pmean(x, 3.0),
    "gstd": lambda x: st.gstd(_table(x), axis=0),
    "tstd": lambda x: st.tstd(x, (0.6, 1.8)),
    "tvar": lambda x: st.tvar(x),
    "tsem": lambda x: st.tsem(x),
    "sigmaclip": lambda x: st.sigmaclip(x, 1.5, 1.5)[0],
    "alexandergovern": lambda x: st.alexandergovern(x, Y).statistic,
    "brunnermunzel": lambda x: x * st.brunnermunzel(x, Y).statistic,
    "expectile": lambda x: st.expectile(x, 0.3),
    "obrientransform": lambda x: st.obrientransform(x, Y)[0],
    "jarque_bera": lambda x: tuple(st.jarque_bera(x)),
    "skewtest": lambda x: tuple(st.skewtest(x)),
    "kurtosistest": lambda x: st.kurtosistest(np.concatenate([x, x * x, x**3])).statistic,
    "f_oneway": lambda x: (*st.f_oneway(x, Y, x[:5] ** 2), *st.f_oneway(x, Y, equal_var=False)),
    "boxcox_llf": lambda x: (st.boxcox_llf(x[0], x), st.boxcox_llf(0.0, x)),
    "yeojohnson_llf": lambda x: st.yeojohnson_llf(x[0], x - 1.2),
    "normaltest": lambda x: st.normaltest(np.concatenate([x, x * x, x**3])).statistic,
}
ROWS = PLAIN | SAMPLES
# those that look at no value, so that `jit` and `vmap` trace them as well
STAGED = (
    "pchip_interpolate sum mean variance labeled_comprehension rosen rosen_der "
    "freqs hilbert2 wiener istft lombscargle gausspulse square zpk2tf cont2discrete "
    "envelope distance_matrix jensenshannon laplacian wasserstein_distance bartlett gzscore levene "
    "kstat circmean circvar directional_stats lmoment"
).split()


def test_each_function_has_a_row() -> None:
    names = [n for names in by_source.PLAIN.values() for n in names.split()]
    assert sorted(PLAIN) == sorted(names)
    assert sorted(SAMPLES) == sorted(by_source.SAMPLES.split())


def _flat(result: Any) -> Any:
    parts = [np.asarray(p) for p in (result if isinstance(result, tuple) else (result,))]
    parts = [np.stack([p.real, p.imag]) if p.dtype.kind == "c" else p for p in parts]
    return np.concatenate([p.ravel() * 1.0 for p in parts])


def _slope(f: Callable[[Any], Any]) -> Any:
    g = [numpy.asarray(f(X + k * 1e-3 * D)) for k in (-2, -1, 1, 2)]
    return (g[0] - 8 * g[1] + 8 * g[2] - g[3]) / 12e-3


# Under `compiled`, each operation of a row is a program: a few rows suffice.
_EVERY = 8 if os.environ.get("LAZYNP_EXECUTION") == "compiled" else 1


@pytest.mark.parametrize("name", list(ROWS)[::_EVERY])
def test_value_and_derivatives(name: str) -> None:
    f, x, d = ROWS[name], np.asarray(X), np.asarray(D)
    with numpy.errstate(all="ignore"):
        expected = numpy.asarray(_flat(f(X)))
        value, moved = np.jvp(lambda x: _flat(f(x)), (x,), (d,))
        numpy.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
        numpy.testing.assert_allclose(moved, _slope(lambda x: _flat(f(x))), rtol=1e-6, atol=1e-8)
        weights = np.cos(np.arange(expected.size) * 1.0)
        gradient = np.grad(lambda x: _flat(f(x)) @ weights)
        numpy.testing.assert_allclose(gradient(x) @ d, moved @ weights, rtol=1e-8, atol=1e-9)
        second = np.jvp(gradient, (x,), (d,))[1]
        slope = _slope(lambda x: gradient(np.asarray(x)))
        numpy.testing.assert_allclose(second, slope, rtol=1e-5, atol=1e-6 * (1 + abs(slope).max()))


@pytest.mark.parametrize("name", STAGED)
def test_under_jit_and_vmap(name: str) -> None:
    f, x = ROWS[name], np.asarray(X)
    with numpy.errstate(all="ignore"), np.config(execution="reference"):
        gradient = np.grad(lambda x: (_flat(f(x)) ** 2).sum())
        expected = gradient(x)
        for found in (np.jit(gradient)(x), np.vmap(gradient)(np.stack([x * 1.01, x]))[1]):
            numpy.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_samples_of_several_axes_want_an_axis() -> None:
    with pytest.raises(TypeError, match="circmean: no derivative is implemented for samples of"):
        np.grad(lambda x: st.circmean(_table(x)))(np.asarray(X))
    with pytest.raises(TypeError, match="tvar: no derivative is implemented for nan_policy='omit'"):
        np.grad(lambda x: st.tvar(x, nan_policy="omit"))(np.asarray(X))


def test_scipy_keeps_its_own_globals() -> None:
    np.grad(lambda x: so.rosen(x))(np.asarray(X))
    assert type(so.rosen_der(X)) is numpy.ndarray
    assert so._optimize.np is numpy
