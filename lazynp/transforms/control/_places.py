"""Places: entries of lists and dicts, and attributes of objects, that a loop or a branch sets.

A staged body is traced once, and runs any number of times or not at all. So what it stores must not
stay in the object after the trace. `Stores` notes what each place held, and puts it back. A branch
then gives the places as it gives variables, and a loop carries them: a `Place` looks like the cell
of a variable. What they hold afterwards is stored where the branch, or the loop, stands.
"""

from __future__ import annotations

import gc
import operator
import weakref
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray
from lazynp._ownership import COUNTED, counts
from lazynp._sizes import is_size
from lazynp._tree import tree_flatten
from lazynp.transforms._stack import inner_observers
from lazynp.transforms.control._records import closed
from lazynp.transforms.control._sharing import containers, refuse_merged
from lazynp.transforms.control._state import (
    UNBOUND,
    CannotStage,
    Maybe,
    changes_in_place,
    is_new,
    kind,
    load,
    may_change,
    session,
    undecided,
    value_of,
    was_made,
)
from lazynp.transforms.control._tables import (
    item,
    known_table,
    place as place_in_list,
    table_of,
    unstack,
)

MOST = 64  # places of one loop
FEW = 8  # elements of a list that are places of their own
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

    __slots__ = ("attribute", "key", "line", "name", "of")

    def __init__(self, of: Any, key: Any, attribute: bool, line: int = 0) -> None:
        self.of, self.key, self.attribute, self.line = of, key, attribute, line
        shown = f".{key}" if attribute else f"[{key!r}]"
        self.name = PlaceName(kind(of) + shown)

    @property
    def identity(self) -> tuple[int, bool, Any]:
        return id(self.of), self.attribute, self.key

    @property
    def cell_contents(self) -> Any:
        try:
            if self.attribute:
                return getattr(self.of, self.key)
            if isinstance(self.of, dict) and self.key not in self.of:
                raise KeyError(self.key)  # a defaultdict makes nothing
            return self.of[self.key]
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

    @property
    def held(self) -> Any:
        """What `put` puts back."""
        return value_of(self)  # type: ignore[arg-type]

    def differs(self, before: Any) -> bool:
        """Whether it holds something else than `held` was."""
        return self.held is not before


_WIDE = np.dtype(np.int64), np.dtype(np.float64)


class Whole(Place):
    """All elements of a list of numbers, as one array."""

    __slots__ = ("weak",)

    def __init__(self, of: list[Any], line: int) -> None:
        super().__init__(of, ..., False, line)
        self.name = PlaceName("list[...]")
        table = table_of(of)
        self.weak = table is not None and table[1]

    @property
    def cell_contents(self) -> Any:
        table = table_of(self.of)
        # they hold what Python's numbers are: as a variable that is Python's on one path only
        if table is not None and table[0].dtype in _WIDE and session.strict is None:
            self.weak &= table[1]
        elif table is None or table[1] is not self.weak:
            raise CannotStage(f"line {self.line}: a list holds numbers of other types at times")
        return table[0]

    @cell_contents.setter
    def cell_contents(self, value: Any) -> None:
        if type(value) is Maybe:
            raise CannotStage(f"line {self.line}: a list is set in one branch only")
        note(self)
        self.put(value)

    def put(self, value: Any) -> None:
        if type(value) is tuple:  # from `held`
            self.of[:] = value
        else:
            unstack(self.of, value, self.weak)

    @property
    def held(self) -> Any:
        return tuple(self.of)

    def differs(self, before: Any) -> bool:
        return not all(map(operator.is_, self.of, before))


