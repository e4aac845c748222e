"""The group of this process alone, and which process has which device."""

from __future__ import annotations

import pytest

from lazynp import _processes
from lazynp._devices import Device, find, find_own, first, own
from lazynp._errors import DeviceError
from lazynp._processes import ALONE, Group, group, process_count, process_index


class OfThree(Group):
    index, count, devices = 1, 3, (2, 3, 1)


def test_a_process_is_usually_alone() -> None:
    assert group() is ALONE and (process_index(), process_count()) == (0, 1)
    assert ALONE.exchange("a", b"x") == [b"x"]
    assert ALONE.together((0,), "a", lambda: 5) == 5
    assert (ALONE.first, ALONE.owner(7)) == (0, 0)


def test_devices_are_numbered_over_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_processes, "_current", [OfThree()])
    assert [group().owner(i) for i in range(6)] == [0, 0, 1, 1, 1, 2]
    assert group().first == 2 and first() == "cpu:2"
    assert own("cpu") == ["cpu:2", "cpu:3", "cpu:4"]
    assert Device("cpu", 5).process_index == 2
    assert find("cpu") == "cpu:2"  # one's own first
    assert find(Device("cpu")) == "cpu" and find("cpu:5") == "cpu:5"
    for there in (Device("cpu"), "cpu:5"):
        with pytest.raises(DeviceError, match="belongs to process"):
            find_own(there)
    with pytest.raises(DeviceError, match="cpu:6"):
        find("cpu:6")
