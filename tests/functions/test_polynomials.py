"""Polynomials, windows, bits, windows over arrays: rows compared with NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.lib.stride_tricks import as_strided, sliding_window_view
from tests.helpers import NothingForced

A = numpy.array
BITS, BYTES = A([[1, 0, 1], [0, 1, 0]]), A([[2, 3], [255, 7]], "u1")
X, Y = numpy.arange(6.0), A([0, 0.8, 0.9, 0.1, -0.8, -1.0])
ROWS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *[(n, (m,), {}) for n in ("bartlett", "blackman", "hanning", "hamming") for m in (0, 1, 2, 5)],
    ("hanning", (3.5,), {}),
    *[(n, (m,), {}) for n in ("bartlett", "blackman", "hanning", "hamming")
      for m in ([1, 2], A([1, 2]), A([5]))],
    ("kaiser", ([1], 2), {}), ("kaiser", (4, A([1.0, 2])), {}), ("kaiser", (A(3), 2), {}),
    ("kaiser", (0, 8.6), {}), ("kaiser", (1, 8.6), {}), ("kaiser", (6, 8.6), {}),
    *[("poly", (z,), {}) for z in ([], [1], [1.0, 2, 3], [1j, -1j], [1j, 2], [[1.0, 2], [3, 4]])],
    ("poly", ([[1, 2]],), {}),
    *[("roots", (p,), {}) for p in ([], [0], [1], [1.0, 2, 3], [0, 0, 1, -3, 2, 0], [1j, 2, 1])],
    ("roots", ([[1]],), {}),
    *[(n, ([1, 2, 3], m), {}) for n in ("polyint", "polyder") for m in (0, 1, 2, -1)],
    ("polyint", ([1, 2], 2), {"k": 5}), ("polyint", ([1, 2], 3), {"k": [1, 2]}),
    ("polyder", ([1.0, 2, 3, 4], 2), {}), ("polyder", ([1],), {}),
    *[("polyval", (p, x), {}) for p in ([], [1], [1, 2, 3]) for x in (2, 2.5, A([[1.0, 2]]))],
    *[(n, ([1, 2], [3.0, 4, 5]), {}) for n in ("polyadd", "polysub", "polymul")],
    ("polymul", ([0, 0, 1], [1, 2]), {}), ("polymul", ([0, 0], [1, 2]), {}),
    ("polydiv", ([3.0, 5, 2], [2.0, 1]), {}), ("polydiv", ([1, 2], [1, 2, 3]), {}),
    ("polyfit", (X, Y, 3), {}), ("polyfit", (X, Y, 2), {"cov": True}),
    ("polyfit", (X, Y, 2), {"full": True}), ("polyfit", (X, Y, 2), {"w": A([1.0, 2, 3, 4, 5, 6])}),
    ("polyfit", (X, Y, -1), {}), ("polyfit", ([], [], 1), {}), ("polyfit", ([1, 2], [1], 1), {}),
    ("polyfit", (X, Y, 5), {"cov": True}),
    ("packbits", (BITS,), {}), ("packbits", (BITS,), {"axis": 0}), ("packbits", (A([1.5]),), {}),
    ("packbits", (BITS,), {"axis": -1, "bitorder": "little"}),
    ("packbits", (BITS,), {"bitorder": "x"}), ("packbits", (BITS,), {"bitorder": 3}),
    ("unpackbits", (BYTES,), {}), ("unpackbits", (BYTES,), {"axis": 1, "bitorder": "little"}),
    *[("unpackbits", (BYTES,), {"count": c}) for c in (3, -3, 40, -40)],
    ("unpackbits", (BYTES,), {"bitorder": "x"}), ("unpackbits", (BITS,), {}),
]  # fmt: skip


@pytest.fixture
def by_reference() -> Any:
    """Compositions of functions that are tested compiled elsewhere: not worth a program each."""
    with np.config(execution="reference"):
        yield


def _outcome(module: Any, name: str, args: Any, options: Any) -> Any:
    args = [module.asarray(a) if isinstance(a, numpy.ndarray) else a for a in args]
    try:
        result = getattr(module, name)(*args, **options)
    except (ValueError, TypeError, IndexError) as e:
        return type(e), str(e)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.usefixtures("by_reference")
@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r[0]}-{r[1]}-{r[2]}")
def test_as_numpy(row: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, got = (_outcome(module, *row) for module in (numpy, np))
    if isinstance(expected[0], type):
        assert got == expected
        return
    for g, e in zip(got, expected, strict=True):
        if isinstance(e, (numpy.ndarray, numpy.generic)):
            assert (g.shape, g.dtype) == (e.shape, e.dtype)
        numpy.testing.assert_allclose(numpy.asarray(g), e, rtol=1e-10, atol=1e-12)


def test_lazy_and_differentiable() -> None:
    x, c = np.array([0.5, -0.25]), np.array([1.0, 2.0, 3.0])
    with NothingForced():
        values = [np.polyval(c, x), np.polyder(c), np.polyint(c), np.hanning(5), np.kaiser(5, 2.0)]
        values.append(sliding_window_view(x, 2))
    assert values[0].tolist() == [4.25, 2.5625]
    slope = np.grad(lambda x: np.polyval(c, x).sum())(x)
    numpy.testing.assert_allclose(slope, [3.0, 1.5])
    p = np.polynomial.Polynomial([3.0, 2.0, 1.0])
    assert np.grad(lambda x: p(x).sum())(x).tolist() == [3.0, 1.5]
    assert np.grad(lambda c: np.polynomial.polynomial.polyval(2.0, c))(c).tolist() == [1, 2, 4]


def test_poly1d_is_numpys() -> None:
    p = np.poly1d([1, 2])
    assert isinstance(np.polyadd(p, [1.0]), numpy.poly1d)
    assert isinstance(np.polyder(p), numpy.poly1d)
    assert np.polyval(p, np.arange(2)).tolist() == [2, 3]


SERIES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "laguerre": "lag",
    "hermite": "herm", "hermite_e": "herme",
}  # fmt: skip


@pytest.mark.usefixtures("by_reference")
@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("c", [[3.0], [1, 2], [1.0, 2, 3, 4, 0.5, 0.25]], ids=len)
def test_series(name: str, c: Any) -> None:
    ours, theirs = getattr(np.polynomial, name), getattr(numpy.polynomial, name)
    kind, x = SERIES[name], numpy.linspace(-1, 1, 5)
    table = numpy.arange(6.0).reshape(2, 3)
    for function, args in {
        "val": (x, A(c)),
        "val2d": (x, x, table),
        "grid2d": (x, x, table),
        "val3d": (x, x, x, table.reshape(1, 2, 3)),
        "fit": (x, x**2, 2),
    }.items():
        got = getattr(ours, kind + function)(
            *[np.asarray(a) if isinstance(a, numpy.ndarray) else a for a in args]
        )
        assert isinstance(got, np.ndarray)
        expected = getattr(theirs, kind + function)(*args)
        numpy.testing.assert_allclose(numpy.asarray(got), expected, rtol=1e-12, atol=1e-12)
    assert getattr(ours, kind + "val")(0.5, c) == getattr(theirs, kind + "val")(0.5, c)


def test_polyvalfromroots() -> None:
    from_roots = np.polynomial.polynomial.polyvalfromroots
    assert from_roots(np.arange(3.0), np.array([1.0, 2.0])).tolist() == [2.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="tensor == False"):
        from_roots(np.arange(3.0), np.array([1.0, 2.0]), tensor=False)


# -- windows over arrays ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "window", "axis"),
    [
        ((6,), 3, None), ((6,), 1, 0), ((50,), 40, None), ((4, 5), (2, 2), None),
        ((4, 5), 3, 1), ((4, 5), (2, 3), (0, 0)), ((4, 40), 35, 1), ((3,), 0, 0),
        ((3,), 4, None), ((3,), -1, None), ((3, 3), 2, None), ((3, 3), (2, 2), (0,)),
    ],
)  # fmt: skip
def test_sliding_windows(shape: Any, window: Any, axis: Any) -> None:
    n = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    try:
        expected: Any = numpy.lib.stride_tricks.sliding_window_view(n, window, axis)
    except ValueError as e:
        with pytest.raises(ValueError) as caught:
            sliding_window_view(np.asarray(n), window, axis)
        assert str(caught.value) == str(e)
        return
    got = sliding_window_view(np.asarray(n), window, axis)
    assert got.shape == expected.shape and got.tolist() == expected.tolist()
    assert got.strides == expected.strides and not got.flags.writeable


def test_windows_are_views() -> None:
    x = np.arange(6.0)
    windows = sliding_window_view(x, 2)
    x[1] = 10
    assert windows[:2].tolist() == [[0, 10], [10, 2]]
    with pytest.raises(ValueError, match="read-only"):
        windows[0] = 1
    writeable = sliding_window_view(x, 2, writeable=True)
    writeable[1] = -1
    assert x.tolist() == [0, -1, -1, 3, 4, 5]
    slope = np.grad(lambda x: (sliding_window_view(x, 3) ** 2).sum())(np.arange(5.0))
    assert slope.tolist() == [0, 4, 12, 12, 8]


@pytest.mark.parametrize("order", ["C", "F"])
def test_as_strided(order: Any) -> None:
    for module, strided in ((np, as_strided), (numpy, numpy.lib.stride_tricks.as_strided)):
        x = module.array(numpy.arange(12.0).reshape(3, 4), order=order)
        diagonal = strided(x, (3,), (sum(x.strides),))
        diagonal += 100
        part = strided(x[1:, 1:], (2, 2), x[1:, 1:].strides)
        part[0] = -1
        results = [x.tolist(), diagonal.tolist(), part.tolist(), diagonal.strides]
        if module is np:
            ours = results
    assert ours == results
    with pytest.raises(ValueError, match="outside"):
        as_strided(np.arange(3.0), (4,), (8,))
    assert as_strided(np.arange(2, dtype="i2"), (3,), (1,)).shape == (3,)


# -- emath -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("by_reference")
@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
@pytest.mark.parametrize("x", [-1, 0.5, [1, 2], [-1.0, 0.3], [2.0, 0.1], [1j]], ids=str)
def test_emath(name: str, x: Any) -> None:
    with numpy.errstate(all="ignore"):
        expected = getattr(numpy.emath, name)(x)
        got = getattr(np.emath, name)(np.asarray(x) if isinstance(x, list) else x)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    numpy.testing.assert_allclose(numpy.asarray(got), expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
@pytest.mark.parametrize("kind", [numpy.matrix, numpy.ma.array])
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_emath_of_subclasses(name: str, kind: Any) -> None:
    x = kind([[0.5, -1.0, 3.0]])
    with numpy.errstate(all="ignore"):
        expected, got = getattr(numpy.emath, name)(x), getattr(np.emath, name)(x)
    assert isinstance(got, np.ndarray) and type(expected) is numpy.ndarray
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    numpy.testing.assert_allclose(numpy.asarray(got), expected, rtol=1e-13)


def test_emath_of_two() -> None:
    assert np.emath.power([2, 4], -2).tolist() == [0.25, 0.0625]
    assert np.emath.logn(2, [4, -8]).tolist() == numpy.emath.logn(2, [4, -8]).tolist()
