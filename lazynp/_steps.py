"""Steps: the links of a view's path, from an owner's value to the view's, and back.

A step is immutable: `get(node)` reads, `set(old, new)` gives the updated source, `layout(dummy)`
does the same to a NumPy array without memory. That answers what strides and contiguity are, and
whether a reshape is a view: by asking NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import EllipsisType
from typing import Any, Protocol

import numpy as np

from lazynp._array import new_array
from lazynp._avals import Aval, Shape
from lazynp._dataclass import dataclass, field, replace
from lazynp._dimensions import as_start, require
from lazynp._extents import known_empty, mapped, slice_extent, stand_in, surely
from lazynp._flush import host_value
from lazynp._node import OP, VALUE, Node, aval_of_node, leaf
from lazynp._recorder import known
from lazynp._sizes import is_size, largest, sized, smallest
from lazynp._trace import record
from lazynp.primitives import elementwise, indexing, shaping

NDArray = np.ndarray[Any, Any]


class Step(Protocol):
    """One step of a view's path."""

    @property
    def plain(self) -> bool: ...

    @property
    def turns(self) -> bool: ...

    @property
    def shows(self) -> bool: ...

    def get(self, node: Node) -> Node: ...
    def set(self, old: Node, new: Node) -> Node: ...
    def layout(self, dummy: NDArray) -> NDArray: ...
    def then(self, step: Any) -> Step | None: ...


class Exact:
    """A step to distinct elements, none of which share memory: reads return what was written."""

    __slots__ = ()
    overlaps = False
    plain = False  # whether `layout` returns a view of any array whatever
    turns = False  # whether the step may change the order of the axes in memory
    shows = False  # whether `layout` of a value is a writable view of it, or a ValueError
    joins = False  # whether the next step is always joined to this one, by `then`
    splits = False  # whether a part of the view may be made of a part of its source

    def then(self, step: Any) -> Step | None:
        """This step and the next as one; None if they are not."""
        return None


@dataclass(frozen=True)
class Slice(Exact):
    """Basic indexing: `index` in NumPy's form, and its meaning for the primitive."""

    index: tuple[Any, ...]
    params: dict[str, Any]
    starts: tuple[int, ...]
    ops: dict[Any, Any] = field(default_factory=dict)  # assigned operand -> recorded op
    plain = True
    shows = True

    def get(self, node: Node) -> Node:
        return record(shaping.slice, (node, *self.starts), self.params)

    def set(self, old: Node, new: Node) -> Node:
        node = record(shaping.update_slice, (old, new, *self.starts), self.params)
        if node[VALUE] is None and node[OP] is not None:
            self.ops[known(new)] = node[OP]  # C records the next one
        return node

    def layout(self, dummy: NDArray) -> NDArray:
        try:
            return dummy[self.index]
        except TypeError:  # sizes without values
            return dummy[stand_in(self.index)]

    def moved(self, starts: tuple[Any, ...]) -> Slice:
        """The same slice from other starts. The index of a traced one only shows the layout."""
        index = list(self.index)
        places = [i for i, item in enumerate(index[:-1]) if item is not None]  # of the axes
        narrow = [self.params[name] for name in ("axes", "sizes", "strides")]
        for start, axis, size, stride in zip(starts, *narrow, strict=True):
            if type(start) is not list:
                i = places[axis]
                index[i] = _clean(start, size, stride) if type(index[i]) is slice else start
        return type(self)(tuple(index), self.params, starts)

    def then(self, step: Any) -> Slice | None:
        if isinstance(step, Basic):
            step = step.meaning
        if sized(self.params["shape"]) or isinstance(step, Slice) and sized(step.params["shape"]):
            return None
        if not isinstance(step, Slice) or list in map(type, (*self.starts, *step.starts)):
            return None  # an index cannot contain a traced start
        return _joined(self, step)


class Basic(tuple[Any, ...], Exact):
    """Basic indexing that is interpreted on demand, because most views are never read: an index and
    the aval that it applies to. A tuple, because loops make one for each slice.
    """

    __slots__ = ()
    plain = True
    shows = True

    @property
    def index(self) -> Any:
        return self[0]

    @property
    def meaning(self) -> Slice:
        index, aval = self
        return basic_slice(aval, index if type(index) is tuple else (index,))

    def get(self, node: Node) -> Node:
        return self.meaning.get(node)

    def set(self, old: Node, new: Node) -> Node:
        return self.meaning.set(old, new)

    def layout(self, dummy: NDArray) -> NDArray:
        try:
            return dummy[self[0]]
        except TypeError:  # sizes without values
            return self.meaning.layout(dummy)

    def then(self, step: Any) -> Slice | None:
        return self.meaning.then(step)


