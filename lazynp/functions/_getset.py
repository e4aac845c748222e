"""Reading and writing by index: `x[index]` and `x[index] = value`.

A basic index gives a view and records one `slice`; the entry (op, start indices, view step) is
memoised on the aval, so that a slice met before costs a few lookups. Start indices are operands,
not parameters: a moving index is one program. Advanced indices become `take` and `put`.
"""

from __future__ import annotations

import warnings
from sys import _getframe, getrefcount
from types import EllipsisType
from typing import Any

import numpy as np
from numpy import ndarray

from lazynp import _errstate, _reference, lowering
from lazynp._array import (
    Array,
    NDArray,
    Scalar,
    as_operand,
    enter,
    from_host,
    new_array,
    new_scalar,
    write_lock,
)
from lazynp._avals import SCALAR_DTYPES, Aval, TracedAval, aval_of, known_avals, on_device
from lazynp._node import (
    ARGS,
    AVAL,
    CODE,
    OP,
    VALUE,
    Node,
    Traced,
    Tracer,
    aval_of_node,
    leaf,
    op_of,
)
from lazynp._trace import (
    at_once,
    extent,
    host_value,
    knowable,
    known,
    large_update,
    local,
    on_host,
    record,
    record_traced,
    seen_value,
    staged,
    there,
    user_frame,
)
from lazynp._views import (
    INVALID_INDEX,
    Basic,
    Field,
    Slice,
    basic_slice,
    expand_ellipsis,
    view,
    writeable,
)
from lazynp.functions._checks import traced
from lazynp.functions._foreign import elements
from lazynp.functions._host import to_host
from lazynp.functions._index_keys import (
    NOT_BASIC,
    count_places,
    has_array,
    index_key,
    known_places,
    normal,
)
from lazynp.functions._recording import as_array, broadcast, cast, operand_of
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
from lazynp.primitives import elementwise, indexing, shaping
from lazynp.primitives.checks import check_later

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
                if kind is Scalar:
                    index = known_places(index)
                    axes = count_places(index)
                    basic = axes > 0
                    break
                if kind is not slice and item is not None and item is not Ellipsis:
                    basic = False
    elif t is Scalar:
        index = known_places(index)
        axes = basic = type(index) is int
    if axes and type(value) is ndarray and value.ndim == axes and not staged:
        element = value[index]
        aval = AVALS.get(type(element))
        if aval is not None:
            return scalar(element, aval)
    recorder = local.recorder
    if len(recorder.pending) >= recorder.limit:
        enter(_getframe(1), self)
        node = self._node if self._base is None else self._read()
    op = node[0]
    aval = node[4] if op is None else op.aval
    if axes == aval.ndim and axes and node[2] is not None:
        element = _element(node, aval, index)
        if element is not None:
            return element
    if recorder.eager and aval.device:
        value = node[2]
        if type(value) is not ndarray:
            value = there(node)
        if type(value) is ndarray:
            if not basic:
                out = _chosen(value, index)
                if out is not None:
                    return out
            else:  # NumPy's view, and nothing inferred
                value = value[index]
                if type(value) is ndarray and value.ndim:
                    out = _new(NDArray)
                    out._node = [None, None, value, None, aval_of(value.shape, value.dtype)]
                    out._flags = self._flags if self._flags is None else _inherited(self._flags)
                    base = self._base
                    step = Basic(index, aval)
                    if base is None:
                        out._base, out._path, out._seen = self, (step,), node
                    else:
                        out._base, out._path = base, (*self._path, step)
                        out._seen = base._node
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
            return _get_advanced(self, normal(index))
        if key is NOT_BASIC and has_array(index):  # a 0-d array: its elements are copied
            out = getitem(self, normal(index))
            return out if type(out) is Scalar else new_array(out._read())
        op, starts, step = entry
    if op.host:
        return _get_on_host(self, op, node, starts, step)
    got = at_once(op, (node, *starts)) if recorder.eager else None
    if got is None:
        frame = _getframe(1)
        got = [op, (node, *starts), None, frame.f_code, frame.f_lasti]
        recorder.pending.append(got)
    if op.scalar and step.scalar:
        return new_scalar(got)
    return _made_view(self, step, node, got)


def _chosen(value: Any, index: Any) -> Array | None:
    """What NumPy chooses by an index with arrays that are there."""
    where = host_index(index)
    if where is None or _errstate.watching:
        return None
    got = value[where]
    return new_array(leaf(got)) if type(got) is ndarray else None


