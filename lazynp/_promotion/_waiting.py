"""Why no call of a hot function has become a program yet: what its calls wait for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lazynp._promotion._budget import budget

Case = Any  # a `_case.Case`

_CODES = (
    "strings are constants of a program: pass arrays of codes "
    "(`np.frombuffer(s.encode(), np.uint8)`)"
)


def waits_for(cases: Iterable[Case], seconds: float) -> str:
    """What the case that has taken Python the longest waits for. seconds: of Python, after which
    calls are traced.
    """
    waiting = [c for c in cases if c.program is None and not c.refused]
    if not waiting:
        return ""
    case = max(waiting, key=lambda c: c.seconds)
    kinds = f"of {len(waiting)} kinds, which need programs of their own; " if waiting[1:] else ""
    texts = f"{_CODES}; " if kinds and texts_vary(waiting) else ""
    return f"its calls are {kinds}{texts}{_what(case, seconds)}"


def _what(case: Case, seconds: float) -> str:
    if case.candidate is not None:
        if not case.is_compiled():
            return "being compiled"
        if case.seconds < case.price and case.lost:
            after = f"after {_shown(case.price)} in Python{_so_far(case)}"
            return f"traced, but {case.lost}; it is tried again {after}"
        if case.seconds < case.price:
            return f"traced, and compiled after {_shown(case.price)} in Python{_so_far(case)}"
        return "traced, and the next one may be the trial"
    if not case.due:
        again = "again after " if case.least > seconds else "after "
        long = "slow to trace, and traced " if case.least > seconds else "traced "
        return f"{long}{again}{_shown(max(case.least, seconds))} in Python{_so_far(case)}"
    if budget.left() + (case.last or 0.0) <= 0:
        return "traced later: traces have taken their share of the time"
    return "traced next"


def _so_far(case: Case) -> str:
    return f" (so far {_shown(case.seconds)})"


def _shown(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2f} s"


def texts_of(fixed: Iterable[Any]) -> tuple[str, ...]:
    """The strings among the constants of a call."""
    return tuple([x for x in fixed if type(x) is str])


def texts_vary(cases: Iterable[Case]) -> bool:
    return len({c.texts for c in cases}) > 1


def too_many(cases: Iterable[Case], most: int) -> str:
    """Why a function whose calls are of so many kinds stays with Python."""
    why = f"more than {most} kinds of arguments"
    return f"{why}; {_CODES}" if texts_vary(cases) else why
