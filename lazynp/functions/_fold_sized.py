"""Reductions by ufuncs without a reduction primitive, along axes whose size has no value yet: one
loop for all sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._array import Array
from lazynp._dimensions import as_operand, require_some
from lazynp.functions._operands import as_array, broadcast, cast, plain
from lazynp.functions._reduce import NO_IDENTITY, NO_VALUE
from lazynp.primitives import elementwise, shaping

Function = Callable[..., Any]


def item(x: Array, axis: int, index: int) -> Array:
    """x[index] on an axis, without that axis. The index counts from the front."""
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    one: dict[str, Any] = {"axes": (axis,), "sizes": (1,), "strides": (1,), "shape": shape}
    return shaping.slice(x, as_operand(index), **one)


def check_fold(
    ufunc: np.ufunc, x: Array, axes: tuple[int, ...], dtype: Any, initial: Any, where: Any
) -> None:
    """Raise what `ufunc.reduce` does for such arguments, whatever the sizes are."""
    given = {} if initial is NO_VALUE else {"initial": initial if initial is None else 0}
    one = (1,) * x.ndim
    mask = {"where": np.ones(one, bool)} if _masks(where) else {}
    ufunc.reduce(np.ones(one, x.dtype), axis=axes, dtype=dtype, **given, **mask)


def _masks(where: Any) -> bool:
    return where is not True and where is not NO_VALUE


def fold_of_size(
    ufunc: np.ufunc, function: Function, x: Array, axes: tuple[int, ...], initial: Any, where: Any
) -> Array:
    """The value of `ufunc.reduce`, of an array that has the dtype of the loop."""
    masked = _masks(where)
    start = ufunc.identity if initial is NO_VALUE else initial
    for a in sorted(axes, reverse=True):
        chosen = broadcast(as_array(where), x.shape) if masked else None
        x = _folded(ufunc, function, x, a, start, chosen)
        start, masked = (None if start is None else ufunc.identity), False
    return x


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

    return plain(transforms.fori_loop(low, n, more, plain(first)))


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
    _, found = transforms.scan(more, nothing, (places, rows))
    back = tuple([order.index(a) for a in range(x.ndim)])
    return shaping.transpose(plain(found), permutation=back)
