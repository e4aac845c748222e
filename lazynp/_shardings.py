"""Shardings: on which devices an array lies, and which part of it on which."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp import _processes
from lazynp._devices import Device, devices as all_devices, find
from lazynp._memo import cached

Index = tuple[slice, ...]


class Sharding:
    """Says on which devices an array lies, and which part of it on which."""

    __slots__ = ()

    @property
    def device_set(self) -> set[Device]:
        """The devices."""
        raise NotImplementedError

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has the whole array."""
        raise NotImplementedError

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        mine = _processes.process_index()
        return all(d.process_index == mine for d in self.device_set)

    def shard_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the part that one device has of an array of this shape."""
        raise NotImplementedError

    def devices_indices_map(self, shape: tuple[int, ...]) -> dict[Device, Index]:
        """For each device, the index of its part."""
        raise NotImplementedError

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether arrays of `ndim` dimensions lie the same by both."""
        raise NotImplementedError


class SingleDeviceSharding(Sharding):
    """The whole array on one device: a Device or its name."""

    __slots__ = ("_device",)

    def __init__(self, device: Any) -> None:
        self._device = find(device)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding({str(self._device)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is SingleDeviceSharding and other._device == self._device

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self._device))

    def __reduce__(self) -> Any:
        return SingleDeviceSharding, (self._device,)

    @property
    def device_set(self) -> set[Device]:
        return {self._device}

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def shard_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(shape)

    def devices_indices_map(self, shape: tuple[int, ...]) -> dict[Device, Index]:
        return {self._device: (slice(None),) * len(shape)}

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        return isinstance(other, Sharding) and other.device_set == self.device_set


class PartitionSpec(tuple[Any, ...]):
    """For each dimension: None, the name of a mesh axis that splits it, or a tuple of names.

    Dimensions beyond its length are whole.
    """

    def __new__(cls, *parts: Any) -> PartitionSpec:
        for part in parts:
            names = part if isinstance(part, tuple) else () if part is None else (part,)
            if not all(isinstance(name, str) for name in names):
                raise TypeError(
                    f"PartitionSpec: None, a name or a tuple of names is required, got {part!r}"
                )
        return super().__new__(cls, parts)

    def __repr__(self) -> str:
        return "PartitionSpec(" + ", ".join(map(repr, self)) + ")"

    def __reduce__(self) -> Any:
        return PartitionSpec, tuple(self)


