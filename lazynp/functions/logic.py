"""Questions about values: closeness, equality, kinds; parts of complex numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, new_array
from lazynp._errstate import quiet, warn
from lazynp._extents import broadcast_shapes
from lazynp._flush import host_value
from lazynp._node import VALUE
from lazynp._overrides import Overridden
from lazynp._strides import copied_order, in_order
from lazynp._values import there
from lazynp._views import showing
from lazynp.functions import reductions, ufuncs
from lazynp.functions._arguments import NO_COPY
from lazynp.functions._eager import by_method, by_numpy
from lazynp.functions._host import host_call, host_into, needs_host
from lazynp.functions._operands import (
    as_array,
    broadcast,
    cast,
    check_writeable,
    scalar_if_0d,
    store,
)
from lazynp.functions._recording import apply
from lazynp.functions._reduce import BOOL
from lazynp.primitives import elementwise, shaping

# -- closeness and equality ------------------------------------------------------------------------


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """See `numpy.isclose`."""
    _look_at(rtol, atol)
    return _isclose(a, b, rtol, atol, equal_nan)


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """See `numpy.allclose`. The result is a lazy scalar, unless its value is there."""
    _look_at(rtol, atol)
    return _allclose(a, b, rtol, atol, equal_nan)


def _look_at(rtol: Any, atol: Any) -> None:
    """Warn of tolerances that are not finite, unless nobody knows them yet."""
    for tolerance in (rtol, atol):
        if type(tolerance) is float and math.isfinite(tolerance) or type(tolerance) is int:
            continue
        if isinstance(tolerance, Array):
            value = there(tolerance._read())
            finite = value is None or value.dtype.kind not in "fc" or np.all(np.isfinite(value))
        else:
            finite = not isinstance(tolerance, (float, complex)) or np.all(np.isfinite(tolerance))
        if not finite:
            text = f"One of rtol or atol is not valid, atol: {atol}, rtol: {rtol}"
            how = np.geterr()["invalid"]
            if how == "raise":
                raise FloatingPointError(text)
            if how == "warn":
                warn(text)
            return


@quiet("invalid")
@by_numpy(np.isclose)
def _isclose(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    x, y, atol, rtol = (
        v if isinstance(v, (int, float, complex)) and not isinstance(v, np.generic) else as_array(v)
        for v in (a, b, atol, rtol)
    )
    if isinstance(x, Array) and needs_host(x) or isinstance(y, Array) and needs_host(y):
        return host_call(np.isclose, x, y, rtol, atol, equal_nan)
    if isinstance(y, Array):
        y = cast(y, np.result_type(y.dtype, 1.0))
    elif isinstance(y, int):
        y = float(y)
    u = ufuncs
    bound = u.add(atol, u.multiply(rtol, u.absolute(y)))
    close = u.logical_and(u.less_equal(u.absolute(u.subtract(x, y)), bound), u.isfinite(y))
    result = u.logical_or(close, u.equal(x, y))
    if equal_nan:
        result = u.logical_or(result, u.logical_and(u.isnan(x), u.isnan(y)))
    return result


@quiet("invalid")
@by_numpy(np.allclose)
def _allclose(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    return _told(reductions.all(_isclose(a, b, rtol, atol, equal_nan)))


@by_numpy(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """See `numpy.array_equal`. The result is a lazy scalar, unless its value is there."""
    try:
        x, y = as_array(a1), as_array(a2)
    except Overridden:
        raise
    except Exception:
        return False
    if x.shape != y.shape:
        return False
    if equal_nan and a1 is a2:
        return True
    if needs_host(x, y):
        return host_call(np.array_equal, x, y, equal_nan)
    same = ufuncs.equal(x, y)
    if equal_nan:
        both = ufuncs.logical_and(ufuncs.isnan(x), ufuncs.isnan(y))
        same = ufuncs.logical_or(same, both)
    return _told(reductions.all(same))


def _told(result: Any) -> Any:
    """A truth as Python's, as NumPy gives it, if its value is there."""
    value = result._node[VALUE] if type(result) is Scalar else None
    return bool(value) if type(value) is np.bool_ else result


