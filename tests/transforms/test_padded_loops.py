"""Loops whose bodies take slices that grow: one program for the sizes of a bucket, right in every
round, with the errors of the rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.transforms._loop_at_once import LoopAtOnce

N = {0: "n"}
SQUARE = {0: "n", 1: "n"}
Body = Callable[[Any, Any, Any, Any], Any]


def vector(n: int) -> Any:
    return numpy.cos(numpy.arange(n) * 1.7) + 0.1


def matrix(n: int) -> Any:
    a = numpy.cos(numpy.arange(n * n)).reshape(n, n)
    return a @ a.T + n * numpy.eye(n)


def replaced(a: Any, index: Any, value: Any) -> Any:
    a = a.copy()
    a[index] = value
    return a


def cholesky(np: Any, i: Any, low: Any, a: Any) -> Any:
    row = low[i, :i]
    low = replaced(low, (i, i), np.sqrt(low[i, i] - row @ row))
    below = (low[i + 1 :, i] - low[i + 1 :, :i] @ row) / low[i, i]
    return replaced(low, (slice(i + 1, None), i), below)


def elimination(np: Any, k: Any, a: Any, _: Any) -> Any:
    a = replaced(a, (slice(k + 1, None), k), a[k + 1 :, k] / a[k, k])
    rest = a[k + 1 :, k + 1 :] - np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return replaced(a, (slice(k + 1, None), slice(k + 1, None)), rest)


# the carry is a number; each body tries slices of several kinds
NUMBERS: dict[str, Body] = {
    "fronts": lambda np, i, c, x: c + x[:i].sum() * (x[:i] @ x[:i][::-1]) - np.ones(i).sum(),
    "ends": lambda np, i, c, x: c + x[i:].sum() + x[i + 1 :].prod() + x[: -i - 1].sum(),
    "windows": lambda np, i, c, x: c + (x[i : 2 * i] ** 2).sum() + x[i // 2 : i + 3].mean(),
    "from behind": lambda np, i, c, x: c + x[x.shape[0] - i - 1 :].sum() + x[-i - 1 :].max(),
    "order": lambda np, i, c, x: c + np.sort(x[: i + 1])[0] + x[: i + 1].argmax(),
    "made": lambda np, i, c, x: c + np.concatenate([x[i:], np.arange(i) * 2.0]).sum(),
    "masks": lambda np, i, c, x: c + x[:i][x[:i] > 0].sum() + np.where(x[i:] > 0, 1, 2).sum(),
    "spread": lambda np, i, c, x: c + np.outer(x[:i], x[: i % 3]).sum() + x[:i:2].std(),
}
VECTORS: dict[str, Body] = {
    "prefix": lambda np, i, y, x: replaced(y, i, y[i] - (y[:i] * y[:i]).sum() * 0.1),
    "fronts": lambda np, i, y, x: replaced(y, slice(None, i + 1), np.sort(y[: i + 1])[::-1]),
    "ends": lambda np, i, y, x: replaced(y, slice(i + 1, None), y[i + 1 :] - x[i] * y[i]),
    "whole": lambda np, i, y, x: y + np.cumsum(x) * x[:i].sum(),
}
MATRICES: dict[str, Body] = {
    "cholesky": cholesky,
    "elimination": elimination,
    "sums": lambda np, i, s, a: replaced(s, (i, slice(i, None)), a[: i + 1, i:].sum(0)),
}
TABLES: tuple[tuple[Any, Any, Any, bool], ...] = (
    (NUMBERS, vector, N, False), (VECTORS, vector, N, True), (MATRICES, matrix, SQUARE, True),
)  # fmt: skip


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each loop ran as one program."""
    found: list[bool] = []
    call = LoopAtOnce.call

    def told(self: LoopAtOnce, *args: Any) -> Any:
        outs = call(self, *args)
        found.append(outs is not None)
        return outs

    monkeypatch.setattr(LoopAtOnce, "call", told)
    yield found


def looped(np: Any, body: Body, x: Any, start: Any) -> Any:
    if np is not numpy:
        return np.fori_loop(0, x.shape[0], lambda i, c: body(np, i, c, x), start)
    for i in range(len(x)):
        start = body(numpy, i, start, x)
    return start


def started(body: Body, carries: bool) -> Any:
    return lambda x: looped(np, body, x, x if carries else 0.0)