class Mesh:
    """Devices on a grid whose axes have names. `devices`: an array or nested list of devices.

    Raises ValueError if the names do not fit the grid or repeat, or if a device comes twice.
    """

    __slots__ = ("devices", "axis_names", "_key", "_hash", "positions")

    def __init__(self, devices: Any, axis_names: Any) -> None:
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        grid = np.array(devices.tolist() if hasattr(devices, "tolist") else devices, object)
        self.devices = np.empty(grid.shape, object)
        for place, device in np.ndenumerate(grid):
            self.devices[place] = find(device)
        self.devices.flags.writeable = False
        self.axis_names = names
        if len(names) != grid.ndim or not all(isinstance(n, str) for n in names):
            raise ValueError(
                f"Mesh: {grid.ndim} axis names are required for devices of shape {grid.shape}, "
                f"got {names}"
            )
        if len(set(names)) < len(names):
            raise ValueError(f"Mesh: axis names must differ, got {names}")
        flat = self.devices.ravel().tolist()
        twice = [d for i, d in enumerate(flat) if d in flat[:i]]
        if twice:
            raise ValueError(f"Mesh: device {twice[0]} comes twice")
        order = {d: i for i, d in enumerate(sorted(flat, key=lambda d: (d.platform, d.id)))}
        self.positions = np.array([order[d] for d in flat], int).reshape(grid.shape)
        self._key = tuple(flat), grid.shape, names
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and other._key == self._key

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return Mesh, (self.devices, self.axis_names)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape.items())
        return f"Mesh({{{axes}}} of {', '.join(self.devices.ravel())})"

    @property
    def shape(self) -> dict[str, int]:
        """The size of each axis, by name."""
        return dict(zip(self.axis_names, self.devices.shape, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return self.devices.size

    def text(self) -> str:
        """The mesh as Shardy writes it, with the devices numbered in order of their ids."""
        axes = ", ".join(f'"{name}"={size}' for name, size in self.shape.items())
        order = self.positions.ravel().tolist()
        ids = "" if order == sorted(order) else f", device_ids={order}"
        return f"sdy.mesh @mesh = <[{axes}]{ids}>"


def make_mesh(axis_shapes: Any, axis_names: Any, devices: Any = None) -> Mesh:
    """A mesh of this shape, of the first devices. Raises ValueError if there are too few."""
    shape = tuple(int(n) for n in axis_shapes)
    there = list(all_devices() if devices is None else devices)
    size = math.prod(shape)
    if size > len(there):
        raise ValueError(
            f"make_mesh: {size} devices are required for the shape {shape}, there are {len(there)}"
        )
    grid = np.empty(size, object)
    grid[:] = there[:size]
    return Mesh(grid.reshape(shape), axis_names)


class NamedSharding(Sharding):
    """An array split over the axes of a mesh, as the spec says for each dimension.

    Raises ValueError for an axis that the mesh has not, or that the spec has twice.
    """

    __slots__ = ("mesh", "spec", "_hash", "_tiles")

    def __init__(self, mesh: Mesh, spec: Any) -> None:
        if not isinstance(mesh, Mesh):
            raise TypeError(f"NamedSharding: a Mesh is required, got {type(mesh).__name__}")
        if not isinstance(spec, PartitionSpec):
            spec = PartitionSpec(spec) if isinstance(spec, str) else PartitionSpec(*spec)
        seen: set[str] = set()
        for name in (n for part in _names(spec) for n in part):
            if name not in mesh.axis_names:
                raise ValueError(
                    f"NamedSharding: {spec} names the axis {name!r}, but the mesh has the axes "
                    f"{mesh.axis_names}"
                )
            if name in seen:
                raise ValueError(f"NamedSharding: {spec} has the axis {name!r} twice")
            seen.add(name)
        self.mesh, self.spec = mesh, spec
        self._hash = hash((mesh, spec))
        self._tiles: dict[int, Tiles] = {}

    def __repr__(self) -> str:
        return f"NamedSharding({self.mesh!r}, {self.spec!r})"

    def __eq__(self, other: object) -> bool:
        same = type(other) is NamedSharding and other.spec == self.spec
        return same and other.mesh == self.mesh  # type: ignore[union-attr]

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return NamedSharding, (self.mesh, self.spec)

    @property
    def device_set(self) -> set[Device]:
        return set(self.mesh.devices.ravel())

    @property
    def is_fully_replicated(self) -> bool:
        sizes = self.mesh.shape
        return all(sizes[name] == 1 for part in _names(self.spec) for name in part)

    def parts(self, ndim: int) -> list[tuple[str, ...]]:
        """For each of `ndim` dimensions, the axes that split it."""
        names = _names(self.spec)
        return names[:ndim] + [()] * (ndim - len(names))

    def factors(self, ndim: int) -> list[int]:
        sizes = self.mesh.shape
        return [math.prod(sizes[n] for n in part) for part in self.parts(ndim)]

    def check(self, shape: tuple[int, ...], what: str) -> None:
        """Raise ValueError unless it divides an array of this shape evenly."""
        if len(self.spec) > len(shape):
            raise ValueError(f"{what}: {self.spec} is longer than the shape {tuple(shape)}")
        for axis, (size, factor) in enumerate(zip(shape, self.factors(len(shape)), strict=True)):
            if size % factor:
                raise ValueError(
                    f"{what}: dimension {axis} has the size {size}, which {self.spec} does not "
                    f"divide into {factor} equal parts; shape {tuple(shape)}, {self.mesh}"
                )

    def shard_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        self.check(tuple(shape), "shard_shape")
        return tuple(n // f for n, f in zip(shape, self.factors(len(shape)), strict=True))

    def tiles(self, ndim: int) -> Tiles:
        """The number of parts of each dimension; for each part, the positions of its devices."""
        found = self._tiles.get(ndim)
        if found is None:
            found = self._tiles[ndim] = _tiles_of(self.mesh, tuple(self.parts(ndim)))
        return found

    def indices(self, shape: tuple[int, ...]) -> list[Index]:
        """The index of each device's part, the devices in order of their ids."""
        counts, owners = self.tiles(len(shape))
        sizes = [-(-n // c) for n, c in zip(shape, counts, strict=True)]
        found: list[Any] = [None] * self.mesh.size
        for which, place in enumerate(np.ndindex(*counts)):
            index = tuple(
                slice(None) if c == 1 else slice(min(p * s, n), min(p * s + s, n))
                for p, s, c, n in zip(place, sizes, counts, shape, strict=True)
            )
            for owner in owners[which]:
                found[owner] = index
        return found

    def devices_indices_map(self, shape: tuple[int, ...]) -> dict[Device, Index]:
        self.check(tuple(shape), "devices_indices_map")
        ordered = sorted(self.mesh.devices.ravel(), key=lambda d: (d.platform, d.id))
        return dict(zip(ordered, self.indices(tuple(shape)), strict=True))

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        if isinstance(other, SingleDeviceSharding):
            return self.mesh.size == 1 and other.device_set == self.device_set
        same = isinstance(other, NamedSharding) and other.device_set == self.device_set
        return same and other.tiles(ndim) == self.tiles(ndim)

    def like(self, tiles: Tiles) -> NamedSharding | None:
        """The sharding on this mesh that has these tiles; None if its axes cannot say it."""
        return named(self.mesh, tiles)

    def text(self, ndim: int) -> str:
        """The sharding as Shardy writes it."""
        quoted = ["{" + ", ".join(f'"{n}"' for n in part) + "}" for part in self.parts(ndim)]
        return f"#sdy.sharding<@mesh, [{', '.join(quoted)}]>"


# for each dimension the number of parts; for each part, in order, the devices that have it
Tiles = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


def _names(spec: PartitionSpec) -> list[tuple[str, ...]]:
    return [p if isinstance(p, tuple) else () if p is None else (p,) for p in spec]


def _tiles_of(mesh: Mesh, parts: tuple[tuple[str, ...], ...]) -> Tiles:
    used = [name for part in parts for name in part]
    order = used + [name for name in mesh.axis_names if name not in used]
    grid = mesh.positions.transpose([mesh.axis_names.index(name) for name in order])
    sizes = mesh.shape
    counts = tuple(math.prod(sizes[n] for n in part) for part in parts)
    rows = np.sort(grid.reshape(math.prod(counts), -1), axis=1)
    return counts, tuple(map(tuple, rows.tolist()))


@cached()
def named(mesh: Mesh, tiles: Tiles) -> NamedSharding | None:
    """The sharding on this mesh that has these tiles; None if its axes cannot say it."""
    ndim = len(tiles[0])
    axes = [n for n, size in mesh.shape.items() if size > 1]
    for order in itertools.permutations(axes):
        for dims in itertools.product([*range(ndim), None], repeat=len(order)):
            parts = tuple(
                tuple(n for n, d in zip(order, dims, strict=True) if d == axis)
                for axis in range(ndim)
            )
            sizes = mesh.shape
            counts = tuple(math.prod(sizes[n] for n in part) for part in parts)
            if counts == tiles[0] and _tiles_of(mesh, parts) == tiles:
                return NamedSharding(mesh, _shortest(parts))
    return None


def _shortest(parts: Sequence[tuple[str, ...]]) -> PartitionSpec:
    """The spec without whole dimensions at its end, and names alone where one suffices."""
    plain: list[Any] = [None if not p else p[0] if len(p) == 1 else p for p in parts]
    while plain and plain[-1] is None:
        plain.pop()
    return PartitionSpec(*plain)


def normal(sharding: NamedSharding, ndim: int) -> NamedSharding:
    """The same sharding of arrays with so many dimensions, written as results have it."""
    spec = _shortest(sharding.parts(ndim))
    return sharding if spec == sharding.spec else NamedSharding(sharding.mesh, spec)


# -- the current mesh ------------------------------------------------------------------------------


class set_mesh:
    """`with set_mesh(mesh):` a bare PartitionSpec in it means a sharding on this mesh. As a call,
    it sets the mesh for good; None for none.
    """

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise TypeError(f"set_mesh: a Mesh is required, got {type(mesh).__name__}")
        self._before = _current.mesh
        _current.mesh = mesh

    def __enter__(self) -> Mesh | None:
        return _current.mesh

    def __exit__(self, *error: object) -> None:
        _current.mesh = self._before


class _Current(threading.local):
    mesh: Mesh | None = None


_current = _Current()


def current_mesh() -> Mesh | None:
    return _current.mesh


def sharding_on(mesh: Mesh | None, spec: Any, what: str) -> NamedSharding:
    """A bare spec as a sharding. Raises ValueError if no mesh is set."""
    mesh = mesh or _current.mesh
    if mesh is None:
        raise ValueError(
            f"{what}: {spec} needs a mesh: NamedSharding(mesh, spec), or with set_mesh(mesh)"
        )
    return NamedSharding(mesh, spec)
