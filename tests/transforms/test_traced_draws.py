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


def outcome(draw: Callable[[], Any]) -> Any:
    with pytest.raises((IndexError, ValueError)) as caught:
        draw()
    return type(caught.value), str(caught.value).split("\n")[0]


WRONG: dict[str, Callable[[Any, Any, Any], Any]] = {
    "scale": lambda np, r, x: r.normal(0.0, -x).sum(),
    "sigma": lambda np, r, x: r.lognormal(x, -1 - x * x).sum(),
    "a scale alone": lambda np, r, x: r.rayleigh(-1 - x * x).sum(),
    "size": lambda np, r, x: r.normal(x, 1.0, 3).sum(),
    "a size without an axis": lambda np, r, x: r.normal(x[None], 1.0, 4).sum(),
    "a negative size": lambda np, r, x: r.choice(x, -1).sum(),
    "more than there are": lambda np, r, x: r.choice(x, 9, replace=False).sum(),
    "probabilities": lambda np, r, x: r.choice(x, 2, p=[0.5, 0.5]).sum(),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["default_rng", "RandomState"])
@pytest.mark.parametrize("name", WRONG)
def test_errors_are_numpys(name: str, kind: str) -> None:
    ours, numpys = (of(module, kind, WRONG[name]) for module in (np, numpy))
    assert outcome(lambda: np.grad(ours)(X)) == outcome(lambda: numpys(X))


def test_wrong_axes_and_limits() -> None:
    rng, legacy = np.random.default_rng(0), np.random.RandomState(0)
    with pytest.raises(numpy.exceptions.AxisError, match="axis 5 is out of bounds"):
        np.grad(lambda x: rng.permutation(x, axis=5).sum())(X)
    with pytest.raises(numpy.exceptions.AxisError, match="axis 5 is out of bounds"):
        np.grad(lambda x: rng.shuffle(x * 1.0, 5))(X)
    with pytest.raises(ValueError, match="a must be 1-dimensional"):
        np.grad(lambda x: legacy.choice(x.reshape(2, 2), 3).sum())(X)
    with pytest.raises(ValueError, match="high - low < 0"):
        np.grad(lambda x: rng.uniform(x + 5, x).sum())(X)
    gradient = np.grad(lambda x: legacy.uniform(x + 5, x).sum())(X)
    assert gradient.tolist() == pytest.approx([1.0] * 4)
    with pytest.raises(TypeError):  # a number of events has no derivative
        np.grad(lambda x: rng.poisson(x).sum() * 1.0)(X * X)
