"""What calls give where NumPy's function does not run as a whole: under an error state, with
checks, compiled, and in `jit`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp
from tests.helpers import be_eager

CALLS = """
x.astype(float, order="F", copy=False).strides
x.astype(float, order="C", copy=False).strides
x.T.astype(float, order="C", copy=False).strides
x.T.astype(float, order="F", copy=False).strides
x[:, ::2].astype(float, order="A", copy=False).strides
x.astype(float, order="F", copy=False).__setitem__((0, 0), 99.0), x
x.T.astype(float, order="C", copy=False).__setitem__((0, 0), 99.0), x
x[:, ::2].astype(float, order="A", copy=False).__setitem__((0, 0), 99.0), x
x.astype(float, order="A", copy=False).__setitem__((0, 0), 99.0), x
x.T.astype(float, order="A", copy=False).__setitem__((0, 0), 99.0), x
x[:, ::2].astype(float, copy=False).__setitem__((0, 0), 99.0), x
np.convolve(v, np.array([1.0, np.inf]))
np.convolve(v, np.array([1.0, np.nan]))
np.convolve(v, np.array([1.0, np.inf]), "same")
np.convolve(v, np.array([1.0, np.nan, 2.0]), "same")
np.convolve(v, np.array([1.0, np.inf, 2.0]), "valid")
np.convolve(np.array([np.inf]), v)
np.convolve(v.astype("f4"), np.array([1.0, np.inf], "f4"))
np.correlate(v, np.array([1.0, np.inf]), "full")
np.correlate(np.array([1.0, np.inf]), v, "full")
np.correlate(v, np.array([1.0, np.nan, 3.0]), "same")
np.correlate(np.array([1.0, np.nan, 3.0]), v, "same")
np.polymul(v, np.array([1.0, np.inf]))
np.poly(np.array([1.0, 2.0, np.inf]))
np.cumulative_sum(i, out=np.zeros(4), include_initial=True)
np.cumulative_prod(i, out=np.zeros(4), include_initial=True)
np.cumulative_sum(i.astype("u8"), out=np.zeros(4), include_initial=True)
np.cumulative_sum(x, axis=1, out=np.zeros((2, 4), "f4"), include_initial=True)
np.cumulative_sum(x, axis=0, out=np.zeros((3, 3)), include_initial=True)
np.cumulative_sum(x.astype(int), axis=-1, out=np.zeros((2, 4), "i1"), include_initial=True)
np.cumulative_sum(i, out=np.zeros(4), include_initial=True, dtype="i4")
np.isposinf(b, out=t), t
np.isneginf(-b, t), t
np.isposinf(b.astype("g"), t), t
np.isneginf(b.astype("g"), out=np.zeros(2))
np.isposinf(b, np.zeros(3, bool))
np.isposinf(b, t) is t
np.fft.ifft(h)
np.fft.ifft(h, norm="ortho")
np.fft.fft(h, norm="forward")
np.fft.fft(h, norm="ortho")
np.fft.fft(h)
np.fft.rfft(h, norm="forward")
np.fft.ihfft(h)
np.fft.ifftn(x.astype("f2"))
np.fft.irfftn(x.astype("f2"))
np.fft.irfft2(x.T.astype("f2"), norm="ortho")
np.fft.irfft(h)
np.fft.hfft(h, norm="forward")
np.fft.fft2(x.astype("f2"), norm="ortho")
"""
EAGER, STATE, CHECKS, COMPILED, JIT = "eager", "errstate", "checks", "compiled", "jit"
DATA = {
    "x": numpy.arange(6.0).reshape(2, 3),
    "v": numpy.array([1.0, 2.0, 3.0, 4.0]),
    "i": numpy.array([2**62, 2**61, 2**62]),
    "b": numpy.array([1, numpy.inf], ">f4"),
    "t": numpy.zeros(2, bool),
    "h": numpy.array([1, 2.5, -3], "f2"),
}


def rows(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


def result(call: str, np: Any) -> Any:
    try:
        return eval(call, {"np": np, **{k: np.array(v) for k, v in DATA.items()}})
    except (TypeError, ValueError):
        return -1  # a number, as what jit gives


@pytest.fixture(params=[EAGER, STATE, CHECKS, COMPILED, JIT])
def path(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of the path, which is taken meanwhile."""
    if request.param == EAGER:
        be_eager()
        yield EAGER
        be_eager(False)
    elif request.param == STATE:
        with lazynp.errstate(all="warn"):
            yield STATE
    else:
        options: Any = {CHECKS: {"checks": True}, COMPILED: {"execution": "compiled"}}
        with lazynp.config(**options.get(request.param, {})):
            yield request.param


@pytest.mark.parametrize("call", rows(CALLS))
def test_calls(call: str, path: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = result(call, numpy)
        given = lazynp.jit(lambda: result(call, lazynp))() if path == JIT else result(call, lazynp)
    alike(given, expected)


def alike(given: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert len(given) == len(expected)
        for mine, numpys in zip(given, expected, strict=True):
            alike(mine, numpys)
    elif not isinstance(expected, numpy.ndarray):
        assert given == expected
    else:
        assert given.dtype == expected.dtype
        rtol = {"f2": 2e-3}.get(expected.dtype.str[1:], 2e-6)
        numpy.testing.assert_allclose(numpy.asarray(given), expected, rtol, rtol / 2)
