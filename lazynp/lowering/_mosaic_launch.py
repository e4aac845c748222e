"""A kernel as a Mosaic module, and the custom call that launches it."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from lazynp._avals import Aval, aval_of
from lazynp._dataclass import dataclass, replace
from lazynp._errors import LoweringError
from lazynp.lowering._arith import INT32, INT64
from lazynp.lowering._core import Value, Values
from lazynp.lowering._kernel import Block, BlockDim, Kernel, Launched
from lazynp.lowering._kernel_body import emitted, spelled
from lazynp.lowering._memory import Dim, Memory, blank, check_version, known, plus, times
from lazynp.lowering._mlir import serialized
from lazynp.lowering._mosaic import Mosaic
from lazynp.lowering._mosaic_memory import InVmem, memory_kind
from lazynp.lowering._text import ints

_TILE = (8, 128)  # rows and columns


# -- operands --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Operand:
    """An array that the kernel is given. dims: of one block, those of vmap first; with fewer than
    two of its own, a scalar, or a row for each example, has axes of size 1 in front.
    """

    name: str
    what: str
    block: Block
    added: int  # axes of size 1, behind those of vmap

    @property
    def dims(self) -> tuple[BlockDim, ...]:
        lead = [BlockDim(n, 1, 1, squeezed=True) for n, _ in self.block.lead]
        return (*lead, *[BlockDim(1, 1, 1, squeezed=True)] * self.added, *self.block.dims)

    @property
    def array(self) -> Aval:
        return aval_of(tuple(d.length for d in self.dims), self.block.aval.dtype)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(d.size for d in self.dims)

    @property
    def is_window(self) -> bool:
        """Whether its blocks are counted in elements."""
        return any(d.step != d.size or d.before or d.after for d in self.dims)

    @property
    def kind(self) -> str:
        return memory_kind(self.sizes, self.block)

    def check(self) -> None:
        """LoweringError for a block that is no tile."""
        dims = self.dims[-2:]
        units = _TILE if len(dims) == 2 else (128 * 4 // self.block.aval.dtype.itemsize,)
        if self.block.space == "smem":
            return
        if any(d.size != d.length and d.size % n for d, n in zip(dims, units, strict=True)):
            raise LoweringError(
                f"{self.what}: the last two dimensions of a block must be multiples of 8 and 128 "
                f"(one of an array with one axis, of {units[-1]}), or whole; got a block "
                f"{self.sizes} of an array {self.array.shape}"
            )


def _operand(name: str, what: str, block: Block) -> _Operand:
    own = len(block.dims)
    return _Operand(name, what, block, 2 - own if own < 2 and (block.lead or not own) else 0)


def _operands(kernel: Kernel) -> tuple[list[_Operand], dict[int, int]]:
    """Inputs, captured arrays, what outputs begin as, outputs; and for each alias the place of
    the last but one, which may be an input: if the blocks are the same.
    """
    found = [_operand("", f"input {k}", x) for k, x in enumerate(kernel.inputs)]
    found += [_operand("", f"captured array {k}", x) for k, x in enumerate(kernel.captured)]
    begun = {}
    for out, given in kernel.aliases.items():
        begun[out] = given
        if not _same(kernel.inputs[given], kernel.outputs[out]):
            begun[out] = len(found)
            found.append(_operand("", f"what output {out} begins as", kernel.outputs[out]))
    found += [_operand("", f"output {k}", x) for k, x in enumerate(kernel.outputs)]
    return [replace(x, name=f"%p{k}") for k, x in enumerate(found)], begun


def _same(x: Block, y: Block) -> bool:
    """Whether each program gets the same block of both."""
    return (x.dims, x.lead, str(x.maps), x.space) == (y.dims, y.lead, str(y.maps), y.space)


def _numbers(t: Mosaic, x: _Operand, ids: Sequence[Value], extra: int) -> list[Any]:
    """The number of a program's block on each dimension."""
    numbers: Sequence[Any] = [0] * len(x.block.dims)
    if x.block.maps is not None:
        numbers = t.subjaxpr(x.block.maps, ids[extra:])
    lead = [ids[axis] for _, axis in x.block.lead]
    return [*lead, *[0] * x.added, *map(known, numbers)]


