"""Arrays to and from the device, execution, donation, errors, threads, forks."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import tracemalloc

import numpy as np
import pytest

from lazynp import _cost, _ownership, lowering
from lazynp._avals import DEVICE_DTYPES, aval_of
from lazynp._errors import ForkError, InternalError
from lazynp._node import VALUE, leaf
from lazynp.lowering import _closing, _compat, _runtime
from tests.lowering.helpers import compiled, evaluate

F8 = np.dtype("f8")
X = np.arange(6.0).reshape(2, 3)


def double(b, x):
    return b.binary("stablehlo.add", x, x)


def address(array):
    return array.__array_interface__["data"][0]


# -- put and host ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", sorted(DEVICE_DTYPES, key=str), ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3, 4)], ids=str)
@pytest.mark.parametrize("owned", [False, True])
def test_round_trip(dtype, shape, owned):
    array = np.ones(shape, dtype)
    buffer = lowering.put(array, owned)
    assert lowering.is_buffer(buffer) and not lowering.is_buffer(array)
    assert lowering.buffer_aval(buffer) is aval_of(shape, dtype)
    got = lowering.host(buffer)
    assert (got.dtype, got.shape) == (dtype, shape)
    assert not got.flags.writeable
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("size", [10, 1000, 1_000_000])
@pytest.mark.parametrize("offset", [0, 1])
def test_put_copies_what_may_change(size, offset):
    array = lowering.aligned_empty((size + 1,), F8)[offset:]
    array[:] = 1
    buffer = lowering.put(array)
    array[:] = 2
    assert (lowering.host(buffer) == 1).all()


def test_put_uses_owned_aligned_memory():
    array = lowering.aligned_empty((1000,), F8)
    array[:] = 1
    assert address(lowering.host(lowering.put(array, owned=True))) == address(array)
    assert address(lowering.host(lowering.put(array[1:], owned=True))) != address(array[1:])


@pytest.mark.parametrize("dtype", sorted(DEVICE_DTYPES, key=str), ids=str)
def test_aligned_empty(dtype):
    for shape in ((), (0,), (3,), (5, 7)):
        node = leaf(lowering.aligned_empty(shape, dtype))
        assert _ownership.owned(node)
        array = node[VALUE]
        assert array.dtype == dtype and array.shape == shape
        assert lowering.is_aligned(array) and array.flags.writeable


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize(
    "array",
    [X.T, X[:, ::-1], X[:, ::2], np.asfortranarray(X), np.broadcast_to(X[0], (4, 3)),
     X.astype(">f8"), X.astype(">f8").T, np.array(3.0, ">f8"), X.astype("i4").astype(">i4")],
    ids=lambda a: f"{a.dtype.str}{a.shape}{a.strides}",
)  # fmt: skip
def test_put_never_misreads(array, owned):
    got = lowering.host(lowering.put(array, owned))
    assert got.dtype.isnative
    np.testing.assert_array_equal(got, array)


def test_put_of_subclasses():
    matrix = np.ones((2, 2)).view(type("Sub", (np.ndarray,), {}))
    assert type(lowering.host(lowering.put(matrix))) is np.ndarray


@pytest.mark.parametrize("dtype", ["O", "U3", "M8[s]", "m8[s]", "V8", np.longdouble])
def test_put_refuses_what_xla_cannot_hold(dtype):
    with pytest.raises(TypeError, match="an array of numbers or booleans is required"):
        lowering.put(np.zeros(2, dtype))


def test_host_views_outlive_the_buffer():
    view = lowering.host(lowering.put(np.full(100_000, 3.0)))
    assert (view == 3).all()


def test_memory_put_without_a_copy_is_let_go():
    array = lowering.aligned_empty((1000,), F8)
    other = lowering.put(np.ones(1))
    before = sys.getrefcount(array)
    buffer = lowering.put(array, owned=True)
    assert sys.getrefcount(array) > before
    del buffer
    lowering.host(other)
    assert sys.getrefcount(array) == before


# -- execution ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [X.view("i8"), X.astype("f4"), X.reshape(3, 2), X.reshape(6), X[0], np.array(1.0),
     X.astype("c16")],
    ids=lambda a: f"{a.dtype}{a.shape}",
)  # fmt: skip
def test_a_buffer_of_another_type_is_refused(wrong):
    """jaxlib reads an int64 given for a float64, and a (3, 2) for a (2, 3), without a word."""
    program = compiled(double, X)
    with pytest.raises(InternalError, match=r"buffers of \[f64\[2,3\]\] are required"):
        program.run([lowering.put(wrong)])


def test_a_wrong_number_of_buffers_is_refused():
    program, buffer = compiled(double, X), lowering.put(X)
    for buffers in ([], [buffer, buffer]):
        with pytest.raises(InternalError, match="are required"):
            program.run(buffers)


def test_results_carry_their_types():
    (first,) = compiled(double, X).run([lowering.put(X)])
    assert lowering.buffer_aval(first) is aval_of((2, 3), F8)
    (second,) = compiled(double, X).run([first])
    np.testing.assert_array_equal(lowering.host(second), 4 * X)


def test_donation():
    big = np.ones(100_000)
    program = compiled(double, big, donate=[0])
    buffer = lowering.put(big)
    where = buffer.unsafe_buffer_pointer()
    (result,) = program.run([buffer])
    assert result.unsafe_buffer_pointer() == where
    assert buffer.is_deleted()
    with pytest.raises(InternalError, match="deleted"):
        program.run([buffer])


def test_programs_of_one_thread_and_of_many_take_each_others_results(monkeypatch):
    """Small programs wake no threads: another client than that of large ones, the same memory."""
    (small,) = compiled(double, X).run([lowering.put(X)])
    monkeypatch.setattr(_cost, "ALONE", -1.0)
    many = compiled(lambda b, x, y: b.binary("stablehlo.add", x, y), X, X)
    (sum_,) = many.run([small, lowering.put(X, alone=False)])
    assert (many.alone, compiled(double, X).alone) == (False, False)
    monkeypatch.setattr(_cost, "ALONE", 1.0)
    one = compiled(double, X)
    (result,) = one.run([sum_])
    assert one.alone
    np.testing.assert_array_equal(lowering.host(result), 6 * X)
    np.testing.assert_array_equal(lowering.host(sum_), 3 * X)
    with pytest.raises(InternalError, match="are required"):
        many.run([result, lowering.put(X.astype("f4"))])


def test_a_donated_result_of_another_client_is_not_written(monkeypatch):
    big = np.ones(100_000)
    (there,) = compiled(double, big).run([lowering.put(big)])
    monkeypatch.setattr(_cost, "ALONE", -1.0)
    (result,) = compiled(double, big, donate=[0]).run([there])
    assert (lowering.host(result) == 4).all()
    assert there.is_deleted() or (lowering.host(there) == 2).all()


def test_donation_respects_host_views():
    program = compiled(double, np.ones(1000), donate=[0])
    buffer = lowering.put(np.ones(1000))
    view = lowering.host(buffer)
    (result,) = program.run([buffer])
    assert (view == 1).all() and (lowering.host(result) == 2).all()
    owned = lowering.aligned_empty((1000,), F8)
    owned[:] = 1
    (result,) = program.run([lowering.put(owned, owned=True)])
    assert (owned == 1).all() and (lowering.host(result) == 2).all()


def test_executions_leave_nothing_behind():
    """jaxlib notes Python's stack at each, and only notes that it may be forgotten."""
    program, buffer = compiled(double, X), lowering.put(X)
    program.run([buffer])
    tracemalloc.start()
    try:
        for _ in range(1000):
            program.run([buffer])
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 20_000
    finally:
        tracemalloc.stop()


