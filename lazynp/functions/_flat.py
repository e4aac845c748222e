"""`x.flat`: the elements in C order, read and written through the array."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, from_host, new_array
from lazynp._avals import SCALAR_DTYPES, on_device
from lazynp._extents import known_empty
from lazynp._flush import host_value
from lazynp._node import VALUE
from lazynp._recorder import staged
from lazynp._strides import may_write
from lazynp._values import there
from lazynp.functions import manipulation
from lazynp.functions._arguments import converted, is_contiguous
from lazynp.functions._assigned import check_range
from lazynp.functions._checks import traced
from lazynp.functions._getset import getitem, setitem
from lazynp.functions._host import host_call, to_host
from lazynp.functions._operands import as_array
from lazynp.functions._scalars import AVALS, scalar
from lazynp.functions._stores import host_index, write_into
from lazynp.functions._subclass import is_derived, of_class


class flatiter:
    """See `numpy.flatiter`. `x.flat` creates it; reading by slices and indices returns copies."""

    __module__ = "lazynp"  # where its repr and pickle find it

    __slots__ = ("base", "index")
    __hash__ = None  # type: ignore[assignment]
    # for loops under `jit`: the array that they walk over, and whether they get indices as well
    _walks = "base", False

    def __init__(self, array: Array) -> None:
        self.base, self.index = array, 0

    @property
    def _of_this_body(self) -> bool:
        """Whether a store changes nothing but the array, as staged loops and branches may."""
        return not self.index

    @property
    def coords(self) -> tuple[int, ...]:
        """The N-dimensional index of the next element."""
        if self.index < self.base.size:
            return tuple([int(i) for i in np.unravel_index(self.index, self.base.shape)])
        first = len(self.base) if self.base.ndim else 0
        return (first, *[0] * (self.base.ndim - 1)) if self.base.ndim else ()

    def _flat(self) -> Array:
        return manipulation.reshape(self.base, (-1,))

    def _like_base(self, out: Array) -> Array:
        """A copy, in the class of the array."""
        made, base = new_array(out._read()), self.base
        return of_class(type(base), made, base) if is_derived(type(base)) else made

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> Any:
        if self.index >= self.base.size:
            raise StopIteration
        base, element = self.base, _ABSENT
        if not staged and (base._base is not None or base._order is not None):
            element = _present(base, self.index)  # `reshape` would copy
        self.index += 1
        return getitem(self._flat(), self.index - 1) if element is _ABSENT else element

    def __getitem__(self, index: Any) -> Any:
        self.index = 0  # as NumPy's iterator, which starts again
        if type(index) is int and not staged:
            element = _present(self.base, index)
            if element is not _ABSENT:
                return element
        lazily = traced(self.base, index)
        if lazily or _is_native(index):
            try:
                out = getitem(self._flat(), index)
                return self._like_base(out) if type(out) is NDArray else out
            except IndexError:
                if lazily:
                    raise
        return host_call(_item, self.base, index)  # indices and errors that only iterators have

    def __setitem__(self, index: Any, value: Any) -> None:
        if not may_write(self.base):
            raise ValueError("underlying array is read-only")
        self.index = 0
        where = host_index(index) if type(index) in (int, slice, NDArray) else None
        if where is not None and write_into(
            self.base, (value,), lambda v, memory: memory.flat.__setitem__(where, v), casts=True
        ):
            return
        lazily = traced(self.base, index, value)
        if lazily or _is_native(index) and _is_native_value(value) and on_device(self.base.dtype):
            try:
                self._store(index, value)
                return
            except (IndexError, OverflowError, TypeError, ValueError):
                if lazily:
                    raise
        memory = np.array(host_value(self.base._read()))
        memory.flat[to_host(index)] = (
            np.asarray(value) if type(value) is flatiter else to_host(value)
        )
        setitem(self.base, ..., new_array(from_host(memory, copy=False)))

    def _store(self, index: Any, value: Any) -> None:
        flat = new_array(self._flat()._read())
        chosen = getitem(flat, index)
        dtype = self.base.dtype
        single = not isinstance(chosen, NDArray) or not chosen.ndim
        if single and getattr(value, "ndim", 0):
            raise ValueError("Error setting single item of array.")
        values = manipulation.ravel(as_array(value))
        check_range(value, values.dtype, dtype)
        if values.dtype.kind == "c" != dtype.kind:
            values = converted(values, dtype)
        if not single and (known_empty(chosen.size) or known_empty(values.size)):
            return
        if not single:
            values = manipulation.resize(values, chosen.shape)
        setitem(flat, index, getitem(values, 0) if single else values)
        setitem(self.base, ..., manipulation.reshape(flat, self.base.shape))

    def _as_lazy(self) -> Array:
        """What functions take it for: a view of elements in C order. NumPy lets nobody write into
        the copy of others, which the array would not see.
        """
        if is_contiguous(self.base, "C"):
            return self._flat()
        made = new_array(self._flat()._read())
        made._flags = {"readonly": True}
        return made

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = np.array(host_value(self._flat()._read()))
        return value if dtype is None else value.astype(dtype, copy=False)

    def copy(self) -> Array:
        """The elements as a 1-d array."""
        return self._like_base(self._flat())

    def __eq__(self, other: Any) -> Any:
        return _compared(operator.eq, self, other)

    def __ne__(self, other: Any) -> Any:
        return _compared(operator.ne, self, other)

    def __lt__(self, other: Any) -> Any:
        return _compared(operator.lt, self, other)

    def __le__(self, other: Any) -> Any:
        return _compared(operator.le, self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared(operator.gt, self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared(operator.ge, self, other)


_ABSENT = object()


def _present(x: Array, index: int) -> Any:
    """An element of available memory, in any order; else `_ABSENT`. A record is a view."""
    value = x._node[VALUE] if x._base is None else None
    if type(value) is not np.ndarray:
        value = there(x._read())
    if type(value) is not np.ndarray or not -value.size <= index < value.size:
        return _ABSENT
    element = value.flat[index]
    aval = AVALS.get(type(element))
    if aval is not None:
        return scalar(element, aval)
    if value.dtype.names is not None:
        return getitem(x, tuple([int(i) for i in np.unravel_index(index % value.size, x.shape)]))
    return element


def _item(x: Any, index: Any) -> Any:
    return x.flat[index]


def _is_native(index: Any) -> bool:
    """Whether arrays have this index too, with the same meaning."""
    if isinstance(index, (NDArray, np.ndarray)):
        return index.ndim > 0
    whole = isinstance(index, (int, np.integer)) and not isinstance(index, (bool, np.bool_))
    return whole or isinstance(index, slice) or index is Ellipsis


def _is_native_value(value: Any) -> bool:
    if isinstance(value, (Array, np.ndarray, np.generic)):
        return on_device(value.dtype)
    return type(value) in SCALAR_DTYPES


def _compared(compare: Any, x: flatiter, y: Any) -> Any:
    return compare(x.copy(), y.copy() if isinstance(y, flatiter) else y)