@pytest.mark.filterwarnings("ignore:Mean of empty", "ignore:Degrees", "ignore:invalid value")
@pytest.mark.parametrize("policy", ("compiled", "reference"))
def test_loops_are_right_at_every_size(policy: str, calls: list[bool]) -> None:
    """As one program in each bucket, and round by round."""
    with np.config(execution=policy):
        for bodies, make, axes, carries in TABLES:
            for name, body in bodies.items():
                f = np.jit(started(body, carries), abstracted_axes=axes)
                for n in (7, 5, 1, 0, 8)[: 5 if carries or policy == "reference" else 2]:
                    x = make(n)
                    want = looped(numpy, body, x, x if carries else 0.0)
                    got = numpy.asarray(f(np.array(x)))
                    assert got.shape == numpy.shape(want), name
                    numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=name)
                assert f._cache_size() == 1
    assert set(calls) == {policy == "compiled"}


def test_few_programs_serve_all_sizes(calls: list[bool]) -> None:
    f = np.jit(lambda x: looped(np, VECTORS["prefix"], x, x), abstracted_axes=N)
    with np.config(execution="compiled"):
        before = np.stats().compiles
        for n in [*range(2, 9), *range(2, 9)]:
            numpy.asarray(f(np.array(vector(n))))
        assert np.stats().compiles - before <= 2 * math.ceil(math.log2(8)) + 4
    assert all(calls)


def test_a_program_is_earned(calls: list[bool]) -> None:
    """Under `adaptive`, by what the rounds have taken."""
    f = np.jit(lambda x: looped(np, VECTORS["prefix"], x, x), abstracted_axes=N)
    with np.config(execution="adaptive"):
        for n in (60, 61, 62, 63) * 40:
            f(np.array(vector(n)))
            if calls[-1]:
                break
    assert calls[-1] and not any(calls[:3])


def test_errors_are_those_of_the_rounds(calls: list[bool]) -> None:
    """A size that turns out negative, a maximum of nothing, an index behind the end; and what is
    written before is not.
    """
    total = np.zeros(1)

    def negative(x: Any) -> Any:
        return np.fori_loop(0, x.shape[0], lambda i, c: c + np.ones(3 - i).sum(), 0.0)

    def nothing(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            total[0] += 1
            return c + x[i:-1].max()

        return np.fori_loop(0, x.shape[0] - 1, body, 0.0) + np.fori_loop(0, 9, body, 0.0)

    def behind(x: Any) -> Any:
        return np.fori_loop(0, x.shape[0] + 1, lambda i, c: c + x[i] * x[:i].sum(), 0.0)

    cases: tuple[tuple[Any, int, Any, Any, str], ...] = (
        (negative, 4, 6.0, 5, "negative dimensions are not allowed"),
        (nothing, 12, None, 6, "zero-size array to reduction operation maximum"),
    )
    with np.config(execution="compiled"):
        for f, good, want, bad, text in cases:
            jitted = np.jit(f, abstracted_axes=N)
            for _ in range(2):
                found = float(jitted(np.array(numpy.arange(float(good)))))
                assert want is None or found == want
                written = float(total[0])
                with pytest.raises(ValueError, match=text):
                    jitted(np.array(numpy.arange(float(bad))))
                assert float(total[0]) == written
        with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
            np.jit(behind, abstracted_axes=N)(np.array(numpy.arange(4.0)))
    assert True in calls and False in calls


def test_what_cannot_be_padded_runs_its_rounds(calls: list[bool]) -> None:
    """A size that nothing limits, and a carry that changes its own."""
    unlimited = np.jit(
        lambda x, n: np.fori_loop(0, 3, lambda i, c: c + np.ones(c.astype(int)).sum(), n),
        abstracted_axes=(N, ()),
    )
    growing = np.jit(
        lambda x: np.fori_loop(0, 2, lambda i, c: np.concatenate([c, x[:i]]), x), abstracted_axes=N
    )
    with np.config(execution="compiled"):
        assert float(unlimited(np.ones(2), 1.0)) == 8.0
        numpy.testing.assert_array_equal(growing(np.array([3.0, 4.0])), [3.0, 4.0, 3.0])
    assert not any(calls)


def test_derivatives_and_batches_of_such_loops() -> None:
    def f(x: Any) -> Any:
        return np.fori_loop(0, x.shape[0], lambda i, c: c + (x[:i] ** 2).sum(), 0.0)

    jitted = np.jit(f, abstracted_axes=N)
    with np.config(execution="compiled"):
        numpy.asarray(jitted(np.arange(4.0)))
        numpy.testing.assert_allclose(np.grad(jitted)(np.arange(4.0)), [0.0, 4.0, 4.0, 0.0])
        numpy.testing.assert_allclose(np.vmap(jitted)(np.arange(6.0).reshape(2, 3)), [1.0, 34.0])
