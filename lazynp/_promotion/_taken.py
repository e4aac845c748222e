"""Loops of this process that were taken, or looked at and left to Python, for its report."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import Any

from lazynp._promotion._loops import Loop
from lazynp.functions.tools import about_code

taken: deque[Taken] = deque(maxlen=64)


class Taken:
    """What became of a loop, for reports."""

    def __init__(self, loop: Loop, code: CodeType, why: str = "") -> None:
        self.loop, self.code, self.why = loop, code, why
        self.name = code.co_qualname
        self.rounds, self.chunks = 0, 0  # that programs have run

    def explained(self) -> str:
        return told([self])


def told(same: Sequence[Taken]) -> str:
    """What became of a loop that was entered as often."""
    first = same[0]
    head = f"the loop at line {first.loop.line} of {first.name}"
    rounds, chunks = sum(t.rounds for t in same), sum(t.chunks for t in same)
    why = first.loop.refused or first.why or ("" if rounds else "no program has run it so far")
    ran = f"{head}: {rounds} rounds ran in {chunks} programs" if rounds else head
    return f"{ran}; runs in Python: {why}" if why else ran


def all_told(taken: Iterable[Taken]) -> list[str]:
    """What became of these loops, each told once."""
    found: dict[Any, list[Taken]] = {}
    for t in taken:
        found.setdefault((t.loop.line, t.code, t.loop.refused or t.why), []).append(t)
    return list(map(told, found.values()))


def _about(code: Any) -> list[str]:
    """What became of the loops of this code."""
    return all_told([t for t in taken if t.code is code])


about_code.append(_about)
