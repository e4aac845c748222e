"""Reading and writing by index: `x[index]` and `x[index] = value`.

A basic index gives a view and records one `slice`; the entry (op, start indices, view step) is
memoised on the aval, so that a slice met before costs a few lookups. Start indices are operands,
not parameters: a moving index is one program. For advanced indices see `_advanced`.
"""

from __future__ import annotations

from sys import _getframe, getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from lazynp import _errstate, _reference, lowering
from lazynp._array import (
    PART,
    VIEWED,
    Array,
    NDArray,
    Scalar,
    enter,
    new_array,
    new_scalar,
    write_lock,
)
from lazynp._avals import SCALAR_DTYPES, Aval, TracedAval, aval_of, known_avals, on_device
from lazynp._fronts import in_front
from lazynp._node import (
    AVAL,
    OP,
    VALUE,
    Node,
    Traced,
    Tracer,
    leaf,
    op_of,
)
from lazynp._stale import note
from lazynp._strides import laid_out, order_of_strides, writeable
from lazynp._trace import (
    at_once,
    flush,
    host_value,
    knowable,
    known,
    large_update,
    local,
    on_host,
    record_traced,
    seen_value,
    staged,
    there,
)
from lazynp._views import (
    Basic,
    Field,
    Slice,
    basic_slice,
    expand_ellipsis,
    view,
)
from lazynp.functions._advanced import bounded, get_advanced, set_advanced
from lazynp.functions._assigned import assigned, assigned_scalar
from lazynp.functions._host import to_host
from lazynp.functions._index_keys import (
    NOT_BASIC,
    PLACES,
    count_places,
    has_array,
    index_key,
    is_basic,
    known_places,
    normal,
)
from lazynp.functions._recording import cast
from lazynp.functions._records import record as record_at
from lazynp.functions._scalars import AVALS, scalar
from lazynp.functions._stores import (
    host_index,
    is_same_view,
    store_at_once,
    store_basic,
    store_element,
    store_slice,
)
from lazynp.primitives import shaping

_new = object.__new__
_MEMO_SIZE = 4096
_SCALAR = "scalar"  # in a memo: the aval of one element


# -- reading -------------------------------------------------------------------------------------


