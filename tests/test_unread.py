"""A loop's program omits results that nobody reads; reading one later still works."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _graph, _unread
from lazynp.functions.tools import compute
from tests.helpers import fresh_start

N = 4000  # elements: large enough to be worth leaving out


@pytest.fixture(autouse=True)
def compiled() -> Iterator[None]:
    fresh_start()
    with np.config(execution="compiled"):
        yield
    fresh_start()


def lean_plans() -> list[Any]:
    return [p.lean for p in _graph._plans.values() if p.lean is not None]


def step(np: Any, x: Any) -> tuple[Any, Any, Any]:
    """A step of a loop: the new value, and temporaries that are alive when the loop is flushed."""
    squared = x * x
    bounded = squared / (1.0 + squared)
    return x + 0.125 * bounded, squared, bounded


def loop(np: Any, x: Any, steps: int) -> tuple[Any, Any, Any]:
    squared = bounded = x
    for _ in range(steps):
        x, squared, bounded = step(np, x)
        np.materialize(x) if hasattr(np, "materialize") else None
    return x, squared, bounded


def start() -> Any:
    return numpy.linspace(-2.0, 2.0, N)


def test_temporaries_are_left_out() -> None:
    x, squared, bounded = loop(np, np.array(start()), 12)
    (lean,) = lean_plans()
    assert len(lean.outputs) == 1 and len(lean.left_out) == 2
    assert lean.runs >= 6
    for got, want in zip((x, squared, bounded), loop(numpy, start(), 12), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(got), want)


def test_what_is_read_stays() -> None:
    x = np.array(start())
    total = 0.0
    for _ in range(12):
        x, squared, _bounded = step(np, x)
        np.materialize(x)
        total += float(squared[3])
    for lean in lean_plans():
        assert len(lean.left_out) == 1
    want, y = 0.0, start()
    for _ in range(12):
        y, squared, _ = step(numpy, y)
        want += squared[3]
    assert total == want


def test_the_host_value_of_a_large_result_counts_as_read() -> None:
    x = np.array(start())
    for _ in range(12):
        x, squared, bounded = step(np, x)
        np.materialize(x)
        numpy.asarray(squared)
        numpy.asarray(bounded)
    assert not lean_plans()


def test_a_program_that_is_often_wrong_is_given_up() -> None:
    x = np.array(start())
    for _ in range(8):
        x, squared, bounded = step(np, x)
        np.materialize(x)
    (plan,) = [p for p in _graph._plans.values() if p.lean is not None]
    for _ in range(8):
        x, squared, bounded = step(np, x)
        np.materialize(x)
        numpy.testing.assert_array_equal(
            numpy.asarray(bounded), numpy.asarray(squared) / (1.0 + numpy.asarray(squared))
        )
    assert plan.regrets > 0 and plan.lean is None


def test_what_it_is_computed_from_may_be_written_later() -> None:
    x, y = np.array(start()), start()
    for _ in range(12):
        twice = x * 2.0
        moved = x + 1.0
        x[5:10] = moved[5:10] * 0.5
        np.materialize(x)
        twice_y = y * 2.0
        y[5:10] = (y + 1.0)[5:10] * 0.5
        numpy.testing.assert_array_equal(numpy.asarray(x), y)
    x[:] = 0.0
    numpy.testing.assert_array_equal(numpy.asarray(twice), twice_y)
    assert twice.shape == moved.shape


def test_watching_keeps_nothing_alive() -> None:
    x = np.array(start())
    kept = []
    for _ in range(3):
        x, squared, bounded = step(np, x)
        np.materialize(x)
        kept.append(weakref.ref(squared._node[2]))
    del squared, bounded, x
    gc.collect()
    assert all(r() is None for r in kept)


def test_small_results_are_not_watched() -> None:
    x = np.array(numpy.linspace(-2.0, 2.0, 10))
    loop(np, x, 12)
    assert not lean_plans()
    assert _unread._WORTH_LEAVING > 80


def written(x, i):
    for k in range(20):
        x[i + k] = x[i + k] * 0.5 + 1
    return x[i]


def test_an_array_that_a_function_writes_is_read() -> None:
    """It has another node than the result by then. Without it, its program would be another one,
    and all would run twice.
    """
    call, before = np.jit(written), 0
    with np.config(execution="compiled", background=False):
        for k in range(8):
            x = np.ones(3000)
            compute(x)
            compute(call(x, np.array(k)))
            compute(x)
            before = before if k > 2 else np.stats().compiles
    assert np.stats().compiles == before
    assert numpy.asarray(x)[6:10].tolist() == [1.0, 1.5, 1.5, 1.5]
