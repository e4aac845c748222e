"""`numpy.ma`: masked arrays are NumPy's own, on the host. Its functions take lazy arrays."""

from __future__ import annotations

from typing import Any

import numpy.ma as _numpy
from numpy.ma import *  # noqa: F403

from lazynp.functions._host import mirrored as _mirrored

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)
