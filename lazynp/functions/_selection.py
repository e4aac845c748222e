"""Choose between arrays: where, select, choose, and functions of masks."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar, from_host, new_array, write_lock
from lazynp._avals import SCALAR_DTYPES, on_device
from lazynp._extents import broadcast_shapes, known_empty, product, surely
from lazynp._flush import host_value
from lazynp._sizes import is_size, largest
from lazynp._strides import copied_order, in_common_order, in_order, out_of_order
from lazynp._values import knowable, seen_value
from lazynp.functions import _getset, ufuncs
from lazynp.functions._assigned import check_range
from lazynp.functions._checks import asking, refuse, refuse_outside
from lazynp.functions._eager import by_numpy
from lazynp.functions._host import host_call, host_into, needs_host, write_on_host
from lazynp.functions._integers import (
    checked_mode,
    flat,
    in_range,
    index_array,
    normalize_axis_index,
    repeated,
    target,
)
from lazynp.functions._operands import (
    as_array,
    broadcast,
    cast,
    kind_of,
    numpys,
    plain,
    scalar_if_0d,
    store,
)
from lazynp.functions._places import places, places_of, sized_places
from lazynp.functions._placing import beside
from lazynp.functions._refused import refused_as
from lazynp.functions._releases import SINCE_2_5
from lazynp.functions._stores import write_into
from lazynp.functions._written import by_writing
from lazynp.primitives import elementwise, indexing, reduction, shaping

_BOOL, _INT64 = np.dtype(bool), np.dtype(np.int64)


def _truth(x: Any) -> Array:
    """The elements that are true (nan is)."""
    return cast(as_array(x), _BOOL)


def _on_host(*xs: Any) -> bool:
    return needs_host(*[as_array(x) for x in xs if type(x) not in SCALAR_DTYPES])


def truth(x: Any) -> Array:
    """The elements that are true, as values."""
    return plain(_truth(x))


def asking_where(name: str) -> asking:
    return asking(f"{name}, whose shape it decides", f"Give {name} a size=, or use where(m, x, y)")


@by_numpy(np.nonzero)
def nonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> tuple[Any, ...]:
    """See `numpy.nonzero`. Computes `a`, because it determines the shape of the result.

    size (as in JAX, not in NumPy): a fixed number of places, so that `a` may be traced. Missing
    places are filled with fill_value (default: 0), which may be a tuple with one for each axis.
    """
    x = as_array(a)
    if not x.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead."
        )
    if size is not None:
        return _sized_nonzero(x, size if is_size(size) else operator.index(size), fill_value)
    found = None if knowable(x._read()) else places(truth(x))
    if found is not None:
        return found
    with asking_where("nonzero"):
        found = tuple(new_array(from_host(i)) for i in np.nonzero(seen_value(x._read())))
        return beside(found, x)


def _sized_nonzero(x: Array, size: int, fill_value: Any) -> tuple[Any, ...]:
    places = plain(sized_places(plain(flat(_truth(x))), size))
    missing = ufuncs.equal(places, x.size)
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value or 0,) * x.ndim
    if is_size(size):
        return places_of(truth(x), size)
    out = []
    for axis, fill in enumerate(fills):
        below = largest(product(x.shape[axis + 1 :]), 1)
        one = ufuncs.floor_divide(places, below)
        places = ufuncs.remainder(places, below)
        out.append(plain(elementwise.select(plain(missing), cast(fill, _INT64), plain(one))))
    return tuple(out)


_MISSING: Any = np._NoValue  # type: ignore[attr-defined]


@by_numpy(np.where)
def where(
    condition: Any,
    x: Any = _MISSING,
    y: Any = _MISSING,
    /,
    *,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    """See `numpy.where`. With one argument it computes it, unless it gets a size; see `nonzero`."""
    if x is _MISSING:
        return nonzero(condition, size=size, fill_value=fill_value)
    if y is _MISSING:
        raise ValueError("either both or neither of x and y should be given")
    if _is_ready(condition, x, y):
        try:
            out = numpys(elementwise.select(condition, x, y))
            return in_common_order(out, condition, x, y) if out_of_order(condition, x, y) else out
        except OverflowError:  # before 2.5, NumPy's `where` wraps a Python int out of range
            if SINCE_2_5:
                raise
    if _on_host(x, y):
        return host_call(np.where, condition, x, y)
    dtype = np.result_type(*[kind_of(v) for v in (x, y)])
    given = [_fitting(v, dtype) if SINCE_2_5 else _converted(v, dtype) for v in (x, y)]
    out = numpys(_picked(_truth(condition), *given))
    return in_common_order(out, condition, x, y) if out_of_order(condition, x, y) else out


def _is_ready(condition: Any, x: Any, y: Any) -> bool:
    """Whether the primitive accepts these as they are."""
    return (
        isinstance(condition, Array)
        and condition.dtype.kind == "b"
        and all(type(v) in (int, float) or isinstance(v, Array) for v in (x, y))
    )


def _fitting(x: Any, dtype: np.dtype[Any]) -> Array:
    """Convert; a Python int out of range is an error."""
    return as_array(np.asarray(x, dtype)) if type(x) in (int, float, complex) else cast(x, dtype)


def _converted(x: Any, dtype: np.dtype[Any]) -> Array:
    """Convert; a Python int out of range wraps around, as in NumPy's `select`."""
    if type(x) in (int, float, complex):
        return as_array(np.asarray(x).astype(dtype))
    return cast(as_array(x), dtype)


