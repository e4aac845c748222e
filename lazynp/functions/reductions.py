"""Sums, products, extrema, means: reductions over axes, and cumulative functions."""

from __future__ import annotations

import builtins
import operator
from types import GeneratorType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from lazynp import _errstate
from lazynp._array import Array, NDArray, new_array
from lazynp._avals import native, on_device
from lazynp._extents import known_empty
from lazynp._strides import copied_order, in_order
from lazynp.functions import ufuncs
from lazynp.functions._arguments import NO_AXIS, check_axis, dtype_of_no_array, mask_argument
from lazynp.functions._checks import refuse
from lazynp.functions._eager import by_numpy
from lazynp.functions._host import host_call, host_into, needs_host
from lazynp.functions._operands import (
    as_array,
    broadcast,
    cast,
    check_writeable,
    scalar_if_0d,
    store,
)
from lazynp.functions._reduce import (
    ADD,
    ALL,
    ANY,
    BOOL,
    MAXIMUM,
    MINIMUM,
    MULTIPLY,
    NO_VALUE,
    Reduction,
    accumulate,
    count_of,
    kept_shape,
    reduce,
    reduced_axes,
    reduced_by,
    single_axis,
)
from lazynp.primitives import elementwise, reduction, shaping

_FLOAT64 = np.dtype(np.float64)
_INT64 = np.dtype(np.int64)


# -- sums, products, extrema -----------------------------------------------------------------------


@reduced_by(ADD, typed=True)
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """See `numpy.sum`."""
    if type(a) is GeneratorType:
        raise TypeError(
            "Calling np.sum(generator) is deprecated."
            "Use np.sum(np.fromiter(generator)) or the python sum builtin instead."
        )
    return reduce(ADD, a, axis, dtype, out, keepdims, initial, where)


@reduced_by(MULTIPLY, typed=True)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """See `numpy.prod`."""
    return reduce(MULTIPLY, a, axis, dtype, out, keepdims, initial, where)


@reduced_by(MAXIMUM)
def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """See `numpy.max`."""
    return reduce(MAXIMUM, a, axis, None, out, keepdims, initial, where)


@reduced_by(MINIMUM)
def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """See `numpy.min`."""
    return reduce(MINIMUM, a, axis, None, out, keepdims, initial, where)


amax, amin = max, min


def _truth(a: Any) -> Any:
    """For objects, NumPy's loops return one of the objects unless told otherwise."""
    return None if isinstance(a, Array) and on_device(a.dtype) else BOOL


@reduced_by(ANY)
def any(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE
) -> Any:
    """See `numpy.any`."""
    return reduce(ANY, a, axis, _truth(a), out, keepdims, NO_VALUE, where)


@reduced_by(ALL)
def all(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE
) -> Any:
    """See `numpy.all`."""
    return reduce(ALL, a, axis, _truth(a), out, keepdims, NO_VALUE, where)


@by_numpy(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE) -> Any:
    """See `numpy.ptp`."""
    x = as_array(a)
    high, low = max(x, axis, out, keepdims), min(x, axis, None, keepdims)
    return ufuncs.subtract(high, low, out=out) if out is not None else ufuncs.subtract(high, low)


@by_numpy(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """See `numpy.count_nonzero`."""
    x = as_array(a)
    if needs_host(x):
        return host_call(np.count_nonzero, x, axis, keepdims=keepdims)
    return reduce(ADD, cast(x, BOOL), axis, _INT64, None, keepdims)


# -- mean, variance --------------------------------------------------------------------------------


def _count(x: Array, axis: Any, keepdims: Any, where: Any) -> Any:
    """The number of elements behind each result: an int, or an array of ints under `where`."""
    if where is True or where is NO_VALUE:
        if x.ndim == 0 and axis is not None:
            normalize_axis_tuple(axis, 0)  # raises; a sum accepts axis 0 here
        return count_of(x.shape, reduced_axes(axis, x.ndim))
    mask = mask_argument(where)
    return reduce(ADD, broadcast(mask, x.shape), axis, _INT64, None, keepdims)


def _quotient(total: Any, count: Any) -> Any:
    """total / count in the dtype of total."""
    # float32 holds any count
    wide = cast(total, np.float32) if total.dtype == np.float16 else total
    result = ufuncs.divide(wide, count)
    return scalar_if_0d(cast(result, total.dtype))


def _into(result: Any, out: Any) -> Any:
    return result if out is None else store(result, out, "unsafe")


def _check_result(x: Array, axis: Any, dtype: Any, out: Any, keepdims: Any) -> Any:
    """NumPy sums into `out` first, and this sum decides whether `out` fits, and the dtype."""
    if out is None:
        return dtype
    check_writeable(out)
    total = reduce(ADD, new_array(x._read()), axis, dtype, None, keepdims)
    if out.shape != total.shape:
        reduce(ADD, x, axis, dtype, out, keepdims)  # raises
    return dtype


@by_numpy(np.mean)
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
) -> Any:
    """See `numpy.mean`."""
    x = as_array(a)
    if needs_host(x) or dtype is not None and not on_device(dtype_of_no_array(dtype)):
        options = _given(keepdims=keepdims, where=where)
        return host_into(np.mean, x, axis, dtype, out=out, **options)
    loop = dtype
    if dtype is None and x.dtype.kind in "biu":
        loop = _FLOAT64
    elif dtype is None and x.dtype == np.float16:
        loop = np.dtype(np.float32)
    _check_result(x, axis, loop, out, keepdims)
    total = reduce(ADD, x, axis, loop, None, keepdims, NO_VALUE, where)
    count = _count(x, axis, keepdims, where)
    if isinstance(count, int) and not count:
        _errstate.warn("Mean of empty slice")
    result = _quotient(total, count)
    if dtype is None and x.dtype == np.float16 and out is None:
        result = scalar_if_0d(cast(result, x.dtype))
    return _into(result, out)


