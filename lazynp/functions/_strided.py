"""`numpy.lib.stride_tricks`: windows and arbitrary strides over an array's memory, as views."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lazynp._array import Array, from_host, new_array, new_view
from lazynp._dataclass import dataclass
from lazynp._dimensions import require_all
from lazynp._flush import host_value
from lazynp._fronts import strided
from lazynp._node import Node, aval_of_node, leaf
from lazynp._recorder import staged
from lazynp._sizes import sized
from lazynp._steps import Basic, Broadcast, Slice, Transpose
from lazynp._strides import Order, layout, layouts, sharing, writeable
from lazynp._values import knowable, there
from lazynp._views import view
from lazynp.functions._arguments import as_size
from lazynp.functions._fold import part
from lazynp.functions._host import to_host
from lazynp.functions._operands import as_array
from lazynp.functions._windows import Windows
from lazynp.primitives import elementwise, indexing, shaping

NDArray = np.ndarray[Any, Any]
_MOST = 1 << 22  # elements that are gathered: a view of more of them waits for the array's value


@dataclass(frozen=True)
class Strided:
    """Elements of the owner, by their places in its memory."""

    overlaps = True  # so a write may show elsewhere in the view itself
    joins = True
    splits = False
    plain = False
    shows = False
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements
    offset: int
    order: Order | None  # of the owner
    turns = True

    def _places(self) -> NDArray:
        places = np.array(self.offset)
        for n, step in zip(self.shape, self.strides, strict=True):
            places = places[..., None] + step * np.arange(n)
        return places

    def _flat(self, node: Node) -> Array:
        x = new_array(node)
        if self.order is not None:
            x = shaping.transpose(x, permutation=self.order)
        return shaping.reshape(x, shape=(x.size,))

    def get(self, node: Node) -> Node:
        value = there(node)
        if value is None and math.prod(self.shape) > _MOST and not staged and knowable(node):
            value = host_value(node)
        if isinstance(value, np.generic):  # an array without axes holds a number
            value = np.asarray(value)
        if type(value) is np.ndarray and value.flags.c_contiguous and self.order is None:
            size = value.itemsize
            strides = tuple([s * size for s in self.strides])
            return leaf(np.ndarray(self.shape, value.dtype, value, self.offset * size, strides))
        return indexing.take(self._flat(node), self._places(), axes=(0,))._read()

    def set(self, old: Node, new: Node) -> Node:
        shape = aval_of_node(old).shape
        flat, places = self._flat(old), self._places()
        if np.unique(places).size == places.size:
            done = indexing.put(flat, new_array(new), places, axes=(0,), mode="set")
        else:
            done = _put_changed(flat, new_array(new), places)
        if self.order is None:
            return shaping.reshape(done, shape=shape)._read()
        done = shaping.reshape(done, shape=tuple([shape[i] for i in self.order]))
        back = tuple([self.order.index(i) for i in range(len(shape))])
        return shaping.transpose(done, permutation=back)._read()

    def then(self, step: Any) -> Strided | None:
        """A part of such a view is one as well. Then a write looks at the places of the part."""
        if not isinstance(step, (Basic, Slice, Transpose)) or sized(self.shape):
            return None
        if isinstance(step, Slice) and list in map(type, step.starts):
            return None
        memory = np.empty(1, np.int8)
        shown = step.layout(self.layout(memory))
        return Strided(shown.shape, shown.strides, _address(shown) - _address(memory), self.order)

    def layout(self, dummy: NDArray) -> NDArray:
        size = dummy.itemsize
        memory = strided(dummy, (self.offset + 1,), (size,))
        return strided(memory[self.offset :], self.shape, [s * size for s in self.strides])


@dataclass(frozen=True)
class Shown:
    """What a function of NumPy's shows of the memory that a path leads to, where elements are no
    whole elements of the owner. NumPy looks, on the host.
    """

    overlaps = True
    joins = False
    splits = False
    plain = False
    shows = False
    turns = True
    path: tuple[Any, ...]
    look: Callable[[NDArray], NDArray]

    def get(self, node: Node) -> Node:
        return leaf(self.layout(np.asarray(host_value(node), order="C")))

    def set(self, old: Node, new: Node) -> Node:
        """Of elements that share memory, those that were not written must not count."""
        value, wanted = np.array(host_value(old), order="C"), np.asarray(host_value(new))
        shown = self.layout(value)
        with np.errstate(all="ignore"):
            kept = shown == wanted
            if shown.dtype.kind in "fc":
                kept |= np.isnan(shown) & np.isnan(wanted)
        np.copyto(shown, wanted, where=~kept)
        return leaf(value)

    def then(self, step: Any) -> None:
        return None

    def layout(self, dummy: NDArray) -> NDArray:
        for step in self.path:
            dummy = step.layout(dummy)
        return self.look(dummy)


def shown_by(array: Array, look: Callable[[NDArray], NDArray]) -> Array | None:
    """The view of a lazy array that NumPy's function shows of its memory; None if the order of the
    owner is not C's, or nobody knows its value.
    """
    owner = array._owner()
    if owner._order is not None or staged or not knowable(owner._read()):
        return None
    step = Shown(array._path if array._base is not None else (), look)
    made = new_view(owner, (step,), step.get(owner._read()), True)
    if not _writeable(array):
        made._flags = {"readonly": "always"}
    return made


def _address(memory: NDArray) -> int:
    return memory.__array_interface__["data"][0]


def _put_changed(flat: Array, new: Array, places: NDArray) -> Array:
    """Put the changed elements. If several elements of the view are one in memory, unchanged
    ones must not count, so they go to a place behind the end.
    """
    before = indexing.take(flat, places, axes=(0,))
    same = elementwise.equal(new, before)
    if flat.dtype.kind in "fc":
        both = elementwise.logical_and(elementwise.isnan(new), elementwise.isnan(before))
        same = elementwise.logical_or(same, both)
    end = new_array(from_host(np.full(places.shape, flat.size)))
    where = elementwise.select(same, end, new_array(from_host(places)))
    longer = shaping.concatenate(flat, shaping.full(0, shape=(1,), dtype=flat.dtype), axis=0)
    done = indexing.put(longer, new, where, axes=(0,), mode="set")
    return part(done, 0, 0, flat.size)


@dataclass(frozen=True)
class Repeats(Broadcast):
    """A broadcast that can be written, since its user asked for that."""

    overlaps = True
    plain = False

    def set(self, old: Node, new: Node) -> Node:
        shape = aval_of_node(old).shape
        flat = shaping.reshape(new_array(old), shape=(math.prod(shape),))
        places = np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), self.shape)
        done = _put_changed(flat, new_array(new), places)
        return shaping.reshape(done, shape=shape)._read()

    def layout(self, dummy: NDArray) -> NDArray:
        shown = np.broadcast_to(dummy, self.shape)
        return strided(dummy, shown.shape, shown.strides)


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """See `numpy.lib.stride_tricks.sliding_window_view`. A view; `subok` has no effect."""
    array = as_array(x)
    lengths = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    lengths = tuple([as_size(n) for n in lengths])
    negative = ValueError("`window_shape` cannot contain negative values")
    require_all(lengths, lambda _: negative, None)
    if axis is None:
        axes = tuple(range(array.ndim))
        if len(lengths) != len(axes):
            raise ValueError(
                "Since axis is `None`, must provide window_shape for all dimensions of `x`; got "
                f"{len(lengths)} window_shape elements and `x.ndim` is {array.ndim}."
            )
    else:
        axes = normalize_axis_tuple(axis, array.ndim, allow_duplicate=True)
        if len(lengths) != len(axes):
            raise ValueError(
                "Must provide matching length window_shape and axis; got "
                f"{len(lengths)} window_shape elements and {len(axes)} axes elements."
            )
    remaining = list(array.shape)
    longer = ValueError("window shape cannot be larger than input array shape")
    for length, a in zip(lengths, axes, strict=True):
        require_all((remaining[a] - length,), lambda _: longer, None)
        remaining[a] -= length - 1
    if not writeable:
        return view(array, Windows(lengths, axes, (1,) * len(axes)), readonly="always")
    strides = layout(array).strides
    return as_strided(array, (*remaining, *lengths), (*strides, *(strides[a] for a in axes)))


def as_strided(
    x: Any,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
) -> Any:
    """See `numpy.lib.stride_tricks.as_strided`. A view of the memory of x.

    Differs from NumPy: access outside of the array's memory is a ValueError. `strides` are in
    bytes.
    """
    array = as_array(x)
    owner = array._owner()
    size = array.dtype.itemsize
    shape = array.shape if shape is None else tuple([index(n) for n in to_host(shape)])
    offset = 0
    if strides is None or array is not owner:
        whole, its = layouts(owner, array)
        offset = _address(its) - _address(whole)
        if strides is None:  # NumPy ignores the strides of an array in C order
            strides = _c_strides(shape, size) if its.flags.c_contiguous else its.strides
    strides = tuple([int(s) for s in strides])
    if len(shape) != len(strides):
        raise ValueError("mismatch in length of strides and shape")
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    if math.prod(shape) and not (
        0 <= offset + sum(min(r, 0) for r in reach)
        and offset + sum(max(r, 0) for r in reach) + size <= owner.size * owner.dtype.itemsize
    ):
        raise ValueError("as_strided: shape and strides reach outside of the array's memory")
    if owner.dtype != array.dtype or any(s % size for s in (*strides, offset)):
        look = functools.partial(np.lib.stride_tricks.as_strided, shape=shape, strides=strides)
        found = shown_by(array, look)
        if found is None:
            return _copied(array, shape, strides)
        if not writeable:
            found._flags = {"readonly": "always"}
        return found
    step = Strided(shape, tuple(s // size for s in strides), offset // size, owner._order)
    made = new_view(owner, (step,), step.get(owner._read()), True)
    if not writeable or not _writeable(array):
        made._flags = {"readonly": "always"}
    return made


_writeable = writeable


def share_memory(array: Array) -> None:
    """Let a view that repeats elements know their places in memory: then it can be written."""
    owner = array._owner()
    if owner.dtype != array.dtype:  # places in the owner's memory are no elements of the view
        array._path = tuple([Repeats(s.shape) if type(s) is Broadcast else s for s in array._path])
        return
    same = as_strided(array)
    array._base, array._path, array._node, array._seen = (
        same._base, same._path, same._node, same._seen,
    )  # fmt: skip


sharing.append(share_memory)


def _c_strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple([size * math.prod(shape[k + 1 :]) for k in range(len(shape))])


def _copied(array: Array, shape: Any, strides: Any) -> Array:
    """Strides that split elements: NumPy reads them once."""
    value = np.ascontiguousarray(to_host(array))
    made = new_array(from_host(np.lib.stride_tricks.as_strided(value, shape, strides)))
    made._flags = {"readonly": True}
    return made
