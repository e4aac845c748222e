"""`numpy.polynomial.polyutils`."""

import numpy.polynomial.polyutils as _numpy
from numpy.polynomial.polyutils import *  # noqa: F403

from lazynp.functions._host import mirrored as _mirrored

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))
