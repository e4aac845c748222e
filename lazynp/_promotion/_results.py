"""What a program gives back: its result and the new attributes of objects, rebuilt at each call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lazynp._array import NDArray, Scalar, new_array
from lazynp._node import OP, leaf
from lazynp._promotion._objects import MISSING
from lazynp._promotion._template import Again
from lazynp.functions._nested import as_row
from lazynp.transforms._stack import node_of, result_handle
from lazynp.transforms.control import CannotStage, refuse_merged, refuse_unlaid, session

Path = tuple[Any, ...]
_FIXED = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)
_KINDS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_FEW = 8  # rows of one array that are results of their own
_MANY = 64  # more of them take long to compile


class Row:
    """A result that is a row of an array which the program computes. place: of the array among
    the values, or, if k is None, of the result itself.
    """

    __slots__ = ("value", "number", "k", "place")

    def __init__(self, value: Any, number: Any, k: int) -> None:
        self.value, self.number, self.place = value, number, 0
        self.k: int | None = k


class Results:
    """The results of a traced call, as descriptions. values: the arrays and numbers that the
    program computes, each once.
    """

    def __init__(self, again: Again, out: Any, of_loop: bool = False) -> None:
        """of_loop: variables of a frame, which may hold what a branch chooses."""
        self.values: list[Any] = []
        self._of_loop = of_loop
        self._known: dict[int, Any] = {id(x): ("given", i) for i, x in enumerate(again.leaves)}
        self._known.update({id(x): ("object", k) for k, x in enumerate(again.objects)})
        self._known.update({id(x): ("mutable",) for x in again.kept})
        self._keep: list[Any] = []  # so that no id comes twice
        self._given = {id(x._owner()) for x in again.leaves if type(x) is NDArray}
        self._owners: set[int] = set()
        self._compact = {id(again.leaves[i]) for i in again.compact}
        self._rows: dict[Any, tuple[Any, list[Row]]] = {}
        self._apart = 0  # rows that are results of their own
        self.stacks: list[tuple[int, type]] = []  # values whose rows are results; their type
        self.out = self._described(out)
        self.changes = [
            (k, name, ("missing",) if value is MISSING else self._described(value))
            for k, name, value in again.changes()
        ]
        self._place_rows()
        refuse_unlaid(self.values)

    def _described(self, x: Any) -> Any:
        found = self._known.get(id(x))
        if found is not None:
            if found[0] == "mutable":
                raise CannotStage(f"gives a {type(x).__name__} back that others may have")
            return found
        if type(x) in (NDArray, Scalar):
            made = self._value(x)
            self._known[id(x)] = made
            self._keep.append(x)
            return made
        if type(x) in (tuple, list) or isinstance(x, tuple) and hasattr(x, "_fields"):
            self._mark(x, list)
            return "sequence", type(x), [self._described(y) for y in x]
        if type(x) is dict:
            self._mark(x, dict)
            return "dict", {k: self._described(y) for k, y in x.items()}
        if issubclass(type(x), _FIXED):
            return "fixed", x
        raise CannotStage(f"returns or keeps a {type(x).__name__}")

    def _mark(self, x: Any, kind: type) -> None:
        if type(x) is kind:
            if not self._of_loop:
                refuse_merged(x, "is given to the caller")
            self._known[id(x)] = ("mutable",)
            self._keep.append(x)

    def _number(self, x: Scalar, place: int) -> Any:
        aval = x.aval
        kind = _KINDS.get(aval.dtype.kind)
        return ("number", place, kind) if aval.weak and kind is not None else ("new", place)

    def _row(self, x: Any, source: Any, k: int) -> Any:
        number = _KINDS.get(x.aval.dtype.kind) if type(x) is Scalar and x.aval.weak else None
        made = Row(x, number, k)
        key = id(source), number or type(x)
        self._rows.setdefault(key, (source, []))[1].append(made)
        return "row", made

    def _place_rows(self) -> None:
        for (_, kind), (source, rows) in self._rows.items():
            if len(rows) > _FEW:
                self.stacks.append((len(self.values), kind))
                self.values.append(new_array(source))
            for row in rows:
                if len(rows) <= _FEW:
                    row.k = None
                    self.values.append(row.value)
                row.place, row.value = len(self.values) - 1, None

    def rows_apart(self, values: list[Any]) -> list[Any]:
        """The values, where arrays whose rows are results are lists of these."""
        for place, kind in self.stacks:
            rows = np.asarray(values[place])
            if kind is NDArray:
                values[place] = [new_array(leaf(np.array(row))) for row in rows]
            elif kind is Scalar:
                values[place] = [result_handle(node_of(x)) for x in rows]
            else:
                values[place] = rows.tolist()
        return values

    def _value(self, x: Any) -> Any:
        row = as_row(x)
        if row is not None and row[0][OP] is not None:
            if x._base is None and x._flags is None and x._order is None:
                return self._row(x, *row)
            self._apart += 1
            if self._apart > _MANY:
                raise CannotStage(f"gives back more than {_MANY} views, or read-only arrays")
        self.values.append(x)
        place = len(self.values) - 1
        if type(x) is Scalar:
            if session.pick_of(x) is not None and not self._of_loop:
                raise CannotStage("gives back, or keeps, a bool of Python's or of NumPy's")
            return self._number(x, place)
        picked = session.pick_of(x) is not None or session.pick_of(x._owner()) is not None
        if picked and not self._of_loop:
            raise CannotStage("gives back, or keeps, an array that a branch chooses")
        owner = id(x._owner())
        if owner in self._compact:
            raise CannotStage("gives back a view of a view")
        if owner in self._owners and owner not in self._given:
            raise CannotStage("two results share memory")
        self._owners.add(owner)
        return "new", place

    def replaced_numbers(self, again: Again) -> list[tuple[int, str]]:
        """Attributes that were numbers and are others by now."""
        kinds = (int, float, complex)
        return [(k, n) for k, n, _ in self.changes if type(again.before.get((k, n))) in kinds]


def numpys_in(want: Any, path: Path = ()) -> frozenset[Path]:
    """Where Python's result has numbers of NumPy's own: a program must not give lazy ones there."""
    if issubclass(type(want), np.generic):  # a Scalar passes for one by `isinstance`
        return frozenset({path})
    if isinstance(want, (tuple, list)):
        parts: Any = enumerate(want)
    elif isinstance(want, dict):
        parts = want.items()
    else:
        return frozenset()
    return frozenset().union(*(numpys_in(x, (*path, k)) for k, x in parts))


def with_numpys(spec: Any, places: Iterable[Path]) -> Any:
    """The description of the result, with numbers of NumPy's own in these places."""
    for path in places:
        spec = _with_numpys(spec, path)
    return spec


