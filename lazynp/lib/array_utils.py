"""`numpy.lib.array_utils`: the same objects."""

from numpy.lib.array_utils import *  # noqa: F403
from numpy.lib.array_utils import __all__ as __all__
