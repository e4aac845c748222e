"""Set routines. Sizes of results depend on the data, so all but `isin` compute their arguments."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lazynp._array import Array, from_host, new_array
from lazynp._dimensions import count_of, note_bins
from lazynp._extents import known_empty
from lazynp._flush import host_value
from lazynp._sizes import is_size
from lazynp._values import knowable
from lazynp.functions import _distinct, indexing, manipulation, sorting, ufuncs
from lazynp.functions._checks import asking
from lazynp.functions._eager import by_numpy
from lazynp.functions._getset import getitem
from lazynp.functions._host import host_call, needs_host
from lazynp.functions._integers import flat, normalize_axis_index
from lazynp.functions._operands import as_array, cast, plain
from lazynp.functions._places import sized_places
from lazynp.functions._placing import beside
from lazynp.functions._rows import order_of_rows, starts_of_rows
from lazynp.primitives import elementwise, indexing as gathers, reduction, shaping

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip

_INT64 = np.dtype(np.int64)


class UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


# -- unique ----------------------------------------------------------------------------------------


@by_numpy(np.unique, always=True, faster=_distinct.unique, many=_distinct.MANY)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    """See `numpy.unique`. Always sorts. With an axis, NumPy runs it where the values are known.

    size (as in JAX, not in NumPy): a fixed number of elements, so that `ar` may be traced. Missing
    elements are fill_value (default: the smallest element), with a count of 0.
    """
    x = as_array(ar)
    options = (return_index, return_inverse, return_counts)
    along = axis is not None and x.ndim != 1
    if needs_host(x) or along and size is None and knowable(x._read()):
        given = ar if isinstance(ar, np.ndarray) else x  # records stay records
        return host_call(np.unique, given, *options, axis, equal_nan=equal_nan, sorted=sorted)
    if axis is not None:
        axis = normalize_axis_index(axis, x.ndim)
    size = None if size is None else operator.index(size)
    if along:
        parts = _unique_rows(x, axis, size, fill_value)
    else:
        parts = _unique(x, return_index or return_inverse, bool(equal_nan), size, fill_value)
    wanted = [manipulation.moveaxis(parts.values, 0, axis) if along else parts.values]
    if return_index:
        wanted.append(parts.first())
    if return_inverse:
        inverse = parts.inverse()
        inverse = inverse if along else shaping.reshape(inverse, shape=x.shape)
        if is_size(count := parts.values.aval.shape[0]):
            note_bins(inverse, count)
        wanted.append(inverse)
    if return_counts:
        wanted.append(parts.counts())
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


class _Unique:
    """The sorted elements (or rows), and a mask of the first of each run of equal ones."""

    def __init__(
        self, ordered: Array, order: Array | None, is_first: Any, count: Any, fill: Any
    ) -> None:
        self.order, self.is_first = order, plain(is_first)
        self.size = ordered.aval.shape[0]
        if count is None and not knowable(self.is_first._read()):
            count = count_of(self.is_first)
        if count is None:  # then the shape of the result depends on their number
            with asking("unique, whose shape it decides", "Give unique a size="):
                places = np.flatnonzero(host_value(self.is_first._read()))
            self.places = beside(new_array(from_host(places)), ordered)
            self.ends = None
            self.values = self._at_places(ordered)
            return
        self.ends = sized_places(self.is_first, count + 1)
        places = plain(getitem(self.ends, slice(0, count)))
        if is_size(count):
            self.places = places
            self.values = self._at_places(ordered)
            return
        missing = plain(ufuncs.equal(places, self.size))
        if not self.size and count:
            raise ValueError("unique: an empty array has no value to fill up with")
        self.places = plain(elementwise.select(missing, 0, places))
        values = self._at_places(ordered)
        if fill is not None:
            rows = shaping.reshape(missing, shape=(count, *[1] * (values.ndim - 1)))
            values = plain(indexing.where(rows, cast(fill, values.dtype), values))
        self.values = values

    def _at_places(self, x: Array) -> Array:
        return gathers.take(x, self.places, axes=(0,))

    def first(self) -> Array:
        assert self.order is not None
        return self._at_places(self.order)

    def inverse(self) -> Array:
        assert self.order is not None
        if known_empty(self.size):
            return self.order
        number = reduction.cumsum(plain(cast(self.is_first, _INT64)), axis=0)
        zeros = shaping.full(0, shape=(self.size,), dtype=_INT64)
        which = plain(ufuncs.subtract(number, 1))
        return gathers.put(zeros, which, self.order, axes=(0,), mode="set")

    def counts(self) -> Array:
        ends = self.ends
        if ends is None:
            places = np.append(host_value(self.places._read()), self.size)
            return beside(new_array(from_host(np.diff(places))), self.places)
        return plain(ufuncs.subtract(getitem(ends, slice(1, None)), getitem(ends, slice(None, -1))))


def _unique(
    x: Array, ordering: bool, equal_nan: bool, size: int | None = None, fill: Any = None
) -> _Unique:
    x = flat(x)
    order = sorting.argsort(x) if ordering else None
    ordered = sorting.sort(x) if order is None else gathers.take(x, order, axes=(0,))
    return _Unique(ordered, order, _starts(ordered, equal_nan), size, fill)


def _unique_rows(x: Array, axis: Any, size: int | None, fill: Any) -> _Unique:
    """The same of the subarrays along an axis. As in NumPy, a nan differs from every other."""
    x = plain(manipulation.moveaxis(x, axis, 0))
    order = order_of_rows(x)
    ordered = gathers.take(x, order, axes=(0,))
    return _Unique(ordered, order, starts_of_rows(ordered), size, fill)


def _starts(x: Array, equal_nan: bool) -> Array:
    """The elements of a sorted vector that differ from the one before."""
    if is_size(x.aval.size):
        return _starts_of_any(x, equal_nan)
    if not x.size:
        return shaping.full(False, shape=(0,), dtype=np.dtype(bool))
    differs = _differs(getitem(x, slice(1, None)), getitem(x, slice(None, -1)), equal_nan)
    one = shaping.full(True, shape=(1,), dtype=np.dtype(bool))
    return shaping.concatenate(one, plain(differs), axis=0)


def _starts_of_any(x: Array, equal_nan: bool) -> Array:
    """The same, of a vector that may be empty."""
    places = shaping.iota(shape=x.aval.shape, axis=0, dtype=_INT64)
    before = elementwise.maximum(elementwise.subtract(places, 1), 0)
    differs = _differs(x, gathers.take(plain(x), before, axes=(0,)), equal_nan)
    return ufuncs.logical_or(elementwise.equal(places, 0), differs)


def _alone_of_any(x: Array) -> Any:
    """The elements of a sorted vector, which may be empty, that differ from both beside them."""
    first, n = plain(_starts_of_any(x, False)), x.aval.size
    places = shaping.iota(shape=x.aval.shape, axis=0, dtype=_INT64)
    after = elementwise.minimum(elementwise.add(places, 1), as_array(n - 1))
    last = ufuncs.logical_or(ufuncs.equal(places, n - 1), gathers.take(first, after, axes=(0,)))
    return ufuncs.logical_and(first, last)


def _differs(after: Any, before: Any, equal_nan: bool) -> Any:
    differs = ufuncs.not_equal(after, before)
    if equal_nan and after.dtype.kind in "fc":
        both = ufuncs.logical_and(ufuncs.isnan(after), ufuncs.isnan(before))
        differs = ufuncs.logical_and(differs, ufuncs.logical_not(both))
    return differs


def unique_all(x: Any) -> Any:
    """See `numpy.unique_all`."""
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Any) -> Any:
    """See `numpy.unique_counts`."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> Any:
    """See `numpy.unique_inverse`."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Any) -> Any:
    """See `numpy.unique_values`. Sorted."""
    return unique(x, equal_nan=False)


# -- sets ------------------------------------------------------------------------------------------

F = TypeVar("F", bound=Callable[..., Any])


def _shaped_by_data(function: F) -> F:
    """Decorate a function whose result has a data-dependent shape, and which takes no size."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with asking(f"{function.__name__}, whose shape it decides", "Use a mask: isin, where"):
            return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def _joined(x: Any, y: Any) -> Array:
    """Concatenate two vectors in their common dtype."""
    a, b = flat(x), flat(y)
    dtype = np.result_type(a.dtype, b.dtype)
    return shaping.concatenate(plain(cast(a, dtype)), plain(cast(b, dtype)), axis=0)


