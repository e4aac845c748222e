"""Running loops that draw random numbers, hold `try` and `with`, or change objects: each gives what
NumPy gives, and its generators go on with the same numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._promotion import _draws, taken
from tests.running import MARKS, assert_alike, check, every_loop, run  # noqa: F401
from tests.state_programs import BLOCKS, DRAWING, OBJECTS, STAYING

pytestmark = MARKS
TAKEN = {**DRAWING, **BLOCKS, **OBJECTS}


@pytest.mark.parametrize("name", TAKEN)
def test_loops_are_taken(name: str, tmp_path: Path) -> None:
    check(TAKEN[name], tmp_path)


@pytest.mark.parametrize("name", STAYING)
def test_loops_that_stay_with_python(name: str, tmp_path: Path) -> None:
    check(STAYING[name], tmp_path, taking=False)


@pytest.mark.parametrize("name", DRAWING)
def test_the_global_generator_goes_on(name: str, tmp_path: Path) -> None:
    numpy.random.seed(7)
    run(DRAWING[name], numpy, tmp_path)
    want = numpy.random.rand(3)
    numpy.random.seed(7)
    run(DRAWING[name], np, tmp_path)
    assert numpy.array_equal(numpy.random.rand(3), want)


def test_an_error_puts_generators_back(tmp_path: Path) -> None:
    source = """
    rng = np.random.default_rng(5)
    def f(x):
        for n in range(60):
            if n == 2 or n == 3: look()
            x[n] = x[n - 1] + rng.normal()
    x = np.zeros(40)
    try:
        f(x)
    except IndexError as e:
        error = str(e)
    """
    got = check(source, tmp_path)
    assert "index" in got["error"]


def test_draws_that_are_alike_are_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, ...]] = []
    fill = _draws._fill

    def counted(generator: Any, name: str, given: dict[str, Any], table: Any) -> None:
        calls.append(numpy.shape(table))
        fill(generator, name, given, table)

    monkeypatch.setattr(_draws, "_fill", counted)
    source = """
    rng = np.random.default_rng(5)
    x = np.zeros(4)
    for n in range(60):
        if n == 2 or n == 3: look()
        x = x * 0.5 + rng.random(4) - rng.random(4) + rng.random()
    """
    check(source, tmp_path)
    assert calls and {shape[1] for shape in calls} == {9}


def test_a_report_says_why(tmp_path: Path) -> None:
    run(STAYING["a draw in a branch"], np, tmp_path)
    assert any("in a branch" in t.explained() for t in taken)


def test_handlers_that_run_often_leave_the_loop_to_python(tmp_path: Path) -> None:
    source = """
    def main(x):
        bad, t = 0, 4.0
        for n in range(400):
            if n == 2 or n == 3: look()
            try:
                x = x * 0.9 + 1 / t
            except ZeroDivisionError:
                bad += 1
            t = t - 1 if t > 0 else 4.0
        return x, bad, t
    out = main(np.ones(3))
    """
    taken.clear()
    assert_alike(run(source, np, tmp_path), run(source, numpy, tmp_path))
