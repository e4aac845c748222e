"""Who is told what runs, while somebody wants to know: `profile`.

The list is empty otherwise. Times are those of `time.perf_counter`; what is told has just ended.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Protocol


class Observer(Protocol):
    def ran(
        self, begin: float, tier: str, operations: int, first: tuple[CodeType, int], reason: Any
    ) -> None:
        """A cut. `first`: where its first operation was recorded. `reason`: see `flush`."""

    def compiled(self, begin: float, operations: int, from_disk: bool | None) -> None:
        """A program was compiled, or loaded."""

    def called(self, begin: float, name: str) -> None:
        """NumPy did this, as a step of a program or as a function of lazynp."""


observers: list[Observer] = []
