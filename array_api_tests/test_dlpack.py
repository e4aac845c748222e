"""Data interchange by dlpack, and devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import ALL, arrays, check, devices, host, make, xp

CPU = (1, 0)


@given(x=arrays(ALL))
def test_round_trip(x: Any) -> None:
    check(xp.from_dlpack(make(x)), x)


@given(x=arrays(ALL))
def test_export_to_numpy(x: Any) -> None:
    got = np.from_dlpack(make(x))
    assert got.dtype == x.dtype and got.shape == x.shape
    np.testing.assert_array_equal(got, x)


@given(x=arrays(ALL), copy=st.sampled_from([None, True, False]))
def test_import_from_numpy(x: Any, copy: bool | None) -> None:
    check(xp.from_dlpack(x, copy=copy), x)


def test_copies_when_asked() -> None:
    """ "If True, the function must always copy." """
    a = make([1.0, 2.0])
    b = xp.from_dlpack(a, copy=True)
    a[0] = 9.0
    check(b, np.asarray([1.0, 2.0]))
    memory = np.asarray([1.0, 2.0])
    c = xp.from_dlpack(memory, copy=True)
    memory[0] = 9.0
    check(c, np.asarray([1.0, 2.0]))


def test_exports_copy_when_asked() -> None:
    """ "If True, the function must always copy (performed by the producer)." """
    x = make([1.0, 2.0])
    for options in ({}, {"max_version": (1, 0)}):
        first, second = (np.from_dlpack(_Exporter(x, copy=True, **options)) for _ in range(2))
        assert not np.shares_memory(first, second)
        np.testing.assert_array_equal(first, [1.0, 2.0])


class _Exporter:
    """Exports an array with these options, whatever the consumer requests."""

    def __init__(self, x: Any, **options: Any) -> None:
        self.x, self.options = x, options

    def __dlpack__(self, **asked: Any) -> Any:
        return self.x.__dlpack__(**self.options)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


def test_device() -> None:
    x = make([1.0, 2.0])
    kind, number = x.__dlpack_device__()
    assert (int(kind), number) == CPU
    assert x.device in devices
    check(xp.from_dlpack(x, device=x.device), host(x))


@pytest.mark.parametrize("options", [
    {}, {"stream": None}, {"max_version": (1, 0)}, {"max_version": (0, 8)}, {"max_version": None},
    {"max_version": (1, 0), "dl_device": CPU}, {"max_version": (1, 0), "copy": True},
    {"max_version": (1, 0), "copy": None, "dl_device": None, "stream": None},
    {"max_version": (2, 0)},
])  # fmt: skip
def test_capsule(options: dict[str, Any]) -> None:
    capsule = make([1.0, 2.0]).__dlpack__(**options)
    assert type(capsule).__name__ == "PyCapsule"


def test_foreign_device_is_refused() -> None:
    """ "If the device type cannot be handled by the producer, must raise BufferError." """
    with pytest.raises(BufferError):
        make([1.0]).__dlpack__(dl_device=(2, 0), max_version=(1, 0))


def test_stream_is_refused() -> None:
    """ "On CPU and other device types without streams, only None is accepted." """
    with pytest.raises(Exception):  # noqa: B017
        make([1.0]).__dlpack__(stream=1)


def test_without_protocol() -> None:
    """AttributeError: "If the __dlpack__ and __dlpack_device__ methods are not present"."""
    with pytest.raises(AttributeError):
        xp.from_dlpack([1.0])


@given(x=arrays(ALL))
def test_to_device(x: Any) -> None:
    a = make(x)
    for device in devices:
        moved = a.to_device(device)
        check(moved, x)
        assert moved.device == device


def test_to_device_refuses() -> None:
    """ "If device is not supported, an error should be raised"; streams likewise."""
    with pytest.raises(Exception):  # noqa: B017
        make([1.0]).to_device("no such device")
    with pytest.raises(Exception):  # noqa: B017
        make([1.0]).to_device(devices[0], stream=object())