def getitem(self: Array, index: Any) -> Any:
    """`self[index]`: a view for a basic index, a copy for an advanced one, as in NumPy."""
    node = self._node if self._base is None and not staged else self._read()
    value = node[2]
    t = type(index)
    axes = t is int  # how many, if this is the place of one element
    basic = axes or t is slice
    if t is tuple:
        basic = True
        axes = len(index)
        for item in index:
            kind = type(item)
            if kind is not int:
                axes = 0
                if kind is slice:
                    continue
                if kind in PLACES:
                    index = known_places(index)
                    axes = count_places(index)
                    basic = is_basic(index)
                    break
                if item is not None and item is not Ellipsis:
                    basic = False
    elif t in PLACES:
        index = known_places(index)
        axes = basic = type(index) is int
    if axes and type(value) is ndarray and value.ndim == axes and not staged:
        element = value[index]
        aval = AVALS.get(type(element))
        if aval is not None:
            return scalar(element, aval)
    recorder = local.recorder
    eager = recorder.eager
    if (not eager or recorder.due) and len(recorder.pending) >= recorder.limit:
        enter(_getframe(1), self)
        node = self._node if self._base is None else self._read()
        eager = recorder.eager
    op = node[0]
    aval = node[4] if op is None else op.aval
    if axes and axes == aval.ndim and node[2] is not None:
        element = _element(node, aval, index)
        if element is not None:
            return element
    if eager and aval.device:
        value = node[2]
        if type(value) is not ndarray:
            value = there(node)
        if type(value) is ndarray:
            if not basic:
                out = _chosen(self, value, index)
                if out is not None:
                    return out
            else:  # NumPy's view, and nothing inferred; a large one is part of what reads it
                value = value[index]
                if type(value) is ndarray:
                    try:
                        part = aval.parts[value.shape]
                    except KeyError:
                        part = aval_of(value.shape, value.dtype)
                        aval.parts[value.shape] = part
                    if part.ndim and part.nbytes <= recorder.largest:
                        out = _new(NDArray)
                        flags = self._flags
                        out._flags = flags if flags is None else _inherited(flags)
                        out._order = self._order and True
                        base = self._base
                        if base is None:
                            base = out._base = self
                            out._path = (Basic((index, aval)),)
                        else:
                            out._base = base
                            out._path = (*self._path, Basic((index, aval)))
                        if base._seen is VIEWED:
                            out._node, out._seen = [None, None, None, None, part], None
                        else:
                            out._node, out._seen = [None, None, value, None, part], base._node
                        return out
    key = index_key(index)
    if key is NOT_BASIC and t is tuple:
        index = known_places(index)
        key = index_key(index)
    try:
        op, starts, step = aval.get_memo[key]
    except (KeyError, TypeError):
        if type(aval) is TracedAval or key is NOT_BASIC and _moves(index):
            return _get_traced(self, aval, index)
        if aval.dtype.names is not None and _is_field(index):
            return view(self, Field(index))
        entry = _get_entry(aval, key, index)
        if entry is None:
            return get_advanced(self, normal(index))
        if key is NOT_BASIC and has_array(index):  # a 0-d array: its elements are copied
            out = getitem(self, normal(index))
            return out if type(out) is Scalar else new_array(out._read())
        op, starts, step = entry
    if op.host:
        return _get_on_host(self, op, node, starts, step)
    got = at_once(op, (node, *starts)) if recorder.eager else None
    if got is None:
        frame = _getframe(1)
        if recorder.eager and recorder.pending:
            if 4 * op.aval.nbytes <= aval.nbytes:
                flush(recorder, reason=PART)
            elif len(recorder.pending) >= recorder.limit:
                enter(frame, self)
            if node[VALUE] is not None:
                got = at_once(op, (node, *starts))  # a cut was made
    if got is None:
        got = [op, (node, *starts), None, frame.f_code, frame.f_lasti]
        recorder.pending.append(got)
    if op.scalar and step.scalar:
        return new_scalar(got)
    return _made_view(self, step, node, got)


def _chosen(self: Array, value: Any, index: Any) -> Array | None:
    """What NumPy chooses by an index with arrays that are there."""
    where = host_index(index)
    if where is None or _errstate.watching:
        return None
    if self._order is not None or not value.flags.c_contiguous:
        value = laid_out(value, self)
    got = value[where]
    if type(got) is not ndarray:
        return None
    out = new_array(leaf(got))
    if got.ndim > 1 and not got.flags.c_contiguous:
        out._order = order_of_strides(got)
    return out


def _made_view(self: Array, step: Any, node: Node, got: Node) -> Array:
    """The view of `self`, whose value is `node`, along one more step; `got` is its value."""
    out = _new(NDArray)
    out._node = got
    out._flags = self._flags if self._flags is None else _inherited(self._flags)
    out._order = self._order and True
    base = self._base
    if base is None:
        out._base, out._path, out._seen = self, (step,), node
    else:
        out._base, out._path, out._seen = base, (*self._path, step), base._node
    note(out)
    return out


def _inherited(flags: dict[str, Any]) -> dict[str, Any] | None:
    return {"readonly": True} if flags.get("readonly") else None


class _IndexStep(Slice):
    """A slice that knows whether NumPy would return a scalar for it."""

    scalar = False


class _ScalarStep(Slice):
    scalar = True


def _get_entry(aval: Aval, key: Any, index: Any) -> Any:
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
    step = _index_step(aval, index)
    op = op_of(shaping.slice, step.params, (aval, *(int,) * len(step.starts)))
    if len(aval.get_memo) >= _MEMO_SIZE:
        aval.get_memo.clear()
    try:
        aval.get_memo[key] = op, step.starts, step
    except TypeError:  # an unhashable slice bound: not worth remembering
        pass
    return op, step.starts, step


