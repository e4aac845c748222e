"""Sizes promote as the ints of NumPy's shapes do, whether the call or the data decide them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

SIZES: dict[str, Callable[[Any, Any], Any]] = {
    "axis": lambda np, x: x.shape[0],
    "more than an axis": lambda np, x: x.shape[0] + 1,
    "selected": lambda np, x: x[x > 0].shape[0],
    "elements": lambda np, x: x[x > 0].size,
    "bytes": lambda np, x: x[x > 0].nbytes,
    "half": lambda np, x: x[x > 0].shape[0] // 2 + 1,
    "unique": lambda np, x: np.unique(x).size,
    "nonzero": lambda np, x: 1 - np.nonzero(x)[0].shape[0],
    "repeated": lambda np, x: np.repeat(x, (x > 0) * 2).shape[0],
    "zeros": lambda np, x: np.zeros((x > 0).sum()).shape[0],
}

USES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "times": lambda np, x, n: x * n,
    "mean": lambda np, x, n: x.sum() / n,
    "power": lambda np, x, n: x ** (n * n),
    "quotients": lambda np, x, n: x * (n // 2) + n % 3 - x * (n / 2),
    "negative": lambda np, x, n: x * -n + abs(n),
    "two sizes": lambda np, x, n: (n + x.shape[0]) * x,
    "dtype": lambda np, x, n: np.zeros(3, np.result_type(x, n)),
    "compared": lambda np, x, n: (x > n) * x,
    "clip": lambda np, x, n: np.clip(x, 0, n),
    "concatenate": lambda np, x, n: np.concatenate([x, [n]]),
    "array": lambda np, x, n: np.asarray(n) * x,
}


# A size that is not weak would make float64 of the first two. Each case compiles two programs.
DTYPES = ["f4", "i2"] if np.config.execution == "compiled" else ["f4", "i2", "f8"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
@pytest.mark.parametrize("size", SIZES.values(), ids=list(SIZES))
def test_sizes_are_weak(size: Any, use: Any, dtype: str) -> None:
    x = numpy.array([3, 1, -5, 2], dtype)
    with numpy.errstate(all="ignore"):
        want = numpy.asarray(use(numpy, x, size(numpy, x)))
    for axes in (None, {0: "n"}):
        compiled = np.jit(lambda x: use(np, x, size(np, x)), abstracted_axes=axes)
        got = numpy.asarray(compiled(x))
        assert got.dtype == want.dtype
        numpy.testing.assert_allclose(got, want, rtol=1e-6)


AMONG_ARRAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "where": lambda np, x, n: np.where(x > 0, x, n),
    "where first": lambda np, x, n: np.where(x > 0, n, x),
    "where alone": lambda np, x, n: np.where(x > 0, n, n),
    "where of a float": lambda np, x, n: np.where(x > 0, n, 1.5),
    "select": lambda np, x, n: np.select([x > 0], [x], n),
    "select twice": lambda np, x, n: np.select([x > 0, x < 0], [n, x]),
    "choose": lambda np, x, n: np.choose(x > 0, [x, n]),
    "kron": lambda np, x, n: np.kron(x, n),
    "kron first": lambda np, x, n: np.kron(n, x),
    "outer": lambda np, x, n: np.add.outer(x, n),
    "unwrap": lambda np, x, n: np.unwrap(x.astype("f4"), period=n),
    "linspace": lambda np, x, n: np.linspace(x[0], n, 3),
    "pad": lambda np, x, n: np.pad(x, 1, constant_values=n),
}


@pytest.mark.parametrize("dtype", ["f4", "i2"])
@pytest.mark.parametrize("use", AMONG_ARRAYS.values(), ids=list(AMONG_ARRAYS))
def test_sizes_beside_arrays(use: Any, dtype: str) -> None:
    x = numpy.array([3, 1, -5, 2], dtype)
    for size in (lambda x: x.shape[0], lambda x: x[x > 0].size):
        want = use(numpy, x, size(x))
        for axes in (None, {0: "n"}):
            got = np.jit(lambda x, s=size: use(np, x, s(x)), abstracted_axes=axes)(x)
            assert got.dtype == want.dtype
            numpy.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("use", AMONG_ARRAYS.values(), ids=list(AMONG_ARRAYS))
def test_traced_numbers_beside_arrays(use: Any) -> None:
    x = numpy.array([3, 1, -5, 2], "f4")
    got, want = np.jit(lambda x, n: use(np, x, n))(x, 4), use(numpy, x, 4)
    assert got.dtype == want.dtype
    numpy.testing.assert_allclose(got, want, rtol=1e-6)
