"""Lists, dicts and objects among the arguments of a jitted function that the function changes.

A trace gets containers of its own. `Containers` remembers what they held, and says which of them
hold something else when the function has returned. Their new contents become results of the trace.
Each call puts these into the caller's containers, after everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._array import Array, NDArray
from lazynp._dataclass import dataclass
from lazynp._node import VALUE, is_tracer
from lazynp._tree import count, is_registered, parts_of, tree_flatten, tree_unflatten
from lazynp.transforms.control import changed, session, user_line

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
    """The container at `path` holds other things. keys: all those of a dict, or of an object's
    attributes, in their order; None for a list. new: the keys of what is new. tree: of that.
    """

    path: Path
    keys: tuple[Any, ...] | None
    new: tuple[Any, ...]
    tree: Any


class Containers:
    """What the lists, dicts and objects in the arguments of a trace hold at its beginning."""

    def __init__(self, tree: Any, leaves: Sequence[Any]) -> None:
        self._held: list[tuple[Path, Any, dict[Any, Any]]] = []
        self._known: dict[int, Given] = {id(x): Given(i) for i, x in enumerate(leaves)}
        self._kept = leaves  # an id stands for a living object
        self._enter(tree, ())

    def _enter(self, tree: Any, path: Path) -> None:
        held = _held(tree)
        if held is not None:
            self._held.append((path, tree, dict(held)))
            self._known[id(tree)] = Given(path)
        for i, child in enumerate(_children(tree)):
            self._enter(child, (*path, i))

    def is_known(self, x: Any) -> bool:
        """Whether this is one of the containers, to be returned as the caller's own."""
        known = self._known.get(id(x))
        return known is not None and isinstance(known.place, tuple)

    def stand_in(self, x: Any) -> Any:
        """What stands for a leaf of a result: the caller's own containers, and views."""
        is_view = type(x) is NDArray and x._base is not None and id(x) in self._known
        return self._known[id(x)] if is_view or self.is_known(x) else x

    def changed(self) -> tuple[list[Change], list[Any]]:
        """The changes, and the leaves of what is new, with `Given` and `Constant` ones."""
        changes, leaves = [], []
        for path, container, before in self._held:
            now = _held(container)
            assert now is not None
            new = [k for k, v in now.items() if k not in before or before[k] is not v]
            new = [k for k in new if not _is_dead(now[k])]
            is_list = isinstance(container, list)
            if is_list and (new or len(now) != len(before)):
                new = list(now)
            elif not new and list(now) == list(before):
                continue
            more, tree = tree_flatten([now[k] for k in new], lambda x: id(x) in self._known)
            leaves += [self._known.get(id(x)) or _constant(x) for x in more]
            changes.append(Change(path, None if is_list else tuple(now), tuple(new), tree))
        return changes, leaves


def _held(x: Any) -> dict[Any, Any] | None:
    """What a list, a dict or an object of a registered class holds, by key."""
    if isinstance(x, list):
        return dict(enumerate(x))
    if isinstance(x, dict):
        return x
    return getattr(x, "__dict__", None) if is_registered(type(x)) else None


def _is_dead(x: Any) -> bool:
    """Whether this belongs to a transformation that has ended: what it stores is dropped."""
    parts = tree_flatten(x)[0]
    return any(isinstance(p, Array) and is_tracer(n := p._node) and not n[VALUE].trace.alive
               for p in parts)  # fmt: skip


def _constant(x: Any) -> Any:
    return Constant(x) if type(x) in (bool, int, float, complex, str, bytes) else x


# -- a call ----------------------------------------------------------------------------------------


def put_back(changes: Sequence[Change], tree: Any, leaves: Sequence[Any], what: str) -> None:
    """Give the containers in the arguments of a call, `tree`, what is new in them. leaves: of that,
    as `meant` gives them.
    """
    found = [_at(tree, change.path) for change in changes]
    _refuse_shared(tree, found, what)
    rest = iter(leaves)
    for change, container in zip(changes, found, strict=True):
        new = tree_unflatten(change.tree, [next(rest) for _ in range(count(change.tree))])
        _fill(container, change, new)


def meant(x: Given | Constant, tree: Any, given: Sequence[Any]) -> Any:
    """What this is in a call. given: the leaves of its arguments, whose tree is `tree`."""
    if type(x) is Constant:
        return x.value
    return _at(tree, x.place) if isinstance(x.place, tuple) else given[x.place]  # type: ignore


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


def _fill(container: Any, change: Change, new: list[Any]) -> None:
    """Within the trace of another function, stores are noted as those of the user's code are."""
    line = int(user_line()) if session.depth else 0
    if change.keys is None:
        changed(container, line)
        if len(container) == len(new):
            for k, value in enumerate(new):
                if value is not container[k]:
                    changed(container, line)[k] = value
        else:
            changed(container, line)[:] = new
        return
    if not isinstance(container, dict):
        for key, value in zip(change.new, new, strict=True):
            setattr(changed(container, line, key), key, value)
        return
    for key in set(container).difference(change.keys):
        del changed(container, line)[key]
    for key, value in zip(change.new, new, strict=True):
        changed(container, line)[key] = value
    if tuple(container) != change.keys:
        values = [container[k] for k in change.keys]
        container.clear()
        dict.update(container, zip(change.keys, values, strict=True))
