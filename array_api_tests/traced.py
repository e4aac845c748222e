"""The suite with `lazynp.jit` around the functions: ARRAY_API_TESTS_JIT=1.

Arrays among the arguments, also in lists and tuples, are operands of the program; everything else
is part of the program. The standard lets a tracing library omit data-dependent functions ("such
libraries may choose to omit"). These, and functions without arrays, are called without jit.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

ON = os.environ.get("ARRAY_API_TESTS_JIT", "") not in ("", "0")

_DATA = "the shape of the result depends on data"
_NO_ARRAYS = "results are not arrays: there is nothing to trace"
_OUTSIDE = "memory from outside is not of the program"
EAGER = {
    "nonzero": _DATA,
    "unique_all": _DATA,
    "unique_counts": _DATA,
    "unique_inverse": _DATA,
    "unique_values": _DATA,
    "can_cast": _NO_ARRAYS,
    "finfo": _NO_ARRAYS,
    "iinfo": _NO_ARRAYS,
    "isdtype": _NO_ARRAYS,
    "result_type": _NO_ARRAYS,
    "broadcast_shapes": _NO_ARRAYS,
    "__array_namespace_info__": _NO_ARRAYS,
    "from_dlpack": _OUTSIDE,
}


class _Operand(int):
    """The place of an operand among the arguments."""

    def __repr__(self) -> str:
        return f"<operand {int(self)}>"


def _is_array(x: Any) -> bool:
    return hasattr(x, "__array_namespace__") and hasattr(x, "dtype")


def _split(x: Any, operands: list[Any]) -> Any:
    """Replace arrays in the arguments by places, and add the arrays to `operands`."""
    if _is_array(x):
        operands.append(x)
        return _Operand(len(operands) - 1)
    if type(x) in (tuple, list):
        return type(x)(_split(item, operands) for item in x)
    if type(x) is dict:
        return {k: _split(v, operands) for k, v in x.items()}
    return x


def _joined(x: Any, operands: tuple[Any, ...]) -> Any:
    if type(x) is _Operand:
        return operands[x]
    if type(x) in (tuple, list):
        return type(x)(_joined(item, operands) for item in x)
    if type(x) is dict:
        return {k: _joined(v, operands) for k, v in x.items()}
    return x


def _needs_values(name: str, form: Any, operands: list[Any]) -> bool:
    """Whether the shape of this call's result depends on data."""
    if name == "repeat":
        return len(operands) > 1
    if name in ("getitem", "setitem"):
        return any(x.dtype == "bool" for x in operands[1:2])
    return name == "asarray" and not operands


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put jit around the function, if the suite runs so."""
    name = getattr(function, "__name__", "")
    if not ON or name in EAGER:
        return function
    return _traced(function, name)


@functools.cache
def _traced(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    from lazynp import jit  # noqa: PLC0415 - of this library alone, and only if it is asked for

    programs: dict[str, Callable[..., Any]] = {}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        operands: list[Any] = []
        form = _split((args, kwargs), operands)
        if _needs_values(name, form, operands):
            return function(*args, **kwargs)
        key = repr(form)
        if key not in programs:

            def program(*values: Any) -> Any:
                positional, named = _joined(form, values)
                return function(*positional, **named)

            program.__name__ = name
            programs[key] = jit(program)
        return programs[key](*operands)

    return call


class Namespace:
    """A module with traced functions."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if isinstance(value, ModuleType):
            return Namespace(value)
        if callable(value) and not isinstance(value, type):
            return traced(value)
        return value


def namespace(module: ModuleType) -> Any:
    """The module, or one with traced functions."""
    return Namespace(module) if ON else module
