"""Views of large arrays that show what the array was before it was written.

A view holds the value it has read and, with it, the whole value of its owner. When the owner is
written, the view will look again, but until somebody reads it, it would hold on to what was there
before: each of many views to another version of the array, and none of these could be written in
place. So views of large arrays are listed, and what shows a version that is gone is let go.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from lazynp._node import AVAL, OP, aval_of_node

LARGE = 1 << 18  # bytes: copying less takes no longer than keeping the list does

write_lock = threading.RLock()  # read-modify-write of a base
os.register_at_fork(after_in_child=write_lock._at_fork_reinit)  # pyright: ignore[reportAttributeAccessIssue]

_views: list[weakref.ref[Any]] = []
_enough = 1  # views in the list before it is looked through again


def note(view: Any) -> None:
    """This view holds the present value of its owner; listed if that is large."""
    node = view._seen
    if node is not None and (node[AVAL] if node[OP] is None else node[OP].aval).nbytes >= LARGE:
        _views.append(weakref.ref(view))


def let_go() -> None:
    """Before references are counted: views of what is gone hold nothing from now on."""
    global _enough
    if len(_views) < _enough or not write_lock.acquire(blocking=False):
        return  # another thread is writing: its views may be in the list, half done
    try:
        kept = {}  # a view may be listed more than once
        for ref in _views:
            view = ref()
            if view is None or view._base is None or view._seen is None:
                continue
            if view._seen is view._owner()._node:
                kept[id(view)] = ref
            else:  # first what it was read from, for those who look without the lock
                aval = aval_of_node(view._node)
                view._seen = None
                view._node = [None, None, None, None, aval]
        _views[:] = kept.values()
        _enough = len(kept) + len(kept) // 32 + 1
    finally:
        write_lock.release()
