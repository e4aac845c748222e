"""Loops of this process that were taken, or looked at and left to Python, for its report."""

from __future__ import annotations

from collections import deque
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
        head = f"the loop at line {self.loop.line} of {self.name}"
        ran = f"{head}: {self.rounds} rounds ran in {self.chunks} programs" if self.rounds else head
        why = self.loop.refused or self.why
        return f"{ran}; runs in Python: {why}" if why else ran


def _about(code: Any) -> list[str]:
    """What became of the loops of this code."""
    return [t.explained() for t in taken if t.code is code]


about_code.append(_about)
