"""Functions that make an array as another array's class makes it: their argument `like`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from lazynp._array import Array
from lazynp._overrides import overrides
from lazynp.functions._placing import USED, placed

F = TypeVar("F", bound=Callable[..., Any])


def as_its_like(function: F) -> F:
    """Decorate another function that makes an array: `like` may be of a class that overrides it."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and overrides(kwargs.get("like")):
            return by_its_like(call, *args, **kwargs)
        if USED or "device" in kwargs:
            return placed(function, args, kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def by_its_like(function: Any, *args: Any, like: Any, **kwargs: Any) -> Any:
    """A creation function that calls the `__array_function__` of `like`."""
    if isinstance(like, Array):
        return function(*args, **kwargs)
    made = like.__array_function__(function, (type(like),), args, kwargs)
    if made is NotImplemented:
        raise TypeError(
            f"no implementation found for 'numpy.{function.__name__}' on types that implement "
            f"__array_function__: [{type(like)}]"
        )
    return made
