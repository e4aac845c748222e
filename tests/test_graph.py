"""Flushes: their results, the memory they free, and that an interruption loses nothing."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _alone, _graph, _plan, _reference, lowering
from lazynp._flush import flush
from lazynp._node import ARGS, OP, VALUE
from lazynp._primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Primitive
from lazynp._recorder import local
from lazynp.lowering import _runtime
from tests.helpers import POLICIES, Counted, be_eager, fresh_start, in_thread, pending

SIZE = 1_000_000  # elements: 8 MB, visible to anything that counts bytes


@pytest.fixture(autouse=True, params=POLICIES)
def policy(request: pytest.FixtureRequest) -> Iterator[str]:
    fresh_start()
    with np.config(execution=request.param):
        yield request.param
    fresh_start()


def has_value(x: Any) -> bool:
    return x._read()[VALUE] is not None


def runs(counted: Counted) -> int:
    return counted.compiled_runs + counted.reference_runs


# -- results ---------------------------------------------------------------------------------------


def test_one_cut_gives_every_value_that_is_referred_to() -> None:
    a = np.array([1.0, 2.0, 3.0])
    b = a + 1.0
    c = b * 2.0
    d = c - a
    with Counted() as counted:
        assert d.tolist() == [3.0, 4.0, 5.0]
        assert has_value(b) and has_value(c)
        assert (b.tolist(), c.tolist()) == ([2.0, 3.0, 4.0], [4.0, 6.0, 8.0])
    assert (counted.cuts, runs(counted)) == (1, 1)


def test_nothing_is_computed_twice() -> None:
    a = np.arange(8.0)
    kept = []
    with Counted() as counted:
        x = a
        for i in range(5):
            x = x * 2.0 + i
            kept.append(x)
        x.tolist()
        for k in kept:
            k.tolist()
        (kept[0] + kept[4]).tolist()
    assert runs(counted) == 2


def test_what_is_dead_is_no_output(policy: str) -> None:
    a = np.arange(4.0)
    b = a + 1.0
    c = b * 2.0
    del b
    c.tolist()
    if policy == "compiled":
        plan = c._read()[ARGS]
        assert isinstance(plan, _plan.Plan)
        assert len(plan.outputs) == 1


def test_values_in_containers_closures_and_other_arrays_are_outputs() -> None:
    a = np.arange(4.0)
    held = {"x": [a + 1.0]}
    reader = (lambda y: lambda: y)(a * 3.0)
    view = (a - 1.0)[1:]
    (a * 2.0).tolist()
    with Counted() as counted:
        assert held["x"][0].tolist() == [1.0, 2.0, 3.0, 4.0]
        assert reader().tolist() == [0.0, 3.0, 6.0, 9.0]
        assert view.tolist() == [0.0, 1.0, 2.0]
    assert runs(counted) == 0


def test_views_are_parked_not_stored() -> None:
    x = np.arange(6.0) + 1.0
    v = x[1:-1]
    t = v[::-1]
    (x * 2.0).tolist()
    assert has_value(x) and not has_value(v) and not has_value(t)
    assert pending() == []
    with Counted() as counted:
        assert t.tolist() == [5.0, 4.0, 3.0, 2.0]  # of a value: no program need be run
        y = t * 2.0  # a parked view in a program
        assert y.tolist() == [10.0, 8.0, 6.0, 4.0]
    assert runs(counted) == 1


def test_a_view_whose_owner_moved_on() -> None:
    x = np.arange(6.0) * 1.0
    v = x[1:4]
    before = v * 1.0
    x[...] = 7.0
    after = v * 1.0
    assert before.tolist() == [1.0, 2.0, 3.0]
    assert after.tolist() == [7.0, 7.0, 7.0]
    assert v.tolist() == [7.0, 7.0, 7.0]


def test_broadcasts_and_iotas_take_no_memory() -> None:
    x = np.broadcast_to(np.ones(1) * 2.0, (SIZE,))
    y = np.zeros(SIZE)
    z = np.ones(3) * 2.0
    z.tolist()
    assert not has_value(x) and not has_value(y)
    assert float((x[:5] + y[:5]).sum()) == 10.0


def test_several_results_of_one_operation() -> None:
    a = np.array([1.5, -2.25, 3.75])
    whole, part = np.modf(a * 1.0)
    mantissa, exponent = np.frexp(a * 1.0)
    q, r = np.divmod(a * 1.0, 2.0)
    del part, exponent
    numpy.testing.assert_array_equal(whole, [0.5, -0.25, 0.75])
    numpy.testing.assert_array_equal(mantissa, numpy.frexp([1.5, -2.25, 3.75])[0])
    numpy.testing.assert_array_equal(q * 2.0 + r, a)
    values, counts = np.unique(np.array([3, 1, 3]) * 1, return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([1, 3], [1, 2])


# -- freed memory ----------------------------------------------------------------------------------


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


@needs_proc
def test_dead_intermediate_results_are_freed_at_once() -> None:
    x = np.ones(SIZE) * 1.0
    np.materialize(x)
    for _ in range(3):  # whatever is allocated once
        x = x * 1.0 + 0.5
        np.materialize(x)
    before = resident()
    for _ in range(20):
        x = x * 1.0 + 0.5
        np.materialize(x)
    assert resident() - before < 12 * x.nbytes


@needs_proc
def test_a_long_chain_holds_no_more_than_a_few_arrays() -> None:
    x = np.ones(SIZE) * 1.0
    np.materialize(x)
    before = resident()
    for i in range(60):
        x = np.sqrt(x) * 2.0 - i
        x[5:-5] += 1.0
    np.materialize(x)
    assert resident() - before < 15 * x.nbytes


def test_handles_and_views_die_with_their_last_reference() -> None:
    gc.disable()
    try:
        x = np.ones(5) * 2.0
        v = x[1:]
        w = v[::2].reshape(2, 1)
        refs = [weakref.ref(o) for o in (x, v, w)]
        w += 1.0
        x.tolist()
        del x
        assert refs[0]() is not None  # its views hold it
        del v, w
        assert [r() for r in refs] == [None, None, None]
    finally:
        gc.enable()


def _program() -> None:
    a = np.arange(20.0).reshape(4, 5)
    for i in range(40):
        a[i % 4] = a[(i + 1) % 4] * 0.5 + i
        a[:, 1:] += a[:, :-1]
        a[a > 100.0] = 0.0
    b = np.concatenate([a.T, np.ones((5, 1))], axis=1)
    b.sum().item()
    s = np.sort(b.ravel())[::-1]
    s[[0, 2]] = 1.0
    q, r = np.divmod(s, 3.0)
    repr(q + r)
    with pytest.raises(ValueError):
        a + np.ones(7)
    with pytest.raises(IndexError):
        a[99]
    np.make_jaxpr(lambda x: x[1:] + 1.0)(s)
    np.explain(q)


def test_programs_leave_no_cycles() -> None:
    _program()
    _program()
    gc.collect()
    gc.disable()
    try:
        _program()
        saved = gc.get_debug()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        ours = [o for o in gc.garbage if _is_ours(o)]
        gc.set_debug(saved)
        gc.garbage.clear()
        assert ours == []
    finally:
        gc.enable()


def _is_ours(x: Any) -> bool:
    if isinstance(x, list):
        return len(x) == 5 and type(x[0]).__name__ == "Op"
    return isinstance(x, np.Array)


def test_what_is_remembered_of_a_repeated_program_does_not_grow() -> None:
    with np.config(promotion=False):  # which reads this file, once
        _check_growth()


def _check_growth() -> None:
    def body() -> None:
        x = np.arange(50.0)
        for i in range(30):
            x = x * 0.5 + i
            x[i % 50] = i
        x.tolist()

    for _ in range(4):
        body()
    gc.collect()
    tracemalloc.start()
    body()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(10):
        body()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 50_000


# -- nodes of several threads ----------------------------------------------------------------------


def test_nodes_of_two_threads_are_put_in_order() -> None:
    """We read a node that another thread recorded on ours, while both are pending."""
    x = np.arange(4.0) + 1.0
    y = in_thread(lambda: x * 2.0)
    z = y + x
    w = in_thread(lambda: z * y)
    assert (w - z).tolist() == [3.0, 18.0, 45.0, 84.0]
    assert (x.tolist(), y.tolist()) == ([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0])
    assert z.tolist() == [3.0, 6.0, 9.0, 12.0]


def test_a_form_that_came_before_is_recognised_without_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lazynp._policy._LOOP", 1 << 30)  # otherwise later operations are eager
    if np.config.execution == "reference":
        return  # it has no forms
    a, b = np.arange(8.0), np.ones(8)

    def program(scale: float) -> float:
        x = a * scale + b
        y = np.sqrt(x) - a
        del x
        return float((y * y + 1.5).sum())

    want = [program(float(k)) for k in range(5)]
    with failing("scan", 1, Stop()):
        assert [program(float(k)) for k in range(5)] == want
        with pytest.raises(Stop):
            c = a + b  # is wanted too
            program(1.0)
    assert c.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


# -- interruptions ---------------------------------------------------------------------------------


class Stop(Exception):
    """Something unexpected."""


STAGES: dict[str, tuple[Any, str]] = {
    "compile": (lowering, "compile_program"),
    "lower": (_plan.Lowerer, "program"),
    "put": (_plan, "buffer_of"),
    "run": (_runtime.Executable, "run"),
    "commit": (_alone, "_commit"),
    "plan": (_graph, "_planned"),
    "scan": (_graph, "scan"),
    "complete": (_graph, "_complete"),
    "reference": (_reference, "_store"),
    "reuse": (_reference, "owned"),
    "operand": (_reference, "operand"),
    "walk": (_reference, "run"),
}


@contextmanager
def failing(stage: str, after: int, error: BaseException, once: bool = True) -> Iterator[list[int]]:
    """The `after`-th call of this stage fails, before it does anything."""
    room, name = STAGES[stage]
    real = getattr(room, name)
    calls = [0]

    def replaced(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        if calls[0] == after or calls[0] > after and not once:
            raise error
        return real(*args, **kwargs)

    setattr(room, name, replaced)
    try:
        yield calls
    finally:
        setattr(room, name, real)


def _build(np: Any) -> list[Any]:
    """Handles of every sort, pending; some updated in place, some sharing an owner."""
    a = np.arange(3000.0)
    b = a * 2.0
    b += 1.0
    c = b[10:20]
    c *= 3.0
    b[0] = b[1]
    d = b.reshape(30, 100)
    d[3] = d[2] + 1.0
    m = np.zeros((50, 60)) + 1.0
    m[m > 0.5] = 2.0
    m[[1, 3]] += 5.0
    t = m.T
    t[0] -= 1.0
    total = m.sum()
    e = np.sqrt(d[:5, :5])
    return [a, b, c, d, m, t, total, e, e + total]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), Stop()], ids=repr)
@pytest.mark.parametrize("stage", STAGES)
def test_a_cut_that_fails_leaves_every_handle_valid(stage: str, error: BaseException) -> None:
    expected = _build(numpy)
    for after in (1, 2, 5):
        _plan_memory_forgotten()
        handles = _build(np)
        with failing(stage, after, error) as calls:
            try:
                handles[-1].tolist()
            except type(error):
                assert calls[0] >= after
        for got, want in zip(handles, expected, strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(got), want)
        handles[0][:5] = 1.0  # and they can go on
        handles[1] += handles[0]
        assert float(handles[1][1]) == expected[1][1] + 1.0


def _plan_memory_forgotten() -> None:
    """So that the next program is compiled anew."""
    _graph.forget()


@pytest.mark.parametrize("stage", STAGES)
def test_a_cut_that_keeps_failing_can_be_asked_again(stage: str) -> None:
    _plan_memory_forgotten()
    x = np.arange(4.0) + 1.0
    y = x * 2.0
    y[1:] += 1.0
    with failing(stage, 1, Stop(), once=False) as calls:
        for _ in range(3):
            try:
                y.tolist()
            except Stop:
                pass
    if calls[0]:
        assert x.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert y.tolist() == [2.0, 5.0, 7.0, 9.0]


def test_an_operation_that_fails_fails_for_nobody_else(policy: str) -> None:
    if policy == "compiled":
        pytest.skip("a program fails as a whole: there is none without its operations")

    def refuse(x: Any) -> Any:
        raise ArithmeticError("never")

    never = Primitive(
        "never", abstract=lambda x: x, reference=refuse, lower=refuse, jvp=NOT_DIFFERENTIABLE,
        transpose=NOT_LINEAR, batch=NOT_LINEAR,
    )  # fmt: skip
    x = np.arange(4.0) + 1.0
    bad = never(x)
    worse, good = bad[1:] * 2.0, x * 3.0
    with pytest.raises(ArithmeticError, match="never"):
        good.tolist()  # one of the nodes that are computed together
    assert good.tolist() == [3.0, 6.0, 9.0, 12.0] and (x - 1.0).tolist() == [0.0, 1.0, 2.0, 3.0]
    for _ in range(2):
        for lost in (bad, worse):
            with pytest.raises(ArithmeticError, match="never"):
                lost.tolist()
    assert (good + x).tolist() == [4.0, 8.0, 12.0, 16.0]


def test_an_interrupted_update_of_a_donated_array_is_not_lost() -> None:
    """The interruption comes when the program has run and consumed its operand."""
    big = np.zeros((200, 500)) + 1.0
    row = np.ones(500) * 1.0
    np.materialize((big, row))
    for i in range(4):
        big[i] = row
        with failing("commit", 1, KeyboardInterrupt()):
            try:
                np.materialize(big)
            except KeyboardInterrupt:
                pass
        assert float(big.sum()) == 100_000.0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("seed", range(3))
def test_interruptions_at_any_time(seed: int, policy: str) -> None:
    """A timer interrupts at random instants; each write to the arrays happens exactly once."""
    rng = numpy.random.default_rng(seed)

    fired = False

    def interrupt(*_: Any) -> None:
        nonlocal fired
        fired = True
        raise KeyboardInterrupt

    # a separate function: CPython 3.13 does not count a loop's backward jump as part of the ``try``
    # around it, so an interruption there would bypass the handler
    def until_interrupted(y: np.Array, after: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, after)
        while not fired:  # an exception in a destructor is swallowed
            y.tolist()
            z = y * 2.0
            np.materialize(z)

    errors = numpy.geterr()
    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for _ in range(60):
            x = np.zeros(5000) + 1.0
            x += 1.0
            x *= 3.0
            x[100:200] += 1.0
            x[[1, 2]] += 10.0
            y = x + 1.0
            y -= 0.5
            y[7] = 0.0
            fired = False
            try:
                until_interrupted(y, float(rng.uniform(1e-5, 2e-3)))
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            want = numpy.full(5000, 6.0)
            want[100:200] += 1.0
            want[[1, 2]] += 10.0
            numpy.testing.assert_array_equal(numpy.asarray(x), want)
            want += 0.5
            want[7] = 0.0
            numpy.testing.assert_array_equal(numpy.asarray(y), want)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    found = numpy.geterr()
    numpy.seterr(**errors)  # or other tests fail with this one
    assert interrupted >= 40
    assert found == errors


def test_a_failure_in_one_thread_does_not_hold_up_another() -> None:
    x = np.arange(4.0) * 2.0
    with failing("scan" if np.config.execution != "reference" else "walk", 1, Stop()):
        with pytest.raises(Stop):
            x.tolist()
        assert in_thread(lambda: (np.ones(3) * 2.0).tolist()) == [2.0, 2.0, 2.0]
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(x.tolist()))
    thread.start()
    thread.join(20)
    assert done == [[0.0, 2.0, 4.0, 6.0]]


# -- the reference tier's reuse of memory ----------------------------------------------------------


def address(x: Any) -> int:
    return numpy.asarray(x).__array_interface__["data"][0]


def in_memory_of(x: Any, operation: Callable[[], Any]) -> bool:
    before = address(x)
    operation()
    return address(x) == before


@pytest.mark.parametrize("name", ["add", "rows", "sort", "mask"])
def test_by_reference_dead_memory_is_written_again(name: str, policy: str) -> None:
    if policy == "compiled":
        return  # test_plan.py: donation

    def operation() -> None:
        nonlocal x
        if name == "add":
            x += 1.0
        elif name == "rows":
            x[3] = 2.0
        elif name == "sort":
            x.sort()
        else:
            x[x > 0.5] = 0.25
        np.materialize(x)

    x = np.ones((100, 100)) * 0.75
    np.materialize(x)
    reused = [in_memory_of(x, operation) for _ in range(3)]
    assert any(reused) or name in ("sort", "mask")


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax"])
def test_into_memory_that_nobody_reads_any_more(name: str) -> None:
    """NumPy wants `out` by its name for some."""
    x = numpy.linspace(-2, 2, 5000)
    got = getattr(np, name)(np.array(x) * 2.0, 0.5)
    numpy.testing.assert_array_equal(got, getattr(numpy, name)(x * 2, 0.5))


def test_memory_that_is_seen_is_never_written() -> None:
    x = np.ones((100, 100)) * 0.75
    seen = numpy.asarray(x)
    y = x
    x = x.copy()
    x += 1.0
    x[3] = 2.0
    np.materialize(x)
    assert (seen == 0.75).all()
    assert float(y.sum()) == 7500.0
    again = numpy.asarray(x)
    x += 1.0
    x[4] = 0.0
    x.sort()
    np.materialize(x)
    assert again[3, 0] == 2.0 and again[4, 0] == 1.75


def test_operations_of_the_cut_are_in_recording_order() -> None:
    a = np.arange(4.0)
    b = a + 1.0
    a[1:] = b[:-1]
    c = a * b
    assert [n[OP].primitive.name for n in pending()][-1] == "multiply"
    assert (a.tolist(), b.tolist(), c.tolist()) == (
        [0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0], [0.0, 2.0, 6.0, 12.0],
    )  # fmt: skip


def test_what_is_asked_for_is_parked_and_read_by_what_is_pending() -> None:
    """Then it is computed before its reader, not after all that is pending."""
    x = np.arange(3.0).astype(complex)
    part = x.real
    be_eager(True)
    part[:-1] = part[1:]
    part[part == 2] = -1.0
    read = x * 1.0 - x
    assert x.tolist() == [1, -1, -1]
    assert read.tolist() == [0, 0, 0]


def test_results_of_an_evaluated_node_are_taken() -> None:
    """A destructor, or another thread, may evaluate a call before its results are recorded."""
    f = np.jit(lambda x: (x + 1.0, x * 2.0))
    x = np.arange(3.0)
    for _ in range(2):
        a, b = f(x)
        call = a._node[ARGS][0]
        here = local.recorder.pending
        results = here[-2:]
        del here[-2:]
        np.materialize(np.ones(2) * 2.0)  # evaluates the call, which the results still need
        if call[VALUE] is None:
            flush(local.recorder, call)
        here.extend(results)
        del results, call
        c = np.ones(3) + x
        assert c.tolist() == [1.0, 2.0, 3.0]
        assert a.tolist() == [1.0, 2.0, 3.0] and b.tolist() == [0.0, 2.0, 4.0]
