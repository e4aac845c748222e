"""What a compiled program moves between its devices, read from its optimised text.

A collective in a loop counts as often as the loop goes round, where the text says how often.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")


class Collective(NamedTuple):
    """One exchange between devices: its result on one device, and how often it runs."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    count: int


_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")
_MOVE = re.compile(rf" = (.*?) ({'|'.join(KINDS)})(?:-start)?\(")
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\]")
_CALLED = re.compile(
    r"(?:body|condition|calls|to_apply|true_computation|false_computation)=%?([\w.\-]+)"
)
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_ROUNDS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_BITS = re.compile(r"\d+")


def collectives_in(text: str) -> list[Collective]:
    """The collectives of an optimised program, those that its main part calls included."""
    moves: dict[str, list[tuple[str, str]]] = {}
    calls: dict[str, list[tuple[str, int]]] = {}
    entry = here = ""
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head is not None and not line.startswith(" "):
            here = head[2]
            entry = here if head[1] else entry
            moves[here], calls[here] = [], []
            continue
        if not here:
            continue
        move = _MOVE.search(line)
        if move is not None:
            moves[here].append((move[2], move[1]))
        rounds = _ROUNDS.search(line)
        times = int(rounds[1]) if rounds else 1
        for name in _CALLED.findall(line):
            calls[here].append((name, times))
        for names in _BRANCHES.findall(line):
            calls[here] += [(n.strip().lstrip("%"), 1) for n in names.split(",")]
    found: list[Collective] = []
    waiting = [(entry, 1)]
    while waiting:
        name, times = waiting.pop()
        found += [_collective(kind, types, times) for kind, types in moves.get(name, ())]
        waiting += [(called, times * n) for called, n in calls.get(name, ())]
    return found


def _collective(kind: str, types: str, times: int) -> Collective:
    arrays = [(d, tuple(int(n) for n in s.split(",") if n)) for d, s in _ARRAY.findall(types)]
    if not arrays:
        return Collective(kind, "", (), 0, times)
    size = sum(math.prod(shape) * _bytes(dtype) for dtype, shape in arrays)
    return Collective(kind, *arrays[0], size, times)


def _bytes(dtype: str) -> int:
    bits = _BITS.search(dtype)
    return max(int(bits[0]) // 8, 1) if bits else 1
