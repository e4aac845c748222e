"""Expressions that people guard against nan, and their derivatives: those of the guarded branch.

What test_zero_times_infinity.py has is not repeated here.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, jvp

INF = numpy.inf
EYE = numpy.eye(2, dtype=bool)


def distances(x: Any) -> Any:
    return np.sqrt(np.sum((x[:, None] - x[None]) ** 2, -1))


def with_diagonal(x: Any) -> Any:
    d = distances(x)
    np.fill_diagonal(d, 1.0)
    return np.sum(1 / d)


def replaced(f: Any) -> Any:
    """What is no number, or infinite, is overwritten."""

    def total(x: Any) -> Any:
        y = f(x)
        y[x <= 0] = 0.0
        return np.sum(y)

    return total


def into(ufunc: Any) -> Any:
    return lambda x: np.sum(ufunc(x, out=np.zeros_like(x), where=x > 0))


def rows(x: Any) -> Any:
    return np.linalg.norm(x, axis=1, keepdims=True)


def rotated(x: Any) -> Any:
    """A rotation vector's sine, for an angle of 0 too."""
    t = np.linalg.norm(x)
    return np.sum(np.where(t > 0, np.sin(t) / t, 1.0) * x)


def bce(x: Any) -> Any:
    y = numpy.array([1.0, 0.0])
    return -np.sum(y * np.log(x) + (1 - y) * np.log(1 - x))


def matern(x: Any) -> Any:
    d = distances(x)
    return np.sum((1 + d) * np.exp(-d))


def gaps(x: Any) -> Any:
    r2 = np.sum((x[:, None] - x[None]) ** 2, -1)
    return np.sum(np.where(r2 > 0, r2**-6 - r2**-3, 0))


