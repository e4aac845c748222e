"""round(x, digits) of a float of Python's, exactly as Python rounds it."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp.primitives import elementwise
from lazynp.transforms.control._state import pythons

_FLOAT = np.dtype(np.float64)
MOST = 22  # digits: 10**22 is the largest power of ten that is a float
_SPLIT = 2.0**27 + 1


def to_digits(x: Any, digits: int) -> Any:
    """The float next to the decimal that is next to x; if there are two, the even one."""
    x = elementwise.convert(x, dtype=_FLOAT, weak=False)
    scale = 10.0**digits
    size = elementwise.absolute(x)
    product = size * scale
    whole = elementwise.floor(product)
    part = product - whole
    # where the product was rounded to a tie, the rest says which side it is on
    rest = _rest(size, scale, product)
    odd = elementwise.not_equal(elementwise.floor(whole * 0.5) * 2.0, whole)
    tie = elementwise.equal(part, 0.5)
    beyond = elementwise.greater(rest, 0.0)
    even = elementwise.logical_and(elementwise.equal(rest, 0.0), odd)
    up = elementwise.logical_and(tie, elementwise.logical_or(beyond, even))
    up = elementwise.logical_or(up, elementwise.greater(part, 0.5))
    rounded = (whole + elementwise.convert(up, dtype=_FLOAT)) / scale
    inside = elementwise.less(product, 2.0**53)  # beyond, no other float is nearer
    found = elementwise.select(inside, elementwise.copysign(rounded, x), x)
    return pythons(found, _FLOAT)


def _rest(a: Any, b: float, product: Any) -> Any:
    """a * b - product, exactly (Dekker)."""
    high, low = _halves(a)
    b_high, b_low = _halves(b)
    return ((high * b_high - product) + high * b_low + low * b_high) + low * b_low


def _halves(x: Any) -> tuple[Any, Any]:
    large = x * _SPLIT
    high = large - (large - x)
    return high, x - high


def rounds_exactly(x: Any, digits: Any) -> bool:
    """Whether `to_digits` gives what Python's numbers give."""
    return isinstance(x, Array) and x.dtype == _FLOAT and type(digits) is int and (
        0 <= digits <= MOST
    )  # fmt: skip
