"""Reductions by ufuncs without a reduction primitive, along axes whose size has no value yet: one
loop for all sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._dimensions import as_operand, require_some
from lazynp.functions._operands import as_array, broadcast, cast, plain, scalar_if_0d, store
from lazynp.functions._reduce import (
    NO_IDENTITY,
    NO_VALUE,
    check_out,
    kept_shape,
    loop_dtype,
    reduced_axes,
    reduced_shape,
)
from lazynp.primitives import elementwise, shaping
from lazynp.transforms import fori_loop, scan

Function = Callable[..., Any]


def item(x: Array, axis: int, index: int) -> Array:
    """x[index] on an axis, without that axis. The index counts from the front."""
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    one: dict[str, Any] = {"axes": (axis,), "sizes": (1,), "strides": (1,), "shape": shape}
    return shaping.slice(x, as_operand(index), **one)


def fold_of_size(
    ufunc: np.ufunc,
    function: Function,
    x: Array,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Any:
    """`ufunc.reduce`, with its arguments."""
    axes = reduced_axes(axis, x.ndim)
    masked = where is not True and where is not NO_VALUE
    given = {} if initial is NO_VALUE else {"initial": initial if initial is None else 0}
    mask = {"where": np.ones((1,) * x.ndim, bool)} if masked else {}
    one = np.ones((1,) * x.ndim, x.dtype)
    ufunc.reduce(one, axis=axes, dtype=dtype, **given, **mask)  # raises its errors
    x = cast(x, loop_dtype(ufunc, x.dtype, dtype, None if out is None else out.dtype))
    shape = kept_shape(x.shape, axes) if keepdims else reduced_shape(x.shape, axes)
    if out is not None:
        check_out(ufunc.__name__, out, shape, bool(keepdims))
    start = ufunc.identity if initial is NO_VALUE else initial
    for a in sorted(axes, reverse=True):
        chosen = broadcast(as_array(where), x.shape) if masked else None
        x = _folded(ufunc, function, x, a, start, chosen)
        start, masked = (None if start is None else ufunc.identity), False
    result = shaping.reshape(x, shape=shape)
    return scalar_if_0d(result) if out is None else store(result, out, "unsafe")


def _folded(
    ufunc: np.ufunc, function: Function, x: Array, axis: int, start: Any, chosen: Array | None
) -> Array:
    """One axis. start: what comes first, None: the first element."""
    n, low = x.shape[axis], 0
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    if start is None:
        low = 1
        require_some(n, ValueError(NO_IDENTITY.format(ufunc.__name__)))
        first = item(x, axis, 0)
    else:
        first = broadcast(cast(as_array(as_operand(start)), x.dtype), rest)

    def more(i: Any, total: Any) -> Any:
        new = cast(plain(function(total, item(x, axis, i))), x.dtype)
        return new if chosen is None else elementwise.select(item(chosen, axis, i), new, total)

    return plain(fori_loop(low, n, more, plain(first)))


def fold_along_size(function: Function, x: Array, axis: int) -> Array:
    """`ufunc.accumulate` of an array that has the dtype of the loop."""
    n = x.shape[axis]
    order = (axis, *[a for a in range(x.ndim) if a != axis])
    rows = shaping.transpose(x, permutation=order)
    nothing = shaping.full(0, shape=rows.shape[1:], dtype=x.dtype)

    def more(total: Any, each: Any) -> Any:
        i, row = each
        new = cast(plain(function(total, row)), x.dtype)
        first = broadcast(plain(elementwise.equal(i, 0)), rows.shape[1:])
        new = elementwise.select(first, row, new)
        return new, new

    places = shaping.iota(shape=(n,), axis=0, dtype=np.dtype(np.int64))
    _, found = scan(more, nothing, (places, rows))
    back = tuple([order.index(a) for a in range(x.ndim)])
    return shaping.transpose(plain(found), permutation=back)
