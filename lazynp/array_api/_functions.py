"""Functions that differ between the standard and NumPy, or have keywords that NumPy's lack.

All other functions are lazynp's own. docs/array-api.md quotes both texts for each function.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lazynp._array import Array, Scalar
from lazynp.functions import (
    creation,
    differences,
    indexing,
    logic,
    manipulation,
    reductions,
    rounding,
    sorting,
    ufuncs as u,
)
from lazynp.functions._arguments import own
from lazynp.functions._operands import as_array, cast
from lazynp.functions._selection import where


def _array(x: Any) -> Array:
    """An Array, never a Scalar: 0-d results of the standard's functions accept assignment."""
    return own(x) if isinstance(x, Scalar) else x


# -- sorting ---------------------------------------------------------------------------------------


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Sort along an axis, stable in either direction. NaN counts as the largest value."""
    x = as_array(x)
    if not descending:
        return sorting.sort(x, axis)
    return manipulation.flip(sorting.sort(x, axis), axis)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The indices that sort along an axis. Equal elements keep their order in either direction."""
    x = as_array(x)
    if not descending:
        return sorting.argsort(x, axis)
    # sort with the last of equal elements first, then reverse
    order = manipulation.flip(sorting.argsort(manipulation.flip(x, axis), axis), axis)
    return u.subtract(x.shape[axis] - 1, order)


# -- statistics ------------------------------------------------------------------------------------


def _spread(function: Any, x: Any, axis: Any, correction: float, keepdims: bool) -> Any:
    x = as_array(x)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    count = math.prod([x.shape[a] for a in axes])
    if type(count) is not int:  # a size that is traced
        found = function(x, axis=axis, ddof=correction, keepdims=keepdims)
        return _array(where(u.greater(count, correction), found, math.nan))
    if count - correction > 0:
        return _array(function(x, axis=axis, ddof=correction, keepdims=keepdims))
    out = reductions.sum(x, axis=axis, keepdims=keepdims)
    dtype = x.dtype if x.dtype.kind == "f" else "f8"
    if x.dtype.kind == "c":
        dtype = f"f{x.dtype.itemsize // 2}"
    return creation.full(out.shape, math.nan, dtype)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance. NaN where there are no more elements than `correction`."""
    return _spread(reductions.var, x, axis, correction, keepdims)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation. NaN where there are no more elements than `correction`."""
    return _spread(reductions.std, x, axis, correction, keepdims)


# -- elementwise -----------------------------------------------------------------------------------


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Limit `x` to the bounds; the result has the dtype of `x`."""
    x = as_array(x)
    out = rounding.clip(x, min, max)
    return _array(out if out.dtype == x.dtype else cast(out, x.dtype))


def floor_divide(x1: Any, x2: Any, /) -> Any:
    """floor(x1 / x2). An infinite operand gives the floor of the true quotient."""
    out = u.floor_divide(x1, x2)
    if out.dtype.kind != "f":
        return _array(out)
    quotient = u.floor(u.divide(x1, x2))
    infinite = u.logical_or(u.isinf(x1), u.isinf(x2))
    return _where(infinite, quotient, out)


def expm1(x: Any, /) -> Any:
    """exp(x) - 1. For a complex `x` that is not finite, the special values are those of `exp`."""
    out = u.expm1(x)
    if out.dtype.kind != "c":
        return _array(out)
    return _where(u.isfinite(x), out, u.subtract(u.exp(x), 1))


def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent. If the real part is infinite, the imaginary part of the result is a
    zero with the sign of the operand's; C, and NumPy, give it the sign of sin(2b).
    """
    out = u.tanh(x)
    if out.dtype.kind != "c":
        return _array(out)
    a, b = logic.real(x), logic.imag(x)
    return _where(u.logical_and(u.isinf(a), u.isfinite(b)), _signed(1.0, a, 0.0, b, out), out)


def tan(x: Any, /) -> Any:
    """The tangent. If the imaginary part is infinite, the result is that of `-1j * tanh(x *
    1j)`.
    """
    out = u.tan(x)
    if out.dtype.kind != "c":
        return _array(out)
    a, b = logic.real(x), logic.imag(x)
    return _where(u.logical_and(u.isinf(b), u.isfinite(a)), _signed(0.0, a, 1.0, b, out), out)


def _signed(re: float, re_sign: Any, im: float, im_sign: Any, like: Array) -> Any:
    """The number with these parts, with the signs of these arrays."""
    number = like.dtype.type
    up, down = (
        _where(u.signbit(re_sign), number(complex(-re, part)), number(complex(re, part)))
        for part in (im, -im)
    )
    return _where(u.signbit(im_sign), down, up)


def sign(x: Any, /) -> Any:
    """x / |x|, and 0 for 0. NaN in both parts if either part of x is NaN."""
    out = u.sign(x)
    if out.dtype.kind != "c":
        return _array(out)
    return _where(u.isnan(x), out.dtype.type(complex(math.nan, math.nan)), out)


def _where(condition: Any, x: Any, y: Any) -> Any:
    return _array(indexing.where(condition, x, y))


# -- the rest --------------------------------------------------------------------------------------


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Convert `x` to another dtype. TypeError for complex `x` and a real dtype: use `real` or
    `imag`.
    """
    if x.dtype.kind == "c" and np.dtype(dtype).kind in "iuf":
        raise TypeError(f"astype: {x.dtype} cannot be cast to {np.dtype(dtype)}: take real or imag")
    return manipulation.astype(x, dtype, copy=copy, device=device)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences along an axis. `prepend` and `append` are arrays, or None."""
    given = {"prepend": prepend, "append": append}
    return differences.diff(x, n, axis, **{k: v for k, v in given.items() if v is not None})


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The elements at indices along an axis, which is required unless `x` has one dimension."""
    x = as_array(x)
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: axis must be given for an array of {x.ndim} dimensions")
    return _array(indexing.take(x, indices, axis=0 if axis is None else axis))
