"""The hot path in C, where it was built: the folder `_c`.

It stands in front of the Python functions that define the operations and answers their usual
calls, those that they have answered before. Without it everything is as it is, and slower.
LAZYNP_PURE_PYTHON=1 leaves it out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

_INTERFACE = 5  # of what was built, for this version: see the end of the C

fastpath: Any = None
if os.environ.get("LAZYNP_PURE_PYTHON", "0") in ("", "0"):
    try:
        fastpath = import_module("lazynp._fastpath")
    except (ImportError, RuntimeError):  # there was no C compiler, or for another numpy
        pass

BUILT = getattr(fastpath, "INTERFACE", 0) == _INTERFACE


def in_front(kind: str, python: Callable[..., Any], **known: Any) -> Any:
    """`python`, behind what answers its usual calls; see `front` in C for the kinds.

    A front is no frame of Python's: its `depth` is how many frames up the user's is from whoever
    called it, beginning with 1, which is what it is for `python` too.
    """
    return fastpath.front(kind, python, **known) if BUILT else python


def in_front_too(function: Any, python: Callable[..., Any]) -> Any:
    """`python`, which does what `function` does, behind what stands in front of that, if any."""
    behind = BUILT and type(function) is fastpath.Front
    return fastpath.moved(function, python) if behind else python
