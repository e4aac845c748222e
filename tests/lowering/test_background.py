"""Programs compiled in a thread while Python goes on: what is asked for meanwhile, and the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import lowering
from lazynp._promotion import _budget, _copies, _function, _program, taken
from lazynp.lowering import _background
from lazynp.lowering._background import Unfinished, result_of, unfinished_allowed
from tests.promoting import front, promoting
from tests.running import every_loop, run  # noqa: F401

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def background(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the process had two cores."""
    monkeypatch.setattr(_background, "cores", lambda: 2)
    monkeypatch.setattr(_background, "_works", {})
    with np.config(execution="adaptive", background=True):
        yield


class Held:
    """Nothing is compiled until this is called, which waits for all that has begun."""

    def __init__(self) -> None:
        self.again()

    def again(self) -> None:
        _background._one.acquire()
        self.has_lock = True

    def __call__(self) -> None:
        if self.has_lock:  # else, a thread that compiles may have it
            self.has_lock = False
            _background._one.release()
        for work in list(_background._works.values()):
            assert work._running.acquire(timeout=60)
            work._running.release()


@pytest.fixture
def held() -> Iterator[Held]:
    holds = Held()
    yield holds
    holds()


# -- waiting ---------------------------------------------------------------------------------------


class Rings(Exception):
    """What a handler of a signal raises."""


def interrupted_at(line: int, wait: Callable[[], Any]) -> bool:
    """Whether `wait`, in all that it calls, came to this many lines, where it was interrupted."""
    lines = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        if lines == line:
            sys.settrace(None)
            raise Rings
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        wait()
    except Rings:
        return True
    finally:
        sys.settrace(before)
    return False


def test_a_signal_at_any_line_interrupts_who_waits_and_nothing_else() -> None:
    """Its exception comes out, not one of the lock, and whoever waits again gets the result."""
    line, interruptions = 1, 0
    while True:
        work = _background.Work()
        timer = threading.Timer(0.01, work.end_with, (lambda: "it",))
        timer.start()
        came = interrupted_at(line, work.wait)
        assert work.wait() == "it"
        timer.join()
        if not came:
            break
        line, interruptions = line + 1, interruptions + 1
    assert interruptions >= 4


# -- one result ------------------------------------------------------------------------------------


def test_nobody_waits_who_need_not(held: Any) -> None:
    made: list[bool] = []

    def compile() -> str:
        # a thread that `threading` starts is lost if a signal comes meanwhile
        made.append(threading.get_ident() in [x.ident for x in threading.enumerate()])
        return "a program"

    for _ in range(3):
        with pytest.raises(Unfinished), unfinished_allowed():
            result_of("key", compile)
    assert not made
    held()
    with unfinished_allowed():
        assert result_of("key", compile) == "a program"
    assert made == [False]
    assert not _background._works
    with pytest.raises(Unfinished), unfinished_allowed():
        result_of("key", compile)  # it was taken


def test_whoever_must_waits(held: Any) -> None:
    with pytest.raises(Unfinished) as unfinished, unfinished_allowed():
        result_of("key", lambda: 3)
    threading.Timer(0.05, held).start()
    assert result_of("key", lambda: 4) == 3
    assert unfinished.value.work.done
    assert result_of("key", lambda: 4) == 4  # here and now


def test_an_error_is_raised_for_whoever_takes_the_result(held: Any) -> None:
    with pytest.raises(Unfinished), unfinished_allowed():
        result_of("key", lambda: 1 // 0)
    held()
    with pytest.raises(ZeroDivisionError), unfinished_allowed():
        result_of("key", lambda: 1)
    assert not _background._works


def test_what_nobody_takes_is_dropped(held: Any) -> None:
    for k in range(3 * _background._KEPT):
        with pytest.raises(Unfinished), unfinished_allowed():
            result_of(k, lambda: None)
    assert len(_background._works) == _background._KEPT


@pytest.mark.parametrize("settings", [
    {"background": False}, {"execution": "compiled"}, {"execution": "reference"},
])  # fmt: skip
def test_settings_say_otherwise(settings: dict[str, Any]) -> None:
    with np.config(**settings), unfinished_allowed():
        assert result_of("key", lambda: 5) == 5


def test_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_background, "cores", lambda: 1)
    assert not lowering.in_background()
    with unfinished_allowed():
        assert result_of("key", lambda: 5) == 5