@by_numpy(np.intersect1d, always=True, faster=_distinct.intersect1d, many=_distinct.MANY)
@_shaped_by_data
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """See `numpy.intersect1d`."""
    x, y = as_array(ar1), as_array(ar2)
    if needs_host(x, y):
        return host_call(np.intersect1d, x, y, assume_unique, return_indices)
    x, y = flat(x), flat(y)
    first_x = first_y = None
    if not assume_unique:
        if return_indices:
            x, first_x = unique(x, return_index=True)
            y, first_y = unique(y, return_index=True)
        else:
            x, y = unique(x), unique(y)
    joined = _joined(x, y)
    order = sorting.argsort(joined)
    ordered = gathers.take(joined, order, axes=(0,))
    twice = ufuncs.equal(getitem(ordered, slice(1, None)), getitem(ordered, slice(None, -1)))
    common = getitem(getitem(ordered, slice(None, -1)), twice)
    if not return_indices:
        return common
    in_x = getitem(getitem(order, slice(None, -1)), twice)
    in_y = ufuncs.subtract(getitem(getitem(order, slice(1, None)), twice), x.size)
    if first_x is not None and first_y is not None:
        in_x, in_y = indexing.take(first_x, in_x), indexing.take(first_y, in_y)
    return common, in_x, in_y


