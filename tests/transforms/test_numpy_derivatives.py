"""NumPy's functions whose derivatives take more than one rule: jvp against differences, and grad
against jvp. What test_numpy_functions.py calls is not repeated here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

X = numpy.array([0.3, 0.7, 1.23, 0.45, 0.9, 0.2])
D = numpy.array([1.0, -0.5, 0.8, 0.7, 0.3, -0.6])
LAB = numpy.array([2, 0, 1, 2, 0, 5])
M = numpy.random.default_rng(0).normal(size=(6, 6))


def table_interp(x: Any) -> Any:
    xp = np.array([0.0, 0.5, 1.0, 2.0])
    fp = xp**2
    i = np.clip(np.searchsorted(xp, x) - 1, 0, 2)
    t = (x - xp[i]) / (xp[i + 1] - xp[i])
    return fp[i] * (1 - t) + fp[i + 1] * t


def long(x: Any) -> Any:
    """A table of more elements than are recorded one by one."""
    return np.sin(x[:, None] * np.arange(1.0, 42.0) + np.arange(6.0)[:, None])


def group(x: Any) -> Any:
    u, inv = np.unique(LAB, return_inverse=True)
    out = np.zeros(len(u))
    np.add.at(out, inv, x * x)
    return out


def group2(x: Any) -> Any:
    u, inv = np.unique(LAB, return_inverse=True)
    return np.bincount(inv, weights=x * x)


def at2(x: Any) -> Any:
    out = np.ones((3, 2))
    np.add.at(out, ([0, 0, 2], [1, 1, 0]), x[:3])
    np.multiply.at(out, (np.array([0, 1]), np.array([1, 1])), x[3:5])
    np.subtract.at(out, (slice(None), 1), x[0])
    return out


def at_max(x: Any) -> Any:
    out = np.zeros(3) + 0.4
    np.maximum.at(out, [0, 0, 2], x[:3])
    return out


def at_repeated(name: str) -> Callable[[Any], Any]:
    """Of functions without a scatter of their own, at places that repeat."""

    def f(x: Any) -> Any:
        out, ufunc = x + np.ones((2, 1)), getattr(np, name)
        ufunc.at(out, (slice(None), [1, 1, 4, 0, 1]), *[x[1:] + 0.4] * (ufunc.nin - 1))
        ufunc.at(out[0], LAB > 1, *[x[0]] * (ufunc.nin - 1))
        return out

    return f


CALLS: dict[str, Callable[[Any], Any]] = {
    **{
        f"{name}.at": at_repeated(name)
        for name in ("divide", "power", "hypot", "arctan2", "logaddexp", "exp", "sqrt")
    },
    **{
        f"{name}.reduceat": lambda x, name=name: getattr(np, name).reduceat(
            x[:, None] + M * M, [0, 2, 1, 5], axis=1
        )
        for name in ("subtract", "divide", "power", "hypot", "arctan2", "logaddexp")
    },
    "arange": lambda x: np.arange(x[0], 3.0, x[1]),
    "arange to": lambda x: np.arange(3 * x[0]) * x[1],
    "mgrid": lambda x: np.mgrid[x[0] : 3 : 4j, 0 : x[1] : 3j, x[2] : 3 : x[3]],
    "mgrid of one": lambda x: np.concatenate([np.mgrid[x[0] : x[1] : 4j], np.mgrid[0 : 1 : x[2]]]),
    "ogrid": lambda x: np.concatenate([g.ravel() for g in np.ogrid[x[0] : 3 : 4j, 0 : 2 : x[1]]]),
    "roots": lambda x: np.sum(np.abs(np.roots(x)) ** 3),
    "roots real": lambda x: np.sort(
        np.real(np.roots(np.array([1.0, -6.0, 11.0, -6.0]) + x[:4] * 0.01))
    ),
    "roots lead0": lambda x: np.sum(
        np.real(np.roots(np.concatenate([np.zeros(1), x, np.zeros(1)])) ** 2)
    ),
    "eig vals": lambda x: (lambda w: np.sum(w**3).real)(np.linalg.eig(M * x)[0]),
    "eig abs": lambda x: np.sort(np.abs(np.linalg.eigvals(M + np.diag(x)))),
    "eig vecs": lambda x: np.abs(np.linalg.eig(M + np.outer(x, x))[1]) ** 2,
    "interp x": lambda x: np.interp(x, numpy.arange(3.0), numpy.array([0.0, 10, 15])),
    "interp fp": lambda x: np.interp(numpy.array([0.5, 1.2, 7, -1]), numpy.arange(6.0), x),
    "interp xp": lambda x: np.interp(
        numpy.array([0.5, 1.2, 1.7]), np.cumsum(x), numpy.arange(6.0) ** 2
    ),
    "interp left right": lambda x: np.interp(
        numpy.array([-1, 9.0, 0.5]), np.cumsum(x), numpy.arange(6.0) ** 2, left=x[0], right=x[1] * 2
    ),
    "interp period": lambda x: np.interp(
        x * 4.7, numpy.array([0.1, 0.5, 0.8]), numpy.array([1.0, 2, 5]), period=1.0
    ),
    "interp complex": lambda x: (
        np.interp(numpy.array([0.5, 1.2]), numpy.arange(6.0), x * (1 + 2j)).imag
    ),
    "polyfit y": lambda x: np.polyfit(numpy.arange(6.0), x, 2),
    "polyfit x": lambda x: np.polyfit(x, numpy.arange(6.0) ** 2, 2),
    "polyfit w": lambda x: np.polyfit(numpy.arange(6.0), numpy.arange(6.0) ** 2.5, 2, w=x),
    "polyfit 2d": lambda x: np.polyfit(numpy.arange(6.0), np.stack([x, x * x], 1), 2),
    "polyfit full": lambda x: np.polyfit(numpy.arange(6.0), x, 2, full=True)[1],
    "polyfit cov": lambda x: np.polyfit(numpy.arange(6.0), x, 2, cov=True)[1],
    "polyval": lambda x: np.polyval(x, x),
    "polymul": lambda x: np.polymul(x, x[:3]),
    "polydiv": lambda x: np.polydiv(x, x[:3])[0],
    "polyder": lambda x: np.polyder(x, 2),
    "polyint": lambda x: np.polyint(x),
    "poly": lambda x: np.poly(x),
    **{
        f"percentile {m}": (lambda x, m=m: np.percentile(x, [10, 50, 83.0], method=m))
        for m in (
            "linear",
            "lower",
            "higher",
            "nearest",
            "midpoint",
            "hazen",
            "weibull",
            "median_unbiased",
            "normal_unbiased",
            "inverted_cdf",
            "averaged_inverted_cdf",
            "closest_observation",
            "interpolated_inverted_cdf",
        )
    },
    "percentile q": lambda x: np.percentile(X, x * 50),
    "quantile q": lambda x: np.quantile(X, x / 2),
    "quantile weights": lambda x: np.quantile(
        x, [0.3, 0.7], weights=numpy.arange(1, 7.0), method="inverted_cdf"
    ),
    "nanpercentile": lambda x: np.nanpercentile(
        np.where(numpy.arange(6) == 2, np.nan, x), [20, 60]
    ),
    "median axis": lambda x: np.median(x.reshape(2, 3), axis=0),
    "nanmedian": lambda x: np.nanmedian(np.where(numpy.arange(6) == 2, np.nan, x)),
    "table": table_interp,
    "group": group,
    "group2": group2,
    "at2": at2,
    "at_max": at_max,
    "convolve full": lambda x: np.convolve(x, x[:3]),
    "convolve same": lambda x: np.convolve(x[:3], x, "same"),
    "convolve valid": lambda x: np.convolve(x, x[:2], "valid"),
    "correlate": lambda x: np.correlate(x, x[:3], "full"),
    "hist weights": lambda x: np.histogram(X, bins=4, weights=x * x)[0],
    "hist density": lambda x: np.histogram(X, bins=4, weights=x * x, density=True)[0],
    "hist edges": lambda x: np.histogram(x, bins=4)[1],
    "hist2d": lambda x: np.histogram2d(X, X**2, bins=3, weights=x)[0],
    "histdd": lambda x: np.histogramdd(np.stack([X, X**2], 1), bins=3, weights=x)[0],
    "bincount": lambda x: np.bincount(LAB, x, minlength=8),
    "digitize": lambda x: x * np.digitize(x, [0.25, 0.5, 1.0]),
    "vectorize": lambda x: np.vectorize(lambda a, b: a * b + np.sin(a))(x, 2.0),
    "vectorize if": lambda x: np.vectorize(lambda a: a * a if a > 0.5 else -a)(x),
    "fromiter": lambda x: np.fromiter((v * v for v in x), float),
    "fromiter count": lambda x: np.fromiter((v * x[0] for v in x), float, 3),
    "fromiter cast": lambda x: np.fromiter(map(np.sin, x), np.float64, len(x))[::-1],
    "vectorize sig": lambda x: np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(
        x.reshape(2, 3), x[:3]
    ),
    "frompyfunc": lambda x: np.frompyfunc(lambda a, b: a * b + np.sin(a), 2, 1)(x, 2.0),
    "frompyfunc2": lambda x: np.frompyfunc(lambda a: (a * a, -a), 1, 2)(x)[0],
    "apply_along": lambda x: np.apply_along_axis(lambda r: r * r.sum(), 1, x.reshape(2, 3)),
    "piecewise": lambda x: np.piecewise(x, [x < 0.5, x >= 0.5], [lambda v: v**2, lambda v: 3 * v]),
    "select": lambda x: np.select([x < 0.4, x < 1], [x**2, x * 3], 5.0),
    "choose": lambda x: np.choose([0, 1, 0, 1, 0, 1], [x, x * x]),
    "gradient x": lambda x: np.gradient(x**2, np.cumsum(x)),
    "gradient edge": lambda x: np.gradient(x, 0.3, edge_order=2),
    "trapezoid x": lambda x: np.trapezoid(x, np.cumsum(x)),
    "lstsq": lambda x: np.linalg.lstsq(M[:, :2] * x[:, None], x, rcond=None)[0],
    "corrcoef": lambda x: np.corrcoef(x.reshape(2, 3)),
    "cov w": lambda x: np.cov(M[:2], aweights=x),
    "average": lambda x: np.average(X, weights=x),
    "partition": lambda x: np.partition(x, 2)[2],
    "kron": lambda x: np.kron(x[:2], x),
    "cross": lambda x: np.cross(x[:3], x[3:]),
    "tensordot": lambda x: np.tensordot(x.reshape(2, 3), x.reshape(3, 2), 1),
    "einsum": lambda x: np.einsum("i,j,ij->", x, x, M),
    "unique": lambda x: np.unique(x),
    "sort_complex": lambda x: np.sort_complex(x).real,
    "lexsort": lambda x: x[np.lexsort((x, LAB))],
    "angle": lambda x: np.angle(x + 1j * x[::-1]),
    "unwrap": lambda x: np.unwrap(x * 8),
    "i0": lambda x: np.i0(x),
    "sinc": lambda x: np.sinc(x),
    "logaddexp": lambda x: np.logaddexp.reduce(x),
    "hypot": lambda x: np.hypot(x, x[::-1]),
    "fft": lambda x: np.abs(np.fft.rfft(x)),
    "vander": lambda x: np.vander(x, 3),
    "pinv": lambda x: np.linalg.pinv(M[:, :3] * x[:, None]),
    "matrix_power": lambda x: np.linalg.matrix_power(M * x, 3),
    "slogdet": lambda x: np.linalg.slogdet(M + np.diag(x))[1],
    "cond": lambda x: np.linalg.cond(M * x),
    "nan_to_num": lambda x: np.nan_to_num(np.log(x - 0.25), nan=0.0),
    "ufunc.outer": lambda x: np.multiply.outer(x, x),
    "reduceat": lambda x: np.multiply.reduceat(x, [0, 2, 5]),
    "accumulate": lambda x: np.maximum.accumulate(x),
    "long reduce": lambda x: np.logaddexp.reduce(long(x), axis=1),
    "long reduce of all": lambda x: np.logaddexp2.reduce(long(x), axis=None),
    "long reduce kept": lambda x: np.hypot.reduce(long(x), axis=(-1,), keepdims=True),
    "long accumulate": lambda x: np.logaddexp.accumulate(long(x), axis=1),
    "long reduceat": lambda x: np.add.reduceat(long(x), np.arange(0, 41), axis=1),
    "long reduceat, uneven": lambda x: np.multiply.reduceat(
        long(x).ravel(), np.arange(40) ** 2 // 8
    ),
    "trim_zeros": lambda x: np.trim_zeros(np.concatenate([np.zeros(1), x])),
    "tril_indices": lambda x: (lambda m: (m.__setitem__(np.tril_indices(3), x), m @ m.T)[1])(
        np.zeros((3, 3))
    ),
    "extract": lambda x: np.extract(x > 0.4, x) ** 2,
    "place": lambda x: (lambda y: (np.place(y, y > 0.5, x[:2]), y)[1])(x * 1),
    "poly1d": lambda x: np.poly1d(x)(2.0),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivative(name: str) -> None:
    f, h = CALLS[name], 1e-4
    _, moved = np.jvp(lambda x: np.asarray(f(x)) * 1.0, (np.asarray(X),), (np.asarray(D),))
    at = [numpy.asarray(f(np.asarray(X + k * h * D)), float) for k in (-2, -1, 1, 2)]
    slope = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)
    size = max(1.0, float(abs(slope).max()))
    numpy.testing.assert_allclose(numpy.asarray(moved), slope, rtol=1e-6, atol=1e-6 * size)
    weights = numpy.cos(numpy.arange(slope.size)).reshape(slope.shape)
    reverse = np.grad(lambda x: np.sum(np.asarray(f(x)) * weights))(np.asarray(X))
    forward = (numpy.asarray(moved) * weights).sum()
    assert float(numpy.asarray(reverse) @ D) == pytest.approx(float(forward), rel=1e-8, abs=1e-10)


def test_frompyfunc_is_numpys_on_values() -> None:
    made = np.frompyfunc(lambda a, b: a * b, 2, 1)
    assert type(made) is numpy.ufunc and made.nin == 2
    assert made(numpy.arange(3), 2).dtype == object
    assert made(np.arange(3), 2).tolist() == [0, 2, 4]
    assert made.reduce(numpy.arange(1, 5)) == 24
    with pytest.raises(TypeError):
        np.frompyfunc(1, 1, 1)
