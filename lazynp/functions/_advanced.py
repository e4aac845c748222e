"""Advanced indexing: `x[index]` and `x[index] = value` with arrays and masks in the index.

Index arrays become `take` and `put`. Storing one value through a mask becomes a select, and so does
storing values that were computed from a selection by the same mask.
"""

from __future__ import annotations

import math
import operator
from types import EllipsisType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, as_operand, from_host, new_array
from lazynp._avals import Aval
from lazynp._dimensions import known_size, require, require_some, table
from lazynp._extents import broadcast_shapes, known_empty, surely
from lazynp._flush import host_value
from lazynp._intervals import interval
from lazynp._node import Node, aval_of_node, is_tracer, leaf
from lazynp._recorder import StagingRecorder, local, staged
from lazynp._sizes import Size, bounds
from lazynp._steps import INVALID_INDEX, Slice, basic_slice, expand_ellipsis
from lazynp._strides import layout, named, order_of
from lazynp._values import all_within, extent, knowable, without_repeats
from lazynp.functions._assigned import assigned
from lazynp.functions._checks import depth_of, traced
from lazynp.functions._foreign import elements
from lazynp.functions._kept_indices import keep, kept, key_of
from lazynp.functions._limits import check_dimensions
from lazynp.functions._masks import (
    check_mask,
    masked_view,
    mismatch,
    set_mask,
    set_masked_view,
    set_selected,
)
from lazynp.functions._operands import as_array, broadcast, cast, tuple_text
from lazynp.functions._places import InBounds, count_true, known_places, places
from lazynp.functions._refused import refused_as
from lazynp.functions._selected import Selection, selection, store_selection
from lazynp.functions._stores import chosen_by_numpy
from lazynp.functions._with_size import is_unsized
from lazynp.primitives import elementwise, indexing, shaping
from lazynp.primitives.checks import check_later


class Advanced:
    """The meaning of an advanced index: a basic part, index arrays for some axes, a final order.

    basic: the slices and newaxes, applied first.  axes: the axes of the sliced array that have an
    index array.  indices: checked, non-negative, of one common shape.  order: the permutation from
    `take`'s result (index dimensions first) to NumPy's, or None.
    """

    __slots__ = ("basic", "axes", "indices", "order", "shape")

    basic: Slice
    axes: tuple[int, ...]
    indices: tuple[Array, ...]
    order: tuple[int, ...] | None
    shape: tuple[int, ...]  # of the result


def advanced(aval: Aval, index: Any, within: Any = None) -> Advanced:
    """Interpret an index that contains arrays. Raises NumPy's IndexError.

    within: `(index, length, axis) -> index in bounds`, used instead of `bounded`.
    """
    key = key_of(aval, index) if within is None else None
    if key is not None and (known := kept(key)) is not None:
        return known
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_index_array(i) for i in items]
    taken = sum(_consumed(i) for i in items)
    # an Ellipsis separates the items on its two sides, even if it stands for no axis
    gap = next((k for k, i in enumerate(items) if isinstance(i, EllipsisType)), len(items))
    items = list(expand_ellipsis(tuple(items), aval.ndim, taken))
    basic: list[Any] = []
    arrays: list[Any] = []
    places: list[int] = []  # in the index as written: adjacency decides where the new dimensions go
    axes: list[int] = []
    axis = position = 0  # in the array; in the sliced array
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
    check_dimensions(result.shape, len(arrays), bool(rest))
    if key is not None:
        keep(key, result)
    return result


def _index_array(item: Any) -> Any:
    if item is None or isinstance(item, (slice, int, EllipsisType)):
        if type(item) is not int or -(1 << 63) <= item < 1 << 63:
            return item
        raise IndexError(INVALID_INDEX)
    if isinstance(item, (list, tuple, range)):
        return new_array(_list_index(item))
    operand = as_operand(elements(item))
    if type(operand) is not list:
        operand = leaf(np.asarray(operand)[()])
    array = new_array(operand)
    if array.dtype.kind not in "biu":
        is_array = isinstance(item, (NDArray, np.ndarray))
        raise IndexError(_NO_INDEX_ARRAY if is_array else INVALID_INDEX)
    return array


_NO_INDEX_ARRAY = "arrays used as indices must be of integer (or boolean) type"


