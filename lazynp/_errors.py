"""Errors of lazynp itself. What is the program's fault raises NumPy's own exceptions."""

from __future__ import annotations


class InternalError(RuntimeError):
    """A defect of lazynp or of the compiler below it, never of the program being run.

    `module` is the StableHLO text concerned, where there is one.
    """

    def __init__(self, message: str, module: str | None = None) -> None:
        super().__init__(message)
        self.module = module

    def __str__(self) -> str:
        message = super().__str__()
        if not self.module:
            return message
        text = self.module if len(self.module) < 20_000 else self.module[:20_000] + "\n..."
        return f"{message}\n--- module ---\n{text}"


class ForkError(RuntimeError):
    """The process was forked while a device client was alive: its threads are gone."""
