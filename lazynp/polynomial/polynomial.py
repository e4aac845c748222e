"""`numpy.polynomial.polynomial`: values of series are lazy, what makes coefficients is NumPy's."""

from typing import TYPE_CHECKING

import numpy.polynomial.polynomial as _numpy
from numpy.polynomial.polynomial import *  # noqa: F403

from lazynp.functions import _clenshaw
from lazynp.functions._host import mirrored as _mirrored

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))
globals().update(_clenshaw.evaluators("poly"))
polyvalfromroots = _clenshaw.from_roots

if not TYPE_CHECKING:
    Polynomial = _clenshaw.lazy_class("poly", _numpy.Polynomial)
