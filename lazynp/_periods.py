"""The period of what a loop records, found without knowing anything about loops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from lazynp._cutsites import key_of
from lazynp._node import ARGS, CODE, OFFSET, OP, Node

LEAST = 3  # rounds that show a period
_LONGEST = 400  # operations of a round
_CANDIDATES = 8


def find_period(nodes: list[Node]) -> tuple[int, int, int] | None:
    """Where the longest stretch that repeats itself begins and ends, and its period.

    Operations are compared by op and position. The period that covers most wins, so of nested loops
    it is that of the outer one, if enough of its rounds are there.
    """
    numbers: dict[Any, int] = {}
    last: dict[int, int] = {}
    distances: Counter[int] = Counter()
    places: dict[Any, int] = {}
    keys = []
    for n in nodes:
        op, code, offset = n[OP], n[CODE], n[OFFSET]
        key = places.get((op, id(code), offset))
        if key is None:
            key = numbers.setdefault(key_of(op, code, offset), len(numbers))
            places[op, id(code), offset] = key
        keys.append(key)
    for i, key in enumerate(keys):
        before = last.get(key)
        if before is not None:
            distances[i - before] += 1
        last[key] = i
    sequence = np.array(keys)
    best = None
    covered = 0
    for period, _ in distances.most_common(_CANDIDATES):
        if period > _LONGEST or LEAST * period > len(keys):
            continue
        different = np.flatnonzero(sequence[period:] != sequence[:-period])
        edges = np.concatenate(([-1], different, [len(keys) - period]))
        longest = int(np.argmax(np.diff(edges)))
        begin, end = int(edges[longest]) + 1, int(edges[longest + 1]) + period
        found = end - begin
        if found >= LEAST * period and (found, -period) > (covered, -best[2] if best else 0):
            best, covered = (begin, end, period), found
    return best


def best_start(nodes: list[Node], begin: int, end: int, period: int) -> int:
    """Where in the repeated stretch a round should begin: where the fewest bytes are alive."""
    place = {id(n): i for i, n in enumerate(nodes[begin:end], begin)}
    last_use: dict[int, int] = {}
    for i in range(begin, end):
        for a in nodes[i][ARGS]:
            if type(a) is list and id(a) in place:
                last_use[place[id(a)]] = i
    change = np.zeros((len(nodes) + 2, 2))
    for i, use in last_use.items():
        weight = (_bytes(nodes[i][OP].aval), 1)
        change[i + 1] += weight
        change[use + 1] -= weight
    alive = np.cumsum(change, axis=0)
    first = begin + period  # the round before may have begun differently
    return min(range(first, first + period), key=lambda i: (*alive[i], i)) - period


def _bytes(aval: Any) -> int:
    return sum(a.nbytes for a in aval) if isinstance(aval, tuple) else aval.nbytes
