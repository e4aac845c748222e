"""Joining slices of unknown size (`_parts`): `np.append(x, y)`, `np.vstack([rows, row])`, and
differences of neighbours.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._node import aval_of_node
from lazynp.functions import ufuncs
from lazynp.functions._operands import as_array, cast
from lazynp.functions._parts import Part, resized, windowed
from lazynp.functions._regions import INT, Region, count, ends, fitted
from lazynp.primitives import elementwise, shaping


def joined(xs: Any, axis: Any = 0) -> Any:
    """`np.concatenate` of parts and arrays."""
    some = next(x for x in xs if type(x) is Part)
    given = [x if type(x) is Part else as_array(x) for x in xs]
    if type(axis) is not int or any(x.ndim != some.ndim for x in given):
        return some.unknown()
    if not -some.ndim <= axis < some.ndim:
        return some.unknown()
    axis %= some.ndim
    dtype = functools.reduce(np.promote_types, [x.dtype for x in given])
    if dtype.kind not in "biufc":
        return some.unknown()
    wholes = [_whole(x, some, axis, dtype) for x in given]
    sizes = [_size(x, axis) for x in given]
    total: Any = 0
    starts = []
    for n in sizes:
        if ends(n)[0] < 0:
            return some.unknown()
        starts.append(total)
        total = total + n if type(total) is type(n) is int else elementwise.add(total, n)
    length = min(sum(w.shape[axis] for w in wholes), max(ends(total)[1], 0))
    out = fitted(wholes[0], axis, length)
    for w, start in zip(wholes[1:], starts[1:], strict=True):
        out = _written(out, w, axis, start)
    regions = (*some.regions[:axis], Region(0, total, length), *some.regions[axis + 1 :])
    return Part(out, regions)


def _whole(x: Any, some: Part, axis: int, dtype: np.dtype[Any]) -> Array:
    """A window of the array that begins with its first place."""
    if type(x) is not Part:
        if any(some.regions[a] or n != some.whole.shape[a] for a, n in enumerate(x.shape)
               if a != axis):  # fmt: skip
            return some.unknown()
        return cast(new_array(x._read()), dtype)
    region = x.regions[axis]
    own = None if region is None else Region(0, count(region), region.length)
    wanted = (*some.regions[:axis], own, *some.regions[axis + 1 :])
    shape = (*some.whole.shape[:axis], x.whole.shape[axis], *some.whole.shape[axis + 1 :])
    found = resized(x, wanted, shape)
    return some.unknown() if found is None else cast(found, dtype)


def _size(x: Any, axis: int) -> Any:
    region = x.regions[axis] if type(x) is Part else None
    if region is not None:
        return count(region)
    return (x.whole if type(x) is Part else x).shape[axis]


def _written(out: Array, x: Array, axis: int, start: Any) -> Array:
    """The array with another in it, which may reach behind its end."""
    last = ends(start)[1]
    more = max(last + x.shape[axis] - out.shape[axis], 0)
    length = out.shape[axis]
    wide = fitted(out, axis, length + more)
    wide = shaping.update_slice(
        wide, x, start, axes=(axis,), sizes=(x.shape[axis],), strides=(1,), shape=x.shape
    )
    return fitted(wide, axis, length)


def appended(x: Any, values: Any, axis: Any = None) -> Any:
    if axis is not None:
        return joined((x, values), axis)
    some = x if type(x) is Part else values
    flat = [v if type(v) is Part else as_array(v) for v in (x, values)]
    if any(type(v) is Part and v.ndim != 1 for v in flat):
        return some.unknown()
    return joined([v if type(v) is Part else new_array(v._read()).ravel() for v in flat])


def stacked(xs: Any) -> Any:
    """`np.vstack`"""
    given = [x if type(x) is Part else as_array(x) for x in xs]
    return joined([_row(x) if x.ndim < 2 else x for x in given])


def _row(x: Any) -> Any:
    return x[None] if type(x) is Part else new_array(x._read()).reshape(1, -1)


def beside(xs: Any) -> Any:
    """`np.hstack`"""
    given = [x if type(x) is Part else as_array(x) for x in xs]
    given = [x if type(x) is Part or x.ndim else new_array(x._read()).reshape(1) for x in given]
    return joined(given, 1 if given[0].ndim > 1 else 0)


def differences(x: Part, n: Any = 1, axis: Any = -1) -> Any:
    if n != 1 or type(axis) is not int or not -x.ndim <= axis < x.ndim:
        return x.unknown()
    before = (slice(None),) * (axis % x.ndim)
    function = ufuncs.not_equal if x.dtype.kind == "b" else ufuncs.subtract
    return function(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])


def counting(first: Any, last: Any, step: Any = 1) -> Part | None:
    """`np.arange` between ints and integers without a value, of which it is known how many there
    may be; else None.
    """
    if step not in (1, -1) or not all(map(_is_integer, (first, last))):
        return None
    ends_of = (last, first) if step == 1 else (first, last)
    size: Any = elementwise.subtract(*ends_of)
    least, most = ends(size)
    if least < 0 or most > _LONGEST:
        return None
    places = shaping.iota(shape=(most,), axis=0, dtype=INT)
    whole = elementwise.add(places, first) if step == 1 else elementwise.subtract(first, places)
    return windowed(new_array(whole._read()), (Region(0, size, most),))


_LONGEST = 1 << 24


def _is_integer(x: Any) -> bool:
    if type(x) is int:
        return True
    if not isinstance(x, Array) or x.ndim or x.dtype.kind != "i":
        return False
    return x.dtype == INT and aval_of_node(x._read()).shape == ()
