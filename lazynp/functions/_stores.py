"""Stores done at once: where the memory is host memory and one array's alone, NumPy writes into it.

An array's value is immutable, but what nobody else can see may as well be changed in place: a
loop over elements or rows then costs no copy. Who can see it is counted in references, to the
node and to its memory.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from lazynp import _errstate, _reference, lowering
from lazynp._array import Array, Scalar, write_lock
from lazynp._avals import SCALAR_DTYPES, Aval, on_device
from lazynp._node import ARGS, AVAL, OP, VALUE, Node, Op, Tracer, aval_of_node
from lazynp._quiet import quietly
from lazynp._trace import local, there
from lazynp.functions._index_keys import index_key
from lazynp.primitives import shaping

_DOUBLE = np.dtype(np.float64)


def store_element(self: Array, index: Any, value: Any) -> bool:
    """Store one element at once, if the array is host data that nobody else refers to."""
    t = type(value)
    if t is Scalar:
        value = value._read()[VALUE]
        if not isinstance(value, np.generic):
            return False
    elif t not in SCALAR_DTYPES and not isinstance(value, np.generic):
        return False
    if type(index) is tuple:
        axes = len(index)
        for i in index:
            if type(i) is not int:
                return False
    elif type(index) is int:
        axes = 1
    else:
        return False
    with write_lock:
        node = self._node
        if getrefcount(node) != 3:  # the handle's, the variable's, the argument's
            return False
        aval = node[AVAL] if node[OP] is None else node[OP].aval
        if aval.ndim != axes or aval.dtype.kind not in "fiubc":
            return False
        data = _writeable_data(node, aval)
        if data is None:
            return False
        data[index] = value
    return True


def store_slice(self: Array, op: Op, u: Any, starts: tuple[Any, ...]) -> bool:
    """Assign a basic slice at once, under the conditions of `_store_element`."""
    node = self._node
    if getrefcount(node) != 3:
        return False
    if type(u) is list:
        u = u[VALUE] if type(u[VALUE]) is np.ndarray else _reference.host_view(u)
        if u is None:
            return False
    if any(type(i) is not int for i in starts):
        return False
    data = _writeable_data(node, op.aval)
    if data is None:
        return False
    quietly(op.inplace, [data, u, *starts])
    return True


def store_at_once(self: Array, index: Any, value: Any) -> bool:
    """Assign to a basic index of an owner by NumPy, which raises its own errors; see above.

    Only where no cast is needed: that may warn.
    """
    if type(value) is Array:
        node = value._node if value._base is None else value._read()
        u = node[VALUE]
        if type(u) is not ndarray:
            u = there(node)
            if u is None:
                return False
        dtype = u.dtype
    elif type(value) is float:
        u, dtype = value, _DOUBLE
    else:
        return False
    if type(index) is tuple:
        for item in index:
            if type(item) is not slice and type(item) is not int:
                return False
    elif type(index) is not slice and type(index) is not int:
        return False
    with write_lock:
        node = self._node
        if getrefcount(node) != 3:
            return False
        aval = node[AVAL] if node[OP] is None else node[OP].aval
        if aval.dtype is not dtype or not on_device(dtype):
            return False
        data = _writeable_data(node, aval)
        if data is None:
            return False
        data[index] = u
    return True


def is_same_view(self: Array, index: Any, value: Any) -> bool:
    """The second half of `x[i] += v`, when the first was done by `update_view`."""
    if type(value) is not Array or value._base is not self or value._seen is not self._node:
        return False
    if len(value._path) != 1:
        return False
    entry = aval_of_node(self._node).get_memo.get(index_key(index))
    return entry is not None and entry[2] is value._path[0]


def update_view(view: Array, function: np.ufunc, other: Any) -> bool:
    """`view op= other` by NumPy, in the memory of its owner, if that is only theirs."""
    base = view._base
    if base is None or base._base is not None or view._flags is not None or _errstate.watching:
        return False
    if type(other) is Array:
        u = there(other._node if other._base is None else other._read())
        if u is None:
            return False
    elif type(other) is float or type(other) is int:
        u = other
    else:
        return False
    with write_lock:
        node, own = base._node, view._node
        if view._seen is not node or getrefcount(node) != 4 or getrefcount(own) != 3:
            return False  # the two handles', the variable's, the argument's
        data, target = node[VALUE], own[VALUE]
        if type(data) is not ndarray or type(target) is not ndarray:
            return False
        if not target.flags.writeable or not on_device(target.dtype):
            return False
        # whoever has the memory: the owner and the view, besides the variables and arguments here
        if getrefcount(target) != 3 or getrefcount(data) != 3 + (target.base is data):
            return False
        memory = data.base
        if memory is not None:
            if type(memory) is not ndarray or memory.base is not None:
                return False
            if getrefcount(memory) != 3 + (target.base is memory):
                return False
        del data, memory
        try:
            local.recorder.quiet(function, target, u, target)
        except RuntimeError as error:
            if "context" not in str(error):  # `quiet` was called from within
                raise
            quietly(function, [target, u, target])
    return True


def _writeable_data(node: Node, aval: Aval) -> Any:
    """The node's host memory, made its own by a copy where it is not; None if it is pending."""
    data = node[VALUE]
    if data is None:
        op = node[OP]
        if (
            op is None
            or op.primitive is not shaping.full
            or node[ARGS] is None
            or not lowering.on_host()
        ):
            return None
        data = lowering.aligned_empty(aval.shape, aval.dtype)
        data[...] = op.reference(*[_reference.operand(a) for a in node[ARGS]])
        node[VALUE], node[ARGS] = data, None
        return data
    if type(data) is not np.ndarray:
        if not lowering.on_host() or isinstance(data, Tracer):
            return None
        data = _reference.host(node)
    if data.flags.writeable and getrefcount(data) != 3:
        lowering.collect_garbage()  # a program that has run may still be noted as its user
    if not data.flags.writeable or getrefcount(data) != 3 or not _owns(data):
        fresh = lowering.aligned_empty(aval.shape, aval.dtype)
        np.copyto(fresh, data)
        node[VALUE] = data = fresh
    return data


def _owns(data: Any) -> bool:
    return data.base is None or lowering.owns_base(data)
