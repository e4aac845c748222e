"""One record of a structured array. As in NumPy, writing its fields writes the array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lazynp._flush import host_value
from lazynp._fronts import in_front
from lazynp._memo import Memo

_PLAIN = {int, float, complex, bool, str, bytes}


class Record(np.void):
    """A `numpy.void` that reads and writes the array it came from."""

    _array: Any = None
    _index: Any = ()
    _memory: Any = None  # the record's own, at which NumPy's C code looks

    def _field(self, name: str) -> Any:
        if self._array is None:  # a copy made by NumPy, which belongs to no array
            return np.array(self._fresh())[name]
        return self._array[name]

    def _fresh(self) -> Any:
        """The present record, as a plain `numpy.void`."""
        if self._array is not None:
            return host_value(self._array._read())[self._index]
        own: Any = vars(np.generic)["dtype"].__get__(self)
        return np.array(np.void.item(self), np.dtype((np.void, own)))[()]

    def _name(self, key: Any) -> str:
        if isinstance(key, str):
            return key
        names: Any = self.dtype.names
        if not -len(names) <= key < len(names):
            raise IndexError(f"invalid index ({key})")
        return names[key]

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, (str, int, np.integer)):
            return self._fresh()[key]
        return self._field(self._name(key))[self._index]

    __getitem__ = in_front("record_field", __getitem__)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._array is None:  # of an array of NumPy's
            return super().__setitem__(key, value)
        name = self._name(key)
        self._array[name][self._index] = value
        self._memory[name] = value if type(value) in _PLAIN else self._fresh()[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fresh())  # type: ignore[call-overload]

    def __repr__(self) -> str:
        return repr(self._fresh())

    def __str__(self) -> str:
        return str(self._fresh())

    def __eq__(self, other: Any) -> Any:
        return self._fresh() == (other._fresh() if isinstance(other, Record) else other)

    def __ne__(self, other: Any) -> Any:
        return self._fresh() != (other._fresh() if isinstance(other, Record) else other)

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'writeable void-scalar'")

    def __reduce__(self) -> Any:
        return self._fresh().__reduce__()

    @property
    def dtype(self) -> Any:
        return self._fresh().dtype

    def item(self, *args: Any) -> Any:
        return self._fresh().item(*args)

    def tolist(self) -> Any:
        return self._fresh().tolist()

    def copy(self) -> Any:  # type: ignore[override]
        return self._fresh().copy()


Record.__name__, Record.__qualname__, Record.__module__ = "void", "void", "numpy"  # for messages


def _of_fresh(name: str) -> Callable[..., Any]:
    def method(self: Record, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._fresh(), name)(*args, **kwargs)

    method.__name__ = name
    return method


# NumPy's own methods would return results of this class and its dtype
for _name in (
    "__array__", "astype", "compress", "flatten", "ravel", "repeat", "reshape", "squeeze", "take",
    "tobytes", "transpose", "view",
):  # fmt: skip
    setattr(Record, _name, _of_fresh(_name))


_dtypes: Memo[Any, Any] = Memo("records")


def dtype_of_records(own: Any, kind: type[Record] = Record) -> Any:
    """The dtype of elements of this class."""
    found = _dtypes.get((own, kind))
    return _dtypes.put((own, kind), np.dtype((kind, own))) if found is None else found


def record(value: Any, array: Any, index: tuple[Any, ...], kind: type[Record] = Record) -> Any:
    """The record `array[index]`, with this value: a `numpy.void`, or a 0-d array."""
    copied = np.empty((), dtype_of_records(value.dtype, kind))
    copied[()] = value  # `np.array(value)` shows the array's memory, which would be shared then
    made: Any = copied[()]
    made._array, made._index, made._memory = array, index, copied
    return made
