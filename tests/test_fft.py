"""numpy.fft: every function, on NumPy and on lazynp."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazynp
from tests.functions.rows import check


def arrays(dtype: str = "f8") -> dict[str, Any]:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        x = 5 * rng.normal(size=shape)
        if np.dtype(dtype).kind == "c":
            x = x + 5j * rng.normal(size=shape)
        return x.astype(dtype)

    return {"v": draw(7), "x": draw(4, 6), "y": draw(2, 3, 4, 5)}


ONE = ["fft", "ifft", "irfft", "hfft", "rfft", "ihfft"]  # the last two of real signals only
MANY = ["fftn", "ifftn", "irfftn", "fft2", "ifft2", "irfft2", "rfftn", "rfft2"]
ARGUMENTS_ONE = ["v", "x", "x, 5", "x, 9, axis=0", "x, axis=0, norm='ortho'", "x, norm='forward'"]
ARGUMENTS_MANY = [
    "x",
    "y, axes=(0, 2)",
    "y, (3, 5), (3, 1)",
    "x, norm='ortho'",
    "x, (2, -1), axes=(0, 1), norm='forward'",
]


@pytest.mark.parametrize("arguments", ARGUMENTS_ONE)
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name: str, arguments: str) -> None:
    check(f"np.fft.{name}({arguments})", arrays())


@pytest.mark.parametrize("arguments", ARGUMENTS_MANY)
@pytest.mark.parametrize("name", MANY)
def test_several_axes(name: str, arguments: str) -> None:
    check(f"np.fft.{name}({arguments})", arrays())


@pytest.mark.parametrize("dtype", ["c16", "c8", "f4", "f2", "i4", "?"])
@pytest.mark.parametrize("name", [*ONE, "fftn", "rfftn", "irfftn"])
def test_dtypes(name: str, dtype: str) -> None:
    """Complex signals for real transforms are a TypeError."""
    for norm in ("'ortho'", "'forward'", "None"):
        check(f"np.fft.{name}(x, norm={norm})[..., :3]", arrays(dtype))


OTHERS = [
    "np.fft.fftn(y)",
    "np.fft.rfftn(y), np.fft.irfftn(y)",
    "np.fft.irfftn(np.fft.rfftn(y), y.shape, axes=(0, 1, 2, 3))",
    "np.fft.fftn(x, axes=(0, 0, 1)), np.fft.fftn(x, axes=())",
    "np.fft.ifftn(x, axes=(1, 1))",
    "np.fft.irfftn(x.astype('f2'), axes=(1,), norm='forward')",
    "np.fft.fft(np.zeros((0, 4))), np.fft.rfft(np.zeros((2, 0, 3)), axis=2)",
    "np.fft.fft([1, 2, 3]), np.fft.irfft([1, 2, 3], 1), np.fft.fft([2.0])",
    "np.fft.fft(v.astype(np.longdouble)).real",
    "np.fft.fftshift(x), np.fft.ifftshift(x), np.fft.fftshift(v), np.fft.ifftshift(v)",
    "np.fft.fftshift(x, 0), np.fft.ifftshift(x, -1), np.fft.fftshift(y, (0, 3))",
    "np.fft.fftfreq(7), np.fft.fftfreq(8, 0.1), np.fft.fftfreq(np.int32(5), d=2)",
    "np.fft.rfftfreq(7), np.fft.rfftfreq(8, 0.1), np.fft.rfftfreq(1)",
    "o = np.zeros(7, complex); np.fft.fft(v, out=o) is o, o",
    "o = np.zeros((4, 4), complex); np.fft.rfft(x, out=o) is o, o",
    "o = np.zeros((4, 4), complex); np.fft.rfftn(x, out=o) is o, o",
    "o = np.zeros((4, 6), complex); np.fft.ihfft(x, 10, out=o) is o, o",
    "o = np.zeros((4, 6), complex); np.fft.fftn(x, out=o) is o, o",
    "o = np.zeros(6); np.fft.irfft(v, 6, out=o) is o, o",
    "w = np.zeros((2, 7), complex); np.fft.ifft(v, out=w[1]); w",
    # which ignore it before NumPy 2.5
    "o = np.zeros((4, 6), complex); np.fft.ifft2(x, out=o) is o, np.fft.ifft2(x, out=o), o",
    "o = np.zeros((4, 6)); np.fft.irfft2(x, out=o) is o, np.fft.irfft2(x, out=o), o",
    "o = np.zeros((4, 6)); np.fft.hfft(x, 6, out=o) is o, np.fft.hfft(x, 6, out=o), o",
]


@pytest.mark.parametrize("program", OTHERS)
def test_others(program: str) -> None:
    check(program, arrays())


ERRORS = [
    "np.fft.fft(v, 0)",
    "np.fft.ifft(v, -3)",
    "np.fft.irfft(v[:1])",
    "np.fft.fft(np.zeros((3, 0)))",
    "np.fft.fft(v, axis=1)",
    "np.fft.fft(v, 4, axis=1)",
    "np.fft.fft(np.float64(3))",
    "np.fft.fft(v, norm='other')",
    "np.fft.ifft(v, norm='other')",
    "np.fft.hfft(v, norm='other')",
    "np.fft.fftn(x, (2,), axes=(0, 1))",
    "np.fft.fft(v, out=np.zeros(3, complex))",
    "np.fft.fftfreq(2.5)",
    "np.fft.rfftfreq('a')",
    "np.fft.rfft(v + 1j)",
]


@pytest.mark.parametrize("program", ERRORS)
def test_errors(program: str) -> None:
    check(program, arrays(), message=True)


def test_dtypes_of_the_host() -> None:
    check("np.fft.fft(v.astype(object))", arrays())
    check("np.fft.fft(np.array(['a', 'b']))", {})


def test_deprecated() -> None:
    x = lazynp.ones((4, 6))
    with pytest.warns(DeprecationWarning, match="`axes` should not be `None`"):
        assert lazynp.fft.fftn(x, (2, 2)).shape == (2, 2)
    with pytest.warns(DeprecationWarning, match="`None` values"):
        assert lazynp.fft.fftn(x, (2, None), axes=(0, 1)).shape == (2, 6)


def test_names() -> None:
    names = {n for n in np.fft.__all__ if not n.startswith("_")}
    assert set(lazynp.fft.__all__) == names
