"""array, asarray and related functions: convert anything to an Array."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, from_host, new_array
from lazynp._avals import on_device
from lazynp._either import noted, settled
from lazynp._flush import host_value
from lazynp._fronts import unbound
from lazynp._node import leaf
from lazynp._overrides import passes_for
from lazynp._sizes import Size, Test
from lazynp._steps import Reshape
from lazynp._strides import in_order, order_of_strides, writeable
from lazynp._views import view
from lazynp.functions._arguments import (
    NO_COPY,
    check_device,
    check_like,
    converted,
    dtype_argument,
    fortran,
    from_numpy,
    is_contiguous,
    order_argument,
    order_like,
    own,
    static,
)
from lazynp.functions._checks import refuse
from lazynp.functions._eager import copied, created
from lazynp.functions._foreign import from_foreign
from lazynp.functions._host import to_host
from lazynp.functions._likes import as_its_like
from lazynp.functions._nested import (
    all_known,
    assemble,
    holds_lazy,
    of_numbers,
    of_size,
    opened,
)
from lazynp.functions._operands import numpys
from lazynp.functions._records import Record
from lazynp.functions._subclass import of_class, stripped
from lazynp.primitives import elementwise

_make: Any = np.array  # NumPy's stubs lack some of its arguments


@unbound
@created(np.array, anytime=True, first=of_numbers, bare=True)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Array:
    """See `numpy.array`.

    A list that contains lazy arrays is stacked without computing them. Host arrays are copied.
    `copy=False` uses their memory itself; it must not change afterwards. With `subok=True`,
    matrices, masked arrays and the like are returned as they are.
    """
    check_like(like)
    order = order_argument("K" if order is None else order)
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    if copy is not None:
        copy = bool(copy)
    ndmin = operator.index(ndmin)
    if ndmax or ndmin > _DEEPEST:
        _check_depths(ndmin, ndmax)
    if type(object) is Size or type(object) is Test:
        object = of_size(object)
    if copy is not False and hasattr(type(object), "__array__") and not isinstance(object, _ARRAYS):
        object = from_foreign(object)  # to an array that may have a class of its own
    if subok and isinstance(object, np.ndarray) and type(object) is not np.ndarray:
        if not isinstance(object, np.memmap):
            return _make(object, dtype, copy=copy, order=order, subok=True, ndmin=ndmin)
    if isinstance(object, deque):
        object = list(object)
    if isinstance(object, Array) and passes_for(object, Array):
        object = object.__array__()
    if isinstance(object, Array):
        if type(object) is not NDArray and type(object) is not Scalar:
            return _from_subclass(object, dtype, copy, order, subok, ndmin)
        out = _from_array(numpys(object), dtype, copy, order)
    elif isinstance(object, (list, tuple)) and not ndmax and holds_lazy(object):
        if copy is False:
            raise ValueError(NO_COPY)
        wanted = None if dtype is None else dtype_argument(dtype)
        out = fortran(assemble(object, wanted), order == "F")
    else:
        try:
            out = _from_host_object(object, dtype, copy, order, ndmax)
        except ValueError:
            if (
                ndmax
                or not isinstance(object, (list, tuple))
                or not holds_lazy(object := opened(object))
            ):
                raise
            return array(object, dtype, copy=copy, order=order, ndmin=ndmin)
    if out.ndim < ndmin:
        out = view(out, Reshape((1,) * (ndmin - out.ndim) + out.shape))
    return out


_ARRAYS = Array, np.ndarray, np.generic
_DEEPEST = 64  # as many axes as NumPy's arrays have


def _check_depths(ndmin: int, ndmax: int) -> None:
    if not 0 <= ndmax <= _DEEPEST:
        raise ValueError("ndmax must be in the range [0, NPY_MAXDIMS (64)] ")
    if ndmin > (ndmax or _DEEPEST):
        raise ValueError(f"ndmin must be <= ndmax ({ndmax or _DEEPEST})")


def _from_subclass(x: Array, dtype: Any, copy: Any, order: Any, subok: bool, ndmin: int) -> Any:
    if subok and not copy and ndmin <= x.ndim and dtype in (None, x.dtype):
        return x
    bare = stripped(x)
    out = array(bare, dtype, copy=copy, order=order, ndmin=ndmin)
    return of_class(type(x), out, x) if subok else out


def _from_array(x: Array, dtype: Any, copy: bool | None, order: str) -> Array:
    if dtype is not None:
        wanted = dtype_argument(dtype)
        if wanted != x.dtype:
            if copy is False:
                raise ValueError(NO_COPY)
            # a Scalar is itself the object, as a NumPy scalar is
            if wanted.char == "O" and isinstance(x, Scalar) and all_known(x):
                return new_array(from_host(np.array(host_value(x._read()), wanted)))
            return in_order(own(converted(x, wanted)), order_like(x, order))
    fits = order in "AK" or settled(
        x, is_contiguous(x, order), lambda dummy, _: _has_order(dummy, order)
    )
    if copy is False and (not fits or isinstance(x, Scalar)):
        raise ValueError(NO_COPY)
    if copy or not fits:
        made = in_order(own(x), order_like(x, order))
        return made if copy else noted(x, made, lambda dummy, _: _has_order(dummy, order))
    return own(x) if isinstance(x, Scalar) else x


def _has_order(dummy: Any, order: str) -> bool:
    return dummy.flags.c_contiguous if order == "C" else dummy.flags.f_contiguous


def _from_host_object(object: Any, dtype: Any, copy: bool | None, order: str, ndmax: int) -> Array:
    if dtype is not None:
        dtype = dtype_argument(dtype)
    depth = {"ndmax": ndmax} if ndmax else {}  # only if given: NumPy 2.4 introduced it
    fresh = isinstance(object, (list, tuple, str, bytes, bool, int, float, complex))
    fresh = fresh and not isinstance(object, Array)
    if not fresh:
        object = (
            object._fresh()
            if isinstance(object, Record)
            else from_foreign(object, lazily=copy is not False)
        )
        if copy is False:
            object = _lent(object)
        if isinstance(object, Array):
            return _from_array(object, dtype, copy, order)
    if copy is False:
        value = _make(object, dtype, copy=False, order=order, **depth).view()
        out = new_array(leaf(_sealed(value)) if value.ndim else from_host(value))
        if isinstance(object, np.ndarray) and not object.flags.writeable:
            out._flags = {"readonly": True}
    elif fresh or dtype is not None:
        if type(object) in (list, tuple) and any(isinstance(item, Record) for item in object):
            object = to_host(object)
        value = _make(object, dtype, order=order, **depth)
        if value.dtype.type is Record:  # deeper within
            value = _make(to_host(object), dtype, order=order, **depth)
        out = new_array(from_host(value, copy=False))
    else:  # someone else may own the memory: make one copy, into aligned memory
        value = np.asarray(object) if not depth else _make(object, **depth)
        out = new_array(from_host(value))
    if order == "F":
        return fortran(out)
    if order == "A" and not value.flags.fnc or order == "C":
        return out
    return in_order(out, order_of_strides(value))


def _lent(x: Any) -> Any:
    """The lazy array that an object's `__array__` gives where it may not copy, which NumPy refuses
    to take; otherwise the object.
    """
    if isinstance(x, (np.ndarray, np.generic)) or not hasattr(type(x), "__array__"):
        return x
    try:
        made = x.__array__(copy=False)
    except (TypeError, ValueError):  # NumPy says what is wrong
        return x
    return made if isinstance(made, Array) else x


def _sealed(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Mark memory that someone else owns: it is never updated in place, even where that would be
    possible.
    """
    value.flags.writeable = False
    return value