def _made_view(self: Array, step: Any, node: Node, got: Node) -> Array:
    """The view of `self`, whose value is `node`, along one more step; `got` is its value."""
    out = _new(NDArray)
    out._node = got
    out._flags = self._flags if self._flags is None else _inherited(self._flags)
    base = self._base
    if base is None:
        out._base, out._path, out._seen = self, (step,), node
    else:
        out._base, out._path, out._seen = base, (*self._path, step), base._node
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
        return _get_advanced(self, plain)
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
    t = type(index)
    axes = t is int  # how many, if this is the place of one element
    if t is tuple:
        for item in index:
            if type(item) is not int:
                if type(item) is Scalar:
                    index = known_places(index)
                    axes = count_places(index)
                break
        else:
            axes = len(index)
    elif t is Scalar:
        index = known_places(index)
        axes = type(index) is int
    if axes and self._base is None and self._flags is None and not staged:
        if store_element(self, index, axes, value):
            return
    recorder = local.recorder
    if len(recorder.pending) >= recorder.limit:
        enter(_getframe(1), self, value)
    if self._flags is not None and not writeable(self):
        raise ValueError("assignment destination is read-only")
    if recorder.eager:
        if self._base is None:
            if (t is tuple or t is slice or t is int) and store_basic(self, index, value):
                return
            if is_same_view(self, index, value):
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
                _set_advanced(self, normal(index), value)
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
    """The second half of `x[i] += v`: the view was written already."""
    owner = self if self._base is None else self._base
    if value._base is not owner or value._seen is not owner._node:
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


def assigned(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """The operand for assigning `value` to elements of this dtype, checked as NumPy checks."""
    if type(value) in SCALAR_DTYPES:
        return assigned_scalar(value, dtype)
    operand = operand_of(elements(value))
    if type(operand) is not list:
        return assigned_scalar(operand, dtype)
    aval = aval_of_node(operand)
    if on_device(dtype) and not on_device(aval.dtype):  # strings, objects: NumPy's conversion
        operand = from_host(np.asarray(np.asarray(host_value(operand)).astype(dtype)))
        aval = aval_of_node(operand)
    if aval.dtype.kind == "c" and dtype.kind in "fiu":
        _warn_of_lost_imaginary_part()
    if aval.ndim > len(shape) and all(n == 1 for n in aval.shape[: aval.ndim - len(shape)]):
        kept = aval.shape[aval.ndim - len(shape) :]
        operand = record(shaping.reshape, (operand,), {"shape": kept})
        aval = aval_of_node(operand)
    if aval.shape != shape and aval.ndim:
        _check_broadcast(aval.shape, shape)
    return operand


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


def _warn_of_lost_imaginary_part() -> None:
    warnings.warn(
        "Casting complex values to real discards the imaginary part",
        np.exceptions.ComplexWarning,
        stacklevel=4,
    )


def assigned_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python scalar as it is stored into this dtype. Raises as NumPy does (NaN to int, ...)."""
    t = type(value)
    if t is float and dtype.kind == "f" or t is bool:
        return value
    if not dtype.hasobject and dtype.kind in "biufc":
        cell = np.empty((), dtype)
        cell[()] = value
        return cell.item()
    return from_host(np.asarray(value))


def _check_broadcast(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    fits = len(shape) <= len(target) and all(
        n == m or n == 1 for n, m in zip(reversed(shape), reversed(target), strict=False)
    )
    if not fits:
        raise ValueError(
            f"could not broadcast input array from shape {_tuple(shape)} into shape "
            f"{_tuple(target)}"
        )


def _tuple(shape: tuple[int, ...]) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


# -- advanced indices ----------------------------------------------------------------------------


class Advanced:
    """What an advanced index means: a basic part, index arrays for some axes, and a final order.

    basic: the slices and newaxes, applied first.  axes: of the sliced array, those with an index
    array.  indices: checked, non-negative, of one common shape.  order: the permutation from
    `take`'s result (index dimensions first) to NumPy's, or None.
    """

    __slots__ = ("basic", "axes", "indices", "order", "shape")

    basic: Slice
    axes: tuple[int, ...]
    indices: tuple[Array, ...]
    order: tuple[int, ...] | None
    shape: tuple[int, ...]  # of the result


def advanced(aval: Aval, index: Any, within: Any = None) -> Advanced:
    """Resolve an index with arrays in it. Raises NumPy's IndexError.

    within: `(index, length, axis) -> index in bounds`, in place of `bounded`.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_index_array(i) for i in items]
    taken = sum(_consumed(i) for i in items)
    # an Ellipsis separates what is on its two sides, also where it stands for no axis
    gap = next((k for k, i in enumerate(items) if isinstance(i, EllipsisType)), len(items))
    items = list(expand_ellipsis(tuple(items), aval.ndim, taken))
    basic: list[Any] = []
    arrays: list[Any] = []
    places: list[int] = []  # in the index as written: adjacency decides where dimensions go
    axes: list[int] = []
    axis = position = 0  # of the array, of the sliced array
    for place, item in enumerate(items):
        if item is None or isinstance(item, slice):
            basic.append(item)
            axis += item is not None
            position += 1
            continue
        for part in _integer_parts(item, aval, axis):
            arrays.append(part)
            places.append(place + (place >= gap))
            axes.append(position)
            position += 1
        if _consumed(item):
            basic += [slice(None)] * _consumed(item)
        else:
            basic.append(None)
        axis += _consumed(item)
    result = Advanced()
    result.basic = basic_slice(aval, tuple(basic))
    sliced = result.basic.params["shape"]
    result.axes = tuple(axes)
    result.indices = _common(arrays, [sliced[a] for a in axes], axes, within or bounded)
    index_shape = result.indices[0].shape
    rest = [n for a, n in enumerate(sliced) if a not in axes]
    adjacent = places == list(range(places[0], places[0] + len(set(places)))) or (
        len(set(places)) == places[-1] - places[0] + 1
    )
    first = sum(1 for a in range(axes[0]) if a not in axes) if adjacent else 0
    k = len(index_shape)
    result.order = None
    if first:
        result.order = (*range(k, k + first), *range(k), *range(k + first, k + len(rest)))
    result.shape = (*rest[:first], *index_shape, *rest[first:])
    return result


