"""Views of large arrays that hold an outdated version of their owner.

A view holds the value that it has read and, through it, the whole value of its owner. When the
owner is written, the view will read again. Until then it would hold the old version: each of many
views another version of the array, and none of these could be written in place. So views of large
arrays are listed, and `let_go` drops the versions that are outdated.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from lazynp._node import AVAL, OP, aval_of_node

LARGE = 1 << 18  # bytes: copying less takes no longer than keeping the list

write_lock = threading.RLock()  # protects the read-modify-write of a base
os.register_at_fork(after_in_child=write_lock._at_fork_reinit)  # pyright: ignore[reportAttributeAccessIssue]

_views: list[weakref.ref[Any]] = []
_enough = 1  # views in the list before the next scan


def note(view: Any) -> None:
    """List this view, which holds the present value of its owner, if that is large."""
    node = view._seen
    if node is None:
        return
    size = (node[AVAL] if node[OP] is None else node[OP].aval).nbytes
    if type(size) is int and size >= LARGE:  # where it is not known, a function is staged
        _views.append(weakref.ref(view))


def let_go() -> None:
    """Called before references are counted: outdated views drop their values."""
    global _enough
    if len(_views) < _enough or not write_lock.acquire(blocking=False):
        return  # another thread is writing: its views may be half updated
    try:
        kept = {}  # a view may be listed more than once
        for ref in _views:
            view = ref()
            if view is None or view._base is None or view._seen is None:
                continue
            if view._seen is view._owner()._node:
                kept[id(view)] = ref
            else:  # first the source node, for readers without the lock
                aval = aval_of_node(view._node)
                view._seen = None
                view._node = [None, None, None, None, aval]
        _views[:] = kept.values()
        _enough = len(kept) + len(kept) // 32 + 1
    finally:
        write_lock.release()
