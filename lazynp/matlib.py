"""`numpy.matlib`: the namespace, with functions that make matrices of NumPy's, not arrays."""

from __future__ import annotations

import warnings as _warnings
from typing import TYPE_CHECKING, Any

from numpy import matrix as matrix

import lazynp as _lazynp
from lazynp.functions._host import mirrored as _mirrored

with _warnings.catch_warnings(record=True) as _told:  # that it is deprecated
    _warnings.simplefilter("always")
    import numpy.matlib as _numpy
for _warning in _told:
    _warnings.warn(_warning.message, stacklevel=2)  # at the user's line

if TYPE_CHECKING:
    from numpy.matlib import *  # noqa: F403

__all__ = list(_numpy.__all__)
_OWN = ("empty", "eye", "identity", "ones", "rand", "randn", "repmat", "zeros")
globals().update(_mirrored(_numpy, _OWN))


def __getattr__(name: str) -> Any:
    return getattr(_lazynp, name)
