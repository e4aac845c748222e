"""Devices and placement: device_put, device_get, default_device."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._array import Array
from lazynp._avals import on_device
from lazynp._config import config
from lazynp._dataclass import dataclass
from lazynp._devices import Device, default, devices, find_own, own
from lazynp._shardings import Index, PartitionSpec, Sharding, SingleDeviceSharding
from lazynp._tree import flatten_up_to, tree_flatten, tree_map, tree_unflatten
from lazynp.functions._arguments import check_device
from lazynp.functions._host import to_host
from lazynp.functions._operands import as_array
from lazynp.functions._placing import made, put_in_order
from lazynp.primitives.placing import placed_behind, target_of, where


def local_devices(platform: str | None = None) -> list[Device]:
    """The devices of this process, by id; see `devices`."""
    return own(platform)


def device_count(platform: str | None = None) -> int:
    """The number of devices; see `devices`."""
    return len(devices(platform))


def local_device_count(platform: str | None = None) -> int:
    """The number of devices of this process; see `devices`."""
    return len(own(platform))


class default_device:
    """`default_device()` tells where new arrays are made; `default_device(d)` sets it, and as a
    block sets it back at its end. d: a Device, its name, or None (as it began).

    Raises DeviceError if there is no such device. The setting is `config.device`.
    """

    def __new__(cls, *device: Any) -> Any:
        if not device:
            return default()
        return config(device=None if device[0] is None else str(find_own(device[0])))


def device_put(x: Any, device: Any = None) -> Any:
    """A copy of each array of a tree on a device: a Device, its name, or a Sharding; or a tree of
    these, of which `x` may have parts below the leaves.

    The copy is *committed* there: operations with it run there. Lazy. Without a device, arrays stay
    where they are. Raises DeviceError if there is no such device, and TypeError for what no device
    can hold.
    """
    return _each_put(x, device, "device_put")


def _each_put(x: Any, device: Any, what: str) -> Any:
    leaves, structure = tree_flatten(x)
    if device is None or isinstance(device, (str, Sharding, PartitionSpec)):
        wanted = [device] * len(leaves)
    else:
        wanted = _prefix(device, x, what)
    pairs = zip(leaves, wanted, strict=True)
    return tree_unflatten(structure, [_put(a, d, what) for a, d in pairs])


def _is_leaf(device: Any) -> bool:
    return device is None or isinstance(device, PartitionSpec)


def _prefix(prefix: Any, tree: Any, what: str) -> list[Any]:
    """For each leaf of the tree, that of the prefix that is above it."""
    given, structure = tree_flatten(prefix, is_leaf=_is_leaf)
    found: list[Any] = []
    try:
        parts = flatten_up_to(structure, tree, what)
    except TypeError as error:
        raise ValueError(str(error)) from None
    for d, part in zip(given, parts, strict=True):
        found += [d] * len(tree_flatten(part)[0])
    return found


def _put(x: Any, device: Any, what: str = "device_put") -> Array:
    array = as_array(x)
    if not on_device(array.dtype):
        more = "" if array.dtype.isnative else ", in another byte order than this machine's"
        raise TypeError(f"{what}: numbers or booleans are required, got dtype {array.dtype}{more}")
    if device is None:
        return made(_copied(array), None)
    return put_in_order(array, target_of(device, what=what), what)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The tree of arrays, laid out so: a Sharding, a PartitionSpec for the mesh that is set, or a
    tree of these. In a traced function, the compiler arranges it.

    Raises ValueError where a sharding does not divide an array evenly.
    """
    return _each_put(x, shardings, "with_sharding_constraint")


def _copied(x: Array) -> Array:
    return x.copy(order="K")  # type: ignore[attr-defined]


def device_get(x: Any) -> Any:
    """The values of a tree of arrays as NumPy's arrays, which are read-only."""
    return tree_map(lambda a: to_host(a) if isinstance(a, Array) else np.asarray(a), x)


# -- attributes of arrays --------------------------------------------------------------------------


def sharding_of(self: Array) -> Sharding:
    """How the array lies on its devices. If there are several, reading it computes the array."""
    placed = placed_behind(self)
    sharding = None if placed is None else placed.sharding()
    return sharding or SingleDeviceSharding(where(self)[0].devices[0])


def device_of(self: Array) -> Any:
    """The device of the array; its sharding, if there are several."""
    place, _ = where(self)
    return place.devices[0] if len(place.devices) == 1 else sharding_of(self)


@dataclass(frozen=True, eq=False)
class Shard:
    """A part of an array: on which device, which part, the how-manieth copy of it, its values."""

    device: Device
    index: Index
    replica_id: int
    data: Array


def shards_of(self: Array) -> list[Shard]:
    """The parts of the array on this process' devices. Their data are copies, there."""
    placed = placed_behind(self)
    if placed is None or placed.place.mesh is None:
        device = where(self)[0].devices[0]
        index: Index = (slice(None),) * self.ndim
        return [Shard(device, index, 0, _put(self, device))]
    sharding, value = placed.sharding(), placed.force()
    assert sharding is not None
    found, seen = [], dict[Any, int]()
    parts = dict(lowering.parts_of(value))
    for i, (device, index) in enumerate(
        zip(placed.place.devices, sharding.indices(self.shape), strict=True)
    ):
        key = tuple((s.start, s.stop) for s in index)
        seen[key] = seen.get(key, -1) + 1
        if i in parts:
            found.append(Shard(device, index, seen[key], device_put(parts[i].copy(), device)))
    return found


def is_fully_replicated(self: Array) -> bool:
    """Whether each of its devices has the whole array."""
    return sharding_of(self).is_fully_replicated


def is_fully_addressable(self: Array) -> bool:
    """Whether all devices of the array belong to this process."""
    return not where(self)[0].shared


def devices_of(self: Array) -> set[Device]:
    """The devices on which the array lies."""
    return set(where(self)[0].devices)


def to_device(self: Array, device: Any, /, *, stream: Any = None) -> Array:
    """A copy of the array on a device; the array itself if it is there. There are no streams."""
    if not isinstance(device, (str, Sharding)):
        kind = "None" if device is None else type(device).__name__
        raise TypeError(f"to_device() argument 1 must be str, not {kind}")
    target = target_of(device, what="to_device")
    if stream is not None:
        raise ValueError(f"to_device: a stream must be None on this device, got {stream!r}")
    if target.sharding is None and where(self)[0] is target.place:
        return self
    return put_in_order(self, target, "to_device")


# -- the namespace's capabilities ------------------------------------------------------------------


class NamespaceInfo(type(np.__array_namespace_info__())):  # type: ignore[misc]
    """NumPy's inspection utilities, and lazynp's devices."""

    __module__ = "numpy"

    def default_device(self) -> Device:  # type: ignore[override]
        return default()

    def devices(self) -> list[Device]:  # type: ignore[override]
        return devices()

    def default_dtypes(self, *, device: Any = None) -> Any:
        check_device(device)
        return super().default_dtypes()

    def dtypes(self, *, device: Any = None, kind: Any = None) -> Any:
        check_device(device)
        return super().dtypes(kind=kind)


def __array_namespace_info__() -> NamespaceInfo:
    """See `numpy.__array_namespace_info__`."""
    return NamespaceInfo()
