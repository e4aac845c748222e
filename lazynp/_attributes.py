"""Attributes of `Array`: shape, dtype, strides, real, flags, and what sets them."""

from __future__ import annotations

import operator
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar, from_host, new_array, new_scalar
from lazynp._avals import SCALAR_DTYPES, on_device
from lazynp._conversions import view_as
from lazynp._extents import known_empty, product
from lazynp._node import VALUE
from lazynp._sizes import sized
from lazynp._steps import Imag, Real, Reshape
from lazynp._strides import (
    are_same,
    layout,
    order_of_strides,
    writeable,
)
from lazynp._views import showing, transpose, turned, view
from lazynp.functions import (
    _at,
    creation,
    manipulation,
    placement,
    tools,
)
from lazynp.functions._arguments import converted, is_fortran
from lazynp.functions._flags import Flags, shown_base
from lazynp.functions._flat import flatiter
from lazynp.functions._getset import setitem
from lazynp.functions._operands import as_array, check_writeable
from lazynp.functions._releases import real_takes_items
from lazynp.functions._strided import as_strided


def set_shape(self: Array, shape: Any, order: str = "C") -> None:
    """`x.shape = ...`, and `x.resize` without another number of elements. In Fortran's order: of
    views.
    """
    new = manipulation.reshape(self, shape, order)
    if new._base is None:
        raise AttributeError(
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with "
            "the desired shape."
        )
    if self._base is None:
        if new.shape != self.shape:
            owner = _turned_into_view(self)
            self._path, self._node, self._seen = (Reshape(new.shape),), new._read(), owner._node
        return
    self._path, self._node, self._seen = new._path, new._read(), new._seen


def _turned_into_view(self: Array) -> Array:
    """Make an owner a view, so that its views still see its memory: of a new owner that nobody
    sees. It is always writable: whether `self` is, its own flag says.
    """
    owner = new_array(self._read())
    owner._order, self._order = self._order, self._order and True
    owner._flags = {**(self._flags or {}), "readonly": False, "face": weakref.ref(self)}
    self._base = owner
    return owner


def _dtype(self: Array) -> np.dtype[Any]:
    dtype = self.aval.dtype
    if dtype.names is None:
        return dtype
    # the dtype belongs to this value: the field names in it can be changed
    value = self._read()[VALUE]
    return value.dtype if isinstance(value, (np.ndarray, np.generic)) else dtype


def _set_dtype(self: Array, dtype: Any) -> None:
    new = view_as(self, dtype)
    if self._base is None:
        owner = _turned_into_view(self)
        self._path, self._node, self._seen = new._path, new._read(), owner._node
    else:
        self._path, self._node, self._seen = new._path, new._read(), new._seen


def _strides(self: Array) -> tuple[int, ...]:
    if sized(self.shape):
        return _strides_of_sizes(self)
    return layout(self).strides


def _strides_of_sizes(self: Array) -> tuple[Any, ...]:
    """Of an array in C order; of others, nobody has asked."""
    if self._base is not None or self._order is not None:
        raise TypeError("strides: not written for views of arrays whose size is traced")
    item = self.dtype.itemsize
    return tuple([product(self.shape[axis + 1 :]) * item for axis in range(self.ndim)])


def _set_strides(self: Array, strides: Any) -> None:
    warnings.warn(_STRIDES, DeprecationWarning, stacklevel=2)
    target = tuple([operator.index(s) for s in strides])
    if len(target) != self.ndim:
        raise ValueError(f"strides must be  same length as shape ({self.ndim})")
    if target == self.strides:
        return
    try:
        new = as_strided(self, self.shape, target)
    except ValueError:
        new = self
    if new is self or new._base is None:  # otherwise it would split elements
        raise ValueError("strides is not compatible with available memory")
    if self._base is None:
        _turned_into_view(self)
    self._path, self._node, self._seen = new._path, new._read(), self._owner()._node
    self._order = True


_STRIDES = (
    "Setting the strides on a NumPy array has been deprecated in NumPy 2.4.\n"
    "As an alternative, you can create a new view using np.lib.stride_tricks.as_strided."
)


