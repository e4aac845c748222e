"""arange, linspace, logspace, geomspace: NumPy's formulas, equal bit for bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._array import Array, Scalar
from lazynp._avals import on_device
from lazynp._dimensions import number_of, require_all, size_of
from lazynp._fronts import unbound
from lazynp._node import is_tracer
from lazynp._quiet import quietly
from lazynp._sizes import Size, is_size, largest
from lazynp._values import knowable
from lazynp.functions import ufuncs
from lazynp.functions._arguments import (
    SMALL,
    as_size,
    check_device,
    check_like,
    dtype_argument,
    from_numpy,
    own,
    reshaped,
    static,
)
from lazynp.functions._checks import refuse
from lazynp.functions._construct import array
from lazynp.functions._eager import evenly, of_numbers
from lazynp.functions._getset import setitem
from lazynp.functions._likes import as_its_like
from lazynp.functions._operands import as_array, broadcast, cast, kind_of
from lazynp.functions._part_joins import counting
from lazynp.functions._placing import placing
from lazynp.functions._recording import apply
from lazynp.primitives import elementwise, reduction, shaping

_NO_VALUE: Any = object()
_DATES = {np.datetime64, np.timedelta64}
_arange: Any = np.arange  # NumPy's stubs lack some of its arguments
_linspace_now: Any = np.linspace
_NEAR = 1e-9  # NumPy's difference of floats may round to an integer
_NUMBERS = (int, float, np.integer, np.floating)


@unbound
@of_numbers(_arange, 3, SMALL // 2)
@as_its_like
def arange(
    start_or_stop: Any = _NO_VALUE,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    start: Any = _NO_VALUE,
    device: Any = None,
    like: Any = None,
) -> Array:
    """See `numpy.arange`. Lazy arguments are computed, because they determine the length."""
    check_like(like)
    check_device(device)
    if start_or_stop is _NO_VALUE:
        if stop is None:
            raise TypeError("arange() requires stop to be specified.")
        start_or_stop = 0 if start is _NO_VALUE else start
    elif start is not _NO_VALUE:
        raise TypeError("argument for arange() given by name ('start') and position (position 0)")
    if start_or_stop is None and stop is None:
        return from_numpy(_arange(None))  # raises
    first, last = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    sizes = [size_of(x) if not isinstance(x, (int, float)) else x for x in (first, last)]
    if Size in map(type, sizes) and None not in sizes:
        return _range_of_sizes(sizes[0], sizes[1], step, dtype)
    if any(isinstance(x, Array) and not knowable(x._read()) for x in (first, last)):
        found = counting(first, last, 1 if step is None else static(step))
        if found is not None:
            return found if dtype is None else found.astype(dtype)  # type: ignore
    if differentiated(first, step):
        return _moving_range(first, last, step, dtype)
    last = still(last) if differentiated(last) else last
    first, last, step = static(first), static(last), 1 if step is None else static(step)
    if dtype is not None:
        dtype = dtype_argument(dtype)
    if dtype is not None and dtype.kind == "M" and stop is None:
        return from_numpy(_arange(last, step=step, dtype=dtype))  # raises
    if not _is_long(first, last, step, dtype):
        if type(step) is int and step == 1 and _DATES & {type(first), type(last)}:
            step = None  # an int has no unit: NumPy 2.5 warns
        return from_numpy(_arange(first, last, step, dtype))
    length = math.ceil((last - first) / step)
    if dtype is None:
        dtype = np.array([first, last, step]).dtype
    head = _arange(first, first + 3 * step, step, dtype)
    return _progression(length, head[0], head[1])


def differentiated(*xs: Any) -> bool:
    """Whether one of these is a traced float whose value is there."""
    nodes = [x._read() for x in xs if isinstance(x, Array) and x.dtype.kind == "f"]
    return any([is_tracer(n) and knowable(n) for n in nodes])


def still(x: Any) -> Any:
    """An argument that determines shapes, without what it depends on."""
    return static(transforms.stop_gradient(x) if isinstance(x, Array) else x)


def _moving_range(first: Any, last: Any, step: Any, dtype: Any) -> Array:
    """NumPy's formula, of a length that the values tell."""
    step = 1 if step is None else step
    values = _arange(*map(still, (first, last, step)), dtype)
    gap = ufuncs.subtract(ufuncs.add(first, step), first)
    places = as_array(np.arange(values.size, dtype=float))
    return cast(ufuncs.add(first, ufuncs.multiply(places, gap)), values.dtype)


