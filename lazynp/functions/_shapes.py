"""Views with another shape: reshape, transpose and related functions, broadcasting, flips."""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar, new_array, new_scalar
from lazynp._avals import Shape, on_device
from lazynp._dimensions import require, require_all, require_not_one
from lazynp._either import noted, settled
from lazynp._extents import any_sized, broadcast_shapes as sizes_broadcast, product
from lazynp._flush import host_value
from lazynp._memo import cached
from lazynp._sizes import exact_quotient, sized
from lazynp._steps import Broadcast, Reshape
from lazynp._strides import WARNS, layout, order_of, writeable
from lazynp._views import (
    reshape as view_reshape,
    showing,
    shown,
    transpose as view_transpose,
    view,
)
from lazynp.functions._arguments import (
    as_size,
    fortran,
    is_contiguous,
    order_argument,
    own,
    sliced,
    static,
    viewable,
)
from lazynp.functions._construct import array, asarray
from lazynp.functions._eager import or_itself
from lazynp.functions._getset import getitem
from lazynp.functions._operands import as_array
from lazynp.functions._scalars import AVALS, scalar

normalize_axis_index = np.lib.array_utils.normalize_axis_index
normalize_axis_tuple = np.lib.array_utils.normalize_axis_tuple


def kept_scalar(original: Any, result: Array) -> Array:
    """Keep a scalar a scalar where no dimension was added, as methods of NumPy's scalars do."""
    if result.ndim == 0 and (isinstance(original, (Scalar, np.generic))):
        return new_scalar(result._read())
    return result


# -- reshape ---------------------------------------------------------------------------------------


@partial(showing, copies=True)
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Array:
    """See `numpy.reshape`: a view exactly where NumPy's is one."""
    order = "C" if order is None else order_argument(order)
    if order == "C" and copy is None:
        made = shown(a, lambda value: value.reshape(shape, copy=False), _reshaping)
        if made is not None:
            return made
    letter = order
    if letter == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    x = viewable(a)
    target = _target_shape(x, shape)
    if letter == "A":
        letter = "F" if is_contiguous(x, "F") and not is_contiguous(x, "C") else "C"
    if copy:
        x = fortran(own(x), letter == "F")
    if letter == "F" and copy is None:  # each of the three has a fast path
        return kept_scalar(a, transpose(reshape(transpose(x), target[::-1])))
    if letter == "F" and (x.ndim > 1 or len(target) > 1):
        turned = view_transpose(x, tuple(reversed(range(x.ndim))))
        out = view_reshape(turned, target[::-1])
        is_view = out._base is not None
        out = view_transpose(out, tuple(reversed(range(out.ndim))))
    else:
        out = view_reshape(x, target)
        is_view = out._base is not None
    if copy is False and not is_view:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return kept_scalar(a, out)


def _reshaping(view: Any) -> Reshape:
    return Reshape(view.shape)


def _target_shape(x: Array, shape: Any) -> Shape:
    if shape is None:
        return x.shape
    t = type(shape)
    if t is int:
        dims: tuple[int, ...] = (shape,)
    elif t is tuple and {*map(type, shape)} == {int}:
        dims = shape
    else:
        try:
            dims = (as_size(shape),)
        except TypeError:
            dims = tuple([as_size(n) for n in shape])
    if sized((*x.shape, *dims)):
        return _resolved_sizes(x.shape, dims)
    return _resolved(x.shape, dims)


