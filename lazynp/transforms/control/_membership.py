"""`x in values`, where the answer is not known while tracing."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._dimensions import as_number, as_test
from lazynp._sizes import is_size
from lazynp.primitives import elementwise, reduction
from lazynp.primitives.checks import check_later
from lazynp.transforms.control._asked import among, equal
from lazynp.transforms.control._letters import Letter
from lazynp.transforms.control._state import numeric, pythons, truth, undecided
from lazynp.transforms.control._tables import known_table

_MOST = 64  # values of a range that are compared one by one
_HELD = (tuple, list, set, frozenset, range, dict)


def within(x: Any, values: Any) -> Any:
    """Whether x is among the values: numbers in a tuple, list, set or range, or elements of an
    array.
    """
    if isinstance(values, Array):
        x = as_number(x)
        if not (undecided(values) or undecided(x)) or not _is_number(x):
            return among(x, values)
        equal = operator.eq(values, x)
        return _handle(reduction.reduce_or(equal, axes=tuple(range(equal.ndim))))
    if is_size(x) and type(values) in _HELD:
        return _size_within(x, values)
    if type(values) in (set, frozenset) and any(map(is_size, values)):
        values = tuple(values)  # a set finds its elements by their hashes
    if type(values) is range:
        return _within_range(x, values) if undecided(x) and _is_number(x) else among(x, values)
    if type(values) is bytes and undecided(x) and _is_number(x) and x.dtype.kind in "iu":
        return _within_bytes(x, values)
    if type(values) is str and type(x) is Letter:
        return _any([x == v for v in values])
    if type(values) not in (tuple, list, set, frozenset):
        return among(x, values)
    if not (undecided(x) or any(map(undecided, values))) or not _is_number(x):
        return among(x, values)
    if any(v is x for v in values):
        return True
    table = known_table(values) if type(values) is list else None
    if table is not None:
        return _handle(reduction.reduce_or(operator.eq(table[0], x), axes=(0,)))
    if not all(_is_number(v) for v in values if isinstance(v, (Array, np.ndarray))):
        return among(x, values)
    return _any([operator.eq(x, v) for v in values if numeric(v)])


def _within_bytes(x: Any, values: bytes) -> Any:
    if x.dtype != np.uint8:
        bad = elementwise.logical_or(operator.lt(x, 0), operator.gt(x, 255))
        check_later(bad, ValueError, "byte must be in range(0, 256)")
    return _any([operator.eq(x, v) for v in sorted(set(values))])


def _size_within(x: Any, values: Any) -> Any:
    """The same of a size. A test that the call which is traced decides is not part of the
    program.
    """
    if type(values) is range:
        return _size_within_range(x, values)
    unknown = []
    for v in values:
        test = as_test(equal(x, v)) if is_size(v) or numeric(v) else False
        if test is True:
            return True
        unknown += [test] if undecided(test) else []
    return _any(unknown)


def _size_within_range(x: Any, values: range) -> Any:
    if not values:
        return False
    first, last, step = min(values[0], values[-1]), max(values[0], values[-1]), abs(values.step)
    unknown = []
    for test in (x >= first, x <= last, equal((x - first) % step, 0)):
        test = as_test(test)
        if test is False:
            return False
        unknown += [truth(test)] if undecided(test) else []
    return _handle(functools.reduce(elementwise.logical_and, unknown)) if unknown else True


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
