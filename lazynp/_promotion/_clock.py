"""How long something takes, for decisions: on a busy machine, too.

The time of a clock on the wall grows with whatever else the machine runs, so that a program, or
Python, may seem slow. The time that the process has used its cores does not; but it counts every
thread, so what XLA does on several cores at once seems as slow as on one. Both are at least what an
idle machine takes, as long as nothing sleeps; so the lesser is nearest to it. While a program is
compiled in a thread of its own, the process is busy with that too, and only Python's own thread
tells how long Python takes.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from lazynp import lowering

_LEAST = 1e-9  # of a duration: others are divided by it
_FINE = 1e-4  # seconds: clocks of a thread that tick more rarely tell nothing


class Moment(NamedTuple):
    wall: float
    process: float
    thread: float
    compiling: bool


def _by_wall() -> Moment:
    wall = time.perf_counter()
    return Moment(wall, wall, wall, False)


def _by_all() -> Moment:
    compiling = lowering.is_compiling()
    return Moment(time.perf_counter(), time.process_time(), time.thread_time(), compiling)


_clocks = [time.get_clock_info(name).resolution for name in ("process_time", "thread_time")]
now = _by_all if max(_clocks) <= _FINE else _by_wall


def since(begin: Moment, less: float = 0.0) -> float:
    """Seconds that an idle machine would have taken. less: seconds of these that do not count."""
    end = now()
    return max(min(end.wall - begin.wall, end.process - begin.process) - less, _LEAST)


def of_python(begin: Moment, end: Moment | None = None) -> float:
    """The same of what Python did, until now or then: without what was compiled meanwhile."""
    end = end or now()
    alone = not (begin.compiling or end.compiling)
    cpu = end.process - begin.process if alone else end.thread - begin.thread
    return max(min(end.wall - begin.wall, cpu), _LEAST)


class in_loops:
    """A block that runs rounds of a loop by a program, or makes one: Python does not run there."""

    __slots__ = ("_begin",)
    seconds = 0.0  # of all such blocks
    rounds = 0  # that programs have run in them

    def __enter__(self) -> None:
        self._begin = now()

    def __exit__(self, *error: object) -> None:
        in_loops.seconds += since(self._begin)
