"""The user's comparisons, where an operator makes them.

`_sizes` takes a comparison in this file for one of the user's code. Elsewhere in the package, sizes
that are not known to be equal differ.
"""

from __future__ import annotations

from typing import Any

from lazynp._dimensions import as_number, as_test
from lazynp._node import aval_of_node
from lazynp._sizes import Size, Test, is_size
from lazynp._who_asks import hooks, number
from lazynp.transforms.control._state import session, undecided


def equal(a: Any, b: Any) -> Any:
    """`a == b`"""
    return a == b


def not_equal(a: Any, b: Any) -> Any:
    """`a != b`"""
    return a != b


def among(x: Any, values: Any) -> Any:
    """`x in values`"""
    return x in values


def as_bool(x: Any) -> Any:
    """x; a test of sizes as a bool, if the call that is traced tells, or as a traced one."""
    return as_test(x) if type(x) is Test else x


def shown(size: Any) -> Any:
    """A size for a message: its number, if the call that is traced tells, or the traced one."""
    found = hooks[0].number(size)
    return as_number(size) if found is None else found


def number_shown(x: Any) -> Any:
    """An operand of `"%d" % x`: of a size, its number."""
    return number(x) if type(x) is Size else as_bool(x)


def looked_at(x: Any) -> Any:
    """What has the type that x shows to the user's code: a size is an int."""
    if undecided(x) and not x.ndim and (aval := aval_of_node(x._read())).weak:
        return {"b": False, "i": 0, "f": 0.0}.get(aval.dtype.kind, 0j)  # a number of Python's
    return 0 if type(x) is Size else as_bool(x)


def key_of(held: dict[Any, Any], size: Any) -> Any:
    """The key of a dict that a size is equal to, in the call that is traced; else the size, of
    which a hash asks for the number. Tests of ints let the trace serve other sizes as well.
    """
    for key in held:
        if isinstance(key, (int, Size)) and as_test(equal(size, key)) is True:
            return key
    return size


def by_key(method: Any) -> Any:
    """What `get` of a dict, `isinstance`, `type` and `hasattr` are, which may be given sizes or
    traced numbers; None for others.
    """
    if method in (isinstance, type, hasattr) and not session.depth:
        return lambda *args, **kwargs: method(*map(looked_at, args), **kwargs)
    held = getattr(method, "__self__", None)
    if not isinstance(held, dict) or method.__name__ != "get":
        return None

    def get(key: Any, *more: Any) -> Any:
        if is_size(key):
            key = key_of(held, key)
            if is_size(key) and all(type(k) in (int, str) for k in held):
                return more[0] if more else None
        return method(key, *more)

    return get
