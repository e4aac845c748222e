"""Sums of cotangents, while the tape runs backwards.

An operation that reads a small part of an array has a cotangent for that part only. Spreading each
part over an array of zeros, and adding that, would cost the size of the array for each part: a loop
over elements would take quadratic time, and its programs long to compile. So such parts are added
to the sum in place. Parts that come before there is a sum are kept until the sum is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import from_host
from lazynp._avals import Aval
from lazynp._config import config
from lazynp._extents import surely
from lazynp._node import ARGS, OP, VALUE, Node, Tracer, aval_of_node
from lazynp._recorder import StagingRecorder, local
from lazynp._trace import record
from lazynp.primitives import elementwise, indexing, shaping

_SMALL = (
    4  # an array must be so many times larger than its part, or zeros around the part are fused
)
_FUSED = 1 << 13  # bytes: parts of arrays up to this size are spread out and added in one loop
_MANY = 8  # parts that are written together
_SHORT = 64  # elements of a vector whose cotangent is stacked from those of its elements
Params = dict[str, Any]


def fuses() -> bool:
    """Whether what is recorded now will be compiled: zeros around a part cost nothing there."""
    recorder = local.recorder
    if isinstance(recorder, StagingRecorder):
        return recorder.fuses
    return config.execution == "compiled"


def is_small(part: Aval, whole: Aval) -> bool:
    """Whether to store a part of an array costs little beside a copy of the array."""
    least = _SMALL * part.size
    return bool(part.shape) and surely(least > 0) and surely(least <= whole.size)


def is_written(node: Node) -> bool:
    """Whether this is a version of an array that is written in place, or a view of one.

    The tape stores a part of such an array instead of a view. A view would keep this version alive,
    so the next write would have to copy the array.
    """
    while node[OP] is not None and node[OP].free and type(node[ARGS]) is tuple and node[ARGS]:
        first = node[ARGS][0]
        if type(first) is not list:
            return False
        node = first
    return node[OP] is not None and node[OP].primitive.kind == "update"


def written_parts(operands: Sequence[Any], ct: Node, params: Params) -> list[Node | None] | None:
    """The cotangents of the operands of update_slice; None if the rule is to be called.

    A view of the small part would keep all of ct from being overwritten: the part is stored.
    """
    x, u, *starts = operands
    if not (type(x) is type(u) and isinstance(x, Tracer)) or not is_small(u.aval, x.aval):
        return None
    if fuses() or not starts or aval_of_node(starts[0]).shape:
        return None
    part = record(shaping.slice, (ct, *starts), params)
    part = record(elementwise.positive, (part,), {})
    return [record(shaping.update_slice, (ct, 0, *starts), params), part]


def is_short(aval: Aval) -> bool:
    return aval.ndim == 1 and surely(aval.size <= _SHORT)


class _Parts:
    """Cotangents of parts, with their starts, and of what index arrays took; added up later."""

    __slots__ = ("aval", "groups", "base", "taken", "size")

    def __init__(self, aval: Aval, base: Node | None = None) -> None:
        """base: a sum that they are added to."""
        self.aval, self.base = aval, base
        self.groups: dict[Any, list[tuple[Node, Sequence[Node]]]] = {}  # by params
        self.taken: dict[Any, list[tuple[Node, Sequence[Node]]]] = {}  # by axes
        self.size = 0  # of what was taken

    def total(self) -> Node:
        total = self.base
        if not self.taken and (stacked := self._stacked()) is not None:
            return stacked if total is None else _added(total, stacked)
        for axes, items in self.taken.items():
            total = _put_back(self._zeros() if total is None else total, items, axes)
        for key, items in self.groups.items():
            params = dict(key)
            if len(items) >= _MANY and surely(self.aval.nbytes > _FUSED):
                total = _together(self._zeros() if total is None else total, items, params)
                continue
            for ct, starts in items:
                if total is None or fuses() and not surely(self.aval.nbytes > _FUSED):
                    spread = record(shaping.update_slice, (self._zeros(), ct, *starts), params)
                    total = spread if total is None else _added(total, spread)
                else:
                    total = _in_place(total, ct, starts, params)
        assert total is not None
        return total

    def _stacked(self) -> Node | None:
        """The sum if it is a short vector, and the parts are its elements; else None."""
        if len(self.groups) != 1 or fuses() or not is_short(self.aval):
            return None
        ((key, items),) = self.groups.items()
        size = self.aval.size
        if dict(key)["shape"] or _SMALL * len(items) < size:
            return None
        columns: list[Node | None] = [None] * size
        for ct, (start,) in items:
            i = int(start[VALUE]) % size  # elements may be counted from the end
            before = columns[i]
            columns[i] = ct if before is None else _added(before, ct)
        zero = from_host(self.aval.dtype.type(0))
        return record(shaping.stack, tuple([c or zero for c in columns]), {})

    def _zeros(self) -> Node:
        return shaping.full(0, shape=self.aval.shape, dtype=self.aval.dtype)._read()


def _added(a: Node, b: Node) -> Node:
    return record(elementwise.add, (a, b), {})


def _in_place(total: Node, ct: Node, starts: Sequence[Node], params: Params) -> Node:
    if not fuses():  # what is compiled keeps to operations that XLA fuses
        return record(shaping.add_slice, (total, ct, *starts), params)
    added = _added(record(shaping.slice, (total, *starts), params), ct)
    return record(shaping.update_slice, (total, added, *starts), params)


def _put_back(
    total: Node, items: Sequence[tuple[Node, Sequence[Node]]], axes: tuple[int, ...]
) -> Node:
    """Put back everything that index arrays took, in one `put`: it costs the size of the array."""
    columns = [[] for _ in range(1 + len(axes))]
    for ct, indices in items:
        batch = aval_of_node(indices[0])
        rest = aval_of_node(ct).shape[batch.ndim :]
        columns[0].append(_reshaped(ct, (batch.size, *rest)))
        for column, index in zip(columns[1:], indices, strict=True):
            column.append(_reshaped(index, (batch.size,)))
    joined = [record(shaping.concatenate, tuple(c), {"axis": 0}) for c in columns]
    return record(indexing.put, (total, *joined), {"axes": axes, "mode": "add"})


def _reshaped(node: Node, shape: tuple[int, ...]) -> Node:
    return record(shaping.reshape, (node,), {"shape": shape})


def _together(total: Node, items: Sequence[tuple[Node, Sequence[Node]]], params: Params) -> Node:
    places = zip(*[[int(s[VALUE]) for s in starts] for _, starts in items], strict=True)
    starts = [from_host(np.array(p, np.int64)) for p in places]
    if params["shape"]:
        rows = [_reshaped(ct, (1, *params["shape"])) for ct, _ in items]
        stacked = record(shaping.concatenate, tuple(rows), {"axis": 0})
    else:
        stacked = record(shaping.stack, tuple([ct for ct, _ in items]), {})
    return record(shaping.add_slice, (total, stacked, *starts), params)


class Sums:
    """Cotangents, as nodes, by their tracers."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[Any, Node | _Parts] = {}

    def take(self, tracer: Any) -> Node | None:
        """The sum so far, which is then released; None is zero."""
        held = self._held.pop(tracer, None)
        return held.total() if type(held) is _Parts else held  # type: ignore[return-value]

    def add(self, tracer: Any, ct: Node) -> None:
        before = self._held.get(tracer)
        if before is not None:
            ct = _added(before.total() if type(before) is _Parts else before, ct)  # type: ignore[arg-type]
        self._held[tracer] = ct

    def add_part(self, operands: Sequence[Any], ct: Node, params: Params) -> bool:
        """Add the cotangent of a slice of operands; False if the caller must do it."""
        tracer, *starts = operands
        if not starts or aval_of_node(starts[0]).shape:  # many slices at once
            return False
        fused = fuses()
        element = not fused and not params["shape"] and is_short(tracer.aval)
        small = element or surely(_SMALL * aval_of_node(ct).size <= tracer.aval.size)
        if fused and not small:
            return False
        known = all([isinstance(s[VALUE], np.generic) for s in starts])
        held = self._held.get(tracer)
        if element and known and type(held) is list:
            held = self._held[tracer] = _Parts(tracer.aval, held)
        if held is not None and (type(held) is not _Parts or not small):
            total = held.total() if type(held) is _Parts else held
            self._held[tracer] = _in_place(total, ct, starts, params)  # type: ignore[arg-type]
            return True
        if not small or not known:  # parts like it may come, each as large as the whole
            return False
        if held is None:
            held = self._held[tracer] = _Parts(tracer.aval)
        held.groups.setdefault(tuple(params.items()), []).append((ct, starts))  # type: ignore[union-attr]
        return True

    def add_taken(self, operands: Sequence[Any], ct: Node, params: Params) -> bool:
        """The same of what index arrays took: kept until it is as much as the whole."""
        tracer, *indices = operands
        if fuses() or not surely(tracer.aval.nbytes > _FUSED):
            return False
        batch = aval_of_node(indices[0]).shape
        if any([aval_of_node(i).shape != batch for i in indices]):
            return False
        held = self._held.get(tracer)
        if type(held) is not _Parts:
            held = self._held[tracer] = _Parts(tracer.aval, held)  # type: ignore[arg-type]
        held.taken.setdefault(params["axes"], []).append((ct, indices))
        held.size += aval_of_node(ct).size
        if held.size >= tracer.aval.size:
            self._held[tracer] = held.total()
        return True
