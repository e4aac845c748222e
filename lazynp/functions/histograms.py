"""Count in bins: bincount, digitize, histograms.

NumPy computes the edges of bins on the host: they depend only on the dtype and the extreme values
(or, for bins named by a string, on all data). Counting is native. In a traced function, the edges
are native too.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._dimensions import bins_of, length_of, note_bins
from lazynp._errstate import warn
from lazynp._extents import known_empty, known_negative
from lazynp._flush import host_value
from lazynp._sizes import Size, largest
from lazynp.functions import reductions, ufuncs
from lazynp.functions._arguments import as_size
from lazynp.functions._checks import asking, refuse, traced
from lazynp.functions._eager import by_numpy
from lazynp.functions._fold import item, part
from lazynp.functions._host import host_call, needs_host, to_host
from lazynp.functions._operands import as_array, cast
from lazynp.functions._recording import apply
from lazynp.functions.creation import linspace
from lazynp.functions.differences import diff, flat
from lazynp.primitives import elementwise, indexing, reduction, shaping, sorting

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)
NDArray = np.ndarray[Any, Any]


def _add_up(places: Array, weights: Any, size: int) -> Array:
    """The sum of the weights (or a count) for each place, 0 <= place < size."""
    if weights is None:
        weights = shaping.full(1, shape=places.shape, dtype=_INT64)
    zeros = shaping.full(0, shape=(size,), dtype=weights.dtype)
    if known_empty(places.size) or known_empty(size):
        return zeros
    return indexing.put(zeros, weights, places, axes=(0,), mode="add")


def _select(condition: Any, x: Any, y: Any) -> Any:
    return apply(elementwise.select, condition, x, y)


# -- bincount, digitize ----------------------------------------------------------------------------


@by_numpy(np.bincount, always=True)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0, *, length: Any = None) -> Any:
    """See `numpy.bincount`. Computes the data, because they determine the length of the result.

    length (as in JAX, not in NumPy): a fixed length of the result; larger numbers are not counted.
    A traced function must give it.
    """
    places = as_array(x)
    fits = places.dtype.kind in "iub" and places.ndim == 1
    minlength = minlength if minlength is None else as_size(minlength)
    if not fits or minlength is None or known_negative(minlength) or needs_host(places):
        return host_call(np.bincount, x, weights, minlength)
    if weights is not None:
        weights = as_array(weights)
        if weights.ndim != 1 or weights.size != places.size or weights.dtype.kind not in "biuf":
            return host_call(np.bincount, x, weights, minlength)  # raises
        weights = cast(weights, _FLOAT64)
    if length is not None:
        return _of_length(cast(places, _INT64), weights, operator.index(length))
    if traced(places) and (found := _counted_length(places, minlength)) is not None:
        refuse(ufuncs.less(places, 0), ValueError, _NEGATIVE)
        return _add_up(cast(places, _INT64), weights, found)
    size = minlength
    if places.size:
        with asking("bincount, whose length it decides", "Give it a length="):
            low, high = (host_value(f(places)._read()) for f in (reductions.min, reductions.max))
        if low < 0:
            raise ValueError(_NEGATIVE)
        size = largest(size, int(high) + 1)
    return _add_up(cast(places, _INT64), weights, size)


def _counted_length(places: Array, least: int) -> Any:
    """The length that these numbers decide, as a size; None where it may not be one."""
    found = bins_of(places)
    if found is None:
        last = length_of(reductions.max(cast(places, _INT64), initial=-1))
        found = None if last is None else note_bins(places, last + 1)
    return None if found is None else largest(found, least)


_NEGATIVE = "'list' argument must have no negative elements"


def _of_length(places: Array, weights: Any, length: int) -> Array:
    refuse(ufuncs.less(places, 0), ValueError, _NEGATIVE)
    counts = _add_up(ufuncs.minimum(places, length), weights, length + 1)
    return part(counts, 0, 0, length)


@by_numpy(np.digitize, always=True)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """See `numpy.digitize`. Computes the bins, because they must be monotonic."""
    x, bins = as_array(x), as_array(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if needs_host(x, bins) or bins.ndim != 1:
        return host_call(np.digitize, x, bins, right)
    dtype = np.result_type(x.dtype, bins.dtype)
    if traced(bins):
        return _digitized_later(cast(x, dtype), cast(bins, dtype), right)
    known = np.asarray(host_value(bins._read()))
    if known.dtype.kind == "f" and np.isnan(known).any() and not traced(x):
        return host_call(np.digitize, x, bins, right)  # finds in what is not sorted, in its way
    rising = bool(np.all(known[:-1] <= known[1:]))
    if not rising and not np.all(known[:-1] >= known[1:]):
        np.digitize(np.empty(0, known.dtype), known)  # what is next to nan may be monotonic
        rising = not np.any(known[:-1] > known[1:])
    return _digitized(cast(x, dtype), cast(bins, dtype), right, rising)


_NOT_MONOTONIC = "bins must be monotonically increasing or decreasing"


def _digitized(x: Array, bins: Array, right: bool, rising: bool) -> Any:
    if not rising:
        bins = shaping.reverse(bins, axes=(0,))
    found: Any = sorting.searchsorted(bins, x, side="left" if right else "right")
    return ufuncs.add(found, 0) if rising else ufuncs.subtract(bins.size, found)


def _digitized_later(x: Array, bins: Array, right: bool) -> Any:
    """For bins whose direction is known only when the program runs."""
    before, after = part(bins, 0, 0, -1), part(bins, 0, 1, bins.size)
    falls = reductions.any(ufuncs.greater(before, after))
    rises = reductions.any(ufuncs.less(before, after))
    refuse(ufuncs.logical_and(rises, falls), ValueError, _NOT_MONOTONIC)
    rising = ufuncs.logical_not(falls)
    return _select(rising, *(_digitized(x, bins, right, way) for way in (True, False)))


# -- one dimension ---------------------------------------------------------------------------------


def _data(a: Any, weights: Any) -> tuple[Array, Array | None]:
    x = as_array(a)
    if x.dtype.kind == "b":
        warn(f"Converting input from {x.dtype} to {np.uint8} for compatibility.")
        x = cast(x, np.uint8)
    if weights is None:
        return flat(x), None
    weights = as_array(weights)
    if weights.shape != x.shape:
        raise ValueError("weights should have the same shape as a.")
    return flat(x), flat(weights)


def _extremes(x: Array) -> NDArray:
    """The smallest and the largest value, on the host; empty for no data."""
    if x.size == 0:
        return np.empty(0, x.dtype)
    both = [to_host(f(x)) for f in (reductions.min, reductions.max)]
    return np.array(both, x.dtype)


def _edges(x: Array, bins: Any, range: Any, weights: Any) -> tuple[Any, Any]:
    """NumPy's edges; also (first, last) if the bins have equal widths."""
    if np.ndim(bins) and traced(bins):
        edges = as_array(bins)
        _refuse_falling(edges, "`bins` must increase monotonically, when an array")
        return edges, None
    if (
        np.ndim(bins) == 0
        and not isinstance(bins, str)
        and (traced(range) or range is None and traced(x))
    ):
        return _even_edges_later(x, operator.index(to_host(bins)), range)
    bins, range = to_host(bins), to_host(range)
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        with asking("the number of bins, which depends on all of it", "Give histogram a number"):
            known = np.asarray(host_value(x._read()))
    elif range is not None or np.ndim(bins) != 0:
        known = np.empty(0, x.dtype)
    else:
        known = _extremes(x)
    edges = np.histogram_bin_edges(known, bins, range)
    if np.ndim(bins) != 0:
        return edges, None
    if range is not None:
        first, last = range
    elif known.size == 0:
        first, last = 0, 1
    else:
        first, last = known.min(), known.max()
    if first == last:
        first, last = first - 0.5, last + 0.5
    return edges, (first, last)


