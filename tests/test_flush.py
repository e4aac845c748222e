"""Where a loop that never needs a value is flushed."""

from __future__ import annotations

import dis
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _flush
from lazynp._errors import InternalError
from lazynp._recorder import local
from lazynp.lowering import _emit, _spread
from tests.devices.worker import on_eight
from tests.helpers import POLICIES, Counted, fresh_start, pending

N = 600


@pytest.fixture(autouse=True)
def _fresh() -> None:
    fresh_start()


# Each takes the module, so that NumPy can run it too, and the number of iterations.


def varying_float(np: Any, n: int) -> Any:
    x = np.zeros(4)
    for i in range(n):
        x = x + 0.1 * i
    return x


def store_row(np: Any, n: int) -> Any:
    a = np.zeros((n, 3))
    for i in range(n):
        a[i] = i
    return a


def store_element_of_a_pending_array(np: Any, n: int) -> Any:
    a = np.zeros(n) + np.ones(n)
    for i in range(n):
        a[i : i + 1] = i
    return a


def recurrence(np: Any, n: int) -> Any:
    a = np.ones(n) * 1.0
    a[0:1] = 1.0
    for i in range(1, n):
        a[i : i + 1] = a[i - 1 : i] * 0.5 + 1.0
    return a


def time_stepping(np: Any, n: int) -> Any:
    u = np.zeros(32)
    u[10:20] = 1.0
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.25 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def in_place_sweeps(np: Any, n: int) -> Any:
    u = np.ones((8, 8))
    for _ in range(n):
        u[1:-1:2] *= 0.5
        u[1:-1:2] += 0.25
        u[2:-1:2] -= 0.125
    return u


def alternating_buffers(np: Any, n: int) -> Any:
    a, b = np.arange(8.0), np.zeros(8)
    for _ in range(n):
        b[1:-1] = (a[:-2] + a[2:]) * 0.5
        a, b = b, a
    return a + 2.0 * b


def growing_scalar(np: Any, n: int) -> Any:
    x, t = np.zeros(4), 0.0
    for _ in range(n):
        t += 0.25
        x = x * 0.5 + t
    return x


