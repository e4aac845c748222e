"""Sliding windows as a view's step, and the parts of such a view.

A part of the windows is made of a part of the array: `windows[::10]` reads every tenth window only,
and its gradient has no zeros for the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, new_array, new_scalar, new_view
from lazynp._dataclass import dataclass
from lazynp._extents import stand_in
from lazynp._fronts import strided
from lazynp._node import Node, aval_of_node
from lazynp._sizes import sized
from lazynp._steps import Exact, Slice, basic_slice
from lazynp._views import view
from lazynp.primitives import windows

NDArray = np.ndarray[Any, Any]
_ALL = slice(None)


@dataclass(frozen=True)
class Windows(Exact):
    """All windows of some lengths on some axes; the windows are the last axes.

    steps: for each of the axes, how far the windows are apart.
    """

    lengths: tuple[int, ...]
    axes: tuple[int, ...]
    steps: tuple[int, ...]
    plain = True
    turns = True
    splits = True

    def get(self, node: Node) -> Node:
        x = new_array(node)
        for length, axis, step in zip(self.lengths, self.axes, self.steps, strict=True):
            x = windows.windows(x, axis=axis, length=length, step=step)
        return x._read()

    def set(self, old: Node, new: Node) -> Node:
        raise ValueError("assignment destination is read-only")

    def layout(self, dummy: NDArray) -> NDArray:
        lengths = stand_in(self.lengths)
        shape, strides = list(dummy.shape), list(dummy.strides)
        for length, a, step in zip(lengths, self.axes, self.steps, strict=True):
            # stand-ins for sizes may be too long
            shape[a] = max(shape[a] - length + step, 0) // step
            strides[a] *= step
        last = [dummy.strides[a] for a in self.axes]
        return strided(dummy, (*shape, *lengths), (*strides, *last))


def part_of_windows(array: Array, part: Slice, index: Any) -> Array | None:
    """A part of a view whose last step is `Windows`. None if it needs the whole array.

    index: what selects the part. One element is a Scalar, but with an Ellipsis.
    """
    step, shape = array._path[-1], aval_of_node(array._node).shape
    if sized(shape) or sized(step.lengths) or set(map(type, part.starts)) - {int}:
        return None
    cuts = _cuts(step, part, shape)
    if cuts is None:
        return None
    first, steps, rest = cuts
    base, path = array._base, array._path[:-1]
    assert base is not None
    if path:
        node = base._read()
        for earlier in path:
            node = earlier.get(node)
        base = new_view(base, path, node, array._order)
    out = _sliced(base, first)
    out = view(out, Windows(step.lengths, step.axes, steps), readonly="always")
    out = _sliced(out, rest)
    element = not out.ndim and not any([i is ... for i in (index if type(index) is tuple else [])])
    return new_scalar(out._read()) if element else out


def _sliced(array: Array, index: list[Any]) -> Array:
    step = basic_slice(aval_of_node(array._read()).plain, tuple(index))
    return view(array, step) if step.params["axes"] or None in index else array


def _cuts(step: Windows, part: Slice, shape: tuple[int, ...]) -> Any:
    """An index of the array, how far its windows are apart, and an index of these."""
    first: list[Any] = [_ALL] * (len(shape) - len(step.axes))
    rest, steps = list(part.index[:-1]), list(step.steps)
    places = [i for i, item in enumerate(rest) if item is not None]  # of the axes
    for k, (length, axis, apart) in enumerate(
        zip(step.lengths, step.axes, step.steps, strict=True)
    ):
        item = rest[places[axis]]
        if step.axes.count(axis) > 1:
            continue
        if type(item) is slice:
            chosen = range(*item.indices(shape[axis]))
            rest[places[axis]] = _ALL
        else:
            chosen = range(item, item + 1)
            rest[places[axis]] = 0
        if not chosen or chosen.step < 0:
            return None
        if len(chosen) < shape[axis]:
            steps[k] = apart * chosen.step
            first[axis] = slice(chosen[0] * apart, chosen[-1] * apart + length)
    return None if first == [_ALL] * len(first) else (first, tuple(steps), rest)
