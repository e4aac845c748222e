"""Reading and writing by index: `x[index]` and `x[index] = value`.

A basic index gives a view and records one `slice`, which is kept on the aval. Start indices are
operands, not parameters, so one program serves all places. For advanced indices see `_advanced`.
"""

from __future__ import annotations

from sys import _getframe
from typing import Any

import numpy as np
from numpy import ndarray

from lazynp._array import (
    VIEWED,
    Array,
    NDArray,
    Scalar,
    begin,
    begins,
    begins_late,
    new_array,
    new_scalar,
    wrap_array,
    write_lock,
)
from lazynp._avals import SCALAR_DTYPES, Aval, SizedAval, TracedAval, aval_of, on_device
from lazynp._entries import at
from lazynp._flush import flush_for_part, large_update
from lazynp._fronts import in_front
from lazynp._memo import put_hot
from lazynp._node import AVAL, OP, VALUE, Node, Op, Traced, aval_of_node, op_of
from lazynp._recorder import Recorder, known, local, staged
from lazynp._stale import note
from lazynp._steps import Basic, Field, Slice, basic_slice
from lazynp._strides import laid_out, may_write
from lazynp._trace import on_host, record_traced
from lazynp._values import there, watched
from lazynp._views import view
from lazynp.functions._advanced import get_advanced, set_advanced
from lazynp.functions._assigned import assigned, check_fits, of_element
from lazynp.functions._checks import depth_of, traced
from lazynp.functions._getset_host import get_on_host, is_field, set_on_host, store_what_fits
from lazynp.functions._index_keys import (
    NOT_BASIC,
    element_index,
    gives_view,
    has_array,
    holds_size,
    index_key,
    known_places,
    normal,
    with_sizes,
)
from lazynp.functions._moving import index_step, moves, moving_step, same_slice, sized_step
from lazynp.functions._one_element import element_of, element_there
from lazynp.functions._operands import cast
from lazynp.functions._part_places import chosen_part, store_chosen
from lazynp.functions._parts import part, store_part
from lazynp.functions._places_at_once import put_at_once, taken_at_once
from lazynp.functions._refused import FAULTS, wrong_index
from lazynp.functions._shuffled import refuse_shuffling
from lazynp.functions._stores import (
    as_chosen,
    host_index,
    is_same_view,
    store_at_once,
    store_element,
    store_slice,
)
from lazynp.functions._windows import part_of_windows
from lazynp.primitives import shaping

_MEMO_SIZE = 4096


# -- reading -------------------------------------------------------------------------------------


def getitem(self: Array, index: Any) -> Any:
    """`self[index]`: a view for a basic index, a copy for an advanced one, as in NumPy.

    The cases, in order: one element of available data; a part of it, if the back end is eager; a
    recorded slice; a value that a transformation interprets; an advanced index.
    """
    index, axes = element_index(index)
    if self._base is not None and self._path[0].joins:
        step = _step_of_part(self, index)
        if step is not None and step.params["shape"]:  # no element
            return view(self, step)
    if axes and not staged:
        element = element_there(self, index, axes)
        if element is not None:
            return element
    recorder = local.recorder
    begins(recorder, self)
    node = self._node if self._base is None and not staged else self._read()
    aval = node[AVAL] if node[OP] is None else node[OP].aval
    if axes and axes == aval.ndim and node[VALUE] is not None:
        element = element_of(node, aval, index)
        if element is not None:
            return element
    out = recorder.backend.attempt(_part_at_once, self, node, aval, index)
    if out is None and self._base is not None and self._path[-1].splits:
        step = _step_of_part(self, index)
        out = None if step is None else part_of_windows(self, step, index)
    if out is not None:
        return out
    entry: Any = None
    wrong: Any = None
    try:
        entry = _entry(aval, index)
        if entry is None:
            return _get_other(self, aval, index)
    except FAULTS as error:
        wrong = wrong_index(error, aval, index)
    if entry is None or wrong is not None:
        try:
            raise wrong
        finally:
            del wrong
    op, starts, step = entry
    if op.host:
        return get_on_host(self, op, node, starts, step)
    got = recorder.backend.operation(op, (node, *starts))
    if got is None and recorder.backend.attempt(_cut_for, self, op, node):
        out = _part_at_once(self, node, aval, index)
        if out is not None:
            return out
        got = recorder.backend.operation(op, (node, *starts))
    if got is None:
        frame = _getframe(1)
        got = [op, (node, *starts), None, frame.f_code, frame.f_lasti]
        recorder.pending.append(got)
    if op.scalar and step.scalar:
        return new_scalar(got)
    return _made_view(self, step, node, got)


