"""`numpy.emath`: functions with complex results where real ones are undefined.

The dtype of the result depends on the data, so these functions read real arguments. The functions
that they call are lazy and differentiable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as _np

from lazynp._values import extent as _extent
from lazynp.functions import reductions as _reductions, ufuncs as _ufuncs
from lazynp.functions._checks import asking as _asking
from lazynp.functions._dispatch import make_overridable as _make_overridable
from lazynp.functions._operands import as_array as _as_array

__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]
_SINGLE = "bBhHf"


def _complex(x: Any) -> Any:
    """Convert to complex; single precision for small dtypes."""
    array = _as_array(x)
    if array.dtype.kind == "c":
        return array
    return array.astype(_np.complex64 if array.dtype.char in _SINGLE else _np.complex128)


def _if_any(condition: Callable[[Any], Any], x: Any) -> Any:
    array = _as_array(x)
    if array.dtype.kind == "c" or not array.size:
        return array
    return _complex(array) if _any_of_all(condition(array)) else x


def _any_of_all(bad: Any) -> bool:
    """Whether any element is bad; under vmap, in any example. Raises if there are no values to
    decide by.
    """
    known = _extent(_as_array(bad)._read())
    if known is not None:
        return bool(_np.any(known))
    with _asking("emath, whose dtype it decides", "Use np.sqrt(x + 0j) and its kin"):
        return bool(_reductions.any(bad))


def _not_negative(x: Any) -> Any:
    return _if_any(lambda a: _ufuncs.less(a, 0), x)


def _within_one(x: Any) -> Any:
    return _if_any(lambda a: _ufuncs.greater(_ufuncs.absolute(a), 1), x)


def _arrays(x: Any) -> Any:
    return _as_array(x)


def sqrt(x: Any) -> Any:
    """See `numpy.emath.sqrt`."""
    return _ufuncs.sqrt(_not_negative(_arrays(x)))


def log(x: Any) -> Any:
    """See `numpy.emath.log`."""
    return _ufuncs.log(_not_negative(_arrays(x)))


def log10(x: Any) -> Any:
    """See `numpy.emath.log10`."""
    return _ufuncs.log10(_not_negative(_arrays(x)))


def log2(x: Any) -> Any:
    """See `numpy.emath.log2`."""
    return _ufuncs.log2(_not_negative(_arrays(x)))


def logn(n: Any, x: Any) -> Any:
    """See `numpy.emath.logn`."""
    x, n = _not_negative(_arrays(x)), _not_negative(_arrays(n))
    return _ufuncs.divide(_ufuncs.log(x), _ufuncs.log(n))


def power(x: Any, p: Any) -> Any:
    """See `numpy.emath.power`."""
    x, p = _not_negative(_arrays(x)), _arrays(p)
    if p.dtype.kind in "bi" and _any_of_all(_ufuncs.less(p, 0)):
        p = _ufuncs.multiply(p, 1.0)
    return _ufuncs.power(x, p)


def arccos(x: Any) -> Any:
    """See `numpy.emath.arccos`."""
    return _ufuncs.arccos(_within_one(_arrays(x)))


def arcsin(x: Any) -> Any:
    """See `numpy.emath.arcsin`."""
    return _ufuncs.arcsin(_within_one(_arrays(x)))


def arctanh(x: Any) -> Any:
    """See `numpy.emath.arctanh`."""
    return _ufuncs.arctanh(_within_one(_arrays(x)))


_make_overridable(globals(), _np.emath)
