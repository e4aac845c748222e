"""`numpy.ctypeslib`: the same functions."""

from numpy.ctypeslib import *  # noqa: F403
from numpy.ctypeslib import __all__ as __all__
