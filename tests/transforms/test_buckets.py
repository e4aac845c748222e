"""One program for the sizes of a bucket: right whatever lies behind the size, and few programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.transforms import _buckets

N = {0: "n"}
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 0)
Function = Callable[[Any, Any], Any]


def vector(n: int) -> Any:
    return numpy.linspace(0.5, 2.0, n)


def stored(np: Any, x: Any) -> Any:
    y = np.array(x)
    y[1:-1] = x[2:] - x[:-2]
    y[-1] = 3.0
    y[y > 2] = 0
    return y


def scattered(np: Any, x: Any) -> Any:
    y, z = x * 1.0, np.outer(x, x)
    y[np.argsort(-x)] = x * 10
    z[np.argsort(-x), 0] += 5.0
    z[:, np.arange(x.shape[0])[::2]] = 3.0
    return y, z


def added_at(np: Any, x: Any) -> Any:
    y = np.zeros(3)
    np.add.at(y, np.arange(x.shape[0]) % 3, x)
    return y


FUNCTIONS: dict[str, Function] = {
    "elementwise": lambda np, x: np.sin(x) * 2 + x // 0.3,
    "differences": lambda np, x: x[1:] - x[:-1],
    "stencil": lambda np, x: x[2:] - 2 * x[1:-1] + x[:-2],
    "sums": lambda np, x: (x.sum(), x.mean(), x.std(), x.prod()),
    "any, all": lambda np, x: ((x > 1).any(), (x > 0).all(), np.count_nonzero(x > 1)),
    "maxima": lambda np, x: (x.max(), x.min(), x.argmax(), x.argmin()),
    "maxima of ints": lambda np, x: (-x).astype(int).max() - (x * 3).astype(int).argmax(),
    "products": lambda np, x: (x @ x, np.outer(x, x) @ x, np.outer(x, x).sum(0)),
    "joined": lambda np, x: np.concatenate([x, x[1:], np.ones(2), x]),
    "padded": lambda np, x: np.pad(x, (2, 3), constant_values=7.0),
    "accumulated": lambda np, x: np.cumsum(x) * np.arange(x.shape[0]),
    "sorted": lambda np, x: (np.sort(-x), np.argsort(x % 0.7, kind="stable")),
    "sorted with nan": lambda np, x: np.sort(np.where(x > 1, np.nan, x)),
    "ends": lambda np, x: x[-1] + x[0],
    "stores": stored,
    "strides": lambda np, x: (x[::2], x[1::2]),
    "chosen": lambda np, x: np.where(x > 1, x, -x),
    "reshaped": lambda np, x: (np.stack([x, x], 1).ravel(), x.reshape(-1, 1) * x),
    "linspace": lambda np, x: x + np.linspace(0, 1, x.shape[0]),
    "rows": lambda np, x: np.tanh(np.stack([x, x * 2], 1) @ np.ones((2, 3))),
    "reversed": lambda np, x: (x[::-1] * 2, np.flip(x) + x, np.cumsum(x[::-1])),
    "reversed by steps": lambda np, x: (x[::-2] + 0, np.cumsum(x)[::-3] * 2, x[-2::-1] + 1),
    "reversed rows": lambda np, x: (
        np.flip(np.stack([x, x * 2], 1)) + np.stack([x, x], 0)[:, ::-1].T),
    "indexed": lambda np, x: (
        x[np.argsort(-x)], np.outer(x, x)[np.argsort(x % 0.7, kind="stable"), 0]),
    "indexed twice": lambda np, x: np.outer(x, x + 1)[
        np.arange(x.shape[0]), np.arange(x.shape[0])[::-1]],
    "indexed by a constant": lambda np, x: x[[0, -1]] * 2,
    "taken along": lambda np, x: np.take_along_axis(x, np.argsort(-x), 0) - x,
    "stored at places": scattered,
    "added at places": added_at,
    "looked up": lambda np, x: np.searchsorted(np.sort(x), x - 0.1),
}  # fmt: skip


def flat(out: Any) -> list[Any]:
    return [numpy.asarray(x) for x in (out if isinstance(out, tuple) else (out,))]


def with_nan(x: Any, shape: tuple[int, ...]) -> Any:
    """Padding that would spoil every result that it touched."""
    if numpy.shape(x) == shape:
        return x
    spoils = numpy.nan if x.dtype.kind in "fc" else -77
    out = numpy.full(shape, numpy.array(spoils).astype(x.dtype))
    out[tuple([slice(n) for n in x.shape])] = x
    return out


def bucketed(function: Any, axes: Any = N) -> tuple[Any, Callable[[], bool]]:
    f = np.jit(function, abstracted_axes=axes)
    return f, lambda: [*f._cache.values()][-1].sized.buckets.possible


REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "prod": lambda x: x.prod(),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(),
    "any": lambda x: x.any(),
    "all": lambda x: x.all(),
    "and": lambda x: np.bitwise_and.reduce(x),
    "or": lambda x: np.bitwise_or.reduce(x),
    "xor": lambda x: np.bitwise_xor.reduce(x),
    "cumsum": lambda x: x.cumsum(),
    "cumprod": lambda x: x.cumprod(),
    "sort": lambda x: np.sort(x),
    "argsort": lambda x: np.argsort(x, stable=True),
    "dot": lambda x: x @ x,
}
EDGES: dict[str, list[Any]] = {  # the values that a wrong neutral element would change
    "?": [True, False], "b": [-128, -1, 127, 6], "B": [255, 254, 0], "i": [-1, -(2**31), 2**31 - 1],
    "l": [-1, 14, -(2**63)], "f": [-0.0, numpy.inf, numpy.nan, 1.5], "d": [-0.0, -numpy.inf, 2.5],
    "D": [complex(-0.0, -0.0), 1 - 2j],
}  # fmt: skip


@pytest.fixture
def spoiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_buckets, "widened", with_nan)


@pytest.mark.usefixtures("spoiled")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", EDGES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_neutral_elements(name: str, dtype: str) -> None:
    reduce = REDUCTIONS[name]
    if dtype in "fdD" and name in ("and", "or", "xor"):
        return  # no such loop
    f = np.jit(reduce, abstracted_axes=N)
    for first in EDGES[dtype]:
        for n in (1, 3, 5, 7):
            # one value alone, and the others after it
            for x in (n * [first], [first, *(EDGES[dtype] * n)][:n]):
                a = numpy.array(x, dtype)
                with np.config(execution="compiled"):
                    got = numpy.asarray(f(a))
                with np.config(execution="reference"):
                    want = numpy.asarray(reduce(np.asarray(a)))
                assert got.dtype == want.dtype
                numpy.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.usefixtures("spoiled")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_lies_behind_the_size_does_not_matter(name: str) -> None:
    function = FUNCTIONS[name]
    f, in_bucket = bucketed(lambda x: function(np, x))
    with np.config(execution="compiled"):
        for n in SIZES:
            try:
                want = flat(function(numpy, vector(n)))
            except Exception as error:
                with pytest.raises((type(error), IndexError)):
                    f(vector(n))
                continue
            for a, b in zip(flat(f(vector(n))), want, strict=True):
                assert a.dtype == b.dtype and a.shape == b.shape
                numpy.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12, err_msg=str(n))
    assert in_bucket()


@pytest.mark.usefixtures("spoiled")
@pytest.mark.parametrize(
    "loss",
    [
        lambda x: (np.sin(x[1:]) * x[:-1]).sum(), lambda x: (x @ x) * x.std(),
        lambda x: np.cumsum(x).sum() + x.mean() ** 2,
    ],
)  # fmt: skip
def test_gradients_inside(loss: Any) -> None:
    f, _ = bucketed(np.grad(loss))
    with np.config(execution="compiled"):
        for n in (3, 5, 8):
            want = np.grad(loss)(np.array(vector(n)))
            numpy.testing.assert_allclose(f(vector(n)), want, rtol=1e-9)


@pytest.mark.parametrize(
    "function",
    [
        lambda np, x: np.outer(x, x).ravel(), lambda np, x: np.outer(x, x).reshape(-1, 1),
        lambda np, x: np.repeat(x, x.shape[0]), lambda np, x: np.tile(x, x.shape[0]),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_in_no_bucket(function: Function) -> None:
    f, in_bucket = bucketed(lambda x: function(np, x))
    with np.config(execution="compiled"):
        for n in (3, 5):
            numpy.testing.assert_allclose(f(vector(n)), function(numpy, vector(n)))
    assert not in_bucket()


NAMED: dict[str, Function] = {
    "product": lambda np, x, y: np.outer(x, y),
    "sums": lambda np, x, y: (x[:, None] * y).sum(0) / x.shape[0] + y.mean(),
    "sums of the other": lambda np, x, y: (x[:, None] - y).max(1),
    "joined": lambda np, x, y: np.concatenate([x, y[1:], x]),
    "network": lambda np, x, y: np.tanh(np.outer(x, y)) @ y + x,
    "sorted": lambda np, x, y: np.sort(x[:, None] % (y + 0.1), axis=0)[::-1],
    "searched": lambda np, x, y: np.searchsorted(x, y),
    "taken": lambda np, x, y: x[np.minimum((y * 3).astype(int), x.shape[0] - 1)],
    "distances": lambda np, x, y: np.sqrt(((x[:, None] - y[None]) ** 2).mean(1)),
    "mean of all": lambda np, x, y: np.outer(x, y).mean(),
}  # fmt: skip
PAIRS = ((3, 5), (1, 1), (2, 7), (4, 8), (9, 4), (6, 3))


@pytest.mark.usefixtures("spoiled")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMED)
def test_several_names(name: str) -> None:
    function = NAMED[name]
    f, in_bucket = bucketed(lambda x, y: function(np, x, y), ({0: "n"}, {0: "m"}))
    with np.config(execution="compiled"):
        for n, m in PAIRS:
            x, y = vector(n), vector(m) + 0.1
            got = f(x, y)
            numpy.testing.assert_allclose(
                got, function(numpy, x, y), rtol=1e-10, err_msg=f"{n} {m}"
            )
    assert in_bucket()


@pytest.mark.usefixtures("spoiled")
def test_gradients_of_several_names() -> None:
    loss = lambda w, x: (np.tanh(x @ w) ** 2).mean() + (w[::-1] * w).sum()  # noqa: E731
    f, in_bucket = bucketed(np.grad(loss, argnums=(0, 1)), ({0: "m"}, {0: "n", 1: "m"}))
    with np.config(execution="compiled"):
        for n, m in PAIRS:
            w, x = vector(m), numpy.outer(vector(n), vector(m) + 0.2)
            for a, b in zip(f(w, x), np.grad(loss, argnums=(0, 1))(w, x), strict=True):
                numpy.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert in_bucket()


@pytest.mark.parametrize("policy", ["compiled", "reference"])
def test_few_programs_for_all_sizes_of_two_axes(policy: str) -> None:
    f = np.jit(lambda x, y: (x[:, None] * y).sum(0) - y, abstracted_axes=({0: "n"}, {0: "m"}))
    with np.config(execution=policy):
        before = programs()
        for n in range(1, 70, 11):
            for m in range(1, 70, 7):
                numpy.testing.assert_allclose(
                    f(vector(n), vector(m)), (vector(n)[:, None] * vector(m)).sum(0) - vector(m)
                )
        made = programs() - before
    assert made <= 2 * math.ceil(math.log2(70)) + 4
    assert policy != "reference" or made == 0


def test_errors_tell_the_size_of_the_call() -> None:
    f, in_bucket = bucketed(lambda x, i: x[i] * 2, ({0: "n"}, {0: "m"}))
    with np.config(execution="compiled"):
        for n in (3, 4):
            numpy.testing.assert_allclose(
                f(vector(n), numpy.array([0, -1])), 2 * vector(n)[[0, -1]]
            )
            with pytest.raises(IndexError, match=rf"index 4 is out of bounds .* size {n}\b"):
                f(vector(n), numpy.array([0, 4, 1]))
    assert in_bucket()


# -- counters --------------------------------------------------------------------------------------


def programs() -> int:
    return np.stats().compiles + np.stats().cache_hits


@pytest.mark.parametrize("policy", ["adaptive", "compiled", "reference"])
def test_few_programs_for_all_sizes(policy: str) -> None:
    f, _ = bucketed(lambda x: np.sqrt(x[1:] * 2 + 1) * 3 - np.sort(x)[:-1] + x.mean())
    scale, largest = (400 if policy == "adaptive" else 1), 200
    with np.config(execution=policy):
        before = programs()
        for _ in range(2):
            for n in range(1, largest + 1, 3):
                numpy.asarray(f(vector(n * scale)))
        made = programs() - before
    assert made <= 2 * math.ceil(math.log2(largest * scale)) + 4
    assert policy != "reference" or made == 0


def halved(np: Any, x: Any) -> Any:
    while np is numpy and x.shape[0] > 9:
        x = x[::2] + x[0]
    if np is numpy:
        return x
    return np.while_loop(lambda c: c.shape[0] > 9, lambda c: c[::2] + c[0], x)


LIMITED: dict[str, tuple[Function, int]] = {  # in no bucket; and in how many pieces
    "raveled": (lambda np, x: np.outer(x, x).ravel() * 2, 1),
    "data decide": (lambda np, x: x[x > 1][1:] * 2, 2),
    "a loop that changes sizes": (halved, 3),
}  # fmt: skip


@pytest.mark.parametrize("policy", ["compiled", "reference"])
@pytest.mark.parametrize("name", LIMITED)
def test_few_programs_without_buckets(name: str, policy: str) -> None:
    """What has no room for a program runs by reference, whatever the policy."""
    function, pieces = LIMITED[name]
    f = np.jit(lambda x: function(np, x), abstracted_axes=N)
    with np.config(execution=policy):
        before = programs()
        for n in [*range(1, 20)] * 2:
            numpy.testing.assert_allclose(f(vector(n)), function(numpy, vector(n)))
        made = programs() - before
    assert made <= pieces * (2 * math.ceil(math.log2(19)) + 4)
    assert (made == 0) == (policy == "reference")


def test_few_programs_for_gradients_without_buckets() -> None:
    f = np.jit(lambda x: (np.outer(x, x).ravel() * 2).sum(), abstracted_axes=N)
    with np.config(execution="compiled"):
        before = programs()
        for n in range(1, 20):
            want = numpy.full(n, 4 * vector(n).sum())
            numpy.testing.assert_allclose(np.grad(f)(np.array(vector(n))), want)
        made = programs() - before
    assert made <= 3 * (2 * math.ceil(math.log2(19)) + 4)  # forwards, linear, backwards


def test_a_size_that_comes_often_has_its_own_program() -> None:
    f, _ = bucketed(lambda x: np.sin(x) * x.sum())
    with np.config(execution="compiled"):
        before = programs()
        for _ in range(_buckets._OFTEN + 5):
            numpy.testing.assert_allclose(f(vector(5)), numpy.sin(vector(5)) * vector(5).sum())
        assert programs() - before == 2
    (traced,) = f._cache.values()
    assert traced.sized is not None and traced.sized.buckets.exact == {(5,)}


def test_what_is_written_and_several_arguments() -> None:
    def g(w: Any, x: Any) -> Any:
        x += 1
        return np.tanh(x @ w)

    f, in_bucket = bucketed(g, ({}, {0: "n"}))
    w = numpy.arange(6.0).reshape(2, 3) / 7
    with np.config(execution="compiled"):
        for n in (3, 1, 5):
            x = np.array(numpy.ones((n, 2)))
            numpy.testing.assert_allclose(f(w, x), numpy.tanh(2 * numpy.ones((n, 2)) @ w))
            numpy.testing.assert_array_equal(x, 2 * numpy.ones((n, 2)))
    assert in_bucket()


def test_threads() -> None:
    f, _ = bucketed(lambda x: (x[1:] * x.shape[0]).sum())

    def sweep(first: int) -> list[float]:
        return [float(f(vector(n))) for n in range(first, first + 40)]

    with np.config(execution="compiled"):
        f(vector(3))
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(sweep, (1, 20, 40, 60)))
    for first, sums in zip((1, 20, 40, 60), found, strict=True):
        want = [(vector(n)[1:] * n).sum() for n in range(first, first + 40)]
        numpy.testing.assert_allclose(sums, want)
