"""Trees: flattening and rebuilding, and what does not match."""

from __future__ import annotations

import collections
from collections import defaultdict
from typing import Any

import pytest

import lazynp as np
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


@pytest.mark.parametrize("kind", [dict, lambda d: defaultdict(float, d)])
def test_dicts_keep_their_order(kind) -> None:
    """The order of a dict decides what a loop over it computes."""

    def f(d):
        x = 1.0
        for value in d.values():
            x = x * 2 + value
        return x, {"z": x, "a": [{"y": 2 * x, "b": x}]}

    jitted = np.jit(f)
    for names, cached in [("zam", 1), ("amz", 2), ("zam", 2), ("maz", 3), ("amz", 3)]:
        d = kind({k: np.array(float(ord(k))) for k in names})
        want = f(dict(d))
        for out in (jitted(d), np.jit(jitted)(d)):
            assert float(out[0]) == float(want[0])
            assert list(out[1]) == ["z", "a"] and list(out[1]["a"][0]) == ["y", "b"]
        assert jitted._cache_size() == cached
        assert list(np.grad(lambda d: f(d)[0])(d)) == list(names)
        rows = kind({k: np.stack([v, v]) for k, v in d.items()})
        assert np.vmap(f)(rows)[0].tolist() == [float(want[0])] * 2


def test_the_order_of_dicts_is_no_part_of_a_structure() -> None:
    a, b = {"x": 1.0, "b": 2.0}, {"b": 3.0, "x": 4.0}
    assert np.tree.structure(a) == np.tree.structure(b)
    assert np.tree.map(lambda v, w: v + w, a, b) == {"x": 5.0, "b": 5.0}
    assert np.tree.leaves(a) == np.tree.leaves({"b": 2.0, "x": 1.0}) == [2.0, 1.0]
