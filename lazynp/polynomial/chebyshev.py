"""`numpy.polynomial.chebyshev`: values of series are lazy, what makes coefficients is NumPy's."""

from typing import TYPE_CHECKING

import numpy.polynomial.chebyshev as _numpy
from numpy.polynomial.chebyshev import *  # noqa: F403

from lazynp.functions import _clenshaw
from lazynp.functions._host import mirrored as _mirrored

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))
globals().update(_clenshaw.evaluators("cheb"))

if not TYPE_CHECKING:
    Chebyshev = _clenshaw.lazy_class("cheb", _numpy.Chebyshev)
