"""What a call is given: its arguments, its closure and the attributes of its objects, taken apart.

A call reads arrays and numbers from its arguments, from the variables of functions around it, and
from the attributes of plain objects (`_objects`). `Given` lists them once each. Calls with equal
keys are served by one program: the key tells which place holds which array, of which type, order
and memory, and holds the values of numbers. Numbers that vary between calls are inputs, like
arrays; the key contains only their types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from lazynp import lowering
from lazynp._array import Array, NDArray, Scalar, new_array, new_view
from lazynp._avals import Aval
from lazynp._node import VALUE, is_tracer, leaf
from lazynp._promotion._objects import MISSING, Unread, attributes, bare, is_plain, put
from lazynp.functions._ufunc import ufunc
from lazynp.transforms._arguments import Arguments
from lazynp.transforms.control import plain_of

Path = tuple[Any, ...]  # where a number stands: an argument, a variable, an attribute
Spec = tuple[Any, ...]

_FIXED = (bool, int, float, complex, str, bytes, type(None))
_VARYING = (int, float, complex)
_FUNCTIONS = (FunctionType, BuiltinFunctionType, np.ufunc, ufunc)
_MOST = 64  # parts of a tuple
_DEEP = 4  # objects in objects
_CLOSURE = "closure"


class NotTaken(Exception):
    """A part of the call that no program can be given."""


class Numbers:
    """Which numbers of a function's calls vary. names: attributes that it may read, if known."""

    def __init__(self) -> None:
        self.varying: set[Path] = set()
        self.kept: tuple[type, ...] = ()  # types of numbers that stay part of the key
        self.names: frozenset[str] | None = None
        self.moving: set[Any] = set()  # keys whose views begin elsewhere at each call
        self.scopes: dict[tuple[int, str], dict[str, Any]] = {}  # global names that are inputs
        self._last: dict[Path, Any] = {}
        self._starts: dict[Any, Any] = {}

    def varies(self, path: Path, x: Any) -> bool:
        """Whether this number is an input. (An argument that is an int may be a size: it is one
        after several values.)
        """
        if isinstance(x, self.kept) or type(x) is int and abs(x) >= _LARGE:
            return False
        if path in self.varying:
            return True
        seen = self._last.setdefault(path, [])
        if not any(type(s) is type(x) and s == x for s in seen):
            seen.append(x)
        same = sum(type(s) is type(x) for s in seen)
        if same > (_SIZES if type(x) is int and path[0] != "attribute" else 1):
            self.varying.add(path)
            return True
        return False

    def starts(self, key: Any, places: Any) -> Any:
        """The places where views begin, as part of the key; None if they are inputs."""
        if key not in self.moving and self._starts.setdefault(key, places) != places:
            self.moving.add(key)
        return None if key in self.moving else places

    def may_vary(self, path: Path) -> bool:
        return not any(
            isinstance(x, self.kept) or type(x) is int and abs(x) >= _LARGE
            for x in self._last.get(path, ())
        )  # fmt: skip

    def keep(self) -> bool:
        """Numbers that vary are sizes, or decide what cannot be staged: keep the ints among them in
        the key, or all. Whether that changes anything.
        """
        varying = {type(x) for path in self.varying for x in self._last.get(path, ())}
        kinds = (int,) if int in varying else (int, float, complex)
        if not varying.intersection(kinds):
            return False
        self.kept = (*self.kept, *kinds)
        self.varying.clear()
        return True


_SIZES = 4
_SMALL = 2**16  # bytes: views of less memory are passed as views, if they share it
_LARGE = 2**53  # it is a float as well, and a program has room to add to it


