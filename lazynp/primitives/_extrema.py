"""The larger or smaller of two values, in NumPy's sense: nan wins.

Reductions need these as reducers because XLA's own maximum and minimum lose nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BOOL = np.dtype(np.bool_)


def before(b: Any, x: Any, y: Any, direction: str) -> Any:
    """x > y ("GT"; also "LT", "GE", "LE"). Complex numbers compare lexicographically.

    As in NumPy, a nan in either imaginary part makes the comparison false where the real parts
    would have decided it.
    """
    if x.aval.dtype.kind != "c":
        return b.compare(x, y, direction)
    (xr, xi), (yr, yi) = ((b.real(v), b.imag(v)) for v in (x, y))
    ordered = b.and_(b.compare(xi, xi, "EQ"), b.compare(yi, yi, "EQ"))
    by_real = b.and_(b.compare(xr, yr, direction[0] + "T"), ordered)
    by_imag = b.and_(b.compare(xr, yr, "EQ"), b.compare(xi, yi, direction))
    return b.or_(by_real, by_imag)


def is_nan(b: Any, x: Any) -> Any:
    if x.aval.dtype.kind != "c":
        return b.compare(x, x, "NE")
    re, im = b.real(x), b.imag(x)
    return b.or_(b.compare(re, re, "NE"), b.compare(im, im, "NE"))


def _pick(b: Any, x: Any, y: Any, larger: bool) -> Any:
    kind, char = x.aval.dtype.kind, x.aval.dtype.char
    if kind not in "fc":
        return b.binary("stablehlo.maximum" if larger else "stablehlo.minimum", x, y)
    # 0.0 against -0.0: NumPy's vector loops return the second operand, its other loops the first
    direction = ("G" if larger else "L") + ("T" if char in "fd" else "E")
    return b.select(b.or_(before(b, x, y, direction), is_nan(b, x)), x, y)


def pick_larger(b: Any, x: Any, y: Any) -> Any:
    """The larger of the two; x if it is nan."""
    return _pick(b, x, y, True)


def pick_smaller(b: Any, x: Any, y: Any) -> Any:
    return _pick(b, x, y, False)


def least(dtype: np.dtype[Any]) -> Any:
    """The smallest value of the dtype."""
    if dtype == BOOL:
        return False
    if dtype.kind == "c":
        return complex(-np.inf, -np.inf)
    return -np.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


def greatest(dtype: np.dtype[Any]) -> Any:
    if dtype == BOOL:
        return True
    if dtype.kind == "c":
        return complex(np.inf, np.inf)
    return np.inf if dtype.kind == "f" else int(np.iinfo(dtype).max)
