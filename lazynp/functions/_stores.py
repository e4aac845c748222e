"""Stores done at once: where the memory is host memory and one array's alone, NumPy writes into it.

An array's value is immutable, but what nobody else can see may as well be changed in place: a
loop over elements or rows then costs no copy. Who can see it is counted in references, to the
node and to its memory.
"""

from __future__ import annotations

import operator
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from lazynp import _errstate, _reference, lowering
from lazynp._array import Array, NDArray, Scalar, write_lock
from lazynp._avals import Aval, on_device
from lazynp._node import ARGS, AVAL, CODE, LENT, OP, VALUE, Node, Op, Tracer, aval_of_node, leaf
from lazynp._quiet import quietly
from lazynp._trace import local, there
from lazynp._views import Basic
from lazynp.functions._index_keys import NOT_BASIC, index_key
from lazynp.functions._scalars import AVALS
from lazynp.primitives import shaping


def store_element(self: Array, index: Any, axes: int, value: Any) -> bool:
    """Store one element at once, if the array is host data that nobody else refers to.

    index: an int or a tuple of `axes` ints. self: an owner with nothing unusual about it.
    """
    t = type(value)
    if t is Scalar:
        value = value._node[2]
        if type(value) not in AVALS:
            return False
    elif t is not float and t is not int and t not in AVALS and t is not bool and t is not complex:
        return False
    with write_lock:
        node = self._node
        if getrefcount(node) != 3:  # the handle's, the variable's, the argument's
            return False
        data = node[2]
        if type(data) is ndarray and node[3] is not LENT:
            base = data.base  # `_owns`, without its calls
            if (
                data.ndim == axes
                and getrefcount(data) == 3
                and (
                    base is None
                    or type(base) is ndarray
                    and getrefcount(base) == 3
                    and base.base is None
                )
            ):
                if data.dtype.char not in _NUMBERS:
                    return False
                try:
                    data[index] = value
                except ValueError:  # the memory is read-only, or NumPy will say again what is wrong
                    pass
                else:
                    return True
            del base
        del data  # for counts of references
        aval = node[AVAL] if node[OP] is None else node[OP].aval
        if aval.ndim != axes or aval.dtype.kind not in "fiubc":
            return False
        data = _writeable_data(node, aval)
        if data is None:
            return False
        data[index] = value
    return True


_NUMBERS = frozenset("?bhilqBHILQefdFD")


def store_slice(self: Array, op: Op, u: Any, starts: tuple[Any, ...]) -> bool:
    """Assign a basic slice at once, under the conditions of `store_element`."""
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


def store_basic(self: Array, index: Any, value: Any) -> bool:
    """`store_at_once` for the usual case: an owner that nobody looks into, a basic index, and a
    value of the same dtype or a float. Nothing can go wrong but what NumPy says before it writes.
    """
    if type(index) is tuple:
        for item in index:
            if type(item) is not slice and type(item) is not int:
                return False
    if type(value) is NDArray:
        if self._flags is not None:
            return False
        if value._base is None:
            u = value._node[2]
        elif value._base is self:
            return False
        else:
            u = value._read()[2]
        if type(u) is not ndarray:
            return False
        dtype = u.dtype
    elif type(value) is float or type(value) is int:
        u, dtype = value, _FLOAT64
    else:
        return False
    with write_lock:
        node = self._node
        data = node[2]
        if type(data) is not ndarray or data.dtype is not dtype or node[3] is LENT:
            return False
        if getrefcount(node) != 3 or getrefcount(data) != 3 or not data.flags.writeable:
            return False
        base = data.base
        if base is not None:  # `_owns`, without its calls
            if type(base) is not ndarray or getrefcount(base) != 3 or base.base is not None:
                return False
        if dtype.char not in _NUMBERS or _errstate.watching:
            return False
        data[index] = u
    return True


_FLOAT64 = np.dtype(np.float64)


def store_at_once(self: Array, index: Any, value: Any) -> bool:
    """Assign by NumPy, which raises its own errors, into an owner's memory or through a view of
    it; see above."""
    if _errstate.watching:
        return False
    u = _host_operand(value)
    where = index if type(index) is slice or type(index) is int else host_index(index)
    if u is None or where is None:
        return False
    with write_lock:
        if self._base is not None:
            data = None if _sole_memory(self._base, self) is None else self._node[VALUE]
        elif type(value) is NDArray and value._base is self:
            data = _sole_memory(self, value, held=1)
            if data is not None:
                u = u.copy()  # NumPy 2.4 reads what it has written, with steps of several elements
        else:
            data = _sole_memory(self, None)
        if data is None:
            return False
        if type(u) is not float and data.dtype.kind != "c" and np.iscomplexobj(u):
            return False  # a warning, which is to name the user's line
        _call(operator.setitem, data, where, u)
    return True


