"""Integer arguments that name places: check, clip or wrap them into range."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from lazynp._array import Array, Scalar
from lazynp._flush import host_value
from lazynp._overrides import Overridden
from lazynp._strides import may_write
from lazynp.functions import _advanced, ufuncs
from lazynp.functions._arguments import converted
from lazynp.functions._assigned import check_range
from lazynp.functions._checks import traced
from lazynp.functions._operands import as_array, cast, plain
from lazynp.primitives import shaping

_INT64 = np.dtype(np.int64)
_MODES = ("raise", "wrap", "clip")

normalize_axis_index = np.lib.array_utils.normalize_axis_index


def checked_mode(mode: Any) -> str:
    """The name of a NumPy clip mode, which may also be given by number or by its first letter."""
    if mode in (0, 1, 2):
        return ("clip", "wrap", "raise")[mode]
    if mode not in _MODES:
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    return mode


def index_array(x: Any, casting: Literal["safe", "same_kind"] = "same_kind") -> Array:
    """Integers as int64. A list is converted whatever its elements, as in NumPy."""
    if not isinstance(x, (Array, np.ndarray, np.generic)):
        if traced(x):
            x = as_array(x)
        elif isinstance(x, (list, tuple)):
            x = [host_value(i._read()) if isinstance(i, Array) else i for i in x]
        x = x if isinstance(x, Array) else np.asarray(x)
        if x.dtype.kind in "fcO":
            x = x.astype(_INT64)
    array = as_array(x)
    if array.dtype.kind not in "biu" or not np.can_cast(array.dtype, _INT64, casting):
        raise TypeError(
            f"Cannot cast array data from {array.dtype!r} to dtype('int64') according to the "
            "rule 'safe'"
        )
    return plain(cast(array, _INT64))


def in_range(index: Array, n: int, mode: str, axis: int = 0) -> Array:
    """Indices into n places, treated by `mode`. "raise" reads the data and raises NumPy's error."""
    if mode == "raise":
        return plain(_advanced.bounded(index, n, axis))
    if mode == "wrap":
        return plain(ufuncs.remainder(index, n))
    return plain(ufuncs.minimum(ufuncs.maximum(index, 0), n - 1))


def target(a: Any, what: str, name: str = "assignment destination") -> Array:
    """An array to be written. TypeError for anything else, as in NumPy."""
    if isinstance(a, np.ndarray):
        raise Overridden(a)  # the NumPy function of this name writes it
    if not isinstance(a, Array) or isinstance(a, Scalar):
        raise TypeError(f"{what} must be numpy.ndarray, not {type(a)}")
    if not may_write(a):
        raise ValueError(f"{name} is read-only")
    return a


def flat(x: Any) -> Array:
    """A copy of the elements in C order."""
    array = plain(x)
    return array if array.ndim == 1 else shaping.reshape(array, shape=(array.size,))


def repeated(values: Any, dtype: np.dtype[Any], n: int) -> Array:
    """n elements: the values, repeated cyclically. Converts without checking for loss."""
    array = flat(values)
    if array.dtype.kind == "c" and dtype.kind in "biuf" and not isinstance(values, Array):
        raise TypeError(
            "int() argument must be a string, a bytes-like object or a real number, not 'complex'"
        )
    check_range(values, array.dtype, dtype)
    array = converted(array, dtype)
    if array.size == n:
        return array
    if array.size == 1:
        return shaping.broadcast_in_dim(array, shape=(n,), dims=(0,))
    return _cycle(array, n)


def _cycle(array: Array, n: int) -> Array:
    """Repeat the whole array, and cut the result to n elements."""
    m = array.size
    rows = -(-n // m)
    table = shaping.broadcast_in_dim(array, shape=(rows, m), dims=(1,))
    return shaping.slice(
        shaping.reshape(table, shape=(rows * m,)),
        0, axes=(0,), sizes=(n,), strides=(1,), shape=(n,),
    )  # fmt: skip
