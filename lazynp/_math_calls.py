"""Which function of `math`, `cmath` or SciPy asks for a value, and what to write in its place.

Those of `math` are C, and want a float: there is no way for them to take what is traced. What the
user's line calls is read from its text, so that the error can name what to write instead.
"""

from __future__ import annotations

import linecache
import math
import re
import sys
from importlib import import_module
from itertools import islice
from types import BuiltinFunctionType, FrameType, ModuleType
from typing import Any

import numpy as np

_CALL = re.compile(rb"\s*([A-Za-z_][\w.]*)\s*\(")
# where the name is another
_NAMES = {
    "dist": "linalg.norm", "erf": "special.erf", "erfc": "special.erfc",
    "fsum": "sum", "gamma": "special.gamma", "lgamma": "special.gammaln", "phase": "angle",
    "sumprod": "dot", "ulp": "spacing",
}  # fmt: skip
_UFUNCS = "scipy.special"
_METHOD = type(np.zeros(0).dot)
_NONE = frozenset({"remainder", "polar"})  # NumPy's of the name is something else, or there is none


def instead_of_math(frame: FrameType) -> str | None:
    """`math.sin: write np.sin`, if that is what this frame is calling; for SciPy, what to do."""
    if _library(frame) in ("scipy", "numpy"):
        return _instead_of_scipy(frame)
    called = _given_to_us(frame) or _called(frame)
    if type(called) is _METHOD and isinstance(called.__self__, np.ndarray):
        return _instead_of_method(called.__name__)
    module, name = getattr(called, "__module__", None), getattr(called, "__name__", "")
    if isinstance(called, np.ufunc) and vars(sys.modules.get(_UFUNCS, math)).get(name) is called:
        return f"{_UFUNCS}.{name} takes no traced value: {_advice(_UFUNCS, name)}"
    if module not in ("math", "cmath") or name in _NONE:
        return None
    ours = _NAMES.get(name, name)
    if "." not in ours and not hasattr(np, ours):
        return None
    return f"{module}.{name} takes no traced value: write np.{ours}"


def _instead_of_method(name: str) -> str | None:
    """For `a.dot(x)` with an array of NumPy's, which no operand's class can take over."""
    if not hasattr(np, name):
        return None
    return f"numpy's method {name} takes no traced value: write np.{name}(array, ...)"


def _given_to_us(frame: FrameType) -> Any:
    """A function of `math` that we call, as for `grad(math.sin)`; the frame is the user's."""
    ours: FrameType | None = sys._getframe(1)
    while ours is not None and ours is not frame:
        called = _called(ours, anything=True) if _library(ours) == "lazynp" else None
        if type(called) is BuiltinFunctionType and called.__module__ in ("math", "cmath"):
            return called
        ours = ours.f_back
    return None


def _library(frame: FrameType | None) -> str:
    return "" if frame is None else frame.f_globals.get("__name__", "").partition(".")[0]


def _instead_of_scipy(frame: FrameType) -> str | None:
    """SciPy's public function that the user called, and what is known about it; None if NumPy's
    Python code asks.
    """
    name = inner = ""
    # lazynp: dispatchers, if SciPy is hooked
    while _library(frame) in ("scipy", "numpy", "lazynp"):
        if _library(frame) == "scipy":
            name, inner = frame.f_code.co_name, frame.f_globals["__name__"]
        if frame.f_back is None:
            break
        frame = frame.f_back
    if not inner:
        return None
    called = _called(frame)  # the innermost frame of SciPy's may be a decorator's
    if str(getattr(called, "__module__", "")).startswith("scipy."):
        name, inner = getattr(called, "__name__", name), called.__module__
    module = ".".join(part for part in inner.split(".") if not part.startswith("_"))
    return f"{module}.{name} takes no traced value: {_advice(module, name)}"


def _advice(module: str, name: str) -> str:
    return import_module("lazynp.interop.scipy").advice(module, name)


def _called(frame: FrameType, anything: bool = False) -> Any:
    """What the present instruction calls, by the text of its line; None if that is not known.
    anything: attributes of any object are read.
    """
    code = frame.f_code
    place = frame.f_lasti // 2
    line, _, begin, _ = next(islice(code.co_positions(), place, None), (None,) * 4)
    if line is None or begin is None:
        return None
    found = _CALL.match(linecache.getline(code.co_filename, line).encode()[begin:])
    if found is None:
        return None
    first, *rest = found[1].decode().split(".")
    value = frame.f_locals.get(first, frame.f_globals.get(first))
    for name in rest:
        if not anything and not isinstance(value, (ModuleType, np.ndarray)):
            return None
        value = getattr(value, name, None)
    return value
