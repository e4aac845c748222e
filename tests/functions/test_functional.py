"""x.at, associative_scan, adopt."""

import functools
import sys
import types
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import adopt, associative_scan, check_grads, grad, jit, vmap

X = np.array([0.3, -0.7, 1.2, 0.5, 2.0])


def test_at() -> None:
    x = np.arange(4.0)
    assert x.at[1].set(9.0).tolist() == [0, 9, 2, 3]
    assert x.at[np.array([1, 1, 2])].add(1.0).tolist() == [0, 3, 3, 3]
    assert x.at[1:3].multiply(2).tolist() == [0, 2, 4, 3]
    assert x.at[:2].max(0.5).tolist() == [0.5, 1, 2, 3]
    assert x.at[2:].min(2.5).tolist() == [0, 1, 2, 2.5]
    assert x.at[1:].get().tolist() == [1, 2, 3]
    assert x.at[1:].divide(2).tolist() == [0, 0.5, 1, 1.5]
    assert x.at[1].apply(lambda v: -v).tolist() == [0, -1, 2, 3]
    assert x.tolist() == [0, 1, 2, 3]
    check_grads(lambda x: x.at[1:].set(x[:-1] ** 2).at[[0, 0]].add(x[:2]), (x,), order=2)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_associative_scan(n) -> None:
    x = X[:n]
    numpy.testing.assert_allclose(associative_scan(np.add, x), numpy.cumsum(x))
    reverse = associative_scan(np.multiply, x, reverse=True)
    numpy.testing.assert_allclose(reverse, numpy.cumprod(numpy.asarray(x)[::-1])[::-1])
    m = np.stack([x, 2 * x])
    numpy.testing.assert_allclose(associative_scan(np.add, m, axis=1), numpy.cumsum(m, 1))


def test_associative_scan_of_what_the_function_returns() -> None:
    x = np.array([0.5, 1.5, 2.5, 3.5, 4.5])
    for wrong in (lambda a, b: a[:1] + b[:1], lambda a, b: (a + b).sum()):
        with pytest.raises(TypeError, match="^associative_scan: fn must return the shapes"):
            associative_scan(wrong, x)
    floors = associative_scan(lambda a, b: np.floor(a + b).astype(int), x)
    assert floors.tolist() == [0.5, 2, 4, 8, 12]  # the first is no result of the function


def test_associative_scan_of_a_recurrence() -> None:
    def compose(f, g):
        return f[0] * g[0], g[0] * f[1] + g[1]

    def states(a, b):
        return associative_scan(compose, (a, b))[1]

    y, want = 0.0, []
    for a, b in zip(X.tolist(), (X * 2).tolist(), strict=True):
        y = a * y + b
        want.append(y)
    numpy.testing.assert_allclose(states(X, 2 * X), want)
    numpy.testing.assert_allclose(jit(states)(X, 2 * X), want)
    check_grads(states, (X, 2 * X), order=1)


def helper(n):
    return numpy.zeros(n)


def simulation(x):
    u = helper(3)
    u[0] = x
    for _ in range(3):
        u[1:] += 0.5 * (u[:-1] - u[1:])
    return numpy.sum(u * u)


def test_adopt() -> None:
    before = numpy.asarray(simulation(2.0))
    run = adopt(simulation)
    numpy.testing.assert_allclose(run(2.0), before)
    numpy.testing.assert_allclose(grad(run)(2.0), before)  # homogeneous: 2 f / x
    numpy.testing.assert_allclose(vmap(run)(np.array([1.0, 2.0])), [before / 4, before])
    assert numpy is not np and helper.__globals__["numpy"] is numpy
    with pytest.raises(TypeError, match="adopt"):
        grad(simulation)(2.0)
    with pytest.raises(TypeError, match="adopt"):
        jit(simulation)(2.0)
    with pytest.raises(TypeError, match="adopt"):
        vmap(simulation)(np.ones(2))


def test_a_store_that_numpy_refuses_itself_is_its_own_error() -> None:
    def wrong(x):
        numpy.zeros(3)[0] = [x, x]

    with pytest.raises(ValueError, match="sequence"):
        jit(lambda x: wrong(1.0))(2.0)


# a module of a user's
_SOURCE = """
import dataclasses, enum
import numpy
from numpy import zeros

class Base:
    def helper(self, x):
        a = zeros(3)
        a[1] = x
        return a

class Model(Base):
    scale = 2.0
    def __init__(self, n):
        self.state = numpy.zeros(n)
    def step(self, x):
        self.state[0] = x * x
        self.state[1:] += x
        return self.state.sum() + super().helper(x).sum()
    __call__ = step
    @staticmethod
    def alone(x):
        a = zeros(1)
        a[0] = x
        return a[0]
    @classmethod
    def scaled(cls, x):
        return cls.alone(x) * cls.scale
    @property
    def total(self):
        return self.alone(self.state.sum())

class Slots:
    __slots__ = ("a",)
    def __init__(self, x):
        self.a = zeros(2)
        self.a[0] = x

@dataclasses.dataclass(frozen=True)
class Parameters:
    w: object
    def applied(self, x):
        a = zeros(1)
        a[0] = self.w * x
        return a[0]

class Caller:
    def __call__(self, x):
        a = zeros(2)
        a[0] = x
        return a.sum()

class Colour(enum.Enum):
    RED = 1
"""


