"""Writing in place: where nobody else can see the memory, NumPy writes into it directly.

`write` is the only way. It finds the memory that an owner or a view shows, asks `_ownership`
whether it may be written, and calls a NumPy function on it. NumPy raises its own errors. If it
returns False, nothing has changed, and the store is recorded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from lazynp import _reference, lowering
from lazynp._array import VIEWED, Array, NDArray, Scalar, new_array, write_lock
from lazynp._avals import on_device
from lazynp._flush import flush_for_part, host_value
from lazynp._node import ARGS, CODE, LENT, OP, VALUE, Node, Op, Tracer, aval_of_node, leaf
from lazynp._ownership import exclusive, has_own_node, owned
from lazynp._quiet import aloud, forget, told, told_result
from lazynp._recorder import local
from lazynp._steps import Basic, Field
from lazynp._strides import laid_out, order_of_strides
from lazynp._values import there
from lazynp.functions._index_keys import NOT_BASIC, PLACES, index_key, known_places
from lazynp.functions._scalars import AVALS

# -- the only way ----------------------------------------------------------------------------------


def write(target: Array, function: Callable[..., Any], *values: Any) -> bool:
    """Run `function(memory, *values)` by NumPy on the part of its owner's memory that the target
    shows.

    False if somebody else can see that memory, or if it is not available. Pass `values` that share
    memory with the target as copies: every holder of the memory counts.
    """
    with write_lock:
        memory = _memory_of(target)
        if memory is None:
            return False
        try:
            told(local.recorder.quiet(function, memory, *values))
        except BaseException as error:
            forget()
            # otherwise `quiet` was called from within
            if not isinstance(error, RuntimeError) or "context" not in str(error):
                raise
            aloud(function, [memory, *values])
    return True


def _memory_of(target: Array) -> Any:
    """The memory that the target shows, if only its owner and the target can see it; else None.

    If other views alias the memory, mark the owner `VIEWED`: views created later cache nothing and
    re-slice the owner on each read.
    """
    owner = target if target._base is None else target._base
    if type(owner) is not NDArray or owner._base is not None or owner._flags is not None:
        return None
    if target is not owner and target._seen is owner._node:
        _give_memory(owner, target)
        if exclusive(owner, target) is not None:
            return target._node[VALUE] if on_device(target._node[VALUE].dtype) else None
        owner._seen = VIEWED
        if type(owner._node[VALUE]) is not ndarray:
            return None
        target._node, target._seen = [None, None, None, None, aval_of_node(target._node)], None
    if not has_own_node(owner):
        owner._seen = VIEWED
        return None
    if not on_device(aval_of_node(owner._node).dtype):
        return None
    memory = _own_memory(owner)
    return memory if target is owner or memory is None else target._look(memory)


def _own_memory(owner: Array) -> Any:
    """The host memory of an owner that alone holds its node; a copy if others hold the memory. None
    if the value is pending.
    """
    memory = exclusive(owner)
    if memory is not None:
        return memory
    node = owner._node
    if node[VALUE] is None:
        return _unparked(node) if _is_parked(node) else _filled(owner)
    if type(node[VALUE]) is not ndarray:
        if not lowering.on_host() or isinstance(node[VALUE], Tracer):
            return None
        _reference.host(node)
    if node[CODE] is LENT:
        node[CODE] = None
    if not owned(node) and node[VALUE].flags.writeable:
        lowering.collect_garbage()  # a finished program may still be registered as its user
    if not owned(node):
        node[VALUE] = _copied(node[VALUE])
    return node[VALUE]


def _is_parked(node: Any) -> bool:
    return node[OP] is not None and node[OP].primitive.kind == "view"


def _unparked(node: Any) -> Any:
    """Memory for an array that shows another one's, as a transposed one does once it is written."""
    shown = there(node)
    if type(shown) is not ndarray or not lowering.on_host():
        return None
    node[VALUE], node[ARGS] = _copied(shown), None
    return node[VALUE]


def _copied(memory: Any) -> Any:
    fresh = lowering.aligned_empty(memory.shape, memory.dtype)
    np.copyto(fresh, memory)
    return fresh


def _filled(owner: Array) -> Any:
    """Memory for an array that is filled with one number and has none yet; else None."""
    node = owner._node
    op, args = node[OP], node[ARGS]
    if op is None or op.primitive.name != "full" or args is None or not lowering.on_host():
        return None
    data = lowering.aligned_empty(op.aval.shape, op.aval.dtype)
    data[...] = op.reference(*[_reference.operand(a) for a in args])
    node[VALUE], node[ARGS] = data, None
    return data


