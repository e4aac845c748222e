"""Shared by the rules for stacks of matrices: recorded helpers, references, LAPACK calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp.primitives import contraction, elementwise, reduction, shaping
from lazynp.primitives._axes import broadcast_front, transposed

BOOL, INT32 = np.dtype("?"), np.dtype("i4")
Shape = tuple[int, ...]

# -- avals -----------------------------------------------------------------------------------------


def check_matrix(name: str, x: Aval, square: bool = False) -> None:
    """LAPACK accepts float32, float64, complex64 and complex128."""
    if x.dtype.char not in "fdFD":
        raise TypeError(f"array type {x.dtype.name} is unsupported in linalg")
    if x.ndim < 2:
        raise np.linalg.LinAlgError(
            f"{x.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(dtype.char.lower())


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(dtype.char.upper())


def status_of(x: Aval) -> Aval:
    """LAPACK's `info`, one for each matrix; 0 means success."""
    return aval_of(x.shape[:-2], INT32)


# -- recorded, for derivatives ---------------------------------------------------------------------


def matmul(x: Any, y: Any) -> Any:
    """The product of stacks of matrices with the same leading dimensions."""
    batch = tuple(range(x.ndim - 2))
    numbers = (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch))
    return contraction.dot_general(x, y, dimension_numbers=numbers)


def swapped(x: Any) -> Any:
    """Exchange the last two axes."""
    return transposed(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def conjugated(x: Any) -> Any:
    return elementwise.conjugate(x) if x.dtype.kind == "c" else x


def adjoint(x: Any) -> Any:
    return conjugated(swapped(x))


def real(x: Any) -> Any:
    return elementwise.real(x) if x.dtype.kind == "c" else x


def band(x: Any, comparison: Any, k: int = 0) -> Any:
    """Keep the elements with `column comparison row + k`; set the others to zero."""
    m, n = x.shape[-2:]
    rows = shaping.iota(shape=(m, n), axis=0, dtype=np.dtype("i8"))
    columns = shaping.iota(shape=(m, n), axis=1, dtype=np.dtype("i8"))
    mask = comparison(columns, elementwise.add(rows, k))
    return elementwise.select(mask, x, 0)


def lower_triangle(x: Any, k: int = 0) -> Any:
    return band(x, elementwise.less_equal, k)


def upper_triangle(x: Any, k: int = 0) -> Any:
    return band(x, elementwise.greater_equal, k)


def diagonal(x: Any) -> Any:
    """The main diagonal, as the last axis."""
    m, n = x.shape[-2:]
    on_it = band(x, elementwise.equal)
    return reduction.reduce_sum(on_it, axes=(x.ndim - (2 if m > n else 1),))


def as_row(x: Any) -> Any:
    """(..., n) as (..., 1, n)."""
    return shaping.reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1]))


def as_column(x: Any) -> Any:
    """(..., n) as (..., n, 1)."""
    return shaping.reshape(x, shape=(*x.shape, 1))


def identity_like(x: Any) -> Any:
    """Identity matrices of the shape and dtype of x."""
    return band(shaping.full(1, shape=x.shape, dtype=x.dtype), elementwise.equal)


def hermitian(x: Any, lower: bool = True) -> Any:
    """The Hermitian matrix that one triangle represents."""
    strict = lower_triangle(x, -1) if lower else upper_triangle(x, 1)
    middle = band(x, elementwise.equal)
    if x.dtype.kind == "c":
        middle = elementwise.convert(elementwise.real(middle), dtype=x.dtype)
    return elementwise.add(elementwise.add(strict, middle), adjoint(strict))


def inverse_or_zero(x: Any) -> Any:
    """1 / x, and 0 where x is 0."""
    zero = elementwise.equal(x, 0)
    return elementwise.select(zero, 0, elementwise.divide(1, elementwise.select(zero, 1, x)))


_UNITS = 32  # in the last place of the largest eigenvalue: LAPACK's error in matrices of this size


