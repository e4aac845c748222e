"""slice, update_slice and add_slice: reading and writing by basic indexing.

All three take `axes, sizes, strides, shape`, and a start for each axis in `axes`. A start is the
first element taken; it is in bounds, also where the stride is negative. Starts are scalars, or
(under vmap) integer arrays of one shape B. With arrays there is one slice for each element of B,
and the result or the update has shape B + `shape`. The slices that one `update_slice` writes must
not overlap; `add_slice` adds overlapping slices up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, In, Shape, aval_of, aval_of_operand
from lazynp._extents import known_empty
from lazynp._fronts import in_front
from lazynp._memo import cached
from lazynp._primitive import Undefined
from lazynp.primitives._layout import (
    INT64,
    Axes,
    axis_to,
    full,
    iota,
    linear,
    shape_of,
    shifted,
    spread,
)
from lazynp.primitives._regions import (
    as_value,
    gather_region,
    lowest,
    read_region,
    region_of,
    scatter_region,
    select_region,
    update_case,
)


def _lead(name: str, starts: Sequence[Aval], axes: Axes) -> Shape:
    """The common shape B of the starts."""
    if len(starts) != len(axes):
        raise ValueError(f"{name}: {len(axes)} axes need as many starts, got {len(starts)}")
    for s in starts:
        if s.dtype.kind not in "iu" or s.shape != starts[0].shape:
            raise TypeError(f"{name}: starts must be integers of one shape, got {list(starts)}")
    return starts[0].shape if starts else ()


def _start_aval(start: In) -> Aval:
    if start is float or start is complex:  # raise now, while recording: every run would fail
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return aval_of(shape_of(start), INT64)


@cached()
def index_of(ndim: int, starts: Axes, axes: Axes, sizes: Shape, strides: Shape) -> Any:
    """The NumPy index of a slice. Indexing with it returns a view even of a 0-d array."""
    index: list[Any] = [slice(None)] * ndim
    for start, axis, size, stride in zip(starts, axes, sizes, strides, strict=True):
        stop = start + size * stride
        index[axis] = slice(start, stop if stop >= 0 else None, stride) if size else slice(0)
    return (*index, ...)


def _view(
    x: np.ndarray[Any, Any], starts: Sequence[Any], axes: Axes, sizes: Shape, strides: Shape
) -> np.ndarray[Any, Any]:
    """The slice of x, before the reshape."""
    try:
        index = index_of(x.ndim, starts, axes, sizes, strides)  # type: ignore[arg-type]
    except TypeError:  # 0-d arrays cannot be hashed
        index = index_of(x.ndim, tuple(map(int, starts)), axes, sizes, strides)
    return x[index]


# -- slice -------------------------------------------------------------------------------------


def _slice_abstract(
    x: Aval, *starts: Aval, axes: Axes, sizes: Shape, strides: Shape, shape: Shape
) -> Aval:
    region_of(x.shape, axes, sizes, strides, shape)
    return aval_of((*_lead("slice", starts, axes), *shape), x.dtype)


def _slice_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    return (aval_of_operand(ins[0]), *map(_start_aval, ins[1:]))


def _slice_reference(
    x: Any, *starts: Any, axes: Axes, sizes: Shape, strides: Shape, shape: Shape
) -> Any:
    lead = shape_of(starts[0]) if starts else ()
    if not lead:
        out = _view(x, starts, axes, sizes, strides)
        return out if out.shape == shape else out.reshape(shape)
    out = np.empty((*lead, *shape), x.dtype)
    for i in np.ndindex(*lead):
        out[i] = _view(x, [int(s[i]) for s in starts], axes, sizes, strides).reshape(shape)
    return out


def _slice_specialize(params: dict[str, Any], avals: tuple[Aval, ...]) -> Any:
    """For one slice at known places: cache the NumPy index of each place."""
    if any(a.ndim for a in avals[1:]):
        return None
    places, shape = _Places(avals[0].ndim, params), params["shape"]

    def reference(x: Any, *starts: Any) -> Any:
        out = x[places[starts]]
        return out if out.shape == shape else out.reshape(shape)

    return _in_c(reference, places, shape, "s")


def _in_c(rule: Any, places: Any, shape: Any, symbol: str) -> Any:
    if type(shape) is not tuple or not all([type(n) is int for n in shape]):
        return rule
    return in_front("part", rule, places=places, shape=shape, symbol=symbol)


def _write_specialize(params: dict[str, Any], avals: tuple[Aval, ...]) -> Any:
    """`write_slice` for one slice at known places."""
    if any(a.ndim for a in avals[2:]):
        return None
    places, shape = _Places(avals[0].ndim, params), params["shape"]

    def inplace(x: Any, u: Any, *starts: Any) -> Any:
        _write(x[places[starts]], u, shape, add=False)
        return x

    return _in_c(inplace, places, shape, "u")


class _Places(dict[tuple[Any, ...], Any]):
    """Maps start indices to NumPy's index of one slice."""

    def __init__(self, ndim: int, params: dict[str, Any]) -> None:
        self._slice = ndim, params["axes"], params["sizes"], params["strides"]

    def __missing__(self, starts: tuple[Any, ...]) -> Any:
        ndim, *region = self._slice
        index = index_of(ndim, tuple(map(int, starts)), *region)
        if len(self) < _MOST_PLACES:
            self[starts] = index
        return index


