"""Data type routines: NumPy's own; an Array stands for its dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, Scalar
from lazynp._fronts import unbound
from lazynp._sizes import is_size
from lazynp._strides import layouts
from lazynp._values import there
from lazynp.functions._eager import looked_at
from lazynp.functions._host import to_host


def _by_dtype(x: Any) -> Any:
    return x.dtype if isinstance(x, Array) else x


def _no_array(x: Any) -> Any:
    """A dtype argument; an array has a dtype, but is not accepted as one."""
    if isinstance(x, Array) and not isinstance(x, Scalar):
        raise TypeError("Cannot construct a dtype from an array")
    return _by_dtype(x)


@looked_at(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """See `numpy.result_type`. Arrays count by their dtype; what stands for a number of Python's is
    as weak as that.
    """
    return np.result_type(*map(_by_kind, arrays_and_dtypes))


def _by_kind(x: Any) -> Any:
    if is_size(x):
        return 0
    weak = isinstance(x, Array) and not x.ndim and x.aval.weak
    return _NUMBERS.get(x.dtype.kind, x.dtype) if weak else _by_dtype(x)


_NUMBERS = {"i": 0, "f": 0.0, "c": 0j}


@looked_at(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """See `numpy.can_cast`."""
    return np.can_cast(_by_dtype(from_), _no_array(to), casting)


@unbound
def promote_types(type1: Any, type2: Any, /) -> np.dtype[Any]:
    """See `numpy.promote_types`."""
    return np.promote_types(_no_array(type1), _no_array(type2))


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """See `numpy.issubdtype`."""
    return np.issubdtype(_no_array(arg1), _no_array(arg2))


@looked_at(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> np.dtype[Any]:
    """See `numpy.min_scalar_type`. Computes a scalar."""
    return a.dtype if isinstance(a, Array) and a.ndim else np.min_scalar_type(to_host(a))


def common_type(*arrays: Any) -> Any:
    """See `numpy.common_type`."""
    return np.common_type(*[np.empty(0, a.dtype) if isinstance(a, Array) else a for a in arrays])


def isfortran(a: Any) -> bool:
    """See `numpy.isfortran`."""
    return layouts(a)[0].flags.fnc if isinstance(a, Array) else np.isfortran(a)


def _memory(x: Any) -> Any:
    """The memory of its value, if it has one."""
    if not isinstance(x, Array):
        return x
    value = there(x._read())
    return np.empty(0) if value is None else value


def shares_memory(a: Any, b: Any, /, max_work: int = -1) -> bool:
    """Whether two arrays overlap: views of one owner, judged by their logical layout. NumPy's array
    of a lazy one (`numpy.asarray(x)`) overlaps with it as long as that is its value.
    """
    if not isinstance(a, Array) or not isinstance(b, Array):
        return bool(np.shares_memory(_memory(a), _memory(b), max_work))  # pyright: ignore[reportArgumentType]
    if max_work == -1 and a._owner() is not b._owner():
        return False
    first, second = layouts(a, b)
    owners = (a._owner(), b._owner())
    return owners[0] is owners[1] and np.shares_memory(first, second, max_work)  # pyright: ignore[reportArgumentType]


def may_share_memory(a: Any, b: Any, /, max_work: int = 0) -> bool:
    """Whether two arrays might overlap. See `shares_memory`."""
    if not isinstance(a, Array) or not isinstance(b, Array):
        return bool(np.may_share_memory(_memory(a), _memory(b), max_work))  # pyright: ignore[reportArgumentType]
    if max_work == 0 and a._owner() is not b._owner():
        return False
    first, second = layouts(a, b)
    owners = (a._owner(), b._owner())
    return owners[0] is owners[1] and np.may_share_memory(first, second, max_work)  # pyright: ignore[reportArgumentType]