class Given:
    """A call, taken apart.

    key: of the kind of call; `base` is the key without the places of views. leaves: arrays and
    varying numbers, each once. fixed: the other values. objects: plain objects, each once.
    paths: where the fixed numbers among their attributes stand. unread: names of attributes that
    no program can be given. skipped: of those that no program has read so far.

    A view among the leaves is replaced by an array of its own with the same elements: a program
    writes that in place, and a loop would copy all of the owner's memory in each round. originals:
    the leaves with the views. compact: the places of the views, and whether they are contiguous.
    apart: leaves that share memory and must not be written. arrays: the leaves, as a trace takes
    them.
    """

    __slots__ = (
        "args", "names", "closure", "base", "key", "leaves", "fixed", "objects", "paths", "unread",
        "skipped", "moving", "originals", "compact", "apart", "arrays", "_numbers", "_known",
        "_specs",
    )  # fmt: skip

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
        numbers: Numbers,
    ) -> None:  # fmt: skip
        self._numbers = numbers
        self.leaves: list[Any] = []
        self.fixed: list[Any] = []
        self.objects: list[Any] = []
        self.paths: dict[tuple[int, str], Path] = {}
        self.unread: set[str] = set()
        self.skipped: set[str] = set()
        self._known: dict[int, Spec] = {}
        self._specs: list[Any] = []
        self.names = tuple(kwargs)
        self.args = tuple([self._enter(x, ("argument", i), 0) for i, x in enumerate(args)])
        self.args += tuple([self._enter(kwargs[n], ("argument", n), 0) for n in kwargs])
        self.closure = self._variables(function)
        self.originals = list(self.leaves)
        self.compact: dict[int, bool] = {}
        self.apart: tuple[int, ...] = ()
        self._detach()
        self.arrays = arrays = Arguments((tuple(self.leaves), {}), "a hot function")
        if arrays.places is None:
            raise NotTaken("a view at a traced place")
        whole = (self.args, self.names, self.closure, tuple(self._specs))
        self.base = whole, tuple(self.compact.items()), self.apart, arrays.key
        starts = numbers.starts(self.base, arrays.places)
        self.moving = starts is None and bool(arrays.starts)
        self.key = (*self.base, starts)

    def _detach(self) -> None:
        owners = [x._owner() if type(x) is NDArray else None for x in self.leaves]
        counts = Counter(id(o) for o in owners if o is not None)
        large: set[int] = set()
        for i, (x, owner) in enumerate(zip(self.originals, owners, strict=True)):
            if owner is None or x._base is None:
                continue
            if counts[id(owner)] > 1:
                if owner.aval.nbytes <= _SMALL:
                    continue
                large.add(id(owner))
            made = self.leaves[i] = new_array(x._read())
            made._flags = x._flags
            self.compact[i] = x.flags.c_contiguous
        self.apart = tuple([i for i, o in enumerate(owners) if o is not None and id(o) in large])

    # -- taking apart ------------------------------------------------------------------------------

    def _enter(self, x: Any, path: Path, depth: int) -> Spec:
        t = type(x)
        if t is NDArray or t is Scalar:
            return self._array(x)
        if t in _FIXED:
            return self._value(x, path)
        if isinstance(x, tuple) and (t is tuple or hasattr(t, "_fields")) and len(x) <= _MOST:
            return "tuple", t, *[self._enter(y, (*path, i), depth) for i, y in enumerate(x)]
        if isinstance(x, _FUNCTIONS):
            return "fixed", x, self._keep(x)
        if isinstance(x, type):
            known = x in _FIXED or issubclass(x, np.generic) or is_plain(x)
            return ("fixed", x, self._keep(x)) if known else _refused(x)
        if isinstance(x, (np.dtype, np.bool_, np.number)):
            return "fixed", t, repr(x), self._keep(x)
        if isinstance(x, MethodType) and isinstance(x.__func__, FunctionType):
            return "method", x.__func__, self._keep(x.__func__), self._enter(
                x.__self__, path, depth)  # fmt: skip
        return self._object(x, depth) if is_plain(t) and depth < _DEEP else _refused(x)

    def _array(self, x: Array) -> Spec:
        known = self._known.get(id(x))
        if known is not None:
            return known
        if is_tracer(x._node) or type(x) is NDArray and not x.dtype.isnative:
            raise NotTaken("traced, or in another byte order")
        if x._flags and x._flags.keys() != {"readonly"}:
            raise NotTaken("memory that another object shows")
        self.leaves.append(x)
        self._known[id(x)] = made = ("leaf", len(self.leaves) - 1)
        return made

    def _keep(self, x: Any) -> int:
        self.fixed.append(x)
        return len(self.fixed) - 1

    def _value(self, x: Any, path: Path) -> Spec:
        t = type(x)
        if t in _VARYING and self._numbers.varies(path, x):
            self.leaves.append(x)
            return "number", len(self.leaves) - 1, t
        return "fixed", t, repr(x), self._keep(x)

    def _object(self, x: Any, depth: int) -> Spec:
        known = self._known.get(id(x))
        if known is not None:
            return known
        found = attributes(x)
        if found is None:
            raise NotTaken("an object of many attributes")
        k = len(self.objects)
        self.objects.append(x)
        self._specs.append(None)
        self._known[id(x)] = made = ("object", k)
        names = self._numbers.names
        parts = []
        for name, value in found.items():
            if names is not None and name not in names:
                parts.append((name, ("unread",)))
                self.skipped.add(name)
                continue
            path = ("attribute", k, name)
            self.paths[k, name] = path
            parts.append((name, self._part(value, name, path, depth + 1)))
        self._specs[k] = type(x), tuple(parts)
        return made

    def _part(self, value: Any, name: str, path: Path, depth: int) -> Spec:
        """An attribute. One that cannot be taken matters only to a program that reads it."""
        found = self._attempt(lambda: self._enter(value, path, depth))
        if found is None:
            self.unread.add(name)
            return ("unread",)
        return found

    def _attempt(self, take: Callable[[], Spec]) -> Spec | None:
        """What `take` enters; None, and nothing is entered, if it cannot be taken."""
        before = len(self.leaves), len(self.fixed), len(self.objects), len(self._known)
        try:
            return take()
        except NotTaken:
            leaves, fixed, objects, known = before
            del self.leaves[leaves:], self.fixed[fixed:]
            del self.objects[objects:], self._specs[objects:]
            while len(self._known) > known:
                self._known.popitem()
            return None

    def _variables(self, function: Any) -> Spec:
        """The variables of the functions around it. Those that cannot be taken are left to the
        guards.
        """
        parts: list[Any] = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                value = MISSING
            path = ("attribute", _CLOSURE, name)
            spec = ("unread",) if value is MISSING else self._part(value, name, path, 0)
            self.unread.discard(name)
            parts.append((name, spec))
        return tuple(parts)

    @property
    def call(self) -> tuple[list[Any], list[Any], list[Any], Arguments]:
        """What a program is called with."""
        return self.leaves, self.originals, self.objects, self.arrays

    @property
    def template(self) -> Template:
        return Template(
            self.args, self.names, self.closure, tuple(self._specs), list(self.fixed),
            dict(self.compact), self.apart,
        )  # fmt: skip