def _range_of_sizes(first: Any, last: Any, step: Any, dtype: Any) -> Array:
    """`arange` between integers of which one has no value yet."""
    step = 1 if step is None else static(step)
    if not step:
        raise ZeroDivisionError("division by zero")
    if float in map(type, (first, last, step)):
        return _range_of_floats(first, last, float(step), dtype)
    dtype = np.dtype(np.int64) if dtype is None else dtype_argument(dtype)
    up = last - first if step > 0 else first - last
    length = largest((up + (abs(step) - 1)) // abs(step), 0)
    out = shaping.iota(shape=(length,), axis=0, dtype=np.dtype(np.int64))
    out = out if step == 1 else ufuncs.multiply(out, step)
    out = out if type(first) is int and first == 0 else ufuncs.add(out, first)
    return cast(out, dtype)


def _range_of_floats(first: Any, last: Any, step: float, dtype: Any) -> Array:
    """The same with a float beside the size. The length is a polynomial if the step is an integer,
    or one over a power of 2.
    """
    over = 1 / abs(step)
    exact = step.is_integer() or over.is_integer() and math.frexp(over)[0] == 0.5
    ends = [x for x in (first, last) if type(x) is float]
    if not exact or any(0 < abs(x - round(x)) < _NEAR or not math.isfinite(x) for x in ends):
        raise TypeError(f"arange: not written for a size ({last}), a step of {step} and {ends}")
    up = 0
    for end, sign in ((last, 1), (first, -1)):
        sign = sign if step > 0 else -sign
        times = int(over) if over.is_integer() else 1
        up = up + (end * (sign * times) if type(end) is Size else math.ceil(end * sign * times))
    width = 1 if over.is_integer() else int(abs(step))
    length = largest((up + (width - 1)) // width, 0)
    start = np.float64(first) if type(first) is not Size else cast(as_array(first), np.float64)
    delta = ufuncs.subtract(ufuncs.add(start, step), start)
    out = shaping.iota(shape=(length,), axis=0, dtype=np.dtype(np.float64))
    out = ufuncs.add(ufuncs.multiply(out, delta), start)
    return cast(out, np.dtype(np.float64) if dtype is None else dtype_argument(dtype))


def _is_long(first: Any, last: Any, step: Any, dtype: Any) -> bool:
    """Whether recording pays. Unusual or wrong arguments go to NumPy."""
    for x in (first, last, step):
        if not isinstance(x, _NUMBERS) or isinstance(x, np.generic) and not on_device(x.dtype):
            return False
    if dtype is not None and not (on_device(dtype) and dtype.kind in "iuf"):
        return False
    if not step or math.isnan(first) or math.isnan(last) or math.isnan(step):
        return False
    length = (float(last) - float(first)) / float(step)
    return SMALL < length < 2**50


def _progression(length: int, first: Any, second: Any) -> Array:
    """`first + i * (second - first)` in their dtype, as NumPy fills a range."""
    dtype = first.dtype
    wide = np.dtype("f4") if dtype.char == "e" else dtype
    first = first.astype(wide)
    step = quietly(np.subtract, [second.astype(wide), first])
    out = shaping.iota(shape=(length,), axis=0, dtype=wide)
    if step != 1:
        out = ufuncs.multiply(out, step)
    if first != 0 or step < 0:  # 0 + -0.0 is not -0.0
        out = ufuncs.add(out, first)
    return cast(out, dtype)


# -- linspace --------------------------------------------------------------------------------------


@placing
@evenly(np.linspace, SMALL)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    """See `numpy.linspace`."""
    check_device(device)
    num = as_size(num)
    start, stop = [number_of(x) if type(x) is Size else x for x in (start, stop)]
    text = "Number of samples, {}, must be non-negative."
    require_all((num,), lambda n: ValueError(text.format(n)), num)
    if dtype is not None:
        dtype = dtype_argument(dtype)
    if _at_once(start, stop, num) or dtype is not None and not on_device(dtype):
        start, stop = static(start), static(stop)
        y, step = _linspace_now(start, stop, num, endpoint, True, dtype, axis)
        if type(step) is not float:  # nan if there is no step
            step = from_numpy(step)
        return (from_numpy(y), step) if retstep else from_numpy(y)
    y, step = _linspace(start, stop, num, bool(endpoint), dtype)
    y = _axis_moved(y, axis)
    return (y, step) if retstep else y


def _at_once(start: Any, stop: Any, num: int) -> bool:
    """Whether NumPy should make it now: small and of host data, or of a dtype that only NumPy
    has.
    """
    arrays = [a if isinstance(a, Array) else np.asarray(a) for a in (start, stop)]
    if not all(on_device(a.dtype) for a in arrays):
        return True
    if any(isinstance(a, Array) for a in arrays) or type(num) is Size:
        return False
    return num * math.prod(np.broadcast_shapes(*[a.shape for a in arrays])) <= SMALL


def _inexact_type(*xs: Any) -> np.dtype[Any]:
    """NumPy's result type of these and a Python float; Python scalars are weak."""
    return np.result_type(*map(kind_of, xs), 0.0)


def _linspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any) -> tuple[Array, Any]:
    """Returns the samples, on axis 0, and the step."""
    wide = _inexact_type(start, stop)
    first, last = (_exactly(x, wide) for x in (start, stop))
    delta: Any
    if _is_known(first) and _is_known(last):
        delta = quietly(np.subtract, [last, first])
    else:
        delta = ufuncs.subtract(last, first)
    count = num - 1 if endpoint else num
    shape = (num,) + (1,) * delta.ndim
    index = shaping.iota(shape=shape, axis=0, dtype=wide)
    if type(num) is Size:
        return _linspace_of_size(index, count, (first, last, delta), endpoint, dtype or wide)
    if count > 0:
        step = (np.divide if _is_known(delta) else ufuncs.divide)(delta, count)
        y = _steps(index, step, delta, count)
    else:
        step = float("nan")
        y = ufuncs.multiply(index, delta)
    y = ufuncs.add(y, first)
    if endpoint and num > 1:
        setitem(y, -1, last)
    if dtype is not None and dtype.kind in "iu":
        y = ufuncs.floor(y)
    return own(cast(y, wide if dtype is None else dtype)), step


def _is_known(x: Any) -> bool:
    """Whether this is a number of NumPy's, not a Scalar, which passes for one."""
    return isinstance(x, np.generic) and not isinstance(x, Array)


def _linspace_of_size(
    index: Array, count: Any, ends: tuple[Any, Any, Any], endpoint: bool, dtype: Any
) -> tuple[Array, Any]:
    """The same for a number of samples that has no value yet."""
    first, last, delta = ends
    several = ufuncs.greater(count, 0)
    step = ufuncs.divide(delta, largest(count, 1))
    y = ufuncs.add(_steps(index, step, delta, largest(count, 1)), first)
    if endpoint:
        at_end = ufuncs.logical_and(ufuncs.equal(index, count), several)
        y = apply(elementwise.select, at_end, last, y)
    if dtype.kind in "iu":
        y = ufuncs.floor(y)
    return own(cast(y, dtype)), apply(elementwise.select, several, step, float("nan"))


def _exactly(x: Any, dtype: np.dtype[Any]) -> Any:
    """The number or array in a dtype; a concrete scalar stays on the host, in that dtype."""
    if isinstance(x, Array):
        return cast(x, dtype)
    value = np.asarray(x).astype(dtype)
    return value[()] if value.ndim == 0 else from_numpy(value)


def _steps(index: Array, step: Any, delta: Any, count: int) -> Array:
    """`index * step`; if a step underflows to zero, divide first (NumPy's gh-5437)."""
    y = ufuncs.multiply(index, step)
    if _is_known(step):
        return y if step else ufuncs.multiply(ufuncs.divide(index, count), delta)
    underflow = ufuncs.equal(step, 0)
    if isinstance(underflow, Scalar):
        known = underflow._read()[2]
        if known is not None and not known:
            return y
    any_ = reduction.reduce_or(as_array(underflow), axes=tuple(range(underflow.ndim)))
    careful = ufuncs.multiply(ufuncs.divide(index, count), delta)
    return apply(elementwise.select, any_, careful, y)


def _axis_moved(y: Array, axis: Any) -> Array:
    """Move axis 0 to the requested place."""
    target = np.lib.array_utils.normalize_axis_index(axis, y.ndim, "destination")
    if target == 0:
        return y
    order = (*range(1, target + 1), 0, *range(target + 1, y.ndim))
    return shaping.transpose(y, permutation=order)


# -- logarithmic -----------------------------------------------------------------------------------


@placing
@evenly(np.logspace, SMALL)
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: Any = 0,
) -> Array:
    """See `numpy.logspace`."""
    if not isinstance(base, Array) and _at_once(start, stop, as_size(num)):
        dtype = None if dtype is None else dtype_argument(dtype)
        args = (static(start), static(stop), num, endpoint, base, dtype, axis)
        return from_numpy(np.logspace(*args))
    if not isinstance(base, (float, int)) and np.ndim(base):
        # the base broadcasts too, and so affects the meaning of `axis`
        ndim = max(np.ndim(a) for a in (start, stop, base))
        start, stop, base = (array(a, copy=None, ndmin=ndim) for a in (start, stop, base))
        axis = np.lib.array_utils.normalize_axis_index(axis, ndim + 1)
        base = reshaped(base, (*base.shape[:axis], 1, *base.shape[axis:]))
    y = ufuncs.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else cast(y, dtype_argument(dtype))


