"""Exceptions of signal handlers reach the user, whatever lazynp does when they come."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import lazynp as np
from lazynp import _recorder, _trace, _turns
from lazynp._promotion import _program
from lazynp._recorder import local, staged
from lazynp._signals import let_through, signal_of
from lazynp._stale import write_lock
from tests.helpers import be_eager
from tests.promoting import front, promoting

_HERE = os.path.dirname(np.__file__)


@pytest.mark.parametrize("nested", [False, True])
def test_no_trace_stays_open_wherever_it_is_interrupted(nested: bool) -> None:
    """The exception comes at each line of what begins and ends a trace."""
    x = np.arange(4.0)

    def f(y: Any) -> Any:
        return (np.jit(lambda z: z * x)(y) if nested else y * x).sum()

    names = {"_all_of", "_set_level", "give_back", "release", "capture", "my_turn", "<lambda>"}
    count = last = 0

    def watch(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        if frame.f_code.co_name not in names or not frame.f_code.co_filename.startswith(_HERE):
            return None
        if event in ("call", "line"):
            count += 1
            if count == last:
                raise KeyboardInterrupt
        return watch

    while True:
        count, last = 0, last + 1
        try:
            sys.settrace(watch)
            np.jit(f)(np.ones(4))
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
            for held in (_trace._lock, _turns._turn, write_lock):
                # at the line that leaves a `with` Python interrupts for this function, but for no
                # signal: the lock would stay held, and threads of later tests would wait for it
                while held._is_owned():  # type: ignore[attr-defined]
                    held.release()
        assert not staged and local.level == 0, last
        assert type(local.recorder) is _recorder.Recorder, last
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0], last
    assert last > 10


class Timeout(Exception):
    pass


def late(*_: Any) -> None:
    raise Timeout


class Watch:
    def late(self, *_: Any) -> None:
        raise Timeout

    __call__ = late


HANDLERS: dict[str, Any] = {
    "a function": late, "a method": Watch().late, "an object": Watch(),
    "a partial": functools.partial(late, 1),
}  # fmt: skip


@pytest.fixture(params=HANDLERS)
def handler(request: pytest.FixtureRequest) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, HANDLERS[request.param])
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def alarm() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.signal(signal.SIGALRM, before)


def comes(*_: Any) -> None:
    signal.raise_signal(signal.SIGALRM)


def raised(function: Callable[[], Any]) -> Exception:
    with pytest.raises(Timeout) as found:
        function()
    return found.value


@pytest.mark.usefixtures("handler")
def test_the_signal_of_an_exception() -> None:
    error = raised(comes)
    assert signal_of(error) == signal.SIGALRM
    with pytest.raises(Timeout):
        let_through(error)
    assert signal_of(raised(late)) in (0, signal.SIGALRM)  # as if the handler had been called
    let_through(ValueError())


def test_a_handler_of_lazynps_own_errors_is_none_of_a_signal() -> None:
    try:
        np.zeros(3) + np.zeros(4)
    except ValueError as error:
        assert signal_of(error) == 0


@pytest.mark.usefixtures("alarm")
def test_a_signal_while_operations_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_recorder, "tick_observers", [comes])
    raised(local.recorder.ticked)

    def work() -> None:
        x = np.zeros(3)
        for _ in range(3 * _recorder.TICK):
            x = x + 1

    with np.config(execution="adaptive"):
        raised(work)


def sweep(u: Any) -> Any:
    for i in range(1, len(u) - 1):
        u[i] = 0.5 * (u[i - 1] + u[i + 1])
    return u


@pytest.mark.own_policy
@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("what", ["_traced", "__call__"])
def test_a_signal_while_a_hot_function_is_tried(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with promoting(), np.config(background=False):
        hot = front(sweep)
        with monkeypatch.context() as patch:
            patch.setattr(_program.Program, what, comes)
            raised(lambda: [sweep(np.ones(20)) for _ in range(9)])
        for _ in range(9):
            assert float(sweep(np.ones(20))[3]) == 1.0
        assert hot.programs == 1, hot.explained()


def test_what_goes_wrong_while_counting_is_told_as_python_tells_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(frame: Any) -> None:
        raise ValueError("of the observer")

    monkeypatch.setattr(_recorder, "tick_observers", [fails])
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    local.recorder.ticked()
    said = capfd.readouterr().err
    assert "of the observer" in said and "TypeError" not in said


CALLS: dict[str, Callable[[], Any]] = {
    "a function that makes an array": lambda: np.ones(5),
    "a function of an array": lambda: np.vander(np.arange(3.0)),
    "a function that writes": lambda: np.fill_diagonal(np.zeros((3, 3)), 1.0),
    "an operand that is filled": lambda: np.full(3000, 2.0) + 1.0,
}


@pytest.mark.own_policy
@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("what", CALLS)
def test_a_signal_at_each_line_of_what_runs(what: str) -> None:
    """Handlers run between lines of Python's, those of NumPy's functions too."""
    lines = 0

    def at_line(frame: Any, event: str, arg: Any) -> Any:
        nonlocal lines
        lines -= event == "line"
        if event == "line" and lines == 0:
            comes()
        return at_line

    def traced(line: int) -> None:
        nonlocal lines
        lines, before = line, sys.gettrace()
        sys.settrace(at_line)
        try:
            CALLS[what]()
        finally:
            sys.settrace(before)

    with np.config(execution="adaptive"):
        local.recorder.reset_policy()
        be_eager()
        CALLS[what]()
        for line in range(1, 40):
            try:
                traced(line)
            except Timeout:
                continue
            assert lines > 0, f"the exception at line {line} was lost"