def _index_step(aval: Aval, index: Any) -> Any:
    items = index if isinstance(index, tuple) else (index,)
    meaning = basic_slice(aval, items)
    plain = all(type(i) is int for i in items) and len(items) == aval.ndim
    kind = _ScalarStep if plain else _IndexStep
    return kind(meaning.index, meaning.params, meaning.starts)


def _get_traced(self: Array, aval: Aval, index: Any) -> Any:
    """`getitem` of a value that a transformation interprets: nothing is remembered."""
    plain = normal(index)
    if _moves(plain):
        step = _moving_step(aval, plain)
    elif index_key(plain) is NOT_BASIC:
        return get_advanced(self, plain)
    else:
        step = _index_step(aval, plain)
    if step.scalar:
        return new_scalar(step.get(self._read()))
    out = view(self, step)
    return new_array(out._read()) if has_array(index) else out


def _moves(index: Any) -> bool:
    """Whether the index is basic but for integers whose values are not known (vmap, jit)."""
    items = index if isinstance(index, tuple) else (index,)
    moving = [i for i in items if isinstance(i, Array) and not i.ndim and i.dtype.kind in "iu"]
    return any(not knowable(i._read()) for i in moving) and all(
        i is None or i is Ellipsis or isinstance(i, (int, np.integer, slice))
        for i in items
        if not any(i is m for m in moving)
    )


def _moving_step(aval: Aval, index: Any) -> Any:
    """The step of such an index: those integers are operands."""
    items = expand_ellipsis(index if isinstance(index, tuple) else (index,), aval.ndim)
    fixed = _index_step(aval, tuple([0 if isinstance(i, Array) else i for i in items]))
    starts: list[Any] = list(fixed.starts)
    axis = 0
    for item in items:
        if isinstance(item, Array):
            start = bounded(item, aval.shape[axis], axis)
            starts[fixed.params["axes"].index(axis)] = start._read()
        axis += item is not None
    return type(fixed)(fixed.index, fixed.params, tuple(starts))


def _element(node: Node, aval: Aval, index: Any) -> Any:
    """One element of data that is there: read at once, which costs less than recording."""
    value = node[VALUE]
    if type(value) is not np.ndarray:
        if not lowering.on_host() or isinstance(value, Tracer):
            return None
        value = _reference.host(node)
    element = value[index]
    if not isinstance(element, np.generic) or isinstance(element, np.void):
        return None
    try:
        element_aval = aval.get_memo[_SCALAR]
    except KeyError:
        element_aval = aval_of((), aval.dtype) if on_device(aval.dtype) else None
        aval.get_memo[_SCALAR] = element_aval
    if element_aval is None:
        return element  # a string, a date: NumPy's own
    return new_scalar([None, None, element, None, element_aval])


def _get_on_host(self: Array, op: Any, node: Node, starts: tuple[int, ...], step: Any) -> Any:
    got = on_host(op, (node, *starts))
    if op.scalar and step.scalar:
        value = got[VALUE]
        if isinstance(value, np.ndarray):
            if value.dtype.names is not None:
                return _record(self, step.index, value)
            value = value[()]
        return value if not on_device(op.aval.dtype) else new_scalar(leaf(value))
    return view(self, step)


def _record(self: Array, index: Any, value: Any) -> Any:
    """A record is a view: it reads and writes the array."""
    if not writeable(self):
        value = value.view()
        value.flags.writeable = False
        return value[()]
    where = tuple([i for i in index if i is not Ellipsis])
    return record_at(
        value, where, lambda name: view(self, Field(name)), lambda: host_value(self._read())[where]
    )


def _is_field(index: Any) -> bool:
    """Whether this is a name, or a list of names, of fields."""
    names = index if type(index) is list else [index]
    return bool(names) and all(isinstance(n, str) for n in names)


# -- writing -------------------------------------------------------------------------------------


