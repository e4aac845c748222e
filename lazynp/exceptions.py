"""`numpy.exceptions`: the same classes."""

from numpy.exceptions import *  # noqa: F403
from numpy.exceptions import RankWarning as RankWarning, __all__ as __all__
