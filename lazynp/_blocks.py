"""Chains of elementwise operations on large arrays, by NumPy, block by block.

NumPy computes one operation after the other, each on whole arrays. What the caches do not hold goes
to memory and comes back each time, and the system hands out new pages for each result. Here all
operations of a chain run on one block of their operands, which stays in a cache, then on the next
one. Only results that something outside the chain refers to are stored whole.

The same functions of NumPy compute each element, so the values are the same, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import _reference, lowering
from lazynp._form import outside_of
from lazynp._node import ARGS, OP, VALUE, Node
from lazynp._ownership import counts

BLOCK = 1 << 17  # bytes of one array: with some others, half of a core's second cache

_LEAST = 3  # results that are not stored: fewer gain less than the blocks cost
_OTHER = 2  # what a function that is no ufunc costs, as it allocates each block, in such results

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


def run(nodes: list[Node], asked: Node | None) -> None:
    """As `_reference.run`, which walks all that belongs to no chain."""
    blocked = any([n[OP].blocked for n in nodes])
    _reference.run(nodes, asked, _walk if blocked else _reference.walk)


def _walk(nodes: list[Node], asked: Node | None) -> None:
    parts = _parts(nodes)
    nodes.clear()
    try:
        while parts:
            if not (parts[-1][0] and _run_chain(parts[-1][1], asked)):
                _reference.walk(parts[-1][1], asked)
            parts.pop()
    finally:
        for _, part in reversed(parts):
            nodes += part


# -- finding chains --------------------------------------------------------------------------------


class _Search:
    """Nodes in an order in which the operations of a chain follow each other.

    chain: operations of one shape. before: others, which read nothing of it; after: the others.
    """

    def __init__(self) -> None:
        self.parts: list[tuple[bool, list[Node]]] = []
        self.before: list[Node] = []
        self.chain: list[Node] = []
        self.after: list[Node] = []
        self.inside: set[int] = set()  # identities of the chain's nodes
        self.waiting: set[int] = set()  # of those after it

    def add(self, node: Node) -> None:
        op = node[OP]
        reads = {id(a) for a in node[ARGS] if type(a) is list}
        waits = not reads.isdisjoint(self.waiting)
        if op.blocked:
            if waits or self.chain and self.chain[0][OP].aval.shape != op.aval.shape:
                self.close()
            self.chain.append(node)
            self.inside.add(id(node))
        elif op.primitive.kind not in _PURE and not op.free:
            self.close()
            self.before.append(node)
        elif waits or not reads.isdisjoint(self.inside):
            self.after.append(node)
            self.waiting.add(id(node))
        else:
            self.before.append(node)

    def close(self) -> None:
        chain = len(self.chain) > 1
        if chain and self.before:
            self.parts.append((False, self.before))
            self.before = []
        if chain:
            self.parts.append((True, self.chain))
        else:
            self.before += self.chain
        self.before += self.after
        self.chain, self.after = [], []
        self.inside.clear()
        self.waiting.clear()

    def end(self) -> list[tuple[bool, list[Node]]]:
        """All parts, the first one last; a list whose items nothing else refers to."""
        self.close()
        if self.before:
            self.parts.append((False, self.before))
        self.parts.reverse()
        return self.parts


# Kinds that may run earlier or later than recorded. Updates take over the memory of their target
# where nothing else needs it any more, so they stay in place.
_PURE = frozenset({"elementwise", "reduction", "view", "fill", "contract", "index", "sort"})


def _parts(nodes: list[Node]) -> list[tuple[bool, list[Node]]]:
    search = _Search()
    for node in nodes:
        search.add(node)
    return search.end()


# -- running a chain -------------------------------------------------------------------------------


def _run_chain(chain: list[Node], asked: Node | None) -> bool:
    """Give values to those nodes that something else refers to. False if it cannot."""
    if any([n[VALUE] is not None for n in chain]):  # a destructor has asked for it
        return False
    wanted = outside_of(chain, [], counts(chain), [])[0]
    others = [type(n[OP].reference) is not np.ufunc for n in chain]
    if len(chain) - sum(wanted) - _OTHER * sum(others) < _LEAST:
        return False
    made = _Chain(chain, [w or n is asked for w, n in zip(wanted, chain, strict=True)])
    if not all([_in_order(a) for a in made.whole.values()]):
        return False
    made.run()
    for i, place in made.results:
        if chain[i][VALUE] is None:
            chain[i][VALUE] = made.whole[place]
            chain[i][ARGS] = None
    chain.clear()
    return True


def _in_order(value: Array) -> bool:
    """Whether its axes lie in memory in their order, so that those of NumPy's results do."""
    steps = [s for s, n in zip(value.strides, value.shape, strict=True) if s and n != 1]
    return all([s > 0 for s in steps]) and steps == sorted(steps, reverse=True)


