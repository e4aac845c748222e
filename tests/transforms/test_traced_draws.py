"""Random samples with traced parameters, and samples of traced data: NumPy's numbers, and the
derivatives of the formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp

np: Any = lazynp
X = numpy.array([0.3, 1.2, -0.4, 0.8])
WEIGHTS = numpy.arange(4.0)


def shuffled(np: Any, r: Any, x: Any) -> Any:
    y = x.copy()
    r.shuffle(y)
    return (y * WEIGHTS).sum()


def shuffled_rows(np: Any, r: Any, x: Any) -> Any:
    y = x.reshape(2, 2) * 1.0
    r.shuffle(y)
    return (y * WEIGHTS.reshape(2, 2)).sum()


DRAWS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "normal": lambda np, r, x: r.normal(x.mean(), 1.0, 3).sum() * x[0],
    "normal with a scale": lambda np, r, x: (r.normal(x, np.abs(x)) ** 2).sum(),
    "normal of a size": lambda np, r, x: (r.normal(loc=x, scale=2.0, size=(2, 4)) ** 2).sum(),
    "one normal": lambda np, r, x: r.normal(x[0], x[1] ** 2),
    "uniform": lambda np, r, x: (r.uniform(x, x + 2) ** 2).sum(),
    "exponential": lambda np, r, x: (r.exponential(x * x) ** 2).sum(),
    "rayleigh": lambda np, r, x: r.rayleigh(x * x, (3, 4)).sum(),
    "laplace": lambda np, r, x: (r.laplace(x, x * x) ** 2).sum(),
    "gumbel": lambda np, r, x: (r.gumbel(x, x * x) ** 2).sum(),
    "logistic": lambda np, r, x: (r.logistic(x, 2) ** 2).sum(),
    "lognormal": lambda np, r, x: r.lognormal(x, x * x).sum(),
    "gamma": lambda np, r, x: r.gamma(2.0, x * x).sum(),
    "choice": lambda np, r, x: (r.choice(x, 6) * numpy.arange(6)).sum(),
    "choice without replacement": lambda np, r, x: (r.choice(x, 3, replace=False) ** 2).sum(),
    "choice by weights": lambda np, r, x: (r.choice(x, 3, p=[0.1, 0.2, 0.3, 0.4]) ** 2).sum(),
    "bootstrap": lambda np, r, x: np.stack([r.choice(x, 4).mean() for _ in range(5)]).std(),
    "permutation": lambda np, r, x: (r.permutation(x) * WEIGHTS).sum(),
    "permutation of rows": lambda np, r, x: (
        r.permutation(x.reshape(2, 2)) * WEIGHTS.reshape(2, 2)
    ).sum(),
    "shuffle": shuffled,
    "shuffle of rows": shuffled_rows,
}  # fmt: skip


def of(module: Any, kind: str, draw: Any) -> Callable[[Any], Any]:
    """The function of x; each call draws the same."""
    return lambda x: draw(module, getattr(module.random, kind)(0), x)


@pytest.mark.parametrize("kind", ["default_rng", "RandomState"])
@pytest.mark.parametrize("name", DRAWS)
def test_values_and_derivatives(name: str, kind: str) -> None:
    ours, numpys = (of(module, kind, DRAWS[name]) for module in (np, numpy))
    steps = 1e-5 * numpy.eye(4)
    wanted = [(numpys(X + h) - numpys(X - h)) / 2e-5 for h in steps]
    assert float(np.jit(ours)(X)) == pytest.approx(numpys(X), rel=1e-14)
    value, gradient = np.value_and_grad(ours)(X)
    assert float(value) == pytest.approx(numpys(X), rel=1e-14)
    numpy.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-8)
    numpy.testing.assert_allclose(np.jit(np.grad(ours))(X), gradient, rtol=1e-12)
    numpy.testing.assert_allclose(np.jacfwd(ours)(X), gradient, rtol=1e-12)
    both = numpy.stack([X, X + 0.5])
    numpy.testing.assert_allclose(np.vmap(ours)(both), [numpys(x) for x in both], rtol=1e-14)


def test_the_global_generator() -> None:
    def f(x: Any) -> Any:
        np.random.seed(0)
        y = x.copy()
        np.random.shuffle(y)
        return np.random.normal(x, 2.0).sum() + (np.random.permutation(y) * WEIGHTS).sum()

    numpy.random.seed(0)
    y = X.copy()
    numpy.random.shuffle(y)
    wanted = numpy.random.normal(X, 2.0).sum() + (numpy.random.permutation(y) * WEIGHTS).sum()
    value, gradient = np.value_and_grad(f)(X)
    assert float(value) == pytest.approx(wanted, rel=1e-14)
    assert sorted(gradient.tolist()) == [1.0, 2.0, 3.0, 4.0]


def test_errors() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="scale < 0"):
        np.grad(lambda x: rng.normal(0.0, x).sum())(-X)
    with pytest.raises(ValueError, match=r"Output size \(3,\) is not compatible"):
        np.grad(lambda x: rng.normal(x, 1.0, 3).sum())(X)
    with pytest.raises(TypeError):  # a number of events has no derivative
        np.grad(lambda x: rng.poisson(x).sum() * 1.0)(X * X)
