"""Reading and writing at index arrays: take, put.

Index arrays arrive normalised: int64, of one common shape, in bounds, one for each axis in `axes`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, In, aval_of, aval_of_operand
from lazynp._cost import per_index
from lazynp._extents import broadcast_shapes, surely
from lazynp._fronts import BUILT, fastpath
from lazynp._primitive import Primitive, Undefined
from lazynp._quiet import quietly
from lazynp.primitives import elementwise, shaping
from lazynp.primitives._at import combine_at
from lazynp.primitives._axes import broadcast_front, transposed

_INT64 = np.dtype("i8")

Axes = tuple[int, ...]


def _rest(shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    """The sizes of the axes that are not indexed."""
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def _other_axes(ndim: int, axes: Axes) -> Axes:
    return tuple(i for i in range(ndim) if i not in axes)


def _index_shape(indices: Sequence[In]) -> tuple[int, ...]:
    return broadcast_shapes(*[aval_of_operand(i).shape for i in indices])


def zeros_like(x: Any) -> Any:
    return shaping.full(0, shape=x.aval.shape, dtype=x.aval.dtype)


def _check_indices(name: str, x: Aval, indices: Sequence[Aval], axes: Axes) -> tuple[int, ...]:
    if len(indices) != len(axes) or not axes:
        raise TypeError(f"{name}: one index array per axis is required, got {indices} for {axes}")
    if any(i is not indices[0] or i.dtype != _INT64 for i in indices):
        raise IndexError(f"{name}: int64 indices of one shape are required, got {indices}")
    if not all(0 <= a < x.ndim for a in axes) or list(axes) != sorted(set(axes)):
        raise TypeError(f"{name}: sorted axes of {x} are required, got {axes}")
    return indices[0].shape


# -- lowering of index arrays ----------------------------------------------------------------------


def _index_vectors(b: Any, indices: Sequence[Any]) -> tuple[Any, int]:
    """Stack the indices into one array of index vectors; also return the axis of their
    components.
    """
    shape = indices[0].aval.shape
    if len(indices) == 1:
        return indices[0], len(shape)  # the axis beyond the last: vectors of length one
    columns = [b.reshape(i, (*shape, 1)) for i in indices]
    return b.concatenate(columns, len(shape)), len(shape)


def _split(b: Any, shape: Sequence[int], axes: Axes, indices: Sequence[Any]) -> Any:
    """The axes whose index arrays only count an axis of theirs, with that axis: devices that have
    some entries along it need no others. Then the other axes, and their index vectors.
    """
    found: dict[int, int] = {}
    for axis, index in zip(axes, indices, strict=True):
        at = index.counts
        if b.mesh is not None and at is not None and index.aval.shape[at] == shape[axis]:
            if at not in found.values() and len(found) + 1 < len(axes):
                found[axis] = at
    rest = [i for a, i in zip(axes, indices) if a not in found]
    return found, tuple(a for a in axes if a not in found), *_index_vectors(b, rest)


def _starts(b: Any, ndim: int, axes: Axes, indices: Sequence[Any]) -> list[Any]:
    """The start of the one element that single-element index arrays select."""
    zero = b.constant(0, _INT64)
    starts = [zero] * ndim
    for axis, index in zip(axes, indices, strict=True):
        starts[axis] = b.reshape(index, ())
    return starts


def _single_sizes(shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    return tuple(1 if i in axes else d for i, d in enumerate(shape))


def _zero(b: Any, aval: Aval) -> Any:
    return b.constant(False if aval.dtype.kind == "b" else 0, aval.dtype, aval.shape)


# -- take ------------------------------------------------------------------------------------------


def _take_abstract(x: Aval, *indices: Aval, axes: Axes) -> Aval:
    return aval_of(_check_indices("take", x, indices, axes) + _rest(x.shape, axes), x.dtype)


def _take_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    index = aval_of(_index_shape(ins[1:]), _INT64)
    return (aval_of_operand(ins[0]), *[index] * (len(ins) - 1))


def _take_reference(x: Any, *indices: Any, axes: Axes) -> Any:
    x = np.asarray(x)
    if axes == (0,) and x.flags.c_contiguous:  # otherwise np.take would first copy all of x
        return np.take(x, indices[0], axis=0)
    # move the indexed axes to the front, so that NumPy puts the axes of the indices first
    front = x.transpose(axes + _other_axes(x.ndim, axes))
    return np.array(front[indices]) if np.ndim(indices[0]) == 0 else front[indices]


def _take_lower(b: Any, x: Any, *indices: Any, axes: Axes) -> Any:
    aval = x.aval
    batch = indices[0].aval
    out = aval_of(batch.shape + _rest(aval.shape, axes), aval.dtype)
    if out.size == 0:
        return _zero(b, out)
    sizes = _single_sizes(aval.shape, axes)
    if batch.size == 1:
        piece = b.dynamic_slice(x, _starts(b, aval.ndim, axes, indices), sizes)
        return b.reshape(piece, out.shape)
    stacked, rest, vectors, vector_axis = _split(b, aval.shape, axes, indices)
    return b.gather(
        x,
        vectors,
        offset_dims=tuple(range(batch.ndim, out.ndim)),
        collapsed_slice_dims=rest,
        start_index_map=rest,
        index_vector_dim=vector_axis,
        slice_sizes=sizes,
        operand_batching_dims=tuple(stacked),
        start_indices_batching_dims=tuple(stacked.values()),
    )


def _take_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axes: Axes) -> tuple[Any, Any]:
    (x, *indices), x_dot = primals, tangents[0]
    out_dot = None if x_dot is None else take(x_dot, *indices, axes=axes)
    return take(x, *indices, axes=axes), out_dot


def _take_transpose(ct: Any, x: Undefined, *indices: Any, axes: Axes) -> list[Any]:
    zeros = shaping.full(0, shape=x.aval.shape, dtype=x.aval.dtype)
    return [put(zeros, ct, *indices, axes=axes, mode="add"), *[None] * len(indices)]


def row_numbers(size: int, shape: tuple[int, ...]) -> Any:
    """For batched index arrays of this shape: the batch element that each index belongs to."""
    return shaping.iota(shape=(size, *shape), axis=0, dtype=_INT64)


def _batched_indices(size: int, batched: Sequence[bool], indices: Sequence[Any]) -> list[Any]:
    return [
        i if is_batched else broadcast_front(i, size)
        for i, is_batched in zip(indices, batched, strict=True)
    ]


def _take_batch(size: int, batched: Sequence[bool], x: Any, *indices: Any, axes: Axes) -> Any:
    x_batched, *which = batched
    if not any(which):
        out = take(x, *indices, axes=tuple(a + 1 for a in axes))
        at = indices[0].ndim  # in the result, the axes of the indices come first
        return transposed(out, (at, *(i for i in range(out.ndim) if i != at)))
    indices = tuple(_batched_indices(size, which, indices))
    if not x_batched:
        return take(x, *indices, axes=axes)
    rows = row_numbers(size, indices[0].shape[1:])
    return take(x, rows, *indices, axes=(0, *(a + 1 for a in axes)))


take = Primitive(
    "take",
    abstract=_take_abstract,
    explicit=_take_explicit,
    reference=_take_reference,
    lower=_take_lower,
    jvp=_take_jvp,
    transpose=_take_transpose,
    batch=_take_batch,
    cost=per_index(1.5, 2.0),
    kind="index",
)


# -- put -------------------------------------------------------------------------------------------

_UFUNCS = {
    "add": np.add,
    "multiply": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
_BIT_OPS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
_BOOL_OPS = {"add": "or", "multiply": "and", "minimum": "and", "maximum": "or", **_BIT_OPS}


def _put_abstract(x: Aval, u: Aval, *indices: Aval, axes: Axes, mode: str) -> Aval:
    shape = _check_indices("put", x, indices, axes) + _rest(x.shape, axes)
    if mode != "set" and mode not in _UFUNCS:
        raise ValueError(f"put: a mode of set, {', '.join(_UFUNCS)} is required, got {mode!r}")
    if u is not aval_of(shape, x.dtype):
        raise ValueError(
            f"shape mismatch: value array of shape {u.shape} could not be broadcast to indexing "
            f"result of shape {shape}"
        )
    return x


def _put_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    x, index = aval_of_operand(ins[0]), aval_of(_index_shape(ins[2:]), _INT64)
    u = aval_of(index.shape + _rest(x.shape, params["axes"]), x.dtype)
    return (x, u, *[index] * (len(ins) - 2))


def cast_value(u: Any, dtype: np.dtype[Any]) -> Any:
    u = np.asarray(u)
    return u if u.dtype == dtype else elementwise.convert.reference(u, dtype=dtype)


def _put_reference(x: Any, u: Any, *indices: Any, axes: Axes, mode: str) -> Any:
    return _put_inplace(np.array(x), u, *indices, axes=axes, mode=mode)


def _put_inplace(x: Any, u: Any, *indices: Any, axes: Axes, mode: str) -> Any:
    front = x.transpose(axes + _other_axes(x.ndim, axes))
    u = cast_value(u, x.dtype)
    if mode == "set":
        front[indices] = u
        return x
    if mode == "add" and u.size >= _MANY and _added_by_rows(front, u, indices):
        return x
    if mode in ("minimum", "maximum"):  # unlike the ufunc itself, ufunc.at warns of a nan
        quietly(combine_at, [_UFUNCS[mode], front, indices, u])
    else:
        combine_at(_UFUNCS[mode], front, indices, u)
    return x


_MANY = 64


def _added_by_rows(front: Any, u: Any, indices: Sequence[Any]) -> bool:
    """Add u to the rows that the indices name, if C is there for it; whether it is done.

    `ufunc.at` has a fast loop for one index of a vector only.
    """
    if not BUILT or len(indices) == 1 == front.ndim or u.size < front.size // 4:
        return False
    lengths, width = front.shape[: len(indices)], front.shape[len(indices) :]
    rows = np.zeros(broadcast_shapes(*map(np.shape, indices)), np.intp)
    for index, length in zip(indices, lengths, strict=True):
        if np.min(index) < 0 or np.max(index) >= length:
            return False
        rows *= length
        rows += index
    table = np.ascontiguousarray(front)
    u = np.ascontiguousarray(np.broadcast_to(u, rows.shape + width)).reshape(rows.size, -1)
    if not fastpath.add_rows(table.reshape(math.prod(lengths), -1), rows.ravel(), u):
        return False
    if table is not front:
        front[...] = table
    return True


def _put_body(dtype: np.dtype[Any], mode: str) -> Any:
    """The scatter's region: how an update combines with the old element."""
    if mode == "set":
        return lambda b, old, new: new
    if dtype.kind == "b":
        return lambda b, old, new: b.binary(f"stablehlo.{_BOOL_OPS[mode]}", old, new)
    if dtype.kind == "c" and mode in ("minimum", "maximum"):
        return lambda b, old, new: _complex_extremum(b, old, new, mode)
    return lambda b, old, new: b.binary(f"stablehlo.{_BIT_OPS.get(mode, mode)}", old, new)