def of_items(items: Iterable[Any], dtype: np.dtype[Any], count: int) -> Array:
    """What `fromiter` makes where items may be traced: those are joined, not computed."""
    found = list(items if count < 0 else islice(items, count))
    if all_known(found) or dtype.names or dtype.subdtype or not on_device(dtype):
        return from_numpy(np.fromiter(map(static, found), dtype, count))
    if len(found) < count:
        raise ValueError(
            f"iterator too short: Expected {count} but iterator had only {len(found)} items."
        )
    if any([np.ndim(i) for i in found]):
        raise ValueError("setting an array element with a sequence.")
    return array(found, dtype)


@unbound
@created(np.asarray, anytime=True, itself=True, bare=True)
def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Array:
    """See `numpy.asarray` and `array`. Matrices and masked arrays become plain arrays."""
    plain = all([o is None for o in (dtype, order, device, copy, like)])
    if plain and type(a) is NDArray and not a.aval.weak:
        return a
    check_device(device)
    return array(a, dtype, copy=copy, order=order, like=like)


@unbound
@created(np.asanyarray, anytime=True, itself=True)
def asanyarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Array:
    """See `numpy.asanyarray`. Matrices, masked arrays and the like are returned as they are."""
    check_device(device)
    return array(a, dtype, copy=copy, order=order, subok=True, like=like)


@unbound
@created(np.ascontiguousarray, anytime=True, itself=2, bare=True)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Array:
    """See `numpy.ascontiguousarray`."""
    return array(a, dtype, copy=None, order="C", ndmin=1, like=like)


@unbound
@created(np.asfortranarray, anytime=True, itself=2)
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Array:
    """See `numpy.asfortranarray`."""
    return array(a, dtype, copy=None, order="F", ndmin=1, like=like)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Array:
    """See `numpy.asarray_chkfinite`. Whether it raises depends on the data: they are computed."""
    a = asarray(a, dtype, order)
    if a.dtype.kind in "fc":
        bad = elementwise.logical_not(elementwise.isfinite(a))
        refuse(bad, ValueError, "array must not contain infs or NaNs")
    return a


@copied(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Array:
    """See `numpy.copy`. It costs a handle: the value is shared until one of the arrays is
    written.
    """
    return array(a, order=order, subok=subok, copy=True)


_REQUIREMENTS = {
    "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C",
    "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F",
    "A": "A", "ALIGNED": "A",
    "W": "W", "WRITEABLE": "W",
    "O": "O", "OWNDATA": "O",
    "E": "E", "ENSUREARRAY": "E",
}  # fmt: skip


@as_its_like
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Array:
    """See `numpy.require`. Arrays are always aligned."""
    check_like(like)
    if not requirements:
        return asanyarray(a, dtype)
    needed = {_REQUIREMENTS[x.upper()] for x in requirements}
    if needed >= {"C", "F"}:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "F" if "F" in needed else "C" if "C" in needed else "A"
    out = array(a, dtype, order=order, copy=None, subok="E" not in needed)
    if "O" in needed and out._base is not None or "W" in needed and not writeable(out):
        return array(out, order=order)
    return out
