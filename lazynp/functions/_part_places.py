"""Slices of unknown size as places: `x[columns[begin:end]]`, and storing there."""

from __future__ import annotations

from typing import Any

from lazynp._array import Array, new_array
from lazynp._node import aval_of_node
from lazynp._steps import expand_ellipsis
from lazynp.functions._advanced import advanced
from lazynp.functions._operands import broadcast
from lazynp.functions._parts import Part, fitting, moved, same_regions
from lazynp.functions._regions import Region
from lazynp.primitives import elementwise, indexing, shaping


def chosen_part(x: Array, index: Any) -> Part | None:
    """`x[index]` where slices of unknown size are places. None if there are none."""
    found = _places(x, index)
    if found is None:
        return None
    some, places, along = found
    whole = x[tuple([i.filled(0) if type(i) is Part else i for i in places])]
    regions: list[Region | None] = [None] * whole.ndim
    regions[along] = some.regions[0]
    return Part(whole, tuple(regions))  # type: ignore[arg-type]


def _places(x: Array, index: Any) -> tuple[Part, list[Any], int] | None:
    """The first of the slices among the places, all items, and the axis of the result that has as
    many places.
    """
    items = index if type(index) is tuple else (index,)
    some = next((i for i in items if type(i) is Part), None)
    if some is None:
        return None
    items = expand_ellipsis(items, x.ndim)
    if some.ndim != 1 or some.dtype.kind == "b" or len(items) != x.ndim or 0 in x.shape:
        return some.unknown()  # type: ignore[no-any-return]
    places = [moved(i, some.regions) if type(i) is Part else i for i in items]
    for i in places:
        if type(i) is Part and not (i.ndim == 1 and same_regions(i.regions, some.regions)):
            return some.unknown()  # type: ignore[no-any-return]
    numbers = [type(i) is Part or type(i) is int or _is_integer(i) for i in places]
    if not all(numbers) and (sum(numbers) > 1 or not all(map(_is_plain, places))):
        return some.unknown()  # type: ignore[no-any-return]
    return some, places, 0 if all(numbers) else numbers.index(True)


def _is_integer(x: Any) -> bool:
    return isinstance(x, Array) and not x.ndim and x.dtype.kind in "iu"


def _is_plain(x: Any) -> bool:
    return type(x) is Part or isinstance(x, slice) and x == slice(None)


def store_chosen(x: Array, index: Any, value: Any) -> bool:
    """`x[index] = value` where slices of unknown size are places. What is outside of them goes to
    one more place behind the others, which is cut off.
    """
    found = _places(x, index)
    if found is None:
        return False
    some, places, along = found
    target = chosen_part(x, index)
    assert target is not None
    values = fitting(target, value)
    given = tuple([i.filled(0) if type(i) is Part else i for i in places])
    meaning = advanced(aval_of_node(x._read()), given)
    axis = next(a for a, i in enumerate(places) if type(i) is Part)
    if meaning.order is not None:
        order = meaning.order
        values = shaping.transpose(
            values, permutation=tuple(order.index(a) for a in range(len(order)))
        )
    (length,) = some.mask().shape
    last = x.shape[axis]
    of_axis = meaning.axes.index(axis)
    indices = list(meaning.indices)
    indices[of_axis] = elementwise.select(
        some.mask(),
        broadcast(indices[of_axis], (length,)),
        shaping.full(last, shape=(), dtype=indices[of_axis].dtype),
    )
    whole = new_array(x._read())
    row = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    longer = shaping.concatenate(whole, shaping.full(0, shape=row, dtype=x.dtype), axis=axis)
    longer = indexing.put(longer, values, *indices, axes=meaning.axes, mode="set")
    x[...] = shaping.slice(longer, 0, axes=(axis,), sizes=(last,), strides=(1,), shape=x.shape)
    return True
