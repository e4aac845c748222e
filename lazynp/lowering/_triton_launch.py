"""A kernel as a Triton module, and the custom call that launches it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lazynp._avals import aval_of
from lazynp._errors import LoweringError
from lazynp.lowering._arith import INT32, INT64
from lazynp.lowering._core import Value, Values
from lazynp.lowering._kernel import Block, Kernel, Launched
from lazynp.lowering._kernel_body import emitted, spelled
from lazynp.lowering._memory import Dim, Memory, check_version, known, plus, times
from lazynp.lowering._text import text as quoted
from lazynp.lowering._triton import Triton
from lazynp.lowering._triton_memory import (
    every,
    part,
    picked,
    pointer_text,
    put,
    replaced,
    store,
    whole,
)

_MOST = (2**31 - 1, 65535, 65535)  # programs along x, y, z


class _Body(Triton):
    """The body of a kernel, and how it reads and writes memory."""

    def whole(self, m: Memory) -> Value:
        return whole(self, m)

    def part(self, m: Memory, starts: Sequence[Any], **region: Any) -> Value:
        return part(self, m, starts, **region)

    def replaced(self, m: Memory, value: Value, starts: Sequence[Any], **region: Any) -> Memory:
        return replaced(self, m, value, starts, **region)

    def picked(self, m: Memory, indices: Sequence[Value], axes: Sequence[int]) -> Value:
        return picked(self, m, indices, axes)

    def put(self, m: Memory, value: Value, places: Value, mode: str) -> Memory:
        return put(self, m, value, places, mode)


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
        return t.convert(t.write(f"tt.get_program_id {axis} : i32", aval_of((), INT32)), INT64)

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
        start = plus(t, times(t, known(number), d.step), -d.before)
        dims.append(Dim(d.length, d.size, stride, start, not d.squeezed, d.stands_out))
        stride *= d.length
    for length, axis in block.lead[::-1]:
        dims.append(Dim(length, 1, stride, ids[axis], False, False))
        stride *= length
    is_blank = output >= 0 and output not in kernel.aliases
    dtype, place = block.aval.dtype, tuple(dims[::-1])
    return Memory(block.aval, f"%p{operand}", dtype, place, is_blank, writeable=output >= 0)


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
    outs = memories[len(memories) - len(kernel.outputs) :]
    results = emitted(t, kernel, ids, memories)
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
    if kernel.scratch:
        raise LoweringError("scratch, which programs share one after the other")
    name = spelled(kernel.name)
    text, grid = _module(b, kernel, name)
    b.kernels.append(Launched(name, text, grid))
    x, y, z = grid
    attrs = {
        "name": f'"{name}"', "ir": quoted(text), "num_warps": f"{kernel.warps} : i32",
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
