"""Values that a function stores while a gradient of it is taken, and that are used afterwards."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np

X = np.array([1.0, 2.0])


class Model:
    def __init__(self) -> None:
        self.history: list[Any] = []

    def loss(self, w: Any) -> Any:
        self.pred = np.tanh(2 * w)
        self.parts = [self.pred[0], self.pred[::-1]]
        out = (self.pred**2).sum()
        self.history.append(out)
        return out


TAKEN = [
    lambda f: np.grad(f)(X),
    lambda f: np.value_and_grad(f)(X),
    lambda f: np.jvp(f, (X,), (X,)),
    lambda f: np.vjp(f, X)[1](1.0),
    lambda f: np.hessian(f)(X),
    lambda f: np.grad(lambda v: f(np.array([v, 2 * v])))(1.0),
]


@pytest.mark.parametrize("take", TAKEN)
def test_values_of_a_gradient_stand(take: Any) -> None:
    model = Model()
    take(model.loss)
    want = numpy.tanh(2 * numpy.array([1.0, 2.0]))
    numpy.testing.assert_allclose(np.sum(model.pred), want.sum(), rtol=1e-15)
    numpy.testing.assert_allclose(model.pred + 1, want + 1, rtol=1e-15)
    numpy.testing.assert_allclose(model.parts[0] * 2, want[0] * 2, rtol=1e-15)
    numpy.testing.assert_allclose(model.parts[1] @ X, want[::-1] @ [1.0, 2.0], rtol=1e-15)
    numpy.testing.assert_allclose(np.array(model.history), (want**2).sum(), rtol=1e-15)
    model.pred[0] = 5.0
    assert model.pred.tolist() == [5.0, want[1]]


def test_within_another_gradient() -> None:
    """What the inner gradient leaves still depends on what the outer one differentiates by."""
    model = Model()

    def outer(w: Any) -> Any:
        g = np.grad(model.loss)(w)
        return (model.pred * g).sum()

    def plain(w: Any) -> Any:
        t = np.tanh(2 * w)
        return (t * 4 * t * (1 - t**2)).sum()

    numpy.testing.assert_allclose(np.grad(outer)(X), np.grad(plain)(X), rtol=1e-13)


def test_what_has_no_single_value_is_refused() -> None:
    model = Model()
    np.vmap(model.loss)(np.ones((3, 2)))
    with pytest.raises(TypeError, match="is used after that has ended"):
        model.pred.sum()
    jitted = np.jit(lambda x: np.grad(lambda w: (w * w).sum())(x))
    kept: list[Any] = []

    def storing(w: Any) -> Any:
        kept.append(w * 2)
        return (w * w).sum()

    np.jit(np.grad(storing))(X)
    assert jitted(X).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match="is used after that has ended"):
        kept[0].sum()
