"""sort, argsort, sort_pairs, searchsorted, in NumPy's order.

nan sort last and are equal to each other, and -0.0 equals 0.0. Complex numbers compare by real,
then by imaginary part; those that contain a nan sort last. Every sort is stable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._cost import per_comparison
from lazynp._fronts import BUILT, fastpath
from lazynp._primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Primitive
from lazynp.primitives import shaping
from lazynp.primitives._axes import broadcast_front
from lazynp.primitives._order import (
    along_rows,
    any_negative_zero,
    float_key,
    float_of_key,
    has_negative_zero,
    keys,
    less,
    less_keys,
    of_rows,
    packed_argsort,
    plain_sort,
    rows_of,
)
from lazynp.primitives.indexing import take

_INT64 = np.dtype("i8")

# Below this size, one general sort, which compiles faster; from it on, the native sort of integers.
_NATIVE_FROM = 4096
_MAX_PACKED = 2**32
# So many elements are compared and exchanged one by one: a call of XLA's sort, with its comparator,
# takes 3 us in a loop over elements.
_FEW = 5


def _check_axis(name: str, x: Aval, axis: int) -> None:
    if not 0 <= axis < x.ndim:
        raise np.exceptions.AxisError(axis, x.ndim, name)


def _along(x: Any, index: Any, axis: int) -> Any:
    """take_along_axis, recorded."""
    others = [
        index if i == axis else shaping.iota(shape=index.aval.shape, axis=i, dtype=_INT64)
        for i in range(index.aval.ndim)
    ]
    return take(x, *others, axes=tuple(range(index.aval.ndim)))


def _packable(aval: Aval, axis: int) -> bool:
    return aval.size >= _NATIVE_FROM and aval.dtype.kind != "c" and aval.shape[axis] < _MAX_PACKED


# -- sort ------------------------------------------------------------------------------------------


def _sort_abstract(x: Aval, *, axis: int) -> Aval:
    _check_axis("sort", x, axis)
    return x


def _kind(x: Any) -> Any:
    """NumPy's fastest sort, up to ten times as fast as its stable one, where the result cannot
    differ. It differs only for values that are equal but distinct: signed zeros and complex
    numbers.
    """
    kind = x.dtype.kind
    return "stable" if kind == "c" or kind == "f" and has_negative_zero(x) else None


def _sort_reference(x: Any, *, axis: int) -> Any:
    return np.sort(x, axis=axis, kind=_kind(x))


def _sort_inplace(x: Any, *, axis: int) -> Any:
    x.sort(axis=axis, kind=_kind(x))
    return x


def _sort_lower(b: Any, x: Any, *, axis: int) -> Any:
    aval = x.aval
    if aval.size == 0 or aval.shape[axis] == 1:
        return x
    if aval.dtype.kind == "b":
        return _sort_bools(b, x, axis)
    if aval.shape[axis] <= _FEW:
        return _sort_few(b, x, axis)
    if aval.dtype.kind in "iu":
        return plain_sort(b, x, axis)

    def general(b: Any) -> list[Any]:
        return b.sort([x], axis, less)

    def native(b: Any) -> list[Any]:
        return [float_of_key(b, plain_sort(b, float_key(b, x), axis), aval.dtype)]

    if not _packable(aval, axis):
        return general(b)[0]
    # a stable argsort of these costs no more than a sort; devices would have to agree on a branch
    if aval.dtype.itemsize <= 4 or b.mesh is not None:
        return _sort_pairs_lower(b, x, axis=axis, num_keys=1)[0]
    # the keys do not distinguish -0.0 from 0.0, but a stable sort must keep their order
    return b.if_(any_negative_zero(b, x), general, native)[0]


def _sort_few(b: Any, x: Any, axis: int) -> Any:
    """By comparing neighbours and exchanging them, which is stable."""
    shape = x.aval.shape
    parts = []
    for k in range(shape[axis]):
        starts, limits = [0] * len(shape), list(shape)
        starts[axis], limits[axis] = k, k + 1
        parts.append(b.slice(x, starts, limits))
    for end in range(len(parts) - 1, 0, -1):
        for k in range(end):
            first, second = parts[k], parts[k + 1]
            exchanged = less(b, [second], [first])
            parts[k] = b.select(exchanged, second, first)
            parts[k + 1] = b.select(exchanged, first, second)
    return b.concatenate(parts, axis)


def _sort_bools(b: Any, x: Any, axis: int) -> Any:
    """Count the False, and put that many in front."""
    shape = x.aval.shape
    count = b.reduce(
        [b.convert(b.not_(x), _INT64)], [b.constant(0, _INT64)], (axis,),
        lambda b, accs, elems: [b.binary("stablehlo.add", accs[0], elems[0])], "stablehlo.add",
    )[0]  # fmt: skip
    others = tuple(i for i in range(len(shape)) if i != axis)
    return b.compare(b.iota(shape, axis, _INT64), b.broadcast_in_dim(count, shape, others), "GE")


def _sort_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    if x_dot is None:
        return sort(x, axis=axis), None
    order = argsort(x, axis=axis)
    return _along(x, order, axis), _along(x_dot, order, axis)


def _sort_batch(size: int, batched: Sequence[bool], x: Any, *, axis: int) -> Any:
    return sort(x, axis=axis + 1)


sort = Primitive(
    "sort",
    abstract=_sort_abstract,
    reference=_sort_reference,
    lower=_sort_lower,
    jvp=_sort_jvp,
    transpose=NOT_LINEAR,
    batch=_sort_batch,
    inplace=_sort_inplace,
    cost=per_comparison(1.5, 3.0),
    kind="sort",
)


# -- argsort ---------------------------------------------------------------------------------------


def _argsort_abstract(x: Aval, *, axis: int) -> Aval:
    _check_axis("argsort", x, axis)
    return aval_of(x.shape, _INT64)


QUICK_FROM = 256 if BUILT else 4096  # elements
_SAMPLE = 256
_CPU = getattr(np._core._multiarray_umath, "__cpu_features__", {})  # type: ignore[attr-defined]
_WIDE = bool(_CPU.get("AVX512_SKX") or _CPU.get("AVX2"))  # what NumPy's fastest argsort uses


def _suits_merging(x: Any) -> bool:
    """Whether, to judge by a sample, x is in order already, or many elements are equal to others:
    then NumPy's stable argsort is quick.
    """
    sample = x.flat[:: x.size // _SAMPLE]
    if (sample[1:] >= sample[:-1]).all():
        return True
    sample.sort()
    return bool(8 * np.count_nonzero(sample[1:] == sample[:-1]) > sample.size)


def _argsort_reference(x: Any, *, axis: int) -> Any:
    """Stable, as NumPy's stable argsort, in less time. (Without C: if few are equal.)"""
    wide = x.dtype.kind in "iuf" and x.dtype.itemsize >= 4
    if BUILT and wide and x.size >= QUICK_FROM:
        last = axis in (-1, x.ndim - 1)
        rows = x if last else np.moveaxis(x, axis, -1)
        order = fastpath.stable_order(np.ascontiguousarray(rows), _WIDE)
        if order is not None:
            return order if last else np.ascontiguousarray(np.moveaxis(order, -1, axis))
    fast = _WIDE and x.size >= QUICK_FROM and wide
    if not fast or _suits_merging(x) or x.dtype.kind == "f" and np.isnan(x).any():
        return np.argsort(x, axis=axis, kind="stable")
    rows = np.moveaxis(x, axis, -1)
    order = _order_of_integers(rows) if x.dtype.kind != "f" else None
    if order is None:
        order = _order_repaired(rows)
    return np.ascontiguousarray(np.moveaxis(order, -1, axis))