def test_adopted_classes() -> None:
    module = types.ModuleType("adopted_classes")
    sys.modules[module.__name__] = module
    exec(_SOURCE, vars(module))
    ours = adopt(module)

    def total(x):
        model = ours.Model(3)
        model.step(x)
        return model.total

    for f, want in [
        (lambda x: ours.Model(3).step(x), 9.0), (lambda x: ours.Model(3)(x), 9.0), (total, 8.0),
        (ours.Model.alone, 1.0), (lambda x: ours.Model.scaled(x), 2.0),
        (lambda x: ours.Slots(x).a.sum(), 1.0), (adopt(module.Caller()), 1.0),
        (adopt(functools.partial(module.Model.step, ours.Model(3))), 9.0),
    ]:  # fmt: skip
        assert grad(f)(3.0) == want
    np.tree.register_dataclass(module.Parameters)
    slope = grad(lambda p: p.applied(2.0))(ours.Parameters(3.0))
    assert type(slope) is ours.Parameters and slope.w == 2.0
    assert isinstance(ours.Model(1), module.Model) and ours.Model is ours.Model
    assert ours.Colour is module.Colour and ours.dataclasses is module.dataclasses
    assert module.numpy is numpy and type(module.Model(1).state) is numpy.ndarray
    for wrong in (3, len):
        with pytest.raises(TypeError, match="adopt"):
            adopt(wrong)


def branching(x: Any) -> Any:
    g = numpy.zeros(3)
    if x.sum() > 0:
        g[0] = x[1] * 2
    return (g * x).sum() + numpy.sin(x[2])


def looping(x: Any) -> Any:
    g = numpy.zeros(3)
    for i in range(40):
        if x[i % 3] > 0:
            g[i % 3] += x[i % 3]
        if g.sum() > 60:
            break
    return (g * x).sum()


def in_a_closure(x: Any) -> Any:
    library = numpy

    def f(x: Any) -> Any:
        g = library.zeros(3)
        while g[0] < 2:
            g[0] += x[0] ** 2 + 1
        return g.sum()

    return np.adopt(f)(x)


class Method:
    def __call__(self, x: Any) -> Any:
        return branching(x)

    def run(self, x: Any) -> Any:
        return looping(x)


ADOPTED = [branching, looping, in_a_closure, Method(), Method().run, functools.partial(branching)]


@pytest.mark.parametrize("f", ADOPTED)
def test_adopted_functions_are_staged(f: Any) -> None:
    points = np.array([[1.0, 2, 3], [-1.0, -2, 0.5]])
    plain = np.adopt(f)
    ways = [np.jit(plain), np.jit(lambda x: plain(x))]
    if not isinstance(f, functools.partial):
        ways.append(np.adopt(np.jit(f)))
    for jitted in ways:
        for x in points:
            assert float(jitted(x)) == pytest.approx(float(plain(x)))
        want = [float(plain(x)) for x in points]
        numpy.testing.assert_allclose(np.vmap(jitted)(points), want)
        for x in points:
            slope = np.grad(plain)(x)
            numpy.testing.assert_allclose(np.jacfwd(jitted)(x), slope)
            if f is not in_a_closure:  # a loop without a bound
                numpy.testing.assert_allclose(np.grad(jitted)(x), slope)
                numpy.testing.assert_allclose(np.jit(np.grad(plain))(x), slope)
    assert isinstance(numpy.zeros(3), numpy.ndarray) and branching.__globals__["numpy"] is numpy


def test_a_call_looks_each_global_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For every name of the module, at each call of an adopted function: it is asked once."""
    scope: dict[str, Any] = {"numpy": numpy, "data": numpy.ones(3), "size": 3}
    source = "def other(x):\n    return -x\ndef f(x):\n    return other(numpy.asarray(x))"
    exec(source, scope)
    asked: list[Any] = []

    def find(value: Any) -> Any:
        asked.append(value)
        return abs if value is scope["other"] else None

    monkeypatch.setattr(np.functions.functional, "elsewhere", [find])
    f = adopt(scope["f"])
    asked.clear()
    assert float(f(-2.0)) == 2.0
    assert len(asked) == len(set(map(id, asked))) == 2
