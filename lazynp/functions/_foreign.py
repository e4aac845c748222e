"""Arrays of other libraries (torch, cupy, dask, ...): by dlpack, or as they convert themselves."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np


def from_foreign(x: Any) -> Any:
    """NumPy's view or copy of another library's array; anything else as it is.

    From a device that is not the host, the values are fetched.
    """
    if isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "__array__"):
        return x  # NumPy knows what to do
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        return x
    kind, _ = x.__dlpack_device__()
    if int(kind) != 1 and array_api_compat.is_array_api_obj(x):
        x = array_api_compat.to_device(x, "cpu")
    return np.from_dlpack(x)