def _index_array(item: Any) -> Any:
    if item is None or isinstance(item, (slice, int, EllipsisType)):
        return item
    if isinstance(item, (list, tuple, range)):
        operand = _list_index(item)
        return new_array(operand)
    operand = as_operand(elements(item))
    if type(operand) is not list:
        operand = leaf(np.asarray(operand)[()])
    array = new_array(operand)
    if array.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return array


def _list_index(item: Any) -> Node:
    if traced(item):
        return as_array(item)._read()
    if any(isinstance(i, Array) for i in item):
        item = [host_value(i._read()) if isinstance(i, Array) else i for i in item]
    array = np.asarray(item)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "biu":
        raise IndexError(
            INVALID_INDEX
            if array.dtype.kind in "OUSfc"
            else "arrays used as indices must be of integer (or boolean) type"
        )
    return from_host(array, copy=False)


def _consumed(item: Any) -> int:
    """How many axes an index item uses up."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, Array) and item.dtype.kind == "b":
        return item.ndim
    return 1


def _integer_parts(item: Any, aval: Aval, axis: int) -> list[Any]:
    """An item as integer indices, one for each axis it uses (a scalar bool: one new axis)."""
    if not isinstance(item, Array) or item.dtype.kind != "b":
        return [item]
    if item.ndim == 0:
        return [np.zeros(int(bool(host_value(item._read()))), np.int64)]
    for k, n in enumerate(item.shape):
        if n and n != aval.shape[axis + k]:  # an empty mask fits anywhere in NumPy
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + k}; size of axis "
                f"is {aval.shape[axis + k]} but size of corresponding boolean axis is {n}"
            )
    return list(np.nonzero(host_value(item._read())))


def _common(
    arrays: list[Any], lengths: list[int], axes: list[int], within: Any
) -> tuple[Array, ...]:
    """Index arrays checked against the bounds, counted from the front, of one shape."""
    checked = [within(a, n, k) for a, n, k in zip(arrays, lengths, axes, strict=True)]
    shapes = [c.shape for c in checked]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(map(_tuple, shapes))
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {text} "
        ) from None
    return tuple(broadcast(c, shape) for c in checked)


def bounded(index: Any, length: int, axis: int) -> Array:
    """An integer index array as int64, every element in 0..length-1. Raises IndexError.

    This looks at the data: where the index is still pending, it is computed now, so that the
    error comes out of the statement that caused it.
    """
    if isinstance(index, Array) and not knowable(index._read()):
        return _bounded_later(index, length, axis)
    value = host_value(index._read()) if isinstance(index, Array) else np.asarray(index)
    if value.size:
        low, high = value.min(), value.max()
        if low < -length or high >= length:
            bad = value[(value < -length) | (value >= length)].flat[0]
            raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {length}")
        if low < 0:
            value = value.astype(np.int64)
            value = np.where(value < 0, value + length, value)
            return new_array(from_host(value))
    if isinstance(index, Array):
        return cast(index, np.int64)
    return new_array(from_host(value.astype(np.int64)))


def _bounded_later(index: Array, length: int, axis: int) -> Array:
    """The same of an index that is mapped or traced: where it has no values yet, checked later."""
    value = extent(index._read())
    index = cast(index, np.int64)
    if not length and index.size:
        raise IndexError(f"index is out of bounds for axis {axis} with size 0")
    if value is None:
        below, above = elementwise.less(index, -length), elementwise.greater_equal(index, length)
        message = f"index {{}} is out of bounds for axis {axis} with size {length}"
        check_later(elementwise.logical_or(below, above), IndexError, message, index)
        index = elementwise.minimum(elementwise.maximum(index, -length), length - 1)
    else:
        bad = np.less(value, -length) | np.greater_equal(value, length)
        if bad.any():
            first = np.asarray(value)[bad].flat[0]
            raise IndexError(f"index {first} is out of bounds for axis {axis} with size {length}")
    negative = elementwise.less(index, 0)
    return elementwise.select(negative, elementwise.add(index, length), index)


def _get_advanced(self: Array, index: Any) -> Any:
    node = self._read()
    aval = aval_of_node(node)
    mask = _sole_mask(aval, index)
    if mask is not None and not local.level and aval.device:
        recorder = local.recorder
        if recorder.eager and knowable(mask._read()) and not _errstate.watching:
            return new_array(leaf(host_value(node)[host_value(mask._read())]))
        recorder.chose()
    found = advanced(aval, index)
    if mask is not None and mask.ndim == aval.ndim:
        found.indices[0]._node[CODE] = mask._read()  # see `_unselected`
    sliced = found.basic.get(node) if _selects(found.basic, aval) else node
    out = indexing.take(new_array(sliced), *found.indices, axes=found.axes)
    if found.order is not None:
        out = shaping.transpose(out, permutation=found.order)
    return out


def _set_advanced(self: Array, index: Any, value: Any) -> None:
    node = self._read()
    aval = aval_of_node(node)
    mask = _sole_mask(aval, index)
    whole = mask is not None and mask.ndim == aval.ndim
    whole = whole and not (isinstance(index, tuple) and len(index) > 1)
    if mask is not None:
        if whole and np.ndim(value) > 1:
            raise TypeError(
                "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, "
                f"input has {np.ndim(value)} dimensions"
            )
        if _set_mask(self, node, aval, mask, value):
            return
        if whole and _set_selected(self, node, aval, mask, value):
            return
    found = advanced(aval, index)
    try:
        u = assigned(value, aval.dtype, found.shape)
    except ValueError:
        _explain_mismatch(value, found.shape, whole)
        raise
    self._write(put(node, found, u, "set"))


def _explain_mismatch(value: Any, shape: tuple[int, ...], masked: bool) -> None:
    """NumPy's message where the values do not fit an advanced index."""
    given = np.shape(value)
    try:
        if np.broadcast_shapes(given, shape) == shape:
            return
    except ValueError:
        pass
    if masked:
        raise ValueError(
            f"NumPy boolean array indexing assignment cannot assign {given[0]} input values to "
            f"the {shape[0]} output values where the mask is true"
        )
    raise ValueError(
        f"shape mismatch: value array of shape {_tuple(given)} could not be broadcast to "
        f"indexing result of shape {_tuple(shape)}"
    )


