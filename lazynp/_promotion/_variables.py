"""The variables around a running loop: what a program takes of them, and how they are bound."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from lazynp._array import NDArray, Scalar, new_array
from lazynp._fronts import fastpath
from lazynp._memo import Memo
from lazynp._node import is_tracer
from lazynp._promotion._boxes import Boxes, growing, is_box, of_numpy
from lazynp._promotion._guards import check
from lazynp._promotion._items import Items
from lazynp._promotion._loops import Loop
from lazynp._promotion._objects import MISSING
from lazynp._promotion._paths import found_at
from lazynp._promotion._tails import is_tail
from lazynp._promotion._template import ARRAY
from lazynp._promotion._tuples import Tuples, is_made
from lazynp._strides import copied_order
from lazynp.transforms.control import CannotStage

_NUMBERS = (bool, int, float, complex)
_STAYING = (*_NUMBERS, str, type(None))  # what else a program may find unchanged after a round
_DEEP = 4  # functions in functions
_ALONE = 3  # references to a value of one variable: the variable's, our dict's, the question's


class Variables:
    """What the rounds of a loop read, as of now. template: the values, with ARRAY for what varies.
    varying: those values. shared: the names of arrays that the loop writes and binds again, and to
    which something else refers. views: names of views that the program gets as arrays of their own,
    by place among `varying`; compact: whether each is in C order. named: arrays with two names,
    which no round writes, by the place of the second. tuples: those that rounds make anew.
    """

    def __init__(
        self, loop: Loop, frame: FrameType, items: Items | None, moving: frozenset[Any] | None
    ) -> None:
        """moving: of `Boxes`; None if objects are left to the guards."""
        self.names: list[str] = []
        self.template: list[Any] = []
        self.varying: list[Any] = []
        self.named: dict[int, Any] = {}
        self._written = loop.written
        self.views: dict[int, str] = {}
        self.compact: dict[int, bool] = {}
        key: list[Any] = []
        found = _values(loop, frame, moving is not None)
        found |= {n: of_numpy(found[n]) for n in found if n in loop.stored or is_tail(n)}
        self.tuples = _taken_tuples(loop, found)
        found |= self.tuples.parts
        key += self.tuples.key
        grown = frozenset([s.of for s in loop.sites if s.inside])
        self.boxes = Boxes(moving or frozenset(), growing(loop.body), grown)
        self.shared = _held(loop, frame, found)
        _refuse_names(loop, frame)
        _refuse_others(loop, frame, found)
        for name, value in found.items():
            if is_tail(name) and type(value) is NDArray:
                raise CannotStage(f"reads `{name}`, an array of a list")
            if type(value) in (NDArray, Scalar):
                is_view = type(value) is NDArray and value._base is not None
                if is_view and name not in loop.stored | loop.written:
                    self._view(name, value, found, loop)
                else:
                    self._take(found, name)
                key.append((type(value), value.aval, is_view and (copied_order(value),)))
                continue
            if moving is not None and name in loop.boxed and is_box(value):
                self.boxes.add(name, value)
                continue
            if name in loop.carried and type(value) not in _STAYING:
                raise CannotStage(f"`{name}`, {_a(value)}, changes from round to round")
            changes = name in loop.stored or name in loop.carried or name in self.tuples.parts
            if changes and type(value) in _NUMBERS:
                self.varying.append(value)
                self._add(name, ARRAY)
                key.append(type(value))
                continue
            check(value, f"`{name}`")
            self._add(name, value)
            key.append(Constant(value))
        lists = [value_of(site.of, frame) for site in loop.sites]
        if self.boxes.hold(lists):
            raise CannotStage("a list that grows has two names")
        ours = {id(v) for v in self.boxes.values if type(v) is NDArray}
        new = loop.stored - loop.read if ours else set[str]()
        counts = Counter([k for n in new if (k := id(value_of(n, frame))) in ours])
        self._take_slots(found, counts)
        key += self.boxes.key
        self.same: dict[str, str] = {}  # arrays that the loop goes over, and their variables
        if items is not None:
            key += self._take_items(items, found)
        self.tuples.parts = dict.fromkeys(self.tuples.parts)  # a program keeps this object
        self.key = tuple(key)

    def _take_items(self, items: Items, found: dict[str, Any]) -> list[Any]:
        key: list[Any] = []
        for name, value in items.arrays().items():
            variable = next((n for n, v in found.items() if v is value), None)
            if variable is not None:
                self.same[name] = variable
            else:
                self._take({name: self._apart(value, found)}, name)
            key.append((variable, value.aval))
        return key

    def _take_slots(self, found: dict[str, Any], counts: Counter[int]) -> None:
        boxes = self.boxes
        ours = {id(v) for v in found.values() if type(v) is NDArray}
        if any(id(value) in ours for value in boxes.values):
            raise CannotStage("an array is a variable and a part of an object")
        self.varying += boxes.values  # no variable here may refer to one of them
        for name in boxes.slot_names:
            self._add(name, ARRAY)
        boxes.find_shared(counts)
        self.shared = self.shared | boxes.shared

    def check_shared(self, stays: set[str]) -> None:
        """Who else refers to an array must see what Python would show."""
        if self.shared - stays:
            name = min(self.shared - stays)
            raise CannotStage(f"something else refers to `{name}`, which the loop replaces")

    def only_read(self, loop: Loop) -> tuple[str, ...]:
        """The names of arrays that the rounds only read."""
        pairs = zip(self.names, self.template, strict=True)
        found = [n for n, t in pairs if t is ARRAY and n not in loop.stored | loop.written]
        return tuple([n for n in found if not n.startswith(".")])

    def arrays(self) -> set[str]:
        """The names of arrays."""
        pairs = zip([n for n, t in zip(self.names, self.template) if t is ARRAY], self.varying)
        return {n for n, x in pairs if type(x) is NDArray}

    @property
    def given_back(self) -> list[Any]:
        """What varies, as it is bound again where the rounds leave it."""
        return [self.named.get(i, x) for i, x in enumerate(self.varying)]

    def place(self, name: str) -> int:
        """Of a variable, among `varying`."""
        pairs = zip(self.names, self.template, strict=True)
        return [n for n, t in pairs if t is ARRAY].index(name)

    def _apart(self, value: Any, found: dict[str, Any]) -> Any:
        """An array that no program writes: an array of its own in place of a view."""
        if value._base is None:
            return value
        owner = value._owner()
        if any(type(v) is NDArray and v._owner() is owner for v in found.values()):
            raise CannotStage("it is over a view of an array that it uses")
        return new_array(value._read())

    def _view(self, name: str, value: Any, found: dict[str, Any], loop: Loop) -> None:
        """A view that the loop reads, like all other variables that show its memory."""
        owner = value._owner()
        for n, v in found.items():
            if type(v) is NDArray and v._owner() is owner:
                if v is owner or n in loop.stored | loop.written:
                    raise CannotStage(f"it uses an array, and `{name}`, a view of it")
        made = new_array(value._read())
        self.views[len(self.varying)] = name
        self.compact[len(self.varying)] = value.flags.c_contiguous
        self._take({name: made}, name)

    def _add(self, name: str, value: Any) -> None:
        self.names.append(name)
        self.template.append(value)

    def _take(self, found: dict[str, Any], name: str) -> None:
        value = found[name]
        if is_tracer(value._node):
            raise CannotStage(f"`{name}` is traced")
        if type(value) is NDArray:
            if value._base is not None or value._flags is not None or value._order is not None:
                raise CannotStage(f"`{name}` is a view, read-only, or in another memory order")
            if not value.dtype.isnative:
                raise CannotStage(f"`{name}` is not in native byte order")
            names = [n for n, v in found.items() if v is value]
            if len(names) > 1:
                if not self._written.isdisjoint(names):
                    raise CannotStage(f"`{name}` has another name")
                if name != names[0]:  # a handle of its own
                    self.named[len(self.varying)] = value
                    value = new_array(value._read())
        self.varying.append(value)
        self._add(name, ARRAY)


def _taken_tuples(loop: Loop, found: dict[str, Any]) -> Tuples:
    """What rounds make anew, taken out of the variables that were found."""
    tuples = Tuples()
    for name in sorted(loop.carried):
        if name in found and name not in loop.written and is_made(found[name]):
            if name in loop.aliased | loop.renewed or loop.continues:
                raise CannotStage(f"a branch may give `{name}` another name")
            tuples.add(name, found.pop(name))
    return tuples


def _held(loop: Loop, frame: FrameType, found: dict[str, Any]) -> set[str]:
    """Arrays that the loop writes, and that something refers to which it does not bind anew."""
    held = {n for n in loop.carried if type(found.get(n)) is NDArray and n in loop.written}
    held = {n for n in held if sys.getrefcount(found[n]) > _ALONE}
    if not held:
        return held
    fresh = [value_of(n, frame) for n in loop.stored - loop.read]
    counts = {n: sum(v is found[n] for v in fresh) for n in held}
    del fresh
    for site in loop.sites:
        if site.name in held:  # the newest array is in a list
            newest = value_of(site.of, frame)[-len(loop.sites) :]
            counts[site.name] += sum(v is found[site.name] for v in newest)
            del newest
    return {n for n in held if sys.getrefcount(found[n]) > _ALONE + counts[n]}


def _refuse_names(loop: Loop, frame: FrameType) -> None:
    for name in sorted(loop.aliased):
        if type(value_of(name, frame)) is NDArray:
            raise CannotStage(f"a branch may give the array `{name}` another name")


def _refuse_others(loop: Loop, frame: FrameType, found: dict[str, Any]) -> None:
    """If no branch binds a variable to another array, it has the one that it had: the program would
    give it a copy. Nobody sees that if only variables that the loop binds refer to the array. (To
    lists, `_histories` gives the same array.)
    """
    for name in loop.staying - loop.written - {site.name for site in loop.sites}:
        if type(found.get(name)) is not NDArray or sys.getrefcount(found[name]) == _ALONE:
            continue
        names = sum([value_of(n, frame) is found[name] for n in loop.stored])
        names += sum([v is found[name] for n, v in found.items() if n in loop.stored])
        if sys.getrefcount(found[name]) > names + 1:
            raise CannotStage(f"`{name}` may stay an array that has another name")


class Constant:
    """A value that a program contains, for comparisons."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        if self.value is other.value:
            return True
        if type(self.value) is not type(other.value):
            return False
        if type(self.value) is FunctionType:
            return _is_made_again(self.value, other.value)
        return repr(self.value) == repr(other.value)

    __hash__ = None  # type: ignore[assignment]


