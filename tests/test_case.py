"""Cases: what Python must have spent before a program is compiled, and for which functions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

import lazynp as np
from lazynp import lowering
from lazynp._promotion import _budget, _case, _trials
from lazynp._promotion._budget import LOADING, Budget
from lazynp._promotion._case import RENT, Case
from tests.promoting import front, promoting

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two, and jaxlib is loaded."""
    monkeypatch.setattr(lowering, "cores", lambda: 2)
    monkeypatch.setattr(lowering, "is_loaded", lambda: True)


# -- the price -------------------------------------------------------------------------------------


@pytest.fixture
def background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "in_background", lambda: True)


@pytest.mark.usefixtures("background")
def test_short_calls_pay_for_the_compiler_and_for_loading_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Case(0.0)
    case.compiling = 1.0
    case.took(0.001, 0.0)
    assert case.price == 1.0
    monkeypatch.setattr(lowering, "is_loaded", lambda: False)
    assert case.price == 1.0 + LOADING
    monkeypatch.setattr(lowering, "cores", lambda: 8)
    assert case.price == _budget.IN_BACKGROUND + LOADING
    case.compiling = 0.0
    monkeypatch.setattr(lowering, "is_loaded", lambda: True)
    assert case.price == RENT


@pytest.mark.usefixtures("background")
def test_one_slow_call_makes_no_long_calls() -> None:
    """A program of long calls costs less. But a call may be slow for another reason."""
    case = Case(0.0)
    case.compiling = 1.0
    case.took(0.1, 0.0)
    assert case.price == _budget.IN_BACKGROUND
    case.took(0.001, 0.0)
    case.took(0.1, 0.0)
    assert case.price == 1.0


@pytest.mark.usefixtures("background")
def test_each_piece_of_a_program_has_its_price() -> None:
    """A program in pieces is compiled piece by piece, and nobody knows how many there will be."""
    case = Case(0.0)
    case.compiling = 1.0
    case.took(0.001, 0.0)
    case._works += [lowering.Work.over()]
    assert case.price == 1.0
    case._works += [lowering.Work.over()]
    assert case.price == 2.0


# -- the budget of compilers -----------------------------------------------------------------------


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> Budget:
    monkeypatch.setattr(_budget.time, "thread_time", lambda: 1.0)
    made = Budget()
    monkeypatch.setattr(_case, "budget", made)
    return made


def test_the_first_program_only_pays_its_price(budget: Budget) -> None:
    assert budget.affords(100.0)
    budget.compiles(0.3)
    assert budget.affords(0.1) and not budget.affords(0.11)
    budget.won(0.3)
    assert budget.affords(100.0)


def test_more_cores_afford_more(budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    budget.compiles(0.3)
    assert not budget.affords(0.7)
    monkeypatch.setattr(lowering, "cores", lambda: 4)
    assert budget.affords(0.7) and not budget.affords(0.71)


def test_a_case_waits_for_the_budget_but_not_if_it_has_won_before(budget: Budget) -> None:
    case = Case(math.inf)
    case.compiling = 0.5
    assert case.ready
    budget.compiles(0.3)
    assert not case.ready
    case.won = True
    assert case.ready


# -- functions within functions --------------------------------------------------------------------


def inner(x: Any) -> Any:
    for i in range(1, len(x)):
        x[i] = 0.5 * x[i - 1] + 1.0
    return x


def outer(x: Any) -> Any:
    return inner(x) + 1.0


def told(x: Any) -> Any:
    """An outer function that no program runs: it prints."""
    print(end="")
    return inner(x) + 1.0


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Candidates wait for their price."""
    with promoting():
        monkeypatch.setattr(Case, "price", math.inf)
        yield


def test_a_function_within_one_whose_program_is_to_come_has_none(waiting: None) -> None:
    around, within = front(outer), front(inner)
    for _ in range(3):
        outer(np.ones(4))
    (case,) = around.cases.values()
    assert case.candidate is not None and case.covers(within.code)
    assert all(c.candidate is None and not c.refused for c in within.cases.values())
    case.refuse(ValueError("its results differ"))
    outer(np.ones(4))
    assert all(c.candidate is not None for c in within.cases.values())
    assert not _trials._local.cases


def test_a_function_within_one_that_stays_with_python_has_a_program(waiting: None) -> None:
    around, within = front(told), front(inner)
    for _ in range(3):
        told(np.ones(4))
    assert around.whys and all(c.candidate is not None for c in within.cases.values())


def test_a_function_that_is_also_called_from_elsewhere_has_a_program(waiting: None) -> None:
    around, within = front(outer), front(inner)
    for _ in range(2):
        outer(np.ones(4))
        inner(np.ones(4))
    assert around.cases and all(c.candidate is not None for c in within.cases.values())


def test_a_loop_whose_program_is_to_come_covers_the_functions_that_it_calls(
    waiting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Waits:
        def covers(self, code: Any) -> bool:
            return code is inner_code

    within = front(inner)
    inner_code, loop = within.code, Waits()
    _case.awaited.add(loop)
    for _ in range(3):
        inner(np.ones(4))
    assert all(c.candidate is None for c in within.cases.values())
    del loop
    inner(np.ones(4))
    assert all(c.candidate is not None for c in within.cases.values())


def test_functions_of_a_program_that_has_lost_wait_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    with promoting():
        around, within = front(outer), front(inner)
        monkeypatch.setattr(_trials, "FASTER", 0.0)
        monkeypatch.setattr(_case, "_CLOSE", 0.0)  # it has no other trial
        for _ in range(4):
            if not around.whys:
                outer(np.ones(4))
        assert around.whys and _case.is_in_slower(within.code)
        monkeypatch.setattr(_trials, "FASTER", math.inf)
        monkeypatch.setattr(Case, "price", 0.001)
        (case,) = within.cases.values()
        case.seconds = 0.002
        for _ in range(2):
            inner(np.ones(4))
        assert case.candidate is not None and not within.programs
        case.seconds = 0.009
        for _ in range(3):
            inner(np.ones(4))
        assert within.programs == 1, within.explained()
    _case._slower.clear()


def test_what_is_pending_is_no_part_of_a_program() -> None:
    """Else, with something else pending, it would be another program, to be compiled."""
    big, kept = np.ones(1 << 20), list[Any]()
    with promoting():
        hot = front(inner)
        for _ in range(4):
            inner(np.ones(4))
        assert hot.programs == 1
        before = np.stats().compiles
        for k in range(6):
            kept += [big * float(j) + 1.0 for j in range(k + 1)]
            assert inner(np.ones(4))[1] == 1.5
        assert np.stats().compiles == before
    assert [float(x[5]) for x in kept] == [j + 1.0 for k in range(6) for j in range(k + 1)]
