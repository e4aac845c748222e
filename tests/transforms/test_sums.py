"""Cotangents of arrays that are read part by part: values and costs."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import check_grads, fori_loop, grad, jit, vmap
from lazynp.primitives import _index_arrays
from lazynp.transforms import _kept
from tests.helpers import fresh_start


def elements(x: Any) -> Any:
    total = 0.0
    for i in range(12):
        total = total + np.sin(x[i]) * x[i] * x[(3 * i) % 12]
    return total


def rows(x: Any) -> Any:
    """Enough of a large array that they are written together."""
    x = np.concatenate([x.reshape(12, 1) * np.ones(200), np.ones((2, 200))])
    total = 0.0
    for i in range(12):
        total = total + (x[i] * x[i + 1 : i + 2, ::-1] * np.cos(x[0])).mean()
    return total + (x * x).mean() + x[::6, 3].sum()


def in_place(x: Any) -> Any:
    y = np.zeros(12)
    for i in range(12):
        y[i] = np.sin(x[i]) * (y[i - 1] if i else 1.0)
    return (y * y).sum()


def columns(x: Any) -> Any:
    y = x.reshape(3, 4) ** 2
    for i in range(4):
        y[:, i] *= y[1, 3 - i]
    return y[0, 0] * y[2] @ y[1]


def by_index(x: Any) -> Any:
    """Places that are known only when the loop runs, beside others."""
    y = np.zeros(12)

    def body(i: Any, c: Any) -> Any:
        y[i] = c * x[i] * x[11 - i] + x[3]
        return np.tanh(c + y[i])

    return fori_loop(0, 12, body, 1.0) + (y * x).sum()


def stacked(x: Any) -> Any:
    table = np.outer(x, x)
    return fori_loop(1, 12, lambda i, c: np.tanh(c + table[i] * table[i - 1]), x).sum()


FUNCTIONS = [elements, rows, in_place, columns, by_index, stacked]
X = numpy.linspace(0.4, 1.2, 12)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(f: Any) -> None:
    x = np.array(X)
    with np.config(execution="reference"):
        check_grads(f, (x,), order=2 if f in (elements, in_place) else 1)
        want = numpy.asarray(grad(f)(x))
        both = vmap(grad(f))(numpy.stack([X, X[::-1]]))
        numpy.testing.assert_allclose(both[0], want, rtol=1e-12)
        pushed = np.jvp(grad(f), (x,), (x,))[1]
        e = 1e-6
        moved = [numpy.asarray(grad(f)(np.array(X + s * e * X))) for s in (1, -1)]
    numpy.testing.assert_allclose(pushed, (moved[0] - moved[1]) / (2 * e), rtol=1e-5, atol=1e-6)
    numpy.testing.assert_allclose(jit(grad(f))(x), want, rtol=1e-12)


def test_as_many_operations_as_there_are_reads() -> None:
    def reading(n: int, width: int) -> int:
        def f(x: Any) -> Any:
            y = np.zeros((n, width))
            for i in range(n):
                y[i] = np.sin(x[i]) * (y[i - 1] if i else 1.0)
            return y.sum()

        return np.make_jaxpr(grad(f))(numpy.ones((n, width))).operations

    for width in (1, 300):
        assert reading(40, width) < 2.1 * reading(20, width)


def _steps(f: Any, x: Any) -> list[str]:
    """The operations of the backward pass that is kept for a gradient without `jit`."""
    fresh_start()
    _kept._programs.clear()
    _kept._seen.clear()
    with np.config(execution="adaptive", promotion=False):
        for _ in range(8):  # tapes of the first calls may differ: nothing is known of the loops
            numpy.asarray(grad(f)(np.array(x)))
    *_, program = _kept._programs.values()
    return [op.primitive.name for op, *_ in program.steps]


def unpacked(q: Any) -> Any:
    """A small vector taken apart, put together, and read as a whole too."""
    for _ in range(4):
        a, b, c = q
        q = q + 0.1 * np.array([a * b, b * c, c * a])
        q = q / np.sqrt((q * q).sum())
    return q[-1] * q[0] + q[0]


def test_elements_of_small_vectors_are_put_together_at_once() -> None:
    names = _steps(unpacked, X[:3])
    assert names.count("stack") == 5
    assert not {"full", "update_slice", "add_slice", "concatenate"} & set(names)
    x = np.array(X[:3])
    check_grads(unpacked, (x,), order=2)
    numpy.testing.assert_allclose(jit(grad(unpacked))(x), grad(unpacked)(x), rtol=1e-12)


def test_few_elements_of_a_vector_are_added_in_place() -> None:
    """Each vector is made of the one before: zeros for what is not read would be most of it."""

    def f(x: Any) -> Any:
        x = np.concatenate([x, x, x])
        for i in range(5):
            x = x * x[i] + x
        return x.sum()

    names = _steps(f, X)
    assert "stack" not in names and names.count("add_slice") == 5
    check_grads(f, (np.array(X),), order=1)


def test_nothing_of_the_arrays_size_is_made_in_a_round() -> None:
    """Where a loop reads an array here and there, its cotangent is added to in place."""

    def f(x: Any) -> Any:
        return fori_loop(1, 50, lambda i, c: c * 0.5 + x[i] * x[i - 1], 0.0)

    backward = [
        e for e in np.make_jaxpr(grad(f))(numpy.ones(50)).eqns if e.primitive.name == "scan"
    ]
    inner = backward[-1].params["jaxpr"].eqns
    large = {e.primitive.name for e in inner if e.outputs[0].aval.shape == (50,)}
    assert large == {"update_slice"}


def test_a_function_with_checks_is_compiled_once() -> None:
    f = jit(lambda x, i: np.sin(x)[i] * 1.25)
    x = np.array(X)
    first = float(f(x, 3))
    before = np.stats().compiles
    assert float(f(x, 3)) == first
    assert np.stats().compiles == before


def gathered(x: Any) -> Any:
    """Parts taken by index arrays, of one axis and of two, beside slices and the whole."""
    table = np.concatenate([x, np.zeros(2000)]).reshape(-1, 4) * 2
    total = (table * table).sum()
    for i in range(4):
        rows = np.array([i % 3, 1, i % 2])
        total = total + (table[rows] ** 3).sum() + np.sin(table[rows, [0, i, 2]]).sum()
        total = total + np.cos(table[[[1], [2]], rows]).sum() + table[:, 1].sum()
    return total


def scattered(x: Any) -> Any:
    """Parts written by index arrays, with duplicates, and read by others."""
    y = np.concatenate([x, np.ones(2000)])
    for i in range(4):
        index = np.array([i, 5, i, 11 - i])
        y[index] = np.tanh(y[index]) * y[index[::-1]]
        y[index] *= 1.5
        y[y > 1.2] *= 0.5
        np.add.at(y, index, y[:4] ** 2)
    return (y * y).sum()


@pytest.mark.parametrize("execution", ["compiled", "reference", "adaptive"])
@pytest.mark.parametrize("f", [gathered, scattered])
def test_what_index_arrays_take_and_write(f: Any, execution: str) -> None:
    x = np.array(X)
    with np.config(execution=execution):
        found = numpy.asarray(grad(f)(x))
        pushed = np.jvp(f, (x,), (np.ones(12),))[1]
        numpy.testing.assert_allclose(pushed, found.sum(), rtol=1e-12)
        numpy.testing.assert_allclose(jit(grad(f))(x), found, rtol=1e-12)
        if execution == "reference":
            numpy.testing.assert_allclose(
                vmap(grad(f))(np.stack([x, x])), [found, found], rtol=1e-12
            )
            check_grads(f, (x,), order=2, modes=["rev"] if f is scattered else ["fwd", "rev"])
    e = 1e-6
    for i in (0, 5, 11):
        step = numpy.eye(12)[i] * e
        change = float(f(np.array(X + step))) - float(f(np.array(X - step)))
        numpy.testing.assert_allclose(found[i], change / (2 * e), rtol=1e-5, atol=1e-7)


def test_what_is_taken_is_added_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []

    class Counting:
        def array(self, x: Any, *args: Any) -> Any:
            counts[-1] += getattr(x, "size", 0) > 1000
            return numpy.array(x, *args)

        def __getattr__(self, name: str) -> Any:
            return getattr(numpy, name)

    monkeypatch.setattr(_index_arrays, "np", Counting())
    places = numpy.random.default_rng(0).integers(0, 10_000, (40, 20))
    with np.config(execution="reference"):
        for n in (10, 40):
            counts.append(0)
            f = grad(lambda x, n=n: sum((np.sin(x[i]) * x[i]).sum() for i in places[:n]))
            numpy.asarray(f(np.ones(10_000)))
    assert counts[1] <= counts[0] + 1
