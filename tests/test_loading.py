"""What an import loads, and what the first compiled program loads. Lists of modules, not clocks."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import pytest

import lazynp as np
from lazynp import _promotion
from lazynp._later import Later
from lazynp.lowering import _loading

HEAVY = {
    "jaxlib", "ml_dtypes", "scipy", "array_api_compat",
    "numpy.testing", "numpy.ma", "numpy.polynomial", "numpy.random", "numpy.char", "numpy.rec",
    "unittest", "subprocess", "logging", "concurrent.futures", "hashlib", "tempfile", "secrets",
    "lazynp.array_api", "lazynp.char", "lazynp.ma", "lazynp.polynomial", "lazynp.random",
    "lazynp.rec", "lazynp.strings", "lazynp.testing", "lazynp.functions.keys",
    "lazynp.lowering._builder", "lazynp.lowering._cache", "lazynp.lowering._runtime",
}  # fmt: skip
NUMPYS = """
    import sys
    import numpy
    before = set(sys.modules)
"""
AFTER = f"""
    print(*sorted({HEAVY!r} & set(sys.modules) - before))
"""
EAGER = """
    import {module} as np
    x = np.linspace(0.0, 1.0, 7)
    total = 0.0
    for i in range(300):
        y = np.sin(x) + i
        y[1:3] *= 2
        total += float(y.sum()) + np.linalg.norm(x.reshape(7, 1) @ x[None]) + np.fft.fft(x)[0].real
        y.sort()
    total += float((np.full(7, 0.25) + x).max()) + np.array([x[1], 0.5]).sum()
    print(f"{{total:.10e}}", np.concatenate([x, y]).shape, np.where(x > 0.5, x, 0).tolist(), x)
    np.save(sys.argv[1], x)
"""


def run(program: str, *arguments: str, policy: str = "adaptive", **settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        env={**os.environ, "LAZYNP_EXECUTION": policy, "LAZYNP_CACHE": "off", **settings},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_import_loads_nothing_heavy() -> None:
    assert run(NUMPYS + "    import lazynp\n" + AFTER) == ""


def test_an_import_loads_no_transformations() -> None:
    """Nor does what needs none of them: whole arrays in the lines of a module."""
    run("""
        import sys
        import lazynp as np

        def loaded():
            rooms = "lazynp.transforms.", "lazynp._promotion."
            return [m for m in sys.modules if m.startswith(rooms)]

        assert {"grad", "jit", "vmap", "scan"} <= set(dir(np))
        x = np.linspace(0.0, 1.0, 1 << 21).reshape(512, -1)
        y = np.exp(-x) * np.sin(x) + x.mean(axis=0)
        y[y > 0.5] *= 2
        u, s, v = np.linalg.svd(y[:5, :5])
        print(np.linalg.det(y[:3, :3]) + s.sum() + float(y.sum()) + np.polyval([1, 2], 3.0))
        print(np.percentile(y, 5), np.unique(np.round(x, 1)).size, np.sort(y, axis=0)[3, 3])
        assert loaded() == [], loaded()
        assert np.grad(lambda x: x * x)(3.0) == 6.0
        assert vars(np)["grad"] is np.transforms.grad is np.grad and len(loaded()) > 100
        try:
            np.transforms.nothing
        except AttributeError as error:
            assert str(error) == "module 'lazynp.transforms' has no attribute 'nothing'"
    """)


@pytest.mark.parametrize("first", ["from lazynp.transforms import grad", "from lazynp import grad"])
def test_transformations_by_name(first: str) -> None:
    assert run(f"    {first}\n    print(grad(lambda x: x * x)(3.0))") == "6.0"


HOT = """
    import sys
    import lazynp as np
    from lazynp._collector import importing
    importing.seconds = 0.03  # on any machine

    def step(x):
        for i in range(4):
            x = x * 0.5 + 1.0
        return x

    def main():
        x = np.ones(3)
        for i in range({rounds}):
            x = step(x)
        return x

    print(main().tolist(), "lazynp.transforms._jit" in sys.modules, end=" ")
    print("lazynp._promotion._function" in sys.modules, end="")
    from lazynp._recorder import tick_observers
    names = [f.__module__ for f in tick_observers]
    assert ("lazynp._promotion" in names) is not ("lazynp._promotion._sampling" in names), names
