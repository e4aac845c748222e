"""`numpy.matrix` is NumPy's own, on the host. Functions that make one copy the values of lazy
arrays.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from lazynp.functions._host import hosted, to_host

asmatrix = hosted(np.asmatrix)


def bmat(obj: Any, ldict: Any = None, gdict: Any = None) -> Any:
    """See `numpy.bmat`. Names in a string are looked up in the caller."""
    if isinstance(obj, str):
        if gdict is None:
            caller = sys._getframe(1)
            ldict, gdict = caller.f_locals, caller.f_globals
        return np.bmat(obj, ldict, gdict)
    return np.bmat(to_host(obj))