@dataclass(unsafe_hash=True)  # frozen by convention only: enforcing it would slow down construction
class Transpose(Exact):
    permutation: tuple[int, ...]
    plain = True
    shows = True
    turns = True

    def get(self, node: Node) -> Node:
        return record(shaping.transpose, (node,), {"permutation": self.permutation})

    def set(self, old: Node, new: Node) -> Node:
        inverse = tuple(int(i) for i in np.argsort(self.permutation))
        return record(shaping.transpose, (new,), {"permutation": inverse})

    def layout(self, dummy: NDArray) -> NDArray:
        return dummy.transpose(self.permutation)

    def then(self, step: Any) -> Transpose | None:
        if not isinstance(step, Transpose):
            return None
        return Transpose(tuple(self.permutation[axis] for axis in step.permutation))


@dataclass(unsafe_hash=True)
class Reshape(Exact):
    shape: Shape
    shows = True

    def get(self, node: Node) -> Node:
        return record(shaping.reshape, (node,), {"shape": self.shape})

    def set(self, old: Node, new: Node) -> Node:
        return record(shaping.reshape, (new,), {"shape": aval_of_node(old).shape})

    def layout(self, dummy: NDArray) -> NDArray:
        # -1, as most programs write it: for one element, NumPy then drops the stride
        shape = self.shape if len(self.shape) != 1 else -1
        try:
            return dummy.reshape(shape, copy=False)
        except TypeError:  # sizes without values
            return dummy.reshape(stand_in(shape), copy=False)


@dataclass(frozen=True)
class Bitcast(Exact):
    """`.view(dtype)`: read the bytes of the last axis as another dtype."""

    dtype: np.dtype[Any]
    shape: Shape

    def get(self, node: Node) -> Node:
        return record(shaping.bitcast, (node,), {"dtype": self.dtype, "shape": self.shape})

    def set(self, old: Node, new: Node) -> Node:
        aval = aval_of_node(old)
        return record(shaping.bitcast, (new,), {"dtype": aval.dtype, "shape": aval.shape})

    def layout(self, dummy: NDArray) -> NDArray:
        return dummy.view(self.dtype)


def _as_before(new: Node, old: Node) -> Node:
    """The reassembled value, in the byte order that it had before."""
    dtype = aval_of_node(old).dtype
    return new if dtype.isnative else record(elementwise.convert, (new,), {"dtype": dtype})


@dataclass(frozen=True)
class Real(Exact):
    plain = True

    def get(self, node: Node) -> Node:
        return record(elementwise.real, (node,), {})

    def set(self, old: Node, new: Node) -> Node:
        parts = (new, record(elementwise.imag, (old,), {}))
        return _as_before(record(elementwise.complex_, parts, {}), old)

    def layout(self, dummy: NDArray) -> NDArray:
        return dummy.real


@dataclass(frozen=True)
class Imag(Exact):
    plain = True

    def get(self, node: Node) -> Node:
        return record(elementwise.imag, (node,), {})

    def set(self, old: Node, new: Node) -> Node:
        parts = (record(elementwise.real, (old,), {}), new)
        return _as_before(record(elementwise.complex_, parts, {}), old)

    def layout(self, dummy: NDArray) -> NDArray:
        return dummy.imag


@dataclass(frozen=True)
class Broadcast(Exact):
    """Read-only: several elements of the view are one element of the owner."""

    shape: Shape
    plain = True
    turns = True

    def get(self, node: Node) -> Node:
        first = len(self.shape) - aval_of_node(node).ndim
        dims = tuple(range(first, len(self.shape)))
        return record(shaping.broadcast_in_dim, (node,), {"shape": self.shape, "dims": dims})

    def set(self, old: Node, new: Node) -> Node:
        raise ValueError("assignment destination is read-only")

    def layout(self, dummy: NDArray) -> NDArray:
        try:
            return np.broadcast_to(dummy, self.shape)
        except TypeError:  # sizes without values
            return np.broadcast_to(dummy, stand_in(self.shape))


