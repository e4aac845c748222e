"""Further corners of NumPy's: results, classes, dtypes, byte order, errors and warnings."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy
import pytest

import lazynp
from tests.helpers import be_eager

CALLS = """
np.quantile(be, 0.3, weights=np.array([1, 1, 1, 1]), method="inverted_cdf")
np.apply_along_axis(np.sort, -1, be.reshape(2, 2))
np.apply_along_axis(lambda v: v[:1], 0, be.reshape(2, 2))
np.apply_along_axis(lambda v: v[0], 0, be.reshape(2, 2))
np.array(5, ">i2")
np.zeros((), ">c16")
np.array(5, ">i2") + 1
np.squeeze(np.zeros((1, 1), ">f8"))
type(np.linalg.qr(x[:2, :2], "raw")) is tuple
np.linalg.qr(x[:2, :2], "raw")[1]
np.linalg.qr(x.astype(object)).R
np.linalg.qr(x.astype(object), "r")
np.linalg.qr(x.astype("g"))
np.linalg.svd(np.array([["a"]]))
np.linalg.svd(o, compute_uv=False)
np.linalg.pinv(o)
np.linalg.eigh(o)
np.linalg.eigvals(o)
np.linalg.cholesky(o)
np.linalg.det(o)
np.linalg.slogdet(o)
np.linalg.solve(o, o)
np.linalg.lstsq(o, o)
np.linalg.inv(o)
np.linalg.inv(x[:2, :2].astype("f2"))
np.average(np.array([1, 2.0, 3], object), weights=np.array([1, 1, 1]))
np.average(np.array([1, 2], "m8[s]"))
np.average(be, weights=be)
np.ldexp.reduce(np.array([[2, 1], [0, 3]], "u1"))
np.ldexp.reduce(np.array([[2, 1], [0, 3]]))
np.std(np.array([1, 2.0, 3], object), out=np.zeros(()))
np.var(np.array([1, 2.0, 3], object), out=np.zeros(()), correction=1)
np.interp(np.array([1.5], object), [0, 1], [1, 2], period=3)
np.interp(np.array([1.5], "g"), [0, 1], np.array([1, 2], "g"), period=3)
np.interp([1.5], [[0, 1]], [1, 2], period=3)
np.interp(np.array([1.5], "g"), [0, 1], [1, 2])
np.matmul(x, x.T, sig="dd->d")
np.vecdot(x, x, sig="ff->f")
np.matmul(x, x.T, sig="dd->d", signature="dd->d")
np.power.outer(np.array([2, 3], "i1"), np.array([-1, 2], "i1"), where=False, out=np.ones((2, 2)))
np.power(np.array([2, 3]), [-1, 2], where=[False, True], out=np.ones(2, int))
np.power(np.array([2, 3]), [-1, 2], where=[True, False], out=np.ones(2, int))
np.power(np.array([2, 3]), -1, where=False, out=np.ones(2, int))
np.power(np.array([2, 3]), -1, where=[True, False], out=np.ones(2, int))
f.resize(f.shape), f, v
np.from_dlpack(be)
np.from_dlpack(np.array(["a"]))
np.from_dlpack(np.array([None]))
np.from_dlpack(np.array(["2020"], "M8[Y]"))
np.from_dlpack(np.zeros(2, "i4, f4"))
np.from_dlpack(np.arange(3, dtype="g"))
np.from_dlpack(np.array([True, False]))
np.imag(f)
f.imag.flags.writeable
np.imag(np.ones((2, 3))[:, ::2])
np.ndarray((2,), strides=(0,)).strides
np.ndarray((2, 3), "i4", strides=(4, 8)).strides
np.ndarray((2, 3), "i4", strides=(40, 8))
np.ndarray((2, 3), strides=(4,))
np.ndarray((2, 3), strides=(-8, 8))
np.histogram_bin_edges(np.array([True, False]))
np.histogram(np.array([True, False]))
(lambda s: np.diff(s, 0) is s)(np.array(2.5))
np.diff(a=x, n=0)
np.isclose(x, x, rtol=np.nan)
np.isclose(1.0, 2.0, atol=np.inf)
np.isclose(x, x, np.array([np.nan, 1, 1]))
bool(np.allclose(x, x, rtol=np.nan))
np.isclose(x, x, 1, 0)
np.amax(x, foo=1)
np.amin(x, foo=1)
np.around(x, foo=1)
np.max(x, foo=1)
np.array_split(x, 2, axis=3)
np.array_split(x, 2, axis=-3)
np.array_split([1, 2], 2, axis=3)
np.array_split(x, [1], axis="a")
np.split(x, [1], axis=2)
np.trapezoid(x, axis=3)
np.trapezoid(x, axis=-3)
np.trapezoid(x[0], x[0], axis=2)
np.add.__doc__ == __import__("numpy").add.__doc__
np.random.SeedSequence(np.array([1, 2])).generate_state(2)
np.random.PCG64(np.array([1, 2])).random_raw()
np.random.MT19937(seed=np.arange(3)).random_raw()
isinstance(np.random.default_rng(1).bit_generator, np.random.PCG64)
issubclass(np.random.PCG64, np.random.BitGenerator)
np.random.Generator.normal(np.random.default_rng(1), size=2)
{"normal", "integers", "bit_generator", "spawn"} <= set(dir(np.random.Generator))
"""


def described(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [described(v) for v in x]
    if hasattr(x, "dtype"):
        return x.dtype.str, x.shape, x.strides, numpy.round(x.astype(complex), 9).tolist()
    return repr(x)


def outcome(call: str, np: Any) -> Any:
    f = np.asfortranarray(np.arange(6).reshape(2, 3))
    names = {"np": np, "be": np.arange(4, dtype=">i2"), "x": np.arange(6.0).reshape(2, 3) ** 2}
    names |= {"o": np.array([[2, 1], [1, 3]], object), "f": f, "v": f[0]}
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result = described(eval(call, names))
        except Exception as error:
            result = type(error), str(error)
    return result, [(w.category, str(w.message)) for w in given]


@pytest.mark.parametrize("path", ["recorded", "eager", "errstate"])
@pytest.mark.parametrize("call", [line for line in CALLS.splitlines() if line])
def test_calls(call: str, path: str) -> None:
    be_eager(path == "eager")
    state: Any = lazynp.errstate(all="warn") if path == "errstate" else contextlib.nullcontext()
    with state:
        given = outcome(call, lazynp)
    be_eager(False)
    assert given == outcome(call, numpy)


PRODUCTS = [
    "1j * a[1]",
    "1j + a[1]",
    "1j / a.sum()",
    "(1 + 2j) * a[2] + a[1]",
    "a[1] * 1j",
    "2.0 * a[1]",
]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("product", PRODUCTS)
def test_complex_numbers_of_pythons_are_no_real_elements(product: str, dtype: str) -> None:
    """A float64 is a float, so a complex number of Python's gives one with it."""
    found: list[Any] = []
    be_eager()
    for np in (numpy, lazynp):
        a = np.array([1, 2, 3]).astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = eval(product)
            try:
                a[0] = value
            except TypeError as error:
                found.append(str(error))
        found.append([type(value) is complex, a.tolist()])
    be_eager(False)
    half = len(found) // 2
    assert found[:half] == found[half:]


