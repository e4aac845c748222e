"""NumPy's own generators cannot shuffle lazy arrays of several axes.

`from numpy.random import default_rng; default_rng(0).shuffle(x)` exchanges the rows of what is no
array of NumPy's by `x[i], x[j] = x[j], x[i]`. Rows are views, so one of them would be lost.
"""

from __future__ import annotations

import dis
from types import FrameType
from typing import Any

_SETTERS = {"__setitem__", "setitem"}  # which a function may call itself
_STORES = {dis.opmap["STORE_SUBSCR"], dis.opmap.get("STORE_SLICE", -1)}


def refuse_shuffling(index: Any, frame: FrameType) -> None:
    """Raise if code in C that this frame calls by the name `shuffle` assigns a row."""
    names = frame.f_code.co_names
    if type(index) is not int or "shuffle" not in names or not _SETTERS.isdisjoint(names):
        return
    if frame.f_code.co_code[frame.f_lasti] not in _STORES:
        raise TypeError(
            "a generator of NumPy's cannot shuffle a lazy array of several axes: use "
            "lazynp.random, or x[:] = x[rng.permutation(len(x))]"
        )
