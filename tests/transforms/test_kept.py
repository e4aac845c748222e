"""Backward passes that are kept: made at the second call, right at every call, and bounded."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp import grad, jit, jvp, value_and_grad, vjp, vmap
from lazynp._memo import forget_all
from lazynp.transforms import _backward, _kept
from tests.helpers import fresh_start


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    global _arrays
    _arrays = _drawn()  # the same numbers, whichever tests ran before
    _kept._programs.clear()
    _kept._seen.clear()
    with np.config(promotion=False):  # the clock decides what becomes a program
        yield


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many entries each interpreted backward pass had, while staging or not."""
    fresh_start()  # a tape of operations that ran at once is another one
    counted: list[int] = []
    run = _backward.run_backward

    def counting(tape: Any, *more: Any) -> Any:
        counted.append(len(tape))
        return run(tape, *more)

    monkeypatch.setattr(_backward, "run_backward", counting)
    return counted


def chain(x: Any) -> Any:
    for _ in range(4):
        x = np.sin(x) * 0.9 + x * x[0]
    return (x / (1.0 + x * x)).sum()


def stencil(x: Any) -> Any:
    u = x.copy()
    for _ in range(5):
        u[1:-1] = 0.25 * (u[2:] + u[:-2]) + np.where(u[1:-1] > 0, 0.1, u[1:-1])
    u[0] = u[-1] * 2.0
    u += x
    return (u * u).sum()


def elements(x: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0] - 1):
        total = total + x[i] * x[i + 1] ** 2
    return total


def taken(x: Any) -> Any:
    y = x[np.array([3, 1, 1, 0])] * x[:4]
    return (y @ y) + np.sort(x)[2] + np.cumsum(x)[3] * x.max()


def matrices(x: Any) -> Any:
    w = np.concatenate([x, x]).reshape(2, -1)
    h = np.tanh(w @ w.T)
    return np.linalg.det(h + 2.0 * np.eye(2)) + h.std()


def systems(x: Any) -> Any:
    """A filter's steps, with the operations that have several results."""
    state, cov, total = x[:2], np.eye(2), 0.0
    for z in x[2:6]:
        seen = cov @ np.array([1.0, 0.3])
        cov = np.linalg.inv(cov + np.eye(2)) + np.outer(seen, seen) * 0.1
        state = np.linalg.solve(cov, state + z)
        total = total + np.linalg.slogdet(cov)[1] + np.linalg.eigvals(cov).real.max()
    return total + state @ state


def large(x: Any) -> Any:
    u = np.zeros((40, 60)) + x[0]
    for i in range(1, 12):
        u[i] = u[i - 1] * x[i % 8] + 1.0
    return sum([u[i, i] for i in range(12)]) + (u[5] * u[6, 2]).sum()


def halves(x: Any) -> Any:
    return (x.astype("f4") * 2).sum().astype("f8") + abs((x + 1j * x) * (2 + 1j)).sum()


def constant(x: Any) -> Any:
    return x[1] * 0.0 + 3.0


FUNCTIONS = [chain, stencil, elements, taken, matrices, systems, large, halves, constant]


def _drawn() -> Iterator[numpy.ndarray]:
    rng = numpy.random.default_rng(5)
    while True:
        yield rng.normal(size=12)


_arrays = _drawn()


