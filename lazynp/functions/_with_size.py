"""What stands for slices and selections of unknown size, where such a size may be a value.

`Part` and `Selection` do without the size as long as they can. What needs it makes an array of
them: `array` of theirs. Outside of functions whose integers may be sizes, it raises their error.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

from lazynp._dimensions import is_unsized, table

F = TypeVar("F", bound=Callable[..., Any])


def arrays(tree: Any) -> Any:
    """The arguments with arrays in place of what stands for them."""
    if type(tree) in (list, tuple):
        return type(tree)(map(arrays, tree))
    if type(tree) is dict:
        return {k: arrays(x) for k, x in tree.items()}
    return tree.array() if is_unsized(tree) else tree


def with_size(method: F, again: Callable[..., Any] | None = None) -> F:
    """A method that does without the size, or raises an error; then it is done on the array.

    again: what to call with arrays, if not the method of that name.
    """
    name = method.__name__

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if table() is None:
            return method(self, *args, **kwargs)
        if not getattr(self, "written", False):
            with contextlib.suppress(TypeError, ValueError):
                return method(self, *args, **kwargs)
        array = arrays(self)
        repeat = getattr(type(array), name) if again is None else again
        return repeat(array, *arrays(args), **arrays(kwargs))

    return call  # type: ignore[return-value]


def ufunc_again(self: Any, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """`__array_ufunc__`, of arrays."""
    return getattr(function, method)(*inputs, **kwargs)


def function_again(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """`__array_function__`, of arrays."""
    return function(*args, **kwargs)
