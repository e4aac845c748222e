"""`numpy.lib.recfunctions`: structured arrays are on the host; functions take lazy arrays."""

import numpy.lib.recfunctions as _numpy
from numpy.lib.recfunctions import *  # noqa: F403

from lazynp.functions._host import mirrored as _mirrored

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))
