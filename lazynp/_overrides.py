"""Objects that override functions by `__array_function__`.

Functions of the namespace do not look for such objects: that would slow down each call. The
conversion of an operand finds one and raises `Overridden`, and the function's outermost frame
catches that.
"""

from __future__ import annotations

import os
from sys import _getframe
from types import CodeType
from typing import Any

import numpy as np

from lazynp._later import is_of_numpys_class, matrix_classes

_HERE = os.path.dirname(__file__) + os.sep
catching: set[CodeType] = set()  # code of the frames that catch `Overridden`
settled: set[CodeType] = set()  # code of the frames within which the handler is already decided


class Overridden(TypeError):
    """An operand whose meaning a conversion would lose."""

    def __init__(self, operand: Any) -> None:
        self.operand = operand
        super().__init__(
            f"{type(operand).__name__} is not taken as an operand, its meaning would be lost: "
            "convert it with asarray (and filled, for a masked array)"
        )


def overrides(x: Any) -> bool:
    """Whether the object has its own `__array_function__`, not that of NumPy's arrays."""
    method = getattr(type(x), "__array_function__", None)
    return method is not None and method is not np.ndarray.__array_function__


def passes_for(x: Any, kind: type) -> bool:
    """Whether an object, by its `__class__`, is of a kind that its type is not derived from: a
    proxy. An array of ours is none, whatever it tells of its class.
    """
    if hasattr(type(x), "_node"):
        return False
    told = getattr(x, "__class__", type(x))
    return told is not type(x) and isinstance(told, type) and type.__subclasscheck__(kind, told)


def has_methods(x: Any) -> bool:
    """Whether NumPy's functions call methods of that name on it: a Series, a sparse array, a class
    of the user's. Exchangeable arrays are converted instead.
    """
    kind = type(x)
    if hasattr(kind, "__dlpack__") or issubclass(kind, (np.ndarray, np.generic)):
        return False
    if hasattr(kind, "__array_priority__"):
        return True
    if getattr(kind, "__module__", None) in _OF_NUMBERS:  # the methods of these do something else
        return False
    return takes_ufuncs(x) or any([hasattr(kind, name) for name in _DECIDING])


def takes_ufuncs(x: Any) -> bool:
    """Whether the object has its own `__array_ufunc__`, not that of NumPy's arrays."""
    method = getattr(type(x), "__array_ufunc__", None)
    return method is not None and method is not np.ndarray.__array_ufunc__


_OF_NUMBERS = {"builtins", "datetime", "decimal"}


# what NumPy's functions look for: their methods, of which a class that has any has one of these;
# and what is called with their results
_DECIDING = (
    "__array_wrap__",
    "sum",
    "mean",
    "max",
    "reshape",
    "transpose",
    "take",
    "round",
    "ravel",
)


def check(x: Any) -> None:
    """Raise `Overridden` if x is such an object and a frame between here and the user catches
    it.
    """
    if not overrides(x) and not has_methods(x):
        if not isinstance(x, matrix_classes()):
            return
    ask(x)


def keep_class(x: Any, *, traced: bool) -> None:
    """Raise `Overridden` for an array whose class NumPy's functions keep: always for those whose
    operators mean something else; for others if somebody catches it, and nothing is traced, which
    needs the elements.
    """
    if isinstance(x, matrix_classes()):
        raise Overridden(x)
    if not traced and is_of_numpys_class(type(x)):
        ask(x)


def ask(x: Any) -> None:
    """Raise `Overridden` for x if a frame between here and the user catches it."""
    frame: Any = _getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        if frame.f_code in catching:
            raise Overridden(x)
        if frame.f_code in settled:
            return
        frame = frame.f_back
