"""A call without its arrays and objects, which a program keeps; and the call made again, for a
trace, on stand-ins in place of its objects.
"""

from __future__ import annotations

from types import CellType, MethodType
from typing import Any, NamedTuple

from lazynp._promotion._objects import MISSING, Unread, attributes, bare, put
from lazynp.transforms.control import plain_of

Spec = tuple[Any, ...]


class NotTaken(Exception):
    """A part of the call that no program can be given."""


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
        self._lists: dict[int, Any] = {}  # of numbers, by place
        self.before: dict[tuple[int, Any], Any] = {}
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
        if kind == "numbers":
            made = self._lists.get(spec[-1])
            if made is None:
                made = self._lists[spec[-1]] = list(self._given.fixed[spec[-1]])
                self.kept.append(made)
            return made
        if kind == "method":
            return MethodType(plain_of(self._given.fixed[spec[2]]), self._made(spec[3]))
        if kind == "tuple":
            parts = [self._made(s) for s in spec[2:]]
            return tuple(parts) if spec[1] is tuple else spec[1](*parts)
        return Unread()

    def changes(self) -> list[tuple[int, Any, Any]]:
        """The attributes that have another value by now: object, name, value (or MISSING)."""
        found: list[tuple[int, Any, Any]] = []
        for k, x in enumerate(self.objects):
            now = attributes(x)
            if now is None:
                raise NotTaken("an object of many parts")
            had = [n for j, n in self.before if j == k]
            kept = [n for n in had if n in now]
            if type(x) is list and len(now) != len(had):
                raise NotTaken("a list that gets longer or shorter")
            if type(x) is dict and list(now)[: len(kept)] != kept:
                raise NotTaken("a dict whose order changes")
            found += [(k, name, MISSING) for name in had if name not in now]
            for name, value in now.items():
                if value is not self.before.get((k, name), MISSING):
                    found.append((k, name, value))
        return found
