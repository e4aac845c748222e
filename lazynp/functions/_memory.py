"""Methods and attributes of `Array` about its memory, and those of NumPy's scalars.

Exported memory is read-only, because a value never changes.
"""

from __future__ import annotations

import math
import sys
import weakref
from sys import _getframe
from types import FrameType, GenericAlias
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._array import (
    VIEWED,
    Array,
    NDArray,
    Scalar,
    from_host,
    new_array,
    new_scalar,
    write_lock,
)
from lazynp._avals import on_device
from lazynp._flush import host_value
from lazynp._fronts import in_front
from lazynp._node import CODE, LENT, VALUE, leaf
from lazynp._ownership import exclusive, has_own_node
from lazynp._recorder import local, staged
from lazynp._strides import copied_order, in_order, laid_out, writeable
from lazynp.functions import rounding
from lazynp.functions._checks import traced
from lazynp.functions._construct import copy
from lazynp.functions._host import to_device, to_host
from lazynp.functions._operands import check_writeable
from lazynp.functions._scalars import AVALS


def _host(self: Array) -> Any:
    return host_value(self._read())


def _ctypes(self: Array) -> Any:
    """NumPy's `ctypes` of the memory that the array's value lies in from now on."""
    return memory_for_c(self).ctypes


def memory_for_c(array: Array) -> np.ndarray[Any, Any]:
    """Memory for code in C, which may write there: the array's alone, and laid out as NumPy's. As
    long as somebody holds what this returns, a further call gives the same memory.
    """
    owner = array._owner()
    if local.level or staged or type(owner) is not NDArray or not on_device(owner.dtype):
        return laid_out(np.asarray(_host(array)), array)
    with write_lock:
        if writeable(array) and not (id(owner._node[VALUE]) in _in_c and has_own_node(owner)):
            _move_out(owner)
        memory = laid_out(np.asarray(_host(array)), array).view()
        if writeable(array):
            held = _in_c.setdefault(id(owner._node[VALUE]), [owner._node[VALUE], 0])
            held[1] += 1
            weakref.finalize(memory, _let_go, held).atexit = False
    if not writeable(array):
        memory.flags.writeable = False
    return memory


_in_c: dict[int, list[Any]] = {}  # by id: memory whose address C has, and how many hold it


def _let_go(held: list[Any]) -> None:
    held[1] -= 1
    if not held[1]:
        _in_c.pop(id(held[0]), None)


def _move_out(owner: Array) -> None:
    """Give the owner memory that only it sees."""
    memory = exclusive(owner)
    if memory is not None and laid_out(memory, owner) is memory:
        return
    del memory
    owner._write(leaf(laid_out(np.asarray(_host(owner)), owner).copy("K")))
    owner._seen = VIEWED  # a view made from now on that kept a copy would not see what C writes


def _data(self: Array) -> memoryview:
    value = np.asarray(_host(self)).view()
    value.flags.writeable = False
    memory = value.data
    key = id(memory)
    _arrays[key] = self
    weakref.finalize(memory, _arrays.pop, key).atexit = False
    return memory


_arrays: dict[int, Array] = {}  # id of a memoryview -> its array


def array_of(buffer: Any) -> Any:
    """The array whose `data` this is; otherwise the buffer itself."""
    return _arrays.get(id(buffer), buffer) if type(buffer) is memoryview else buffer


def asks_for_copy(frame: FrameType, array: Array) -> bool:
    """Whether a SciPy function calls, or pandas makes a Series. It then gets a private copy from
    `__array__`: much of SciPy's compiled code refuses read-only memory, and from version 3 on,
    pandas copies arrays of NumPy's too. Not if SciPy will write this array: it refuses read-only
    memory then, whereas a write to a copy would be lost.
    """
    name = frame.f_globals.get("__name__", "")
    if name == "pandas.core.construction":
        return _pandas_copies()
    if not name.startswith("scipy."):
        return False
    names, owner = frame.f_locals, array._owner()
    results = [names.get(name) for name in ("out", "output", "distances", "indices")]
    return not any(isinstance(x, Array) and x._owner() is owner for x in results)


def _pandas_copies() -> bool:
    version = getattr(sys.modules.get("pandas"), "__version__", "0")
    return int(version.partition(".")[0]) >= 3


_OUTPUTS = ("output", "distances", "indices")


def memory_to_write(frame: FrameType, array: Array) -> np.ndarray[Any, Any] | None:
    """Memory that is the array's from now on, if the function of this frame is about to fill it:
    one of SciPy's `ndimage` that has it as `output`. None otherwise.

    A part of an array has no memory of its own. SciPy gets read-only memory then, and refuses it.
    """
    if not frame.f_globals.get("__name__", "").startswith("scipy.ndimage."):
        return None
    names = frame.f_locals
    if array._base is not None or not any([names.get(name) is array for name in _OUTPUTS]):
        return None
    if local.level or staged or not on_device(array.dtype) or not writeable(array):
        return None
    memory = lowering.aligned_empty(array.shape, array.dtype)
    np.copyto(memory, host_value(array._read()))
    node = leaf(memory)
    node[CODE] = LENT  # SciPy's result is this memory: lazynp writes elsewhere
    with write_lock:
        array._write(node)
    return memory