def _refuse_falling(edges: Array, message: str) -> None:
    n = edges.size
    refuse(ufuncs.greater(part(edges, 0, 0, n - 1), part(edges, 0, 1, n)), ValueError, message)


def _or_zero_and_one(x: Array) -> Array:
    """The elements, and 0 and 1 if there turn out to be none."""
    missing = largest(1 - x.size, 0)
    ends = [shaping.full(k, shape=(missing,), dtype=x.dtype) for k in (0, 1)]
    return shaping.concatenate(shaping.reshape(x, shape=(x.size,)), *ends, axis=0)


def _even_edges_later(x: Array, bins: int, range: Any) -> tuple[Array, Any]:
    """The same edges for traced data or a traced range; errors are raised later."""
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    if range is not None:
        first, last = map(as_array, range)
        message = "max must be larger than min in range parameter."
        refuse(ufuncs.greater(first, last), ValueError, message)
    elif known_empty(x.size):
        first, last = as_array(0), as_array(1)
    else:
        some = _or_zero_and_one(x) if type(x.size) is Size else x
        first, last = as_array(reductions.min(some)), as_array(reductions.max(some))
    which = "autodetected" if range is None else "supplied"
    finite = ufuncs.logical_and(ufuncs.isfinite(first), ufuncs.isfinite(last))
    refuse(ufuncs.logical_not(finite), ValueError, f"{which} range is not finite")
    wide = np.result_type(first.dtype, last.dtype, x.dtype)
    wide = wide if wide.kind in "fc" else _FLOAT64
    half = _select(ufuncs.equal(first, last), 0.5, 0.0)
    first = cast(ufuncs.subtract(first, half), wide)
    last = cast(ufuncs.add(last, half), wide)
    return linspace(first, last, bins + 1, dtype=wide), (first, last)


