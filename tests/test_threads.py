"""Threads that share arrays, and processes that fork."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import POLICIES, fresh_start, in_thread

THREADS = 8


@pytest.fixture(autouse=True, params=POLICIES)
def policy(request: pytest.FixtureRequest) -> Iterator[str]:
    fresh_start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # as many changes of thread as there can be
    with np.config(execution=request.param):
        yield request.param
    sys.setswitchinterval(interval)


def together(work: Callable[[int], None], count: int = THREADS) -> None:
    """Run `work(k)` in this many threads, which start together; raise what they raise."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run(k: int) -> None:
        try:
            barrier.wait(30)
            work(k)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not any(t.is_alive() for t in threads), "deadlock"
    if errors:
        raise errors[0]


def test_threads_with_arrays_of_their_own() -> None:
    def work(k: int) -> None:
        for repeat in range(15):
            x = np.arange(20.0) + k
            for i in range(20):
                x = x * 0.5 + i
                x[i] = k
            want = numpy.arange(20.0) + k
            for i in range(20):
                want = want * 0.5 + i
                want[i] = k
            assert x.tolist() == want.tolist(), repeat

    together(work)


def test_threads_that_look_at_the_same_pending_nodes() -> None:
    for _ in range(10):
        x = np.arange(50.0) * 2.0
        y = x + 1.0
        v = y[10:20]
        t = v[::-1]
        got: list[Any] = [None] * THREADS

        def work(k: int, v: Any = v, t: Any = t, y: Any = y, got: list[Any] = got) -> None:
            got[k] = (v * 1.0 + t).tolist() if k % 2 else (y.sum().item(), t.tolist())

        together(work)
        want = numpy.arange(50.0) * 2.0 + 1.0
        for k in range(THREADS):
            if k % 2:
                assert got[k] == [want[10:20].sum() / 5.0] * 10
            else:
                assert got[k] == (want.sum(), want[10:20][::-1].tolist())


def test_nodes_recorded_in_one_thread_and_read_in_another() -> None:
    def make() -> Any:
        a = np.arange(6.0)
        b = a * 2.0
        a[1:3] = b[2:4]
        return a, b, a[::2]

    a, b, v = in_thread(make)  # that thread has ended, with everything still pending
    assert (v + b[::2]).tolist() == [0.0, 10.0, 12.0]
    assert a.tolist() == [0.0, 4.0, 6.0, 3.0, 4.0, 5.0]


def test_a_chain_through_many_threads() -> None:
    x = np.zeros(3)
    parts = []
    for k in range(20):
        x = in_thread(lambda x=x, k=k: x + float(k))
        parts.append(x)
    assert parts[10].tolist() == [55.0] * 3
    assert x.tolist() == [190.0] * 3


@pytest.mark.parametrize("how", ["slices", "rows in place", "elements", "masks", "views"])
def test_writes_to_parts_of_one_array_lose_nothing(how: str) -> None:
    n, repeats = 10, 25
    a = np.zeros((THREADS, n))
    views = [a[k] for k in range(THREADS)]
    flat = np.zeros(THREADS * n)
    flat.tolist()
    owner = numpy.arange(THREADS)[:, None] * numpy.ones(n)
    masks = [np.array(owner == k) for k in range(THREADS)]

    def work(k: int) -> None:
        for i in range(repeats):
            if how == "slices":
                a[k, i % n : i % n + 1] = float(i)
                a[k : k + 1, 1:3] = i
            elif how == "rows in place":
                a[k] += 1.0
            elif how == "elements":
                flat[k * n + i % n] = float(i)
                if i % 7 == k % 7:
                    flat[k * n : k * n + 2] = float(i)
            elif how == "masks":
                a[masks[k]] = float(i)
            else:
                views[k][i % n : i % n + 1] += 1.0
            if i % 10 == k:
                numpy.asarray(a)

    together(work)
    want = numpy.zeros((THREADS, n))
    want_flat = numpy.zeros(THREADS * n)
    for k in range(THREADS):
        for i in range(repeats):
            if how == "slices":
                want[k, i % n] = want[k, 1:3] = i
            elif how == "rows in place":
                want[k] += 1.0
            elif how == "elements":
                want_flat[k * n + i % n] = i
                if i % 7 == k % 7:
                    want_flat[k * n : k * n + 2] = i
            elif how == "masks":
                want[k] = i
            else:
                want[k, i % n] += 1.0
    if how == "slices":  # `want[k, i % n] = want[k, 1:3] = i` stores in the other order
        want = numpy.zeros((THREADS, n))
        for k in range(THREADS):
            for i in range(repeats):
                want[k, i % n] = i
                want[k, 1:3] = i
    numpy.testing.assert_array_equal(numpy.asarray(a), want)
    numpy.testing.assert_array_equal(numpy.asarray(flat), want_flat)