@by_numpy(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    """See `numpy.array_equiv`. The result is a lazy scalar, unless its value is there."""
    try:
        x, y = as_array(a1), as_array(a2)
        broadcast_shapes(x.shape, y.shape)
    except Overridden:
        raise
    except Exception:
        return False
    if needs_host(x, y):
        return host_call(np.array_equiv, x, y)
    return _told(reductions.all(ufuncs.equal(x, y)))


# -- kinds of values -------------------------------------------------------------------------------


def _infinite(x: Any, out: Any, *, positive: bool) -> Any:
    x = as_array(x)
    if x.dtype.kind not in "biuf":
        np.isinf(np.empty(0, x.dtype))  # which not even that takes
        raise TypeError(
            f"This operation is not supported for {x.dtype} values because it would be ambiguous."
        )
    if needs_host(x):
        return host_into(np.isposinf if positive else np.isneginf, x, out=out)
    if x.dtype.kind != "f":
        result: Any = _everywhere(False, x)
    else:
        result = ufuncs.equal(x, np.inf if positive else -np.inf)
    return result if out is None else store(result, out)


def isposinf(x: Any, out: Any = None) -> Any:
    """See `numpy.isposinf`."""
    return _infinite(x, out, positive=True)


def isneginf(x: Any, out: Any = None) -> Any:
    """See `numpy.isneginf`."""
    return _infinite(x, out, positive=False)


@by_numpy(np.iscomplex)
def iscomplex(x: Any) -> Any:
    """See `numpy.iscomplex`."""
    x = as_array(x)
    if x.dtype.kind == "c":
        return ufuncs.not_equal(elementwise.imag(x), 0)
    return scalar_if_0d(shaping.full(False, shape=x.shape, dtype=BOOL))


@by_numpy(np.isreal)
def isreal(x: Any) -> Any:
    """See `numpy.isreal`."""
    x = as_array(x)
    if x.dtype.kind == "c":
        return ufuncs.equal(elementwise.imag(x), 0)
    if needs_host(x):
        return host_call(np.isreal, x)
    return _everywhere(True, x)


def _everywhere(truth: bool, x: Array) -> Any:
    result = shaping.full(truth, shape=x.shape, dtype=BOOL)
    return scalar_if_0d(in_order(result, copied_order(x)))


def iscomplexobj(x: Any) -> bool:
    """See `numpy.iscomplexobj`."""
    dtype = getattr(x, "dtype", None)
    return (as_array(x).dtype if dtype is None else np.dtype(dtype)).kind == "c"


def isrealobj(x: Any) -> bool:
    """See `numpy.isrealobj`."""
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """See `numpy.isscalar`."""
    return isinstance(element, Scalar) or np.isscalar(element)


# -- parts -----------------------------------------------------------------------------------------


@showing
def real(val: Any) -> Any:
    """See `numpy.real`. A view of an array."""
    try:
        return val.real
    except AttributeError:
        return as_array(val).real  # type: ignore[attr-defined]


@showing
def imag(val: Any) -> Any:
    """See `numpy.imag`. A view of a complex array."""
    try:
        return val.imag
    except AttributeError:
        return as_array(val).imag  # type: ignore[attr-defined]


def real_if_close(a: Any, tol: float = 100) -> Any:
    """See `numpy.real_if_close`. Computes the data, because they determine the dtype of the
    result.
    """
    x = as_array(a)
    if isinstance(x, Scalar):
        x = new_array(x._read())
    if x.dtype.kind != "c":
        return x
    if tol > 1:
        tol = float(np.finfo(x.dtype).eps) * tol
    small = reductions.all(ufuncs.less(ufuncs.absolute(elementwise.imag(x)), tol))
    return real(x) if host_value(small._read()) else x


@by_method(np.nan_to_num, 1, without=("copy",), function=np.nan_to_num)  # `copy=False` writes
def nan_to_num(
    x: Any, copy: bool | None = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """See `numpy.nan_to_num`."""
    if copy is None:  # only if it must, as `np.array`
        copy = not isinstance(x, (NDArray, np.ndarray))
    if not copy and not isinstance(x, (NDArray, np.ndarray)):
        raise ValueError(NO_COPY)
    source = as_array(x)
    if source.dtype.kind in "fc" and needs_host(source) and copy:
        return host_call(np.nan_to_num, source, True, nan, posinf, neginf)
    if source.dtype.kind not in "fc":
        if isinstance(x, np.ndarray) and not copy:
            return x
        copied = in_order(_fresh(source), copied_order(source)) if copy else source
        return scalar_if_0d(copied)
    values = (nan, posinf, neginf)
    if source.dtype.kind == "c":
        parts = (_finite(p(source), *values) for p in (elementwise.real, elementwise.imag))
        result = cast(elementwise.complex_(*parts), source.dtype)
    else:
        result = cast(_finite(source, *values), source.dtype)
    if not copy:
        check_writeable(x, name="assignment destination")
        if isinstance(x, np.ndarray):  # a NumPy array, from another library
            return store(result, x)
        store(result, source)
        return scalar_if_0d(source)
    return scalar_if_0d(result)


def _fresh(x: Array) -> Array:
    return broadcast(shaping.reshape(x, shape=x.shape), x.shape)


def _finite(x: Array, nan: Any, posinf: Any, neginf: Any) -> Array:
    limits = np.finfo(x.dtype)
    posinf = float(limits.max) if posinf is None else posinf
    neginf = float(limits.min) if neginf is None else neginf
    result: Any = apply(elementwise.select, ufuncs.isnan(x), cast(nan, x.dtype), x)
    for infinity, value in ((np.inf, posinf), (-np.inf, neginf)):
        found = ufuncs.equal(x, infinity)
        result = apply(elementwise.select, found, cast(value, x.dtype), result)
    return as_array(result)
