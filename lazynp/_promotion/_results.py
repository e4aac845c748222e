"""What a program gives back: its result and the new attributes of objects, rebuilt at each call."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import NDArray, Scalar
from lazynp._promotion._given import Again
from lazynp._promotion._objects import MISSING
from lazynp.transforms.control import CannotStage

_FIXED = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)
_KINDS = {"b": bool, "i": int, "f": float, "c": complex}


class Results:
    """The results of a traced call, as descriptions. values: the arrays and numbers that the
    program computes, each once.
    """

    def __init__(self, again: Again, out: Any) -> None:
        self.values: list[Any] = []
        self._known: dict[int, Any] = {id(x): ("given", i) for i, x in enumerate(again.leaves)}
        self._known.update({id(x): ("object", k) for k, x in enumerate(again.objects)})
        self._keep: list[Any] = []  # so that no id comes twice
        self._given = {id(x._owner()) for x in again.leaves if type(x) is NDArray}
        self._owners: set[int] = set()
        self._compact = {id(again.leaves[i]) for i in again.compact}
        self.out = self._described(out)
        self.changes = [
            (k, name, ("missing",) if value is MISSING else self._described(value))
            for k, name, value in again.changes()
        ]

    def _described(self, x: Any) -> Any:
        found = self._known.get(id(x))
        if found is not None:
            if found[0] == "mutable":
                raise CannotStage(f"gives the same {type(x).__name__} back twice")
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
            self._known[id(x)] = ("mutable",)
            self._keep.append(x)

    def _number(self, x: Scalar, place: int) -> Any:
        aval = x.aval
        kind = _KINDS.get(aval.dtype.kind)
        return ("number", place, kind) if aval.weak and kind is not None else ("new", place)

    def _value(self, x: Any) -> Any:
        self.values.append(x)
        place = len(self.values) - 1
        if type(x) is Scalar:
            return self._number(x, place)
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


def rebuilt(spec: Any, values: list[Any], leaves: list[Any], objects: list[Any]) -> Any:
    kind = spec[0]
    if kind == "new":
        return values[spec[1]]
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
