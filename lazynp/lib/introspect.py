"""`numpy.lib.introspect`: the same objects."""

import numpy.lib.introspect as _numpy
from numpy.lib.introspect import *  # noqa: F403


def __getattr__(name: str) -> object:
    return getattr(_numpy, name)
