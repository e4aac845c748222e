"""`numpy.char`. Text stays on the host; functions accept lazy arrays and return Arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy._core.defchararray as _defchararray
import numpy.char as _numpy

from lazynp.functions._host import mirrored as _mirrored
from lazynp.functions._numpys_classes import hook as _hook

if TYPE_CHECKING:
    from numpy.char import *  # noqa: F403

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))
_hook(_defchararray.chararray)  # `numpy.char` warns that its own name for it is deprecated


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)