def _with_numpys(spec: Any, path: Path) -> Any:
    kind, *rest = spec
    if kind == "new" and not path:
        return "numpys", *rest
    if kind == "sequence" and path:
        parts = list(rest[1])
        parts[path[0]] = _with_numpys(parts[path[0]], path[1:])
        return kind, rest[0], parts
    if kind == "dict" and path:
        return kind, {**rest[0], path[0]: _with_numpys(rest[0][path[0]], path[1:])}
    return spec


def rebuilt(spec: Any, values: list[Any], leaves: list[Any], objects: list[Any]) -> Any:
    kind = spec[0]
    if kind == "new":
        return values[spec[1]]
    if kind == "numpys":
        return np.asarray(values[spec[1]])[()]
    if kind == "row":
        row = spec[1]
        if row.k is not None:
            return values[row.place][row.k]
        return values[row.place] if row.number is None else row.number(values[row.place])
    if kind == "given":
        return leaves[spec[1]]
    if kind == "number":
        return spec[2](values[spec[1]])
    if kind == "fixed":
        return spec[1]
    if kind == "object":
        return objects[spec[1]]
    if kind == "dict":
        return {k: rebuilt(s, values, leaves, objects) for k, s in spec[1].items()}
    if kind == "linear":
        return spec[1].fill([rebuilt(s, values, leaves, objects) for s in spec[2]])
    if kind == "sequence":
        parts = [rebuilt(s, values, leaves, objects) for s in spec[2]]
        return spec[1](*parts) if hasattr(spec[1], "_fields") else spec[1](parts)
    return MISSING