@dataclass(frozen=True)
class Diagonal(Exact):
    """The diagonal of the last two axes. `np.diagonal` makes it read-only, `einsum` does not."""

    offset: int
    plain = True
    turns = True

    def _reach(self, aval: Aval) -> tuple[int, int, Any]:
        """Its first row, its first column, and how many elements it has."""
        rows, columns = aval.shape[-2:]
        first, second = max(0, -self.offset), max(0, self.offset)
        return first, second, largest(0, smallest(rows - first, columns - second))

    def _places(self, aval: Aval) -> tuple[Any, Any]:
        first, second, count = self._reach(aval)
        if is_size(count):
            i = shaping.iota(shape=(count,), axis=0, dtype=np.dtype(np.int64))
            return elementwise.add(i, first), elementwise.add(i, second)
        i = np.arange(count)
        return i + first, i + second

    def get(self, node: Node) -> Node:
        aval = aval_of_node(node)
        axes = (aval.ndim - 2, aval.ndim - 1)
        *outer, rows, columns = aval.shape
        first, second, count = self._reach(aval)
        if not any(map(is_size, aval.shape)) and count:
            # all of its elements lie equally far apart: no gather, and a view for NumPy
            flat = shaping.reshape(new_array(node), shape=(*outer, rows * columns))
            return shaping.slice_(
                flat, first * columns + second, axes=axes[:1], sizes=(count,),
                strides=(columns + 1,), shape=(*outer, count),
            )._read()  # fmt: skip
        taken = indexing.take(new_array(node), *self._places(aval), axes=axes)
        # here the new axis comes first; in NumPy it comes last
        return shaping.transpose(taken, permutation=(*range(1, taken.ndim), 0))._read()

    def set(self, old: Node, new: Node) -> Node:
        aval = aval_of_node(old)
        axes, last = (aval.ndim - 2, aval.ndim - 1), aval.ndim - 2
        values = shaping.transpose(new_array(new), permutation=(last, *range(last)))
        places = self._places(aval)
        return indexing.put(new_array(old), values, *places, axes=axes, mode="set")._read()

    def layout(self, dummy: NDArray) -> NDArray:
        view = dummy.diagonal(self.offset, -2, -1)
        if dummy.flags.writeable:  # the handle decides whether it is writable
            view.flags.writeable = True
        return view


@dataclass(frozen=True)
class Field(Exact):
    """One field of a structured array, or a list of fields. Such arrays are NumPy's, on the
    host.
    """

    names: Any

    def get(self, node: Node) -> Node:
        return leaf(np.asarray(host_value(node))[self.names])

    def set(self, old: Node, new: Node) -> Node:
        value = np.array(host_value(old))
        value[self.names] = host_value(new)
        return leaf(value)

    def layout(self, dummy: NDArray) -> NDArray:
        return dummy[self.names]


def with_numbers(step: Any, values: Callable[[Any], int]) -> Any:
    """The step with these values for its sizes."""
    step = step.meaning if isinstance(step, Basic) else step
    if isinstance(step, Slice):
        index = mapped(step.index, values)
        params = {k: mapped(p, values) for k, p in step.params.items()}
        starts = tuple([mapped(s, values) for s in step.starts])
        return type(step)(index, params, starts)
    dims = {k: x for k in ("shape", "lengths") if sized(x := getattr(step, k, ()))}
    return replace(step, **{k: mapped(x, values) for k, x in dims.items()}) if dims else step


# -- basic indices -------------------------------------------------------------------------------

INVALID_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
    "boolean arrays are valid indices"
)
TOO_MANY = "number of dimensions must be within [0, 64], indexing result would have {}"


def basic_slice(aval: Aval, index: tuple[Any, ...]) -> Slice:
    """The meaning of a basic index (ints, slices, Ellipsis, None). Raises NumPy's IndexError."""
    index = expand_ellipsis(index, aval.ndim)
    axes: list[int] = []
    sizes: list[int] = []
    strides, starts, shape = list[int](), list[int](), list[int]()
    clean: list[Any] = []  # for `layout`: plain ints; the Ellipsis makes a 0-d result an array
    axis = 0
    for item in index:
        if item is None:
            shape.append(1)
            clean.append(None)
            continue
        length = aval.shape[axis]
        if isinstance(item, slice):
            start, size, step = slice_extent(item, length)
            shape.append(size)
            clean.append(_clean(start, size, step))
            whole = size is length or surely(size == length)
            if is_size(start) or (start, step) != (0, 1) or not whole:
                start = 0 if known_empty(size) else as_start(start)
                _append((axes, sizes, strides, starts), axis, size, step, start)
        else:
            clean.append(checked(item, axis, length))
            _append((axes, sizes, strides, starts), axis, 1, 1, as_start(clean[-1]))
        axis += 1
    if len(shape) > 64:
        raise IndexError(TOO_MANY.format(len(shape)))
    found = {"axes": axes, "sizes": sizes, "strides": strides, "shape": shape}
    params = {name: tuple(items) for name, items in found.items()}
    return Slice((*clean, ...), params, tuple(starts))


