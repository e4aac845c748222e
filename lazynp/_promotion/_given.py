"""What a call is given: its arguments, its closure and the attributes of its objects, taken apart.

A call reads arrays and numbers from its arguments, from the variables of functions around it, and
from the attributes of plain objects, lists and dicts (`_objects`). `Given` lists them once each.
Calls with equal keys are served by one program: the key tells which place holds which array, of
which type, order and memory, and holds the values of numbers. Numbers that vary between calls are
inputs, like arrays; the key contains only their types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, from_host, new_array, new_scalar
from lazynp._node import is_tracer, leaf
from lazynp._promotion._constants import constants_of
from lazynp._promotion._objects import CONTAINERS, MISSING, attributes, is_plain
from lazynp._promotion._template import NotTaken, Spec, Template
from lazynp._strides import copied_order
from lazynp.functions._ufunc import ufunc
from lazynp.transforms._arguments import Arguments

Path = tuple[Any, ...]  # where a number stands: an argument, a variable, an attribute

_FIXED = (bool, int, float, complex, str, bytes, type(None))
_VARYING = (int, float, complex)
_FUNCTIONS = (FunctionType, BuiltinFunctionType, np.ufunc, ufunc)
_MOST = 64  # parts of a tuple
_DEEP = 4  # objects in objects
_CLOSURE = "closure"


class Numbers:
    """Which numbers of a function's calls vary. names: attributes that it may read, if known."""

    def __init__(self) -> None:
        self.varying: set[Path] = set()
        self.kept: tuple[type, ...] = ()  # types of numbers that stay part of the key
        self.names: frozenset[str] | None = None
        self.lists = False  # whether it may read any list or dict among the attributes
        self.moving: set[Any] = set()  # keys whose views begin elsewhere at each call
        self.scopes: dict[tuple[int, str], dict[str, Any]] = {}  # global names that are inputs
        self._last: dict[Path, Any] = {}
        self._starts: dict[Any, Any] = {}

    def varies(self, path: Path, x: Any) -> bool:
        """Whether this number is an input. (An argument that is an int may be a size: it is one
        after several values.)
        """
        if isinstance(x, self.kept) or type(x) is int and abs(x) >= LARGE:
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
            isinstance(x, self.kept) or type(x) is int and abs(x) >= LARGE
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
_LEAVES = 256  # in all: with more of them, no list, dict or object is taken
_FEW, _LONG = 8, 1 << 12  # numbers in a list
_SMALL = 2**16  # bytes: views of less memory are passed as views, if they share it
LARGE = 2**53  # it is a float as well, and a program has room to add to it


class Given:
    """A call, taken apart.

    key: of the kind of call; `base` is the key without the places of views. leaves: arrays and
    varying numbers, each once. fixed: the other values. objects: plain objects, each once.
    paths: where the fixed numbers among their attributes stand. unread: names of attributes that
    no program can be given. skipped: of those that no program has read so far.

    A view among the leaves is replaced by an array of its own with the same elements: a program
    writes that in place, and a loop would copy all of the owner's memory in each round. originals:
    the leaves with the views. compact: the places of the views, and whether they are contiguous.
    foreign: leaves that stand for arrays of NumPy's. apart: leaves that must not be written, since
    they are such, or share memory. arrays: the leaves, as a trace takes them.
    """

    __slots__ = (
        "args", "names", "closure", "base", "key", "leaves", "fixed", "objects", "paths", "unread",
        "skipped", "foreign", "moving", "originals", "compact", "apart", "arrays", "_numbers",
        "_known", "_specs",
    )  # fmt: skip

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
        numbers: Numbers,
    ) -> None:  # fmt: skip
        self._numbers = numbers
        self.leaves: list[Any] = []
        self.fixed: list[Any] = []
        self.objects: list[Any] = []
        self.paths: dict[tuple[int, Any], Path] = {}
        self.unread: set[str] = set()
        self.skipped: set[str] = set()
        self.foreign: list[int] = []
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
            made._flags, made._order = x._flags, copied_order(x)
            self.compact[i] = x.flags.c_contiguous
        shared = [i for i, o in enumerate(owners) if o is not None and id(o) in large]
        self.apart = (*shared, *self.foreign)

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
        if t is np.ndarray:
            return self._numpys(x)
        if t is list and _has_numbers(x):
            return self._numbers_of(x)
        known = t in CONTAINERS or is_plain(t)
        return self._object(x, depth) if known and depth < _DEEP else _refused(x)

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

    def _numpys(self, x: Any) -> Spec:
        """An array or number of NumPy's, as one of ours with the same values, which nobody may
        write.
        """
        known = self._known.get(id(x))
        if known is not None:
            return known
        if x.dtype.kind not in "biufc" or not x.dtype.isnative or x.dtype.char in "gG":
            raise NotTaken("an array of another dtype")
        made = new_array(from_host(x)) if type(x) is np.ndarray else new_scalar(leaf(x))
        if not x.flags.writeable and type(x) is np.ndarray:
            made._flags = {"readonly": True}
        self.leaves.append(made)
        self.foreign.append(len(self.leaves) - 1)
        self._known[id(x)] = spec = ("leaf", len(self.leaves) - 1, type(x))
        return spec

    def _numbers_of(self, x: Any) -> Spec:
        """A list of floats, or of ints. Its values are part of the key. Nothing may change it."""
        if len(x) > _LONG or set(map(type, x)) not in ({float}, {int}):
            raise NotTaken("a list of many numbers, or of several kinds")
        known = self._known.get(id(x))
        if known is not None:
            return known
        try:
            values = np.array(x, type(x[0]))
        except OverflowError:
            raise NotTaken("a list of large ints") from None
        kept = self._keep(list(x))
        self._known[id(x)] = made = ("numbers", values.dtype.char, values.tobytes(), kept)
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
        if found is None or len(self.leaves) > _LEAVES:
            raise NotTaken("an object of many parts")
        k = len(self.objects)
        self.objects.append(x)
        self._specs.append(None)
        self._known[id(x)] = made = ("object", k)
        names = self._numbers.names
        parts = []
        for name, value in found.items():
            if type(name) is tuple:
                if type(name[0]) not in (str, int):
                    raise NotTaken("a dict with strange keys")
                path = self.paths[k, name] = ("entry", k, name)
                parts.append((name, self._enter(value, path, depth + 1)))
                continue
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
        """An attribute. One that cannot be taken matters only to a program that reads it. A list
        or dict may be another one at each call, so it is taken once a trace has read it.
        """
        if type(value) in CONTAINERS and not self._reads(name):
            self.skipped.add(name)
            return ("unread",)
        found = self._attempt(lambda: self._enter(value, path, depth))
        if found is None:
            self.unread.add(name)
            return ("unread",)
        return found

    def _reads(self, name: str) -> bool:
        """Whether a trace has read the attribute, or may have."""
        return self._numbers.lists or name in (self._numbers.names or ())

    def _attempt(self, take: Callable[[], Spec]) -> Spec | None:
        """What `take` enters; None, and nothing is entered, if it cannot be taken."""
        before = len(self.leaves), len(self.fixed), len(self.objects), len(self._known)
        foreign = len(self.foreign)
        try:
            return take()
        except NotTaken:
            leaves, fixed, objects, known = before
            del self.foreign[foreign:]
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
            known = value is MISSING or constants_of(value) is not None
            spec = ("unread",) if known else self._part(value, name, path, 0)
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


def _has_numbers(x: Any) -> bool:
    return len(x) > _FEW and type(x[0]) in (float, int)


def _refused(x: Any) -> Any:
    raise NotTaken(f"a {type(x).__name__}")
