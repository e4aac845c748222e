"""`x[mask]` with a traced mask, whose number of elements is unknown.

The most common uses work nevertheless: elementwise functions, storing by the same mask again, sums
and similar reductions. `x[m] *= 2`, `x[m] = sqrt(x[m]) + y[m]`, `x[m].mean()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._flush import host_value
from lazynp._node import ARGS, OP, VALUE, Tracer
from lazynp._recorder import local, user_position
from lazynp._values import knowable
from lazynp.functions._operands import broadcast
from lazynp.primitives import elementwise, shaping

_DEEP = 16  # operations to search when comparing two masks


class Selection:
    """The elements of an array that a mask of its leading axes selects.

    It holds all elements of the array, with 1 in place of unselected ones. There, functions and
    their derivatives are defined; the derivatives are multiplied by zero later.
    """

    __slots__ = ("mask", "spread", "where", "whole")

    def __init__(self, whole: Array, mask: Array, spread: Array) -> None:
        # spread: the mask in the shape of `whole`
        self.whole, self.mask, self.spread = whole, mask, spread
        self.where = user_position()

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.whole.dtype

    @property
    def ndim(self) -> int:
        return 1 + self.whole.ndim - self.mask.ndim

    def apply(self, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """Apply an elementwise function to such selections and to values that are the same for all,
        or for each row.
        """
        wholes = [self._whole_of(x) for x in operands]
        found = function(*wholes)
        if isinstance(found, tuple):
            return tuple([Selection(f, self.mask, self.spread) for f in found])
        return Selection(found, self.mask, self.spread)

    def _whole_of(self, x: Any) -> Any:
        if type(x) is Selection:
            if not self.fits(x.mask):
                raise TypeError(
                    "x[m] and y[n] are of masks that are only traced, and not known to be equal; "
                    "select by one mask, or use where(m, x, 0)"
                )
            return x.whole
        if np.ndim(x) >= self.ndim:
            raise TypeError(
                f"x[m] beside an array of shape {np.shape(x)}: m is only traced, so how many "
                "elements it selects is not known; index the array by m too"
            )
        return x

    def fits(self, mask: Array) -> bool:
        """Whether this mask made the selection."""
        return mask.shape == self.mask.shape and _same(mask._read(), self.mask._read(), _DEEP)

    def reduced(self, function: Callable[..., Any], axis: Any, options: dict[str, Any]) -> Any:
        """`function(self, axis=axis)`, over everything selected or along its first axis."""
        if axis is not None and axis not in (0, -self.ndim):
            self.unknown()
        axes = None if axis is None else tuple(range(self.mask.ndim))
        return function(self.whole, axis=axes, where=self.spread, **options)

    def unknown(self, *_: Any, **__: Any) -> Any:
        """Raise the error that says the mask has no value, at the line that selects."""
        before, local.where = local.where, self.where
        try:
            return host_value(self.mask._read())
        finally:
            local.where = before

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            self.unknown()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    __array__ = __len__ = __iter__ = __getitem__ = __bool__ = __float__ = __int__ = unknown
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.dtype} elements of {self.whole.aval}, selected by a traced mask>"


def selection(x: Array, mask: Array) -> Selection:
    """`x[mask]`. The mask covers leading axes of x; shapes have been checked."""
    rest = (1,) * (x.ndim - mask.ndim)
    mask = new_array(mask._read())  # as it is now
    spread = shaping.reshape(mask, shape=mask.shape + rest) if rest else mask
    spread = broadcast(spread, x.shape)
    one = shaping.full(1, shape=(), dtype=x.dtype)
    return Selection(elementwise.select(spread, x, one), mask, spread)


def _same(a: Any, b: Any, deep: int) -> bool:
    """Whether two nodes (or operands) certainly have the same value: they were made the same way,
    or their values are equal.
    """
    if a is b:
        return True
    if type(a) is not list or type(b) is not list:
        return type(a) is type(b) and not isinstance(a, (list, Array)) and bool(a == b)
    v, w = a[VALUE], b[VALUE]
    if isinstance(v, Tracer) or isinstance(w, Tracer):
        return _same_tracer(v, w, deep)
    if (
        deep
        and a[OP] is not None
        and a[OP] is b[OP]
        and v is None
        and w is None
        and len(a[ARGS]) == len(b[ARGS])
        and all(_same(p, q, deep - 1) for p, q in zip(a[ARGS], b[ARGS], strict=True))
    ):
        return True
    return knowable(a) and knowable(b) and np.array_equal(host_value(a), host_value(b))


def _same_tracer(v: Any, w: Any, deep: int) -> bool:
    if type(v) is not type(w) or v.trace is not w.trace or not deep:
        return False
    slots = [s for s in type(v).__slots__ if hasattr(v, s)]
    return bool(slots) and all(_same(getattr(v, s), getattr(w, s), deep - 1) for s in slots)
