"""Sparse Jacobians: equal to dense ones, in few products, whatever the pattern."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import scipy.sparse as sparse
from hypothesis import given, strategies as st
from scipy.sparse.linalg import spsolve

import lazynp as np
from lazynp.transforms import _jac_sparse


def heat(u):
    v = u * 1.0
    v[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return v


def heat_2d(u):
    v = np.zeros_like(u)
    v[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - u[1:-1, 1:-1] ** 2
    return np.sin(v)


def upwind(u):
    left, right = u - np.roll(u, 1), np.roll(u, -1) - u
    return u * np.where(u > 0, left, right)


def differences(u):
    return np.diff(u) * u[1:]


def total(u):
    return (u**2).sum()


def arrow(u):
    v = u * u[0]
    v[0] = u.sum()
    return v


def constant(u):
    return np.ones(5) + 0 * u[:5]


FUNCTIONS = {f.__name__: f for f in (heat, upwind, differences, total, arrow, constant)}


def dense(f: Any, x: Any) -> Any:
    j = numpy.asarray(np.jacfwd(f)(x))
    return j.reshape(-1, x.size) if x.size else j.reshape(numpy.asarray(f(x)).size, 0)


def same(got: Any, want: Any) -> None:
    assert isinstance(got, sparse.csr_array) and got.dtype == want.dtype
    assert got.shape == want.shape
    numpy.testing.assert_allclose(got.toarray(), want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_the_dense_one(name: str, dtype: str) -> None:
    f, rng = FUNCTIONS[name], numpy.random.default_rng(1)
    jacobian = np.jac_sparse(f)
    for _ in range(3):  # the pattern is found, then kept
        x = np.array(rng.standard_normal(30).astype(dtype))
        same(jacobian(x), dense(f, x))


def test_of_two_axes_and_another_argument() -> None:
    x = np.array(numpy.random.default_rng(2).random((7, 9)))
    jacobian = np.jac_sparse(lambda a, u, *, b: heat_2d(u) * a + b, argnums=1)
    for k in range(3):
        u = x + k
        same(jacobian(2.0, u, b=1.0), 2.0 * dense(heat_2d, u))


def test_few_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of three places needs three products, and one that checks; at first, all columns."""
    asked = []
    products = _jac_sparse._Columns.products
    monkeypatch.setattr(
        _jac_sparse._Columns, "products", lambda s, v: [asked.append(len(v)), products(s, v)][1]
    )
    jacobian, x = np.jac_sparse(heat), np.linspace(0.0, 1.0, 500)
    jacobian(x)
    assert asked == [500]
    del asked[:]
    jacobian(x * 2)
    assert sorted(asked) == [1, 3]
    del asked[:]
    places = sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(500, 500))
    np.jac_sparse(heat, sparsity=places)(x)
    assert sorted(asked) == [1, 3]


def test_places_that_come_later() -> None:
    """The places of a branch on values: seen by the check, and kept from then on."""
    jacobian = np.jac_sparse(upwind)
    for x in (np.full(20, 0.5), np.full(20, -0.5), np.linspace(-1.0, 1.0, 20), np.full(20, 0.5)):
        same(jacobian(x), dense(upwind, x))


def test_a_pattern_that_is_given() -> None:
    x = np.linspace(0.0, 1.0, 6)
    ones = numpy.ones((6, 6), bool)
    same(np.jac_sparse(heat, sparsity=ones)(x), dense(heat, x))
    same(np.jac_sparse(heat, sparsity=np.array(ones))(x), dense(heat, x))
    with pytest.raises(ValueError, match="outside of `sparsity`"):
        np.jac_sparse(heat, sparsity=numpy.eye(6))(x)
    with pytest.raises(ValueError, match=r"sparsity has shape \(5, 6\), the Jacobian \(6, 6\)"):
        np.jac_sparse(heat, sparsity=ones[1:])(x)


def test_nothing_and_nan() -> None:
    assert np.jac_sparse(lambda x: x * 2)(np.zeros(0)).shape == (0, 0)
    assert np.jac_sparse(lambda x: np.ones(3) * x.sum())(np.zeros(0)).shape == (3, 0)
    assert np.jac_sparse(lambda x: x[:0])(np.ones(3)).shape == (0, 3)
    jacobian = np.jac_sparse(lambda x: np.sqrt(x) * 2)
    for x in (np.array([1.0, -1.0, 4.0]), np.array([-1.0, 1.0, 4.0])):
        got = jacobian(x).toarray()
        assert (numpy.isnan(numpy.diag(got)) == (numpy.asarray(x) < 0)).all()


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), max_size=30), st.integers(0, 99))
def test_random_patterns(places: list[tuple[int, int]], seed: int) -> None:
    rng = numpy.random.default_rng(seed)
    matrix = numpy.zeros((8, 10))
    for i, j in places:
        matrix[i, j] = rng.standard_normal()
    jacobian = np.jac_sparse(lambda x: np.array(matrix) @ x**2)
    for _ in range(2):
        x = rng.standard_normal(10)
        same(jacobian(np.array(x)), matrix * (2 * x))


@pytest.mark.parametrize(
    ("f", "x", "text"),
    [
        (heat, numpy.arange(5), "argument must be an array of floating point, got int64"),
        (lambda x: (x, x), numpy.ones(3), "must be an array of floating point, got tuple"),
        (lambda x: x > 0, numpy.ones(3), "must be an array of floating point, got bool"),
    ],
)
def test_refusals(f: Any, x: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        np.jac_sparse(f)(np.array(x))


def test_more_refusals() -> None:
    with pytest.raises(TypeError, match="argnums must be an int"):
        np.jac_sparse(heat, (0, 1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="jac_sparse of heat: argnums has 1, but there are 1"):
        np.jac_sparse(heat, 1)(np.ones(5))
    with pytest.raises(TypeError, match="only traced"):
        np.jit(lambda x: np.jac_sparse(upwind)(x).sum())(np.ones(5))


def test_in_scipys_solvers() -> None:
    """A Newton step of a nonlinear problem with 2000 unknowns."""

    def residual(u):
        r = u**3 - 1.0
        r[1:-1] -= 5.0 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return r

    jacobian, u = np.jac_sparse(residual), np.full(2000, 1.5)
    for _ in range(8):
        u = u - spsolve(jacobian(u), numpy.asarray(residual(u)))
    assert float(abs(residual(u)).max()) < 1e-10
