"""Order the reads and writes of one array in a loop's body, so that XLA writes in place.

XLA recomputes a read wherever its result is used. If one of those uses may come after the array was
written, XLA first copies the whole array, in each round. So we put a read of an array that the loop
also writes into a conditional with two equal branches, and make the write depend on it. The
conditional also returns an index. The difference between that index and the one that went in is
zero; we add it to the start of the write.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from lazynp._jaxpr import Eqn, Jaxpr, Var

_READS = {"slice", "take"}
_WRITES = {"update_slice": 2, "add_slice": 2, "put": 2}  # the operand where the indices begin
_INT32 = np.dtype(np.int32)
_COPIED = 1 << 12  # bytes: copying less than this costs no more than a conditional


class Reads:
    """The reads of one jaxpr that is lowered as the body of a loop."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.eqns: dict[Var, list[Eqn]] = {}  # for each array that is also written: its reads
        # for each array read so far: the zero that its writes depend on
        self.zeros: dict[Var, Any] = {}
        written = {_array(e) for e in jaxpr.eqns if e.primitive.name in _WRITES}
        for eqn in jaxpr.eqns:
            array = _array(eqn)
            if eqn.primitive.name in _READS and array in written and _index(eqn) is not None:
                if array.aval.nbytes >= _COPIED and eqn.outputs[0].aval.size:
                    self.eqns.setdefault(array, []).append(eqn)

        self.makers = {v: e for e in jaxpr.eqns for v in e.outputs} if self.eqns else {}

    def first(self, write: Eqn, known: Container[Any]) -> list[Eqn]:
        """The reads of the written array that can come before this write, each with the equations
        that it needs, except equations whose results are known.
        """
        if write.primitive.name not in _WRITES:
            return []
        found: dict[int, Eqn] = {}
        for read in self.eqns.get(_array(write), ()):
            needed: dict[int, Eqn] = {}
            self._below(read, known, needed)
            if id(write) not in needed:
                found.update(needed)
        return list(found.values())

    def _below(self, eqn: Eqn, known: Container[Any], needed: dict[int, Eqn]) -> None:
        """An equation and its unknown dependencies, in order."""
        if id(eqn) in needed or eqn.outputs[0] in known:
            return
        for atom in eqn.inputs:
            if isinstance(atom, Var) and atom in self.makers:
                self._below(self.makers[atom], known, needed)
        needed[id(eqn)] = eqn

    def lowered(self, b: Any, eqn: Eqn, operands: list[Any]) -> Any:
        """The value or values of an equation that is an isolated read, or a write after one."""
        array = _array(eqn)
        if any(eqn is r for r in self.eqns.get(array, ())):
            return self._apart(b, eqn, array, operands)
        if array in self.zeros and eqn.primitive.name in _WRITES:
            place = _index(eqn, _WRITES[eqn.primitive.name])
            if place is not None:
                index = operands[place]
                zero = b.broadcast_in_dim(self.zeros[array], index.aval.shape, ())
                operands[place] = b.binary("stablehlo.add", index, zero)
        return eqn.primitive.lower(b, *operands, **eqn.params)

    def _apart(self, b: Any, eqn: Eqn, array: Var, operands: list[Any]) -> Any:
        place = _index(eqn)
        assert place is not None
        given = _scalar(b, operands[place])

        def branch(inner: Any) -> list[Any]:
            return [eqn.primitive.lower(inner, *operands, **eqn.params), given]

        value, same = b.case(b.convert(given, _INT32), [branch, branch])
        zero = b.binary("stablehlo.subtract", same, given)
        before = self.zeros.get(array)
        self.zeros[array] = zero if before is None else b.binary("stablehlo.add", before, zero)
        return value


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
