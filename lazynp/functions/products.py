"""Products of vectors, matrices and arrays: the chapter "Linear algebra" of NumPy's manual."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any

import numpy as np

from lazynp import _errstate, _views
from lazynp._array import Array
from lazynp._strides import layout
from lazynp.functions import ufuncs
from lazynp.functions._contract import contract
from lazynp.functions._eager import by_numpy
from lazynp.functions._einsum import einsum, einsum_path
from lazynp.functions._generalized import conjugated, direct, generalized
from lazynp.functions._getset import getitem
from lazynp.functions._host import host_call, host_into, needs_host
from lazynp.functions._operands import (
    as_array,
    cast,
    numpys,
    plain,
    scalar_if_0d,
    store,
    tuple_text,
)
from lazynp.functions._recording import composed
from lazynp.functions._releases import SINCE_2_5
from lazynp.functions._stores import write_into
from lazynp.primitives import contraction, shaping

__all__ = [
    "cross", "dot", "einsum", "einsum_path", "inner", "kron", "matmul", "matvec", "outer",
    "tensordot", "vdot", "vecdot", "vecmat",
]  # fmt: skip

normalize_axis_index = np.lib.array_utils.normalize_axis_index


# -- dot and related products ----------------------------------------------------------------------


def _same_dtype(a: Any, b: Any) -> tuple[Array, Array]:
    """Both as arrays of the common dtype. Python scalars become arrays, not weak."""
    x, y = as_array(a), as_array(b)
    dtype = np.result_type(x.dtype, y.dtype)
    return cast(x, dtype), cast(y, dtype)


def _not_aligned(x: Array, y: Array, i: int, j: int) -> ValueError:
    return ValueError(
        f"shapes {tuple_text(x.shape)} and {tuple_text(y.shape)} not aligned: "
        f"{x.shape[i]} (dim {i}) != {y.shape[j]} (dim {j})"
    )


def _summed_along(x: Array, i: int, y: Array, j: int) -> Array:
    """The sum of products over axis i of x and j of y; the other axes of both remain."""
    if x.shape[i] != y.shape[j]:
        raise _not_aligned(x, y, i, j)
    xs: list[Hashable] = [("x", k) for k in range(x.ndim)]
    ys: list[Hashable] = [("y", k) for k in range(y.ndim)]
    xs[i] = ys[j] = "sum"
    out = tuple(label for label in (*xs, *ys) if label != "sum")
    return contract(x, tuple(xs), y, tuple(ys), out)


@by_numpy(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """See `numpy.dot`."""
    if out is None:
        return _plain_dot(a, b)
    return out if write_into(out, (a, b), np.dot) else _dot(a, b, out)


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    x, y = as_array(a), as_array(b)
    if out is None and x.ndim <= 2 and y.ndim <= 2:
        numbers = direct(x.aval, y.aval)  # it is a matrix product
        if numbers is not None:
            return scalar_if_0d(contraction.dot_general(x, y, dimension_numbers=numbers))
    if needs_host(x, y):
        return host_into(np.dot, x, y, out=out)
    x, y = _same_dtype(x, y)
    if not x.ndim or not y.ndim:
        result = ufuncs.multiply(x, y)
    else:
        result = scalar_if_0d(_summed_along(x, x.ndim - 1, y, max(0, y.ndim - 2)))
    if out is not None and not isinstance(out, (Array, np.ndarray)):
        raise TypeError("'out' must be an array")
    if out is not None and not _acceptable(out, result):
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, "
            "and be a C-Array)"
        )
    return store(result, out)


_plain_dot = composed(_dot, np.dot)


def _acceptable(out: Any, result: Array) -> bool:
    if isinstance(out, np.ndarray):  # a NumPy array, from another library
        same = out.dtype == result.dtype and out.shape == result.shape
        return same and out.flags.c_contiguous
    return isinstance(out, Array) and out.aval is result.aval and layout(out).flags.c_contiguous


@by_numpy(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """See `numpy.vdot`."""
    x, y = as_array(a), as_array(b)
    if needs_host(x, y):
        return host_into(np.vdot, x, y, out=None)
    if x.size != y.size:
        raise ValueError(
            f"cannot reshape array of size {y.size} into shape {tuple_text((x.size,))}"
        )
    x, y = _same_dtype(x, y)
    x, y = (shaping.reshape(plain(v), shape=(v.size,)) for v in (x, y))
    return scalar_if_0d(_summed_along(conjugated(x), 0, y, 0))


@by_numpy(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    """See `numpy.inner`."""
    x, y = as_array(a), as_array(b)
    if needs_host(x, y):
        return host_into(np.inner, x, y, out=None)
    x, y = _same_dtype(x, y)
    if not x.ndim or not y.ndim:
        return ufuncs.multiply(x, y)
    return scalar_if_0d(_summed_along(x, x.ndim - 1, y, y.ndim - 1))


@by_numpy(np.outer, outer=True)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """See `numpy.outer`."""
    x, y = plain(a), plain(b)
    column = shaping.reshape(x, shape=(x.size, 1))
    return ufuncs.multiply(column, shaping.reshape(y, shape=(1, y.size)), out=out)


@by_numpy(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """See `numpy.tensordot`."""
    axes_a, axes_b = _tensordot_axes(axes)
    x, y = as_array(a), as_array(b)
    if needs_host(x, y):
        return host_into(np.tensordot, x, y, (axes_a, axes_b), out=None)
    if any(x.shape[i] != y.shape[j] for i, j in zip(axes_a, axes_b, strict=False)):
        raise ValueError("shape-mismatch for sum")
    if len(axes_a) != len(axes_b):
        raise ValueError("shape-mismatch for sum")
    x, y = _same_dtype(x, y)
    xs: list[Hashable] = [("x", k) for k in range(x.ndim)]
    ys: list[Hashable] = [("y", k) for k in range(y.ndim)]
    for n, (i, j) in enumerate(zip(axes_a, axes_b, strict=True)):
        xs[i] = ys[j] = n
    out = tuple(label for label in (*xs, *ys) if not isinstance(label, int))
    return contract(x, tuple(xs), y, tuple(ys), out)


def _tensordot_axes(axes: Any) -> tuple[list[int], list[int]]:
    try:
        iter(axes)
    except TypeError:
        n = operator.index(axes)
        return list(range(-n, 0)), list(range(n))
    pair = []
    for of_one in axes:
        try:
            pair.append([operator.index(i) for i in of_one])
        except TypeError:
            pair.append([operator.index(of_one)])
    axes_a, axes_b = pair
    if len(set(axes_a)) != len(axes_a) or len(set(axes_b)) != len(axes_b):
        raise ValueError("duplicate axes are not allowed in tensordot")
    return axes_a, axes_b


@by_numpy(np.kron, outer=True)
def kron(a: Any, b: Any) -> Any:
    """See `numpy.kron`."""
    x, y = numpys(as_array(a)), numpys(as_array(b))
    if not x.ndim or not y.ndim:
        return ufuncs.multiply(x, y)
    n = max(x.ndim, y.ndim)
    x_shape = (1,) * (n - x.ndim) + x.shape
    y_shape = (1,) * (n - y.ndim) + y.shape
    spread_x = [m for size in x_shape for m in (size, 1)]
    spread_y = [m for size in y_shape for m in (1, size)]
    product = ufuncs.multiply(
        shaping.reshape(plain(x), shape=tuple(spread_x)),
        shaping.reshape(plain(y), shape=tuple(spread_y)),
    )
    shape = tuple(p * q for p, q in zip(x_shape, y_shape, strict=True))
    return shaping.reshape(product, shape=shape)


# -- cross -----------------------------------------------------------------------------------------


@by_numpy(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """See `numpy.cross`."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = as_array(a), as_array(b)
    if needs_host(x, y):
        return host_call(np.cross, x, y, axisa, axisb, axisc)
    if x.ndim < 1 or y.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    x = _axis_last(x, normalize_axis_index(axisa, x.ndim, msg_prefix="axisa"))
    y = _axis_last(y, normalize_axis_index(axisb, y.ndim, msg_prefix="axisb"))
    if SINCE_2_5 and not x.shape[-1] == y.shape[-1] == 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x.shape[-1]} and {y.shape[-1]} dimensional instead."
        )
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if 2 in (x.shape[-1], y.shape[-1]):
        _errstate.warn(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors "
            "instead. (deprecated in NumPy 2.0)",
            DeprecationWarning,
        )
    ndim = max(x.ndim, y.ndim)
    if 3 in (x.shape[-1], y.shape[-1]):
        axisc = normalize_axis_index(axisc, ndim, msg_prefix="axisc")
    return _cross_last(*_same_dtype(x, y), axisc)


