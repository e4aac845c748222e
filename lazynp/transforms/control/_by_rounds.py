"""Builtins that take what stands for an array of unknown size, `sum(x[:i])`, or a long array: as
loops over its elements, which are Python's to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, new_array, new_scalar
from lazynp._dimensions import is_unsized
from lazynp.primitives import elementwise, shaping
from lazynp.primitives.checks import check_later
from lazynp.transforms.control import _numbers, _whole_numbers
from lazynp.transforms.control._reductions import empty_text
from lazynp.transforms.control._sequences import Rounds, rounds_of
from lazynp.transforms.control._state import operators, pythons, undecided, user_line

STANDING = _numbers.STANDING
_INT, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)
_LONG = 64  # elements of an array, from which a loop is traced sooner than so many operations


def _rounds(x: Any) -> Rounds | None:
    """The elements of a slice of unknown size, or of a long traced array."""
    if is_unsized(x):
        return rounds_of(x) if x.ndim == 1 and hasattr(x, "rows") else None
    long = type(x) is NDArray and x.ndim == 1 and type(x.shape[0]) is int and x.shape[0] > _LONG
    return rounds_of(x) if long and undecided(x) else None


def _is_slice(x: Any) -> bool:
    """Whether this is a slice of unknown size of one axis."""
    return is_unsized(x) and hasattr(x, "listed") and x.ndim == 1


def _looped(rounds: Rounds, start: Any, step: Any) -> Any:
    """`for item in rounds: start = step(start, item)`"""
    out = start

    def body(item: Any) -> None:
        nonlocal out
        out = step(out, item)

    operators[0].for_(rounds, body, None, ("out",), (), False, user_line(), ("out",))
    return out


def _sum(*args: Any, **kwargs: Any) -> Any:
    x: Any = args[0] if args else None
    rounds = _rounds(x)
    start = args[1] if len(args) == 2 else kwargs.get("start", 0)
    wrong = len(args) > 2 or kwargs.keys() - {"start"} or len(args) == 2 and kwargs
    if rounds is None or wrong or not isinstance(start, (int, float, complex, Array)):
        return _numbers.OF_TRACED[sum](*args, **kwargs)
    zero = new_scalar(shaping.full(0, shape=(), dtype=x.dtype)._read())
    total = operators[0].arithmetic("Add", start, zero, 0)  # in the dtype of all sums
    return _looped(rounds, total, operators[0].summed)


def _extremum(function: Any) -> Any:
    plain = _numbers.OF_TRACED[function]
    closer: Any = elementwise.greater if function is max else elementwise.less

    def nearest(best: Any, item: Any) -> Any:
        return new_scalar(elementwise.select(closer(item, best), item, best)._read())

    def of(*args: Any, **kwargs: Any) -> Any:
        x: Any = args[0] if len(args) == 1 and not kwargs else None
        rounds = _rounds(x) if is_unsized(x) and x.dtype.kind != "c" else None
        if rounds is None:
            return plain(*args, **kwargs)
        count, first = rounds.length, rounds.first
        check_later(elementwise.less_equal(count, 0), ValueError, empty_text(function))
        if not x.whole.shape[0]:
            return new_scalar(shaping.full(0, shape=(), dtype=x.dtype)._read())
        place = elementwise.minimum(first, x.whole.shape[0] - 1)
        best = new_scalar(new_array(x.whole._read())[place]._read())
        rest = Rounds(first + 1, 1, elementwise.maximum(count - 1, 0), rounds.item)
        return _looped(rest, best, nearest)

    return of


def _of_truths(function: Any) -> Any:
    plain = _numbers.OF_TRACED[function]

    def of(*args: Any) -> Any:
        x: Any = args[0] if len(args) == 1 else None
        if not _is_slice(x):
            return plain(*args)
        truths: Any = x if x.dtype == _BOOL else x != 0
        return pythons(truths.any() if function is any else truths.all(), _BOOL)

    return of


def _sorted(*args: Any, **kwargs: Any) -> Any:
    x: Any = args[0] if len(args) == 1 and not kwargs else None
    if _is_slice(x) and x.dtype.kind in "biuf":
        return x.listed()
    long = type(x) is NDArray and x.ndim == 1 and undecided(x) and x.dtype.kind in "biuf"
    if long and _rounds(x) is not None:
        return operators[0].fresh(list(np.sort(x)))
    return _numbers.OF_TRACED[sorted](*args, **kwargs)


OF_TRACED: dict[Any, Any] = _numbers.OF_TRACED | _whole_numbers.OF_TRACED | {
    sum: _sum, max: _extremum(max), min: _extremum(min), any: _of_truths(any),
    all: _of_truths(all), sorted: _sorted,
}  # fmt: skip
