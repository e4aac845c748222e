"""Medians and quantiles: elements of the sorted array, and interpolations between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lazynp._array import Array
from lazynp._dimensions import require_some
from lazynp._extents import known_empty
from lazynp._flush import host_value
from lazynp._sizes import is_size, largest
from lazynp._strides import in_order, named
from lazynp.functions import nan_reductions, reductions, ufuncs
from lazynp.functions._checks import refuse, traced
from lazynp.functions._eager import by_numpy
from lazynp.functions._fold import item, part
from lazynp.functions._host import host_into, needs_host
from lazynp.functions._operands import (
    as_array,
    broadcast,
    cast,
    check_writeable,
    plain,
    scalar_if_0d,
    store,
)
from lazynp.functions._recording import apply
from lazynp.functions._reduce import NO_VALUE, kept_shape
from lazynp.functions._weighted import spread_weights, weighted_quantile
from lazynp.primitives import elementwise, indexing, ranks, shaping, sorting

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)


# -- lanes -----------------------------------------------------------------------------------------


def _lanes(x: Array, axis: Any) -> tuple[Array, tuple[int, ...]]:
    """Merge the reduced axes to a last one. Also returns the shape of x with ones in their
    place.
    """
    if axis is None:
        return shaping.reshape(x, shape=(x.size,)), (1,) * x.ndim
    axes = normalize_axis_tuple(axis, x.ndim)
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    ones = kept_shape(x.shape, axes)
    x = shaping.transpose(x, permutation=(*kept, *axes))
    lanes = x.shape[: len(kept)]
    size = math.prod(x.shape[len(kept) :])
    return shaping.reshape(x, shape=(*lanes, size)), ones


def _can_go(x: Array, out: Any, q: Any = None) -> bool:
    """Whether NumPy can compute into `out`. It casts and broadcasts there in ways of its own."""
    if out is None or traced(x, q, out):
        return False
    check_writeable(out)
    return True


def _delivered(
    result: Any, q_ndim: int, ones: tuple[int, ...], out: Any, keepdims: Any, casting: str
) -> Any:
    result, keeps = as_array(result), keepdims is not NO_VALUE and bool(keepdims)
    if keeps:
        result = shaping.reshape(result, shape=(*result.shape[:q_ndim], *ones))
    if out is None:
        return plain(result) if keeps else scalar_if_0d(result)
    check_writeable(out)
    if out.shape != result.shape:
        raise ValueError(
            f"output array has shape {out.shape}, but the result has shape {result.shape}"
        )
    if casting == "unsafe" or result.dtype.kind == "b":
        return store(result, out, casting)
    return ufuncs.positive(result, out=out)


def _select(condition: Any, x: Any, y: Any) -> Any:
    return apply(elementwise.select, condition, x, y)


def _nan_of(dtype: np.dtype[Any]) -> Array:
    return shaping.full(np.nan, shape=(), dtype=dtype)


# -- median ----------------------------------------------------------------------------------------


@by_numpy(np.median, always=True)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """See `numpy.median`. `overwrite_input` has no effect."""
    x = as_array(a)
    if needs_host(x) or _can_go(x, out):
        return host_into(np.median, x, axis, out=out, keepdims=keepdims)
    rows, ones = _lanes(x, axis)
    if is_size(rows.shape[-1]):
        rows = _never_empty(rows)
    last, n = rows.ndim - 1, rows.shape[-1]
    if known_empty(n):
        return _delivered(reductions.mean(rows, last), 0, ones, out, keepdims, "unsafe")
    low, high = (n - 1) // 2, n // 2
    if type(n) is int:
        wanted = ranks.ranked(rows, ranks=(*range(low, high + 1), n - 1))
        middle, end = part(wanted, last, 0, high + 1 - low), item(wanted, last, high + 1 - low)
    else:
        ordered = sorting.sort(rows, axis=last)
        middle, end = part(ordered, last, low, high + 1), item(ordered, last, n - 1)
    result = reductions.mean(middle, last)
    if rows.dtype.kind in "fc":
        result = _select(ufuncs.isnan(end), end, result)
    return _delivered(result, 0, ones, out, keepdims, "unsafe")


def _never_empty(rows: Array) -> Array:
    """Rows of a length that has no value yet, with one nan if they turn out to be empty."""
    rows = rows if rows.dtype.kind in "fc" else cast(rows, np.float64)
    missing = largest(1 - rows.shape[-1], 0)
    nans = shaping.full(np.nan, shape=(*rows.shape[:-1], missing), dtype=rows.dtype)
    return shaping.concatenate(rows, nans, axis=rows.ndim - 1)


@by_numpy(np.nanmedian, always=True)
def nanmedian(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: Any = NO_VALUE,
) -> Any:
    """See `numpy.nanmedian`. `overwrite_input` has no effect."""
    x = as_array(a)
    keepdims = keepdims is not NO_VALUE and keepdims
    if known_empty(x.size):
        return nan_reductions.nanmean(x, axis, out=out, keepdims=keepdims)
    if needs_host(x) or _can_go(x, out):
        return host_into(np.nanmedian, x, axis, out=out, keepdims=keepdims)
    if x.dtype.kind not in "fc":
        return median(x, axis, out, keepdims=keepdims)
    rows, ones = _lanes(x, axis)
    if is_size(rows.shape[-1]):
        rows = _never_empty(rows)
    ordered, count = _ordered(rows)
    below = _pick(ordered, ufuncs.maximum(ufuncs.floor_divide(ufuncs.subtract(count, 1), 2), 0))
    above = _pick(ordered, ufuncs.minimum(ufuncs.floor_divide(count, 2), rows.shape[-1] - 1))
    wide = np.dtype(np.float32) if x.dtype == np.float16 else x.dtype
    mean = ufuncs.divide(ufuncs.add(cast(below, wide), cast(above, wide)), 2)
    odd = ufuncs.equal(ufuncs.remainder(count, 2), 1)
    result = _select(odd, below, cast(mean, x.dtype))
    result = _select(ufuncs.equal(count, 0), _nan_of(x.dtype), result)
    return _delivered(result, 0, ones, out, keepdims, "unsafe")


def _ordered(rows: Array) -> tuple[Array, Array]:
    """Sorted rows, with nan last, and the count of numbers in each row."""
    last = rows.ndim - 1
    valid = elementwise.logical_not(elementwise.isnan(rows))
    return sorting.sort(rows, axis=last), as_array(reductions.sum(valid, last))


def _pick(rows: Array, index: Any) -> Array:
    """One element of each row (the last axis): at `index`, of shape (*q, *lanes)."""
    lanes = rows.shape[:-1]
    index = cast(index, _INT64)
    lead = index.ndim - len(lanes)
    places = [
        shaping.iota(shape=index.shape, axis=lead + k, dtype=_INT64) for k in range(len(lanes))
    ]
    return indexing.take(rows, *places, index, axes=tuple(range(rows.ndim)))


# -- quantiles -------------------------------------------------------------------------------------
# A method maps a quantile to a position in the sorted sample of n, possibly between two places, and
# to the weight of the next place. None: no interpolation.

Position = Callable[[Any, Any], Any]
Gamma = Callable[[Any, Any], Any] | None


def _between(alpha: float, beta: float) -> Position:
    """Hyndman and Fan, Sample Quantiles in Statistical Packages (1996)."""

    def position(n: Any, q: Any) -> Any:
        u = ufuncs
        shift = u.add(alpha, u.multiply(q, 1 - alpha - beta))
        return u.subtract(u.add(u.multiply(n, q), shift), 1)

    return position


def _last_times(n: Any, q: Any) -> Any:
    return ufuncs.multiply(n - 1 if isinstance(n, int) else ufuncs.subtract(n, 1), q)


def _at(rounding: Any) -> Position:
    return lambda n, q: cast(rounding(_last_times(n, q)), _INT64)


def _to_bound(offset: float, stay: Callable[[Any, Any], Any]) -> Position:
    """Take the place itself where `stay`, else the next."""

    def position(n: Any, q: Any) -> Any:
        u = ufuncs
        index = u.subtract(u.multiply(n, q), 1)
        index = u.subtract(index, offset) if offset else index
        floor = u.floor(index)
        place = _select(stay(u.subtract(index, floor), floor), floor, u.add(floor, 1))
        return u.maximum(cast(place, _INT64), 0)

    return position


def _midpoint(n: Any, q: Any) -> Any:
    place = _last_times(n, q)
    return ufuncs.multiply(0.5, ufuncs.add(ufuncs.floor(place), ufuncs.ceil(place)))


def _stay(gamma: Any, floor: Any) -> Any:
    return ufuncs.equal(gamma, 0)


def _stay_if_odd(gamma: Any, floor: Any) -> Any:
    odd = ufuncs.equal(ufuncs.remainder(floor, 2), 1)
    return ufuncs.logical_and(ufuncs.equal(gamma, 0), odd)


def _as_is(gamma: Any, index: Any) -> Any:
    return gamma


def _constant(value: float, special: float, when: Callable[[Any, Any], Any]) -> Gamma:
    def gamma_of(gamma: Any, index: Any) -> Any:
        dtype = as_array(gamma).dtype
        return _select(when(gamma, index), cast(special, dtype), cast(value, dtype))

    return gamma_of


def _is_whole(gamma: Any, index: Any) -> Any:
    return ufuncs.equal(ufuncs.remainder(index, 1), 0)


METHODS: dict[str, tuple[Position, Gamma]] = {
    "inverted_cdf": (_to_bound(0, _stay), None),
    "averaged_inverted_cdf": (
        lambda n, q: ufuncs.subtract(ufuncs.multiply(n, q), 1),
        _constant(1.0, 0.5, _stay),
    ),
    "closest_observation": (_to_bound(0.5, _stay_if_odd), None),
    "interpolated_inverted_cdf": (_between(0, 1), _as_is),
    "hazen": (_between(0.5, 0.5), _as_is),
    "weibull": (_between(0, 0), _as_is),
    "linear": (_last_times, _as_is),
    "median_unbiased": (_between(1 / 3.0, 1 / 3.0), _as_is),
    "normal_unbiased": (_between(3 / 8.0, 3 / 8.0), _as_is),
    "lower": (_at(ufuncs.floor), None),
    "higher": (_at(ufuncs.ceil), None),
    "midpoint": (_midpoint, _constant(0.5, 0.0, _is_whole)),
    "nearest": (_at(ufuncs.rint), None),
}


def _checked(a: Any, q: Any, percent: bool) -> tuple[Array, Any, bool]:
    """The data, the quantiles (an Array if traced), and whether they are a weak scalar. Computes
    the quantiles, because NumPy refuses those out of range.
    """
    x = as_array(a)
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    weak = type(q) in (int, float)
    message = f"{'Percentiles' if percent else 'Quantiles'} must be in the range "
    message += "[0, 100]" if percent else "[0, 1]"
    if traced(q):
        weak = as_array(q).aval.weak  # a traced Python number
        q = as_array(ufuncs.divide(q, 100)) if percent else as_array(q)
        inside = ufuncs.logical_and(ufuncs.greater_equal(q, 0), ufuncs.less_equal(q, 1))
        refuse(ufuncs.logical_not(inside), ValueError, message)
        return x, q, weak
    values = np.asarray(host_value(q._read()) if isinstance(q, Array) else q)
    if percent:
        values = np.true_divide(values, 100, out=...)  # type: ignore[call-overload]
    if not bool(np.all((values >= 0) & (values <= 1))):
        raise ValueError(message)
    return x, values, weak


def _check_method(method: str, q: Any) -> None:
    if q.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    if method not in METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {METHODS.keys()}")


def _quantile(
    x: Array, q: Any, weak: bool, axis: Any, method: str, skip_nan: bool
) -> tuple[Array, tuple[int, ...]]:
    """The quantiles (*q, *lanes), and the shape of x with ones for the reduced axes."""
    _check_method(method, q)
    rows, ones = _lanes(x, axis)
    n = rows.shape[-1]
    none = IndexError("index -1 is out of bounds for axis 0 with size 0")
    if known_empty(n):
        raise none
    if skip_nan and is_size(n):  # without numbers, the result is nan
        rows = _never_empty(rows)
    else:
        require_some(n, none)
    lanes = rows.shape[:-1]
    # a single q stays 0-d, so that values computed from it alone are computed now, on the host
    q_column = as_array(q)
    if q.ndim:
        q_column = shaping.reshape(q_column, shape=q.shape + (1,) * len(lanes))
    if skip_nan:
        ordered, count = _ordered(rows)
        size: Any = count if q.dtype.kind in "iub" else cast(count, q.dtype)
        last: Any = ufuncs.maximum(ufuncs.subtract(count, 1), 0)
    else:
        ordered, size, last = sorting.sort(rows, axis=rows.ndim - 1), n, n - 1
    position, fix_gamma = METHODS[method]
    index = as_array(position(size, q_column))
    if index.dtype.kind in "iu" and weak and fix_gamma is not None and method != "linear":
        index = cast(index, _FLOAT64)
    if index.dtype.kind in "iu":
        result = _pick(ordered, _spread(_clamped(index, last), lanes))
    else:
        result = _interpolated(ordered, index, last, fix_gamma, weak)
    return _with_nan(ordered, as_array(result), count if skip_nan else None), ones


def _clamped(index: Any, last: Any) -> Any:
    return ufuncs.minimum(ufuncs.maximum(index, 0), last)


def _spread(index: Any, lanes: tuple[int, ...]) -> Array:
    """Broadcast the index, of shape (*q, *lanes or *ones), to every lane."""
    index = as_array(index)
    lead = index.shape[: max(index.ndim - len(lanes), 0)]
    return broadcast(index, (*lead, *lanes))


def _interpolated(ordered: Array, index: Array, last: Any, fix_gamma: Gamma, weak: bool) -> Any:
    u, lanes = ufuncs, ordered.shape[:-1]
    floor = u.floor(index)
    places = cast(floor, _INT64)
    above, below = u.greater_equal(index, last), u.less(index, 0)
    low = _select(above, last, _clamped(places, last))
    high = _select(above, last, _select(below, 0, _clamped(u.add(places, 1), last)))
    # NumPy counts the place beyond the end as -1, and measures the distance from there
    gap = u.subtract(index, _select(above, cast(-1, index.dtype), _select(below, 0.0, floor)))
    assert fix_gamma is not None
    gamma = as_array(fix_gamma(cast(gap, index.dtype), index))
    if weak and ordered.dtype.kind == "f":
        gamma = cast(gamma, ordered.dtype)
    return _lerp(_pick(ordered, _spread(low, lanes)), _pick(ordered, _spread(high, lanes)), gamma)


def _lerp(a: Any, b: Any, t: Any) -> Any:
    """Interpolate from a to b; exact at both ends."""
    u = ufuncs
    step = u.subtract(b, a)
    from_a = u.add(a, u.multiply(step, t))
    from_b = u.subtract(b, u.multiply(step, u.subtract(1, t)))
    return _select(u.greater_equal(t, 0.5), from_b, from_a)


def _with_nan(ordered: Array, result: Array, count: Array | None) -> Array:
    """Return nan for lanes that contain one; when skipping nan, for lanes that contain nothing
    else.
    """
    if ordered.dtype.kind != "f":
        return result
    if count is not None:
        nothing = _nan_of(result.dtype)
        return as_array(_select(ufuncs.equal(count, 0), nothing, result))
    end = item(ordered, ordered.ndim - 1, ordered.shape[-1] - 1)
    return as_array(_select(ufuncs.isnan(end), cast(end, result.dtype), result))


def _public(
    name: str,
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    method: str,
    keepdims: Any,
    weights: Any,
) -> Any:
    percent, skip_nan = name.endswith("percentile"), name.startswith("nan")
    keepdims = keepdims is not NO_VALUE and keepdims
    x, values, weak = _checked(a, q, percent)
    if weights is not None and traced(x, q, weights):
        w, _ = _lanes(spread_weights(weights, x, axis, method), axis)
        rows, ones = _lanes(x, axis)
        result = weighted_quantile(rows, w, as_array(values), skip_nan)
        return _delivered(result, values.ndim, ones, out, keepdims, "same_kind")
    if weights is not None or needs_host(x) or _can_go(x, out, q):  # weighted quantiles are NumPy's
        return host_into(
            getattr(np, name),
            x, q, axis, out=out, method=method, keepdims=keepdims, weights=weights,
        )  # fmt: skip
    if skip_nan and known_empty(x.size):
        return nan_reductions.nanmean(x, axis, out=out, keepdims=keepdims)
    skipped = skip_nan and x.dtype.kind == "f"
    result, ones = _quantile(x, values, weak, axis, method, skipped)
    by_lane = skip_nan and out is None and axis is not None and result.ndim > values.ndim
    result = _delivered(result, values.ndim, ones, out, keepdims, "same_kind")
    if by_lane and values.ndim:  # NumPy goes from lane to lane, and then turns the result
        axes = range(result.ndim)
        result = in_order(result, named((*axes[values.ndim :], *axes[: values.ndim])))
    return result


@by_numpy(np.quantile, always=True)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """See `numpy.quantile`. `overwrite_input` has no effect."""
    return _public("quantile", a, q, axis, out, method, keepdims, weights)


@by_numpy(np.percentile, always=True)
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """See `numpy.percentile`. `overwrite_input` has no effect."""
    return _public("percentile", a, q, axis, out, method, keepdims, weights)


@by_numpy(np.nanquantile, always=True)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NO_VALUE,
    *,
    weights: Any = None,
) -> Any:
    """See `numpy.nanquantile`. `overwrite_input` has no effect."""
    return _public("nanquantile", a, q, axis, out, method, keepdims, weights)


@by_numpy(np.nanpercentile, always=True)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NO_VALUE,
    *,
    weights: Any = None,
) -> Any:
    """See `numpy.nanpercentile`. `overwrite_input` has no effect."""
    return _public("nanpercentile", a, q, axis, out, method, keepdims, weights)
