"""Intervals: what is known of integers before they have values.

A loop counts from one int to another, so its index lies between them. What arithmetic makes of such
an index (`i - 1`, `n - 1 - i`, `i // 2`) lies in an interval too. Where that fits an axis, an index
needs no check of bounds and need not be counted from the end.

An interval is a pair of ints, both ends included. Of an unknown value, it is that of its dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._node import ARGS, OP, VALUE, Node, Tracer, aval_of_node
from lazynp._recorder import StagingRecorder, local

Interval = tuple[int, int]

_VISITS = 64  # nodes that one question may look at
_LOOKED_AT = 4096  # elements of an available array


def interval(node: Node) -> Interval:
    """Bounds of all elements of a node of integers, from what they are computed of."""
    found = _Search().of(node)
    assert found is not None, aval_of_node(node)
    return found


class _Search:
    """One question, which looks at few nodes."""

    def __init__(self) -> None:
        self.visits = _VISITS

    def of(self, x: Any) -> Interval | None:
        """The interval of a node or a Python scalar; None if these are no integers."""
        if type(x) is not list:
            return (x, x) if type(x) is int else None
        dtype = getattr(aval_of_node(x), "dtype", None)  # a call has several avals
        if dtype is None or dtype.kind not in "iu":
            return None
        limits = np.iinfo(dtype)
        self.visits -= 1
        found = None if self.visits < 0 else self._found(x)
        if found is None or found[0] < limits.min or found[1] > limits.max:  # it may wrap round
            return int(limits.min), int(limits.max)
        return found

    def _found(self, node: Node) -> Interval | None:
        value = node[VALUE]
        if isinstance(value, Tracer):
            behind = value.behind()
            return None if behind is None else self.of(behind)
        if value is not None:
            known = isinstance(value, (np.ndarray, np.generic)) and 0 < value.size <= _LOOKED_AT
            return (int(value.min()), int(value.max())) if known else None
        if node[OP] is None:
            return self._of_input(node)
        op, args = node[OP], node[ARGS]
        rule = _RULES.get(op.primitive.name)
        if rule is None or type(args) is not tuple:
            return None
        if op.primitive.name == "iota":
            return rule(op.params)
        operands = [self.of(a) for a in args[_READ.get(op.primitive.name, slice(None))]]
        return None if None in operands else rule(*operands)

    def _of_input(self, node: Node) -> Interval | None:
        """An input of a staged function: the index of a loop, or a scalar from outside."""
        recorder = local.recorder
        while isinstance(recorder, StagingRecorder):
            known = recorder.ranges.get(id(node))
            if known is not None:
                return known
            outside = recorder.behind(node)
            if outside is not None:
                return self.of(outside)
            recorder = recorder.outer
        return None


def _multiply(x: Interval, y: Interval) -> Interval:
    products = [a * b for a in x for b in y]
    return min(products), max(products)


def _absolute(x: Interval) -> Interval:
    low, high = x
    return 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))


def _square(x: Interval) -> Interval:
    low, high = _absolute(x)
    return low * low, high * high


def _floor_divide(x: Interval, y: Interval) -> Interval | None:
    if y[0] <= 0:
        return None
    quotients = [a // b for a in x for b in y]
    return min(quotients), max(quotients)


def _remainder(x: Interval, y: Interval) -> Interval | None:
    """It has the sign of the divisor."""
    if y[0] <= 0:
        return None
    return 0, min(x[1], y[1] - 1) if x[0] >= 0 else y[1] - 1


def _right_shift(x: Interval, y: Interval) -> Interval | None:
    if y[0] < 0 or y[1] > 31:
        return None
    return _floor_divide(x, (1 << y[0], 1 << y[1]))


def _bitwise_and(x: Interval, y: Interval) -> Interval | None:
    """No larger than either operand that is never negative."""
    tops = [high for low, high in (x, y) if low >= 0]
    return (0, min(tops)) if tops else None


def _iota(params: dict[str, Any]) -> Interval:
    return 0, max(0, params["shape"][params["axis"]] - 1)


_RULES: dict[str, Callable[..., Interval | None]] = {
    "absolute": _absolute,
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "bitwise_and": _bitwise_and,
    "broadcast_in_dim": lambda x: x,
    "convert": lambda x: x,
    "floor_divide": _floor_divide,
    "iota": _iota,
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "multiply": _multiply,
    "negative": lambda x: (-x[1], -x[0]),
    "positive": lambda x: x,
    "remainder": _remainder,
    "reshape": lambda x: x,
    "right_shift": _right_shift,
    "select": lambda x, y: (min(x[0], y[0]), max(x[1], y[1])),
    "slice": lambda x: x,
    "square": _square,
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
}
# the operands whose elements the result has; of all others, all matter
_READ = {"select": slice(1, None), "slice": slice(1)}
