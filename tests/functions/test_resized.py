"""Arrays whose sizes change in the rounds of a loop under jit."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, jvp, make_jaxpr, vmap
from tests.helpers import loaded

FILE = Path(__file__).with_name("shrinking.py")
PLAIN, OURS = loaded(FILE, "plain_shrinking", numpy), loaded(FILE, "our_shrinking", np)
NAMES = [n for n, f in vars(PLAIN).items() if inspect.isfunction(f) and n[0] != "_"]
STAGED = [n for n in NAMES if n not in PLAIN.UNROLLED]
TREES = ["binomial_tree", "american_option", "newton_table", "history", "two_that_depend"]


def operands() -> tuple[Any, Any]:
    rng = numpy.random.default_rng(4)
    return rng.random(24) + 0.25, rng.random((11, 12))


def same(got: Any, want: Any) -> None:
    if isinstance(want, tuple):
        assert type(got) is tuple
        for x, y in zip(got, want, strict=True):
            same(x, y)
        return
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_as_numpy_runs_it(name: str) -> None:
    theirs, ours = operands(), [np.array(x) for x in operands()]
    want = getattr(PLAIN, name)(*theirs)
    jitted = jit(getattr(OURS, name))
    same(jitted(*ours), want)
    same(tuple(ours), theirs)
    assert ("unrolled" in str(np.explain(jitted))) == (name in PLAIN.UNROLLED)


@pytest.mark.parametrize("name", STAGED)
def test_staged(name: str) -> None:
    ours = [np.array(x) for x in operands()]
    same(jit(getattr(OURS, name), loops="stage")(*ours), getattr(PLAIN, name)(*operands()))


def total(name: str) -> Any:
    def f(x: Any, a: Any) -> Any:
        out = getattr(OURS, name)(x, a)
        return sum((np.sin(y) * 1.0).sum() for y in (out if type(out) is tuple else (out,)))

    return f


@pytest.mark.parametrize("name", [n for n in STAGED if n not in ("booleans", "lengths")])
def test_derivatives(name: str) -> None:
    x, a = [np.array(x) for x in operands()]
    if name == "integers_become_floats":
        x = x * 1.0
    with np.config(execution="reference"):  # what is right need not be compiled round by round
        want = grad(total(name), (0, 1))(x.copy(), a.copy())
        want = [numpy.asarray(w) for w in want]
    got = grad(jit(total(name)), (0, 1))(x.copy(), a.copy())
    same(tuple(got), tuple(want))


@pytest.mark.parametrize("name", TREES)
def test_forward_and_batched(name: str) -> None:
    x, a = [np.array(x) for x in operands()]
    f = total(name)
    tangents = np.cos(x), np.cos(a)
    same(jvp(jit(f), (x, a), tangents), tuple(map(numpy.asarray, jvp(f, (x, a), tangents))))
    rows = np.stack([x, x * 0.5, x * 0.75])
    want = [float(f(row.copy(), a.copy())) for row in rows]
    same(vmap(jit(f), (0, None))(rows, a), numpy.array(want))


@pytest.mark.parametrize("name", TREES)
def test_what_lies_outside_does_not_count(name: str) -> None:
    """Places that an array has left may hold infinity or nan."""
    x, a = operands()
    x[-1] = numpy.inf
    with numpy.errstate(all="ignore"):
        want = getattr(PLAIN, name)(x.copy(), a)
    same(jit(getattr(OURS, name))(np.array(x), np.array(a)), want)


def test_one_body_for_any_number_of_rounds() -> None:
    def tree(v):
        for _ in range(v.shape[0] - 1):
            v = 0.6 * v[1:] + 0.4 * v[:-1]
        return v[0]

    few, many = [len(str(make_jaxpr(jit(tree))(np.ones(n))).splitlines()) for n in (20, 2000)]
    assert few == many < 60


def test_a_result_that_shows_its_argument_cannot_be_written() -> None:
    def last(x):
        for _ in range(12):
            x = x[1:]
        return x

    def first_is(x):
        last(x)[0] = 3.0
        return x

    x = np.arange(20.0)
    assert jit(last)(x).tolist() == list(range(12, 20))
    with pytest.raises(TypeError, match="a loop gives an array another name"):
        jit(first_is)(x)


def test_negative_sizes_are_pythons() -> None:
    """A slice that has run out stays empty."""

    def runs_out(x):
        for _ in range(12):
            x = x[1:]
        return x

    assert jit(runs_out)(np.ones(5)).shape == (0,)


def test_a_view_sees_what_is_written_after_the_loop() -> None:
    def seen(x):
        y = x
        for _ in range(12):
            x = x[1:]
        y[15] = -1.0
        return x + 0

    assert jit(seen)(np.arange(20.0)).tolist() == [12, 13, 14, -1, 16, 17, 18, 19]
