"""Loops under `jit` over numbers of less precision than Python's, which begin with one of Python's:
it takes their dtype, as NumPy's promotion says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np

X = numpy.random.default_rng(0).random(30)


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    with np.config(execution="reference"):
        yield


def least(x: Any) -> Any:
    best = 1e4
    for v in x:
        best = min(best, v)
    return best


def place_of_least(x: Any) -> Any:
    best, place = numpy.inf, -1
    for i, v in enumerate(x):
        if v < best:
            best, place = v, i
    return best, place


def largest_by_while(x: Any) -> Any:
    best, i = -numpy.inf, 0
    while i < len(x):
        if x[i] > best:
            best = x[i]
        i += 1
    return best


def two_least(x: Any) -> Any:
    a = b = float("inf")
    for v in x:
        if v < a:
            a, b = v, a
        elif v < b:
            b = v
    return a, b


def nearest(x: Any) -> Any:
    best = 1e4
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = (x[i] - x[j]) ** 2
            if d < best:
                best = d
    return best


def decaying(x: Any) -> Any:
    t = 0.0
    for v in x:
        t = v if v > 0.5 else t * 0.5
    return t


FUNCTIONS = [least, place_of_least, largest_by_while, two_least, nearest, decaying]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_it_is_staged(function: Any, dtype: str) -> None:
    x = X.astype(dtype)
    jitted = np.jit(function)
    ours, want = jitted(np.array(x)), function(x)
    if not isinstance(want, tuple):
        ours, want = (ours,), (want,)
    for got, value in zip(ours, want, strict=True):
        assert got.dtype == numpy.asarray(value).dtype
        numpy.testing.assert_allclose(got, value, rtol=1e-3 if dtype == "f2" else 1e-6)
    assert "unrolled" not in str(np.explain(jitted))


def test_complex_numbers() -> None:
    def farthest(z: Any) -> Any:
        found = 0j
        for v in z:
            if abs(v) > abs(found):
                found = v
        return found

    z = (X + 1j * X[::-1]).astype("c8")
    jitted = np.jit(farthest)
    assert repr(numpy.asarray(jitted(np.array(z)))) == repr(numpy.asarray(farthest(z)))
    assert "unrolled" not in str(np.explain(jitted))


def test_what_the_dtype_does_not_hold_is_refused() -> None:
    def f(x: Any) -> Any:
        best = 1e300
        for v in x:
            if v < best:
                best = v
        return best

    with pytest.raises(TypeError, match=r"1e\+300 of Python's on one path, which float32"):
        np.jit(f, loops="stage")(np.array(X, "f4"))


def test_the_derivative() -> None:
    place = int(X.argmin())
    slope = np.grad(np.jit(lambda x: 2 * least(x)))(np.array(X, "f4"))
    assert slope.dtype == numpy.float32
    assert list(numpy.flatnonzero(slope)) == [place] and float(slope[place]) == 2.0
