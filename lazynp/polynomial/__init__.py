"""`numpy.polynomial`: NumPy's classes; called with a lazy array, a series stays lazy."""

from numpy.polynomial import set_default_printstyle

from lazynp.polynomial import (
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
    polyutils as polyutils,
)
from lazynp.polynomial.chebyshev import Chebyshev
from lazynp.polynomial.hermite import Hermite
from lazynp.polynomial.hermite_e import HermiteE
from lazynp.polynomial.laguerre import Laguerre
from lazynp.polynomial.legendre import Legendre
from lazynp.polynomial.polynomial import Polynomial

__all__ = [
    "Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre", "Polynomial", "chebyshev",
    "hermite", "hermite_e", "laguerre", "legendre", "polynomial", "set_default_printstyle",
]  # fmt: skip
