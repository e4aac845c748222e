"""`numpy.lib.recfunctions`: structured arrays are on the host; functions take lazy arrays."""

from __future__ import annotations

from functools import partial as _partial
from typing import Any

import numpy as _np
import numpy.lib.recfunctions as _numpy
from numpy.lib.recfunctions import *  # type: ignore[assignment]  # noqa: F403

from lazynp._array import Array as _Array, NDArray as _NDArray
from lazynp.functions._host import (
    host_call as _host_call,
    mirrored as _mirrored,
    to_host as _to_host,
    write_on_host as _write_on_host,
)
from lazynp.functions._strided import shown_by as _shown_by

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))


def structured_to_unstructured(
    arr: Any, dtype: Any = None, copy: bool = False, casting: Any = "unsafe"
) -> Any:
    """See `numpy.lib.recfunctions.structured_to_unstructured`. A view where NumPy's is one."""
    look = _partial(_numpy.structured_to_unstructured, dtype=dtype, copy=copy, casting=casting)
    if type(arr) is _NDArray and arr.dtype.names:
        one = _np.zeros(1, arr.dtype)  # the dtypes decide
        if _np.shares_memory(look(one), one):
            view = _shown_by(arr, look)
            if view is not None:
                return view
    return _host_call(_numpy.structured_to_unstructured, arr, dtype, copy, casting)


def unstructured_to_structured(
    arr: Any,
    dtype: Any = None,
    names: Any = None,
    align: bool = False,
    copy: bool = False,
    casting: Any = "unsafe",
) -> Any:
    """See `numpy.lib.recfunctions.unstructured_to_structured`. A view where NumPy's is one."""
    given = dtype, names, align, copy, casting
    if type(arr) is _NDArray and arr.ndim and arr.flags.c_contiguous:
        one = _np.zeros((1, arr.shape[-1]), arr.dtype)  # the dtypes decide
        shown = _numpy.unstructured_to_structured(one, *given)
        if _np.shares_memory(shown, one):
            return arr.view(shown.dtype)[..., 0]
    return _host_call(_numpy.unstructured_to_structured, arr, *given)


def recursive_fill_fields(input: Any, output: Any) -> Any:
    """See `numpy.lib.recfunctions.recursive_fill_fields`."""
    if not isinstance(output, _Array):
        return _numpy.recursive_fill_fields(_to_host(input), output)
    with _write_on_host(output) as memory:
        _numpy.recursive_fill_fields(_to_host(input), memory)
    return output


def assign_fields_by_name(dst: Any, src: Any, zero_unassigned: bool = True) -> None:
    """See `numpy.lib.recfunctions.assign_fields_by_name`."""
    if not isinstance(dst, _Array):
        return _numpy.assign_fields_by_name(dst, _to_host(src), zero_unassigned)
    with _write_on_host(dst) as memory:
        _numpy.assign_fields_by_name(memory, _to_host(src), zero_unassigned)
