"""Loops that continue as programs: the state after them is what Python would have left."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._promotion import _clock, _running, taken
from lazynp._promotion._iterated import Iterated
from tests.naming_programs import (
    COMPREHENSIONS,
    KEPT,
    SECOND,
    SHARING,
    STAYING,
    TUPLES,
    TUPLES_KEPT,
)
from tests.running import MARKS, assert_alike, blocks, check, every_loop, run  # noqa: F401
from tests.running_programs import FAILING, REFUSED, TAKEN, program

pytestmark = MARKS


@pytest.mark.parametrize("name", TAKEN)
def test_a_loop_that_was_taken_leaves_what_python_leaves(name: str, tmp_path: Path) -> None:
    check(TAKEN[name], tmp_path)


SHOWN = {**SHARING, **SECOND, **TUPLES, **COMPREHENSIONS}
HIDDEN = {**STAYING, **KEPT}


@pytest.mark.parametrize("name", SHOWN)
def test_variables_with_other_names(name: str, tmp_path: Path) -> None:
    check(SHOWN[name], tmp_path)


@pytest.mark.parametrize("name", TUPLES_KEPT)
def test_tuples_are_what_python_leaves(name: str, tmp_path: Path) -> None:
    source = TUPLES_KEPT[name]
    assert_alike(run(source, np, tmp_path), run(source, numpy, tmp_path))


@pytest.mark.parametrize("name", HIDDEN)
def test_what_other_names_would_show_is_refused(name: str, tmp_path: Path) -> None:
    check(HIDDEN[name], tmp_path, taking=False)


@pytest.mark.parametrize("name", FAILING)
def test_errors_are_pythons(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_running, "_CHUNK", 1e-9 if name != "a power is too large" else 1.0)
    assert_alike(run(FAILING[name], np, tmp_path), run(FAILING[name], numpy, tmp_path))
    assert taken


@pytest.mark.parametrize("name", REFUSED)
def test_what_python_could_notice_is_refused(name: str, tmp_path: Path) -> None:
    taken.clear()
    assert_alike(run(REFUSED[name], np, tmp_path), run(REFUSED[name], numpy, tmp_path))
    assert not sum(t.chunks for t in taken) or name == "a big int"


def test_a_scalar_that_programs_carry_takes_one_program(tmp_path: Path) -> None:
    """Python's rounds bind it to a number, programs to what they have computed."""
    source = """
    u, total = np.linspace(0, 1, 50), np.ones(3).sum()
    for step in range(400):
        if step == 2 or step == 3: look()
        u = 0.5 * u + 0.25
        if step % 10 == 0:
            total = np.mean(u * u)
    """
    before = np.stats().compiles
    check(source, tmp_path)
    assert sum(t.chunks for t in taken) > 3
    assert np.stats().compiles - before == 1


# -- random loops ----------------------------------------------------------------------------------


@pytest.mark.parametrize("block", blocks(10))
def test_random_loops(block: int, tmp_path: Path) -> None:
    ran = 0
    for seed in range(12 * block, 12 * block + 12):
        source = program(seed)
        taken.clear()
        got = run(source, np, tmp_path, f"p{seed}")
        want = run(source, numpy, tmp_path, f"p{seed}")
        g, w = got["out"], want["out"]
        try:
            assert_alike(dict(enumerate(g)), dict(enumerate(w)))
        except AssertionError as error:
            raise AssertionError(source) from error
        ran += sum(t.chunks for t in taken)
    assert ran, "no program ran"


# -- scripts ---------------------------------------------------------------------------------------

SCRIPT = """
import lazynp as np
from lazynp._promotion import _gains as g, _running as r
r.SECONDS, r.LEFT, r.LOADING, g.FASTER, g.HOPELESS = 0.0, 0.0, 0.0, 1e9, 1e9
u = np.linspace(0, 1, 50)
t, held = 0.0, u
for step in range(400_000):
    u[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[2:] + u[:-2])
    u[0] = 0.5
    t += 1.0
    last = u[3]
"""