def stable_order(x: Any, axis: Any = -1) -> Any:
    """As NumPy's method `argsort` with kind="stable", its errors included."""
    if type(axis) is not int or not -x.ndim <= axis < x.ndim:
        return x.argsort(axis, "stable")
    return _argsort_reference(x, axis=axis)


def _order_of_integers(rows: Any) -> Any:
    """Sorts single numbers that hold an element in their high bits and its position in the low
    ones, which takes half the time of an argsort. None if 64 bits cannot hold both.
    """
    length = rows.shape[-1]
    bits = (length - 1).bit_length()
    least = rows.min()
    if (int(rows.max()) - int(least)).bit_length() + bits > 64:
        return None
    packed = rows.astype(np.uint64, order="C")  # negative numbers wrap, and back again
    packed -= least.astype(np.uint64)
    packed <<= np.uint64(bits)
    packed |= np.arange(length, dtype=np.uint64)
    packed.sort(axis=-1)
    packed &= np.uint64((1 << bits) - 1)
    return packed.view(np.int64)


def _order_repaired(rows: Any) -> Any:
    """NumPy's fastest argsort leaves equal elements in any order: they are put in theirs."""
    order = np.ascontiguousarray(np.argsort(rows, axis=-1))
    values = np.take_along_axis(rows, order, -1)
    follows = np.zeros(rows.shape, bool)  # whether an element is equal to the one before it
    np.equal(values[..., 1:], values[..., :-1], out=follows[..., 1:])
    follows = follows.ravel()
    if follows.any():
        tied = follows.copy()
        tied[:-1] |= follows[1:]
        runs = np.cumsum(~follows[tied]) * rows.shape[-1]
        flat = order.reshape(-1)
        flat[tied] = np.sort(flat[tied] + runs) - runs
    return order