def _given(**options: Any) -> dict[str, Any]:
    return {k: v for k, v in options.items() if v is not NO_VALUE}


@by_numpy(np.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Any:
    """See `numpy.var`."""
    ddof = degrees(ddof, correction)
    x = as_array(a)
    if needs_host(x) or dtype is not None and not on_device(dtype_of_no_array(dtype)):
        options = _given(keepdims=keepdims, where=where, mean=mean)
        return host_into(np.var, x, axis, dtype, ddof=ddof, out=out, **options)
    loop = _FLOAT64 if dtype is None and x.dtype.kind in "biu" else dtype
    _check_result(x, axis, loop, out, keepdims)
    if mean is NO_VALUE or mean is None:
        total = reduce(ADD, x, axis, loop, None, True, NO_VALUE, where)
        mean = _quotient(total, _count(x, axis, True, where))
    squares = in_order(squared_modulus(ufuncs.subtract(x, mean), x.dtype), copied_order(x))
    total = reduce(ADD, squares, axis, loop, None, keepdims, NO_VALUE, where)
    count = _count(x, axis, keepdims, where)
    if isinstance(count, int):
        if isinstance(ddof, (int, float)) and count <= ddof:
            _errstate.warn("Degrees of freedom <= 0 for slice")
        freedom: Any = builtins.max(count - ddof, 0)
    else:
        freedom = ufuncs.maximum(ufuncs.subtract(count, ddof), 0)
    return _into(_quotient(total, freedom), out)


def degrees(ddof: Any, correction: Any) -> Any:
    """`ddof` by either of its names."""
    if correction is NO_VALUE:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def squared_modulus(x: Array, dtype: np.dtype[Any]) -> Array:
    """|x|**2; NumPy multiplies what is not a number (a bool) by itself."""
    if x.dtype.kind == "c":
        re, im = elementwise.real(x), elementwise.imag(x)
        return elementwise.add(elementwise.square(re), elementwise.square(im))
    return elementwise.square(x) if dtype.kind != "b" else elementwise.multiply(x, x)


@by_numpy(np.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Any:
    """See `numpy.std`."""
    if out is not None and needs_host(as_array(a)):
        options = _given(keepdims=keepdims, where=where, mean=mean)
        ddof = degrees(ddof, correction)
        return host_into(np.std, a, axis, dtype, ddof=ddof, out=out, **options)
    variance = var(
        a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction
    )
    if out is not None:
        _check_result(as_array(a), axis, dtype, out, keepdims)
        return ufuncs.sqrt(cast(variance, out.dtype), out=out)
    if isinstance(variance, NDArray) and variance.dtype.kind in "iu":
        return ufuncs.sqrt(variance, out=variance)  # raises
    return scalar_if_0d(cast(ufuncs.sqrt(variance), variance.dtype))


@by_numpy(np.average)
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = NO_VALUE,
) -> Any:
    """See `numpy.average`. Computes the sum of the weights, because zero is an error."""
    x = as_array(a)
    if axis is not None:
        axis = normalize_axis_tuple(axis, x.ndim, argname="axis")
    if needs_host(x, *([] if weights is None else [as_array(weights)])):
        options = {} if keepdims is NO_VALUE else {"keepdims": keepdims}
        return host_call(np.average, x, axis, weights, returned, **options)
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        scale: Any = cast(as_array(x.size / result.size), result.dtype)
    else:
        w = weights_for(weights, x, axis)
        dtype = np.result_type(x.dtype, w.dtype, *(["f8"] if x.dtype.kind in "biu" else []))
        scale = sum(w, axis, dtype, keepdims=keepdims)
        zero = ufuncs.equal(scale, 0.0)
        refuse(zero, ZeroDivisionError, "Weights sum to zero, can't be normalized")
        products = ufuncs.multiply(cast(x, dtype), cast(w, dtype))
        result = ufuncs.divide(sum(products, axis, keepdims=keepdims), scale)
    if not returned:
        return result
    if scale.shape != result.shape:
        scale = broadcast(scale, result.shape)
    return result, scalar_if_0d(scale)


def weights_for(weights: Any, x: Array, axis: Any) -> Array:
    """The weights, in a shape that broadcasts against x. `axis`: a tuple, or None."""
    w = as_array(weights)
    if w.shape == x.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple(x.shape[i] for i in axis):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    w = shaping.transpose(w, permutation=tuple(int(i) for i in np.argsort(axis)))
    return shaping.reshape(w, shape=tuple(n if i in axis else 1 for i, n in enumerate(x.shape)))


# -- argmax, argmin --------------------------------------------------------------------------------


def _arg(primitive: Any, name: str, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    x = as_array(a)
    check_axis(axis, NO_AXIS)
    keepdims = keepdims is not NO_VALUE and keepdims
    if needs_host(x):
        return host_into(getattr(np, name), x, axis, out=out, keepdims=keepdims)
    shape = (1,) * x.ndim
    if axis is None:
        flat, axis = shaping.reshape(x, shape=(x.size,)), 0
    elif x.ndim == 0:
        normalize_axis_index(axis, 1)
        flat, axis = shaping.reshape(x, shape=(1,)), 0
    else:
        flat, axis = x, normalize_axis_index(axis, x.ndim)
        shape = kept_shape(x.shape, (axis,))
    if known_empty(flat.size) and flat.shape[axis]:
        kept = kept_shape(flat.shape, (axis,))
        result = shaping.full(0, shape=_less(kept, axis), dtype=_INT64)
    else:
        result = primitive(flat, axis=axis)
    if keepdims:
        result = shaping.reshape(result, shape=shape)
    if out is None:
        return scalar_if_0d(result)
    if not isinstance(out, (Array, np.ndarray)):
        raise TypeError("output must be an array")
    if out.shape != result.shape:
        raise ValueError(f"output array does not match result of np.{name}.")
    if not np.can_cast(out.dtype, _INT64, "safe"):
        raise TypeError(
            f"Cannot cast array data from {out.dtype!r} to dtype('int64') according to the rule "
            "'safe'"
        )
    check_writeable(out, "output must be an array")
    return store(result, out, "unsafe")


def _less(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


@by_numpy(np.argmax)
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    """See `numpy.argmax`."""
    return _arg(reduction.argmax, "argmax", a, axis, out, keepdims)


@by_numpy(np.argmin)
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    """See `numpy.argmin`."""
    return _arg(reduction.argmin, "argmin", a, axis, out, keepdims)


# -- cumulative sums and products ------------------------------------------------------------------


def _running(row: Reduction, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    x = as_array(a)
    check_axis(axis, NO_AXIS)
    dtype = None if dtype is None else native(dtype_of_no_array(dtype))
    if axis is None or x.ndim == 0:
        if axis is not None:
            normalize_axis_index(axis, 1)
        x, axis = shaping.reshape(x, shape=(x.size,)), 0
    else:
        axis = operator.index(axis)
    return accumulate(row, x, axis, dtype, out)


@by_numpy(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """See `numpy.cumsum`."""
    return _running(ADD, a, axis, dtype, out)


@by_numpy(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """See `numpy.cumprod`."""
    return _running(MULTIPLY, a, axis, dtype, out)


def _cumulative(
    row: Reduction, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool
) -> Any:
    x = as_array(x)
    if x.ndim == 0:
        x = shaping.reshape(x, shape=(1,))
    if axis is None:
        if x.ndim >= 2:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        axis = 0
    if not include_initial:
        return accumulate(row, x, axis, dtype, out)
    axis = single_axis(axis, x.ndim, "accumulate")
    if out is not None:  # whose dtype the sums have, as without the first one
        places = [slice(None)] * x.ndim
        accumulate(row, x, axis, dtype, out[(*places[:axis], slice(1, None), *places[axis + 1 :])])
        out[(*places[:axis], 0, *places[axis + 1 :])] = row.ufunc.identity
        return out
    result = accumulate(row, x, axis, dtype, None)
    shape = kept_shape(x.shape, (axis,))
    first = shaping.full(row.ufunc.identity, shape=shape, dtype=result.dtype)
    return shaping.concatenate(first, result, axis=axis)


@by_numpy(np.cumulative_sum)
def cumulative_sum(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """See `numpy.cumulative_sum`."""
    return _cumulative(ADD, x, axis, dtype, out, include_initial)


@by_numpy(np.cumulative_prod)
def cumulative_prod(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """See `numpy.cumulative_prod`."""
    return _cumulative(MULTIPLY, x, axis, dtype, out, include_initial)
