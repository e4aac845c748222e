"""The region of an array that a slice reads or writes, and its lowering."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, Shape
from lazynp._dataclass import dataclass
from lazynp._extents import product
from lazynp._memo import cached
from lazynp._sizes import sized
from lazynp.primitives._layout import INT64, Axes, check_axes


@dataclass(frozen=True)
class Region:
    """A slice described axis by axis: the size and step of every axis, and which axes run
    backwards.
    """

    sizes: Shape
    steps: Shape  # absolute; 1 where the slice takes at most one element
    flipped: Axes
    strided: Axes  # axes with a step above 1

    @property
    def spans(self) -> Shape:
        """The extent of the slice on each axis, from its lowest element to its highest."""
        return tuple((n - 1) * step + 1 for n, step in zip(self.sizes, self.steps, strict=True))


@cached()
def region_of(dims: Shape, axes: Axes, sizes: Shape, strides: Shape, shape: Shape) -> Region:
    """Check the slice, and return its region in an array of shape `dims`."""
    check_axes("slice", len(dims), axes)
    if any(map(sized, (dims, sizes, shape))):
        return _checked_when_known(dims, axes, sizes, shape)
    full_sizes, steps, flipped = list(dims), [1] * len(dims), []
    for axis, size, stride in zip(axes, sizes, strides, strict=True):
        if stride == 0:
            raise ValueError("slice step cannot be zero")
        if size < 0 or size and (size - 1) * abs(stride) >= dims[axis]:
            raise ValueError(
                f"slice: {size} elements, step {stride}, do not fit axis {axis} of shape {dims}"
            )
        full_sizes[axis] = size
        if size > 1:
            steps[axis] = abs(stride)
            if stride < 0:
                flipped.append(axis)
    if math.prod(full_sizes) != math.prod(shape):
        raise ValueError(f"slice of shape {tuple(full_sizes)} cannot have shape {shape}")
    strided = tuple(i for i, step in enumerate(steps) if step > 1)
    return Region(tuple(full_sizes), tuple(steps), tuple(sorted(flipped)), strided)


def _checked_when_known(dims: Shape, axes: Axes, sizes: Shape, shape: Shape) -> Any:
    """Of a slice with sizes without values, only the number of elements is checked now."""
    full_sizes = list(dims)
    for axis, size in zip(axes, sizes, strict=True):
        full_sizes[axis] = size
    if product(full_sizes) != product(shape):
        raise ValueError(f"slice of shape {tuple(full_sizes)} cannot have shape {shape}")
    return None


# `update_case` uses these to choose the lowering of an update.
_LARGE = 1 << 20  # bytes
_FUSED = 1 << 15  # bytes: a five-point stencil takes 80 us by select, 266 by dus, at 200 x 200
_SPARSE = 8  # elements in the extent for each element written


def update_case(
    x: Aval,
    *,
    axes: Axes,
    sizes: Shape,
    strides: Shape,
    shape: Shape,
    static: bool,
    lead: Shape = (),
    reads_target: bool = True,
) -> str:
    """How to lower `update_slice` on x. `static`: all starts are constants.

    'none'     nothing is written: the result is x
    'whole'    everything is written: the result is the update
    'dus'      dynamic_update_slice; in place if x is donated and dead
    'box'      strided: read the extent, change it and put it back; in place as with 'dus'
    'scatter'  strided and sparse, or many slices (`lead`, B); in place as with 'dus'
    'select'   pad and select, a new array. Measured 4 to 10 times faster than 'dus' for a large
           update computed from its own target, which 'dus' would have to store first
    """
    region = region_of(x.shape, axes, sizes, strides, shape)
    count = math.prod(region.sizes)
    if count == 0 or 0 in lead:
        return "none"
    if lead:
        return "scatter"
    if count == x.size:
        return "whole"
    large = x.nbytes >= _LARGE
    box = math.prod(region.spans)
    if region.strided:
        if box >= _SPARSE * count and box * x.dtype.itemsize >= _LARGE // 16:
            return "scatter"
        return "select" if static and (not large or 4 * box >= x.size) else "box"
    if static and x.nbytes >= _FUSED and reads_target and 4 * count >= x.size:
        return "select"
    return "dus"


# -- lowering ----------------------------------------------------------------------------------

Low = Any  # an int if known, else a builder's value


def lowest(b: Any, ndim: int, starts: Sequence[Any], params: dict[str, Any]) -> list[Low]:
    """The lowest index on every axis; of shape B if computed."""
    lows: list[Low] = [0] * ndim
    bounds = zip(starts, params["axes"], params["sizes"], params["strides"], strict=True)
    for start, axis, size, stride in bounds:
        below = min(0, (size - 1) * stride) if size else 0
        known = b.static(start)
        if known is not None:
            lows[axis] = int(known) + below
        elif below:
            offset = b.constant(below, start.aval.dtype, start.aval.shape)
            lows[axis] = b.binary("stablehlo.add", start, offset)
        else:
            lows[axis] = start
    return lows


def as_value(b: Any, low: Low, lead: Shape = ()) -> Any:
    return b.constant(low, INT64, lead) if isinstance(low, int) else low


def read_region(
    b: Any, x: Any, lows: Sequence[Low], spans: Shape, steps: Shape | None = None
) -> Any:
    """The extent of x that begins at `lows`. With steps (which require known lows): only every
    step-th element.
    """
    if not all(isinstance(low, int) for low in lows):
        return b.dynamic_slice(x, [as_value(b, low) for low in lows], spans)
    limits = [low + span for low, span in zip(lows, spans, strict=True)]
    return b.slice(x, lows, limits, steps)


def select_region(b: Any, x: Any, u: Any, lows: Sequence[int], region: Region) -> Any:
    """x with u at a known place: pad u to x's shape, then select by a mask made of iotas."""
    dims = x.aval.shape
    high = [n - low - s for n, low, s in zip(dims, lows, region.spans, strict=True)]
    interior = [step - 1 for step in region.steps]
    filler = b.static(x)
    zero = b.constant(0 if filler is None else filler, x.aval.dtype)
    padded = b.pad(u, zero, lows, high, interior)
    if filler is not None:
        return padded
    mask = None
    for axis in range(len(dims)):
        for part in _inside(b, dims, axis, lows[axis], high[axis], region.steps[axis]):
            mask = part if mask is None else b.and_(mask, part)
    return padded if mask is None else b.select(mask, padded, x)


