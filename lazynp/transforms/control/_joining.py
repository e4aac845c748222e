"""What becomes of a number whose dtype depends on the path that a program takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._avals import Aval
from lazynp._quiet import quietly
from lazynp.transforms.control._state import session

_ORDER = "biufc"
_NUMBERS = {np.dtype(t): t.__name__ for t in (bool, int, float, complex)}


def common_dtype(a: Aval, b: Aval) -> np.dtype[Any]:
    """The dtype that holds the values of both; a Python number takes the other's."""
    if a.dtype == b.dtype:
        return a.dtype
    given = [x.dtype.type(0).item() if x.weak else x.dtype for x in (a, b)]
    return np.result_type(*given) if a.weak is not b.weak else np.result_type(a.dtype, b.dtype)


def lossy(x: Any, a: Aval, dtype: np.dtype[Any]) -> str:
    """Why a number of Python's cannot become a number of this dtype, which another path gives."""
    if not a.weak or a.dtype == dtype:
        return ""
    number = x if isinstance(x, (bool, int, float, complex)) else None
    exact = session.strict is not None and dtype in (np.float32, np.complex64)
    if number is None:
        lost = exact or a.dtype.kind == "i" and dtype.kind in "iu"
    else:
        lost = not _holds(number, dtype, exact)
    kinds = {"b": "a bool", "i": "an int", "f": "a float"}
    shown = kinds.get(a.dtype.kind, "a complex") if number is None else repr(number)
    return f"is {shown} of Python's on one path, which {dtype} of the other may not hold" * lost


def _holds(number: Any, dtype: np.dtype[Any], exact: bool) -> bool:
    """exact: whether floats must not be rounded. (Under `jit`, they are of the lower precision.)"""
    try:
        made = quietly(dtype.type, [number]).item()
    except OverflowError:
        return False
    if number != number or made == number:
        return True
    if exact or isinstance(number, int):
        return False
    return bool(np.isfinite(made) or not np.isfinite(number))


def apart(a: Aval, b: Aval, dtype: np.dtype[Any]) -> str:
    """Why numbers of NumPy's must not become of this dtype: where Python could notice it."""
    if session.strict is None or all(x.weak or x.dtype == dtype for x in (a, b)):
        return ""
    return f"is of dtype {a.dtype} on one path and {b.dtype} on another"


def are_mixed_bools(a: Aval, b: Aval) -> bool:
    """Whether one is a bool of Python's and one of NumPy's. Sums of them differ, and `is True`."""
    return a.dtype.kind == b.dtype.kind == "b" and a.weak is not b.weak


def mixed(of: Any, a: Aval, b: Aval) -> str:
    """Why these must not become one element of a list: the caller would find another type. of: what
    holds it.
    """
    if session.strict is None or type(of) is not list or (a.weak, a.dtype) == (b.weak, b.dtype):
        return ""
    first, second = [_NUMBERS.get(x.dtype, x.dtype) if x.weak else x.dtype for x in (a, b)]
    return f"holds {first} on one path and {second} on another, and is in a list"


def settles(a: Aval, b: Aval) -> np.dtype[Any] | None:
    """The dtype that the carry must have instead; None: it stays, or becomes that of the body."""
    if a.dtype == b.dtype:
        return None
    if a.weak and not a.shape and _ORDER.index(b.dtype.kind) >= _ORDER.index(a.dtype.kind):
        return None
    if b.weak and common_dtype(a, b) == a.dtype:
        return a.dtype
    return common_dtype(a, b)
