"""NumPy's kernels without its warnings: the user's state is as it was, whatever happens."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazynp
from lazynp import _quiet
from lazynp._quiet import aloud, quiet_context, quiet_result, quietly, told_result
from lazynp.functions._stores import write


def _divide(x: Any) -> Any:
    return numpy.divide(x, numpy.zeros(2))


ONES = numpy.ones(2)


@pytest.mark.parametrize("state", ["warn", "raise", "ignore"])
def test_nothing_is_said_and_nothing_changed(state: Any) -> None:
    with numpy.errstate(all=state), warnings.catch_warnings():
        warnings.simplefilter("error")
        before = numpy.geterr()
        assert numpy.isinf(quietly(_divide, [ONES])).all()
        assert numpy.isinf(quiet_result(quiet_context(), _divide, ONES)).all()
        assert numpy.geterr() == before


def test_parameters_are_passed() -> None:
    assert quietly(numpy.sum, [numpy.ones((2, 3))], axis=0).tolist() == [2.0, 2.0, 2.0]


def test_errors_come_through() -> None:
    def fails(_: Any) -> Any:
        raise RuntimeError("of the function")

    before = numpy.geterr()
    for call in (lambda: quietly(fails, [1]), lambda: quiet_result(quiet_context(), fails, 1)):
        with pytest.raises(RuntimeError, match="of the function"):
            call()
    assert numpy.geterr() == before


def test_a_context_in_use_is_done_without() -> None:
    """A destructor may ask for a value while one is computed."""
    quiet = quiet_context()

    def again(x: Any) -> Any:
        return quiet_result(quiet, _divide, x)

    assert numpy.isinf(quiet_result(quiet, again, ONES)).all()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    said: list[list[str]] = []
    monkeypatch.setattr(_quiet, "tellers", [lambda: said.append(_quiet.heard_here())])
    return said


DIVIDED = "Warning: divide by zero encountered in divide\n"


def test_what_the_user_calls_is_told(told: list[list[str]]) -> None:
    """In the context as in a copy of another; what does not concern the user is forgotten."""
    quiet = quiet_context()
    assert numpy.isinf(quiet_result(quiet, _divide, ONES)).all()
    assert told == [] and _quiet.heard == []
    assert numpy.isinf(told_result(quiet, _divide, ONES)).all()
    assert numpy.isinf(aloud(_divide, [ONES])).all()
    assert told == [[DIVIDED], [DIVIDED]] and _quiet.heard == []
    assert told_result(quiet, numpy.exp, ONES - 1).tolist() == [1.0, 1.0]
    assert told_result(quiet, numpy.exp, ONES * -1e3).tolist() == [0.0, 0.0]  # an underflow
    assert len(told) == 2


def test_after_an_error_nothing_is_left_to_tell(told: list[list[str]]) -> None:
    """The next operation of the user's would tell of it, at another line."""

    def fails(memory: Any, *_: Any) -> None:
        _divide(ONES)
        raise ValueError("afterwards")

    x = lazynp.zeros(2)
    x[0] = 1.0
    assert x[0] == 1
    for call in (
        lambda: quiet_result(quiet_context(), fails, 1),
        lambda: told_result(quiet_context(), fails, 1),
        lambda: aloud(fails, [1]),
        lambda: write(x, fails),
    ):
        with pytest.raises(ValueError, match="afterwards"):
            call()
        assert told == [] and _quiet.heard == []


def test_a_context_in_use_tells_as_well(told: list[list[str]]) -> None:
    quiet = quiet_context()
    assert numpy.isinf(quiet(lambda: told_result(quiet, _divide, ONES))).all()
    assert told == [[DIVIDED]] and _quiet.heard == []


def test_threads_hear_what_is_theirs(told: list[list[str]]) -> None:
    _quiet.heard.append((0, "of another thread"))
    try:
        told_result(quiet_context(), _divide, ONES)
        assert told == [[DIVIDED]] and _quiet.heard == [(0, "of another thread")]
    finally:
        _quiet.heard.clear()
