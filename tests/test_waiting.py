"""`np.explain` of hot functions whose calls no program runs yet: it says what they wait for."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import lazynp as np
from lazynp._promotion import _budget, _case, _trials, _waiting
from lazynp._promotion._taken import Taken, all_told
from lazynp.transforms.control import TooLong
from tests.promoting import front, promoting


@pytest.fixture
def hot() -> Iterator[None]:
    with promoting():
        yield


def smooth(x: Any) -> Any:
    for i in range(1, x.shape[0] - 1):
        x[i] = 0.5 * (x[i - 1] + x[i + 1])
    return x


def distance(a: Any, b: Any) -> Any:
    n = 0
    for i in range(len(a)):
        n += a[i] != b[i]
    return n + np.zeros(2)


@pytest.mark.own_policy
def test_calls_that_have_not_taken_long(hot: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_case.Case, "due", False)
    front(smooth)
    for _ in range(3):
        smooth(np.ones(30))
    assert "its calls are traced after 0.00 s in Python (so far 0.0" in np.explain(smooth)


@pytest.mark.own_policy
def test_a_trace_that_takes_long(hot: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def trace(*_: Any) -> Any:
        raise _budget.Later("tracing it takes too long")

    assert issubclass(_budget.Later, TooLong)
    monkeypatch.setattr(_trials.Program, "trace", trace)
    monkeypatch.setattr(_trials, "_LATER", 1e6)
    made = front(smooth)
    for _ in range(3):
        smooth(np.ones(30))
    assert "its calls are slow to trace, and traced again after" in made.explained()


@pytest.mark.own_policy
def test_traces_that_have_taken_their_share(hot: None, monkeypatch: pytest.MonkeyPatch) -> None:
    made = front(smooth)
    monkeypatch.setattr(_budget.Budget, "left", lambda self: -1e9)
    for _ in range(3):
        smooth(np.ones(30))
    assert "its calls are traced later: traces have taken their share" in made.explained()


@pytest.mark.own_policy
def test_a_program_that_waits_for_its_price(hot: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_case.Case, "price", 1e6)
    made = front(smooth)
    for _ in range(3):
        smooth(np.ones(30))
    assert "its calls are traced, and compiled after 1000000.0 s in Python" in made.explained()


@pytest.mark.own_policy
def test_strings_that_vary(hot: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_case.Case, "price", 1e6)
    made = front(distance)
    for k in range(4):
        distance("abcdefgh"[k:] + "x" * k, "abcdeffg")
    told = made.explained()
    assert "strings are constants of a program" in told and "of 4 kinds" in told


@pytest.mark.own_policy
def test_too_many_strings(hot: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_case, "RENT", 1000.0)
    made = front(distance)
    for k in range(100):
        distance(f"{k:08}", "abcdefgh")
    assert "more than 64 kinds of arguments; strings are constants" in made.explained()
    assert "np.frombuffer" in made.explained()


@pytest.mark.own_policy
def test_too_many_numbers_name_no_strings(hot: None, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [SimpleNamespace(texts=("a",)) for _ in range(8)]
    assert _waiting.too_many(cases, 64) == "more than 64 kinds of arguments"


@pytest.mark.own_policy
def test_arguments_that_no_program_takes(hot: None) -> None:
    made = front(distance)
    distance({1, 2} and [object()] * 8, "abcdefgh")
    assert "no program takes its arguments: " in made.explained()


@pytest.mark.own_policy
def test_what_runs_waits_for_nothing(hot: None) -> None:
    made = front(smooth)
    for _ in range(4):
        smooth(np.ones(30))
    assert made.explained() == "smooth: 1 program"


def test_a_loop_is_told_once() -> None:
    code = smooth.__code__
    loops: list[Any] = [SimpleNamespace(line=3, refused=why) for why in ("", "", "no", "no")]
    taken = [Taken(loop, code) for loop in loops]
    taken[0].rounds, taken[0].chunks, taken[1].rounds, taken[1].chunks = 5, 1, 7, 2
    assert all_told(taken) == [
        "the loop at line 3 of smooth: 12 rounds ran in 3 programs",
        "the loop at line 3 of smooth; runs in Python: no",
    ]
    assert all_told([Taken(loops[0], code)])[0].endswith("no program has run it so far")
