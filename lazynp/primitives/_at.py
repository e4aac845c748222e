"""`ufunc.at` of NumPy, without its faults."""

from __future__ import annotations

from typing import Any

import numpy as np


def _fits(values: tuple[int, ...], indexed: tuple[int, ...]) -> bool:
    """Whether `ufunc.at` takes values of this shape. Unlike a store, it drops no axis."""
    ends = zip(reversed(values), reversed(indexed), strict=False)
    return len(values) <= len(indexed) and all([n in (1, m) for n, m in ends])


def check_at(values: tuple[int, ...], indexed: tuple[int, ...]) -> None:
    """Raise what `ufunc.at` raises for values of this shape."""
    if not _fits(values, indexed):
        raise ValueError("array is not broadcastable to correct shape")


def _fits_surely(values: tuple[int, ...], x: Any, index: Any) -> bool:
    """Whether values of this shape fit, as is known without looking at the index."""
    whole = type(index) is np.ndarray and index.dtype.kind in "iu" and x.ndim
    return bool(whole) and _fits(values, index.shape + x.shape[1:])


def combine_at(ufunc: np.ufunc, x: Any, index: Any, *values: Any) -> None:
    """`ufunc.at`, without two faults of NumPy 2.4.6. Where an index of several axes broadcasts
    values of one axis, its fast loop reads past their end: so the values get as many axes as the
    index. Values of more axes than what is indexed may end the process.
    """
    if not values:
        ufunc.at(x, index)
        return
    (value,) = values
    if type(value) is list or type(value) is tuple:
        value = np.asarray(value)
    ndim = getattr(value, "ndim", 0)  # numbers of Python's have none
    if ndim > 1:
        if not _fits_surely(value.shape, x, index):
            check_at(value.shape, np.broadcast_to(np.empty((), bool), x.shape)[index].shape)
    elif ndim and x.ndim == 1:
        (only,) = index if type(index) is tuple and len(index) == 1 else (index,)
        more = np.ndim(only) - 1
        value = value.reshape((1,) * more + value.shape) if more > 0 else value
    ufunc.at(x, index, value)