class _Chain:
    """What runs on each block. A place holds a number, or a block: of an operand, of a result that
    is wanted, or of memory that the next block takes over.

    whole: the arrays that blocks are cut from, by place. results: numbers and places of the nodes
    that are wanted. steps: a function, the places of what it takes, and that of what it gives.
    """

    def __init__(self, chain: list[Node], wanted: list[bool]) -> None:
        self.shape: Shape = chain[0][OP].aval.shape
        self.dtypes = [n[OP].aval.dtype for n in chain]
        self.axis, self.length = _block(self.shape, max([d.itemsize for d in self.dtypes]))
        self.places: list[Any] = []
        self.whole: dict[int, Array] = {}
        self.shared: dict[int, Array] = {}  # memory that the next block takes over, by place
        self.results: list[tuple[int, int]] = []
        self.steps: list[tuple[Any, list[int], int]] = []
        known: dict[int, int] = {}
        for i, node in enumerate(chain):
            ins = [self._place_of(a, known) for a in node[ARGS]]
            out = known[id(node)] = self._place(None)
            if wanted[i]:
                self.results.append((i, out))
            self.steps.append((node[OP].reference, ins, out))

    def _place(self, value: Any) -> int:
        self.places.append(value)
        return len(self.places) - 1

    def _place_of(self, a: Any, known: dict[int, int]) -> int:
        if type(a) is not list:
            return self._place(a)
        place = known.get(id(a))
        if place is None:
            value = _reference.operand(a)
            place = known[id(a)] = self._place(value)
            if isinstance(value, np.ndarray) and value.ndim:
                self.whole[place] = value
        return place

    def _provide(self) -> None:
        """Memory for whole results, and of one block for each of the others. A ufunc may write into
        what it reads last, but for what another function reads: that may give a part of it.
        """
        for i, place in self.results:
            self.whole[place] = lowering.aligned_empty(self.shape, self.dtypes[i])
        last = {p: i for i, (_, ins, _) in enumerate(self.steps) for p in ins}
        parted = {p for f, ins, _ in self.steps if type(f) is not np.ufunc for p in ins}
        free: dict[Any, list[Array]] = {}
        for i, (function, ins, out) in enumerate(self.steps):
            if type(function) is not np.ufunc:
                continue
            for p in {*ins}:
                if last[p] == i and p in self.shared and p not in parted:
                    free.setdefault(self.shared[p].dtype, []).append(self.shared[p])
            if out not in self.whole:
                spare, block = free.get(self.dtypes[i]), self.shape[self.axis + 1 :]
                memory = spare.pop() if spare else np.empty((self.length, *block), self.dtypes[i])
                self.shared[out] = memory

    def run(self) -> None:
        self._provide()
        places, size, length = self.places, self.shape[self.axis], self.length
        for prefix in np.ndindex(*self.shape[: self.axis]):
            rows = self._rows(prefix)
            for begin in range(0, size, length):
                for place, row in rows:
                    places[place] = row[begin : begin + length]
                if begin == 0 or begin + length > size:
                    for place, memory in self.shared.items():
                        places[place] = memory[: size - begin]
                for function, ins, out in self.steps:
                    if type(function) is np.ufunc:
                        function(*[places[i] for i in ins], out=places[out])
                    else:
                        self._put(out, function(*[places[i] for i in ins]))

    def _put(self, out: int, result: Any) -> None:
        if out in self.whole:
            self.places[out][...] = result
        else:
            self.places[out] = result

    def _rows(self, prefix: Shape) -> list[tuple[int, Array]]:
        """The parts at this place along the axes before the one that is cut. Those that have one
        element for all blocks are put into their places.
        """
        rows = []
        for place, whole in self.whole.items():
            first = len(self.shape) - whole.ndim
            at = [(k - first, i) for k, i in enumerate(prefix) if k >= first]
            row = whole[tuple([0 if whole.shape[k] == 1 else i for k, i in at])]
            if first <= self.axis and row.shape[0] != 1:
                rows.append((place, row))
            else:
                self.places[place] = row
        return rows


def _block(shape: Shape, itemsize: int) -> tuple[int, int]:
    """The axis along which blocks are cut, and their length there: the axes after it are whole."""
    inner, axis, most = 1, len(shape) - 1, BLOCK // itemsize
    while axis and inner * shape[axis] <= most:
        inner *= shape[axis]
        axis -= 1
    number = -(-shape[axis] // max(1, most // inner))
    return axis, -(-shape[axis] // number)
