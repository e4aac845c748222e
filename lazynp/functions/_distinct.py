"""NumPy's functions of sets, where its hash table is slow.

NumPy finds the distinct integers of an array by a hash table since 2.3. From a few hundred elements
on, that takes 4 to 15 times as long as a sort, after which equal elements are neighbours. The
results are the same, as NumPy sorts what it has found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MANY = 256  # elements, from which on these functions are called


def _should_sort(x: Any) -> bool:
    """Whether a sort finds the distinct elements sooner. Of single bytes, there are few."""
    return type(x) is np.ndarray and x.dtype.kind in "iu" and x.dtype.itemsize > 1 and x.size > 0


def unique(ar: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.unique`."""
    if args or kwargs.keys() - {"equal_nan"} or not _should_sort(ar):
        return np.unique(ar, *args, **kwargs)
    x = np.sort(ar, axis=None)
    first = np.empty(x.shape, bool)
    first[0] = True
    np.not_equal(x[1:], x[:-1], out=first[1:])
    return x[first]


def _both(ar1: Any, ar2: Any) -> bool:
    return _should_sort(ar1) and _should_sort(ar2)


def union1d(ar1: Any, ar2: Any) -> Any:
    """`numpy.union1d`."""
    if not _both(ar1, ar2):
        return np.union1d(ar1, ar2)
    return unique(np.concatenate((ar1, ar2), axis=None))


def intersect1d(ar1: Any, ar2: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.intersect1d`."""
    if args or kwargs or not _both(ar1, ar2):
        return np.intersect1d(ar1, ar2, *args, **kwargs)
    return np.intersect1d(unique(ar1), unique(ar2), assume_unique=True)


def setdiff1d(ar1: Any, ar2: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.setdiff1d`."""
    if args or kwargs or not _both(ar1, ar2):
        return np.setdiff1d(ar1, ar2, *args, **kwargs)
    return np.setdiff1d(unique(ar1), unique(ar2), assume_unique=True)


def setxor1d(ar1: Any, ar2: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.setxor1d`."""
    if args or kwargs or not _both(ar1, ar2):
        return np.setxor1d(ar1, ar2, *args, **kwargs)
    return np.setxor1d(unique(ar1), unique(ar2), assume_unique=True)


__all__ = ["MANY", "intersect1d", "setdiff1d", "setxor1d", "union1d", "unique"]