def _part_at_once(self: Array, node: Node, aval: Aval, index: Any) -> Array | None:
    """NumPy's view, without inference, or NumPy's selection by an index with arrays."""
    value = there(node) if aval.device else None
    if type(value) is not ndarray:
        return None
    if not gives_view(index):
        return _chosen(self, value, index)
    shown = value[index]
    if type(shown) is not ndarray or not shown.ndim:
        return None
    large = shown.nbytes > local.recorder.policy.largest  # part of the program that reads it
    part = aval.parts.get(shown.shape)
    if part is None:
        part = aval.parts[shown.shape] = aval_of(shown.shape, shown.dtype)
    out = _view_along(self, Basic((index, aval)), node, [None, None, shown, None, part])
    if large or out._base._seen is VIEWED:  # type: ignore[union-attr]
        out._node, out._seen = [None, None, None, None, part], None
    return out


def _cut_for(self: Array, op: Op, node: Node) -> bool:
    """A small part of a large pending result causes a flush. Whether its value is there now."""
    if not flush_for_part(op.aval.nbytes, node):
        begin(local.recorder, self, depth=3)
    return node[VALUE] is not None


def _entry(aval: Aval, index: Any) -> Any:
    """The memo entry of a basic index: (op, start indices, step). None for any other index."""
    key = index_key(index)
    if key is NOT_BASIC and type(index) is tuple:
        key = index_key(known_places(index))
    try:
        return aval.get_memo[key]
    except (KeyError, TypeError):
        pass
    if type(aval) is TracedAval or aval.dtype.names is not None and is_field(index):
        return None
    if key is NOT_BASIC and (moves(index) or has_array(index)):
        return None
    return _new_entry(aval, key, index)


def _get_other(self: Array, aval: Aval, index: Any) -> Any:
    """`getitem` if the index has no memo entry."""
    chosen = chosen_part(self, index)
    if chosen is not None:
        return chosen
    if type(aval) is TracedAval or moves(index):
        got = taken_at_once(self, aval, index)
        return _get_traced(self, aval, index) if got is None else got
    if aval.dtype.names is not None and is_field(index):
        return view(self, Field(index))
    index = normal(index)
    if index_key(index) is NOT_BASIC:
        return get_advanced(self, index)
    out = getitem(self, index)  # 0-d arrays as integers: the elements are copied
    return new_array(out._read()) if type(out) is NDArray else out


def _chosen(self: Array, value: Any, index: Any) -> Array | None:
    """NumPy's selection by an index with available arrays."""
    where = host_index(index)
    if where is None:
        return None
    if self._order is not None or not value.flags.c_contiguous:
        value = laid_out(value, self)
    try:
        got = value[where]
    except MemoryError:  # for who needs it
        return None
    if type(got) is not ndarray:
        return None
    return as_chosen(got)


def _made_view(self: Array, step: Any, node: Node, got: Node) -> Array:
    """The view of `self`, whose value is `node`, along one more step; `got` is its value."""
    out = _view_along(self, step, node, got)
    note(out)
    return out


def _view_along(self: Array, step: Any, node: Node, got: Node) -> Array:
    out = wrap_array(got)
    out._flags = self._flags if self._flags is None else _inherited(self._flags)
    out._order = self._order and True
    base = self._base
    if base is None:
        out._base, out._path, out._seen = self, (step,), node
    else:
        out._base, out._path, out._seen = base, (*self._path, step), base._node
    return out


def _inherited(flags: dict[str, Any]) -> dict[str, Any] | None:
    found = flags.get("readonly")
    return {"readonly": found} if found else None


def _new_entry(aval: Aval, key: Any, index: Any) -> Any:
    """Make the memo entry of a basic index; None for an advanced one."""
    if key is NOT_BASIC:
        index = normal(index)
        key = index_key(index)
        if key is NOT_BASIC:
            return None
        if key in aval.get_memo:
            return aval.get_memo[key]
    elif not isinstance(key, int) and key is not None:
        index = normal(index)
    step = index_step(aval, index)
    op = op_of(shaping.slice, step.params, (aval, *(int,) * len(step.starts)))
    if len(aval.get_memo) >= _MEMO_SIZE:
        aval.get_memo.clear()
    try:
        aval.get_memo[key] = op, step.starts, step
    except TypeError:  # an unhashable slice bound: not worth caching
        pass
    return op, step.starts, step


