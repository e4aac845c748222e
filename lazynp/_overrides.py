"""Objects that decide themselves what functions do to them, by `__array_function__`.

Functions of the namespace do not look for such objects: that would cost each call. Where an operand
is converted, one is found, `Overridden` is raised, and the function's outermost frame catches it.
"""

from __future__ import annotations

import os
from sys import _getframe
from types import CodeType
from typing import Any

import numpy as np

_HERE = os.path.dirname(__file__) + os.sep
catching: set[CodeType] = set()  # of the frames that catch `Overridden`
settled: set[CodeType] = set()  # of those within which it is known who does it


class Overridden(TypeError):
    """An operand whose meaning would be lost."""

    def __init__(self, operand: Any) -> None:
        self.operand = operand
        super().__init__(
            f"{type(operand).__name__} is not taken as an operand, its meaning would be lost: "
            "convert it with asarray (and filled, for a masked array)"
        )


def overrides(x: Any) -> bool:
    """Whether the object has an `__array_function__` other than NumPy's arrays'."""
    method = getattr(type(x), "__array_function__", None)
    return method is not None and method is not np.ndarray.__array_function__


def has_methods(x: Any) -> bool:
    """Whether it is of a library whose objects NumPy's functions leave to methods of that name: a
    Series, a sparse array. Arrays that can be exchanged are converted."""
    kind = type(x)
    if not hasattr(kind, "__array_priority__") or hasattr(kind, "__dlpack__"):
        return False
    return not issubclass(kind, (np.ndarray, np.generic))


def check(x: Any) -> None:
    """Raise `Overridden` for such an object, if somebody between here and the user catches it."""
    if not overrides(x) and not has_methods(x):
        if not isinstance(x, (np.matrix, np.ma.MaskedArray)):
            return
    ask(x)


def ask(x: Any) -> None:
    """Raise `Overridden` for this object, if somebody between here and the user catches it."""
    frame: Any = _getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        if frame.f_code in catching:
            raise Overridden(x)
        if frame.f_code in settled:
            return
        frame = frame.f_back
