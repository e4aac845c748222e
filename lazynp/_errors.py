"""lazynp's own errors. Faults of the user's program raise NumPy's exceptions."""

from __future__ import annotations

import functools
import re
from types import CodeType
from typing import Any

import numpy as np

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
    model: Model | None = None  # of an exception that a `raise` of the user's makes

    def error(self, *values: int) -> BaseException:
        """The exception. values: what the program has found besides."""
        if self.model is not None:
            error = self.model.error(values)
        else:
            text = self.message.replace("{size}", str(self.size)) if self.size is not None else (
                self.message
            )  # fmt: skip
            error = self.kind(text.replace("{}", str(values[0])) if self.shows else text)
        error.add_note(f"in a traced function, recorded at {self.where}")
        return error


@dataclass(frozen=True)
class Shown:
    """Stands for a number that an exception shows. place: among those that it shows, which the
    program gives as 64 bits.
    """

    place: int
    dtype: np.dtype[Any]
    weak: bool  # one of Python's

    def of(self, values: Any) -> Any:
        bits = np.int64(values[self.place])
        if self.dtype.kind == "f":
            value = bits.view(np.float64).astype(self.dtype)
        elif self.dtype == np.uint64:
            value = bits.view(np.uint64)
        else:
            value = self.dtype.type(bits)
        return value.item() if self.weak else value


# of a number in a text: which, and its format, after the conversion of an f-string or for `%`
# (compiled when it is used: an import need not wait for that)
MARK = "\0(\\d+)(?::([sra]?):|(?=%))([^\0]*)\0"
CONVERSIONS: dict[str, Any] = {"": lambda x: x, "s": str, "r": repr, "a": ascii}
_OURS = ("by_raise", "staged_depth", "only_traced", "of_these_sizes")


class Model:
    """An exception as a `raise` in a traced function has made it. Each call of the program raises
    another one like it, with the same arguments and attributes. The constructor of its class is not
    called again: which arguments it had is not known.
    """

    def __init__(
        self, error: BaseException, marked: dict[int, Shown], held: dict[int, Shown]
    ) -> None:
        """What stands for numbers of the program: for the marks in texts, and for numbers among
        the arguments and attributes, by their ids.
        """
        self.kind: Any = type(error)
        self._marked = marked
        self._base: Any = next(c for c in self.kind.__mro__ if c.__module__ == "builtins")
        _, args, *state = self._base.__reduce__(error)
        named = {n: x for s in state for n, x in (s or {}).items() if n not in _OURS}
        self._args = _standing(args, held)
        self._state = {n: _standing(x, held) for n, x in named.items()}
        self._cause, self._alone = error.__cause__, error.__suppress_context__
        parts = self._args, tuple(self._state.items())
        known = self._cause is None and _is_plain(parts)
        self._key = (self.kind, repr(parts), tuple(marked.items())) if known else id(self)

    def _filled(self, x: Any, values: Any) -> Any:
        if type(x) is tuple:
            return tuple([self._filled(y, values) for y in x])
        if type(x) is str and self._marked:
            return re.sub(MARK, functools.partial(self._text, values), x)
        return x.of(values) if type(x) is Shown else x

    def _text(self, values: Any, mark: re.Match[str]) -> str:
        value = self._marked[int(mark[1])].of(values)
        if mark[2] is None:
            return mark[3] % (value,)
        return format(CONVERSIONS[mark[2]](value), mark[3])

    def error(self, values: Any) -> BaseException:
        args = self._filled(self._args, values)
        error = self._base.__new__(self.kind, *args)
        self._base.__init__(error, *args)
        state = {n: self._filled(x, values) for n, x in self._state.items()}
        if "__notes__" in state:
            state["__notes__"] = list(state["__notes__"])
        BaseException.__setstate__(error, state)  # type: ignore[attr-defined]
        error.__cause__, error.__suppress_context__ = self._cause, self._alone
        return error

    def __eq__(self, other: Any) -> bool:
        return type(other) is Model and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _standing(x: Any, held: dict[int, Shown]) -> Any:
    return tuple([_standing(y, held) for y in x]) if type(x) is tuple else held.get(id(x), x)


def _is_plain(x: Any) -> bool:
    """Whether what repr shows is all that there is."""
    return type(x) in (str, int, float, bool, bytes, type(None), Shown) or (
        type(x) in (tuple, list) and all(map(_is_plain, x))
    )


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
