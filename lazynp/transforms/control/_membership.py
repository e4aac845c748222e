"""`x in values`, where the answer is not known while tracing."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp.primitives import elementwise, reduction
from lazynp.transforms.control._state import numeric, pythons, truth, undecided
from lazynp.transforms.control._tables import known_table

_MOST = 64  # values of a range that are compared one by one


def within(x: Any, values: Any) -> Any:
    """Whether x is among the values: numbers in a tuple, list, set or range, or elements of an
    array.
    """
    if isinstance(values, Array):
        if not (undecided(values) or undecided(x)) or not _is_number(x):
            return x in values
        equal = operator.eq(values, x)
        return _handle(reduction.reduce_or(equal, axes=tuple(range(equal.ndim))))
    if type(values) is range:
        return _within_range(x, values) if undecided(x) and _is_number(x) else x in values
    if type(values) not in (tuple, list, set, frozenset):
        return x in values
    if not (undecided(x) or any(map(undecided, values))) or not _is_number(x):
        return x in values
    if any(v is x for v in values):
        return True
    table = known_table(values) if type(values) is list else None
    if table is not None:
        return _handle(reduction.reduce_or(operator.eq(table[0], x), axes=(0,)))
    if not all(_is_number(v) for v in values if isinstance(v, (Array, np.ndarray))):
        return x in values
    return _any([operator.eq(x, v) for v in values if numeric(v)])


def _within_range(x: Any, values: range) -> Any:
    if len(values) <= _MOST:
        return _any([operator.eq(x, v) for v in values])
    first, last, step = min(values[0], values[-1]), max(values[0], values[-1]), abs(values.step)
    inside = elementwise.logical_and(operator.ge(x, first), operator.le(x, last))
    return _handle(elementwise.logical_and(inside, operator.eq((x - first) % step, 0)))


def _any(tests: list[Any]) -> Any:
    known = [bool(t) for t in tests if not undecided(t)]
    unknown = [truth(t) for t in tests if undecided(t)]
    if any(known) or not unknown:
        return any(known)
    return _handle(functools.reduce(elementwise.logical_or, unknown))


def _is_number(x: Any) -> bool:
    return numeric(x) and not getattr(x, "ndim", 0)


def _handle(x: Any) -> Any:
    return pythons(x, np.dtype(bool))
