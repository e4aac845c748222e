"""The user's comparisons, where an operator makes them.

`_sizes` takes a comparison in this file for one of the user's code. Elsewhere in the package, sizes
that are not known to be equal differ.
"""

from __future__ import annotations

from typing import Any

from lazynp._dimensions import as_test
from lazynp._sizes import is_size


def equal(a: Any, b: Any) -> Any:
    """`a == b`"""
    return a == b


def not_equal(a: Any, b: Any) -> Any:
    """`a != b`"""
    return a != b


def among(x: Any, values: Any) -> Any:
    """`x in values`"""
    return x in values


def key_of(held: dict[Any, Any], size: Any) -> Any:
    """The key of a dict that a size is equal to, in the call that is traced; else the size. Its
    hash does not find one: it is that of its form.
    """
    if size in held:
        return size
    for key in held:
        if isinstance(key, int) and as_test(size == key) is True:
            return key
    return size


def by_key(method: Any) -> Any:
    """What `get` of a dict is, if it may be given a size; None for other methods."""
    held = getattr(method, "__self__", None)
    if not isinstance(held, dict) or method.__name__ != "get":
        return None
    return lambda key, *more: method(key_of(held, key) if is_size(key) else key, *more)
