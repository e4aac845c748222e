"""How the programs of a call run: one after the other, or several at once.

Programs that differ only in their place on an axis of the grid are independent, if the blocks of
all outputs follow that place one to one. A chunk of such programs runs as one, mapped by `batch`:
its blocks are neighbours, so that together they are one larger block. Estimates in one table say
how many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._dataclass import dataclass
from lazynp._jaxpr import Jaxpr, jaxprs_in
from lazynp.pallas._blocks import Dim, View
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._stage import batch_jaxpr

# Bytes of blocks that a chunk may have. On the machine that this was measured on, 2^17 to 2^20 made
# little difference for softmax, layer norm, attention and products; beyond, temporaries leave the
# cache, and below, small programs take as long as the loop.
_CHUNK = 1 << 19

# Products (multiplications and additions) of one contraction in a chunk. From 2^23 on, XLA divides
# those of a batch among threads, one matrix at a time, and to wake a thread takes longer than a
# small matrix: 4096 products of 32 in batches of 64, 128, 256 took 8.4, 24, 15 ms, and one by one
# 11; 64 of 128 took 3.3 one by one, 4.1 by 2, 7.5 by 4; attention 5.6 one by one, 3.6 by 8, 6.3
# by 16.
_PRODUCTS = 1 << 22


@dataclass(frozen=True)
class Axis:
    """An axis of the grid whose programs run in chunks."""

    axis: int
    count: int  # programs in a chunk
    dims: tuple[int | None, ...]  # for each operand: the dimension that follows the axis


def chunks_of(
    grid: tuple[int, ...], ins: Sequence[View], outs: Sequence[View], jaxpr: Jaxpr
) -> list[Axis]:
    """The axes on which programs run in chunks, first axis first."""
    views = [*ins, *outs]
    if _has_order(jaxpr) or any(d.numbers is None for v in views for d in v.dims):
        return []
    if not outs or any(v.stands_out and revisited(v, grid) for v in outs):
        return []
    sizes = [math.prod(v.ref_shape) * v.dtype.itemsize for v in views]
    found: list[Axis] = []
    products = _products(jaxpr)
    for axis in reversed(range(len(grid))):
        dims = _followers(views, len(ins), axis, grid, found)
        if dims is None:
            continue
        moving = sum(n for n, d in zip(sizes, dims, strict=True) if d is not None)
        most = min(grid[axis], (_CHUNK - sum(sizes) + moving) // max(1, moving))
        most = min(most, _PRODUCTS // products) if products else most
        count = max((c for c in range(1, most + 1) if grid[axis] % c == 0), default=1)
        if count > 1:
            found.append(Axis(axis, count, dims))
            products *= count
            sizes = [n if d is None else n * count for n, d in zip(sizes, dims, strict=True)]
    return found[::-1]


def _products(jaxpr: Jaxpr) -> int:
    """Multiplications and additions of the contraction that has most of them."""
    most = 0
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in ("dot_general", "dot_no_nan"):
            (contracted, _), _ = eqn.params["dimension_numbers"]
            shape = eqn.inputs[0].aval.shape
            most = max(most, 2 * eqn.outputs[0].aval.size * math.prod(shape[k] for k in contracted))
        most = max(most, *map(_products, jaxprs_in(eqn.params)), 0)
    return most


def _has_order(jaxpr: Jaxpr) -> bool:
    """Whether it is called for more than its results and checks, as to print."""
    return any(
        eqn.primitive.kind == "host" and eqn.primitive.name != "check" and eqn.params["effect"]
        or any(map(_has_order, jaxprs_in(eqn.params)))
        for eqn in jaxpr.eqns
    )  # fmt: skip


def revisited(view: View, grid: tuple[int, ...]) -> bool:
    """Whether several programs may get the same block, or overlapping ones."""
    count = math.prod(grid)
    if not view.dims:
        return count > 1
    firsts = [_on_grid(d, grid).reshape(count) for d in view.dims]
    apart = all(d.step == d.size for d in view.dims)
    return not apart or len(np.unique(np.stack(firsts), axis=1).T) < count


def covers(view: View, grid: tuple[int, ...]) -> bool:
    """Whether the blocks, no two of which overlap, are all of the array."""
    size = math.prod(d.size for d in view.dims)
    return math.prod(grid) * size == math.prod(d.length for d in view.dims)


def returned(view: View, grid: tuple[int, ...]) -> bool:
    """Whether programs come back to a block after another program had another one. Blocks that
    overlap are not told apart.
    """
    count = math.prod(grid)
    if not view.dims or not revisited(view, grid):
        return False
    firsts = np.stack([_on_grid(d, grid).reshape(count) for d in view.dims])
    changes = int((firsts[:, 1:] != firsts[:, :-1]).any(axis=0).sum())
    return changes >= len(np.unique(firsts, axis=1).T)


def _followers(
    views: Sequence[View], inputs: int, axis: int, grid: tuple[int, ...], before: Sequence[Axis]
) -> tuple[int | None, ...] | None:
    """For each operand, the dimension whose blocks follow an axis one to one. None if the programs
    on this axis cannot run at once.
    """
    found: list[int | None] = []
    for i, view in enumerate(views):
        moving = [k for k, d in enumerate(view.dims) if _varies(d, axis, grid)]
        taken = [a.dims[i] for a in before]
        if not moving and i < inputs:
            found.append(None)
        elif len(moving) != 1 or moving[0] in taken:
            return None
        elif not _follows(view.dims[moving[0]], axis, grid, alone=i >= inputs):
            return None
        else:
            found.append(moving[0])
    return tuple(found)


def _on_grid(dim: Dim, grid: tuple[int, ...]) -> np.ndarray[Any, Any]:
    numbers = dim.numbers
    assert numbers is not None
    return np.broadcast_to(numbers, (math.prod(grid),)).reshape(grid)


def _varies(dim: Dim, axis: int, grid: tuple[int, ...]) -> bool:
    first = _on_grid(dim, grid)
    return bool((first != first.take([0], axis)).any())


def _follows(dim: Dim, axis: int, grid: tuple[int, ...], alone: bool) -> bool:
    """Whether the next program on the axis has the next block. alone: and no other axis matters."""
    shape = [1] * len(grid)
    shape[axis] = grid[axis]
    rest = _on_grid(dim, grid) - dim.size * np.arange(grid[axis]).reshape(shape)
    return bool((rest == (rest.flat[0] if alone else rest.take([0], axis))).all())


# -- a chunk ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chunk:
    """A chunk of programs: how it reads and writes blocks, and what runs."""

    axes: tuple[Axis, ...]
    grid: tuple[int, ...]  # of the chunks
    jaxpr: Jaxpr

    def ids(self, ids: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Of the chunk with these ids: the ids of its first program, and of all its programs."""
        first, every = list(ids), list(ids)
        for a in self.axes:
            base = elementwise.multiply(ids[a.axis], a.count)
            first[a.axis] = base
            steps = shaping.iota(shape=(a.count,), axis=0, dtype=np.dtype(np.int64))
            every[a.axis] = elementwise.add(steps, base)
        return first, every

    def read(self, place: int, view: View, x: Array, starts: Sequence[Any]) -> Array:
        """The blocks of a chunk, with leading axes for the axes of the grid that they follow."""
        followed = self._followed(place)
        if not followed:
            return view.read(x, starts)
        sizes, split, order = _layout(view, followed)
        part = shaping.slice_(x, *starts, **_region(sizes))
        part = shaping.transpose(shaping.reshape(part, shape=split), permutation=order)
        lead = tuple(count for _, count in followed)
        return shaping.reshape(part, shape=(*lead, *view.ref_shape))

    def write(self, place: int, view: View, x: Array, new: Array, starts: Sequence[Any]) -> Array:
        """The array with other blocks; the inverse of `read`."""
        followed = self._followed(place)
        if not followed:
            return view.write(x, new, starts)
        sizes, split, order = _layout(view, followed)
        new = shaping.reshape(new, shape=tuple(split[k] for k in order))
        back = tuple(int(k) for k in np.argsort(order))
        new = shaping.reshape(shaping.transpose(new, permutation=back), shape=sizes)
        return shaping.update_slice(x, new, *starts, **_region(sizes))

    def _followed(self, place: int) -> list[tuple[int, int]]:
        """The dimensions of an operand that follow axes, with the sizes of the chunks."""
        return [(d, a.count) for a in self.axes if (d := a.dims[place]) is not None]


