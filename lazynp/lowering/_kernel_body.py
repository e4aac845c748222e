"""The body of a kernel: jaxprs in which values may be memory. A platform says how memory is read
and written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._errors import LoweringError
from lazynp._jaxpr import Eqn, Jaxpr, Literal, Var
from lazynp.lowering._arith import INT64, Arith
from lazynp.lowering._core import Value
from lazynp.lowering._kernel import Block, Kernel
from lazynp.lowering._memory import (
    Memory,
    flattened,
    plus,
    steps,
    times,
    unflattened,
    with_blanks,
    without_blanks,
)

_INT32 = np.dtype(np.int32)


class InMemory(Arith):
    """Emits jaxprs in which values may be memory. Checks, and what only they use, are left out."""

    # -- what a platform does ----------------------------------------------------------------------

    def whole(self, m: Memory) -> Value:
        """The block as a value."""
        raise NotImplementedError

    def part(self, m: Memory, starts: Sequence[Any], **region: Any) -> Value:
        """What the primitive `slice` gives of memory."""
        raise NotImplementedError

    def replaced(self, m: Memory, value: Value, starts: Sequence[Any], **region: Any) -> Memory:
        """What the primitive `update_slice` makes of memory: the part is stored."""
        raise NotImplementedError

    def picked(self, m: Memory, indices: Sequence[Value], axes: Sequence[int]) -> Value:
        """What the primitive `take` gives of memory: the axes of the indices first, then the
        rest.
        """
        raise self.lacks("reading where arrays of indices say")

    def put(self, m: Memory, value: Value, places: Value, mode: str) -> Memory:
        """What the primitive `put` makes of flat memory; what stands behind its end is dropped."""
        raise self.lacks("writing where arrays of indices say")

    # -- equations ---------------------------------------------------------------------------------

    def subjaxpr(self, jaxpr: Jaxpr, operands: Sequence[Any]) -> list[Any]:
        live = _live(jaxpr)
        env: dict[Any, Any] = dict(zip(jaxpr.inputs, operands, strict=True))

        def read(atom: Any) -> Any:
            if isinstance(atom, Literal):
                return self.constant(atom.value, atom.aval.dtype, atom.aval.shape)
            return env[atom]

        for eqn in jaxpr.eqns:
            if id(eqn) not in live:
                continue
            try:
                outs = self._equation(eqn, [read(a) for a in eqn.inputs])
            except LoweringError as error:
                raise error.of(eqn.primitive.name, eqn.where) from None
            env.update(zip(eqn.outputs, outs, strict=True))
        return [read(a) for a in jaxpr.outputs]

    def _equation(self, eqn: Eqn, operands: list[Any]) -> Sequence[Any]:
        name, params = eqn.primitive.name, eqn.params
        if name == "no_derivative":
            return operands
        if name == "scan":
            return self._scan(operands, **params)
        if name == "cond":
            return self._cond(*operands, **params)
        if name == "while":
            fixed = params["consts"]
            operands = [*operands[:fixed], *self.settled(operands[fixed:])]
        elif eqn.primitive.kind != "call":
            if name == "update_slice" and isinstance(operands[1], Memory) and operands[1].writes:
                return (operands[1],)  # what was written is all of the Ref
            operands[1:] = self.settled(operands[1:])
            if operands and isinstance(operands[0], Memory):
                found = self._of_memory(eqn, operands[0], operands[1:])
                if found is not None:
                    return (found,)
            operands = self.settled(operands)
        if name == "update_slice":
            return (self._replaced(*operands, **params),)
        out = eqn.primitive.lower(self, *operands, **params)
        return out if eqn.primitive.multiple_results else (out,)

    def settled(self, operands: Sequence[Any]) -> list[Any]:
        """The operands as values: what is in memory is loaded."""
        return [self.whole(x) if isinstance(x, Memory) else x for x in operands]

    def _cond(self, index: Any, *values: Any, branches: Sequence[Jaxpr]) -> Sequence[Any]:
        if not branches[0].outputs:
            return ()
        (index,) = self.settled([index])
        bodies = [lambda b, j=j: b.settled(b.subjaxpr(j, values)) for j in branches]
        return self.case(self.convert(index, _INT32), bodies)

    def _of_memory(self, eqn: Eqn, m: Memory, rest: list[Any]) -> Any:
        """The value, if the equation reads part of memory; or how else it sees memory."""
        name, params = eqn.primitive.name, eqn.params
        if name == "put" and m.flat and m.writeable and len(rest) == 2:
            return self.put(m, rest[0], rest[1], params["mode"])
        if name == "slice" and m.behind and params["sizes"] == (m.aval.size - m.behind,):
            return without_blanks(m)
        if name == "reshape" and m.flat and not m.behind:
            found = unflattened(m)
            return found if found.aval.shape == params["shape"] else None
        if name == "slice" and not m.flat:
            return self.part(m, rest, **_region(params))
        if name == "take":
            return self.picked(m, rest, params["axes"])
        if name == "reshape" and params["shape"] == (m.aval.size,) and not m.flat:
            return flattened(m) if m.aval.ndim > 1 else m if m.aval.ndim else None
        if name == "concatenate" and len(rest) == 1 and m.aval.ndim == 1 and _is_blank(rest[0], m):
            return with_blanks(flattened(m), rest[0].aval.size)
        if name == "update_slice" and m.writeable:
            if _is_whole(m.aval.shape, rest[1:], params) and not m.writes:
                return self.reshape(rest[0], m.aval.shape)
            return self.replaced(m, rest[0], rest[1:], **_region(params))
        return None

    def _replaced(self, x: Value, u: Value, *starts: Value, **params: Any) -> Value:
        """Writing whole rows of a value is a choice between it and the rows, spread over it."""
        shape, sizes, chosen = x.aval.shape, list(x.aval.shape), None
        for axis, size, start in zip(params["axes"], params["sizes"], starts, strict=True):
            sizes[axis] = size
            if size == shape[axis]:
                continue
            if size != 1:
                raise LoweringError("a store to part of a Ref that is a value, as in a loop")
            here = self._here(shape, axis, start)
            chosen = here if chosen is None else self.and_(chosen, here)
        u = self.reshape(u, tuple(sizes))
        u = self.broadcast_in_dim(u, shape, tuple(range(len(shape))))
        return u if chosen is None else self.select(chosen, u, x)

    def _here(self, shape: tuple[int, ...], axis: int, place: Value) -> Value:
        """Which elements have this place on an axis."""
        places = self.iota((shape[axis],), 0, INT64)
        place = self.broadcast_in_dim(self.convert(place, INT64), places.aval.shape, ())
        return self.broadcast_in_dim(self.compare(places, place, "EQ"), shape, (axis,))

    def _scan(
        self, operands: Sequence[Any], *, jaxpr: Jaxpr, length: int, consts: int, carry: int,
        reverse: bool = False, **_: Any,
    ) -> Sequence[Any]:  # fmt: skip
        fixed, state, xs = (
            operands[:consts], operands[consts : consts + carry], operands[consts + carry :]
        )  # fmt: skip
        if xs or len(jaxpr.outputs) > carry:
            raise self.lacks("stacking rows of values")
        return self.counted(
            length,
            self.settled(state),
            lambda b, _, values: b.settled(b.subjaxpr(jaxpr, [*fixed, *values])),
        )

    def progressing(self, block: Block) -> Value:
        """Data that is a progression, without reading it."""
        assert block.progression is not None
        start, step = block.progression
        places = plus(self, times(self, steps(self, block.aval.size), step), start)
        return self.convert(places, block.aval.dtype)


def _live(jaxpr: Jaxpr) -> set[int]:
    """The equations whose results are needed, by identity; and those with effects."""
    needed: set[Any] = {a for a in jaxpr.outputs if isinstance(a, Var)}
    found: set[int] = set()
    for eqn in reversed(jaxpr.eqns):
        effect = eqn.primitive.kind == "host" and eqn.primitive.name != "check"
        if effect or not needed.isdisjoint(eqn.outputs):
            found.add(id(eqn))
            needed.update(a for a in eqn.inputs if isinstance(a, Var))
    return found


def _region(params: dict[str, Any]) -> dict[str, Any]:
    return {k: params[k] for k in ("axes", "sizes", "strides", "shape")}


def _is_blank(x: Any, m: Memory) -> bool:
    return isinstance(x, Value) and x.static is not None and x.aval.dtype == m.dtype


def _is_whole(shape: tuple[int, ...], starts: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether a region is all of an array, in order."""
    return all(
        n == shape[axis] and (n == 1 or stride == 1)
        for axis, n, stride in zip(params["axes"], params["sizes"], params["strides"], strict=True)
    ) and all(s.static == 0 for s in starts)


def emitted(t: InMemory, kernel: Kernel, ids: Sequence[Any], memories: list[Any]) -> list[Any]:
    """The last values of outputs and scratch. ids: of all axes of the grid; memories: of inputs,
    captured arrays, outputs, scratch.
    """
    n, most = len(kernel.inputs), len(kernel.inputs) + len(kernel.captured)
    for k, block in enumerate(kernel.captured, n):
        if block.progression is not None:
            memories[k] = t.progressing(block)
    own = ids[kernel.extra :]  # that the kernel knows
    given = [*own, *memories[:n], *memories[most:], *memories[n:most]]
    return t.subjaxpr(kernel.jaxpr, given)


def spelled(name: str) -> str:
    """The name as a symbol of MLIR."""
    name = "".join(c if c.isalnum() else "_" for c in name)
    return f"k_{name}" if name[0].isdigit() else name
