"""NumPy's order of values, as integers and comparators in StableHLO.

Floats compare through integers of their width. That is exact for subnormals too, which compiled
float comparisons flush to zero. All nan count as one greatest value, and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_BOOL, _INT8, _INT64, _UINT64 = np.dtype("?"), np.dtype("i1"), np.dtype("i8"), np.dtype("u8")


def float_key(b: Any, x: Any) -> Any:
    """A signed integer for each float; a negative float's key has the negated bits of its
    magnitude.
    """
    shape, dtype = x.aval.shape, x.aval.dtype
    key = np.dtype(f"i{dtype.itemsize}")
    info, inf = np.iinfo(key), int(np.array(np.inf, dtype).view(key)[()])
    bits = b.bitcast(x, key, shape)
    magnitude = b.and_(bits, b.constant(info.max, key, shape))
    negative = b.compare(bits, b.constant(0, key, shape), "LT")
    signed = b.select(negative, b.unary("stablehlo.negate", magnitude), magnitude)
    is_nan = b.compare(magnitude, b.constant(inf, key, shape), "GT")
    return b.select(is_nan, b.constant(info.max, key, shape), signed)


def float_of_key(b: Any, key: Any, dtype: np.dtype[Any]) -> Any:
    """The float of a key. Any nan becomes a quiet nan, and -0.0 becomes 0.0."""
    shape = key.aval.shape
    info = np.iinfo(key.aval.dtype)
    zero = b.constant(0, key.aval.dtype, shape)
    sign = b.constant(info.min, key.aval.dtype, shape)
    negative = b.or_(b.unary("stablehlo.negate", key), sign)
    bits = b.select(b.compare(key, zero, "LT"), negative, key)
    is_nan = b.compare(key, b.constant(info.max, key.aval.dtype, shape), "EQ")
    return b.select(is_nan, b.constant(np.nan, dtype, shape), b.bitcast(bits, dtype, shape))


def keys(b: Any, x: Any) -> list[Any]:
    """Keys of x: comparing them lexicographically gives NumPy's order."""
    kind = x.aval.dtype.kind
    if kind == "f":
        return [float_key(b, x)]
    if kind != "c":
        return [x]
    # numbers with a nan come last: (R, nan), then (nan, R), then (nan, nan)
    real, imag = b.real(x), b.imag(x)
    kr, ki = float_key(b, real), float_key(b, imag)
    nan = b.constant(np.iinfo(kr.aval.dtype).max, kr.aval.dtype, x.aval.shape)
    imag_nan = b.convert(b.compare(ki, nan, "EQ"), _INT8)
    real_nan = b.convert(b.compare(kr, nan, "EQ"), _INT8)
    return [b.or_(imag_nan, b.op("add", real_nan, real_nan, out=real_nan.aval)), kr, ki]


