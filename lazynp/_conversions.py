"""Conversions, copies and pickling: methods of `Array` that look at its value or copy it."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Iterator
from sys import _getframe
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, from_host, new_array, new_scalar
from lazynp._avals import metadata_of, on_device
from lazynp._extents import any_sized
from lazynp._flush import host_value
from lazynp._fronts import in_front
from lazynp._node import aval_of_node, is_interpreted, leaf
from lazynp._quiet import told_result
from lazynp._recorder import local
from lazynp._sizes import Size
from lazynp._steps import Bitcast
from lazynp._strides import (
    copied_order,
    in_order,
    laid_out,
    layout,
    order_of_strides,
)
from lazynp._values import description, knowable, seen_value
from lazynp._views import same, showing, view
from lazynp._who_asks import undecided
from lazynp.functions import (
    _memory,
    _record_arrays,
    manipulation,
    reductions,
)
from lazynp.functions._arguments import (
    NO_COPY,
    converted,
    dtype_argument,
    dtype_of_no_array,
    is_contiguous,
    is_fortran,
    order_argument,
    order_like,
)
from lazynp.functions._eager import by_method, by_numpy
from lazynp.functions._getset import getitem
from lazynp.functions._nested import all_known
from lazynp.functions._reduce import NO_VALUE
from lazynp.functions._scalars import (
    AVALS,
    scalar,
)
from lazynp.functions._subclass import Subclass, of_class, stripped
from lazynp.primitives import elementwise


def host_of(self: Array) -> Any:
    return host_value(self._read())


def seen_of(self: Array) -> Any:
    """The value for code that only looks at it; under differentiation, the primal."""
    return seen_value(self._read())


def _like_a_number(self: Array, convert: Callable[[Any], Any]) -> None:
    """NumPy's error if the array is no single number. Its shape tells, in a trace too."""
    aval = aval_of_node(self._read())
    many = [size for size in aval.shape if size != 1]
    if many and aval.dtype.kind in "biufc" and all([type(size) is int for size in many]):
        convert(np.broadcast_to(np.zeros((), aval.dtype), aval.shape))


def _bool(self: Array) -> bool:
    _like_a_number(self, bool)
    return bool(seen_of(self))


def _int(self: Array) -> int:
    _like_a_number(self, int)
    return int(_real_of(self, seen_of(self)))


def _float(self: Array) -> float:
    _like_a_number(self, float)
    return float(_real_of(self, host_of(self)))


def _real_of(self: Array, value: Any) -> Any:
    """A 0-d complex array is not a real number. NumPy's complex scalars are, with a warning."""
    return value if isinstance(self, Scalar) or self.dtype.kind != "c" else np.asarray(value)


def _array(self: Array, dtype: Any = None, copy: bool | None = None) -> Any:
    """For `numpy.asarray`: a read-only view of the value, or a copy on request."""
    if copy is None and dtype is None:
        memory = _memory.memory_to_write(_getframe(1), self)
        if memory is not None:
            return memory
    value = np.asarray(host_of(self))
    if value.dtype is not self.dtype and on_device(self.dtype):  # of equal dtypes, the array's
        value = value.view(self.dtype)
    if copy is None and _memory.asks_for_copy(_getframe(1), self):
        copy = True
    if dtype is not None and np.dtype(dtype) != value.dtype:
        if copy is False:
            raise ValueError(NO_COPY)
        return value.astype(dtype)
    if copy:
        return value.copy()
    if value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def _buffer(self: Array, flags: int) -> memoryview:
    """The buffer protocol, which Python 3.12 and later look up on classes: read-only."""
    try:
        return _exported(self, flags)
    except (FloatingPointError, KeyboardInterrupt) as error:  # of a NaN: it is raised once
        _memory.unheard[:] = [(self._node, error)]
        raise


def _released(self: Array, buffer: memoryview) -> None:
    """Do nothing. If there were no such method, `numpy.frombuffer` would keep the array alone, and
    its memory may be another by then.
    """