def test_a_view_is_read_while_its_owner_is_written() -> None:
    """A reader sees each write wholly or not at all."""
    a = np.zeros(40)
    view = a[10:30]
    stop = threading.Event()

    def work(k: int) -> None:
        if k == 0:
            for i in range(200):
                a[...] = float(i)
            stop.set()
        else:
            last = 0.0
            while not stop.is_set():
                seen = set((view + 0.0).tolist())
                assert len(seen) == 1
                (value,) = seen
                assert value >= last
                last = value

    together(work, 4)
    assert view.tolist() == [199.0] * 20


def test_a_view_never_returns_to_an_earlier_value() -> None:
    """One reader gives the view a value while another has seen a later one."""
    for _ in range(20):
        a = np.zeros(40)
        view = a[10:30]
        stop = threading.Event()

        def work(k: int, a: Any = a, view: Any = view, stop: threading.Event = stop) -> None:
            if k == 0:
                for i in range(200):
                    a[...] = float(i)
                stop.set()
            last = 0.0
            while not stop.is_set():
                value = float((view + 0.0)[0])
                assert value >= last
                last = value

        together(work, 4)


def test_views_of_views_are_made_while_their_owner_is_written() -> None:
    a = np.zeros(30)
    view = a[5:25]
    stop = threading.Event()

    def work(k: int) -> None:
        if k == 0:
            for i in range(200):
                a[5:] = float(i)
            stop.set()
        else:
            while not stop.is_set():
                assert len(set(view[::2][1:].tolist())) == 1

    together(work, 3)
    assert view[::2].tolist() == [199.0] * 10


def test_the_same_program_is_first_met_by_all_at_once() -> None:
    for n in range(3, 9):
        got: list[Any] = [None] * THREADS

        def work(k: int, n: int = n, got: list[Any] = got) -> None:
            x = np.arange(float(n)) * 3.0
            x[1:] -= k
            got[k] = np.sort(x)[::-1].tolist()

        together(work)
        for k in range(THREADS):
            want = numpy.arange(float(n)) * 3.0
            want[1:] -= k
            assert got[k] == sorted(want.tolist(), reverse=True)


def test_functions_of_the_same_arrays_are_first_called_by_all_at_once() -> None:
    for k in range(4):
        x, want = np.arange(5.0) + k, numpy.arange(5.0) + k
        doubled, tripled = np.jit(lambda x: x * 2), np.jit(lambda x: x * 3 + x[0])

        def work(i: int) -> None:
            for first in (i % 2, (i + 1) % 2):
                if first:
                    assert doubled(x).tolist() == (want * 2).tolist()  # noqa: B023
                else:
                    assert tripled(x).tolist() == (want * 3 + want[0]).tolist()  # noqa: B023

        together(work)
        assert x.tolist() == want.tolist()
        assert (doubled._cache_size(), tripled._cache_size()) == (1, 1)


def test_arrays_are_used_while_others_trace_with_them() -> None:
    """Whatever reads an array waits until a staged function has given it back."""
    x, want = np.arange(5.0), numpy.arange(5.0)
    written = np.zeros(THREADS)
    uses: list[tuple[Callable[[], Any], Any]] = [
        (lambda: np.jit(lambda x: (x * 2).sum() + x[0])(x), 20.0),
        (lambda: np.fori_loop(0, 3, lambda i, s: s + x[i], 0.0), 3.0),
        (lambda: np.cond(True, lambda: x + 1, lambda: x - 1), want + 1),
        (lambda: np.grad(lambda x: (x**2).sum())(x), 2 * want),
        (lambda: x.sum(), 10.0),
        (lambda: x + 1, want + 1),
        (lambda: x[1:3], want[1:3]),
        (lambda: x.shape, (5,)),
        (lambda: np.where(x > 2, x, 0), numpy.where(want > 2, want, 0)),
        (lambda: np.sort(x)[::-1], want[::-1]),
        (lambda: float(x[2]), 2.0),
        (lambda: numpy.asarray(x), want),
    ]

    def work(k: int) -> None:
        for j in range(len(uses)):
            use, wanted = uses[(5 * k + j) % len(uses)]
            numpy.testing.assert_array_equal(use(), wanted)
        written[k] = k

    together(work)
    assert x.tolist() == want.tolist() and written.tolist() == list(range(THREADS))


