"""Traced numbers that integers of a dtype do not hold: NumPy's errors, as checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import new_scalar
from lazynp._intervals import interval
from lazynp._node import Op, narrowed
from lazynp._values import knowable
from lazynp.primitives import elementwise
from lazynp.primitives.checks import check_later


def check_narrowed(op: Op, operands: tuple[Any, ...]) -> None:
    """Record NumPy's error for a traced int of Python's that the other operand's dtype does not
    hold.
    """
    for o, known, aval in zip(operands, op.ins, op.explicit, strict=True):
        if type(o) is list and narrowed(known, aval) and not knowable(o):
            outside = beyond(new_scalar(o), aval.dtype)
            if outside is not None:
                text = f"Python integer {{}} out of bounds for {aval.dtype}"
                check_later(outside, OverflowError, text, new_scalar(o))


def check_stored(value: Any, dtype: np.dtype[Any]) -> None:
    """Record NumPy's errors for a traced number that integers of this dtype do not hold."""
    if value.dtype.kind == "f":
        x = elementwise.convert(value, dtype=np.dtype(np.float64))
        check_later(elementwise.not_equal(x, x), ValueError, "cannot convert float NaN to integer")
        infinite = elementwise.equal(elementwise.absolute(x), np.inf)
        check_later(infinite, OverflowError, "cannot convert float infinity to integer")
    outside = beyond(value, dtype)
    if outside is not None:
        text = f"Python integer {{}} out of bounds for {dtype}"
        text = text if dtype.itemsize < 8 else "Python int too large to convert to C long"
        at_fault = elementwise.convert(value, dtype=np.dtype(np.int64))
        check_later(outside, OverflowError, text, at_fault)


def beyond(x: Any, dtype: np.dtype[Any]) -> Any:
    """Where the numbers, as ints, are not within integers of this dtype; None: nowhere."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if x.dtype.kind == "f":
        x = elementwise.convert(x, dtype=np.dtype(np.float64))
        under = elementwise.less(x, float(low)) if low - 1.0 == low else (
            elementwise.less_equal(x, low - 1.0))  # fmt: skip
        return elementwise.logical_or(under, elementwise.greater_equal(x, high + 1.0))
    least, most = interval(x._read())
    under = elementwise.less(x, low) if low > least else None
    over = elementwise.greater(x, high) if high < most else None
    return under if over is None else over if under is None else elementwise.logical_or(under, over)
