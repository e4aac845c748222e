"""jit with `in_shardings` and `out_shardings`, and placement within jitted functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from lazynp._array import Array, new_array
from lazynp._shardings import PartitionSpec, normal
from lazynp._tree import broadcast_prefix, tree_flatten, tree_unflatten
from lazynp.primitives.placing import Target, placed_behind, put, target_of
from lazynp.transforms._stack import node_of, store


def _is_leaf(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def targets(prefix: Any, structure: Any, what: str) -> list[Target | None]:
    """For each leaf of a tree, where it shall be; None: anywhere."""
    wanted = broadcast_prefix(prefix, structure, what, is_leaf=_is_leaf)
    return [None if d is None else target_of(d, what=what) for d in wanted]


class Arrangement:
    """Where a jitted function takes its arguments, and where it gives its results."""

    __slots__ = ("ins", "outs", "what")

    def __init__(self, ins: Any, outs: Any, what: str) -> None:
        self.ins, self.outs, self.what = ins, outs, what
        if isinstance(ins, list):
            self.ins = tuple(ins)

    def results(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose results are put where they shall be."""
        if self.outs is None:
            return function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            leaves, structure = tree_flatten(function(*args, **kwargs))
            what = f"{self.what}: out_shardings"
            wanted = targets(self.outs, structure, what)
            made = [
                x if t is None else _put(x, t, what) for x, t in zip(leaves, wanted, strict=True)
            ]
            return tree_unflatten(structure, made)

        return call

    def arguments(self, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, list[Any]]:
        """The arguments where they shall be; those that were copied, the copies, their nodes."""
        if self.ins is None:
            return args, []
        if kwargs:
            raise ValueError(f"{self.what}: in_shardings are those of positional arguments")
        leaves, structure = tree_flatten(args)
        what = f"{self.what}: in_shardings"
        wanted = targets(self.ins, structure, what)
        copied = []
        for i, (x, target) in enumerate(zip(leaves, wanted, strict=True)):
            if target is None or isinstance(x, Array) and _is_there(x, target):
                continue
            if not hasattr(x, "aval") or isinstance(x, Array):  # not a ShapeDtype
                leaves[i] = _put(x, target, what)
                copied.append((x, leaves[i], leaves[i]._read()))
        return tree_unflatten(structure, leaves), copied


def _put(x: Any, target: Target, what: str) -> Array:
    return put(x if isinstance(x, Array) else new_array(node_of(x)), target, what=what)


def _is_there(x: Array, target: Target) -> bool:
    placed = placed_behind(x)
    if placed is None or placed.place is not target.place:
        return False
    if target.sharding is None:
        return True
    now = placed.sharding()
    return now is not None and normal(now, x.ndim) == normal(target.sharding, x.ndim)


def deliver(copied: Sequence[Any]) -> None:
    """Store in the arguments what the function wrote in their copies."""
    for argument, copy, before in copied:
        if copy._read() is not before:
            store(argument, copy)
