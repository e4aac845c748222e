"""What the functions of `math` and `cmath` are of numbers that a transformation traces.

`interop.math` and `interop.cmath` are what the user's modules get as `math` and `cmath` under
`install` and `python -m lazynp`. Their functions are Python's, but for traced numbers. Where the
value of such a number is known (under a derivative), Python's function sees it first, so the errors
are Python's, and a function whose result is an int or a bool gives that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import lazynp as np
from lazynp._array import Array
from lazynp._fronts import in_front
from lazynp._values import knowable, seen_value
from lazynp.interop._calls import is_traced
from lazynp.transforms.control import STANDING, pythons

Rule = Callable[..., Any]


def stand_in(function: Any, rule: Rule | None, unknown: Rule | None, dtype: Any) -> Any:
    """`function`, but for traced numbers. rule: the same of arrays of this dtype without axes; None
    if the result has no derivative. Then, unknown: what to call where there is no value to look at.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple([list(x) if isinstance(x, Iterator) else x for x in args])
        if not is_traced(args):
            return function(*args, **kwargs)
        try:
            out = function(*_seen(args), **kwargs)
        except _Unknown:
            if rule is None and unknown is None:
                return function(*args, **kwargs)  # raises
            return _as_pythons((rule or unknown)(*_numbers(args, dtype), **kwargs))  # type: ignore[misc]
        return out if rule is None else _as_pythons(rule(*_numbers(args, dtype), **kwargs))

    call.__module__ = f"lazynp.interop.{function.__module__}"  # where pickle finds it
    made = in_front("of_floats", call, function=function)
    STANDING[id(made)] = function
    return made


class _Unknown(Exception):
    """There is no value to look at."""


def _seen(x: Any) -> Any:
    """The same with the values of what is traced."""
    if isinstance(x, Array):
        node = x._read()
        if not knowable(node):
            raise _Unknown
        return seen_value(node)
    return type(x)(map(_seen, x)) if type(x) in (list, tuple) else x


def _numbers(x: Any, dtype: Any) -> Any:
    """The same with numbers of this dtype in place of arrays of one element."""
    if isinstance(x, Array):
        number: Any = x.reshape(()) if x.ndim else x
        if number.dtype.kind == "c" and dtype is not complex:
            number = number.real  # NumPy has warned
        return np.asarray(number).astype(dtype)[()]
    return type(x)([_numbers(i, dtype) for i in x]) if type(x) in (list, tuple) else x


def _as_pythons(x: Any) -> Any:
    """Arrays without axes as numbers of Python's."""
    if type(x) is tuple:
        return tuple(map(_as_pythons, x))
    return pythons(x, x.dtype) if isinstance(x, Array) else x


def log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def module_of(
    original: ModuleType, rules: dict[str, Rule], discrete: dict[str, Rule | None], dtype: Any
) -> dict[str, Any]:
    """The names of the module, with stand-ins for these functions. discrete: those whose results
    have no derivative, and what to call where no value is known.
    """
    names = {k: v for k, v in vars(original).items() if not k.startswith("__")}
    for name in names.keys() & {*rules, *discrete}:
        names[name] = stand_in(names[name], rules.get(name), discrete.get(name), dtype)
    return names
