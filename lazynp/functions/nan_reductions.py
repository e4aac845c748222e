"""Reductions that ignore nan."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._errstate import quiet
from lazynp._extents import known_empty
from lazynp.functions import reductions, ufuncs
from lazynp.functions._checks import refuse
from lazynp.functions._eager import by_numpy
from lazynp.functions._host import host_into, needs_host
from lazynp.functions._operands import as_array, broadcast, cast, scalar_if_0d, store
from lazynp.functions._recording import apply
from lazynp.functions._reduce import FMAX, FMIN, NO_VALUE, reduce
from lazynp.primitives import elementwise, shaping

_INT64 = np.dtype(np.int64)


def without_nan(a: Any, value: Any) -> tuple[Array, Array | None]:
    """The array with nan replaced, and a mask of nan; None if its dtype has no nan."""
    x = as_array(a)
    if x.dtype.kind not in "fc":
        return x, None
    nan = elementwise.isnan(x)
    fill = shaping.full(value, shape=(), dtype=x.dtype)
    return elementwise.select(nan, _spread(fill, x), x), nan


def _spread(fill: Array, x: Array) -> Array:
    return broadcast(fill, x.shape)


def _on_host(name: str, a: Any, out: Any, *args: Any, **options: Any) -> Any:
    """NumPy's function, for dtypes that only it computes: objects may be nan too."""
    given = {k: v for k, v in options.items() if v is not NO_VALUE}
    return host_into(getattr(np, name), a, *args, out=out, **given)


@by_numpy(np.nansum)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """See `numpy.nansum`."""
    x = as_array(a)
    if needs_host(x):
        options = {"keepdims": keepdims, "initial": initial, "where": where}
        return _on_host("nansum", x, out, axis, dtype, **options)
    return reductions.sum(without_nan(x, 0)[0], axis, dtype, out, keepdims, initial, where)


@by_numpy(np.nanprod)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """See `numpy.nanprod`."""
    x = as_array(a)
    if needs_host(x):
        options = {"keepdims": keepdims, "initial": initial, "where": where}
        return _on_host("nanprod", x, out, axis, dtype, **options)
    return reductions.prod(without_nan(x, 1)[0], axis, dtype, out, keepdims, initial, where)


