"""Which size an integer of a program is, by how it was computed: arithmetic on sizes, and what is
taken from small arrays of them (`np.array(x.shape)[0]`, `np.prod(x.shape)`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from lazynp import _sizes
from lazynp._node import ARGS, OP, VALUE, Node, aval_of_node
from lazynp._sizes import Dim, largest, smallest
from lazynp.primitives import reduction, shaping

FORMS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "negative": lambda a: -a,
    "floor_divide": _sizes.quotient,
    "remainder": _sizes.rest,
    "maximum": largest,
    "minimum": smallest,
    "convert": lambda a: a,
    "square": lambda a: a * a,
}

_FOLDS = {
    reduction.reduce_sum: "add",
    reduction.reduce_prod: "multiply",
    reduction.reduce_max: "maximum",
    reduction.reduce_min: "minimum",
}
TAKING = {*_FOLDS, shaping.slice, shaping.reshape}  # a number from an array
_MOST = 32  # elements: NumPy's arrays have not many more axes


def integer_form(name: str, sides: Sequence[Dim | None]) -> Dim | None:
    """The result of an operation on integers as a size; None if it is not known as one."""
    rule = FORMS.get(name)
    return None if rule is None or any(s is None for s in sides) else rule(*sides)


def taken_from_array(node: Node, form: Callable[[Any], Dim | None]) -> Dim | None:
    """The size that a scalar is, if it was computed from a 1-d array of sizes; else None.
    The operation is one of TAKING. form: that of the scalars which the array was made of.
    """
    op, args = node[OP], node[ARGS]
    if type(args[0]) is not list:
        return None
    source = aval_of_node(args[0])
    if source.ndim != 1 or source.dtype != np.int64 or type(source.size) is not int:
        return None
    if op.primitive in _FOLDS and 0 < source.size <= _MOST:
        found = [_element(args[0], i, form) for i in range(source.size)]
        return reduce(lambda a, b: integer_form(_FOLDS[op.primitive], (a, b)), found)
    if op.primitive is shaping.slice:
        return _of_slice(args, op.params, 0, form)
    return _element(args[0], 0, form) if op.primitive is shaping.reshape else None


def _element(x: Any, i: int, form: Callable[[Any], Dim | None]) -> Dim | None:
    """Element i of a 1-d array, or of a number in its place."""
    if type(x) is not list:
        return x if type(x) is int else None
    aval, value = aval_of_node(x), x[VALUE]
    if aval.dtype != np.int64 or aval.ndim > 1 or type(aval.size) is not int:
        return None
    if isinstance(value, (np.ndarray, np.integer)):
        return int(np.asarray(value).flat[i])
    if not aval.ndim:
        return form(x)
    op, args = x[OP], x[ARGS]
    if op is None or type(args) is not tuple:
        return None
    primitive, first = op.primitive, args[0]
    if primitive is shaping.slice:
        return _of_slice(args, op.params, i, form)
    if primitive is shaping.update_slice:
        return _of_update(args, op.params, i, form)
    if primitive is shaping.concatenate:
        return _of_parts(args, i, form)
    if primitive is shaping.reverse:
        return _element(first, aval.size - 1 - i, form)
    if primitive in (shaping.reshape, shaping.broadcast_in_dim, shaping.full):
        one = type(first) is not list or aval_of_node(first).size == 1
        return _element(first, 0, form) if one else None
    if primitive.name in FORMS and all(a.dtype == np.int64 for a in op.explicit):
        return integer_form(primitive.name, [_element(a, _place(a, i), form) for a in args])
    return None


def _place(x: Any, i: int) -> int:
    """That of an operand which may be broadcast."""
    return 0 if type(x) is not list or aval_of_node(x).size == 1 else i


def _of_slice(
    args: tuple[Any, ...], params: dict[str, Any], i: int, form: Callable[[Any], Dim | None]
) -> Dim | None:
    source, *starts = args
    if len(starts) != 1 or type(starts[0]) is not int or aval_of_node(source).ndim != 1:
        return None
    return _element(source, starts[0] + i * params["strides"][0], form)


def _of_update(
    args: tuple[Any, ...], params: dict[str, Any], i: int, form: Callable[[Any], Dim | None]
) -> Dim | None:
    source, update, *starts = args
    (size,), (stride,) = params["sizes"], params["strides"]
    if len(starts) != 1 or type(starts[0]) is not int or type(size) is not int:
        return None
    k, between = divmod(i - starts[0], stride)
    if between or not 0 <= k < size:
        return _element(source, i, form)
    return _element(update, _place(update, k), form)


def _of_parts(parts: tuple[Any, ...], i: int, form: Callable[[Any], Dim | None]) -> Dim | None:
    for part in parts:
        size = aval_of_node(part).size
        if type(size) is not int:
            return None
        if i < size:
            return _element(part, i, form)
        i -= size
    raise AssertionError("beyond the array")