def _complex_extremum(b: Any, x: Any, y: Any, mode: str) -> Any:
    """NumPy's maximum or minimum of complex numbers: lexicographic; the first nan wins."""
    direction = "GT" if mode == "maximum" else "LT"
    xr, xi, yr, yi = b.real(x), b.imag(x), b.real(y), b.imag(y)
    first = b.or_(
        b.compare(xr, yr, direction),
        b.and_(b.compare(xr, yr, "EQ"), b.compare(xi, yi, direction[0] + "E")),
    )
    x_nan = b.or_(b.compare(xr, xr, "NE"), b.compare(xi, xi, "NE"))
    y_nan = b.or_(b.compare(yr, yr, "NE"), b.compare(yi, yi, "NE"))
    return b.select(b.or_(x_nan, b.and_(first, b.not_(y_nan))), x, y)


def _put_lower(b: Any, x: Any, u: Any, *indices: Any, axes: Axes, mode: str) -> Any:
    aval, batch = x.aval, indices[0].aval
    if u.aval.size == 0:
        return x
    if mode == "set" and batch.size == 1:
        piece = b.reshape(u, _single_sizes(aval.shape, axes))
        return b.dynamic_update_slice(x, piece, _starts(b, aval.ndim, axes, indices))
    if mode == "set" and not b.platform.host:
        return _put_last(b, x, u, indices, axes)
    return _scatter(b, x, u, indices, axes, _put_body(aval.dtype, mode))