class Stores:
    """The places that a body sets while it is traced, and what they held before."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[Place, Any]] = {}

    def note(self, place: Place) -> None:
        if place.identity not in self._found:
            self._found[place.identity] = place, _own_value(place)

    @property
    def places(self) -> list[Place]:
        """Those that hold something else now."""
        return [place for place, before in self._found.values() if place.differs(before)]

    def undo(self) -> None:
        for place, before in reversed(self._found.values()):
            place.put(before)

    def drop_dead(self) -> None:
        """Forget places in objects that nothing else refers to, which would keep these alive."""
        found = list(self._found.values())
        self._found.clear()
        _drop_dead(found, [])
        self._found = {place.identity: (place, before) for place, before in found}

    def traced(self, known: set[int]) -> list[tuple[Place, Any]]:
        """The places that hold what is only traced, and what they held before. known: ids of
        objects that may.
        """
        return [(place, before) for place, before in self._found.values()
                if id(place.of) not in known and _is_traced(place.held)]  # fmt: skip


def _is_traced(x: Any) -> bool:
    try:
        return any(type(part) is Maybe or undecided(part) for part in tree_flatten(closed(x))[0])
    except TypeError:  # by a trace that has ended
        return True


def _own_value(place: Place) -> Any:
    """What the object itself holds. (An attribute may be its class's.)"""
    own = getattr(place.of, "__dict__", None) if place.attribute else None
    if own is not None and place.key not in own and not _is_slot(place):
        return UNBOUND
    return place.held


def _is_slot(place: Place) -> bool:
    return type(getattr(type(place.of), place.key, None)) is MemberDescriptorType


def note(place: Place) -> None:
    """Remember what this place holds, where that must be put back."""
    if session.stores is not None and not is_new(place.of):
        session.stores.note(place)


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
    old = {c.identity for c in known.values() if isinstance(c, Place)}
    return [place for place in stores.places if place.identity not in old]


def changed(x: Any, line: int, attribute: str = "") -> Any:
    """The object of a statement `x[i] = v`, or `x.attribute = v`."""
    if type(x) is Maybe:
        x = x.value
    refuse_merged(x)
    if attribute and session.strict is not None and isinstance(x, Array):
        raise CannotStage(f"line {line}: `{attribute}` of an array is set")
    if not isinstance(x, Array) and (session.strict is None or was_made(x)):
        if type(x) is list and not attribute:
            return _Noted(x, line)  # at an index that may be traced
        noted = session.stores is not None and not is_new(x)
        if noted and (_has_plain(x, attribute) if attribute else type(x) in _DICTS):
            return _Noted(x, line)
    if may_change(x):
        return x
    raise CannotStage(f"line {line}: an object that is no lazynp array ({kind(x)}) is changed")


def _has_plain(x: Any, attribute: str) -> bool:
    """Whether setting the attribute of this object does nothing else."""
    of = type(x)
    if isinstance(x, (type, ModuleType)) or of.__setattr__ is not object.__setattr__:
        return False
    if hasattr(of, "__getattr__") and attribute not in getattr(x, "__dict__", ()):
        return False
    found = getattr(of, attribute, None)
    return type(found) is MemberDescriptorType or not hasattr(type(found), "__set__")


def own(x: Any, name: str, line: int) -> Any:
    """The left side of `x += v`."""
    x = load(x, name)
    refuse_merged(x)
    unchanging = isinstance(x, (bool, int, float, complex, str, bytes, tuple, np.generic))
    if not (unchanging or x is None or is_size(x) or may_change(x)):
        raise CannotStage(f"line {line}: `{name}` ({kind(x)}) is changed")
    return x


class _Noted:
    """Stands for an object while one of its places is set. A list may get it at a traced index.

    A place is read only by `x[i] += v`, or another operator.
    """

    __slots__ = ("_line", "_of")

    def __init__(self, of: Any, line: int) -> None:
        object.__setattr__(self, "_of", of)
        object.__setattr__(self, "_line", line)

    def _place(self, key: Any, attribute: bool) -> Place:
        of: Any = self._of
        if type(of) is list and not attribute:
            key = operator.index(key)
            of[key]  # raises what Python raises
            key %= len(of)
        return Place(of, key, attribute, self._line)

    def _set(self, place: Place, value: Any) -> None:
        if value is not value_of(place):  # type: ignore[arg-type]
            note(place)  # `x.a += v` has changed an array in place otherwise
            place.put(value)

    def _changing(self, value: Any) -> Any:
        if changes_in_place(value) and not may_change(value):
            raise CannotStage(f"line {self._line}: an object ({kind(value)}) is changed")
        return value

    def __getitem__(self, key: Any) -> Any:
        of: Any = self._of
        if type(of) is list and (undecided(key) or isinstance(key, slice)):
            return item(of, key)
        if isinstance(of, dict) and not undecided(key) and key not in of:
            note(Place(of, key, False, self._line))  # before a defaultdict makes it
        return self._changing(of[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        of: Any = self._of
        if session.stores is None and not may_change(of):
            raise CannotStage(f"line {self._line}: a {kind(of)} is changed")
        if type(of) is list and _as_whole(of, key):
            if len(of) > FEW:
                note(Whole(of, self._line))
            else:
                for k in range(len(of)):
                    note(Place(of, k, False, self._line))
            place_in_list(of, key, value)
        elif is_new(of) or not session.depth and (isinstance(key, slice) or undecided(key)):
            of[key] = value
        elif isinstance(key, slice):
            raise CannotStage(f"line {self._line}: a slice of a {kind(of)} is set")
        elif undecided(key):
            raise CannotStage(
                f"line {self._line}: an entry of a {kind(of)} is set at a key that is not known "
                "while tracing; use an array"
            )
        else:
            self._set(self._place(key, False), value)

    def __delitem__(self, key: Any) -> None:
        if not may_change(self._of):
            raise CannotStage(f"line {self._line}: an entry of a {kind(self._of)} is deleted")
        del self._of[key]

    def __getattr__(self, name: str) -> Any:
        return self._changing(getattr(self._of, name))

    def __setattr__(self, name: str, value: Any) -> None:
        self._set(self._place(name, True), value)

    def __delattr__(self, name: str) -> None:
        if not may_change(self._of):
            raise CannotStage(f"line {self._line}: an attribute of a {kind(self._of)} is deleted")
        delattr(self._of, name)


def _as_whole(of: list[Any], key: Any) -> bool:
    """Whether an element is set by setting all: at a traced index, and where all were before."""
    if undecided(key):
        return True
    whole = len(of) > FEW and isinstance(key, int) and -len(of) <= key < len(of)
    return whole and known_table(of) is not None


# -- objects from outside --------------------------------------------------------------------------


def kept_inside(function: Any, what: str) -> Any:
    """The function that is to be traced. It must leave nothing that is only traced in objects which
    outlive the trace. (In lists and dicts among its arguments it may: see `_containers`.)
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        known = set(map(id, containers((args, kwargs), True)))
        session.stores = stores = Stores()
        found: list[tuple[Place, Any]] = []
        try:
            out = function(*args, **kwargs)
            found = stores.traced(known)
            results = list(containers(out))
            _refuse_escapes(results, list(containers((args, kwargs))), known, what)
        except BaseException:
            for place, before in reversed(stores.traced(known)):
                place.put(before)
            raise
        finally:
            session.stores = None
            del stores
        _refuse_outside(found, results, what)
        return out

    return call


def _refuse_escapes(results: list[Any], held: list[Any], known: set[int], what: str) -> None:
    """Raise where results, or what the arguments hold, would be other objects than in Python.
    known: ids of the lists and dicts that were given.
    """
    for c in [*results, *held]:
        refuse_merged(c, "is given to the caller")
    new = Counter(id(c) for c in held if id(c) not in known)
    for c in held:
        if id(c) in new and new[id(c)] + sum(c is r for r in results) > 1:
            raise CannotStage(f"{what}: its caller gets one {kind(c)} in several places; copy it")


def _refuse_outside(found: list[tuple[Place, Any]], results: list[Any], what: str) -> None:
    """Raise for places in objects that others hold. Those that the trace has made end with it, or
    are among its results.
    """
    if not found:
        return
    session.places, session.merged, session.fresh = {}, {}, {}
    _drop_dead(found, results)
    if found:
        _drop_cycles(found)
        _drop_dead(found, results)
    if not found:
        return
    for place, before in reversed(found):
        place.put(before)
    place, _ = found[0]
    raise CannotStage(
        f"{what}: line {place.line}: `{place.name}` of an object from outside gets what is only "
        "traced; give the function the object's state in a list or a dict, or return it"
    )


def _drop_cycles(found: list[tuple[Place, Any]]) -> None:
    """Drop those in objects that refer to themselves, as what is left of loops does."""
    weak: list[Any] = []
    for i, (place, before) in enumerate(found):
        if type(place.of).__weakrefoffset__:
            weak.append((weakref.ref(place.of), place.key, place.attribute, place.line, before))
            found[i] = None  # type: ignore[call-overload]
    place = None
    found[:] = [f for f in found if f is not None]
    gc.collect()
    for ref, key, attribute, line, before in weak:
        if (of := ref()) is not None:
            found.append((Place(of, key, attribute, line), before))


def _drop_dead(found: list[tuple[Place, Any]], results: list[Any]) -> None:
    """Drop those in objects to which nothing else refers. Then what these hold may be dead, too."""
    while True:
        alive = []
        for place, _ in found:
            of = place.of
            # `results` lists what the result of the function holds
            own = sum(p.of is of for p, _ in found) + 2 * sum(c is of for c in results)
            alive.append(counts([of])[0] - COUNTED > own + 1)  # this variable
        if all(alive):
            return
        place = of = None
        found[:] = [f for f, known in zip(found, alive, strict=True) if known]


def arrays_in(x: Any, cells: dict[Any, Any]) -> list[Any]:
    """The leaves of what a variable holds, but for the places among these variables."""
    places = {c.identity for c in cells.values() if isinstance(c, Place)}
    if not places or type(x) is NDArray:
        return [x] if type(x) is NDArray else tree_flatten(closed(x))[0]
    return _apart(x, places)


def _apart(x: Any, places: set[Any]) -> list[Any]:
    parts: Sequence[tuple[Any, Any]]
    if type(x) is list:
        parts = [] if (id(x), False, ...) in places else list(enumerate(x))
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


def _inner() -> Callable[[], None]:
    """What a function has made that is traced inside ends with that trace."""
    return lambda: None if session.stores is None else session.stores.drop_dead()


inner_observers.append(_inner)
