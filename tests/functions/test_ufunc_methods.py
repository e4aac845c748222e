"""reduce, accumulate, reduceat, at and outer of ufuncs, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazynp as lazy
from lazynp.functions._reduce import ROWS as NATIVE
from tests.functions.rows import check

nan = np.nan
DATA: dict[str, Any] = {
    "a": np.array([[3, 1, 2], [9, 7, 8]]),
    "x": np.array([[0.1, -2.5, 3.25], [4.5, 0.0, -1.75]]),
    "b": np.array([[True, False, True], [True, True, True]]),
    "i": np.array([100, 27, -128, 5], np.int8),
    "v": np.array([nan, 1, 3, nan, -2, 7]),
    "h": np.array([0.1, -2.5, 3.25, 100], np.float16),
    "c": np.array([2 + 1j, 1 + 5j, complex(nan, 0), 3j]),
    "z": np.empty((0, 3)),
    "o": np.zeros(3),
    "s": np.zeros(()),
    "m": np.array([True, False, True]),
    "l": np.arange(200.0) % 7,
}

PROGRAMS = """
np.multiply.reduce(np.array([2**20, 2**20]), dtype=object) ** 3
np.add.reduce(np.array([2**62] * 5), dtype=object)
np.logical_or.accumulate(np.array([3, 1, 5]), dtype=object)
np.greater.accumulate(x, dtype=object)
np.add.accumulate(i, dtype=object, out=...)
np.add.accumulate(x, dtype=object, out=(np.zeros((2, 3)),))
np.add.accumulate([1, 2, 3], dtype=object, out=o), o
np.add.accumulate(i, dtype=object, out=5)
np.logical_and.reduce(i, dtype=object, initial=1)
np.logical_or.reduce(i, dtype=object, initial=0, where=i > 1)
np.add.reduce(i, dtype=object, initial=1, keepdims=True)
np.divide.reduce(i, dtype=object)
np.left_shift.reduce([1, 2, 3], dtype=object, keepdims=True)
np.add.reduce(x, initial=None, where=m)
np.multiply.reduce(x, axis=1, initial=None, where=m)
np.add.accumulate(i, dtype=object)
np.hypot.reduce([-3.0])
np.hypot.reduce(np.array([[-3.0], [2.0]]), axis=1)
np.gcd.reduce([-3])
np.lcm.reduce([[-3], [2]], axis=1)
np.add.reduce(a)
np.add.reduce(a, axis=None)
np.add.reduce(a, axis=(0, 1), keepdims=True)
np.add.reduce(5)
np.add.reduce([1, 2], dtype=bool)
np.add.reduce(x, out=o); o
np.add.reduce(x, out=(o,)); o
np.add.reduce([1, 2], out=5)
np.add.reduce(x, 0, None, None, True)
np.add.reduce(x, initial=5, where=m)
np.multiply.reduce(x, axis=1)
np.maximum.reduce(v)
np.fmax.reduce(v)
np.fmin.reduce(v)
np.fmax.reduce(a)
np.fmax.reduce([nan, nan])
np.fmax.reduce([])
np.fmax.reduce(v, initial=9)
np.fmax.reduce(v, where=v < 2, initial=-1)
np.fmin.reduce(c[:2])
np.maximum.reduce(z)
np.logical_and.reduce(x)
np.logical_or.reduce(x, axis=1)
np.logical_xor.reduce(x)
np.logical_xor.reduce(b, axis=None)
np.logical_and.reduce(z)
np.bitwise_and.reduce(a)
np.bitwise_or.reduce(i)
np.bitwise_xor.reduce(b, axis=1)
np.bitwise_and.reduce(np.zeros((0, 2), int))
np.bitwise_and.reduce(a, where=m)
np.bitwise_and.reduce(x)
np.subtract.reduce(a)
np.subtract.reduce(x, axis=1, keepdims=True)
np.subtract.reduce(x, axis=1, out=np.zeros(2))
np.subtract.reduce(x, axis=(0, 1))
np.subtract.reduce(z)
np.subtract.reduce(l)
np.divide.reduce(a)
np.power.reduce([2, 3, 2])
np.floor_divide.reduce(a * 100, axis=1)
np.hypot.reduce(x)
np.hypot.reduce(x, axis=None)
np.logaddexp.reduce(x)
np.logaddexp.reduce([])
np.gcd.reduce(a)
np.lcm.reduce(a, axis=1)
np.arctan2.reduce(x, axis=None)
np.less.reduce(x)
np.equal.reduce(b)
np.sin.reduce(x)
np.divmod.reduce(x)
np.frexp.accumulate(x)
np.add.accumulate(a)
np.add.accumulate(a, axis=1)
np.add.accumulate(i)
np.add.accumulate(5)
np.add.accumulate([1, 2], axis=1)
np.add.accumulate(x, dtype=np.float32)
np.add.accumulate(x[0], out=o); o
np.add.accumulate(z)
np.multiply.accumulate(x)
np.maximum.accumulate(x, axis=1)
np.minimum.accumulate(v)
np.fmax.accumulate(v)
np.fmin.accumulate(v)
np.maximum.accumulate(c)
np.logical_and.accumulate([1.0, 0, 2])
np.logical_or.accumulate([0.0, 0, 2])
np.logical_xor.accumulate([0.0, 1, 2, 0])
np.bitwise_or.accumulate(a, axis=1)
np.subtract.accumulate(a, axis=1)
np.subtract.accumulate(l)
np.divide.accumulate(x[0])
np.less.accumulate(x)
np.add.reduceat(v, [0, 2, 4])
np.add.reduceat(l, [0, 4, 1, 5])
np.add.reduceat(l, [0, 4, 1, 5], out=np.zeros(4))
np.add.reduceat(a, [0, 2], axis=1)
np.maximum.reduceat(x, [0, 1, 0], axis=1)
np.multiply.reduceat(a, [1, 0])
np.add.reduceat(a, [0, 3])
np.add.reduceat(a, [-1])
np.add.reduceat(a, [0.5])
np.add.reduceat(a, [])
np.add.reduceat(l, np.arange(0, 200, 4))
np.maximum.reduceat(l, np.arange(3, 200, 5))
np.add.reduceat(l.reshape(2, 100), np.arange(0, 100, 2), axis=1)
np.add.reduceat(l, np.arange(199, -1, -2))
np.add.reduceat(l, np.arange(40) ** 2 // 8 + np.arange(40))[:5]
np.multiply.reduceat(l.reshape(2, 100) / 3, np.arange(40) * 2, axis=1)
np.minimum.reduceat(l.reshape(2, 100, 1), np.arange(40) * 2 + 1, axis=1)
np.subtract.reduceat(l, [0, 5, 9])
np.logical_or.reduceat(x, [0, 2], axis=1)
np.add.at(x, 0, 1); x
np.add.at(x, (0, [0, 0, 2]), 1.5); x
np.add.at(l, [1, 1, 3], [1, 2, 3]); l
np.subtract.at(l, [1, 1, 3], [1, 2, 3]); l
np.multiply.at(l, [1, 1, 3], 2); l
np.maximum.at(l, [1, 1, 3], 2); l
np.add.at(l, slice(0, 3), 1); l
np.add.at(l, l > 5, 1); l
np.negative.at(l, [1, 2]); l
np.divide.at(l, [1, 1], 2); l
np.add.at(a, [0], 1.5)
np.add.at(a, [5], 1)
np.add.at(a[0], [1, 1], 1); a
np.logical_or.at(b[0], [1, 1], True); b
np.add.at([1, 2], [0], 1)
np.add.outer([1, 2], [3, 4])
np.multiply.outer(a, x)
np.subtract.outer(5, [1, 2])
np.sin.outer(a, x)
np.add(o, 1, where=[1, 0, 1], out=np.full(3, 7.0))
np.add(o, 1, where=None, out=np.full(3, 7.0))
np.add(o, 1, where=np.array([1, 0, 1]), out=np.full(3, 7.0))
np.add(o, 1, where=m)[m]
np.add(o, 1, where=m, out=None)[m]
np.add(o, 1, None, where=m)[m]
np.add(o, 1, where=[True] * 3, out=...)
np.add.reduce(x, where=[1, 0, 1])
np.add.reduce(x, where=1)
np.add.reduce(x, where=a)
np.max(x, where=[1, 0, 1], initial=-9)
np.mean(x, -1, where=[1, 0, 1])
np.add(o, 1, casting="unheard")
np.add(o, 1, casting=0)
np.cosh(a, casting="equiv")
np.cosh(1, casting="equiv")
np.add(o, 1, subok=1)
np.add(o, 1, dtype="f8", signature="dd->d")
np.divmod(a, 2, out=None)
np.matmul(o, o, out=...)
np.add.outer(o)
np.add.outer(o, o, o)
np.negative.outer(o)
np.add.reduce(o, out=...)
np.add.reduce(o, out=(None,))
np.add.accumulate(o, out=(None,))
np.hypot.reduceat(x, [0], out=(np.zeros((1, 3)),))
np.add.reduce(x, axis=True)
np.add.reduce(x, axis=np.True_)
np.add.accumulate(x, axis=True)
np.add.accumulate(x, axis=(1,))
np.add.accumulate(x, axis=(0, 1))
np.add.accumulate(o, axis=None)
np.add.accumulate(x, axis=None)
np.hypot.accumulate(x, axis=(1,))
np.hypot.accumulate(x, axis=5)
np.add.reduceat(x, [0], axis=(1,))
np.add.reduce(a, initial=np.nan)
np.add.reduce(a, initial=[1])
np.add.reduce(a, initial=2.5)
np.add.reduce(i, initial=300)
np.add.reduce(c, dtype=float)
np.add.accumulate(c, dtype=float)
np.abs(10**30), np.abs(2**63), np.add.outer(10**30, 1)
b ** 2, np.power(b, 2), b ** 3, b ** b
np.modf(i), np.modf(b), np.modf(np.int16(3))
"""


# Where a mask is False and no `out` is given, the result is whatever NumPy's memory held: rows with
# such a mask compare the other places.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("row", PROGRAMS.strip().splitlines())
def test_row(row: str) -> None:
    check(row, DATA)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", list(NATIVE))
@pytest.mark.parametrize("data", ["a", "b", "i", "x", "h", "z"])
def test_every_native_reduction(name: str, data: str) -> None:
    for axis in (0, None):
        check(f"np.{name}.reduce({data}, axis={axis})", DATA)
    check(f"np.{name}.reduce({data}, where={data} > 0, initial=1)", DATA)
    check(f"np.{name}.accumulate({data})", DATA)


MESSAGES = """
np.subtract.reduce(x, axis=(0, 1))
np.subtract.reduce(z)
np.fmax.reduce([])
np.add.accumulate(5)
np.sin.reduce(x)
np.divmod.reduce(x)
np.add.reduceat(a, [0, 3])
np.matmul(x, x, where=True)
np.vecdot(x, x, initial=1)
"""


@pytest.mark.parametrize("row", MESSAGES.strip().splitlines())
def test_message(row: str) -> None:
    check(row, DATA, message=True)


@pytest.mark.parametrize("dtype", [int, float, "f2", object])
@pytest.mark.parametrize("call", [
    lambda x, o: lazy.add.accumulate(x, out=o), lambda x, o: lazy.logaddexp.accumulate(x, out=o),
    lambda x, o: lazy.subtract.accumulate(x, out=o), lambda x, o: lazy.cumsum(x, out=o),
    lambda x, o: lazy.nancumsum(x, out=o), lambda x, o: lazy.nancumprod(x, out=o),
    lambda x, o: lazy.cumulative_sum(x, out=o), lambda x, o: x.cumprod(out=o),
])  # fmt: skip
def test_accumulate_into_an_array_without_axes(call: Any, dtype: Any) -> None:
    """NumPy 2.4 ends the process."""
    with pytest.raises(ValueError):
        call(lazy.ones(1), lazy.array(7, dtype))


@pytest.mark.parametrize("size", [33, 34, 63, 64, 200])
@pytest.mark.parametrize("f", [
    lambda np, x: np.logaddexp.reduce(x), lambda np, x: np.hypot.accumulate(x),
    lambda np, x: np.logaddexp2.reduce(x.reshape(1, -1), axis=None, keepdims=True),
    lambda np, x: np.logaddexp.accumulate(x[None], axis=1, out=np.zeros((1, len(x)))),
    lambda np, x: np.gcd.reduce((x * 60).astype(int)),
    lambda np, x: np.logaddexp.reduce(x, dtype="f"),
    lambda np, x: np.add.reduceat(x, [*range(len(x) - 1), 2, 9, 4]),
])  # fmt: skip
def test_long_ones_of_traced_arrays(f: Any, size: int) -> None:
    """NumPy cannot run them: they have no value, or differ between examples."""
    x = np.random.default_rng(size).normal(size=size)
    want = f(np, x)
    rtol = 1e-5 if want.dtype.itemsize == 4 else 1e-13
    for got in (lazy.jit(lambda x: f(lazy, x))(lazy.asarray(x)),
                lazy.vmap(lambda x: f(lazy, x))(lazy.asarray(x[None]))[0]):  # fmt: skip
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=rtol)