def _is_made_again(f: FunctionType, g: FunctionType, depth: int = 0) -> bool:
    """Whether two functions of one source do the same."""
    if f.__code__ is not g.__code__ or f.__globals__ is not g.__globals__ or f.__dict__:
        return False
    if depth > _DEEP:  # it may refer to itself
        return False
    named = f.__kwdefaults__, g.__kwdefaults__
    if g.__dict__ or named != (None, None):
        return False
    try:
        pairs = [(a.cell_contents, b.cell_contents)
                 for a, b in zip(f.__closure__ or (), g.__closure__ or ())]  # fmt: skip
    except ValueError:  # a variable is unbound
        return False
    pairs += zip(f.__defaults__ or (), g.__defaults__ or ())
    return all(
        x is y or type(x) is type(y) and (
            _is_made_again(x, y, depth + 1) if type(x) is FunctionType
            else type(x) in (*_NUMBERS, str) and repr(x) == repr(y)
        )
        for x, y in pairs
    )  # fmt: skip


def _a(value: Any) -> str:
    return "unbound" if value is MISSING else f"a {type(value).__name__}"


def is_module(frame: FrameType) -> bool:
    return not frame.f_code.co_flags & inspect.CO_NEWLOCALS


def _values(loop: Loop, frame: FrameType, boxed: bool) -> dict[str, Any]:
    """The values of the names that the rounds take as arguments. Others are global. boxed: take
    objects too.
    """
    code = frame.f_code
    if is_module(frame):
        if frame.f_locals is not frame.f_globals:
            raise CannotStage("its variables are neither a function's nor a module's")
        found = {n: value_of(n, frame) for n in sorted(loop.read)}
        return {
            n: v for n, v in found.items()
            if n in loop.stored or n in loop.carried or type(v) in (NDArray, Scalar)
            or boxed and n in loop.boxed and is_box(v)
        }  # fmt: skip
    own = {n for n in loop.read if is_tail(n) or n in _places(code)}
    return {n: value_of(n, frame) for n in sorted(own)}