class Listed:
    """Values that a program's function takes by place: constants, and `ARRAY` for what varies."""

    moving = False
    unread: frozenset[str] = frozenset()

    def __init__(self, values: list[Any], compact: dict[int, bool] | None = None) -> None:
        fixed, specs, leaves = [], [], 0
        for x in values:
            if x is ARRAY:
                specs.append(("leaf", leaves))
                leaves += 1
            else:
                specs.append(("fixed", len(fixed)))
                fixed.append(x)
        self.template = Template(tuple(specs), (), (), (), fixed, compact or {}, ())


ARRAY = object()  # the place of an array, or of a number that varies


class Template(NamedTuple):
    """A call without its arrays and objects: what a program keeps of it."""

    args: Spec
    names: tuple[str, ...]
    closure: Spec
    specs: Spec  # of the objects: class, attributes
    fixed: list[Any]
    compact: dict[int, bool]
    apart: tuple[int, ...]


class Again:
    """A call like a given one with other leaves, on stand-ins in place of its objects."""

    def __init__(self, given: Template, function: Any, leaves: list[Any]) -> None:
        self._given, self.leaves, self.compact = given, leaves, given.compact
        self.cells: dict[int, CellType] = {}  # by id of the cell that each stands for
        self.bound: list[tuple[CellType, Any]] = []
        self.scopes: dict[int, dict[str, Any]] = {}  # by id of the global names they stand for
        self.objects = [bare(cls) for cls, _ in given.specs]
        self.kept: list[Any] = []  # lists and dicts from outside, which no program makes
        self.before: dict[tuple[int, str], Any] = {}
        for k, (_, parts) in enumerate(given.specs):
            for name, spec in parts:
                value = self.before[k, name] = self._made(spec)
                put(self.objects[k], name, value)
        made = [self._made(s) for s in given.args]
        count = len(made) - len(given.names)
        self.args, self.kwargs = made[:count], dict(zip(given.names, made[count:]))
        self._bind(given, function)

    def _bind(self, given: Template, function: Any) -> None:
        """Put the values of variables around the function where a trace finds them."""
        for cell, (_, spec) in zip(function.__closure__ or (), given.closure):
            if spec != ("unread",):
                self.cells[id(cell)] = CellType(self._made(spec))

    def _made(self, spec: Spec) -> Any:
        kind = spec[0]
        if kind == "leaf" or kind == "number":
            return self.leaves[spec[1]]
        if kind == "fixed":
            return self._given.fixed[spec[-1]]
        if kind == "object":
            return self.objects[spec[1]]
        if kind == "method":
            return MethodType(plain_of(self._given.fixed[spec[2]]), self._made(spec[3]))
        if kind == "tuple":
            parts = [self._made(s) for s in spec[2:]]
            return tuple(parts) if spec[1] is tuple else spec[1](*parts)
        return Unread()

    def changes(self) -> list[tuple[int, str, Any]]:
        """The attributes that have another value by now: object, name, value (or MISSING)."""
        found: list[tuple[int, str, Any]] = []
        for k, x in enumerate(self.objects):
            now = attributes(x)
            if now is None:
                raise NotTaken("an object of many attributes")
            for name in [n for j, n in self.before if j == k and n not in now]:
                found.append((k, name, MISSING))
            for name, value in now.items():
                if value is not self.before.get((k, name), MISSING):
                    found.append((k, name, value))
        return found