# -- who asks for programs -------------------------------------------------------------------------


def steps(np: Any, count: int) -> Any:
    x = np.linspace(0.0, 1.0, 100_000)
    for _ in range(count):
        x = np.sin(x) * 0.5 + np.cos(x) * 0.25 + 0.125
    return x


def test_a_loop_goes_on_by_numpy_until_its_program_is_there(held: Any) -> None:
    before = np.stats().compiles
    numpy.testing.assert_allclose(steps(np, 300), steps(numpy, 300), rtol=1e-12)
    assert np.stats().compiles == before and _background._works
    held()
    numpy.testing.assert_allclose(steps(np, 200), steps(numpy, 200), rtol=1e-12)
    held()
    numpy.testing.assert_allclose(steps(np, 200), steps(numpy, 200), rtol=1e-12)
    assert np.stats().compiles > before


def logistic(r: float, x: float, n: int) -> Any:
    for _ in range(n):
        x = r * x * (1.0 - x)
    return x


def test_a_call_with_other_numbers_goes_on_by_numpy_until_its_program_is_there(held: Any) -> None:
    jitted = np.jit(logistic)
    for k, r in enumerate((3.5, 3.5, 3.5, 3.6, 3.61, 3.6, 3.62)):
        assert float(jitted(r, 0.3, 20_000)) == logistic(r, 0.3, 20_000)
        if k == 1:
            held()
            held.again()  # the next program waits


def relaxed(u: Any, count: int, by: float) -> Any:
    for _ in range(count):
        u[1:-1] = u[1:-1] + by * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u.sum()


def test_a_hot_function_that_takes_longer_than_compiling_waits() -> None:
    with promoting():  # by estimate, compiling takes no time
        hot = front(relaxed)
        for k in range(3):
            relaxed(np.ones(30), 20, 0.25)
            assert hot.programs == (k >= 1) and not _background._works


