"""Templates: rules applied once for each kind of operands, whose recording is replayed later.

For values of known types, the jvp rule of an operation and the transpose rule of an entry of the
tape always record the same operations. They are staged at the first use and kept as ops and places.
Replaying these takes a third of the time of calling the rules. Tracer operands of outer
transformations use the rules as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from lazynp._avals import TracedAval
from lazynp._memo import Memo
from lazynp._node import ARGS, AVAL, OP, PROJECT, VALUE, Node, Op, leaf
from lazynp._plan_jaxpr import cast_scalar
from lazynp._quiet import quietly
from lazynp._recorder import RECORD, StagingRecorder, local
from lazynp._values import watched

KINDS = frozenset(
    "elementwise reduction view fill update index contract linalg sort fft other".split()
)
MOST_VALUES = 48  # of a template that C applies: as in `tangents.h`
Key = tuple[Any, ...]


class Unfit(Exception):
    """These steps cannot be replayed: they contain host code, or something from outside."""


class Steps:
    """Operations on inputs. Places count constants, then inputs, then results."""

    __slots__ = ("constants", "operations", "size", "wiring", "single", "_places", "_ahead")

    def __init__(self, inputs: Sequence[Node], recorder: StagingRecorder, more: list[Any]) -> None:
        """Steps from the recorder's contents; `more`: other nodes that are referred to."""
        if recorder.handles or recorder.aliases:
            raise Unfit
        nodes = list(recorder.pending)
        known = {id(n) for n in (*inputs, *nodes)}
        self.constants: list[Any] = []
        for a in [*(a for n in nodes for a in n[ARGS]), *more]:
            if id(a) not in known:
                if type(a) is list and not isinstance(a[VALUE], np.generic):
                    raise Unfit
                known.add(id(a))
                self.constants.append(a)
        everything = (*self.constants, *inputs, *nodes)
        self.size = len(everything)
        self._places = {id(a): i for i, a in enumerate(everything)}
        self.wiring: list[tuple[Op, tuple[int, ...]]] = []  # the operations, for C
        self.operations: list[tuple[Op, Callable[[list[Any]], tuple[Any, ...]]]] = []
        self.single = True  # whether each has one result
        for node in nodes:
            op = node[OP]
            if op.host or op.primitive.kind in ("host", "call"):
                raise Unfit
            self.single = self.single and not op.primitive.multiple_results
            places = [self._places[id(a)] for a in node[ARGS]]
            self.operations.append((op, chosen(places)))
            self.wiring.append((op, tuple(places)))
        read = [self._places[id(a)] for a in more]
        self._ahead = Ahead(self.wiring, len(self.constants), len(inputs), read)

    def place(self, a: Any) -> int:
        return self._places[id(a)]

    def sealed(self) -> None:
        """All places are known: release the nodes that identified them."""
        self._places = {}

    def take(self, inputs: Sequence[Any]) -> list[Any]:
        """Record the operations on these inputs; returns the values at all places."""
        pending = local.recorder.pending
        code, offset = local.where  # type: ignore[misc]  # rules run inside an operation
        values = [*self.constants, *inputs]
        if watched() or local.recorder.backend is not RECORD:
            return self._take_strictly(values)
        for op, operands in self.operations:
            node = [op, operands(values), None, code, offset]
            pending.append(node)
            values.append(node)
        return values

    def _take_strictly(self, values: list[Any]) -> list[Any]:
        """The same where operations run at once, or floating-point errors must be noticed."""
        pending, ahead = local.recorder.pending, self._ahead
        code, offset = local.where  # type: ignore[misc]
        if ahead and not local.recorder.staging:
            known = ahead.nodes(self.constants)
        else:
            known = [None] * len(self.operations)
        for (op, operands), node in zip(self.operations, known, strict=True):
            if node is not None:
                values.append(node)
                continue
            given = operands(values)
            if op.primitive is PROJECT:
                node = None
                if type(several := given[0][VALUE]) is tuple:
                    value = several[op.params["index"]]
                    node = [None, None, value[()] if op.scalar else value, None, op.aval]
            else:
                node = local.recorder.backend.operation(op, given)
            if node is None:
                node = [op, given, None, code, offset]
                pending.append(node)
            values.append(node)
        return values


class Ahead:
    """The operations of some steps that depend on no input: masks of triangles and diagonals. They
    run once, where operations run one by one. Large results are not kept.
    """

    __slots__ = ("_first", "_nodes", "_places", "_read", "_wiring")

    largest = 1 << 13  # bytes

    def __init__(
        self, wiring: list[tuple[Op, tuple[int, ...]]], constants: int, inputs: int, read: list[int]
    ) -> None:
        """read: the places of what is read outside."""
        self._wiring, self._first = wiring, constants + inputs
        self._nodes: Sequence[Any] | None = None
        self._read, places = set(read), set(range(constants))
        for place, (op, operands) in enumerate(wiring, self._first):
            fits = (
                not op.sized and not op.primitive.multiple_results and op.primitive is not PROJECT
            )
            if fits and op.aval.nbytes <= self.largest and places.issuperset(operands):
                places.add(place)
            else:
                self._read.update(operands)
        self._places = sorted(places)[constants:]

    def __bool__(self) -> bool:
        return bool(self._places)

    def nodes(self, constants: list[Any]) -> Sequence[Any]:
        """For each operation a node with its value, or None if it depends on an input."""
        if self._nodes is None:
            self._nodes = self._computed(constants)
        return self._nodes

    def _computed(self, constants: list[Any]) -> Sequence[Any]:
        values = {i: a[VALUE] if type(a) is list else a for i, a in enumerate(constants)}
        first = self._first
        nodes: list[Any] = [None] * len(self._wiring)
        for place in self._places:
            op, operands = self._wiring[place - first]
            value = quietly(op.reference, [values[i] for i in operands])
            values[place] = value = value[()] if op.scalar else np.asarray(value)
            kept = place in self._read  # else only others of these read it
            nodes[place - first] = [None, None, value if kept else None, None, op.aval]
        return nodes


def chosen(places: Sequence[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """A function that takes the values at these places."""
    if len(places) > 1:
        return itemgetter(*places)  # in C
    return lambda values: tuple([values[i] for i in places])


def known_by(node: Node) -> Any:
    """The aval of a plain node; None for a tracer, and for values that only NumPy computes with."""
    op = node[OP]
    aval = node[AVAL] if op is None else op.aval
    return None if type(aval) is TracedAval or not aval.dtype.isnative else aval


class Table(Memo[Key, Any]):
    """Templates by key; None: unfit."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("templates", 1 << 13)


def scalar_leaf(value: Any, dtype: np.dtype[Any]) -> Node:
    """A Python scalar as a leaf; most are one of a few constants of the program."""
    if value != value or type(value) is complex and not value:
        return leaf(cast_scalar(value, dtype))
    is_zero = type(value) is float and not value  # 0.0 equals -0.0
    key = type(value), repr(value) if is_zero else value, dtype
    found = scalars.get(key)
    return found or scalars.put(key, leaf(cast_scalar(value, dtype)))


scalars = Table()
