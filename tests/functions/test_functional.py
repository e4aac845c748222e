"""x.at, associative_scan, adopt."""

import numpy
import pytest

import lazynp as np
from lazynp import adopt, associative_scan, check_grads, grad, jit, vmap

X = np.array([0.3, -0.7, 1.2, 0.5, 2.0])


def test_at() -> None:
    x = np.arange(4.0)
    assert x.at[1].set(9.0).tolist() == [0, 9, 2, 3]
    assert x.at[np.array([1, 1, 2])].add(1.0).tolist() == [0, 3, 3, 3]
    assert x.at[1:3].multiply(2).tolist() == [0, 2, 4, 3]
    assert x.at[:2].max(0.5).tolist() == [0.5, 1, 2, 3]
    assert x.at[2:].min(2.5).tolist() == [0, 1, 2, 2.5]
    assert x.at[1:].get().tolist() == [1, 2, 3]
    assert x.at[1:].divide(2).tolist() == [0, 0.5, 1, 1.5]
    assert x.at[1].apply(lambda v: -v).tolist() == [0, -1, 2, 3]
    assert x.tolist() == [0, 1, 2, 3]
    check_grads(lambda x: x.at[1:].set(x[:-1] ** 2).at[[0, 0]].add(x[:2]), (x,), order=2)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_associative_scan(n) -> None:
    x = X[:n]
    numpy.testing.assert_allclose(associative_scan(np.add, x), numpy.cumsum(x))
    reverse = associative_scan(np.multiply, x, reverse=True)
    numpy.testing.assert_allclose(reverse, numpy.cumprod(numpy.asarray(x)[::-1])[::-1])
    m = np.stack([x, 2 * x])
    numpy.testing.assert_allclose(associative_scan(np.add, m, axis=1), numpy.cumsum(m, 1))


def test_associative_scan_of_a_recurrence() -> None:
    def compose(f, g):
        return f[0] * g[0], g[0] * f[1] + g[1]

    def states(a, b):
        return associative_scan(compose, (a, b))[1]

    y, want = 0.0, []
    for a, b in zip(X.tolist(), (X * 2).tolist(), strict=True):
        y = a * y + b
        want.append(y)
    numpy.testing.assert_allclose(states(X, 2 * X), want)
    numpy.testing.assert_allclose(jit(states)(X, 2 * X), want)
    check_grads(states, (X, 2 * X), order=1)


def helper(n):
    return numpy.zeros(n)


def simulation(x):
    u = helper(3)
    u[0] = x
    for _ in range(3):
        u[1:] += 0.5 * (u[:-1] - u[1:])
    return numpy.sum(u * u)


def test_adopt() -> None:
    before = numpy.asarray(simulation(2.0))
    run = adopt(simulation)
    numpy.testing.assert_allclose(run(2.0), before)
    numpy.testing.assert_allclose(grad(run)(2.0), before)  # homogeneous: 2 f / x
    numpy.testing.assert_allclose(vmap(run)(np.array([1.0, 2.0])), [before / 4, before])
    assert numpy is not np and helper.__globals__["numpy"] is numpy
    with pytest.raises((TypeError, ValueError)):
        grad(simulation)(2.0)
