"""`x[mask]` with a traced mask, whose number of elements is unknown.

The most common uses work nevertheless: elementwise functions, storing by the same mask again, sums
and similar reductions. `x[m] *= 2`, `x[m] = sqrt(x[m]) + y[m]`, `x[m].mean()`. The mask may stand
beside slices, and other axes may be indexed: `f[:, m] = f[:, m][order]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array, new_scalar
from lazynp._dimensions import as_number, count_where_made, table
from lazynp._flush import host_value
from lazynp._recorder import local, user_position
from lazynp._steps import expand_ellipsis
from lazynp._tree import register_pytree_node
from lazynp._values import alike
from lazynp.functions._assigned import assigned
from lazynp.functions._operands import as_array, broadcast, cast
from lazynp.functions._places import places_of
from lazynp.functions._with_size import arrays, with_size
from lazynp.primitives import elementwise, indexing, reduction, shaping


class Selection:
    """The elements of an array that a mask selects, of neighbouring axes, of which `first` is the
    first.

    It holds all elements of the array, with 1 in place of unselected ones. There, functions and
    their derivatives are defined; the derivatives are multiplied by zero later.

    What needs the number of elements, or writes them, makes an array of them, once. After a write
    to that array, or to a view of it, the selection is that array. of: the selection of which this
    one is a view, and the index.
    """

    __slots__ = (
        "_made", "_node", "_of", "_recorder", "first", "mask", "named", "spread", "where", "whole",
    )  # fmt: skip
    _unsized = _stands_for_traced = True

    def __init__(self, whole: Array, mask: Array, first: int = 0, of: Any = None) -> None:
        self.whole, self.mask, self.first = whole, mask, first
        self.spread = spread_mask(mask, first, whole.shape)  # in the shape of `whole`
        self.where = user_position()
        self._recorder, self._of = local.recorder, of
        self._made: Array | None = None
        self._node: Any = None  # that of the array when it was made
        self.named = False  # whether other names may be for it, which a write would have to reach

    @property
    def written(self) -> bool:
        """Whether the array has what this selection has not."""
        if self._of is not None:
            return self._of[0].written
        return self._made is not None and self._made._read() is not self._node

    @property
    def _of_this_body(self) -> bool:
        """Whether the body that is being traced has made it, and so may change it in place."""
        return self._recorder is local.recorder

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
        if any([type(x) is Selection and x.written for x in operands]):
            return function(*arrays(tuple(operands)))
        if table() is None:
            return self._applied(function, operands)
        try:
            return self._applied(function, operands)
        except TypeError:
            return function(*arrays(tuple(operands)))

    def _applied(self, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        wholes = [self._whole_of(x) for x in operands]
        found = function(*wholes)
        parts = found if isinstance(found, tuple) else (found,)
        first = max(x.first for x in operands if type(x) is Selection)
        first = max(first, *[f.ndim - self.mask.ndim - self.behind for f in parts])
        made = tuple([Selection(f, self.mask, first) for f in parts])
        return made if isinstance(found, tuple) else made[0]

    @property
    def behind(self) -> int:
        """How many axes come after that of what is selected."""
        return self.whole.ndim - self.mask.ndim - self.first

    def _whole_of(self, x: Any) -> Any:
        if type(x) is Selection:
            if not self.fits(x.mask) or x.behind != self.behind:
                raise TypeError(
                    "x[m] and y[n] are of masks that are only traced, and not known to be equal; "
                    "select by one mask, or use where(m, x, 0)"
                )
            return x.whole
        shape = np.shape(x)
        at = len(shape) - self.behind - 1  # the axis that meets that of what is selected
        if at < 0:
            return x
        if shape[at] != 1:
            raise TypeError(
                f"x[m] beside an array of shape {shape}: m is only traced, so how many "
                "elements it selects is not known; index the array by m too"
            )
        return as_array(
            x
        ).reshape(  # type: ignore[attr-defined]
            (*shape[:at], *[1] * self.mask.ndim, *shape[at + 1 :])
        )

    def fits(self, mask: Array) -> bool:
        """Whether this mask made the selection."""
        return mask.shape == self.mask.shape and alike(mask._read(), self.mask._read())

    def reduced(self, function: Callable[..., Any], axis: Any, options: dict[str, Any]) -> Any:
        """`function(self, axis=axis)`, over everything, over what is selected, or along another
        axis.
        """
        if axis is None:
            kept = options.pop("keepdims", False) is True
            out = function(self.whole, where=self.spread, **options)
            return as_array(out).reshape((1,) * self.ndim) if kept else out  # type: ignore[attr-defined]
        if type(axis) is not int or not -self.ndim <= axis < self.ndim:
            return self.unknown()
        axis, wide = axis % self.ndim, self.mask.ndim
        if axis == self.first:
            kept = options.pop("keepdims", False) is True
            axes = tuple(range(axis, axis + wide))
            out = function(self.whole, axis=axes, where=self.spread, **options)
            return as_array(out).reshape(  # type: ignore[attr-defined]
                (*out.shape[:axis], 1, *out.shape[axis:])) if kept else out  # fmt: skip
        before = axis < self.first
        out = function(self.whole, axis=axis if before else axis + wide - 1, **options)
        kept = out.ndim == self.whole.ndim
        return Selection(out, self.mask, self.first - (before and not kept))

    def covers(self, axis: Any) -> bool:
        """Whether a reduction along this axis, or None, meets what is selected."""
        return type(axis) is not int or axis % self.ndim == self.first

    @with_size
    def __getitem__(self, index: Any) -> Any:
        """An index of other axes: of ints and slices, or one array of ints."""
        items = index if type(index) is tuple else (index,)
        if sum(i is Ellipsis for i in items) > 1 or any(i is None for i in items):
            return self.unknown()
        if len(items) - any(i is Ellipsis for i in items) > self.ndim:
            return self.unknown()
        items = expand_ellipsis(items, self.ndim)
        basic = [isinstance(i, (int, np.integer, slice)) for i in items]
        whole = isinstance(items[self.first], slice) and items[self.first] == slice(None)
        if not whole or not all(basic) and sum(_is_all(i) for i in items) != self.ndim - 1:
            return self.unknown()
        if not all(basic) and np.ndim(items[basic.index(False)]) != 1:
            return self.unknown()
        before, after = items[: self.first], items[self.first + 1 :]
        chosen = self.whole[(*before, *[slice(None)] * self.mask.ndim, *after)]
        first = sum(not isinstance(i, (int, np.integer)) for i in before)
        return Selection(chosen, self.mask, first, (self, tuple(items)) if all(basic) else None)

    def array(self) -> Array:
        """What is selected, as an array, where the number of elements may be a size. Within loops
        and branches that come later, it is another one each time, which must not be written.
        """
        if self._made is not None:
            return self._made
        made: Any = self._of[0].array()[self._of[1]] if self._of is not None else self._array()
        if local.recorder is self._recorder:
            self._made, self._node = made, made._read()
        if self.named or local.recorder is not self._recorder and self._of is None:
            made._flags = {"readonly": _refusal}
        return made

    def _array(self) -> Array:
        self.mask._read()  # from here on, a loop or branch has it from outside
        count = count_where_made(self.mask)
        if count is None:
            return self.unknown()
        if self.mask.ndim == self.whole.ndim:
            return indexing.take_mask(self.whole, self.mask, size=count)
        places = places_of(self.mask, count)
        axes = tuple(range(self.first, self.first + self.mask.ndim))
        out = indexing.take(self.whole, *places, axes=axes)
        if self.first:
            order = (*range(1, self.first + 1), 0, *range(self.first + 1, out.ndim))
            out = shaping.transpose(out, permutation=order)
        return out

    def _lazynp_taken_apart(self) -> Any:
        """What loops and branches carry of it. After a write, that is the array."""
        return self.array() if self.written else Selected(self.whole, self.mask, self.first)

    def rows(self) -> tuple[Any, Any, Callable[[Any], Any]]:
        """What lies along the first axis: where that begins, how many, and each."""
        if self.written:
            made = self.array()
            return 0, as_number(made.shape[0]), lambda i: made[i]
        if self.first:
            count = self.whole.shape[0]
            return 0, count, lambda i: Selection(self.whole[i], self.mask, self.first - 1)
        places = places_of(self.mask, self.mask.size)
        ones = elementwise.convert(self.mask, dtype=np.dtype(np.int64))
        count = reduction.reduce_sum(ones, axes=tuple(range(self.mask.ndim)))
        return 0, new_scalar(count._read()), lambda i: self.whole[tuple([p[i] for p in places])]

    def unknown(self, *_: Any, **__: Any) -> Any:
        """Raise the error that says the mask has no value, at the line that selects."""
        before, local.where = local.where, self.where
        try:
            return host_value(self.mask._read())
        finally:
            local.where = before

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            return getattr(self.array(), name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.array()

    def __array_namespace__(self, **options: Any) -> Any:
        return self.whole.__array_namespace__(**options)  # type: ignore[attr-defined]

    def __setitem__(self, index: Any, value: Any) -> None:
        if table() is None:
            raise _refusal()
        array: Any = self.array()
        array[arrays(index)] = arrays(value)

    def changed_by(self, function: Callable[..., Any], other: Any) -> Any:
        """`self += other`, and the like."""
        if self.named:
            raise _refusal()
        if self._made is None and self._of is None:
            out = function(self, other)
            if local.recorder is not self._recorder:
                return out  # another value of the variable
            same = type(out) is Selection and out.first == self.first and out.ndim == self.ndim
            if same and np.can_cast(out.dtype, self.dtype, "same_kind"):
                self.whole = cast(out.whole, self.dtype)
                return self
            if table() is None:
                return out
        array, other = self.array(), arrays(other)
        function(array, other, out=array)
        return self

    __len__ = __iter__ = __bool__ = __float__ = __int__ = unknown
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.dtype} elements of {self.whole.aval}, selected by a traced mask>"


class Selected:
    """What a selection holds, as a tree. After a loop or branch, it is of another one: which arrays
    of Python's that would be is not known, so it must not be written.
    """

    __slots__ = ("first", "mask", "whole")

    def __init__(self, whole: Any, mask: Any, first: int) -> None:
        self.whole, self.mask, self.first = whole, mask, first

    def _lazynp_together(self) -> Selection:
        made = Selection(self.whole, self.mask, self.first)
        made.named = True
        return made


register_pytree_node(
    Selected,
    lambda x: ((x.whole, x.mask), x.first),
    lambda first, parts: Selected(parts[0], parts[1], first),
)


def _refusal(*_: Any) -> BaseException:
    return TypeError(
        "x[mask] cannot be written while the mask is only traced: copy it first "
        "(y = x[mask].copy(), y[i] = ...), assign to x[mask] itself, or write y = y * 2 for y *= 2"
    )


def _is_all(item: Any) -> bool:
    return isinstance(item, slice) and item == slice(None)


def selection(x: Array, mask: Array, first: int = 0) -> Selection:
    """`x[mask]`. The mask covers axes of x from `first` on; shapes have been checked."""
    mask = new_array(mask._read())  # as it is now
    one = shaping.full(1, shape=(), dtype=x.dtype)
    spread = spread_mask(mask, first, x.shape)
    return Selection(elementwise.select(spread, new_array(x._read()), one), mask, first)


def spread_mask(mask: Array, first: int, shape: tuple[int, ...]) -> Array:
    """The mask in the shape of an array whose axes it covers from `first` on."""
    behind = (1,) * (len(shape) - first - mask.ndim)
    spread = shaping.reshape(mask, shape=mask.shape + behind) if behind else mask
    return broadcast(spread, shape)


def store_selection(target: Array, mask: Array, first: int, value: Selection) -> None:
    """`target[mask] = value`"""
    behind = target.ndim - mask.ndim - first
    if not value.fits(mask) or value.behind != behind or value.first > first:
        if table() is None:
            value.unknown()
        target[(*[slice(None)] * first, mask)] = value.array()  # type: ignore[index]
        return
    assigned(value.whole, target.dtype, target.shape)  # for its warning
    values = broadcast(cast(value.whole, target.dtype), target.shape)
    spread = spread_mask(mask, first, target.shape)
    target[...] = elementwise.select(spread, values, new_array(target._read()))  # type: ignore[index]