def _argsort_lower(b: Any, x: Any, *, axis: int) -> Any:
    aval = x.aval
    if aval.size == 0 or aval.shape[axis] == 1:
        return b.constant(0, _INT64, aval.shape)
    if _packable(aval, axis):
        return of_rows(b, packed_argsort(b, rows_of(b, x, axis)), aval.shape, axis)
    positions = b.iota(aval.shape, axis, _INT64)
    return b.sort([x, positions], axis, lambda b, lhs, rhs: less(b, lhs[:1], rhs[:1]))[1]


def _argsort_batch(size: int, batched: Sequence[bool], x: Any, *, axis: int) -> Any:
    return argsort(x, axis=axis + 1)


argsort = Primitive(
    "argsort",
    abstract=_argsort_abstract,
    reference=_argsort_reference,
    lower=_argsort_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=_argsort_batch,
    cost=per_comparison(1.0 if _WIDE else 6.0, 13.0),
    kind="sort",
)


# -- sort_pairs ------------------------------------------------------------------------------------


def _sort_pairs_abstract(*operands: Aval, axis: int, num_keys: int) -> tuple[Aval, ...]:
    if not 1 <= num_keys <= len(operands):
        raise ValueError(f"sort_pairs: 1 to {len(operands)} keys are required, got {num_keys}")
    for x in operands:
        _check_axis("sort_pairs", x, axis)
        if x.shape != operands[0].shape:
            raise ValueError(f"sort_pairs: operands of one shape are required, got {operands}")
    return operands


def _sort_pairs_reference(*operands: Any, axis: int, num_keys: int) -> tuple[Any, ...]:
    if num_keys == 1:
        order = _argsort_reference(operands[0], axis=axis)
    else:
        order = np.lexsort(operands[num_keys - 1 :: -1], axis=axis)
    return tuple(np.take_along_axis(np.asarray(x), order, axis) for x in operands)


def _sort_pairs_lower(b: Any, *operands: Any, axis: int, num_keys: int) -> tuple[Any, ...]:
    aval = operands[0].aval
    if aval.size == 0 or aval.shape[axis] == 1:
        return operands
    if num_keys == 1 and _packable(aval, axis):
        rows = [rows_of(b, x, axis) for x in operands]
        order = packed_argsort(b, rows[0])
        return tuple(of_rows(b, along_rows(b, x, order), aval.shape, axis) for x in rows)
    results = b.sort(operands, axis, lambda b, lhs, rhs: less(b, lhs[:num_keys], rhs[:num_keys]))
    return tuple(results)


def _sort_pairs_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, num_keys: int
) -> tuple[Any, Any]:
    shape = primals[0].aval.shape
    positions = shaping.iota(shape=shape, axis=axis, dtype=_INT64)
    *outs, order = sort_pairs(*primals, positions, axis=axis, num_keys=num_keys)
    return tuple(outs), tuple(t if t is None else _along(t, order, axis) for t in tangents)


def _sort_pairs_batch(
    size: int, batched: Sequence[bool], *operands: Any, axis: int, num_keys: int
) -> Any:
    operands = tuple(
        x if is_batched else broadcast_front(x, size)
        for x, is_batched in zip(operands, batched, strict=True)
    )
    return sort_pairs(*operands, axis=axis + 1, num_keys=num_keys)


sort_pairs = Primitive(
    "sort_pairs",
    abstract=_sort_pairs_abstract,
    reference=_sort_pairs_reference,
    lower=_sort_pairs_lower,
    jvp=_sort_pairs_jvp,
    transpose=NOT_LINEAR,
    batch=_sort_pairs_batch,
    multiple_results=True,
    cost=per_comparison(8.0, 13.0),
    kind="sort",
)


# -- searchsorted ----------------------------------------------------------------------------------
# a: (*batch, n), sorted along n; v: (*batch, ...). `batch_dims` is 0 except under vmap.


