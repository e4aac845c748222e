"""The hot path in C, where it was built: `_fastpath.c`.

It stands in front of the Python functions that define the operations and answers their usual
calls, those that they have answered before. Without it everything is as it is, and slower.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from lazynp import _errstate
from lazynp._array import VIEWED, Array, NDArray, Scalar
from lazynp._avals import Aval, aval_of, interned
from lazynp._config import config
from lazynp._node import LENT, Op
from lazynp._stale import LARGE, note
from lazynp._strides import in_common_order
from lazynp._trace import Recorder, local, staged
from lazynp._views import Basic
from lazynp.functions._scalars import AVALS

_INTERFACE = 1  # of what was built, for this file: see the end of the C

_fastpath: Any = None
if os.environ.get("LAZYNP_PURE_PYTHON", "0") in ("", "0"):
    try:
        _fastpath = import_module("lazynp._fastpath")
    except ImportError:  # there was no C compiler
        pass

BUILT = getattr(_fastpath, "INTERFACE", 0) == _INTERFACE

if BUILT:
    _fastpath.configure(
        Array=Array, NDArray=NDArray, Scalar=Scalar, Recorder=Recorder, Op=Op, Aval=Aval,
        Basic=Basic, config=config, local=local, staged=staged, avals=AVALS,
        errstate=vars(_errstate), viewed=VIEWED, lent=LENT, in_common_order=in_common_order,
        note=note, large=LARGE, aval_of=aval_of, avals_by_type=interned, no_value=np._NoValue,
    )  # fmt: skip


def in_front(kind: str, python: Callable[..., Any], **known: Any) -> Any:
    """`python`, behind what answers its usual calls; see `front` in C for the kinds.

    A front is no frame of Python's: its `depth` is how many frames up the user's is from whoever
    called it, beginning with 1, which is what it is for `python` too.
    """
    return _fastpath.front(kind, python, **known) if BUILT else python


def in_front_too(function: Any, python: Callable[..., Any]) -> Any:
    """`python`, which does what `function` does, behind what stands in front of that, if any."""
    behind = BUILT and type(function) is _fastpath.Front
    return _fastpath.moved(function, python) if behind else python