def _list_index(item: Any) -> Node:
    if traced(item):
        numbers = as_array(item)
        if numbers.dtype.kind not in "biu" and not known_empty(numbers.size):
            raise IndexError(INVALID_INDEX)
        return numbers._read()
    if any(isinstance(i, Array) for i in item):
        item = [host_value(i._read()) if isinstance(i, Array) else i for i in item]
    array = np.asarray(item)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "biu":
        raise IndexError(INVALID_INDEX)
    return from_host(array, copy=False)


def _consumed(item: Any) -> int:
    """The number of axes that an index item consumes."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, Array) and item.dtype.kind == "b":
        return item.ndim
    return 1


def _integer_parts(item: Any, aval: Aval, axis: int) -> list[Any]:
    """An item as integer indices, one for each axis it consumes (a scalar bool: one new axis)."""
    if not isinstance(item, Array) or item.dtype.kind != "b":
        return [item]
    if item.ndim == 0:
        return [np.zeros(int(bool(host_value(item._read()))), np.int64)]
    for k, n in enumerate(item.shape):
        if not known_empty(n) and n != aval.shape[axis + k]:  # an empty mask fits anywhere
            raise mismatch(axis + k, aval.shape[axis + k], n)
    found = None if knowable(item._read()) else places(item)
    return list(np.nonzero(host_value(item._read())) if found is None else map(InBounds, found))


def _common(
    arrays: list[Any], lengths: list[int], axes: list[int], within: Any
) -> tuple[Array, ...]:
    """Index arrays of one shape, checked against the bounds and counted from the front."""
    if any([any(map(known_empty, np.shape(a))) for a in arrays]):
        arrays = _of_no_places(arrays)
    checked = [within(a, n, k) for a, n, k in zip(arrays, lengths, axes, strict=True)]
    shapes = [c.shape for c in checked]
    try:
        shape = broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(map(tuple_text, shapes))
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {text} "
        ) from None
    return tuple(broadcast(c, shape) for c in checked)


def _of_no_places(arrays: list[Any]) -> list[Any]:
    """If one index is empty and others broadcast to it, nobody checks their values, except those of
    ints.
    """
    try:
        shape = broadcast_shapes(*map(np.shape, arrays))
    except ValueError:
        return arrays  # which is checked
    if math.prod(shape):
        return arrays
    return [np.zeros(shape, np.int64) if np.shape(a) else a for a in arrays]


def bounded(index: Any, length: int, axis: int) -> Array:
    """An integer index array as int64, with every element in 0..length-1. Raises IndexError.

    It reads the data: a pending index is computed now, so that the statement that caused an error
    raises it.
    """
    if type(index) is InBounds:
        return index.array
    if isinstance(index, Array) and not knowable(index._read()):
        return _bounded_later(index, length, axis)
    value = host_value(index._read()) if isinstance(index, Array) else np.asarray(index)
    if value.size:
        different = without_repeats(value)
        if type(length) is not Size and all_within(different, length):
            return known_places(index, value, length)
        low, high = different.min(), different.max()
        if type(length) is Size:
            return _bounded_when_known(value, max(int(high) + 1, -int(low)), length, axis)
        if low < -length or high >= length:
            bad = different[(different < -length) | (different >= length)].flat[0]
            raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {length}")
        if low < 0:
            value = value.astype(np.int64)
            value = np.where(value < 0, value + length, value)
            return new_array(from_host(value))
    return known_places(index, value, length)


def _bounded_when_known(value: Any, least: int, length: Any, axis: int) -> Array:
    """`bounded` for an axis whose size has no value yet. least: the size from which all fit."""

    def error(n: int) -> IndexError:
        bad = value[(value < -n) | (value >= n)].flat[0]
        return IndexError(f"index {bad} is out of bounds for axis {axis} with size {n}")

    require(length - least, error, length)
    places = new_array(from_host(value.astype(np.int64)))
    if (value >= 0).all():
        return places
    return elementwise.select(elementwise.less(places, 0), elementwise.add(places, length), places)


def _bounded_later(index: Array, length: int, axis: int) -> Array:
    """`bounded` for a batched or traced index; if it has no values yet, the check happens later."""
    place = known_size(index) if type(length) is Size else None
    if place is not None:
        return _bounded_size(place, index, length, axis)
    value = extent(index._read())
    index = cast(index, np.int64)
    none = IndexError(f"index is out of bounds for axis {axis} with size 0")
    if known_empty(length) and index.size:
        raise none
    if type(index.size) is int and index.size:
        require_some(length, none)
    if value is None:
        return _checked_once(index, length, axis)
    bad = np.less(value, -length) | np.greater_equal(value, length)
    if bad.any():
        first = np.asarray(value)[bad].flat[0]
        raise IndexError(f"index {first} is out of bounds for axis {axis} with size {length}")
    negative = elementwise.less(index, 0)
    return elementwise.select(negative, elementwise.add(index, length), index)


def _bounded_size(place: Any, index: Array, length: Any, axis: int) -> Array:
    """`bounded` for an index that is a size itself: the call knows whether it is in bounds."""
    for room in (length + place, length - place - 1):
        require(
            room,
            lambda t: IndexError(f"index {t[0]} is out of bounds for axis {axis} with size {t[1]}"),
            (place, length),
        )
    low, _ = bounds(place)
    if low is not None and low >= 0:
        return index
    return elementwise.select(elementwise.less(index, 0), elementwise.add(index, length), index)


def _checked_once(index: Array, length: int, axis: int) -> Array:
    """An index of unknown value in bounds. A staged function checks the same index, for axes of
    one length, only once.
    """
    recorder, node = local.recorder, index._read()
    if not isinstance(recorder, StagingRecorder):
        return _checked_later(index, length, axis)
    found = recorder.checked.get((id(node), length))
    if found is None:
        inside = _checked_later(index, length, axis)._read()
        found = recorder.checked[id(node), length] = node, inside
    return new_array(found[1])


def _checked_later(index: Array, length: int, axis: int) -> Array:
    """Record the check of an index, and how it counts from the front, as far as its interval says
    that this is needed.
    """
    low, high = (0, 0) if known_empty(index.size) else interval(index._read())
    bad: list[Array] = []
    below, above = not surely(-length <= low), not surely(length > high)
    if below:
        bad.append(elementwise.less(index, -length))
    if above:
        bad.append(elementwise.greater_equal(index, length))
    if bad:
        message = f"index {{}} is out of bounds for axis {axis} with size {{size}}"
        either = bad[0] if len(bad) == 1 else elementwise.logical_or(*bad)
        check_later(either, IndexError, message, index, length)
    if below:
        index = elementwise.maximum(index, -length)
    if above:
        index = elementwise.minimum(index, length - 1)
    if low >= 0:
        return index
    from_front = elementwise.add(index, length)
    return from_front if high < 0 else elementwise.select(elementwise.less(index, 0), from_front,
                                                          index)  # fmt: skip


def _chosen_now(node: Node, mask: Node) -> Array | None:
    if is_tracer(node) or not knowable(mask):
        return None
    return new_array(leaf(host_value(node)[host_value(mask)]))


def get_advanced(self: Array, index: Any) -> Any:
    node = self._read()
    aval = aval_of_node(node)
    if aval.dtype.kind in "OSUMmV" and not staged:  # only NumPy can handle these
        got = chosen_by_numpy(self, node, index)
        if got is not None:
            return got
    mask = _sole_mask(aval, index)
    if mask is not None and not local.level and aval.device:
        recorder = local.recorder
        chosen = recorder.backend.attempt(_chosen_now, node, mask._read())
        if chosen is not None:
            return chosen
        recorder.chose()
    if mask is not None and not knowable(mask._read()):
        check_mask(mask, aval.shape)
        return selection(new_array(node), mask)
    if mask is not None and mask.shape == aval.shape and aval.device:
        chosen = host_value(mask._read())
        return indexing.take_mask(new_array(node), mask, size=int(np.count_nonzero(chosen)))
    masked = masked_view(self, aval, index) if mask is None and local.level else None
    if masked is not None:
        return selection(*masked)
    found = advanced(aval, index)
    sliced = found.basic.get(node) if _selects(found.basic, aval) else node
    out = indexing.take(new_array(sliced), *found.indices, axes=found.axes)
    if found.order is not None:
        out = shaping.transpose(out, permutation=found.order)
    if found.order is not None or self._order is not None:
        out._order = _order_of_chosen(self, found)
    return out


def _order_of_chosen(self: Array, found: Advanced) -> tuple[int, ...] | None:
    """In memory, the indexed axes come before the others, which keep their order."""
    sliced = found.basic.layout(layout(self))
    rest = [i for i in range(sliced.ndim) if i not in found.axes]
    shape, strides = (tuple([of[i] for i in rest]) for of in (sliced.shape, sliced.strides))
    kept = order_of(shape, strides) or tuple(range(len(rest)))
    k = len(found.shape) - len(rest)
    order = [*range(k), *(k + i for i in kept)]
    return named(order if found.order is None else [found.order.index(i) for i in order])


@refused_as(operator.setitem)
def set_advanced(self: Array, index: Any, value: Any) -> None:
    node = self._read()
    aval = aval_of_node(node)
    if isinstance(value, np.ndarray):
        value = np.asarray(value)  # of a masked array, NumPy stores what is masked too
    mask = _sole_mask(aval, index)
    whole = mask is not None and mask.ndim == aval.ndim
    whole = whole and not (isinstance(index, tuple) and len(index) > 1)
    stands = type(value) is Selection and not value.written
    if not stands and is_unsized(value) and table() is not None:
        value = value.array()
    if type(value) is Selection:
        masked = (self, mask, 0) if mask is not None else masked_view(self, aval, index)
        if masked is None:
            set_advanced(self, index, value.array())
        else:
            store_selection(*masked, value)
        return
    if whole or not aval.ndim and _is_truth(index):
        if depth_of(value) > 1:
            raise TypeError(
                "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, "
                f"input has {depth_of(value)} dimensions"
            )
    if mask is not None:
        if set_mask(self, node, aval, mask, value):
            return
        if whole and set_selected(self, node, aval, mask, value):
            return
    if mask is None and local.level and set_masked_view(self, aval, index, value):
        return
    found = None
    if mask is not None and whole and mask.shape == aval.shape and aval.device:
        shape: tuple[Any, ...] = (count_true(mask),)
    else:
        found = advanced(aval, index)
        shape = found.shape
    try:
        u = assigned(value, aval.dtype, shape, by_index=True)
    except ValueError:
        _explain_mismatch(value, shape, whole)
        raise
    if found:
        self._write(put(node, found, u, "set"))
    else:
        values = _spread(u, aval.dtype, shape)
        self._write(indexing.put_masked_values(new_array(node), mask, values)._read())


def _explain_mismatch(value: Any, shape: tuple[int, ...], masked: bool) -> None:
    """Raise NumPy's error for values that do not fit an advanced index."""
    given = np.shape(value)
    try:
        if broadcast_shapes(given, shape) == shape:
            return
    except ValueError:
        pass
    if masked:
        raise ValueError(
            f"NumPy boolean array indexing assignment cannot assign {given[0]} input values to "
            f"the {shape[0]} output values where the mask is true"
        )
    raise ValueError(
        f"shape mismatch: value array of shape {tuple_text(given)} could not be broadcast to "
        f"indexing result of shape {tuple_text(shape)}"
    )