def _give_memory(owner: Array, view: Array) -> None:
    """Allocate memory for an owner filled with one number, and so for this view of it."""
    if not has_own_node(view):
        return
    own = view._node
    if owner._node[VALUE] is None:
        data = _filled(owner)
        if data is not None:
            for step in view._path:
                data = step.layout(data)
            own[:] = leaf(data)
    elif own[VALUE] is None:
        shown = there(own)
        if type(shown) is ndarray:
            own[VALUE], own[ARGS] = shown, None


# -- elements --------------------------------------------------------------------------------------


def store_element(self: Array, index: Any, axes: int, value: Any) -> bool:
    """Store one element now, whatever the back end: it costs less than recording.

    index: an int or a tuple of `axes` ints. self: an owner without unusual properties.
    """
    t = type(value)
    if t is Scalar:
        value = value._node[VALUE]
        t = type(value)
    if t not in _NUMBERS and t not in AVALS:
        return False
    with write_lock:
        if not has_own_node(self):
            return False
        aval = aval_of_node(self._node)
        if aval.ndim != axes or aval.dtype.kind not in "iufcb":
            return False
        if t in _COMPLEX and aval.dtype.kind != "c":
            return False  # an error or a warning, at the user's line
        memory = _own_memory(self)
        if memory is None:
            return False
        if aval.dtype in _NARROW:  # a number may overflow
            told_result(local.recorder.quiet, operator.setitem, memory, index, value)
        else:
            memory[index] = value
    return True


_NARROW = frozenset(map(np.dtype, ("f2", "f4", "c8")))
_NUMBERS = frozenset({float, int, bool, complex})
_COMPLEX = frozenset({complex, np.complex64, np.complex128})


# -- eager stores, `op=` and `out=` ----------------------------------------------------------------


def store_at_once(self: Array, index: Any, value: Any) -> bool:
    """`self[index] = value`, into an owner's memory or through a view of it, for a back end that
    executes. The same goes for `write_into` and `update_view`.
    """
    where = host_index(index)
    owner = self if self._base is None else self._base
    numbers = type(value) is tuple or type(value) is list
    u = _host_numbers(value) if numbers and value else _copied_operand(value, owner)
    if u is None or where is None:
        return False
    if type(value) is NDArray and isinstance(u, np.generic):
        u = np.asarray(u)  # an array is cast, a number must fit
    if aval_of_node(owner._node).dtype.kind != "c" and _is_complex(u):
        return False  # a warning must name the user's line
    if self is owner and type(value) is NDArray and value._base is owner:
        return _write_past(owner, value, where, u)
    return write(self, operator.setitem, where, u)


def _write_past(owner: Array, view: Array, where: Any, u: Any) -> bool:
    """`x[i] = x[j]`: the assigned view sees the memory too."""
    with write_lock:
        if view._seen is owner._node and owner._flags is None:
            memory = exclusive(owner, view)
            if memory is not None and on_device(memory.dtype):
                memory[where] = u
                return True
    return write(owner, operator.setitem, where, u)


def _copied_operand(x: Any, owner: Array) -> Any:
    """The value as NumPy has it. A copy if it shows the memory of `owner`: it would hold that
    memory, and NumPy would read it after writing it.
    """
    if type(x) is NDArray and (x is owner or x._base is owner):
        u = _host_operand(x)
        return None if u is None else u.copy()
    return _host_operand(x)


def _host_numbers(values: Sequence[Any]) -> Any:
    """A list or tuple of numbers as NumPy has it, which converts each by itself; else None."""
    found = []
    for x in values:
        if type(x) is Scalar:
            x = x._node[VALUE]
        if type(x) not in _NUMBERS and type(x) not in AVALS:
            return None
        found.append(x)
    return tuple(found) if type(values) is tuple else found


def _is_complex(u: Any) -> bool:
    t = type(u)
    if t is float or t is int or t is bool:
        return False
    if t is list or t is tuple:
        return any(map(_is_complex, u))
    return t is complex or u.dtype.kind == "c"


def store_slice(self: Array, op: Op, u: Any, starts: tuple[Any, ...]) -> bool:
    """A slice assignment of a converted value: a list, another dtype."""
    u = there(u) if type(u) is list else u
    if u is None or any([type(i) is not int for i in starts]):
        return False
    return write(self, op.inplace, u, *starts)


def write_into(
    out: Any, inputs: Sequence[Any], function: Callable[..., Any], *, casts: bool = False
) -> bool:
    """Run `function(*inputs, out)` by NumPy, in the memory of an array that is small enough.

    casts: whether the function casts the inputs to the dtype of `out`. Then an input that loses its
    imaginary part is recorded, because the warning must name the user's line.
    """
    if type(out) is not NDArray or out._flags is not None:
        return False
    return bool(local.recorder.backend.attempt(_written_into, out, inputs, function, casts))


