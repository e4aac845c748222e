"""Derivatives where a factor is infinite: what a zero cotangent meets does not count.

The points are beside a branch that is not taken, or where what is differentiated has a derivative
though a step on the way has none.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import check_grads, grad, jacfwd, jit, jvp, vmap
from lazynp.primitives import contraction, elementwise

INF, NAN = numpy.inf, numpy.nan
EXECUTIONS = ["compiled", "reference", "adaptive"]


def distances(x: Any) -> Any:
    """Of four points in the plane to each other, and to themselves."""
    p = x.reshape(-1, 2)
    return np.sqrt(((p[:, None] - p[None]) ** 2).sum(-1)).sum()


def masked(f: Any, otherwise: float = 0.0) -> Any:
    return lambda x: np.where(x > 0, f(x), otherwise).sum()


KEEP = numpy.array([0.0, 1.0, 1.0])
WEIGHTS = numpy.array([[0.0, 1, 0], [0, 0, 2], [0, 1, 1]])
POINTS: dict[str, tuple[Any, list[float], list[float]]] = {
    "sqrt": (masked(np.sqrt), [0, 1, 4], [0, 0.5, 0.25]),
    "cbrt": (masked(np.cbrt), [0, 1], [0, 1 / 3]),
    "log": (masked(np.log), [-1, 0, 2], [0, 0, 0.5]),
    "log2": (masked(lambda x: np.log2(x) * np.log(2.0)), [0, 2], [0, 0.5]),
    "log1p": (lambda x: np.where(x > -1, np.log1p(x), 0).sum(), [-1, 1], [0, 0.5]),
    "power": (masked(lambda x: x**0.5), [-3, 0, 4], [0, 0, 0.25]),
    "x log x": (masked(lambda x: x * np.log(x)), [0, 1], [0, 1]),
    "reciprocal": (lambda x: np.where(x != 0, 1 / x, 0).sum(), [0, 2], [0, -0.25]),
    "sin x / x": (masked(lambda x: np.sin(x) / x, 1.0), [0, np.pi], [0, -1 / np.pi]),
    "arctan2": (masked(lambda x: np.arctan2(x, 2 * x)), [0, 1], [0, 0]),
    "arctanh": (lambda x: np.where(x < 1, np.arctanh(x), 0).sum(), [1, 0], [0, 1]),
    "overflow": (lambda x: np.where(x < 9, x, np.exp(np.exp(x)) - 1).sum(), [1], [1]),
    "of a branch that is nan": (masked(lambda x: np.sqrt(x) * np.log(x)), [-1, 1], [0, 1]),
    "arccos of a clip": (lambda x: np.arccos(np.clip(x, -1, 1)).sum(), [3, -2, 0], [0, 0, -1]),
    "x / norm": (
        lambda x: np.where(np.linalg.norm(x) > 0, x / np.linalg.norm(x), 0).sum(), [0, 0], [0, 0],
    ),
    "norm": (np.linalg.norm, [0, 0, 0], [0, 0, 0]),
    "norm of rows": (
        lambda x: np.linalg.norm(x.reshape(2, 2), axis=1).sum(), [0, 0, 3, 4], [0, 0, 0.6, 0.8],
    ),
    "distances": (distances, [0, 0, 3, 4], [-1.2, -1.6, 1.2, 1.6]),
    "complex abs": (lambda x: abs(x * (3 + 4j)).sum(), [0, 2], [0, 5]),
    "var": (np.var, [2, 2, 2], [0, 0, 0]),
    "std": (np.std, [2, 2, 2], [0, 0, 0]),
    "standardized": (
        lambda x: np.where(x.std() > 0, (x - x.mean()) / x.std(), 0).sum(), [1, 1], [0, 0],
    ),
    "x sqrt x": (lambda x: (x * np.sqrt(x)).sum(), [0, 4], [0, 3]),
    "dot": (lambda x: KEEP @ np.sqrt(x), [0, 1, 4], [0, 0.5, 0.25]),
    "dot from the right": (lambda x: np.log(x) @ KEEP, [0, 1, 4], [0, 1, 0.25]),
    "matmul": (lambda x: (WEIGHTS @ np.sqrt(x)).sum(), [0, 1, 4], [0, 1, 0.75]),
    "einsum": (lambda x: np.einsum("i,ji->", np.log(x), WEIGHTS), [0, 2, 4], [0, 1, 0.75]),
    "both moving": (lambda x: np.dot(x, np.sqrt(x)), [0, 1, 4], [0, 1.5, 3]),
    "bilinear": (lambda x: np.sqrt(x) @ np.diag(KEEP) @ np.sqrt(x), [0, 1, 4], [0, 1, 1]),
    "norm of rows by einsum": (
        lambda x: np.sqrt(np.einsum("ij,ij->i", x.reshape(2, 2), x.reshape(2, 2))).sum(),
        [0, 0, 3, 4], [0, 0, 0.6, 0.8],
    ),
    "norm of rows by vecdot": (
        lambda x: np.sqrt(np.vecdot(x.reshape(2, 2), x.reshape(2, 2))).sum(),
        [0, 0, 3, 4], [0, 0, 0.6, 0.8],
    ),
    "norm of rows in a metric": (
        lambda x: np.sqrt(np.einsum(
            "ij,jk,ik->i", x.reshape(2, 2), np.eye(2), x.reshape(2, 2))).sum(),
        [0, 0, 3, 4], [0, 0, 0.6, 0.8],
    ),
    "cumsum of a mask": (lambda x: np.cumsum(np.sqrt(x) * KEEP).sum(), [0, 1, 4], [0, 1, 0.25]),
    "cumprod after a zero": (
        lambda x: np.cumprod(np.concatenate([np.zeros(1), np.sqrt(x)])).sum(), [0, 1, 4], [0, 0, 0],
    ),
    "cumprod with a zero": (lambda x: np.cumprod(x).sum(), [2, 0, 3], [1, 8, 0]),
    "prod with a zero": (
        lambda x: np.prod(np.concatenate([np.zeros(1), np.sqrt(x)])), [0, 1, 4], [0, 0, 0],
    ),
    "running logarithm of a sum": (
        lambda x: np.logaddexp.accumulate(x)[1:].sum(), [-INF, 0, 0], [0, 1.5, 0.5],
    ),
    "logarithm of an infinite sum": (np.logaddexp.reduce, [INF, 0.0], [1, 0]),
    "logarithm of a sum of nothing": (
        lambda x: np.logaddexp(x[0], x[1]), [-INF, -INF], [0, 0],
    ),
    "logarithms of a softmax": (
        lambda x: np.where(x > -INF, x - np.log(np.exp(x).sum()), 0)[1], [-INF, 0, 0],
        [0, 0.5, -0.5],
    ),
}  # fmt: skip


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("name", POINTS)
def test_no_nan_where_there_is_a_derivative(name: str, execution: str) -> None:
    f, at, want = POINTS[name]
    x = np.array(at, float)

    def others(x: Any) -> list[Any]:
        both = vmap(grad(f))(np.stack([x, x]))
        _, tangent = jvp(f, (x,), (np.ones_like(x),))
        return [grad(f)(x), jacfwd(f)(x), both[0], both[1], tangent]

    # one program: compiling each of them takes longer than all else
    staged = jit(others) if execution == "compiled" else others
    with np.config(execution=execution), np.errstate(all="ignore"):
        *found, tangent = staged(x)
        for derivative in (grad(f)(x), *found):
            numpy.testing.assert_allclose(derivative, want, rtol=1e-12, atol=1e-15)
        numpy.testing.assert_allclose(tangent, sum(want), rtol=1e-12, atol=1e-12)
        if execution != "compiled":
            numpy.testing.assert_allclose(jit(grad(f))(x), want, rtol=1e-12, atol=1e-15)


def test_what_is_infinite_stays() -> None:
    """Where the cotangent is not zero, nor the factor that infinity meets."""
    with np.errstate(all="ignore"):
        for execution in EXECUTIONS:
            with np.config(execution=execution):
                assert grad(np.sqrt)(0.0) == INF
                assert grad(lambda x: 2 * np.log(x))(0.0) == INF
                assert grad(lambda x: np.sqrt(3 * x))(0.0) == INF
                assert grad(np.arccos)(1.0) == -INF
                assert numpy.isnan(grad(lambda x: np.sqrt(x) * NAN)(4.0))
                assert numpy.isnan(grad(np.log)(NAN)) and numpy.isnan(grad(np.sqrt)(-1.0))


def test_second_derivatives() -> None:
    f = masked(lambda x: x**2 * np.sqrt(x))
    x = np.array([0.0, 4.0, -1.0])
    want = [0, 15 / 4 * 2, 0]
    with np.errstate(all="ignore"):
        numpy.testing.assert_allclose(numpy.diag(np.hessian(f)(x)), want, atol=1e-12)
        numpy.testing.assert_allclose(np.hvp(f, (x,), (np.ones(3),)), want, atol=1e-12)


def test_second_derivatives_through_products_of_matrices() -> None:
    x = np.array([0.0, 1.0, 4.0])
    for f, want in (
        (lambda x: KEEP @ (x * np.sqrt(x)), [0.0, 0.75, 0.375]),
        (lambda x: np.sqrt(x) @ np.diag(KEEP) @ np.sqrt(x), [0.0, 0.0, 0.0]),
    ):
        with np.errstate(all="ignore"):
            for made in (np.hessian(f), jit(np.hessian(f))):
                numpy.testing.assert_allclose(numpy.diag(made(x)), want, atol=1e-12)


@pytest.mark.parametrize("execution", ["compiled", "reference"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
def test_products_of_matrices_with_tangents(dtype: str, execution: str) -> None:
    """Those of `matmul`, but that a zero takes away what is infinite."""
    rng = numpy.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 4)).astype(dtype), rng.normal(size=(2, 4, 3)).astype(dtype)
    x[0, 1], y[1, 2] = 0, 0
    x[1, 0, 2] = y[0, 3, 1] = x[1, 2, 2] = INF
    y[0, 0, 0], x[0, 2, 1] = NAN, INF
    with numpy.errstate(all="ignore"):
        terms = x[:, :, :, None] * y[:, None]
        zero = (x[:, :, :, None] == 0) | (y[:, None] == 0)
        terms[zero & numpy.isnan(terms)] = 0
        want = terms.sum(2)
    numbers = (((2,), (1,)), ((0,), (0,)))
    with np.config(execution=execution), np.errstate(all="ignore"):
        got = numpy.asarray(contraction.dot_no_nan(
            np.array(x), np.array(y), dimension_numbers=numbers))  # fmt: skip
    assert got.dtype == want.dtype and numpy.isfinite(want).any() and numpy.isnan(want).any()
    numpy.testing.assert_array_equal(numpy.isnan(got), numpy.isnan(want))
    finite = numpy.isfinite(want)
    tolerance = {"f2": 1e-2, "f4": 1e-5}.get(dtype, 1e-12)
    numpy.testing.assert_allclose(got[finite], want[finite], rtol=tolerance, atol=tolerance)


SPECIAL = numpy.array([0.0, -0.0, 1.5, -2.0, INF, -INF, NAN])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("execution", ["compiled", "reference"])
def test_the_products(dtype: str, execution: str) -> None:
    """Those of multiplication and division, but 0 where these give nan of a zero."""
    x, y = (v.ravel().astype(dtype) for v in numpy.meshgrid(SPECIAL, SPECIAL))
    with numpy.errstate(all="ignore"), np.config(execution=execution):
        product, quotient = x * y, x / y
        product[numpy.isnan(product) & ((x == 0) | (y == 0))] = 0
        quotient[numpy.isnan(quotient) & (x == 0)] = 0
        a, b = np.array(x), np.array(y)
        for primitive, want in (
            (elementwise.multiply_no_nan, product),
            (elementwise.xdivy, quotient),
        ):
            got = numpy.asarray(primitive(a, b))
            assert got.dtype == want.dtype
            if dtype[0] == "f":
                numpy.testing.assert_array_equal(got, want)
            else:  # of infinite numbers, which parts are nan is anybody's choice
                numpy.testing.assert_array_equal(got == 0, want == 0)
                finite = numpy.isfinite(want)
                numpy.testing.assert_array_equal(got[finite], want[finite])


def test_derivatives_of_the_products() -> None:
    x, y = np.array([0.5, -1.0, 0.0]), np.array([2.0, 0.7, -0.3])
    for primitive in (elementwise.multiply_no_nan, elementwise.xdivy):
        check_grads(lambda x, y, p=primitive: p(x, y).sum(), (x, y), order=2)
        _, back = np.vjp(lambda x, p=primitive: p(x, y), x)
        assert back(np.zeros(3))[0].tolist() == [0, 0, 0]
