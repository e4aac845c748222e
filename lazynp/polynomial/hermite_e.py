"""`numpy.polynomial.hermite_e`: values of series are lazy, what makes coefficients is NumPy's."""

from typing import TYPE_CHECKING

import numpy.polynomial.hermite_e as _numpy
from numpy.polynomial.hermite_e import *  # noqa: F403

from lazynp.functions import _clenshaw
from lazynp.functions._host import mirrored as _mirrored

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))
globals().update(_clenshaw.evaluators("herme"))

if not TYPE_CHECKING:
    HermiteE = _clenshaw.lazy_class("herme", _numpy.HermiteE)
