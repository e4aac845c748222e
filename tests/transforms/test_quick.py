"""Calls of jitted functions as one operation: which are, and what they give."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, vmap
from lazynp._array import new_array
from lazynp.transforms._jit import Jitted
from tests.helpers import POLICIES, Counted

X, Y = np.array([0.3, -0.7, 1.2]), np.array([1.0, 2.0, 3.0])


def test_plain_calls_take_the_short_way() -> None:
    traced = []

    @jit
    def f(x: Any, y: Any) -> Any:
        traced.append(1)
        return {"a": x + y, "b": [x.sum(), (x * 2)[:1].reshape(())]}

    x = numpy.asarray(X)
    for y in (Y, 2.0, 2, X.sum(), Y, 3.0, Y.sum()):
        out = f(X, y)
        numpy.testing.assert_allclose(out["a"], x + numpy.asarray(y), rtol=1e-15)
        assert type(out["b"][0]) is np.Scalar and type(out["b"][1]) is np.ndarray
    assert len(f._quick) == len(traced) == 4  # array, float, int, Scalar
    f.clear_cache()
    f(X, Y)
    assert len(traced) == 5


def test_arrays_made_of_numbers_take_the_short_way() -> None:
    """They are operands that are the same at each call, and nobody may write them."""

    @np.jit
    def f(x: Any) -> Any:
        q = np.array([1.0, 2.0, 3.0])
        y = np.asarray(numpy.arange(3.0)) + x
        q += x
        return q, y * numpy.float32(2.0), q[0]

    for k in range(4):
        x = np.arange(3.0) + k
        q, y, first = f(x)
        q += 10.0
        numpy.testing.assert_array_equal(q, numpy.arange(1.0, 4.0) + numpy.asarray(x) + 10.0)
        numpy.testing.assert_array_equal(y, 2.0 * (numpy.arange(3.0) + numpy.asarray(x)))
        assert first == 1.0 + k
    assert len(f._quick) == 1
    ((_, quick),) = f._quick.items()
    assert quick.constants


def test_what_takes_the_long_way() -> None:
    captured = np.zeros(3)

    def reads(x: Any) -> Any:
        return x + captured

    def writes(x: Any) -> None:
        x += 1.0

    def returns(x: Any) -> Any:
        return x

    for function in (reads, writes, returns):
        f, x = jit(function), X.copy()
        f(x), f(x)
        assert not f._quick
    f = jit(lambda x, y=0.0: x * 2 + y)
    f(X), f(X)
    assert len(f._quick) == 1
    fortran = np.asarray(np.ones((2, 2)), order="F")
    for args, kwargs in (((X[1:],), {}), ((X,), {"y": 1.0}), ((numpy.ones(3),), {})):
        for _ in range(2):
            numpy.testing.assert_array_equal(
                f(*args, **kwargs), 2 * numpy.asarray(args[0]) + kwargs.get("y", 0.0)
            )
    numpy.testing.assert_array_equal(f(fortran), 2 * numpy.ones((2, 2)))
    g = jit(lambda x, y: x + 2 * y)
    assert g(X, Y).tolist() == (X + 2 * Y).tolist()
    assert g(X, X).tolist() == (3 * X).tolist()  # sharing memory is another trace
    assert g(Y, X).tolist() == (Y + 2 * X).tolist()


def test_short_calls_under_transformations() -> None:
    f = jit(lambda x: np.sin(x) * x)
    f(X), f(X)
    slopes = numpy.cos(numpy.asarray(X)) * numpy.asarray(X) + numpy.sin(numpy.asarray(X))
    for g in (grad(lambda x: f(x).sum()), vmap(grad(f)), jit(grad(lambda x: f(x).sum()))):
        numpy.testing.assert_allclose(g(X), slopes, rtol=1e-14)
        f(X)
    closed = grad(lambda y: (f(X) * y).sum())(Y)  # its argument is no tracer there
    numpy.testing.assert_allclose(closed, f(X), rtol=1e-15)
    with np.disable_jit():
        numpy.testing.assert_allclose(f(X), numpy.sin(numpy.asarray(X)) * numpy.asarray(X))


@np.jit
def _two(x: Any, s: Any) -> Any:
    return x * s, (x + s).sum()


def _look(kind: str, rounds: int) -> list[Any]:
    seen: list[Any] = []
    x = np.array(numpy.arange(4.0))
    for k in range(rounds):
        s = {"numbers": k + 0.5, "arrays": np.array(k + 0.5), "results": x.sum() + k}[kind]
        scaled, total = _two(x, s)
        if k % 3 == 0:
            seen.append(float(total))
            seen.append(scaled.tolist())
        elif k % 3 == 1:
            seen.append(scaled.tolist())  # and nobody needs the other one
            del total
        else:
            x = np.array(numpy.arange(4.0)) + k  # pending, when the next call is made
            seen.append((scaled + total).tolist())
    return seen


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["numbers", "arrays", "results"])
def test_results_looked_at_one_by_one(kind: str, policy: str) -> None:
    with np.config(execution=policy):
        with np.disable_jit():
            want = _look(kind, 12)
        assert _look(kind, 12) == want


def test_each_such_call_is_one_run() -> None:
    x = np.array(numpy.arange(4.0))
    with np.config(execution="compiled"):
        for _ in range(3):
            [a.tolist() for a in _two(x, 2.0)]
        with Counted() as c:
            for k in range(10):
                scaled, total = _two(x, float(k))
                assert (float(total), scaled.tolist()) == (6.0 + 4 * k, [0.0, k, 2.0 * k, 3.0 * k])
    assert (c.compiled_runs, c.reference_runs) == (10, 0)


def test_what_is_passed_twice_may_be_one_array() -> None:
    x, y = np.array(numpy.arange(4.0)), np.array(numpy.ones(4))
    f = np.jit(lambda x, y: (x * 2.0 + y).sum())
    assert [float(f(x, y)) for _ in range(3)] == [16.0] * 3
    assert [float(f(x, x.copy())) for _ in range(2)] == [18.0] * 2
    assert [float(f(x, x)) for _ in range(2)] == [18.0] * 2
    x += 1.0
    assert float(f(x, y)) == 24.0


@pytest.mark.parametrize("shape", [(), (4,), (2, 0)])
@pytest.mark.parametrize("number", [5, 2.5, 1j, True])
def test_a_number_may_come_before_an_array(shape: tuple[int, ...], number: Any) -> None:
    f = jit(lambda t, x, s: (t - 2 * x + s, t * 1))
    for k in range(4):
        x = numpy.full(shape, 3.0 + k)
        got, same = f(number, np.array(x), np.array([2.0, 7.0])[k % 2])
        numpy.testing.assert_array_equal(numpy.asarray(got), number - 2 * x + [2.0, 7.0][k % 2])
        assert same == number


def test_a_call_on_one_value_under_two_names_is_no_model_for_others() -> None:
    """Such a program takes the value once."""
    f = Jitted(lambda a, b: (a * 2 + b, b - 1), (), (), loops="auto", compiled="generic")
    x, y = np.array([0.5, 1.5, 2.5]), np.array([10.0, 11.0, 12.0])
    twin = new_array(x._read())
    for a, b in ((x, y), (x, twin), (x, y), (y, x)):
        got = list(map(numpy.asarray, f(a, b)))  # nothing else is pending
        a, b = numpy.asarray(a), numpy.asarray(b)
        assert numpy.array_equal(got, [a * 2 + b, b - 1])