def _scatter(b: Any, x: Any, u: Any, indices: Sequence[Any], axes: Axes, body: Any) -> Any:
    """Scatter. On the host, updates apply in the order of the indices, so the last duplicate
    wins.
    """
    stacked, rest, vectors, vector_axis = _split(b, x.aval.shape, axes, indices)
    return b.scatter(
        x,
        vectors,
        u,
        body,
        update_window_dims=tuple(range(indices[0].aval.ndim, u.aval.ndim)),
        inserted_window_dims=rest,
        scatter_dims_to_operand_dims=rest,
        index_vector_dim=vector_axis,
        input_batching_dims=tuple(stacked),
        scatter_indices_batching_dims=tuple(stacked.values()),
    )


def _put_last(b: Any, x: Any, u: Any, indices: Sequence[Any], axes: Axes) -> Any:
    """Put where duplicates apply in no fixed order: find the last writer of each place, then
    gather.
    """
    batch = indices[0].aval
    places = tuple(x.aval.shape[a] for a in axes)
    count = aval_of((batch.size,), _INT64)
    order = b.reshape(b.iota(count.shape, 0, _INT64), batch.shape)
    writer = _scatter(
        b,
        b.constant(-1, _INT64, places),
        order,
        indices,
        tuple(range(len(axes))),
        _put_body(_INT64, "maximum"),
    )
    rest = _rest(x.aval.shape, axes)
    values = _take_lower(b, b.reshape(u, (batch.size, *rest)), writer, axes=(0,))
    # now the indexed axes of both are in front
    back = axes + _other_axes(x.aval.ndim, axes)
    inverse = tuple(sorted(range(len(back)), key=back.__getitem__))
    written = b.compare(writer, b.constant(0, _INT64, places), "GE")
    mask = b.broadcast_in_dim(written, x.aval.shape, axes)
    return b.select(mask, b.transpose(values, inverse), x)


