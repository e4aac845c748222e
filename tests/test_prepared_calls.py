"""Jitted calls on arrays split over devices, which run where they are made, prepared once."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._fronts import BUILT
from tests.devices.worker import on_eight
from tests.helpers import Counted

pytestmark = pytest.mark.own_policy  # such arrays are compiled under every policy
P = np.PartitionSpec
VALUE = numpy.random.default_rng(0).normal(size=(8, 4))


def split() -> Any:
    return np.NamedSharding(np.make_mesh((8,), ("x",)), P("x"))


def wave(x: Any) -> Any:
    return np.sin(x) * 2 + x


def numpys(x: Any) -> Any:
    return numpy.sin(x) * 2 + x


def frames_of(call: Callable[[], Any]) -> int:
    """How many functions of Python's a call runs, but for `call`."""
    found: list[Any] = []
    before = sys.getprofile()
    gc.disable()  # it may call functions of its own
    sys.setprofile(lambda frame, event, _: found.append(frame) if event == "call" else None)
    try:
        call()
    finally:
        sys.setprofile(before)
        gc.enable()
    return len(found) - 1


def prepared(f: Any, *args: Any, **named: Any) -> Any:
    """Call it until its calls do not wait any more."""
    for _ in range(4):
        out = np.materialize(f(*args, **named))
    return out


FORMS: dict[str, Callable[[], tuple[Any, tuple[Any, ...], dict[str, Any]]]] = {
    "a constraint": lambda: (
        np.jit(lambda x: wave(np.with_sharding_constraint(x, split()))), (rows(),), {},
    ),
    "sharding of results": lambda: (np.jit(wave, out_shardings=split()), (rows(),), {}),
    "shardings of arguments": lambda: (np.jit(wave, in_shardings=split()), (rows(),), {}),
    "shard_map": lambda: (
        np.jit(np.shard_map(wave, mesh=split().mesh, in_specs=P("x"), out_specs=P("x"))),
        (rows(),), {},
    ),
    "a tree": lambda: (np.jit(lambda t: wave(t["a"][0])), ({"a": [rows(), None]},), {}),
    "a named argument": lambda: (np.jit(lambda x: wave(x)), (), {"x": rows()}),
    "a number": lambda: (np.jit(lambda x, c: wave(x) + c), (rows(), 0.0), {}),
    "a Scalar": lambda: (np.jit(lambda x, c: wave(x) + c), (rows(), rows().sum() * 0), {}),
    "a tree of results": lambda: (np.jit(lambda x: ({"a": wave(x)}, x.sum())), (rows(),), {}),
}  # fmt: skip


def rows() -> Any:
    return np.device_put(VALUE, split())


@pytest.mark.parametrize("form", list(FORMS))
@on_eight
def test_calls_of_this_form_run_where_they_are_made(form: str) -> None:
    f, args, named = FORMS[form]()
    prepared(f, *args, **named)
    with Counted() as counted:
        out = f(*args, **named)
    assert (counted.compiled_runs, counted.compiles) == (1, 0)
    leaves: list[Any] = np.tree.leaves(out)
    first, others = leaves[0], leaves[1:]
    assert first.sharding == split()
    numpy.testing.assert_allclose(first, numpys(VALUE), rtol=1e-12)
    numpy.testing.assert_allclose(others, [VALUE.sum()] * len(others), rtol=1e-12)
    assert [type(x) for x in others] == [type(np.zeros(1).sum())] * len(others)
    assert f"{__file__}:" in np.explain(first).recorded


@pytest.mark.skipif(not BUILT, reason="the fast path in C was not built")
@on_eight
def test_a_prepared_call_needs_hardly_any_code_of_pythons() -> None:
    x, y = rows(), rows()
    f = np.jit(wave)
    g = np.jit(lambda x, y: (x + y, x.sum()))
    prepared(f, x)
    prepared(g, x, y)
    for call, most in (
        (lambda: f(x), 3),  # they run the program
        (lambda: g(x, y), 20),  # and make the tree of its results
    ):
        for _ in range(2):  # the first time, nothing is known of this code
            frames = frames_of(call)
            np.materialize(x + 1)
        assert frames <= most


@on_eight
def test_what_a_prepared_call_cannot_do_goes_the_general_way() -> None:
    x, calls = rows(), []

    def function(x: Any) -> Any:
        calls.append(x)
        return wave(x)

    f = np.jit(function)
    prepared(f, x)
    traces = len(calls)
    fortran = np.device_put(numpy.asfortranarray(VALUE), split())
    for other in (x, x[:], x + 0, fortran, np.device_put(VALUE, "cpu:2"), np.array(VALUE)):
        for _ in range(4):
            out = f(other)
            numpy.testing.assert_allclose(out, numpys(VALUE), rtol=1e-12)
            assert out.devices() == other.devices()
    frozen = rows()
    frozen.flags.writeable = False
    numpy.testing.assert_allclose(f(frozen), numpys(VALUE), rtol=1e-12)
    np.materialize(x + 1)
    with np.disable_jit():
        before = len(calls)
        assert f(x).shape == x.shape and len(calls) == before + 1 > traces
    f.clear_cache()
    assert f(x).shape == x.shape and len(calls) == before + 2
    twice = np.jit(lambda a, b: a * b)
    for _ in range(4):
        numpy.testing.assert_allclose(np.materialize(twice(x, x)), VALUE * VALUE)


@on_eight
def test_a_written_operand_and_a_pending_one_are_read_as_they_are() -> None:
    x, value = rows(), VALUE.copy()
    f = np.jit(wave)
    prepared(f, x)
    for step in range(4):
        x += step
        value += step
        numpy.testing.assert_allclose(f(x), numpys(value), rtol=1e-12)
    numpy.testing.assert_allclose(f(x * 2), numpys(value * 2), rtol=1e-12)


@on_eight
def test_threads_make_prepared_calls_beside_each_other() -> None:
    x, f, found = rows(), np.jit(wave), []
    prepared(f, x)

    def run() -> None:
        for _ in range(20):
            found.append(numpy.array(f(x)))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 60
    for out in found:
        numpy.testing.assert_allclose(out, numpys(VALUE), rtol=1e-12)


@on_eight
def test_a_prepared_call_counts_what_it_moves() -> None:
    f, x, stats = np.jit(lambda x: x.sum(0)), rows(), np.stats()
    prepared(f, x)
    before = stats.collectives["all-reduce"], stats.collective_bytes
    np.materialize(f(x))
    assert stats.collectives["all-reduce"] == before[0] + 1
    assert stats.collective_bytes == before[1] + 4 * 8


@on_eight
def test_normal_numbers_are_the_same_on_any_number_of_devices() -> None:
    key = np.random.key(7)
    with np.config(execution="compiled"):
        want = numpy.array(key.normal((512,)))
    got = np.jit(lambda key: key.normal((512,)), out_shardings=split())(key)
    numpy.testing.assert_array_equal(got, want)
