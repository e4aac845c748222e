"""Iterate over arrays, and apply functions to parts of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lazynp import _views, transforms
from lazynp._array import Array, NDArray, Scalar, from_host, new_array, write_lock
from lazynp._dimensions import require_all
from lazynp._extents import product
from lazynp._flush import host_value
from lazynp._fronts import unbound
from lazynp._sizes import sized
from lazynp._strides import in_order, layout, named, writeable
from lazynp._values import there
from lazynp.functions import _assigned, _getset
from lazynp.functions._construct import asarray
from lazynp.functions._host import to_device, to_host
from lazynp.functions._integers import normalize_axis_index
from lazynp.functions._joining import stack
from lazynp.functions._nested import all_known
from lazynp.functions._operands import as_array, cast, plain
from lazynp.functions._scalars import AVALS, scalar
from lazynp.primitives import shaping

ndindex = np.ndindex


class broadcast:
    """See `numpy.broadcast`. The shape needs no values; iteration computes what is not traced."""

    def __init__(self, *args: Any) -> None:
        self._operands = args
        self._layout = np.broadcast(*map(_as_laid_out, args))
        self._values: Any = None
        self._parts: Any = None  # of traced operands

    shape = property(lambda self: self._layout.shape)
    size = property(lambda self: self._layout.size)
    nd = ndim = property(lambda self: self._layout.ndim)
    numiter = property(lambda self: self._layout.numiter)
    index = property(lambda self: 0 if self._values is None else self._values.index)
    iters = property(lambda self: self._started().iters)

    def _started(self) -> Any:
        if self._values is None and all_known(self._operands):
            self._values = np.broadcast(*to_host(self._operands))
        elif self._values is None:
            self._parts = [as_array(x) for x in self._operands]
            self._values = np.broadcast(*map(_positions, self._parts))
        return self._values

    def reset(self) -> None:
        """Start again, with the operands' present values."""
        self._values = None

    def __iter__(self) -> broadcast:
        return self

    def __next__(self) -> tuple[Any, ...]:
        found = next(self._started())
        if self._parts is None:
            there = [(x, AVALS.get(type(x))) for x in found]
            return tuple([scalar(x, a) if a is not None else to_device(x) for x, a in there])
        return tuple([_at(x, int(i)) for x, i in zip(self._parts, found, strict=True)])


def _as_laid_out(x: Any) -> Any:
    return x._layout if isinstance(x, broadcast) else layout(x) if isinstance(x, Array) else x


class ndenumerate:
    """See `numpy.ndenumerate`. The elements are lazy Scalars."""

    def __init__(self, arr: Any) -> None:
        self._walks = "_array", True  # see `flatiter`
        self._array = asarray(arr)  # of a masked array, what lies under the mask
        self._indices = ndindex(self._array.shape)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        return self

    def __next__(self) -> tuple[tuple[int, ...], Any]:
        return (index := next(self._indices)), _getset.getitem(self._array, index)


def _laid_out(x: Array) -> Any:
    """A private copy of the value, with its axes in the memory order of x's."""
    if x._base is None and x._order is None:
        memory = np.array(host_value(x._read()))
        memory.flags.writeable = writeable(x)
        return memory
    return _in_memory(np.asarray(host_value(x._read())), x)


def _positions(x: Array) -> Any:
    """What stands for the elements of a traced array: their numbers, in C order."""
    return _in_memory(np.arange(x.size).reshape(x.shape), x)


def _at(x: Array, position: int) -> Any:
    return _getset.getitem(x, tuple(map(int, np.unravel_index(position, x.shape))))


def _in_memory(value: Any, x: Array) -> Any:
    strides = layout(x).strides
    whole = value.shape
    if value.size:
        value = value[tuple([slice(None if s else 1) for s in strides])]  # repeated elements once
    order = _outermost_first(strides)
    memory = np.empty([value.shape[k] for k in order], value.dtype)
    flips = (..., *[slice(None, None, -1 if s < 0 else 1) for s in strides])
    out = memory.transpose(np.argsort(order).astype(int))[flips]
    out[...] = value
    if out.shape != whole:
        steps = [s and step for s, step in zip(strides, out.strides, strict=True)]
        out = np.lib.stride_tricks.as_strided(out, whole, steps)
    out.flags.writeable = writeable(x)
    return out