def _put_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, axes: Axes, mode: str
) -> tuple[Any, Any]:
    (x, u, *indices), (x_dot, u_dot, *_) = primals, tangents
    out = put(x, u, *indices, axes=axes, mode=mode)
    if x_dot is None and u_dot is None:
        return out, None
    if mode == "multiply":
        return out, _put_multiply_tangent(x, u, indices, x_dot, u_dot, axes)
    x_dot = zeros_like(x) if x_dot is None else x_dot
    u_dot = zeros_like(u) if u_dot is None else u_dot
    if mode in ("minimum", "maximum"):
        return out, _put_extremum_tangent(x, u, indices, x_dot, u_dot, out, axes)
    # linear: the tangent goes wherever the value goes, also for duplicates
    return out, put(x_dot, u_dot, *indices, axes=axes, mode=mode)


def _put_multiply_tangent(
    x: Any, u: Any, indices: Sequence[Any], x_dot: Any, u_dot: Any, axes: Axes
) -> Any:
    """The sum of each factor's tangent times the product of all other factors at its place.

    To avoid dividing by zero, it counts zeros and leaves them out of the product. If one other
    factor is zero, so is the product of all others; its derivative by that factor is not.
    """
    out_dot = None
    if x_dot is not None:
        out_dot = put(x_dot, u, *indices, axes=axes, mode="multiply")
    if u_dot is None:
        return out_dot
    zero, one = zeros_like(u), shaping.full(1, shape=u.aval.shape, dtype=u.aval.dtype)
    is_zero = elementwise.equal(u, zero)
    factors = elementwise.select(is_zero, one, u)
    product = put(x, factors, *indices, axes=axes, mode="multiply")
    none = shaping.full(0, shape=x.aval.shape, dtype=_INT64)
    ones = elementwise.convert(is_zero, dtype=_INT64)
    zeros = put(none, ones, *indices, axes=axes, mode="add")
    count = elementwise.subtract(take(zeros, *indices, axes=axes), ones)  # without itself
    others = elementwise.divide(take(product, *indices, axes=axes), factors)
    gone = elementwise.select(is_zero, u, zero)
    sums = put(zeros_like(x), gone, *indices, axes=axes, mode="add")
    single = elementwise.multiply(
        others, elementwise.subtract(take(sums, *indices, axes=axes), gone)
    )
    some = elementwise.select(elementwise.equal(count, 1), single, zero)
    others = elementwise.select(elementwise.equal(count, 0), others, some)
    base = zeros_like(x) if out_dot is None else out_dot
    return put(base, elementwise.multiply(others, u_dot), *indices, axes=axes, mode="add")


