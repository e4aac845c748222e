"""Shardings: on which devices an array lies, and which part of it on which."""

from __future__ import annotations

from typing import Any

from lazynp._devices import Device, find

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
        return True

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