def _picked(condition: Array, x: Array, y: Array) -> Array:
    """`select` with broadcasting; returns an array, like `numpy.where`."""
    return elementwise.select(plain(condition), plain(x), plain(y))


@by_numpy(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """See `numpy.select`."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    choices = [*choicelist, default]
    if _on_host(*choices):
        return host_call(np.select, list(condlist), list(choicelist), default)
    dtype = np.result_type(*[kind_of(c) for c in choices])
    conditions = [as_array(c) for c in condlist]
    for k, c in enumerate(conditions):
        if c.dtype.kind != "b":
            raise TypeError(f"invalid entry {k} in condlist: should be boolean ndarray")
    arrays = [_converted(c, dtype) for c in choices]
    shape = broadcast_shapes(*[a.shape for a in (*conditions, *arrays)])
    result = arrays.pop()
    for condition, choice in zip(reversed(conditions), reversed(arrays), strict=True):
        result = _picked(condition, choice, result)
    return broadcast(plain(result), shape)


@by_numpy(np.choose)
@refused_as(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """See `numpy.choose`. Accepts any number of choices."""
    index = index_array(as_array(a), "safe")  # also floats in a list are refused
    mode = checked_mode(mode)
    choices = list(choices)
    arrays = [as_array(c) for c in choices]
    if not arrays:
        raise ValueError("invalid entry in choice array")
    weak = [type(c) in SCALAR_DTYPES for c in choices]
    if needs_host(*arrays):
        given = [c if is_weak else x for c, x, is_weak in zip(choices, arrays, weak, strict=True)]
        return host_into(np.choose, index, given, out=out, mode=mode)
    # a Python number takes the dtype of the others, and wraps
    kinds = [c if is_weak else kind_of(c) for c, is_weak in zip(choices, weak, strict=True)]
    dtype = np.result_type(*kinds)
    if mode == "raise":
        refuse_outside(index, len(arrays), ValueError, "invalid entry in choice array")
    else:
        index = in_range(index, len(arrays), mode)
    result: Array = cast(arrays[0], dtype)
    for k, choice in enumerate(arrays[1:], 1):
        result = _picked(ufuncs.equal(index, k), cast(choice, dtype), result)
    shape = broadcast_shapes(index.shape, *[c.shape for c in arrays])
    if out is not None and getattr(out, "shape", shape) != shape:
        raise TypeError("choose: invalid shape for output array.")
    result = broadcast(plain(result), shape)
    return store(scalar_if_0d(result), out, "unsafe")


# -- by masks --------------------------------------------------------------------------------------


@by_numpy(np.compress)
@refused_as(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """See `numpy.compress`. Computes `condition`, because it determines the shape of the result."""
    mask = as_array(condition)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    x = as_array(a)
    if needs_host(x):
        return host_into(np.compress, mask, x, axis, out=out)
    if x.ndim == 0:
        x = flat(x)
    x, axis = (flat(x), 0) if axis is None else (x, normalize_axis_index(axis, x.ndim))
    fits = surely(mask.aval.size <= x.aval.shape[axis]) and not knowable(mask._read())
    where = places(truth(mask)) if fits else None
    if where is None:
        found = np.flatnonzero(host_value(mask._read()))
        if 0 in x.shape[:axis] and x.shape[axis]:
            found = np.zeros_like(found)  # NumPy looks at a place where it takes something
        if found.size and found[-1] >= x.shape[axis]:
            raise IndexError(
                f"index {_first_beyond(found, x.shape[axis])} is out of bounds for axis {axis} "
                f"with size {x.shape[axis]}"
            )
        where = (new_array(from_host(found)),)
    result = indexing.take(plain(x), *where, axes=(axis,))
    if axis:
        order = (*range(1, axis + 1), 0, *range(axis + 1, result.ndim))
        result = shaping.transpose(result, permutation=order)
    if out is not None and not isinstance(out, (Array, np.ndarray)):
        raise TypeError("output must be an array")
    if out is not None and out.shape != result.shape:
        raise ValueError("output array does not match result of ndarray.take")
    if out is not None and out.dtype != x.dtype:
        check_taken(x.dtype, out.dtype)
    return store(result, out, "unsafe")


def check_taken(dtype: np.dtype[Any], into: np.dtype[Any]) -> None:
    """Raise or warn as this version of NumPy does: 2.4 requires that what is written fits into what
    is read, later versions that it is of the same kind.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        np.take(np.zeros(1, dtype), [0], out=np.zeros(1, into))
    for warning in told:
        # storing gives this warning
        if not issubclass(warning.category, np.exceptions.ComplexWarning):
            warnings.warn(str(warning.message), warning.category, stacklevel=4)


def _first_beyond(places: Any, size: int) -> int:
    return int(places[places >= size][0])


@by_numpy(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """See `numpy.extract`. Computes `condition`, because it determines the shape of the result."""
    return compress(flat(condition), arr)


def _safely(values: Any, dtype: np.dtype[Any]) -> Array:
    """The values that `place` and `putmask` store: arrays must fit without loss, lists are
    converted.
    """
    if not on_device(dtype) and (
        isinstance(values, Scalar) or not isinstance(values, (Array, np.ndarray))
    ):
        return as_array(np.array(values, dtype))
    found = as_array(values)
    check_range(values, found.dtype, dtype)
    if isinstance(values, (Array, np.ndarray)) and not isinstance(values, Scalar):
        if not np.can_cast(found.dtype, dtype, "safe"):
            raise TypeError(
                f"Cannot cast {'array data' if found.ndim else 'scalar'} from {found.dtype!r} to "
                f"{dtype!r} according to the rule 'safe'"
            )
    return found


@by_writing(np.place, 3)
@refused_as(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """See `numpy.place`. Does not compute the mask."""
    if write_into(arr, (mask, vals), lambda m, v, memory: np.place(memory, m, v), casts=True):
        return
    x, m = target(arr, "place() argument 1"), as_array(mask)
    v = _safely(vals, x.dtype)
    if x.size != m.size:
        raise ValueError("place: mask and data must be the same size")
    if needs_host(x):
        with write_on_host(x) as memory:
            np.place(memory, np.asarray(m), np.asarray(v))
        return
    empty = known_empty(v.size)
    if empty or is_size(v.size):
        wanting = _truth(m) if empty else ufuncs.logical_and(_truth(m), ufuncs.equal(v.size, 0))
        refuse(wanting, ValueError, "Cannot insert from an empty array!")
    if empty:
        return
    chosen = flat(_truth(m))
    if v.size == 1:
        spread = repeated(v, x.dtype, x.size)
    else:  # the n-th True takes the n-th value, cyclically
        nth = reduction.cumsum(cast(chosen, np.int64), axis=0)
        nth = ufuncs.remainder(ufuncs.subtract(nth, 1), largest(v.size, 1))
        values = repeated(v, x.dtype, v.size)
        if is_size(v.size):  # of no value, none is taken
            values = shaping.concatenate(
                values, shaping.full(0, shape=(1,), dtype=values.dtype), axis=0
            )
        spread = indexing.take(values, plain(nth), axes=(0,))
    _write_where(x, chosen, spread)


@by_writing(np.putmask, 3)
@refused_as(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """See `numpy.putmask`. Does not compute the mask."""
    if write_into(a, (mask, values), lambda m, v, memory: np.putmask(memory, m, v), casts=True):
        return
    x, m = target(a, "argument 1"), as_array(mask)
    v = _safely(values, x.dtype)
    if x.size != m.size:
        raise ValueError("putmask: mask and data must be the same size")
    if needs_host(x):
        with write_on_host(x) as memory:
            np.putmask(memory, np.asarray(m), np.asarray(v))
        return
    if not known_empty(v.size) and not known_empty(x.size):
        _write_where(x, flat(_truth(m)), repeated(v, x.dtype, x.size))


def _write_where(x: Array, mask: Array, values: Array) -> None:
    with write_lock:
        new = indexing.put_mask(flat(x), mask, values)
        x._write(shaping.reshape(new, shape=x.shape)._read())


@by_numpy(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """See `numpy.piecewise`. Computes the conditions of functions, and calls each function with its
    own elements. Under jit and vmap, where conditions are unknown, it calls each function with all
    of x. The function must then be elementwise, and its derivative must not be NaN where it is not
    chosen.
    """
    array = as_array(x)
    if _is_single(condlist) or (not _is_array_like(condlist[0]) and array.ndim != 0):
        condlist = [condlist]
    conditions = [_truth(c) for c in condlist]
    n = len(conditions)
    if n == len(funclist) - 1:
        some = conditions[0]
        for c in conditions[1:]:
            some = ufuncs.logical_or(some, c)
        conditions.append(ufuncs.logical_not(some))
    elif n != len(funclist):
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = in_order(shaping.full(0, shape=array.shape, dtype=array.dtype), copied_order(array))
    for condition, function in zip(conditions, funclist, strict=True):
        if not isinstance(function, Callable):
            _getset.setitem(y, plain(condition), function)
            continue
        if not knowable(plain(condition)._read()):
            every = cast(function(plain(array), *args, **kw), array.dtype)
            y = as_array(ufuncs.where_(condition, every, y))
            continue
        values = _getset.getitem(array, plain(condition))
        if values.size:
            _getset.setitem(y, plain(condition), function(values, *args, **kw))
    return y


def _is_single(x: Any) -> bool:
    return np.isscalar(x) or isinstance(x, Array) and not x.ndim


def _is_array_like(x: Any) -> bool:
    return isinstance(x, (list, np.ndarray)) or isinstance(x, Array) and x.ndim > 0
