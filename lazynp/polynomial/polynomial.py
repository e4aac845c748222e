"""`numpy.polynomial.polynomial`: NumPy's code, on values or traced; values of series are lazy."""

import numpy.polynomial.polynomial as _numpy
from numpy.polynomial.polynomial import *  # noqa: F403

from lazynp.functions import _series

__all__ = list(_numpy.__all__)
globals().update(_series.functions(_numpy))