def put(node: Node, found: Advanced, u: Any, mode: str) -> Node:
    """The array with `u` stored, added, ... at an advanced index."""
    some = _selects(found.basic, aval_of_node(node))
    sliced = found.basic.get(node) if some else node
    new = put_advanced(new_array(sliced), found, u, mode)
    return found.basic.set(node, new._read()) if some else new._read()


def put_advanced(sliced: Array, found: Advanced, u: Any, mode: str) -> Array:
    """The same of what the basic part of the index leaves."""
    dtype = sliced.dtype
    if type(u) is not list:
        values = new_array(leaf(np.asarray(u).astype(dtype)[()]))
    else:
        values = cast(new_array(u), dtype)
    values = broadcast(values, found.shape)
    if found.order is not None:
        inverse = tuple(int(i) for i in np.argsort(found.order))
        values = shaping.transpose(values, permutation=inverse)
    return indexing.put(sliced, values, *found.indices, axes=found.axes, mode=mode)


def _selects(basic: Slice, aval: Aval) -> bool:
    """Whether the basic part of an index does anything at all."""
    return bool(basic.params["axes"]) or basic.params["shape"] != aval.shape


def _sole_mask(aval: Aval, index: Any) -> Array | None:
    """The mask, if the index is one boolean array over leading axes and nothing else."""
    items = index if isinstance(index, tuple) else (index,)
    items = [i for i in items if i is not Ellipsis]
    if len(items) != 1 or isinstance(items[0], (int, slice, type(None))):
        return None
    if isinstance(index, tuple) and len(index) == 2 and index[0] is Ellipsis:
        return None
    mask = _index_array(items[0])
    if not isinstance(mask, Array) or mask.dtype.kind != "b" or mask.ndim == 0:
        return None
    return mask if mask.ndim <= aval.ndim else None


