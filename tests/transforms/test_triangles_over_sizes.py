"""Loops within loops over axes of unknown size, whose bounds the outer ones count: derivatives have
as many rounds as the sizes say.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np


def below(np: Any, x: Any) -> Any:
    t = 0.0
    for i in range(len(x)):
        for j in range(i):
            t = t * 0.9 + x[i] * x[j]
    return t


def above(np: Any, x: Any) -> Any:
    n, t = len(x), 0.0
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            t = t * 0.5 + x[j] * x[i]
    return t


def backwards(np: Any, x: Any) -> Any:
    t = 0.0
    for i in range(len(x)):
        for j in range(i, -1, -1):
            t = t * 0.9 + x[j] * x[i - j]
    return t


def in_three(np: Any, x: Any) -> Any:
    t = 0.0
    for i in range(len(x)):
        for j in range(i):
            for k in range(j, i + 1):
                t += x[i] * x[j] * x[k]
    return t


def neighbours(np: Any, x: Any) -> Any:
    n, t = len(x), 0.0
    for i in range(n):
        for j in range(max(i - 2, 0), min(i + 3, n)):
            t += x[j] * x[i] ** 2
    return t


def until(np: Any, x: Any) -> Any:
    t = 0.0
    for i in range(len(x)):
        j = 0
        while j < i:
            t = t * 0.9 + x[j] * x[i - j]
            j += 1
    return t


def left_early(np: Any, x: Any) -> Any:
    t = 0.0
    for i in range(len(x)):
        for j in range(i, len(x)):
            if x[j] > 0.8:
                break
            t += x[j] * x[i]
    return t


def products_of_counters(np: Any, x: Any) -> Any:
    n, t = len(x), 0.0
    for i in range(0, n, 2):
        for j in range(i // 2 * i):
            t += x[j % n] * x[i]
    return t


def in_place(np: Any, x: Any) -> Any:
    u = x.copy()
    for i in range(1, len(x)):
        for j in range(i):
            u[i] += u[j] * 0.1
    return np.sum(u * u)


FUNCTIONS = [
    below, above, backwards, in_three, neighbours, until, left_early, products_of_counters,
    in_place,
]  # fmt: skip
SIZES = (4, 0, 1, 2, 6)


def _gradient(f: Any, x: Any) -> Any:
    h = 1e-6
    return [(f(numpy, x + h * e) - f(numpy, x - h * e)) / (2 * h) for e in numpy.eye(len(x))]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives_of_triangles(f: Any) -> None:
    def total(x: Any) -> Any:
        return f(np, x)

    inside = np.jit(np.grad(total), abstracted_axes={0: "n"})
    outside = np.grad(np.jit(total, abstracted_axes={0: "n"}))
    for n in SIZES:
        x = numpy.random.default_rng(n).uniform(size=n)
        want = numpy.reshape(_gradient(f, x), n)
        for g in (inside, outside):
            numpy.testing.assert_allclose(g(np.array(x)), want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [below, above, left_early], ids=lambda f: f.__name__)
def test_derivatives_of_derivatives_and_batches(f: Any) -> None:
    def total(x: Any) -> Any:
        return f(np, x)

    many = np.jit(np.vmap(np.grad(total)), abstracted_axes={1: "n"})
    twice = np.jit(np.jacfwd(np.grad(np.checkpoint(total))), abstracted_axes={0: "n"})
    for n in SIZES[::2]:
        x = numpy.random.default_rng(n).uniform(size=(3, n))
        found = many(np.array(x))
        for row, y in zip(found, x, strict=True):
            numpy.testing.assert_allclose(row, _gradient(f, y), rtol=1e-6, atol=1e-8)
        hessian, h = twice(np.array(x[0])), 1e-4
        for k, e in enumerate(numpy.eye(n)):
            up, down = (many(np.array([x[0] + s * e]))[0] for s in (h, -h))
            numpy.testing.assert_allclose(hessian[k], (up - down) / (2 * h), rtol=1e-4, atol=1e-6)


def test_what_the_data_decide_has_no_limit() -> None:
    def total(x: Any) -> Any:
        t = 0.0
        for i in range((x > 0.5).sum()):
            for j in range(i):
                t += x[i] * x[j]
        return t

    with pytest.raises(TypeError, match="no reverse mode"):
        np.jit(np.grad(total), abstracted_axes={0: "n"})(numpy.ones(3))
