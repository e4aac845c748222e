"""Nothing kills the process, nothing hangs it: each program here runs in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import weakref

import numpy
import pytest

import lazynp as np
from lazynp._fronts import BUILT
from lazynp._node import VALUE
from tests.helpers import POLICIES

# processes with policies of their own
pytestmark = pytest.mark.own_policy


def run(program: str, policy: str = "adaptive", **settings: str) -> str:
    """What the program prints; it must end by itself, without an error."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "LAZYNP_EXECUTION": policy, "LAZYNP_CACHE": "off", **settings},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- destructors that compute ----------------------------------------------------------------------

DESTRUCTORS = """
    import gc
    import lazynp as np

    class Computes:
        def __init__(self, array):
            self.array = array

        def __del__(self):
            self.array[0] = 9
            log.append(float((self.array * 2).sum()))

    log = []
    gc.set_threshold({threshold})
    for i in range(200):
        a = np.arange(5.0) + i
        garbage = Computes(a)
        garbage.me = garbage
        b = (a * 3)[1:]
        b[0] = 1
        del garbage
        assert float(b[1]) == 3 * (2 + i), (i, b.tolist())
    gc.collect()
    assert sorted(log) == [2 * (9 + 10 + 4 * i) for i in range(200)], log
    assert gc.isenabled()
"""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("threshold", [1, 5])
def test_a_destructor_computes_wherever_the_collector_runs(policy: str, threshold: int) -> None:
    run(DESTRUCTORS.format(threshold=threshold), policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_destructor_traces_wherever_the_collector_runs(policy: str) -> None:
    run("""
        import gc
        import lazynp as np

        class Traces:
            inside = 0

            def __init__(self):
                self.me = self

            def __del__(self):
                if Traces.inside < 2:
                    Traces.inside += 1
                    log.append(work(4))
                    Traces.inside -= 1

        total = np.jit(lambda x: (x * 2).sum(), abstracted_axes={0: "n"})

        def work(n):
            x = np.ones(n)
            gradient = np.grad(lambda v: (v * v).sum())(x)
            return float(gradient.sum() + total(x) + np.vmap(lambda v: v + 1)(x)[0])

        log = []
        gc.set_threshold(1)
        with np.profile():
            for i in range(30):
                Traces()
                assert work(3 + i % 5) == 4 * (3 + i % 5) + 2
        gc.collect()
        assert len(log) > 20 and set(log) == {18.0}, log
    """, policy)  # fmt: skip


def test_a_collector_that_is_off_stays_off() -> None:
    run("""
        import gc
        import lazynp as np
        gc.disable()
        assert float((np.arange(5.0) * 2).sum()) == 20
        assert not gc.isenabled()
    """)


def test_a_destructor_computes_while_lapack_is_imported() -> None:
    run("""
        import gc
        import lazynp as np

        class Computes:
            def __init__(self):
                self.me = self

            def __del__(self):
                log.append(np.linalg.solve(2 * np.eye(2), np.ones(2)).tolist())

        log = []
        gc.set_threshold(5)
        for i in range(5):
            Computes()
            assert np.linalg.solve(4 * np.eye(3), np.ones(3) * i).tolist() == [i / 4] * 3
        gc.collect()
        assert log == [[0.5, 0.5]] * 5
    """, "compiled")  # fmt: skip


# -- what constants alone decide -------------------------------------------------------------------


def test_xla_does_not_compute_with_constants_while_it_compiles() -> None:
    """As a part of compiling, the sort of a million elements did not come to an end."""
    run("""
        import lazynp as np
        x = np.ones(1_000_000) * 3
        x[0] = 5
        assert float(np.sort(x)[-1]) == 5
        assert float(np.cumsum(x)[-1]) == 3_000_002
        y = np.zeros(1_000_000)
        np.add.at(y, np.arange(1_000_000)[::-1] // 2, 1)
        assert float(y.max()) == 2
        z = np.fori_loop(0, 3, lambda i, x: np.sort(x) + 1, x)
        assert float(z[-1]) == 8
    """, "compiled")  # fmt: skip


# -- little memory ---------------------------------------------------------------------------------

LIMITED = """
    import resource
    import lazynp as np, numpy
    float((np.ones(1000) * 2).sum())
    status = open("/proc/self/status").read()
    size = int(status.partition("VmSize:")[2].split()[0]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (size + ({more} << 20),) * 2)
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="others do not limit address space")


@linux
@pytest.mark.parametrize(
    ("policy", "more"), [("compiled", 60), ("compiled", 300), ("adaptive", 200)]
)
def test_constants_where_memory_is_short(policy: str, more: int) -> None:
    """A result or MemoryError, under adaptive a result where NumPy would have one."""
    program = (
        LIMITED.format(more=more)
        + """
    for k in range(9):
        try:
            x = np.ones(4_000_000) * (k + 1)
            x[0] = 5
            y = x * x + 1
            y[1] += 1
            assert float(y[0]) == 26
            assert float(y[1]) == (k + 1) ** 2 + 2
            print("result")
        except MemoryError:
            print("MemoryError")
    """
    )
    said = run(program, policy).split()
    assert len(said) == 9
    if policy == "adaptive" and more >= 200:
        assert set(said) == {"result"}


@linux
@pytest.mark.parametrize("before", ["", "np.sort(numpy.ones(1 << 20)).tolist()"])
@pytest.mark.parametrize("more", [60, 200, 500])
def test_the_second_client_where_memory_is_short(before: str, more: int) -> None:
    program = (
        LIMITED.format(before=before, more=more)
        + """
    for k in range(4):
        try:
            x = np.array(numpy.ones(1_000_000))
            y = x * (x + k) if k % 2 else x - x * 3
            assert float(y[0]) == (1 + k if k % 2 else -2)
            print("result")
        except MemoryError:
            print("MemoryError")
    """
    )
    assert len(run(program, "compiled").split()) == 4


# -- the end of the process ------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("body", [
    "k += 1; float(np.jit(lambda z: (z * k).sum())(np.ones(k % 50 + 1)))",
    "k += 1; x = f(x); x[0] = k; x.tolist()",
])  # fmt: skip
def test_daemon_threads_compute_while_the_process_ends(policy: str, body: str) -> None:
    run(f"""
        import threading, time
        import lazynp as np

        f = np.jit(lambda x: np.sort(np.sin(x)) * 0.5)

        def work():
            k, x = 1, np.arange(20_000.0)
            while True:
                {body}

        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(1)
    """, policy)  # fmt: skip


def test_a_daemon_thread_is_joined_at_the_end() -> None:
    """By who registered before lazynp was imported, and so is called after it."""
    said = run("""
        import atexit, threading

        def end():
            stopped.set()
            thread.join(60)
            print("joined", not thread.is_alive(), float(np.ones(3).sum()))

        atexit.register(end)
        import lazynp as np

        def work():
            while not stopped.is_set():
                float((np.arange(50.0) * 2).sum())

        stopped = threading.Event()
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        float(np.ones(5).sum())
    """, "compiled")  # fmt: skip
    assert said == "joined True 3.0\n"


@pytest.mark.parametrize("before", ["pass", "np.sin(np.ones(4)).tolist()"])
@pytest.mark.parametrize("policy", ["adaptive", "compiled"])
def test_a_destructor_computes_after_all_else(policy: str, before: str) -> None:
    """There nothing can be imported or compiled any more, and no thread begins."""
    said = run(f"""
        import lazynp as np

        {before}

        class Last:
            def __init__(self):
                self.x = np.ones(3)

            def __del__(self):
                y = self.x * 2 + np.ones(3)
                y[0] = 7
                print(y.tolist(), float(y[1]), (np.arange(200_000) + 1).tolist()[-1])

        kept = Last()
    """, policy)  # fmt: skip
    assert said == "[7.0, 3.0, 3.0] 3.0 200000\n"


def test_the_process_ends_while_a_thread_makes_a_client() -> None:
    """The exit handler waits for a thread that is there, and none begins after it."""
    said = run("""
        import atexit, threading, time

        def end():  # called after the handler, as it was registered before
            print(*seen)
            seen.clear()
            going.set()
            time.sleep(0.3)
            print(*seen, flush=True)

        atexit.register(end)
        from lazynp.lowering import _runtime

        def make(platform, alone):
            seen.append("begins")
            time.sleep(0.5)
            seen.append("ends")

        def late():
            going.wait()
            _runtime.has_room("another")

        seen, going = [], threading.Event()
        _runtime.Backend = make
        threading.Thread(target=late, daemon=True).start()
        threading.Thread(target=_runtime.has_room, daemon=True).start()
        while not seen:
            time.sleep(0.01)
    """)
    assert said == "begins ends\n\n"


@pytest.mark.skipif(not BUILT, reason="without the C part, such a process dies by SIGABRT")
@pytest.mark.parametrize("who", ["another", "the last"])
def test_a_thread_that_aborts_at_the_end_is_stopped(who: str) -> None:
    """As one does that was freeing a buffer of XLA's when the interpreter began to shut down."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(f"""
            import atexit, ctypes, threading, time

            def end():  # called after lazynp's handler, as it was registered before
                going.set()
                time.sleep(0.3)
                if {who == "the last"}:
                    ctypes.CDLL(None).abort()

            def abort():
                going.wait()
                ctypes.CDLL(None).abort()

            atexit.register(end)
            import lazynp as np

            going = threading.Event()
            threading.Thread(target=abort, daemon=True).start()
            np.arange(5.0).tolist()
            np.jit(lambda x: np.sort(x * 2))(np.arange(5.0)).tolist()
            raise SystemExit(3)
        """)],
        env={**os.environ, "LAZYNP_EXECUTION": "compiled", "LAZYNP_CACHE": "off"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, "Fatal Python error" in done.stderr) == {
        "another": (3, False), "the last": (-signal.SIGABRT, True),
    }[who], done.stderr  # fmt: skip


@pytest.mark.skipif(not BUILT, reason="without the C part, such a process dies by SIGABRT")
def test_the_process_ends_while_a_thread_compiles() -> None:
    """With its exit code. The thread comes out of XLA while the interpreter shuts down."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent("""
            import sys, threading, time
            import lazynp as np
            from lazynp.lowering import _closing

            class Sleeps:
                def __del__(self, sleep=time.sleep):
                    sleep(5)

            _closing._PATIENCE = 0.05
            sleeps = Sleeps()  # the interpreter goes on shutting down for as long

            @np.jit
            def f(x):
                for k in list(range(80)):
                    x = np.concatenate([np.sin(x * k) + np.sort(x)[::-1], x[:1]])
                return x

            threading.Thread(target=lambda: f(np.arange(50.0)).tolist(), daemon=True).start()
            time.sleep(0.7)
            print("end", flush=True)
            sys.exit(3)
        """)],
        env={**os.environ, "LAZYNP_EXECUTION": "compiled", "LAZYNP_CACHE": "off"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "end\n"), done.stderr


# -- threads ---------------------------------------------------------------------------------------


def test_a_thread_goes_on_with_its_own_recorder() -> None:
    """Though letting go of the recorder of a thread that ended runs other threads."""
    run("""
        import threading, weakref
        import lazynp as np, numpy
        from lazynp._recorder import local

        def switch(reference):
            going.set()
            done.wait(5)

        def first():
            host = numpy.ones(3)
            x = np.array(host, copy=False)
            references.append(weakref.ref(host, switch))
            y = x * 2
            z = y + 1

        def second():
            going.wait(5)
            for i in range(3):
                a = np.arange(4.0) + i
                a = a * 2
            done.set()
            end.wait(5)

        references = []
        going, done, end = threading.Event(), threading.Event(), threading.Event()
        float((np.ones(2) * 2).sum())
        np.ones(2) * 2
        threads = [threading.Thread(target=f) for f in (second, first)]
        for thread in threads:
            thread.start()
        threads[1].join()
        x = np.ones(3) * 5
        before = len(local.recorder.pending)
        y = (x + 1) * 2
        assert len(local.recorder.pending) == before + 2
        assert y.tolist() == [12, 12, 12]
        end.set()
    """, "compiled")  # fmt: skip


def test_a_destructor_in_a_cut_may_ask_for_what_comes_later() -> None:
    """A reference count runs it in the middle of the interpreter's walk, not the collector."""
    seen: list[float] = []
    with np.config(execution="reference"):
        x = np.array(numpy.arange(4.0))
        y = x * 2.0
        z = (y + 1.0).sum()
        weakref.finalize(x._node[VALUE], lambda: seen.append(float(z)))
        del x
        assert float(z) == 16.0 and seen == [16.0]
        assert y.tolist() == [0.0, 2.0, 4.0, 6.0]
