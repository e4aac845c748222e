"""What `x.view(np.recarray)` gives of a lazy structured array: a view, whose fields are attributes.

NumPy's own record array could only hold a copy of x: what it stores would be lost.
"""

from __future__ import annotations

import functools
from sys import _getframe
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray
from lazynp.functions._records import Record, record


def _class(self: Any) -> Any:
    """NumPy's class, by which `isinstance` asks; not for our own modules, which would take the
    array for NumPy's.
    """
    ours = _getframe(1).f_globals.get("__name__", "").startswith("lazynp.")
    return type(self) if ours else np.recarray


def _as_records(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype((np.record, dtype))


def _field(of: Any, name: str) -> bool:
    fields: Any = of.dtype.fields
    return fields is not None and name in fields


class NamedRecord(Record):
    """One record of such an array: its fields are attributes."""

    __class__ = property(lambda self: np.record)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not _field(self, name):
            raise AttributeError(f"'record' object has no attribute '{name}'")
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or not _field(self, name):
            object.__setattr__(self, name, value)
        else:
            self[name] = value

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        name = key if isinstance(key, str) else self._name(key)
        if not isinstance(found, np.void) or not isinstance(self._array, Array):
            return found
        return named(found, self._array[name], self._index)

    def _numpys(self) -> Any:
        fresh: Any = np.asarray(self._fresh())
        return fresh.view(_as_records(fresh.dtype))[()]

    @property
    def dtype(self) -> Any:
        return _as_records(super().dtype)

    def pprint(self) -> Any:
        return self._numpys().pprint()

    def __repr__(self) -> str:
        return repr(self._numpys())

    def __reduce__(self) -> Any:
        return self._numpys().__reduce__()


NamedRecord.__name__, NamedRecord.__qualname__ = "record", "record"
NamedRecord.__module__ = "numpy"


def named(found: Any, array: Any, index: Any) -> Any:
    """The record that `array[index]` is, with its fields as attributes."""
    return record(np.asarray(found), array, index, NamedRecord)


def _plain(self: Any) -> Any:
    return self.view(NDArray)


def _numpys(self: Any) -> Any:
    """NumPy's record array, of a copy."""
    return np.array(np.asarray(_plain(self))).view(np.recarray)


def _of_fields(self: Any, found: Any) -> Any:
    """An array of records in this class; others plain."""
    if isinstance(found, Array) and found.dtype.names is not None:
        return found.view(type(self))
    return found


def _getattr(self: Any, name: str) -> Any:
    if name.startswith("__") or not _field(self, name):
        raise AttributeError(f"recarray has no attribute {name}")
    return _of_fields(self, _plain(self)[name])


def _setattr(self: Any, name: str, value: Any) -> None:
    known = hasattr(type(self), name)
    if name.startswith("_") or not _field(self, name) or known and _assigned(self, name, value):
        object.__setattr__(self, name, value)
    else:
        _plain(self)[name] = value


def _assigned(self: Any, name: str, value: Any) -> bool:
    """Whether an attribute of each array (`shape`) has taken the value."""
    if not hasattr(getattr(type(self), name), "__set__"):
        return False
    object.__setattr__(self, name, value)
    return True


def _getitem(self: Any, index: Any) -> Any:
    plain = _plain(self)
    found = plain[index]
    if isinstance(found, Record):
        return named(found, found._array, found._index)
    if isinstance(found, np.void):  # read-only
        return found.view(_as_records(found.dtype))
    return _of_fields(self, found)


def _field_of(self: Any, name: Any, value: Any = None) -> Any:
    """`recarray.field`."""
    if isinstance(name, int):
        name = self.dtype.names[name]
    if name not in self.dtype.fields:
        raise KeyError(name)
    if value is None:
        return _of_fields(self, _plain(self)[name])
    _plain(self)[name] = value
    return None


def _reduce(self: Any) -> Any:
    return _numpys(self).__reduce__()


def _repr(self: Any) -> str:
    return repr(_numpys(self))


@functools.cache
def record_arrays() -> Any:
    """The class. It passes for NumPy's, by `isinstance`; made when it is first needed, because
    only then arrays have their methods.
    """
    of_arrays: Any = vars(NDArray).get("dtype") or Array.dtype
    metaclass: Any = type(NDArray)
    return metaclass(
        "recarray",
        (NDArray,),
        {
            "__module__": "numpy.rec",
            "__class__": property(_class),
            "__getattr__": _getattr,
            "__setattr__": _setattr,
            "__getitem__": _getitem,
            "__reduce__": _reduce,
            "__repr__": _repr,
            "dtype": property(lambda self: _as_records(of_arrays.fget(self)), of_arrays.fset),
            "field": _field_of,
        },
    )


def shows(array: Any, kind: Any) -> bool:
    """Whether a view of this NumPy class is one of ours."""
    return kind is np.recarray and array.dtype.names is not None