def _get_traced(self: Array, aval: Aval, index: Any) -> Any:
    """`getitem` of a value that a transformation interprets."""
    if type(aval.plain) is SizedAval:
        index = with_sizes(index)
    step = _known_step(aval, index) if type(aval) is TracedAval and not staged else None
    if step is not None:
        node = self._read()
        got = record_traced(shaping.slice, (node, *step.starts), step.params)
        return new_scalar(got) if step.scalar else _view_along(self, step, node, got)
    plain = normal(index)
    if moves(plain):
        some = part(self, plain)
        if some is not None:
            return some
        step = moving_step(aval, plain)
    elif index_key(plain) is NOT_BASIC:
        return get_advanced(self, plain)
    else:
        step = index_step(aval, plain)
    if step.scalar:
        return new_scalar(step.get(self._read()))
    out = view(self, step)
    return new_array(out._read()) if has_array(index) else out


def _known_step(aval: TracedAval, index: Any) -> Any:
    """The step of a basic index without arrays, which plain values share; None for any other."""
    if not gives_view(index):
        return None
    key = index_key(index)
    entry = aval.plain.get_memo.get(key)
    if entry is None and key is not NOT_BASIC:
        entry = _new_entry(aval.plain, key, index)
    return None if entry is None else entry[2]


# -- writing -------------------------------------------------------------------------------------


def setitem(self: Array, index: Any, value: Any) -> None:
    """`self[index] = value`, in the owner and so in every view.

    The cases, in order: the second half of `x[i] += v`; one element of memory nobody else can see;
    whatever the back end stores eagerly; host dtypes; a recorded slice; an advanced index.
    """
    if type(value) is NDArray and value._base is not None:
        if value._base is self and self._flags is None and is_same_view(self, index, value):
            return
        if value._base is self or value._base is self._base:
            refuse_shuffling(index, _getframe(1))
    index, axes = element_index(index)
    if axes and self._base is None and self._flags is None and not staged:
        if store_element(self, index, axes, value):
            return
    if axes == self.ndim and not isinstance(value, Array) and (axes or type(index) is tuple):
        value = of_element(value, self.dtype)
    recorder = local.recorder
    if not _follows_store(recorder):
        begins(recorder, self, value)
    if self._flags is not None and not may_write(self):
        raise ValueError("assignment destination is read-only")
    if recorder.backend.attempt(store_at_once, self, index, value):
        return
    begins_late(recorder, self, value)
    with write_lock:
        dtype = aval_of_node(self._node).dtype
        if dtype.kind in "OSTUVMm" or not on_device(dtype) and not traced(self, index, value):
            set_on_host(self, index, value)
            return
        try:
            new = _recorded_store(self, index, value, _getframe(1))
        except (TypeError, ValueError, OverflowError):
            store_what_fits(self, index, value)
            raise
        if new is not None:
            self._write(new)


def _follows_store(recorder: Recorder) -> bool:
    """Of several large assignments in a row, the last one flushes."""
    last = at(recorder.pending, -1) if recorder.due else None
    return last is not None and getattr(last[OP], "primitive", None) is shaping.update_slice


def _recorded_store(self: Array, index: Any, value: Any, frame: Any) -> Node | None:
    """The node that a store gives the array; None if nothing remains to be done."""
    recorder = local.recorder
    if self._base is not None and self._short_path()[-1].joins:
        step = _step_of_part(self, index)
        if step is not None:
            view(self, step)[...] = value
            return None
    node = self._read()
    aval = node[AVAL] if node[OP] is None else node[OP].aval
    if type(aval.plain) is SizedAval:
        index = with_sizes(index)
    if staged and (store_chosen(self, index, value) or store_part(self, normal(index), value)):
        return None
    step: Any = None
    wrong: Any = None
    try:
        step = _set_step(aval.plain, index)
    except FAULTS as error:
        wrong = wrong_index(error, aval, index)
    if wrong is not None:
        try:
            raise wrong
        finally:
            del wrong
    if step is None:
        done = put_at_once(self, aval, index, value)
        return None if done else set_advanced(self, normal(index), value)
    if type(value) is NDArray and value._base is not None and _is_itself(self, step, value):
        return None
    op, operands = _store_op(node, aval, step, index, value)
    if op is None:
        return record_traced(shaping.update_slice, operands, step.params)
    if op.host:
        return on_host(op, operands)
    u = operands[1]
    del node, operands  # nobody else must hold the memory
    if recorder.backend.attempt(_store_part, self, op, u, step.starts):
        return None
    operands = (self._read(), u, *step.starts)
    new = recorder.backend.operation(op, operands)
    if new is not None:
        return new
    new = [op, operands, None, frame.f_code, frame.f_lasti]
    recorder.pending.append(new)
    large_update(recorder, op)
    return new