def _region(sizes: tuple[int, ...]) -> dict[str, Any]:
    n = len(sizes)
    return {"axes": tuple(range(n)), "sizes": sizes, "strides": (1,) * n, "shape": sizes}


def _layout(
    view: View, followed: Sequence[tuple[int, int]]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The sizes of the blocks of a chunk together; the same with numbers of blocks apart; the order
    that puts these numbers first.
    """
    counts, split, lead, rest = dict(followed), [], {}, []
    for k, dim in enumerate(view.dims):
        if k in counts:
            lead[k] = len(split)
            split.append(counts[k])
        rest.append(len(split))
        split.append(dim.size)
    sizes = tuple(d.size * counts.get(k, 1) for k, d in enumerate(view.dims))
    return sizes, tuple(split), (*[lead[k] for k, _ in followed], *rest)


def chunk_of(axes: Sequence[Axis], grid: tuple[int, ...], jaxpr: Jaxpr) -> Chunk:
    """The chunk that maps a kernel over axes; one program, where that would make gathers of reads
    at places that the programs compute.
    """
    sizes, mapped = list(grid), jaxpr
    for a in reversed(axes):
        sizes[a.axis] //= a.count
        flags = [k == a.axis for k in range(len(grid))]
        flags += [d is not None for d in a.dims]
        flags += [False] * (len(mapped.inputs) - len(flags))
        everywhere = (True,) * len(mapped.outputs)
        mapped, _ = batch_jaxpr(mapped, a.count, tuple(flags), everywhere)
    if axes and _gathers(mapped) > _gathers(jaxpr):
        return Chunk((), grid, jaxpr)
    return Chunk(tuple(axes), tuple(sizes), mapped)


_SLICES = {"slice": 1, "update_slice": 2, "add_slice": 2}  # operands before the starts


def _gathers(jaxpr: Jaxpr) -> int:
    """How many equations read or write several slices at places of their own."""
    found = 0
    for eqn in jaxpr.eqns:
        first = _SLICES.get(eqn.primitive.name)
        found += first is not None and any(a.aval.shape for a in eqn.inputs[first:])
        found += sum(map(_gathers, jaxprs_in(eqn.params)))
    return found
