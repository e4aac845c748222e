"""The structure of a flush: what makes two flushes the same program.

`scan` writes it out as a key. For flushes that repeat, `Likeness` compares them with an earlier one
instead, almost entirely in C. This comparison is most of the cost of a small cached program besides
running it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import is_, itemgetter
from typing import Any, Generic, TypeVar

import numpy as np

from lazynp._node import ARGS, CODE, OFFSET, OP, VALUE, Node
from lazynp._ownership import COUNTED, counts, only_here

P = TypeVar("P")
_HOST_SCALAR = np.generic
_SLOT = None  # in a key: an operand that is a 0-d host value


def depth_first(root: Node, known: set[int], order: list[Node]) -> None:
    stack: list[tuple[Node, Iterable[Any]]] = [(root, iter(root[ARGS] or ()))]
    known.add(id(root))
    while stack:
        node, operands = stack[-1]
        for a in operands:
            if type(a) is list and a[VALUE] is None and id(a) not in known:
                known.add(id(a))
                stack.append((a, iter(a[ARGS] or ())))  # without any: an input, while tracing
                break
        else:
            order.append(node)
            stack.pop()


Scan = tuple[list[Any], list[Node], list[Any]]


def scan(nodes: list[Node], asked: Node | None) -> Scan | None:
    """The structural key, the leaves in order of first use, and the values of the slots.

    For each node the key contains its op, and for each operand the place of a node, the place of a
    leaf (counted down from -1), or a mark for a 0-d host value (the op identifies Python scalars).
    Then comes the place of the node asked for. None if the nodes are not a whole program yet: one
    has a value, or one that they read is missing.
    """
    key: list[Any] = []
    leaves: list[Node] = []
    slots: list[Any] = []
    places: dict[int, int] = {}
    add, place = key.append, places.get
    i = 0
    for node in nodes:
        op, operands = node[OP], node[ARGS]
        if node[VALUE] is not None:
            return None
        add(op)
        for a in operands:
            if type(a) is list:
                j = place(id(a))
                if j is None:
                    value = a[2]
                    if value is None or type(value) is tuple:  # one of several results: not taken
                        return None
                    if isinstance(value, _HOST_SCALAR):
                        slots.append(value)
                        add(_SLOT)
                        continue
                    j = places[id(a)] = ~len(leaves)
                    leaves.append(a)
                add(j)
            else:
                slots.append(a)
        places[id(node)] = i
        i += 1
    where = -1
    if asked is not None:
        where = place(id(asked), -2)
        if where == -2 and asked[2] is None:
            return None
    key.append(where)
    return key, leaves, slots


def drop_dead(nodes: list[Node], asked: Node | None) -> bool:
    """Drop nodes that only the list refers to, from the end, so that their operands follow."""
    if COUNTED not in counts(nodes):
        return False
    before = len(nodes)
    for i in range(before - 1, -1, -1):
        if only_here(nodes, i) and nodes[i] is not asked:
            nodes[i] = None  # type: ignore[call-overload]
    nodes[:] = [n for n in nodes if n is not None]
    return len(nodes) < before


def outside_of(
    nodes: list[Node], leaves: list[Node], node_counts: list[int], leaf_counts: list[int]
) -> tuple[list[bool], list[bool]]:
    """Which nodes and leaves something outside the flush refers to: references minus uses."""
    uses: dict[int, int] = {}
    for node in nodes:
        for a in node[ARGS]:
            if type(a) is list:
                uses[id(a)] = uses.get(id(a), 0) + 1
    a = node = None
    return (
        [c - COUNTED - uses.get(id(n), 0) > 0 for n, c in zip(nodes, node_counts, strict=True)],
        [c - COUNTED - uses[id(n)] > 0 for n, c in zip(leaves, leaf_counts, strict=True)],
    )


# -- recognising an earlier form -------------------------------------------------------------------


def place_of(nodes: list[Node]) -> Any:
    """The place in the user's code where these nodes end. Flushes of one form share it; others may
    too.
    """
    if not nodes:
        return None
    last = nodes[-1]
    return id(last[CODE]), last[OFFSET], last[OP], len(nodes)


class Likeness(Generic[P]):
    """A fast structural match: do nodes have the form (hence the plan) of an earlier flush?

    It compares ops and operands by identity, so C does nearly all of the work. Two leaves that were
    different may be one leaf now: with equal counts, neither could be reused by anyone.
    """

    __slots__ = (
        "plan", "counts", "leaf_counts", "replaced",
        "_ops", "_asked", "_leaves", "_slots", "_host", "_wired", "_sources", "_pairs",
    )  # fmt: skip

    def __init__(
        self,
        nodes: list[Node],
        leaves: list[Node],
        asked: int,
        node_counts: list[int],
        leaf_counts: list[int],
        plan: P,
    ) -> None:
        self.plan, self.counts, self.leaf_counts = plan, node_counts, leaf_counts
        self.replaced = 0
        self._asked = asked
        self._ops = [n[OP] for n in nodes]
        places = {id(n): i for i, n in enumerate((*nodes, *leaves))}
        flat = [a for n in nodes for a in n[ARGS]]
        firsts: dict[int, int] = {}
        wired, sources = [], []
        self._slots: list[int] = []
        self._host: list[int] = []  # those that are nodes of 0-d host values
        for k, a in enumerate(flat):
            if type(a) is not list or isinstance(a[VALUE], _HOST_SCALAR):
                if type(a) is list:
                    self._host.append(len(self._slots))
                self._slots.append(k)
            elif places[id(a)] >= len(nodes) and id(a) not in firsts:
                firsts[id(a)] = k
            else:
                wired.append(k)
                sources.append(places[id(a)])
        self._leaves = [firsts[id(n)] for n in leaves]
        self._wired, self._sources = _picker(wired), _picker(sources)
        self._pairs = wired, sources  # the same places, for C

    def compare(self, nodes: list[Node], asked: Node | None) -> tuple[list[Node], list[Any]] | None:
        """The leaves and the values of the slots; None if the form differs."""
        if [n[OP] for n in nodes if n[VALUE] is None] != self._ops:
            return None
        if asked is not None if self._asked < 0 else nodes[self._asked] is not asked:
            return None
        flat = list(chain.from_iterable([n[ARGS] for n in nodes]))
        leaves = [flat[k] for k in self._leaves]
        for a in leaves:
            if a[VALUE] is None or isinstance(a[VALUE], _HOST_SCALAR):
                return None
        if not all(map(is_, self._wired(flat), self._sources([*nodes, *leaves]))):
            return None
        slots = [flat[k] for k in self._slots]
        for k in self._host:
            value = slots[k] = slots[k][VALUE]
            if not isinstance(value, _HOST_SCALAR):
                return None
        return leaves, slots


def _picker(places: list[int]) -> Callable[[list[Any]], Sequence[Any]]:
    """An `itemgetter` that returns a tuple also for one item or none."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda items: [items[k] for k in places]
