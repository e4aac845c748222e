"""lazynp's own errors. Faults of the user's program raise NumPy's exceptions."""

from __future__ import annotations

from types import CodeType
from typing import Any

from lazynp._dataclass import dataclass


class InternalError(RuntimeError):
    """A defect of lazynp or of the compiler below it, never of the user's program.

    `module` is the StableHLO text concerned, if any.
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


class NanError(FloatingPointError):
    """A new NaN within a jaxpr; `debug_nans` adds the line of the call."""


def nan_error(name: str, code: CodeType | None, offset: int) -> FloatingPointError:
    """The error of `debug_nans`, with the line of this instruction."""
    where = "a place that is not known"
    if code is not None:
        for start, end, line in code.co_lines():
            if start <= offset < end:
                where = f"{code.co_filename}:{line}"
    return FloatingPointError(
        f"{name}: a NaN in the result and none in the operands, recorded at {where}"
    )


@dataclass(frozen=True)
class Failure:
    """A data-dependent error of a traced function."""

    kind: type[Exception]
    message: str  # {} stands for the value at fault, {size} for the size
    where: str  # where it was recorded
    size: Any = None
    shows: bool = True  # whether {} stands for anything

    def error(self, value: Any) -> Exception:
        text = self.message.replace("{size}", str(self.size)) if self.size is not None else (
            self.message
        )  # fmt: skip
        error = self.kind(text.replace("{}", str(value)) if self.shows else text)
        error.add_note(f"in a traced function, recorded at {self.where}")
        return error


class LoweringError(NotImplementedError):
    """A program has no form in StableHLO, or none for the platform; the message begins with the
    primitive's name.
    """

    def of(self, primitive: str, where: str = "") -> LoweringError:
        """The error with the name of the primitive, and where it was recorded, unless it has
        them.
        """
        if not self.named:
            self.args, self.named = (f"{primitive}: {self}",), True
        if where and not getattr(self, "__notes__", None):
            self.add_note(f"in a traced function, recorded at {where}")
        return self

    named = False


class DeviceError(RuntimeError, ValueError):
    """A device that is not there. JAX raises a RuntimeError for it, NumPy a ValueError."""


class DistributedError(RuntimeError):
    """A process that takes part in a computation was lost, or did not come to it."""


class ForkError(RuntimeError):
    """The process was forked while a device client was alive; the client's threads are gone."""


def of_these_sizes(error: BaseException) -> BaseException:
    """Say of an error that a trace for the sizes of the call alone may not raise it."""
    error.__dict__["of_these_sizes"] = True
    return error


def is_of_these_sizes(error: BaseException) -> bool:
    return error.__dict__.get("of_these_sizes", False)
