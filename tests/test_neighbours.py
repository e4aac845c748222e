"""Other libraries with lazy arrays: tests every claim in docs/neighbours.md."""

from __future__ import annotations

import hashlib
import io
import sys
import types
from typing import Any

import numpy
import pytest
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.sparse
import scipy.special
import scipy.stats
from scipy.spatial.transform import Rotation

import lazynp as np
from lazynp._fronts import BUILT
from lazynp.functions import _memory

GRID = np.arange(6.0).reshape(2, 3)


# -- protocols -------------------------------------------------------------------------------------


def test_memory() -> None:
    x = np.arange(3.0)
    held = numpy.asarray(x)
    assert not held.flags.writeable and numpy.shares_memory(held, numpy.asarray(x))
    x[0] = 7
    assert held.tolist() == [0, 1, 2] and x.tolist() == [7, 1, 2]
    assert bytes(x[1:2]) == numpy.float64(1.0).tobytes()
    assert numpy.asarray(x[1]).shape == () and numpy.array([x, x]).shape == (2, 3)
    assert np.asarray(memoryview(b"ab")).tolist() == [97, 98]


class _Interface:
    def __init__(self) -> None:
        self.memory = numpy.arange(3.0)
        self.__array_interface__ = self.memory.__array_interface__


def test_array_interface_is_read() -> None:
    assert np.asarray(_Interface()).tolist() == [0, 1, 2]


class _Lender:
    """Shows NumPy one protocol of an array, and nothing else."""

    def __init__(self, x: Any, name: str) -> None:
        setattr(self, name, getattr(x, name))


@pytest.mark.parametrize("name", ["__array_interface__", "__array_struct__"])
def test_array_interface_is_shown(name: str) -> None:
    x = np.arange(6.0)
    x = (x + 1).reshape(2, 3)
    for value in (
        x,
        x.T,
        x[:, ::-1],
        x.astype("c8"),
        x > 2,
        x[0, 0],
        np.array([b"a", b"bc"]),
        x[:0],
    ):
        read = numpy.asarray(_Lender(value, name))
        assert read.dtype == value.dtype and read.shape == value.shape
        assert read.tolist() == value.tolist() and not read.flags.writeable
    held = numpy.asarray(_Lender(x, name))
    x *= 2
    x[0] = 0
    assert held.tolist() == [[1, 2, 3], [4, 5, 6]] and x.tolist() == [[0, 0, 0], [8, 10, 12]]
    assert numpy.asarray(_Lender(x, name)).tolist() == x.tolist()
    for other in (
        np.array([None]),
        np.array(["2001-01-01"], "M8[D]"),
        np.zeros(2, "i4,f8"),
        np.array(["a"]),
    ):
        assert not hasattr(other, name)
        assert numpy.asarray(other).dtype == other.dtype
    with pytest.raises(TypeError, match="only traced"):
        np.jit(lambda x: getattr(x, name))(x)


def test_what_an_interface_lent_is_given_back_with_the_array() -> None:
    x = np.arange(3.0) + 1
    assert x.__array_interface__["data"] == x.__array_interface__["data"]
    assert x.__array_interface__["data"][1] and len(_memory._pinned[id(x)]) == 1
    key = id(x)
    x += 1
    assert x.__array_interface__["shape"] == (3,) and len(_memory._pinned[key]) == 2
    del x
    assert key not in _memory._pinned


@pytest.mark.skipif(
    sys.version_info < (3, 12) and not BUILT, reason="Python 3.11 asks C types for buffers"
)
@pytest.mark.parametrize(
    "made", [np.asarray, lambda x: np.ascontiguousarray(np.asfortranarray(x))], ids=["C", "F"]
)
def test_what_frombuffer_shows_outlives_the_value(made: Any) -> None:
    """It keeps what it was given, and lets go of the buffer, unless a buffer is to be released."""

    class Derived(np.ndarray):
        pass

    for kind in (np.ndarray, Derived):
        x = made(numpy.arange(60_000).reshape(200, 300)).view(kind)
        shown, hashed = numpy.frombuffer(x, numpy.int64), hashlib.sha1(x).digest()
        before = shown.copy()
        for step in (1, 2):
            x[...] = np.asarray(numpy.zeros(x.shape, x.dtype)) if step == 1 else x[::-1].copy()
            assert float(numpy.asarray(x).view(numpy.int64).sum()) == 0
        others = [numpy.full(60_000, 7) for _ in range(8)]
        assert (shown == before).all() and hashlib.sha1(shown).digest() == hashed and others


@pytest.mark.skipif(
    sys.version_info < (3, 12) and not BUILT, reason="Python 3.11 asks C types for buffers"
)
def test_buffer() -> None:
    x = np.arange(3.0)
    view = memoryview(x)  # type: ignore[arg-type]
    x[0] = 7
    assert view.tolist() == [0, 1, 2] and view.readonly
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(bytes(24)).readinto(x)  # type: ignore[arg-type]