def put(node: Node, found: Advanced, u: Any, mode: str) -> Node:
    """Store, add, ... `u` at an advanced index of the array."""
    some = _selects(found.basic, aval_of_node(node))
    sliced = found.basic.get(node) if some else node
    new = put_advanced(new_array(sliced), found, u, mode)
    return found.basic.set(node, new._read()) if some else new._read()


def put_advanced(sliced: Array, found: Advanced, u: Any, mode: str) -> Array:
    """The same for the result of the basic part of the index."""
    values = _spread(u, sliced.dtype, found.shape)
    if found.order is not None:
        inverse = tuple(int(i) for i in np.argsort(found.order))
        values = shaping.transpose(values, permutation=inverse)
    return indexing.put(sliced, values, *found.indices, axes=found.axes, mode=mode)


def _spread(u: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    if type(u) is not list:
        values = new_array(leaf(np.asarray(u).astype(dtype)[()]))
    else:
        values = cast(new_array(u), dtype)
    return broadcast(values, shape)


def _selects(basic: Slice, aval: Aval) -> bool:
    """Whether the basic part of an index has any effect."""
    return bool(basic.params["axes"]) or basic.params["shape"] != aval.shape


def _sole_mask(aval: Aval, index: Any) -> Array | None:
    """The mask, if the index is a single boolean array over leading axes."""
    items = index if isinstance(index, tuple) else (index,)
    items = [i for i in items if i is not Ellipsis]
    if len(items) != 1 or isinstance(items[0], (int, slice, type(None))):
        return None
    if isinstance(index, tuple) and len(index) == 2 and index[0] is Ellipsis:
        return None
    mask = _index_array(items[0])
    if not isinstance(mask, Array) or mask.dtype.kind != "b":
        return None
    return mask if 0 < mask.ndim <= aval.ndim else None


def _is_truth(index: Any) -> bool:
    """Whether the index is a single boolean without dimensions."""
    item = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    return isinstance(item, (bool, np.bool_)) or (
        isinstance(item, (Array, np.ndarray)) and item.dtype.kind == "b" and not item.ndim
    )