def _step_of_part(self: Array, index: Any) -> Any:
    """The step of a basic index into a view with strides of its own, whose other places need not be
    looked at: the part is such a view as well. None for the whole, and for any other index.
    """
    aval = aval_of_node(self._node).plain  # reading it would look at all places
    try:
        step = None if holds_size(index) else _set_step(aval, index)
    except FAULTS:  # whoever looks at the whole raises
        return None
    return None if step is None or step.params["shape"] == aval.shape else step


def _store_part(self: Array, op: Op, u: Any, starts: tuple[Any, ...]) -> bool:
    """A slice assignment of a converted value, into memory nobody else can see."""
    flush_for_part(op.explicit[1].nbytes, self._read())
    return bool(op.reuses) and self._base is None and store_slice(self, op, u, starts)


def _store_op(
    node: Node, aval: Aval, step: Slice, index: Any, value: Any
) -> tuple[Op | None, tuple[Any, ...]]:
    """The op of a store, and its operands; no op if a transformation interprets it."""
    u, op = value, None
    if type(aval) is TracedAval:
        pass  # the step's ops are those of plain values
    elif type(value) is NDArray or type(value) is Scalar:
        u = value._read()
        op = step.ops.get(u[AVAL] if u[OP] is None else u[OP].aval)
    elif type(value) is float and aval.dtype.kind == "f":
        op = step.ops.get(float)
    if op is not None:
        return op, (node, u, *step.starts)
    _check_depth(value, aval, index, step.params["shape"])
    looked_at = check_fits(value, aval.dtype)
    u = assigned(value, aval.dtype, step.params["shape"])
    if watched() and type(u) is list and known(u).dtype != aval.dtype:
        u = cast(new_array(u), aval.dtype)._read()  # which may overflow
    operands = (node, u, *step.starts)
    try:
        op = op_of(shaping.update_slice, step.params, tuple([known(o) for o in operands]))
    except Traced:
        return None, operands
    if not op.host and not looked_at:
        if u is value or isinstance(value, Array) and u is value._read():
            put_hot(step.ops, known(u), op)
    return op, operands


def _set_step(aval: Aval, index: Any) -> Any:
    """The step of a basic index; None for an advanced one."""
    if holds_size(index):
        return sized_step(aval, normal(index))
    key = index_key(index)
    try:
        return aval.set_memo[key]
    except (KeyError, TypeError):
        pass
    if key is NOT_BASIC or not isinstance(key, int):
        index = normal(index)
        key = index_key(index)
        if key is NOT_BASIC:
            return moving_step(aval, index) if moves(index) else None
    step = basic_slice(aval, index if isinstance(index, tuple) else (index,))
    if len(aval.set_memo) >= _MEMO_SIZE:
        aval.set_memo.clear()
    try:
        aval.set_memo[key] = step
    except TypeError:
        pass
    return step


def _check_depth(value: Any, aval: Aval, index: Any, shape: tuple[int, ...]) -> None:
    """Raise if a sequence is stored in one element, or a list in too few dimensions."""
    if type(value) in SCALAR_DTYPES or aval.dtype.kind not in "biufc":
        return
    nested = isinstance(value, (list, tuple))
    if not nested and not (isinstance(value, (Array, np.ndarray)) and value.ndim):
        return
    index = normal(index)
    items = index if type(index) is tuple else (index,)
    if len(items) == aval.ndim and all(type(i) is int for i in items):
        np.empty(1, aval.dtype)[0] = value if nested else np.zeros(value.shape)  # NumPy's error
    elif nested and depth_of(value) > len(shape):
        raise ValueError(
            "setting an array element with a sequence. The requested array would exceed the "
            f"maximum number of dimension of {len(shape)}."
        )


def _is_itself(self: Array, step: Slice, value: Array) -> bool:
    """The second half of `x[i] += v`: the view was written already, so its contents are there."""
    owner = self if self._base is None else self._base
    if value._base is not owner:
        return False
    path = (step,) if self._base is None else (*self._path, step)
    return len(path) == len(value._path) and all(
        a is b or same_slice(a, b) for a, b in zip(path, value._path, strict=True)
    )


# -- in C ----------------------------------------------------------------------------------------

getitem = in_front("getitem", getitem)
setitem = in_front("setitem", setitem)
