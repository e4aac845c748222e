"""Functions that make an array as another array's class makes it: their argument `like`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

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


def zeros_like_now(a: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
    """NumPy's `zeros_like`, which takes twice as long as `zeros` does: it fills what is new."""
    plain = type(a) is np.ndarray and a.flags.c_contiguous and order in ("K", "C")
    if plain and not options and dtype in (None, bool, int, float, complex):
        return np.zeros(a.shape, a.dtype if dtype is None else dtype)
    return np.zeros_like(a, dtype, order, **options)