def _resolved_sizes(before: Shape, dims: Shape) -> Shape:
    """The same for sizes without values."""
    places = [i for i, n in enumerate(dims) if type(n) is int and n == -1]
    size = product(before)
    if len(places) == 1:
        rest = product([n for i, n in enumerate(dims) if i != places[0]])
        found = exact_quotient(size, rest)
        require(rest - 1, _numpys_refusal, (before, dims))  # of nothing, no part can be told
        if found is not None:
            return tuple([found if i == places[0] else n for i, n in enumerate(dims)])
        if type(rest) is not int or rest > 0:
            require(-(size % rest), _numpys_refusal, (before, dims))
            return tuple([size // rest if i == places[0] else n for i, n in enumerate(dims)])
    return dims  # whether they fit is found out when the numbers are put in


def _numpys_refusal(shapes: tuple[Shape, Shape]) -> BaseException:
    try:
        _resolved(*shapes)
    except ValueError as error:
        return error
    raise AssertionError(f"NumPy reshapes {shapes[0]} to {shapes[1]}")


@cached()
def _resolved(before: Shape, dims: Shape) -> Shape:
    size = math.prod(before)
    if all(n >= 0 for n in dims) and math.prod(dims) == size:
        return dims
    rest = math.prod([n for n in dims if n != -1])
    if dims.count(-1) == 1 and rest > 0 and size % rest == 0:
        return tuple([size // rest if n == -1 else n for n in dims])
    # NumPy's own exception, or its meaning of other negative numbers
    return np.broadcast_to(np.False_, before).reshape(dims).shape


@partial(showing, contiguous=True, copies=True)
def ravel(a: Any, order: Any = "C") -> Array:
    """See `numpy.ravel`: a view exactly where NumPy's is one."""
    order = order_argument(order)
    if order == "C":
        made = shown(a, _flat_view, _reshaping)
        if made is not None:
            return made
    x = viewable(a)
    if order == "F" or order == "A" and is_contiguous(x, "F") and not is_contiguous(x, "C"):
        return ravel(transpose(x))  # each of the two has a fast path
    if order == "K" and x.ndim > 1 and not is_contiguous(x, "C"):
        by_stride = order_of(x.shape, layout(x).strides)
        return ravel(x if by_stride is None else transpose(x, by_stride))
    if order != "C":
        return ravel(x)
    out = reshape(x, (x.size,))
    if x._base is None and x._order is None:
        return out
    if out._base is None:
        return out
    found = layout(out).flags.c_contiguous
    if settled(out, found, _is_contiguous):
        return out
    # unlike reshape, ravel makes no view of non-contiguous elements
    return noted(out, new_array(out._read()), _is_contiguous)


def _is_contiguous(dummy: Any, _: Any) -> bool:
    return dummy.flags.c_contiguous


def _flat_view(value: Any) -> Any:
    """A flat view, or None where NumPy copies: unlike reshape, ravel makes no view of
    non-contiguous elements.
    """
    return value.reshape(-1) if value.flags.c_contiguous else None


# -- order of axes ---------------------------------------------------------------------------------


@showing
def transpose(a: Any, axes: Any = None) -> Array:
    """See `numpy.transpose`."""
    x = viewable(a)
    if axes is None:
        order = tuple(reversed(range(x.ndim)))
    else:
        try:
            order = tuple([operator.index(i) for i in axes])
        except TypeError:
            order = (operator.index(axes),)
        if len(order) != x.ndim:
            raise ValueError("axes don't match array")
        order = tuple([normalize_axis_index(i, x.ndim) for i in order])
        if len(set(order)) != len(order):
            raise ValueError("repeated axis in transpose")
    return kept_scalar(a, view_transpose(x, order))


permute_dims = transpose


@showing
def matrix_transpose(x: Any, /) -> Array:
    """See `numpy.matrix_transpose`."""
    x = as_array(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


@showing
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Array:
    """See `numpy.swapaxes`."""
    x = viewable(a)
    first = normalize_axis_index(operator.index(axis1), x.ndim, "axis1")
    second = normalize_axis_index(operator.index(axis2), x.ndim, "axis2")
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return view_transpose(x, order)


@showing
def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """See `numpy.moveaxis`."""
    x = viewable(a)
    sources = normalize_axis_tuple(_axes(source), x.ndim, "source")
    targets = normalize_axis_tuple(_axes(destination), x.ndim, "destination")
    if len(sources) != len(targets):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [n for n in range(x.ndim) if n not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return view_transpose(x, order)


@showing
def rollaxis(a: Any, axis: Any, start: Any = 0) -> Array:
    """See `numpy.rollaxis`."""
    x = viewable(a)
    n = x.ndim
    axis, start = normalize_axis_index(axis, n), operator.index(start)
    if not -n <= start < n + 1:
        raise np.exceptions.AxisError(
            f"'start' arg requires {-n} <= start < {n + 1}, but {start} was passed in"
        )
    start += n if start < 0 else 0
    if axis < start:
        start -= 1
    order = [i for i in range(n) if i != axis]
    order.insert(start, axis)
    return view_transpose(x, order)


def _axes(axis: Any) -> Any:
    """An axis or several, with lazy numbers as ints."""
    axis = static(axis)
    return axis.tolist() if isinstance(axis, np.ndarray) else axis


# -- dimensions of length one ----------------------------------------------------------------------


_MAY_BE_ONE = (
    "squeeze: {} was traced as a size other than 1, but is 1 in this call; name the axes that go"
)


@showing
def squeeze(a: Any, axis: Any = None) -> Array:
    """See `numpy.squeeze`."""
    if axis is None and type(a) in AVALS:
        return scalar(a, AVALS[type(a)])
    x = viewable(a)
    if axis is None:
        dropped = tuple(i for i, n in enumerate(x.shape) if n == 1)
        for n in x.shape:
            require_not_one(n, ValueError(_MAY_BE_ONE.format(n)))
    elif x.ndim == 0 and type(axis) is not tuple and axis in (0, -1):
        dropped = ()
    else:
        axes = _axes(axis)
        axes = axes if isinstance(axes, tuple) else (axes,)
        dropped = tuple(normalize_axis_index(i, x.ndim) for i in axes)
        if len(set(dropped)) != len(dropped):
            raise ValueError("duplicate value in 'axis'")
        if any(x.shape[i] != 1 for i in dropped):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    if not dropped and isinstance(a, Array):
        return a
    shape = tuple(n for i, n in enumerate(x.shape) if i not in dropped)
    return kept_scalar(a, view(x, Reshape(shape)))


@showing
def expand_dims(a: Any, axis: Any) -> Array:
    """See `numpy.expand_dims`."""
    x = viewable(a)
    axes = _axes(axis)
    axes = axes if isinstance(axes, (tuple, list)) else (axes,)
    places = normalize_axis_tuple(axes, len(axes) + x.ndim)
    rest = iter(x.shape)
    shape = tuple([1 if i in places else next(rest) for i in range(len(axes) + x.ndim)])
    return kept_scalar(a, view(x, Reshape(shape)))


def _atleast(arys: tuple[Any, ...], ndim: int) -> Any:
    out = []
    for a in arys:
        x = array(a) if type(a) is list or type(a) is tuple else viewable(a)
        if x.ndim >= ndim:
            out.append(x)
        elif x.ndim == 0:
            out.append(view(x, Reshape((1,) * ndim)))
        else:  # by newaxis, which shows in the strides
            index = (None, ...) if (ndim, x.ndim) != (3, 2) else (...,)
            out.append(sliced(x, *index, *(None,) * (ndim - 2)))
    return out[0] if len(out) == 1 else tuple(out)


@or_itself(np.atleast_1d)
@showing
def atleast_1d(*arys: Any) -> Any:
    """See `numpy.atleast_1d`."""
    return _atleast(arys, 1)


@showing
def atleast_2d(*arys: Any) -> Any:
    """See `numpy.atleast_2d`."""
    return _atleast(arys, 2)


@showing
def atleast_3d(*arys: Any) -> Any:
    """See `numpy.atleast_3d`."""
    return _atleast(arys, 3)


# -- broadcasting ----------------------------------------------------------------------------------


def broadcast_shapes(*args: Any) -> Shape:
    """See `numpy.broadcast_shapes`."""
    return np.broadcast_shapes(*[static(a) for a in args])


@showing
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Array:
    """See `numpy.broadcast_to`: a read-only view."""
    x = viewable(array)
    try:
        target: tuple[int, ...] = (as_size(shape),)
    except TypeError:
        target = tuple([as_size(n) for n in shape])
    if sized((*x.shape, *target)):
        negative = ValueError("all elements of broadcast shape must be non-negative")
        require_all(target, lambda _: negative, None)
        if sizes_broadcast(x.shape, target) != target:
            raise ValueError(
                "operands could not be broadcast together with remapped shapes "
                f"[original->remapped]: {x.shape}  and requested shape {target}"
            )
        return view(x, Broadcast(target), readonly=True)
    like = np.broadcast_to(np.False_, x.shape) if x.shape else np.False_
    target = np.broadcast_to(like, target).shape  # or its exception
    return view(x, Broadcast(target), readonly=True)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """See `numpy.broadcast_arrays`. The first write to a broadcast array gives NumPy's warning."""
    xs = [asarray(a) for a in args]
    if any_sized(*xs):
        shape = sizes_broadcast(*[x.shape for x in xs])
        return tuple(
            x if x.shape == shape else view(viewable(x), Broadcast(shape), readonly=True)
            for x in xs
        )
    shape = _common_shape(tuple([x.shape for x in xs])) if xs else ()
    if all(x.shape == shape for x in xs):
        return tuple(xs)
    return tuple([broadcast_warning(viewable(x), shape) for x in xs])


@cached()
def _common_shape(shapes: tuple[Shape, ...]) -> Shape:
    common = np.broadcast(*[np.broadcast_to(np.False_, s) for s in shapes[:_MOST]]).shape
    rest = shapes[_MOST:]  # NumPy's `broadcast` takes no more at once
    return _common_shape((common, *rest)) if rest else common


_MOST = 64


def broadcast_warning(x: Array, shape: Shape) -> Array:
    """The array in this shape, as `broadcast_arrays` gives it."""
    if x.shape == shape:
        return x
    return view(x, Broadcast(shape), readonly=WARNS if writeable(x) else True)


# -- flips and quarter turns -----------------------------------------------------------------------


@showing
def flip(m: Any, axis: Any = None) -> Any:
    """See `numpy.flip`: a view."""
    x = viewable(m)
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        axes = normalize_axis_tuple(_axes(axis), x.ndim)
    if not x.ndim:
        if not on_device(x.dtype):  # the object itself, or a string
            return np.asarray(host_value(x._read()))[()]
        return getitem(x, ())
    return sliced(x, *[slice(None, None, -1 if i in axes else 1) for i in range(x.ndim)])


def flipud(m: Any) -> Array:
    """See `numpy.flipud`."""
    x = viewable(m)
    if x.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(x, 0)


def fliplr(m: Any) -> Array:
    """See `numpy.fliplr`."""
    x = viewable(m)
    if x.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(x, 1)


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Array:
    """See `numpy.rot90`: a view."""
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    x = viewable(m)
    n = x.ndim
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == n:
        raise ValueError("Axes must be different.")
    if not all(-n <= a < n for a in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={n}.")
    k = operator.index(k) % 4
    if k == 0:
        return sliced(x, slice(None))
    if k == 2:
        return flip(x, axes)
    order = list(range(n))
    order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    if k == 1:
        return view_transpose(flip(x, axes[1]), order)
    return flip(view_transpose(x, order), axes[1])
