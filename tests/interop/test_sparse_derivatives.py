"""Sparse matrices with traced elements: iterations, second derivatives, sizes, and refusals. The
rows of `sparse_rows.py` have the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import scipy.sparse as ss
import scipy.sparse.linalg as ssl

import lazynp as np

X = numpy.array([2.0, 1.5, 1.2, 2.4])
B = numpy.array([1.0, -0.5, 0.3, 2.0])
ITERATIONS = [
    "bicg",
    "bicgstab",
    "cg",
    "cgs",
    "gcrotmk",
    "gmres",
    "lgmres",
    "minres",
    "qmr",
    "tfqmr",
]


pytestmark = pytest.mark.usefixtures("hooked")


def _tridiagonal(x: Any) -> Any:
    return (ss.diags([x[1:], x, x[1:]], [-1, 0, 1]) + 4 * ss.eye(4)).tocsr()


def _difference(f: Callable[[Any], Any], x: Any, d: Any) -> Any:
    h = 1e-4
    return (float(f(x + h * d)) - float(f(x - h * d))) / (2 * h)


@pytest.mark.parametrize("name", ITERATIONS)
def test_iterations(name: str) -> None:
    """SciPy's result, with the derivative of the solution; also of a dense matrix."""
    run = getattr(ssl, name)

    def sparse(x: Any) -> Any:
        return (run(_tridiagonal(x), B * x, rtol=1e-12)[0] ** 2).sum()

    def dense(x: Any) -> Any:
        return (run(x[:, None] * x + 5 * numpy.eye(4), B, rtol=1e-12)[0] ** 2).sum()

    d = numpy.array([0.3, -0.2, 0.5, 0.1])
    for f in (sparse, dense):
        value, slope = np.value_and_grad(f)(np.asarray(X))
        assert float(value) == pytest.approx(float(f(X)), rel=1e-13)
        assert float(slope @ d) == pytest.approx(_difference(f, X, d), rel=1e-6)


def test_second_derivatives() -> None:
    def loss(x: Any) -> Any:
        return (ssl.spsolve(_tridiagonal(x).tocsc(), x * x) ** 2).sum()

    x, d = np.asarray(X), numpy.array([0.3, -0.2, 0.5, 0.1])
    slope = np.grad(loss)
    want = (slope(x + 1e-5 * d) - slope(x - 1e-5 * d)) / 2e-5
    numpy.testing.assert_allclose(np.hvp(loss, (x,), (np.asarray(d),)), want, rtol=1e-5, atol=1e-8)
    numpy.testing.assert_allclose(np.hessian(loss)(x) @ d, want, rtol=1e-5, atol=1e-8)


def test_a_large_system_needs_no_dense_matrix() -> None:
    """Of 20,000 unknowns: a dense inverse would take 3 GB."""
    n = 20_000
    right = numpy.sin(numpy.arange(n))

    def f(k: Any) -> Any:
        a = ss.diags([k * numpy.ones(n), numpy.ones(n - 1), numpy.ones(n - 1)], [0, 1, -1])
        return ssl.spsolve(a.tocsc(), right).sum()

    def g(k: Any) -> Any:
        plain = ss.diags([3.0 * numpy.ones(n), numpy.ones(n - 1), numpy.ones(n - 1)], [0, 1, -1])
        return ssl.spsolve(plain.tocsc(), k * right)[5]

    assert float(np.grad(np.adopt(f))(3.0)) == pytest.approx(_difference(f, 3.0, 1.0), rel=1e-5)
    assert float(np.grad(g)(2.0)) == pytest.approx(float(g(1.0)))


def test_elements_in_lists_and_matrices_added_up_in_a_loop() -> None:
    def f(x: Any) -> Any:
        a = ss.csc_matrix(([x[i] * 2 for i in range(4)], (range(4), range(4))))
        for i in range(3):
            a = a + ss.coo_matrix((x[i : i + 1], ([i], [i + 1])), shape=(4, 4))
        a *= 2.0
        a -= 0.5 * ss.identity(4)
        a.sum_duplicates()
        return ssl.spsolve(a.tocsc(), B).sum() + (a**2).sum() + a.dot(2.0).trace()

    d = numpy.array([0.3, -0.2, 0.5, 0.1])
    for slope in (np.grad(f), np.jit(np.grad(f))):
        assert float(slope(np.asarray(X)) @ d) == pytest.approx(_difference(f, X, d), rel=1e-6)


REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: numpy.asarray(ss.diags(x)), TypeError, "toarray"),
    (lambda x: ss.diags(x) + x[0], TypeError, "a sum with a number"),
    (lambda x: ss.diags(x).multiply(ss.diags(x)), TypeError, "two matrices with traced elements"),
    (lambda x: ss.diags(x).max(), AttributeError, "max"),
    (lambda x: ss.diags(x) @ numpy.ones(3), ValueError, "dimension mismatch"),
    (lambda x: ss.diags(x) + ss.eye(3), ValueError, "inconsistent shapes"),
    (lambda x: ss.coo_array((x, (range(4),))), TypeError, "1 dimensions"),
    (lambda x: ss.coo_matrix((x, (range(3), range(3)))), ValueError, "length"),
    (lambda x: ssl.spsolve(ss.diags(x), ss.eye(4)), TypeError, "sparse right-hand side"),
    (lambda x: ssl.spsolve(ss.diags(x), numpy.ones(3)), ValueError, "dimension mismatch"),
    (lambda x: ssl.cg(ssl.aslinearoperator(ss.eye(4)), x), TypeError, "cg"),
    (lambda x: ss.diags(numpy.ones(4), x), TypeError, "diagonals"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_has_no_derivative_says_so(case: int) -> None:
    f, kind, words = REFUSED[case]
    with pytest.raises(kind, match=words):
        np.jvp(lambda x: (f(x), x)[1], (np.asarray(X),), (np.asarray(X),))


def test_other_matrices_stay_scipys() -> None:
    def f(x: Any) -> Any:
        a = ss.csr_array(numpy.eye(4))
        assert type(a @ a) is ss.csr_array and type(2.0 * a) is ss.csr_array
        assert type(ssl.spsolve(a.tocsc(), numpy.ones(4))) is numpy.ndarray
        return x.sum()

    np.grad(f)(np.asarray(X))
