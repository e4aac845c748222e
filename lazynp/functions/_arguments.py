"""Arguments common to creation and manipulation: shapes, dtypes, orders, axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, from_host, new_array, new_scalar
from lazynp._avals import Shape, native
from lazynp._devices import find
from lazynp._dimensions import as_operand, length_of, note_length
from lazynp._extents import known_empty
from lazynp._flush import host_value
from lazynp._node import leaf
from lazynp._recorder import local
from lazynp._shardings import PartitionSpec, Sharding
from lazynp._sizes import Size, sized
from lazynp._steps import Basic
from lazynp._strides import Order, copied_order, fortran_order, in_order, layout
from lazynp._views import view
from lazynp.functions._nested import all_known, of_objects
from lazynp.functions._object_arrays import boxed
from lazynp.functions._operands import as_array, cast, warn_of_lost_imaginary_part
from lazynp.primitives import indexing, shaping

Dtype = np.dtype[Any]

NO_COPY = (
    "Unable to avoid copy while creating an array as requested.\n"
    "If using `np.array(obj, copy=False)` replace it with `np.asarray(obj)` to allow a copy when "
    "needed (no behavior change in NumPy 1.x).\nFor more details, see "
    "https://numpy.org/devdocs/numpy_2_0_migration_guide.html"
    "#adapting-to-changes-in-the-copy-keyword."
)
NO_AXIS = "an integer is required for the axis"
SMALL = 1024  # elements: up to this size, making a constant now costs less than recording it


# -- shapes, dtypes, devices -----------------------------------------------------------------------


def shape_argument(shape: Any) -> Shape:
    """A shape as a tuple of ints. Lazy numbers in it are computed, because shapes are static."""
    if shape is None:
        raise TypeError("Use () not None as shape arguments")
    if isinstance(shape, (bool, np.bool_)):
        raise TypeError(
            f"expected a sequence of integers or a single integer, got '{shape!r}'"
        ) from None
    dims: tuple[int, ...] | None = None
    try:
        dims = (as_size(shape),)
    except TypeError:
        if isinstance(shape, Array) and not shape.ndim and shape.dtype.kind in "iu":
            raise  # its value is unknown, because it is traced
        if isinstance(shape, (float, complex, np.generic)) and not isinstance(shape, (str, bytes)):
            raise TypeError(
                f"expected a sequence of integers or a single integer, got '{shape!r}'"
            ) from None
    if dims is None:
        sizes: Any = shape
        dims = tuple([as_size(n) for n in sizes])
        for n in sizes:
            check_axis(n)
    if any([n < 0 for n in dims if type(n) is int]):
        raise ValueError("negative dimensions are not allowed")
    if len(dims) > 64:
        raise ValueError(
            f"maximum supported dimension for an ndarray is currently 64, found {len(dims)}"
        )
    if sized(dims):
        for n in dims:
            note_length(n)
    return dims


def as_size(n: Any) -> int:
    """An integer that is a size: where a function is traced once for all sizes, it may have no
    value.
    """
    if type(n) is not int and (type(n) is Size or isinstance(n, Array)):
        found = length_of(n)
        if found is not None:
            return found
    return operator.index(n)


def check_size(shape: Shape, dtype: Dtype) -> None:
    if sized(shape):
        return
    if math.prod([n for n in shape if n]) * max(dtype.itemsize, 1) > np.iinfo(np.intp).max:
        raise ValueError(
            "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum "
            "possible size."
        )


def dtype_of_no_array(dtype: Any) -> Dtype:
    """The dtype. NumPy asks objects for theirs, but refuses its arrays, as we refuse ours."""
    if isinstance(dtype, NDArray):
        raise TypeError("Cannot construct a dtype from an array")
    return np.dtype(dtype)


def dtype_argument(dtype: Any) -> Dtype:
    """The dtype; in traced functions, in this machine's byte order."""
    dtype = dtype_of_no_array(dtype)
    return native(dtype) if local.level and dtype.kind in "iufc" else dtype


def check_device(device: Any) -> None:
    if device is not None and not isinstance(device, (Sharding, PartitionSpec)):
        find(device)


def check_like(like: Any) -> None:
    """`like` is NumPy's hook for other libraries; our arrays and NumPy's have no effect."""
    if not (like is None or isinstance(like, Array) or hasattr(like, "__array_function__")):
        raise TypeError(
            "The `like` argument must be an array-like that implements the "
            "`__array_function__` protocol."
        )


def check_axis(axis: Any, message: str = "an integer is required") -> None:
    """Python counts truth values as integers, but most of NumPy's C code does not accept them as
    axes.
    """
    if isinstance(axis, (bool, np.bool_)):
        raise TypeError(message)


def mask_argument(where: Any) -> Array:
    """The `where` of ufuncs and reductions. An array must have dtype bool; anything else is
    converted to bool.
    """
    if isinstance(where, (Array, np.ndarray)) and np.ndim(where):
        mask = as_array(where)
    elif isinstance(where, (Array, list, tuple)):
        mask = as_array(where)
        return mask if mask.dtype.kind == "b" else cast(mask, np.dtype(np.bool_))
    else:
        mask = as_array(np.asarray(where, bool))
    if mask.dtype.kind != "b":
        raise TypeError(
            f"Cannot cast array data from {mask.dtype!r} to dtype('bool') according to the rule "
            "'safe'"
        )
    return mask


# -- memory order ----------------------------------------------------------------------------------


