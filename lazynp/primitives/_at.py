"""`ufunc.at` of NumPy, without its faults."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_at(values: tuple[int, ...], indexed: tuple[int, ...]) -> None:
    """Raise what `ufunc.at` raises for values of this shape. Unlike a store, it drops no axis."""
    ends = zip(reversed(values), reversed(indexed), strict=False)
    if len(values) > len(indexed) or any(n not in (1, m) for n, m in ends):
        raise ValueError("array is not broadcastable to correct shape")


def combine_at(ufunc: np.ufunc, x: Any, index: Any, *values: Any) -> None:
    """`ufunc.at`, without two faults of NumPy 2.4.6. Where an index of several axes broadcasts
    values of one axis, its fast loop reads past their end: so the values get as many axes as the
    index. Values of more axes than what is indexed may end the process.
    """
    if values and np.ndim(values[0]) > 1:
        check_at(np.shape(values[0]), np.broadcast_to(np.empty((), bool), x.shape)[index].shape)
    if x.ndim == 1 and values and np.ndim(values[0]) == 1:
        (only,) = index if type(index) is tuple and len(index) == 1 else (index,)
        given = np.asarray(values[0])
        values = (given.reshape((1,) * (np.ndim(only) - 1) + given.shape),)
    ufunc.at(x, index, *values)
