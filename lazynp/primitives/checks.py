"""check: a data-dependent error in a traced function.

A traced function has no values, so it cannot raise. It records a check instead. The operand *found*
says which failure occurred, counted from 1 (0: none), and the values at fault, at least one. A
check has no result. Interpreters repeat it, one check for all examples. The outermost call of the
program *discharges* its checks: their findings become one more result of the program. That result
is the first failure in program order; branches not taken and rounds not run do not count. The call
reads it at once.

Further operands, if there are any, are what the finding was reduced from: for each place, whether
it is at fault, and the values there. Then devices that share a program need not agree on the
finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._errors import Failure, Model
from lazynp._extents import known_empty
from lazynp._jaxpr import Jaxpr
from lazynp._positions import position
from lazynp._primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Primitive
from lazynp._recorder import user_position
from lazynp._sizes import is_size
from lazynp.primitives import elementwise, reduction, shaping

_INT = np.dtype(np.int64)


def _check_abstract(
    found: Aval, *bad: Aval, failures: tuple[Failure, ...], effect: bool
) -> tuple[()]:
    return ()


def _check_reference(
    found: Any, *bad: Any, failures: tuple[Failure, ...], effect: bool
) -> tuple[()]:
    which, *values = found
    if which:
        raise failures[which - 1].error(*values)
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
    values = () if value is None else (value,)
    check(_found(bad, values), bad, *values, failures=(failure,), effect=True)


def check_like(bad: Any, model: Model, message: str, values: Sequence[Any]) -> None:
    """Record that the program must raise an exception of this model if `bad` is true. message: for
    the observers. values: which it shows, integers of 64 bits.
    """
    kind: Any = model.kind
    for told in observers:
        kind, message = told(kind, message)
    found = model if kind is model.kind else None
    failure = Failure(kind, message, position(*user_position()), None, False, found)
    check(_found(bad, values), bad, *values, failures=(failure,), effect=True)


def _never_empty(x: Any) -> Any:
    """The elements of an array whose size has no value yet, and a last one that is no fault."""
    flat = shaping.reshape(x, shape=(x.size,))
    return shaping.concatenate(flat, shaping.full(0, shape=(1,), dtype=x.dtype), axis=0)


def _found(bad: Any, values: Sequence[Any]) -> Any:
    n = bad.size
    which, place = bad, None
    if bad.ndim:
        i = _first(shaping.reshape(bad, shape=(n,)))
        which, place = elementwise.less(i, n), elementwise.minimum(i, n - 1)
    which = shaping.reshape(elementwise.convert(which, dtype=_INT), shape=(1,))
    parts = [which]
    for value in values:
        flat = shaping.reshape(elementwise.convert(value, dtype=_INT), shape=(n, 1))
        parts.append(_element(flat, 0 if place is None else place))
    return widened(shaping.concatenate(*parts, axis=0) if values else which, 2)


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


def nothing(width: int = 2) -> Any:
    return shaping.full(0, shape=(width,), dtype=_INT)


def type_of(*jaxprs: Jaxpr) -> Aval:
    """The type of what any of these finds, which is its last result."""
    return aval_of((max(j.outputs[-1].aval.shape[0] for j in jaxprs),), _INT)


def widened(found: Any, width: int) -> Any:
    """The finding beside others that may show more values."""
    more = width - found.shape[0]
    return shaping.concatenate(found, nothing(more), axis=0) if more > 0 else found


def any_found(found: Any) -> Any:
    return elementwise.not_equal(_column(found, 0), 0)


def earlier(first: Any, second: Any) -> Any:
    """The first finding if there is one, else the second."""
    width = max(first.shape[0], second.shape[0])
    return elementwise.select(any_found(first), widened(first, width), widened(second, width))


def renumbered(found: Any, shift: int) -> Any:
    """Shift the failure numbers so that they count from `shift + 1`."""
    if not shift:
        return found
    moved = widened(shaping.full(shift, shape=(1,), dtype=_INT), found.shape[0])
    return elementwise.select(any_found(found), elementwise.add(found, moved), found)
