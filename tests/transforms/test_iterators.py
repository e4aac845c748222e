"""Derivatives of functions that walk over arrays by `nditer` and `broadcast`, and write there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

X = numpy.random.default_rng(0).normal(size=(2, 3))


def written(np: Any, x: Any) -> Any:
    y = x.copy()
    for v in np.nditer(y, op_flags=["readwrite"]):
        v[...] = v * v + 1
    return y.prod()


def by_index(np: Any, x: Any) -> Any:
    y, total = np.sin(x), 0.0
    it = np.nditer(y, flags=["multi_index"], op_flags=["readwrite"])
    while not it.finished:
        i = it.multi_index
        total = total + y[i] * (i[0] + 1) + it.value
        it[0] = it[0] * 2
        it.iternext()
    return total + y.sum() + it.operands[0][1, 2]


def of_two(np: Any, x: Any) -> Any:
    total = 0.0
    for u, v in np.nditer([x.T, np.cos(x.T)], order="C"):
        total = total * 0.9 + u * v
    return total


def in_memory_order(np: Any, x: Any) -> Any:
    total = 0.0
    for y in (x.T, x[::-1], x[:, ::2], np.asfortranarray(x)):
        for k, v in enumerate(np.nditer(y)):
            total = total + v * v * k
    return total


def broadcast(np: Any, x: Any) -> Any:
    total = 0.0
    for k, (u, v) in enumerate(np.broadcast(x, x[:, :1])):
        total = total + u * v * k
    return total


FUNCTIONS = [written, by_index, of_two, in_memory_order, broadcast]


def _slopes(f: Callable[[Any], Any]) -> Any:
    found, h = numpy.zeros(X.shape), 1e-4
    for i in numpy.ndindex(X.shape):
        d = numpy.zeros(X.shape)
        d[i] = h
        found[i] = (float(f(X + d)) - float(f(X - d))) / (2 * h)
    return found


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives(function: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        return function(np, x)

    x, want = np.asarray(X), _slopes(lambda x: function(numpy, x))
    value, slope = np.value_and_grad(f)(x)
    assert float(value) == pytest.approx(float(function(numpy, X)), rel=1e-12)
    numpy.testing.assert_allclose(slope, want, rtol=1e-6, atol=1e-7)
    numpy.testing.assert_allclose(np.jacfwd(f)(x), want, rtol=1e-6, atol=1e-7)
    numpy.testing.assert_allclose(np.jit(np.grad(f))(x), want, rtol=1e-6, atol=1e-7)
    both = np.vmap(np.grad(f))(np.stack([x, x]))
    numpy.testing.assert_allclose(both[1], want, rtol=1e-6, atol=1e-7)


def test_an_operand_that_the_iterator_makes() -> None:
    def f(x: Any) -> Any:
        it = np.nditer([x, x[:1], None])
        with it:
            for u, v, out in it:
                out[...] = u * v * u
        return (it.operands[2] * numpy.arange(6).reshape(2, 3)).sum()

    want = _slopes(lambda x: float((x * x[:1] * x * numpy.arange(6).reshape(2, 3)).sum()))
    numpy.testing.assert_allclose(np.grad(f)(np.asarray(X)), want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("flag", ["external_loop", "buffered"])
def test_what_hands_out_more_than_elements_says_so(flag: str) -> None:
    with pytest.raises(TypeError, match="only single elements"):
        np.grad(lambda x: sum(v for v in np.nditer(x, flags=[flag])))(np.ones(3))
