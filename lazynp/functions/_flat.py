"""`x.flat`: the elements in C order, read and written through the array."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, new_array
from lazynp._flush import host_value
from lazynp._strides import may_write
from lazynp.functions import manipulation, ufuncs
from lazynp.functions._arguments import converted
from lazynp.functions._assigned import check_range
from lazynp.functions._checks import traced
from lazynp.functions._getset import getitem, setitem
from lazynp.functions._operands import as_array
from lazynp.functions._stores import host_index, write_into


class flatiter:
    """See `numpy.flatiter`. `x.flat` creates it; reading by slices and indices returns copies."""

    __slots__ = ("base", "index")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Array) -> None:
        self.base, self.index = array, 0

    @property
    def coords(self) -> tuple[int, ...]:
        """The N-dimensional index of the next element."""
        if self.index < self.base.size:
            return tuple([int(i) for i in np.unravel_index(self.index, self.base.shape)])
        first = len(self.base) if self.base.ndim else 0
        return (first, *[0] * (self.base.ndim - 1)) if self.base.ndim else ()

    def _flat(self) -> Array:
        return manipulation.reshape(self.base, (-1,))

    def _checked(self, index: Any) -> Any:
        """Raise the IndexErrors that NumPy has only for iterators."""
        if isinstance(index, tuple) and len(index) == 1:
            index = index[0]
        if index is None:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are "
                "valid indices"
            )
        if isinstance(index, list) and index and all(isinstance(i, bool) for i in index):
            raise IndexError(
                "boolean indices for iterators are not supported because of previous behavior "
                "that was confusing (valid boolean indices are expected to work in the future)"
            )
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            if not -self.base.size <= index < self.base.size:
                raise IndexError(f"index {index} is out of bounds for size {self.base.size}")
        return index

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> flatiter:
        self.index = 0
        return self

    def __next__(self) -> Any:
        if self.index >= self.base.size:
            raise StopIteration
        self.index += 1
        return getitem(self._flat(), self.index - 1)

    def __getitem__(self, index: Any) -> Any:
        out = getitem(self._flat(), self._checked(index))
        return new_array(out._read()) if type(out) is NDArray else out

    def __setitem__(self, index: Any, value: Any) -> None:
        if not may_write(self.base):
            raise ValueError("underlying array is read-only")
        where = host_index(index) if type(index) in (int, slice, NDArray) else None
        if where is not None and write_into(
            self.base, (value,), lambda v, memory: memory.flat.__setitem__(where, v), casts=True
        ):
            return
        flat = new_array(self._flat()._read())
        chosen = getitem(flat, self._checked(index))
        dtype = self.base.dtype
        single = not isinstance(chosen, NDArray) or not chosen.ndim
        if single and not isinstance(value, Array):
            cell = np.zeros(1, dtype)
            cell.flat[0] = value  # NumPy converts or refuses the value
            value = cell
        elif single and value.ndim and dtype.kind not in "?O":
            raise ValueError("Error setting single item of array.")
        boxed = bool(dtype.names)
        if not isinstance(value, (Array, np.ndarray, np.generic, flatiter)):
            boxed = dtype.hasobject or not traced(value)  # NumPy converts or refuses the values
        values = manipulation.ravel(as_array(np.array(value, dtype) if boxed else value))
        check_range(value, values.dtype, dtype)
        if values.dtype.kind == "c" != dtype.kind:
            values = converted(values, dtype)
        if not single and not (chosen.size and values.size):
            return
        if not single:
            values = manipulation.resize(values, chosen.shape)
        try:
            setitem(flat, index, getitem(values, 0) if single else values)
        except (OverflowError, ValueError):  # a Scalar that the dtype does not hold
            if not single:
                raise
            raise ValueError("Error setting single item of array.") from None
        setitem(self.base, ..., manipulation.reshape(flat, self.base.shape))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = np.array(host_value(self._flat()._read()))
        return value if dtype is None else value.astype(dtype, copy=False)

    def copy(self) -> Array:
        """The elements as a 1-d array."""
        return new_array(self._flat()._read())

    def __eq__(self, other: Any) -> Any:
        return _compared(ufuncs.equal, self, other)

    def __ne__(self, other: Any) -> Any:
        return _compared(ufuncs.not_equal, self, other)

    def __lt__(self, other: Any) -> Any:
        return _compared(ufuncs.less, self, other)

    def __le__(self, other: Any) -> Any:
        return _compared(ufuncs.less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared(ufuncs.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared(ufuncs.greater_equal, self, other)


def _compared(compare: Any, x: flatiter, y: Any) -> Any:
    return compare(x.copy(), y.copy() if isinstance(y, flatiter) else y)
