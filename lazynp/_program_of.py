"""The jaxpr that computes recorded nodes: for transformations, and to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._graph import build, project_now
from lazynp._jaxpr import Jaxpr
from lazynp._node import ARGS, CODE, OFFSET, VALUE, Node
from lazynp._plan_jaxpr import Ref


def jaxpr_of(roots: list[Node], inputs: list[Node]) -> Jaxpr:
    """The program that computes these nodes from `inputs` and from values that exist already."""
    return program_of(roots, inputs)[0]


def program_of(
    roots: list[Node],
    inputs: list[Node],
    recorded: Callable[[Node], bool] | None = None,
    effects: list[Node] | None = None,
) -> tuple[Jaxpr, list[Node]]:
    """The program that computes these nodes, and its operands after `inputs`: data, and nodes
    outside the program (`recorded` tells which are inside). 0-d host values are constants.
    `effects` belong to it although no result needs them.
    """
    nodes = _collected([*(effects or ()), *roots], inputs, recorded)
    places = {id(n): i for i, n in enumerate(nodes)}
    leaves = list(inputs)
    leaf_places = {id(n): j for j, n in enumerate(leaves)}

    def leaf_place(node: Node) -> int:
        if id(node) not in leaf_places:
            leaf_places[id(node)] = len(leaves)
            leaves.append(node)
        return leaf_places[id(node)]

    slots = []
    for node in nodes:
        for a in node[ARGS]:
            if type(a) is not list or isinstance(a[VALUE], np.generic):
                slots.append(a[VALUE] if type(a) is list else a)
            elif id(a) not in places:
                leaf_place(a)
    refs: list[Ref] = [
        ("node", places[id(r)]) if id(r) in places else ("leaf", leaf_place(r)) for r in roots
    ]
    wanted = {id(r) for r in (*roots, *(effects or ()))}
    outside = [id(n) in wanted for n in nodes]
    plan = build(nodes, leaves, outside, [True] * len(leaves), -1, free_too=True)
    origins = [(n[CODE], n[OFFSET]) for n in nodes]
    return plan.to_jaxpr(slots, refs, origins), leaves[len(inputs) :]


def _collected(
    roots: list[Node], inputs: list[Node], recorded: Callable[[Node], bool] | None
) -> list[Node]:
    """The pending nodes below the roots, operands first."""
    nodes: list[Node] = []
    known = set(map(id, inputs))

    def pending(a: Any) -> bool:
        if type(a) is not list or a[VALUE] is not None or a[ARGS] is None or id(a) in known:
            return False
        if recorded is not None and not recorded(a):
            return False
        return not project_now(a)

    for root in roots:
        stack = [(root, iter(root[ARGS]))] if pending(root) else []
        known.add(id(root))
        while stack:
            node, operands = stack[-1]
            for a in operands:
                if pending(a):
                    known.add(id(a))
                    stack.append((a, iter(a[ARGS])))
                    break
            else:
                nodes.append(node)
                stack.pop()
    return nodes
