"""Hybrid programs give the same results, whichever operations NumPy runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _cost, _graph
from lazynp._avals import aval_of
from lazynp._pieces import Pieces
from lazynp.lowering import _runtime
from lazynp.primitives import contraction
from tests.helpers import fresh_start, leave_to_host

PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "product alone": lambda np, m, v: m @ v,
    "product between": lambda np, m, v: np.tanh(m @ (v * 2.0)) + v,
    "products in a row": lambda np, m, v: m @ (m @ (m @ v)),
    "product used twice": lambda np, m, v: (m @ v) * (m @ v).sum() + (m.T @ v),
    "independent": lambda np, m, v: (np.sort(v) + 1.0, np.cumsum(v) - 1.0, v * 2.0),
    "scalar result": lambda np, m, v: (v @ v) * v + 1.0,
    "sort and gather": lambda np, m, v: v[np.argsort(v)] + m[2],
    "loop": lambda np, m, v: _power_iteration(np, m, v),
    "add at": lambda np, m, v: _add_at(np, m, v),
    "columns": lambda np, m, v: np.einsum("ij,kj->ik", m[:, 1:], m[:, :-1] + 1.0),
}


def _power_iteration(np: Any, m: Any, v: Any) -> Any:
    for _ in range(20):
        v = m @ v
        v = v / np.sqrt((v * v).sum())
    return v


def _add_at(np: Any, m: Any, v: Any) -> Any:
    out = np.zeros(5)
    np.add.at(out, [0, 1, 1, 4], v[:4] * 2.0)
    return out + 1.0


@pytest.fixture(params=["all by host", "products by host", "none"])
def by_host(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Compile everything immediately, split at these operations."""
    kinds = {
        "all by host": ("contract", "sort", "index", "update", "reduction"),
        "products by host": ("contract",),
        "none": (),
    }[request.param]
    monkeypatch.setattr(_cost, "PROGRAM", -1e9)
    leave_to_host(monkeypatch, *kinds)
    fresh_start()
    with np.config(execution="adaptive"):
        yield request.param
    fresh_start()


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_the_same(program: str, by_host: str) -> None:
    rng = numpy.random.default_rng(0)
    m, v = rng.random((7, 7)), rng.random(7)
    want = PROGRAMS[program](numpy, m, v)
    for _ in range(3):
        got = PROGRAMS[program](np, np.array(m), np.array(v))
        wants, gots = (x if isinstance(x, tuple) else (x,) for x in (want, got))
        for g, w in zip(gots, wants, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(g), w, rtol=1e-14)


def test_a_program_is_taken_apart(by_host: str) -> None:
    m, v = np.array(numpy.eye(7)), np.array(numpy.ones(7))
    x = np.exp(m @ (v * 2.0)) @ m + 1.0
    assert x.tolist() == pytest.approx([numpy.exp(2.0) + 1.0] * 7)
    (plan,) = [p for p in _graph._plans.values() if p.current is not None]
    executable = plan.current.executable
    if by_host == "none":
        assert not isinstance(executable, Pieces)
    else:
        steps = [
            "piece" if hasattr(s, "executable") else s.primitive.name for s in executable.steps
        ]
        assert steps == ["piece", "dot_general", "piece", "dot_general", "piece"]
    assert "stablehlo.exponential" in str(np.explain(x))


def test_what_is_interrupted_loses_nothing(by_host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m, v = np.array(numpy.eye(7) * 2.0), np.array(numpy.ones(7))
    v[2] = 5.0
    x = m @ (v * 3.0)
    v[3] = x[0]
    real = _runtime.Executable.run

    def stopped(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(_runtime.Executable, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        v.tolist()
    monkeypatch.setattr(_runtime.Executable, "run", real)
    assert v.tolist() == [1.0, 1.0, 5.0, 6.0, 1.0, 1.0, 1.0]
    assert x.tolist() == [6.0, 6.0, 30.0, 6.0, 6.0, 6.0, 6.0]


def test_the_table_prefers_blas_for_large_products() -> None:
    def choice(dtype: str, *sizes: int) -> bool:
        m, x = (aval_of(s, numpy.dtype(dtype)) for s in (sizes, sizes[1:]))
        return _cost.better_by_host(
            contraction.dot_general, {}, (m, x), (aval_of(sizes[:1], m.dtype),)
        )

    assert choice("f8", 2000, 2000)
    assert not choice("f8", 8, 8)
    assert choice("c16", 500, 500)


def left(f: Callable[..., Any], *arrays: Any) -> list[str]:
    """The operations of this function's program that NumPy runs."""
    jaxpr = np.make_jaxpr(f)(*map(np.array, arrays))
    return [jaxpr.eqns[k].primitive.name for k in sorted(_cost.left_to_host(jaxpr))]


def test_views_that_only_numpy_reads_are_numpys() -> None:
    m = numpy.ones((800, 800))
    assert left(lambda m: m.T @ m + 1.0, m) == ["transpose", "dot_general"]


def test_views_that_loops_read_too_are_not() -> None:
    def f(m: Any) -> Any:
        turned = m.T
        return turned @ m, turned * 2.0

    assert left(f, numpy.ones((800, 800))) == ["dot_general"]


def test_what_must_be_stored_for_numpy_counts() -> None:
    x = numpy.ones(400_000)
    assert left(lambda x: x @ x, x) == ["dot_general"]
    assert left(lambda x: (2.0 * x) @ (x + 1.0), x) == []


def test_assigning_a_slice_is_no_call_of_numpy() -> None:
    """By NumPy it would copy the whole array: a call must not change its operands."""

    def step(u: Any) -> Any:
        u[1:-1, 1:-1] = 0.5 * (u[:-2, 1:-1] + u[2:, 1:-1])
        return u

    for n in (400, 1200):
        assert left(step, numpy.ones((n, n))) == []


def test_programs_of_little_work_wake_no_threads() -> None:
    def work(f: Callable[..., Any], *arrays: Any) -> float:
        return _cost.work(np.make_jaxpr(f)(*map(np.array, arrays)))

    small, large = numpy.ones((100, 100)), numpy.ones((2000, 2000))
    assert work(lambda x: np.exp(x) * 2.0, small) < _cost.ALONE
    assert work(lambda x: np.exp(x) * 2.0, large) > _cost.ALONE
    # a loop counts one round, a call counts its body
    rounds = work(lambda x: np.fori_loop(0, 10_000, lambda i, x: x * 0.5 + 1.0, x), small)
    assert rounds == pytest.approx(work(lambda x: x * 0.5 + 1.0, small), rel=0.2)
    called = work(lambda x: np.jit(lambda x: np.exp(x) * 2.0)(x), large)
    assert called == work(lambda x: np.exp(x) * 2.0, large)
