"""Lists and dicts among the arguments of a jitted function that the function itself changes.

A trace gets containers of its own. `Containers` remembers what they held, and says which of them
hold something else when the function has returned. Their new contents become results of the trace.
Each call puts these into the caller's containers, after everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lazynp._tree import count, parts_of, tree_flatten, tree_unflatten

Path = tuple[int, ...]  # from the root of a tree: the number of the child, each time


@dataclass(frozen=True)
class Given:
    """In new contents: a leaf of the arguments, by its number, or one of their containers."""

    place: int | Path


@dataclass(frozen=True)
class Constant:
    """In new contents: what is the same at each call."""

    value: Any


@dataclass(frozen=True)
class Change:
    """The container at `path` holds other things. keys: of a dict. tree: of the values."""

    path: Path
    keys: tuple[Any, ...] | None
    tree: Any


class Containers:
    """What the lists and dicts in the arguments of a trace hold at its beginning."""

    def __init__(self, tree: Any, leaves: Sequence[Any]) -> None:
        self._held: list[tuple[Path, Any, Any, list[Any]]] = []
        self._known: dict[int, Given] = {id(x): Given(i) for i, x in enumerate(leaves)}
        self._kept = leaves  # an id stands for a living object
        self._enter(tree, ())

    def _enter(self, tree: Any, path: Path) -> None:
        if isinstance(tree, (list, dict)):
            self._held.append((path, tree, _keys(tree), _values(tree)))
            self._known[id(tree)] = Given(path)
        for i, child in enumerate(_children(tree)):
            self._enter(child, (*path, i))

    def changed(self) -> tuple[list[Change], list[Any]]:
        """The changes, and the leaves of the new contents, with `Given` and `Constant` ones."""
        changes, leaves = [], []
        for path, container, keys, before in self._held:
            now = _values(container)
            if len(now) == len(before) and all(a is b for a, b in zip(now, before)):
                if _keys(container) == keys:
                    continue
            more, tree = tree_flatten(now, lambda x: id(x) in self._known)
            leaves += [self._known.get(id(x)) or _constant(x) for x in more]
            changes.append(Change(path, _keys(container), tree))
        return changes, leaves


def _keys(container: Any) -> tuple[Any, ...] | None:
    return tuple(container) if isinstance(container, dict) else None


def _values(container: Any) -> list[Any]:
    return list(container.values()) if isinstance(container, dict) else list(container)


def _constant(x: Any) -> Any:
    return Constant(x) if type(x) in (bool, int, float, complex, str, bytes) else x


# -- a call ----------------------------------------------------------------------------------------


def put_back(changes: Sequence[Change], tree: Any, leaves: Sequence[Any], what: str) -> None:
    """Give the containers in the arguments of a call, `tree`, their new contents."""
    named = {x.place for x in leaves if type(x) is Given and isinstance(x.place, tuple)}
    found = {path: _at(tree, path) for path in {c.path for c in changes} | named}
    _refuse_shared(tree, [found[c.path] for c in changes], what)
    given, _ = tree_flatten(tree)
    rest = iter([_meant(x, given, found) for x in leaves])
    for change in changes:
        new = tree_unflatten(change.tree, [next(rest) for _ in range(count(change.tree))])
        _fill(found[change.path], change.keys, new)


def _meant(x: Any, given: Sequence[Any], found: dict[Path, Any]) -> Any:
    if type(x) is Constant:
        return x.value
    if type(x) is not Given:
        return x
    return found[x.place] if isinstance(x.place, tuple) else given[x.place]


def _children(tree: Any) -> Sequence[Any]:
    parts = parts_of(tree)
    return () if parts is None else parts[2]


def _at(tree: Any, path: Path) -> Any:
    for i in path:
        tree = _children(tree)[i]
    return tree


def _refuse_shared(tree: Any, changed: Sequence[Any], what: str) -> None:
    """The trace has had two containers where the caller has one."""
    seen: set[int] = set()
    todo = [tree]
    while todo:
        x = todo.pop()
        if any(x is c for c in changed):
            if id(x) in seen:
                raise TypeError(
                    f"{what}: it changes a {type(x).__name__} that its arguments hold twice"
                )
            seen.add(id(x))
        todo += _children(x)


def _fill(container: Any, keys: tuple[Any, ...] | None, new: list[Any]) -> None:
    if keys is None:
        container[:] = new
        return
    for key in set(container).difference(keys):
        del container[key]
    container.update(zip(keys, new, strict=True))
