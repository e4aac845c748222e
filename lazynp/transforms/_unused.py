"""Operations on sizes whose results nothing uses: they may still be errors of a call.

`x.max()` of an empty array, or a negative size, is NumPy's error also where the result is dropped.
No program contains such operations, so their types are inferred at each new size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._avals import Aval, SizedAval, aval_of
from lazynp._dataclass import dataclass
from lazynp._extents import mapped
from lazynp._form import depth_first
from lazynp._node import ARGS, OP, VALUE, Node, Op
from lazynp._recorder import StagingRecorder
from lazynp._sizes import Atom, Size, bounds
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._sizing import DECIDED, Values, atoms_of, numbered


@dataclass(frozen=True)
class Unused:
    """An operation that fails for some sizes. atoms: the variables that decide that."""

    op: Op
    atoms: frozenset[Atom]

    def check(self, numbers: Values) -> None:
        """Raise NumPy's error, if it is one where the sizes have these values."""
        op = self.op
        params = {k: numbered(p, numbers) for k, p in op.params.items()}
        out = op.primitive.abstract(*[_with(a, numbers) for a in op.explicit], **params)
        for a in (*(out if op.primitive.multiple_results else (out,)),):
            if any([n < 0 for n in a.shape]):
                raise ValueError("negative dimensions are not allowed")


def _with(aval: Aval, numbers: Values) -> Aval:
    if type(aval) is not SizedAval:
        return aval
    shape = mapped(aval.shape, numbers)
    if any([n < 0 for n in shape]):
        raise ValueError("negative dimensions are not allowed")
    return aval_of(shape, aval.dtype, aval.weak)


def unused(recorder: StagingRecorder, roots: Sequence[Node]) -> list[Unused]:
    """Those that a function has recorded, and that these results do not need."""
    needed: set[int] = set()
    for root in roots:
        if id(root) not in needed and root[OP] is not None:
            depth_first(root, needed, [])
    given, found = _given(recorder), []
    for node in recorder.pending:
        op = node[OP]
        if op is not None and op.sized and node[VALUE] is None and id(node) not in needed:
            if _may_fail(op, given):
                atoms: set[Atom] = set()
                atoms_of((*[a.shape for a in op.explicit], *op.params.values()), atoms)
                found.append(Unused(op, frozenset(atoms)))
    return found


def _given(recorder: StagingRecorder) -> set[Atom]:
    """Sizes that are integers among the arguments, or elements of arguments."""
    inputs = {*map(id, recorder.inputs)}
    made = [] if recorder.sizes is None else recorder.sizes.made
    return {a for a in made if _is_given(a.place._node, inputs)}


def _is_given(node: Node, inputs: set[int]) -> bool:
    while id(node) not in inputs:
        op, args = node[OP], node[ARGS]
        if op is None or op.primitive not in (elementwise.convert, shaping.slice):
            return False
        node = args[0]
    return True


def _may_fail(op: Op, given: set[Atom]) -> bool:
    """given: they count as not negative where they became a size, but a call may have others."""
    primitive = op.primitive
    if primitive.kind in ("call", "host", "project"):
        return False
    outs = op.aval if primitive.multiple_results else (op.aval,)
    if any(_may_be_negative(n, given) for a in outs for n in a.shape):
        return True
    return primitive.kind != "elementwise" and primitive.name not in DECIDED


def _may_be_negative(n: Any, given: set[Atom]) -> bool:
    if type(n) is not Size:
        return False
    low = bounds(n)[0]
    return low is None or low < 0 or not given.isdisjoint(n.atoms())
