"""Trees: nested tuples, lists, dicts and registered classes of leaves. None has no leaves."""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from lazynp._memo import Memo

Structure = Any  # a nested description; equal structures compare equal and have equal hashes

T = TypeVar("T")
Flatten = Callable[[Any], tuple[Any, Any]]

_registry: dict[type, tuple[Flatten, Callable[[Any, Any], Any]]] = {}
_leaves: set[type] = set()  # classes of ours and of Python's that are no trees
LEAF = "leaf"


def register_pytree_node(
    nodetype: type, flatten_func: Flatten, unflatten_func: Callable[[Any, Any], Any]
) -> None:
    """Register `flatten(x) -> (children, static data)`, `unflatten(static data, children) -> x`."""
    if nodetype in _registry:
        raise ValueError(f"register_pytree_node: {nodetype.__name__} is registered already")
    _registry[nodetype] = flatten_func, unflatten_func
    _leaves.discard(nodetype)


def is_registered(kind: type) -> bool:
    return kind in _registry


def register_pytree_node_class(kind: type[T]) -> type[T]:
    """A decorator for classes with `tree_flatten()` and `tree_unflatten(aux, children)`."""
    register_pytree_node(kind, lambda x: x.tree_flatten(), kind.tree_unflatten)  # type: ignore[attr-defined]
    return kind


def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
) -> type[T]:
    """Register a dataclass as a tree of its `data_fields` (default: all that are not declared
    static).
    """
    fields = [f for f in dataclasses.fields(nodetype) if f.init]  # type: ignore[arg-type]
    if meta_fields is None:
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
    if data_fields is None:
        data_fields = [f.name for f in fields if f.name not in meta_fields]
    data, meta = tuple(data_fields), tuple(meta_fields)

    def flatten(x: Any) -> tuple[Any, Any]:
        return tuple(getattr(x, n) for n in data), tuple(getattr(x, n) for n in meta)

    def unflatten(static: Any, children: Any) -> Any:
        return nodetype(**dict(zip(data, children)), **dict(zip(meta, static)))

    register_pytree_node(nodetype, flatten, unflatten)
    return nodetype


def register_alike(kind: type, base: type) -> None:
    """Register a class like its base, if that is registered and instances have the same layout."""
    if base not in _registry:
        return
    flatten, unflatten = _registry[base]

    def rebuilt(static: Any, children: Any) -> Any:
        made = unflatten(static, children)
        if type(made) is base:
            object.__setattr__(made, "__class__", kind)
        return made

    register_pytree_node(kind, flatten, rebuilt)


_unsorted = [0]  # dicts that were flattened and not sorted, so far


class Keys(tuple[Any, ...]):
    """The sorted keys of a dict, which decide whether structures are equal. order: as they are in
    the dict, if that is another order; trees that are built with the structure have it.
    """

    order: tuple[Any, ...] | None = None


# by the keys of a dict in its order: of strings only, for 1 equals True
_known_keys: Memo[tuple[Any, ...], tuple[Any, ...]] = Memo("keys of dicts", 1 << 12)


def _keys_of(tree: dict[Any, Any]) -> tuple[Any, ...]:
    order = tuple(tree)
    keys = _known_keys.get(order)
    if keys is None:
        keys = tuple(sorted(order))
        if keys != order:
            keys = Keys(keys)
            keys.order = order
        if all([type(k) is str for k in order]):
            _known_keys.put(order, keys)
    if type(keys) is Keys:
        _unsorted[0] += 1
    return keys


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], Structure]:
    """The leaves in order (dicts by key), and the structure without them."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def flatten_in_order(tree: Any) -> tuple[list[Any], Structure, tuple[Any, ...]]:
    """The leaves, the structure, and the orders of the dicts in it that are not sorted: equal
    structures may differ in them.
    """
    before = _unsorted[0]
    leaves, structure = tree_flatten(tree)
    return leaves, structure, () if _unsorted[0] == before else _orders(structure)


def _orders(structure: Structure) -> tuple[Any, ...]:
    if structure is LEAF:
        return ()
    keys = structure[1][-1] if type(structure[1]) is tuple and structure[1] else structure[1]
    own = keys.order if type(keys) is Keys else None
    inside = [o for child in structure[2] if child is not LEAF for o in _orders(child)]
    return (own, *inside) if own is not None else tuple(inside)


def _flatten(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> Structure:
    if is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return LEAF
    parts = parts_of(tree)
    if parts is None:
        leaves.append(tree)
        return LEAF
    kind, static, children = parts
    return kind, static, tuple([_flatten(child, leaves, is_leaf) for child in children])


def parts_of(tree: Any) -> tuple[Any, Hashable, Sequence[Any]] | None:
    """The kind, static data and children of a tree; None for a leaf."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind, None, tree
    if kind in _leaves:
        return None
    if tree is None:
        return type(None), None, ()
    if kind in _registry:
        children, static = _registry[kind][0](tree)
        return kind, static, tuple(children)
    if issubclass(kind, OrderedDict):
        return kind, tuple(tree), tuple(tree.values())
    if issubclass(kind, defaultdict):
        found = _keys_of(tree)
        return kind, (tree.default_factory, found), tuple([tree[k] for k in found])
    if issubclass(kind, dict):
        found = _keys_of(tree)
        return kind, found, tuple([tree[k] for k in found])
    if issubclass(kind, (tuple, list)):
        return kind, None, tree
    if kind.__module__ in ("lazynp", "builtins"):  # they live as long as the program
        _leaves.add(kind)
    return None


