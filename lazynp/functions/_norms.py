"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.linalg import LinAlgError

from lazynp._array import Array
from lazynp._dimensions import require_some
from lazynp._errstate import quiet
from lazynp.functions import reductions, ufuncs
from lazynp.functions._eager import by_numpy
from lazynp.functions._factorizations import svdvals
from lazynp.functions._getset import getitem
from lazynp.functions._host import host_call, needs_host
from lazynp.functions._matrices import (
    check_square,
    common_types,
    identity,
    is_empty_2d,
    operand,
    real_type,
    result,
)
from lazynp.functions._operands import as_array, cast, plain, scalar_if_0d
from lazynp.functions.logic import real
from lazynp.functions.manipulation import moveaxis, reshape, transpose
from lazynp.functions.products import dot
from lazynp.primitives import elementwise, linear_algebra

_sum, _max, _min = reductions.sum, reductions.max, reductions.min


@by_numpy(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """See `numpy.linalg.norm`."""
    x = as_array(x)
    if needs_host(x):
        return host_call(np.linalg.norm, x, ord, axis, keepdims)
    if x.dtype.kind not in "fc":
        x = cast(x, np.float64)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            return _euclidean(x, keepdims)
        axis = tuple(range(x.ndim))
    elif not isinstance(axis, tuple):
        try:
            axis = (int(axis),)
        except Exception as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    if len(axis) == 1:
        return _vector_norm(x, ord, axis, keepdims)
    if len(axis) == 2:
        return _matrix_norm(x, ord, axis, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _euclidean(x: Array, keepdims: Any) -> Any:
    """The Euclidean norm of all elements."""
    flat = x if x.ndim == 1 else reshape(x, -1)
    if x.dtype.kind == "c":
        re, im = elementwise.real(plain(flat)), elementwise.imag(plain(flat))
        square = ufuncs.add(dot(re, re), dot(im, im))
    else:
        square = dot(flat, flat)
    out = ufuncs.sqrt(square)
    return reshape(out, (1,) * x.ndim) if keepdims else out


def _squares(x: Array) -> Any:
    if x.dtype.kind == "f":
        return ufuncs.square(x)
    return real(ufuncs.multiply(ufuncs.conjugate(x), x))


def _vector_norm(x: Array, ord: Any, axis: tuple[int, ...], keepdims: Any) -> Any:
    options = {"axis": axis, "keepdims": bool(keepdims)}
    if isinstance(ord, str):
        normalize_axis_index(axis[0], x.ndim)
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord is None or ord == 2:
        return ufuncs.sqrt(_sum(_squares(x), **options))
    if ord == 0:
        return _sum(cast(ufuncs.not_equal(x, 0), real_type(x.dtype)), **options)
    size = ufuncs.absolute(x)
    if ord == np.inf:
        return _max(size, initial=0, **options)
    if ord == -np.inf:
        return _min(size, **options)
    if ord == 1:
        return _sum(size, **options)
    total = _sum(cast(ufuncs.power(size, ord), size.dtype), **options)
    return ufuncs.power(total, np.reciprocal(ord, dtype=total.dtype))


def _matrix_norm(x: Array, ord: Any, axis: tuple[int, ...], keepdims: Any) -> Any:
    row, column = (normalize_axis_index(k, x.ndim) for k in axis)
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (2, -2, "nuc"):
        values = svdvals(moveaxis(x, (row, column), (-2, -1)))
        if ord == 2:
            out = _max(values, axis=-1, initial=0)
        else:
            out = _min(values, axis=-1) if ord == -2 else _sum(values, axis=-1, initial=0)
    elif ord in (1, -1, np.inf, -np.inf):
        summed, other = (row, column) if abs(ord) == 1 else (column, row)
        sums = _sum(ufuncs.absolute(x), axis=summed)
        other -= other > summed
        out = _max(sums, axis=other, initial=0) if ord > 0 else _min(sums, axis=other)
    elif ord in (None, "fro", "f"):
        out = ufuncs.sqrt(_sum(_squares(x), axis=(row, column)))
    else:
        raise ValueError("Invalid norm order for matrices.")
    if keepdims:
        return reshape(out, tuple(1 if k in (row, column) else n for k, n in enumerate(x.shape)))
    return out


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """See `numpy.linalg.matrix_norm`."""
    return norm(x, axis=(-2, -1), keepdims=keepdims, ord=ord)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """See `numpy.linalg.vector_norm`."""
    x = as_array(x)
    if axis is None:
        out = norm(reshape(x, -1), axis=0, ord=ord)
    elif isinstance(axis, tuple):
        axes = normalize_axis_tuple(axis, x.ndim)
        rest = tuple(k for k in range(x.ndim) if k not in axes)
        shape = (math.prod(x.shape[k] for k in axes), *(x.shape[k] for k in rest))
        out = norm(reshape(transpose(x, (*axes, *rest)), shape), axis=0, ord=ord)
    else:
        out = norm(x, axis=axis, ord=ord)
    if not keepdims:
        return out
    axes = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
    return reshape(out, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))


@by_numpy(np.linalg.cond)
@quiet()
def cond(x: Any, p: Any = None) -> Any:
    """See `numpy.linalg.cond`."""
    x = as_array(x)
    none = LinAlgError("cond is not defined on empty arrays")
    if is_empty_2d(x):
        raise none
    for n in x.shape[-2:]:
        require_some(n, none)
    if p is None or p in (2, -2):
        values = svdvals(x)
        first, last = getitem(values, (..., 0)), getitem(values, (..., -1))
        out = ufuncs.divide(last, first) if p == -2 else ufuncs.divide(first, last)
    else:
        check_square(x)
        dtype, final = common_types(np.linalg.inv, x)
        inverse = linear_algebra.solve(operand(x, dtype), identity(x.shape, dtype))[0]
        sizes = [norm(v, p, axis=(-2, -1)) for v in (x, inverse)]
        out = result(ufuncs.multiply(*sizes), real_type(final))
    given = reductions.any(ufuncs.isnan(x), axis=(-2, -1))
    lost = ufuncs.logical_and(ufuncs.isnan(out), ufuncs.logical_not(given))
    return scalar_if_0d(elementwise.select(plain(lost), np.inf, plain(out)))
