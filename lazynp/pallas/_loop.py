"""The loop over a grid, of chunks of programs where they are independent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lazynp._array import Array, new_array
from lazynp._jaxpr import Jaxpr
from lazynp.pallas._blocks import View, ids_of
from lazynp.pallas._refs import blanks
from lazynp.pallas._rounds import Chunk, chunk_of, chunks_of
from lazynp.primitives import elementwise
from lazynp.transforms import fori_loop
from lazynp.transforms._stack import node_of
from lazynp.transforms._stage import run_jaxpr

Grid = tuple[int, ...]


def chunked(grid: Grid, ins: Sequence[View], outs: Sequence[View], jaxpr: Jaxpr) -> Chunk:
    """What a round of the loop runs, of a kernel without scratch."""
    return chunk_of(chunks_of(grid, ins, outs, jaxpr), grid, jaxpr)


def looped(
    chunk: Chunk, ins: Sequence[View], outs: Sequence[View], given: Sequence[Array],
    begun: Sequence[Array], scratch: Sequence[Array], captured: Sequence[Array],
    backwards: bool = False,
) -> list[Array]:  # fmt: skip
    """The outputs. The chunk's jaxpr takes program ids, blocks of inputs, of outputs, scratch,
    captured arrays, to blocks of outputs and scratch. begun: the outputs at first.
    """
    inputs = [v.pad(x) for v, x in zip(ins, given, strict=True)]
    count, n = math.prod(chunk.grid), len(inputs)

    def body(number: Any, carry: Any) -> Any:
        held, scratch = carry
        if backwards:
            number = elementwise.subtract(count - 1, number)
        first, ids = chunk.ids(ids_of(number, chunk.grid))
        blocks = [
            chunk.read(k, v, x, v.starts(first))
            for k, (v, x) in enumerate(zip(ins, inputs, strict=True))
        ]
        starts = [v.starts(first) for v in outs]
        for k, (v, x, s) in enumerate(zip(outs, held, starts, strict=True)):
            blocks.append(blank_outside(v, chunk.read(n + k, v, x, s), s, bool(chunk.axes)))
        ids = [i if isinstance(i, Array) else new_array(node_of(i)) for i in ids]
        results = run_jaxpr(chunk.jaxpr, [*ids, *blocks, *scratch, *captured])
        held = [
            chunk.write(n + k, v, x, new, s)
            for k, (v, x, new, s) in enumerate(zip(outs, held, results, starts))
        ]
        return held, results[len(held) :]

    carry = [v.pad(x) for v, x in zip(outs, begun, strict=True)], list(scratch)
    held, _ = body(0, carry) if count == 1 else fori_loop(0, count, body, carry)
    return [v.crop(x) for v, x in zip(outs, held, strict=True)]


def blank_outside(view: View, block: Array, starts: Sequence[Any], whole: bool) -> Array:
    """A block of an output without what an earlier program wrote outside of the array. whole: no
    earlier program had this block.
    """
    inside = None if whole or not view.stands_out else view.inside(starts)
    if inside is None:
        return block
    return elementwise.select(inside, block, blanks(view.ref_shape, view.dtype))