def script(tmp_path: Path, text: str, *options: str, lines: str = "") -> Any:
    """Run a script that prints; what it printed, in a process with its own settings."""
    file = tmp_path / "script.py"
    file.write_text(text + lines)
    path = os.pathsep.join([str(Path(np.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "LAZYNP_EXECUTION": "adaptive", "PYTHONPATH": path}
    command = [sys.executable, "-m", "lazynp", *options, str(file)]
    made = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert not made.returncode, made.stderr
    return made


def test_a_loop_is_compiled_once(tmp_path: Path) -> None:
    """Which rounds run, and numbers that change from round to round, are operands at once."""
    text = """
        x, t = np.ones(5), 0.0
        for k in range(50):
            if k == 2 or k == 3: look()
            t = t + 0.5
            x = x * 0.5 + k + t
    """
    before = np.stats().compiles
    check(text, tmp_path)
    assert max(t.chunks for t in taken) > 3
    assert np.stats().compiles == before + 1


def test_the_time_of_its_programs_is_known(tmp_path: Path) -> None:
    before = _clock.in_loops.seconds
    run("n = 0.0\nfor k in range(50):\n  n += 1.0", np, tmp_path)
    assert _clock.in_loops.seconds == before
    loop = "x = np.zeros(3)\nfor k in range(50):\n  if k == 2 or k == 3: look()\n  x = x + k"
    run(loop, np, tmp_path)
    assert _clock.in_loops.seconds > before


def test_a_script_is_reported(tmp_path: Path) -> None:
    last = "print(step, t, held is u, float(last), float(u.sum()))\n"
    ran = script(tmp_path, SCRIPT, "--report", lines=last)
    plain = script(tmp_path, SCRIPT, "--report", "--no-promotion", lines=last)
    assert "rounds ran in" in ran.stderr and "line 7 of <module>" in ran.stderr
    assert "long loops" not in plain.stderr
    got, want = ran.stdout.split(), plain.stdout.split()
    assert got[:3] == want[:3] == ["399999", "400000.0", "True"]
    numpy.testing.assert_allclose([float(x) for x in got[3:]], [float(x) for x in want[3:]])


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
def test_an_interrupt_leaves_whole_rounds(tmp_path: Path) -> None:
    """All variables have counted the same rounds."""
    text = """
        import os, signal, threading, time
        import lazynp as np
        from lazynp._promotion import _gains, _running, taken
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` ignores it
        _running._CHUNK, _gains.FASTER, _gains.HOPELESS = 0.02, 1e9, 1e9
        _running.SECONDS = _running.LEFT = _running.LOADING = 0.0
        u, w, t, n = np.zeros(60), np.zeros(3), 0.0, 0
        def stop():
            while not any(t.chunks >= CHUNKS for t in list(taken)):
                time.sleep(0.001)
            time.sleep(DELAY)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=stop, daemon=True).start()
        try:
            for step in range(10_000_000):
                u[1:] += 1.0
                w = w + 1
                t += 1.0
                n += 1
                last = u[2]
        except KeyboardInterrupt:
            print("stopped", any(t.chunks for t in taken), len(u))
        whole = set(u[1:].tolist()) | set(w.tolist()) | {t, float(n)}
        print(max(whole) - min(whole), step + 1 - n, n > 50)
    """
    for k in range(4):
        source = textwrap.dedent(text).replace("CHUNKS", str(1 + k)).replace("DELAY", f"{k * 4e-3}")
        stopped, counts, _ = script(tmp_path, source).stdout.split("\n")
        assert stopped == "stopped True 60"
        apart, after, many = counts.split()  # the signal may come in a round of Python's
        assert float(apart) <= 1 and after in ("0", "1") and many == "True"


@pytest.mark.parametrize(
    "over",
    [
        "range(2, 60_000, 3)", "[0.5 * k for k in range(20_000)]", "tuple(range(20_000))",
        "enumerate(range(20_000), 5)", "zip(range(20_000), [0.25] * 30_000)",
        "[(k, 0.5 * k) for k in range(20_000)]", "reversed(range(20_000))",
    ],
)  # fmt: skip
def test_a_refused_loop_gets_pythons_iterator_back(
    over: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = [0]
    through = Iterated.__next__

    def counted(self: Any) -> Any:
        rounds[0] += 1
        return through(self)

    monkeypatch.setattr(Iterated, "__next__", counted)
    source = f"""
        seen, x = set(), np.ones(3)
        for k in {over}:
            x = x + np.mean(k)
            seen.add(k)
        found = [len(seen), *np.ravel(max(seen)).tolist(), *np.ravel(min(seen)).tolist()]
        del seen
    """
    assert_alike(run(source, np, tmp_path), run(source, numpy, tmp_path))
    assert 0 < rounds[0] < 15_000
