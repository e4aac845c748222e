"""Inspection: `__array_namespace_info__`."""

from __future__ import annotations

from typing import Any

import pytest

from array_api_tests.support import ALL, DEVICES, KINDS, dtype, make, xp

info = xp.__array_namespace_info__()


def test_capabilities() -> None:
    found = info.capabilities()
    assert {"boolean indexing", "data-dependent shapes", "max dimensions"} <= set(found)
    assert type(found["boolean indexing"]) is bool
    assert type(found["data-dependent shapes"]) is bool
    most = found["max dimensions"]
    assert most is None or type(most) is int and most > 0


def test_capabilities_are_true() -> None:
    found = info.capabilities()
    x = make([1, 0, 2])
    if found["boolean indexing"]:
        assert x[x > 0].shape == (2,)
    if found["data-dependent shapes"]:
        assert xp.nonzero(x)[0].shape == (2,) and xp.unique_values(x).shape == (3,)
    most = found["max dimensions"]
    if most is not None:
        assert xp.ones((1,) * most).ndim == most
        with pytest.raises(Exception):  # noqa: B017
            xp.ones((1,) * (most + 1))


def test_devices() -> None:
    devices = info.devices()
    assert isinstance(devices, (tuple, list)) and devices
    default = info.default_device()
    assert default is None or default in devices
    assert make([1]).device in devices


def test_devices_is_a_tuple() -> None:
    """2025.12: "Changed the return value from a List to a Tuple." """
    assert isinstance(info.devices(), tuple)


@pytest.mark.parametrize("device", DEVICES)
def test_default_dtypes(device: Any) -> None:
    found = info.default_dtypes(device=device)
    assert set(found) >= {"real floating", "complex floating", "integral", "indexing"}
    assert xp.ones(1).dtype == found["real floating"]
    assert xp.asarray(1).dtype == found["integral"]
    assert xp.asarray(1j).dtype == found["complex floating"]
    assert xp.argmax(make([1])).dtype == found["indexing"]
    assert info.default_dtypes() == found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_dtypes_of_a_kind(kind: str, device: Any) -> None:
    found = info.dtypes(kind=kind, device=device)
    assert set(found) == set(KINDS[kind])
    assert all(found[n] == dtype(n) for n in found)
    assert all(xp.isdtype(d, kind) for d in found.values())


def test_dtypes() -> None:
    """All dtypes; for a tuple of kinds, their union."""
    assert set(info.dtypes()) == set(ALL)
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert set(info.dtypes(kind=("integral", "signed integer"))) == set(KINDS["integral"])
    assert info.dtypes(kind=()) == {}


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(Exception):  # noqa: B017
        info.dtypes(kind="no such kind")
