"""A kernel as a Triton module, and the custom call that launches it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lazynp._avals import aval_of
from lazynp._errors import LoweringError
from lazynp._jaxpr import Eqn, Jaxpr, Literal, Var
from lazynp.lowering._core import Value, Values
from lazynp.lowering._kernel import Block, Kernel, Launched
from lazynp.lowering._triton import INT64, Triton
from lazynp.lowering._triton_memory import (
    Dim,
    Memory,
    check_version,
    every,
    flattened,
    part,
    picked,
    plus,
    pointer_text,
    put,
    replaced,
    store,
    times,
    unflattened,
    whole,
    with_blanks,
    without_blanks,
)

_INT32 = np.dtype(np.int32)
_MOST = (2**31 - 1, 65535, 65535)  # programs along x, y, z


class _Body(Triton):
    """Emits jaxprs in which values may be memory. Checks, and what only they use, are left out."""

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
                raise error.of(eqn.primitive.name) from None
            env.update(zip(eqn.outputs, outs, strict=True))
        return [read(a) for a in jaxpr.outputs]

    def _equation(self, eqn: Eqn, operands: list[Any]) -> Sequence[Any]:
        name, params = eqn.primitive.name, eqn.params
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
        return [whole(self, x) if isinstance(x, Memory) else x for x in operands]

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
            return put(self, m, rest[0], rest[1], params["mode"])
        if name == "slice" and m.behind and params["sizes"] == (m.aval.size - m.behind,):
            return without_blanks(m)
        if name == "reshape" and m.flat and not m.behind:
            found = unflattened(m)
            return found if found.aval.shape == params["shape"] else None
        if name == "slice" and not m.flat:
            return part(self, m, rest, **_region(m, params))
        if name == "take":
            return picked(self, m, rest, params["axes"])
        if name == "reshape" and params["shape"] == (m.aval.size,) and not m.flat:
            return flattened(m) if m.aval.ndim > 1 else m if m.aval.ndim else None
        if name == "concatenate" and len(rest) == 1 and m.aval.ndim == 1 and _is_blank(rest[0], m):
            return with_blanks(flattened(m), rest[0].aval.size)
        if name == "update_slice" and m.writeable:
            if _is_whole(m.aval.shape, rest[1:], params) and not m.writes:
                return self.reshape(rest[0], m.aval.shape)
            return replaced(self, m, rest[0], rest[1:], **params)
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
            places = self.iota((shape[axis],), 0, INT64)
            start = self.broadcast_in_dim(self.convert(start, INT64), places.aval.shape, ())
            here = self.broadcast_in_dim(self.compare(places, start, "EQ"), shape, (axis,))
            chosen = here if chosen is None else self.and_(chosen, here)
        u = self.reshape(u, tuple(sizes))
        u = self.broadcast_in_dim(u, shape, tuple(range(len(shape))))
        return u if chosen is None else self.select(chosen, u, x)

    def _scan(
        self, operands: Sequence[Any], *, jaxpr: Jaxpr, length: int, consts: int, carry: int,
        reverse: bool = False, **_: Any,
    ) -> Sequence[Any]:  # fmt: skip
        fixed, state, xs = (
            operands[:consts], operands[consts : consts + carry], operands[consts + carry :]
        )  # fmt: skip
        if xs or len(jaxpr.outputs) > carry:
            raise LoweringError("Triton has no operation that stacks rows of values")
        return self.counted(
            length,
            self.settled(state),
            lambda b, _, values: b.settled(b.subjaxpr(jaxpr, [*fixed, *values])),
        )


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


def _region(m: Memory, params: dict[str, Any]) -> dict[str, Any]:
    return {k: params[k] for k in ("axes", "sizes", "strides", "shape")}


def _is_blank(x: Any, m: Memory) -> bool:
    return isinstance(x, Value) and x.static is not None and x.aval.dtype == m.dtype


def _is_whole(shape: tuple[int, ...], starts: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether a region is all of an array, in order."""
    return all(
        n == shape[axis] and (n == 1 or stride == 1)
        for axis, n, stride in zip(params["axes"], params["sizes"], params["strides"], strict=True)
    ) and all(s.static == 0 for s in starts)


# -- the module ------------------------------------------------------------------------------------


def _grid(grid: tuple[int, ...]) -> tuple[int, int, int]:
    """What is launched: up to three axes as they are, otherwise all on one."""
    if len(grid) <= 3 and all(n <= most for n, most in zip(grid, _MOST, strict=False)):
        x, y, z = (*grid, 1, 1, 1)[:3]
        return x, y, z
    count = math.prod(grid)
    if count > _MOST[0]:
        raise LoweringError(f"a grid of {count} programs")
    return count, 1, 1


def _ids(t: Triton, grid: tuple[int, ...], launched: tuple[int, int, int]) -> list[Any]:
    """The program ids as int64 scalars; 0 where an axis has one program."""

    def asked(axis: str) -> Value:
        return t.convert(t.write(f"tt.get_program_id {axis} : i32", aval_of((), _INT32)), INT64)

    if launched == (*grid, 1, 1, 1)[:3] and len(grid) <= 3:
        return [asked("xyz"[k]) if n > 1 else t.constant(0, INT64) for k, n in enumerate(grid)]
    rest, found = asked("x"), []
    for n in reversed(grid):
        size = t.constant(n, INT64)
        found.append(t.binary("remainder", rest, size))
        rest = t.binary("divide", rest, size)
    return found[::-1]


