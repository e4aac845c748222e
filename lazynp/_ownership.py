"""Who else refers to an object: the only module that counts references.

An array's value is immutable, but memory that nobody else can see may be changed in place.
`exclusive` decides this, for every way of writing. It takes handles, never nodes or memory, so it
counts no variable of a caller. The counts that it compares with are measured at import, by the same
functions on new objects, because CPython's versions differ in the references that a call holds.

`counted` defines `exclusive`. The C extension, if built, provides the same function; tests compare
the two.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from lazynp._entries import CODE, LENT, VALUE, Node
from lazynp._fronts import BUILT, fastpath

Memory = np.ndarray[Any, Any]


# -- items of lists --------------------------------------------------------------------------------


def counts(items: list[Any]) -> list[int]:
    """The number of references to each item; `COUNTED` if only this list has it."""
    return list(map(getrefcount, items))


def only_here(items: Any, place: int) -> bool:
    """Whether only this list or tuple refers to its item."""
    return _item_count(items, place) == _ITEM


def _item_count(items: Any, place: int) -> int:
    return getrefcount(items[place])


def drop_unshared(table: dict[Any, Any]) -> None:
    """Drop the values that only the table refers to. Other threads may use it meanwhile."""
    try:
        items = list(table.items())
    except RuntimeError:  # one of them has just added an entry: the next sweep will do
        return
    keys = [k for (k, _), n in zip(items, _value_counts_of(items)) if n == _VALUE_OF_TABLE]
    del items
    for key in keys:
        popped = [table.pop(key, None)]
        if popped[0] is not None and not only_here(popped, 0):  # somebody has just found it
            table.setdefault(key, popped[0])


def _value_counts_of(items: list[tuple[Any, Any]]) -> list[int]:
    return list(map(getrefcount, map(itemgetter(1), items)))


COUNTED = counts([[None]])[0]
_TABLE = {0: [None]}
_VALUE_OF_TABLE = _value_counts_of(list(_TABLE.items()))[0]
_ITEM = _item_count([[None]], 0)


# -- values of nodes -------------------------------------------------------------------------------


def owned(node: Node) -> bool:
    """Whether the node's value is writable host memory that only the node refers to."""
    if not _may_be_written(node):
        return False
    return _value_counts(node) == _OWNED[node[VALUE].base is not None]


def _may_be_written(node: Node) -> bool:
    value = node[VALUE]
    if type(value) is not ndarray or not value.flags.writeable:
        return False
    base = value.base
    return base is None or type(base) is ndarray and base.base is None


def _value_counts(node: Node) -> tuple[int, ...]:
    if node[VALUE].base is None:
        return (getrefcount(node[VALUE]),)
    return getrefcount(node[VALUE]), getrefcount(node[VALUE].base)


# -- handles ---------------------------------------------------------------------------------------


def has_own_node(handle: Any) -> bool:
    """Whether only this handle refers to its node."""
    return _node_count(handle) == _NODE


def _node_count(handle: Any) -> int:
    return getrefcount(handle._node)


def counted(owner: Any, view: Any = None) -> Memory | None:
    """The host memory of an owner's value, if only the owner, and one view of it, can see it.

    None if something else may see it: another handle, a pending operation, another view, a NumPy
    view that the user holds, a program. None also if the value is not host memory, or if the `view`
    of this owner does not show a part of it. Hold `write_lock`, and no reference to a node or its
    memory.
    """
    if view is None:
        if not has_own_node(owner) or not owned(owner._node):
            return None
    elif not _may_be_written(owner._node) or not _is_part(owner, view):
        return None
    elif _counts_of_both(owner, view) != _BOTH[owner._node[VALUE].base is not None]:
        return None
    return None if owner._node[CODE] is LENT else owner._node[VALUE]


exclusive: Callable[..., Memory | None] = fastpath.exclusive if BUILT else counted


def _is_part(owner: Any, view: Any) -> bool:
    """Whether the view is up to date and lies in the owner's memory."""
    data, shown = owner._node[VALUE], view._node[VALUE]
    if view._seen is not owner._node or view._node is owner._node:
        return False
    if type(shown) is not ndarray or not shown.flags.writeable or shown.base is None:
        return False
    return shown.base is (data if data.base is None else data.base)


def _counts_of_both(owner: Any, view: Any) -> tuple[int, ...]:
    return (
        _node_count(owner),
        _node_count(view),
        getrefcount(view._node[VALUE]),
        *_value_counts(owner._node),
    )


def has_other_names(handle: Any) -> bool:
    """Whether more than one variable holds a handle. Only for methods that the user calls on it,
    because the calibration counts the references that such a call holds.
    """
    return _handle_count(handle) > _ONE_NAME


def _handle_count(handle: Any) -> int:
    return getrefcount(handle)


# -- calibration -----------------------------------------------------------------------------------


class _Handle:
    """The attributes of an `Array` that are read here."""

    __slots__ = ("_node", "_seen")

    def __init__(self, value: Any, seen: Node | None = None) -> None:
        self._node, self._seen = [None, None, value, None, None], seen


class _Named:
    def resize(self, *shape: Any, refcheck: bool = True) -> int:
        return _between(self)


def _between(handle: Any) -> int:
    """Stands for `has_other_names`."""
    return _handle_count(handle)


def _one_name() -> int:
    x = _Named()
    return x.resize(1)


def _fresh(with_base: bool) -> Memory:
    return np.empty(4)[:3] if with_base else np.empty(3)


def _pair(with_base: bool) -> tuple[_Handle, _Handle]:
    owner = _Handle(_fresh(with_base))
    return owner, _Handle(owner._node[VALUE][1:], owner._node)


_NODE = _node_count(_Handle(None))
_ONE_NAME = _one_name()
_OWNED = {b: _value_counts(_Handle(_fresh(b))._node) for b in (False, True)}
_BOTH = {b: _counts_of_both(*_pair(b)) for b in (False, True)}
