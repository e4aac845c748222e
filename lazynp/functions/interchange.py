"""Devices and dlpack: methods of `Array`, and `from_dlpack`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, Scalar, from_host, new_array
from lazynp._avals import on_device
from lazynp._flush import host_value
from lazynp._fronts import unbound
from lazynp._strides import writeable
from lazynp._views import same
from lazynp.functions._arguments import check_device
from lazynp.functions._construct import asarray
from lazynp.functions._placing import placing

_CPU = (1, 0)  # kDLCPU in the DLPack header


def dlpack(
    self: Array,
    /,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    """A capsule of the value: read-only memory if the consumer understands that, else a copy."""
    value = np.asarray(host_value(self._read()))
    # NumPy says what else is wrong with it
    versioned = isinstance(max_version, tuple) and len(max_version) == 2 and max_version >= (1, 0)
    if not versioned and not copy and not writeable(self):
        raise BufferError(
            "Cannot export readonly array since signalling readonly is unsupported by DLPack "
            "(supported by newer DLPack version)."
        )
    if not versioned and copy is None and not value.flags.writeable:
        copy = True  # before 1.0, a capsule cannot mark memory as read-only
    if value.flags.writeable:
        value = value.view()
        value.flags.writeable = not versioned
    return value.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(self: Array, /) -> tuple[int, int]:
    """The device of the memory: (kDLCPU, 0)."""
    return _CPU


@unbound
@placing
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array of the data in `x`: a view of a lazy array. Other memory is copied, so that later
    writes to `x` have no effect; `copy=False` takes the memory itself, which must not change
    afterwards.
    """
    check_device(device)
    if not copy and isinstance(x, Array):
        if not on_device(x.dtype):
            np.empty(1, x.dtype).__dlpack__()  # raises: text, objects, another byte order
        return new_array(x._read()) if isinstance(x, Scalar) else same(x)
    value = np.from_dlpack(x, device=device, copy=copy)
    if copy is False:
        return asarray(value, copy=False)
    return new_array(from_host(value, copy=copy is None))