def _outermost_first(strides: tuple[int, ...]) -> list[int]:
    """The axes as NumPy's iterator walks them: by strides, where that of repeated elements, which
    is 0, says nothing of an axis's place.
    """
    axes: list[int] = []  # innermost first
    for k in reversed(range(len(strides))):
        place = len(axes)
        for i in reversed(range(len(axes))):
            if strides[k] and strides[axes[i]]:
                if abs(strides[axes[i]]) <= abs(strides[k]):
                    break
                place = i
        axes.insert(place, k)
    return axes[::-1]


_PLACES = ("index", "iterindex", "iterrange", "multi_index")  # to set one moves the iterator


class nditer:
    """See `numpy.nditer`: NumPy's iterator over the values of the operands.

    Writes to operands in the loop reach the Arrays at the end of the iteration, of the `with`
    block, or at `close`; those to traced ones at once.
    """

    def __new__(cls, op: Any = None, *_: Any, **__: Any) -> Any:
        known = all_known(op if isinstance(op, (list, tuple)) else [op])
        return object.__new__(cls if known or cls is not nditer else _OfTraced)

    def __init__(
        self,
        op: Any,
        flags: Any = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: Any = "K",
        casting: Any = "safe",
        op_axes: Any = None,
        itershape: Any = None,
        buffersize: int = 0,
    ) -> None:
        arrays, hosts, operands, given = _given(
            op, flags=flags, op_flags=op_flags, op_dtypes=op_dtypes, op_axes=op_axes,
            itershape=itershape,
        )  # fmt: skip
        kind: Any = np.nditer
        iterator = kind(operands, order=order, casting=casting, buffersize=buffersize, **given)
        # _lent: for each operand handed out, by number: its value at that time
        vars(self).update(
            _arrays=arrays, _hosts=hosts, _written=_written(op_flags, len(hosts)), _lent={},
            _iterator=iterator,
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of a copy that has nothing yet
            raise AttributeError(name)
        return getattr(self._iterator, name)

    def copy(self) -> nditer:
        """An iterator over the same operands, at the same place."""
        made = object.__new__(type(self))
        state = {**vars(self), "_iterator": self._iterator.copy(), "_lent": dict(self._lent)}
        state |= {name: list(state[name]) for name in ("_arrays", "_hosts", "_written")}
        vars(made).update(state)
        return made

    __copy__ = copy

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PLACES:
            self._take_over()
            setattr(self._iterator, name, value)
        elif name.startswith("_"):
            super().__setattr__(name, value)
        else:
            raise AttributeError(f"'numpy.nditer' object has no attribute {name!r}")

    def __getitem__(self, index: Any) -> Any:
        self._take_over()
        return self._iterator[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._take_over()
        self._iterator[index] = value

    def __len__(self) -> int:
        return len(self._iterator)

    def __iter__(self) -> nditer:
        return self

    def __next__(self) -> Any:
        if self._lent:
            self._take_over()
        try:
            return next(self._iterator)
        except StopIteration:
            self._write_back()
            raise

    def __enter__(self) -> nditer:
        self._iterator.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._allocated()
        self._iterator.__exit__(*error)
        self._write_back()

    @property
    def operands(self) -> tuple[Any, ...]:
        """The operands. An Array given to the iterator is returned itself, up to date; the iterator
        sees writes to it when the iteration goes on. A buffer of another dtype is a NumPy array.
        """
        self._allocated()
        self._write_back()
        for k, (x, h) in enumerate(zip(self._arrays, self._hosts, strict=True)):
            if x is None:
                self._arrays[k], self._written[k] = new_array(from_host(h)), True
        found = [
            m if h is not m else x if isinstance(x, Array) else new_array(from_host(h))
            for x, h, m in zip(self._arrays, self._hosts, self._memories(), strict=True)
        ]
        self._lent = {
            k: x._read() for k, x in enumerate(found) if x is self._arrays[k] and self._written[k]
        }
        return tuple(found)

    def close(self) -> None:
        """Write back, as NumPy's does, and free the memory."""
        self._allocated()
        self._iterator.close()
        self._write_back()

    def _memories(self) -> tuple[Any, ...]:
        """The iterator's own operands; after `close`, the original ones."""
        try:
            return self._iterator.operands
        except ValueError:
            return tuple(self._hosts)

    def _allocated(self) -> None:
        self._hosts = [
            m if h is None else h for h, m in zip(self._hosts, self._memories(), strict=True)
        ]

    def _take_over(self) -> None:
        """Copy what was written into operands since they were handed out to the iterator's
        memory.
        """
        for k, node in self._lent.items():
            now = self._arrays[k]._read()
            if now is not node:
                np.copyto(self._hosts[k], host_value(now))
                self._lent[k] = now

    def _write_back(self) -> None:
        self._take_over()
        for k, (array, host) in enumerate(zip(self._arrays, self._hosts, strict=True)):
            if self._written[k] and isinstance(array, Array):
                with write_lock:
                    array._write(from_host(host))
                if k in self._lent:
                    self._lent[k] = array._read()


class _OfTraced(nditer):
    """The iterator over numbers of the elements. It hands out views of these."""

    def __init__(
        self, op: Any, flags: Any = None, op_flags: Any = None, op_dtypes: Any = None,
        order: Any = "K", casting: Any = "safe", op_axes: Any = None, itershape: Any = None,
        buffersize: int = 0,
    ) -> None:  # fmt: skip
        if op_dtypes is not None or {"external_loop", "buffered"} & set(flags or ()):
            raise TypeError(
                "nditer of traced arrays: only single elements of their own dtypes are handed "
                "out, without external_loop, buffered and op_dtypes"
            )
        self._single = not isinstance(op, (list, tuple))
        given = [None if x is None else as_array(x) for x in ([op] if self._single else op)]
        known = [x for x in given if x is not None]
        shape = np.broadcast_shapes(*[x.shape for x in known])
        dtype = np.result_type(*[x.dtype for x in known])
        self._arrays = [new_array(from_host(np.zeros(shape, dtype))) if x is None else x
                        for x in given]  # fmt: skip
        options = {"flags": flags, "op_flags": op_flags, "op_axes": op_axes, "itershape": itershape}
        hosts = [_positions(x) for x in self._arrays]
        iterator: Any = np.nditer
        self._iterator = iterator(
            hosts[0] if self._single else hosts, order=order, casting=casting,
            **{k: v for k, v in options.items() if v is not None},
        )  # fmt: skip
        self._lent, self._hosts, self._written = {}, hosts, [False] * len(hosts)

    def _view(self, k: int, position: Any) -> Any:
        x = self._arrays[k]
        index = np.unravel_index(int(position), x.shape)
        return _getset.getitem(x, (*map(int, index), ...))

    def _handed(self, found: Any) -> Any:
        if self._single:
            return self._view(0, found)
        return tuple([self._view(k, p) for k, p in enumerate(found)])

    @property
    def value(self) -> Any:
        return self._handed(self._iterator.value)

    @property
    def operands(self) -> tuple[Any, ...]:
        return tuple(self._arrays)

    def __getitem__(self, index: Any) -> Any:
        numbers = range(len(self._arrays))[index]
        if isinstance(numbers, int):
            return self._view(numbers, self._iterator[numbers])
        return tuple([self._view(k, self._iterator[k]) for k in numbers])

    def __setitem__(self, index: int, value: Any) -> None:
        self[index][...] = value

    def __next__(self) -> Any:
        return self._handed(next(self._iterator))


def _given(op: Any, **options: Any) -> tuple[list[Any], list[Any], Any, dict[str, Any]]:
    """The operands, the memory that NumPy's iterator walks in their place, that as the iterator
    takes it, and the options that are given.
    """
    single = not isinstance(op, (list, tuple))
    arrays = [op] if single else list(op)
    hosts = [_laid_out(x) if isinstance(x, Array) else x for x in arrays]
    given = {k: v for k, v in options.items() if v is not None}
    return arrays, hosts, hosts[0] if single else hosts, given


def _written(op_flags: Any, n: int) -> list[bool]:
    if op_flags is None:
        return [False] * n
    flags = list(op_flags)
    if flags and isinstance(flags[0], str):
        flags = [flags] * n
    return [any(f in ("readwrite", "writeonly") for f in of_one) for of_one in flags]


@unbound
def nested_iters(
    op: Any,
    axes: Any,
    flags: Any = None,
    op_flags: Any = None,
    op_dtypes: Any = None,
    order: Any = "K",
    casting: Any = "safe",
    buffersize: int = 0,
) -> tuple[nditer, ...]:
    """See `numpy.nested_iters`. Writes reach the Arrays when the first of the iterators ends."""
    arrays, hosts, operands, given = _given(op, flags=flags, op_flags=op_flags, op_dtypes=op_dtypes)
    nested: Any = np.nested_iters
    iterators = nested(operands, axes, order=order, casting=casting, buffersize=buffersize, **given)
    written = _written(op_flags, len(hosts))
    none = [False] * len(hosts)
    return tuple(
        [_over(it, arrays, hosts, none if k else written) for k, it in enumerate(iterators)]
    )


def _over(iterator: Any, arrays: list[Any], hosts: list[Any], written: list[bool]) -> nditer:
    made = object.__new__(nditer)
    state = {"_arrays": list(arrays), "_hosts": list(hosts), "_written": list(written)}
    vars(made).update(state, _iterator=iterator, _lent={})
    return made


# -- functions of parts ----------------------------------------------------------------------------


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """See `numpy.apply_along_axis`."""
    x = as_array(arr)
    axis = normalize_axis_index(axis, x.ndim)
    others = [k for k in range(x.ndim) if k != axis]
    rows = _views.transpose(x, [*others, axis])
    shape = rows.shape[:-1]
    empty = ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    require_all([n - 1 for n in shape], lambda _: empty, None)
    if sized(shape):
        every = shaping.reshape(plain(rows), shape=(product(shape), rows.shape[-1]))
        table = plain(transforms.vmap(lambda row: func1d(row, *args, **kwargs))(every))
    else:
        results = []
        for index in itertools.product(*map(range, shape)):
            found = func1d(rows[(*index, ...)], *args, **kwargs)
            value = _there(found)  # as it is now: the next call may write into the same array
            results.append(new_array(as_array(found)._read()) if value is None else value)
        if not any([isinstance(r, Array) for r in results]):
            order = _turned(len(shape), results[0].ndim, axis)
            return in_order(to_device(_side_by_side(results, shape, axis)), _memory(order))
        results = list(map(as_array, results))
        table = _table([_fitting(r, results[0]) for r in results])
    table = shaping.reshape(table, shape=(*shape, *table.shape[1:]))
    n, k = len(shape), table.ndim - len(shape)
    order = _turned(n, k, axis)
    return in_order(shaping.transpose(table, permutation=order), _memory(order))


def _memory(order: tuple[int, ...]) -> Any:
    """How the result lies in memory: NumPy turns its table, too."""
    return named([order.index(i) for i in range(len(order))])


def _turned(n: int, k: int, axis: int) -> tuple[int, ...]:
    """The order of a table's axes that has k axes of the results, after n others, at `axis`."""
    return (*range(axis), *range(n, n + k), *range(axis, n))


def _side_by_side(values: list[Any], shape: tuple[int, ...], axis: int) -> np.ndarray[Any, Any]:
    """The table of these values, each converted as by assignment into an array like the first."""
    first = values[0]
    table = np.empty((len(values), *first.shape), first.dtype)
    for k, value in enumerate(values):
        table[k] = value
    order = _turned(len(shape), first.ndim, axis)
    return table.reshape(*shape, *first.shape).transpose(order)


def _there(x: Any) -> Any:
    """The value of an array or number that has one already, as its array lies; else None."""
    if type(x) is not Scalar and type(x) is not NDArray or there(x._read()) is None:
        return None
    return to_host(x)


def _table(rows: list[Array]) -> Array:
    first = rows[0]
    if first.ndim <= 1:  # has one memory order, so `stack` gives the rows one by one
        return cast(plain(stack(rows)), first.dtype)  # in its byte order
    parts = [shaping.reshape(r, shape=(1, *first.shape)) for r in rows]
    return parts[0] if len(parts) == 1 else shaping.concatenate(*parts, axis=0)


def _fitting(result: Array, first: Array) -> Array:
    """The result, converted as by assignment into an array like the first result."""
    if result.aval is first.aval:
        return plain(result)
    operand = _assigned.assigned(result, first.dtype, first.shape)
    value = cast(new_array(operand), first.dtype)
    ndim = first.ndim - value.ndim
    return shaping.broadcast_in_dim(
        plain(value), shape=first.shape, dims=tuple(range(ndim, first.ndim))
    )


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """See `numpy.apply_over_axes`."""
    value = as_array(a)
    value = plain(value) if isinstance(value, Scalar) else value
    ndim = value.ndim
    for axis in np.atleast_1d(np.asarray(axes)).tolist():
        axis = axis + ndim if axis < 0 else axis
        result = as_array(func(value, axis))
        if result.ndim == value.ndim:
            value = result
            continue
        normalize_axis_index(axis, result.ndim + 1)
        shape = (*result.shape[:axis], 1, *result.shape[axis:])
        result = shaping.reshape(plain(result), shape=shape)
        if result.ndim != value.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        value = result
    return value
