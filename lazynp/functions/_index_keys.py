"""Interpret an index without the array: its memo key, and NumPy's notion of an integer."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar
from lazynp._dimensions import size_of
from lazynp._sizes import Size
from lazynp._steps import INVALID_INDEX
from lazynp._values import knowable, seen_value

NOT_BASIC: Any = object()


def known_places(index: Any) -> Any:
    """The index with available integer Scalars replaced by ints."""
    if type(index) is not tuple:
        value = index._node[2] if type(index) is Scalar else index
        return int(value) if isinstance(value, np.integer) else index
    for item in index:
        if type(item) in PLACES:
            break
    else:
        return index
    return tuple([known_places(i) if type(i) in PLACES else i for i in index])


# types that are ints once their value is available
PLACES = frozenset({Scalar, *(np.dtype(t).type for t in "bhilqBHILQ")})


def element_index(index: Any) -> tuple[Any, int]:
    """The index with the integers that are there as ints; and, if it is the place of one element,
    how many axes it has, else 0."""
    t = type(index)
    if t is int:
        return index, 1
    if t is tuple:
        index = known_places(index)
        return index, len(index) if _INT.issuperset(map(type, index)) else 0
    if t in PLACES:
        index = known_places(index)
        return index, int(type(index) is int)
    return index, 0


_INT = frozenset({int})


def gives_view(index: Any) -> bool:
    """Whether the index is made of nothing but ints, slices, None, Ellipsis."""
    if type(index) is tuple:
        return _BASIC.issuperset(map(type, index))
    return type(index) in _BASIC


_BASIC = frozenset({int, slice, type(None), EllipsisType})


def index_key(index: Any) -> Any:
    """A hashable key of a basic index, or `NOT_BASIC`."""
    t = type(index)
    if t is int:
        return index
    if t is slice:
        return _slice_key(index)
    if t is not tuple:
        return index if index is None or index is Ellipsis else NOT_BASIC
    items = []
    for item in index:
        t = type(item)
        if t is int:
            items.append(item)
        elif t is slice:
            start, stop, step = item.start, item.stop, item.step
            if (
                (start is None or type(start) is int)
                and (stop is None or type(stop) is int)
                and (step is None or type(step) is int)
            ):
                items.append((slice, start, stop, step))
            else:
                key = _slice_key(item)
                if key is NOT_BASIC:
                    return NOT_BASIC
                items.append(key)
        elif item is None or item is Ellipsis:
            items.append(item)
        else:
            return NOT_BASIC
    return tuple(items)


def _slice_key(s: slice) -> Any:
    start, stop, step = s.start, s.stop, s.step
    if start is not None and type(start) is not int:
        start = _slice_bound(start)
    if stop is not None and type(stop) is not int:
        stop = _slice_bound(stop)
    if step is not None and type(step) is not int:
        step = _slice_bound(step)
    if isinstance(start, Array) or isinstance(stop, Array) or isinstance(step, Array):
        return NOT_BASIC
    return slice, start, stop, step


def unknown_bounds(s: slice) -> bool:
    """Whether a bound is an integer that has no value yet."""
    return any(isinstance(b, Array) and isinstance(_slice_bound(b), Array)
               for b in (s.start, s.stop))  # fmt: skip


def normal(index: Any) -> Any:
    """The index with integer-like items (NumPy integers, lazy integer scalars) as ints."""
    if isinstance(index, tuple):
        return tuple([normal_item(i) for i in index])
    return normal_item(index)


def normal_item(item: Any) -> Any:
    if isinstance(item, slice):
        return slice(*[_slice_bound(x) for x in (item.start, item.stop, item.step)])
    if isinstance(item, Array):
        if item.ndim == 0 and item.dtype.kind in "iu":
            node = item._read()
            return int(seen_value(node)) if knowable(node) else item
        if item.ndim == 0 and item.dtype.kind in "fc" and type(item) is Scalar:
            raise IndexError(INVALID_INDEX)
        return item
    if isinstance(item, np.integer) and not isinstance(item, np.timedelta64):
        return int(item)
    if isinstance(item, (bool, np.bool_)):
        return np.bool_(item)
    if isinstance(item, int):
        return int(item)
    if isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype.kind in "iu":
        return int(item)
    if isinstance(item, (str, bytes, float, complex, np.inexact, np.timedelta64)):
        raise IndexError(INVALID_INDEX)
    if hasattr(item, "__index__") and not isinstance(item, np.ndarray):
        return _number_or_array(item)
    return item


def _number_or_array(item: Any) -> Any:
    """An object that says which integer it is; itself if it fails to, but says which array."""
    try:
        return item.__index__()
    except Exception:
        if not any([hasattr(item, f"__array{kind}__") for kind in ("", "_interface", "_struct")]):
            raise
    return item


def _slice_bound(x: Any) -> Any:
    """A bound as int; itself if it is an integer without a value yet."""
    if x is None or type(x) is int:
        return x
    if isinstance(x, Array) and not x.ndim and x.dtype.kind in "iu" and not knowable(x._read()):
        return x
    if type(x) is Size:
        return x
    try:
        return x.__index__()
    except AttributeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method"
        ) from None


def holds_size(index: Any) -> bool:
    """Whether a bound is a size: no memo table keeps such an index."""
    items = index if type(index) is tuple else (index,)
    return any(Size in (type(i.start), type(i.stop)) for i in items if type(i) is slice)


def with_sizes(index: Any) -> Any:
    """The index with integers that have no value yet as sizes, where they are bounds."""
    if type(index) is tuple:
        return tuple(map(with_sizes, index))
    if type(index) is not slice:
        return index
    bounds = [(index.start, size_of(index.start)), (index.stop, size_of(index.stop))]
    start, stop = [b if size is None else size for b, size in bounds]
    return slice(start, stop, index.step)


def has_array(index: Any) -> bool:
    items = index if type(index) is tuple else (index,)
    return any(isinstance(i, np.ndarray) or type(i) is NDArray for i in items)
