"""What a loop carries: the variables that a round reads of the one before, or that are read after
the loop; their types, and what must not become of them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from lazynp._array import NDArray, new_array
from lazynp._dimensions import is_unsized
from lazynp._recorder import local
from lazynp._strides import writeable
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.transforms import window_makers
from lazynp.transforms._stage import weak_aval
from lazynp.transforms.control import _starts
from lazynp.transforms.control._absent import optional_of
from lazynp.transforms.control._aliases import (
    is_array,
    is_made_here,
    is_private,
    own_arrays,
    protect,
)
from lazynp.transforms.control._growing import Growth
from lazynp.transforms.control._joining import Either, check_narrowed, loses, mixed, settles
from lazynp.transforms.control._known import python_number
from lazynp.transforms.control._laid import Orders
from lazynp.transforms.control._places import MOST, Place, Whole, arrays_in
from lazynp.transforms.control._records import Record, closed, is_frozen, name_twice, opened
from lazynp.transforms.control._sharing import Group, containers, is_merged, made_here, note_merged
from lazynp.transforms.control._starts import Blank, Enlarged, Read, Recast, cast
from lazynp.transforms.control._state import (
    UNBOUND,
    VALUE,
    CannotStage,
    Maybe,
    bind,
    bind_all,
    cells_of,
    fresh,
    is_alone,
    is_new,
    kind,
    numeric,
    pythons,
    session,
    value_of,
    values_of,
)


class Again(Exception):
    """The body must be traced for other types."""


class OtherType(Exception):
    """A variable does not keep its type."""


class Exchanged(Exception):
    """Arrays change places in each round (`u, v = v, u`), and one that others may show is written.
    After `rounds` rounds each is back in its place.
    """

    def __init__(self, rounds: int, names: set[str]) -> None:
        self.rounds, self.names = rounds, names


class Carry:
    """The variables that a loop carries. kept: arrays that stay in their variables."""

    def __init__(self, names: tuple[str, ...], written: tuple[str, ...], line: int,
                 *functions: Any, kept: Collection[str] = (),
                 growth: Growth | None = None) -> None:  # fmt: skip
        self.cells, self.optional = cells_of(*functions), optional_of(*functions)
        self.growth = growth or Growth(self.cells, names)  # before others refer to lists
        self.private = {n for n in names if is_private(self.cells[n])}
        self.names, self.written, self.line = names, written, line
        alone = {n for n in names if is_new(value_of(c := self.cells[n])) and is_alone(c)}
        self.before = values_of(self.cells.values())
        begun = {n: value_of(self.cells[n]) for n in names}
        self.values: dict[str, Any] = {n: closed(v) for n, v in begun.items()}
        self.objects = {n: v for n, v in begun.items() if v is not self.values[n]}
        self.alone = alone & self.objects.keys()
        self.begun: dict[str, Any] = {}  # with which a round begins
        self.kept: set[str] = {
            n for n in names if (n in written or n in kept) and type(self.values[n]) is NDArray
        }
        self.moved: set[str] = set()  # among `kept`, and bound anew by a branch
        self.fixed: set[str] = set()
        self.merged: set[str] = set()  # lists and dicts of which a branch has picked one
        self.group = Group()
        self.windows: dict[str, Any] = {}  # of arrays whose sizes change
        self.enlarged: dict[str, Any] = {}  # these arrays, before the loop
        self.weak: dict[str, list[bool]] = {}  # which leaves stay Python's numbers
        self.bound: set[str] = set()  # first bound in the loop, by every round
        self.unclear: set[str] = set()  # may be another array's memory afterwards
        self.chosen: set[str] = set()  # branches decide which array it is
        self.stays: dict[tuple[str, int], Any] = {}  # arrays that each round leaves in their places
        self.outside: list[Any] = []  # arrays from outside that rounds bind to variables
        self.orders, self.either = Orders(), Either()
        self.variables = names  # without places
        for n in names:
            self._enter(n)

    def _enter(self, n: str) -> None:
        """Find out how the rounds take this variable."""
        v = self.values[n]
        if v is UNBOUND or n in self.kept:
            return
        window = window_makers[0](v) if is_unsized(v) else None
        if window and not (self.written and window.shows):
            self._enlarge(n, window)
            return
        leaves = tree_flatten(v)[0]
        self.orders.begin(n, leaves)
        if v is None or not all(map(numeric, leaves)):
            self.fixed.add(n)

    def add(self, places: list[Place]) -> None:
        """Carry what the body stores in objects from outside as well."""
        if len(self.names) - len(self.variables) + len(places) > MOST:
            raise CannotStage(f"line {self.line}: more than {MOST} entries of objects are set")
        bind_all(self.cells.values(), self.before)
        for place in places:
            whole = type(place) is Whole
            n, v = place.name, Read(place) if whole else place.held
            if v is UNBOUND:
                raise OtherType(f"line {self.line}: `{n}` is first set in the loop")
            self.cells[n], self.values[n] = place, v  # type: ignore[assignment]
            self.before.append(place.held)
            self.names = (*self.names, n)
            if not whole and is_private(place):
                self.private.add(n)
            if not whole:
                self._enter(n)

    def given(self) -> dict[str, Any]:
        """The initial values of what is carried."""
        return {n: v for n, v in self.values.items()
                if v is not UNBOUND and n not in self.fixed and n not in self.kept}  # fmt: skip

    def put(self, carried: dict[str, Any]) -> dict[str, Any]:
        """Bind the variables for a round. Arrays get handles that nothing else refers to."""
        bind_all(self.cells.values(), self.before)
        made = {}
        for n, v in carried.items():
            leaves, tree = tree_flatten(v)
            new = [
                self.orders.put(n, k, new_array(x._read())) if type(x) is NDArray else x
                for k, x in enumerate(leaves)
            ]
            self.either.begin(n, new)
            made[n] = tree_unflatten(tree, new)
            window = self.windows.get(n)
            bound = window.part(made[n], self.done) if window else opened(made[n])
            if n in self.merged:
                note_merged(bound, self.line, self.group, True)
            self.cells[n].cell_contents = self.begun[n] = bound
        if self.grows:
            shared = [v for n, v in made.items() if n not in self.private]
            self.growth.begin(tree_flatten(shared)[0])
        return made

    def own_arrays(self) -> dict[int, int]:
        """The arrays with which the round begins in variables that alone held one before."""
        began = {id(v) for n, v in self.begun.items() if n in self.private and is_array(v)}
        return own_arrays(self.cells, began)

    def moves(self, owner: Any) -> None:
        """A branch binds a variable anew that was taken to keep this array."""
        self.moved |= {n for n in self.kept if self.values[n]._owner() is owner}

    def release(self) -> bool:
        """Carry what does not stay. Whether that makes a difference."""
        found = self.kept & self.moved
        self.kept -= found
        return bool(found)

    def taken(self, made: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
        """The values after a round. made: those that it began with; first: the nodes of these."""
        moved = {n for n in self.kept if value_of(self.cells[n]) is not self.values[n]}
        if moved:
            self.kept -= moved
            raise Again
        merged = {n for n in made if self._is_shared(value_of(self.cells[n]))} - self.merged
        if merged:
            self.merged |= merged
            for n in merged:
                note_merged(self.values[n], self.line, self.group)
                note_merged(value_of(self.cells[n]), self.line, self.group)
            raise Again
        self.unclear, self.chosen, self.stays, self.outside = set(), set(), {}, []
        shown = self._shown()
        if self.grows:
            self.appended, self.unclear = self.growth.taken(shown, self.written, self.after)
        self._refuse_exchanges(made, first)
        if self._resizes(made):
            raise Again
        out = {}
        for n in self.names:
            v = value_of(self.cells[n])
            if n in self.kept:
                continue
            if n in self.fixed:
                if v is not self.values[n] and not self._keeps_size(n, v):
                    if self.values[n] is None and n in self.optional and not self.peels:
                        self._first(n, v, none=True)
                    raise OtherType(f"line {self.line}: `{n}` ({_shown(self.values[n])}) changes")
            elif n not in made:
                self._first(n, v)
            else:
                v = self._record(n, v) if n in self.objects else v
                self._note_staying(n, v, made[n], first[n])
                self._written(n, made[n], first[n])
                out[n] = self._in_window(n, v, shown) if n in self.windows else self._same(n, v)
        self._refuse_aliases(out, made, shown)
        return out

    def _keeps_size(self, n: str, v: Any) -> bool:
        """Whether it is a size, and stays one. One that changes is a number from then on."""
        if (kept := _starts.keeps_sizes(self.values[n], v)) is not None:
            return kept
        self.fixed.remove(n)
        self.values[n] = _starts.Numbered(self.values[n])
        raise Again

    def _is_shared(self, v: Any) -> bool:
        """Whether it holds lists or dicts that the body has not made."""
        found = set(map(id, containers(v)))
        return bool(found) and (not self.least or is_merged(v) or not found <= made_here([v]))

    def _note_staying(self, n: str, v: Any, made: Any, nodes: list[Any]) -> None:
        """After the loop, these must be the same objects as before."""
        begun = tree_flatten(made)[0]
        for k, (x, old) in enumerate(zip(tree_flatten(v)[0], tree_flatten(self.values[n])[0])):
            same = k < len(begun) and x is begun[k] and type(x) is NDArray
            if same and x._node is nodes[k] and type(old) is NDArray:
                self.stays[n, k] = old

    def _record(self, n: str, v: Any) -> Any:
        """The record of an object. After the loop it is another one than before: nobody must see
        that.
        """
        start = self.values[n]
        if v is self.begun[n]:
            self.fixed.add(n)
            self.values[n] = self.objects.pop(n)
            raise Again
        if type(start) is not Record:  # what a mask selects, which nobody may write
            return closed(v)
        if not (self.least or n in self.alone or is_frozen(start)):
            raise OtherType(f"line {self.line}: `{n}` ({_shown(start)}) may change, or stay")
        others = [m for m in self.names if m != n and value_of(self.cells[m]) is v]
        if others or not is_new(v):
            raise OtherType(f"line {self.line}: `{n}` ({_shown(start)}) is none that a round makes")
        return closed(v)

    def _refuse_exchanges(self, made: dict[str, Any], first: dict[str, Any]) -> None:
        """The carry has no places in memory: an array from outside must not be written under the
        name of another.
        """
        begun = {id(x): n for n, x in made.items() if type(x) is NDArray}
        came = {n: begun.get(id(value_of(self.cells[n]))) for n in begun.values()}
        for n in begun.values():
            names, m = {n}, came[n]
            while m is not None and m not in names:
                names.add(m)
                m = came[m]
            if names <= self.private:
                continue
            in_list = self.grows and self.growth.growing and came[n] not in (None, n)
            few = m is not None or self.least < len(names)
            if in_list or few or not _writeable(value_of(self.cells[n])):
                self.unclear.add(n)
            if made[n]._node is first[n][0] and (m is None or names.isdisjoint(self.written)):
                continue
            if len(names) > 1:
                if m != n:
                    raise CannotStage(
                        f"line {self.line}: `{n}` is written in place, and takes the array of "
                        "another variable; copy it"
                    )
                raise Exchanged(len(names), names)

    def _shown(self) -> dict[int, set[str]]:
        """By id of an owner, the variables that show its memory at the end of a round."""
        shown: dict[int, set[str]] = {}
        for (n, cell), before in zip(self.cells.items(), self.before, strict=True):
            v = value_of(cell)
            if n not in self.names and v is not before:
                continue  # the next round binds it before it reads it, and nothing reads it later
            for x in arrays_in(v, self.cells):
                if is_array(x):
                    shown.setdefault(id(x._owner()), set()).add(n)
        return shown

    def _refuse_aliases(
        self, out: dict[str, Any], made: dict[str, Any], shown: dict[int, set[str]]
    ) -> None:
        """The carry is passed by value. So no array in it may be another's memory, if one of the
        two is written in place.
        """
        handles = local.recorder.handles  # type: ignore[attr-defined]
        begun = {id(x) for v in made.values() if type(v) is not NDArray for x in tree_flatten(v)[0]}
        for n, v in out.items():
            leaves = tree_flatten(v)[0]
            arrays = list(filter(is_array, leaves))
            if type(v) is not NDArray:
                moved = [x for k, x in enumerate(leaves) if (n, k) not in self.stays]
                if any(id(x) in begun for x in moved) or arrays and not self.least:
                    self.unclear.add(n)
            for x in [*arrays, *filter(is_array, tree_flatten(self.values[n])[0])]:
                owner = x._owner()
                outside = handles.get(id(owner))
                bad = outside is not None and owner._node is not outside[2]
                if any(x is a for a in arrays):  # as the round leaves it
                    if outside is not None or session.pick_of(x) is not None:
                        self.chosen.add(n)
                    names = shown.get(id(owner), set())
                    again = sum(a._owner() is owner for a in arrays) > 1
                    shared = len(names) > 1 or outside is not None or again
                    if shared or not _writeable(x):
                        self.unclear.add(n)
                        self.outside += [outside[0]] if outside is not None else []
                    bad = bad or shared and not names.isdisjoint(self.written)
                if bad:
                    raise CannotStage(
                        f"line {self.line}: `{n}` shows memory that is written in place; copy it"
                    )
        for n in self.unclear & self.objects.keys() if self.least else ():
            raise OtherType(f"line {self.line}: `{n}` holds an array that others hold as well")

    def _first(self, n: str, v: Any, none: bool = False) -> None:
        """A variable that was not bound before the loop, or None."""
        if v is UNBOUND or v is None and n == VALUE:
            return
        none = none or n == VALUE and n in self.optional
        inner = v.value if type(v) is Maybe else v
        leaves, tree = tree_flatten(inner)
        if not leaves or not all(map(numeric, leaves)):
            raise OtherType(f"line {self.line}: `{n}` ({_shown(inner)}) is first bound in the loop")
        self.values[n] = Maybe(Blank(tree, [weak_aval(x) for x in leaves]), False, none)
        self.fixed.discard(n)
        if type(v) is not Maybe:
            self.bound.add(n)
        raise Again

    def _written(self, n: str, made: Any, nodes: Any) -> None:
        if n in self.private:
            return
        for x, node in zip(tree_flatten(made)[0], nodes, strict=True):
            if type(x) is NDArray and x._node is not node:
                raise CannotStage(
                    f"line {self.line}: `{n}` is bound to other arrays and written in place, and "
                    "other variables may show the array; copy it before the loop"
                )

    def _resizes(self, made: dict[str, Any]) -> bool:
        """Whether arrays have other shapes after a round, and windows can hold them."""
        found = {}
        for n in made:
            v, start = value_of(self.cells[n]), self.values[n]
            if type(v) is NDArray and type(start) is NDArray and v.shape != start.shape:
                found[n] = self.loop and window_makers[0](start, v, self.least)
        if not found or not all(found.values()):
            return False
        for n, window in found.items():
            self._enlarge(n, window)
        return True

    def _enlarge(self, n: str, window: Any) -> None:
        v = self.values[n]
        self.enlarged[n] = v if type(v) is NDArray else v.whole
        self.windows[n], self.values[n] = window, Enlarged(v, window)

    def _in_window(self, n: str, v: Any, shown: dict[int, set[str]]) -> Any:
        """The value of a variable whose sizes change."""
        start, made = self.values[n], self.windows[n].taken(v, self.done)
        if made is None or made.dtype != start.dtype:
            raise OtherType(f"line {self.line}: `{n}` changes shape")
        whole = v.whole
        if whole._base is not None or id(whole) in shown or not is_made_here(whole):
            if self.written:
                raise OtherType(f"line {self.line}: `{n}` changes shape, and may show other arrays")
            self.unclear.add(n)
            outside = local.recorder.handles.get(id(whole._owner()))  # type: ignore[attr-defined]
            self.outside += [outside[0]] if outside is not None else []
        self.weak[n] = [False]
        return made

    def _same(self, n: str, v: Any) -> Any:
        """The value with the type of the carry."""
        start = self.values[n]
        v = self._flagged(n, _starts.numbered(v))
        leaves, tree = tree_flatten(v)
        first, tree_first = tree_flatten(start)
        if is_unsized(v) and self.loop:
            raise CannotStage(f"line {self.line}: `{n}` changes shape")
        if v is UNBOUND or tree != tree_first or not all(map(numeric, leaves)):
            raise OtherType(f"line {self.line}: `{n}` changes from {_shown(start)} to {_shown(v)}")
        wanted: list[np.dtype[Any] | None] = []
        self.weak[n] = []
        for k, (x, y) in enumerate(zip(first, leaves, strict=True)):
            a, b = weak_aval(x), weak_aval(y)
            self.weak[n].append(a.weak and b.weak)
            if a.shape != b.shape:
                raise OtherType(f"line {self.line}: `{n}` changes shape: {a.shape} and {b.shape}")
            final = (dtype := settles(a, b)) or b.dtype
            wide = self.joining and self.weak[n][-1] and final.kind == "u"
            why = mixed(getattr(self.cells[n], "of", v), a, b)
            why = why or loses((x, a), (y, b), final, (wide, dtype == a.dtype))
            if why:
                raise OtherType(f"line {self.line}: `{n}` {why}")
            if self.either.change((n, k), x, y, self.least):
                raise Again
            if dtype is not None and not self.joining:
                raise OtherType(f"line {self.line}: `{n}` changes type")
            if dtype is not None and dtype == a.dtype:  # only the round's value is converted
                check_narrowed(y, dtype, self.line)
                leaves[k], dtype = cast(y, dtype, a.weak and b.weak), None
            wanted.append(dtype)
        if all(w is None for w in wanted):
            if self.orders.change(n, leaves, self.least, self.line):
                raise Again
            return tree_unflatten(tree, leaves)
        self.values[n] = Recast(start, wanted, self.weak[n])
        raise Again

    def _flagged(self, n: str, v: Any) -> Any:
        """A variable that may be unbound, or None, with its flag."""
        start = self.values[n]
        if type(start) is Maybe and type(v) is not Maybe:
            return Maybe(start.value, False, True) if v is None else Maybe(v, True, start.none)
        if type(start) is not Maybe and n in self.optional and (v is None or type(v) is Maybe):
            self.values[n] = Maybe(start, True, True)
            raise Again
        return v

    @property
    def holds_none(self) -> bool:
        """Whether a variable is None before the loop, and may get a value."""
        return any(self.values[n] is None for n in self.optional & self.fixed)

    probing = False  # whether one round is traced first, to see which arrays change their shapes
    done: Any = None  # how many rounds there were, in the body
    loop: Any = None  # what is traced of it, if its rounds are counted
    least = 0  # rounds that run at least
    peels = False  # whether, if types change, the first round runs before the loop
    joining = False  # whether types that differ are joined
    after: Collection[str] = ()  # names that are read after the loop
    grows = False  # whether the rounds may append to lists
    appended: Any = ()  # what a round has appended
    counted = True  # whether the number of rounds is known
    exact = False  # whether the loop is short enough to be unrolled if ints may grow large

    def finish(self, results: dict[str, Any], some: bool) -> None:
        """Bind the results. some: the loop has had rounds."""
        bind_all(self.cells.values(), self.before)
        name_twice(tuple(self.objects.values()))
        others = [self.enlarged.get(n, self.values[n]) for n in self.names
                  if n not in self.private | self.kept]  # fmt: skip
        before = [x for v in others for x in tree_flatten(v)[0] if is_array(x)]
        for n, v in results.items():
            v = self.windows[n].finished(v) if n in self.windows else v
            leaves, tree = tree_flatten(v)
            made = [
                pythons(x, x.dtype) if w else self.orders.put(n, k, x)
                for k, (x, w) in enumerate(zip(leaves, self.weak[n], strict=True))
            ]
            self.either.end(n, made)
            if n in self.unclear:  # a write would not reach the array that it shows
                for x in filter(is_array, made):
                    owners = [y._owner() for y in [*before, *self.outside]]
                    protect(x, f"line {self.line}: a loop", owners)
            if n in self.chosen:
                for x in filter(is_array, made):
                    session.note_pick(x, None, (), True)
            v = tree_unflatten(tree, [self.stays.get((n, k), x) for k, x in enumerate(made)])
            if n in self.merged:
                note_merged(v, self.line, self.group, True)
            if some and n in self.bound:
                v = v.value
            elif some and self.weak[n] == [True] and n not in self.objects:
                v = python_number(v, self.values[n])
            bind(self.cells[n], fresh(opened(v)) if n in self.objects else v)
        if self.grows and self.growth.growing:
            self.growth.extend(self.least)


def _writeable(x: Any) -> bool:
    return type(x) is not NDArray or writeable(x)


def _shown(x: Any) -> str:
    return "nothing" if x is UNBOUND else x.kind.__name__ if type(x) is Record else kind(x)
