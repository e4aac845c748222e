"""Places: entries of lists and dicts, and attributes of objects, that a loop or a branch sets.

A staged body is traced once, and runs any number of times or not at all. So what it stores must not
stay in the object after the trace. `Stores` notes what each place held, and puts it back. A branch
then gives the places as it gives variables, and a loop carries them: a `Place` looks like the cell
of a variable. What they hold afterwards is stored where the branch, or the loop, stands.
"""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import MemberDescriptorType, ModuleType
from typing import Any

from lazynp._array import Array, NDArray
from lazynp._tree import tree_flatten
from lazynp.transforms.control._records import closed
from lazynp.transforms.control._state import (
    UNBOUND,
    CannotStage,
    Maybe,
    kind,
    may_change,
    session,
    undecided,
    value_of,
)
from lazynp.transforms.control._tables import item, place as place_in_list

MOST = 64  # places of one loop
_DICTS = (dict, OrderedDict, defaultdict, Counter)


class PlaceName(str):
    """The name of a place in messages, and in tables of variables: equal to itself alone."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


class Place:
    """An entry of a list or a dict, or an attribute. Setting it has the effect of a store here."""

    __slots__ = ("attribute", "key", "name", "of")

    def __init__(self, of: Any, key: Any, attribute: bool) -> None:
        self.of, self.key, self.attribute = of, key, attribute
        shown = f".{key}" if attribute else f"[{key!r}]"
        self.name = PlaceName(kind(of) + shown)

    @property
    def identity(self) -> tuple[int, bool, Any]:
        return id(self.of), self.attribute, self.key

    @property
    def cell_contents(self) -> Any:
        try:
            return getattr(self.of, self.key) if self.attribute else self.of[self.key]
        except (LookupError, AttributeError):
            raise ValueError("an empty place") from None

    @cell_contents.setter
    def cell_contents(self, value: Any) -> None:
        if type(value) is Maybe:
            raise CannotStage(f"`{self.name}` is set in one branch, or by some rounds, only")
        note(self)
        self.put(value)

    @cell_contents.deleter
    def cell_contents(self) -> None:
        note(self)
        self.put(UNBOUND)

    def put(self, value: Any) -> None:
        """Store this, without a note of what was there."""
        if value is not UNBOUND:
            if self.attribute:
                setattr(self.of, self.key, value)
            else:
                self.of[self.key] = value
        elif self.attribute:
            if self.key in getattr(self.of, "__dict__", (self.key,)):
                delattr(self.of, self.key)
        elif self.key in self.of:
            del self.of[self.key]


class Stores:
    """The places that a body sets while it is traced, and what they held before."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[Place, Any]] = {}

    def note(self, place: Place) -> None:
        if place.identity not in self._found:
            self._found[place.identity] = place, _own_value(place)

    @property
    def places(self) -> list[Place]:
        return [place for place, _ in self._found.values()]

    def undo(self) -> None:
        for place, before in self._found.values():
            place.put(before)


def _own_value(place: Place) -> Any:
    """What the object itself holds. (An attribute may be its class's.)"""
    own = getattr(place.of, "__dict__", None) if place.attribute else None
    if own is not None and place.key not in own and not _is_slot(place):
        return UNBOUND
    return value_of(place)  # type: ignore[arg-type]


def _is_slot(place: Place) -> bool:
    return type(getattr(type(place.of), place.key, None)) is MemberDescriptorType


def note(place: Place) -> None:
    """Remember what this place holds, where that must be put back."""
    stores = session.stores
    if stores is not None and not may_change(place.of):
        stores.note(place)


@contextmanager
def noting() -> Iterator[Stores]:
    """Note what a body stores, and undo it at the end."""
    outer, stores = session.stores, Stores()
    session.stores = stores
    try:
        yield stores
    finally:
        stores.undo()
        session.stores = outer


def new_places(stores: Stores, known: dict[Any, Any]) -> list[Place]:
    """The places that are not among these variables yet."""
    old = {c.identity for c in known.values() if type(c) is Place}
    return [place for place in stores.places if place.identity not in old]


