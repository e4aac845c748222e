"""Differences, gradients, integrals and interpolation along an axis; a few special functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from lazynp import _errstate
from lazynp._array import Array, concrete
from lazynp._dimensions import require_all, require_some
from lazynp._errstate import quiet
from lazynp._sizes import is_size, largest
from lazynp._strides import copied_order, in_order
from lazynp.functions import reductions, ufuncs
from lazynp.functions._arguments import part as within
from lazynp.functions._eager import by_numpy
from lazynp.functions._fold import item, part
from lazynp.functions._host import host_call, needs_host
from lazynp.functions._operands import as_array, broadcast, cast, kind_of, numpys, scalar_if_0d
from lazynp.functions._recording import apply
from lazynp.functions._reduce import NO_VALUE, kept_shape
from lazynp.functions._releases import SINCE_2_5
from lazynp.primitives import elementwise, indexing, shaping, sorting

_FLOAT64, _COMPLEX128 = np.dtype(np.float64), np.dtype(np.complex128)
_INT64 = np.dtype(np.int64)


def flat(x: Any) -> Array:
    """The elements in C order, as a new array."""
    x = as_array(x)
    return shaping.reshape(x, shape=(x.size,))


def _joined(arrays: list[Array], axis: int) -> Array:
    dtype = np.result_type(*[a.dtype for a in arrays])
    return shaping.concatenate(*[cast(a, dtype) for a in arrays], axis=axis)


# -- differences -----------------------------------------------------------------------------------


@by_numpy(np.diff, itself=2)
def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE
) -> Any:
    """See `numpy.diff`."""
    if n == 0:
        return a
    if n < 0:
        raise ValueError("order must be non-negative but got " + repr(n))
    x = as_array(a)
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, x.ndim)
    combined = [x]
    edge = kept_shape(x.shape, (axis,))
    if prepend is not NO_VALUE:
        combined.insert(0, _edge(prepend, edge))
    if append is not NO_VALUE:
        combined.append(_edge(append, edge))
    if needs_host(*combined):
        options = {} if prepend is NO_VALUE else {"prepend": prepend}
        options |= {} if append is NO_VALUE else {"append": append}
        return host_call(np.diff, x, n, axis, **options)
    if len(combined) > 1:
        x = _joined(combined, axis)
    difference = ufuncs.not_equal if x.dtype.kind == "b" else ufuncs.subtract
    for _ in range(n):
        size = x.shape[axis]
        order = copied_order(x)
        x = difference(part(x, axis, 1, size), part(x, axis, 0, largest(size - 1, 0)))
        x = in_order(x, order)
    return x


def _edge(value: Any, shape: tuple[int, ...]) -> Array:
    x = as_array(value)
    return broadcast(x, shape) if x.ndim == 0 else x


@by_numpy(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """See `numpy.ediff1d`."""
    x = flat(ary)
    middle = ufuncs.subtract(part(x, 0, 1, x.size), part(x, 0, 0, largest(x.size - 1, 0)))
    if to_end is not None or to_begin is not None:
        middle = cast(middle, x.dtype)
    pieces = [middle]
    for name, value in (("to_begin", to_begin), ("to_end", to_end)):
        if value is None:
            continue
        extra = as_array(value)
        if not np.can_cast(extra.dtype, x.dtype, casting="same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        extra = cast(flat(extra), middle.dtype)
        pieces = [extra, *pieces] if name == "to_begin" else [*pieces, extra]
    return middle if len(pieces) == 1 else shaping.concatenate(*pieces, axis=0)


_TOO_SMALL = (
    "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
    "elements are required."
)

# -- gradient --------------------------------------------------------------------------------------


@by_numpy(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """See `numpy.gradient`.

    Spacings that are still pending are treated as uneven, which changes only the last bits.
    """
    x = as_array(f)
    if needs_host(x):
        return host_call(np.gradient, x, *varargs, axis=axis, edge_order=edge_order)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    spacings = _spacings(x, axes, varargs)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    dtype = x.dtype if x.dtype.kind in "fc" else _FLOAT64
    if x.dtype.kind in "iu":
        x = cast(x, _FLOAT64)
    results = []
    for along, dx in zip(axes, spacings, strict=True):
        require_all([x.shape[along] - (edge_order + 1)], lambda _: ValueError(_TOO_SMALL), None)
        pieces = _gradient_along(x, along, dx, edge_order)
        joined = shaping.concatenate(*[cast(as_array(p), dtype) for p in pieces], axis=along)
        results.append(in_order(joined, copied_order(x)))
    return results[0] if len(axes) == 1 else tuple(results)


def _spacings(x: Array, axes: tuple[int, ...], varargs: tuple[Any, ...]) -> list[Any]:
    """For each axis, a number or the 1-d array of distances."""
    if not varargs:
        return [1.0] * len(axes)
    if len(varargs) == 1 and _ndim(varargs[0]) == 0:
        return [varargs[0]] * len(axes)
    if len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    return [_spacing(v, x.shape[axis]) for v, axis in zip(varargs, axes, strict=True)]


def _spacing(value: Any, size: int) -> Any:
    if _ndim(value) == 0:
        return value
    places = as_array(value)
    if places.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if places.size != size:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if places.dtype.kind in "iu":
        places = cast(places, _FLOAT64)
    # NumPy looks at the first distance
    require_some(size - 1, IndexError("index 0 is out of bounds for axis 0 with size 0"))
    known = concrete(places)
    distances = np.diff(known) if known is not None else None
    if distances is not None and distances.size and (distances == distances[0]).all():
        return distances[0]
    return diff(places)


def _ndim(value: Any) -> int:
    return value.ndim if isinstance(value, Array) else np.ndim(value)


def _gradient_along(x: Array, axis: int, dx: Any, edge_order: int) -> tuple[Any, Any, Any]:
    """The gradient at the first place, inside, and at the last place."""
    u, n = ufuncs, x.shape[axis]

    def at(start: int, stop: int) -> Array:
        return within(x, axis, start, stop)

    even = _ndim(dx) == 0
    if even:
        inside = u.divide(u.subtract(at(2, n), at(0, n - 2)), 2.0 * dx)
    else:
        before, after = within(dx, 0, 0, n - 2), within(dx, 0, 1, n - 1)
        both = u.add(before, after)
        weights = (
            u.divide(u.negative(after), u.multiply(before, both)),
            u.divide(u.subtract(after, before), u.multiply(before, after)),
            u.divide(before, u.multiply(after, both)),
        )
        shape = tuple(n - 2 if i == axis else 1 for i in range(x.ndim))
        weights = tuple(shaping.reshape(w, shape=shape) for w in weights)
        inside = _weighted(weights, (at(0, n - 2), at(1, n - 1), at(2, n)))
    if edge_order == 1:
        first_dx, last_dx = (dx, dx) if even else (item(dx, 0, 0), item(dx, 0, n - 2))
        first = u.divide(u.subtract(at(1, 2), at(0, 1)), first_dx)
        last = u.divide(u.subtract(at(n - 1, n), at(n - 2, n - 1)), last_dx)
        return first, inside, last
    starts, ends = _second_order(dx, n)
    first = _weighted(starts, (at(0, 1), at(1, 2), at(2, 3)))
    last = _weighted(ends, (at(n - 3, n - 2), at(n - 2, n - 1), at(n - 1, n)))
    return first, inside, last


def _weighted(weights: Any, values: Any) -> Any:
    a, b, c = (ufuncs.multiply(w, v) for w, v in zip(weights, values, strict=True))
    return ufuncs.add(ufuncs.add(a, b), c)


def _second_order(dx: Any, n: int) -> tuple[Any, Any]:
    """The weights of the three values next to the first and to the last place."""
    u = ufuncs
    if _ndim(dx) == 0:
        starts = tuple(w / dx for w in (-1.5, 2.0, -0.5))
        return starts, tuple(w / dx for w in (0.5, -2.0, 1.5))
    p, q = item(dx, 0, 0), item(dx, 0, 1)
    both = u.add(p, q)
    starts = (
        u.divide(u.negative(u.add(u.multiply(2.0, p), q)), u.multiply(p, both)),
        u.divide(both, u.multiply(p, q)),
        u.divide(u.negative(p), u.multiply(q, both)),
    )
    p, q = item(dx, 0, n - 3), item(dx, 0, n - 2)
    both = u.add(p, q)
    ends = (
        u.divide(q, u.multiply(p, both)),
        u.divide(u.negative(both), u.multiply(p, q)),
        u.divide(u.add(u.multiply(2.0, q), p), u.multiply(q, both)),
    )
    return starts, ends


@by_numpy(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """See `numpy.trapezoid`."""
    y = as_array(y)
    list(y.shape)[axis] = 1  # NumPy's IndexError of an axis that is none
    given, axis = axis, normalize_axis_index(axis, y.ndim)
    if x is None:
        d = dx
    else:
        x = as_array(x)
        d = diff(x) if x.ndim == 1 else diff(x, axis=given)
        if x.ndim == 1:
            shape = tuple(d.size if i == axis else 1 for i in range(y.ndim))
            d = shaping.reshape(d, shape=shape)
    n = y.shape[axis]
    both = ufuncs.add(part(y, axis, 1, n), part(y, axis, 0, largest(n - 1, 0)))
    return reductions.sum(ufuncs.divide(ufuncs.multiply(d, both), 2.0), given)


# -- interpolation, phases -------------------------------------------------------------------------


@by_numpy(np.interp, always=True)
@quiet()
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """See `numpy.interp`."""
    fp = as_array(fp)
    dtype = _COMPLEX128 if fp.dtype.kind == "c" else _FLOAT64
    if period is not None and period == 0:
        raise ValueError("period must be a non-zero value")
    if period is None:
        fp, xp = _points(fp, dtype), _points(xp, _FLOAT64)
        x = _safely(x, _FLOAT64)
    else:
        fp, xp = cast(fp, dtype), _as_floats(xp)
        if xp.ndim != 1 or fp.ndim != 1:
            raise ValueError("Data points must be 1-D sequences")
        x = _as_floats(x)
        x, xp, fp = _periodic(x, xp, fp, ufuncs.absolute(period))
        left = right = None
    require_all([xp.size - 1], lambda _: ValueError("array of sample points is empty"), None)
    if xp.size != fp.size:
        raise ValueError("fp and xp are not of the same length.")
    ends = (
        item(fp, 0, 0) if left is None else cast(left, dtype),
        item(fp, 0, fp.size - 1) if right is None else cast(right, dtype),
    )
    place = sorting.searchsorted(xp, x, side="right")
    if dtype == _FLOAT64:
        return scalar_if_0d(_interpolated(x, xp, fp, place, *ends))
    parts = [
        _interpolated(x, xp, take_part(fp), place, *map(take_part, ends))
        for take_part in (elementwise.real, elementwise.imag)
    ]
    return scalar_if_0d(elementwise.complex_(*parts))


def _points(x: Any, dtype: np.dtype[Any]) -> Array:
    if (ndim := as_array(x).ndim) != 1:
        raise ValueError(f"object {'too deep' if ndim else 'of too small depth'} for desired array")
    return _safely(x, dtype)


def _as_floats(x: Any) -> Array:
    """Whatever the rules of casting say, as where there is a period."""
    array = as_array(x)
    return _safely(array, _FLOAT64) if array.dtype.kind == "c" else cast(array, _FLOAT64)


def _safely(x: Any, dtype: np.dtype[Any]) -> Array:
    array = as_array(x)
    if not np.can_cast(array.dtype, dtype) and not isinstance(x, (list, tuple)):
        raise TypeError(
            f"Cannot cast array data from {array.dtype!r} to {dtype!r} according to the rule 'safe'"
        )
    if array.dtype.kind == "c" != dtype.kind:
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return cast(array, dtype)


def _periodic(x: Array, xp: Array, fp: Array, period: Any) -> tuple[Array, Array, Array]:
    """The points of one period in order, with one more point on each side."""
    if xp.size != fp.size:
        raise ValueError("fp and xp are not of the same length")
    x, xp = as_array(ufuncs.remainder(x, period)), as_array(ufuncs.remainder(xp, period))
    order = sorting.argsort(xp, axis=0)
    xp, fp = indexing.take(xp, order, axes=(0,)), indexing.take(fp, order, axes=(0,))
    n = xp.size
    below, above = part(xp, 0, n - 1, n), part(xp, 0, 0, 1)
    xp = shaping.concatenate(ufuncs.subtract(below, period), xp, ufuncs.add(above, period), axis=0)
    return x, xp, shaping.concatenate(part(fp, 0, n - 1, n), fp, part(fp, 0, 0, 1), axis=0)


def _interpolated(x: Array, xp: Array, fp: Array, place: Array, left: Array, right: Array) -> Array:
    """Interpolate linearly between the points around x. `place`: the number of points not
    above x.
    """
    u, n = ufuncs, xp.size

    def where(condition: Any, value: Any, otherwise: Any) -> Any:
        return apply(elementwise.select, condition, value, otherwise)

    if n == 1:
        inside = where(u.less(x, xp), left, where(u.greater(x, xp), right, fp))
        return shaping.reshape(as_array(inside), shape=x.shape)
    lower = cast(u.maximum(u.minimum(u.subtract(place, 1), n - 2), 0), _INT64)
    upper = u.add(lower, 1)
    if is_size(n):
        upper = u.minimum(upper, n - 1)
    x0, x1, f0, f1 = (
        indexing.take(points, index, axes=(0,)) for points in (xp, fp) for index in (lower, upper)
    )
    slope = u.divide(u.subtract(f1, f0), u.subtract(x1, x0))
    y = u.add(u.multiply(slope, u.subtract(x, x0)), f0)
    again = u.add(u.multiply(slope, u.subtract(x, x1)), f1)  # if not a number, from the other end
    y = where(u.logical_or(u.isnan(y), u.equal(x, x1)), again, y)
    y = where(u.logical_and(u.isnan(y), u.equal(f0, f1)), f0, y)
    # at a point, the line passes through it with its slope, unless the slope is infinite
    y = where(u.logical_and(u.equal(x, x0), u.not_equal(y, f0)), f0, y)
    y = where(u.logical_and(u.equal(x, x1), u.not_equal(y, f1)), f1, y)
    y = where(u.greater(x, item(xp, 0, n - 1)), right, y)
    y = where(u.equal(place, 0), left, y)
    beside = u.isnan(x)
    if is_size(n):  # beside one point, it is not looked at
        beside = u.logical_and(beside, u.not_equal(n, 1))
    return as_array(where(beside, x, y))


@by_numpy(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    """See `numpy.unwrap`."""
    u, p = ufuncs, as_array(p)
    steps = diff(p, axis=axis)
    axis = normalize_axis_index(axis, p.ndim)
    discont = period / 2 if discont is None else discont
    dtype = np.result_type(steps.dtype, kind_of(period))
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        ambiguous = bool(rest == 0)
    else:
        high, ambiguous = period / 2, True
    low = -high
    moved = u.add(u.remainder(u.subtract(steps, low), period), low)
    if ambiguous:
        boundary = u.logical_and(u.equal(moved, low), u.greater(steps, 0))
        moved = apply(elementwise.select, boundary, cast(high, moved.dtype), moved)
    correction = u.subtract(moved, steps)
    small = u.less(u.absolute(steps), discont)
    correction = apply(elementwise.select, small, cast(0, correction.dtype), correction)
    n = p.shape[axis]
    rest_of = u.add(part(p, axis, 1, n), reductions.cumsum(correction, axis))
    pieces = cast(part(p, axis, 0, 1), dtype), cast(rest_of, dtype)
    return in_order(shaping.concatenate(*pieces, axis=axis), copied_order(p))


@by_numpy(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """See `numpy.angle`."""
    z = as_array(z)
    parts = (elementwise.imag(z), elementwise.real(z)) if z.dtype.kind == "c" else (0, z)
    result = ufuncs.arctan2(*parts)
    return ufuncs.multiply(result, 180 / math.pi) if deg else result


# -- special functions -----------------------------------------------------------------------------


def i0(x: Any) -> Any:
    """See `numpy.i0`. Always returns an array."""
    x = numpys(as_array(x))
    order = copied_order(x)
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    if x.dtype.char == "g":
        return host_call(np.i0, x)
    x = x if x.dtype.kind == "f" else cast(x, _FLOAT64)
    result = elementwise.select(elementwise.isinf(x), np.nan, elementwise.bessel_i0(x))
    return in_order(result, order)


@by_numpy(np.sinc)
def sinc(x: Any) -> Any:
    """See `numpy.sinc`. Near zero it uses its series, whose derivatives are correct there."""
    x = x if isinstance(x, (int, float, complex)) else as_array(x)
    u, x = ufuncs, as_array(ufuncs.multiply(math.pi, x))
    far = u.greater(u.absolute(x), 0.1)
    y = apply(elementwise.select, far, x, cast(1, x.dtype))  # avoids the derivative of 0 / 0
    square, series = u.multiply(x, x), 0.0
    for n in (9, 7, 5, 3):  # 1 - x^2 / 3! + x^4 / 5! - ..., exact to the last bit
        series = u.multiply(u.divide(square, n * (n - 1)), 1.0 - series)
    return apply(elementwise.select, far, u.divide(u.sin(y), y), 1.0 - series)


def fix(x: Any, out: Any = None) -> Any:
    """See `numpy.fix`."""
    if SINCE_2_5:
        _errstate.warn(
            "numpy.fix is deprecated. Use numpy.trunc instead, which is faster and follows the "
            "Array API standard.",
            DeprecationWarning,
        )
    return ufuncs.trunc(x, out=out) if out is not None else ufuncs.trunc(x)