# -- SciPy -----------------------------------------------------------------------------------------


def test_scipy() -> None:
    target = np.array([1.0, 2.0])

    def loss(v: Any) -> Any:
        return ((np.asarray(v) - target) ** 2).sum()

    found = scipy.optimize.minimize(loss, numpy.zeros(2), jac=np.grad(loss))
    numpy.testing.assert_allclose(found.x, target, atol=1e-6)
    fitted, _ = scipy.optimize.curve_fit(
        lambda x, a: a * np.exp(-np.asarray(x)), np.arange(4.0), 2 * np.exp(-np.arange(4.0))
    )
    numpy.testing.assert_allclose(fitted, [2.0])
    orbit = scipy.integrate.solve_ivp(lambda t, y: -np.asarray(y), (0, 1), np.array([1.0]))
    numpy.testing.assert_allclose(orbit.y[0, -1], numpy.exp(-1), rtol=1e-3)
    assert scipy.integrate.quad(lambda v: np.exp(-v), 0, 1)[0] == pytest.approx(1 - numpy.exp(-1))
    assert scipy.ndimage.uniform_filter(GRID, 1).tolist() == GRID.tolist()
    assert isinstance(scipy.special.erf(GRID), np.ndarray)  # through NumPy's ufunc protocol
    product = scipy.sparse.csr_array(numpy.eye(3)) @ np.arange(3.0)
    assert product.tolist() == [0, 1, 2]
    assert scipy.stats.norm.cdf(np.zeros(1)).tolist() == [0.5]


def _bowl(x: Any) -> Any:
    return ((np.asarray(x) - np.array([1.0, 2.0])) ** 2).sum()


def _slope(x: Any) -> Any:
    return 2 * (np.asarray(x) - np.array([1.0, 2.0]))


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP", "TNC", "CG", "trust-constr"])
def test_minimizers_take_lazy_values_and_gradients(method: str) -> None:
    """Results of the user's functions go to compiled code, some of which checks their type."""
    start = np.zeros(2)
    one = scipy.optimize.minimize(_bowl, start, jac=_slope, method=method)
    both = scipy.optimize.minimize(lambda x: (_bowl(x), _slope(x)), start, jac=True, method=method)
    for found in (one, both):
        numpy.testing.assert_allclose(found.x, [1.0, 2.0], atol=1e-5)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares_takes_lazy_jacobians(method: str) -> None:
    jacobian: Any = lambda x: 2 * np.eye(2)  # noqa: E731  (its stubs know no functions here)
    found = scipy.optimize.least_squares(_slope, np.zeros(2), jac=jacobian, method=method)
    numpy.testing.assert_allclose(found.x, [1.0, 2.0])


def test_scipy_is_given_memory_of_its_own() -> None:
    a = np.array([[3.0, 1.0], [1.0, 4.0]])
    turned = Rotation.from_matrix(np.eye(3)).apply(
        np.eye(3)
    )  # Cython code that asks for writable memory
    assert turned.tolist() == numpy.eye(3).tolist()
    numpy.testing.assert_allclose(
        scipy.linalg.funm(a, lambda v: np.exp(v)), scipy.linalg.expm(a), rtol=1e-12
    )
    module = types.ModuleType("scipy.something")  # code that assumes it owns its arguments
    exec("def spoil(x):\n    x = numpy.asarray(x)\n    x[:] = 0\n    return x\n"
         "def keep(x):\n    x = numpy.atleast_1d(x)\n    x[:] = 0\n    return x",
         {"numpy": numpy, "__name__": module.__name__}, vars(module))  # fmt: skip
    for function in (module.spoil, module.keep):
        assert type(function(a)) is numpy.ndarray and not function(a).any()
        assert a.tolist() == [[3.0, 1.0], [1.0, 4.0]]


def test_scipy_does_not_write_into_what_nobody_sees() -> None:
    """It refuses, or the array is written."""
    sparse = scipy.sparse.csr_array(numpy.eye(2))
    for write in (lambda out: sparse.toarray(out=out),
                  lambda out: scipy.ndimage.uniform_filter(numpy.eye(2), 1, output=out),
                  lambda out: scipy.special.erf(numpy.eye(2), out=out)):  # fmt: skip
        out = np.zeros((2, 2))
        try:
            write(out)
        except (ValueError, RuntimeError, TypeError):
            continue
        assert out[0, 0] > 0


SPARSE: list[Any] = [
    lambda s, x: s + x, lambda s, x: x + s, lambda s, x: x - s, lambda s, x: s @ x,
    lambda s, x: x @ s, lambda s, x: s * x[0, 1], lambda s, x: x[0, 1] * s, lambda s, x: s.dot(x),
    lambda s, x: s[x[0] > 0].toarray(), lambda s, x: s.multiply(x),
]  # fmt: skip


