"""Small programs as sequences: jitted functions of a few small operations, which C runs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp import _alone
from lazynp._fronts import BUILT
from lazynp._node import VALUE
from lazynp._sequences import sequence_of
from tests.helpers import Counted

pytestmark = [
    pytest.mark.own_policy,
    pytest.mark.skipif(not BUILT, reason="sequences run in the part in C"),
]
TIMES = _alone.TIMES + 3  # calls until one may run at once


@pytest.fixture(autouse=True)
def _adaptive() -> Iterator[None]:
    with np.config(execution="adaptive"):
        yield


def warm(f: Callable[..., Any], *args: Any) -> None:
    for _ in range(TIMES):
        for x in np.tree.leaves(f(*args)):
            numpy.asarray(x)


def runs_at_once(f: Callable[..., Any], *args: Any) -> bool:
    out: list[Any] = np.tree.leaves(f(*args))
    return all(x._node[VALUE] is not None for x in out)


def X() -> Any:
    return np.linspace(0.5, 2.0, 12).reshape(3, 4) + 0.0


BODIES: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise": lambda np, x: np.sin(x) * 2.0 + x**2,
    "a sum": lambda np, x: (x * x).sum(),
    "sums of rows": lambda np, x: {"rows": x.sum(axis=1), "all": x.mean()},
    "a product": lambda np, x: x @ x.T,
    "views": lambda np, x: (x[1:] - x[:-1], x.T + 0.0, x[::-1].copy()),
    "a view alone": lambda np, x: (x + 1.0)[1:],
    "a transposed result": lambda np, x: (x * 2.0).T,
    "a broadcast": lambda np, x: np.broadcast_to(x[0] * 3.0, (5, 4)) + 0.0,
    "one result twice": lambda np, x: [x * 2.0] * 2,
    "an operand and a constant": lambda np, x: (x, np.ones(3), x * np.arange(4.0)),
    "a copy": lambda np, x: x.copy(),
    "choices": lambda np, x: np.where(x > 1.0, x, -x),
    "bools": lambda np, x: (x > 1.0, (x > 1.0).any()),
    "ints": lambda np, x: (np.argmax(x), np.argsort(x, axis=1), x.astype("i4")),
    "in place": lambda np, x: _in_place(np, x),
    "of two results": lambda np, x: np.divmod(x, 0.75),
    "solved": lambda np, x: np.linalg.solve(x @ x.T + np.eye(3), x),
    "warnings": lambda np, x: np.log(x - x) + 1.0 / (x - x),
    "numbers": lambda np, x: x[0, 0] * 2.0,
    "complex": lambda np, x: np.abs(x * 1j + 2.0),
    "float32": lambda np, x: x.astype("f4") * 2.0,
    "nothing left": lambda np, x: x[:0].sum(axis=0),
}


NOT_ALONE = ("an operand and a constant", "one result twice")  # results that are no new arrays


def _in_place(np: Any, x: Any) -> Any:
    y = np.zeros((3, 4))
    y[1:] += x[:-1]
    y[:, 0] = 7.0
    return y


@pytest.mark.parametrize("kind", ["lazy", "NumPy's"])
@pytest.mark.parametrize("name", BODIES)
def test_values_are_numpys(name: str, kind: str) -> None:
    body = BODIES[name]
    f = np.jit(lambda x: body(np, x))
    for k in range(2 * TIMES):
        x = numpy.asarray(X()) + k
        with numpy.errstate(all="ignore"):
            want: list[Any] = np.tree.leaves(body(numpy, x))
        got: list[Any] = np.tree.leaves(f(np.array(x) if kind == "lazy" else x))
        for ours, theirs in zip(got, want, strict=True):
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("name", [n for n in BODIES if n not in NOT_ALONE])
def test_such_functions_run_at_once(name: str) -> None:
    f = np.jit(lambda x: BODIES[name](np, x))
    x = X()
    warm(f, x)
    with Counted() as counted:
        assert runs_at_once(f, x)
        assert runs_at_once(f, x)
    assert counted.compiles == 0


def test_results_have_memory_of_their_own() -> None:
    f = np.jit(lambda x: [x * 1.0, x.copy(), x.T, *[x + 1.0] * 2, np.full((3, 4), 5.0)])
    x = X()
    warm(f, x)
    before = numpy.array(x)
    for _ in range(3):
        out = f(x)
        for y in out:
            y[...] = -1.0
        numpy.testing.assert_array_equal(out[2], -numpy.ones((4, 3)))
        x = np.array(before)
        for y, want in zip(f(x), [before, before, before.T, *[before + 1.0] * 2], strict=False):
            numpy.testing.assert_array_equal(y, want)


def test_written_arguments_do_not_change_results() -> None:
    f = np.jit(lambda x: (x * 2.0, x.copy(), x[1] + 0.0))
    x = X()
    warm(f, x)
    kept = f(x)
    want = [numpy.array(y) for y in kept]
    x[...] = 0.0
    for y, w in zip(kept, want, strict=True):
        numpy.testing.assert_array_equal(y, w)
    given = numpy.array(X())
    warm(f, given)
    kept = f(given)
    given[...] = 0.0
    for y, w in zip(kept, want, strict=True):
        numpy.testing.assert_array_equal(y, w)


def test_after_many_runs_a_program_pays() -> None:
    _alone.ALONE.clear()
    f = np.jit(lambda x: np.sin(np.cos(np.sin(np.cos(x)))).sum())
    x = np.linspace(0.0, 1.0, 1000)
    warm(f, x)
    (alone,) = _alone.ALONE.values()
    assert 10 < alone.left < 10**5
    alone.left = 3  # as after so many runs
    before = np.stats().compiled_runs
    with np.config(background=False):
        for _ in range(20):
            value = float(f(x))
            if np.stats().compiled_runs > before:
                break
    assert np.stats().compiled_runs > before
    assert value == pytest.approx(numpy.sin(numpy.cos(numpy.sin(numpy.cos(x)))).sum())


def test_functions_of_next_to_nothing_have_no_program() -> None:
    _alone.ALONE.clear()
    f = np.jit(lambda x: x + 1.0)
    x = np.arange(5.0)
    warm(f, x)
    (alone,) = _alone.ALONE.values()
    assert alone.left > 10**9
    with Counted() as counted:
        for _ in range(300):
            float(f(x)[0])
    assert counted.compiles == 0


def test_errors_are_raised_where_the_value_is_asked_for() -> None:
    f = np.jit(lambda x: np.linalg.inv(x))
    good = np.array([[2.0, 0.0], [0.0, 2.0]])
    warm(f, good)
    for _ in range(3):
        with pytest.raises(numpy.linalg.LinAlgError):
            numpy.asarray(f(np.zeros((2, 2))))
        numpy.testing.assert_array_equal(f(good), numpy.eye(2) / 2.0)


def test_loops_that_read_nothing_are_recorded() -> None:
    step = np.jit(lambda x: x * 0.5 + 1.0)
    warm(step, np.arange(5.0))
    x, want = np.arange(5.0), numpy.arange(5.0)
    for _ in range(3 * _alone.PATIENCE):
        x, want = step(x), want * 0.5 + 1.0
    assert x._node[VALUE] is None
    numpy.testing.assert_array_equal(x, want)
    warm(step, np.arange(5.0))
    assert runs_at_once(step, np.arange(5.0))


@pytest.mark.parametrize("policy", ["reference", "compiled"])
def test_other_policies(policy: str) -> None:
    f = np.jit(lambda x: x * 2.0 + 1.0)
    warm(f, np.arange(5.0))
    with np.config(execution=policy):
        before = np.stats().compiled_runs
        numpy.testing.assert_array_equal(f(np.arange(5.0)), numpy.arange(5.0) * 2.0 + 1.0)
        assert (np.stats().compiled_runs > before) == (policy == "compiled")


def test_derivatives_profiles_and_traces_see_such_calls() -> None:
    f = np.jit(lambda x: (x * x).sum())
    x = X()
    warm(f, x)
    numpy.testing.assert_allclose(np.grad(f)(x), 2.0 * numpy.asarray(x))
    numpy.testing.assert_allclose(np.vmap(f)(x), (numpy.asarray(x) ** 2).sum(axis=1))
    numpy.testing.assert_allclose(np.jit(lambda x: f(x) + 1.0)(x), float(f(x)) + 1.0)
    with np.profile() as seen:
        float(f(x))
    assert seen.cuts


NUMBERS = st.one_of(
    st.floats(width=64),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.sampled_from([0.0, -0.0]),
)


@pytest.mark.parametrize("policy", ["adaptive", "compiled"])
@given(values=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12))
def test_numbers_of_any_class_and_value(values: list[tuple[Any, Any]], policy: str) -> None:
    def body(np: Any, x: Any, a: Any, b: Any) -> Any:
        return x * a, np.where(x > 1.0, b, x)

    with np.config(execution=policy), numpy.errstate(all="ignore"):
        for a, b in values:
            for given_ in (np.arange(4.0), numpy.arange(4.0)):
                got = F(given_, a, b)
                for ours, theirs in zip(got, body(numpy, numpy.arange(4.0), a, b), strict=True):
                    assert ours.dtype == theirs.dtype
                    numpy.testing.assert_array_equal(ours, theirs)
                    if theirs.dtype == "f8":
                        known = ~numpy.isnan(theirs)
                        numpy.testing.assert_array_equal(
                            numpy.signbit(ours)[known], numpy.signbit(theirs)[known]
                        )


F = np.jit(lambda x, a, b: (x * a, np.where(x > 1.0, b, x)))


def test_what_does_not_fit() -> None:
    def jaxpr(f: Any, *args: Any) -> Any:
        return np.make_jaxpr(f)(*args)

    x = np.arange(4.0)
    fits = [lambda x: x + 1.0, np.jit(lambda x: np.jit(np.sin)(x) + 1.0)]
    loops = [
        lambda x: np.fori_loop(0, 99, lambda i, c: c + i, x),
        lambda x: np.cond(x[0] > 0, np.sin, np.cos, x),
    ]
    assert all(sequence_of(jaxpr(f, x)) is not None for f in fits)
    assert all(sequence_of(jaxpr(f, x)) is None for f in loops)
    assert sequence_of(jaxpr(lambda x: np.sin(x), np.zeros(10**6))) is None
