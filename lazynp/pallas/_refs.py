"""Refs: what a kernel reads and writes.

A Ref holds the handle of an array. Reading gives a value; writing gives the handle a new value. So
everything that is known of handles that are written while a function is traced holds for Refs too,
in branches, in loops and in transformations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp.functions.creation import full
from lazynp.pallas._indexing import read, write

_LIKE = {"zeros_like", "ones_like", "empty_like", "full_like"}


def blank(dtype: Any) -> Any:
    """What memory holds that nobody wrote: NaN, the least integer, False."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        return dtype.type(complex(math.nan, math.nan))
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).min)
    return dtype.type(math.nan if dtype.kind == "f" else False)


def blanks(shape: tuple[int, ...], dtype: Any) -> Array:
    """A new array of blanks."""
    return full(shape, blank(dtype), dtype)


def no_array(name: str) -> TypeError:
    return TypeError(f"{name} is a Ref, which is no array: read it first, ref[...]")


class Ref:
    """A block of an array, or scratch, that a kernel reads by `ref[index]` and writes by
    `ref[index] = value`, with NumPy's indices and `ds`.
    """

    __slots__ = ("_name", "_array", "_writeable")
    __hash__ = object.__hash__
    _takes_lazy = True  # see functions/_foreign

    def __init__(self, name: str, array: Array | None, writeable: bool = True) -> None:
        self._name, self._array, self._writeable = name, array, writeable

    def _held(self) -> Array:
        """The array, which must be written only where the Ref is."""
        if self._array is None:
            raise TypeError(f"{self._name} is used after its kernel has ended")
        return self._array

    def _value(self) -> Array:
        """The whole, as a value."""
        return new_array(self._held()._read())

    def _store(self, index: Any, value: Any) -> None:
        if isinstance(value, Ref):
            raise no_array(value._name)
        if not self._writeable:
            raise ValueError(
                f"assignment destination is read-only: {self._name} is the Ref of an input"
            )
        write(self._held(), index, value)

    def _close(self) -> None:
        self._array = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the block, without squeezed dimensions."""
        return self._held().shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return self._held().dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def at(self) -> At:
        """`ref.at[index]`: a Ref to that part."""
        return At(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"len() of {self._name}, which has no axes")
        return self.shape[0]

    def __repr__(self) -> str:
        ended = "ended" if self._array is None else f"{self.dtype}{list(self.shape)}"
        return f"<Ref {self._name}: {ended}>"

    def __getitem__(self, index: Any) -> Any:
        return read(self._held(), index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._store(index, value)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if getattr(function, "__name__", "") not in _LIKE:
            raise no_array(self._name)
        args = [new_array(a._held()._read()) if isinstance(a, Ref) else a for a in args]
        return function(*args, **kwargs)

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        raise no_array(self._name)


def _refused(self: Ref, *args: Any, **kwargs: Any) -> Any:
    raise no_array(self._name)


_OPERATORS = "add sub mul truediv floordiv mod divmod pow matmul lshift rshift and or xor".split()
for _name in [
    *(side + name for name in _OPERATORS for side in ("", "r", "i")),
    *"lt le gt ge eq ne neg pos abs invert bool int float complex index iter array".split(),
    *"contains round trunc floor ceil".split(),
]:
    setattr(Ref, f"__{_name}__", _refused)
del _name


class Part(Ref):
    """A Ref to part of what another Ref refers to."""

    __slots__ = ("_whole", "_index")

    def __init__(self, whole: Ref, index: Any) -> None:
        part = read(whole._held(), index)  # for its shape and dtype, and its errors
        super().__init__(f"{whole._name}.at", new_array(part._read()), whole._writeable)
        self._whole, self._index = whole, index

    def _held(self) -> Array:
        """A copy of the part as it is now."""
        return new_array(read(self._whole._held(), self._index)._read())

    def _store(self, index: Any, value: Any) -> None:
        if isinstance(value, Ref):
            raise no_array(value._name)
        if index is not ... and not (isinstance(index, tuple) and not index):
            part = self._held()
            write(part, index, value)
            value = part
        self._whole._store(self._index, value)


class At:
    """`ref.at`"""

    __slots__ = ("_ref",)

    def __init__(self, ref: Ref) -> None:
        self._ref = ref

    def __getitem__(self, index: Any) -> Part:
        for item in index if isinstance(index, tuple) else (index,):
            if isinstance(item, list) or getattr(item, "ndim", 0):
                raise TypeError("ref.at takes integers, slices and `ds`; use load for arrays")
        return Part(self._ref, index)
