"""`numpy.lib.mixins`: the same objects."""

from numpy.lib.mixins import *  # noqa: F403
from numpy.lib.mixins import __all__ as __all__
