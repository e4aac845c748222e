"""Loops of functions that stay with Python are looked for, though each ends soon."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._promotion import _expected, _ready, _running, _sampling, _watching, taken
from lazynp._promotion._expected import expect, expected, looked_for
from tests.promoting import front
from tests.running import MARKS, assert_alike, every_loop  # noqa: F401

pytestmark = MARKS

SOURCE = """
def main(x, m):
    found = np.argwhere(x > m)  # a shape that the data decide: no program for the whole
    out = np.zeros(40)
    for i in range(1, 39):
        out[i] = x[i - 1] * 0.5 + x[i + 1] + len(found)
        tick()
    return found, out
"""


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    _expected._expected.clear()
    yield
    _expected._expected.clear()


def tick() -> None:
    frame = sys._getframe(1)
    _sampling._look_for_loops(frame)


def made(path: Path, module: Any, ticking: Callable[[], None]) -> FunctionType:
    file = path / f"{module.__name__}_program.py"
    file.write_text(SOURCE)
    space: dict[str, Any] = {"np": module, "tick": ticking, "__name__": "script"}
    exec(compile(SOURCE, str(file), "exec", dont_inherit=True), space)
    return space["main"]


def _ticking() -> Callable[[], None]:
    """A `tick` that `jit` takes for one of lazynp's functions."""
    text = "def tick():\n if not local.recorder.staging:\n  look(_getframe(1))"
    space: dict[str, Any] = {"__name__": "lazynp.tick", "_getframe": sys._getframe}
    space |= {"local": np._recorder.local, "look": _sampling._look_for_loops}
    exec(compile(text, "<frozen tick>", "exec"), space, space)
    return space["tick"]


def _called(path: Path, times: int) -> None:
    """Call it, after it was given back; its results are NumPy's."""
    ours, theirs = made(path, np, _ticking()), made(path, numpy, lambda: None)
    promoted = front(ours)
    promoted.calls, promoted.seconds = 1, _expected.LEAST
    promoted.restore("stays with Python")
    x = numpy.linspace(0, 1, 40)
    for k in range(times):
        m = 0.1 * k
        assert_alike(dict(enumerate(ours(np.array(x), m))), dict(enumerate(theirs(x, m))))


def test_loops_of_a_function_that_is_given_back_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_expected, "_PART", numpy.inf)
    monkeypatch.setattr(_watching, "SHORT", 0.0)
    monkeypatch.setattr(_running, "SOON", 0.0)
    taken.clear()
    _called(tmp_path, 6)
    assert sum(t.rounds for t in taken) > 30, [t.explained() for t in taken]


def test_loops_that_are_too_short_are_looked_for_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_expected, "_PART", numpy.inf)
    monkeypatch.setattr(_expected, "_LOOKS", 50)
    monkeypatch.setattr(_watching, "SHORT", numpy.inf)
    monkeypatch.setattr(_running, "LEFT", numpy.inf)
    monkeypatch.setattr(_ready, "SECONDS", numpy.inf)
    taken.clear()
    _called(tmp_path, 3)
    told = [t.explained() for t in taken]  # on a slow machine, also loops of this test
    assert not [text for text in told if "of main" in text]
    assert not _expected._expected  # given up after so many looks


def test_only_functions_whose_calls_take_long_are_expected() -> None:
    code = tick.__code__
    expect(code, 10.0, 0.5 * _expected.LEAST)
    assert expected(code) is None
    expect(code, 10.0, 2 * _expected.LEAST)
    known = expected(code)
    assert known is not None
    assert known.spent == 10.0


def test_the_innermost_function_is_looked_at() -> None:
    def outer() -> Any:
        return inner()

    def inner() -> Any:
        return looked_for(sys._getframe())

    assert outer() is None
    expect(outer.__code__, 1.0, 1.0)
    assert outer()[0].f_code is outer.__code__
    expect(inner.__code__, 1.0, 1.0)
    assert outer()[0].f_code is inner.__code__


def test_looking_takes_a_small_part_of_the_time() -> None:
    def here() -> Any:
        return looked_for(sys._getframe())

    expect(here.__code__, 1.0, 1.0)
    _, known = here()
    known.looked(-1e9)  # it has taken long
    assert here() is None
