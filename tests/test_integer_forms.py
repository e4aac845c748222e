"""Sizes that are taken from small arrays of sizes: known to be those they were made of."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np

OF_SHAPES: list[Any] = [
    lambda np, x: np.ones(np.array(x.shape)) + x,
    lambda np, x: np.ones(np.prod(x.shape)) + x.ravel(),
    lambda np, x: np.ones(np.array(x.shape).prod()) + x.reshape(-1),
    lambda np, x: np.ones(np.sum(x.shape)) + np.concatenate([x[0], x[:, 0]]),
    lambda np, x: np.ones(np.max(x.shape)) + np.zeros(max(x.shape)),
    lambda np, x: np.ones(np.min(x.shape)) + np.diagonal(x),
    lambda np, x: np.ones(np.array(x.shape)[::-1]) + x.T,
    lambda np, x: np.zeros(np.array(x.shape) + 1)[1:, 1:] + x,
    lambda np, x: np.zeros(2 * np.array(x.shape))[: x.shape[0], : x.shape[1]] + x,
    lambda np, x: np.ones(np.array(x.shape) // [1, 2]) + x[:, : x.shape[1] // 2],
    lambda np, x: np.ones(np.concatenate([x.shape, [2]])) + x[:, :, None],
    lambda np, x: np.ones(np.array(x.shape)[1:]) + x,
    lambda np, x: np.ones(np.array([x.shape[0], x.shape[1]])[-1]) + x,
    lambda np, x: np.ones(np.hstack([x.shape[0], 1])) + x[:, :1],
    lambda np, x: np.ones(np.array(x.shape) * [1, 0] + [0, 1]) + x,
    lambda np, x: x.reshape(np.array([x.shape[1], -1])).T + x,
]


@pytest.mark.parametrize("function", OF_SHAPES)
def test_of_shapes(function: Any) -> None:
    jitted = np.jit(lambda x: function(np, x), abstracted_axes={0: "n", 1: "m"})
    for n, m in ((2, 3), (1, 1), (4, 2), (3, 5)):
        x = numpy.arange(n * m * 1.0).reshape(n, m)
        numpy.testing.assert_array_equal(jitted(x), function(numpy, x))
    assert jitted._cache_size() == 1


OF_INTEGERS: list[Any] = [
    lambda np, n: np.ones(np.array([n, n + 1])) + np.zeros((n, n + 1)),
    lambda np, n: np.ones(12).reshape(np.array([n, -1])),
    lambda np, n: np.tril_indices(n)[0] + np.ones(n * (n + 1) // 2),
    lambda np, n: np.triu_indices(n, 1)[1] + np.ones(n * (n - 1) // 2),
    lambda np, n: np.tril_indices(3, -1, n)[0],
    lambda np, n: np.triu_indices(n, 0, n + 1)[1],
    lambda np, n: np.mask_indices(n, np.tril)[1],
    lambda np, n: np.mask_indices(n, np.triu, 1)[0],
]


@pytest.mark.parametrize("function", OF_INTEGERS)
def test_of_integers(function: Any) -> None:
    jitted = np.jit(lambda n: function(np, n))
    for n in (3, 1, 2, 4):
        numpy.testing.assert_array_equal(jitted(n), function(numpy, n))
    assert jitted._cache_size() == 1
    assert np.make_jaxpr(lambda n: function(np, n))(3).inputs[0].aval.shape == ()


def test_a_written_array_of_sizes() -> None:
    def filled(n: int, k: int) -> Any:
        shape = np.array([n, n])
        shape[1] += k
        return np.ones(shape) + np.zeros((n, n + k))

    jitted = np.jit(filled)
    assert [jitted(n, k).shape for n, k in ((2, 1), (0, 3), (3, 0))] == [(2, 3), (0, 3), (3, 3)]


def test_sizes_that_an_argument_has() -> None:
    jitted = np.jit(lambda s: np.ones(s) + np.zeros(s))
    assert [jitted(numpy.array(s)).shape for s in ((2, 3), (0, 1))] == [(2, 3), (0, 1)]
    unlike = np.jit(lambda s: np.ones(s[0]) + np.zeros(s[1]))
    with pytest.raises(ValueError, match="not known to be equal"):
        unlike(numpy.array([2, 2]))


def test_an_element_is_the_size_that_it_was() -> None:
    jaxpr = np.make_jaxpr(lambda n: np.ones(np.array([n, 2])))(3)
    assert [type(n).__name__ for n in jaxpr.out_type[0][0].shape] == ["InDBIdx", "int"]
    assert len(jaxpr.out_type) == 1