def _update_specialize(params: dict[str, Any], avals: tuple[Aval, ...]) -> Any:
    write = _write_specialize(params, avals)
    return None if write is None else lambda x, u, *starts: write(np.array(x), u, *starts)


_MOST_PLACES = 256  # entries for one slice; the shared memory of `index_of` holds more


def _slice_lower(b: Any, x: Any, *starts: Any, **params: Any) -> Any:
    out = _slice_abstract(x.aval, *[s.aval for s in starts], **params)
    region = region_of(x.aval.shape, **params)
    if out.size == 0:
        return b.constant(0, out.dtype, out.shape)
    lows = lowest(b, x.aval.ndim, starts, params)
    if out.ndim > len(params["shape"]):
        picked = gather_region(b, x, lows, out.shape[: starts[0].aval.ndim], region)
        flipped = [axis + starts[0].aval.ndim for axis in region.flipped]
        return b.reshape(b.reverse(picked, flipped), out.shape)
    if any(not isinstance(low, int) for low in lows):
        x, lows = read_region(b, x, lows, region.spans), [0] * x.aval.ndim
    picked = read_region(b, x, lows, region.spans, region.steps)
    return b.reshape(b.reverse(picked, region.flipped), out.shape)


def _slice_transpose(ct: Any, x: Any, *starts: Any, **params: Any) -> list[Any]:
    zeros = full(0, shape=x.aval.shape, dtype=x.aval.dtype)
    write = add_slice if starts and shape_of(starts[0]) else update_slice
    return [write(zeros, ct, *starts, **params), *[None] * len(starts)]


def _slice_batch(
    size: int,
    batched: Sequence[bool],
    x: Any,
    *starts: Any,
    axes: Axes,
    sizes: Shape,
    strides: Shape,
    shape: Shape,
) -> Any:
    if any(batched[1:]):
        starts = _batch_starts(size, batched[1:], starts)
        if batched[0] and known_empty(size):
            return full(0, shape=(*shape_of(starts[0]), *shape), dtype=x.dtype)
        if batched[0]:
            starts = (_along_batch(starts[0].shape), *starts)
            axes, sizes, strides = (0, *shifted(axes)), (1, *sizes), (1, *strides)
        return slice_(x, *starts, axes=axes, sizes=sizes, strides=strides, shape=shape)
    out = slice_(x, *starts, axes=shifted(axes), sizes=sizes, strides=strides, shape=(size, *shape))
    return axis_to(out, len(shape_of(starts[0])) if starts else 0, 0)


slice_ = linear(
    "slice",
    abstract=_slice_abstract,
    explicit=_slice_explicit,
    reference=_slice_reference,
    specialize=_slice_specialize,
    lower=_slice_lower,
    transpose=_slice_transpose,
    batch=_slice_batch,
    free=True,
    kind="view",
)


# -- update_slice ------------------------------------------------------------------------------


def _update_slice_abstract(
    x: Aval, u: Aval, *starts: Aval, axes: Axes, sizes: Shape, strides: Shape, shape: Shape
) -> Aval:
    region_of(x.shape, axes, sizes, strides, shape)
    wanted = (*_lead("update_slice", starts, axes), *shape)
    if u.shape != wanted:
        raise ValueError(
            f"could not broadcast input array from shape {u.shape} into shape {wanted}"
        )
    if u.dtype != x.dtype:
        raise TypeError(f"update_slice: an update of dtype {x.dtype} is required, got {u.dtype}")
    return aval_of(x.shape, x.dtype)


def _update_slice_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    x = aval_of_operand(ins[0])
    lead = shape_of(ins[2]) if len(ins) > 2 else ()
    update = aval_of((*lead, *params["shape"]), x.dtype)
    return (x, update, *map(_start_aval, ins[2:]))


