"""Calls with several faults: which of them is reported, NumPy decides."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from lazynp._array import Array, NDArray
from lazynp._avals import Aval
from lazynp._quiet import quietly
from lazynp._strides import writeable
from lazynp._values import knowable, seen_value

F = TypeVar("F", bound=Callable[..., Any])

_MOST = 1 << 26  # bytes of operands that are copied to ask NumPy
FAULTS = (TypeError, ValueError, LookupError, ArithmeticError)


def refused_as(reference: Callable[..., Any]) -> Callable[[F], F]:
    """Decorate a function whose checks have an order of their own: if it raises, NumPy's function
    of that name is called with copies of the arguments, and its exception is raised instead. Not
    for functions that call others.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except FAULTS as error:
                found = _fault(reference, args, kwargs)
                if found is None or (type(found), str(found)) == (type(error), str(error)):
                    raise
            try:
                raise found
            finally:
                del found  # its traceback holds this frame, and so would hold the arguments

        return call  # type: ignore[return-value]

    return decorate


def _fault(reference: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Exception | None:
    """The exception that NumPy raises here; None if it raises none, or cannot be asked."""
    try:
        copies = [_copied(a) for a in args]
        named = {name: _copied(a) for name, a in kwargs.items()}
    except _CannotAsk:
        return None
    try:
        quietly(functools.partial(reference, *copies, **named), [])
    except FAULTS as found:
        found.__context__ = None
        return found.with_traceback(None)
    return None


def numpys_fault(error: Exception, reference: Any, args: Any, kwargs: Any) -> Exception:
    """What to raise for an error of ours: NumPy's exception, if it can be asked and raises one.

    Raise it behind the `except`: it comes in place of `error`, not after it. Then delete the
    variable: the traceback of the exception refers to its frame.
    """
    found = _fault(reference, args, kwargs)
    return error if found is None else found


def wrong_index(error: Exception, aval: Aval, index: Any) -> Exception:
    """`numpys_fault` where an array of this aval got an index that we refuse."""
    if type(aval) is not Aval:
        return error
    alike = np.broadcast_to(np.zeros((), aval.dtype), aval.shape)
    return numpys_fault(error, lambda place: alike[place], (index,), {})


class _CannotAsk(Exception):
    """An argument has no value, or too large a one, or NumPy does not know its class."""


_DEEPEST = 64  # lists in lists: one may hold itself
_PLAIN = (int, float, complex, str, bytes, slice, range, type, np.generic, np.dtype)
_PLAIN += (type(None), type(...))


def _copied(x: Any, depth: int = 0) -> Any:
    if isinstance(x, Array):
        node = x._read()
        if not knowable(node) or x.nbytes > _MOST:
            raise _CannotAsk
        copy = np.array(seen_value(node))
        if copy.dtype == object and any(isinstance(item, Array) for item in copy.flat):
            raise _CannotAsk  # NumPy would ask us again
        copy.flags.writeable = writeable(x)
        return copy if isinstance(x, NDArray) else copy[()]
    if type(x) is np.ndarray:
        return x.copy()
    if (type(x) is list or type(x) is tuple) and depth < _DEEPEST:
        return type(x)([_copied(item, depth + 1) for item in x])
    if isinstance(x, _PLAIN):
        return x
    raise _CannotAsk