def test_threads_that_die_leave_their_arrays() -> None:
    made: list[Any] = []

    def work(k: int) -> None:
        x = np.arange(5.0) + k
        x[0] = -1.0
        made.append((k, x))
        if k % 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        together(work)
    assert len(made) == THREADS
    for k, x in made:
        assert x.tolist() == [-1.0, *(numpy.arange(1.0, 5.0) + k)]


# -- fork ------------------------------------------------------------------------------------------

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def run(program: str, policy: str) -> str:
    """The output of a script in its own process."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(program)],
        env={**os.environ, "LAZYNP_EXECUTION": policy}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


FORK = """
    import os, sys
    import lazynp as np
    x = np.arange(4.0) * 2.0
    y = x + 1.0
    {before}
    pid = os.fork()
    if pid == 0:
        status = 3
        try:
            print("child", {child}, flush=True)
            status = 0
        except RuntimeError as e:
            print("child", type(e).__name__, e, flush=True)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    print("parent", status, (y * 2.0).tolist(), flush=True)
"""
PARENT = "parent 0 [2.0, 6.0, 10.0, 14.0]\n"


@needs_fork
def test_fork_before_the_first_computation(policy: str) -> None:
    out = run(FORK.format(before="pass", child="(y * 3.0).tolist()"), policy)
    assert out == "child [3.0, 9.0, 15.0, 21.0]\n" + PARENT


@needs_fork
def test_a_child_forked_after_a_computation_gets_an_error_not_a_hang(policy: str) -> None:
    out = run(FORK.format(before="y.tolist()", child="(y * 3.0).tolist()"), policy)
    if policy == "compiled":
        assert out.startswith("child ForkError lazynp: the process was forked after")
        assert out.endswith(PARENT)
    else:  # no XLA in either
        assert out == "child [3.0, 9.0, 15.0, 21.0]\n" + PARENT


@needs_fork
def test_a_child_can_read_what_the_parent_computed(policy: str) -> None:
    out = run(FORK.format(before="y.tolist()", child="y.tolist(), float(x[1])"), policy)
    assert out == "child [1.0, 3.0, 5.0, 7.0] 2.0\n" + PARENT


@needs_fork
def test_fork_while_another_thread_computes(policy: str) -> None:
    """The child inherits the locks as taken at that moment, and nobody there would release them."""
    out = run(
        """
        import os, threading
        import lazynp as np
        stop = threading.Event()
        def compute():
            i = 0
            while not stop.is_set():
                i += 1
                a = np.arange(3.0) * float(i)
                a[1:] = a[:-1]
                a.tolist()
        t = threading.Thread(target=compute)
        t.start()
        good = 0
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                try:
                    a = np.ones(3)
                    a[1:] = 2.0
                    with np.config(execution="reference"):
                        os._exit(0 if (a + 1.0).tolist() == [2.0, 3.0, 3.0] else 4)
                finally:
                    os._exit(3)
            good += os.waitpid(pid, 0)[1] == 0
        stop.set()
        t.join()
        print(good)
        """,
        policy,
    )
    assert out == "20\n"


@needs_fork
def test_fork_while_another_thread_loads_the_transformations() -> None:
    out = run("""
        import os, signal, sys, threading, time
        import lazynp as np

        class Slow:  # a part of the transformations takes its time
            def find_spec(self, name, path=None, target=None):
                if name == "lazynp.transforms._jit":
                    begun.set()
                    time.sleep(0.5)

        begun = threading.Event()
        sys.meta_path.insert(0, Slow())
        thread = threading.Thread(target=lambda: np.jit)
        thread.start()
        begun.wait()
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            np.jit
            os._exit(0)
        print(os.waitpid(pid, 0)[1])
        thread.join()
    """, "adaptive")  # fmt: skip
    assert out == "0\n"
