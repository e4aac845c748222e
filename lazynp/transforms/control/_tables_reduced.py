"""`sum`, `max`, `any` and the like of lists that hold the elements of one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp.primitives import elementwise
from lazynp.primitives.checks import check_later
from lazynp.transforms.control._state import pythons, session
from lazynp.transforms.control._tables import extreme, known_table

_INT, _FLOAT, _BOOL = map(np.dtype, (np.int64, np.float64, np.bool_))


def _numbers(x: Any) -> Any:
    """The array, if the elements are Python's numbers, in what is compiled unasked."""
    found = known_table(x) if session.strict is not None and type(x) is list else None
    return None if found is None or not found[1] or found[0].dtype.kind not in "bif" else found[0]


def total_of(x: Any) -> Any:
    """The sum of a list, or None."""
    values = _numbers(x)
    if values is None:
        return None
    if values.dtype == _FLOAT:
        return pythons(values.sum(), _FLOAT)
    estimate = elementwise.convert(values, dtype=_FLOAT).sum()
    large = elementwise.greater_equal(elementwise.absolute(estimate), 2.0**63)
    check_later(large, OverflowError, "sum(): an int of more than 64 bits")
    return pythons(elementwise.convert(values, dtype=_INT).sum(), _INT)


def extreme_of(x: Any, largest: bool) -> tuple[Any] | None:
    """`max` or `min` of a list, as the only item, or None."""
    values = _numbers(x)
    if values is None or (found := extreme(values, largest)) is None:
        return None
    return (pythons(found, values.dtype),)


def truths_of(x: Any, some: bool) -> Any:
    """`any` (some: True) or `all` of a list, or None."""
    values = _numbers(x)
    if values is None:
        return None
    truths = elementwise.convert(values, dtype=_BOOL)
    return pythons(truths.any() if some else truths.all(), _BOOL)
