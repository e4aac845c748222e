"""Linear algebra: `numpy.linalg` over the primitives of that name.

As in NumPy, the call decides whether a matrix is singular or positive definite, so these functions
compute immediately (in a traced function, the call of that does). All computations use double
precision, as in NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from lazynp import transforms
from lazynp._array import Array
from lazynp._errstate import checked, quiet
from lazynp._extents import any_sized, broadcast_shapes, known_empty, named, product, stand_in
from lazynp._flush import host_value
from lazynp._node import is_tracer
from lazynp._sizes import is_size, largest, smallest
from lazynp._values import knowable, seen_value, watched
from lazynp.functions import indexing, products, reductions, ufuncs
from lazynp.functions._arguments import part
from lazynp.functions._checks import traced
from lazynp.functions._determinants import determinant, differentiable
from lazynp.functions._eager import by_numpy
from lazynp.functions._factorizations import (
    EighResult,
    EigResult,
    QRResult,
    SVDResult,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from lazynp.functions._getset import getitem
from lazynp.functions._host import host_call, needs_host, to_device
from lazynp.functions._matrices import (
    adjoint,
    any_true,
    check_2d,
    check_square,
    common_types,
    decide,
    identity,
    is_empty_2d,
    operand,
    real_type,
    result,
    swapped,
)
from lazynp.functions._norms import cond, matrix_norm, norm, vector_norm
from lazynp.functions._operands import as_array, broadcast, cast, plain, scalar_if_0d
from lazynp.functions.manipulation import atleast_2d, matrix_transpose, ravel, reshape, transpose
from lazynp.primitives import elementwise, linear_algebra, reduction, shaping

__all__ = [
    "EigResult", "EighResult", "LinAlgError", "QRResult", "SVDResult", "SlogdetResult", "cholesky",
    "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm",
    "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv",
    "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip


class SlogdetResult(NamedTuple):
    """The result of `slogdet`: det = sign * exp(logabsdet)."""

    sign: Any
    logabsdet: Any


# -- systems ---------------------------------------------------------------------------------------


@by_numpy(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """See `numpy.linalg.solve`."""
    x, y = as_array(a), as_array(b)
    check_square(x)
    dtype, final = common_types(np.linalg.solve, x, y)
    vector = y.ndim == 1
    rows = y.shape if vector else y.shape[-2:-1]
    try:
        loop = broadcast_shapes(x.shape[:-2], () if vector else y.shape[:-2])
    except ValueError:
        rows = ()
    if rows != x.shape[-1:]:
        raise _numpys_error(x, y)
    if vector:
        y = shaping.reshape(plain(y), shape=(*y.shape, 1))
    x = broadcast(cast(x, dtype), (*loop, *x.shape[-2:]))
    y = broadcast(cast(y, dtype), (*loop, *y.shape[-2:]))
    out, status = linear_algebra.solve(plain(x), plain(y))
    decide(status, "Singular matrix")
    return result(shaping.reshape(out, shape=out.shape[:-1]) if vector else out, final)


def _numpys_error(x: Array, y: Array) -> Exception:
    """The exception that NumPy raises for operands of these shapes, before it reads an element."""
    shapes = x.shape, y.shape
    dummies = [np.broadcast_to(np.zeros((), v.dtype), stand_in(v.shape)) for v in (x, y)]
    try:
        np.linalg.solve(*dummies)
    except np.linalg.LinAlgError:  # they fit: the sizes may be equal, and are not known to be
        pass
    except ValueError as error:
        return named(error, shapes) if any_sized(x, y) else error.with_traceback(None)
    return ValueError(f"solve: operands do not fit: {x.aval}, {y.aval}")


@by_numpy(np.linalg.inv)
def inv(a: Any) -> Any:
    """See `numpy.linalg.inv`."""
    x = as_array(a)
    check_square(x)
    dtype, final = common_types(np.linalg.inv, x)
    out, status = linear_algebra.solve(operand(x, dtype), identity(x.shape, dtype))
    decide(status, "Singular matrix")
    return result(out, final)


@by_numpy(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """See `numpy.linalg.tensorsolve`."""
    x, y = as_array(a), as_array(b)
    if axes is not None:
        order = list(range(x.ndim))
        for k in axes:
            order.remove(k)
            order.insert(x.ndim, k)
        x = transpose(x, order)
    shape = x.shape[-(x.ndim - y.ndim) :]
    size = product(shape)
    if x.size != size**2:
        raise LinAlgError(
            "Input arrays must satisfy the requirement \
            prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return reshape(solve(reshape(x, (size, size)), ravel(y)), shape)


@by_numpy(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """See `numpy.linalg.tensorinv`."""
    x = as_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    size = product(x.shape[ind:])
    return reshape(inv(reshape(x, (size, -1))), x.shape[ind:] + x.shape[:ind])


@by_numpy(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """See `numpy.linalg.pinv`."""
    x = as_array(a)
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    if rcond is None:
        rcond = np.finfo(x.dtype).eps * largest(*x.shape[-2:])
    if is_empty_2d(x):
        return shaping.full(0, shape=(*x.shape[:-2], x.shape[-1], x.shape[-2]), dtype=x.dtype)
    fixed = _fixed(x)
    u, s, vh = svd(ufuncs.conjugate(fixed), full_matrices=False, hermitian=hermitian)
    cutoff = ufuncs.multiply(
        getitem(as_array(rcond), (..., None)), reductions.max(s, axis=-1, keepdims=True, initial=0)
    )
    scaled = ufuncs.multiply(getitem(_inverses(s, cutoff), (..., None)), swapped(u))
    out = products.matmul(swapped(vh), scaled)
    if fixed is x:
        return out
    given = operand(x, out.dtype)
    return linear_algebra.as_pseudo_inverse(plain(given), plain(out), triangle=hermitian)


def _fixed(x: Array) -> Array:
    """The values of x, for what gets the derivative of the whole (see `as_pseudo_inverse`)."""
    return transforms.stop_gradient(x) if _differentiated(x) else x


def _differentiated(x: Array) -> bool:
    """Whether a derivative may be taken: a transformation interprets x, or stages it."""
    node = x._read()
    return is_tracer(node) or not knowable(node)


def _inverses(s: Array, cutoff: Any) -> Array:
    """1 / s, and 0 where s is not above the cutoff."""
    large = plain(ufuncs.greater(s, cutoff))
    inverse = elementwise.divide(1, elementwise.select(large, plain(s), 1))
    return elementwise.select(large, inverse, 0)


@by_numpy(np.linalg.lstsq)
@quiet()
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """See `numpy.linalg.lstsq`. Uses the singular values, which give the rank as well.

    A traced function returns residuals for every rank, if a has more rows than columns.
    """
    x, y = as_array(a), as_array(b)
    vector = y.ndim == 1
    if vector:
        y = getitem(y, (slice(None), None))
    check_2d(x, y)
    m, n = x.shape
    if m != y.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    dtype, final = common_types(np.linalg.lstsq, x, y)
    if rcond is None:
        rcond = np.finfo(dtype).eps * largest(n, m)
    x, y = operand(x, dtype), operand(y, dtype)
    u, s, vh, status = linear_algebra.svd(x, full_matrices=False, compute_uv=True)
    decide(status, "SVD did not converge in Linear Least Squares")
    cutoff = _cutoff(s, rcond)
    inverses = getitem(_inverses(s, cutoff), (..., None))
    if _differentiated(x):
        u, inverses, vh = map(_fixed, (u, inverses, vh))
        inverse = products.matmul(adjoint(vh), ufuncs.multiply(inverses, adjoint(u)))
        inverse = linear_algebra.as_pseudo_inverse(x, plain(inverse), triangle=False)
        out = products.matmul(inverse, y)
    else:
        parts = ufuncs.multiply(inverses, products.matmul(adjoint(u), y))
        out = products.matmul(adjoint(vh), parts)
    above = cast(ufuncs.greater(s, cutoff), np.int32)
    rank = scalar_if_0d(reduction.reduce_sum(plain(above), axes=(0,)))
    if is_size(m - n):
        residues = _residues(x, y, out)
        residues = part(residues, 0, 0, smallest(largest(m - n, 0), 1) * y.shape[1])
    elif m > n and (_unknown(rank) or int(seen_value(rank._read())) == n):
        residues = _residues(x, y, out)
    else:
        residues = shaping.full(0, shape=(0,), dtype=real_type(final))
    if vector:
        out = shaping.reshape(plain(out), shape=(n,))
    real = real_type(final)
    return result(out, final), result(residues, real), rank, result(s, real)


def _residues(x: Array, y: Array, out: Any) -> Any:
    rest = ufuncs.absolute(ufuncs.subtract(y, products.matmul(x, out)))
    return reductions.sum(ufuncs.square(rest), axis=0)


def _unknown(x: Array) -> bool:
    return not knowable(x._read())


def _cutoff(s: Array, rcond: Any) -> Any:
    """LAPACK's cutoff: a fraction of the largest value; a negative one means machine precision."""
    rcond = as_array(rcond)
    eps = np.finfo(s.dtype).eps / 2
    fraction = elementwise.select(plain(ufuncs.less(rcond, 0)), eps, plain(rcond))
    largest = reductions.max(s, axis=-1, initial=0)
    return ufuncs.maximum(ufuncs.multiply(fraction, largest), np.finfo(s.dtype).tiny)


