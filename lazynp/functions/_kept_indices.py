"""What indices with lists of numbers mean, as `x[[0, -1]]` and `x[:, [2, 0]]`: found once."""

from __future__ import annotations

from types import EllipsisType, NoneType
from typing import Any

from lazynp._array import new_array
from lazynp._avals import Aval
from lazynp._memo import Memo
from lazynp._node import OP, VALUE

MOST = 16  # numbers of a list
_PLAIN = (int, NoneType, EllipsisType)
_kept: Memo[Any, tuple[Any, list[Any]]] = Memo("list indices", 1 << 10)


def key_of(aval: Any, index: Any) -> Any:
    """What tells this index of numbers from others. None if it has other parts."""
    if type(aval) is not Aval:
        return None
    key: list[Any] = [aval]
    for item in index if type(index) is tuple else (index,):
        kind = type(item)
        if kind is list:
            if len(item) > MOST or set(map(type, item)) != {int}:
                return None
            key.append((list, *item))
        elif kind is slice:
            parts = item.start, item.stop, item.step
            if not all([type(p) is int or p is None for p in parts]):
                return None
            key.append((slice, *parts))
        elif kind in _PLAIN:
            key.append(item)
        else:
            return None
    return tuple(key)


def kept(key: Any) -> Any:
    """The meaning of an index, with index arrays of its own; None if it is not known."""
    found = _kept.get(key)
    return None if found is None else _copy(*found)


def keep(key: Any, meaning: Any) -> None:
    nodes = [a._node for a in meaning.indices]
    if all([n[OP] is None and n[VALUE] is not None for n in nodes]):
        _kept.put(key, (_copy(meaning, nodes), nodes))


def _copy(meaning: Any, nodes: list[Any]) -> Any:
    made = type(meaning)()
    made.basic, made.axes, made.order = meaning.basic, meaning.axes, meaning.order
    # nodes of their own: programs shall not depend on which lists happen to be equal
    made.shape, made.indices = meaning.shape, tuple([new_array(n.copy()) for n in nodes])
    return made
