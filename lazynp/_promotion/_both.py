"""The program's runs of a call that Python has run too, and how long they take.

They run on copies of the arguments, in a quiet context that is discarded: see `_quiet`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from lazynp._plan import STATS
from lazynp._promotion import _clock
from lazynp._promotion._agreement import agree, same_attributes, same_leaves
from lazynp._promotion._copies import copies
from lazynp._promotion._gains import FASTER
from lazynp._promotion._given import Given
from lazynp._promotion._program import Program
from lazynp.transforms.control import CannotStage

_PATIENCE = 0.1  # seconds beyond four times Python's time: then it has lost


def first_run(
    run: Callable[..., Any], given: Given, first: list[Any], want: Any, before: list[Any]
) -> tuple[float, float]:
    """Run the program on copies and compare what it leaves; the seconds that it takes, and those of
    them that the system may have taken, to hand out memory. A later run finds that memory.

    want: Python's results. before: the attributes of the objects before Python's run.
    """
    begin, compiling, system = _clock.now(), STATS.compile_seconds, os.times().system
    got, changes = run(first, given.originals, given.objects)
    seconds = _clock.since(begin, STATS.compile_seconds - compiling)
    system = os.times().system - system
    if not (
        same_leaves(first, given.originals)
        and agree(got, want)
        and same_attributes(changes, given.objects, before)
    ):
        raise CannotStage("its results differ")
    return seconds, system


def later_runs(
    program: Program, given: Given, more: list[Any], seconds: float, python: float, most: int
) -> float:
    """Run it again, until it is clear whether it wins; the seconds that the last run takes.

    more: copies of the arguments for one run. seconds: of the first run. python: Python's. most:
    runs.
    """
    for left in reversed(range(most)):
        if not more:
            break
        again = copies(more[0], written=program.written) if left else more[0]
        begin = _clock.now()
        program(again, given.originals, given.objects)
        seconds = _clock.since(begin)
        if seconds <= FASTER * python or seconds > 4 * python + _PATIENCE:
            break
    return seconds