def setitem(self: Array, index: Any, value: Any) -> None:
    """`self[index] = value`, in the owner and so in every view."""
    if type(value) is NDArray and value._base is self:
        if local.recorder.eager and self._flags is None and is_same_view(self, index, value):
            return
    t = type(index)
    axes = t is int  # how many, if this is the place of one element
    if t is tuple:
        for item in index:
            if type(item) is not int:
                if type(item) in PLACES:
                    index = known_places(index)
                    axes = count_places(index)
                break
        else:
            axes = len(index)
    elif t in PLACES:
        index = known_places(index)
        axes = type(index) is int
    if axes and self._base is None and self._flags is None and not staged:
        if store_element(self, index, axes, value):
            return
    recorder = local.recorder
    pending = recorder.pending
    # one large assignment after another: the last makes the cut
    if len(pending) >= recorder.limit and not (
        recorder.due and pending[-1][OP].primitive is shaping.update_slice
    ):
        enter(_getframe(1), self, value)
    if self._flags is not None and not writeable(self):
        raise ValueError("assignment destination is read-only")
    if recorder.eager:
        if self._base is None:
            if (t is tuple or t is slice or t is int) and store_basic(self, index, value):
                return
        if store_at_once(self, index, value):
            return
    frame = _getframe(1)
    with write_lock:
        node = self._node if self._base is None else self._read()
        aval = node[AVAL] if node[OP] is None else node[OP].aval
        if aval.dtype.kind in "OSUVMm":
            del node  # it counts who has the memory
            _set_on_host(self, index, value)
            return
        key = index_key(index)
        try:
            step = aval.set_memo[key]
        except (KeyError, TypeError):
            step = _set_entry(aval, key, index)
            if step is None:
                set_advanced(self, normal(index), value)
                return
        if type(value) is NDArray and value._base is not None and _is_itself(self, step, value):
            return
        u, op = value, None
        if type(value) is NDArray or type(value) is Scalar:
            u = value._node if value._base is None else value._read()
            op = step.ops.get(u[AVAL] if u[OP] is None else u[OP].aval)
        elif type(value) is float and aval.dtype.kind == "f":
            op = step.ops.get(float)
        operands = (node, u, *step.starts)
        if op is None:
            _check_depth(value, aval, index, step.params["shape"])
            looked_at = _check_fits(value, aval.dtype)
            u = assigned(value, aval.dtype, step.params["shape"])
            if _errstate.watching and type(u) is list and known(u).dtype != aval.dtype:
                u = cast(new_array(u), aval.dtype)._read()  # which may overflow
            operands = (node, u, *step.starts)
            try:
                op = op_of(shaping.update_slice, step.params, tuple([known(o) for o in operands]))
            except Traced:
                self._write(record_traced(shaping.update_slice, operands, step.params))
                return
            if op.host:
                self._write(on_host(op, operands))
                return
            if not looked_at and (u is value or isinstance(value, Array) and u is value._read()):
                _errstate.remember(step.ops, known(u), op)
        new = None
        if recorder.eager:
            if recorder.pending and 4 * op.explicit[1].nbytes <= aval.nbytes:
                flush(recorder, reason=PART)
            if op.reuses and self._base is None:
                del node, operands  # it counts who has the memory
                if store_slice(self, op, u, step.starts):
                    return
                operands = (self._node, u, *step.starts)
            new = at_once(op, operands)
        if new is None:
            new = [op, operands, None, frame.f_code, frame.f_lasti]
            recorder.pending.append(new)
            large_update(recorder, op)
        self._write(new)