def _put_extremum_tangent(
    x: Any, u: Any, indices: Sequence[Any], x_dot: Any, u_dot: Any, out: Any, axes: Axes
) -> Any:
    """The mean of the tangents of all values that attain the extremum."""
    dtype = x.aval.dtype
    x_wins = elementwise.convert(elementwise.equal(x, out), dtype=dtype)
    u_wins = elementwise.equal(u, take(out, *indices, axes=axes))
    u_wins = elementwise.convert(u_wins, dtype=dtype)
    count = put(x_wins, u_wins, *indices, axes=axes, mode="add")
    x_part, u_part = elementwise.multiply(x_wins, x_dot), elementwise.multiply(u_wins, u_dot)
    total = put(x_part, u_part, *indices, axes=axes, mode="add")
    return elementwise.divide(total, count)


def _put_transpose(ct: Any, x: Any, u: Any, *indices: Any, axes: Axes, mode: str) -> list[Any]:
    """`set` and `add` are linear in x and u together, `multiply` in x."""
    ct_x = ct_u = None
    if mode == "multiply":
        assert isinstance(x, Undefined)
        ct_x = put(ct, u, *indices, axes=axes, mode="multiply")
    elif mode == "add":
        ct_x = ct if isinstance(x, Undefined) else None
        ct_u = take(ct, *indices, axes=axes) if isinstance(u, Undefined) else None
    else:
        zeros = shaping.full(0, shape=u.aval.shape, dtype=u.aval.dtype)
        if isinstance(u, Undefined):  # before ct is to be overwritten
            ct_u = _put_set_transpose_u(ct, zeros, x.aval, indices, axes)
        if isinstance(x, Undefined):
            ct_x = put(ct, zeros, *indices, axes=axes, mode="set")
    return [ct_x, ct_u, *[None] * len(indices)]


def _put_set_transpose_u(ct: Any, zeros: Any, x: Aval, indices: Sequence[Any], axes: Axes) -> Any:
    """If several updates write one place, only the last contributes to the result."""
    ct_u = take(ct, *indices, axes=axes)
    batch = indices[0].aval
    if surely(batch.size <= 1):
        return ct_u
    order = shaping.iota(shape=(batch.size,), axis=0, dtype=_INT64)
    order = shaping.reshape(order, shape=batch.shape)
    places = tuple(x.shape[a] for a in axes)
    nobody = shaping.full(-1, shape=places, dtype=_INT64)
    all_axes = tuple(range(len(axes)))
    writer = put(nobody, order, *indices, axes=all_axes, mode="set")
    last = elementwise.equal(take(writer, *indices, axes=all_axes), order)
    shape = ct_u.aval.shape
    mask = shaping.broadcast_in_dim(last, shape=shape, dims=tuple(range(batch.ndim)))
    return elementwise.select(mask, ct_u, zeros)


def _put_batch(
    size: int, batched: Sequence[bool], x: Any, u: Any, *indices: Any, axes: Axes, mode: str
) -> Any:
    x_batched, u_batched, *which = batched
    x = x if x_batched else broadcast_front(x, size)
    u = u if u_batched else broadcast_front(u, size)
    if any(which):
        indices = tuple(_batched_indices(size, which, indices))
        rows = row_numbers(size, indices[0].shape[1:])
        return put(x, u, rows, *indices, axes=(0, *(a + 1 for a in axes)), mode=mode)
    n = indices[0].ndim  # in the update, the axes of the indices come first
    u = transposed(u, (*range(1, n + 1), 0, *range(n + 1, u.ndim)))
    return put(x, u, *indices, axes=tuple(a + 1 for a in axes), mode=mode)


put = Primitive(
    "put",
    abstract=_put_abstract,
    explicit=_put_explicit,
    reference=_put_reference,
    lower=_put_lower,
    jvp=_put_jvp,
    transpose=_put_transpose,
    batch=_put_batch,
    inplace=_put_inplace,
    cost=per_index(2.5, 4.5),
    kind="update",
)