def _update_slice_reference(x: Any, u: Any, *starts: Any, **params: Any) -> Any:
    return write_slice(np.array(x), u, *starts, **params)


def write_slice(
    x: np.ndarray[Any, Any],
    u: Any,
    *starts: Any,
    axes: Axes,
    sizes: Shape,
    strides: Shape,
    shape: Shape,
    add: bool = False,
) -> np.ndarray[Any, Any]:
    """Apply `update_slice` (or `add_slice`) in place and return x. Nothing else may refer to x."""
    lead = shape_of(starts[0]) if starts else ()
    if not lead:
        _write(_view(x, starts, axes, sizes, strides), u, shape, add)
        return x
    update = np.broadcast_to(u, (*lead, *shape))
    if add and set(sizes) <= {1} and axes == tuple(range(len(axes))) and x.flags.c_contiguous:
        return _add_rows(x, update, starts, len(lead))
    for i in np.ndindex(*lead):
        first = [int(s[i]) for s in starts]
        _write(_view(x, first, axes, sizes, strides), update[i], shape, add)
    return x


def _add_rows(x: Any, update: Any, starts: Sequence[Any], ndim: int) -> Any:
    """Add to the elements, or rows, that these indices name."""
    lengths, width = x.shape[: len(starts)], x.shape[len(starts) :]
    rows = np.zeros(starts[0].shape, np.intp)
    for start, n in zip(starts, lengths, strict=True):
        rows *= n
        rows += start
    table = x.reshape(-1, *width)
    np.add.at(table, rows.ravel(), update.reshape(-1, *width))
    return x


def _write(target: np.ndarray[Any, Any], u: Any, shape: Shape, add: bool) -> None:
    """Write u, which broadcasts to `shape`, into a view with as many elements."""
    if isinstance(u, np.ndarray) and u.shape and u.shape != target.shape:
        u = _in_shape(u, shape).reshape(target.shape)
    if isinstance(u, np.generic):  # recording has checked that it fits
        u = u.astype(target.dtype)
    if add:
        target += u
    else:
        target[...] = u


def _in_shape(u: Any, shape: tuple[int, ...]) -> Any:
    """`np.broadcast_to`, which costs more than a small update, only where it does something."""
    if type(u) is np.ndarray and u.shape == shape:
        return u
    return np.broadcast_to(u, shape) if shape else np.asarray(u)


def _update_slice_lower(b: Any, x: Any, u: Any, *starts: Any, **params: Any) -> Any:
    region = region_of(x.aval.shape, **params)
    lows = lowest(b, x.aval.ndim, starts, params)
    static = all(isinstance(low, int) for low in lows)
    lead = starts[0].aval.shape if starts else ()
    case = update_case(x.aval, static=static, lead=lead, **params)
    if case == "none":
        return x
    u = b.reshape(u, (*lead, *region.sizes))
    u = b.reverse(u, [axis + len(lead) for axis in region.flipped])
    if case == "whole":
        return u
    if case == "scatter":
        return scatter_region(b, x, u, lows, lead, region, add=False)
    # Split over devices, XLA may write in place what it still reads: [1, n] seen as [n].
    if static and (case == "select" or b.static(x) is not None or b.mesh is not None):
        return select_region(b, x, u, lows, region)
    if case == "box":
        u = select_region(b, read_region(b, x, lows, region.spans), u, [0] * x.aval.ndim, region)
    return b.dynamic_update_slice(x, u, [as_value(b, low) for low in lows])


def _update_slice_transpose(ct: Any, x: Any, u: Any, *starts: Any, **params: Any) -> list[Any]:
    ct_u = slice_(ct, *starts, **params) if isinstance(u, Undefined) else None
    ct_x = update_slice(ct, 0, *starts, **params) if isinstance(x, Undefined) else None
    return [ct_x, ct_u, *[None] * len(starts)]


def _update_slice_batch(
    size: int, batched: Sequence[bool], x: Any, u: Any, *starts: Any, **params: Any
) -> Any:
    return _batch_writes(update_slice, size, batched, x, u, starts, **params)


update_slice = linear(
    "update_slice",
    operands=2,
    abstract=_update_slice_abstract,
    explicit=_update_slice_explicit,
    reference=_update_slice_reference,
    inplace=write_slice,
    specialize=_update_specialize,
    specialize_inplace=_write_specialize,
    lower=_update_slice_lower,
    transpose=_update_slice_transpose,
    batch=_update_slice_batch,
    kind="update",
)