def _set_on_host(self: Array, index: Any, value: Any) -> None:
    """Objects, strings, dates, records: NumPy stores, in place where nobody else has the memory."""
    index = to_host(index)
    if self.dtype != object or isinstance(value, Scalar) or not _is_whole(index, self.ndim):
        zero_d = type(value) is NDArray and not value.ndim
        value = np.asarray(to_host(value)) if zero_d else to_host(value)
    with write_lock:
        owner = self if self._base is None else self._base
        node = owner._node
        memory = node[VALUE]
        shared = getrefcount(node) != 3  # the handle's, the variable's, the argument's
        if shared or type(memory) is not np.ndarray or getrefcount(memory) != 3:
            memory = None
        elif memory.base is not None or not memory.flags.writeable:
            memory = None
        if memory is None:
            memory = np.array(host_value(node))
        target = memory
        for step in () if self._base is None else self._path:
            target = step.layout(target)
        target[index] = value
        if memory is not node[VALUE]:
            owner._node = leaf(memory)


def _is_whole(index: Any, ndim: int) -> bool:
    """Whether an index is of one element: an object array takes any object there, as it is."""
    items = index if isinstance(index, tuple) else (index,)
    return len(items) == ndim and all(isinstance(i, (int, np.integer)) for i in items)


def _set_entry(aval: Aval, key: Any, index: Any) -> Any:
    if key is NOT_BASIC or not isinstance(key, int):
        index = normal(index)
        key = index_key(index)
        if key is NOT_BASIC:
            return _moving_step(aval, index) if _moves(index) else None
    step = basic_slice(aval, index if isinstance(index, tuple) else (index,))
    if len(aval.set_memo) >= _MEMO_SIZE:
        aval.set_memo.clear()
    try:
        aval.set_memo[key] = step
    except TypeError:
        pass
    return step


def _check_depth(value: Any, aval: Aval, index: Any, shape: tuple[int, ...]) -> None:
    """A sequence cannot be stored in one element, nor a list in fewer dimensions than it has."""
    if type(value) in SCALAR_DTYPES or on_device(aval.dtype) is False:
        return
    nested = isinstance(value, (list, tuple))
    if not nested and not (isinstance(value, (Array, np.ndarray)) and value.ndim):
        return
    index = normal(index)
    items = index if type(index) is tuple else (index,)
    if len(items) == aval.ndim and all(type(i) is int for i in items):
        np.empty(1, aval.dtype)[0] = value if nested else np.zeros(value.shape)  # NumPy's error
    elif nested and np.ndim(value) > len(shape):
        raise ValueError(
            "setting an array element with a sequence. The requested array would exceed the "
            f"maximum number of dimension of {len(shape)}."
        )


def _is_itself(self: Array, step: Slice, value: Array) -> bool:
    """The second half of `x[i] += v`: the view was written already. What it shows is there."""
    owner = self if self._base is None else self._base
    if value._base is not owner:
        return False
    path = (step,) if self._base is None else (*self._path, step)
    return len(path) == len(value._path) and all(
        a is b or _same_slice(a, b) for a, b in zip(path, value._path, strict=True)
    )


def _same_slice(a: Any, b: Any) -> bool:
    a, b = (s.meaning if type(s) is Basic else s for s in (a, b))
    if not isinstance(a, Slice) or not isinstance(b, Slice):
        return False
    same = all(x is y or type(x) is not list and x == y for x, y in zip(a.starts, b.starts))
    return same and a.params == b.params


def _check_fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """A number stored into integers: NumPy's error if it is too large, or nan, raised by this
    statement. (Not of arrays, nor by advanced indices: these wrap.) Whether it was looked at."""
    if dtype.kind not in "iu" or not isinstance(value, (Array, np.generic)):
        return False
    if value.ndim or value.dtype.kind not in "iuf" or np.can_cast(value.dtype, dtype):
        return False
    if type(value) is Scalar:
        if knowable(value._read()):
            assigned_scalar(seen_value(value._read()), dtype)
    elif isinstance(value, np.generic):
        assigned_scalar(value, dtype)
    return True  # a 0-d array too: it shares its entry in the memo with a scalar


def _forget_stores() -> None:
    """Stores that cast may raise floating-point errors."""
    for aval in known_avals():
        aval.set_memo.clear()


_errstate.on_watch(_forget_stores)

# -- in C ----------------------------------------------------------------------------------------

getitem = in_front("getitem", getitem)
setitem = in_front("setitem", setitem)