def order_argument(order: Any, allowed: str = "CFAK") -> str:
    """The order as an upper-case letter. Raises NumPy's ValueError."""
    letter = "C" if order is None else order.upper() if isinstance(order, str) else order
    if not isinstance(letter, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if letter not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if letter not in allowed:
        raise ValueError("only 'C' or 'F' order is permitted")
    return letter


def is_fortran(x: Array) -> bool:
    """Whether NumPy would hold it in Fortran order and not in C order."""
    if x.ndim < 2 or x._order is None:
        return False
    flags = layout(x).flags
    return flags.f_contiguous and not flags.c_contiguous


def is_contiguous(x: Array, order: str) -> bool:
    if x._base is None and x._order is None and (order == "C" or x.ndim < 2):
        return True
    flags = layout(x).flags
    return flags.c_contiguous if order == "C" else flags.f_contiguous


def fortran(x: Array, wanted: bool = True) -> Array:
    """Mark a new owner as lying in Fortran order."""
    return in_order(x, fortran_order(x.ndim)) if wanted else x


def order_like(x: Array, order: str) -> Order | None:
    """The order of a copy of `x` made with `order`."""
    if order == "K":
        return copied_order(x)
    return fortran_order(x.ndim) if order == "F" or order == "A" and is_fortran(x) else None


def result_order(result: Any, order: str, inputs: Sequence[Any]) -> Any:
    """Mark the new result of a ufunc that was called with an `order` other than "K"."""
    if type(result) is not NDArray:
        return result
    if order.upper() == "A":
        arrays = [x for x in inputs if isinstance(x, (Array, np.ndarray)) and x.ndim > 1]
        order = "F" if arrays and all(_is_f(x) for x in arrays) else "C"
    result._order = fortran_order(result.ndim) if order.upper() == "F" else None
    return result


def _is_f(x: Any) -> bool:
    return bool(layout(x).flags.fnc if isinstance(x, Array) else x.flags.fnc)


# -- values ----------------------------------------------------------------------------------------


def own(x: Array) -> Array:
    """A new owner of the same value: a copy for the price of a handle."""
    return new_array(x._read())


def viewable(x: Any) -> Array:
    """An Array that can have views; a Scalar must not be written through a view."""
    x = as_array(x)
    return own(x) if isinstance(x, Scalar) else x


def from_numpy(value: Any) -> Any:
    """Wrap a new NumPy result that nothing else refers to: an Array, or a Scalar for a NumPy
    scalar.
    """
    if isinstance(value, np.generic):
        return new_scalar(leaf(value))
    return new_array(from_host(value, copy=False))


def zero(dtype: Dtype) -> Array:
    """A 0-d zero, not weak as a Python scalar would be."""
    return new_array(from_host(np.zeros((), dtype), copy=False))


def converted(x: Array, dtype: Dtype) -> Array:
    """`astype` with unsafe casting, and NumPy's warning if imaginary parts are lost."""
    if dtype.char == "O" and not all_known(x):
        return from_numpy(boxed(x))
    if dtype.itemsize == 0 or x.dtype.kind in "OSUmM" or dtype.kind in "OSUmM":
        value = np.asarray(host_value(x._read()))
        made = of_objects(value, dtype)
        return from_numpy(np.array(value.astype(dtype))) if made is None else made
    if x.dtype.kind == "c" and dtype.kind in "iuf":
        warn_of_lost_imaginary_part()
    return cast(x, dtype)


def static(x: Any) -> Any:
    """An argument that determines shapes, in NumPy's form; lazy parts are computed."""
    if isinstance(x, Array):
        return host_value(x._read())
    if isinstance(x, (list, tuple)):
        return type(x)([static(i) for i in x])
    return x


# -- moving data -----------------------------------------------------------------------------------


def sliced(x: Array, *index: Any) -> Array:
    """The view `x[index]`, for slices and None."""
    return view(x, Basic((index, x.aval)))


def part(x: Array, axis: int, start: int, stop: int) -> Array:
    """`x[..., start:stop, ...]` on an axis, within its bounds, as a new array."""
    size = stop - start
    if size is x.shape[axis] or not known_empty(size) and size == x.shape[axis]:
        return own(x)
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    one: dict[str, Any] = {"axes": (axis,), "sizes": (size,), "strides": (1,), "shape": shape}
    return shaping.slice(x, as_operand(start), **one)


def taken(x: Array, index: Any, axis: int) -> Array:
    """`x[..., index, ...]` on an axis, for 1-d indices in bounds: a host array, or int64."""
    if not isinstance(index, Array):
        index = new_array(from_host(np.asarray(index, np.int64), copy=False))
    out = indexing.take(x, index, axes=(axis,))
    if axis == 0:
        return out
    return shaping.transpose(out, permutation=(*range(1, axis + 1), 0, *range(axis + 1, x.ndim)))


def reshaped(x: Array, shape: Shape) -> Array:
    """A new array of the same elements in C order."""
    return own(x) if x.shape == shape else shaping.reshape(x, shape=shape)


def joined(parts: Sequence[Array], axis: int) -> Array:
    """Concatenate parts of one dtype to a new array."""
    return own(parts[0]) if len(parts) == 1 else shaping.concatenate(*parts, axis=axis)


def check_options(casting: Any, order: Any, subok: Any) -> None:
    """Raise what NumPy raises of the options that every ufunc takes."""
    if casting != "same_kind":
        np.can_cast("?", "?", casting)  # raises for an invalid casting
    if order != "K":
        order_argument(order)
    if subok is not True and subok is not False:
        raise TypeError("'subok' must be a boolean")


def by_either_name(signature: Any, sig: Any) -> Any:
    """The signature of a ufunc's call."""
    if sig is not None and signature is not None:
        raise TypeError("cannot specify both 'sig' and 'signature'")
    return signature if sig is None else sig