def test_dispatch_calls_little_python():
    program = compiled(lambda b, x, y: b.binary("stablehlo.add", x, y), np.ones(8), np.ones(8))
    buffers = [lowering.put(np.ones(8))] * 2
    program.run(buffers)
    called = []
    sys.setprofile(lambda frame, event, _: event == "call" and called.append(frame.f_code.co_name))
    try:
        program.run(buffers)
    finally:
        sys.setprofile(None)
    assert 1 <= len(called) <= 4, called


# -- errors ------------------------------------------------------------------------------------


def test_bad_text_is_an_internal_error_that_shows_it():
    with pytest.raises(InternalError, match="not a module") as caught:
        lowering.compile_text("this is not a module", [], [])
    assert caught.value.module == "this is not a module"


def test_unknown_custom_call_is_an_internal_error():
    with pytest.raises(InternalError, match="no_such_target"):
        compiled(lambda b, x: b.custom_call("no_such_target", [x], [x.aval]), X)


def test_too_large_is_a_memory_error():
    def huge(b, x):
        return b.broadcast_in_dim(x, (10**13,), ())

    with pytest.raises(MemoryError):
        evaluate(huge, np.array(1.0))
    assert (evaluate(double, X) == 2 * X).all()


def test_other_platforms_are_refused():
    with pytest.raises(NotImplementedError, match="cpu is supported"):
        lowering.put(X, platform="cuda")


# -- threads and processes ---------------------------------------------------------------------


def in_threads(count, work):
    errors = []

    def guarded(i):
        try:
            work(i)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []


def test_threads_execute_concurrently():
    program = compiled(double, np.ones(1000))

    def work(i):
        for k in range(200):
            (out,) = program.run([lowering.put(np.full(1000, i + k / 7))])
            assert (lowering.host(out) == 2 * (i + k / 7)).all()

    in_threads(4, work)


def test_threads_compile_concurrently():
    def work(i):
        def lower(b, x):
            return b.binary("stablehlo.add", x, b.constant(i, F8, (2, 3)))

        np.testing.assert_array_equal(evaluate(lower, X), X + i)

    in_threads(4, work)


