"""Trees: flattening and rebuilding, and what does not match."""

from __future__ import annotations

import collections
from typing import Any

import pytest

from lazynp._tree import (
    broadcast_prefix,
    count,
    flatten_up_to,
    show,
    tree_flatten,
    tree_map,
    tree_unflatten,
)

Pair = collections.namedtuple("Pair", "u v")
TREES: list[tuple[Any, list[Any]]] = [
    (1, [1]),
    (None, []),
    ((1, [2, (3,)]), [1, 2, 3]),
    ({"b": 1, "a": (2, None)}, [2, 1]),
    (Pair(1, {"k": 2}), [1, 2]),
    (collections.OrderedDict(z=1, a=2), [1, 2]),
    (collections.defaultdict(list, z=1, a=2), [2, 1]),
]


@pytest.mark.parametrize("tree, leaves", TREES)
def test_flatten_and_unflatten(tree: Any, leaves: list[Any]) -> None:
    found, structure = tree_flatten(tree)
    assert found == leaves and count(structure) == len(leaves)
    again = tree_unflatten(structure, found)
    assert again == tree and type(again) is type(tree)
    assert structure == tree_flatten(tree)[1]
    assert tree_flatten(tree_map(lambda x: -x, tree))[0] == [-x for x in leaves]


def test_what_does_not_match() -> None:
    _, structure = tree_flatten(([1, 2], {"a": 3}))
    assert show(structure) == "([*, *], {'a': *})"
    assert flatten_up_to(structure, ([(), 5], {"a": None}), "f") == [(), 5, None]
    for tree in (1, ([1], {"a": 3}), ([1, 2], {"b": 3})):
        with pytest.raises(TypeError, match="f: a .* is required"):
            flatten_up_to(structure, tree, "f")


def test_prefixes() -> None:
    _, structure = tree_flatten(([1, 2], 3))
    for prefix, wanted in ((0, [0, 0, 0]), ((0, 1), [0, 0, 1]), (([0, None], 1), [0, None, 1])):
        assert broadcast_prefix(prefix, structure, "vmap") == wanted
    for prefix in ((0,), (0, (1, 2)), ([0], 1, 2)):
        with pytest.raises(ValueError, match="vmap"):
            broadcast_prefix(prefix, structure, "vmap")
