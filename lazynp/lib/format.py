"""`numpy.lib.format`: the same objects."""

import numpy.lib.format as _numpy
from numpy.lib.format import *  # noqa: F403


def __getattr__(name: str) -> object:
    return getattr(_numpy, name)