@by_numpy(np.union1d, always=True, faster=_distinct.union1d, many=_distinct.MANY)
@_shaped_by_data
def union1d(ar1: Any, ar2: Any) -> Any:
    """See `numpy.union1d`."""
    x, y = as_array(ar1), as_array(ar2)
    if needs_host(x, y):
        return host_call(np.union1d, x, y)
    return unique(_joined(x, y))


@by_numpy(np.setdiff1d, always=True, faster=_distinct.setdiff1d, many=_distinct.MANY)
@_shaped_by_data
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """See `numpy.setdiff1d`."""
    x, y = as_array(ar1), as_array(ar2)
    if needs_host(x, y):
        return host_call(np.setdiff1d, x, y, assume_unique)
    x = flat(x) if assume_unique else unique(x)
    return getitem(x, isin(x, y, invert=True))


@by_numpy(np.setxor1d, always=True, faster=_distinct.setxor1d, many=_distinct.MANY)
@_shaped_by_data
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """See `numpy.setxor1d`."""
    x, y = as_array(ar1), as_array(ar2)
    if needs_host(x, y):
        return host_call(np.setxor1d, x, y, assume_unique)
    if not assume_unique:
        x, y = unique(x), unique(y)
    joined = _joined(x, y)
    if known_empty(joined.aval.size):
        return joined
    ordered = sorting.sort(joined)
    if is_size(ordered.aval.size):
        return getitem(ordered, plain(_alone_of_any(plain(ordered))))
    one = shaping.full(True, shape=(1,), dtype=np.dtype(bool))
    differs = ufuncs.not_equal(getitem(ordered, slice(1, None)), getitem(ordered, slice(None, -1)))
    flag = shaping.concatenate(one, plain(differs), one, axis=0)
    alone = ufuncs.logical_and(getitem(flag, slice(1, None)), getitem(flag, slice(None, -1)))
    return getitem(ordered, plain(alone))


@by_numpy(np.isin, always=True)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    """See `numpy.isin`. `assume_unique` and `kind` have no effect in programs."""
    x, tests = as_array(element), as_array(test_elements)
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    if kind == "table" and not (x.dtype.kind in "biu" and tests.dtype.kind in "biu"):
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select "
            "'sort' or None for kind."
        )
    if needs_host(x, tests):
        return host_call(np.isin, x, tests, assume_unique, invert)
    found = _found(x, flat(tests))
    return plain(ufuncs.logical_not(found) if invert else found)


def _found(x: Array, tests: Array) -> Array:
    if known_empty(tests.size):
        return shaping.full(False, shape=x.shape, dtype=np.dtype(bool))
    inside = None
    dtype = np.result_type(x.dtype, tests.dtype)
    if dtype.kind == "f" and x.dtype.kind in "iu" and tests.dtype.kind in "iu":
        # int64 and uint64: floats would not distinguish large values
        inside = ufuncs.greater_equal(x, 0)
        if x.dtype.kind == "u":
            inside = ufuncs.less_equal(x, np.iinfo(np.int64).max)
        dtype = np.dtype(tests.dtype.kind + "8")
    ordered = sorting.sort(cast(tests, dtype))
    values = plain(cast(x, dtype))
    place = sorting.searchsorted(ordered, values)
    if is_size(tests.aval.size):  # there may be none
        ordered = plain(shaping.pad(plain(ordered), 0, low=(0,), high=(1,), interior=(0,)))
        equal = ufuncs.equal(gathers.take(ordered, plain(place), axes=(0,)), values)
        equal = ufuncs.logical_and(equal, ufuncs.less(place, tests.size))
    else:
        place = ufuncs.minimum(place, tests.size - 1)
        equal = ufuncs.equal(gathers.take(ordered, plain(place), axes=(0,)), values)
    return equal if inside is None else ufuncs.logical_and(equal, inside)