def gaps(w: Any, sums: Any = None) -> Any:
    """w[j] - w[i] of eigenvalues or singular values, and 0 where they are equal up to rounding.

    sums: of singular values. Where both are zero up to rounding they stay as they are, so that what
    the product of the factors owes to both vectors together is not lost.
    """
    difference, n = elementwise.subtract(as_row(w), as_column(w)), w.shape[-1]
    if type(n) is int and n < 2:
        return difference
    largest = reduction.reduce_max(elementwise.absolute(w), axes=(w.ndim - 1,))
    units = max(n, _UNITS) if type(n) is int else _UNITS
    error = elementwise.multiply(largest, units * float(np.finfo(w.dtype).eps))
    error = as_column(shaping.reshape(error, shape=(*error.shape, 1)))
    equal = elementwise.less_equal(elementwise.absolute(difference), error)
    if sums is not None:
        equal = elementwise.logical_and(equal, elementwise.greater(sums, error))
    return elementwise.select(equal, 0, difference)


def stacked_batch(primitive: Any) -> Callable[..., Any]:
    """The batch rule of primitives on stacks: add one leading dimension."""

    def batch(size: int, batched: Sequence[bool], *operands: Any, **params: Any) -> Any:
        rows = [
            x if is_batched else broadcast_front(x, size)
            for x, is_batched in zip(operands, batched, strict=True)
        ]
        return primitive()(*rows, **params)

    return batch


# -- references ------------------------------------------------------------------------------------


def guarded(
    function: Callable[..., tuple[Any, ...]], avals: Sequence[Aval], *operands: Any
) -> tuple[Any, ...]:
    """Apply `function` to stacks of matrices. Also return each one's status; if it raises: nan and
    1.
    """
    shape = operands[0].shape[:-2]
    try:
        return *function(*operands), np.zeros(shape, np.int32)
    except np.linalg.LinAlgError:
        pass
    if not shape:
        return *(np.full(a.shape, np.nan, a.dtype) for a in avals[:-1]), np.int32(1)
    inner = [aval_of(a.shape[1:], a.dtype) for a in avals]
    rows = [guarded(function, inner, *(x[i] for x in operands)) for i in range(shape[0])]
    return tuple(np.stack(column) for column in zip(*rows, strict=True))


# -- emission --------------------------------------------------------------------------------------


def lower_band(b: Any, x: Any, direction: str) -> Any:
    """`band`, emitted by the builder."""
    shape = x.aval.shape
    rows, columns = (b.iota(shape, len(shape) - k, np.dtype("i4")) for k in (2, 1))
    zero = b.constant(0, x.aval.dtype, shape)
    return b.select(b.compare(columns, rows, direction), x, zero)


def lower_identity(b: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Identity matrices, possibly empty."""
    if 0 in shape:
        return b.constant(0, dtype, shape)
    return lower_band(b, b.constant(1, dtype, shape), "EQ")


def lower_zeros(b: Any, aval: Aval) -> Any:
    return b.constant(0, aval.dtype, aval.shape)


def lower_part(b: Any, x: Any, m: int, first: int, last: int) -> Any:
    """The first m rows of each matrix, and its columns from `first` to `last`."""
    batch = x.aval.shape[:-2]
    return b.slice(x, (*[0] * len(batch), 0, first), (*batch, m, last))


def lower_nan_where(b: Any, failed: Any, x: Any) -> Any:
    """Fill the results of failed matrices with nan."""
    shape = x.aval.shape
    if 0 in shape:
        return x
    failed = b.broadcast_in_dim(failed, shape, tuple(range(failed.aval.ndim)))
    value = complex(np.nan, np.nan) if x.aval.dtype.kind == "c" else np.nan
    return b.select(failed, b.constant(value, x.aval.dtype, shape), x)


def lower_failed(b: Any, status: Any) -> Any:
    return b.compare(status, b.constant(0, INT32, status.aval.shape), "NE")