@pytest.mark.parametrize("operate", SPARSE)
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.lil_matrix])
def test_sparse_arrays_with_ours(kind: Any, operate: Any) -> None:
    dense = numpy.array([[0.0, 2.0], [3.0, 4.0]])
    got, want = operate(kind(dense), np.array(dense)), operate(kind(dense), dense)
    got, want = (x.toarray() if scipy.sparse.issparse(x) else x for x in (got, want))
    assert numpy.asarray(got).tolist() == numpy.asarray(want).tolist()


# -- plots and pictures ----------------------------------------------------------------------------


def test_matplotlib() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415  (needs its backend to be chosen first)

    figure, (a, b) = plt.subplots(1, 2)
    (line,) = a.plot(GRID[0], np.sin(GRID[1]))
    assert line.get_xdata().tolist() == [0, 1, 2]
    a.scatter(GRID[0], GRID[1], c=GRID[0])
    a.fill_between(GRID[0], GRID[1], GRID[1] + 1)
    a.set_xlim(GRID.min(), GRID.max())
    a.axvline(GRID.mean())
    image = b.imshow(GRID)
    assert image.get_array().tolist() == GRID.tolist()
    figure.canvas.draw()
    plt.close(figure)


def test_pillow() -> None:
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    pixels = (GRID * 10).astype(np.uint8)
    for x in (pixels, pixels[:, ::-1], np.stack([pixels] * 3, -1)):
        assert np.asarray(image.fromarray(x)).tolist() == x.tolist()


# -- tables and labels -----------------------------------------------------------------------------


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"a": np.arange(3.0), "w": np.array(["x", "y", "z"])})
    assert frame["a"].dtype == "float64" and (np.asarray(frame["a"]) * 2).tolist() == [0, 2, 4]
    series, x = frame["a"], np.arange(3.0)
    for result in (np.sqrt(series), x + series, series + x, x > series, -series):
        assert isinstance(result, pandas.Series)
    y, same = numpy.arange(3.0), x
    x += series
    y += series  # pandas decides what that binds
    assert isinstance(x, pandas.Series) == isinstance(y, pandas.Series)
    assert same.tolist() == x.tolist() == y.tolist() == [0, 2, 4]
    x = same
    frame["b"] = x
    assert frame["b"].tolist() == [0, 2, 4]
    assert frame[numpy.asarray(x > 1)]["w"].tolist() == ["y", "z"]  # Cython takes numpy's masks
    assert frame.iloc[np.array([0, 2])]["w"].tolist() == ["x", "z"]


def test_xarray() -> None:
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    array = xarray.DataArray(GRID, dims=("y", "x"))
    assert isinstance((array * 2).data, np.ndarray)  # stays lazy
    assert array.mean("x").data.tolist() == [1, 4]
    assert isinstance(np.sin(array), xarray.DataArray)


def test_einops() -> None:
    einops = pytest.importorskip("einops.array_api", reason="einops is not installed")
    assert einops.rearrange(GRID, "a b -> (b a)").tolist() == [0, 3, 1, 4, 2, 5]
    assert einops.reduce(GRID, "a b -> a", "mean").tolist() == [1, 4]


def test_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert torch.from_dlpack(GRID).sum() == 15.0
    assert np.from_dlpack(torch.arange(3)).tolist() == [0, 1, 2]


def test_numba() -> None:
    numba = pytest.importorskip("numba", reason="numba is not installed")
    total = numba.njit(lambda x: x.sum())
    assert total(numpy.asarray(GRID)) == 15.0
    with np.writable(x := GRID.copy()) as memory:
        numba.njit(lambda m: m.fill(1.0))(memory)
    assert x.sum() == 6.0


def test_functions_of_numpys_testing_compare_lazy_arrays() -> None:
    x, y = np.arange(3.0), np.arange(3.0)[::-1]
    for same in (numpy.testing.assert_equal, numpy.testing.assert_almost_equal):
        same(x, np.arange(3.0))
        same(numpy.arange(3.0), x)
        same([x, x], [numpy.arange(3.0), x])
        with pytest.raises(AssertionError, match="Mismatched elements: 2 / 3"):
            same(x, y)


def test_scalars_tell_torch_that_they_are_numbers() -> None:
    def function(*args: Any, **kwargs: Any) -> Any:
        return [type(x) for x in (*args, *kwargs.values())]

    x, n = np.linspace(0, 1, 3)[1], np.arange(3)[1]
    told = x.__torch_function__(function, (), (x, "a", [n]), {"dim": n})
    assert told == [numpy.float64, str, list, numpy.int64]
    assert not any(hasattr(y, "__torch_function__") for y in (np.arange(3), n))


def test_arrays_tell_pyarrow_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = types.ModuleType("pyarrow")
    vars(pyarrow)["array"] = lambda values, type: (values, type)
    monkeypatch.setitem(sys.modules, "pyarrow", pyarrow)
    x: Any = np.arange(3)
    values, kind = x.__arrow_array__(type="int8")
    assert type(values) is numpy.ndarray
    assert (values.tolist(), kind) == ([0, 1, 2], "int8")
