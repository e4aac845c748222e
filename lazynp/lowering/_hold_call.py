"""The custom call of holds, which is part of the fast path in C.

A value that goes through a call is stored (`_holds`). A call of a function copies it. A custom call
whose result has the memory of its operand copies nothing. XLA lets no custom call be split over
devices: those programs call functions.
"""

from __future__ import annotations

import threading

from lazynp._fronts import BUILT, fastpath
from lazynp.lowering import _compat, _holds

_lock = threading.RLock()
_registered = False


def register() -> None:
    """Make the calls known to the compiler."""
    global _registered
    with _lock:
        if not _registered:
            for name in (_holds.TARGET, _holds.WRITTEN):
                _compat.register_custom_call(name, fastpath.HOLD, "Host", 0)
            _registered = True


__all__ = ["BUILT", "register"]
