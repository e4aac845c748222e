"""Lists and dicts of which a branch picks one. The program cannot tell which, so the value after
the branch is a third one. That is what Python has, as long as nobody changes one of the three.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any

from lazynp._ownership import COUNTED, counts
from lazynp._tree import is_registered, parts_of, tree_flatten
from lazynp.transforms._stage import weak_aval
from lazynp.transforms.control._asked import as_bool
from lazynp.transforms.control._state import (
    CannotStage,
    fresh,
    is_alone,
    is_new,
    kind,
    operators,
    session,
    undecided,
)


def containers(x: Any, objects: bool = False) -> Iterator[Any]:
    """The lists and dicts in a tree. objects: those of registered classes as well."""
    registered = is_registered(type(x))
    if isinstance(x, (list, dict)) or objects and registered:
        yield x
    parts = parts_of(x) if isinstance(x, (list, dict, tuple)) or registered else None
    for part in parts[2] if parts is not None else ():
        yield from containers(part, objects)


def made_here(values: Iterable[Any]) -> set[int]:
    """The ids of those that the body which is being traced has made."""
    return {id(c) for x in values for c in containers(x) if is_new(c)}


def held_alone(cells: dict[str, Any]) -> dict[str, set[int]]:
    """By variable, the id of a list or dict that the traced function has made, and that only this
    variable holds.
    """
    return {name: {id(cell.cell_contents)} for name, cell in cells.items() if is_alone(cell)}


def common(a: Any, b: Any) -> set[int]:
    """The ids of lists and dicts that both values hold."""
    return set(map(id, containers(a))) & set(map(id, containers(b)))


def apart_from(known: set[int], x: Any, leaves: list[Any], places: list[Any]) -> Any:
    """The leaves, their places and the structure of x, where these lists and dicts are leaves."""
    if not known:
        return leaves, places, tree_flatten(x)[1]
    outer, tree = tree_flatten(x, lambda part: id(part) in known)
    found, there, i = [], [], 0
    for part in outer:
        whole = id(part) in known
        found.append(part if whole else leaves[i])
        there.append(None if whole else places[i])
        i += len(tree_flatten(part)[0]) if whole else 1
    return found, there, tree


class Group:
    """The lists and dicts of which a branch or a loop picks one, and those that stand for the pick:
    one of a kind must not change while one of the other kind is alive.
    """

    def __init__(self) -> None:
        self.sources: list[Any] = []
        self.picks: list[Any] = []

    def others(self, x: Any) -> list[Any]:
        return self.sources if any(x is c for c in self.picks) else self.picks

    def count(self, x: Any) -> int:
        return sum(c is x for c in self.sources) + sum(c is x for c in self.picks)


def note_merged(
    x: Any, line: int, group: Group, pick: bool = False,
    but: set[int] | frozenset[int] = frozenset(),
) -> bool:  # fmt: skip
    """From now on, these lists and dicts are of that group. Returns whether there are any."""
    found = [c for c in containers(x) if id(c) not in but]
    kind = group.picks if pick else group.sources
    for c in found:
        session.merged[id(c)] = c, line, group
        if not any(c is other for other in kind):
            kind.append(c)
    return bool(found)


def make_fresh(x: Any, but: set[int]) -> None:
    """Nobody else has these lists and dicts: they are as those that the code here makes."""
    for c in containers(x):
        if id(c) not in but:
            fresh(c)


def is_merged(x: Any) -> bool:
    return bool(session.merged) and any(id(c) in session.merged for c in containers(x))


def refuse_merged(x: Any, what: str = "is changed later") -> None:
    """Raise where a list or dict is about to change that a branch may have picked."""
    found = session.merged.get(id(x)) if session.merged else None
    if found is None or found[0] is not x:
        return
    _, line, group = found
    if not line:
        raise CannotStage("a row of a list of lists, at a traced index, is changed; use arrays")
    if not _any_alive(x, group):
        return
    gc.collect()  # what is left of functions and loops refers to itself
    if _any_alive(x, group):
        raise CannotStage(
            f"line {line}: a branch on a traced value picks one of two objects ({kind(x)}), "
            f"and one of them {what}: pick what they hold instead, or copy it"
        )


def same(a: Any, b: Any, wanted: bool) -> bool:
    """`a is b`, or `a is not b`. Of what a branch has picked, nobody knows while tracing."""
    a = as_bool(a)
    if type(b) is bool and undecided(a) and weak_aval(a).weak and not a.ndim:  # a bool of Python's
        return a if b is wanted else operators[0].not_(a)
    for x in (a, b) if a is not b else ():
        refuse_merged(x, "is compared by `is`")
    return (a is b) is wanted


def _any_alive(x: Any, group: Group) -> bool:
    """Whether anything but the tables here refers to one of the others."""
    groups = {id(g): g for _, _, g in session.merged.values() if g is not None}.values()
    for other in group.others(x):
        made = session.fresh.get(id(other))
        tables = sum(g.count(other) for g in groups) + (id(other) in session.merged)
        tables += made is not None and made[0] is other
        tables += sum(p.of is other for places in session.places.values() for p in places)
        made = None
        if counts([other])[0] - COUNTED > tables + 1:  # this variable
            return True
    return False
