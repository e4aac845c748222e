"""Slices of unknown size (`_parts`) in order: `np.sort(x[:i])`, `np.median(x[:i])`, and
`sorted(x[:i])` in a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array, new_array, new_scalar
from lazynp.functions import sorting
from lazynp.functions._parts import Part
from lazynp.functions._regions import Region, count, ends, within
from lazynp.primitives import elementwise


def least(dtype: np.dtype[Any], name: str) -> Any:
    """What changes no maximum or minimum."""
    if dtype.kind == "f":
        return -np.inf if name == "max" else np.inf
    if dtype.kind == "b":
        return name == "min"
    limits = np.iinfo(dtype)
    return limits.min if name == "max" else limits.max


def in_order(x: Part, axis: Any = -1) -> Part:
    """The elements of a slice of one axis: what is outside of it comes last."""
    if x.ndim != 1 or axis not in (None, 0, -1) or x.dtype.kind not in "biuf":
        return x.unknown()  # type: ignore[no-any-return]
    (region,) = x.regions
    if region is None:
        return x.unknown()  # type: ignore[no-any-return]
    exact = within(region) and ends(count(region))[0] >= 0
    size = count(region) if exact else region.size()
    last = np.nan if x.dtype.kind == "f" else least(x.dtype, "min")
    made = Region(0, size, x.whole.shape[0], like=region)
    return Part(sorting.sort(x.filled(last)), (made,))


def median(x: Part, axis: Any = None) -> Any:
    """The middle of a slice of one axis; nan if it holds one, or nothing."""
    found = in_order(x, axis)
    if x.dtype.kind == "b" or not found.whole.shape[0]:
        return x.unknown()
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    values = found.whole.astype(dtype)
    size: Any = found.regions[0].bounds[1]  # type: ignore[union-attr]

    def at(place: Any) -> Array:
        return values[new_scalar(elementwise.maximum(place, 0)._read())]  # type: ignore[return-value]

    below, above = at((size - 1) // 2), at(size // 2)
    last = at(size - 1)  # where nan comes
    middle = elementwise.select(elementwise.equal(size % 2, 1), below, (below + above) / 2)
    lost = elementwise.logical_or(elementwise.isnan(last), elementwise.equal(size, 0))
    nan = new_array(elementwise.convert(np.nan, dtype=dtype)._read())
    return new_scalar(elementwise.select(lost, nan, middle)._read())


class Sorted:
    """`sorted(x[:i])`: a list of unknown length. It has elements, a length, and can be looped over;
    whatever else lists can do raises the error of a bound that is only traced.
    """

    __slots__ = ("_part",)
    _stands_for_traced = _unsized = True
    ndim = 1

    def __init__(self, part: Part) -> None:
        self._part = part

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._part.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        return self._part.shape

    @property
    def whole(self) -> Array:
        return self._part.whole

    def rows(self) -> tuple[Any, Any, Callable[[Any], Any]]:
        return self._part.rows()

    def array(self, *_: Any, **__: Any) -> Any:
        return self._part.unknown()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            found = self._part[index]
            return Sorted(found) if type(found) is Part else list(found)
        return self._part[index]

    __len__ = __iter__ = __contains__ = __add__ = __radd__ = __mul__ = __rmul__ = array
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = array
    __array__ = __array_ufunc__ = __array_function__ = array
    __hash__ = None  # type: ignore[assignment]


def _listed(x: Part) -> Sorted:
    return Sorted(in_order(x))


Part.listed = _listed  # type: ignore[attr-defined]
