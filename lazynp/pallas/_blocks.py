"""Blocks: which part of an array each program gets.

The index map is traced to arithmetic on the program ids, and evaluated once for the whole grid. So
it is known before the call whether all blocks lie in their array, how far some stand out, and on
which axes of the grid they depend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._avals import aval_of
from lazynp._dataclass import dataclass, replace
from lazynp._interpreter import eval_reference
from lazynp._node import is_tracer
from lazynp.functions._operands import as_array
from lazynp.pallas._refs import blanks
from lazynp.pallas._specs import Blocked, BlockSpec, Element, Squeezed, takes
from lazynp.primitives import elementwise, shaping
from lazynp.primitives.checks import check_later
from lazynp.transforms._stage import Program, batch_jaxpr, close, run_jaxpr, stage

_INT = np.dtype(np.int64)
_ID = aval_of((), _INT, True)


@dataclass(frozen=True)
class Dim:
    """One dimension of an array, cut into blocks.

    first: the first element of the blocks of all programs, in elements of the array. numbers: the
    first element of the block of each program, or None if that is not known before the call.
    """

    length: int
    size: int
    step: int  # elements from one block number to the next
    squeezed: bool
    padding: tuple[int, int]
    numbers: np.ndarray[Any, Any] | None = None

    @property
    def margins(self) -> tuple[int, int]:
        """How far blocks stand out of the array, before and after it."""
        if not self.size:
            return 0, 0
        if self.numbers is None:
            return self.size - 1 + self.padding[0], self.size - 1 + self.padding[1]
        low, high = int(self.numbers.min()), int(self.numbers.max()) + self.size
        return max(0, -low), max(0, high - self.length)


@dataclass(frozen=True)
class View:
    """The blocks of one array."""

    what: str
    dtype: Any
    dims: tuple[Dim, ...]
    maps: Program | None  # program ids to block numbers; None: block 0
    space: Any = None  # the kind of memory that was asked for

    @property
    def padded(self) -> tuple[int, ...]:
        """The shape of the array with the margins."""
        return tuple(d.length + sum(d.margins) for d in self.dims)

    @property
    def ref_shape(self) -> tuple[int, ...]:
        """The shape of the Ref."""
        return tuple(d.size for d in self.dims if not d.squeezed)

    @property
    def stands_out(self) -> bool:
        """Whether a block may stand out of the array."""
        return any(any(d.margins) for d in self.dims)

    def pad(self, x: Array) -> Array:
        """The array with its margins, which are blank."""
        if not self.stands_out:
            return new_array(x._read())
        around = blanks(self.padded, self.dtype)
        return shaping.update_slice(
            around, x, *[d.margins[0] for d in self.dims], **self._whole(around.ndim)
        )

    def crop(self, x: Array) -> Array:
        """The array without its margins."""
        if not self.stands_out:
            return x
        return shaping.slice_(x, *[d.margins[0] for d in self.dims], **self._whole(x.ndim))

    def _whole(self, ndim: int) -> dict[str, Any]:
        sizes = tuple(d.length for d in self.dims)
        return {"axes": tuple(range(ndim)), "sizes": sizes, "strides": (1,) * ndim, "shape": sizes}

    def starts(self, ids: Sequence[Any]) -> list[Any]:
        """The first element of a program's block, counted with the margins."""
        if self.maps is None:
            numbers: list[Any] = [0] * len(self.dims)
        else:
            given = [new_array(as_array(i)._read()) for i in ids]
            numbers = list(run_jaxpr(self.maps.jaxpr, [*given, *self.maps.captured]))
        return [self._start(*pair) for pair in zip(self.dims, numbers, strict=True)]

    def _start(self, dim: Dim, number: Any) -> Any:
        low = dim.margins[0]
        known = dim.numbers
        if known is not None and (known == known[0]).all():
            return int(known[0]) + low
        first = number
        if dim.step != 1:
            first = elementwise.multiply(first, dim.step)
        if low != dim.padding[0]:
            first = elementwise.add(first, low - dim.padding[0])
        if known is None and dim.size:
            last = dim.length + sum(dim.margins) - dim.size
            bad = elementwise.logical_or(
                elementwise.less(first, 0), elementwise.greater(first, last)
            )
            check_later(bad, IndexError, f"{self.what}: a block is out of bounds")
            first = elementwise.minimum(elementwise.maximum(first, 0), last)
        return first

    def _part(self) -> dict[str, Any]:
        n = len(self.dims)
        return {
            "axes": tuple(range(n)),
            "sizes": tuple(d.size for d in self.dims),
            "strides": (1,) * n,
            "shape": self.ref_shape,
        }

    def read(self, x: Array, starts: Sequence[Any]) -> Array:
        """The block of a padded array."""
        return shaping.slice_(x, *starts, **self._part())

    def write(self, x: Array, block: Array, starts: Sequence[Any]) -> Array:
        """The padded array with another block."""
        return shaping.update_slice(x, block, *starts, **self._part())

    def inside(self, starts: Sequence[Any]) -> Array | None:
        """Which elements of a block belong to the array; None if all do."""
        found, axis = None, 0
        for dim, start in zip(self.dims, starts, strict=True):
            low, high = dim.margins
            if low or high:
                places = shaping.iota(shape=self.ref_shape, axis=axis, dtype=_INT)
                places = elementwise.add(places, start)
                for bad, bound in ((elementwise.less, low),
                                   (elementwise.greater_equal, low + dim.length)):  # fmt: skip
                    good = elementwise.logical_not(bad(places, bound))
                    found = good if found is None else elementwise.logical_and(found, good)
            axis += not dim.squeezed
        return found


