"""`numpy.polynomial.chebyshev`: NumPy's code, on values or traced; values of series are lazy."""

import numpy.polynomial.chebyshev as _numpy
from numpy.polynomial.chebyshev import *  # noqa: F403

from lazynp.functions import _series

__all__ = list(_numpy.__all__)
globals().update(_series.functions(_numpy))
