"""What platforms that launch kernels need of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import aval_of
from lazynp._node import OP, VALUE
from lazynp.lowering._kernel import Block, BlockDim, Kernel
from lazynp.pallas._blocks import View
from lazynp.pallas._rounds import covers, returned, revisited
from lazynp.pallas._specs import SMEM
from lazynp.transforms._stage import Program, close


def launchable(call: Any, staged: Program, captured: Sequence[Array]) -> Kernel:
    """The call as a kernel; its `reason` says why it is one that cannot be launched."""
    kernel = call.kernel
    data = [None] * len(staged.owners) + [n[VALUE] if n[OP] is None else None for n in staged.nodes]
    views = [*call.ins, *call.outs]
    maps = any(d.numbers is None for v in views for d in v.dims)
    return Kernel(
        name=kernel.name,
        jaxpr=staged.jaxpr,
        grid=kernel.grid,
        inputs=tuple(_block(v, kernel.grid) for v in call.ins),
        outputs=tuple(_block(v, kernel.grid) for v in call.outs),
        scratch=tuple(map(_scratch, kernel.scratch)),
        semantics=tuple(kernel.params.dimension_semantics or ()),
        captured=tuple(_whole(x, d) for x, d in zip(captured, data, strict=True)),
        aliases={o: i for i, o in kernel.aliases.items()},
        warps=kernel.params.num_warps,
        stages=kernel.params.num_stages,
        reason="an index map reads an array" if maps else "",
    )


def _block(view: View, grid: tuple[int, ...]) -> Block:
    dims = tuple(
        BlockDim(d.length, d.size, d.step, *d.padding, d.squeezed, any(d.margins))
        for d in view.dims
    )
    maps = view.maps
    if maps is not None and any(d.numbers is None for d in view.dims):
        maps = None  # it reads an array
    return Block(
        aval_of(view.ref_shape, view.dtype), dims, maps and close(maps), space=_space(view.space),
        revisited=lambda: revisited(view, grid), returned=lambda: returned(view, grid),
        covers=lambda: covers(view, grid), view=view,
    )  # fmt: skip


def _scratch(like: Any) -> Block:
    dims = tuple(BlockDim(n, n, n) for n in like.shape)
    space = _space(getattr(like, "memory_space", None))
    return Block(aval_of(tuple(like.shape), np.dtype(like.dtype)), dims, space=space)


def _space(space: Any) -> str:
    return "smem" if space == SMEM else "vmem"


def _whole(x: Array, data: Any) -> Block:
    """An array from outside. data: what it always is, as that of a small `arange`."""
    dims = tuple(BlockDim(n, n, n) for n in x.shape)
    steps = _progression(data) if isinstance(data, np.ndarray) else None
    return Block(aval_of(x.shape, x.dtype), dims, progression=steps)


def _progression(x: np.ndarray[Any, Any]) -> tuple[int, int] | None:
    if x.ndim != 1 or x.size < 2 or x.dtype.kind not in "iuf" or not np.isfinite(x[:2]).all():
        return None
    start, step = int(x[0]), int(x[1]) - int(x[0])
    return (start, step) if (x == start + step * np.arange(x.size)).all() else None
