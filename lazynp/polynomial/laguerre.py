"""`numpy.polynomial.laguerre`: values of series are lazy, what makes coefficients is NumPy's."""

from typing import TYPE_CHECKING

import numpy.polynomial.laguerre as _numpy
from numpy.polynomial.laguerre import *  # noqa: F403

from lazynp.functions import _clenshaw
from lazynp.functions._host import mirrored as _mirrored

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))
globals().update(_clenshaw.evaluators("lag"))

if not TYPE_CHECKING:
    Laguerre = _clenshaw.lazy_class("lag", _numpy.Laguerre)
