"""Views: made along one more step, of what is there or of what is pending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import VIEWED, Array, NDArray as Ours, new_array, new_view
from lazynp._avals import Shape, on_device
from lazynp._fronts import in_front
from lazynp._node import AVAL, VALUE, Node, leaf
from lazynp._recorder import local, staged
from lazynp._steps import NDArray, Reshape, Step, Transpose
from lazynp._strides import layout, writeable


def shown(
    array: Array,
    look: Callable[[NDArray], NDArray],
    kind: Callable[[Any], Step],
    *,
    plain: bool = False,
) -> Any:
    """The view that NumPy makes of an available value; None if the view has to be recorded.

    kind: makes the step from NumPy's view. plain: whether it is a view in any memory order; the
    memory may be in another order than the array reports.
    """
    if not local.recorder.backend.at_once or type(array) is not Ours:
        return None
    if not plain and array._order is not None:
        return None
    node = array._node if array._base is None and not staged else array._read()
    value = node[VALUE]
    if type(value) is not np.ndarray or not on_device(value.dtype):
        return None
    base = array._base
    if base is not None:
        memory = base._node[VALUE]  # a value written through a view may be a separate array
        if type(memory) is not np.ndarray or value.base is None:
            return None
        if value.base is not memory and value.base is not memory.base:
            return None
    try:
        value = look(value)
    except (ValueError, TypeError):  # a copy, or an error that another function reports
        return None
    # a large view belongs to the program that reads it
    if type(value) is not np.ndarray or value.nbytes > local.recorder.policy.largest:
        return None
    path = (kind(value),)
    if base is None:
        base = array
    else:
        path = (*array._path, *path)
    order = True if path[-1].turns or array._order is not None else None
    made = new_view(base, path, leaf(value), order)
    if base._seen is VIEWED:
        made._node, made._seen = [None, None, None, None, made._node[AVAL]], None
    if not writeable(array):
        made._flags = {"readonly": True}
    return made


def view(array: Array, step: Step, *, readonly: bool = False) -> Array:
    """A view of the array by one more step, with the same owner."""
    made = shown(array, step.layout, lambda _: step, plain=step.plain)
    if made is not None:
        if readonly:
            made._flags = {"readonly": True}
        return made
    node = array._read()
    laid = step.plain or array._order is None
    node = (laid and _laid_out(node, step)) or step.get(node)
    order = True if step.turns or array._order is not None else None
    if array._base is None:
        made = new_view(array, (step,), node, order)
    else:
        made = new_view(array._base, (*array._path, step), node, order)
    if readonly or not writeable(array):
        made._flags = {"readonly": True}
    return made


def _laid_out(node: Node, step: Step) -> Node | None:
    """Take the step by NumPy, in the memory of an available value."""
    value = local.recorder.backend.value(node)
    if type(value) is not np.ndarray:
        return None
    try:
        return leaf(step.layout(value))
    except ValueError:  # a copy, in NumPy as here
        return None


def transpose(array: Array, permutation: Sequence[int]) -> Array:
    return view(array, Transpose(tuple(permutation)))


def turned(array: Array) -> Array:
    """`array.T`."""
    made = shown(array, _turned, _turning, plain=True)
    return transpose(array, range(array.ndim)[::-1]) if made is None else made


turned = in_front("turned", turned, steps={n: Transpose(tuple(range(n))[::-1]) for n in range(9)})


def _turned(value: NDArray) -> NDArray:
    return value.T


def _turning(view: NDArray) -> Transpose:
    return Transpose(tuple(range(view.ndim))[::-1])


def reshape(array: Array, shape: Shape) -> Array:
    """Reshape in C order: a view if NumPy's is one, else a copy. The sizes must agree."""
    step = Reshape(shape)
    if array._base is None and array._order is None:
        return view(array, step)
    try:
        step.layout(layout(array))
    except ValueError:
        return new_array(step.get(array._read()))
    return view(array, step)
