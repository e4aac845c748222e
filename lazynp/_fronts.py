"""The fast path in C (the folder `_c`), if it was built.

Each front stands before a Python function that defines an operation. It answers calls of kinds that
the function has answered before. Without the C, lazynp behaves the same, more slowly.
LAZYNP_PURE_PYTHON=1 disables it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F")

_INTERFACE = 49  # the version of the interface that was built: see the end of the C source

fastpath: Any = None
if os.environ.get("LAZYNP_PURE_PYTHON", "0") in ("", "0"):
    try:
        fastpath = import_module("lazynp._fastpath")
    # there was no C compiler, or it was built for another numpy
    except (ImportError, RuntimeError):
        pass

BUILT = getattr(fastpath, "INTERFACE", 0) == _INTERFACE


def in_front(kind: str, python: Callable[..., Any], **known: Any) -> Any:
    """`python` behind a front that answers its usual calls; see `front` in C for the kinds.

    A front is not a Python frame. Its `depth` is the number of frames from its caller up to the
    user's, starting at 1; that is the same as for `python`.
    """
    return fastpath.front(kind, python, **known) if BUILT else python


def in_front_too(function: Any, python: Callable[..., Any], bare: bool = False) -> Any:
    """Put the front of `function`, if it has one, before `python`, which does the same.

    bare: it takes arrays of derived classes as plain ones, and so do its results.
    """
    behind = BUILT and type(function) is fastpath.Front
    return fastpath.moved(function, python, bare) if behind else python


def strided(memory: Any, shape: Sequence[int], strides: Sequence[int]) -> Any:
    """NumPy's view of elements that lie in this memory, without a check."""
    if BUILT and type(memory) is np.ndarray:
        return fastpath.strided(memory, shape, strides)  # what its base is tells whose memory it is
    return np.lib.stride_tricks.as_strided(memory, shape, strides)


def unbound(function: F) -> F:
    """A function that is no method where it is the attribute of a class, as NumPy's builtins. (It
    is one without the C: a wrapper in Python would cost each call more than that is worth.)
    """
    return fastpath.unbound(function) if BUILT else function
