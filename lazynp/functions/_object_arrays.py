"""Object arrays of traced numbers: each element is a Scalar, which keeps its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, from_host, new_array
from lazynp._node import aval_of_node, is_tracer
from lazynp._values import knowable
from lazynp.primitives import shaping


def boxed(x: Array) -> np.ndarray[Any, Any]:
    """The elements of a traced array, each an object. NumPy would ask the array for values."""
    out = np.empty(x.shape, object)
    flat: Any = x if x.ndim == 1 else new_array(shaping.reshape(x, shape=(x.size,))._read())
    for place, element in zip(np.ndindex(x.shape), flat, strict=True):
        out[place] = element
    return out


def boxed_list(tree: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The object array of this shape of a nested list that holds traced arrays."""
    out = np.empty(shape, object)
    for place in np.ndindex(shape):
        item = tree
        for i in place:
            item = item[i]
        out[place] = item
    return out


def kept_by(dtype: np.dtype[Any], x: Any) -> Any:
    """What an array of this dtype is filled with: of a traced array its elements, if as objects.
    Otherwise `x`.
    """
    traced = dtype.char == "O" and isinstance(x, Array) and not _is_known(x._read())
    return boxed(x) if traced else x


def beside_objects(operands: tuple[Any, ...]) -> bool:
    """Whether traced numbers meet an object array: NumPy calls the operators of its elements."""
    kinds = [aval_of_node(o).dtype.char for o in operands if type(o) is list]
    return "O" in kinds and not all(map(_is_known, operands))


def as_objects(operand: Any) -> Any:
    """A traced operand beside an object array, with its elements as objects."""
    if type(operand) is not list:
        return operand
    known = _is_known(operand)
    return new_array(operand if known else from_host(boxed(new_array(operand)), copy=False))


def beside_an_object_array(arguments: Any) -> Any:
    """Arguments of a function of NumPy's: traced ones beside an object array, as objects."""
    kinds = (Array, np.ndarray)
    if not any([isinstance(a, kinds) and a.dtype.char == "O" for a in arguments]):
        return arguments
    kept = [not isinstance(a, Array) or _is_known(a._read()) for a in arguments]
    return tuple([a if k else boxed(a) for a, k in zip(arguments, kept, strict=True)])


def _is_known(operand: Any) -> bool:
    return type(operand) is not list or knowable(operand) and not is_tracer(operand)