def _setstate(self: Array, state: Any) -> None:
    """Called by pickle with the state of NumPy's arrays."""
    memory: Any = np.empty(0)
    memory.__setstate__(state)
    self._base, self._node, self._flags = None, from_host(memory), None
    self._order = order_of_strides(memory)


@showing
def _real(self: Array) -> Array:
    if self.dtype.kind != "c":
        return self
    if isinstance(self, Scalar):
        return new_scalar(Real().get(self._read()))
    return view(self, Real())


@showing
def _imag(self: Array) -> Array:
    if self.dtype.kind == "c":
        if isinstance(self, Scalar):
            return new_scalar(Imag().get(self._read()))
        return view(self, Imag())
    zeros = creation.zeros(self.shape, self.dtype, "F" if is_fortran(self) else "C")
    if isinstance(self, Scalar):
        return new_scalar(zeros._read())
    zeros._flags = {"readonly": True}
    return zeros


def _set_real(self: Array, value: Any) -> None:
    if self.dtype.kind != "c" and real_takes_items():
        if writeable(self) or not are_same(self, value):
            _convertible(self, value)
            setitem(self, ..., value)
        return
    _convertible(self, value)
    if self.ndim and not writeable(self) and are_same(_real(self), value):
        return
    check_writeable(self, name="assignment destination")
    setitem(_real(self), ..., _part(self, value))


def _convertible(self: Array, value: Any) -> None:
    """Raise what NumPy 2.5 does about a value for a read-only array, before it asks for that."""
    if real_takes_items() and not writeable(self) and not isinstance(value, Array):
        np.asarray(value, self.dtype.type(0).real.dtype)


def _set_imag(self: Array, value: Any) -> None:
    if self.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    _convertible(self, value)
    check_writeable(self, name="assignment destination")
    setitem(_imag(self), ..., _part(self, value))


def _part(self: Array, value: Any) -> Any:
    """The value for a part of a complex number: its imaginary part is dropped, with a warning."""
    given = as_array(np.asarray(value) if type(value) in SCALAR_DTYPES else value)
    dtype = self.dtype
    if not on_device(dtype):
        return given
    if known_empty(self.size) and not on_device(given.dtype):  # nothing is converted
        given = as_array(np.zeros(given.shape, dtype))
    return converted(given, dtype.type(0).real.dtype)


def _base(self: Array) -> Array | None:
    return shown_base(self)


def _setflags(self: Array, write: Any = None, align: Any = None, uic: Any = None) -> None:
    if uic:
        raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
    if write is not None:
        Flags(self).writeable = write


def _matrix_transpose(self: Array) -> Array:
    if self.ndim < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    return transpose(self, (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2))


def _set_flat(self: Array, value: Any) -> None:
    check_writeable(self, name="array")
    flatiter(self)[:] = value


METHODS: dict[str, Callable[..., Any]] = {
    "__setstate__": _setstate,
    "devices": placement.devices_of,
    "setflags": _setflags,
}
PROPERTIES: dict[str, tuple[Any, ...]] = {
    "at": (_at.At,),
    "T": (turned,),
    "mT": (_matrix_transpose,),
    "base": (_base,),
    "dtype": (_dtype, _set_dtype),
    "flags": (Flags,),
    "flat": (flatiter, _set_flat),
    "imag": (_imag, _set_imag),
    "itemsize": (lambda self: self.dtype.itemsize,),
    "jaxpr": (tools.array_jaxpr,),
    "nbytes": (lambda self: self.aval.nbytes,),
    "real": (_real, _set_real),
    "shape": (lambda self: self.aval.shape, set_shape),
    "strides": (_strides, _set_strides),
    "device": (placement.device_of,),
    "sharding": (placement.sharding_of,),
    "addressable_shards": (placement.shards_of,),
    "is_fully_addressable": (placement.is_fully_addressable,),
    "is_fully_replicated": (placement.is_fully_replicated,),
}
# What the fast path answers, and by which symbol.
QUICK = {
    "shape": "s", "dtype": "d", "ndim": "n", "size": "z", "nbytes": "b", "itemsize": "i",
    "strides": "t",
}  # fmt: skip