def _memory(t: Mosaic, x: _Operand, ids: Sequence[Value], kernel: Kernel, output: int) -> Memory:
    """The block of an operand. output: its number, negative for inputs."""
    starts: Sequence[Any] = [0] * len(x.dims)
    if any(d.stands_out for d in x.dims):
        starts = [
            plus(t, times(t, n, d.step), -d.before)
            for n, d in zip(_numbers(t, x, ids, kernel.extra), x.dims, strict=True)
        ]
    dims = tuple(
        Dim(d.length, d.size, 0, start, not d.squeezed, d.stands_out)
        for d, start in zip(x.dims, starts, strict=True)
    )
    is_blank = output >= 0 and output not in kernel.aliases and not x.block.revisited()
    return Memory(
        x.block.aval, x.name, x.block.aval.dtype, dims, is_blank,
        writeable=output >= 0,
    )  # fmt: skip


def _scratch(name: str, block: Block) -> Memory:
    dims = tuple(Dim(d.length, d.size, 0, 0, True, False) for d in block.dims)
    return Memory(block.aval, name, block.aval.dtype, dims, writeable=True)


# -- the body --------------------------------------------------------------------------------------


def _finish(t: InVmem, m: Memory, value: Any) -> None:
    """Store the last value of an output or of scratch, unless it is in memory."""
    if isinstance(value, Memory) and value.pointer == m.pointer:
        check_version(t, value)
        if not m.blank:
            t.keep(m)
        if value.writes or not m.blank:
            return
    (value,) = t.settled([value])
    t.store(replace(m, blank=False, version=t.written.get(m.pointer, 0)), value)


def _is_first(t: InVmem, x: _Operand, ids: Sequence[Value], kernel: Kernel) -> Value:
    """Whether the program before had another block, or there was none."""
    number: Any = 0
    for i, n in zip(ids, kernel.grid, strict=True):
        number = plus(t, times(t, number, n), i)
    first = t.compare(number, t.constant(0, INT64), "EQ")
    rest, before = plus(t, number, -1), []
    for n in reversed(kernel.grid):
        size = t.constant(n, INT64)
        before.append(t.binary("remainder", rest, size))
        rest = t.binary("divide", rest, size)
    now, then = (_numbers(t, x, i, kernel.extra) for i in (ids, before[::-1]))
    for a, b in zip(now, then, strict=True):
        if isinstance(a, Value):
            first = t.binary("or", first, t.compare(a, b, "NE"))
    return first


def _beginning(t: InVmem, memories: Sequence[tuple[Memory, Any, Any]], ids: Sequence[Value]) -> str:
    """What is stored before a kernel runs: blanks, or inputs, where it changes only part of memory
    or reads it first. memories: with what they begin as, and when, if not always.
    """
    p = t.inner()
    for m, source, when in memories:
        if m.pointer not in t.kept:
            continue

        def fill(b: Any, m: Memory = m, source: Any = source) -> list[Value]:
            value = b.constant(blank(m.dtype), m.dtype, m.aval.shape)
            b.store(replace(m, version=b.written.get(m.pointer, 0)),
                    value if source is None else b.whole(source))  # fmt: skip
            return []

        if when is None:
            fill(p)
        else:
            p.if_(when(p), fill, lambda b: [])
    return p.text()


def _body(t: InVmem, kernel: Kernel, ids: list[Value]) -> str:
    operands, begun = _operands(kernel)
    first = len(operands) - len(kernel.outputs)
    memories = [
        _memory(t, x, ids, kernel, k - first if k >= first else -1) for k, x in enumerate(operands)
    ]
    t.spaces.update({x.name: x.block.space for x in operands})
    for x in operands[first:]:
        if x.block.returned():
            raise LoweringError(f"{x.what}: programs come back to a block after another one")
    t.begun.update(operands[first + o].name for o in kernel.aliases)
    scratch = [_scratch(f"%s{k}", x) for k, x in enumerate(kernel.scratch)]
    t.spaces.update({m.pointer: x.space for m, x in zip(scratch, kernel.scratch, strict=True)})
    given = memories[: len(kernel.inputs) + len(kernel.captured)]
    outs = [*memories[first:], *scratch]
    results = emitted(t, kernel, ids, [*given, *outs])
    for m, value in zip(outs, results, strict=True):
        _finish(t, m, value)

    def start(b: Any) -> Value:  # of the grid that the kernel knows
        number: Any = 0
        for i in ids[kernel.extra :]:
            number = b.binary("or", number, i) if isinstance(number, Value) else i
        return b.compare(number, b.constant(0, INT64), "EQ")

    filled = []
    for k, m in enumerate(memories[first:]):
        x = operands[first + k]
        when = (lambda b, x=x: _is_first(b, x, ids, kernel)) if x.block.revisited() else None
        filled.append((m, memories[begun[k]] if k in begun else None, when))
    filled += [(m, None, start if kernel.grid else None) for m in scratch]
    return _beginning(t, filled, ids) + "\n" + t.text()


