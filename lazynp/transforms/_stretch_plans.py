"""Which equations of a round need some places of a window only, between bounds that are read from
arrays: see `_stretches`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazynp._avals import Aval
from lazynp._dataclass import dataclass
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from lazynp.primitives import elementwise

INT = np.dtype(np.int64)
_LEAST = 64  # places of a window: a shorter one is computed as a whole
_DEEP = 64  # equations from a bound to what it is read from
_READS = ("slice", "take")  # what reads a bound from an array


class Range(NamedTuple):
    """Bounds of places: atoms, or None where the window ends."""

    low: Atom | None
    high: Atom | None

    def both(self, other: Range) -> Range | None:
        """The places of both, if it is known which bounds these are."""
        if self.low is not None and other.low is not None:
            return None
        if self.high is not None and other.high is not None:
            return None
        return Range(self.low or other.low, self.high or other.high)


@dataclass
class Sink:
    """An equation that needs some places of a window only. windows: of a product, both. start: of a
    reduction, its neutral element and the number outside. onto: of a store, the array before it.
    into: where in it the elements go, if not to their own places.
    place: of an element, where that is read. is_place: whether it asks where an element is.
    """

    eqn: Eqn
    windows: tuple[Atom, ...]
    range: Range
    combine: Any = None
    start: Any = None
    onto: Atom | None = None
    place: Atom | None = None
    is_place: bool = False
    into: Atom | None = None


_COMBINED = {
    "reduce_sum": elementwise.add, "reduce_prod": elementwise.multiply,
    "reduce_max": elementwise.maximum, "reduce_min": elementwise.minimum,
    "reduce_and": elementwise.logical_and, "reduce_or": elementwise.logical_or,
}  # fmt: skip


RUNNING = {"cumsum": elementwise.add, "cumprod": elementwise.multiply}
_PLACES = {"argmax": elementwise.greater, "argmin": elementwise.less}


def _neutral(name: str, dtype: np.dtype[Any]) -> Any:
    if name in ("reduce_sum", "reduce_or"):
        return dtype.type(0)
    if name in ("reduce_prod", "reduce_and"):
        return dtype.type(1)
    if dtype.kind == "f":
        return dtype.type(-np.inf if name == "reduce_max" else np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.min if name == "reduce_max" else limits.max)


class Plan:
    """The loops of one jaxpr. given: whether the numbers that it takes were read."""

    def __init__(self, jaxpr: Jaxpr, given: bool) -> None:
        self._given = given
        self.maker = {v: eqn for eqn in jaxpr.eqns for v in eqn.outputs}
        self.sinks: dict[int, Sink] = {}
        for eqn in jaxpr.eqns:
            found = self._sink(eqn)
            if found is not None and self._is_read(found.range):
                self.sinks[id(eqn)] = found
        self.has_choices = any(
            self.mask(a) is not None or self.is_bound(a)
            for eqn in jaxpr.eqns if eqn.primitive.name == "cond" for a in eqn.inputs[1:]
        )  # fmt: skip

    def is_bound(self, x: Atom) -> bool:
        """Whether it is an integer that was read from an array."""
        return not x.aval.shape and x.aval.dtype == INT and self._is_read(Range(x, None))

    def mask(self, x: Atom) -> Range | None:
        """The places of a mask that is nothing but a range of these."""
        if x.aval.dtype.kind != "b" or not is_window(x.aval):
            return None
        found = self._exactly(x)
        return found if found is not None and self._is_read(found) else None

    def _exactly(self, mask: Atom) -> Range | None:
        eqn = self.maker.get(self.same(mask))
        if eqn is None or eqn.primitive.name != "logical_and":
            return self._range(mask)
        a, b = map(self._exactly, eqn.inputs)
        return None if a is None or b is None else a.both(b)

    def _sink(self, eqn: Eqn) -> Sink | None:
        name = eqn.primitive.name
        if name in _COMBINED and eqn.params.get("axes") == (0,):
            return self._reduction(eqn, name)
        if name in _PLACES and eqn.params["axis"] == 0:
            return self._place(eqn, name)
        if name == "dot_general":
            return self._product(eqn)
        if name == "slice":
            return self._scatter(eqn) or self._pick(eqn)
        return self._store(eqn) if name == "select" else None

    def _reduction(self, eqn: Eqn, name: str) -> Sink | None:
        (x,) = eqn.inputs
        dtype = x.aval.dtype
        if not is_window(x.aval) or dtype.kind == "c" or eqn.outputs[0].aval.dtype != dtype:
            return None
        range_, neutral = self.stretch(x), _neutral(name, dtype)
        if range_ is None:
            return None
        outside = self._outside(x, range_)
        if outside is None:
            return None
        if outside != neutral and name not in ("reduce_max", "reduce_min"):
            return None
        return Sink(eqn, (x,), range_, _COMBINED[name], (neutral, outside))

    def _place(self, eqn: Eqn, name: str) -> Sink | None:
        """Where the largest or the smallest element is: nothing outside comes before it."""
        (x,) = eqn.inputs
        if not is_window(x.aval) or x.aval.dtype.kind not in "fiu":
            return None
        range_, neutral = self.stretch(x), _neutral(f"reduce_{name[3:]}", x.aval.dtype)
        if range_ is None or self._outside(x, range_) != neutral:
            return None
        return Sink(eqn, (x,), range_, _PLACES[name], (neutral, neutral), is_place=True)

    def _product(self, eqn: Eqn) -> Sink | None:
        x, y = eqn.inputs
        vectors = eqn.params["dimension_numbers"] == (((0,), (0,)), ((), ()))
        if not vectors or not is_window(x.aval) or not is_window(y.aval):
            return None
        if x.aval.dtype.kind not in "fiu" or eqn.outputs[0].aval.dtype != x.aval.dtype:
            return None
        range_ = self.stretch(x)
        if range_ is None or self._outside(x, range_) != 0:
            return None
        other = self.stretch(y)  # else, what is outside may be infinite
        if other is None or self._outside(y, other) != 0:
            return None
        zero = x.aval.dtype.type(0)
        return Sink(eqn, (x, y), range_, elementwise.add, (zero, zero))

    def _pick(self, eqn: Eqn) -> Sink | None:
        """One element of a window that is computed here: of the place at fault, by a check."""
        x, *places = eqn.inputs
        made = self.maker.get(x) if isinstance(x, Var) else None
        if eqn.params["axes"] != (0,) or eqn.params["sizes"] != (1,) or made is None:
            return None
        if made.primitive.name == "reshape" and x.aval.shape[1:] == (1,):
            x = made.inputs[0]
        range_ = self.stretch(x) if is_window(x.aval) else None
        return None if range_ is None else Sink(eqn, (x,), range_, place=places[0])

    def _scatter(self, eqn: Eqn) -> Sink | None:
        """A store at places of a window, of an array that has one more place for those outside."""
        put = self._maker(eqn.inputs[0], "put")
        if put is None or eqn.params["axes"] != (0,) or put.params["mode"] != "set":
            return None
        longer, values, *places = put.inputs
        joined, chosen = self._maker(longer, "concatenate"), self._maker(places[0], "select")
        if joined is None or chosen is None or len(places) != 1 or longer.aval.ndim != 1:
            return None
        onto, (length,) = joined.inputs[0], eqn.outputs[0].aval.shape
        if onto.aval.shape != (length,) or longer.aval.shape != (length + 1,):
            return None
        range_ = self._range(chosen.inputs[0])
        if not is_window(values.aval) or range_ is None or not isinstance(onto, Var):
            return None
        return Sink(eqn, (values,), range_, onto=onto, into=chosen.inputs[1])

    def running(self, sink: Sink) -> list[Var]:
        """Sums and products so far that the elements of a window are made of: of nothing, before
        its first place.
        """
        found, seen, left = list[Var](), set[Any](), list[Any](sink.windows)
        while left:
            x = left.pop()
            eqn = self.maker.get(x) if isinstance(x, Var) and x not in seen else None
            seen.add(x)
            if eqn is None or id(eqn) in self.sinks and eqn is not sink.eqn:
                continue
            name = eqn.primitive.name
            if name in RUNNING and eqn.params == {"axis": 0} and is_window(x.aval):
                (of,) = eqn.inputs
                if self._equal(self.stretch(of), sink.range) and self._outside(of, sink.range) == (
                    name == "cumprod"
                ):
                    found.append(x)
            left += eqn.inputs
        return found

    def reads(self, sink: Sink) -> bool:
        """Whether a store takes its elements, or their places, from the array that it writes."""
        onto, seen = self.same(sink.onto), set[Any]()
        left = [*sink.windows, sink.into]
        while left:
            x = left.pop()
            if not isinstance(x, Var) or x in seen:
                continue
            if self.same(x) is onto:
                return True
            seen.add(x)
            left += self.maker[x].inputs if x in self.maker else ()
        return False

    def _maker(self, x: Atom, name: str) -> Eqn | None:
        made = self.maker.get(x) if isinstance(x, Var) else None
        return made if made is not None and made.primitive.name == name else None

    def _store(self, eqn: Eqn) -> Sink | None:
        """`select(mask, new, old)` of an array that is not computed here."""
        mask, _, old = eqn.inputs
        if not is_window(old.aval):
            return None
        range_, onto = self._range(mask), self.same(old)
        if range_ is None or not isinstance(onto, Var):
            return None
        made = self.maker.get(onto)
        if made is not None and id(made) not in self.sinks:
            return None
        return Sink(eqn, (eqn.outputs[0],), range_, onto=old)

    # -- bounds ------------------------------------------------------------------------------------

    def stretch(self, x: Atom) -> Range | None:
        """The places outside of which an array may be one number."""
        eqn = self.maker.get(x) if isinstance(x, Var) else None
        if eqn is None:
            return None
        if eqn.primitive.name == "select":
            found = self._range(eqn.inputs[0])
            return self.stretch(eqn.inputs[0]) if found is None else found
        if x.aval.dtype.kind == "b" and self._range(x) is not None:
            return self._range(x)
        if eqn.primitive.kind == "elementwise" or eqn.primitive.name == "reshape":
            found = (self.stretch(a) for a in eqn.inputs)
            return next((r for r in found if r is not None), None)
        return None

    def _range(self, mask: Atom) -> Range | None:
        """The places that a mask may be true at."""
        eqn = self.maker.get(self.same(mask))
        if eqn is None:
            return None
        name = eqn.primitive.name
        if name == "logical_and":
            a, b = map(self._range, eqn.inputs)
            return a or b if a is None or b is None else a.both(b) or a
        if name not in ("greater_equal", "less") or not self._is_places(eqn.inputs[0]):
            return None
        bound = self._scalar(eqn.inputs[1])
        if bound is None or bound.aval.dtype != INT:
            return None
        return Range(bound, None) if name == "greater_equal" else Range(None, bound)

    def _is_places(self, x: Atom) -> bool:
        eqn = self.maker.get(self.same(x))
        return eqn is not None and eqn.primitive.name == "iota" and is_window(x.aval)

    def _scalar(self, x: Atom) -> Atom | None:
        """The number that an array repeats."""
        eqn = self.maker.get(self.same(x))
        if eqn is None or eqn.primitive.name not in ("broadcast_in_dim", "full"):
            return None
        return eqn.inputs[0] if not eqn.inputs[0].aval.shape else None

    def same(self, x: Any) -> Any:
        """What an atom is another name for."""
        while isinstance(x, Var) and x in self.maker:
            eqn = self.maker[x]
            name = eqn.primitive.name
            if name == "reshape" and eqn.inputs[0].aval.shape == x.aval.shape:
                x = eqn.inputs[0]
            elif name == "slice" and not eqn.params["axes"]:
                x = eqn.inputs[0]
            elif name == "update_slice" and not eqn.params["axes"]:
                x = eqn.inputs[1]
            else:
                break
        return x

    def _is_read(self, range_: Range) -> bool:
        """Whether a bound is read from an array: others leave no more of a window than it needs."""
        seen, left = set[Any](), [a for a in range_ if isinstance(a, Var)]
        while left and len(seen) < _DEEP:
            eqn = self.maker.get(left.pop())
            if eqn is None and self._given:
                return True
            if eqn is None or id(eqn) in seen:
                continue
            if eqn.primitive.name in _READS and not eqn.outputs[0].aval.shape:
                return True
            seen.add(id(eqn))
            left += [a for a in eqn.inputs if isinstance(a, Var) and not a.aval.shape]
        return False

    def _equal(self, a: Range | None, b: Range | None) -> bool:
        return a is not None and b is not None and all(map(self._alike, a, b))

    def _alike(self, a: Any, b: Any, depth: int = 8) -> bool:
        """Whether two numbers are computed alike, as bounds that are written twice."""
        a, b = self.same(a), self.same(b)
        if a is b:
            return True
        if isinstance(a, Literal) and isinstance(b, Literal):
            return a.aval is b.aval and bool(a.value == b.value)
        p, q = (self.maker.get(x) if isinstance(x, Var) else None for x in (a, b))
        if p is None or q is None or not depth or p.primitive is not q.primitive:
            return False
        alike = p.params == q.params and len(p.inputs) == len(q.inputs) and a.aval is b.aval
        alike = alike and len(p.outputs) == 1 and p.primitive.kind != "host"
        return alike and all(
            self._alike(x, y, depth - 1) for x, y in zip(p.inputs, q.inputs, strict=True)
        )

    def _outside(self, x: Atom, range_: Range) -> Any:
        """The number that an array repeats outside of these places; None if that is unknown."""
        if isinstance(x, Literal):
            return x.value
        if x.aval.dtype.kind == "b" and self._equal(self._range(x), range_):
            return np.False_
        eqn = self.maker.get(x)
        if eqn is None:
            return None
        name = eqn.primitive.name
        if name in ("broadcast_in_dim", "full", "reshape") and len(eqn.inputs) == 1:
            return self._outside(eqn.inputs[0], range_)
        if name == "select":
            chosen = self._outside(eqn.inputs[0], range_)
            return None if chosen is None else self._outside(eqn.inputs[1 if chosen else 2], range_)
        if eqn.primitive.kind != "elementwise" or eqn.primitive.multiple_results:
            return None
        values = [self._outside(a, range_) for a in eqn.inputs]
        if any(v is None for v in values):
            return None
        with np.errstate(all="ignore"):
            return eqn.primitive.reference(*values, **eqn.params)


def is_window(aval: Aval) -> bool:
    return len(aval.shape) == 1 and type(aval.shape[0]) is int and aval.shape[0] >= _LEAST