def _cross_last(x: Array, y: Array, axisc: int) -> Array:
    """The cross product of vectors on the last axes; a missing third component counts as zero."""
    multiply, subtract = ufuncs.multiply, ufuncs.subtract
    x0, x1, *x2 = (plain(getitem(x, (..., k))) for k in range(x.shape[-1]))
    y0, y1, *y2 = (plain(getitem(y, (..., k))) for k in range(y.shape[-1]))
    last = plain(subtract(multiply(x0, y1), multiply(x1, y0)))
    if not x2 and not y2:
        return last
    if x2 and y2:
        first = subtract(multiply(x1, y2[0]), multiply(x2[0], y1))
        second = subtract(multiply(x2[0], y0), multiply(x0, y2[0]))
    elif y2:
        first, second = multiply(x1, y2[0]), ufuncs.negative(multiply(x0, y2[0]))
    else:
        first, second = ufuncs.negative(multiply(x2[0], y1)), multiply(x2[0], y0)
    parts = [shaping.reshape(plain(p), shape=(*p.shape, 1)) for p in (first, second, last)]
    joined = shaping.concatenate(*parts, axis=last.ndim)
    order = list(range(last.ndim))
    order.insert(axisc, last.ndim)
    return plain(_views.transpose(joined, order))


def _axis_last(x: Array, axis: int) -> Array:
    if axis == x.ndim - 1:
        return x
    return _views.transpose(x, [*(k for k in range(x.ndim) if k != axis), axis])


# -- generalised ufuncs ----------------------------------------------------------------------------

matmul = generalized("matmul", (("n?", "k"), ("k", "m?"), ("n?", "m?")), conjugate=False)
"""The matrix product, of stacks of matrices too."""
vecdot = generalized("vecdot", (("n",), ("n",), ()), conjugate=True)
"""The scalar product of vectors; the first is conjugated."""
matvec = generalized("matvec", (("m", "n"), ("n",), ("m",)), conjugate=False)
"""The product of a matrix and a vector."""
vecmat = generalized("vecmat", (("n",), ("n", "m"), ("m",)), conjugate=True)
"""The product of a vector, conjugated, and a matrix."""
matmul_operator = composed(matmul, np.matmul)
