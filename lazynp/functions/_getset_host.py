"""Reading and writing by index what only NumPy can hold: strings, dates, objects, records."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, fresh, from_host, new_scalar, write_lock
from lazynp._avals import on_device
from lazynp._flush import host_value
from lazynp._node import VALUE, Node, leaf
from lazynp._ownership import exclusive
from lazynp._strides import laid_out, writeable
from lazynp._trace import on_host
from lazynp._views import view
from lazynp.functions._checks import traced
from lazynp.functions._host import is_made_here, to_host
from lazynp.functions._nested import assemble
from lazynp.functions._object_arrays import boxed
from lazynp.functions._records import record as record_at
from lazynp.functions._stores import host_index


def get_on_host(self: Array, op: Any, node: Node, starts: tuple[int, ...], step: Any) -> Any:
    got = on_host(op, (node, *starts))
    if op.scalar and step.scalar:
        value = got[VALUE]
        if isinstance(value, np.ndarray):
            if value.dtype.names is not None:
                return record_of(self, step.index, value)
            value = value[()]
        return value if not on_device(op.aval.dtype) else new_scalar(leaf(value))
    return view(self, step)


def record_of(self: Array, index: Any, value: Any) -> Any:
    """A record is a view: it reads and writes the array. value: it, as NumPy has it."""
    if not writeable(self):
        value = np.asarray(value).view()
        value.flags.writeable = False
        return value[()]
    items = index if type(index) is tuple else (index,)
    return record_at(value, self, tuple([i for i in items if i is not Ellipsis]))


def is_field(index: Any) -> bool:
    """Whether this is a field name, or a list of them."""
    if type(index) is not list:
        return isinstance(index, str)
    return bool(index) and all(isinstance(n, str) for n in index)


def set_on_host(self: Array, index: Any, value: Any) -> None:
    """Objects, strings, dates, records: NumPy stores, in place if nobody else holds the memory."""
    index = to_host(index)
    owner = self if self._base is None else self._base
    if self.dtype == object and traced(value) and is_made_here(owner):
        value = _objects(value, _is_whole(index, self.ndim))
    elif self.dtype != object or isinstance(value, Scalar) or not _is_whole(index, self.ndim):
        zero_d = type(value) is NDArray and not value.ndim
        listed = isinstance(value, (list, tuple)) and self.dtype == object and not traced(value)
        if not listed:  # arrays in a list become objects as they are, where NumPy finds no shape
            value = np.asarray(to_host(value)) if zero_d else to_host(value)
    with write_lock:
        memory = exclusive(owner)
        if self._base is not None or memory is None or memory.base is not None:
            value_here = host_value(owner._node) if memory is None else memory
            # a reshape is a view only of memory that lies as the array's order says
            placed = value_here if self._base is None else laid_out(value_here, owner)
            if memory is None or memory.base is not None or placed is not value_here:
                mine = is_made_here(owner)
                owner._node = leaf(np.array(placed))
                if mine:
                    fresh(owner._node)
                memory = owner._node[VALUE]
        target = memory
        for step in () if self._base is None else self._path:
            target = step.layout(target)
        target[index] = value


def _objects(value: Any, single: bool) -> Any:
    """A traced value, as an object array keeps it. single: one element is to hold all of it."""
    if isinstance(value, Array):
        return value if single and (value.ndim or isinstance(value, Scalar)) else boxed(value)
    return value if single else host_value(assemble(value, object)._read())


def _is_whole(index: Any, ndim: int) -> bool:
    """Whether an index selects one element: an object array stores any object there unchanged."""
    items = index if isinstance(index, tuple) else (index,)
    return len(items) == ndim and all(isinstance(i, (int, np.integer)) for i in items)


def store_what_fits(self: Array, index: Any, value: Any) -> None:
    """A list that cannot be stored: NumPy has stored what comes before its wrong element."""
    where = host_index(index)
    if where is None or type(value) is not list and type(value) is not tuple:
        return
    if traced(self, value):
        return
    memory = np.array(host_value(self._read()))
    try:
        memory[where] = value
    except (TypeError, ValueError, OverflowError):
        self._write(from_host(memory, copy=False))
