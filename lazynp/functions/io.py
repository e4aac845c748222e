"""Functions that NumPy runs on the values of their arguments: I/O, text, windows, polynomials.

They compute pending arguments and return Arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile

from lazynp._array import NDArray
from lazynp._fronts import unbound
from lazynp.functions._host import P, hosted, to_device, to_host
from lazynp.functions._subclass import named_alike
from lazynp.functions._vectorized import frompyfunc as frompyfunc, vectorize as vectorize

array2string = hosted(np.array2string)
_array_repr = hosted(np.array_repr)
array_str = hosted(np.array_str)
base_repr = hosted(np.base_repr)
binary_repr = hosted(np.binary_repr)
busday_count = hosted(np.busday_count)
busday_offset = hosted(np.busday_offset)
datetime_as_string = hosted(np.datetime_as_string)
format_float_positional = hosted(np.format_float_positional)
format_float_scientific = hosted(np.format_float_scientific)
fromfile = unbound(hosted(np.fromfile))
fromregex = hosted(np.fromregex)
genfromtxt = hosted(np.genfromtxt)
info = hosted(np.info)
is_busday = hosted(np.is_busday)
_load = hosted(np.load)
loadtxt = hosted(np.loadtxt)
_save = hosted(np.save)
savetxt = hosted(np.savetxt)
_savez = hosted(np.savez)
_savez_compressed = hosted(np.savez_compressed)


def _naming_classes(function: Any) -> Any:
    def call(arr: Any, *args: Any, **kwargs: Any) -> str:
        return function(named_alike(arr), *args, **kwargs)

    return call


array_repr = functools.wraps(np.array_repr, updated=())(_naming_classes(_array_repr))
array_repr.__doc__, array_repr.__module__ = _array_repr.__doc__, _array_repr.__module__
array_repr._implementation = _naming_classes(_array_repr._implementation)  # type: ignore[attr-defined]


def _in_order(x: Any) -> Any:
    """An array in Fortran order as a NumPy array in that order, which files keep."""
    flags = x.flags if type(x) is NDArray and x.ndim > 1 else None  # type: ignore[attr-defined]
    fortran = flags is not None and flags.f_contiguous and not flags.c_contiguous
    return np.asfortranarray(to_host(x)) if fortran else x


def _keeping_order(function: Any, original: Callable[P, Any]) -> Callable[P, Any]:
    @functools.wraps(original, updated=())
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        ordered = {k: _in_order(x) for k, x in kwargs.items()}
        return function(*map(_in_order, args), **ordered)

    call.__doc__, call.__module__ = function.__doc__, function.__module__
    return call


save = _keeping_order(_save, np.save)
savez = _keeping_order(_savez, np.savez)
savez_compressed = _keeping_order(_savez_compressed, np.savez_compressed)


class _Arrays(NpzFile):
    """An archive with lazy arrays as members."""

    def __getitem__(self, key: str) -> Any:
        return to_device(super().__getitem__(key))


_Arrays.__name__ = "NpzFile"


@functools.wraps(np.load)
def load(*args: Any, **kwargs: Any) -> Any:
    found = _load(*args, **kwargs)
    if type(found) is NpzFile:
        found.__class__ = _Arrays
    return found


load.__module__ = __name__