"""


@pytest.mark.parametrize(("rounds", "loads"), [(100, False), (30_000, True)])
def test_hot_functions_load_them(rounds: int, loads: bool) -> None:
    """Ticks that come before are not counted; nor is work of a few milliseconds."""
    assert run(HOT.format(rounds=rounds)) == f"[2.0, 2.0, 2.0] {loads} {loads}"


def test_short_work_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many operations it has: its time counts, too. It must be as much as the import's,
    which tells how fast the machine is.
    """
    loaded: list[int] = []
    monkeypatch.setattr(_promotion.transforms, "load", lambda: loaded.append(clock[0]))
    clock = [0]
    monkeypatch.setattr(_promotion.time, "process_time", lambda: 1e-3 * clock[0])
    assert 0.01 < _promotion.importing.seconds < 60
    monkeypatch.setattr(_promotion.importing, "seconds", 0.03)
    fresh = {"ticks": 0, "in_vain": {}}
    monkeypatch.setattr(_promotion, "_Waiting", type("_Waiting", (_promotion._Waiting,), fresh))
    ticks = _promotion._TICKS
    with np.config(execution="adaptive", promotion=True):
        for clock[0] in (5, *[9] * ticks, 30, 34):
            _promotion._count(sys._getframe())
        assert loaded == []
        clock[0] = 36
        _promotion._count(sys._getframe())
    assert loaded == [36]


def test_rounds_of_a_loop_load_what_they_need() -> None:
    """Their programs have loops, which are primitives of the transformations."""
    program = """
        import sys
        import lazynp as np
        x = np.zeros(2000)
        for i in range(300):
            x = x * 0.5 + 1.0
            x = x - 0.25 * x
        before = [f"lazynp.{m}" in sys.modules for m in ("transforms._loops", "_promotion._all")]
        print(round(float(x[0]), 12), np.stats().compiles > 0, *before)
    """
    assert run(program, policy="compiled") == "1.2 True True True"
    assert run(program) == "1.2 False False False"


@pytest.mark.parametrize("policy", ["adaptive", "reference"])
def test_small_work_loads_nothing_heavy(policy: str, tmp_path: os.PathLike[str]) -> None:
    program = NUMPYS + EAGER.format(module="lazynp") + AFTER
    got = run(program, os.path.join(tmp_path, "x.npy"), policy=policy)
    want = run("    import sys\n" + EAGER.format(module="numpy"), os.path.join(tmp_path, "x.npy"))
    assert got == want


def test_what_is_asked_for_is_loaded() -> None:
    """Each of these is NumPy's, or ours, and comes back as one and the same object."""
    run("""
        import sys
        import lazynp as np
        for name in ("ma", "random", "testing", "polynomial", "char", "strings", "rec", "special"):
            assert f"lazynp.{name}" not in sys.modules, name
            assert name in dir(np)
            assert getattr(np, name) is sys.modules[f"lazynp.{name}"] is vars(np)[name]
        assert np.ones(2).__array_namespace__() is sys.modules["lazynp.array_api"] is np.array_api
        assert np.ones(2).__array_namespace__(api_version="2022.12") is not np.array_api
    """)


def test_adopting_what_uses_series() -> None:
    assert (
        run("""
        import numpy, numpy.polynomial
        import lazynp as np
        P = numpy.polynomial.polynomial
        f = np.adopt(lambda x: P.polyval(x, [1.0, 2.0]) + P.polyval(x, [1.0]))
        print(np.grad(f)(3.0))
    """)
        == "2.0"
    )


def test_the_first_program_loads_jaxlib() -> None:
    assert (
        run("""
        import gc, sys, threading
        import lazynp as np, numpy
        from lazynp import lowering
        np.config(execution="compiled")
        placeholder = lowering.Buffer
        assert not lowering.is_buffer(1) and "jaxlib" not in sys.modules
        assert lowering.behind(np.ones(2)._read()[2]) is None
        x = np.arange(5.0)
        f = np.jit(lambda x: x * 2 + 1)
        got = []
        threads = [threading.Thread(target=lambda: got.append(f(x).tolist())) for _ in range(6)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert got == [[1, 3, 5, 7, 9]] * 6
        assert "jaxlib" in sys.modules and gc.isenabled()
        assert lowering.Buffer is not placeholder
        assert lowering.is_buffer(lowering.put(numpy.ones(3)))
        print("ok")
    """)
        == "ok"
    )


