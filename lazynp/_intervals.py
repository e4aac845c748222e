"""Intervals: what is known of integers before they have values.

A loop counts from one int to another, so its index lies between them. What arithmetic makes of such
an index (`i - 1`, `n - 1 - i`, `i // 2`) lies in an interval too. Where that fits an axis, an index
needs no check of bounds and need not be counted from the end.

An interval is a pair of ints, both ends included. Of an unknown value, it is that of its dtype.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._node import ARGS, OP, VALUE, Node, Tracer, aval_of_node
from lazynp._recorder import StagingRecorder, local
from lazynp._sizes import Dim, Size, bounds, largest, quotient, sized, smallest

Interval = tuple[int, int]


class Between(tuple[int, int]):
    """The interval of a counter, and the sizes that it lies between, both included."""

    sizes: tuple[Dim, Dim]


def between(low: int, high: int, *sizes: Dim) -> Interval:
    """The interval of a counter that lies between two sizes. ints: what is known of these."""
    found = Between((low, high))
    if sized(sizes):
        found.sizes = sizes  # type: ignore[assignment]
    return found


_VISITS = 64  # nodes that one question may look at
_LOOKED_AT = 4096  # elements of an available array


def interval(node: Node) -> Interval:
    """Bounds of all elements of a node of integers, from what they are computed of."""
    found = _Search().of(node)
    assert found is not None, aval_of_node(node)
    return found


def distance(x: Node, y: Node) -> int | None:
    """By how much y exceeds x, for nodes of integers where that is the same in every element and
    whatever the values: `i - 1` and `i + 2`. None if it is not known.
    """
    dtype = aval_of_node(x).dtype
    if dtype != aval_of_node(y).dtype or dtype.kind not in "iu":
        return None
    limits, forms = np.iinfo(dtype), _Forms(dtype)
    sums: dict[Any, int] = {}
    forms.add(sums, y, 1)
    forms.add(sums, x, -1)
    constant = sums.pop(_CONSTANT, 0)
    if any(sums.values()):
        return _between_values(x, y)
    low, high = interval(x)
    # sums wrap round, so the forms agree with the values only where nothing can have wrapped
    return constant if limits.min <= low + constant and high + constant <= limits.max else None


def _between_values(x: Node, y: Node) -> int | None:
    """The distance of nodes with available values."""
    (x, of_x), (y, of_y) = _behind(x), _behind(y)
    a, b = x[VALUE], y[VALUE]
    for value in (a, b):
        if not isinstance(value, (np.ndarray, np.generic)) or not 0 < value.size <= _LOOKED_AT:
            return None
    if of_x != of_y or a.shape != b.shape:  # the examples of one are not those of the other
        return None
    found = {int(end) - int(start) for start, end in zip(a.flat, b.flat, strict=True)}
    return found.pop() if len(found) == 1 else None


def sizes_around(node: Node) -> tuple[Dim, Dim] | None:
    """The sizes that the counter of a loop lies between, if such are known."""
    recorder = local.recorder
    while isinstance(recorder, StagingRecorder):
        if (known := recorder.ranges.get(id(node))) is not None:
            return getattr(known, "sizes", None)
        recorder = recorder.outer
    return None


def size_bounds(x: Any, visits: int = 16) -> tuple[Dim | None, Dim | None]:
    """The sizes that an integer lies between, by the loops that count it and by what it is computed
    of; None where they are not known, or where the data decide them.
    """
    if type(x) is not list:
        return (x, x) if type(x) in (int, Size) and _is_of_axes(x) else (None, None)
    value, op, args = x[VALUE], x[OP], x[ARGS]
    if isinstance(value, np.integer):
        return int(value), int(value)
    if isinstance(value, Tracer) or value is not None or not visits:
        return None, None
    if op is None:
        return _size_bounds_of_input(x, visits)
    name = op.primitive.name
    if type(args) is not tuple or name not in _SIZE_BOUNDS:
        return None, None
    return _SIZE_BOUNDS[name](*[size_bounds(a, visits - 1) for a in args])


def _is_of_axes(x: Dim) -> bool:
    """Whether nothing but the axes of arguments decides a size."""
    recorder = local.recorder
    made = set[Any]()
    while isinstance(recorder, StagingRecorder):
        made.update(recorder.sizes.made if recorder.sizes is not None else ())
        recorder = recorder.outer
    return type(x) is int or made.isdisjoint(x.variables())  # type: ignore[union-attr]


def _size_bounds_of_input(node: Node, visits: int) -> tuple[Dim | None, Dim | None]:
    recorder = local.recorder
    while isinstance(recorder, StagingRecorder):
        sizes = getattr(recorder.ranges.get(id(node)), "sizes", None)
        if sizes is None and recorder.sizes is not None and id(node) in recorder.sizes.by_node:
            sizes = (recorder.sizes.by_node[id(node)],) * 2
        if sizes is not None:
            return sizes if all(map(_is_of_axes, sizes)) else (None, None)  # type: ignore[return-value]
        if (outside := recorder.behind(node)) is not None:
            return size_bounds(outside, visits - 1)
        recorder = recorder.outer
    return None, None


def _of_both(rule: Callable[[Dim, Dim], Dim], crossed: bool = False) -> Any:
    def ends(x: Any, y: Any) -> Any:
        pairs = zip(x, y[::-1] if crossed else y, strict=True)
        return tuple([None if a is None or b is None else rule(a, b) for a, b in pairs])

    return ends


def _least_of(x: Any, y: Any) -> Any:
    low = None if x[0] is None or y[0] is None else smallest(x[0], y[0])
    return low, x[1] if y[1] is None else y[1] if x[1] is None else smallest(x[1], y[1])


def _most_of(x: Any, y: Any) -> Any:
    high = None if x[1] is None or y[1] is None else largest(x[1], y[1])
    return x[0] if y[0] is None else y[0] if x[0] is None else largest(x[0], y[0]), high


def _is_positive(*sizes: Dim | None) -> bool:
    lows = [bounds(n)[0] if n is not None else None for n in sizes]
    return all(low is not None and low >= 0 for low in lows)


def _product_of(x: Any, y: Any) -> Any:
    known = _is_positive(x[0], y[0]) and x[1] is not None and y[1] is not None
    return (x[0] * y[0], x[1] * y[1]) if known else (None, None)


def _quotient_of(x: Any, y: Any) -> Any:
    if y[0] != y[1] or type(y[0]) is not int or y[0] <= 0:
        return None, None
    return tuple([None if n is None else quotient(n, y[0]) for n in x])


_SIZE_BOUNDS: dict[str, Any] = {
    "multiply": _product_of, "square": lambda x: _product_of(x, x), "floor_divide": _quotient_of,
    "add": _of_both(operator.add), "subtract": _of_both(operator.sub, True),
    "minimum": _least_of, "maximum": _most_of, "convert": lambda x: x, "positive": lambda x: x,
}  # fmt: skip

_CONSTANT = "constant"


class _Forms:
    """Integers as sums: what their terms are multiplied by."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.visits = _VISITS

    def add(self, sums: dict[Any, int], x: Any, factor: int, of: tuple[int, ...] = ()) -> None:
        """Add `factor` times x. x: a node or a Python int. of: the transformations whose examples
        it has.
        """
        key: Any = _CONSTANT
        if type(x) is list:
            x, more = _behind(x)
            of = of + more
            self.visits -= 1
            terms = None if self.visits < 0 else self._terms(x)
            if terms is not None:
                for term, times in terms:
                    self.add(sums, term, factor * times, of)
                return
            value = x[VALUE]
            if isinstance(value, (np.ndarray, np.generic)) and not value.ndim:
                factor *= int(value)
            else:
                key = of, self._key(x)
        else:
            factor *= x
        sums[key] = sums.get(key, 0) + factor

    def _terms(self, node: Node) -> list[tuple[Any, int]] | None:
        """The terms of a node, each with its factor; None if the node is a term itself."""
        op, args = node[OP], node[ARGS]
        if op is None or type(args) is not tuple or node[VALUE] is not None:
            return None
        name, aval = op.primitive.name, op.aval
        alike = all(type(a) is int or self._alike(a, aval) for a in args)
        if name not in _SUMS or aval.dtype != self.dtype or not alike:
            return None
        if name != "multiply":
            return list(zip(args, _SUMS[name], strict=True))
        for one, other in (args, args[::-1]):
            ends = _Search().of(one)
            if ends is not None and ends[0] == ends[1]:
                return [(other, ends[0])]
        return None

    def _alike(self, x: Any, aval: Any) -> bool:
        """Whether x has the dtype, and is one number or has the shape."""
        if type(x) is not list:
            return False
        of: Any = aval_of_node(x)
        if isinstance(of, tuple):  # a call has several
            return False
        return of.dtype == self.dtype and of.shape in ((), aval.shape)

    def _key(self, x: Any) -> Any:
        """Of a term: the same for nodes that compute the same, as the two of `i // 2`."""
        if type(x) is not list:
            return type(x), x
        op, args, value = x[OP], x[ARGS], x[VALUE]
        if isinstance(value, np.generic):
            return value.dtype.char, value.item()
        self.visits -= 1
        if op is None or value is not None or type(args) is not tuple or self.visits < 0:
            return id(x)
        return (id(op), *map(self._key, args)) if op.primitive.name in _RULES else id(x)


