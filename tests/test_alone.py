"""Calls of jitted functions that run by themselves, and those that no longer wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _alone
from lazynp._node import VALUE
from tests.helpers import Counted
from tests.test_threads import together

TIMES = _alone.TIMES + 3  # calls until one may run at once: the first makes the plan


@pytest.fixture(autouse=True)
def _policy() -> Iterator[None]:
    """By default, programs of a few small operations take long to be worth compiling."""
    with np.config(execution="compiled"):
        yield


def has_value(x: Any) -> bool:
    return x._node[VALUE] is not None


def warm(f: Callable[..., Any], *args: Any) -> None:
    for _ in range(TIMES):
        for x in np.tree.leaves(f(*args)):
            numpy.asarray(x)


def test_a_call_that_always_ran_by_itself_runs_at_once() -> None:
    f = np.jit(lambda x, y: {"sum": x + y, "norm": (x * y).sum()})
    x, y = np.arange(5.0), np.ones(5)
    waits = f(x, y)
    assert not has_value(waits["sum"])
    warm(f, x, y)
    with Counted() as counted:
        for k in range(4):
            want = numpy.array([k, 1.0, 2.0, 3.0, 4.0])
            got = f(np.array(want), y)
            assert has_value(got["sum"]) and has_value(got["norm"])
            numpy.testing.assert_array_equal(got["sum"], want + 1.0)
            assert type(got["norm"]) is np.Scalar and float(got["norm"]) == want.sum()
    assert counted.compiles == 0


def test_a_call_waits_if_the_one_before_was_not_asked_for() -> None:
    f = np.jit(lambda x: x * 0.5 + 1.0)
    warm(f, np.arange(5.0))
    x, expected = np.arange(5.0), numpy.arange(5.0)
    x = f(x)
    assert has_value(x)
    x = f(x)
    assert not has_value(x)
    before = np.stats().compiled_runs
    for _ in range(200):
        x = f(x)
    for _ in range(202):
        expected = expected * 0.5 + 1.0
    numpy.testing.assert_array_equal(x, expected)
    assert np.stats().compiled_runs - before < 50


def test_a_call_whose_results_are_not_used_does_not_run() -> None:
    f = np.jit(lambda x: x * 0.5 + 1.0)
    x = np.arange(5.0)
    warm(f, x)
    before = np.stats().compiled_runs
    for _ in range(20):
        f(x)
    assert np.stats().compiled_runs - before == 1


def test_a_call_after_pending_operations_waits_with_them() -> None:
    f = np.jit(lambda x: x * 2.0)
    x = np.arange(5.0)
    warm(f, x)
    y = np.jit(lambda x: x - 1.0)(x)
    z = f(y)
    assert not has_value(y) and not has_value(z)
    numpy.testing.assert_array_equal(z, 2.0 * (numpy.arange(5.0) - 1.0))


ARGUMENTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "arrays": lambda np: (np.arange(6.0), np.ones(6)),
    "matrix and row": lambda np: (np.arange(6.0).reshape(2, 3) + 0.0, np.ones(3)),
    "Fortran's order": lambda np: (np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.ones(3)),
    "a view": lambda np: (np.arange(12.0)[::2], np.ones(6)),
    "a number": lambda np: (np.arange(6.0), 3.0),
    "an int": lambda np: (np.arange(6), 3),
    "a Scalar": lambda np: (np.arange(6.0), np.arange(4.0).sum()),
    "numbers alone": lambda np: (np.arange(4.0).sum(), 2.5),
    "nothing": lambda np: (np.zeros((0, 3)), np.ones(3)),
    "0-d": lambda np: (np.array(2.0), np.ones(3)),
    "float32": lambda np: (np.arange(6, dtype="f4"), np.ones(6, "f4")),
    "int8": lambda np: (np.arange(6, dtype="i1"), np.full(6, 100, "i1")),
    "bool": lambda np: (np.arange(6) > 2, np.arange(6) > 3),
    "complex": lambda np: (np.arange(6) * 1j, np.ones(6)),
}


@pytest.mark.parametrize("policy", ["compiled", "adaptive"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_values_are_numpys_for_arguments_of_all_kinds(name: str, policy: str) -> None:
    def body(np: Any, x: Any, y: Any) -> Any:
        z = x + y
        return z, [z.sum(), z * x], (x * y).T

    f = np.jit(lambda x, y: body(np, x, y))
    with np.config(execution=policy), numpy.errstate(all="ignore"):
        for _ in range(2 * TIMES):
            got = f(*ARGUMENTS[name](np))
            want = body(numpy, *ARGUMENTS[name](numpy))
            assert type(got) is tuple and type(got[1]) is list
            pairs = zip(np.tree.leaves(got), np.tree.leaves(want), strict=True)
            for pair in pairs:
                ours: Any = pair[0]
                theirs: Any = pair[1]
                assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
                numpy.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_numbers_may_change_from_call_to_call() -> None:
    f = np.jit(lambda x, k: x * k)
    x = np.arange(5.0)
    for k in (2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 2.0, -0.0, 0.0, 5.0, numpy.inf):
        with numpy.errstate(invalid="ignore"):
            want = numpy.arange(5.0) * k
        got = numpy.asarray(f(x, k))
        numpy.testing.assert_array_equal(got, want)
        numpy.testing.assert_array_equal(numpy.signbit(got), numpy.signbit(want))


def test_numbers_that_stay_are_compared() -> None:
    """A program that was compiled for a number runs for this number only, whatever its class."""
    f = np.jit(lambda x, k, s: (x * k + s, k))
    x, s = np.arange(5.0), np.arange(3.0).sum()
    float(s)
    warm(f, x, 2.5, s)
    for k in (2.5, 2.5, 2.5, 3.5, 2.5, 1, True, 2.5, 1 + 2j, -1.0, 2.5, numpy.nan, 2.5):
        for _ in range(3):
            want = numpy.arange(5.0) * k + 3.0
            got, same = f(x, k, s)
            assert got.dtype == want.dtype
            numpy.testing.assert_array_equal(got, want)
            numpy.testing.assert_array_equal(same, k)
    numpy.testing.assert_array_equal(f(x, 2.5, np.arange(4.0).sum())[0], numpy.arange(5) * 2.5 + 6)


def test_results_stay_when_arguments_are_written_later() -> None:
    f = np.jit(lambda x: x + 1.0)
    x = np.zeros(5000)
    warm(f, x)
    results = []
    for _ in range(6):
        results.append(f(x))
        float(results[-1][0])
        x += 1.0
        results[-1][1] = -5.0
    for k, r in enumerate(results):
        want = numpy.full(5000, k + 1.0)
        want[1] = -5.0
        numpy.testing.assert_array_equal(r, want)


def test_what_asks_before_the_value_is_seen() -> None:
    """Explanations, gradients and the reference policy see such a call as any other."""
    f = np.jit(lambda x: (x * x).sum())
    x = np.arange(5.0)
    warm(f, x)
    numpy.testing.assert_allclose(np.grad(f)(x), 2.0 * numpy.arange(5.0))
    assert "jit" in str(np.make_jaxpr(f)(x))
    with np.config(execution="reference"):
        before = np.stats().compiled_runs
        assert float(f(x)) == 30.0
        assert np.stats().compiled_runs == before
    with np.disable_jit():
        assert float(f(x)) == 30.0
    with np.profile() as seen:
        float(f(x))
    assert seen.cuts


def test_an_interrupted_call_raises_and_the_next_one_works(monkeypatch: Any) -> None:
    f = np.jit(lambda x: x + 1.0)
    x = np.arange(5.0)
    warm(f, x)
    numpy.asarray(f(x))
    (alone,) = [a for a in _alone.ALONE.values() if a.prepared is not None][-1:]

    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    real, alone.prepared.run = alone.prepared.run, interrupted
    monkeypatch.setattr(type(alone.prepared.executable), "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        f(x)
    monkeypatch.undo()
    alone.prepared.run = real
    numpy.testing.assert_array_equal(f(x), numpy.arange(5.0) + 1.0)


def test_threads_call_the_same_function() -> None:
    f = np.jit(lambda x: (x * 2.0, x.sum()))
    warm(f, np.arange(50.0))

    def work(k: int) -> None:
        x = np.full(50, float(k))
        for _ in range(60):
            double, total = f(x)
            assert float(total) == 50.0 * k and numpy.asarray(double)[7] == 2.0 * k

    together(work, 6)


NUMPYS: dict[str, Any] = {
    "array": numpy.arange(6.0),
    "large": numpy.arange(60000.0),
    "part": numpy.arange(13.0)[1:7],  # its memory is not aligned as XLA wants it
    "read-only": numpy.broadcast_to(numpy.arange(6.0), (1, 6))[0],
    "strided": numpy.arange(12.0)[::2],
    "Fortran's order": numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)),
    "0-d": numpy.array(3.0),
    "empty": numpy.zeros((0, 3)),
    "float32": numpy.arange(6, dtype="f4"),
    "float16": numpy.arange(6, dtype="f2"),
    "int": numpy.arange(6),
    "bool": numpy.arange(6) > 2,
    "complex": numpy.arange(6) * 1j,
    "other byte order": numpy.arange(6, dtype=">f8"),
    "number": numpy.float64(2.5),
    "number of 32 bits": numpy.float32(2.5),
    "int number": numpy.int8(10),
}


@pytest.mark.parametrize("policy", ["compiled", "adaptive"])
@pytest.mark.parametrize("name", NUMPYS)
def test_numpys_arrays_and_numbers_are_arguments(name: str, policy: str) -> None:
    """Those of one kind take the short way; a later write to one does not show in a result."""
    x = NUMPYS[name]
    traced = []

    @np.jit
    def f(x: Any, y: Any, k: Any) -> Any:
        traced.append(1)
        return {"a": x + y * k, "b": (x * x).sum()}

    y = np.ones(x.shape)
    with np.config(execution=policy):
        for _ in range(2 * TIMES):
            got, want = f(x, y, 2), {"a": x + numpy.ones(x.shape) * 2, "b": (x * x).sum()}
            for part in got:
                assert got[part].dtype == want[part].dtype.newbyteorder("=")
                numpy.testing.assert_allclose(got[part], want[part], rtol=1e-3)
        assert len(traced) == 1
        if isinstance(x, numpy.ndarray) and x.flags.writeable and x.size:
            x = x.copy()
            kept = [f(x, y, 2) for _ in range(3)]
            before = numpy.asarray(x + numpy.ones(x.shape) * 2)
            x[...] = 1
            for r in kept:
                numpy.testing.assert_allclose(r["a"], before, rtol=1e-3)


def test_one_array_of_numpys_may_be_given_twice() -> None:
    f = np.jit(lambda x, y: x * y + x)
    x = numpy.arange(5.0)
    for _ in range(2 * TIMES):
        numpy.testing.assert_array_equal(f(x, x), x * x + x)
    numpy.testing.assert_array_equal(f(x, np.array(x)), x * x + x)
    numpy.testing.assert_array_equal(f(np.array(x), x[::-1]), x * x[::-1] + x)


def test_written_arrays_of_numpys_take_the_long_way() -> None:
    @np.jit
    def f(x: Any) -> Any:
        x[0] += 1.0
        return x.sum()

    x = numpy.zeros(5)
    for k in range(2 * TIMES):
        assert float(f(x)) == k + 1.0 and x[0] == k + 1.0


def _sum_of_powers(x: Any, n: Any) -> Any:
    total = x
    for _ in range(n):
        total = total * x + 1.0
    return total


def _named(x: Any, what: str, n: int = 2) -> Any:
    return x * n if what == "times" else x + n


WAYS: dict[str, tuple[Callable[[], Any], list[tuple[tuple[Any, ...], dict[str, Any]]]]] = {
    "a bound": (lambda: np.jit(_sum_of_powers), [((3,), {}), ((5,), {}), ((), {"n": 3})]),
    "static": (
        lambda: np.jit(_sum_of_powers, static_argnums=1), [((3,), {}), ((1,), {}), ((), {"n": 4})],
    ),
    "static, from the end": (
        lambda: np.jit(_sum_of_powers, static_argnums=-1), [((3,), {}), ((2,), {})],
    ),
    "static by name": (lambda: np.jit(_sum_of_powers, static_argnames="n"), [((), {"n": 3})]),
    "names": (lambda: np.jit(_named), [(("times",), {}), (("plus",), {}), (("times", 3), {})]),
    "an int that fixes a shape": (
        lambda: np.jit(lambda x, n: x[:4] @ np.eye(n)), [((4,), {}), ((4,), {})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("policy", ["compiled", "adaptive"])
@pytest.mark.parametrize("kind", ["lazy", "NumPy's"])
@pytest.mark.parametrize("name", WAYS)
def test_static_arguments_are_a_part_of_the_key(
    name: str, kind: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, calls = WAYS[name]
    f = make()
    x = numpy.linspace(0.5, 1.5, 6)
    with np.config(execution=policy):
        for times in range(2 * TIMES):
            if times == TIMES:  # from now on all calls take the fast path
                monkeypatch.setattr(type(f), "_traced_call", None)
            for args, kwargs in calls:
                got = f(np.array(x) if kind == "lazy" else x, *args, **kwargs)
                want = f.__wrapped__(x, *args, **kwargs)
                numpy.testing.assert_allclose(got, want, rtol=1e-12)


def test_static_arguments_are_told_apart_by_class_and_value() -> None:
    f = np.jit(_sum_of_powers)
    x = np.linspace(0.5, 1.5, 6)
    kinds = (3, 2, 3, True, numpy.int64(2), np.array(2), 0, -1)
    with np.config(execution="adaptive"):
        for _ in range(2 * TIMES):
            for n in kinds:
                want = _sum_of_powers(numpy.asarray(x), int(n))
                numpy.testing.assert_allclose(f(x, n), want, rtol=1e-12)
        with pytest.raises(TypeError):
            f(x, 2.5)
        with pytest.raises(TypeError):
            f(x)
        with pytest.raises(TypeError):
            f(x, 2, 3)


def test_unhashable_static_arguments_are_refused() -> None:
    f = np.jit(lambda x, n: x * len(n), static_argnums=1)
    x = np.arange(3.0)
    for _ in range(TIMES):
        numpy.testing.assert_array_equal(f(x, (1, 2)), numpy.arange(3.0) * 2)
        with pytest.raises(ValueError, match="hashable"):
            f(x, [1, 2])