@by_numpy(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """See `numpy.nancumsum`."""
    x = as_array(a)
    if needs_host(x):
        return _on_host("nancumsum", x, out, axis, dtype)
    return reductions.cumsum(without_nan(x, 0)[0], axis, dtype, out)


@by_numpy(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """See `numpy.nancumprod`."""
    x = as_array(a)
    if needs_host(x):
        return _on_host("nancumprod", x, out, axis, dtype)
    return reductions.cumprod(without_nan(x, 1)[0], axis, dtype, out)


@by_numpy(np.nanmax)
def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """See `numpy.nanmax`. Does not warn if all elements are nan."""
    x = as_array(a)
    if needs_host(x):
        options = {"keepdims": keepdims, "initial": initial, "where": where}
        return _on_host("nanmax", x, out, axis, **options)
    return reduce(FMAX, x, axis, None, out, keepdims, initial, where)


@by_numpy(np.nanmin)
def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """See `numpy.nanmin`. Does not warn if all elements are nan."""
    x = as_array(a)
    if needs_host(x):
        options = {"keepdims": keepdims, "initial": initial, "where": where}
        return _on_host("nanmin", x, out, axis, **options)
    return reduce(FMIN, x, axis, None, out, keepdims, initial, where)


def _nanarg(function: Any, fill: float, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    x = as_array(a)
    if needs_host(x):
        return _on_host("nan" + function.__name__, x, out, axis, keepdims=keepdims)
    x, nan = without_nan(x, fill)
    if nan is not None and not known_empty(nan.aval.size):
        refuse(reductions.all(nan, axis), ValueError, "All-NaN slice encountered")
    return function(x, axis, out, keepdims=keepdims)


@by_numpy(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    """See `numpy.nanargmax`. Computes the data, because a slice of only nan is an error."""
    return _nanarg(reductions.argmax, -np.inf, a, axis, out, keepdims)


@by_numpy(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    """See `numpy.nanargmin`. Computes the data, because a slice of only nan is an error."""
    return _nanarg(reductions.argmin, np.inf, a, axis, out, keepdims)


def _check_inexact(dtype: Any, out: Any) -> None:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    if out is not None and out.dtype.kind not in "fc":
        raise TypeError("If a is inexact, then out must be inexact")


@quiet("divide", "invalid")
def _divided(total: Any, count: Any) -> Any:
    """total / count in the dtype of total; the count may exceed that dtype's range."""
    wide = cast(total, np.float32) if total.dtype == np.float16 else total
    return scalar_if_0d(cast(ufuncs.divide(wide, count), total.dtype))


@by_numpy(np.nanmean)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
) -> Any:
    """See `numpy.nanmean`. Does not warn of an empty slice."""
    x = as_array(a)
    if needs_host(x):
        return _on_host("nanmean", x, out, axis, dtype, keepdims=keepdims, where=where)
    x, nan = without_nan(x, 0)
    if nan is None:
        return reductions.mean(x, axis, dtype, out, keepdims, where=where)
    _check_inexact(dtype, out)
    valid = elementwise.logical_not(nan)
    count = reductions.sum(valid, axis, _INT64, None, keepdims, NO_VALUE, where)
    total = reductions.sum(x, axis, dtype, None, keepdims, NO_VALUE, where)
    if out is not None and out.shape != total.shape:
        reductions.sum(x, axis, dtype, out, keepdims)  # raises
    result = _divided(total, count)
    return result if out is None else store(result, out, "unsafe")


@by_numpy(np.nanvar)
def nanvar(
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
    """See `numpy.nanvar`. Does not warn if there are no degrees of freedom."""
    x = as_array(a)
    options = {"where": where, "mean": mean, "correction": correction}
    if needs_host(x):
        return _on_host("nanvar", x, out, axis, dtype, ddof=ddof, keepdims=keepdims, **options)
    x, nan = without_nan(x, 0)
    if nan is None:
        return reductions.var(x, axis, dtype, out, ddof, keepdims, **options)
    _check_inexact(dtype, out)
    ddof = reductions.degrees(ddof, correction)
    valid = elementwise.logical_not(nan)
    count = reductions.sum(valid, axis, _INT64, None, True, NO_VALUE, where)
    if mean is NO_VALUE:
        total = reductions.sum(x, axis, dtype, None, True, NO_VALUE, where)
        mean = _divided(total, count)
    centred = cast(ufuncs.subtract(x, mean), x.dtype)
    centred = apply(elementwise.select, nan, shaping.full(0, shape=(), dtype=x.dtype), centred)
    squares = reductions.squared_modulus(as_array(centred), x.dtype)
    total = reductions.sum(squares, axis, dtype, None, keepdims, NO_VALUE, where)
    freedom = ufuncs.subtract(shaping.reshape(as_array(count), shape=total.shape), ddof)
    result = _divided(total, freedom)
    nothing = shaping.full(np.nan, shape=(), dtype=result.dtype)
    result = apply(elementwise.select, ufuncs.less_equal(freedom, 0), nothing, result)
    if out is None:
        return result
    if out.shape != total.shape:
        reductions.sum(x, axis, dtype, out, keepdims)  # raises
    return store(result, out, "unsafe")


@by_numpy(np.nanstd)
def nanstd(
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
    """See `numpy.nanstd`. Does not warn if there are no degrees of freedom."""
    options = {"where": where, "mean": mean, "correction": correction}
    variance = nanvar(a, axis, dtype, out, ddof, keepdims, **options)
    result = ufuncs.sqrt(variance)
    if out is not None:
        return store(result, out, "unsafe")
    return scalar_if_0d(cast(result, variance.dtype))


__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod",
    "nanstd", "nansum", "nanvar",
]  # fmt: skip
