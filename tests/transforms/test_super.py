"""Under `jit`: methods with loops and branches that call `super()`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np

X = numpy.random.default_rng(1).random(30)


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    with np.config(execution="reference"):
        yield


class Base:
    def __init__(self, a: float = 1.0) -> None:
        self.a = a

    def step(self, v: Any) -> Any:
        return v * 0.5 if v > 1 else v + self.a

    @classmethod
    def make(cls, a: float) -> Any:
        return cls(a)


class Child(Base):
    def __init__(self, a: float = 2.0) -> None:
        super().__init__(a * 0.5)
        self.b = a

    def step(self, v: Any) -> Any:
        w = super().step(v)
        if w > 2:
            w = w - self.b
        return w

    def run(self, x: Any) -> Any:
        v = x[0]
        for i in range(len(x)):
            v = super().step(v) + x[i]
            if v > 3:
                v = super(Child, self).step(v)  # noqa: UP008
        return v


class Grandchild(Child):
    def step(self, v: Any) -> Any:
        if v > 100:
            return super().step(v)
        return super().step(v) + 0.01

    @classmethod
    def make(cls, a: float) -> Any:
        made = super().make(a)
        if a > 1:
            made.b = 0.5
        return made

    def __private(self, v: Any) -> Any:
        if v > 0.7:
            return super().step(v)
        return v

    def inner(self, x: Any) -> Any:
        def of(other: Any, v: Any) -> Any:  # `super()` is that of `other`
            return super().step(v) if v > 0.5 else v  # type: ignore[misc]

        total = 0.0
        for v in x:
            total += self.__private(v) + of(self, v)
        return total


def stepped(x: Any) -> Any:
    model, v = Child(), x[0]
    for i in range(len(x)):
        v = model.step(v) + x[i]
    return v


def made_by_class(x: Any) -> Any:
    model, v = Grandchild.make(1.5), 0.0
    for t in x:
        v = model.step(v + t)
    return v


FUNCTIONS = [stepped, made_by_class, lambda x: Child().run(x), lambda x: Grandchild().run(x),
             lambda x: Grandchild().inner(x)]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_super(function: Any) -> None:
    jitted = np.jit(function)
    for x in (X, 2 * X, X[:9]):
        numpy.testing.assert_allclose(jitted(np.array(x)), function(x), rtol=1e-14)
    assert "unrolled" not in str(np.explain(jitted))


def test_derivatives_and_batches() -> None:
    step = numpy.random.default_rng(2).normal(size=30)
    slope = (stepped(X + 1e-6 * step) - stepped(X - 1e-6 * step)) / 2e-6
    found = numpy.asarray(np.grad(np.jit(stepped))(np.array(X)))
    numpy.testing.assert_allclose((found * step).sum(), slope, rtol=1e-6)
    many = np.vmap(np.jit(stepped))(np.array([X, 2 * X]))
    numpy.testing.assert_allclose(many, [stepped(X), stepped(2 * X)])


def test_a_bound_method() -> None:
    model = Child(0.3)
    numpy.testing.assert_allclose(np.jit(model.run)(np.array(X)), model.run(X))


def test_where_another_object_is_meant() -> None:
    class Renamed(Base):
        def step(self, v: Any) -> Any:
            self = Base(5.0)
            with pytest.raises(TypeError):
                super().step(1.0)  # it is no `Renamed`
            return v + self.a

    assert float(np.jit(lambda x: Renamed().step(x[0]))(np.array(X))) == X[0] + 5.0