LN2 = float(numpy.log(2))
TWO = [[0.0, 0.0], [3.0, 4.0]]
# expression: the function, the point, the gradient
TABLE: dict[str, tuple[Any, Any, Any]] = {
    "sqrt by a mask": (lambda x: np.sum(np.sqrt(x) * (x > 0)), [0, 1, 4], [0, 0.5, 0.25]),
    "sqrt by index": (lambda x: np.sum(np.sqrt(x)[1:]), [0, 1, 4], [0, 0.5, 0.25]),
    "log by index array": (lambda x: np.sum(np.log(x)[[1, 1]]), [0, 2], [0, 1]),
    "log by boolean": (lambda x: np.sum(np.log(x[x > 0])), [0, 2], [0, 0.5]),
    "log, part of it": (lambda x: np.sum(np.concatenate([np.log(x)[1:], x])), [0, 2], [1, 1.5]),
    "log into": (into(np.log), [0, 2], [0, 0.5]),
    "sqrt into": (into(np.sqrt), [0, 4], [0, 0.25]),
    "reciprocal into": (into(np.reciprocal), [0, 2], [0, -0.25]),
    "log overwritten": (replaced(np.log), [-1, 0, 2], [0, 0, 0.5]),
    "1 / x overwritten": (replaced(lambda x: 1 / x), [0, 2], [0, -0.25]),
    "log summed where": (lambda x: np.sum(np.log(x), where=x > 0), [0, 2], [0, 0.5]),
    "sqrt averaged where": (lambda x: np.mean(np.sqrt(x), where=x > 0), [0, 4], [0, 0.25]),
    "log, nansum": (lambda x: np.nansum(np.log(x)), [-1, 2], [0, 0.5]),
    "sqrt, nanmean": (lambda x: np.nanmean(np.sqrt(x)), [-1, 4], [0, 0.25]),
    "log, nan_to_num": (lambda x: np.sum(np.nan_to_num(np.log(x), neginf=0)), [0, 2], [0, 0.5]),
    "x / x, nan_to_num": (lambda x: np.sum(np.nan_to_num(x / x)), [0, 2], [0, 0]),
    "log, clipped": (lambda x: np.sum(np.clip(np.log(x), -5, None)), [0, 2], [0, 0.5]),
    "log, maximum": (lambda x: np.sum(np.maximum(np.log(x), -5.0)), [0, 2], [0, 0.5]),
    "log, fmax": (lambda x: np.sum(np.fmax(np.log(x), -5.0)), [-1, 2], [0, 0.5]),
    "log, max": (lambda x: np.max(np.log(x)), [0, 2], [0, 0.5]),
    "sqrt of maximum": (lambda x: np.sum(np.sqrt(np.maximum(x, 1e-12))), [0, 4], [0, 0.25]),
    "log, select": (lambda x: np.sum(np.select([x > 0], [np.log(x)], 0.0)), [0, 2], [0, 0.5]),
    "log, choose": (
        lambda x: np.sum(np.choose((x > 0).astype(int), [0 * x, np.log(x)])), [0, 2], [0, 0.5]),
    "log, piecewise": (
        lambda x: np.sum(np.piecewise(x, [x > 0, x <= 0], [np.log, lambda t: 0 * t])),
        [0, 2], [0, 0.5]),
    "log of a product": (lambda x: np.where(np.min(x) > 0, np.exp(np.mean(np.log(x))), 0.0),
                         [0, 1], [0, 0]),
    "cross entropy": (bce, [1, 0], [-1, 1]),
    "x log(x / y)": (
        lambda x: np.sum(np.where(x > 0, x * np.log(x / numpy.array([0.0, 1])), 0)),
        [0, 1], [0, 1]),
    "x / norm of rows": (
        lambda x: np.sum(np.where(rows(x) > 0, x / rows(x), 0)[:, 0]), TWO,
        [[0, 0], [0.128, -0.096]]),
    "norm of order 3": (lambda x: np.linalg.norm(x, 3), [0, 0], [0, 0]),
    "norm of order 3, one zero": (
        lambda x: np.linalg.norm(x, 3), [0, 1, 1], [0, 2 ** (-2 / 3), 2 ** (-2 / 3)]),
    "norms of order 3": (
        lambda x: np.sum(np.linalg.vector_norm(x, axis=1, ord=3)), [[0, 0], [1, 0]],
        [[0, 0], [1, 0]]),
    "norm of order 0.5": (
        lambda x: np.where(np.sum(x) > 0, np.linalg.norm(x, 0.5), 0.0), [0, 0], [0, 0]),
    "Frobenius norm": (lambda x: np.linalg.norm(x, "fro"), [[0, 0], [0, 0]], [[0, 0], [0, 0]]),
    "norm of differences": (
        lambda x: np.sum(np.linalg.norm(x[:, None] - x[None], axis=-1)), TWO,
        [[-1.2, -1.6], [1.2, 1.6]]),
    "1 / distance where": (
        lambda x: np.sum(np.where(EYE, 0, 1 / distances(x))), TWO,
        [[0.048, 0.064], [-0.048, -0.064]]),
    "1 / distance, diagonal": (with_diagonal, TWO, [[0.048, 0.064], [-0.048, -0.064]]),
    "1 / distance, triangle": (
        lambda x: np.sum(1 / distances(x)[numpy.triu_indices(2, 1)]), TWO,
        [[0.024, 0.032], [-0.024, -0.032]]),
    "Lennard-Jones": (gaps, [[0, 0], [1, 0]], [[12, 0], [-12, 0]]),
    "Matern kernel": (matern, [[0], [1]], [[2 / numpy.e], [-2 / numpy.e]]),
    "rotation by nothing": (rotated, [0, 0, 0], [1, 1, 1]),
    "norm of a cross product": (lambda x: np.linalg.norm(np.cross(x, x)), [1, 2, 3], [0, 0, 0]),
    "std of rows": (lambda x: np.sum(np.std(x, axis=1)), [[2, 2], [1, 3]], [[0, 0], [-0.5, 0.5]]),
    "nanstd": (np.nanstd, [2, 2, 2], [0, 0, 0]),
    "correlation": (
        lambda x: np.where(np.std(x) > 0, np.corrcoef(x, [1.0, 2, 3])[0, 1], 0.0),
        [1, 1, 1], [0, 0, 0]),
    "covariance": (lambda x: np.sum(np.cov(x, x)), [1, 1], [0, 0]),
    "0 ** 2": (lambda x: np.sum(x**2), [0, 1], [0, 2]),
    "0 ** 0": (lambda x: np.sum(x**0), [0, 1], [0, 0]),
    "0 ** array": (lambda x: np.sum(x ** numpy.array([0.0, 1, 2])), [0, 0, 0], [0, 1, 0]),
    "0 ** x": (lambda x: np.sum(numpy.array([0.0, 2.0]) ** x), [2, 1], [0, 2 * LN2]),
    "negative ** array": (lambda x: np.sum(x ** numpy.array([2.0, 3])), [-2, -1], [-4, 3]),
    "float_power": (lambda x: np.sum(np.float_power(x, 2)), [0, 1], [0, 2]),
    "hypot where": (lambda x: np.sum(np.where(x > 0, np.hypot(x, 0), 0)), [0, 1], [0, 1]),
    "arcsin where": (lambda x: np.sum(np.where(abs(x) < 1, np.arcsin(x), 0)), [1, 0], [0, 1]),
    "arccos at a bound": (
        lambda x: np.sum(np.where(abs(x) < 1, np.arccos(np.clip(x, -1, 1)), 0)),
        [1, 0, -1], [0, -1, 0]),
    "arccosh where": (
        lambda x: np.sum(np.where(x > 1, np.arccosh(x), 0)), [1, 2], [0, 1 / numpy.sqrt(3)]),
    "expm1(x) / x": (
        lambda x: np.sum(np.where(x == 0, 1.0, np.expm1(x) / x)), [0, 1], [0, 1]),
    "exp overflows": (lambda x: np.sum(np.where(x < 100, np.exp(x), 0)), [1000, 0], [0, 1]),
    "sigmoid": (
        lambda x: np.sum(np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))),
        [-1000, 1000, 0], [0, 0, 0.25]),
    "softplus": (
        lambda x: np.sum(np.where(x > 30, x, np.log1p(np.exp(x)))), [1000, 0], [1, 0.5]),
    "5 % x": (lambda x: np.sum(np.where(x > 0, 5 % x, 0)), [0, 2], [0, -2]),
    "logsumexp": (lambda x: np.special.logsumexp(x), [-INF, 0], [0, 1]),
    "logsumexp of constants": (
        lambda x: np.special.logsumexp(np.concatenate([x, [-INF, -INF]])), [0, 0], [0.5, 0.5]),
    "softmax": (lambda x: np.special.softmax(x)[1], [-INF, 0, 0], [0, 0.25, -0.25]),
    "log_softmax": (
        lambda x: np.special.log_softmax(np.where([True, False, True], x, -INF))[0],
        [1, 5, 1], [0.5, 0, -0.5]),
    "logaddexp": (
        lambda x: np.sum(np.where(np.isfinite(x), np.logaddexp(x, -INF), 0)), [-INF, 1], [0, 1]),
    "logaddexp.reduce": (np.logaddexp.reduce, [-INF, 1], [0, 1]),
    "xlogy": (
        lambda x: np.sum(np.where(x > 0, np.special.xlogy(x, x), 0)), [0, 1], [0, 1]),
    "logit": (
        lambda x: np.sum(np.where((x > 0) & (x < 1), np.special.logit(x), 0)),
        [1, 0.5, 0], [0, 4, 0]),
    "gammaln": (
        lambda x: np.sum(np.where(x > 0, np.special.gammaln(x), 0)), [0, 1],
        [0, -numpy.euler_gamma]),
    "complex sqrt": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x + 0j).real, 0)), [0, 1], [0, 0.5]),
    "complex log": (lambda x: np.sum(np.where(x > 0, np.log(x + 0j).real, 0)), [0, 1], [0, 1]),
    "abs of a transform": (lambda x: np.sum(np.abs(np.fft.fft(x))), [1, 1], [1, 1]),
    "determinant of nothing": (np.linalg.det, [[0, 0], [0, 0]], [[0, 0], [0, 0]]),
    "determinant, singular": (np.linalg.det, [[1, 2], [2, 4]], [[4, -2], [-2, 1]]),
    "equal eigenvalues": (
        lambda x: np.sum(np.linalg.eigvalsh(x)), [[1, 0], [0, 1]], [[1, 0], [0, 1]]),
    "equal singular values": (
        lambda x: np.sum(np.linalg.svd(x)[1]), [[1, 0], [0, 1]], [[1, 0], [0, 1]]),
    "prod": (np.prod, [0, 2, 0], [0, 0, 0]),
    "interp": (
        lambda x: np.sum(np.interp([0.5, 1.5], x, [0.0, 1, 3])), [0, 1, 2], [-0.5, -1.5, -1]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_guarded_expressions(name: str) -> None:
    f, point, expected = TABLE[name]
    x, expected = np.array(point, float), numpy.array(expected, float)
    direction = numpy.linspace(0.5, 1.5, x.size).reshape(x.shape)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        numpy.testing.assert_allclose(grad(f)(x), expected, rtol=1e-9, atol=1e-12)
        tangent = jvp(f, (x,), (np.array(direction),))[1]
        along = numpy.sum(expected * direction)
        numpy.testing.assert_allclose(tangent, along, rtol=1e-9, atol=1e-12)
        if name != "log by boolean":  # a mask of unknown length
            numpy.testing.assert_allclose(jit(grad(f))(x), expected, rtol=1e-9, atol=1e-12)