def _array(size: int = 8) -> numpy.ndarray:
    return next(_arrays)[:size]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_it_gives_the_same_derivative_for_other_values(
    function: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    xs = [_array() for _ in range(5)]
    got = [value_and_grad(function)(np.asarray(x)) for x in xs]
    monkeypatch.setattr(_kept, "_LONGEST", -1)
    want = [value_and_grad(function)(np.asarray(x)) for x in xs]
    for (v, g), (value, slope) in zip(got, want, strict=True):
        assert g.dtype == slope.dtype and g.shape == slope.shape
        numpy.testing.assert_allclose(float(v), float(value), rtol=1e-14)
        numpy.testing.assert_allclose(g, slope, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "function", [chain, stencil, elements, systems, large], ids=lambda f: f.__name__
)
def test_a_gradient_records_its_backward_pass_twice(
    function: Callable[[Any], Any], passes: list[int]
) -> None:
    """Once as the tape is first met, once while staging; then the kept program is replayed."""
    slope = grad(function)
    for calls in range(6):
        numpy.asarray(slope(np.asarray(_array())))
        assert len(passes) == min(calls + 1, 2)
    assert len(_kept._programs) == 1


def test_another_shape_dtype_or_branch_is_another_program(passes: list[int]) -> None:
    def f(x: Any) -> Any:
        return (x * x).sum() if x[0] > 0 else (x * 3.0).sum()

    up, down = numpy.array([1.0, 2.0]), numpy.array([-1.0, 2.0])
    for _ in range(3):
        for x, want in ((up, 2 * up), (down, [3.0, 3.0]), (numpy.ones(3), [2.0] * 3)):
            numpy.testing.assert_array_equal(grad(f)(np.asarray(x)), want)
            small = grad(f)(np.asarray(x.astype("f4")))
            assert small.dtype == np.float32
            numpy.testing.assert_array_equal(small, want)
    assert len(passes) == 12 and len(_kept._programs) == 6


def test_places_that_are_read_and_written_are_part_of_it() -> None:
    def f(x: Any, i: int, j: int) -> Any:
        u = np.zeros((30, 50)) * x[0]
        u[i] = x[i] * u[j] + x[j]
        return (u[i] * x[i]).sum() + u[j, 3] + sum([u[k, k + i] for k in range(10)])

    x = numpy.linspace(-1.0, 1.2, 12)
    for _ in range(3):
        for i, j in ((1, 2), (2, 1), (5, 5)):
            slope = grad(f)(np.asarray(x), i, j)
            want = numpy.zeros(12)
            for k in range(12):
                h = numpy.zeros(12)
                h[k] = 1e-6
                want[k] = float(f(np.asarray(x + h), i, j) - f(np.asarray(x - h), i, j)) / 2e-6
            numpy.testing.assert_allclose(slope, want, rtol=1e-5, atol=1e-6)  # of differences


def test_indices_without_a_value_yet_are_operands() -> None:
    places = np.array([2, 4, 1])

    def f(x: Any, k: int) -> Any:
        i = places[k] + 0
        return np.take(x, i) ** 2 + x[places[::-1]].sum()

    for _ in range(3):
        for k in range(3):
            want = numpy.array([0.0, 1, 1, 0, 1, 0])
            want[[2, 4, 1][k]] += 2 * (k + 1.0)
            x = numpy.zeros(6)
            x[[2, 4, 1][k]] = k + 1.0
            numpy.testing.assert_array_equal(grad(f)(np.asarray(x), k), want)


def test_captured_arrays_and_numbers_are_operands(passes: list[int]) -> None:
    weights, factor = np.arange(4.0), [1.0]

    def f(x: Any) -> Any:
        return (weights * x * factor[0]).sum()

    for step in range(1, 6):
        factor[0] = float(step)
        want = numpy.arange(4.0) * step + (step - 1) * step
        numpy.testing.assert_array_equal(grad(f)(np.ones(4)), want)
        weights += 1.0 * step
        weights -= step - 1.0
    assert len(passes) == 2


def test_vjp_takes_other_cotangents_each_time() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * y, np.sin(x), 3

    x, y = _array(), _array()
    for _ in range(4):
        _, pull = vjp(f, np.asarray(x), np.asarray(y))
        for a, b in itertools.product([1.0, -2.0], repeat=2):
            cts = np.full(8, a), np.full(8, b), None
            by_x, by_y = pull(cts)
            numpy.testing.assert_allclose(by_x, a * y + b * numpy.cos(x), rtol=1e-14)
            numpy.testing.assert_allclose(by_y, a * x, rtol=1e-14)
        by_x, by_y = pull((np.ones(8), None, None))
        numpy.testing.assert_allclose(by_x, y, rtol=1e-14)


def test_under_other_transformations() -> None:
    cube = lambda x: (x * x * x).sum()  # noqa: E731
    x = _array(3)
    for _ in range(4):
        numpy.testing.assert_allclose(vmap(grad(lambda s: s**3))(np.asarray(x)), 3 * x**2)
        numpy.testing.assert_allclose(jit(grad(cube))(np.asarray(x)), 3 * x**2)
        second = grad(lambda y: grad(cube)(y).sum())(np.asarray(x))
        numpy.testing.assert_allclose(second, 6 * x)
        _, dot = jvp(grad(cube), (np.asarray(x),), (np.ones(3),))
        numpy.testing.assert_allclose(dot, 6 * x)
        numpy.testing.assert_allclose(np.hessian(cube)(np.asarray(x)), numpy.diag(6 * x))
        numpy.testing.assert_allclose(np.jacrev(lambda y: y * y)(np.asarray(x)), numpy.diag(2 * x))


def test_custom_rules_and_host_functions_run_each_time() -> None:
    called: list[float] = []

    @np.custom_vjp
    def f(x: Any) -> Any:
        return x * 2.0

    def bwd(x: Any, ct: Any) -> Any:
        called.append(1.0)
        return (ct * len(called),)

    f.defvjp(lambda x: (f(x), x), bwd)
    got = [float(grad(lambda x: f(x) * 1.0)(1.0)) for _ in range(4)]
    assert got == [1.0, 2.0, 3.0, 4.0]
    assert not _kept._programs and not _kept._seen


def test_rules_that_raise_do_so_each_time() -> None:
    def f(x: Any) -> Any:
        return np.special.zeta(x, 1.0) * 2.0

    for _ in range(4):
        with pytest.raises(TypeError, match="no derivative by x"):
            grad(f)(2.0)


def test_debug_nans_and_errstate_look_at_each_operation() -> None:
    def f(x: Any) -> Any:
        return np.sqrt(x - 1.0) - np.sqrt(x * 2.0 - 2.0)

    for _ in range(3):
        assert numpy.isnan(float(grad(f)(1.0)))
    for _ in range(3):
        with np.config(debug_nans=True), pytest.raises(FloatingPointError, match="test_kept"):
            float(grad(f)(1.0))
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            float(grad(f)(1.0))


def test_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kept, "_HELD", 100)
    for n in range(1, 9):
        for _ in range(3):
            slope = grad(lambda x, n=n: sum([x[k] * x[k] for k in range(n)]))(np.ones(9))
            numpy.testing.assert_array_equal(slope, [2.0] * n + [0.0] * (9 - n))
            kept = [p for p in _kept._programs.values() if p is not None]
            assert sum([p.size for p in kept]) <= _kept._programs.held <= 100
    forget_all()
    assert not _kept._programs and not _kept._seen and not _kept._programs.held