def _written_into(
    out: Array, inputs: Sequence[Any], function: Callable[..., Any], casts: bool
) -> bool:
    owner = out if out._base is None else out._base
    aval = aval_of_node(owner._node)
    if aval.nbytes > local.recorder.policy.largest:
        return False
    casts_to_real = casts and aval.dtype.kind != "c"
    values = []
    for x in inputs:
        if x is out:
            values.append(_OUT)
            continue
        if type(x) is list or type(x) is tuple:
            u = _host_numbers(x)
        else:
            u = x if type(x) in AVALS or type(x) is ndarray else _copied_operand(x, owner)
        if u is None or type(u) is ndarray and not on_device(u.dtype):
            return False
        if casts_to_real and _is_complex(u):
            return False
        if casts and type(x) is NDArray and type(u) is not ndarray:
            u = np.asarray(u)  # NumPy casts a number where it refuses a 0-d array
        values.append(u)

    def call(memory: Any) -> None:
        function(*[memory if v is _OUT else v for v in values], memory)

    return write(out, call)


_OUT = object()  # stands for the array that is written


def update_view(view: Array, function: np.ufunc, other: Any) -> bool:
    """Run `view op= other` by NumPy, in the memory of its owner."""
    base = view._base
    if base is None or view._flags is not None:
        return False
    return bool(local.recorder.backend.attempt(_updated, view, base, function, other))


def _updated(view: Array, base: Array, function: np.ufunc, other: Any) -> bool:
    u = _copied_operand(other, base)
    if u is None:
        return False
    if base._node[VALUE] is None:
        flush_for_part(aval_of_node(view._node).nbytes, base._node)
    if function is np.power:  # the operator has other special values for some exponents
        return write(view, operator.ipow, u)
    if function is np.matmul:  # with `out=` it broadcasts, which the operator refuses
        return write(view, operator.imatmul, u)
    return write(view, lambda memory: function(memory, u, memory))


def is_same_view(self: Array, index: Any, value: Any) -> bool:
    """The second half of `x[i] += v`, when the first was done by `update_view`."""
    if type(value) is not NDArray or value._base is not self or len(value._path) != 1:
        return False
    step = value._path[0]
    if type(step) is Basic:
        if step.index is index:
            return True
        key = index_key(index)  # arrays among the indices would compare element by element
        return key is not NOT_BASIC and key == index_key(step.index)
    if type(step) is Field:
        return type(index) is str and index == step.names
    entry = aval_of_node(self._node).get_memo.get(index_key(index))
    return entry is not None and entry[2] is step


# -- operands as NumPy takes them ------------------------------------------------------------------


def _host_operand(x: Any) -> Any:
    """The value as NumPy has it, if it is available and numeric; else None."""
    t = type(x)
    if t is NDArray or t is Scalar:
        node = x._read()
        u = there(node)
        return u if u is not None and on_device(u.dtype) else None
    if t is ndarray:
        return x if on_device(x.dtype) else None
    return x if t in _NUMBERS or t in AVALS else None


def host_index(index: Any) -> Any:
    """The index in NumPy's form, if its arrays are available; else None."""
    t = type(index)
    if t is slice or t is int or index is Ellipsis:
        return index
    if t is not tuple:
        return _index_array(index)
    items = []
    for item in index:
        t = type(item)
        if t is NDArray or t is list or t is range:
            item = _index_array(item)
            if item is None:
                return None
        elif t is not slice and t is not int and item is not None and item is not Ellipsis:
            return None
        items.append(item)
    return tuple(items)


def chosen_by_numpy(self: Array, node: Node, index: Any) -> Array | None:
    """NumPy's selection by an advanced index; None for an index that is not there yet."""
    where = host_index(index)
    if where is None:
        return None
    value = host_value(node)
    if self._order is not None or not value.flags.c_contiguous:
        value = laid_out(value, self)
    got = value[where]
    return as_chosen(got) if type(got) is ndarray else None


def as_chosen(got: np.ndarray[Any, Any]) -> Array:
    """What NumPy selected, in the memory order that it has there."""
    out = new_array(leaf(got))
    if got.ndim > 1 and not got.flags.c_contiguous:
        out._order = order_of_strides(got)
    return out


def _index_array(item: Any) -> Any:
    if type(item) is NDArray:
        return _host_operand(item) if item.ndim else None
    if type(item) is ndarray:
        return item if item.ndim else None
    if type(item) is range and item and all(abs(x) < 2**62 for x in (item[0], item[-1])):
        return np.arange(item.start, item.stop, item.step)
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