def nested(np: Any, n: int) -> Any:
    x = np.zeros(4)
    for i in range(n // 10):
        for j in range(10):
            x = x + i * 0.5
            x[1:3] = j
    return x


def branch(np: Any, n: int) -> Any:
    x = np.ones(4)
    for i in range(n):
        if i % 3 == 0:
            x = x * 0.5
        else:
            x = x + 1.0
        x[:2] = i
    return x


def rows_of_a_matrix(np: Any, n: int) -> Any:
    m = np.ones((10, 4))
    total = np.zeros(4)
    for i in range(n):
        row = m[i % 10]
        total = total + row * 2.0
        m[(i + 1) % 10] = row + 1.0
    return total, m


def optimiser(np: Any, n: int) -> Any:
    w, first, second = np.ones(4), np.zeros(4), np.zeros(4)
    for i in range(1, n + 1):
        g = 2.0 * (w - 3.0)
        first = 0.9 * first + (1.0 - 0.9) * g
        second = 0.999 * second + (1.0 - 0.999) * g * g
        w = w - 0.01 * (first / (1.0 - 0.9**i)) / (np.sqrt(second / (1.0 - 0.999**i)) + 1e-8)
    return w


def rolled(np: Any, n: int) -> Any:
    x = np.arange(8.0)
    for _ in range(n):
        x = np.roll(x, 1)
    return x


def composed(np: Any, n: int) -> Any:
    x = np.arange(8.0)
    for _ in range(n):
        x = np.where(x > 4.0, x - 0.5, np.clip(x + 1.0, 0.0, 6.0))
        x = np.concatenate([x[1:], x[:1]])
    return x


def lazy_scalars(np: Any, n: int) -> Any:
    x = np.ones(4)
    for _ in range(n):
        x = x / (x.sum() + 1.0)
        x[0] = x.max()
    return x


def views_made_once(np: Any, n: int) -> Any:
    u = np.arange(16.0)
    inner, left, right = u[1:-1], u[:-2], u[2:]
    for _ in range(n):
        inner[...] = 0.5 * (left + right)
    return u


def only_in_place(np: Any, n: int) -> Any:
    x, y = np.ones(4), np.zeros(4)
    for _ in range(n):
        y += x
        x *= 0.5
    return y


def only_one_statement(np: Any, n: int) -> Any:
    x = np.ones(4)
    for _ in range(n):
        x += 0.5
    return x


def cumulated(np: Any, n: int) -> Any:
    x = np.arange(8.0)
    for _ in range(n):
        x = np.clip(np.diff(np.cumsum(x), prepend=0.0) * 0.99, 0.0, 5.0)
    return x


def statistics(np: Any, n: int) -> Any:
    x = np.arange(8.0)
    for _ in range(n):
        x = (x - np.mean(x)) / np.std(x)
    return x


def products(np: Any, n: int) -> Any:
    m = np.eye(3) * 0.5
    x = np.ones(3)
    for i in range(n):
        x = np.dot(m, x) + np.outer(x, x).sum(axis=0) * 0.0 + i
    return x


def rows_iterated(np: Any, n: int) -> Any:
    m = np.ones((4, 3))
    for _ in range(n // 4):
        for row in m:
            row += 0.5
    return m


LOOPS = [
    only_in_place, only_one_statement, cumulated, statistics, products, rows_iterated,
    varying_float, store_row, store_element_of_a_pending_array, recurrence, time_stepping,
    in_place_sweeps, alternating_buffers, growing_scalar, nested, branch, rows_of_a_matrix,
    optimiser, rolled, composed, lazy_scalars, views_made_once,
]  # fmt: skip


# Bounds on the programs of a loop where it is not 6: iterations that differ, run several a program.
_MOST = {branch: 10, statistics: 14}


def through_numpy(np: Any, n: int) -> Any:
    """Code that imports numpy itself, on lazynp's arrays."""
    x = np.ones(4)
    for i in range(n):
        x = numpy.sqrt(numpy.add(x, 0.5 * i))
        x = numpy.maximum(x, 0.25)
    return x


LOOPS.append(through_numpy)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_a_long_loop_needs_few_programs(loop: Callable[[Any, int], Any]) -> None:
    with np.config(execution="compiled"), Counted() as counted:
        result = loop(np, N)
        longest = len(pending())
        got = [numpy.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]
    expected = loop(numpy, N)
    for g, e in zip(got, expected if isinstance(expected, tuple) else (expected,), strict=True):
        numpy.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-300)
    assert counted.compiles <= _MOST.get(loop, 6)
    assert longest <= 2 * np.config.max_pending


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_three_times_the_iterations_need_no_more_programs(loop: Callable[[Any, int], Any]) -> None:
    counts = []
    for n in (100, 300):
        fresh_start()
        with np.config(execution="compiled"), Counted() as counted:
            np.materialize(loop(np, n))
        counts.append(counted.compiles)
    assert counts[1] <= max(counts[0], _MOST.get(loop, 6))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_little_is_pending_at_any_time(loop: Callable[[Any, int], Any], policy: str) -> None:
    longest = 0

    class Watching:
        """The module, which notes what is pending at each use."""

        def __getattr__(self, name: str) -> Any:
            nonlocal longest
            longest = max(longest, len(local.recorder.pending))
            return getattr(np, name)

    with np.config(execution=policy):
        np.materialize(loop(Watching(), 200))
        longest = max(longest, len(local.recorder.pending))
    assert longest <= 2 * np.config.max_pending + 96


def test_a_loop_in_which_nothing_recurs_is_cut_by_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement at a place of its own, as in generated code."""
    monkeypatch.setattr("lazynp._policy._LOOP", 1 << 30)  # otherwise later operations are eager
    source = "x = np.zeros(3)\n" + "x = x + 1.0\n" * 1200
    space: dict[str, Any] = {"np": np}
    with np.config(execution="reference", max_pending=100), Counted() as counted:
        exec(compile(source, "<straight>", "exec"), space)
        assert len(pending()) <= 100
    assert 11 <= counted.cuts <= 13
    numpy.testing.assert_array_equal(space["x"], [1200.0] * 3)


def test_large_slice_assignments_end_programs() -> None:
    u = np.zeros((200, 200))
    with np.config(execution="reference"), Counted() as counted:
        for _ in range(5):
            u[1:-1, 1:-1] = u[1:-1, 1:-1] + 1.0
        np.materialize(u)
    assert counted.cuts == 5
    assert float(u[5, 5]) == 5.0


def test_large_slice_assignments_in_a_row_end_one_program() -> None:
    u, v, w = (np.zeros((200, 200)) for _ in range(3))
    with np.config(execution="reference"), Counted() as counted:
        for _ in range(5):
            a, b, c = u[2:, 2:] + 1.0, v[2:, 2:] + 2.0, w[2:, 2:] + 3.0
            u[1:-1, 1:-1], v[1:-1, 1:-1], w[1:-1, 1:-1] = a, b, c
        np.materialize((u, v, w))
    assert counted.cuts == 5
    assert [float(x[190, 190]) for x in (u, v, w)] == [5.0, 10.0, 15.0]


def test_a_statement_of_many_lines_is_not_cut_in_its_middle() -> None:
    """Its computed values would have to be stored and read again."""
    cuts: list[Any] = []

    def cut(recorder: Any, asked: Any = None, reason: Any = "") -> Any:
        cuts.append((len(recorder.pending), reason))
        return flush(recorder, asked, reason)

    flush = _flush.flush
    u = np.array(numpy.random.default_rng(0).random((200, 200)))
    with pytest.MonkeyPatch.context() as patch, np.config(execution="reference"):
        patch.setattr(_flush, "flush", cut)
        for _ in range(30):
            u = 0.2 * (
                u * 1.5
                - u * u * u
                + 0.1
            ) + (
                u
                - u * 0.5
                + u * u
            )  # fmt: skip
        np.materialize(u)
    steady = cuts[4:-1]
    assert len(steady) > 20 and {count for count, _ in steady} == {11}
    places = {offset for _, (_, offset) in steady}
    code = test_a_statement_of_many_lines_is_not_cut_in_its_middle.__code__
    first = min(i.offset for i in dis.get_instructions(code) if i.opname == "BINARY_OP")
    assert places == {first}


def test_a_function_called_from_two_places_is_cut_at_one() -> None:
    def step(x: Any) -> Any:
        y = x * 0.5
        return y + 1.0

    x, y = np.ones(4), np.zeros(4)
    with np.config(execution="compiled"), Counted() as counted:
        for _ in range(300):
            x = step(x)
            y = step(y) + x
        np.materialize((x, y))
    assert counted.compiles <= 6


def test_long_chains_of_views_and_of_operations() -> None:
    """No recursion, whatever the length."""
    x = np.arange(3000.0)
    for _ in range(400):
        x = x[1:]
    numpy.testing.assert_array_equal(x, numpy.arange(400.0, 3000.0))
    y = np.ones((2, 3))
    for _ in range(3001):
        y = y.T
    assert y.shape == (3, 2)
    assert numpy.asarray(y).shape == (3, 2)
    z = np.ones(2)
    with np.config(execution="reference", max_pending=100_000):
        source = "z = z + 1.0\n" * 5_000
        space = {"z": z}
        exec(compile(source, "<straight>", "exec"), space)
        numpy.testing.assert_array_equal(space["z"], [5_001.0] * 2)
        del z, space


@on_eight
def test_a_program_that_does_not_compile_fails_for_nobody_else() -> None:
    mesh = np.make_mesh((8,), ("x",))
    rows = np.NamedSharding(mesh, np.PartitionSpec("x"))
    x = numpy.linspace(0, 1, 16)

    def broken(*args: Any) -> str:
        text = _emit.module_text(*args)
        return text.replace("func.func", "func.funk") if "stablehlo.cosine" in text else text

    good = _spread.module_text
    _spread.module_text = broken
    try:
        fails = np.cos(np.device_put(x, rows))
        runs = np.device_put(x, rows) + 1
        assert float(runs.sum()) == (x + 1).sum()
        for _ in range(2):
            with pytest.raises(InternalError):
                fails.sum().item()
            runs = runs * 2
            assert numpy.array_equal(numpy.asarray(runs[:2]) / runs[0], (x[:2] + 1) / (x[0] + 1))
    finally:
        _spread.module_text = good
    assert numpy.allclose(numpy.asarray(fails), numpy.cos(x))
