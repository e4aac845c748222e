"""When the loops of code are looked at: its source is not parsed before one may run for long."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from lazynp._promotion import _clock, _expected, _watching
from lazynp._promotion._expected import expect


def _frame() -> FrameType:
    return sys._getframe()


def _at(seconds: float) -> _clock.Moment:
    return _clock.Moment(seconds, seconds, seconds, False)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Code, first seen at 0."""
    monkeypatch.setattr(_clock, "now", lambda: _at(0.0))
    _expected._expected.clear()
    yield _watching._Code(_frame.__code__, 0.05)
    _expected._expected.clear()


def test_a_call_that_runs_for_long(known: Any) -> None:
    frame = _frame()
    assert not known.is_due(frame, _at(0.01))
    assert not known.is_due(frame, _at(0.05))  # it has run for 0.04 s that are known
    assert known.is_due(frame, _at(0.07))
    assert known.is_due(_frame(), _at(0.08))  # parsed already


def test_many_short_calls(known: Any) -> None:
    frames = [_frame() for _ in range(40)]  # alive: each has a place of its own
    for k, frame in enumerate(frames):
        assert not known.is_due(frame, _at(0.02 * k))
    assert known.is_due(_frame(), _at(_watching._PATIENCE))


def test_short_calls_in_the_same_place(known: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The front of a hot function tells that another call begins."""
    monkeypatch.setattr(_watching, "_seen", {id(_frame.__code__): known})
    frame = _frame()
    for k in range(40):
        _watching.begins(_frame.__code__)
        assert not known.is_due(frame, _at(0.02 * k))
        assert not known.is_due(frame, _at(0.02 * k + 0.01))
    assert known.is_due(frame, _at(0.9))


def test_short_calls_of_a_function_that_is_expected(known: Any) -> None:
    assert not known.is_due(_frame(), _at(0.06))
    expect(_frame.__code__, 1.0, 1.0)
    assert known.is_due(_frame(), _at(0.07))


def test_code_without_loops_has_none() -> None:
    assert _watching._new(_frame.__code__).seconds == float("inf")
    assert _watching.has_no_loops(_frame.__code__)
    assert not _watching.has_no_loops(test_many_short_calls.__code__)
