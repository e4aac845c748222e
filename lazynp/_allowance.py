"""How many programs a function of sizes may have: a few for all sizes, not one for each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_lock = threading.RLock()  # destructors and signal handlers may compute


class Allowance:
    """Programs that may still be compiled. A call that holds it and gets none runs by reference.

    room: how many there may be by now; it may grow with the sizes that are met.
    """

    __slots__ = ("room", "used", "_others")

    def __init__(self, room: Callable[[], int]) -> None:
        self.room, self.used = room, 0
        self._others: dict[Any, Allowance] = {}

    def take(self) -> bool:
        """Take one, if there is any."""
        with _lock:
            if self.used >= self.room():
                return False
            self.used += 1
            return True

    def of(self, kind: Any) -> Allowance:
        """That of a function which a transformation makes of this one."""
        with _lock:
            return self._others.setdefault(kind, Allowance(self.room))


NONE = Allowance(lambda: 0)


def most(largest: int) -> int:
    """How many programs serve all sizes up to this one."""
    return 2 * max(largest - 1, 1).bit_length() + 4