def _refused(x: Any) -> Any:
    raise NotTaken(f"a {type(x).__name__}")


_LARGE = 1 << 20  # bytes


def copies(
    leaves: list[Any], empty: bool = False, written: Container[int] | None = None
) -> list[Any]:
    """Arrays like these in memory of their own, which is shared as theirs is.

    empty: without values, and without memory: for traces. written: places among the owners; if
    given, other large arrays get their memory when one of both is written.
    """
    owners: dict[int, Array] = {}

    def copied(x: Any) -> Any:
        if type(x) is not NDArray:
            return x
        owner = x._owner()
        made = owners.get(id(owner))
        if made is None:
            aval = owner.aval
            shared = written is not None and len(owners) not in written
            if shared and aval.nbytes >= _LARGE:
                node = owner._node
            else:
                node = leaf(_nothing(aval) if empty else _copy(owner))
            made = owners[id(owner)] = new_array(node)
            made._flags, made._order = owner._flags, owner._order
        if owner is x:
            return made
        node = made._node
        for step in x._path:
            node = step.get(node)
        view = new_view(made, x._path, node, x._order)
        view._flags = x._flags
        return view

    return [copied(x) for x in leaves]


def _nothing(aval: Aval) -> Any:
    """Zeros of this type in the memory of one. Nothing runs on them, so nothing writes them."""
    return np.broadcast_to(np.zeros((), aval.dtype), aval.shape)


def _copy(owner: Array) -> Any:
    """Memory that a program takes as it is, as it does that of the original."""
    value = np.asarray(owner)
    made = lowering.aligned_empty(value.shape, value.dtype)
    made[...] = value
    return made


def computed(leaves: list[Any]) -> None:
    """Have the values of arrays there: else a call would be compiled together with what is
    pending.
    """
    for x in leaves:
        if isinstance(x, Array):
            owner = x if x._base is None else x._owner()
            if owner._node[VALUE] is None:
                np.asarray(owner)
