"""What NumPy's releases do differently, found by trying it once."""

from __future__ import annotations

import functools

import numpy as np

SINCE_2_5 = np.lib.NumpyVersion(np.__version__) >= "2.5.0.dev0"

# the warning of a ufunc with `where` and no `out`, spelt as this release spells it
LEFT_OUT = (
    f"'where' used without 'out', expect {'uninitialized' if SINCE_2_5 else 'unitialized'} memory "
    "in output. If this is intentional, use out=None."
)


@functools.cache
def real_takes_items() -> bool:
    """Whether `x.real = v` of a real array is `x[...] = v`, which refuses what does not fit. Before
    NumPy 2.5, it casts.
    """
    x = np.zeros(1, np.int8)
    try:
        x.real = 300  # type: ignore[assignment, misc]
    except OverflowError:
        return True
    return False


@functools.cache
def accumulates_repeatedly() -> bool:
    """Whether `accumulate` repeats its result in a larger `out`, as before NumPy 2.5."""
    try:
        np.add.accumulate(np.ones((1, 1)), out=np.zeros((1, 2)))
    except ValueError:
        return False
    return True