def _memory(t: _Body, block: Block, operand: int, ids: Sequence[Any], kernel: Kernel) -> Memory:
    """The operand at this place: inputs, captured arrays, outputs. ids: of all axes."""
    output = operand - len(kernel.inputs) - len(kernel.captured)
    own = ids[kernel.extra :]  # that the kernel knows
    dims: list[Dim] = []
    numbers: Sequence[Any] = [0] * len(block.dims)
    if block.maps is not None:
        numbers = t.subjaxpr(block.maps, own)
    stride = 1
    for d, number in zip(block.dims[::-1], numbers[::-1], strict=True):
        if isinstance(number, Value) and number.static is not None:
            number = int(number.static)
        start = plus(t, times(t, number, d.step), -d.before)
        dims.append(Dim(d.length, d.size, stride, start, not d.squeezed, d.stands_out))
        stride *= d.length
    for length, axis in block.lead[::-1]:
        dims.append(Dim(length, 1, stride, ids[axis], False, False))
        stride *= length
    is_blank = output >= 0 and output not in kernel.aliases
    dtype, place = block.aval.dtype, tuple(dims[::-1])
    return Memory(block.aval, f"%p{operand}", dtype, place, is_blank, writeable=output >= 0)


def _progressing(t: Triton, block: Block) -> Value:
    """Data that is a progression, without reading it."""
    assert block.progression is not None
    start, step = block.progression
    steps = times(t, t.iota(block.aval.shape, 0, INT64), step)
    return t.convert(plus(t, steps, start), block.aval.dtype)


def _finish(t: _Body, m: Memory, value: Any, block: Block) -> None:
    """Store an output's last value, unless it is in memory."""
    here = value if isinstance(value, Memory) and value.pointer == m.pointer else None
    how = here.writes if here is not None else "stores"
    if how != "atomics" and block.revisited():
        text = "several programs write the same block of an output: they would run at once"
        raise LoweringError(text)
    if how == "atomics" and m.blank:
        raise LoweringError("atomics on an output that is not the alias of an input")
    if here is not None:
        check_version(t, here)
        if here.writes or not m.blank:
            return
    (value,) = t.settled([value])
    store(t, replace(m, blank=False, version=t.written.get(m.pointer, 0)), every(t, m), value)


def _module(b: Any, kernel: Kernel, name: str) -> tuple[str, tuple[int, int, int]]:
    t = _Body(b.platform)
    launched = _grid(kernel.grid)
    ids = _ids(t, kernel.grid, launched)
    blocks = (*kernel.inputs, *kernel.captured, *kernel.outputs)
    memories: list[Any] = [_memory(t, x, k, ids, kernel) for k, x in enumerate(blocks)]
    n = len(kernel.inputs)
    for k, block in enumerate(kernel.captured, n):
        if block.progression is not None:
            memories[k] = _progressing(t, block)
    given, outs = memories[: len(blocks) - len(kernel.outputs)], memories[-len(kernel.outputs) :]
    own = ids[kernel.extra :]
    results = t.subjaxpr(kernel.jaxpr, [*own, *given[:n], *outs, *given[n:]])
    for m, value, block in zip(outs, results, kernel.outputs, strict=False):
        _finish(t, m, value, block)
    args = ", ".join(
        f"%p{k}: {pointer_text(x.aval.dtype)} {{tt.divisibility = 16 : i32}}"
        for k, x in enumerate(blocks)
        if x.progression is None
    )
    text = (
        f"module {{\ntt.func public @{name}({args}) attributes {{noinline = false}} {{\n"
        f"{t.text()}\ntt.return\n}}\n}}\n"
    )
    return text, launched


def launch(b: Any, kernel: Kernel, values: Values) -> list[Value]:
    """The outputs of a kernel for these inputs and captured arrays."""
    if kernel.reason:
        raise LoweringError(f"{kernel.name}: {kernel.reason}")
    name = "".join(c if c.isalnum() else "_" for c in kernel.name)
    name = f"k_{name}" if name[0].isdigit() else name
    try:
        text, grid = _module(b, kernel, name)
    except LoweringError as error:
        raise LoweringError(f"{kernel.name}: {error}") from None
    b.kernels.append(Launched(name, text, grid))
    escaped = text.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A")
    x, y, z = grid
    attrs = {
        "name": f'"{name}"', "ir": f'"{escaped}"', "num_warps": f"{kernel.warps} : i32",
        "num_stages": f"{kernel.stages} : i32", "grid_x": f"{x} : i32", "grid_y": f"{y} : i32",
        "grid_z": f"{z} : i32", "debug": "false",
    }  # fmt: skip
    outs = [
        aval_of((*(n for n, _ in o.lead), *(d.length for d in o.dims)), o.aval.dtype)
        for o in kernel.outputs
    ]
    blocks = (*kernel.inputs, *kernel.captured)
    given = [x for x, block in zip(values, blocks, strict=True) if block.progression is None]
    return b.custom_call(
        "__gpu$xla.gpu.triton", given, outs, attrs=attrs, aliases=kernel.aliases
    )  # fmt: skip