# -- determinants, rank, powers --------------------------------------------------------------------


def _as_asked(function: Any, x: Array) -> Any:
    """NumPy's result, if the user's error state has to see its floating-point errors."""
    if not watched() or is_tracer(x._read()):
        return None
    return to_device(checked(function, host_value(x._read())))


@by_numpy(np.linalg.slogdet, kind=SlogdetResult)
def slogdet(a: Any) -> SlogdetResult:
    """See `numpy.linalg.slogdet`."""
    x = as_array(a)
    check_square(x)
    dtype, final = common_types(np.linalg.slogdet, x)
    if (asked := _as_asked(np.linalg.slogdet, x)) is not None:
        return SlogdetResult(*asked)
    sign, log = linear_algebra.slogdet(operand(x, dtype))
    return SlogdetResult(result(sign, final), result(log, real_type(final)))


@by_numpy(np.linalg.det)
def det(a: Any) -> Any:
    """See `numpy.linalg.det`. Its derivative is the cofactors, also for singular matrices."""
    x = as_array(a)
    check_square(x)
    dtype, final = common_types(np.linalg.det, x)
    if (asked := _as_asked(np.linalg.det, x)) is not None:
        return asked
    matrix = operand(x, dtype)
    way = differentiable if traced(x) and not known_empty(x.size) else determinant
    return result(way(matrix), final)


