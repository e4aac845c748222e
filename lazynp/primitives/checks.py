"""check: a data-dependent error in a traced function.

A traced function has no values, so it cannot raise. It records a check instead. The operand *found*
says which failure occurred, counted from 1 (0: none), and the value at fault. A check has no
result. Interpreters repeat it, one check for all examples. The outermost call of the program
*discharges* its checks: their findings become one more result of the program. That result is the
first failure in program order; branches not taken and rounds not run do not count. The call reads
it at once.

Further operands, if there are any, are what the finding was reduced from: for each place, whether
it is at fault, and the value there. Then devices that share a program need not agree on the
finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._errors import Failure
from lazynp._extents import known_empty
from lazynp._positions import position
from lazynp._primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Primitive
from lazynp._recorder import user_position
from lazynp._sizes import is_size
from lazynp.primitives import elementwise, reduction, shaping

_INT = np.dtype(np.int64)
FOUND = aval_of((2,), _INT)


def _check_abstract(
    found: Aval, *bad: Aval, failures: tuple[Failure, ...], effect: bool
) -> tuple[()]:
    return ()


def _check_reference(
    found: Any, *bad: Any, failures: tuple[Failure, ...], effect: bool
) -> tuple[()]:
    which, value = found
    if which:
        raise failures[which - 1].error(value)
    return ()


def _check_batch(
    size: int, batched: Sequence[bool], found: Any, *bad: Any, **params: Any
) -> tuple[()]:
    if known_empty(size):
        return ()
    if batched[0]:
        i = _first(elementwise.not_equal(_column(found, 0), 0))
        found = _element(found, elementwise.minimum(i, size - 1))
    return check(found, *bad, **params)


check = Primitive(
    "check",
    abstract=_check_abstract,
    reference=_check_reference,
    lower=lambda b, *_, **__: (),
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=_check_batch,
    multiple_results=True,
    kind="host",
)


# each gives the class and the message of an exception in place of those that a check is to have
observers: list[Callable[[type[Exception], str], tuple[type[Exception], str]]] = []


def check_later(
    bad: Any, kind: type[Exception], message: str, value: Any = None, size: Any = None
) -> None:
    """Record that the program must raise this error if any element of `bad` is true. In the
    message, {} stands for the element of `value` (integers of the same shape) at the first such
    place, {size} for the size.
    """
    if known_empty(bad.size):
        return
    if is_size(bad.size):
        bad, value = _never_empty(bad), None if value is None else _never_empty(value)
    for told in observers:
        kind, message = told(kind, message)
    failure = Failure(kind, message, position(*user_position()), size, value is not None)
    places = (bad,) if value is None else (bad, value)
    check(_found(bad, value), *places, failures=(failure,), effect=True)


def _never_empty(x: Any) -> Any:
    """The elements of an array whose size has no value yet, and a last one that is no fault."""
    flat = shaping.reshape(x, shape=(x.size,))
    return shaping.concatenate(flat, shaping.full(0, shape=(1,), dtype=x.dtype), axis=0)


def _found(bad: Any, value: Any) -> Any:
    n = bad.size
    which, place = bad, None
    if bad.ndim:
        i = _first(shaping.reshape(bad, shape=(n,)))
        which, place = elementwise.less(i, n), elementwise.minimum(i, n - 1)
    which = shaping.reshape(elementwise.convert(which, dtype=_INT), shape=(1,))
    if value is None:
        at_fault = shaping.full(0, shape=(1,), dtype=_INT)
    else:
        flat = shaping.reshape(elementwise.convert(value, dtype=_INT), shape=(n, 1))
        at_fault = _element(flat, 0 if place is None else place)
    return shaping.concatenate(which, at_fault, axis=0)


def _first(bad: Any) -> Any:
    """The index of the first True; one past the end if there is none."""
    places = shaping.iota(shape=bad.shape, axis=0, dtype=_INT)
    return reduction.reduce_min(elementwise.select(bad, places, bad.size), axes=(0,))


def _element(x: Any, i: Any) -> Any:
    """x[i] on the first of two axes."""
    n = x.shape[1]
    return shaping.slice(x, i, axes=(0,), sizes=(1,), strides=(1,), shape=(n,))


def _column(x: Any, i: int) -> Any:
    return shaping.slice(x, i, axes=(x.ndim - 1,), sizes=(1,), strides=(1,), shape=x.shape[:-1])


# -- what was found, in a program ------------------------------------------------------------------


def nothing() -> Any:
    return shaping.full(0, shape=(2,), dtype=_INT)


def any_found(found: Any) -> Any:
    return elementwise.not_equal(_column(found, 0), 0)


def earlier(first: Any, second: Any) -> Any:
    """The first finding if there is one, else the second."""
    return elementwise.select(any_found(first), first, second)


def renumbered(found: Any, shift: int) -> Any:
    """Shift the failure numbers so that they count from `shift + 1`."""
    if not shift:
        return found
    return elementwise.select(any_found(found), elementwise.add(found, _moved(shift)), found)


def _moved(shift: int) -> Any:
    first = shaping.full(shift, shape=(1,), dtype=_INT)
    return shaping.concatenate(first, shaping.full(0, shape=(1,), dtype=_INT), axis=0)
