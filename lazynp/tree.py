"""Trees: nested tuples, lists, dicts and registered classes, as transformations take them."""

from collections.abc import Callable
from typing import Any

from lazynp._tree import (
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    tree_flatten as flatten,
    tree_map as map,
    tree_unflatten as unflatten,
)

IsLeaf = Callable[[Any], bool] | None


def leaves(tree: object, is_leaf: IsLeaf = None) -> list[object]:
    """The leaves of a tree, in order."""
    return flatten(tree, is_leaf)[0]


def structure(tree: object, is_leaf: IsLeaf = None) -> object:
    """What is left of a tree without its leaves."""
    return flatten(tree, is_leaf)[1]


__all__ = [
    "flatten",
    "leaves",
    "map",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "structure",
    "unflatten",
]
