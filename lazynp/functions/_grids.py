"""Grids of coordinates, and the objects with index syntax: mgrid, ogrid, r_, c_."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar
from lazynp._avals import SCALAR_DTYPES, on_device
from lazynp._dimensions import as_number, size_of
from lazynp._extents import broadcast_shapes, known_empty
from lazynp._flush import host_value
from lazynp._recorder import local
from lazynp._sizes import is_size, largest, sized
from lazynp._values import knowable
from lazynp._views import reshape as view_reshape, transpose
from lazynp.functions import ufuncs
from lazynp.functions._arguments import (
    SMALL,
    dtype_argument,
    from_numpy,
    own,
    reshaped,
    shape_argument,
    sliced,
    static,
    viewable,
)
from lazynp.functions._construct import array, asarray
from lazynp.functions._eager import FILLED, by_numpy, created, done_by_numpy
from lazynp.functions._host import to_host
from lazynp.functions._joining import concatenate
from lazynp.functions._likes import as_its_like
from lazynp.functions._operands import as_array, cast
from lazynp.functions._places import places
from lazynp.functions._placing import beside
from lazynp.functions._ranges import arange, differentiated, linspace, still
from lazynp.functions._releases import SINCE_2_5
from lazynp.functions._shapes import broadcast_warning, reshape
from lazynp.functions._subclass import joined_in_class
from lazynp.primitives import shaping


@by_numpy(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """See `numpy.meshgrid`. With `copy=False`, see `broadcast_arrays`."""
    ndim = len(xi)
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    places = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        places[:2] = [1, 0]
    grids = []
    for x, place in zip(xi, places, strict=True):
        x = viewable(x)
        shape = tuple(x.size if i == place else 1 for i in range(ndim))
        grids.append(view_reshape(x, shape))
    if not sparse:
        full = broadcast_shapes(*[g.shape for g in grids])
        if any(g.shape != full for g in grids):
            grids = [broadcast_warning(g, full) for g in grids]
    if copy:
        return beside(tuple(map(own, grids)), *xi)
    return grids if sparse and not SINCE_2_5 else tuple(grids)  # as NumPy has it


@created(np.indices)
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """See `numpy.indices`."""
    shape = shape_argument(tuple(dimensions))
    dtype, ndim = dtype_argument(dtype), len(shape)
    if not sized(shape) and math.prod(shape) * ndim <= SMALL or not on_device(dtype):
        found = np.indices(shape, dtype, sparse)
        return beside(tuple(map(from_numpy, found)) if sparse else from_numpy(found))
    if sparse:
        return tuple(
            reshaped(arange(n, dtype=dtype), tuple(n if i == k else 1 for k in range(ndim)))
            for i, n in enumerate(shape)
        )
    grids = [shaping.iota(shape=(1, *shape), axis=i + 1, dtype=dtype) for i in range(ndim)]
    return beside(grids[0] if ndim == 1 else shaping.concatenate(*grids, axis=0))


@as_its_like
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    """See `numpy.fromfunction`."""
    return function(*indices(shape, dtype), **kwargs)


def ix_(*args: Any) -> tuple[Array, ...]:
    """See `numpy.ix_`. Masks are computed, because they determine the shape."""
    out, ndim = [], len(args)
    for k, x in enumerate(args):
        x = x if isinstance(x, (Array, np.ndarray)) else asarray(x)
        listed = not isinstance(args[k], (Array, np.ndarray))
        x = as_array(cast(x, np.intp) if listed and known_empty(x.size) else x)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.dtype.kind == "b":
            found = None if knowable(x._read()) else places(x)
            known = found is None
            x = from_numpy(np.flatnonzero(host_value(x._read()))) if known else found[0]
        out.append(reshape(x, (1,) * k + (x.size,) + (1,) * (ndim - k - 1)))
    return tuple(out)


# -- mgrid, ogrid ----------------------------------------------------------------------------------


def _is_count(step: Any) -> bool:
    return isinstance(step, (complex, np.complexfloating))


def _bound(x: Any) -> Any:
    """Where a grid begins or ends: a number, a size, or a number that is differentiated by."""
    if differentiated(x):
        return x
    found = size_of(x) if isinstance(x, Array) and not x.ndim and x.dtype.kind in "iu" else None
    return found if is_size(found) else static(x)


_REAL = (int, float)


def _is_small(key: tuple[Any, ...]) -> bool:
    """Whether these are slices of Python's numbers which make a small grid, or none. Where
    operations run at once, a grid may be as large as an array that is filled at once.
    """
    size, most = len(key), FILLED if local.recorder.backend.largest() else SMALL
    for s in key:
        start, stop, step = s.start or 0, s.stop, s.step or 1
        if type(start) not in _REAL or type(stop) not in _REAL:
            return False
        if type(step) is not complex and type(step) not in _REAL:
            return False
        count = abs(step) if type(step) is complex else (stop - start) / step
        if count <= -1:
            return True  # NumPy's error
        size *= max(count, 0)
    return size <= most  # not for a nan


def _steps_between(start: Any, stop: Any, step: Any) -> Any:
    if (is_size(start) or is_size(stop)) and type(step) is int and step:
        return largest(-((start - stop) // step), 0)
    start, stop, step = still(start), still(stop), still(step)
    return max(math.ceil((stop - start) / step), 0)


def _axes(ndim: int) -> list[tuple[slice | None, ...]]:
    """Where each line of a sparse grid lies: by newaxis, which shows in the strides."""
    return [tuple([slice(None) if i == k else None for i in range(ndim)]) for k in range(ndim)]


class nd_grid:
    """`mgrid[slices]` and `ogrid[slices]`: see `numpy.mgrid`."""

    __slots__ = ("sparse",)

    def __init__(self, sparse: bool = False) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return self._line(key)
        if _is_small(key):
            if not self.sparse:
                return beside(from_numpy(np.mgrid[key]))
            found = [beside(from_numpy(x.reshape(-1))) for x in np.ogrid[key]]
            return tuple([line[at] for line, at in zip(found, _axes(len(key)), strict=True)])
        parts = [
            [0 if s.start is None else _bound(s.start), _bound(s.stop),
             1 if s.step is None else _bound(s.step)]
            for s in key
        ]  # fmt: skip
        sizes, known = [], [0]
        for p in parts:
            start, stop, step = p
            if _is_count(step):
                step = abs(step)
                sizes.append(int(step))
                p[2] = 1 if int(step) == 1 else (stop - start) / float(int(step) - 1)
            else:
                sizes.append(_steps_between(start, stop, step))
            known += [0 if is_size(n) else getattr(n, "dtype", n) for n in (start, stop, step)]
        ndim = len(parts)
        dtype = np.result_type(*known)
        lines = []
        for k, (size, (start, _, step)) in enumerate(zip(sizes, parts, strict=True)):
            steps = ufuncs.multiply(arange(size, dtype=dtype), step)
            begin = start if isinstance(start, Array) else as_number(start)
            line = cast(ufuncs.add(steps, begin), dtype)
            if self.sparse:
                lines.append(sliced(line, *_axes(ndim)[k]))
                continue
            lines.append(reshaped(line, tuple(size if i == k else 1 for i in range(ndim))))
        if self.sparse:
            return tuple(lines)
        shape = (1, *sizes)
        dims = tuple(range(1, ndim + 1))
        grids = [shaping.broadcast_in_dim(x, shape=shape, dims=dims) for x in lines]
        return grids[0] if ndim == 1 else shaping.concatenate(*grids, axis=0)

    def _line(self, key: slice) -> Array:
        start = 0 if key.start is None else _bound(key.start)
        stop, step = _bound(key.stop), _bound(key.step)
        if not _is_count(step):
            return arange(start, stop, step)
        length = int(abs(step))
        step = 1 if length == 1 else (stop - start) / float(length - 1)
        dtype = np.result_type(*[getattr(n, "dtype", n) for n in (start, stop, abs(key.step))])
        line = ufuncs.multiply(arange(0, length, 1, dtype=dtype), step)
        return ufuncs.add(line, start)


mgrid = nd_grid(sparse=False)
ogrid = nd_grid(sparse=True)


# -- r_, c_ ----------------------------------------------------------------------------------------


class AxisConcatenator:
    """`r_[...]` and `c_[...]`: see `numpy.r_`."""

    __slots__ = ("_numpys", "axis", "ndmin", "trans1d")

    def __init__(self, axis: int = 0, ndmin: int = 1, trans1d: int = -1) -> None:
        self.axis, self.ndmin, self.trans1d = axis, ndmin, trans1d
        kind: Any = type(np.c_).__mro__[1]
        self._numpys = kind(axis, ndmin=ndmin, trans1d=trans1d)

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Array:
        items = list(key) if isinstance(key, tuple) else [key]
        if items and isinstance(items[0], str) and items[0] in ("r", "c"):
            made: Any = self._numpys[to_host(tuple(items))]
            return made  # a matrix
        done = done_by_numpy(lambda *values: self._numpys[values], *items)
        if done is not None:
            return done
        axis, ndmin, trans1d = self.axis, self.ndmin, self.trans1d
        if items and isinstance(items[0], str):
            axis, ndmin, trans1d = self._directive(items.pop(0))
        parts, known = [], []
        for item in items:
            if isinstance(item, str):
                raise ValueError("special directives must be the first entry.")
            if _is_scalar(item):
                parts.append(array(item, ndmin=ndmin))
                known.append(item if type(item) in SCALAR_DTYPES else parts[-1].dtype)
                continue
            part = _of_slice(item) if isinstance(item, slice) else asarray(item)
            parts.append(_raised(part, ndmin, trans1d, isinstance(item, slice)))
            known.append(part.dtype)
        if known:
            dtype = np.result_type(*known)
            parts = [cast(p, dtype) for p in parts]
        return joined_in_class(concatenate(parts, axis=axis), items)

    def _directive(self, text: str) -> tuple[int, int, int]:
        numbers = text.split(",")
        try:
            if len(numbers) == 1:
                return int(text), self.ndmin, self.trans1d
            trans1d = int(numbers[2]) if len(numbers) == 3 else self.trans1d
            return int(numbers[0]), int(numbers[1]), trans1d
        except ValueError as error:
            what = "unknown special directive"
            raise ValueError(f"{what} {text!r}" if len(numbers) > 1 else what) from error


def _is_scalar(item: Any) -> bool:
    return isinstance(item, (Scalar, np.generic)) or type(item) in SCALAR_DTYPES


def _of_slice(item: slice) -> Array:
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if _is_count(step):
        return linspace(start, item.stop, num=int(abs(step)))
    return arange(start, item.stop, step)


def _raised(part: Array, ndmin: int, trans1d: int, from_slice: bool) -> Array:
    """Raise to at least ndmin dimensions; trans1d says where the original ones go."""
    had = part.ndim
    if had >= ndmin:
        return part
    part = reshaped(part, (1,) * (ndmin - had) + part.shape)
    if trans1d == -1:
        return part
    if from_slice:
        axes = list(range(ndmin))
        axes[-1], axes[trans1d] = axes[trans1d], axes[-1]
        return transpose(part, axes)
    added = ndmin - had
    first = trans1d + added + 1 if trans1d < 0 else trans1d
    axes = list(range(ndmin))
    return transpose(part, axes[:first] + axes[added:] + axes[first:added])


class _Index:
    """`s_` and `index_exp`: see `numpy.s_`."""

    __slots__ = ("maketuple",)

    def __init__(self, maketuple: bool) -> None:
        self.maketuple = maketuple

    def __getitem__(self, item: Any) -> Any:
        return (item,) if self.maketuple and not isinstance(item, tuple) else item


r_ = AxisConcatenator(0)
c_ = AxisConcatenator(-1, ndmin=2, trans1d=0)
s_ = _Index(maketuple=False)
index_exp = _Index(maketuple=True)