def changed(x: Any, line: int, attribute: str = "") -> Any:
    """The object of a statement `x[i] = v`, or `x.attribute = v`."""
    if type(x) is Maybe:
        x = x.value
    if attribute and session.strict is not None and isinstance(x, Array):
        raise CannotStage(f"line {line}: `{attribute}` of an array is set")
    known = may_change(x)
    if session.strict is None and (known or session.stores is not None):
        if type(x) is list and not attribute:
            return _Noted(x, line)  # at an index that may be traced
        if not known and (_has_plain(x, attribute) if attribute else type(x) in _DICTS):
            return _Noted(x, line)
    if known:
        return x
    raise CannotStage(f"line {line}: an object that is no lazynp array ({kind(x)}) is changed")


def _has_plain(x: Any, attribute: str) -> bool:
    """Whether setting the attribute of this object does nothing else."""
    of = type(x)
    if isinstance(x, (type, ModuleType)) or of.__setattr__ is not object.__setattr__:
        return False
    found = getattr(of, attribute, None)
    return type(found) is MemberDescriptorType or not hasattr(type(found), "__set__")


class _Noted:
    """Stands for an object while one of its places is set. A list may get it at a traced index."""

    __slots__ = ("_line", "_of")

    def __init__(self, of: Any, line: int) -> None:
        object.__setattr__(self, "_of", of)
        object.__setattr__(self, "_line", line)

    def _key(self, key: Any) -> Any:
        of: Any = self._of
        if undecided(key):
            raise CannotStage(
                f"line {self._line}: an entry of a {kind(of)} is set at a key that is not known "
                "while tracing; use an array"
            )
        if type(of) is not list:
            return key
        place = operator.index(key)
        of[place]  # raises what Python raises
        return place % len(of)

    def _note_all(self) -> None:
        of: Any = self._of
        for k in range(len(of)):
            note(Place(of, k, False))

    def __getitem__(self, key: Any) -> Any:
        of: Any = self._of
        if type(of) is list and (undecided(key) or isinstance(key, slice)):
            return item(of, key)
        if not may_change(of):
            note(Place(of, self._key(key), False))  # before a defaultdict makes it
        return of[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        of: Any = self._of
        if type(of) is list and undecided(key):
            self._note_all()
            place_in_list(of, key, value)
        elif may_change(of):
            of[key] = value
        elif isinstance(key, slice):
            raise CannotStage(f"line {self._line}: a slice of a {kind(of)} is set")
        else:
            place = Place(of, self._key(key), False)
            note(place)
            place.put(value)

    def __delitem__(self, key: Any) -> None:
        if not may_change(self._of):
            raise CannotStage(f"line {self._line}: an entry of a {kind(self._of)} is deleted")
        del self._of[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def __setattr__(self, name: str, value: Any) -> None:
        place = Place(self._of, name, True)
        note(place)
        place.put(value)

    def __delattr__(self, name: str) -> None:
        raise CannotStage(f"line {self._line}: an attribute of a {kind(self._of)} is deleted")


def arrays_in(x: Any, cells: dict[Any, Any]) -> list[Any]:
    """The leaves of what a variable holds, but for the places among these variables."""
    places = {c.identity for c in cells.values() if type(c) is Place}
    if not places or type(x) is NDArray:
        return [x] if type(x) is NDArray else tree_flatten(closed(x))[0]
    return _apart(x, places)


def _apart(x: Any, places: set[Any]) -> list[Any]:
    parts: Sequence[tuple[Any, Any]]
    if type(x) is list:
        parts = list(enumerate(x))
    elif type(x) in _DICTS:
        parts = list(x.items())
    elif type(x) is tuple:
        return [leaf for part in x for leaf in _apart(part, places)]
    elif (names := getattr(x, "__dict__", None)) and type(closed(x)) is not type(x):
        return [leaf for k, v in names.items() if (id(x), True, k) not in places
                for leaf in _apart(v, places)]  # fmt: skip
    else:
        return tree_flatten(closed(x))[0]
    return [leaf for k, v in parts if (id(x), False, k) not in places for leaf in _apart(v, places)]
