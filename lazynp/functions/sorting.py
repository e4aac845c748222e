"""Sorting, and searching in sorted arrays. Every sort is stable, whatever `kind` says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._dimensions import require
from lazynp._flush import host_value
from lazynp._sizes import is_size, sized, smallest
from lazynp._strides import copied_order, in_order
from lazynp.functions import ufuncs
from lazynp.functions._advanced import bounded
from lazynp.functions._checks import refuse_outside
from lazynp.functions._eager import by_method, by_numpy
from lazynp.functions._host import host_call, needs_host
from lazynp.functions._integers import flat, normalize_axis_index
from lazynp.functions._operands import as_array, cast, plain, scalar_if_0d
from lazynp.functions._releases import SINCE_2_5
from lazynp.primitives import indexing, shaping, sorting as primitives

__all__ = [
    "argpartition", "argsort", "lexsort", "partition", "searchsorted", "sort", "sort_complex",
]  # fmt: skip


_NO_VALUE: Any = np._NoValue  # type: ignore[attr-defined]


def _order_asked(descending: Any, function: str) -> dict[str, Any]:
    """The keyword for NumPy, which has it since 2.5; none if it was not given."""
    if descending is _NO_VALUE:
        return {}
    if not SINCE_2_5:
        raise TypeError(f"{function}() got an unexpected keyword argument 'descending'")
    return {"descending": descending}


def _mirrored(x: Array) -> Array:
    """The values whose order is the other way round; nan stays nan, which comes last both ways. Of
    these, it gives the values.
    """
    return plain((ufuncs.invert if x.dtype.kind in "biu" else ufuncs.negative)(x))


def _check_kind(kind: Any, stable: Any, descending: Any = None) -> None:
    if kind is None:
        return
    if stable is not None or descending is not None and descending is not _NO_VALUE:
        raise ValueError(
            "`kind` and keyword parameters can't be provided at the same time. Use only one of "
            "them."
        )
    if not isinstance(kind, str):
        raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
    if kind[:1].lower() not in ("q", "h", "m", "s"):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")


def _check_order(x: Array, order: Any) -> None:
    if order is not None and x.dtype.names is None:
        raise ValueError("Cannot specify order when the array has no fields.")


def _axis_of(x: Array, axis: Any) -> tuple[Array, int]:
    """The array as a new owner, flattened for axis None, and the axis."""
    if axis is None:
        return flat(x), 0
    return plain(x), normalize_axis_index(axis, x.ndim)


@by_numpy(np.sort)
def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
    descending: Any = _NO_VALUE,
) -> Any:  # fmt: skip
    """See `numpy.sort`. Always stable."""
    x, asked = as_array(a), _order_asked(descending, "sort")
    _check_kind(kind, stable, descending)
    _check_order(x, order)
    if needs_host(x):
        given = a if isinstance(a, np.ndarray) else x  # records stay records
        return host_call(np.sort, given, axis, kind, order, stable=stable, **asked)
    return _sorted(x, axis, bool(asked and descending))


def _sorted(x: Array, axis: Any, descending: bool = False) -> Array:
    """Sort in the memory order of x, because NumPy sorts a copy."""
    values, along = _axis_of(x, axis)
    if descending:
        found = _mirrored(primitives.sort(_mirrored(values), axis=along))
    else:
        found = primitives.sort(values, axis=along)
    return in_order(found, None if axis is None else copied_order(x))


def _stably(x: np.ndarray, axis: Any = -1, kind: Any = None) -> np.ndarray:
    _check_kind(kind, None)
    if x.size >= primitives.QUICK_FROM:
        return primitives.stable_order(x, axis)
    return x.argsort(axis, "stable")


@by_method(
    partial(np.ndarray.argsort, kind="stable"), 2, function=_stably,
    without=("order", "stable", "descending"),
    faster=_stably, many=primitives.QUICK_FROM,
)  # fmt: skip
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
    descending: Any = _NO_VALUE,
) -> Any:  # fmt: skip
    """See `numpy.argsort`. Always stable."""
    x, asked = as_array(a), _order_asked(descending, "argsort")
    _check_kind(kind, stable, descending)
    _check_order(x, order)
    if needs_host(x):
        return host_call(np.argsort, x, axis, kind, order, stable=stable, **asked)
    if not x.ndim and axis in (-1, 0):
        axis = None
    x, axis = _axis_of(x, axis)
    return primitives.argsort(_mirrored(x) if asked and descending else x, axis=axis)


def sort_complex(a: Any) -> Any:
    """See `numpy.sort_complex`."""
    x = sort(a)
    if x.dtype.kind == "c":
        return x
    letter = "F" if x.dtype.char in "bhBH" else "G" if x.dtype.char == "g" else "D"
    return in_order(cast(x, letter), copied_order(x))


@by_numpy(np.lexsort, always=True)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """See `numpy.lexsort`."""
    if isinstance(keys, Array):
        keys = list(keys) if keys.ndim else []
    if not isinstance(keys, (Sequence, np.ndarray)) or len(keys) == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    arrays = [as_array(k) for k in keys]
    if needs_host(*arrays):
        return host_call(np.lexsort, list(arrays), axis)
    if any(k.shape != arrays[0].shape for k in arrays):
        raise ValueError("all keys need to be the same shape")
    shape = arrays[0].shape
    if not shape:
        normalize_axis_index(axis, 1)
        return scalar_if_0d(shaping.full(0, shape=(), dtype=np.dtype(np.int64)))
    axis = normalize_axis_index(axis, len(shape))
    positions = shaping.iota(shape=shape, axis=axis, dtype=np.dtype(np.int64))
    operands = [plain(k) for k in reversed(arrays)]  # the last key is the primary one
    return primitives.sort_pairs(*operands, positions, axis=axis, num_keys=len(operands))[-1]


# -- partition: a sorted array is partitioned at every place ---------------------------------------


def _check_kth(kth: Any, x: Array, axis: int, kind: str) -> None:
    if kind != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
    n = x.aval.shape[axis]
    if not is_size(n) and not is_size(x.aval.size):
        for k in _places(kth):
            if x.size and not -n <= k < n:
                raise ValueError(f"kth(={k + n if k < 0 else k}) out of bounds ({n})")
        return
    several = kth if isinstance(kth, (list, tuple)) else [kth]
    for k in several if sized(several) else _places(kth):
        for room in (n - k - 1, n + k):
            require(smallest(x.aval.size, 1) * room, _out_of_bounds, (n, k))


def _out_of_bounds(told: Any) -> ValueError:
    n, k = told
    return ValueError(f"kth(={k + n if k < 0 else k}) out of bounds ({n})")


def _places(kth: Any) -> list[int]:
    places = np.asarray(host_value(kth._read()) if isinstance(kth, Array) else kth)
    if places.dtype.kind == "b":
        raise ValueError("Booleans unacceptable as partition index")
    if places.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    if places.ndim > 1:
        raise ValueError("object too deep for desired array")
    return places.ravel().tolist()


@by_numpy(np.partition, always=True)
def partition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """See `numpy.partition`. A program sorts the array."""
    x = as_array(a)
    _check_order(x, order)
    if needs_host(x):
        return host_call(np.partition, x, kth, axis, kind, order)
    _check_kth(kth, *_axis_of(x, axis), kind)
    return _sorted(x, axis)


@by_numpy(np.argpartition, always=True)
def argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """See `numpy.argpartition`. A program sorts the array."""
    x = as_array(a)
    _check_order(x, order)
    if needs_host(x):
        return host_call(np.argpartition, x, kth, axis, kind, order)
    if not x.ndim and axis in (-1, 0):
        axis = None
    x, axis = _axis_of(x, axis)
    _check_kth(kth, x, axis, kind)
    return primitives.argsort(x, axis=axis)


# -- searching -------------------------------------------------------------------------------------


@by_numpy(np.searchsorted)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """See `numpy.searchsorted`. Computes a sorter, to check it."""
    x, values = as_array(a), as_array(v)
    if side not in ("left", "right"):
        np.searchsorted([0], 0, side=side)  # NumPy's own exception
    if needs_host(x, values):
        return host_call(np.searchsorted, x, v if isinstance(v, str) else values, side, sorter)
    if x.ndim != 1:
        what = "too deep" if x.ndim else "of too small depth"
        raise ValueError(f"object {what} for desired array")
    if sorter is not None:
        x = _by_sorter(x, as_array(sorter))
    dtype = np.result_type(x.dtype, values.dtype)
    x, values = plain(cast(x, dtype)), plain(cast(values, dtype))
    return scalar_if_0d(primitives.searchsorted(x, values, side=side))


def _by_sorter(x: Array, sorter: Array) -> Array:
    if sorter.dtype.kind not in "iu":
        raise TypeError("sorter must only contain integers")
    if sorter.ndim != 1:
        what = "too deep" if sorter.ndim else "of too small depth"
        raise ValueError(f"object {what} for desired array")
    if not np.can_cast(sorter.dtype, np.int64):
        raise ValueError("could not parse sorter argument")
    if sorter.size != x.size:
        raise ValueError("sorter.size must equal a.size")
    refuse_outside(sorter, x.size, ValueError, "Sorter index out of range.")
    return indexing.take(plain(x), bounded(sorter, x.size, 0), axes=(0,))