def _call(function: Any, *values: Any) -> None:
    try:
        local.recorder.quiet(function, *values)
    except RuntimeError as error:
        if "context" not in str(error):  # else `quiet` was called from within
            raise
        quietly(function, list(values))


def _host_operand(x: Any) -> Any:
    """The value as NumPy has it, if it is there and a number or of numbers; else None."""
    t = type(x)
    if t is NDArray or t is Scalar:
        node = x._node if x._base is None else x._read()
        u = node[VALUE]
        if type(u) is not ndarray:
            u = there(node)
        return u if u is not None and on_device(u.dtype) else None
    return x if t is float or t is int or t is bool or t is complex else None


def host_index(index: Any) -> Any:
    """The index as NumPy takes it, if its arrays are there; else None."""
    if type(index) is not tuple:
        return _index_array(index)
    items = []
    for item in index:
        t = type(item)
        if t is NDArray or t is list:
            item = _index_array(item)
            if item is None:
                return None
        elif t is not slice and t is not int and item is not None and item is not Ellipsis:
            return None
        items.append(item)
    return tuple(items)


def _index_array(item: Any) -> Any:
    if type(item) is NDArray:
        return _host_operand(item) if item.ndim else None
    if type(item) is ndarray:
        return item if item.ndim else None
    return item if type(item) is list and item and {*map(type, item)} == {int} else None


def _sole_memory(owner: Array, view: Array | None, held: int = 0) -> Any:
    """The owner's memory if nobody else can see it, but for one view of it; else None.

    Counted are references: the handles', each function's variables and arguments. `held`: those
    that the caller has to the view's value.
    """
    if type(owner) is not NDArray or owner._base is not None or owner._flags is not None:
        return None
    node = owner._node
    if view is None:
        if getrefcount(node) != 3:
            return None
        aval = node[AVAL] if node[OP] is None else node[OP].aval
        return _writeable_data(node, aval) if on_device(aval.dtype) else None
    own = view._node
    if node[VALUE] is None and view._seen is node and getrefcount(own) == 3:
        _give_memory(owner, view)
    if own[VALUE] is None and getrefcount(own) == 3 and type(there(own)) is ndarray:
        own[VALUE], own[ARGS] = there(own), None
    if view._seen is not node or getrefcount(node) != 4 or getrefcount(own) != 3:
        return None
    data, target = node[VALUE], own[VALUE]
    if type(data) is not ndarray or type(target) is not ndarray:
        return None
    if not target.flags.writeable or not on_device(target.dtype):
        return None
    base = target.base
    if base is not data and (base is None or base is not data.base):
        return None  # written through, it has an array of its own
    if getrefcount(target) != 3 + held or getrefcount(data) != 3 + (base is data) * 2:
        return None
    memory = data.base
    if memory is not None:
        if type(memory) is not ndarray or memory.base is not None:
            return None
        if getrefcount(memory) != 3 + (base is memory) * 2:
            return None
    return data


def _give_memory(owner: Array, view: Array) -> None:
    """To an owner that is all one number and has no memory yet, and so to this view of it."""
    node = owner._node
    data = _writeable_data(node, aval_of_node(node))
    if data is not None:
        for step in view._path:
            data = step.layout(data)
        view._node[:] = leaf(data)


def is_same_view(self: Array, index: Any, value: Any) -> bool:
    """The second half of `x[i] += v`, when the first was done by `update_view`."""
    if type(value) is not NDArray or value._base is not self or value._seen is not self._node:
        return False
    if len(value._path) != 1:
        return False
    step = value._path[0]
    if type(step) is Basic:
        if step.index is index:
            return True
        key = index_key(index)  # arrays among the indices would compare element by element
        return key is not NOT_BASIC and key == index_key(step.index)
    entry = aval_of_node(self._node).get_memo.get(index_key(index))
    return entry is not None and entry[2] is step


def update_view(view: Array, function: np.ufunc, other: Any) -> bool:
    """`view op= other` by NumPy, in the memory of its owner, if that is only theirs."""
    base = view._base
    if base is None or view._flags is not None or _errstate.watching:
        return False
    u = _host_operand(other)
    if u is None:
        return False
    with write_lock:
        if _sole_memory(base, view) is None:
            return False
        target = view._node[VALUE]
        _call(function, target, u, target)
    return True


def _writeable_data(node: Node, aval: Aval) -> Any:
    """The node's host memory, made its own by a copy where it is not; None if it is pending."""
    data = node[VALUE]
    if node[CODE] is LENT:
        node[CODE] = None
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
