"""Devices: their names, those there are, and the one on which new arrays are made.

The CPU's devices are virtual: as many as the setting `cpu_devices` says. To list them makes no
client, so the number may change until a program is compiled.
"""

from __future__ import annotations

from typing import Any

from lazynp import _processes, lowering
from lazynp._config import check_too, config
from lazynp._errors import DeviceError

PLATFORMS = ("cpu", "cuda")


class Device(str):
    """A device: a name like "cpu" (the first of its platform) or "cpu:1", with attributes.

    Equal to the same text, and so hashable and picklable.
    """

    platform: str
    id: int  # among the devices of the platform
    process_index: int  # of the process that it belongs to
    device_kind: str

    def __new__(cls, platform: str, id: int = 0) -> Device:
        made = super().__new__(cls, f"{platform}:{id}" if id else platform)
        made.platform, made.id = platform, id
        made.process_index = _processes.group().owner(id) if platform == "cpu" else 0
        made.device_kind = platform
        return made

    def __reduce__(self) -> Any:
        return Device, (self.platform, self.id)

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __str__(self) -> str:
        return str.__str__(self)

    def memory_stats(self) -> dict[str, int] | None:
        """What the device says about its memory; None if it says nothing, as a CPU."""
        if self.platform == "cpu":
            return None
        return lowering.memory_stats(self.platform, self.id)


FIRST = Device("cpu")


def devices(platform: str | None = None) -> list[Device]:
    """The devices of a platform, by id; of the default device's platform if none is named.

    Raises DeviceError if there are none.
    """
    if platform is None:
        platform = default().platform
    if platform == "cpu":
        return [Device("cpu", i) for i in range(_cpu_count())]
    if platform not in PLATFORMS:
        raise _missing(platform)
    return [Device(platform, i) for i in range(lowering.device_count(platform))]


def _cpu_count() -> int:
    counts = _processes.group().devices
    return config.cpu_devices if counts is None else sum(counts)


def own(platform: str | None = None) -> list[Device]:
    """The devices of this process, by id; see `devices`."""
    mine = _processes.process_index()
    return [d for d in devices(platform) if d.platform != "cpu" or d.process_index == mine]


def find(device: Any) -> Device:
    """The device of this name; "cpu" is the first that this process has. Raises DeviceError if
    there is none.
    """
    if type(device) is not Device:
        device = _named(device)
    if device.platform == "cpu" and device.id < _cpu_count():
        return device
    there = devices(device.platform)
    if device not in there:
        raise _missing(device, there)
    return device


def _named(name: Any) -> Device:
    platform, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if platform not in PLATFORMS or colon and not number.isdecimal():
        raise _missing(name)
    if platform == "cpu" and not number:
        return first()
    return Device(platform, int(number or 0))


def _missing(device: Any, there: list[Device] | None = None) -> DeviceError:
    """NumPy's error, with the devices that there are."""
    there = devices("cpu") if there is None else there
    names = ", ".join(f'"{d}"' for d in there)
    more = _MORE if isinstance(device, str) and device.startswith("cpu:") else ""
    return DeviceError(
        f"Device not understood. Only {names} is allowed, but received: {device}{more}"
    )


_MORE = ". np.config(cpu_devices=...) or LAZYNP_CPU_DEVICES makes more"


def first() -> Device:
    """The first CPU device of this process."""
    start = _processes.group().first
    return Device("cpu", start) if start else FIRST


def find_own(device: Any) -> Device:
    """The device of this name. Raises DeviceError if there is none, or if another process has
    it.
    """
    device = find(device)
    if device.platform == "cpu" and device.process_index != _processes.process_index():
        raise DeviceError(
            f"Device not understood. {device} belongs to process {device.process_index}, this is "
            f"process {_processes.process_index()}; a sharding over a mesh puts arrays on both"
        )
    return device


def default() -> Device:
    """The device on which new arrays are made."""
    name = config.device
    return first() if name == "cpu" else find(name)


def _check_device(name: str) -> None:
    find_own(name)


def _check_count(count: int) -> None:
    fixed = lowering.has_client() or _processes.process_count() > 1
    if count != config.cpu_devices and fixed:
        raise RuntimeError(
            f"config: cpu_devices is {config.cpu_devices}, and stays so: a program was compiled "
            "already. Set it before, or by LAZYNP_CPU_DEVICES"
        )


check_too("device", _check_device)
check_too("cpu_devices", _check_count)
