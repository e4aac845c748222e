"""Jitted functions that meet many sizes: what is compiled, and when. Counts, no clocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _cost
from lazynp._graph import forget

DATA = numpy.linspace(0.5, 2.0, 4000)


def stencil(x: Any) -> Any:
    y = np.sqrt(x * 2 + 1) * 3
    z = y[1:] - y[:-1]
    return z * z + z / 2


def compiled_by(run: Callable[[], Any]) -> int:
    forget()
    before = np.stats().compiles + np.stats().cache_hits
    run()
    return np.stats().compiles + np.stats().cache_hits - before


ARGUMENTS: dict[str, Callable[[Any, int], Any]] = {
    "lazy": lambda _, n: np.array(DATA[:n]),
    "numpy": lambda _, n: DATA[:n],
    "slices": lambda whole, n: whole[:n],
    "pending": lambda _, n: np.arange(n) * 0.5,
}


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_sizes_met_a_few_times_compile_nothing(kind: str) -> None:
    whole, f = np.array(DATA), np.jit(stencil)

    def sweep() -> None:
        for _ in range(3):
            for n in range(1000, 1030):
                x = ARGUMENTS[kind](whole, n)
                numpy.testing.assert_array_equal(f(x), stencil(x))

    with np.config(execution="adaptive"):
        assert compiled_by(sweep) == 0


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_each_size_is_compiled_once(kind: str) -> None:
    whole, f = np.array(DATA), np.jit(stencil)
    made = []

    def sweep() -> None:
        for _ in range(3):
            before = np.stats().compiles + np.stats().cache_hits
            for n in range(1000, 1004):
                x = ARGUMENTS[kind](whole, n)
                numpy.asarray(f(x))  # while x is alive
            made.append(np.stats().compiles + np.stats().cache_hits - before)

    with np.config(execution="compiled"):
        compiled_by(sweep)
    # the arguments of "pending" are computed by programs of their own, or with the first call
    assert made[0] >= 4 and made[1:] == [0, 0]


def test_what_its_runs_have_cost_pays_for_a_program() -> None:
    f, x = np.jit(stencil), np.linspace(0.5, 2.0, 50_000)  # too long for a sequence
    jaxpr = f.trace(x)
    one_run = _cost.by_reference(jaxpr)
    building = _cost.PROGRAM + sum(_cost.compiling(e.primitive, e.params) for e in jaxpr.eqns)
    runs = 0
    with np.config(execution="adaptive"):

        def until_compiled() -> None:
            nonlocal runs
            before = np.stats().compiles + np.stats().cache_hits
            while np.stats().compiles + np.stats().cache_hits == before and runs < 10_000:
                numpy.asarray(f(x))
                runs += 1

        assert compiled_by(until_compiled) == 1
    assert 1 < runs < building / (one_run - _cost.DISPATCH) + 2


def test_a_large_call_is_compiled_when_it_is_first_met() -> None:
    f, x = np.jit(stencil), np.ones(3_000_000)
    with np.config(execution="adaptive"):
        assert compiled_by(lambda: numpy.asarray(f(x))) == 1


def test_loops_of_unknown_length_are_compiled_when_they_are_first_met() -> None:
    @np.jit
    def collatz(n: Any) -> Any:
        return np.while_loop(
            lambda c: c[0] != 1, lambda c: (np.where(c[0] % 2, 3 * c[0] + 1, c[0] // 2), c[1] + 1),
            (n, 0),
        )[1]  # fmt: skip

    with np.config(execution="adaptive"):
        assert compiled_by(lambda: int(collatz(27))) == 1
    assert int(collatz(27)) == 111


def test_long_loops_are_compiled_when_they_are_first_met_and_short_ones_are_not() -> None:
    def powers(count: int) -> Any:
        return np.jit(lambda x: np.fori_loop(0, count, lambda i, c: c * 0.5 + i, x))

    with np.config(execution="adaptive"):
        assert compiled_by(lambda: float(powers(100_000)(1.0))) == 1
        assert compiled_by(lambda: float(powers(3)(1.0))) == 0


def test_what_is_asked_for_is_compiled() -> None:
    x = np.array(DATA[:100])
    with np.config(execution="adaptive"):
        lowered = np.jit(stencil).lower(x).compile()
        assert compiled_by(lambda: numpy.asarray(lowered(x))) == 1


def test_gradients_by_the_reference_rules() -> None:
    x = numpy.linspace(0.1, 1, 50)
    loss = np.jit(lambda x: (stencil(x) ** 2).sum())
    by_policy = []
    for policy in ("adaptive", "compiled", "reference"):
        with np.config(execution=policy):
            by_policy.append(numpy.asarray(np.grad(loss)(x)))
            by_policy.append(numpy.asarray(np.jit(np.grad(loss))(x)))
    for got in by_policy[1:]:
        numpy.testing.assert_allclose(got, by_policy[0], rtol=1e-12)
