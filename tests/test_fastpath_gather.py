"""Rows that index arrays or masks name: each bit, shape, order and error must be NumPy's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp._recorder import local
from tests.helpers import be_eager
from tests.test_fastpath_kernels import check, stored
from tests.test_fastpath_loops import numbers

pytestmark = pytest.mark.own_policy

SHAPES = [(7,), (7, 1), (7, 2), (7, 3), (7, 9), (7, 3, 2), (2, 7, 4), (7, 700), (3, 0), (0, 3)]
DTYPES = "?bHiqefdFD"


@pytest.fixture(autouse=True)
def eagerly() -> Iterator[None]:
    with np.config(execution="adaptive"):
        local.recorder.reset_policy()
        be_eager()
        yield
    local.recorder.reset_policy()


def indices(n: int, seed: int) -> list[Any]:
    """Arrays of places on an axis of n: the last two have one that does not exist."""
    rng = numpy.random.default_rng(seed)
    few = rng.integers(-n, n, 11) if n else numpy.zeros(0, int)
    many = rng.integers(-n, n, 1300) if n else numpy.zeros(0, int)
    wrong, below = few.copy(), many.copy()
    wrong[-1:] = n
    below[-1:] = -n - 1
    return [few, many, few[:0], few[:1], few.reshape(-1, 1), wrong, below]


def made(shape: tuple[int, ...], dtype: str) -> Any:
    return numbers(dtype, int(numpy.prod(shape))).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_get(shape: tuple[int, ...]) -> None:
    for dtype in DTYPES:
        x = made(shape, dtype)
        for at, k in enumerate(indices(shape[0], 3)):
            check(lambda np, x, k: x[k], x, k.astype("qiqhBq"[at % 6]))
            check(lambda np, x, k: np.take(x, k, axis=0), x, k)
            check(lambda np, x, k: x[(k,)], x, k.astype("i"))
        x = made(shape, "d")
        for k in indices(shape[0], 4)[:5]:
            check(lambda np, x, k: x[::-1][k], x, k)
            check(lambda np, x, k: x[k[::-1]], x, k)
            check(lambda np, x, k: x[k.T], x, k)
            check(lambda np, x, k: x.T[..., k], x, k)


@pytest.mark.parametrize("shape", [s for s in SHAPES if len(s) > 1])
def test_get_by_two(shape: tuple[int, ...]) -> None:
    for dtype in "?idD":
        x = made(shape, dtype)
        for i, j in zip(indices(shape[0], 5), indices(shape[1], 6), strict=True):
            check(lambda np, x, i, j: x[i, j], x, i, j)
            check(lambda np, x, i, j: x[i, j], x, i, j.astype("i"))
            check(lambda np, x, i, j: x[i, j[:1]], x, i, j)
            check(lambda np, x, i, j: x[i, :, None], x, i, j)
            check(lambda np, x, i, j: x[i, 0] if x.shape[1] else x, x, i, j)
            check(lambda np, x, i, j: x[i[::-1], j], x, i, j)
            if len(shape) == 3:
                check(lambda np, x, i, j: x[i, j, i * 0], x, i, j)
                check(lambda np, x, i, j: x[i, :, i * 0], x, i, j)


@pytest.mark.parametrize("shape", SHAPES)
def test_set(shape: tuple[int, ...]) -> None:
    for dtype in DTYPES:
        x = made(shape, dtype)
        for k in indices(shape[0], 7):
            rows = numpy.roll(made((*k.shape, *shape[1:]), dtype).ravel(), 3)
            rows = rows.reshape(*k.shape, *shape[1:])
            for value in (True, 3, -1, 300, 2.5, float("nan"), 1j, rows, rows[:1], rows.T):
                check(stored, x, k, value)
            check(stored, x, k.astype("i"), rows.astype("d") if dtype in "iqefd" else rows)
        x = made(shape, "d")
        for k in indices(shape[0], 8)[:5]:
            check(stored, x, k, lambda x: (x[:2] * 2)[:1])
            check(stored, x, k, lambda x, k=k: x[k])
            check(stored, x, k, lambda x: x[::-1][:1])


def test_set_by_two() -> None:
    for shape in SHAPES[1:7]:
        for dtype in "?idD":
            x = made(shape, dtype)
            for i, j in zip(indices(shape[0], 5), indices(shape[1], 6), strict=True):
                rows = made((*i.shape, *shape[2:]), dtype)
                for value in (1, 2.5, rows, rows[:1]):
                    check(lambda np, x, i, j, v=value: stored(np, x, (i, j), v)[:2], x, i, j)
                    check(lambda np, x, i, j, v=value: stored(np, x, (i, 0), v)[:2], x, i, j)


def test_an_index_that_is_the_array() -> None:
    for k in (numpy.array([3, 1, 0, 2]), numpy.array([2, 2, 1, 0], "i")):
        check(lambda np, k: k[k], k)
        check(lambda np, k: stored(np, k, k.copy(), k[::-1].copy()), k)
        check(lambda np, k: stored(np, k, k, 0)[0], k)


@pytest.mark.parametrize("shape", SHAPES)
def test_masks_of_rows(shape: tuple[int, ...]) -> None:
    n = shape[0] * 100
    for p in (0.0, 0.02, 0.5, 1.0):
        mask = numpy.random.default_rng(3).random(n) < p
        for dtype in DTYPES:
            x = numpy.tile(made(shape, dtype), (100, *(1,) * (len(shape) - 1)))
            check(lambda np, x, m: x[m], x, mask)
            check(lambda np, x, m: x[m[:-1]], x, mask)
            rows = x[mask][::-1].copy()
            for value in (1, 2.5, float("inf"), rows, rows[:1], rows[:, :1] if x.ndim > 1 else 0):
                check(stored, x, mask, value)
            check(lambda np, x, m: stored(np, x, m, x[m])[0], x, mask)


def test_threads_that_write_other_elements() -> None:
    """Long kernels run without the interpreter's lock. Each writes only what its mask names."""
    x, rows = np.zeros(20_000), np.zeros((20_000, 3))
    of_threads = [numpy.arange(20_000) % 3 == k for k in range(3)]
    failed: list[Exception] = []

    def run(k: int) -> None:
        try:
            mask, places = np.array(of_threads[k]), np.array(numpy.flatnonzero(of_threads[k]))
            for step in range(40):
                x[mask] = k + step
                rows[mask] = rows[mask] + 1.0
                rows[places] += 1.0
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed
    assert x.tolist() == [k % 3 + 39.0 for k in range(20_000)]
    assert (numpy.asarray(rows) == 80.0).all()


@given(data=st.data())
def test_sums_of_gathered(data: st.DataObject) -> None:
    """`x[k] += v`, whose last write wins, in between other changes."""
    n = data.draw(st.integers(1, 6))
    places = st.lists(st.integers(-n, n - 1), min_size=1, max_size=8)
    steps = data.draw(st.lists(st.tuples(st.integers(0, 3), places, places), max_size=6))

    def run(np: Any) -> Any:
        x = np.array(numpy.arange(n * n * 2.0).reshape(n, n, 2))
        kept = []
        for what, i, j in steps:
            i, j = np.array(i), np.array((j * len(i))[: len(i)])
            if what == 0:
                x[i, j] += x[j, i] * 0.5
            elif what == 1:
                x[i] -= 1.0
            elif what == 2:
                kept.append(x[j])
            else:
                x[x[:, 0, 0] > i.sum()] = -1.0
            kept.append(x[i, j])
        return [*kept, x]

    check(run)