def test_a_hot_function_is_pythons_until_its_program_is_there(
    held: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    u, plain = np.ones(30), numpy.ones(30)
    u[4] = plain[4] = 2.0
    with promoting():
        monkeypatch.setattr(_budget, "IN_BACKGROUND", 0.0)  # of the price
        monkeypatch.setattr(_function, "_COMPILING", 1e3)
        hot = front(relaxed)
        for k in range(8):
            if k == 5:
                held()
            numpy.testing.assert_allclose(
                relaxed(u, 20, 0.25), hot.plain(plain, 20, 0.25), rtol=1e-12
            )
            numpy.testing.assert_allclose(u, plain, rtol=1e-12)
            assert hot.programs == (k >= 5)
            assert bool(_background._works) == (1 <= k < 5), k


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each array that is copied for a trial."""
    found: list[int] = []
    copy = _copies._copy

    def noted(owner: Any) -> Any:
        found.append(owner.nbytes)
        return copy(owner)

    monkeypatch.setattr(_copies, "_copy", noted)
    return found


def test_nothing_is_copied_before_a_program_is_compiled(
    held: Any, copied: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    u = np.ones(30)
    with promoting():
        monkeypatch.setattr(_budget, "IN_BACKGROUND", 0.0)  # of the price
        monkeypatch.setattr(_function, "_COMPILING", 1e3)
        hot = front(relaxed)
        for _ in range(4):
            relaxed(u, 20, 0.25)
        assert _background._works and not copied
        held()
        relaxed(u, 20, 0.25)
        assert hot.programs and 0 < len(copied) <= 4 and set(copied) == {u.nbytes}


def test_large_arrays_are_copied_once(
    copied: list[int], monkeypatch: pytest.MonkeyPatch, every_loop: None, tmp_path: Path  # noqa: F811
) -> None:  # fmt: skip
    """For a program that writes them: it is timed by its only run, or by another one on the same
    copies.
    """
    monkeypatch.setattr(_program, "LIGHT", 100)
    monkeypatch.setattr(_program, "_IN_A_SECOND", 0.0)
    u = np.ones(30)
    with promoting():
        hot = front(relaxed)
        for _ in range(3):
            relaxed(u, 20, 0.25)
        assert hot.programs and copied == [u.nbytes]
    copied.clear()
    text = """
        u = np.linspace(0, 1, 30)
        for k in range(60):
            if k == 2 or k == 3: look()
            u[1:-1] = u[1:-1] + 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
    """
    taken.clear()
    with np.config(background=False):
        got = run(text, np, tmp_path)
    numpy.testing.assert_allclose(got["u"], run(text, numpy, tmp_path)["u"], rtol=1e-12)
    assert sum(t.chunks for t in taken) and copied == [240]


def test_a_running_loop_is_pythons_until_its_program_is_there(
    held: Any, every_loop: None, tmp_path: Path  # noqa: F811
) -> None:  # fmt: skip
    text = """
        x, t = np.ones(5), 0.0
        for k in range(400):
            if k == 2 or k == 3: look()
            t = t + 0.5
            x = x * 0.5 + k + t
    """
    taken.clear()
    got, want = run(text, np, tmp_path), run(text, numpy, tmp_path)
    assert _background._works and not sum(t.chunks for t in taken)
    numpy.testing.assert_allclose(got["x"], want["x"], rtol=1e-12)
    assert got["t"] == want["t"]
    held()
    taken.clear()
    got = run(text, np, tmp_path)
    numpy.testing.assert_allclose(got["x"], want["x"], rtol=1e-12)
    assert sum(t.chunks for t in taken), [t.explained() for t in taken]


# -- the process -----------------------------------------------------------------------------------

BEGIN = """
import os, signal, sys, threading, time
import lazynp as np
from lazynp.lowering import _background
_background.cores = lambda: 2

def begin():
    x = np.linspace(0.0, 1.0, 100_000)
    for _ in range(10_000):
        x = np.sin(x) * 0.5 + np.cos(x) * 0.25 + 0.125
        if _background._works:
            return
    raise AssertionError("nothing is compiled")
"""
ENDS = {
    "at once": ("begin()\nprint('end')", 0),
    "exit": ("begin()\nprint('end')\nsys.exit(3)", 3),
    "error": ("begin()\nprint('end')\n1 / 0", 1),
    "interrupt": (
        "begin()\nprint('end', flush=True)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)",
        -signal.SIGINT,
    ),
    "thread": ("t = threading.Thread(target=begin)\nt.start()\nt.join()\nprint('end')", 0),
}


@pytest.mark.skipif(os.name == "nt", reason="sends signals")
@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_process(name: str) -> None:
    """It comes while a program is being compiled, and is as usual."""
    text, status = ENDS[name]
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + text], capture_output=True, text=True, timeout=120,
        env={**os.environ, "LAZYNP_BACKGROUND": "1", "LAZYNP_EXECUTION": "adaptive"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (status, "end\n"), done.stderr
    assert status or not done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_waits_for_no_thread() -> None:
    text = textwrap.dedent("""
        begin()
        child = os.fork()
        if child == 0:
            x = 1.0
            for _ in range(100):
                x = float(np.asarray(x) + 1.0)
            os._exit(0 if x == 101.0 and not _background._works else 1)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + text], capture_output=True, text=True, timeout=120,
        env={**os.environ, "LAZYNP_BACKGROUND": "1", "LAZYNP_EXECUTION": "adaptive"},
    )  # fmt: skip
    assert not done.returncode, done.stderr


def test_where_no_thread_can_be_started_it_is_compiled_here_and_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_background, "start_new_thread", refused)
    with unfinished_allowed():
        assert [result_of("key", lambda: 7), _background._works] == [7, {}]
