"""NumPy's kernels without NumPy's floating-point warnings, which would name our lines.

NumPy keeps its error state in a context variable. Setting and resetting it by `np.errstate` takes
twice as long as adding two small arrays. Setting the variable directly takes half of that. Calling
in a context where it is set permanently takes a tenth.

In such a context NumPy logs what it finds. Where the user has called what failed, `_errstate` then
warns at the user's line; otherwise that is forgotten.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

import numpy as np

# private to NumPy, the basis of errstate; if a version lacks them, we use errstate
_umath: Any = getattr(getattr(np, "_core", None), "umath", None)
errors = getattr(_umath, "_extobj_contextvar", None)
if not hasattr(_umath, "_make_extobj"):
    errors = None
_IGNORED = None if errors is None else _umath._make_extobj(all="ignore")
WARNED = None if errors is None else _umath._make_extobj(all="warn")  # for C, to know its form

heard: list[tuple[int, str]] = []  # what NumPy has logged since somebody asked: thread, message


class _Ear:
    def write(self, message: str) -> None:
        heard.append((threading.get_ident(), message))


_HEARD = None
if errors is not None:
    _HEARD = _umath._make_extobj(all="log", under="ignore", call=_Ear())


def heard_here() -> list[str]:
    """What NumPy has logged in this thread. It is forgotten."""
    thread = threading.get_ident()
    here = [message for ident, message in heard if ident == thread]
    heard[:] = [it for it in heard if it[0] != thread]
    return here


def forget() -> None:
    """After an error, which says enough: the next operation would tell of it otherwise."""
    if heard:
        heard_here()


tellers: list[Callable[[], object]] = [heard_here]  # the last one tells the user what was heard


def told(result: Any) -> Any:
    """This result of what the user has called, once the user knows what NumPy has logged."""
    if heard:
        tellers[-1]()
    return result


def quietly(function: Any, values: list[Any], **params: Any) -> Any:
    """`function(*values)` without warnings.

    It runs in a copy of the context, which is then discarded. So an interruption at any moment
    leaves NumPy's state unchanged.
    """
    return copy_context().run(_ignoring, function, values, params)


def _ignoring(function: Any, values: list[Any], params: dict[str, Any]) -> Any:
    if errors is None:
        with np.errstate(all="ignore"):
            return function(*values, **params)
    errors.set(_IGNORED)
    return function(*values, **params)


def quiet_context() -> Callable[..., Any]:
    """A function `call(function, *values)` for one thread, which runs in a quiet context.

    RuntimeError if it is called while it runs, which a destructor can cause: see `quiet_result`. So
    it must be safe to call the functions again.
    """
    if errors is None:
        return lambda function, *values: quietly(function, list(values))
    context = Context()
    context.run(errors.set, _HEARD)
    return context.run


def quiet_result(quiet: Callable[..., Any], function: Callable[..., Any], *values: Any) -> Any:
    """`function(*values)` in a `quiet_context`, or without it if that is in use.

    If the function itself raises, the second call raises the same.
    """
    try:
        return quiet(function, *values)
    except RuntimeError:
        return quietly(function, list(values))
    finally:
        forget()


def aloud(function: Any, values: list[Any], **params: Any) -> Any:
    """`function(*values)` for the user, in a copy of the context: see `told_result`."""
    try:
        result = copy_context().run(_hearing, function, values, params)
    except BaseException:
        forget()
        raise
    return told(result)


def _hearing(function: Any, values: list[Any], params: dict[str, Any]) -> Any:
    if errors is None:
        return _ignoring(function, values, params)
    errors.set(_HEARD)
    return function(*values, **params)


def told_result(quiet: Callable[..., Any], function: Callable[..., Any], *values: Any) -> Any:
    """The same for what the user calls: a warning names the user's line."""
    try:
        result = quiet(function, *values)
    except RuntimeError:
        forget()
        return aloud(function, list(values))
    except BaseException:
        forget()
        raise
    return told(result)
