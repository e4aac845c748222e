"""Trees: nested tuples, lists, dicts and registered classes, which transformations accept."""

import builtins
import functools
from collections.abc import Callable
from typing import Any

from lazynp._tree import (
    flatten_up_to,
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
    """The structure of a tree without its leaves."""
    return flatten(tree, is_leaf)[1]


def all(tree: object, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves of a tree are true."""
    return builtins.all(leaves(tree, is_leaf))


_NONE: Any = object()


def reduce(
    function: Callable[[Any, Any], Any], tree: object, initializer: Any = _NONE,
    is_leaf: IsLeaf = None,
) -> Any:  # fmt: skip
    """`functools.reduce` over the leaves of a tree."""
    first = () if initializer is _NONE else (initializer,)
    return functools.reduce(function, leaves(tree, is_leaf), *first)


def transpose(outer_treedef: Any, inner_treedef: Any, pytree_to_transpose: Any) -> Any:
    """Turn a tree inside out: from `outer_treedef` of trees `inner_treedef` (None: as found) to the
    reverse.
    """
    inner = flatten_up_to(outer_treedef, pytree_to_transpose, "tree transpose")
    if inner_treedef is None:
        inner_treedef = structure(inner[0])
    rows = [flatten_up_to(inner_treedef, part, "tree transpose") for part in inner]
    columns = [unflatten(outer_treedef, list(column)) for column in zip(*rows, strict=True)]
    return unflatten(inner_treedef, columns)


__all__ = [
    "all",
    "flatten",
    "leaves",
    "map",
    "reduce",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "structure",
    "transpose",
    "unflatten",
]
