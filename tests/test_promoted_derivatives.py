"""Derivatives as programs: calls in a row give what Python gives, and Python notices nothing."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp._array import Array
from lazynp._fronts import BUILT
from lazynp._promotion import _at_once, _case, _derived, derivatives
from tests import derivative_generator as generator, derivative_scenarios as scenarios
from tests.promoting import promoting

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def adaptive() -> Iterator[None]:
    with promoting():
        yield


def told(x: Any) -> Any:
    """A result with all that a user may see of it, and its values apart."""
    if isinstance(x, (tuple, list)):
        return type(x), [told(v) for v in x]
    if isinstance(x, dict):
        return {k: told(v) for k, v in x.items()}
    if isinstance(x, Array):
        f = x.flags
        return type(x), x.dtype, x.shape, f.c_contiguous, f.f_contiguous, f.writeable
    return type(x), x


def values(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [n for v in x for n in values(v)]
    if isinstance(x, dict):
        return values(list(x.values()))
    return [numpy.asarray(x)] if isinstance(x, Array) else []


def results(scenario: Callable[[], Iterator[Any]]) -> list[Any]:
    """Each result as it was when it was given."""
    return [(told(x), [v.copy() for v in values(x)]) for x in scenario()]


def compared(scenario: Callable[[], Iterator[Any]]) -> int:
    """Compare the calls as programs with those in Python; the number of programs."""
    with np.config(promotion=False):
        want = results(scenario)
    before = np.stats().promotions
    got = results(scenario)
    assert [g[0] for g in got] == [w[0] for w in want]
    for (_, ours), (kinds, theirs) in zip(got, want, strict=True):
        for g, w in zip(ours, theirs, strict=True):
            rtol = 1e-9 if g.dtype.itemsize > 4 else 1e-4
            numpy.testing.assert_allclose(g, w, rtol=rtol, atol=rtol, err_msg=str(kinds))
    return np.stats().promotions - before


def explained() -> str:
    return "\n".join(d.explained() for d in derivatives.values())


@pytest.mark.parametrize("starting", [-numpy.inf, _at_once._STARTING], ids=["compiled", "at once"])
@pytest.mark.parametrize("scenario", scenarios.COMPILED, ids=lambda f: f.__name__)
def test_programs_give_what_python_gives(scenario: Any, starting: float, monkeypatch: Any) -> None:
    monkeypatch.setattr(_at_once, "_STARTING", starting)
    assert compared(scenario) >= 1, explained()


@pytest.mark.parametrize("scenario", scenarios.IN_PYTHON, ids=lambda f: f.__name__)
def test_what_python_could_notice_stays_with_python(scenario: Any, capsys: Any) -> None:
    assert compared(scenario) == 0, explained()
    python, ours = capsys.readouterr().out, ""
    assert python[: len(python) // 2] * 2 == python, ours


@given(st.integers(0, 10**6))
@pytest.mark.filterwarnings("ignore")
def test_generated_losses(tmp_path_factory: Any, seed: int) -> None:
    """Gradients in a row, beside those of Python: closures, data, shapes and names change."""
    source = generator.Generator(seed).source()
    path = tmp_path_factory.mktemp("generated") / "losses.py"
    path.write_text(source)
    namespace: dict[str, Any] = {"__name__": "losses", "np": np, "G": np.ones(1)}
    exec(compile(source, str(path), "exec"), namespace)
    d = np.asarray([1.0, 2.0])
    kept = None
    for n, call in enumerate(generator.calls(seed, 7)):
        namespace["K"] = call["K"]
        namespace["G"][0] = d[1] = 0.1 * n
        if kept is None or call["anew"]:
            kept = np.value_and_grad(namespace["make"](call["c"], d, call["t"]))
        x = call["x"] if call["numpys"] else np.asarray(call["x"])
        got = outcome(kept, x, call["k"])
        with np.config(promotion=False):
            want = outcome(kept, x, call["k"])
        assert told(got) == told(want), (source, n, explained())
        for g, w in zip(values(got), values(want), strict=True):
            close = numpy.abs(g - w).max() <= 1e-8 * max(1.0, numpy.abs(w).max())
            assert close or numpy.array_equal(g, w, equal_nan=True), (source, n, g, w, explained())


def outcome(f: Any, *args: Any) -> Any:
    try:
        return f(*args)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("scenario", scenarios.UNTIL_CHANGED, ids=lambda f: f.__name__)
def test_names_that_cannot_be_inputs_end_the_program(scenario: Any) -> None:
    assert compared(scenario) <= 1, explained()
    assert all(d.whys for d in derivatives.values())


def gradient_of_a_batch(k: int) -> Any:
    batch = scenarios.data(k, 9, 6)
    slope = np.grad(lambda w: scenarios.fit(w, batch, batch[:, 0]))
    numpy.asarray(slope(np.ones(6)))
    return weakref.ref(batch)


def cotangent_of_a_batch(k: int) -> Any:
    batch = scenarios.data(k, 9, 6)
    out, pull = np.vjp(lambda w: np.tanh(w * batch), np.ones(6))
    numpy.asarray(pull(out)[0])
    return weakref.ref(batch)


@pytest.mark.parametrize("asked", [gradient_of_a_batch, cotangent_of_a_batch])
def test_what_a_loss_reads_ends_with_it(asked: Any) -> None:
    """Neither the gradient nor its program keeps arrays of closures, and no collector is needed."""
    ends = []
    gc.disable()
    try:
        for k in range(5):
            ends.append(asked(k))
        assert sum(d.programs for d in derivatives.values()) == 1
        assert [e() for e in ends] == [None] * 5
    finally:
        gc.enable()


def test_calls_of_a_program_trace_compile_and_record_nothing() -> None:
    w, x, y = (scenarios.data(k, *shape) for k, shape in enumerate([(6,), (9, 6), (9,)]))
    slope = np.value_and_grad(scenarios.fit)
    for _ in range(2):
        slope(w, x, y)
    before = np.stats()
    for _ in range(5):
        _, g = slope(w, x, y)
        numpy.asarray(g)
    after = np.stats()
    counted = ("compiles", "promotions", "reference_runs", "forms")
    assert [getattr(after, c) for c in counted] == [getattr(before, c) for c in counted]


def test_short_or_few_calls_are_only_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (_case, "SECONDS"), (_case, "RENT"), (_derived, "_RENT"):
        monkeypatch.setattr(module, name, 1e9)
    slope = np.grad(scenarios.fit)
    for _ in range(20):
        slope(scenarios.data(0, 6), scenarios.data(1, 9, 6), scenarios.data(2, 9))
    (derived,) = derivatives.values()
    assert derived.calls == 20 and not derived.cases and not derived.programs


def test_nothing_is_promoted_inside_of_transformations() -> None:
    def inner(x: Any) -> Any:
        return np.grad(lambda v: (v**3).sum())(x).sum()

    for _ in range(4):
        for f in (np.grad(inner), np.jit(inner), np.jit(np.grad(inner))):
            f(np.ones(3))
    assert [d.name for d in derivatives.values()] == ["grad of inner"]


def test_explain_tells_what_became_of_the_calls() -> None:
    slope: Any = np.grad(scenarios.fit)
    for _ in range(2):
        slope(scenarios.data(0, 6), scenarios.data(1, 9, 6), scenarios.data(2, 9))
    assert str(np.explain(slope)) == "grad of fit: 1 program"
    never: Any = np.grad(lambda x: print(x) or x.sum())
    for _ in range(2):
        never(np.ones(2))
    assert "calls `print`" in str(np.explain(never))


def test_other_threads_run_python() -> None:
    """Two threads at one gradient get their own results."""
    slope, found = np.grad(scenarios.fit), {}

    def work(k: int) -> None:
        for _ in range(6):
            w = scenarios.data(k, 6)
            found[k] = numpy.asarray(slope(w, scenarios.data(1, 9, 6), scenarios.data(2, 9)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    with np.config(promotion=False):
        for k in range(4):
            want = slope(scenarios.data(k, 6), scenarios.data(1, 9, 6), scenarios.data(2, 9))
            numpy.testing.assert_allclose(found[k], want, rtol=1e-9)


def test_a_promoted_gradient_is_that_of_finite_differences() -> None:
    def f(x: Any) -> Any:
        u = x.copy()
        for _ in range(20):
            u[1:-1] = 0.25 * (u[2:] + u[:-2]) + 0.5 * np.sin(u[1:-1])
            if u.sum() > 0:
                u *= 0.9
        return (u * u).sum()

    slope = np.grad(f)
    for k in range(5):
        x = numpy.asarray(scenarios.data(k, 7))
        steps = 1e-6 * numpy.eye(7)
        want = [(float(f(np.asarray(x + s))) - float(f(np.asarray(x - s)))) / 2e-6 for s in steps]
        numpy.testing.assert_allclose(slope(x), want, rtol=1e-6, atol=1e-8)
    assert sum(d.programs for d in derivatives.values()) == 1


def _pairs(x: Any) -> Any:
    points, total = x.reshape(-1, 3), 0.0
    for i in range(len(points)):
        for j in range(i):
            total = total + 1 / np.sum((points[i] - points[j]) ** 2)
    return total


def _springs(x: Any) -> Any:
    points, total = x.reshape(-1, 3), 0.0
    for i in range(len(points) - 1):
        d = points[i + 1] - points[i]
        total = total + (np.sqrt(d @ d) - 1.0) ** 2 + points[i, 1]
    return total


@pytest.mark.skipif(not BUILT, reason="C runs the steps")
@pytest.mark.parametrize(("f", "size"), [(_pairs, 18), (_springs, 30)])
def test_small_loops_need_no_compiler(f: Any, size: int) -> None:
    """Also an inner loop that counts to the outer counter."""

    def scenario() -> Iterator[Any]:
        slope = np.grad(f)
        for k in range(6):
            yield slope(scenarios.data(k, size))

    assert compared(scenario) == 1, explained()
    programs = [c.program for d in derivatives.values() for c in d.cases.values() if c.program]
    assert [p.at_once for p in programs] == [True]
