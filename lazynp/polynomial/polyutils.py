"""`numpy.polynomial.polyutils`: NumPy's own code, on values or traced."""

import numpy.polynomial.polyutils as _numpy
from numpy.polynomial.polyutils import *  # noqa: F403

from lazynp.functions import _series

__all__ = list(_numpy.__all__)
globals().update(_series.functions(_numpy))
