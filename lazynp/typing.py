"""`numpy.typing`. `NDArray[...]` annotates lazy arrays too."""

from typing import TypeAlias

import numpy.typing as _numpy

from lazynp._array import Array

DTypeLike: TypeAlias = _numpy.DTypeLike
NBitBase = _numpy.NBitBase
NDArray = _numpy.NDArray
ArrayLike: TypeAlias = _numpy.ArrayLike | Array

__all__ = ["ArrayLike", "DTypeLike", "NBitBase", "NDArray"]