def test_long_tapes_are_not_kept(monkeypatch: pytest.MonkeyPatch, passes: list[int]) -> None:
    monkeypatch.setattr(_kept, "_LONGEST", 10)
    for _ in range(3):
        grad(chain)(np.ones(3))
    assert len(passes) == 3 and not _kept._programs


OPERATIONS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: np.sin(x) - y,
    lambda x, y: np.where(x > y, x, 2.0 * y),
    lambda x, y: np.concatenate([y[2:], x[:2]]),
    lambda x, y: x[::-1] * 0.5,
    lambda x, y: np.cumsum(x) * 0.1,
    lambda x, y: x - y.mean(),
    lambda x, y: np.outer(x, y).sum(0) * 0.1,
    lambda x, y: np.maximum(x, y[0]),
]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 5), st.booleans())))
def test_random_programs(steps: list[tuple[int, int, int, bool]]) -> None:
    """Any program, kept: the same derivative as from its first call, which interprets the tape."""

    def f(x: Any) -> Any:
        values = [x, x.copy()]
        for k, i, j, writes in steps:
            y = OPERATIONS[k](values[i % len(values)], values[j % len(values)])
            if writes:
                values[1][1:4] = y[1:4]
                values[1][0] += y[2]
            else:
                values.append(y)
        return (values[-1] * values[1]).sum()

    _kept._programs.clear()
    _kept._seen.clear()
    x = numpy.linspace(-0.9, 1.1, 6)
    first, *rest = [numpy.asarray(grad(f)(np.asarray(x))) for _ in range(4)]
    for got in rest:
        numpy.testing.assert_allclose(got, first, rtol=1e-10, atol=1e-10)
