"""Threads that stage take turns; waiting for a borrowed array ends."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _turns
from lazynp._stale import write_lock

pytestmark = pytest.mark.own_policy


class Stage:
    """A thread that traces with these arrays until it is told to end."""

    def __init__(self, *arrays: Any) -> None:
        self.inside, self.end = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._trace, args=arrays, daemon=True)
        self.thread.start()
        assert self.inside.wait(60)

    def _trace(self, *arrays: Any) -> None:
        def f(*given: Any) -> Any:
            total = sum(g.sum() for g in given)
            self.inside.set()
            assert self.end.wait(60)
            given[0][0] = 7.0
            return total

        np.jit(f)(*arrays)

    def ends(self) -> None:
        self.end.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


@pytest.mark.parametrize("use", [
    lambda x: x.tolist(), lambda x: (x * 1).tolist(), lambda x: np.jit(lambda x: x * 1)(x).tolist(),
    lambda x: np.jit(lambda: x * 1)().tolist(), lambda x: x[:].tolist(),
])  # fmt: skip
def test_the_array_is_as_the_other_thread_leaves_it(use: Any) -> None:
    x = np.ones(3)
    other = Stage(x)
    timer = threading.Timer(0.05, other.end.set)
    timer.start()
    assert use(x) in ([7.0, 1.0, 1.0], [1.0, 1.0, 1.0])  # it is written after the trace
    other.ends()
    assert x.tolist() == [7.0, 1.0, 1.0]


def test_other_arrays_are_not_waited_for() -> None:
    x, y = np.ones(3), np.arange(3.0)
    other = Stage(x)
    y[1:] = 5.0
    assert (y * 2).tolist() == [0.0, 10.0, 10.0]
    assert not other.end.is_set()
    other.ends()


def test_who_writes_lets_go_of_the_lock_that_the_other_needs() -> None:
    x, y = np.ones(3), np.zeros(3)
    other = Stage(x)
    timer = threading.Timer(0.05, other.end.set)
    timer.start()
    x[2] = 9.0
    y[:] = x
    other.ends()
    assert x.tolist()[2] == 9.0 and numpy.isfinite(y.tolist()).all()


def test_waiting_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is staged may wait for this very thread."""
    monkeypatch.setattr(_turns, "_PATIENCE", 0.05)
    x = np.ones(3)
    other = Stage(x)
    with pytest.raises(RuntimeError, match="another thread has been tracing jit of f"):
        x.tolist()
    with pytest.raises(RuntimeError, match="another thread has been tracing jit of f"):
        np.jit(lambda x: x * 2)(x)
    assert np.jit(lambda y: y * 2)(np.arange(2.0)).tolist() == [0.0, 2.0]  # not its turn, but safe
    other.ends()
    assert x.tolist() == [7.0, 1.0, 1.0]


def test_a_store_that_waits_for_the_lock_meets_what_is_staged_meanwhile() -> None:
    x, y = np.arange(4.0) * 1.0, np.arange(2.0) * 2.0
    for _ in range(3):  # known in C
        x[2:] = y

    def store() -> None:
        x[2:] = np.asarray([8.0, 9.0]) * 1.0

    waiting = threading.Thread(target=store, daemon=True)

    def f() -> Any:
        total = x.sum()  # borrowed
        write_lock.release()
        waiting.join(0.2)
        return total

    write_lock.acquire()
    waiting.start()
    waiting.join(0.1)
    assert float(np.jit(f)()) == 3.0
    waiting.join(60)
    assert x.tolist() == [0.0, 1.0, 8.0, 9.0]


def test_no_array_is_borrowed_between_a_read_and_a_write_of_it() -> None:
    """It would be given back as it was before the write."""
    x = np.ones(3)

    def f(x: Any) -> None:
        x[0] = 7.0

    other = threading.Thread(target=np.jit(f), args=(x,), daemon=True)
    with write_lock:
        more = x + 1.0
        other.start()
        other.join(0.5)
        x._write(more._read())
    other.join(60)
    assert x.tolist() == [7.0, 2.0, 2.0]
