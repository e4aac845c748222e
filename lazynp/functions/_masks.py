"""Masks in an index: `x[mask] = value` as a select, so that no shape depends on data."""

from __future__ import annotations

from sys import _getframe
from types import EllipsisType
from typing import Any

import numpy as np

from lazynp._array import (
    Array,
    new_array,
)
from lazynp._avals import Aval
from lazynp._extents import known_empty
from lazynp._node import (
    ARGS,
    OP,
    VALUE,
    Node,
    Traced,
    op_of,
)
from lazynp._positions import user_frame
from lazynp._recorder import known, local
from lazynp._steps import expand_ellipsis
from lazynp._trace import on_host, record, record_traced
from lazynp._values import knowable
from lazynp.functions._assigned import (
    assigned,
    assigned_scalar,
    check_weak,
    without_unit,
)
from lazynp.functions._checks import depth_of
from lazynp.functions._operands import broadcast, cast, operand_of
from lazynp.functions._selected import spread_mask
from lazynp.primitives import elementwise, indexing, shaping


def check_mask(mask: Array, shape: tuple[int, ...]) -> None:
    for k, n in enumerate(mask.shape):
        if n != shape[k]:
            raise mismatch(k, shape[k], n)


def mismatch(axis: int, length: int, given: int) -> IndexError:
    return IndexError(
        f"boolean index did not match indexed array along axis {axis}; size of axis is {length} "
        f"but size of corresponding boolean axis is {given}"
    )


def set_mask(self: Array, node: Node, aval: Aval, mask: Array, value: Any) -> bool:
    """`x[mask] = value` as a select, without reading the mask. False if there is a value for each
    True.
    """
    rest = aval.shape[mask.ndim :]
    value = without_unit(value, aval.dtype)
    operand = operand_of(value)
    if type(operand) is list:
        shape = known(operand).shape
        if len(shape) > len(rest) and not (len(shape) == len(rest) + 1 and shape[0] == 1):
            return False
        check_weak(value, aval.dtype)
        try:
            u = assigned(value, aval.dtype, (1, *rest))
        except ValueError:
            if not knowable(mask._read()):
                raise
            return False  # what NumPy says of it names how many elements the mask chooses
    else:
        u = assigned_scalar(operand, aval.dtype)
    if any(known_empty(n) and m for n, m in zip(mask.shape, aval.shape, strict=False)):
        return False
    check_mask(mask, aval.shape)
    if type(u) is list:
        values = cast(new_array(u), aval.dtype)
        if values.ndim > len(rest):
            values = shaping.reshape(values, shape=values.shape[1:])
        u = broadcast(values, aval.shape)._read()
    if rest:
        spread = shaping.reshape(new_array(mask._read()), shape=mask.shape + (1,) * len(rest))
        mask = broadcast(spread, aval.shape)
    frame = user_frame(_getframe(2))
    operands = (mask._read(), u, node)
    try:
        op = op_of(elementwise.select, {}, tuple([known(o) for o in operands]))
    except Traced:
        self._write(record_traced(elementwise.select, operands, {}))
        return True
    if op.aval is not aval:
        return False
    new = [op, operands, None, frame.f_code, frame.f_lasti]
    if op.host:
        new = on_host(op, operands)
    else:
        local.recorder.pending.append(new)
    self._write(new)
    return True


def masked_view(self: Any, aval: Aval, index: Any) -> tuple[Any, Array, int] | None:
    """Of `x[i, mask, :]` with a traced mask: the view `x[i]`, the mask, and at which of its axes
    those of the mask begin. None for anything else.
    """
    if not isinstance(index, tuple):
        return None
    masks = [i for i in index if isinstance(i, Array) and i.dtype.kind == "b" and i.ndim]
    rest = [i for i in index if i is None or isinstance(i, (int, np.integer, slice, EllipsisType))]
    if len(masks) != 1 or len(rest) + 1 != len(index) or knowable(masks[0]._read()):
        return None
    (mask,) = masks
    taken = mask.ndim + sum(i is not None and not isinstance(i, EllipsisType) for i in rest)
    items = expand_ellipsis(index, aval.ndim, taken)
    place = next(k for k, i in enumerate(items) if i is mask)
    view = self[(*items[:place], *[slice(None)] * mask.ndim, *items[place + 1 :])]
    first = sum(i is None or isinstance(i, slice) for i in items[:place])
    return (view, mask, first) if view.shape[first : first + mask.ndim] == mask.shape else None


def set_masked_view(self: Any, aval: Aval, index: Any, value: Any) -> bool:
    """`x[i, mask, :] = scalar` with a traced mask, as a select in a view. False for anything
    else.
    """
    found = None if depth_of(value) else masked_view(self, aval, index)
    if found is None:
        return False
    view, mask, first = found
    view[spread_mask(mask, first, view.shape)] = value
    return True


def set_selected(self: Array, node: Node, aval: Aval, mask: Array, value: Any) -> bool:
    """`x[mask] = f(y[mask], ...)` as a select from `f(y, ...)`, so that no shape depends on data.

    False unless the values are pending elementwise results of selections by this very mask.
    """
    operand = operand_of(value)
    whole = _unselected(operand, mask._read(), aval.shape, [32])
    if type(whole) is not list or known(whole).shape != aval.shape:
        return False
    assigned(value, aval.dtype, known(operand).shape)  # for its warning
    values = cast(new_array(whole), aval.dtype)
    self._write(elementwise.select(mask, values, new_array(node))._read())
    return True


def _unselected(node: Any, mask: Node, shape: tuple[int, ...], budget: list[int]) -> Any:
    """The value of the node before selection by the mask, or None."""
    budget[0] -= 1
    if type(node) is not list or isinstance(node[VALUE], np.generic):
        return node
    if node[VALUE] is not None or node[ARGS] is None or budget[0] < 0:
        return None
    op, args = node[OP], node[ARGS]
    if op.primitive is indexing.take_mask and args[1] is mask:
        source = args[0]
        return source if known(source).shape == shape else None
    if op.primitive.kind != "elementwise":
        return None
    found = [_unselected(a, mask, shape, budget) for a in args]
    return None if any(f is None for f in found) else record(op.primitive, tuple(found), op.params)
