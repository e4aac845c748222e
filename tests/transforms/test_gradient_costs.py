"""What gradients of programs that work in place cost: copies of whole arrays, memory, Python calls.

Counts, no times. They are to grow as the program does, and no faster.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jvp
from lazynp.primitives import _slicing


@pytest.fixture(autouse=True)
def _in_python() -> Iterator[None]:
    """The clock decides which gradients become programs."""
    with np.config(promotion=False):
        yield


def rows(x: Any) -> Any:
    """Each row is computed of the one before."""
    u = x.copy()
    for i in range(1, len(u)):
        u[i] = u[i] + 0.5 * np.tanh(u[i - 1])
    return (u * u).sum()


def stencil(rounds: int) -> Callable[[Any], Any]:
    def run(u: Any) -> Any:
        u = u.copy()
        for _ in range(rounds):
            u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return (u * u).sum()

    return run


def orthogonal(x: Any) -> Any:
    """Modified Gram-Schmidt, column by column."""
    q = x.copy()
    r = 0.0
    for k in range(q.shape[1]):
        norm = np.sqrt((q[:, k] * q[:, k]).sum())
        q[:, k] = q[:, k] / norm
        r = r + norm
        for j in range(k + 1, q.shape[1]):
            q[:, j] = q[:, j] - (q[:, k] * q[:, j]).sum() * q[:, k]
    return r + q[0].sum()


class Counting:
    """NumPy, for one module: counts the large arrays that are copied."""

    def __init__(self) -> None:
        self.copies = 0
        self.nbytes = 0

    def array(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(x, "size", 0) >= 1000:
            self.copies += 1
            self.nbytes += x.nbytes
        return numpy.array(x, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    counter = Counting()
    monkeypatch.setattr(_slicing, "np", counter)
    with np.config(execution="reference"):
        yield counter


def calls_of(f: Callable[[], Any]) -> int:
    """How many functions of Python are called."""
    count = 0

    def seen(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call"

    f()  # templates are made, ops inferred
    sys.setprofile(seen)
    try:
        f()
    finally:
        sys.setprofile(None)
    return count


def peak_of(f: Callable[[], Any]) -> int:
    """The most bytes held at once, beside what there was."""
    f()
    gc.collect()
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def wide(n: int, width: int = 500) -> Any:
    return np.array(numpy.random.default_rng(0).random((n, width)))


@pytest.mark.parametrize("before", [False, True])
def test_rows_copy_nothing_whole(counting: Counting, before: bool) -> None:
    """Also where the loop was met without its gradient before, and is cut at each round."""
    x = wide(200)
    if before:
        for _ in range(3):
            numpy.asarray(rows(x))
    got = numpy.asarray(grad(rows)(x))
    counting.copies = 0
    numpy.asarray(grad(rows)(x))
    assert counting.copies <= 2
    assert peak_of(lambda: numpy.asarray(grad(rows)(x))) <= 10 * x.nbytes
    h, i = 1e-6, (57, 3)
    ahead, behind = numpy.array(x), numpy.array(x)
    ahead[i] += h
    behind[i] -= h
    want = (float(rows(np.array(ahead))) - float(rows(np.array(behind)))) / (2 * h)
    numpy.testing.assert_allclose(got[i], want, rtol=1e-5)


def test_rows_forward(counting: Counting) -> None:
    """Tangents are pushed without any version of the array being kept."""
    x = wide(200)
    push = lambda: numpy.asarray(jvp(rows, (x,), (x,))[1])  # noqa: E731
    push()
    counting.copies = 0
    push()
    assert counting.copies <= 3
    assert peak_of(push) <= 10 * x.nbytes


@pytest.mark.parametrize("f, more", [(rows, 2), (orthogonal, 4)])
def test_calls_are_linear(f: Any, more: int) -> None:
    """rows: twice the rounds; orthogonal: four times the operations."""
    small, large = (wide(60), wide(120)) if f is rows else (wide(50, 8), wide(50, 16))
    with np.config(execution="reference"):
        a, b = (calls_of(lambda x=x: numpy.asarray(grad(f)(x))) for x in (small, large))
    assert b < 1.15 * more * a


def test_bytes_of_a_stencil(counting: Counting) -> None:
    """One copy a round, of what the next round writes while its cotangent is read."""
    x = wide(100, 100)
    found = []
    for rounds in (8, 16):
        run = grad(stencil(rounds))
        numpy.asarray(run(x))
        counting.nbytes = 0
        numpy.asarray(run(x))
        found.append(counting.nbytes / x.nbytes)
        assert found[-1] <= rounds + 2
        assert peak_of(lambda run=run: numpy.asarray(run(x))) <= 10 * x.nbytes
    assert found[1] <= 2 * found[0]


@pytest.mark.parametrize("execution", ["compiled", "reference", "adaptive"])
def test_the_same_under_all_policies(execution: str) -> None:
    x = wide(12, 5)
    with np.config(execution="reference"):
        want = [numpy.asarray(grad(f)(x)) for f in (rows, stencil(4), orthogonal)]
    with np.config(execution=execution):
        for f, expected in zip((rows, stencil(4), orthogonal), want, strict=True):
            numpy.testing.assert_allclose(grad(f)(x), expected, rtol=1e-9, atol=1e-12)
            pushed = jvp(f, (x,), (np.ones_like(x),))[1]
            numpy.testing.assert_allclose(pushed, expected.sum(), rtol=1e-9, atol=1e-9)


def test_a_view_that_outlives_what_is_written() -> None:
    """A handle that a transformation wrote several times holds at its end what it held at first, or
    the primal of the last."""
    kept = np.zeros(3)

    def f(x: Any) -> Any:
        for i in range(3):
            kept[i] = x * i
            kept[i] += 1
        return kept.sum()

    assert grad(f)(2.0) == 3
    assert kept.tolist() == [1, 3, 5]
    assert jvp(lambda x: grad(f)(x), (2.0,), (1.0,))[1] == 0
    assert kept.tolist() == [1, 3, 5]
