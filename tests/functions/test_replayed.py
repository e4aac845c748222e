"""Composed functions that are recorded from a template: the nodes that Python would record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._node import ARGS, OP, VALUE
from lazynp._recorder import local
from lazynp.functions import _replayed
from tests.helpers import fresh_start

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def recorded() -> Any:
    with np.config(execution="compiled"):
        fresh_start()
        _replayed._templates.clear()
        yield
        fresh_start()


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mean": lambda np, x, y: np.mean(x),
    "mean of an axis": lambda np, x, y: np.mean(x, axis=1, keepdims=True),
    "var": lambda np, x, y: np.var(x, ddof=1),
    "std": lambda np, x, y: np.std(x, axis=0),
    "stack": lambda np, x, y: np.stack([x, y], axis=-1),
    "concatenate": lambda np, x, y: np.concatenate((x, y, x), axis=1),
    "vstack": lambda np, x, y: np.vstack([x, y]),
    "roll": lambda np, x, y: np.roll(x, -2, axis=1),
    "roll of all": lambda np, x, y: np.roll(x, 3),
    "where": lambda np, x, y: np.where(x > y, x, 0.5),
    "zeros": lambda np, x, y: np.zeros((3, 4)) + x,
    "zeros of integers": lambda np, x, y: np.zeros((3, 4), dtype=int) + x,
    "full": lambda np, x, y: np.full((2, 2), -0.0),
    "zeros_like": lambda np, x, y: np.zeros_like(x) + y,
    "outer of one": lambda np, x, y: np.outer(x, x),
    "outer of two": lambda np, x, y: np.outer(x, y),
    "tile": lambda np, x, y: np.tile(x, (2, 1)),
    "clip": lambda np, x, y: np.clip(x, 0.25, y),
    "norm": lambda np, x, y: np.linalg.norm(x - y),
    "diff": lambda np, x, y: np.diff(x, axis=1),
    "pad": lambda np, x, y: np.pad(x, 1, mode="edge"),
    "trapezoid": lambda np, x, y: np.trapezoid(x, dx=0.5),
    "tril": lambda np, x, y: np.tril(x, k=-1),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
def test_values_are_those_of_numpy(call: Any, dtype: str) -> None:
    for k in range(5):
        xs = [(numpy.arange(12.0).reshape(3, 4) * 0.3 + k + j).astype(dtype) for j in range(2)]
        try:
            expected = call(numpy, *xs)
        except (TypeError, ValueError) as e:
            with pytest.raises(type(e)):
                call(np, *map(np.asarray, xs))
            continue
        got = call(np, *map(np.asarray, xs))
        assert got.dtype == expected.dtype and got.shape == expected.shape
        numpy.testing.assert_allclose(numpy.asarray(got), expected, rtol=1e-5)
        if expected.dtype.kind == "f":
            assert (numpy.signbit(numpy.asarray(got)) == numpy.signbit(expected)).all()


def _nodes(call: Any) -> list[Any]:
    x, y = np.ones((3, 4)) + 0.5, np.ones((3, 4)) * 2.0
    fresh_start()
    keep = call(np, x, y)
    nodes = list(local.recorder.pending)
    places = {id(n): i for i, n in enumerate(nodes)}
    del keep
    return [
        (n[OP], [places.get(id(a), "leaf") if type(a) is list else a for a in n[ARGS]])
        for n in nodes
        if n[VALUE] is None
    ]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_nodes_are_those_of_the_function(call: Any) -> None:
    first = _nodes(call)
    assert [_nodes(call) for _ in range(4)] == [first] * 4


def test_the_third_call_runs_no_function(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.arange(6.0), np.ones(6)
    learnt = []
    learn = _replayed._learn
    monkeypatch.setattr(_replayed, "_learn", lambda *args: learnt.append(1) or learn(*args))
    np.stack([x, y])
    np.stack([x, y])
    assert learnt
    learnt.clear()
    for _ in range(4):
        np.stack([x, y])
    assert not learnt


def test_kinds_are_told_apart() -> None:
    x = np.arange(4.0)
    for _ in range(4):
        assert numpy.signbit(numpy.asarray(np.full(2, -0.0))).all()
        assert not numpy.signbit(numpy.asarray(np.full(2, 0.0))).any()
        assert np.full(2, 1).dtype == int and np.full(2, True).dtype == bool
        assert np.full(2, 1.0).dtype == float
        assert np.roll(x, 1)[0] == 3.0 and np.roll(x, True)[0] == 3.0 and np.roll(x, 0)[0] == 0.0
    y = x[::-1]
    for _ in range(4):
        assert (
            numpy.asarray(np.outer(x, x)).tolist() == numpy.outer(*[numpy.arange(4.0)] * 2).tolist()
        )
        assert np.outer(x, y)[1, 0] == 3.0 and np.outer(y, x)[0, 1] == 3.0


def test_errors_come_as_before() -> None:
    x, y = np.ones(3), np.ones(4)
    for _ in range(4):
        with pytest.raises(ValueError, match="must have the same shape"):
            np.stack([x, y])


def test_transformations_see_each_operation() -> None:
    def f(x: Any) -> Any:
        return np.linalg.norm(np.concatenate([x, 2.0 * x]))

    x = np.arange(1.0, 4.0)
    for _ in range(4):
        f(x)
        numpy.testing.assert_allclose(
            numpy.asarray(np.grad(f)(x)), numpy.sqrt(5) * numpy.asarray(x) / numpy.linalg.norm(x)
        )


def test_warnings_are_noticed() -> None:
    x = np.array([1e200, 1e200])
    for _ in range(3):
        np.linalg.norm(x)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        np.linalg.norm(x * 1e200)
