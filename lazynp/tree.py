"""Trees: nested tuples, lists, dicts and registered classes, as transformations take them."""

from lazynp._tree import (
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    tree_flatten as flatten,
    tree_map as map,
    tree_unflatten as unflatten,
)


def leaves(tree: object) -> list[object]:
    """The leaves of a tree, in order."""
    return flatten(tree)[0]


def structure(tree: object) -> object:
    """What is left of a tree without its leaves."""
    return flatten(tree)[1]


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
