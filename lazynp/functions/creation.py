"""Create arrays. Constants are lazy: fills, ranges and masks are part of the program that uses
them.

`_construct` has `array` and related functions, `_ranges` has ranges, `_grids` grids. This module
has fills, the diagonal family, index tuples and host data.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, from_host, new_array
from lazynp._avals import SCALAR_DTYPES, Shape, on_device
from lazynp._dimensions import table
from lazynp._fronts import unbound
from lazynp._node import leaf
from lazynp._recorder import local
from lazynp._sizes import Size, is_size, sized
from lazynp._steps import Diagonal
from lazynp._strides import Order, fortran_order, in_order
from lazynp._values import seen_value
from lazynp._views import showing, view
from lazynp.functions import ufuncs
from lazynp.functions._arguments import (
    SMALL,
    as_size,
    check_device,
    check_like,
    check_size,
    converted,
    dtype_argument,
    fortran,
    from_numpy,
    order_argument,
    order_like,
    own,
    reshaped,
    shape_argument,
    static,
    viewable,
    zero,
)
from lazynp.functions._assigned import check_weak
from lazynp.functions._construct import (
    array,
    asanyarray,
    asarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    copy,
    of_items,
    require,
)
from lazynp.functions._eager import by_numpy, created
from lazynp.functions._foreign import from_foreign
from lazynp.functions._grids import (
    c_,
    fromfunction,
    index_exp,
    indices,
    ix_,
    meshgrid,
    mgrid,
    ogrid,
    r_,
    s_,
)
from lazynp.functions._host import to_host
from lazynp.functions._likes import as_its_like, zeros_like_now
from lazynp.functions._nested import of_size
from lazynp.functions._object_arrays import kept_by
from lazynp.functions._operands import as_array, broadcast, cast
from lazynp.functions._places import places_of_triangle, places_where, side_of
from lazynp.functions._ranges import arange, geomspace, linspace, logspace
from lazynp.functions._recording import apply
from lazynp.primitives import elementwise, reduction, shaping

__all__ = [
    "arange", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray",
    "asfortranarray", "c_", "copy", "diag", "diag_indices", "diag_indices_from", "diagflat",
    "empty", "empty_like", "eye", "frombuffer", "fromfunction", "fromiter", "fromstring",
    "full", "full_like", "geomspace", "identity", "index_exp", "indices", "ix_",
    "linspace", "logspace", "mask_indices", "meshgrid", "mgrid", "ogrid", "ones", "ones_like",
    "r_", "require", "s_", "tri", "tril", "tril_indices", "tril_indices_from", "triu",
    "triu_indices", "triu_indices_from", "vander", "zeros", "zeros_like",
]  # fmt: skip


# -- fills -----------------------------------------------------------------------------------------


def _fill(value: int, shape: Shape, dtype: np.dtype[Any], order: Order | None) -> Array:
    """An array filled with 0 or 1, in any dtype."""
    check_size(shape, dtype)
    if not on_device(dtype):
        make = np.ones if value else np.zeros
        return in_order(new_array(from_host(make(shape, dtype), copy=False)), order)
    if not shape:
        return new_array(leaf(dtype.type(value)))
    return in_order(shaping.full(value, shape=shape, dtype=dtype), order)


def _filled(value: int, shape: Any, dtype: Any, order: Any) -> Array:
    in_fortran = order_argument(order, "CF") == "F"
    shape = shape_argument(shape)
    made = fortran_order(len(shape)) if in_fortran else None
    return _fill(value, shape, dtype_argument(dtype), made)


@unbound
@created(np.zeros)
def zeros(
    shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Array:
    """See `numpy.zeros`."""
    check_device(device)
    check_like(like)
    return _filled(0, shape, dtype, order)


@created(np.ones)
def ones(
    shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Array:
    """See `numpy.ones`."""
    check_device(device)
    check_like(like)
    return _filled(1, shape, dtype, order)


@unbound
@created(np.zeros)
def empty(
    shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Array:
    """See `numpy.empty`. Returns zeros: no memory is ever uninitialised here."""
    if (dtype := dtype_argument(dtype)).hasobject:
        made = from_numpy(np.empty(shape_argument(shape), dtype))
        return fortran(made, order_argument(order, "CF") == "F")
    return zeros(shape, dtype, order, device=device, like=like)


@created(np.full)
def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Array:
    """See `numpy.full`."""
    check_device(device)
    check_like(like)
    in_fortran = order_argument(order, "CF") == "F"
    return fortran(_full(shape_argument(shape), fill_value, dtype), in_fortran)


def _full(shape: Shape, fill_value: Any, dtype: Any) -> Array:
    if isinstance(fill_value, np.void):
        fill_value = to_host(fill_value)  # a lazynp record has its own class
    if not isinstance(fill_value, Array):
        fill_value = of_size(fill_value) if type(fill_value) is Size else from_foreign(fill_value)
    value = fill_value if isinstance(fill_value, Array) else np.asarray(fill_value)
    given = (value, value.dtype) if dtype is None else (fill_value, dtype_argument(dtype))
    fill_value, dtype = given
    check_size(shape, dtype)
    if not (on_device(dtype) and on_device(value.dtype)):
        return from_numpy(np.full(shape, static(kept_by(dtype, fill_value)), dtype))
    if isinstance(fill_value, Array):
        check_weak(fill_value, dtype)
        out = converted(fill_value, dtype)
        if out.ndim == 0:
            return shaping.full(out, shape=shape, dtype=dtype)
    else:  # NumPy casts, with its OverflowError and warnings
        if value.ndim == 0 and type(fill_value) in SCALAR_DTYPES:
            value = np.full((), fill_value, dtype)
        value = value.astype(dtype)
        if value.ndim == 0:
            if not shape:
                return new_array(leaf(value[()]))
            return shaping.full(value.item(), shape=shape, dtype=dtype)
        out = from_numpy(value)
    extra = out.ndim - len(shape)
    if extra > 0 and all(n == 1 for n in out.shape[:extra]):
        out = reshaped(out, out.shape[extra:])
    return own(broadcast(out, shape))


def _like(
    a: Any, dtype: Any, order: Any, shape: Any, device: Any
) -> tuple[Shape, np.dtype[Any], Order | None]:
    """The shape, dtype and order of an array like `a`."""
    check_device(device)
    order = order_argument(order)
    a = as_array(a)
    chosen = a.shape if shape is None else shape_argument(shape)
    if len(chosen) != a.ndim:
        made = fortran_order(len(chosen)) if order == "F" else None
    else:
        made = order_like(a, order)
    return chosen, a.dtype if dtype is None else dtype_argument(dtype), made


@created(zeros_like_now, like=True)
def zeros_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """See `numpy.zeros_like`."""
    return _fill(0, *_like(a, dtype, order, shape, device))


@created(np.ones_like, like=True)
def ones_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """See `numpy.ones_like`."""
    return _fill(1, *_like(a, dtype, order, shape, device))


@created(zeros_like_now, like=True)
def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """See `numpy.empty_like`. Returns zeros."""
    chosen, dtype, made = _like(prototype, dtype, order, shape, device)
    if dtype.hasobject:
        return in_order(from_numpy(np.empty(chosen, dtype)), made)
    return _fill(0, chosen, dtype, made)


@created(np.full_like, like=True)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """See `numpy.full_like`."""
    chosen, dtype, made = _like(a, dtype, order, shape, device)
    return in_order(_full(chosen, fill_value, dtype), made)


# -- diagonals and triangles -----------------------------------------------------------------------


def _on_diagonal(shape: Shape, k: Any, compare: Any) -> Array:
    """A mask of the places where `row + k` compares so with the column, made where it is used."""
    rows = shaping.iota(shape=(shape[0], 1), axis=0, dtype=np.dtype("i8"))
    columns = shaping.iota(shape=(1, shape[1]), axis=1, dtype=np.dtype("i8"))
    return compare(ufuncs.add(rows, k), columns)


@created(np.eye)
def eye(
    N: Any,
    M: Any = None,
    k: Any = 0,
    dtype: Any = float,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Array:
    """See `numpy.eye`."""
    check_device(device)
    check_like(like)
    in_fortran = order_argument(order, "CF") == "F"
    rows = as_size(N)
    columns = rows if M is None else as_size(M)
    shape, k, dtype = shape_argument((rows, columns)), operator.index(k), dtype_argument(dtype)
    check_size(shape, dtype)
    if not sized(shape) and rows * columns <= SMALL or not on_device(dtype):
        return fortran(from_numpy(np.eye(rows, columns, k, dtype)), in_fortran)
    return fortran(own(cast(_on_diagonal(shape, k, ufuncs.equal), dtype)), in_fortran)


@created(np.identity)
def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Array:
    """See `numpy.identity`."""
    return eye(n, dtype=float if dtype is None else dtype, like=like)


@created(np.tri)
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Array:
    """See `numpy.tri`."""
    check_like(like)
    sizes: Any = [as_size(n) if isinstance(n, Array) and table() is not None else n
                  for n in (N, N if M is None else M)]  # fmt: skip
    shape: Any = tuple([n if type(n) is Size else max(math.ceil(n), 0) for n in sizes])
    rows, columns = shape
    dtype, k = dtype_argument(dtype), static(k)
    if not sized(shape) and rows * columns <= SMALL or not on_device(dtype):
        return from_numpy(np.tri(rows, columns, k, dtype))
    return own(cast(_on_diagonal(shape, k, ufuncs.greater_equal), dtype))


@by_numpy(np.tril)
def tril(m: Any, k: Any = 0) -> Array:
    """See `numpy.tril`."""
    m = as_array(m)
    mask = tri(*m.shape[-2:], k=k, dtype=bool)
    return apply(elementwise.select, mask, m, zero(m.dtype))


@by_numpy(np.triu)
def triu(m: Any, k: Any = 0) -> Array:
    """See `numpy.triu`."""
    m = as_array(m)
    mask = tri(*m.shape[-2:], k=static(k) - 1, dtype=bool)
    return apply(elementwise.select, mask, zero(m.dtype), m)


@showing
@by_numpy(np.diag)
def diag(v: Any, k: Any = 0) -> Array:
    """See `numpy.diag`. The diagonal of a matrix is a read-only view."""
    v, k = viewable(v), operator.index(k)
    if v.ndim == 2:
        return view(v, Diagonal(k), readonly=True)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n, edge = v.size + abs(k), (abs(k),)
    padded = shaping.pad(v, zero(v.dtype), low=(0,), high=edge, interior=(0,))
    spread = shaping.broadcast_in_dim(padded, shape=(n, n), dims=(0 if k >= 0 else 1,))
    mask = _on_diagonal((n, n), k, ufuncs.equal)
    return cast(apply(elementwise.select, mask, spread, zero(v.dtype)), v.dtype)


def diagflat(v: Any, k: Any = 0) -> Array:
    """See `numpy.diagflat`."""
    v = as_array(v)
    return diag(reshaped(v, (v.size,)), k)


@by_numpy(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Array:
    """See `numpy.vander`."""
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = x.size if N is None else as_size(N)
    dtype = np.promote_types(x.dtype, int)
    if is_size(columns):
        shape = (x.size, columns)
        powers = shaping.broadcast_in_dim(cast(x, dtype), shape=shape, dims=(0,))
        place = shaping.iota(shape=shape, axis=1, dtype=np.dtype(np.int64))
        first = elementwise.select(elementwise.equal(place, 0), 1, powers)
        out = reduction.cumprod(first, axis=1)
        return out if increasing else shaping.reverse(out, axes=(1,))
    if columns <= 0:
        return zeros((x.size, columns), dtype)
    shape = (x.size, columns - 1)
    powers = shaping.broadcast_in_dim(cast(x, dtype), shape=shape, dims=(0,))
    powers = reduction.cumprod(powers, axis=1)
    out = shaping.concatenate(ones((x.size, 1), dtype), powers, axis=1)
    return out if increasing else shaping.reverse(out, axes=(1,))


# -- index tuples, made by NumPy because their shapes are static -----------------------------------


def _tuple(found: Any) -> tuple[Array, ...]:
    return tuple(from_numpy(np.asarray(x)) for x in found)


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Array, ...]:
    """See `numpy.tril_indices`."""
    n, m = side_of(n), side_of(m)
    if any(map(is_size, (n, m))):
        return _triangle(n, k, m, False)
    return _tuple(np.tril_indices(static(n), static(k), static(m)))


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Array, ...]:
    """See `numpy.triu_indices`."""
    n, m = side_of(n), side_of(m)
    if any(map(is_size, (n, m))):
        return _triangle(n, operator.index(k) - 1, m, True)
    return _tuple(np.triu_indices(static(n), static(k), static(m)))


def _triangle(n: Any, k: Any, m: Any, above: bool) -> tuple[Array, ...]:
    """The places up to a diagonal, or above it, of a matrix whose size has no value yet."""
    n, m, k = as_size(n), as_size(n if m is None else m), operator.index(k)
    mask = tri(n, m, k, bool)
    return places_of_triangle(elementwise.logical_not(mask) if above else mask, n, m, k, above)


def tril_indices_from(arr: Any, k: Any = 0) -> tuple[Array, ...]:
    """See `numpy.tril_indices_from`."""
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tril_indices(arr.shape[-2], k, arr.shape[-1])


def triu_indices_from(arr: Any, k: Any = 0) -> tuple[Array, ...]:
    """See `numpy.triu_indices_from`."""
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return triu_indices(arr.shape[-2], k, arr.shape[-1])


def diag_indices(n: Any, ndim: Any = 2) -> tuple[Array, ...]:
    """See `numpy.diag_indices`."""
    return (arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """See `numpy.diag_indices_from`."""
    if not arr.ndim >= 2:
        raise ValueError("input array must be at least 2-d")
    if any(n != arr.shape[0] for n in arr.shape):
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> tuple[Array, ...]:
    """See `numpy.mask_indices`. Computes the mask, because it determines the shape."""
    mask = as_array(mask_func(ones((n, n), int), k))
    if sized(mask.aval.shape):
        return places_where(mask)
    return _tuple(np.nonzero(np.asarray(seen_value(mask._read()) != 0)))


# -- host data -------------------------------------------------------------------------------------


@unbound
@as_its_like
def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Array:
    """See `numpy.fromiter`. Lazy items are computed, but for those that are traced."""
    check_like(like)
    if local.level:
        return of_items(iter, dtype_argument(dtype), count)
    items = (static(i) if isinstance(i, Scalar) else i for i in iter)
    return from_numpy(np.fromiter(items, dtype_argument(dtype), count))


@unbound
@as_its_like
def frombuffer(
    buffer: Any, dtype: Any = None, count: int = -1, offset: int = 0, *, like: Any = None
) -> Any:
    """See `numpy.frombuffer`. Of a lazy array, a view. Of other memory that can be written, a NumPy
    array in it, as others may see it: processes, files, C code. Of bytes, a read-only copy.
    """
    check_like(like)
    given = buffer if type(buffer) in (bytes, bytearray, memoryview) else to_host(buffer)
    found = np.frombuffer(given, dtype if dtype is None else dtype_argument(dtype), count, offset)
    if given is not buffer and isinstance(buffer, NDArray):
        cls: Any = NDArray
        return cls(found.shape, found.dtype, buffer, offset)
    if found.flags.writeable:
        return found
    # memory as aligned as programs want it takes longer to get than a few numbers to copy
    few = found.nbytes < 4096
    out = new_array(from_host(found.copy() if few else found, copy=not few))
    out._flags = {"readonly": True}
    return out


@unbound
@as_its_like
def fromstring(
    string: Any, dtype: Any = float, count: int = -1, sep: Any = "", *, like: Any = None
) -> Array:
    """See `numpy.fromstring`."""
    check_like(like)
    return from_numpy(np.fromstring(to_host(string), dtype_argument(dtype), count, sep=sep))
