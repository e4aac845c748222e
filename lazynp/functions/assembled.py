"""Arrays put together from the parts that this process has: nothing is made whole anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import on_device
from lazynp._processes import process_index
from lazynp._shardings import Index, NamedSharding, PartitionSpec, Sharding, sharding_on
from lazynp.functions.placement import device_put
from lazynp.primitives.placing import check_taking_part, of_parts


def make_array_from_callback(
    shape: Any, sharding: Any, data_callback: Callable[[Index], Any], dtype: Any = None
) -> Array:
    """The array whose part at an index (a tuple of slices) is `data_callback(index)`.

    It is called for the parts of this process' devices, once for each. dtype: by default that of
    the first part. Raises ValueError where the sharding does not divide the shape evenly, and for
    parts of another shape or dtype.
    """
    what = "make_array_from_callback"
    shape = (int(shape),) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
    if isinstance(sharding, PartitionSpec):
        sharding = sharding_on(None, sharding, what)
    if not isinstance(sharding, Sharding):
        raise TypeError(f"{what}: a Sharding is required, got {type(sharding).__name__}")
    if not isinstance(sharding, NamedSharding):
        part = np.asarray(data_callback((slice(None),) * len(shape)), dtype)
        return device_put(_fitting(part, shape, part.dtype, what), sharding)
    sharding.check(shape, what)
    check_taking_part(sharding)
    parts: dict[Any, np.ndarray[Any, Any]] = {}
    kind: list[Any] = [] if dtype is None else [np.dtype(dtype)]

    def part_at(index: Index) -> np.ndarray[Any, Any]:
        key = tuple((s.start, s.stop) for s in index)
        if key not in parts:
            part = np.asarray(data_callback(index), dtype)
            if not kind:
                kind.append(part.dtype)
            wanted = tuple(len(range(*s.indices(n))) for s, n in zip(index, shape, strict=True))
            parts[key] = _fitting(part, wanted, kind[0], what)
        return parts[key]

    if not kind:  # the dtype must be known first
        mine = next(d for d in sharding.devices_indices_map(shape).items() if _is_own(d[0]))
        part_at(mine[1])
    return of_parts(shape, kind[0], sharding, part_at)


def _is_own(device: Any) -> bool:
    return device.process_index == process_index()


def _fitting(part: Any, shape: tuple[int, ...], dtype: Any, what: str) -> Any:
    if part.shape != shape or part.dtype != dtype:
        raise ValueError(
            f"{what}: a part of shape {shape} and dtype {dtype} is required, got {part.shape} and "
            f"{part.dtype}"
        )
    if not on_device(part.dtype):
        raise TypeError(f"{what}: numbers or booleans are required, got dtype {part.dtype}")
    return part


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Any = None
) -> Array:
    """The array that is put together from what each process gives.

    local_data: the part of the array that this process' devices have. global_shape: by default,
    each dimension is as many times longer as the processes split it. Where it is as long as the
    local data, each process gives all of that dimension.

    Raises ValueError if the devices of this process have no rectangular part, or if local_data has
    another shape than that part.
    """
    what = "make_array_from_process_local_data"
    local = np.asarray(local_data)
    if isinstance(sharding, PartitionSpec):
        sharding = sharding_on(None, sharding, what)
    if not isinstance(sharding, NamedSharding):
        return make_array_from_callback(local.shape, sharding, lambda index: local[index])
    check_taking_part(sharding)
    counts = sharding.tiles(local.ndim)[0]
    corner, end = _own_box(sharding, counts, what)
    if global_shape is None:
        global_shape = [
            n * c // (e - b) for n, c, b, e in zip(local.shape, counts, corner, end, strict=True)
        ]
    shape = tuple(int(n) for n in global_shape)
    if len(shape) != local.ndim:
        raise ValueError(f"{what}: global_shape {shape} for data of {local.ndim} dimensions")
    sharding.check(shape, what)
    starts = []
    for axis, (n, whole, c) in enumerate(zip(local.shape, shape, counts, strict=True)):
        begin, size = corner[axis] * whole // c, (end[axis] - corner[axis]) * whole // c
        if n not in (size, whole):
            raise ValueError(
                f"{what}: dimension {axis} of the data of this process must have the size {size} "
                f"(of {whole}), got {n}"
            )
        starts.append(begin if n == size else 0)

    def part(index: Index) -> Any:
        cut = [
            slice(first - start, last - start)
            for (first, last, _), start in zip(
                (s.indices(n) for s, n in zip(index, shape, strict=True)), starts, strict=True
            )
        ]
        return local[tuple(cut)]

    return make_array_from_callback(shape, sharding, part, local.dtype)


def _own_box(
    sharding: NamedSharding, counts: tuple[int, ...], what: str
) -> tuple[list[int], list[int]]:
    """Where the part of this process begins and ends, in tiles."""
    ordered = sharding.devices_indices_map(counts).items()
    own = {
        tuple(s.indices(n)[0] for s, n in zip(index, counts, strict=True))
        for device, index in ordered
        if _is_own(device)
    }
    corner = [min(axis) for axis in zip(*own, strict=True)]
    end = [max(axis) + 1 for axis in zip(*own, strict=True)]
    size = 1
    for b, e in zip(corner, end, strict=True):
        size *= e - b
    if size != len(own):
        raise ValueError(
            f"{what}: the devices of this process have no rectangular part by {sharding}"
        )
    return corner, end


__all__ = ["make_array_from_callback", "make_array_from_process_local_data"]