def _exported(self: Array, flags: int) -> memoryview:
    memory: Any = _memory.memory_to_write(_getframe(2), self)
    if memory is not None:
        return memoryview(memory)
    value = host_of(self)
    if _memory.asks_for_copy(_getframe(2), self) and on_device(self.dtype):
        copied: Any = np.array(value)
        return memoryview(copied)
    if flags & 1:  # PyBUF_WRITABLE
        raise BufferError("the memory of a lazy array is read-only: use lazynp.writable")
    memory = _array(self)
    if not flags & _STRIDES or not memory.flags.c_contiguous:
        memory = laid_out(memory, self)
    if not flags & _STRIDES and not memory.flags.c_contiguous:
        raise ValueError("ndarray is not C-contiguous")
    try:
        shown = memoryview(_untold(memory, flags))
        if not flags & _FORMAT or on_device(self.dtype) or _names(shown, self.dtype):
            return shown
    except ValueError as e:  # dtypes without a name in the protocol
        raise BufferError(str(e)) from None
    raise BufferError(f"no buffer for {self.dtype}: use numpy.asarray")


# PyBUF_FORMAT, PyBUF_STRIDES: a file, or a hash, does not ask what the bytes are, nor where
_FORMAT, _STRIDES = 4, 16


def _untold(value: Any, flags: int) -> Any:
    """Memory whose dtype has no name in the protocol, for those who do not ask for one."""
    unnamed = value.dtype.kind in "mM" and not flags & _FORMAT
    return value.view(f"V{value.dtype.itemsize}") if unnamed else value


def _names(shown: memoryview, dtype: np.dtype[Any]) -> bool:
    """Whether the format of a buffer says all of the dtype: NumPy asks for the buffer first."""
    try:
        return np.asarray(shown).dtype == dtype and not metadata_of(dtype)
    except RuntimeError:  # gaps between fields
        return False


def _len(self: Array) -> int:
    if not self.ndim:
        raise TypeError("len() of unsized object")
    return self.shape[0]


def _iter(self: Array) -> Iterator[Any]:
    if not self.ndim:
        raise TypeError("iteration over a 0-d array")
    count = self.shape[0]
    if type(count) is Size:
        return _uncounted(count)
    return _elements(self, count) if self.ndim == 1 else (getitem(self, i) for i in range(count))


def _uncounted(count: Size) -> Iterator[Any]:
    """Fails when an element is asked for, not before: `iter` tells what can be iterated."""
    raise undecided(count, theirs=True)
    yield


def _elements(self: Array, count: int) -> Iterator[Any]:
    """Each element as it is when its turn comes: the array may be written meanwhile."""
    for i in range(count):
        value = self._read()[2]
        element = value[i] if type(value) is np.ndarray and value.ndim == 1 else None
        aval = AVALS.get(type(element))
        yield getitem(self, i) if aval is None else scalar(element, aval)


def _contains(self: Array, item: Any) -> bool:
    if isinstance(self, Scalar):
        kind = self.dtype.type.__name__
        raise TypeError(f"argument of type 'numpy.{kind}' is not iterable")
    return bool(reductions.any(operator.eq(self, item)))


def _complex(self: Array) -> complex:
    """NaN gives NaN + NaN j, as the array API standard requires; a Scalar gives NaN + 0j, like a
    float.
    """
    _like_a_number(self, complex)
    out = complex(host_of(self))
    if out.real != out.real and type(self) is NDArray and self.dtype.kind == "f":
        return complex(math.nan, math.nan)
    return out


def _index(self: Array) -> int:
    _like_a_number(self, operator.index)
    value = seen_of(self)
    return operator.index(np.asarray(value) if type(self) is NDArray else value)


def _format(self: Array, spec: str) -> str:
    described = description(self._read())
    if described or not isinstance(self, Subclass) or not self.ndim:
        return described or format(seen_of(self), spec)
    return object.__format__(self, spec)  # as its class prints it


def conform(self: Scalar, protocol: Any) -> Any:
    """A float64 goes into SQLite's tables as a number: sqlite3 takes NumPy's for a float, but would
    store the bytes of ours.
    """
    is_sqlites = getattr(protocol, "__name__", "") == "PrepareProtocol"
    return float(self) if is_sqlites and self.dtype == np.float64 else None


def _item(self: Array, *args: Any) -> Any:
    node = self._read()
    if is_interpreted(node) or not knowable(node):
        return _traced_item(self, args)
    return np.asarray(host_of(self)).item(*args)