LYING = {
    "Fortran's order": "np.asfortranarray(np.arange(24.0).reshape(6, 4))",
    "a third order": "np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2)",
    "a fourth order": "np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0)",
}
ORDERED = """
np.roll(x, 1, 0)
np.roll(x, (1, 1), (0, 1))
np.roll(x, 1)
np.round(x)
np.round(x * 1.5)
x.round(-1)
np.fft.fft(x)
np.fft.fft(x, 8)
np.fft.fft(x, 3, axis=0)
np.fft.rfft(x)
np.fft.irfft(x, 6)
np.fft.fftn(x)
np.fft.rfftn(x)
np.fft.fftshift(x)
np.unwrap(x * 1.0)
""".strip().split("\n")


@pytest.mark.parametrize("execution", ["adaptive", "compiled", "reference"])
@pytest.mark.parametrize("lying", LYING)
def test_results_lie_as_numpys_under_every_policy(lying: str, execution: Any) -> None:
    def outcome(np: Any) -> Any:
        x = eval(LYING[lying], {"np": np})
        return {call: eval(call, {"np": np, "x": x}).strides for call in ORDERED}

    with lazynp.config(execution=execution):
        assert outcome(lazynp) == outcome(numpy)


def test_writes_show_in_a_rolled_array_and_not_in_its_source() -> None:
    def outcome(np: Any) -> Any:
        x = np.asfortranarray(np.arange(6).reshape(2, 3))
        y, z = np.roll(x, 0, 0), np.round(x)
        y.T.ravel()[0], z[0, 0] = 99, 7
        return x.tolist(), y.tolist(), z.tolist()

    with lazynp.config(execution="compiled"):
        assert outcome(lazynp) == outcome(numpy)
