"""`numpy.lib.recfunctions`: structured arrays are on the host; functions take lazy arrays."""

from __future__ import annotations

from typing import Any

import numpy.lib.recfunctions as _numpy
from numpy.lib.recfunctions import *  # noqa: F403

from lazynp._array import Array as _Array
from lazynp.functions._host import (
    mirrored as _mirrored,
    to_host as _to_host,
    write_on_host as _write_on_host,
)

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))


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