def _traced_item(self: Array, args: tuple[Any, ...]) -> Any:
    """An element as a number of Python's that stays traced."""
    if not args and self.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    index = args[0] if len(args) == 1 else args
    flat = self if isinstance(index, tuple) and args else manipulation.ravel(self)
    element = getitem(flat, index if args else 0)
    kind = _PYTHONS.get(element.dtype.kind)
    if element.ndim or kind is None:
        raise ValueError("incorrect number of indices for array")
    return new_scalar(elementwise.convert(element, dtype=kind, weak=True)._read())


_PYTHONS = {"f": np.dtype(float), "c": np.dtype(complex), "i": np.dtype(int), "b": np.dtype(bool)}
_PYTHONS["u"] = _PYTHONS["i"]


def _tolist(self: Array) -> Any:
    return host_of(self).tolist()


def _tobytes(self: Array, order: Any = "C") -> bytes:
    if order == "A":
        order = "F" if is_fortran(self) else "C"
    return np.asarray(host_of(self)).tobytes(order)


def _str(self: Array) -> str:
    return description(self._read()) or str(seen_of(self))


def _repr(self: Array) -> str:
    unknown = description(self._read())
    if unknown is not None:
        return unknown
    value = np.asarray(seen_of(self))
    return repr(value[()] if isinstance(self, Scalar) else value)


def copy_of(self: Array, order: str = "C") -> Array:
    return in_order(new_array(self._read()), order_like(self, order_argument(order)))


def _flatten(self: Array, order: str = "C") -> Array:
    return copy_of(manipulation.ravel(self, order))


def flatten(value: Any, order: Any = "C") -> Any:
    return np.asarray(value).flatten(order)


def _dunder_copy(self: Array) -> Array:
    return new_scalar(self._read()) if isinstance(self, Scalar) else copy_of(self, "K")


def _rebuild(value: Any, scalar: bool) -> Array:
    node = from_host(value)
    if scalar:
        return new_scalar(node)
    return in_order(new_array(node), order_of_strides(value))


def _reduce(self: Array) -> Any:
    value = host_of(self)
    if self._order is not None or not value.flags.c_contiguous:
        value = laid_out(np.asarray(value), self)
    return _rebuild, (value, isinstance(self, Scalar))


