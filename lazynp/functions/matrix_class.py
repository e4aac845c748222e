"""`numpy.matrix` is NumPy's own, on the host; what makes one of lazy arrays copies their values."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from lazynp.functions._host import hosted, to_host

asmatrix = hosted(np.asmatrix)


def bmat(obj: Any, ldict: Any = None, gdict: Any = None) -> Any:
    """See `numpy.bmat`. Names in a string are looked up where this is called."""
    if isinstance(obj, str):
        if gdict is None:
            caller = sys._getframe(1)
            ldict, gdict = caller.f_locals, caller.f_globals
        return np.bmat(obj, ldict, gdict)
    return np.bmat(to_host(obj))