def _clean(start: int, size: int, step: int) -> slice:
    """The slice of these places, for `layout`."""
    if is_size(size) or is_size(start):
        return slice(start, start + size * step, step)  # a stop before the first place is negative
    stop = start + size * step
    return slice(start, stop if stop >= 0 else None, step) if size else slice(0)


def _append(lists: tuple[list[int], ...], *items: int) -> None:
    for entries, item in zip(lists, items, strict=True):
        entries.append(item)


def _joined(first: Slice, second: Slice) -> Slice | None:
    """One slice for the two in turn; None if no single slice does the same.

    Each item of the second adds an axis, or indexes the next axis that the first left.
    """
    of_second = iter(second.index[:-1])
    index: list[Any] = []
    narrow: tuple[list[int], ...] = ([], [], [], [])
    source = left = -1  # axes of the source, and of the first's result
    for item in first.index[:-1]:
        if item is not None:
            source += 1
        if isinstance(item, int):
            index.append(item)
            _append(narrow, source, 1, 1, item)
            continue
        left += 1
        taken = next(of_second)
        while taken is None:
            index.append(None)
            taken = next(of_second)
        if item is None:
            if isinstance(taken, slice):
                if len(_places(taken)) != 1:
                    return None
                index.append(None)
            continue
        places = _places(item)[taken]
        if isinstance(places, int):
            index.append(places)
            _append(narrow, source, 1, 1, places)
            continue
        size, stop = len(places), places.stop
        index.append(slice(places.start, stop if stop >= 0 else None, places.step))
        if not size:
            index[-1] = slice(0)
        if source in first.params["axes"] or left in second.params["axes"]:
            start = places.start if size else 0
            _append(narrow, source, size, places.step, start)
    index.extend(of_second)  # new axes at the end
    axes, sizes, strides, starts = map(tuple, narrow)
    params = {**second.params, "axes": axes, "sizes": sizes, "strides": strides}
    return Slice((*index, ...), params, starts)


def _places(item: slice) -> range:
    """The places that an item of `Slice.index` selects."""
    return range(item.start or 0, -1 if item.stop is None else item.stop, item.step or 1)


def checked(item: Any, axis: int, length: int) -> int:
    """An integer index, counted from the front. Raises NumPy's IndexError."""
    i = operator.index(item)
    if is_size(length):
        require(
            length + i if i < 0 else length - i - 1, lambda n: _out_of_bounds(i, axis, n), length
        )
        return i + length if i < 0 else i
    if not -length <= i < length:
        if 1 << 63 <= i < 1 << 64:
            raise OverflowError("Python int too large to convert to C long")
        if not -(1 << 63) <= i < 1 << 63:  # an array of it would not have an integer dtype
            raise IndexError(INVALID_INDEX)
        raise _out_of_bounds(i, axis, length)
    return i + length if i < 0 else i


def _out_of_bounds(i: int, axis: int, length: int) -> IndexError:
    return IndexError(f"index {i} is out of bounds for axis {axis} with size {length}")


def expand_ellipsis(index: tuple[Any, ...], ndim: int, taken: int | None = None) -> tuple[Any, ...]:
    """The index with one item for each axis. `taken`: the number of axes it consumes, if not one an
    item.
    """
    if taken is None:
        taken = sum(i is not None and not isinstance(i, EllipsisType) for i in index)
    if taken > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {taken} were indexed"
        )
    where = [k for k, i in enumerate(index) if isinstance(i, EllipsisType)]
    if len(where) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    fill = (slice(None),) * (ndim - taken)
    if not where:
        return (*index, *fill)
    return (*index[: where[0]], *fill, *index[where[0] + 1 :])
