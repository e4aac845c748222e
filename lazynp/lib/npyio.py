"""`numpy.lib.npyio`: the same objects."""

import numpy.lib.npyio as _numpy
from numpy.lib.npyio import *  # noqa: F403


def __getattr__(name: str) -> object:
    return getattr(_numpy, name)
