"""Decisions about promotion on a busy machine: by clocks that these tests set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lazynp import lowering
from lazynp._promotion import _clock


class Machine:
    """Its clocks; others may run programs on it, and this process may have other threads."""

    def __init__(self) -> None:
        self.wall = self.process = self.thread = 100.0
        self.compiling = False

    def python(self, seconds: float, busy: float = 1.0, others: float = 0.0) -> None:
        """Run Python. busy: how much longer that takes than alone; others: seconds of other
        threads of the process, meanwhile.
        """
        self.wall += busy * seconds
        self.thread += seconds
        self.process += seconds + others

    def xla(self, seconds: float, threads: int, busy: float = 1.0) -> None:
        """Run a program while Python's thread waits."""
        self.wall += busy * seconds
        self.process += threads * seconds


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine()
    monkeypatch.setattr(_clock, "now", _clock._by_all)
    monkeypatch.setattr(_clock.time, "perf_counter", lambda: made.wall)
    monkeypatch.setattr(_clock.time, "process_time", lambda: made.process)
    monkeypatch.setattr(_clock.time, "thread_time", lambda: made.thread)
    monkeypatch.setattr(lowering, "is_compiling", lambda: made.compiling)
    yield made
    monkeypatch.undo()  # pytest asks for the time as well


@pytest.mark.parametrize("busy", [1.0, 3.0, 50.0])
def test_a_busy_machine_changes_nothing(machine: Machine, busy: float) -> None:
    begin = _clock.now()
    machine.python(2.0, busy)
    python = _clock.of_python(begin)
    begin = _clock.now()
    machine.xla(1.5, 1, busy)
    assert (python, _clock.since(begin)) == (2.0, 1.5)


def test_the_threads_of_a_program_count_once(machine: Machine) -> None:
    begin = _clock.now()
    machine.xla(1.0, threads=4)
    assert _clock.since(begin) == 1.0


def test_threads_of_a_program_count_for_python_that_waits_for_it(machine: Machine) -> None:
    begin = _clock.now()
    machine.python(0.5)
    machine.xla(1.0, threads=1, busy=8.0)
    assert _clock.of_python(begin) == 1.5


def test_what_is_compiled_meanwhile_is_not_pythons(machine: Machine) -> None:
    begin = _clock.now()
    machine.compiling = True
    machine.python(1.0, busy=2.0, others=1.0)
    assert _clock.of_python(begin) == 1.0


def test_what_does_not_count_is_taken_off_once(machine: Machine) -> None:
    begin = _clock.now()
    machine.xla(3.0, threads=1)
    assert _clock.since(begin, 2.0) == 1.0


def test_a_duration_is_never_zero(machine: Machine) -> None:
    begin = _clock.now()
    assert _clock.since(begin) > 0 and _clock.of_python(begin) > 0