@by_numpy(np.histogram_bin_edges, always=True)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """See `numpy.histogram_bin_edges`. Computes the range of the data, if not given."""
    x, weights = _data(a, weights)
    return as_array(_edges(x, bins, range, weights)[0])


@by_numpy(np.histogram, always=True)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """See `numpy.histogram`. Computes the range of the data, if not given."""
    x, weights = _data(a, weights)
    if needs_host(x) or weights is not None and needs_host(weights):
        return host_call(np.histogram, x, bins, range, density, weights)
    edges, ends = _edges(x, bins, range, weights)
    if ends is None:
        counts = _in_uneven_bins(x, edges, weights)
    else:
        counts = _in_even_bins(x, edges, ends, weights)
    bin_edges = as_array(edges)
    if density:
        widths = cast(diff(bin_edges), _FLOAT64)
        counts = ufuncs.divide(ufuncs.divide(counts, widths), reductions.sum(counts))
    return counts, bin_edges


def _width(first: Any, last: Any) -> Any:
    """last - first, without overflow for integers."""
    if isinstance(first, (int, np.integer)) and isinstance(last, (int, np.integer)):
        return float(int(last) - int(first))
    return ufuncs.subtract(last, first) if traced(first, last) else np.subtract(last, first)


def _in_even_bins(x: Array, edges: Any, ends: Any, weights: Array | None) -> Array:
    """Find bins by multiplication, then correct them by the edges, as NumPy does."""
    u, n = ufuncs, edges.shape[0] - 1
    kinds = (int, float, Array)
    first, last = (e if isinstance(e, kinds) else np.asarray(e)[()] for e in ends)
    keep = u.logical_and(u.greater_equal(x, first), u.less_equal(x, last))
    x = cast(x, edges.dtype)
    lowest = item(edges, 0, 0) if isinstance(edges, Array) else edges[0]
    x = as_array(_select(keep, x, cast(lowest, edges.dtype)))
    scaled = u.multiply(u.divide(u.subtract(x, first), _width(first, last)), n)
    places = cast(scaled, _INT64)
    places = u.subtract(places, u.equal(places, n))
    limits = as_array(edges)
    lower = indexing.take(limits, places, axes=(0,))
    places = u.subtract(places, u.less(x, lower))
    upper = indexing.take(limits, u.add(places, 1), axes=(0,))
    beyond = u.logical_and(u.greater_equal(x, upper), u.not_equal(places, n - 1))
    places = u.add(places, beyond)
    places = _select(keep, places, n)  # one more bin, for values outside
    return part(_weighed(as_array(places), weights, n + 1), 0, 0, n)


def _weighed(places: Array, weights: Array | None, size: int) -> Array:
    """Sum weights in float64, and return the sums in the dtype of the weights."""
    if weights is None:
        return _add_up(places, None, size)
    if weights.dtype.kind == "c":
        parts = (
            _add_up(places, cast(p(weights), _FLOAT64), size)
            for p in (elementwise.real, elementwise.imag)
        )
        return cast(elementwise.complex_(*parts), weights.dtype)
    return cast(_add_up(places, cast(weights, _FLOAT64), size), weights.dtype)


def _in_uneven_bins(x: Array, edges: Any, weights: Array | None) -> Array:
    """The number of sorted values below each edge."""
    dtype = np.result_type(x.dtype, edges.dtype)
    x, limits = cast(x, dtype), cast(as_array(edges), dtype)
    n = limits.size
    if weights is None:
        ordered, sums = sorting.sort(x, axis=0), None
    else:
        order = sorting.argsort(x, axis=0)
        ordered = indexing.take(x, order, axes=(0,))
        zero = shaping.full(0, shape=(1,), dtype=weights.dtype)
        running = reduction.cumsum(indexing.take(weights, order, axes=(0,)), axis=0)
        sums = shaping.concatenate(zero, running, axis=0)
    below = shaping.concatenate(
        sorting.searchsorted(ordered, part(limits, 0, 0, n - 1), side="left"),
        sorting.searchsorted(ordered, part(limits, 0, n - 1, n), side="right"),
        axis=0,
    )
    return diff(below if sums is None else indexing.take(sums, below, axes=(0,)))


# -- several dimensions ----------------------------------------------------------------------------


