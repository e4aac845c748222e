"""Long compilations are reported, others are not."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.lowering import _progress
from tests.helpers import fresh_start

ROOT = Path(__file__).parents[2]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is reported, and when."""
    lines: list[str] = []
    spoken = threading.Event()

    def tell(message: str) -> None:
        lines.append(message)
        spoken.set()

    monkeypatch.setattr(_progress, "_tell", tell)
    fresh_start()
    with np.config(execution="compiled", progress=True):
        yield lines, spoken


def test_a_long_one_says_so_once(said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, spoken = said
    monkeypatch.setattr(_progress, "_LONG", 0.001)
    with _progress.Told("a\nb\n", None):
        assert spoken.wait(60)
    line = f"{__file__}:{test_a_long_one_says_so_once.__code__.co_firstlineno + 3}"
    assert lines == [
        f"lazynp: compiling a program of 2 operations for {line} (takes more than 0 s)"
    ]


def test_short_ones_say_nothing(said: Any) -> None:
    lines, _ = said
    before = threading.active_count()
    told = _progress.Told("a\nb\n", None)
    with told:
        assert threading.active_count() == before + 1
    timer = told._timer
    assert timer is not None
    timer.join(60)
    assert lines == [] and threading.active_count() == before


def test_a_large_one_says_so_at_once(said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, _ = said
    monkeypatch.setattr(_progress, "_LINES", 1)
    x = np.array(numpy.linspace(0.0, 1.0, 9))
    f = np.jit(lambda x: np.fori_loop(0, 3, lambda i, y: y * 2.0 + 1.0, x))
    f(x).tolist()
    line = f"{__file__}:{test_a_large_one_says_so_at_once.__code__.co_firstlineno + 5}"
    (told,) = lines
    assert told.endswith(f"operations for {line} (takes more than 2 s)")
    assert int(told.split(" of ")[1].split()[0]) > 3  # those of the loop too


@pytest.mark.parametrize(
    ("setting", "terminal", "wanted"),
    [(True, False, True), (False, True, False), ("auto", True, True), ("auto", False, False)],
)
def test_who_wants_to_know(
    setting: Any, terminal: bool, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_progress, "_LINES", 0)
    with np.config(progress=setting), _progress.Told("", None):
        pass
    assert bool(stream.getvalue()) is wanted
    assert stream.getvalue().count("\n") == wanted


@pytest.mark.parametrize("stderr", [None, "closed"])
def test_without_stderr_nothing_is_said(stderr: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = None if stderr is None else io.StringIO()
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_progress, "_LINES", 0)
    for setting in ("auto", True):
        with np.config(progress=setting), _progress.Told("", None):
            pass


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal() -> None:
    program = (
        "import lazynp as np\n"
        "from lazynp.lowering import _progress\n"
        "_progress._LINES = 1\n"
        "np.config(execution='compiled')\n"
        "print((np.arange(3.0) * 2 + 1).tolist())\n"
    )
    ours, theirs = os.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    environment.pop("LAZYNP_PROGRESS", None)
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=theirs, text=True,
        env=environment, timeout=120,
    )  # fmt: skip
    os.close(theirs)
    told = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.stdout == "[1.0, 3.0, 5.0]\n"
    assert "operations for <string>:5 (takes more than 2 s)" in told and told.count("\n") == 1