@placing
@evenly(np.geomspace, SMALL)
def geomspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    dtype: Any = None,
    axis: Any = 0,
) -> Array:
    """See `numpy.geomspace`. Computes the ends, because they decide whether it raises."""
    num = as_size(num)
    if _at_once(start, stop, num):
        return from_numpy(np.geomspace(static(start), static(stop), num, endpoint, dtype, axis))
    start, stop = as_array(start), as_array(stop)
    for x in (start, stop):
        refuse(ufuncs.equal(x, 0), ValueError, "Geometric sequence cannot include zero")
    wide = np.result_type(start.dtype, stop.dtype, 1.0, np.zeros((), dtype).dtype)
    start, stop = cast(start, wide), cast(stop, wide)
    sign = ufuncs.sign(start)  # negative and complex sequences are rotated to positive numbers
    start, stop = ufuncs.divide(start, sign), ufuncs.divide(stop, sign)
    ends = ufuncs.log10(start), ufuncs.log10(stop)
    y = cast(logspace(*ends, num, endpoint), wide)
    shape = (num,) + (1,) * (y.ndim - 1)
    index = shaping.iota(shape=shape, axis=0, dtype=np.dtype("i8"))
    if endpoint and (is_size(num) or num > 1):
        y = apply(elementwise.select, ufuncs.equal(index, num - 1), stop, y)
    y = apply(elementwise.select, ufuncs.equal(index, 0), start, y)
    y = _axis_moved(broadcast(ufuncs.multiply(y, sign), y.shape), axis)
    return cast(y, wide if dtype is None else dtype_argument(dtype))