def _astype(
    self: Array,
    dtype: Any,
    order: str = "K",
    casting: Any = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Array:
    """A copy in another dtype. `subok` has no effect."""
    dtype = dtype_argument(dtype)
    order = order_argument(order)
    if order == "K" and casting == "unsafe" and self.dtype != dtype:
        out = _cast_at_once(self, dtype)
        if out is not None:
            return out
    if casting == "same_value":  # whether it raises depends on the data
        same = np.asarray(host_of(self)).astype(dtype, casting=casting)
        return (new_scalar if isinstance(self, Scalar) else new_array)(from_host(same))
    if not np.can_cast(self.dtype, dtype, casting):
        unlike = np.empty(0 if self.ndim else (), self.dtype)
        unlike.astype(dtype, casting=casting)  # NumPy's own exception
    if self.dtype == dtype:
        if not copy and _lies_in(self, order):
            return self
        if not on_device(dtype) and metadata_of(dtype) != metadata_of(self.dtype):
            noted = np.asarray(host_of(self)).astype(dtype, order)  # type: ignore[call-overload]
            return in_order(new_array(from_host(noted, copy=False)), order_of_strides(noted))
        return copy_of(self, order) if self.ndim else _dunder_copy(self)
    if isinstance(self, Scalar) and not on_device(dtype):
        if dtype.char == "O" and not all_known(self):
            return self
        return host_of(self).astype(dtype)  # a string as long as this one, a date, an object
    out = in_order(converted(self, dtype), order_like(self, order))
    return new_scalar(out._read()) if isinstance(self, Scalar) else out


def _lies_in(self: Array, order: str) -> bool:
    """Whether a copy in this order would lie as the array does."""
    if order == "K" or is_contiguous(self, "C") and order != "F":
        return True
    return order != "C" and is_contiguous(self, "F")


def _cast_at_once(self: Array, dtype: Any) -> Array | None:
    """Cast by NumPy, in a loop of small operations. Not where a warning must name the user's
    line.
    """
    value = local.recorder.backend.value(self._read())
    if value is None or not on_device(dtype) or value.dtype.kind == "c" and dtype.kind != "c":
        return None
    node = leaf(told_result(local.recorder.quiet, value.astype, dtype))
    if type(self) is Scalar:
        return new_scalar(node)
    return in_order(new_array(node), None if self._order is None else copied_order(self))


def view_as(self: Array, dtype: Any = NO_VALUE, type: Any = None) -> Any:
    """A view of the same memory; with a dtype, its bytes read as that dtype."""
    dtype = None if dtype is NO_VALUE else np.dtype(float) if dtype is None else dtype
    if isinstance(dtype, builtins.type) and issubclass(dtype, (Array, np.ndarray)):
        if type is not None:
            raise ValueError("Cannot specify output type twice.")
        dtype, type = None, dtype
    if type is not None and not _is_array_class(type):
        raise ValueError("Type must be a sub-type of ndarray type")
    if isinstance(type, builtins.type) and issubclass(type, Array):
        made = same(self) if dtype is None else stripped(view_as(self, dtype))
        return made if type is NDArray else of_class(type, made, self)
    if dtype is None and type is None:
        return kept_class(self, same(self))
    if dtype is None and _record_arrays.shows(self, type):
        return of_class(_record_arrays.record_arrays(), same(self), self)
    if type is not None:
        copied = np.array(host_of(self))  # a recarray or matrix: NumPy's, of a copy
        return copied.view(type) if dtype is None else copied.view(dtype, type)
    dtype = dtype_of_no_array(dtype)
    if dtype == self.dtype:
        return kept_class(self, same(self))
    sized = any_sized(self)
    if sized and (not dtype.itemsize or self.dtype.itemsize % dtype.itemsize):
        size = self.shape[-1]
        raise TypeError(
            f"view: not written for {dtype} of {self.dtype} whose size is traced ({size})"
        )
    as_numpys = layout(self).view(dtype)  # NumPy's checks and errors, and the length of np.void
    shape = as_numpys.shape
    if sized:
        shape = (*self.shape[:-1], self.shape[-1] * (self.dtype.itemsize // dtype.itemsize))
    return kept_class(self, view(self, Bitcast(as_numpys.dtype, shape)))


def _is_array_class(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, (Array, np.ndarray))


def _wrap(self: Array, array: Any, context: Any = None, return_scalar: Any = None, /) -> Any:
    """`__array_wrap__` of plain arrays and scalars: the array, which is one already."""
    if not isinstance(array, (Array, np.ndarray)) or isinstance(array, Scalar):
        kind = type(array).__name__
        raise TypeError(f"__array_wrap__() argument 1 must be numpy.ndarray, not {kind}")
    made = stripped(array) if isinstance(array, Array) else new_array(from_host(np.asarray(array)))
    to_scalar = isinstance(self, Scalar) if return_scalar is None else return_scalar
    return made[()] if to_scalar and not made.ndim else made


def kept_class(self: Array, made: Array) -> Array:
    return of_class(type(self), made, self) if isinstance(self, Subclass) else made


METHODS: dict[str, Callable[..., Any]] = {
    "__array__": _array,
    "__array_wrap__": _wrap,
    "__buffer__": in_front("lent_buffer", _buffer),
    "__release_buffer__": _released,
    "__bytes__": lambda self: bytes(host_of(self)) if type(self) is Scalar else _tobytes(self),
    "__bool__": _bool,
    "__complex__": _complex,
    "__contains__": by_method(np.ndarray.__contains__, 2, raw=True)(_contains),
    "__copy__": by_method(np.ndarray.__copy__)(_dunder_copy),
    "__float__": _float,
    "__format__": _format,
    "__index__": _index,
    "__int__": _int,
    "__iter__": in_front("iterate", _iter, function=getitem),
    "__len__": in_front("attribute", _len, symbol="l"),
    "__reduce__": _reduce,
    "__repr__": _repr,
    "__str__": _str,
    "astype": by_method(np.ndarray.astype, itself=2)(_astype),
    "copy": by_method(np.ndarray.copy)(copy_of),
    "flatten": by_numpy(flatten, method=np.ndarray.flatten)(_flatten),
    "item": by_method(np.ndarray.item, raw=True)(_item),
    "tobytes": by_method(np.ndarray.tobytes, raw=True)(_tobytes),
    "tolist": by_method(np.ndarray.tolist, raw=True)(_tolist),
    "view": in_front("seen_in_class", showing(view_as, named=True)),
}