def child(code):
    """Run a program in a process of its own; its output."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=60, cwd=os.getcwd(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(), done.stderr


def test_the_client_is_made_once_and_late():
    out, err = child("""
        import sys, threading
        import numpy as np
        from lazynp import lowering
        from lazynp.lowering import _closing, _compat, _runtime
        assert not _runtime._backends
        made, real = [], _compat.cpu_client
        _compat.cpu_client = lambda *a: made.append(1) or real(*a)
        ts = [threading.Thread(target=lambda: lowering.put(np.ones(3))) for _ in range(8)]
        [t.start() for t in ts]; [t.join() for t in ts]
        print(len(made), "jax" in sys.modules, "scipy.linalg" in sys.modules)
    """)
    assert out == ["1", "False", "False"]
    assert err == ""


FORK = """
    import os, sys
    import numpy as np
    from lazynp import lowering
    from lazynp._errors import ForkError
    from tests.lowering.helpers import compiled
    {before}
    pid = os.fork()
    if pid == 0:
        {child}
        sys.stdout.flush()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_a_fork_before_the_first_use_may_compute():
    out, _ = child(FORK.format(
        before="pass",
        child="print(lowering.host(lowering.put(np.ones(2))).sum())",
    ))  # fmt: skip
    assert out == ["2.0", "0"]


def test_a_fork_with_a_live_client_is_refused_not_hung():
    attempt = """
        for f in (lambda: program.run([buffer]), lambda: lowering.put(np.ones(2)),
                  lambda: compiled(lambda b, x: b.unary("stablehlo.sine", x), np.ones(2))):
            try: f(); print("ran")
            except ForkError as e: print("forked" in str(e))
        print(lowering.host(buffer).sum())
    """
    out, _ = child(FORK.format(
        before="program = compiled(lambda b, x: b.unary('stablehlo.sine', x), np.ones(2)); "
        "buffer = lowering.put(np.ones(2))",
        child=textwrap.indent(textwrap.dedent(attempt), " " * 8).strip(),
    ))  # fmt: skip
    assert out == ["True", "True", "True", "2.0", "0"]


def test_fork_error_is_a_runtime_error():
    assert issubclass(ForkError, RuntimeError)


def test_the_log_level_of_the_user_is_kept():
    out, _ = child("""
        import os
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        from lazynp import lowering
        print(os.environ["TF_CPP_MIN_LOG_LEVEL"])
    """)
    assert out == ["3"]


def test_versions():
    assert _compat.VERSION >= (0, 10)
    assert _runtime.backend("cpu") is _runtime.backend("cpu")


def test_the_buffer_behind_an_array():
    buffer = lowering.put(X)
    array = lowering.host(buffer)
    assert lowering.behind(array) is buffer
    for other in (X, array[:1], array.reshape(-1), array.T, array.view("i8"), array.copy()):
        assert lowering.behind(other) is None


def test_shapes_that_come_once_are_forgotten():
    """Descriptions that no buffer and no program holds do not pile up."""
    table = _runtime.backend()._described
    bound, kept = table.least, _runtime.put(X)
    try:
        table.least = 16
        table.sweep()
        held = len(table.table)  # by programs of other tests
        for n in range(1, 3 * held + 200):
            _runtime.put(np.ones((n, 7)))
        assert len(table.table) <= 2 * held + 32
        assert _runtime.backend().described(aval_of((2, 3), F8)) is kept.aval
    finally:
        table.least = table.bound = bound


def test_at_the_end_no_thread_frees_a_buffer(monkeypatch):
    """jaxlib lets go of the interpreter meanwhile; whoever then asks for it ends the process."""
    monkeypatch.setattr(_closing, "BUILT", False)  # this process goes on
    monkeypatch.setattr(_closing, "_held", [])
    monkeypatch.setattr(_closing, "closing", False)
    monkeypatch.setattr(_closing, "_closer", 0)
    kept, ended = _runtime.put(X), threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        _closing._close()
    finally:
        ended.set()
        thread.join()
    assert any(buffer is kept for buffers in _closing._held for buffer in buffers)


def test_a_thread_is_kept_out_until_the_end_waits_for_it(monkeypatch):
    class KeptOut(Exception):
        pass

    def sleep(seconds):
        raise KeptOut

    told = threading.Event()
    end = threading.Thread(target=told.wait)
    end.start()
    try:
        while "wait" not in sys._current_frames()[end.ident].f_code.co_name:
            pass  # it has not begun to wait
        monkeypatch.setattr(_closing.time, "sleep", sleep)
        monkeypatch.setattr(_closing, "_closer", end.ident)
        _closing.keep_out()
        monkeypatch.setattr(_closing, "_closer", -1)  # it does something else
        with pytest.raises(KeptOut):
            _closing.keep_out()
    finally:
        told.set()
        end.join()
