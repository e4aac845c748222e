"""`numpy.lib._npyio_impl`, which programs import from: the functions are the namespace's."""

import sys as _sys

import numpy.lib._npyio_impl as _numpy

from lazynp.lib.npyio import DataSource as DataSource, NpzFile as NpzFile

__all__ = list(_numpy.__all__)


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(_sys.modules["lazynp"], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
