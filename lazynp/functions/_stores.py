"""Stores done at once: where the memory is host memory and one array's alone, NumPy writes into it.

An array's value is immutable, but what nobody else can see may as well be changed in place: a
loop over elements or rows then costs no copy. Who can see it is counted in references, to the
node and to its memory.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from lazynp import _errstate, _reference, lowering
from lazynp._array import PART, VIEWED, Array, NDArray, Scalar, write_lock
from lazynp._avals import Aval, on_device
from lazynp._node import ARGS, AVAL, CODE, LENT, OP, VALUE, Node, Op, Tracer, aval_of_node, leaf
from lazynp._quiet import quietly
from lazynp._trace import flush, local, there
from lazynp._views import Basic
from lazynp.functions._index_keys import NOT_BASIC, PLACES, index_key, known_places
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
    basic = type(index) is slice or type(index) is int or index is Ellipsis
    where = index if basic else host_index(index)
    if u is None or where is None:
        return False
    with write_lock:
        owner = self if self._base is None else self._base
        if type(value) is NDArray and value._base is owner:
            # copied: NumPy 2.4 reads what it has written, with steps of several elements
            data = None
            if self is owner and value._seen is owner._node:
                data = _sole_memory(owner, value, held=1)
            u = u.copy()
            if data is None:
                data = _sole_memory(owner, None if self is owner else self)
        else:
            data = _sole_memory(owner, None if self is owner else self)
        target = data if data is None or self is owner else _shown(self, data)
        if target is None:
            return False
        if target.dtype.kind != "c" and _is_complex(u):
            return False  # a warning, which is to name the user's line
        _call(operator.setitem, target, where, u)
    return True


def _is_complex(u: Any) -> bool:
    t = type(u)
    if t is float or t is int or t is bool:
        return False
    return t is complex or u.dtype.kind == "c"


def write_into(out: Any, inputs: Sequence[Any], function: Callable[..., Any]) -> bool:
    """`function(*inputs, out)` by NumPy, which raises its own errors, into the memory of an array.

    In loops of small operations, under the conditions of `store_at_once`; False where they fail.
    """
    if not local.recorder.eager or type(out) is not NDArray or _errstate.watching:
        return False
    if out._flags is not None:
        return False
    owner = out if out._base is None else out._base
    values = []
    for x in inputs:
        if x is out:
            values.append(_OUT)
            continue
        u = x if type(x) in AVALS or type(x) is ndarray else _host_operand(x)
        if u is None or type(u) is ndarray and not on_device(u.dtype):
            return False
        if type(x) is NDArray and (x is owner or x._base is owner):
            u = u.copy()  # else it holds the memory
        values.append(u)
    with write_lock:
        data = _sole_memory(owner, None if out is owner else out)
        if data is None or data.nbytes > local.recorder.largest:
            return False
        target = data if out is owner else _shown(out, data)
        if target is None:
            return False
        values = [target if v is _OUT else v for v in values]
        _call(function, *values, target)
    return True


_OUT = object()  # stands for the array that is written


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
    if type(item) is not list or not item:
        return None
    kinds = {*map(type, item)}
    if kinds == {int}:
        return item
    if not kinds <= _WHOLE:
        return None
    item = [i if type(i) is int else known_places(i) for i in item]
    return item if {*map(type, item)} == {int} else None


_WHOLE = PLACES | {int}


def _sole_memory(owner: Array, view: Array | None, held: int = 0) -> Any:
    """The owner's memory if nobody else can see it, but for one view of it; else None.

    Counted are references: the handles', each function's variables and arguments. `held`: those
    that the caller has to the view's value. Where others are in the way, views made from now on
    are not: they hold no memory, but look at the owner's whenever they are read.
    """
    if type(owner) is not NDArray or owner._base is not None or owner._flags is not None:
        return None
    node = owner._node
    if view is not None and view._seen is node:
        data = _memory_of_both(node, view, held)
        if data is not None:
            return data
        owner._seen = VIEWED
        if held or type(node[VALUE]) is not ndarray:
            return None
        view._node, view._seen = [None, None, None, None, aval_of_node(view._node)], None
    if getrefcount(node) != 3:
        owner._seen = VIEWED
        return None
    aval = node[AVAL] if node[OP] is None else node[OP].aval
    return _writeable_data(node, aval) if on_device(aval.dtype) else None


def _memory_of_both(node: Node, view: Array, held: int) -> Any:
    """`_sole_memory` of an owner's node, and of the view that was read from it."""
    own = view._node
    if node[VALUE] is None and getrefcount(own) == 3:
        _give_memory(node, view)
    if own[VALUE] is None and getrefcount(own) == 3 and type(there(own)) is ndarray:
        own[VALUE], own[ARGS] = there(own), None
    if getrefcount(node) != 5 or getrefcount(own) != 3:  # the handles', two functions', here
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


def _shown(view: Array, memory: Any) -> Any:
    """What of the memory of its owner a view shows; None where NumPy cannot tell."""
    owner = view._base
    if owner is not None and view._seen is owner._node:
        return view._node[VALUE]
    return view._look(memory)


def _give_memory(node: Node, view: Array) -> None:
    """To an owner that is all one number and has no memory yet, and so to this view of it."""
    data = _writeable_data(node, aval_of_node(node))
    if data is not None:
        for step in view._path:
            data = step.layout(data)
        view._node[:] = leaf(data)


def is_same_view(self: Array, index: Any, value: Any) -> bool:
    """The second half of `x[i] += v`, when the first was done by `update_view`."""
    if type(value) is not NDArray or value._base is not self:
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
    if base._node[VALUE] is None and view._is_part(base._node):
        flush(local.recorder, reason=PART)
    with write_lock:
        if type(other) is NDArray and other._base is base:
            u = u.copy()  # else it holds the memory
        data = _sole_memory(base, view)
        target = None if data is None else _shown(view, data)
        if target is None:
            return False
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