def tree_unflatten(treedef: Structure, leaves: Sequence[Any]) -> Any:
    """The tree of this structure with these leaves."""
    return _unflatten(treedef, iter(leaves))


def _unflatten(structure: Structure, leaves: Any) -> Any:
    if structure is LEAF:
        return next(leaves)
    kind, static, children = structure
    return _built(kind, static, [_unflatten(child, leaves) for child in children])


def _built(kind: Any, static: Any, children: list[Any]) -> Any:
    if kind is tuple:
        return tuple(children)
    if kind is list:
        return children
    if kind is type(None):
        return None
    if kind in _registry:
        return _registry[kind][1](static, tuple(children))
    if issubclass(kind, defaultdict):
        return kind(static[0], _ordered(static[1], children))
    if issubclass(kind, Counter):
        made = kind()
        dict.update(made, _ordered(static, children))  # its own `update` adds
        return made
    if issubclass(kind, dict):
        return kind(_ordered(static, children))
    return kind(*children) if hasattr(kind, "_fields") else kind(children)


def _ordered(keys: tuple[Any, ...], children: list[Any]) -> list[tuple[Any, Any]]:
    """The items of a dict."""
    items = list(zip(keys, children, strict=True))
    if type(keys) is not Keys or keys.order is None:
        return items
    found = dict(items)
    return [(k, found[k]) for k in keys.order]


def tree_map(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Map `function(leaf, *leaves of the other trees at the same place)` over a tree."""
    leaves, structure = tree_flatten(tree, is_leaf)
    others = [flatten_up_to(structure, r, "tree map") for r in rest]
    return tree_unflatten(structure, [f(*xs) for xs in zip(leaves, *others, strict=True)])


def flatten_up_to(structure: Structure, tree: Any, what: str) -> list[Any]:
    """The parts of the tree at the places where the structure has leaves. TypeError if they
    disagree.
    """
    if structure is LEAF:
        return [tree]
    kind, static, children = structure
    parts = parts_of(tree)
    if parts is None or not _alike(parts[0], kind) or parts[1] != static:
        raise TypeError(f"{what}: a tree like {show(structure)} is required, got {tree!r}")
    if len(parts[2]) != len(children):
        raise TypeError(
            f"{what}: a {kind.__name__} with {len(children)} entries is required, "
            f"got {len(parts[2])}"
        )
    found = []
    for child, part in zip(children, parts[2], strict=True):
        found += flatten_up_to(child, part, what)
    return found


def _alike(a: type, b: type) -> bool:
    return a is b or {a, b} <= {tuple, list}


def broadcast_prefix(
    prefix: Any, structure: Structure, what: str, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any]:
    """A leaf of `prefix` for each leaf of the structure; one may stand for a whole subtree.

    Here None is a leaf, because it has a meaning in `in_axes`.
    """
    if prefix is None or (is_leaf is not None and is_leaf(prefix)):
        return [prefix] * count(structure)
    parts = parts_of(prefix)
    if parts is None:
        return [prefix] * count(structure)
    if structure is LEAF:
        raise ValueError(f"{what}: {prefix!r} is a tree where the argument is a leaf")
    kind, static, children = structure
    if not _alike(parts[0], kind) or len(parts[2]) != len(children) or parts[1] != static:
        raise ValueError(f"{what}: {prefix!r} is not a prefix of a tree like {show(structure)}")
    found = []
    for p, child in zip(parts[2], children, strict=True):
        found += broadcast_prefix(p, child, what, is_leaf)
    return found


def count(structure: Structure) -> int:
    """The number of leaves."""
    return 1 if structure is LEAF else sum(count(child) for child in structure[2])


def show(structure: Structure) -> str:
    """The structure as text, with a star for each leaf."""
    return repr(tree_unflatten(structure, [_STAR] * count(structure)))


class _Star:
    def __repr__(self) -> str:
        return "*"


_STAR = _Star()
