"""`numpy.rec`: record arrays are NumPy's own, on the host. The functions accept lazy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.rec as _numpy

from lazynp.functions._host import mirrored as _mirrored

if TYPE_CHECKING:
    from numpy.rec import *  # noqa: F403

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)
