"""Under `jit`: loops over the elements of arrays, over their indices, and over `map`. Each is
staged once, and compared with Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy
import pytest

import lazynp as np

X = numpy.random.default_rng(0).normal(size=(5, 6))


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    with np.config(execution="reference"):
        yield


def flat(x):
    total = 0.0
    for v in x.flat:
        if v > 0:
            total = total * 0.5 + v
    return total


def flat_of_a_view(x):
    total = 0.0
    for v in x.T[::-1].flat:
        if v > 1.4:
            break
        total = total * 0.5 + v
    else:
        total = -1.0
    return total, v


def flat_that_is_written(x):
    k = 0
    for v in x.flat:
        x[4 - k // 6, k % 6] = v * 2
        k += 1
    return x.sum()


def zipped(x):
    total = 0.0
    for k, (u, v) in enumerate(zip(x.flat, x[::-1].flat)):
        total = total * 0.5 + u * v * k
    return total


def enumerated(x):
    total = 0.0
    for (i, j), v in np.ndenumerate(x):
        total = total * 0.9 + v * (i - j)
    return total


def indices(x):
    count = 0
    for i, j in np.ndindex(x.shape):
        if x[i, j] > 0:
            x[i, j] = -x[i, j] * (i + 1)
            count += 1
    return count, i, j


def indices_of_sizes(x):
    total = 0.0
    for at in np.ndindex(*x.shape):
        total = total * 0.9 + x[at]
    for (k,) in np.ndindex(6):
        total += x[k % 5, k]
    for i in np.ndindex(3, 0, 2):
        total = i
    return total


def products(x):
    total = 0.0
    for i, j in product(range(5), range(5, -1, -2)):
        total = total * 0.9 + x[i, j] * (i + j)
    for u, v in itertools.product(x[0], x[1]):
        total = total * 0.9 + abs(u - v)
    return total


def nested(x):
    total = 0.0
    for k in range(9):
        for v in x.flat:
            total += v * k
        for i, v in np.ndenumerate(x):
            total += v * k * i[0]
        for i in np.ndindex(5, 6):
            total += x[i]
            x[i] = total * 1e-3
        for i, j in itertools.product(range(5), range(6)):
            total += x[i, j] * j
    return total


def mapped(x):
    counts = np.zeros(5, dtype=int)
    for k in map(int, np.abs(x.ravel() * 2)):
        counts[min(k, 4)] += 1
    for u, v in map(lambda u, v: (u * 2, v + 1), x[0], x[1]):
        counts[0] += int(u * v)
    return counts


FUNCTIONS = [
    flat, flat_of_a_view, flat_that_is_written, zipped, enumerated, indices, indices_of_sizes,
    products, nested, mapped,
]  # fmt: skip


def plainly(f: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """The results, and the argument afterwards, by NumPy."""
    x = X.copy()
    with monkeypatch.context() as m:
        m.setitem(globals(), "np", numpy)
        return f(x), x


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    want, written = plainly(f, monkeypatch)
    jitted, x = np.jit(f), np.array(X)
    numpy.testing.assert_allclose(jitted(x), want, rtol=1e-12)
    numpy.testing.assert_allclose(x, written, rtol=1e-12)
    assert "unrolled" not in str(np.explain(jitted))


def test_derivatives_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    x, step = np.array(X), 1e-6
    for f in (flat, enumerated, products):
        jitted, there = np.jit(f), (2, 3)
        slope = np.grad(jitted)(x)[there]
        ends = [X.copy(), X.copy()]
        ends[0][there] += step
        ends[1][there] -= step
        with monkeypatch.context() as m:
            m.setitem(globals(), "np", numpy)
            high, low = f(ends[0]), f(ends[1])
        numpy.testing.assert_allclose(slope, (high - low) / (2 * step), rtol=1e-5, atol=1e-8)
        numpy.testing.assert_allclose(np.vmap(jitted)(np.stack([x, x]))[1], jitted(x))


def test_an_iterator_that_has_a_name_goes_on() -> None:
    def f(x: Any) -> Any:
        it, total = x.flat, 0.0
        for _ in it:
            break
        for v in it:
            total = total * 0.5 + v
        return total, len(list(it))

    want, got = f(X), np.jit(f)(np.array(X))
    numpy.testing.assert_allclose(got, want)


def test_functions_of_the_users_by_such_names() -> None:
    def product(pairs: Any, x: Any) -> Any:
        return [next(pairs)[0] * x, sum(v for _, v in pairs)]

    def f(x: Any) -> Any:
        total = 0.0
        for v in product(enumerate(x, 1), x[2]):
            total += v
        return total

    x = numpy.arange(12.0)
    assert np.jit(f)(np.array(x)) == f(x)