def _inside(b: Any, dims: Shape, axis: int, low: int, high: int, step: int) -> list[Any]:
    """Bools of shape `dims`: which indices on an axis belong to a region. In the second of two
    rounds they have another dtype: equal masks would be one, which XLA stores and reads.
    """
    index_dtype = np.dtype(np.int32 if dims[axis] < 2**31 and not b.second else np.int64)
    index = b.iota(dims, axis, index_dtype)

    def constant(n: int) -> Any:
        return b.constant(n, index_dtype, dims)

    parts = []
    if low > 0:
        parts.append(b.compare(index, constant(low), "GE"))
    if high >= step:
        parts.append(b.compare(index, constant(dims[axis] - high), "LT"))
    if step > 1:
        phase = b.binary("stablehlo.remainder", index, constant(step))
        parts.append(b.compare(phase, constant(low % step), "EQ"))
    return parts


def _points(b: Any, lows: Sequence[Low], lead: Shape, region: Region) -> tuple[Axes, Shape, Any]:
    """Indices for gather and scatter: the axes they index, their shape, the indices.

    There is one index vector for each slice (B) and each element on the strided axes. Windows are
    contiguous on the other axes.
    """
    shape = (*lead, *(region.sizes[axis] for axis in region.strided))
    axes = tuple(
        i for i, low in enumerate(lows)
        if i in region.strided or not isinstance(low, int) or low != 0
    ) or (0,)  # fmt: skip
    columns = []
    for axis in axes:
        low = b.broadcast_in_dim(as_value(b, lows[axis], lead), shape, range(len(lead)))
        if axis in region.strided:
            count = b.iota(shape, len(lead) + region.strided.index(axis), INT64)
            step = b.constant(region.steps[axis], INT64, shape)
            low = b.binary("stablehlo.add", low, b.binary("stablehlo.multiply", count, step))
        columns.append(b.reshape(low, (*shape, 1)))
    return axes, shape, b.concatenate(columns, len(shape))


def _order(lead: int, region: Region) -> list[int]:
    """The order of the axes of B + region that gives (B, strided axes, other axes)."""
    others = [i for i in range(len(region.sizes)) if i not in region.strided]
    return [*range(lead), *(lead + i for i in (*region.strided, *others))]


def gather_region(b: Any, x: Any, lows: Sequence[Low], lead: Shape, region: Region) -> Any:
    axes, shape, indices = _points(b, lows, lead, region)
    windows = [1 if i in region.strided else n for i, n in enumerate(region.sizes)]
    rank = len(shape) + x.aval.ndim - len(region.strided)
    picked = b.gather(
        x,
        indices,
        offset_dims=range(len(shape), rank),
        collapsed_slice_dims=region.strided,
        start_index_map=axes,
        index_vector_dim=len(shape),
        slice_sizes=windows,
    )
    order = _order(len(lead), region)
    return b.transpose(picked, sorted(range(len(order)), key=order.__getitem__))


def scatter_region(
    b: Any, x: Any, u: Any, lows: Sequence[Low], lead: Shape, region: Region, add: bool
) -> Any:
    axes, shape, indices = _points(b, lows, lead, region)

    def body(b: Any, current: Any, update: Any) -> Any:
        return b.binary("stablehlo.add", current, update) if add else update

    return b.scatter(
        x,
        indices,
        b.transpose(u, _order(len(lead), region)),
        body,
        update_window_dims=range(len(shape), len(shape) + x.aval.ndim - len(region.strided)),
        inserted_window_dims=region.strided,
        scatter_dims_to_operand_dims=axes,
        index_vector_dim=len(shape),
        unique_indices=not add,
    )
