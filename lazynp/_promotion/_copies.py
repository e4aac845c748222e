"""Arrays like those of a call, in memory of their own: a trace and a trial run on these."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._array import Array, NDArray, new_array, new_view
from lazynp._avals import Aval
from lazynp._flush import flush
from lazynp._node import VALUE, leaf
from lazynp._recorder import local

_LARGE = 1 << 20  # bytes


def copies(
    leaves: list[Any], empty: bool = False, written: Container[int] | None = None
) -> list[Any]:
    """Arrays like these in memory of their own, which is shared as theirs is.

    empty: without values, and without memory: for traces. written: places among the owners; if
    given, other large arrays get their memory when one of both is written.
    """
    owners: dict[int, Array] = {}

    def copied(x: Any) -> Any:
        if type(x) is not NDArray:
            return x
        owner = x._owner()
        made = owners.get(id(owner))
        if made is None:
            aval = owner.aval
            shared = written is not None and len(owners) not in written
            if shared and aval.nbytes >= _LARGE:
                node = owner._node
            else:
                node = leaf(_nothing(aval) if empty else _copy(owner))
            made = owners[id(owner)] = new_array(node)
            made._flags, made._order = owner._flags, owner._order
        if owner is x:
            return made
        node = made._node
        for step in x._path:
            node = step.get(node)
        view = new_view(made, x._path, node, x._order)
        view._flags = x._flags
        return view

    return [copied(x) for x in leaves]


def _nothing(aval: Aval) -> Any:
    """Zeros of this type in the memory of one. Nothing runs on them, so nothing writes them."""
    return np.broadcast_to(np.zeros((), aval.dtype), aval.shape)


def _copy(owner: Array) -> Any:
    """Memory that a program takes as it is, as it does that of the original."""
    value = np.asarray(owner)
    made = lowering.aligned_empty(value.shape, value.dtype)
    made[...] = value
    return made


def computed(leaves: list[Any]) -> None:
    """Have the values of arrays there, and nothing pending: else a call would be compiled together
    with what is pending, each time with something else.
    """
    for x in leaves:
        if isinstance(x, Array):
            owner = x if x._base is None else x._owner()
            if owner._node[VALUE] is None:
                np.asarray(owner)
    if local.recorder.pending:
        flush(local.recorder, reason="before a program")
