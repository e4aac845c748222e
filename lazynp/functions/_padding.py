"""pad, in all of NumPy's modes, axis by axis; a later axis also pads the padding of earlier
ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import SCALAR_DTYPES, on_device
from lazynp._dimensions import require, require_all, scalar_of, table
from lazynp._extents import known_empty, surely
from lazynp._sizes import Size, is_size, largest, smallest
from lazynp.functions import ufuncs
from lazynp.functions._arguments import (
    as_size,
    converted,
    fortran,
    is_fortran,
    joined,
    own,
    part,
    reshaped,
    static,
    taken,
    viewable,
    zero,
)
from lazynp.functions._assigned import assigned_scalar
from lazynp.functions._construct import asarray
from lazynp.functions._eager import by_numpy
from lazynp.functions._getset import getitem
from lazynp.functions._host import host_call
from lazynp.functions._nested import holds_lazy
from lazynp.functions._operands import as_array, broadcast, cast, plain
from lazynp.functions._ranges import linspace
from lazynp.functions._recording import apply
from lazynp.functions._shapes import moveaxis
from lazynp.primitives import elementwise, reduction, shaping, sorting

Pair = tuple[Any, Any]
Widths = tuple[int, int]

_ALLOWED = {
    "empty": [], "edge": [], "wrap": [],
    "constant": ["constant_values"],
    "linear_ramp": ["end_values"],
    "maximum": ["stat_length"], "mean": ["stat_length"],
    "median": ["stat_length"], "minimum": ["stat_length"],
    "reflect": ["reflect_type"], "symmetric": ["reflect_type"],
}  # fmt: skip


@by_numpy(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """See `numpy.pad`. `mode="empty"` pads with zeros."""
    x = viewable(array)
    if not on_device(x.dtype) and not callable(mode):
        return host_call(np.pad, x, pad_width, mode, **kwargs)
    widths = _widths(pad_width, x.ndim)
    if callable(mode):
        return _by_function(_constant(x, widths, ((0, 0),) * x.ndim), widths, mode, kwargs)
    _check_keywords(mode, kwargs)
    if mode == "empty":
        out = _constant(x, widths, ((0, 0),) * x.ndim)
    elif mode == "constant":
        out = _constant(x, widths, _values(kwargs.get("constant_values", 0), x.ndim))
    else:
        _check_empty(x, widths)
        out = _one_by_one(x, widths, _PADDERS[mode](x, kwargs))
    return fortran(own(out), is_fortran(x))


def _check_keywords(mode: Any, kwargs: dict[str, Any]) -> None:
    if mode not in _ALLOWED:
        raise ValueError(f"mode '{mode}' is not supported")
    unsupported = set(kwargs) - set(_ALLOWED[mode])
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")


def _check_empty(x: Array, widths: tuple[Widths, ...]) -> None:
    for axis, pair in enumerate(widths):
        error = ValueError(
            f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
        )
        for n in pair:
            require_all((x.shape[axis] - smallest(n, 1),), lambda _, error=error: error, None)


def _one_by_one(x: Array, widths: tuple[Widths, ...], padder: Callable[..., Array]) -> Array:
    if known_empty(x.size):  # there are no values to copy, and empty axes get no padding
        return _constant(x, widths, ((0, 0),) * x.ndim)
    for axis, pair in enumerate(widths):
        if not all(map(known_empty, pair)):
            x = padder(x, axis, *pair)
    return x


# -- arguments: a pair for each axis ---------------------------------------------------------------


def _widths(pad_width: Any, ndim: int) -> tuple[Widths, ...]:
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = width if isinstance(width, tuple) else (width, width)
        pad_width = pairs
    sized_pairs = _sized_widths(pad_width, ndim)
    if sized_pairs is not None:
        return sized_pairs
    array = np.asarray(static(pad_width))
    if array.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    return tuple((int(a), int(b)) for a, b in _pairs(array, ndim, as_index=True))


def _sized_widths(widths: Any, ndim: int) -> Any:
    """The pairs, if one of the widths has no value yet and may be a size; else None."""
    if table() is None:
        return None
    rows = widths if isinstance(widths, (tuple, list)) else [widths]
    if not any(isinstance(r, (tuple, list)) for r in rows):
        rows = [rows]
    pairs = [tuple(r) if isinstance(r, (tuple, list)) else (r,) for r in rows]
    if not any(is_size(n) or isinstance(n, Array) for pair in pairs for n in pair):
        return None
    if len(pairs) not in (1, ndim) or any(len(p) not in (1, 2) for p in pairs):
        return None
    found = [tuple(map(as_size, p * 2 if len(p) == 1 else p)) for p in pairs]
    for n in (n for pair in found for n in pair):
        require(n, lambda _: ValueError("index can't contain negative values"), n)
    return tuple(found * ndim if len(found) == 1 else found)


def _pairs(x: Any, ndim: int, as_index: bool = False) -> Any:
    """Broadcast to (ndim, 2): one value, a pair for all axes, or a pair for each."""
    if x is None:
        return ((None, None),) * ndim
    x = np.array(x)
    if as_index:
        x = np.round(x).astype(np.intp, copy=False)
        if x.size and x.min() < 0:
            raise ValueError("index can't contain negative values")
    if x.ndim < 3 and (x.size == 1 or x.size == 2 and x.shape != (2, 1)):
        x = x.ravel()
    return np.broadcast_to(x, (ndim, 2)).tolist()


def _values(x: Any, ndim: int) -> Any:
    """Pairs of values to pad with; lazy values stay lazy."""
    lazy = isinstance(x, (Array, Size)) or isinstance(x, (list, tuple)) and holds_lazy(x)
    if not lazy:
        return _pairs(x, ndim)
    x = asarray(x)
    if x.ndim < 3 and (x.size == 1 or x.size == 2 and x.shape != (2, 1)):
        x = reshaped(x, (x.size,))
    x = broadcast(x, (ndim, 2))
    return [[getitem(x, (i, j)) for j in (0, 1)] for i in range(ndim)]


# -- the modes: (x, axis, left, right) -> padded ---------------------------------------------------


def _constant(x: Array, widths: tuple[Widths, ...], values: Any) -> Array:
    cells = [[_cell(v, x.dtype) for v in ends] for ends in values]
    known = [cell for pair in cells for cell in pair]
    numbers = all([type(cell) in SCALAR_DTYPES for cell in known])
    if numbers and len({repr(cell) for cell in known}) == 1:  # -0.0 is not 0.0
        return _filled(x, [left for left, _ in widths], [right for _, right in widths], known[0])
    for axis, (pair, (left, right)) in enumerate(zip(widths, cells, strict=True)):
        low, high = ([n if i == axis else 0 for i in range(x.ndim)] for n in pair)
        none = [0] * x.ndim
        x = _filled(_filled(x, low, none, left), none, high, right)
    return x


def _cell(value: Any, dtype: np.dtype[Any]) -> Any:
    """The value, converted to this dtype."""
    if isinstance(value, Array):
        return converted(value, dtype)
    if not on_device(dtype):
        return value
    stored = assigned_scalar(value, dtype)
    return stored if type(stored) in SCALAR_DTYPES else zero(dtype)


def _filled(x: Array, low: list[int], high: list[int], value: Any) -> Array:
    if all(type(n) is int and n == 0 for n in (*low, *high)):
        return x
    return shaping.pad(x, value, low=tuple(low), high=tuple(high), interior=(0,) * x.ndim)


def _between(x: Array, axis: int, left: Array, right: Array) -> Array:
    """Put x between two pieces, which may have length 0 on the axis."""
    return joined([p for p in (left, x, right) if not known_empty(p.shape[axis])], axis)


def _spread(piece: Array, axis: int, width: int) -> Array:
    """Repeat a piece of length one."""
    shape = list(piece.shape)
    shape[axis] = width
    return broadcast(piece, tuple(shape))


def _ends(x: Array, axis: int) -> tuple[Array, Array]:
    n = x.shape[axis]
    return part(x, axis, 0, 1), part(x, axis, n - 1, n)


def _edge(x: Array, axis: int, left: int, right: int) -> Array:
    first, last = _ends(x, axis)
    return _between(x, axis, _spread(first, axis, left), _spread(last, axis, right))


def _edge_padder(x: Array, kwargs: dict[str, Any]) -> Callable[..., Array]:
    return _edge


def _ramp_padder(x: Array, kwargs: dict[str, Any]) -> Callable[..., Array]:
    values = _values(kwargs.get("end_values", 0), x.ndim)

    def ramp(x: Array, axis: int, left: int, right: int) -> Array:
        sides = []
        for end, edge, width in zip(values[axis], _ends(x, axis), (left, right), strict=True):
            stop = reshaped(edge, (*edge.shape[:axis], *edge.shape[axis + 1 :]))
            sides.append(linspace(end, stop, width, False, dtype=x.dtype, axis=axis))
        falling = shaping.reverse(sides[1], axes=(axis,))
        return _between(x, axis, sides[0], falling)

    return ramp


# -- statistics ------------------------------------------------------------------------------------


def _mean(x: Array, axis: int) -> Array:
    dtype = x.dtype
    wide = np.dtype("f8") if dtype.kind in "biu" else dtype
    x = cast(x, np.dtype("f4") if wide.char == "e" else wide)
    total = reduction.reduce_sum(x, axes=(axis,))
    return cast(ufuncs.divide(total, x.shape[axis]), wide)


def _median(x: Array, axis: int) -> Array:
    n = x.shape[axis]
    if known_empty(n):
        return _mean(x, axis)
    x = sorting.sort(x, axis=axis)
    middle = _mean(part(x, axis, (n - 1) // 2, n // 2 + 1), axis)
    if x.dtype.kind not in "fc":
        return middle
    last = own(part(x, axis, n - 1, n))  # NaNs sort last
    last = reshaped(last, middle.shape)
    return apply(elementwise.select, ufuncs.isnan(last), last, middle)


def _maximum(x: Array, axis: int) -> Array:
    return reduction.reduce_max(x, axes=(axis,))


def _minimum(x: Array, axis: int) -> Array:
    return reduction.reduce_min(x, axes=(axis,))


_STATISTICS = {"maximum": _maximum, "minimum": _minimum, "mean": _mean, "median": _median}


def _statistics_padder(mode: str) -> Callable[..., Callable[..., Array]]:
    statistic = _STATISTICS[mode]

    def make(x: Array, kwargs: dict[str, Any]) -> Callable[..., Array]:
        lengths = _pairs(static(kwargs.get("stat_length")), x.ndim, as_index=True)

        def of(x: Array, axis: int, start: int, stop: int) -> Array:
            shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
            value = reshaped(statistic(own(part(x, axis, start, stop)), axis), shape)
            if x.dtype.kind in "iu" and value.dtype.kind == "f":
                value = ufuncs.rint(value)
            return converted(value, x.dtype)

        def padder(x: Array, axis: int, left: int, right: int) -> Array:
            n = x.shape[axis]
            before, after = (n if k is None else smallest(k, n) for k in lengths[axis])
            if known_empty(before * after) and mode in ("maximum", "minimum"):
                raise ValueError("stat_length of 0 yields no value for padding")
            first = of(x, axis, 0, before)
            whole = surely(before == n) and surely(after == n)
            last = first if whole else of(x, axis, n - after, n)
            return _between(x, axis, _spread(first, axis, left), _spread(last, axis, right))

        return padder

    return make


# -- reflections and periods, repeated as often as needed ------------------------------------------


def _mirror_padder(include_edge: bool) -> Callable[..., Callable[..., Array]]:
    def make(x: Array, kwargs: dict[str, Any]) -> Callable[..., Array]:
        odd = kwargs.get("reflect_type", "even") == "odd"

        def padder(x: Array, axis: int, left: int, right: int) -> Array:
            period = x.shape[axis]
            if is_size(period) and not (odd and x.dtype.kind == "b"):
                if odd:
                    return _turned(x, axis, left, right, include_edge)
                return _gathered(x, axis, left, right, include_edge)
            if period == 1:
                return _edge(x, axis, left, right)
            while left or right:
                x, left, right = _mirrored(x, axis, left, right, period, include_edge, odd)
            return x

        return padder

    return make


def _mirrored(
    x: Array, axis: int, left: int, right: int, period: int, include_edge: bool, odd: bool
) -> tuple[Array, int, int]:
    """Reflect once at both ends, by whole periods; also return the remaining widths."""
    n = x.shape[axis]
    if include_edge:
        length, offset = n // period * period, 1
    else:
        length, offset = (n - 1) // (period - 1) * (period - 1), 0
    before, after = min(length, left), min(length, right)
    first = part(x, axis, 1 - offset, 1 - offset + before)
    last = part(x, axis, n + offset - 1 - after, n + offset - 1)
    first, last = (shaping.reverse(p, axes=(axis,)) for p in (first, last))
    if odd:
        edges = _ends(x, axis)
        first, last = (
            converted(ufuncs.subtract(ufuncs.multiply(2, e), p), x.dtype)
            for e, p in zip(edges, (first, last), strict=True)
        )
    return _between(x, axis, first, last), left - before, right - after


def _gathered(x: Array, axis: int, left: Any, right: Any, mirrors: bool | None) -> Array:
    """The same for an axis whose size has no value yet. mirrors: None: periods; else whether the
    edges are repeated.
    """
    n: Any = x.shape[axis]
    places: Any = shaping.iota(shape=(left + n + right,), axis=0, dtype=np.dtype(np.int64))
    places = ufuncs.subtract(places, left)
    if mirrors is None:
        places = ufuncs.remainder(places, n)
    else:
        again = n - (0 if mirrors else 1)
        places = ufuncs.remainder(places, 2 * largest(again, 1))
        places = ufuncs.minimum(places, ufuncs.subtract(n + again - 1, places))
        places = ufuncs.maximum(places, 0)  # an axis of one place
    return taken(x, plain(places), axis)


def _turned(x: Array, axis: int, left: Any, right: Any, include_edge: bool) -> Array:
    """Odd reflections of an axis whose size has no value yet. Every other period runs backwards
    from an edge; all that lie farther move on by what lies between the edges.
    """
    n: Any = x.shape[axis]
    total = left + n + right
    period = n if include_edge else largest(n - 1, 1)
    places: Any = shaping.iota(shape=(total,), axis=0, dtype=np.dtype(np.int64))
    places = ufuncs.subtract(places, left)
    beside = plain(ufuncs.logical_or(ufuncs.less(places, 0), ufuncs.greater_equal(places, n)))
    times = ufuncs.multiply(ufuncs.floor_divide(places, period), beside)
    place = ufuncs.subtract(places, ufuncs.multiply(times, period))
    back = ufuncs.equal(ufuncs.remainder(times, 2), 1)
    turned = ufuncs.maximum(ufuncs.subtract(period - include_edge, place), 0)
    place = elementwise.select(plain(back), plain(turned), plain(place))
    found = taken(x, plain(ufuncs.minimum(place, n - 1)), axis)

    def along(each: Any) -> Array:
        shape = (*[1] * axis, total, *[1] * (x.ndim - axis - 1))
        return broadcast(reshaped(plain(each), shape), found.shape)

    first, last = (broadcast(e, found.shape) for e in _ends(x, axis))
    edge = elementwise.select(along(ufuncs.less(times, 0)), first, last)
    turns = plain(ufuncs.subtract(ufuncs.multiply(edge, 2), found))
    near = elementwise.select(along(back), turns, found)
    moves = ufuncs.subtract(times, ufuncs.multiply(ufuncs.sign(times), back))
    far = ufuncs.multiply(ufuncs.subtract(last, first), cast(along(moves), x.dtype))
    far = plain(ufuncs.add(near, far))
    out = elementwise.select(along(ufuncs.equal(moves, 0)), near, far)
    alone = broadcast(as_array(ufuncs.equal(scalar_of(n), 1)), found.shape)
    return elementwise.select(alone, found, out)


def _wrap_padder(x: Array, kwargs: dict[str, Any]) -> Callable[..., Array]:
    return _wrapped


def _wrapped(x: Array, axis: int, left: int, right: int) -> Array:
    original = x.shape[axis]
    if is_size(original):
        return _gathered(x, axis, left, right, None)
    while left or right:
        n = x.shape[axis]
        period = n // original * original
        before, after = min(period, left), min(period, right)
        first = part(x, axis, period - before, period)
        last = part(x, axis, n - period, n - period + after)
        x, left, right = _between(x, axis, first, last), left - before, right - after
    return x


_PADDERS = {
    "edge": _edge_padder,
    "linear_ramp": _ramp_padder,
    "wrap": _wrap_padder,
    "reflect": _mirror_padder(include_edge=False),
    "symmetric": _mirror_padder(include_edge=True),
    **{mode: _statistics_padder(mode) for mode in _STATISTICS},
}


def _by_function(
    padded: Array, widths: tuple[Widths, ...], function: Any, kwargs: dict[str, Any]
) -> Array:
    """Apply the caller's function in place to every line of every axis."""
    padded = own(padded)
    for axis in range(padded.ndim):
        lines = moveaxis(padded, axis, -1)
        for place in np.ndindex(lines.shape[:-1]):
            function(getitem(lines, (*place, ...)), widths[axis], axis, kwargs)
    return padded
