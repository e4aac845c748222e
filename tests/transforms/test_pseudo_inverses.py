"""Derivatives of pinv and lstsq: where singular values are equal, and at constant rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import check_grads, grad, jacfwd, jit, jvp, vmap

RNG = numpy.random.default_rng(0)
WEIGHTS = RNG.normal(size=(4, 4))
COLUMN = numpy.array([1.0, -2.0, 0.5, 3.0])
POINTS = {
    "identity": numpy.eye(3),
    "orthonormal columns": numpy.eye(4)[:, :2],
    "orthonormal rows": numpy.eye(4)[:2],
    "rotation": numpy.array([[0.6, -0.8], [0.8, 0.6]]),
    "general": RNG.normal(size=(4, 3)),
}


def pinv(np: Any) -> Callable[[Any], Any]:
    return lambda a: (np.linalg.pinv(a) * WEIGHTS[: a.shape[1], : a.shape[0]]).sum()


def lstsq(np: Any) -> Callable[[Any], Any]:
    def f(a: Any) -> Any:
        x, rest, _, s = np.linalg.lstsq(a, COLUMN[: a.shape[0]] * a[0, 0], rcond=None)
        return (x**3).sum() + rest.sum() + (s**2).sum()

    return f


@pytest.mark.parametrize("of", [pinv, lstsq])
@pytest.mark.parametrize("name", POINTS)
def test_equal_singular_values(name: str, of: Any) -> None:
    at, f, step = POINTS[name], of(np), 1e-5
    expected = numpy.zeros(at.shape)
    for i in numpy.ndindex(at.shape):
        unit = numpy.zeros(at.shape)
        unit[i] = step
        expected[i] = (of(numpy)(at + unit) - of(numpy)(at - unit)) / (2 * step)
    x, direction = np.array(at), np.array(numpy.cos(numpy.arange(at.size)).reshape(at.shape))
    for found in (grad(f)(x), grad(jit(f))(x), jit(grad(f))(x), jacfwd(f)(x),
                  vmap(grad(f))(np.stack([x, x]))[1]):  # fmt: skip
        numpy.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)
    _, moved = jvp(f, (x,), (direction,))
    numpy.testing.assert_allclose(moved, (expected * direction).sum(), rtol=1e-7, atol=1e-7)


def test_rank_that_stays() -> None:
    """Moved within rank 1, u v^T has the inverse v u^T / |u|^2 |v|^2."""
    u, v, du = np.array([1.0, 2.0, -1.0]), np.array([3.0, 1.0]), np.array([0.3, -0.2, 0.7])
    value, moved = jvp(lambda u: np.linalg.pinv(np.outer(u, v)), (u,), (du,))
    _, want = jvp(lambda u: np.outer(v, u) / ((u @ u) * (v @ v)), (u,), (du,))
    numpy.testing.assert_allclose(value, numpy.linalg.pinv(numpy.outer(u, v)), atol=1e-14)
    numpy.testing.assert_allclose(moved, want, atol=1e-14)


def test_second_derivatives_and_complex_matrices() -> None:
    check_grads(pinv(np), (np.array(POINTS["orthonormal columns"]),), 2)
    z = np.array(RNG.normal(size=(3, 2)) + 1j * RNG.normal(size=(3, 2)))
    check_grads(lambda z: abs(np.linalg.pinv(z)).sum(), (z,), 1)
    stack = np.array(RNG.normal(size=(2, 3, 2)))
    check_grads(lambda a: (np.linalg.pinv(a) ** 2).sum(), (stack,), 1)


def test_of_a_hermitian_matrix_only_the_lower_triangle_counts() -> None:
    a = np.array(numpy.diag([1.0, 1.0, 2.0]))
    found = grad(lambda a: np.linalg.pinv(a, hermitian=True).sum())(a)

    def by_hand(a: Any) -> Any:
        lower = np.tril(a, -1)
        return np.linalg.inv(lower + lower.T + np.diag(np.diag(a))).sum()

    numpy.testing.assert_allclose(found, grad(by_hand)(a), atol=1e-12)
