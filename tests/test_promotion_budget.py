"""What looking for programs may cost: traces, taking calls apart, looking at the stack."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import pytest

import lazynp as np
from lazynp._promotion import _budget, _case, _program, _sampling, _trials
from lazynp._promotion._budget import Budget, budget
from lazynp._promotion._program import Program
from lazynp.transforms.control import TooLong
from tests.promoting import front, promoting

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def adaptive() -> Iterator[None]:
    """Not by `monkeypatch`: what a test sets must be put back before `promoting` ends."""
    before, budget._spent = budget._spent, 0.0
    with promoting():
        yield
    budget._spent = before


def sweep(u: Any) -> Any:
    for i in range(1, len(u)):
        u[i] += 0.5 * u[i - 1]
    return u


def _takes_too_long(program: Any, *_: Any) -> int:
    while time.thread_time() <= program._until:
        pass
    raise TooLong("it takes too long")


def _records_too_much(*_: Any) -> int:
    raise TooLong("it records too much")


def test_without_a_budget_nothing_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    hot, before = front(sweep), np.stats().promotions
    monkeypatch.setattr(Budget, "first", -math.inf)
    for _ in range(5):
        sweep(np.ones(20))
    (case,) = hot.cases.values()
    assert not hot.programs and not case.refused and case.candidate is None
    monkeypatch.setattr(Budget, "first", math.inf)
    for _ in range(3):
        sweep(np.ones(20))
    assert hot.programs == 1 and np.stats().promotions == before + 1


def test_a_trace_that_takes_too_long_for_now_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hot, traced = front(sweep), Program._traced
    monkeypatch.setattr(_case, "RENT", 1e-9)
    monkeypatch.setattr(Budget, "first", 0.0)
    monkeypatch.setattr(Budget, "share", 1e-9)
    monkeypatch.setattr(Program, "_traced", _takes_too_long)
    for _ in range(2):
        sweep(np.ones(20))
    (case,) = hot.cases.values()
    assert case.least > 1e-9 and not case.refused and case.candidate is None
    case.least = 1e3
    monkeypatch.setattr(Program, "_traced", traced)
    monkeypatch.setattr(Budget, "first", math.inf)
    sweep(np.ones(20))
    assert case.candidate is None and not hot.programs
    case.seconds = case.least
    for _ in range(3):
        sweep(np.ones(20))
    assert hot.programs == 1, hot.explained()


@pytest.mark.parametrize("first", [math.inf, 0.0])
@pytest.mark.parametrize("traced", [_takes_too_long, _records_too_much])
def test_a_trace_that_takes_too_long_is_the_last(
    traced: Any, first: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a budget, at once; without one, if it is not the time that was too long."""
    hot = front(sweep)
    monkeypatch.setattr(_program, "TRACING", 0.05)
    monkeypatch.setattr(Budget, "first", first)
    monkeypatch.setattr(Budget, "share", 1e-9)
    monkeypatch.setattr(Program, "_traced", traced)
    for _ in range(3):
        sweep(np.ones(20))
    later = traced is _takes_too_long and not first
    assert hot.whys == ([] if later else [_said(traced)])


def _said(traced: Any) -> str:
    return "it takes too long" if traced is _takes_too_long else "it records too much"


def test_traces_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hot = front(sweep)
    for _ in range(2):
        sweep(np.ones(20))
    spent = budget._spent
    assert spent > 0 and hot.cases
    budget.won()
    assert budget._spent == spent / 2
    monkeypatch.setattr(Budget, "first", 0.0)
    monkeypatch.setattr(Budget, "share", 0.0)
    assert budget.left() == -spent / 2


def test_few_calls_are_taken_apart_for_a_candidate_that_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hot, taken = front(sweep), []
    given = hot._given
    monkeypatch.setattr(_case, "RENT", math.inf)
    monkeypatch.setattr(_trials, "PART", 0.0)  # Python's time pays for nothing
    monkeypatch.setattr(hot, "_given", lambda *args: (taken.append(args), given(*args))[1])
    for _ in range(10):
        sweep(np.ones(20))
    (case,) = hot.cases.values()
    assert len(taken) == 1 and hot.calls == 10 and case.seconds > 0
    hot._debt = 0.0
    sweep(np.ones(20))
    assert len(taken) == 2


def test_the_stack_is_looked_at_for_a_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(_sampling.time, "perf_counter", lambda: now[0])
    looking = _sampling._Looking()
    looking.each, looking.part = 3, 0.1
    found = []
    for _ in range(50):
        begin = now[0]
        if looking.is_due():
            now[0] += 0.01  # looking takes so long
            looking.looked(begin)
            found.append(now[0])
        now[0] += 0.02  # until the next tick
    gaps = [round(b - a, 3) for a, b in zip(found, found[1:])]
    assert gaps[:2] == [0.03, 0.03] and min(gaps[2:]) >= 0.1


@pytest.mark.parametrize(
    "call, loaded, cores, lost",
    [
        (0.1, False, 2, 0.25),
        (1e-3, True, 2, 1.0),
        (1e-3, False, 2, 1.15),
        (1e-3, True, 8, 0.25),
        (1e-3, False, 8, 0.4),
    ],
)
def test_what_compiling_costs(
    call: float, loaded: bool, cores: int, lost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_budget, "LOADING", 0.15)
    monkeypatch.setattr(_budget.lowering, "in_background", lambda: True)
    monkeypatch.setattr(_budget.lowering, "is_loaded", lambda: loaded)
    monkeypatch.setattr(_budget.lowering, "cores", lambda: cores)
    assert _budget.lost_to_python(1.0, call) == pytest.approx(lost)