_SUMS = {"add": (1, 1), "subtract": (1, -1), "negative": (-1,), "positive": (1,), "convert": (1,),
         "multiply": ()}  # fmt: skip


def _behind(node: Node) -> tuple[Node, tuple[int, ...]]:
    """The node that has the values of all examples, for one that transformations interpret; and
    the transformations.
    """
    of: list[int] = []
    while isinstance(node[VALUE], Tracer):
        behind = node[VALUE].behind()
        if behind is None:
            break
        of.append(id(node[VALUE].trace))
        node = behind
    return node, tuple(of)


class _Search:
    """One question, which looks at few nodes."""

    def __init__(self) -> None:
        self.visits = _VISITS

    def of(self, x: Any) -> Interval | None:
        """The interval of a node or a Python scalar; None if these are no integers. Of truths, it
        is that of the integers which they are in arithmetic.
        """
        if type(x) is not list:
            return (x, x) if type(x) is int else None
        dtype = getattr(aval_of_node(x), "dtype", None)  # a call has several avals
        if dtype is not None and dtype.kind == "b":
            return 0, 1
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
        if op.primitive.name in _PLACES:
            return rule(op.explicit[0].shape[op.params.get("axis", 0)])
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
    if y[0] < 0 or y[1] > 63:
        return None
    return _floor_divide(x, (1 << y[0], 1 << y[1]))


def _bitwise_and(x: Interval, y: Interval) -> Interval | None:
    """No larger than either operand that is never negative."""
    tops = [high for low, high in (x, y) if low >= 0]
    return (0, min(tops)) if tops else None


def _iota(params: dict[str, Any]) -> Interval:
    return _place(params["shape"][params["axis"]])


def _place(length: Dim) -> Interval:
    high = bounds(length)[1]
    return 0, _FAR if high is None else max(0, high - 1)


_FAR = 1 << 62  # no size is as great


_RULES: dict[str, Callable[..., Interval | None]] = {
    "absolute": _absolute,
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "argmax": _place,
    "argmin": _place,
    "argsort": _place,
    "bitwise_and": _bitwise_and,
    "broadcast_in_dim": lambda x: x,
    "clip": lambda x, low, high: tuple([min(max(x[k], low[k]), high[k]) for k in (0, 1)]),
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
_PLACES = {"argmax", "argmin", "argsort"}  # their elements are places in an axis
# the operands whose elements the result has; of all others, all matter
_READ = {"select": slice(1, None), "slice": slice(1)}