# -- add_slice: the transpose of a slice whose starts are batched ------------------------------


def _add_slice_reference(x: Any, u: Any, *starts: Any, **params: Any) -> Any:
    return write_slice(np.array(x), u, *starts, **params, add=True)


def _added_part(params: dict[str, Any], avals: tuple[Aval, ...]) -> Any:
    """Of one slice: the part of x to which u is added, and u in its shape."""
    if any(a.ndim for a in avals[2:]):
        return None
    places, shape = _Places(avals[0].ndim, params), params["shape"]

    def part(x: Any, u: Any, *starts: Any) -> tuple[Any, Any]:
        target = x[places[starts]]
        if target.shape != shape:
            u = _in_shape(u, shape).reshape(target.shape)
        return target, u

    return _in_c(part, places, shape, "a")


def _add_slice_lower(b: Any, x: Any, u: Any, *starts: Any, **params: Any) -> Any:
    if u.aval.size == 0:
        return x
    if not (starts and starts[0].aval.shape):  # one slice: a scatter would not be fused
        part = slice_.lower(b, x, *starts, **params)
        return update_slice.lower(b, x, b.binary("add", part, u), *starts, **params)
    region = region_of(x.aval.shape, **params)
    lead = starts[0].aval.shape if starts else ()
    u = b.reshape(u, (*lead, *region.sizes))
    u = b.reverse(u, [axis + len(lead) for axis in region.flipped])
    lows = lowest(b, x.aval.ndim, starts, params)
    return scatter_region(b, x, u, lows, lead, region, add=True)


def _add_slice_transpose(ct: Any, x: Any, u: Any, *starts: Any, **params: Any) -> list[Any]:
    ct_x = ct if isinstance(x, Undefined) else None
    ct_u = slice_(ct, *starts, **params) if isinstance(u, Undefined) else None
    return [ct_x, ct_u, *[None] * len(starts)]


def _add_slice_batch(
    size: int, batched: Sequence[bool], x: Any, u: Any, *starts: Any, **params: Any
) -> Any:
    return _batch_writes(add_slice, size, batched, x, u, starts, **params)


add_slice = linear(
    "add_slice",
    operands=2,
    abstract=_update_slice_abstract,
    explicit=_update_slice_explicit,
    reference=_add_slice_reference,
    specialize_inplace=_added_part,
    adds=True,
    lower=_add_slice_lower,
    transpose=_add_slice_transpose,
    batch=_add_slice_batch,
    kind="update",
)


# -- batching ----------------------------------------------------------------------------------


def _along_batch(lead: Shape) -> Any:
    """The example that each start belongs to, as a start along a batched x's own axis."""
    return iota(shape=lead, axis=0, dtype=INT64)


def _batch_starts(size: int, batched: Sequence[bool], starts: Sequence[Any]) -> tuple[Any, ...]:
    """The starts, all with shape (size, *B)."""
    lead = max(
        (shape_of(s)[1:] if is_batched else shape_of(s)
         for s, is_batched in zip(starts, batched, strict=True)),
        key=len,
    )  # fmt: skip
    return tuple(
        spread(size, is_batched, s, lead) for s, is_batched in zip(starts, batched, strict=True)
    )


def _batch_writes(
    write: Any,
    size: int,
    batched: Sequence[bool],
    x: Any,
    u: Any,
    starts: Sequence[Any],
    *,
    axes: Axes,
    sizes: Shape,
    strides: Shape,
    shape: Shape,
) -> Any:
    """The batch rule of both write primitives. x is batched because the result is."""
    x_batched, u_batched, *starts_batched = batched
    x = spread(size, x_batched, x, x.shape[1:] if x_batched else x.shape)
    if any(starts_batched):
        starts = _batch_starts(size, starts_batched, starts)
        lead = starts[0].shape
        if hasattr(u, "shape"):
            u = spread(size, u_batched, u, (*lead[1:], *shape))
        starts = (_along_batch(lead), *starts)
        axes, sizes, strides = (0, *shifted(axes)), (1, *sizes), (1, *strides)
        return write(x, u, *starts, axes=axes, sizes=sizes, strides=strides, shape=shape)
    lead = shape_of(starts[0]) if starts else ()
    if hasattr(u, "shape"):
        u = axis_to(spread(size, u_batched, u, (*lead, *shape)), 0, len(lead))
    shape = (size, *shape)
    return write(x, u, *starts, axes=shifted(axes), sizes=sizes, strides=strides, shape=shape)