def _searchsorted_abstract(a: Aval, v: Aval, *, side: str, batch_dims: int = 0) -> Aval:
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got '{side}')")
    if a.ndim != batch_dims + 1:
        raise ValueError("object too deep for desired array")
    if a.dtype != v.dtype or a.shape[:batch_dims] != v.shape[:batch_dims]:
        raise TypeError(f"searchsorted: operands of one dtype are required, got {a} and {v}")
    return aval_of(v.shape, _INT64)


def _searchsorted_reference(a: Any, v: Any, *, side: str, batch_dims: int = 0) -> Any:
    a, v = np.asarray(a), np.asarray(v)
    if batch_dims == 0:
        return np.asarray(np.searchsorted(a, v, side=side))  # type: ignore[call-overload]
    out = np.empty(v.shape, np.int64)
    for i in range(a.shape[0]):
        out[i] = _searchsorted_reference(a[i], v[i], side=side, batch_dims=batch_dims - 1)
    return out


def _searchsorted_lower(b: Any, a: Any, v: Any, *, side: str, batch_dims: int = 0) -> Any:
    """Bisect for all v at once, on integers that sort like the values."""
    n, shape = a.aval.shape[-1], v.aval.shape
    if n == 0 or v.aval.size == 0:
        return b.constant(0, _INT64, shape)
    dtype = np.dtype("i4") if a.aval.size < 2**31 else _INT64
    stack = (
        shape[:batch_dims] if b.mesh is not None else ()
    )  # devices that have some need no others
    rows = a.aval.size // n
    grid = (*stack, v.aval.size // rows) if stack else (rows, v.aval.size // rows)
    a_keys = keys(b, a if stack else b.reshape(a, (rows * n,)))
    v_keys = keys(b, b.reshape(v, grid))
    zero, one = b.constant(0, dtype), b.constant(1, dtype, grid)
    first = b.constant(0, dtype, grid) if stack else b.iota(grid, 0, dtype)
    starts = b.binary("stablehlo.multiply", first, b.constant(n, dtype, grid))

    def go_on(b: Any, state: Sequence[Any]) -> Any:
        return b.compare(state[0], b.constant(n.bit_length(), dtype), "LT")

    def halve(b: Any, state: Sequence[Any]) -> list[Any]:
        step, low, high = state
        middle = b.binary("stablehlo.add", low, high)
        middle = b.binary("stablehlo.shift_right_logical", middle, one)
        # where low == high == n, this reads past the row; the gather clamps, and nothing uses the
        # result
        places = b.binary("stablehlo.add", middle, starts)
        probes = [_gather_along(b, k, places, len(stack)) for k in a_keys]
        if side == "left":
            beyond = less_keys(b, probes, v_keys)
        else:
            beyond = b.not_(less_keys(b, v_keys, probes))
        active = b.compare(low, high, "LT")
        after = b.binary("stablehlo.add", middle, one)
        low_next = b.select(b.and_(active, beyond), after, low)
        high_next = b.select(b.and_(active, b.not_(beyond)), middle, high)
        return [b.binary("stablehlo.add", step, b.constant(1, dtype)), low_next, high_next]

    init = [zero, b.constant(0, dtype, grid), b.constant(n, dtype, grid)]
    found = b.while_loop(go_on, halve, init)[1]
    return b.reshape(b.convert(found, _INT64), shape)


def _gather_along(b: Any, x: Any, index: Any, stack: int) -> Any:
    """Elements of the last axis, each of its own entry of the stack."""
    return b.gather(
        x,
        index,
        offset_dims=(),
        collapsed_slice_dims=(stack,),
        start_index_map=(stack,),
        index_vector_dim=index.aval.ndim,
        slice_sizes=(1,) * (stack + 1),
        operand_batching_dims=tuple(range(stack)),
        start_indices_batching_dims=tuple(range(stack)),
    )


def _searchsorted_batch(
    size: int, batched: Sequence[bool], a: Any, v: Any, *, side: str, batch_dims: int = 0
) -> Any:
    a_batched, v_batched = batched
    if not a_batched and batch_dims == 0:
        return searchsorted(a, v, side=side)
    a = a if a_batched else broadcast_front(a, size)
    v = v if v_batched else broadcast_front(v, size)
    return searchsorted(a, v, side=side, batch_dims=batch_dims + 1)


searchsorted = Primitive(
    "searchsorted",
    abstract=_searchsorted_abstract,
    reference=_searchsorted_reference,
    lower=_searchsorted_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=_searchsorted_batch,
    cost=(20.0, 60.0),
    kind="sort",
)
