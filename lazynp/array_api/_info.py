"""`__array_namespace_info__()`: the capabilities of this library."""

from __future__ import annotations

from typing import Any

from lazynp._devices import Device, default, devices
from lazynp.array_api import _dtypes
from lazynp.functions._arguments import check_device

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class Info:
    """The inspection utilities of the standard."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        return default()

    def devices(self) -> tuple[Device, ...]:
        return tuple(devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        check_device(device)
        return {
            "real floating": _dtypes.float64,
            "complex floating": _dtypes.complex128,
            "integral": _dtypes.int64,
            "indexing": _dtypes.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        check_device(device)
        if kind is None:
            kind = ("bool", "numeric")
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names: dict[str, None] = {}
        for k in kinds:
            if k not in _KINDS:
                raise ValueError(f"dtypes: kind must be one of {sorted(_KINDS)}, got {k!r}")
            names |= dict.fromkeys(_KINDS[k])
        return {name: getattr(_dtypes, name) for name in names}


_info = Info()


def __array_namespace_info__() -> Info:
    """The inspection utilities of the standard."""
    return _info
