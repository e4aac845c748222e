"""`numpy.polynomial.legendre`: values of series are lazy, what makes coefficients is NumPy's."""

from typing import TYPE_CHECKING

import numpy.polynomial.legendre as _numpy
from numpy.polynomial.legendre import *  # noqa: F403

from lazynp.functions import _clenshaw
from lazynp.functions._host import mirrored as _mirrored

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))
globals().update(_clenshaw.evaluators("leg"))

if not TYPE_CHECKING:
    Legendre = _clenshaw.lazy_class("leg", _numpy.Legendre)
