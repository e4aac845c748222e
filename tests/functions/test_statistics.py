"""Medians, quantiles, histograms, covariance, correlation, against NumPy."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lazynp
from lazynp.functions import histograms, order_statistics, statistics
from tests.functions.rows import check

nan = np.nan
_random = np.random.default_rng(7)
DATA: dict[str, Any] = {
    "a": np.array([[3, 1, 2, 7], [9, 7, 8, 7]]),
    "x": np.array([[0.1, -2.5, 3.25, 1.0], [4.5, 0.0, -1.75, 2.0], [0.5, 7.0, 1.25, -3.0]]),
    "t": (np.arange(24) * 7 % 11).reshape(2, 3, 4) - 4.5,
    "v": np.array([3.0, nan, -1.0, 0.0, np.inf, 2.0, nan]),
    "w": np.array([[1.0, nan, 3.0, 5.0], [nan, nan, 6.0, nan], [nan, nan, nan, nan]]),
    "b": np.array([True, False, True]),
    "u": np.array([200, 3, 7, 255], np.uint8),
    "f": np.array([0.1, -2.5, 3.25, 1e3, 7], np.float32),
    "h": np.array([0.1, -2.5, 3.25, 100], np.float16),
    "c": np.array([2 + 1j, 1 + 5j, 1 - 5j, 3j]),
    "z": np.empty((0, 3)),
    "e": np.array(3.5),
    "o": np.zeros(4),
    "s": np.zeros(()),
    "p": np.zeros(4, int),
    "r": _random.normal(size=200),
    "rw": _random.random(200),
    "ri": _random.integers(-5, 20, 100),
    "q": np.array([0.0, 0.2, 0.5, 0.77, 1.0]),
    "k": np.array([1, 3, 1, 0, 5]),
}

MEDIANS = """
np.median(a)
np.median(x)
np.median(x, axis=0)
np.median(x, axis=1, keepdims=True)
np.median(t, axis=(0, 2))
np.median(t, axis=(2, 0), keepdims=True)
np.median(t, keepdims=True)
np.median(v)
np.median(w, axis=0)
np.median(w, axis=1)
np.median(b)
np.median(u)
np.median(f)
np.median(h)
np.median(c)
np.median(5)
np.median(e)
np.median([])
np.median(z, axis=0)
np.median(z, axis=1)
np.median(x, axis=0, out=o); o
np.median(x, axis=0, out=p); p
np.median(x, axis=3)
np.median(x, axis=(0, 0))
np.median([1, np.inf, np.inf, 2])
np.nanmedian(v)
np.nanmedian(w, axis=1)
np.nanmedian(w, axis=0, keepdims=True)
np.nanmedian(w)
np.nanmedian(a, axis=0)
np.nanmedian(t, axis=(0, 1))
np.nanmedian(w, axis=1, out=np.zeros(3))
np.nanmedian([])
np.nanmedian(np.array([1, nan, 4], np.float16))
"""

QUANTILES = """
np.quantile(a, 0.5)
np.quantile(a, 0.3, axis=0)
np.quantile(x, q)
np.quantile(x, q, axis=0)
np.quantile(x, q, axis=1, keepdims=True)
np.quantile(x, [[0, 0.5], [0.1, 1]], axis=1)
np.quantile(x, [[[0.5]]])
np.quantile(t, 0.35, axis=(0, 2))
np.quantile(t, [0.35, 0.5], axis=(0, 2), keepdims=True)
np.quantile(x, 0.4, keepdims=True)
np.quantile(v, 0.5)
np.quantile(w, [0.5, 0.9], axis=1)
np.quantile(f, 0.5)
np.quantile(f, q)
np.quantile(f, q.astype(np.float32))
np.quantile(f, np.float64(0.3))
np.quantile(h, 0.4)
np.quantile(u, 0.4)
np.quantile(a, 1)
np.quantile(a, 0)
np.quantile(a, [0, 1])
np.quantile(a, True)
np.quantile(b, 0.5)
np.quantile(b, 0.5, method='nearest')
np.quantile(c, 0.5)
np.quantile(5, 0.5)
np.quantile(e, 0.5)
np.quantile([], 0.5)
np.quantile(z, 0.5, axis=0)
np.quantile(x, 2)
np.quantile(x, [0.5, nan])
np.quantile(x, 0.5, method='foo')
np.quantile(x, 0.5, axis=0, out=o); o
np.quantile(x, 0.5, axis=0, out=p)
np.quantile(x, 0.5, out=s); s
np.quantile(x, 0.5, axis=1, weights=[1, 2, 3, 4], method='inverted_cdf')
np.quantile(x, q, weights=x * x, method='inverted_cdf')
np.quantile(x, q, weights=x * x)
np.quantile(x, q, weights=x, method='inverted_cdf')
np.percentile(x, 30)
np.percentile(x, [0, 25, 100], axis=1)
np.percentile(a, 50)
np.percentile(x, 101)
np.percentile(f, 30)
np.nanquantile(v, 0.5)
np.nanquantile(w, 0.4, axis=1)
np.nanquantile(w, q, axis=1)
np.nanquantile(w, q, axis=0, keepdims=True)
np.nanquantile(w, q)
np.nanquantile(a, q, axis=0)
np.nanquantile(np.array([1, nan, 4], np.float32), 0.3)
np.nanquantile(np.array([1, nan, 4], np.float32), q)
np.nanquantile([nan, nan], 0.5)
np.nanpercentile(w, [10, 90], axis=1)
np.nanpercentile(w, 25, axis=1, out=np.zeros(3))
"""

HISTOGRAMS = """
np.bincount(k)
np.bincount(k, minlength=9)
np.bincount(k, weights=[0.5, 1, 2, 3, 4])
np.bincount(k, weights=k)
np.bincount([])
np.bincount(b)
np.bincount(u)
np.bincount([1, -1])
np.bincount([1.5])
np.bincount([[1]])
np.bincount(1)
np.bincount([1], minlength=-1)
np.bincount([1], weights=[1, 2])
np.bincount([1], weights=[1j])
np.digitize(x, [-1, 0, 2])
np.digitize(x, [-1, 0, 2], right=True)
np.digitize(x, [2, 0, -1])
np.digitize(x, [2, 0, -1], right=True)
np.digitize(1.5, [1, 2])
np.digitize(v, [0, 2])
np.digitize(a, [1.5, 7])
np.digitize([1.5], [1, 2, 0])
np.digitize([1.5], [[1, 2]])
np.digitize(c, [1, 2])
np.histogram(r)
np.histogram(r, 7)
np.histogram(r, 7, range=(-1, 1))
np.histogram(r, [-2, -1, 0, 0.5, 3])
np.histogram(r, density=True)
np.histogram(r, [-2, -1, 0, 0.5, 3], density=True)
np.histogram(r, weights=rw)
np.histogram(r, [-2, -1, 0, 0.5, 3], weights=rw)
np.histogram(r, weights=rw * 1j)
np.histogram(r, bins='auto')
np.histogram(r, bins='fd', range=(-1, 2))
np.histogram(ri)
np.histogram(ri, bins=25)
np.histogram(ri, bins='sturges')
np.histogram(ri, [0, 1, 5, 19], weights=ri)
np.histogram(ri, weights=ri)
np.histogram(f)
np.histogram(u, 3)
np.histogram(a)
np.histogram([])
np.histogram([1, 1, 1])
np.histogram(v)
np.histogram(v, range=(0, 3))
np.histogram(r, 0)
np.histogram(r, 1.5)
np.histogram(r, [1, 0])
np.histogram(r, 'foo')
np.histogram(r, 'auto', weights=rw)
np.histogram(r, range=(1, 0))
np.histogram(r, range=(0, nan))
np.histogram(r, weights=[1, 2])
np.histogram([0.1, 0.2, 0.3], bins=np.array([0.1, 0.2, 0.3]))
np.histogram_bin_edges(r)
np.histogram_bin_edges(r, 'doane')
np.histogram_bin_edges(ri, 4, range=(0, 8))
np.histogram2d(r, rw)
np.histogram2d(r, rw, bins=4)
np.histogram2d(r, rw, bins=[3, [0, 0.5, 0.7, 1]])
np.histogram2d(r, rw, bins=[0, 0.5, 0.7, 1])
np.histogram2d(r, rw, range=[[-1, 1], [0, 1]], density=True)
np.histogram2d(r, rw, weights=r)
np.histogram2d(r, rw[1:])
np.histogramdd(np.stack([r, rw, r * rw], axis=1), bins=(2, 3, 4))
np.histogramdd([r, rw], bins=3, density=True)
np.histogramdd([r, rw], bins=[3])
np.histogramdd([r, rw], range=[None])
np.histogramdd(r, bins=5)
np.histogramdd([r, rw], bins=[0, 3])
np.histogramdd([r, rw], bins=[[1, 0], 3])
"""

COVARIANCE = """
np.cov(x)
np.cov(x, rowvar=False)
np.cov(x[0])
np.cov(x[0], x[1])
np.cov(x, x[::-1] ** 2)
np.cov(x, bias=True)
np.cov(x, ddof=0)
np.cov(x, ddof=4)
np.cov(x, fweights=[1, 2, 3, 1])
np.cov(x, aweights=[1, 2.5, 3, 1])
np.cov(x, fweights=[1, 2, 3, 1], aweights=[1, 2.5, 3, 1])
np.cov(x, aweights=[1, 2.5, 3, 1], ddof=0)
np.cov(x, fweights=[1.5, 2, 3, 1])
np.cov(x, fweights=[1, -2, 3, 1])
np.cov(x, fweights=[1, 2])
np.cov(x, aweights=[[1, 2]])
np.cov(x, ddof=1.5)
np.cov(t)
np.cov(a)
np.cov(f)
np.cov(x, dtype=np.float32)
np.cov([c, c * 1j])
np.cov(5)
np.cov(z)
np.corrcoef(x)
np.corrcoef(x[0], x[1])
np.corrcoef(x, rowvar=False)
np.corrcoef(x[0])
np.corrcoef([c, c.real * 1j])
np.correlate([1, 2, 3], [0, 1, 0.5])
np.correlate([1, 2, 3], [0, 1, 0.5], 'same')
np.correlate([1, 2, 3], [0, 1, 0.5], 'full')
np.correlate([1, 2], [0, 1, 0.5], 'full')
np.correlate([1, 2], [0, 1, 0.5], 'same')
np.correlate([1, 2], [0, 1, 0.5], 'valid')
np.correlate([1j, 2], [1 + 1j, 2, 3], 'full')
np.correlate(r, rw[:20], 'same')
np.correlate(rw[:20], r, 'valid')
np.correlate([], [1])
np.correlate(1, 2)
np.convolve([1, 2, 3], [0, 1, 0.5])
np.convolve([1, 2, 3], [0, 1, 0.5], 'same')
np.convolve([1, 2, 3, 4], [0, 1, 0.5, 2], 'same')
np.convolve([1, 2, 3, 4, 5], [0, 1], 'same')
np.convolve([1, 2], [0, 1, 0.5], 'valid')
np.convolve(1, 2)
np.convolve([], [1])
np.convolve([[1]], [1])
np.convolve([1, 2], [1], 'x')
np.convolve(b, b)
np.convolve(ri, ri[:5])
np.convolve(ri, ri[:30], 'same')
np.convolve(f, f)
np.convolve(u, u)
np.convolve(r, rw)
np.convolve(c, c[:2], 'valid')
"""

ROWS = [
    row
    for table in (MEDIANS, QUANTILES, HISTOGRAMS, COVARIANCE)
    for row in table.strip().splitlines()
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("row", ROWS)
def test_row(row: str) -> None:
    check(row, DATA)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", list(order_statistics.METHODS))
@pytest.mark.parametrize("name", ["a", "x", "w", "f"])
def test_method(method: str, name: str) -> None:
    axis = DATA[name].ndim - 1
    # a number is an operand of one program; "q" has the others of these
    compiled = lazynp.config.execution == "compiled"
    for q in ("q", "0.3") if compiled else ("q", "0.3", "0.5", "1"):
        check(f"np.quantile({name}, {q}, axis={axis}, method={method!r})", DATA)
        check(f"np.nanquantile({name}, {q}, axis={axis}, method={method!r})", DATA)


@given(
    n=st.integers(1, 6),
    q=st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.6, 0.75, 1.0]),
    method=st.sampled_from(list(order_statistics.METHODS)),
)
def test_quantile_of_ranks(n: int, q: float, method: str) -> None:
    check(f"np.quantile(x, {q}, method={method!r})", {"x": np.arange(n)[::-1] * 1.5})


MESSAGES = """
np.quantile(x, 2)
np.percentile(x, 101)
np.quantile(c, 0.5)
np.quantile(x, 0.5, method='foo')
np.quantile(x, [[[0.5]]])
np.quantile([], 0.5)
np.quantile(x, q, weights=x * x)
np.bincount([1, -1])
np.bincount([1], minlength=-1)
np.digitize([1.5], [1, 2, 0])
np.digitize(c, [1, 2])
np.histogram(r, 0)
np.histogram(r, [1, 0])
np.histogram(r, 'foo')
np.histogram(r, 'auto', weights=rw)
np.histogram(r, weights=[1, 2])
np.histogram2d(r, rw[1:])
np.cov(t)
np.cov(x, fweights=[1.5, 2, 3, 1])
np.cov(x, ddof=1.5)
np.convolve([], [1])
np.convolve([1, 2], [1], 'x')
"""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("row", MESSAGES.strip().splitlines())
def test_message(row: str) -> None:
    check(row, DATA, message=True)


def test_signatures() -> None:
    rooms = {"histograms": histograms, "order_statistics": order_statistics}
    for name in statistics.__all__:
        function = getattr(statistics, name)
        assert function.__module__.rsplit(".", 1)[1] in {*rooms, "statistics"}
        if name == "bincount":  # NumPy's is built in
            continue
        ours, numpys = inspect.signature(function), inspect.signature(getattr(np, name))
        assert [(p.name, p.kind) for p in ours.parameters.values()] == [
            (p.name, p.kind) for p in numpys.parameters.values()
        ], name


LAZY = """
np.sum(x, axis=0, where=x > 0)
np.var(x, ddof=1)
np.nanstd(x, axis=1)
np.nanmax(x, axis=0)
np.median(x, axis=0)
np.nanmedian(x, axis=0)
np.quantile(x, [0.1, 0.5], axis=1)
np.nanquantile(x, 0.3, axis=1)
np.histogram(x, 5, range=(-1, 1))
np.histogram(x, [-1, 0, 1.0], weights=x)
np.histogramdd(x[:, :2], 3, range=[(-1, 1), (-1, 1)])
np.digitize(x, [0, 1.0])
np.corrcoef(x)
np.convolve(x[0], x[1])
np.correlate(np.ravel(x), np.ones(70), 'full')
np.gradient(x, 2.0, x[0])
np.trapezoid(x, x)
np.interp(x, [0, 1, 2], [3, 4, 5])
np.unwrap(x)
np.isclose(x, x + 1, equal_nan=True)
np.array_equal(x, x)
np.nan_to_num(x)
np.round(x.clip(0, 1), 2)
np.ptp(x)
np.subtract.reduce(x)
np.add.reduceat(x, [0, 2])
"""


@pytest.mark.parametrize("row", LAZY.strip().splitlines())
def test_no_value_is_asked_for(row: str) -> None:
    """It can be traced where nothing has a value."""
    program = compile(row, row, "eval")
    jaxpr = lazynp.make_jaxpr(lambda x: eval(program, {"np": lazynp, "x": x}))(DATA["x"])
    assert jaxpr.eqns
