"""SciPy with SCIPY_ARRAY_API=1. Run by test_libraries, in a process that has it set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import scipy.constants
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.ndimage
import scipy.optimize.elementwise
import scipy.signal
import scipy.special
import scipy.stats
from scipy.cluster import vq
from scipy.spatial.transform import Rotation

import lazynp as np

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "logsumexp": lambda a, b, m: scipy.special.logsumexp(m, axis=0),
    "softmax": lambda a, b, m: scipy.special.softmax(m, axis=1),
    "xlogy": lambda a, b, m: scipy.special.xlogy(a, b),
    "gammaln": lambda a, b, m: scipy.special.gammaln(a),
    "erf": lambda a, b, m: scipy.special.erf(a),
    "trapezoid": lambda a, b, m: scipy.integrate.trapezoid(a, x=b),
    "cumulative_trapezoid": lambda a, b, m: scipy.integrate.cumulative_trapezoid(a, x=b),
    "fft": lambda a, b, m: scipy.fft.fft(a),
    "dct": lambda a, b, m: scipy.fft.dct(a),
    "skew": lambda a, b, m: scipy.stats.skew(a),
    "kurtosis": lambda a, b, m: scipy.stats.kurtosis(m, axis=0),
    "zscore": lambda a, b, m: scipy.stats.zscore(m, axis=1),
    "gmean": lambda a, b, m: scipy.stats.gmean(a),
    "entropy": lambda a, b, m: scipy.stats.entropy(a, b),
    "pearsonr": lambda a, b, m: scipy.stats.pearsonr(a, b).statistic,
    "ttest_ind": lambda a, b, m: scipy.stats.ttest_ind(a, b).pvalue,
    "fftconvolve": lambda a, b, m: scipy.signal.fftconvolve(a, b),
    "hilbert": lambda a, b, m: scipy.signal.hilbert(a),
    "gaussian_filter": lambda a, b, m: scipy.ndimage.gaussian_filter(m, 1.0),
    "whiten": lambda a, b, m: vq.whiten(m),
    "convert_temperature": lambda a, b, m: scipy.constants.convert_temperature(a, "C", "K"),
    "find_root": lambda a, b, m: (
        scipy.optimize.elementwise.find_root(
            lambda x, c: x**2 - c, (a * 0, a * 0 + 10.0), args=(a,)
        ).x
    ),
    "derivative": lambda a, b, m: scipy.differentiate.derivative(lambda x: x**2, a).df,
    "rotation": lambda a, b, m: Rotation.from_quat(a).as_matrix(),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys(name: str) -> None:
    a, b = numpy.asarray([1.0, 2.0, 4.0, 8.0]), numpy.asarray([2.0, 3.0, 5.0, 9.0])
    operands = [a, b, numpy.asarray([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])]
    got = CALLS[name](*map(np.asarray, operands))
    assert isinstance(got, np.Array)
    numpy.testing.assert_allclose(numpy.asarray(got), CALLS[name](*operands), rtol=1e-9, atol=1e-9)
