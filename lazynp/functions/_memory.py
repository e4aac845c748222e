"""Methods and attributes of `Array` about its memory, and those of NumPy's scalars.

What is handed out of a value's memory is for reading only: a value never changes.
"""

from __future__ import annotations

import math
import weakref
from sys import _getframe
from types import FrameType, GenericAlias
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar, from_host, new_array, new_scalar, write_lock
from lazynp._strides import copied_order, in_order
from lazynp._trace import host_value
from lazynp.functions._host import to_device, to_host
from lazynp.functions._operands import check_writeable


def _host(self: Array) -> Any:
    return host_value(self._read())


def _ctypes(self: Array) -> Any:
    """NumPy's `ctypes` of the present value. What is written there is lost, or does harm."""
    return np.asarray(_host(self)).ctypes


def _data(self: Array) -> memoryview:
    value = np.asarray(_host(self)).view()
    value.flags.writeable = False
    memory = value.data
    key = id(memory)
    _arrays[key] = self
    weakref.finalize(memory, _arrays.pop, key).atexit = False
    return memory


_arrays: dict[int, Array] = {}  # by id of a memoryview: of which array it is


def array_of(buffer: Any) -> Any:
    """The array whose `data` this is; else the buffer itself."""
    return _arrays.get(id(buffer), buffer) if type(buffer) is memoryview else buffer


def scipy_asks(frame: FrameType, array: Array) -> bool:
    """Whether this is a function of SciPy's. It gets memory of its own, by `__array__`, for much of
    its compiled code refuses what it could not write. Not where it is to write this array: what is
    read-only it refuses, where a copy would lose what it writes."""
    if not frame.f_globals.get("__name__", "").startswith("scipy."):
        return False
    names, owner = frame.f_locals, array._owner()
    results = [names.get(name) for name in ("out", "output", "distances", "indices")]
    return not any(isinstance(x, Array) and x._owner() is owner for x in results)


_NAMED = "?bhilqBHILQefdgFDGS"  # dtypes that both interfaces name whole


# what `__buffer__` has raised: NumPy goes on to `__array_struct__`, and nobody has seen the error
unheard: list[tuple[Any, FloatingPointError]] = []


def _lent(self: Array) -> Any:
    """A read-only view of the present value."""
    while unheard:
        node, error = unheard.pop()
        if node is self._node:
            raise error
    if scipy_asks(_getframe(2), self):
        raise AttributeError("SciPy is given a copy, by __array__")
    value = host_value(self._read())
    if type(value) is not np.ndarray:
        value = np.asarray(value)
    if value.dtype.char not in _NAMED:
        raise AttributeError(f"no array interface for {self.dtype}: use numpy.asarray")
    if value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def _array_struct(self: Array) -> Any:
    """Read-only memory of the present value, which the capsule keeps: a later change of the array
    does not show in it."""
    return _lent(self).__array_struct__


_pinned: dict[int, list[Any]] = {}  # by id of an array: memory of which an address was given


def _array_interface(self: Array) -> dict[str, Any]:
    """Read-only memory of the present value. It stays as it is while the array lives; a later
    change of the array does not show in it."""
    value = _lent(self)
    if id(self) not in _pinned:
        _pinned[id(self)] = []
        weakref.finalize(self, _pinned.pop, id(self)).atexit = False
    # with strides in it, a reader does not take the array itself for a contiguous buffer
    interface = {**value.__array_interface__, "strides": value.strides}
    kept = _pinned[id(self)]
    if all(v.__array_interface__["data"] != interface["data"] for v in kept[-1:]):
        kept.append(value)
    return interface


def _dumps(self: Array) -> bytes:
    return np.asarray(_host(self)).dumps()


def _dump(self: Array, file: Any) -> None:
    np.asarray(_host(self)).dump(file)


def _tofile(self: Array, fid: Any, sep: str = "", format: str = "%s") -> None:
    np.asarray(_host(self)).tofile(fid, sep, format)


def _setfield(self: Array, val: Any, dtype: Any, offset: int = 0) -> None:
    if isinstance(self, Scalar):
        raise TypeError("Can't set fields in a non-void array scalar.")
    check_writeable(self)
    with write_lock:
        memory = np.array(_host(self))
        memory.setfield(to_host(val), dtype, offset)
        self._write(from_host(memory, copy=False))


def _of_scalar(name: str) -> Any:
    """A method of NumPy's scalars, called on the value. Attributes of it: see `_number`."""

    def method(self: Array, *args: Any) -> Any:
        function = getattr(type(_host(self)), name, None)
        if function is None and name in ("__ceil__", "__floor__"):  # Python asks `__float__` then
            return getattr(math, name.strip("_"))(float(_host(self)))
        if function is None:
            raise TypeError(f"type {type(_host(self)).__name__} doesn't define {name} method")
        return to_device(function(_host(self), *args))

    method.__name__ = name
    return method


_NUMBER = ("as_integer_ratio", "bit_count", "denominator", "hex", "is_integer", "numerator")


def _number(self: Array, name: str) -> Any:
    """`__getattr__` of Scalar: what only some of NumPy's scalar types have."""
    if name in _NUMBER and hasattr(self.dtype.type, name):
        found = getattr(_host(self), name)
        return to_device(found) if isinstance(found, np.generic) else found
    raise AttributeError(f"'numpy.{self.dtype.type.__name__}' object has no attribute {name!r}")


def _deepcopy(self: Array, memo: dict[int, Any]) -> Array:
    """Values are shared; objects in an array are copied."""
    node = self._read()
    if self.dtype.hasobject:
        node = from_host(np.asarray(host_value(node)).__deepcopy__(memo), copy=False)
    if type(self) is Scalar:
        return new_scalar(node)
    return in_order(new_array(node), copied_order(self))


METHODS = {
    "__class_getitem__": classmethod(GenericAlias),
    "__deepcopy__": _deepcopy,
    "dump": _dump,
    "dumps": _dumps,
    "setfield": _setfield,
    "tofile": _tofile,
}
PROPERTIES = {
    "__array_interface__": (_array_interface,),
    "__array_struct__": (_array_struct,),
    "ctypes": (_ctypes,),
    "data": (_data,),
}
SCALAR_METHODS = {
    "__ceil__": _of_scalar("__ceil__"),
    "__floor__": _of_scalar("__floor__"),
    "__getattr__": _number,
    "__round__": _of_scalar("__round__"),
    "__trunc__": _of_scalar("__trunc__"),
}
