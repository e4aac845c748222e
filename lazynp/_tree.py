"""Trees: nested tuples, lists and dicts of leaves. None is a tree without leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Structure = Any  # a nested description; equal structures compare equal


def tree_flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves in order (dicts by key) and what is left without them."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Structure:
    if tree is None:
        return None
    if isinstance(tree, dict):
        keys = sorted(tree)
        return dict, tuple(keys), tuple(_flatten(tree[k], leaves) for k in keys)
    if isinstance(tree, (tuple, list)):
        children = tuple(_flatten(child, leaves) for child in tree)
        return type(tree), None, children
    leaves.append(tree)
    return "leaf"


def tree_unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The tree of this structure with these leaves."""
    return _unflatten(structure, iter(leaves))


def _unflatten(structure: Structure, leaves: Any) -> Any:
    if structure is None:
        return None
    if structure == "leaf":
        return next(leaves)
    kind, keys, children = structure
    built = [_unflatten(child, leaves) for child in children]
    if kind is dict:
        return dict(zip(keys, built, strict=True))
    return kind(*built) if hasattr(kind, "_fields") else kind(built)