# -- the module ------------------------------------------------------------------------------------


def _transform(b: Any, kernel: Kernel, x: _Operand, name: str, ids: list[Value]) -> str:
    """The function from program ids to block numbers, or to first elements."""
    t = Mosaic(b.platform)
    numbers = [
        times(t, n, d.size) if x.is_window and d.step != 1 else n
        for n, d in zip(_numbers(t, x, ids, kernel.extra), x.dims, strict=True)
    ]
    names = [t.use(n if isinstance(n, Value) else t.constant(n, INT32)) for n in numbers]
    types = ", ".join(["i32"] * len(names))
    return (
        f"func.func @{name}({_head(ids)}) -> ({types}) {{\n{t.text()}\n"
        f"return {', '.join(names)} : {types}\n}}\n"
    )


def _head(ids: Sequence[Value]) -> str:
    return ", ".join(f"{i.name}: i32" for i in ids)


def _window(x: _Operand, name: str) -> str:
    text = f"transform_indices = @{name}, window_bounds = {ints(x.sizes)}"
    if x.is_window:
        low, high = [d.before for d in x.dims], [d.after for d in x.dims]
        text += f", window_kind = #tpu.element_window<{low}, {high}>"
    return f"{{{text}}}"


def _module(b: Any, kernel: Kernel, name: str) -> tuple[str, tuple[int, ...]]:
    grid = kernel.grid or (1,)
    ids = [Value(f"%i{k}", aval_of((), INT64)) for k in range(len(grid))]
    t = InVmem(b.platform)
    operands = [x for x in _operands(kernel)[0] if x.block.progression is None]
    for x in operands:
        x.check()
    body = _body(t, kernel, ids[: len(kernel.grid)])
    own = kernel.semantics or ["arbitrary"] * (len(grid) - kernel.extra)
    kinds = [*["parallel"] * kernel.extra, *own]
    semantics = ", ".join(f"#tpu.dimension_semantics<{s}>" for s in kinds)
    names = [f"transform_{k}" for k in range(len(operands))]
    windows = ", ".join(map(_window, operands, names))
    blocks = [f"{x.name}: {x.kind}" for x in operands]
    blocks += [
        f"%s{k}: {memory_kind(tuple(d.size for d in x.dims), x)}"
        for k, x in enumerate(kernel.scratch)
    ]
    functions = "".join(
        _transform(b, kernel, x, n, ids) for x, n in zip(operands, names, strict=True)
    )
    return (
        f"module {{\nfunc.func @{name}({', '.join([_head(ids), *blocks])}) attributes {{"
        f"dimension_semantics = [{semantics}], iteration_bounds = {ints(grid)}, "
        f"scalar_prefetch = 0 : i64, scratch_operands = {len(kernel.scratch)} : i64, "
        f"tpu.core_type = #tpu.core_type<tc>, window_params = [{windows}]}} {{\n"
        f"{body}\nreturn\n}}\n{functions}}}\n"
    ), grid


def launch(b: Any, kernel: Kernel, values: Values) -> list[Value]:
    """The outputs of a kernel for these inputs and captured arrays."""
    name = spelled(kernel.name)
    text, grid = _module(b, kernel, name)
    b.kernels.append(Launched(name, text, grid))
    operands, begun = _operands(kernel)
    last = len(operands) - len(kernel.outputs)
    given = [*values, *[values[kernel.aliases[o]] for o, k in begun.items() if k >= len(values)]]
    places = [k for k, x in enumerate(operands[:last]) if x.block.progression is None]
    config = {
        "custom_call_config": {
            "body": base64.b64encode(serialized(text)).decode(), "needs_layout_passes": True,
            "serialization_format": 1,
        }
    }  # fmt: skip
    outs = operands[last:]
    results = b.custom_call(
        "tpu_custom_call",
        [b.reshape(given[k], operands[k].array.shape) for k in places],
        [x.array for x in outs],
        config=json.dumps(config),
        aliases={o: places.index(k) for o, k in begun.items()},
    )
    return [
        b.reshape(
            v, x.array.shape[: len(x.block.lead)] + x.array.shape[len(x.block.lead) + x.added :]
        )
        for v, x in zip(results, outs, strict=True)
    ]
