"""NumPy's kernels without NumPy's floating-point warnings.

NumPy keeps its error state in a context variable. `np.errstate` sets and resets it, which takes
twice as long as adding two small arrays; setting the variable itself, half of that; calling in a
context where it is set once and for all, a tenth.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

import numpy as np

# NumPy's own, of which errstate is made; if a version has them no longer, errstate it is
_umath: Any = getattr(getattr(np, "_core", None), "umath", None)
_errors = getattr(_umath, "_extobj_contextvar", None)
if not hasattr(_umath, "_make_extobj"):
    _errors = None
_IGNORED = None if _errors is None else _umath._make_extobj(all="ignore")


def quietly(function: Any, values: list[Any], **params: Any) -> Any:
    """`function(*values)` without warnings.

    In a copy of the context, which is thrown away: an interruption can then come at any moment
    and NumPy's state is what it was.
    """
    return copy_context().run(_ignoring, function, values, params)


def _ignoring(function: Any, values: list[Any], params: dict[str, Any]) -> Any:
    if _errors is None:
        with np.errstate(all="ignore"):
            return function(*values, **params)
    _errors.set(_IGNORED)
    return function(*values, **params)


def quiet_context() -> Callable[..., Any]:
    """A caller of functions, `call(function, *values)`, for one thread.

    RuntimeError if it is called while it runs, as a destructor can bring about: see `quiet_result`.
    So the functions must be such that they can be called again.
    """
    if _errors is None:
        return lambda function, *values: quietly(function, list(values))
    context = Context()
    context.run(_errors.set, _IGNORED)
    return context.run


def quiet_result(quiet: Callable[..., Any], function: Callable[..., Any], *values: Any) -> Any:
    """`function(*values)` in a `quiet_context`, or without it where that is in use.

    What a function of NumPy's raises itself is raised again by the second call.
    """
    try:
        return quiet(function, *values)
    except RuntimeError:
        return quietly(function, list(values))
