"""Order the reads and writes of one array in a loop's body, so that XLA writes in place.

XLA recomputes a read wherever its result is used. If one of those uses may come after the array was
written, XLA first copies the whole array, in each round. So we put such a read into a conditional
with two equal branches, and make the write depend on it. The conditional also returns an index. The
difference between that index and the one that went in is zero; we add it to the start of the write.

A read that only the written value depends on needs none of this, and a conditional would cost a
loop over elements up to half of its speed.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from lazynp._jaxpr import Eqn, Jaxpr, Var

_READS = {"slice", "take"}
_WRITES = {"update_slice": 2, "add_slice": 2, "put": 2}  # the operand where the indices begin
_INT32 = np.dtype(np.int32)
# Bytes: copying less than this costs no more than a conditional. In a loop over elements, which XLA
# makes one function (`_options`), a conditional costs next to nothing; elsewhere it is a kernel.
_COPIED, _COPIED_BY_ELEMENTS = 1 << 12, 1 << 8
_ELEMENTS = 64  # of the largest value that a loop over elements computes


class Reads:
    """The reads of one jaxpr that is lowered as the body of a loop."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.eqns: dict[Var, list[Eqn]] = {}  # for each array that is also written: its reads
        self.indices: dict[int, Var] = {}  # by the identity of these: what they choose by
        # for each array read so far: the zero that its writes depend on
        self.zeros: dict[Var, Any] = {}
        self.makers: dict[Any, Eqn] = {}
        writes: dict[Any, list[Eqn]] = {}
        for eqn in jaxpr.eqns:
            if eqn.primitive.name in _WRITES and _array(eqn) is not None:
                writes.setdefault(_array(eqn), []).append(eqn)
        if not writes:
            return
        self.makers = {v: e for e in jaxpr.eqns for v in e.outputs}
        others = list(filter(_is_integer, jaxpr.inputs))  # the loop's counter, say
        least = _COPIED_BY_ELEMENTS if all(map(_is_small, jaxpr.eqns)) else _COPIED
        for eqn in jaxpr.eqns:
            array = _array(eqn)
            if eqn.primitive.name not in _READS or array not in writes:
                continue
            index = self._choice(eqn, writes[array], others)
            if index is not None and array.aval.nbytes >= least and eqn.outputs[0].aval.size:
                if not self._only_for(jaxpr, eqn, writes[array]):
                    self.eqns.setdefault(array, []).append(eqn)
                    self.indices[id(eqn)] = index

    def first(self, eqn: Eqn, known: Container[Any]) -> list[Eqn]:
        """What must come before this equation, except equations whose results are known: before a
        write, the reads of the array that can come before it, each with what it needs.
        """
        found: dict[int, Eqn] = {}
        if id(eqn) in self.indices:
            self._below(eqn, known, found)
            found.pop(id(eqn), None)
        for read in self.eqns.get(_array(eqn), ()) if eqn.primitive.name in _WRITES else ():
            needed: dict[int, Eqn] = {}
            self._below(read, known, needed)
            if id(eqn) not in needed:
                found.update(needed)
        return list(found.values())

    def _choice(self, read: Eqn, writes: list[Eqn], others: list[Var]) -> Var | None:
        """A computed index that is known before the read: its own, or else that of a write. For a
        small one, also that of a later write, or one of the others: a large one, as stencils have
        it, would no longer be computed with what needs it.
        """
        place = _index(read)
        if place is not None:
            return read.inputs[place]  # type: ignore[return-value]
        places = [(w, _index(w, _WRITES[w.primitive.name])) for w in writes]
        few = read.outputs[0].aval.size <= _ELEMENTS
        places, others = (places, others) if few else (places[:1], [])
        for index in [*(w.inputs[p] for w, p in places if p is not None), *others]:
            needed: dict[int, Eqn] = {}
            if index in self.makers:
                self._below(self.makers[index], (), needed)  # type: ignore[index]
            if id(read) not in needed:
                return index  # type: ignore[return-value]
        return None

    def _only_for(self, jaxpr: Jaxpr, read: Eqn, writes: list[Eqn]) -> bool:
        """Whether what is read goes only into what is then written to the array, so that nothing
        uses it after that.
        """
        if len(writes) > 1 or _array(read) in self.makers:
            return False
        needed: dict[int, Eqn] = {}
        self._below(writes[0], (), needed)
        found = set(read.outputs)  # computed from what is read, before the write
        for eqn in jaxpr.eqns:
            if eqn is not writes[0] and not found.isdisjoint(eqn.inputs):
                if id(eqn) not in needed:
                    return False
                found.update(eqn.outputs)
        return found.isdisjoint(jaxpr.outputs)

    def _below(self, eqn: Eqn, known: Container[Any], needed: dict[int, Eqn]) -> None:
        """An equation and its unknown dependencies, in order."""
        if id(eqn) in needed or eqn.outputs[0] in known:
            return
        for atom in (*eqn.inputs, self.indices.get(id(eqn))):
            if atom in self.makers:
                self._below(self.makers[atom], known, needed)
        needed[id(eqn)] = eqn

    def lowered(self, b: Any, eqn: Eqn, operands: list[Any], read: Any) -> Any:
        """The value or values of an equation that is an isolated read, or a write after one."""
        array = _array(eqn)
        if id(eqn) in self.indices:
            return self._apart(b, eqn, array, operands, read(self.indices[id(eqn)]))
        if array in self.zeros and eqn.primitive.name in _WRITES:
            first = _WRITES[eqn.primitive.name]
            place = _index(eqn, first)
            if place is None and len(operands) > first:  # constants: the first becomes computed
                place = first
            if place is not None:
                index = operands[place]
                zero = b.convert(self.zeros[array], index.aval.dtype)
                zero = b.broadcast_in_dim(zero, index.aval.shape, ())
                operands[place] = b.binary("stablehlo.add", index, zero)
        return eqn.primitive.lower(b, *operands, **eqn.params)

    def _apart(self, b: Any, eqn: Eqn, array: Var, operands: list[Any], index: Any) -> Any:
        given = _scalar(b, index)

        def branch(inner: Any) -> list[Any]:
            return [eqn.primitive.lower(inner, *operands, **eqn.params), given]

        value, same = b.case(b.convert(given, _INT32), [branch, branch])
        zero = b.binary("stablehlo.subtract", same, given)
        zero = b.convert(zero, _INT32)
        before = self.zeros.get(array)
        self.zeros[array] = zero if before is None else b.binary("stablehlo.add", before, zero)
        return value


def _is_small(eqn: Eqn) -> bool:
    """Whether a loop over elements may contain this: it computes little, or changes in place."""
    if eqn.primitive.name in _WRITES or eqn.primitive.kind == "call":
        return True
    return all(v.aval.size <= _ELEMENTS for v in eqn.outputs)


def _is_integer(v: Var) -> bool:
    return not v.aval.shape and v.aval.dtype.kind in "iu"


def _array(eqn: Eqn) -> Any:
    atom = eqn.inputs[0] if eqn.inputs else None
    return atom if isinstance(atom, Var) else None


def _index(eqn: Eqn, first: int = 1) -> int | None:
    """The position of a computed index."""
    for place, atom in enumerate(eqn.inputs[first:], first):
        if isinstance(atom, Var) and atom.aval.size:
            return place
    return None


def _scalar(b: Any, x: Any) -> Any:
    """The first element of an index."""
    n = x.aval.ndim
    return b.reshape(b.slice(x, (0,) * n, (1,) * n, (1,) * n), ()) if n else x
