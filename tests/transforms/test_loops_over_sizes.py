"""Python's loops over axes of unknown size, under `jit`: one trace for all sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

Program = Callable[..., Any]
OF_ARRAYS: list[Program] = []
OF_INTS: list[Program] = []


def of_an_array(f: Program) -> Program:
    OF_ARRAYS.append(f)
    return f


def of_an_int(f: Program) -> Program:
    OF_INTS.append(f)
    return f


@of_an_array
def weighted(np: Any, x: Any) -> Any:
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * i
    return s


@of_an_array
def recurrence(np: Any, x: Any) -> Any:
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


@of_an_array
def over_elements(np: Any, x: Any) -> Any:
    s = 0.0
    for v in x:
        s = s * 0.5 + v
    return s


@of_an_array
def over_numbered_elements(np: Any, x: Any) -> Any:
    s = 0.0
    for i, v in enumerate(x[1:], 1):
        s += i * v
    return s


@of_an_array
def over_pairs(np: Any, x: Any) -> Any:
    s = 0.0
    for a, b in zip(x[1:], x[:-1]):
        s += a * b
    return s


@of_an_array
def parts(np: Any, x: Any) -> Any:
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[:i].sum() + x[i:].prod()
    return y


@of_an_array
def tridiagonal(np: Any, x: Any) -> Any:
    n = x.shape[0]
    b, d = np.full(n, 4.0), x.copy()
    for i in range(1, n):
        b[i] -= 1 / b[i - 1]
        d[i] += d[i - 1] / b[i - 1]
    y = np.zeros(n)
    for i in range(n - 1, -1, -1):
        y[i] = (d[i] + (y[i + 1] if i < n - 1 else 0.0)) / b[i]
    return y


@of_an_array
def large_ones(np: Any, x: Any) -> Any:
    count, total = 0, 0.0
    for i in range(x.shape[0]):
        if x[i] > 1:
            count, total = count + 1, total + x[i]
    return total + count


@of_an_array
def shortest_ways(np: Any, x: Any) -> Any:
    d = np.abs(x[:, None] - x) + 0.1
    for k in range(len(x)):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


@of_an_array
def lagged_products(np: Any, x: Any) -> Any:
    n = len(x)
    y = np.zeros(n)
    for k in range(n):
        y[k] = x[: n - k] @ x[k:]
    return y


@of_an_array
def divided_differences(np: Any, x: Any) -> Any:
    n, c = len(x), x.copy()
    t = np.arange(n) * 1.0
    for j in range(1, n):
        c[j:] = (c[j:] - c[j - 1 : -1]) / (t[j:] - t[: n - j])
    return c


@of_an_array
def three_diagonals(np: Any, x: Any) -> Any:
    n = len(x)
    a = np.zeros((n, n))
    for i in range(1, n - 1):
        a[i, i - 1 : i + 2] = [x[i - 1], 4.0, x[i + 1]]
    for i in range(n - 1, 0, -1):
        a[i - 1 : i + 1, 0] += x[i - 1 : i + 1]
    return a


@of_an_array
def overlapping(np: Any, x: Any) -> Any:
    y = np.zeros(len(x) + 4)
    for i in range(0, len(x) - 3, 2):
        y[i : i + 4] += x[i : i + 4] * np.array([1.0, 2.0, 2.0, 1.0])
    return y


@of_an_array
def reflected(np: Any, x: Any) -> Any:
    n, a = len(x), np.zeros(len(x))
    for i in range(1, n):
        k = a[:i] @ x[i:0:-1] + 1
        a[:i] = a[:i] + k * a[i - 1 :: -1][:i]
    return a


def bisected(np: Any, x: Any) -> Any:
    y = np.sort(x)
    low, high = 0, len(y)
    while low < high:
        middle = (low + high) // 2
        if y[middle] < 1:
            low = middle + 1
        else:
            high = middle
    return low


def from_both_ends(np: Any, x: Any) -> Any:
    y = np.sort(x)
    i, j, found = 0, len(y) - 1, (len(y), 0)
    while i < j:
        if y[i] + y[j] < 2:
            i += 1
        else:
            found = found[0] - 1, len(y)
            j -= 1
    return np.array([i, j, *found])


def first_large(np: Any, x: Any) -> Any:
    found = n = len(x)
    for i in range(len(x)):
        n = len(x)
        if x[i] > 1:
            found = min(found, i)
    return np.array([found, n, n if x.sum() > 2 else n // 2])


@of_an_array
def bounded_sizes(np: Any, x: Any) -> Any:
    return np.zeros(max(x.shape[0], 3)) + float(len(x)), x[: min(int(x.shape[0]), 3)] * 2


@of_an_int
def squares(np: Any, n: Any) -> Any:
    y = np.zeros(n + 3)
    for i in range(n):
        y[i] = i * i
    return y


@of_an_int
def every_other(np: Any, n: Any) -> Any:
    y, s = np.ones(n), 0
    for i in range(1, n, 2):
        s += i
    return y * s


@of_an_int
def until_a_break(np: Any, n: Any) -> Any:
    y, k = np.ones(n), 0
    for i in range(n):
        if i > 3:
            break
        k = k + i
    else:
        k = -1
    return y, k


@of_an_int
def nested(np: Any, n: Any) -> Any:
    y = np.ones((n, n))
    for i in range(n):
        for j in range(i):
            y[i, j] = y[j, i] + i * 10 + j
    return y


@of_an_int
def reversed_rounds(np: Any, n: Any) -> Any:
    y = np.arange(n) * 1.0
    for i in reversed(range(n)):
        y = y * 0.5 + i
    return y


@of_an_int
def exchanged(np: Any, n: Any) -> Any:
    y, z = np.zeros(n), np.ones(n)
    for _ in range(n):
        y, z = z, y + z
    return y, z


@of_an_int
def last_round(np: Any, n: Any) -> Any:
    y = np.zeros(n)
    for i in range(n):
        last = i
    return y, last


@of_an_int
def out_of_bounds(np: Any, n: Any) -> Any:
    y = np.arange(n) * 1.0
    for i in range(n):
        y[i] = y[i + 1]
    return y


def outcome(f: Program, *args: Any) -> Any:
    try:
        found = f(*args)
    except Exception as error:
        return error
    return [numpy.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def compare(want: Any, got: Any) -> None:
    if isinstance(want, Exception):
        assert isinstance(got, type(want))
        return
    assert not isinstance(got, Exception), got
    for a, b in zip(want, got, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        numpy.testing.assert_allclose(b, a, rtol=1e-12)


def vectors() -> list[Any]:
    g = numpy.random.default_rng(0)
    return [g.uniform(0.2, 2.2, n) for n in (3, 0, 1, 2, 7, 12, 3, 0)]


@pytest.mark.parametrize("f", OF_ARRAYS)
def test_of_an_array(f: Program) -> None:
    jitted = np.jit(f, static_argnums=0, abstracted_axes=({}, {0: "n"}))
    for x in vectors():
        compare(outcome(f, numpy, x.copy()), outcome(jitted, np, np.array(x)))
    assert jitted._cache_size() == 1


@pytest.mark.parametrize("f", [bisected, from_both_ends, first_large])
def test_sizes_that_the_rounds_change_are_numbers(f: Program) -> None:
    jitted = np.jit(f, static_argnums=0, abstracted_axes=({}, {0: "n"}))
    mapped = np.jit(np.vmap(lambda x: f(np, x)), abstracted_axes={1: "n"})
    for x in vectors():
        compare(outcome(f, numpy, x.copy()), outcome(jitted, np, np.array(x)))
        stack = numpy.stack([x, x / 3, x * 2])
        want = [f(numpy, row.copy()) for row in stack]
        numpy.testing.assert_array_equal(mapped(np.array(stack)), want)
    assert jitted._cache_size() <= 2  # one for nothing, where the first round asks


@pytest.mark.parametrize("f", OF_INTS)
def test_of_an_int(f: Program) -> None:
    jitted = np.jit(f, static_argnums=0)
    for n in (4, 0, 1, 7, 2, -2, 4):
        compare(outcome(f, numpy, n), outcome(jitted, np, n))


def total(np: Any, found: Any) -> Any:
    return sum((x * x).sum() for x in (found if isinstance(found, tuple) else (np.asarray(found),)))


@pytest.mark.parametrize("f", [f for f in OF_ARRAYS if f is not large_ones])
def test_gradients_and_batches(f: Program) -> None:
    def loss(np: Any, x: Any) -> Any:
        return total(np, f(np, x))

    gradient = np.jit(np.grad(lambda x: loss(np, x)), abstracted_axes={0: "n"})
    mapped = np.jit(np.vmap(lambda x: loss(np, x)), abstracted_axes={1: "n"})
    for x in vectors():
        want = [
            (float(loss(numpy, x + e)) - float(loss(numpy, x - e))) / 2e-6
            for e in numpy.eye(x.size) * 1e-6
        ]
        numpy.testing.assert_allclose(numpy.asarray(gradient(np.array(x))), want, 1e-5, 1e-6)
        stack = numpy.stack([x, x[::-1], x * 2])
        want = [float(loss(numpy, row.copy())) for row in stack]
        numpy.testing.assert_allclose(numpy.asarray(mapped(np.array(stack))), want, 1e-12)
