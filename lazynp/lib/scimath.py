"""`numpy.lib.scimath` is `numpy.emath`."""

from lazynp.emath import *  # noqa: F403
from lazynp.emath import __all__ as __all__
