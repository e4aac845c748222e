"""`numpy.rec`: its record arrays are NumPy's, on the host; views of lazy arrays are lazy."""

from __future__ import annotations

from functools import wraps as _wraps
from typing import TYPE_CHECKING, Any

import numpy.rec as _numpy

from lazynp._array import NDArray as _NDArray
from lazynp.functions._host import mirrored as _mirrored

if TYPE_CHECKING:
    from numpy.rec import *  # noqa: F403

__all__ = list(_numpy.__all__)
globals().update(_mirrored(_numpy, __all__))
_numpys_array = globals()["array"]


@_wraps(_numpys_array)
def _array(obj: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    formats = args[3] if len(args) > 3 else kwargs.get("formats")
    copied = args[8] if len(args) > 8 else kwargs.get("copy", True)
    ours = isinstance(obj, _NDArray) and obj.dtype.names is not None
    if ours and not copied and formats is None and dtype in (None, obj.dtype):
        return obj.view(_numpy.recarray)
    return _numpys_array(obj, dtype, *args, **kwargs)


globals()["array"] = _array


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)