def test_nothing_disturbs_the_loading() -> None:
    """Signal handlers, and destructors that the collector runs, compute meanwhile."""
    run(
        """
        import gc, os, signal, threading, time
        import lazynp as np

        class Computes:
            def __init__(self):
                self.me = self

            def __del__(self):
                log.append(f(np.ones(2)).tolist())

        f = np.jit(lambda x: x * 2 + 1)
        log, heard = [], []
        gc.set_threshold(5)
        for _ in range(20):
            Computes()
        signal.signal(signal.SIGALRM, lambda *_: heard.append(f(np.ones(3)).tolist()))
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        assert f(np.ones(4)).tolist() == [3] * 4
        gc.collect()
        assert log == [[3, 3]] * 20, log
        assert heard == [[3, 3, 3]]
    """,
        policy="compiled",
    )


def test_an_interrupt_leaves_jaxlib_whole() -> None:
    run(
        """
        import signal
        import lazynp as np

        def stop(*_):
            raise KeyboardInterrupt

        f = np.jit(lambda x: x * 2 + 1)
        signal.signal(signal.SIGALRM, stop)
        for delay in (0.001, 0.004, 0.02, 0.05):
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                f(np.ones(4)).tolist()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
        assert f(np.ones(4)).tolist() == [3] * 4
    """,
        policy="compiled",
    )


def test_a_fork_while_another_thread_loads_is_refused_not_hung() -> None:
    assert (
        run("""
        import os, sys, threading, time
        import lazynp as np
        from lazynp._errors import ForkError
        np.config(execution="compiled")
        f = np.jit(lambda x: x * 2 + 1)
        thread = threading.Thread(target=lambda: f(np.ones(3)).tolist())
        thread.start()
        while "jaxlib" not in sys.modules:
            time.sleep(0.0005)
        pid = os.fork()
        if not pid:
            try:
                f(np.ones(2)).tolist()
            except ForkError:
                os._exit(0)
            os._exit(1)
        thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """)
        == "0"
    )


def test_loading_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_loading, "_loader", None)
    tries: list[str] = []

    def without_memory(name: str) -> None:
        tries.append(name)
        raise ImportError("libx.so: failed to map segment from shared object")

    with monkeypatch.context() as m:
        m.setattr(_loading, "import_module", without_memory)
        for _ in range(2):
            with pytest.raises(MemoryError, match="failed to map"):
                _loading.load()
    assert len(tries) == 2
    assert _loading.load().put


def test_loading_that_cannot_even_tell_why_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_loading, "_loader", None)

    def without_memory(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as m:
        m.setattr(_loading, "import_module", without_memory)
        m.setattr(_loading, "_translated", without_memory)
        m.setattr(threading, "excepthook", lambda _: None)
        with pytest.raises(MemoryError):
            _loading.load()
    assert _loading.load().put


def test_code_run_by_the_loading_cannot_use_what_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_loading, "_loader", None)
    found: list[BaseException] = []
    real = _loading.import_module

    def nested(name: str) -> object:
        try:
            _loading.load()
        except MemoryError as error:
            found.append(error)
        return real(name)

    def fails(self: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as m:
        m.setattr(_loading, "import_module", nested)
        m.setattr("threading.Thread.start", fails)  # it is loaded by the thread that asks, then
        assert _loading.load().put
    assert len(found) == 1


def test_later() -> None:
    module = Later("colorsys")
    assert repr(module) == "<module 'colorsys', loaded at its first use>"
    assert module.rgb_to_hsv(1.0, 0.0, 0.0) == (0.0, 1.0, 1.0)
    with pytest.raises(AttributeError, match="nothing"):
        module.nothing  # noqa: B018


def test_no_file_is_read_in_the_encoding_of_the_locale() -> None:
    program = "import lazynp as np; print(np.jit(lambda x: x + 1).lower(1.0).compile()(1.0))"
    options = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning"]
    run = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert (run.returncode, run.stdout) == (0, "2.0\n"), run.stderr


def test_random_numbers_load_no_series() -> None:
    """The nodes of Gauss's rule are for derivatives of some distributions."""
    run("""
        import sys
        import lazynp as np
        np.random.default_rng(0).normal(size=3)
        assert "numpy.polynomial" not in sys.modules
    """)
