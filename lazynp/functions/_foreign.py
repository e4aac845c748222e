"""Arrays of other libraries (torch, cupy, dask, ...): by dlpack, or as they convert themselves."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

_HOST = 1  # kDLCPU, as the DLPack header has it


def from_foreign(x: Any) -> Any:
    """NumPy's view or copy of another library's array; anything else as it is.

    From a device that is not the host, the values are fetched.
    """
    if isinstance(x, (np.ndarray, np.generic)) or not hasattr(x, "__dlpack_device__"):
        return x  # NumPy knows what to do
    if int(x.__dlpack_device__()[0]) != _HOST and _must_be_fetched(x):
        x = array_api_compat.to_device(x, "cpu")
    return x if hasattr(x, "__array__") else np.from_dlpack(x)


def _must_be_fetched(x: Any) -> bool:
    """Of the libraries on other devices, cupy and torch have an `__array__` that refuses."""
    if hasattr(x, "__array__"):
        return array_api_compat.is_cupy_array(x) or array_api_compat.is_torch_array(x)
    return array_api_compat.is_array_api_obj(x)
