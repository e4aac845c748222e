"""schur, ldl, null_space and the like: what the rows of `further_rows` cannot say."""

from __future__ import annotations

import functools
from typing import Any

import numpy
import pytest
import scipy.linalg

import lazynp as np
from tests.interop.rows import M, X

pytestmark = pytest.mark.usefixtures("hooked")


def test_bases_of_matrices_without_full_rank() -> None:
    """Their size is the value's, so under jit and vmap there is an error."""

    def projection(x: Any, basis: Any) -> Any:
        vectors = basis(M[:, :2] @ (x[:2, None] * M[:2]))
        return (vectors @ vectors.T) @ M

    for basis in (scipy.linalg.null_space, scipy.linalg.orth):
        f = functools.partial(projection, basis=basis)
        value, moved = np.jvp(f, (np.asarray(X),), (np.ones(4),))
        numpy.testing.assert_allclose(value, f(X), atol=1e-13)
        numpy.testing.assert_allclose(moved, (f(X + 1e-6) - f(X - 1e-6)) / 2e-6, atol=1e-8)
        with pytest.raises(ValueError, match="under jit and vmap, full rank is required"):
            np.jit(f)(np.asarray(X))


def test_functions_of_a_matrix_with_complex_values() -> None:
    def f(x: Any) -> Any:
        return scipy.linalg.funm(x * numpy.diag([1.0, -2.0]), lambda w: w**0.5)

    with pytest.raises(ValueError, match="funm: the result is complex"):
        np.jvp(f, (1.0,), (1.0,))


def _along(f: Any, direction: Any) -> Any:
    """f on a line through its argument, as the parts of its results one after the other."""

    def moved(t: Any) -> Any:
        parts = [np.asarray(p) for p in f(t * direction)]
        return np.concatenate([p.ravel() for p in parts])

    return moved


@pytest.mark.parametrize(
    "f",
    [
        lambda e: scipy.linalg.schur(M - 4 * numpy.diag(X) + e),
        lambda e: scipy.linalg.hessenberg(M + e, calc_q=True),
        lambda e: scipy.linalg.ldl(M + M.T + e)[:2],
        lambda e: (scipy.linalg.funm(M + e, lambda w: w * w),),
    ],
)
def test_second_derivatives(f: Any) -> None:
    line = _along(f, numpy.cos(numpy.arange(16.0)).reshape(4, 4))

    def slope(t: Any) -> Any:
        return np.jvp(line, (t,), (1.0,))[1]

    _, second = np.jvp(slope, (0.0,), (1.0,))
    h = 1e-4
    differences = (numpy.asarray(slope(h)) - numpy.asarray(slope(-h))) / (2 * h)
    numpy.testing.assert_allclose(second, differences, rtol=1e-5, atol=1e-5 * abs(second).max())


def test_schur_of_equal_eigenvalues() -> None:
    """Eigenvalues that a change leaves equal do no harm; where it parts them, there is no slope."""

    def f(t: Any, change: Any) -> Any:
        return scipy.linalg.schur(numpy.eye(2) + t * change)[0]

    diagonal, low = numpy.diag([1.0, 2.0]), numpy.array([[0.0, 0.0], [1.0, 0.0]])
    moved = np.jvp(functools.partial(f, change=diagonal), (0.0,), (1.0,))[1]
    numpy.testing.assert_array_equal(moved, diagonal)
    assert numpy.isnan(np.jvp(functools.partial(f, change=low), (0.0,), (1.0,))[1]).any()


def test_funm_of_equal_eigenvalues() -> None:
    change = numpy.arange(9.0).reshape(3, 3)
    moved = np.jvp(
        lambda t: scipy.linalg.funm(numpy.eye(3) + t * change, numpy.exp), (0.0,), (1.0,)
    )
    numpy.testing.assert_allclose(moved[1], numpy.e * change, rtol=1e-13)
    slope = np.grad(lambda k: scipy.linalg.funm(k * M, lambda w: np.exp(-k * w))[0, 1])(0.3)
    power = scipy.linalg.expm(-0.09 * M)
    numpy.testing.assert_allclose(slope, (-0.6 * M @ power)[0, 1], rtol=1e-10)


def test_second_derivatives_of_the_nearest_rotation() -> None:
    """As exact as those by singular vectors: the square of the matrix is not formed."""
    places = numpy.random.default_rng(3).normal(size=(4, 3))
    factors = numpy.random.default_rng(4).normal(size=(2, 3, 3))
    matrix = factors[0] @ numpy.diag([1.0, 1e-3, 1e-4]) @ factors[1]

    def by_scipy(x: Any) -> Any:
        return scipy.linalg.orthogonal_procrustes(np.eye(3), x @ matrix)[0][0, 1]

    def by_vectors(x: Any) -> Any:
        u, _, vh = np.linalg.svd(x @ matrix)
        return (u @ vh)[0, 1]

    second = [np.grad(lambda x, f=f: np.grad(f)(x)[0, 1]) for f in (by_scipy, by_vectors)]
    x = np.asarray(numpy.eye(3) + places[:3] / 10)
    numpy.testing.assert_allclose(second[0](x), second[1](x), rtol=1e-6)
    numpy.testing.assert_allclose(np.jit(second[0])(x), second[1](x), rtol=1e-6)


@pytest.mark.parametrize("side", ["right", "left"])
def test_polar_factors_of_equal_singular_values(side: str) -> None:
    """(A + t B) = U P with A = 2 I: the skew part of B turns U, the other one is that of P."""
    change = M[:3, :3]
    u, p = np.jacfwd(lambda t: scipy.linalg.polar(2 * np.eye(3) + t * change, side))(0.0)
    numpy.testing.assert_allclose(u, (change - change.T) / 4, atol=1e-12)
    numpy.testing.assert_allclose(p, (change + change.T) / 2, atol=1e-12)
