"""`while` loops that continue as programs: the state after them is what Python would have left."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._fronts import fastpath
from lazynp._promotion import _running, taken
from tests.running import MARKS, assert_alike, blocks, check, every_loop, run  # noqa: F401
from tests.running_programs import program
from tests.test_running_loops import script
from tests.while_programs import REFUSED, TAKEN

pytestmark = MARKS


@pytest.mark.parametrize(
    "chunk",
    [
        pytest.param(1e-9, id="few rounds", marks=pytest.mark.slow),
        pytest.param(1.0, id="many rounds"),
    ],
)
@pytest.mark.parametrize("name", TAKEN)
def test_a_loop_that_was_taken_leaves_what_python_leaves(
    name: str, chunk: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(_running, "_CHUNK", chunk)
    check(TAKEN[name], tmp_path)
    printed = capsys.readouterr().out
    ours, theirs = printed[: len(printed) // 2], printed[len(printed) // 2 :]
    assert ours == theirs
    assert sys.gettrace() is None


@pytest.mark.parametrize("name", REFUSED)
def test_what_python_could_notice_is_refused(name: str, tmp_path: Path) -> None:
    check(REFUSED[name], tmp_path, taking=False)


@pytest.mark.parametrize("total", [
    "sum(t * k for k in (0.1, 0.3, 0.7))", "sum([n * k for k in (1, 2)], t)",
    "sum([t * 0.1, t * 0.3, t * 0.7])", "sum((t * 0.1 for _ in (1, 2, 3)), 0.5)",
])  # fmt: skip
def test_sums_of_floats(total: str, tmp_path: Path) -> None:
    """Later versions of Python compensate for rounding in `sum`: there Python's loop goes on."""
    source = f"""
x, t, n = np.ones(3), 0.1, 0
while n < 40:
    n += 1
    if n == 2 or n == 3: look()
    t = 0.6 * {total} + 0.01
    x = x * 0.5 + t
"""
    check(source, tmp_path, taking=sys.version_info < (3, 12))


@pytest.mark.parametrize("block", blocks(12))
def test_random_loops(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_running, "_CHUNK", 1.0 if block % 2 else 1e-9)
    ran = 0
    for seed in range(10 * block, 10 * block + 10):
        source = program(seed, conditional=True)
        taken.clear()
        got = run(source, np, tmp_path, f"p{seed}")
        want = run(source, numpy, tmp_path, f"p{seed}")
        try:
            assert_alike(dict(enumerate(got["out"])), dict(enumerate(want["out"])))
        except AssertionError as error:
            raise AssertionError(source) from error
        ran += sum(t.chunks for t in taken)
    assert ran, "no program ran"


def test_an_error_is_raised_at_its_line_and_round(tmp_path: Path) -> None:
    source = """
        x, n = np.zeros(40), 0
        def main(x):
            global n
            while n < 60:
                n += 0
            return x
        def far(x):
            k = 0
            while k < 60:
                if k == 2 or k == 3: look()
                x[k] = k
                k += 1
        try:
            far(x)
        except IndexError as error:
            place = error.__traceback__.tb_next
            said = str(error).partition(" ")[0], place.tb_lineno, place.tb_frame.f_locals["k"]
            del place, error
        """
    taken.clear()
    got = run(source, np, tmp_path)
    want = run(source, numpy, tmp_path)
    assert got["said"] == want["said"]
    numpy.testing.assert_array_equal(got["x"], want["x"])
    assert sum(t.chunks for t in taken)


def test_another_trace_function_is_left_alone(tmp_path: Path) -> None:
    source = """
        import sys
        def main():
            lines = []
            def trace(frame, event, arg):
                lines.append(event)
                return trace
            x, n = np.ones(3), 0
            sys.settrace(trace)
            while n < 30:
                if n == 2 or n == 3: look()
                x = x * 0.9
                n += 1
            kept = sys.gettrace() is trace
            sys.settrace(None)
            return x, kept
        out = main()
        del sys
        """
    check(textwrap.dedent(source), tmp_path, taking=False)


def test_a_frame_is_waited_for_once() -> None:
    came: list[Any] = []

    def waits(times: int) -> None:
        frame = sys._getframe()
        line = frame.f_lineno
        assert fastpath.wait_for_line(frame, line + 4, line, line + 6, came.append)
        assert sys.gettrace() is None
        while times:
            times -= 1
            numpy.add(1, 2)

    waits(3)
    assert len(came) == 1 and came[0].f_code is waits.__code__
    waits(0)
    assert came[1:] == [None]


def test_an_error_in_the_callback_is_raised_in_the_frame() -> None:
    def refuse(frame: Any) -> None:
        raise KeyboardInterrupt

    def waits() -> str:
        frame = sys._getframe()
        line = frame.f_lineno
        assert fastpath.wait_for_line(frame, line + 3, line, line + 8, refuse)
        try:
            numpy.add(1, 2)
        except KeyboardInterrupt:
            return "raised"
        return "lost"

    assert waits() == "raised"


@pytest.mark.parametrize("delay", [0.0, 0.004, 0.03])
@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_an_interrupt_leaves_whole_rounds(delay: float, tmp_path: Path) -> None:
    """All variables have counted the same rounds."""
    text = f"""
        import os, signal, threading, time
        import lazynp as np
        from lazynp._promotion import _gains, _running, taken
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _running._CHUNK, _gains.FASTER, _gains.HOPELESS = 0.02, 1e9, 1e9
        _running.SECONDS = _running.COMPILING = _running.LOADING = 0.0
        u, w, t, n = np.zeros(60), np.zeros(3), 0.0, 0
        def stop():
            while not any(t.chunks >= 2 for t in list(taken)):
                time.sleep(0.001)
            time.sleep({delay})
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=stop, daemon=True).start()
        try:
            while n < 10_000_000:
                u[1:] += 1.0
                w = w + 1
                t += 1.0
                n += 1
        except KeyboardInterrupt:
            print("stopped", len(u))
        whole = set(u[1:].tolist()) | set(w.tolist()) | {{t, float(n)}}
        print(max(whole) - min(whole), n > 50)
        """
    stopped, counts, _ = script(tmp_path, textwrap.dedent(text)).stdout.split("\n")
    assert stopped == "stopped 60"
    apart, many = counts.split()  # the signal may come in a round of Python's
    assert float(apart) <= 1 and many == "True"
