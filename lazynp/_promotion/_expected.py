"""Functions that stay with Python, whose loops may still become programs.

A loop that runs for long is seen while it runs. Where a call takes some milliseconds, its loops end
before that. So once it is known that no program can run such a function as a whole, its loops are
looked for more often.
"""

from __future__ import annotations

import time
from types import CodeType, FrameType

from lazynp._memo import Memo

LEAST = 0.002  # seconds of a call
SHORT = 0.001  # seconds of a loop, before and after it is taken: less is not worth it
_PART = 0.05  # of the time, for looking at them
_LOOKS = 1024  # none of its loops was worth it in so many: give up
_NEAR = 4  # frames, from the innermost on, that are looked at


class Expected:
    """code: kept alive. spent: seconds that its calls had taken. looks: so many are left."""

    def __init__(self, code: CodeType, spent: float) -> None:
        self.code, self.spent, self.looks, self._next = code, spent, _LOOKS, 0.0

    def is_due(self) -> bool:
        return time.perf_counter() >= self._next

    def looked(self, since: float) -> None:
        now = time.perf_counter()
        self._next, self.looks = now + (now - since) / _PART, self.looks - 1

    def again(self) -> None:
        """One of its loops was worth it."""
        self.looks = _LOOKS


_expected: Memo[int, Expected] = Memo("functions whose loops are expected", 256)  # by id of code


def expect(code: CodeType, spent: float, call: float = LEAST) -> None:
    """Look for its loops. spent: seconds that its calls have taken; call: seconds of one."""
    if call >= LEAST and id(code) not in _expected:
        _expected.put(id(code), Expected(code, spent))


def expected(code: CodeType) -> Expected | None:
    return _expected.get(id(code))


def looked_for(frame: FrameType) -> tuple[FrameType, Expected] | None:
    """The innermost frame whose loops are to be looked at now."""
    found: FrameType | None = frame
    for _ in range(_NEAR if _expected else 0):
        if found is None:
            break
        known = _expected.get(id(found.f_code))
        if known is not None and known.looks <= 0:
            del _expected[id(found.f_code)]
        elif known is not None:
            return (found, known) if known.is_due() else None
        found = found.f_back
    return None