@by_numpy(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """See `numpy.linalg.matrix_rank`."""
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x = as_array(A)
    if x.ndim < 2:
        return int(any_true(plain(ufuncs.not_equal(x, 0))))
    s = svd(x, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = np.finfo(s.dtype).eps * largest(*x.shape[-2:])
        else:
            rtol = getitem(as_array(rtol), (..., None))
        tol = ufuncs.multiply(reductions.max(s, axis=-1, keepdims=True, initial=0), rtol)
    else:
        tol = getitem(as_array(tol), (..., None))
    return reductions.count_nonzero(ufuncs.greater(s, tol), axis=-1)


@by_numpy(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    """See `numpy.linalg.matrix_power`."""
    x = as_array(a)
    check_square(x)
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if needs_host(x):
        return host_call(np.linalg.matrix_power, x, n)
    if n == 0:
        return identity(x.shape, x.dtype)
    if n < 0:
        x, n = inv(x), -n
    if n == 3:
        return products.matmul(products.matmul(x, x), x)
    power, out = x, None
    while True:
        n, bit = divmod(n, 2)
        if bit:
            out = power if out is None else products.matmul(out, power)
        if not n:
            return out
        power = products.matmul(power, power)


# -- products --------------------------------------------------------------------------------------


@by_numpy(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """See `numpy.linalg.multi_dot`."""
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(arrays) == 2:
        return products.dot(arrays[0], arrays[1], out=out)
    factors = [as_array(a) for a in arrays]
    first, last = factors[0].ndim, factors[-1].ndim
    if first == 1:
        factors[0] = atleast_2d(factors[0])
    if last == 1:
        factors[-1] = transpose(atleast_2d(factors[-1]))
    check_2d(*factors)
    order = _cheapest_order([f.shape[0] for f in factors] + [factors[-1].shape[1]])
    product = _in_order(factors, order, 0, len(factors) - 1, out)
    if first == 1 and last == 1:
        return getitem(product, (0, 0))
    return ravel(product) if 1 in (first, last) else product


def _cheapest_order(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split the product of factors i..j (Cormen et al.); resolves ties as NumPy does."""
    sizes = stand_in(tuple(sizes))
    n = len(sizes) - 1
    if n == 3:
        a, b, c, d = sizes
        split = 1 if a * c * (b + d) < b * d * (c + a) else 0
        return {(0, 2): split, (0, 1): 0, (1, 2): 1}
    cost: dict[tuple[int, int], float] = {(i, i): 0 for i in range(n)}
    best = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            splits = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], best[i, j] = min(splits)
    return best


def _in_order(
    factors: Sequence[Array], order: dict[tuple[int, int], int], i: int, j: int, out: Any = None
) -> Any:
    if i == j:
        return factors[i]
    k = order[i, j]
    return products.dot(
        _in_order(factors, order, i, k), _in_order(factors, order, k + 1, j), out=out
    )


def outer(x1: Any, x2: Any, /) -> Any:
    """See `numpy.linalg.outer`."""
    x1, x2 = as_array(x1), as_array(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}."
        )
    return products.outer(x1, x2)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """See `numpy.linalg.cross`."""
    x1, x2 = as_array(x1), as_array(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {x1.shape[axis]} and {x2.shape[axis]} dimensional instead."
        )
    return products.cross(x1, x2, axis=axis)


def matmul(x1: Any, x2: Any, /) -> Any:
    """See `numpy.linalg.matmul`."""
    return products.matmul(x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """See `numpy.linalg.tensordot`."""
    return products.tensordot(x1, x2, axes=axes)


@by_numpy(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """See `numpy.linalg.vecdot`."""
    return products.vecdot(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """See `numpy.linalg.diagonal`."""
    return indexing.diagonal(x, offset, axis1=-2, axis2=-1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """See `numpy.linalg.trace`."""
    return indexing.trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)
