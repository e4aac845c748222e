"""Whether a program gave what Python gave: the same types, shapes, flags and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar
from lazynp._promotion._objects import MISSING, attributes
from lazynp._quiet import quietly
from lazynp.transforms._pulls import LinearFunction

_TOLERANCE = {"f": 1e-6, "d": 1e-11, "F": 1e-6, "D": 1e-11}  # of the largest value
_SCALARS = (Scalar, np.generic)


def agree(got: Any, want: Any) -> bool:
    """Whether one tree of results is like the other. (NumPy's functions of Python's numbers give
    scalars of NumPy's own, and lazy ones in a program.)
    """
    if type(got) is not type(want):
        if isinstance(got, _SCALARS) and isinstance(want, _SCALARS):
            return close(np.asarray(got), np.asarray(want))
        return False
    if isinstance(want, (tuple, list)):
        return len(got) == len(want) and all(map(agree, got, want))
    if isinstance(want, dict):
        return list(got) == list(want) and all(agree(got[k], want[k]) for k in want)
    if isinstance(want, Array):
        return _flags(got) == _flags(want) and close(np.asarray(got), np.asarray(want))
    if isinstance(want, LinearFunction):
        return agree(got.of_ones(), want.of_ones())
    if isinstance(want, (float, complex, np.inexact)):
        return close(np.asarray(got), np.asarray(want))
    return got is want or bool(got == want)


def _flags(x: Array) -> Any:
    f = x.flags
    return x.dtype, x.shape, f.writeable, f.c_contiguous, f.f_contiguous


def close(got: np.ndarray, want: np.ndarray) -> bool:
    """Equal; floats, up to the rounding of another order of operations."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    tolerance = _TOLERANCE.get(want.dtype.char)
    if tolerance is None or np.array_equal(got, want):
        return bool(np.array_equal(got, want))
    return quietly(_within, [got, want, tolerance])


def _within(got: np.ndarray, want: np.ndarray, tolerance: float) -> bool:
    """Up to a part of the largest value; what is not finite, exactly."""
    finite = np.isfinite(want)
    if not np.array_equal(finite, np.isfinite(got)):
        return False
    other = ~finite
    if not np.array_equal(got[other], want[other], equal_nan=True):
        return False
    bound = tolerance * np.abs(want[finite]).max(initial=0)
    return bool((np.abs(got[finite] - want[finite]) <= bound).all())


def same_leaves(ours: list[Any], theirs: list[Any]) -> bool:
    return all(
        isinstance(o, NDArray) and o._node is t._node or close(np.asarray(o), np.asarray(t))
        for o, t in zip(ours, theirs, strict=True)
    )


def same_attributes(
    changes: list[tuple[int, Any, Any]], objects: list[Any], before: list[dict[str, Any]]
) -> bool:
    """Whether Python has changed the same attributes, to the same values."""
    ours = {(k, name): value for k, name, value in changes}
    for k, x in enumerate(objects):
        now = attributes(x)
        if now is None:
            return False
        for name in {*now, *before[k], *(n for j, n in ours if j == k)}:
            value, was = now.get(name, MISSING), before[k].get(name, MISSING)
            if (k, name) in ours:
                wanted = ours[k, name]
                if wanted is not value and (wanted is MISSING or not agree(wanted, value)):
                    return False
            elif value is not was:
                return False
    return True
