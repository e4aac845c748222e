"""Hooks called on every run and compilation while a profiler is active.

Without one, the list is empty. Times are those of `time.perf_counter`; each hook is called when the
event has ended.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Protocol


class Observer(Protocol):
    def ran(
        self, begin: float, tier: str, operations: int, first: tuple[CodeType, int], reason: Any
    ) -> None:
        """A flush. `first`: where its first operation was recorded. `reason`: see `flush`."""

    def compiled(self, begin: float, operations: int, from_disk: bool | None) -> None:
        """A program was compiled or loaded."""

    def called(self, begin: float, name: str) -> None:
        """NumPy ran this, as a step of a program or as a function of lazynp."""


observers: list[Observer] = []
