"""Shared by the functions of linear algebra: dtypes, checks, data-dependent errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from lazynp._array import Array
from lazynp._extents import known_empty
from lazynp._flush import host_value
from lazynp._sizes import is_size
from lazynp._values import extent
from lazynp.functions._arguments import SMALL, from_numpy
from lazynp.functions._operands import broadcast, cast, plain, scalar_if_0d
from lazynp.primitives import elementwise, reduction, shaping
from lazynp.primitives.checks import check_later

Dtype = np.dtype[Any]

_DOUBLE, _CDOUBLE = np.dtype("f8"), np.dtype("c16")


def common_types(function: Callable[..., Any], *arrays: Array) -> tuple[Dtype, Dtype]:
    """The dtype of the computation (always double, as in NumPy), and the dtype of the result.

    function: NumPy's, which raises its TypeError for another dtype.
    """
    single, is_complex = True, False
    for a in arrays:
        if a.dtype.char not in "?bhilqBHILQfdFD":
            function(*[np.zeros((1, 1), b.dtype) for b in arrays])
            raise TypeError(f"array type {a.dtype.name} is unsupported in linalg")
        is_complex |= a.dtype.kind == "c"
        single &= a.dtype.char in "fF"
    if is_complex:
        return _CDOUBLE, np.dtype("c8") if single else _CDOUBLE
    return _DOUBLE, np.dtype("f4") if single else _DOUBLE


def real_type(dtype: Dtype) -> Dtype:
    return np.dtype(dtype.char.lower())


def operand(x: Array, dtype: Dtype) -> Array:
    """Convert x to the dtype that the primitives take."""
    return plain(cast(x, dtype))


def result(x: Any, dtype: Dtype) -> Any:
    return scalar_if_0d(cast(x, dtype))


# -- checks ----------------------------------------------------------------------------------------


def check_2d(*arrays: Array) -> None:
    for a in arrays:
        if a.ndim != 2:
            raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")


def check_stacked(a: Array) -> None:
    if a.ndim < 2:
        raise LinAlgError(
            f"{a.ndim}-dimensional array given. Array must be at least two-dimensional"
        )


def check_square(a: Array) -> None:
    check_stacked(a)
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")


def is_empty_2d(a: Array) -> bool:
    return known_empty(a.size) and any(map(known_empty, a.shape[-2:]))


def decide(status: Array, message: str, finite: Array | None = None) -> None:
    """Raise LinAlgError now if a matrix failed, so that `try: ... except LinAlgError` works as in
    NumPy.

    A traced function has no values: its call raises the error. Under vmap, one failed matrix fails
    all. finite: an array that causes another error if it is not finite.
    """
    values = extent(status._read())
    if values is None:
        if finite is not None:
            bad = elementwise.logical_not(elementwise.isfinite(finite))
            check_later(bad, LinAlgError, _NOT_FINITE)
        check_later(elementwise.not_equal(status, 0), LinAlgError, message)
    elif np.any(values):
        if finite is not None and not np.all(np.isfinite(extent(finite._read()))):
            message = _NOT_FINITE
        raise LinAlgError(message)


_NOT_FINITE = "Array must not contain infs or NaNs"


# -- stacks of matrices ----------------------------------------------------------------------------


def swapped(x: Array) -> Array:
    """Exchange the last two axes, in a new array."""
    order = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return shaping.transpose(plain(x), permutation=order)


def adjoint(x: Array) -> Array:
    x = swapped(x)
    return elementwise.conjugate(x) if x.dtype.kind == "c" else x


def identity(shape: tuple[int, ...], dtype: Dtype) -> Array:
    """Identity matrices of this shape. Small ones are data, which costs less than recording."""
    m, n = shape[-2:]
    if not is_size(m * n) and m * n <= SMALL:
        return broadcast(from_numpy(np.eye(m, n, dtype=dtype)), shape)
    rows, columns = (shaping.iota(shape=(m, n), axis=k, dtype=np.dtype("i8")) for k in (0, 1))
    return broadcast(cast(elementwise.equal(rows, columns), dtype), shape)


def any_true(x: Array) -> bool:
    """Whether any element is true; computed now."""
    axes = tuple(range(x.ndim))
    return bool(host_value(reduction.reduce_or(plain(x), axes=axes)._read()))