@by_numpy(np.histogramdd, always=True)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """See `numpy.histogramdd`. Computes the range of the data, if not given."""
    columns = _columns(sample)
    dims = len(columns)
    try:
        if len(bins) != dims:
            raise ValueError(
                "The dimension of bins must be equal to the dimension of the sample x."
            )
    except TypeError:
        bins = dims * [bins]
    range = (None,) * dims if range is None else range
    if len(range) != dims:
        raise ValueError("range argument must have one entry per dimension")
    if needs_host(*columns):
        return host_call(np.histogramdd, sample, bins, range, density, weights)
    edges = [
        _edges_of(i, x, b, r) for i, (x, b, r) in enumerate(zip(columns, bins, range, strict=True))
    ]
    shape = tuple(e.shape[0] + 1 for e in edges)
    places: Any = 0
    for x, limits, size in zip(columns, edges, shape, strict=True):
        places = ufuncs.add(ufuncs.multiply(places, size), _place(x, limits))
    if weights is not None:
        weights = _float_weights(weights, columns[0].size)
    counts = cast(_add_up(cast(places, _INT64), weights, int(np.prod(shape))), _FLOAT64)
    counts = shaping.reshape(counts, shape=shape)
    for axis, size in enumerate(shape):
        counts = part(counts, axis, 1, size - 1)
    if density:
        counts = _density(counts, edges)
    return counts, [as_array(e) for e in edges]


def _columns(sample: Any) -> list[Array]:
    """The coordinates, each a 1-d array. `sample`: (N, D), or a sequence of D arrays."""
    if isinstance(sample, (Array, np.ndarray)) and sample.ndim == 2:
        table = as_array(sample)
        return [item(table, 1, i) for i in builtins.range(table.shape[1])]
    if isinstance(sample, (list, tuple)):
        rows = [as_array(s) for s in sample]
        if rows and all(r.ndim == 1 and r.size == rows[0].size for r in rows):
            dtype = np.result_type(*[r.dtype for r in rows])
            return [cast(r, dtype) for r in rows]
    table = as_array(sample)
    if table.ndim < 2:
        return [flat(table)]
    table = shaping.transpose(table, permutation=tuple(reversed(builtins.range(table.ndim))))
    if table.ndim > 2:
        raise ValueError("too many values to unpack (expected 2)")
    return [item(table, 1, i) for i in builtins.range(table.shape[1])]


def _edges_of(i: int, x: Array, bins: Any, range: Any) -> Any:
    """NumPy's edges in one dimension, for the extremes of the data."""
    if np.ndim(bins) == 1 and traced(bins):
        edges = as_array(bins)
        _refuse_falling(edges, f"`bins[{i}]` must be monotonically increasing, when an array")
        return edges
    if np.ndim(bins) == 0 and (traced(range) or range is None and traced(x)):
        count = operator.index(to_host(bins))
        if count < 1:
            raise ValueError(f"`bins[{i}]` must be positive, when an integer")
        return _even_edges_later(x, count, range)[0]
    bins, range = to_host(bins), to_host(range)
    if np.ndim(bins) == 0:
        if bins < 1:
            raise ValueError(f"`bins[{i}]` must be positive, when an integer")
        known = _extremes(x) if range is None else np.empty(0, x.dtype)
    elif np.ndim(bins) == 1:
        known = np.empty(0, x.dtype)
        bins = np.asarray(bins)
        if np.any(bins[:-1] > bins[1:]):
            raise ValueError(f"`bins[{i}]` must be monotonically increasing, when an array")
    else:
        raise ValueError(f"`bins[{i}]` must be a scalar or 1d array")
    ranges = None if range is None else [range]
    return np.histogramdd(known.reshape(-1, 1), [bins], ranges)[1][0]


def _place(x: Array, edges: Any) -> Any:
    """0 below the first edge, len(edges) above the last; the last edge belongs to the last bin."""
    dtype = np.result_type(x.dtype, edges.dtype)
    x, limits = cast(x, dtype), cast(as_array(edges), dtype)
    found = sorting.searchsorted(limits, x, side="right")
    last = item(limits, 0, limits.size - 1)
    return ufuncs.subtract(found, ufuncs.equal(x, last))


def _float_weights(weights: Any, size: int) -> Array:
    weights = as_array(weights)
    if weights.ndim != 1 or weights.size != size:
        raise ValueError("The weights and list don't have the same length.")
    if weights.dtype.kind not in "biuf":
        raise TypeError(
            f"Cannot cast array data from {weights.dtype!r} to dtype('float64') according to the "
            "rule 'safe'"
        )
    return cast(weights, _FLOAT64)


def _density(counts: Array, edges: list[Any]) -> Array:
    total = reductions.sum(counts)
    for axis, limits in enumerate(edges):
        shape = tuple(-1 if i == axis else 1 for i in builtins.range(len(edges)))
        counts = ufuncs.divide(counts, as_array(diff(limits)).reshape(shape))
    return ufuncs.divide(counts, total)


@by_numpy(np.histogram2d, always=True)
def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    """See `numpy.histogram2d`. Computes the range of the data, if not given."""
    x, y = as_array(x), as_array(y)
    if x.shape[:1] != y.shape[:1]:
        raise ValueError("x and y must have the same length.")
    try:
        count = len(bins)
    except TypeError:
        count = 1
    if count not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]
