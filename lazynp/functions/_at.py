"""`x.at[index]`: JAX's updates, which leave x unchanged, with its modes for indices out of
bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, new_array
from lazynp.functions import _advanced, _assigned, _getset, ufuncs
from lazynp.functions._index_keys import normal_item
from lazynp.functions._operands import as_array, broadcast, cast, plain, scalar_if_0d
from lazynp.primitives import elementwise, indexing, shaping

_INT64 = np.dtype(np.int64)
_MODES = {"drop": "drop", "fill": "drop", "clip": "clip", "promise_in_bounds": "clip"}


class At:
    """`x.at[index].set(v)`: a new array with changed elements; x is unchanged."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self._array, index)


class AtIndex:
    """The operations at an index. If the index repeats, `add` and the others count every
    occurrence.

    All methods take `mode`, the treatment of integers out of bounds. None (the default): NumPy's
    IndexError. "drop" and "fill": an update is omitted, and `get` returns `fill_value` (default:
    NaN; for signed integers the smallest, for unsigned the largest, for bools True). "clip": the
    nearest place. "promise_in_bounds": there are none, and nothing is checked. Integers below zero
    count from the end. With wrap_negative_indices=False and a mode, they are out of bounds instead.
    indices_are_sorted, unique_indices: no effect.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Array, index: Any) -> None:
        self._array, self._index = array, index

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
        fill_value: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """A copy of the elements."""
        places = _Places(self._array, self._index, mode, wrap_negative_indices)
        if places.found is not None:
            return scalar_if_0d(places.taken(fill_value))
        out = _getset.getitem(self._array, self._index)
        return new_array(out._read()) if type(out) is NDArray else out

    def _updated(self, how: str, values: Any, options: dict[str, Any]) -> Array:
        out = new_array(self._array._read())
        places = _Places(self._array, self._index, **_options(**options))
        if places.found is not None:
            return places.put(as_array(values), how)
        if how == "set":
            _getset.setitem(out, self._index, values)
        else:
            getattr(ufuncs, how).at(out, self._index, values)
        return out

    def _scaled(self, function: Any, values: Any, options: dict[str, Any]) -> Array:
        """Combine all values for a place by their product; for integers, use each value once."""
        x = self._array
        if x.dtype.kind not in "fc":
            return self.apply(lambda found: function(found, values), **options)
        ones = shaping.full(1, shape=x.shape, dtype=x.dtype)
        return cast(function(x, AtIndex(ones, self._index).multiply(values, **options)), x.dtype)

    def set(self, values: Any, **options: Any) -> Array:
        """x with these elements; if the index repeats, the last one counts."""
        return self._updated("set", values, options)

    def apply(self, function: Callable[[Any], Any], **options: Any) -> Array:
        """x with `function` applied to the array of these elements."""
        options = _options(**options)
        found = self.get(**{**options, "mode": options["mode"] and "clip"})
        return self.set(function(found), **options)

    def add(self, values: Any, **options: Any) -> Array:
        """x with these values added."""
        return self._updated("add", values, options)

    def subtract(self, values: Any, **options: Any) -> Array:
        """x with these values subtracted."""
        return self._updated("subtract", values, options)

    def multiply(self, values: Any, **options: Any) -> Array:
        """x with its elements multiplied by these values."""
        return self._updated("multiply", values, options)

    def divide(self, values: Any, **options: Any) -> Array:
        """x with its elements divided by these values."""
        return self._scaled(ufuncs.divide, values, options)

    def power(self, values: Any, **options: Any) -> Array:
        """x with its elements raised to these powers."""
        return self._scaled(ufuncs.power, values, options)

    def min(self, values: Any, **options: Any) -> Array:
        """x with the smaller one of each element and its values."""
        return self._updated("minimum", values, options)

    def max(self, values: Any, **options: Any) -> Array:
        """x with the larger one of each element and its values."""
        return self._updated("maximum", values, options)

    mul = multiply


def _options(
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | None = None,
    wrap_negative_indices: bool = True,
) -> dict[str, Any]:
    """Check the options that all methods take, and return those that have an effect."""
    return {"mode": mode, "wrap_negative_indices": wrap_negative_indices}


class _Places:
    """The places of an index that may be out of bounds.

    found: the index with each integer moved in bounds, or None if nothing is needed (no mode, or no
    integers in the index). bad: where integers were out of bounds.
    """

    def __init__(self, x: Array, index: Any, mode: str | None, wrap_negative_indices: bool) -> None:
        self.x, self.wrap = x, wrap_negative_indices
        self.found: _advanced.Advanced | None = None
        self.bad: list[Array] = []
        self.lengths: list[int] = []
        if mode is None:
            return
        if mode not in _MODES:
            raise ValueError(f"at: mode must be None or one of {list(_MODES)}, got {mode!r}")
        self.drop = _MODES[mode] == "drop"
        items = tuple(map(_item, index if isinstance(index, tuple) else (index,)))
        if any(isinstance(i, (list, np.ndarray, Array)) and _integers(i) for i in items):
            self.found = _advanced.advanced(x.aval, items, self._within)

    def _within(self, index: Any, length: int, axis: int) -> Array:
        if not self.drop and not length and np.size(index):
            raise IndexError(f"index is out of bounds for axis {axis} with size 0")
        index = plain(cast(as_array(index), _INT64))
        if self.wrap:
            below = elementwise.less(index, 0)
            index = elementwise.select(below, elementwise.add(index, length), index)
        bad = elementwise.logical_or(
            elementwise.less(index, 0), elementwise.greater_equal(index, length)
        )
        self.bad.append(bad)
        self.lengths.append(length)
        return plain(elementwise.minimum(elementwise.maximum(index, 0), max(length - 1, 0)))

    def outside(self) -> Array:
        """The elements of the index that are out of bounds."""
        assert self.found is not None
        shape = self.found.indices[0].shape
        bad = broadcast(self.bad[0], shape)
        for more in self.bad[1:]:
            bad = elementwise.logical_or(bad, broadcast(more, shape))
        return bad

    def taken(self, fill_value: Any) -> Array:
        found, x = self.found, self.x
        assert found is not None
        if self.drop and fill_value is None:
            fill_value = _default_fill(x.dtype)
        if not all(self.lengths):
            return shaping.full(fill_value, shape=found.shape, dtype=x.dtype)
        sliced = new_array(found.basic.get(x._read()))
        out = indexing.take(sliced, *found.indices, axes=found.axes)
        if self.drop:
            bad = self.outside()
            bad = shaping.broadcast_in_dim(bad, shape=out.shape, dims=tuple(range(bad.ndim)))
            fill = plain(cast(as_array(fill_value), x.dtype))
            out = elementwise.select(bad, fill, out)
        return out if found.order is None else shaping.transpose(out, permutation=found.order)

    def put(self, values: Array, how: str) -> Array:
        """x with values stored, added, ... Dropped updates go to one extra place."""
        found, x = self.found, self.x
        assert found is not None
        if how == "subtract":
            values, how = ufuncs.negative(values), "add"
        u = _assigned.assigned(values, x.dtype, found.shape)
        node = x._read()
        if not self.drop:
            return new_array(_advanced.put(node, found, u, how))
        if not all(self.lengths):
            return new_array(node)
        sliced, axis, n = new_array(found.basic.get(node)), found.axes[0], self.lengths[0]
        spare = elementwise.select(self.outside(), n, found.indices[0])
        found.indices = (spare, *found.indices[1:])
        high = tuple(int(k == axis) for k in range(sliced.ndim))
        none = (0,) * sliced.ndim
        wider = shaping.pad(sliced, shaping.full(0, shape=(), dtype=x.dtype), low=none, high=high,
                            interior=none)  # fmt: skip
        new = _advanced.put_advanced(wider, found, u, how)
        new = shaping.slice(new, 0, axes=(axis,), sizes=(n,), strides=(1,), shape=sliced.shape)
        return new_array(found.basic.set(node, new._read()))


def _item(item: Any) -> Any:
    """An item of an index; integers become arrays."""
    item = normal_item(item)
    if isinstance(item, int):
        return np.asarray(item)
    return np.asarray(item) if isinstance(item, (list, range)) and not len(item) else item


def _integers(item: Any) -> bool:
    return as_array(item).dtype.kind in "iu"


def _default_fill(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
    return np.nan