def less_keys(b: Any, xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """Whether xs comes strictly before ys."""
    result = b.compare(xs[-1], ys[-1], "LT")
    for x, y in list(zip(xs, ys, strict=True))[-2::-1]:
        result = b.or_(b.compare(x, y, "LT"), b.and_(b.compare(x, y, "EQ"), result))
    return result


def less(b: Any, xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """`less_keys` for values of any dtype."""
    return less_keys(b, [k for x in xs for k in keys(b, x)], [k for y in ys for k in keys(b, y)])


def unsigned_key(b: Any, x: Any) -> Any:
    """An unsigned integer of x's width that sorts like x (not for complex x)."""
    dtype, shape = x.aval.dtype, x.aval.shape
    if dtype.kind == "b":
        return b.convert(x, np.dtype("u1"))
    if dtype.kind == "u":
        return x
    key = float_key(b, x) if dtype.kind == "f" else x
    unsigned = np.dtype(f"u{dtype.itemsize}")
    top = b.constant(1 << (8 * dtype.itemsize - 1), unsigned, shape)
    return b.binary("stablehlo.xor", b.bitcast(key, unsigned, shape), top)


def plain_sort(b: Any, x: Any, axis: int) -> Any:
    """Sort integers. XLA has a native sort for exactly this comparator, which is five times
    faster.
    """
    return b.sort([x], axis, lambda b, lhs, rhs: b.compare(lhs[0], rhs[0], "LT"))[0]


def packed_argsort(b: Any, x: Any) -> Any:
    """Stable argsort of a real array along the last axis, of less than 2**32 elements, by sorting
    single integers.

    A key of 32 bits and a position fit one 64-bit integer. Longer keys are sorted by their low
    half, then by their high half: two such sorts are twice as fast as one of (key, position).
    """
    key = unsigned_key(b, x)
    if key.aval.dtype.itemsize <= 4:
        return _packed_pass(b, key)
    shape = x.aval.shape
    word = np.dtype("u4")
    shift = b.constant(32, _UINT64, shape)
    high = b.convert(b.binary("stablehlo.shift_right_logical", key, shift), word)
    order = _packed_pass(b, b.convert(key, word))
    return along_rows(b, order, _packed_pass(b, along_rows(b, high, order)))


def _packed_pass(b: Any, key: Any) -> Any:
    """Stable argsort (int64) of unsigned keys of at most 32 bits."""
    shape = key.aval.shape
    shift = b.constant(32, _UINT64, shape)
    high = b.binary("stablehlo.shift_left", b.convert(key, _UINT64), shift)
    last = len(shape) - 1
    packed = plain_sort(b, b.or_(high, b.iota(shape, last, _UINT64)), last)
    low = b.and_(packed, b.constant(2**32 - 1, _UINT64, shape))
    return b.convert(low, _INT64)


def along_rows(b: Any, x: Any, index: Any) -> Any:
    """take_along_axis on the last axis of what `rows_of` gives, with int64 indices of the same
    shape.
    """
    if b.mesh is not None:
        return _along_lines(b, x, index)
    rows, n = x.aval.shape
    if rows > 1:
        start = b.op("multiply", b.iota((rows, n), 0, _INT64),
                     b.constant(n, _INT64, (rows, n)), out=index.aval)  # fmt: skip
        index = b.binary("stablehlo.add", index, start)
    flat = b.gather(
        b.reshape(x, (rows * n,)),
        b.reshape(index, (rows * n,)),
        offset_dims=(),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1,),
    )
    return b.reshape(flat, (rows, n))


def _along_lines(b: Any, x: Any, index: Any) -> Any:
    """The same without a reshape, so that each device needs only the lines that it has."""
    last = x.aval.ndim - 1
    lines = tuple(range(last))
    return b.gather(
        x,
        index,
        offset_dims=(),
        collapsed_slice_dims=(last,),
        start_index_map=(last,),
        index_vector_dim=x.aval.ndim,
        slice_sizes=(1,) * x.aval.ndim,
        operand_batching_dims=lines,
        start_indices_batching_dims=lines,
    )


def rows_of(b: Any, x: Any, axis: int) -> Any:
    """x as (rows, n), where n is the size of the axis; over several devices, with the axis last."""
    axes = [i for i in range(x.aval.ndim) if i != axis]
    n = x.aval.shape[axis]
    x = b.transpose(x, (*axes, axis))
    return x if b.mesh is not None else b.reshape(x, (x.aval.size // n, n))


def of_rows(b: Any, x: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The inverse of `rows_of`, for a result of this shape."""
    axes = [i for i in range(len(shape)) if i != axis]
    moved = b.reshape(x, tuple(shape[i] for i in (*axes, axis)))
    back = (*axes, axis)
    return b.transpose(moved, tuple(sorted(range(len(back)), key=back.__getitem__)))


def any_negative_zero(b: Any, x: Any) -> Any:
    """A 0-d bool: does the float array x contain -0.0?"""
    key = np.dtype(f"i{x.aval.dtype.itemsize}")
    bits = b.bitcast(x, key, x.aval.shape)
    minus_zero = b.constant(np.iinfo(key).min, key, x.aval.shape)
    found = b.compare(bits, minus_zero, "EQ")
    return b.reduce(
        [found], [b.constant(False, _BOOL)], tuple(range(x.aval.ndim)),
        lambda b, accs, elems: [b.or_(accs[0], elems[0])],
    )[0]  # fmt: skip


def has_negative_zero(x: Any) -> bool:
    """The same of a value of NumPy's. The bits of -0.0 are those of the least integer, which one
    pass finds without a temporary.
    """
    size = x.dtype.itemsize
    if size > 8 or not x.dtype.isnative:  # no integer has so many bytes
        zeros = x == 0
        return bool(zeros.any() and np.signbit(x[zeros]).any())
    return bool(x.size and x.view(f"i{size}").min() == np.iinfo(f"i{size}").min)