def view_of(spec: Any, shape: Any, dtype: Any, grid: tuple[int, ...], what: str) -> View:
    """The blocks that a spec makes of an array. Raises for a spec that does not fit it."""
    if spec is not None and not isinstance(spec, BlockSpec):
        raise TypeError(f"{what}: a BlockSpec is required, got {spec!r}")
    block = None if spec is None else spec.block_shape
    if block is None:
        block = tuple(shape)
    if len(block) != len(shape):
        raise ValueError(f"{what}: a block of {len(block)} dimensions does not fit shape {shape}")
    dims = tuple(map(_dim, shape, block))
    function = None if spec is None else spec.index_map
    view = View(what, np.dtype(dtype), dims, None, None if spec is None else spec.memory_space)
    if function is None:
        numbers = [np.zeros(1, np.int64)] * len(dims)
    else:
        view = replace(view, maps=_traced(function, len(dims), grid, what))
        numbers = _evaluated(view.maps, grid)
    if numbers is None:
        return view
    found = []
    for axis, (dim, number) in enumerate(zip(dims, numbers, strict=True)):
        first = number * dim.step - dim.padding[0]
        dim = replace(dim, numbers=first)
        _check_bounds(dim, axis, what)
        found.append(dim)
    return replace(view, dims=tuple(found))


def _dim(length: int, entry: Any) -> Dim:
    if entry is None or isinstance(entry, Squeezed):
        return Dim(length, 1, 1, True, (0, 0))
    if isinstance(entry, Element):
        return Dim(length, entry.block_size, 1, False, entry.padding)
    size = entry.block_size if isinstance(entry, Blocked) else entry
    return Dim(length, size, size, False, (0, 0))


def _check_bounds(dim: Dim, axis: int, what: str) -> None:
    """IndexError if a block lies wholly outside of its array, padding included."""
    first, (low, high) = dim.numbers, dim.padding
    if first is None or not dim.size:
        return
    bad = (first >= dim.length + high) | (first + dim.size <= -low)
    if bad.any():
        raise IndexError(
            f"{what}: the block that begins at {int(first[bad][0])} is out of bounds for axis "
            f"{axis} with size {dim.length}"
        )


def _traced(function: Any, ndim: int, grid: tuple[int, ...], what: str) -> Program:
    """The index map as a program from program ids to block numbers."""
    if not takes(function, len(grid)):
        raise TypeError(
            f"{what}: the index map must take {len(grid)} program ids, one for each axis of the "
            f"grid {grid}"
        )

    def run(ids: list[Array]) -> list[Any]:
        out = function(*ids)
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != ndim:
            raise ValueError(
                f"{what}: the index map must return {ndim} block numbers, one for each dimension, "
                f"got {len(given)}"
            )
        return [_number(x, what) for x in given]

    ranges = {i: (0, max(0, n - 1)) for i, n in enumerate(grid)}
    return stage(run, [_ID] * len(grid), f"the index map of {what}", ranges=ranges)


def _number(x: Any, what: str) -> Any:
    array = as_array(x) if not isinstance(x, (str, type(None))) else None
    if array is None or array.ndim or array.dtype.kind not in "iu":
        raise ValueError(f"{what}: the index map must return integers, got {x!r}")
    return elementwise.convert(array, dtype=_INT)


def _evaluated(maps: Any, grid: tuple[int, ...]) -> list[Any] | None:
    """The block numbers of all programs; None if they depend on arrays."""
    if maps.owners or any(map(is_tracer, maps.nodes)):
        return None
    jaxpr, count = close(maps), int(np.prod(grid, dtype=np.int64))
    if not grid:
        return [np.reshape(x, 1) for x in eval_reference(jaxpr, [])]
    ids = [np.reshape(x, count) for x in np.indices(grid, np.int64)]
    everywhere = (True,) * len(jaxpr.outputs)
    batched, _ = batch_jaxpr(jaxpr, count, (True,) * len(grid), everywhere)
    return [np.asarray(x) for x in eval_reference(batched, ids)]


def ids_of(number: Any, grid: tuple[int, ...]) -> list[Any]:
    """The program ids of the program of this number; the last axis is the fastest."""
    found: list[Any] = []
    rest = number
    for axis in reversed(range(1, len(grid))):
        found.append(elementwise.remainder(rest, grid[axis]))
        rest = elementwise.floor_divide(rest, grid[axis])
    return [rest, *reversed(found)] if grid else []
