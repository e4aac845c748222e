"""The processes that run this program together: usually this one alone.

`lazynp.distributed` installs a group of several. Modules below it ask here who is in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Group:
    """This process alone. Groups of several (`distributed._group`) have the same interface."""

    index = 0
    count = 1
    devices: tuple[int, ...] | None = None  # of each process; None: the setting `cpu_devices` says

    @property
    def first(self) -> int:
        """The id of this process' first CPU device."""
        return 0 if self.devices is None else sum(self.devices[: self.index])

    def owner(self, device: int) -> int:
        """The process that has the CPU device with this id."""
        if self.devices is None:
            return 0
        end = 0
        for process, count in enumerate(self.devices):
            end += count
            if device < end:
                return process
        return 0

    def exchange(self, what: str, payload: bytes) -> list[bytes]:
        """What each process gives; it returns when all have come."""
        return [payload]

    def together(self, members: tuple[int, ...], what: str, job: Callable[[], Any]) -> Any:
        """Do this when all of these processes have come to do the same."""
        return job()

    def agree(self, data: Any) -> None:
        """What all processes must have put in the same way: they compare it at the next program."""

    def client(self) -> Any:
        """The jaxlib client that knows the devices of all processes."""
        raise RuntimeError("lazynp.distributed: not initialised")


ALONE = Group()
_current: list[Group] = [ALONE]
changed: list[Callable[[], None]] = []  # called when there is another group


def group() -> Group:
    return _current[0]


def install(new: Group) -> None:
    _current[0] = new
    for call in changed:
        call()


def process_index() -> int:
    """The number of this process among those that run the program together; 0 if it is alone."""
    return _current[0].index


def process_count() -> int:
    """The number of processes that run this program together."""
    return _current[0].count
