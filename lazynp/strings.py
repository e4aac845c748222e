"""`numpy.strings`: text is on the host; functions take lazy arrays and return Arrays."""

from __future__ import annotations

from typing import Any

import numpy.strings as _numpy
from numpy.strings import *  # noqa: F403

from lazynp.functions._host import mirrored as _mirrored

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)
