"""Split arrays into views; delete and insert parts."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray
from lazynp._dimensions import require, require_all, table
from lazynp._extents import slice_extent
from lazynp._sizes import is_size, smallest
from lazynp._values import knowable, seen_value
from lazynp.functions._arguments import (
    fortran,
    is_fortran,
    joined,
    own,
    part,
    reshaped,
    sliced,
    static,
    taken,
    viewable,
)
from lazynp.functions._checks import asking, refuse, traced
from lazynp.functions._construct import array
from lazynp.functions._eager import by_numpy
from lazynp.functions._getset import getitem, setitem
from lazynp.functions._joining import concatenate
from lazynp.functions._operands import as_array, broadcast, cast, plain, scalar_if_0d
from lazynp.functions._shapes import moveaxis, ravel
from lazynp.primitives import elementwise, indexing, reduction, shaping, sorting

normalize_axis_index = np.lib.array_utils.normalize_axis_index

_INT64 = np.dtype(np.int64)


# -- split: views ----------------------------------------------------------------------------------


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Array]:
    """See `numpy.array_split`. Indices are computed, because they determine shapes."""
    x = viewable(ary)
    if hasattr(ary, "shape"):
        total = x.shape[axis]  # the IndexError of an axis that is none
    axis = normalize_axis_index(axis, x.ndim, "axis1")
    total, cuts = x.shape[axis], _cuts(indices_or_sections)
    try:
        bounds = [0, *cuts, total]
    except TypeError:
        count = int(cuts)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        each, extras = divmod(total, count)
        places = list(range(count + 1))  # MemoryError at once for what memory cannot hold
        bounds = [i * each + smallest(i, extras) for i in places]
    before = (slice(None),) * axis
    if type(x) is NDArray and all([type(b) is int for b in bounds]):
        return [x[(*before, slice(*pair))] for pair in pairwise(bounds)]
    return [
        getitem(x, (*before, slice(*pair)))
        if any(isinstance(b, Array) for b in pair) else sliced(x, *before, slice(*pair), ...)
        for pair in pairwise(bounds)
    ]  # fmt: skip


def _cuts(given: Any) -> Any:
    """Where to cut, or into how many parts. Places that are only traced stay so."""
    if not isinstance(given, (list, tuple)):
        return static(given)
    return [
        c if isinstance(c, Array) and not c.ndim and not knowable(c._read()) else static(c)
        for c in given
    ]


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Array]:
    """See `numpy.split`."""
    sections = _cuts(indices_or_sections)
    try:
        len(sections)
    except TypeError:
        pass
    else:
        return array_split(ary, sections, axis)
    # a variable with the exception would close a cycle, which keeps the array
    uneven = "array split does not result in an equal division"
    require_all((-(ary.shape[axis] % sections),), lambda _: ValueError(uneven), None)
    if is_size(ary.shape[axis]):
        return _evenly(viewable(ary), int(sections), axis)
    return array_split(ary, sections, axis)


def _evenly(x: Array, count: int, axis: Any) -> list[Array]:
    """So many parts of one size, which has no value yet."""
    axis = normalize_axis_index(axis, x.ndim)
    each = x.shape[axis] // count
    return [
        sliced(x, *(slice(None),) * axis, slice(i * each, (i + 1) * each), ...)
        for i in range(count)
    ]


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """See `numpy.hsplit`."""
    x = viewable(ary)
    if x.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """See `numpy.vsplit`."""
    x = viewable(ary)
    if x.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(x, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """See `numpy.dsplit`."""
    x = viewable(ary)
    if x.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(x, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: Any = 0) -> tuple[Array, ...]:
    """See `numpy.unstack`."""
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    moved = moveaxis(x, axis, 0)
    return tuple(getitem(moved, i) for i in range(moved.shape[0]))


# -- append, insert, delete ------------------------------------------------------------------------


@by_numpy(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Array:
    """See `numpy.append`."""
    if axis is None:
        return concatenate((ravel(arr), ravel(values)), 0)
    return concatenate((as_array(arr), as_array(values)), axis)


def _flat_or_axis(arr: Any, axis: Any) -> tuple[Array, int, bool]:
    """The array and the axis to work along, and whether its copies are in Fortran order."""
    x = viewable(arr)
    in_fortran = is_fortran(x)
    if axis is None:
        return (reshaped(x, (x.size,)) if x.ndim != 1 else x), 0, False
    return x, normalize_axis_index(axis, x.ndim), in_fortran


@by_numpy(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Array:
    """See `numpy.insert`. Computes the places, because they determine the order of the result."""
    x, axis, in_fortran = _flat_or_axis(arr, axis)
    n = x.shape[axis]
    if traced(obj) and as_array(obj).dtype.kind in "iu":
        return fortran(_insert_later(x, as_array(obj), values, axis), in_fortran)
    places = np.arange(*obj.indices(n)) if isinstance(obj, slice) else np.array(static(obj))
    if places.dtype == bool:
        if places.ndim != 1:
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        places = np.flatnonzero(places)
    elif places.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if places.size == 1:
        return fortran(_insert_at(x, places, values, axis, obj), in_fortran)
    if is_size(n) and places.dtype.kind in "iu":  # their order is found by the program
        return fortran(_insert_later(x, as_array(places), values, axis), in_fortran)
    if places.size == 0 and not isinstance(obj, (Array, np.ndarray)):
        places = places.astype(np.intp)
    places = np.where(places < 0, places + n, places)
    places[places.argsort(kind="stable")] += np.arange(len(places))
    source = np.full(n + len(places), -1, np.intp)
    source[places] = n + np.arange(len(places))
    source[source < 0] = np.arange(n)
    shape = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
    new = cast(_fitted(array(values, copy=None, dtype=x.dtype), shape), x.dtype)
    return fortran(taken(joined([x, new], axis), source, axis), in_fortran)


def _insert_at(x: Array, places: Any, values: Any, axis: int, obj: Any) -> Array:
    """Insert at one place as many elements as `values` has on the axis."""
    n, index = x.shape[axis], places.item()
    if places.dtype.kind not in "biu":
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    require_all(
        (n - index, n + index),
        lambda n: IndexError(f"index {obj} is out of bounds for axis {axis} with size {n}"),
        n,
    )
    index += n if index < 0 else 0
    values = array(values, copy=None, ndmin=x.ndim, dtype=x.dtype)
    if places.ndim == 0:  # a[:, 0, :] = ... broadcasts differently from a[:, [0], :] = ...
        values = moveaxis(values, 0, axis)
    shape = (*x.shape[:axis], values.shape[axis], *x.shape[axis + 1 :])
    new = _fitted(values, shape)
    return joined([part(x, axis, 0, index), new, part(x, axis, index, n)], axis)


def _insert_later(x: Array, places: Array, values: Any, axis: int) -> Array:
    """Insert at places that are known only when the program runs."""
    n, u = x.shape[axis], elementwise
    if places.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    values = array(values, copy=None, dtype=x.dtype)
    size = places.size
    if size == 1:  # any number of values
        values = array(values, copy=None, ndmin=x.ndim)
        values = values if places.ndim else moveaxis(values, 0, axis)
        size = values.shape[axis]
    new = _fitted(values, (*x.shape[:axis], size, *x.shape[axis + 1 :]))
    places = cast(places, np.int64)
    bad = u.logical_or(u.less(places, -n), u.greater(places, n))
    message = f"index {{}} is out of bounds for axis {axis} with size {{size}}"
    refuse(bad, IndexError, message, places, n)
    places = u.select(u.less(places, 0), u.add(places, n), places)
    places = broadcast(u.minimum(u.maximum(places, 0), n), (size,))
    order = sorting.argsort(places, axis=0)
    numbers = shaping.iota(shape=(size,), axis=0, dtype=places.dtype)
    places = indexing.put(places, numbers, order, axes=(0,), mode="add")
    none = shaping.full(-1, shape=(n + size,), dtype=places.dtype)
    source = indexing.put(none, u.add(numbers, n), places, axes=(0,), mode="set")
    old = u.less(source, 0)
    count = reduction.cumsum(u.convert(old, dtype=places.dtype), axis=0)
    source = u.select(old, u.subtract(count, 1), source)
    return taken(joined([x, new], axis), source, axis)


def _fitted(values: Array, shape: tuple[int, ...]) -> Array:
    """Broadcast as an assignment does: drop superfluous leading ones."""
    extra = values.ndim - len(shape)
    if extra > 0 and all(k == 1 for k in values.shape[:extra]):
        values = reshaped(values, values.shape[extra:])
    return broadcast(values, shape)


@by_numpy(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None, *, assume_unique_indices: bool = False) -> Array:
    """See `numpy.delete`. Computes `obj`, because it determines the shape.

    assume_unique_indices (as in JAX, not in NumPy): obj has integers without repetition, so it may
    be traced. A single traced integer works in any case.
    """
    x, axis, in_fortran = _flat_or_axis(arr, axis)
    n = x.shape[axis]
    if traced(obj) and (as_array(obj).size == 1 or assume_unique_indices):
        if as_array(obj).dtype.kind in "iu":
            return fortran(_delete_later(x, as_array(obj), axis), in_fortran)
    if is_size(n) or traced(obj) and table() is not None:
        return fortran(_deleted_of_size(x, obj, axis), in_fortran)
    keep = np.ones(operator.index(n), bool)
    if isinstance(obj, slice):
        keep[obj] = False
    else:
        keep = _kept(keep, obj, axis)
    kept = np.flatnonzero(keep)
    runs = np.flatnonzero(np.diff(kept) != 1) + 1
    if len(runs) > 2 or not len(kept):
        return fortran(taken(x, kept, axis), in_fortran)
    pieces = [part(x, axis, int(run[0]), int(run[-1]) + 1) for run in np.split(kept, runs)]
    return fortran(joined(pieces, axis), in_fortran)


def _deleted_of_size(x: Array, obj: Any, axis: int) -> Array:
    """`delete` of an axis, or at places, without a value yet."""
    n = x.shape[axis]
    index = as_array(obj) if traced(obj) else obj if isinstance(obj, slice) else static(obj)
    if not isinstance(index, (slice, Array)):
        places = np.asarray(index)
        if places.size == 1 and places.dtype.kind in "iu":
            k = places.item()
            error = f"index {k} is out of bounds for axis {axis} with size {{}}"
            require(n + k if k < 0 else n - k - 1, lambda n: IndexError(error.format(n)), n)
            index = slice(k, None if k == -1 else k + 1)
    if isinstance(index, slice) and index.step in (None, 1, -1):
        first, count, step = slice_extent(index, n)
        low = first if step == 1 else first - count + 1
        before = (*[slice(None)] * axis, slice(None, smallest(low, n)))
        after = (*[slice(None)] * axis, slice(low + count, None))
        return joined([getitem(x, before), getitem(x, after)], axis)
    keep = shaping.full(True, shape=(n,), dtype=np.dtype(bool))
    setitem(keep, index, False)
    return getitem(x, (*[slice(None)] * axis, keep))


def _delete_later(x: Array, places: Array, axis: int) -> Array:
    """Delete places that are known only when the program runs."""
    n, u = x.shape[axis], elementwise
    places = cast(places, np.int64)
    bad = u.logical_or(u.less(places, -n), u.greater_equal(places, n))
    message = f"index {{}} is out of bounds for axis {axis} with size {{size}}"
    refuse(bad, IndexError, message, places, n)
    if not n:
        return own(x)
    places = u.select(u.less(places, 0), u.add(places, n), places)
    places = reshaped(u.minimum(u.maximum(places, 0), n - 1), (places.size,))
    gone = shaping.full(False, shape=(n,), dtype=np.dtype(bool))
    gone = indexing.put(gone, True, places, axes=(0,), mode="set")
    order = sorting.argsort(gone, axis=0)
    return taken(x, part(order, 0, 0, max(n - places.size, 0)), axis)


def _kept(keep: Any, obj: Any, axis: int) -> Any:
    n = len(keep)
    with asking("what to delete, which decides the shape", "Set assume_unique_indices=True"):
        given = static(obj)
    places = np.asarray(given)
    if places.size == 0 and not isinstance(obj, (Array, np.ndarray)):
        places = places.astype(np.intp)
    if places.dtype == bool:
        if places.shape != (n,):
            raise ValueError(
                "boolean array argument obj to delete must be one dimensional and match the axis "
                f"length of {n}"
            )
        return ~places
    if places.size == 1 and places.dtype.kind in "ui":
        index = places.item()
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of bounds for axis {axis} with size {n}")
    keep[places,] = False
    return keep


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """See `numpy.trim_zeros`: a view. Computes the data, because they determine the shape."""
    x = viewable(filt)
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(x.ndim)
    if axis is not None:
        axes = np.lib.array_utils.normalize_axis_tuple(static(axis), x.ndim, "axis")
    if not len(axes):
        return filt
    if table() is not None and not knowable(x._read()):
        return getitem(x, tuple([_within(x, i, trim) if i in axes else slice(None)
                                 for i in range(x.ndim)]))  # fmt: skip
    with asking("trim_zeros, whose shape it decides", "Call it before"):
        places = np.argwhere(np.asarray(seen_value(x._read())))
    index: list[slice] = []
    for i in range(x.ndim):
        start, stop = (0, 0)
        if len(places):
            start = int(places[:, i].min()) if "f" in trim else None
            stop = int(places[:, i].max()) + 1 if "b" in trim else None
        index.append(slice(start, stop) if i in axes else slice(None))
    if len(index) == 1 and not isinstance(filt, (Array, np.ndarray)):
        return filt[index[0]]  # a list stays a list
    return sliced(x, *index)


def _within(x: Array, axis: int, trim: str) -> slice:
    """The part of an axis that begins and ends with something else than zeros."""
    others = tuple(i for i in range(x.ndim) if i != axis)
    some = reduction.reduce_or(elementwise.not_equal(plain(x), 0), axes=others)

    def zeros(some: Array) -> Any:
        """How many there are in front."""
        count = reduction.cumsum(elementwise.convert(some, dtype=_INT64), axis=0)
        none = elementwise.convert(elementwise.equal(count, 0), dtype=_INT64)
        return scalar_if_0d(reduction.reduce_sum(none, axes=(0,)))

    stop = None
    if "b" in trim:
        stop = x.shape[axis] - zeros(shaping.reverse(some, axes=(0,)))
    return slice(zeros(some) if "f" in trim else None, stop)