_NAMED = "?bhilqBHILQefdgFDGS"  # dtypes that both interfaces can name completely


# errors raised by `__buffer__`: NumPy goes on to `__array_struct__`, so nobody has seen them
unheard: list[tuple[Any, FloatingPointError | KeyboardInterrupt]] = []


def _lent(self: Array) -> Any:
    """A read-only view of the present value."""
    while unheard:
        node, error = unheard.pop()
        if node is self._node:
            raise error
    if asks_for_copy(_getframe(2), self):
        raise AttributeError("SciPy is given a copy, by __array__")
    memory = memory_to_write(_getframe(2), self)
    if memory is not None:
        return memory
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
    """Read-only memory of the present value, kept by the capsule. Later changes of the array do not
    show in it.
    """
    return _lent(self).__array_struct__


_pinned: dict[int, list[Any]] = {}  # id of an array -> memory whose address was given out


def _array_interface(self: Array) -> dict[str, Any]:
    """Read-only memory of the present value. It stays valid and unchanged while the array lives;
    later changes of the array do not show in it.
    """
    value = _lent(self)
    # with explicit strides, a reader does not take the array itself for a contiguous buffer
    interface = {**value.__array_interface__, "strides": value.strides}
    if id(self) not in _pinned:
        _pinned[id(self)] = []
        weakref.finalize(self, _pinned.pop, id(self)).atexit = False
    kept = _pinned[id(self)]
    if all(v.__array_interface__["data"] != interface["data"] for v in kept[-1:]):
        kept.append(value)
    return interface


def _dumps(self: Array) -> bytes:
    return laid_out(np.asarray(_host(self)), self).dumps()


def _dump(self: Array, file: Any) -> None:
    laid_out(np.asarray(_host(self)), self).dump(file)


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
    """A method of NumPy's scalars, called on the value. For attributes, see `_number`."""

    present = {t: function for t in AVALS if (function := getattr(t, name, None)) is not None}

    def method(self: Array, *args: Any) -> Any:
        value = self._node[VALUE]
        function = present.get(type(value))
        if function is not None and not staged:
            out = function(value, *args)
            return to_device(out) if isinstance(out, np.generic) else out
        function = getattr(type(_host(self)), name, None)
        if function is None and name in ("__ceil__", "__floor__"):  # Python then calls `__float__`
            return getattr(math, name.strip("_"))(float(_host(self)))
        if function is None:
            kind = type(_host(self)).__name__
            raise TypeError(f"type numpy.{kind} doesn't define {name} method")
        return to_device(function(_host(self), *args))

    method.__name__ = name
    return method


_rounded = _of_scalar("__round__")


def _round(self: Array, ndigits: Any = None) -> Any:
    """Python's `round`: an int, or a Scalar."""
    if type(self._node[VALUE]) in AVALS and not staged or not traced(self):
        return _rounded(self) if ndigits is None else _rounded(self, ndigits)
    return int(rounding.round(self)) if ndigits is None else rounding.round(self, ndigits)


_NUMBER = ("as_integer_ratio", "bit_count", "denominator", "hex", "is_integer", "numerator")


def _number(self: Array, name: str) -> Any:
    """`__getattr__` of Scalar, for members that only some NumPy scalar types have."""
    if name in _NUMBER and hasattr(self.dtype.type, name):
        found = getattr(_host(self), name)
        return to_device(found) if isinstance(found, np.generic) else found
    raise AttributeError(f"'numpy.{self.dtype.type.__name__}' object has no attribute {name!r}")


def _deepcopy(self: Array, memo: dict[int, Any]) -> Array:
    """Values are shared; objects in an array are copied."""
    if type(self) is NDArray and on_device(self.dtype):
        return copy(self)
    node = self._read()
    if self.dtype.hasobject:
        node = from_host(np.asarray(host_value(node)).__deepcopy__(memo), copy=False)
    if type(self) is Scalar:
        return new_scalar(node)
    return in_order(new_array(node), copied_order(self))


def _sizeof(self: Array) -> int:
    """With the memory of an owner, as NumPy counts it."""
    nbytes = self.aval.nbytes if self._base is None else 0
    return object.__sizeof__(self) + (nbytes if isinstance(nbytes, int) else 0)


METHODS = {
    "__sizeof__": _sizeof,
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
    "__ceil__": in_front("converted", _of_scalar("__ceil__"), function=math.ceil),
    "__floor__": in_front("converted", _of_scalar("__floor__"), function=math.floor),
    "__getattr__": _number,
    "__round__": _round,
    "__trunc__": _of_scalar("__trunc__"),
}
