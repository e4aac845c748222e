"""`numpy.ma`: masked arrays are NumPy's own, on the host. The functions accept lazy arrays.

Where NumPy's masked array would share memory with an array, this one has a copy of the values.
"""

from __future__ import annotations

from functools import wraps as _wraps
from typing import TYPE_CHECKING, Any

import numpy.ma as _numpy

from lazynp._array import Array as _Array, Scalar as _Scalar
from lazynp.functions._host import (
    mirrored as _mirrored,
    own as _own,
    to_host as _to_host,
    write_on_host as _write_on_host,
)
from lazynp.functions._numpys_classes import hook as _hook
from lazynp.functions._operands import check_writeable as _check_writeable

if TYPE_CHECKING:
    from numpy.ma import *  # noqa: F403

__all__ = list(_numpy.__all__)


class _Numpys(type):
    """For `isinstance` and `issubclass`, the class is NumPy's."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is _MaskedArray:
            return isinstance(instance, _numpy.MaskedArray)
        return type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls is _MaskedArray and issubclass(subclass, _numpy.MaskedArray):
            return True
        return type.__subclasscheck__(cls, subclass)


class _MaskedArray(_numpy.MaskedArray, metaclass=_Numpys):  # type: ignore[type-arg]
    """`numpy.ma.MaskedArray`, also made from lazy arrays."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = _to_host(args), _to_host(kwargs)
        kind: Any = _numpy.MaskedArray
        if cls is _MaskedArray:
            return _own(kind(*args, **kwargs))
        return _own(kind.__new__(cls, *args, **kwargs))


def _writing(name: str) -> Any:
    """The function of this name; it writes into its first argument, a lazy array too."""
    function: Any = globals()[name]

    @_wraps(function)
    def write(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(a, _Array) or isinstance(a, _Scalar):
            return function(a, *args, **kwargs)
        _check_writeable(a, name="assignment destination")
        with _write_on_host(a) as memory:
            return function(memory, *args, **kwargs)

    return write


def _showing(name: str) -> Any:
    """The function of this name; of a masked array, what it shows is NumPy's, as its parts are."""
    function: Any = globals()[name]
    numpys = getattr(_numpy, name)

    @_wraps(function)
    def show(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())  # `any` is the one of this module
        if [a for a in given if isinstance(a, _numpy.MaskedArray)]:
            return numpys(*_to_host(args), **_to_host(kwargs))
        return function(*args, **kwargs)

    return show


def _sorting(name: str) -> Any:
    """The function of this name; with `overwrite_input` it sorts within its first argument."""
    function, writing = globals()[name], _writing(name)

    @_wraps(function)
    def sort(
        a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False,
        keepdims: Any = False,
    ) -> Any:  # fmt: skip
        call = writing if overwrite_input else function
        return call(a, axis=axis, out=out, overwrite_input=overwrite_input, keepdims=keepdims)

    return sort


_MaskedArray.__name__ = _MaskedArray.__qualname__ = "MaskedArray"
globals().update(_mirrored(_numpy, __all__))
globals().update(MaskedArray=_MaskedArray, masked_array=_MaskedArray)

_hook(_numpy.MaskedArray)
globals().update({name: _writing(name) for name in ("put", "putmask")})
globals().update(median=_sorting("median"))
_PARTS = ("diag", "diagonal", "getdata", "getmask", "getmaskarray")
globals().update({name: _showing(name) for name in _PARTS})


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)
