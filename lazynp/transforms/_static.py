"""Arguments that `jit` treats specially, given by place or by name."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._positions import user_frame
from lazynp.transforms._stack import name_of


def check_hashable(what: str, where: Any, kind: type, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            f"{what}: static argument {where!r} must be hashable, got {kind.__name__}"
        ) from None


def places_and_names(
    function: Callable[..., Any],
    places: tuple[int, ...],
    names: tuple[str, ...],
    what: str = "static",
    of: str = "jit",
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Arguments by place and by name. If the function has a signature, each implies the other."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return places, names
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    variadic = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    for n in places:
        if not variadic and not -len(positional) <= n < len(positional):
            raise ValueError(
                f"{of} of {name_of(function)}: {what}_argnums has {n}, but there are "
                f"{len(positional)} positional parameters"
            )
    known = {p.name for p in parameters}
    keywords = any(p.kind == p.VAR_KEYWORD for p in parameters)
    for name in names:
        if name not in known and not keywords:
            raise ValueError(
                f"{of} of {name_of(function)}: {what}_argnames has {name!r}, which is no parameter"
            )
    from_names = tuple(positional.index(n) for n in names if n in positional)
    from_numbers = tuple(positional[n] for n in places if -len(positional) <= n < len(positional))
    return (*places, *from_names), (*names, *from_numbers)


_ALL = tuple(range(16))  # the front takes fewer arguments


class Statics:
    """Which arguments of a jitted function are static.

    bounds: names of parameters that are so where they are ints. implied: whether what names
    something is static though nobody said so, and ints are once `fixed` is set.
    """

    def __init__(
        self, function: Callable[..., Any], numbers: tuple[int, ...], names: tuple[str, ...],
        bounds: tuple[str, ...], implied: bool,
    ) -> None:  # fmt: skip
        self._numbers, self._names = places_and_names(function, numbers, names)
        self._bounds = places_and_names(function, (), bounds) if bounds else ((), ())
        self.declared = bool(self._numbers or self._names or bounds)
        self.implied, self.fixed = implied, False

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[set[int], set[str]]:
        """The places and the names of the static arguments of a call."""
        numbers, bounds = self._bounds
        places = {n % len(args) for n in self._numbers if -len(args) <= n < len(args)}
        places |= {n for n in numbers if n < len(args) and type(args[n]) is int}
        names = {*self._names, *(n for n in bounds if type(kwargs.get(n)) is int)}
        if self.implied:
            places |= {i for i, x in enumerate(args) if self._decides(x)}
            names |= {name for name, x in kwargs.items() if self._decides(x)}
        return places, names

    def _decides(self, x: Any) -> bool:
        """Whether an argument is static, though nobody said so."""
        return is_name(x) or self.fixed and is_fixable(x)

    def places_of_ints(self) -> tuple[int, ...]:
        """For the front in C: the places where an int is static."""
        return _ALL if self.fixed else tuple(sorted({*self._numbers, *self._bounds[0]}))


def is_name(x: Any) -> bool:
    """Whether this argument names something: a mode, a dtype, a function of a module. (Other
    functions may be made anew for each call.)
    """
    if isinstance(x, (str, bytes, np.dtype, type)):
        return True
    name = getattr(x, "__qualname__", None)
    if not callable(x) or not isinstance(name, str):
        return False
    module = sys.modules.get(getattr(x, "__module__", None) or "")
    return getattr(module, name, None) is x


def is_fixable(x: Any) -> bool:
    """Whether this argument can be a part of the program's shape: an int, or a tuple of ints."""
    if type(x) is tuple:
        return bool(x) and all([type(y) is int for y in x])
    return type(x) in (int, bool)


def numbers(x: Any) -> tuple[int, ...]:
    return () if x is None else (x,) if isinstance(x, int) else tuple(x)


def strings(x: Any) -> tuple[str, ...]:
    return () if x is None else (x,) if isinstance(x, str) else tuple(x)


def same_place(first: BaseException, second: BaseException) -> bool:
    """Whether two errors are TypeErrors that come from one instruction of the user's code."""
    kinds = type(first), type(second)
    return kinds == (TypeError, TypeError) and _place_of(first) == _place_of(second)


def _place_of(error: BaseException) -> Any:
    """The last of the user's instructions in the traceback."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if user_frame(trace.tb_frame) is trace.tb_frame:
            found = trace.tb_frame.f_code, trace.tb_lasti
        trace = trace.tb_next
    return found


def final(error: BaseException) -> None:
    """Say of an error that it stands, whatever the ints among the arguments are."""
    error.__dict__["final"] = True


def is_final(error: BaseException) -> bool:
    """Whether to trace again, with ints as static arguments, would only hide it."""
    return error.__dict__.get("final", False)