def _set_mask(self: Array, node: Node, aval: Aval, mask: Array, value: Any) -> bool:
    """`x[mask] = value` by a select, without looking at the mask. False for a value each."""
    rest = aval.shape[mask.ndim :]
    operand = operand_of(value)
    if type(operand) is list:
        shape = known(operand).shape
        if len(shape) > len(rest) and not (len(shape) == len(rest) + 1 and shape[0] == 1):
            return False
        u = assigned(value, aval.dtype, (1, *rest))
    else:
        u = assigned_scalar(operand, aval.dtype)
    for k, n in enumerate(mask.shape):
        if not n and aval.shape[k]:
            return False
        if n != aval.shape[k]:
            raise IndexError(
                f"boolean index did not match indexed array along axis {k}; size of axis is "
                f"{aval.shape[k]} but size of corresponding boolean axis is {n}"
            )
    if type(u) is list:
        values = cast(new_array(u), aval.dtype)
        if values.ndim > len(rest):
            values = shaping.reshape(values, shape=values.shape[1:])
        u = broadcast(values, aval.shape)._read()
    if rest:
        spread = shaping.reshape(new_array(mask._read()), shape=mask.shape + (1,) * len(rest))
        mask = broadcast(spread, aval.shape)
    frame = user_frame(_getframe(2))
    operands = (mask._read(), u, node)
    try:
        op = op_of(elementwise.select, {}, tuple([known(o) for o in operands]))
    except Traced:
        self._write(record_traced(elementwise.select, operands, {}))
        return True
    if op.aval is not aval:
        return False
    new = [op, operands, None, frame.f_code, frame.f_lasti]
    if op.host:
        new = on_host(op, operands)
    else:
        local.recorder.pending.append(new)
    self._write(new)
    return True


def _set_selected(self: Array, node: Node, aval: Aval, mask: Array, value: Any) -> bool:
    """`x[mask] = f(y[mask], ...)` as a select from `f(y, ...)`: no shape then depends on data.

    False where the values are not elementwise of selections by this very mask, still pending.
    """
    operand = operand_of(value)
    whole = _unselected(operand, mask._read(), aval.shape, [32])
    if type(whole) is not list or known(whole).shape != aval.shape:
        return False
    assigned(value, aval.dtype, known(operand).shape)  # for its warning
    values = cast(new_array(whole), aval.dtype)
    self._write(elementwise.select(mask, values, new_array(node))._read())
    return True


def _unselected(node: Any, mask: Node, shape: tuple[int, ...], budget: list[int]) -> Any:
    """The node before selection by the mask, or None. The index of a selection bears its mask."""
    budget[0] -= 1
    if type(node) is not list or isinstance(node[VALUE], np.generic):
        return node
    if node[VALUE] is not None or node[ARGS] is None or budget[0] < 0:
        return None
    op, args = node[OP], node[ARGS]
    if op.primitive is indexing.take and args[1][CODE] is mask:
        source = args[0]
        return source if known(source).shape == shape else None
    if op.primitive.kind != "elementwise":
        return None
    found = [_unselected(a, mask, shape, budget) for a in args]
    return None if any(f is None for f in found) else record(op.primitive, tuple(found), op.params)


def _forget_stores() -> None:
    """Stores that cast may raise floating-point errors."""
    for aval in known_avals():
        aval.set_memo.clear()


_errstate.on_watch(_forget_stores)