def value_of(name: str, frame: FrameType) -> Any:
    """A variable of the frame, or a global one; or what a path leads to."""
    if not name.isidentifier() and not name.startswith("."):
        return found_at(name, lambda n: value_of(n, frame))
    place = None if is_module(frame) else _places(frame.f_code).get(name)
    if place is None:
        return frame.f_globals.get(name, MISSING)
    found = fastpath.frame_value(frame, place[0], MISSING)
    if not place[1]:
        return found
    try:
        return found.cell_contents
    except ValueError:
        return MISSING


def grown_in(loop: Loop, frame: FrameType) -> set[str]:
    """The names of lists that the rounds change, and of arrays that they make longer."""
    found = {n for n in loop.grown if type(value_of(n, frame)) is list}
    for name, functions in loop.joins.items():
        if type(value_of(name, frame)) is NDArray and all(_is_ours(f, frame) for f in functions):
            found.add(name)
    return found


def _is_ours(function: str, frame: FrameType) -> bool:
    module, _, name = function.removesuffix(":0").partition(".")
    ours = getattr(sys.modules.get("lazynp"), name, None)
    return ours is not None and getattr(value_of(module, frame), name, None) is ours


def cell_of(name: str, frame: FrameType) -> CellType | None:
    """The cell of a variable that functions share."""
    place = None if is_module(frame) else _places(frame.f_code).get(name)
    return fastpath.frame_value(frame, place[0], None) if place is not None and place[1] else None


def _places(code: CodeType) -> dict[str, tuple[int, bool]]:
    """Where a function keeps its variables, by name; whether there is a cell, because functions
    share the variable.
    """
    known = _known.get(id(code))
    if known is None:
        own = code.co_varnames
        cells = [*code.co_cellvars, *code.co_freevars]
        names = [*own, *(n for n in cells if n not in own)]
        known = {n: (i, n in cells) for i, n in enumerate(names)}, code
        _known.put(id(code), known)
    return known[0]


_known: Memo[int, tuple[dict[str, tuple[int, bool]], CodeType]] = Memo("places of variables", 1024)


def bind(frame: FrameType, names: list[str], values: list[Any]) -> list[Any]:
    """Bind the variables of a loop, all at once: no signal comes in between. Returns the values
    before, so that none of them is destroyed here.
    """
    code, values = frame.f_code, [*values]
    if is_module(frame):
        scope = frame.f_globals
        before = [scope.get(n) for n in names]
        scope.update(zip(names, values))
        return before
    places = [_places(code)[n][0] for n in names]
    cells = [cell_of(n, frame) for n in names]
    wanted = tuple([p if c is None else c for p, c in zip(places, cells, strict=True)])
    fastpath.set_frame_values(frame, wanted, values)
    return values
