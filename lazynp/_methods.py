"""The methods of `Array`, and how all of its chapters are attached.

The chapters are `_operators`, `_conversions` and `_attributes`. They are above `functions`, which
builds on the bare handle; so no import points back.
"""

from __future__ import annotations

import functools
import gc
import operator
from collections.abc import Callable
from sys import _getframe
from typing import Any

import numpy as np

from lazynp import _attributes, _conversions, _temporaries
from lazynp._array import Array, NDArray, Scalar, from_host, new_array, new_scalar
from lazynp._attributes import PROPERTIES, set_shape
from lazynp._avals import Aval
from lazynp._conversions import (  # pickles name `_rebuild` here
    _rebuild as _rebuild,
    host_of,
    view_as,
)
from lazynp._fronts import BUILT, fastpath, in_front
from lazynp._method_signatures import show_names, show_signatures
from lazynp._operators import attach_operators, operator_names
from lazynp._overrides import Overridden
from lazynp._ownership import has_other_names
from lazynp._recorder import staged
from lazynp._strides import (
    fortran_order,
    layout,
)
from lazynp._views import same, showing
from lazynp.functions import (
    _memory,
    _subclass,
    creation,
    indexing,
    interchange,
    manipulation,
    placement,
    products,
    reductions,
    rounding,
    sorting,
    ufuncs,
)
from lazynp.functions._accelerated import configure
from lazynp.functions._arguments import (
    is_fortran,
    order_argument,
)
from lazynp.functions._assigned import of_element
from lazynp.functions._eager import by_method
from lazynp.functions._flat import flatiter
from lazynp.functions._foreign import elements
from lazynp.functions._getset import getitem, setitem
from lazynp.functions._host import host_into, to_device, to_host, write_on_host
from lazynp.functions._integers import normalize_axis_index
from lazynp.functions._operands import cast, check_writeable, store
from lazynp.functions._reduce import NO_VALUE
from lazynp.functions._scalars import quiet
from lazynp.functions._stores import write_into
from lazynp.functions._strided import as_strided
from lazynp.functions._subclass import of_class, priority
from lazynp.functions._written import by_writing
from lazynp.primitives import sorting as sorts


@functools.partial(showing, copies=True)
def _reshape(self: Array, *shape: Any, order: str = "C", copy: Any = None) -> Array:
    if not shape:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    target = shape[0] if len(shape) == 1 else shape
    return manipulation.reshape(self, target, order=order, copy=copy)


@showing
def _transpose(self: Array, *axes: Any) -> Array:
    target = axes[0] if len(axes) == 1 else (axes or None)
    return manipulation.transpose(self, target)


def _getfield(self: Array, dtype: Any, offset: int = 0) -> Array:
    """A view, unless the field's offset is not a multiple of its size: then a copy."""
    dtype = np.dtype(dtype)
    value = np.empty((), self.dtype).getfield(dtype, offset)  # raises for a field out of bounds
    if offset % value.itemsize or self.dtype.itemsize % value.itemsize:
        return to_device(np.asarray(to_host(self)).getfield(dtype, offset))
    parts = view_as(getitem(self, (..., None)), dtype)
    return getitem(parts, (..., offset // value.itemsize))


@by_writing(np.ndarray.fill, 2)
def _fill(self: Array, value: Any) -> None:
    check_writeable(self, name="assignment destination")
    if self.dtype.kind == "O":
        with write_on_host(self) as memory:
            memory.fill(value)
        return
    number = of_element(value, self.dtype)
    if isinstance(value, (list, tuple)) or np.ndim(number) and self.dtype.kind not in "OV":
        np.empty(1, self.dtype).fill(
            np.asarray(host_of(value)) if isinstance(value, Array) else value
        )
    setitem(self, ..., number)


_sort_memory: Any = sorts.sort.inplace
_SORTS = (None, "quicksort", "mergesort", "heapsort", "stable")


@by_writing(np.ndarray.sort, 4)
def _sort(
    self: Array, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
    descending: Any = NO_VALUE,
) -> None:  # fmt: skip
    axis = normalize_axis_index(operator.index(axis), self.ndim)
    check_writeable(self, name="sort array")
    if order is None and kind in _SORTS and stable is None and descending is NO_VALUE:
        if write_into(self, (), lambda memory: _sort_memory(memory, axis=axis)):
            return
    asked = {} if descending is NO_VALUE else {"descending": descending}  # NumPy 2.5 has it
    store(sorting.sort(self, axis, kind, order, stable=stable, **asked), self)


@by_writing(np.ndarray.partition, 5)
def _partition(self: Array, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None):
    axis = normalize_axis_index(operator.index(axis), self.ndim)
    check_writeable(self, name="partition array")
    if order is None and type(kth) is int:
        if write_into(self, (), lambda memory: memory.partition(kth, axis, kind)):
            return
    store(sorting.partition(self, kth, axis, kind, order), self)


def _put(self: Array, indices: Any, values: Any, mode: Any = "raise") -> None:
    """See `numpy.put`; the arguments of the method have other names."""
    indexing.put(self, indices, values, mode)


def _resize(self: Array, *shape: Any, refcheck: bool = True) -> None:
    if shape in ((), (None,)):
        return
    target = shape[0] if len(shape) == 1 else shape
    target = (target,) if isinstance(target, int) else tuple(target)
    if any(n < 0 for n in target):
        raise ValueError("negative dimensions not allowed")
    count = int(np.prod(target, dtype=np.int64))
    flags = layout(self).flags
    if not flags.forc and (self._base is None or count != self.size):
        raise ValueError("resize only works on single-segment arrays")
    if self._base is not None:
        if count == self.size and flags.forc:
            return set_shape(self, target, "C" if flags.c_contiguous else "F")
        raise ValueError("cannot resize this array: it does not own its data")
    counted = type(self) is NDArray and type(self.aval) is Aval and not staged
    if _getframe(1).f_globals.get("__name__") == _subclass.__name__:  # it holds the array too
        counted = False
    counted = counted and count != self.size and refcheck
    shared = refcheck and has_other_names(self)  # views are among those that hold it
    views = (
        shared
        and not counted
        and any(isinstance(v, Array) and v._base is self for v in gc.get_referrers(self))
    )
    if views and target == self.shape:
        return None
    if views and count == self.size and not is_fortran(self):  # in the same memory
        return set_shape(self, target)
    if views or counted and shared:
        raise ValueError(
            "cannot resize an array that references or is referenced\nby another object in this "
            "way.\nUse the np.resize function to get a new resized copy or\n set refcheck=False "
            "to disable this check"
        )
    order = "F" if is_fortran(self) else "C"  # the elements keep their places in memory
    flat = manipulation.ravel(new_array(self._read()), order)
    if count > flat.size:
        flat = manipulation.concatenate([flat, creation.zeros(count - flat.size, self.dtype)])
        flat = cast(flat, self.dtype)
    self._node = manipulation.reshape(getitem(flat, slice(0, count)), target, order)._read()
    self._order = fortran_order(len(target)) if order == "F" else None


@by_method(np.ndarray.byteswap, 1, without=("inplace",))
def _byteswap(self: Array, inplace: bool = False) -> Array:
    if inplace and isinstance(self, Scalar):
        raise ValueError("cannot byteswap a scalar in-place")
    if inplace:
        check_writeable(self, name="array to be byte-swapped")
    swapped = to_device(np.asarray(to_host(self)).byteswap())
    if isinstance(self, Scalar):
        return new_scalar(swapped._read())
    return store(swapped, self) if inplace else swapped


@by_method(np.ndarray.choose, function=np.choose)
def _choose(self: Array, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    return indexing.choose(self, choices, out=out, mode=mode)


@by_method(np.ndarray.compress, function=lambda a, *args, **kwargs: a.compress(*args, **kwargs))
def _compress(self: Array, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return indexing.compress(condition, self, axis=axis, out=out)


@by_method(np.ndarray.clip, 3, function=np.clip)
def _clip(self: Array, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    return rounding.clipped(self, min, max, out, **kwargs)


def _searchsorted(self: Array, v: Any, side: str = "left", sorter: Any = None) -> Any:
    return sorting.searchsorted(self, elements(v), side, sorter)


@by_method(np.ndarray.conj, 1, itself=2)
def _conjugate(self: Array, out: Any = None, /) -> Any:
    if self.dtype.kind in "SUVMm":
        raise TypeError("cannot conjugate non-numeric dtype")
    if self.dtype.kind in "cO":
        return ufuncs.conjugate(self) if out is None else ufuncs.conjugate(self, out=out)
    return self if out is None else store(self, out)


@by_method(np.ndarray.dot, 2, function=np.dot)
def _dot(self: Array, b: Any, out: Any = None) -> Any:
    try:
        done = products.dot(self, b, out)
    except Overridden:
        return host_into(np.dot, self, b, out=out)
    if type(self) is NDArray and type(done) is NDArray and done is not out and priority(b) > 0:
        return of_class(type(b), done, b)
    return done


_OF_THE_NAMESPACE: dict[str, Callable[..., Any]] = {
    "all": reductions.all,
    "any": reductions.any,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "argpartition": sorting.argpartition,
    "argsort": sorting.argsort,
    "cumprod": reductions.cumprod,
    "cumsum": reductions.cumsum,
    "diagonal": indexing.diagonal,
    "max": reductions.max,
    "mean": reductions.mean,
    "min": reductions.min,
    "nonzero": indexing.nonzero,
    "prod": reductions.prod,
    "ravel": manipulation.ravel,
    "repeat": manipulation.repeat,
    "round": rounding.round,
    "squeeze": manipulation.squeeze,
    "std": reductions.std,
    "sum": reductions.sum,
    "swapaxes": manipulation.swapaxes,
    "take": indexing.take,
    "trace": indexing.trace,
    "var": reductions.var,
}
_METHODS = _OF_THE_NAMESPACE | {
    "__dlpack__": interchange.dlpack,
    "__dlpack_device__": interchange.dlpack_device,
    "byteswap": _byteswap,
    "choose": _choose,
    "clip": _clip,
    "compress": _compress,
    "conj": _conjugate,
    "conjugate": _conjugate,
    "dot": _dot,
    "fill": _fill,
    "getfield": _getfield,
    "partition": _partition,
    "put": _put,
    "reshape": _reshape,
    "resize": _resize,
    "searchsorted": _searchsorted,
    "sort": _sort,
    "to_device": placement.to_device,
    "transpose": _transpose,
}


def _construct(
    cls: Any,
    shape: Any,
    dtype: Any = None,
    buffer: Any = None,
    offset: int = 0,
    strides: Any = None,
    order: Any = None,
) -> Any:
    """`numpy.ndarray(...)`. A view of a lazy array, also by its `data`. For other writable memory,
    a NumPy array in it; for read-only memory, a copy. Without a buffer, zeros.
    """
    if np.ndarray in cls.__mro__:  # a class of NumPy's, as old pickles name it
        return np.ndarray.__new__(cls, shape, dtype, buffer, offset, strides, order)
    if cls is not NDArray:  # derived from it, and lazy
        made = _construct(NDArray, shape, dtype, buffer, offset, strides, order)
        return of_class(cls, made if isinstance(made, Array) else new_array(from_host(made)), None)
    if buffer is None:
        objects = dtype is not None and np.dtype(dtype).hasobject  # None by default
        if strides is not None:
            like = np.ndarray(shape, dtype or float, strides=strides)  # raises what NumPy raises
            return as_strided(creation.zeros(like.size, like.dtype), like.shape, like.strides)
        return (creation.empty if objects else creation.zeros)(shape, dtype, order or "C")
    buffer = _memory.array_of(buffer)
    if isinstance(buffer, NDArray) and not isinstance(buffer, np.ndarray):
        if _is_whole(buffer) or layout(buffer).flags.c_contiguous:
            return _within(buffer, shape, dtype, offset, strides, order)
    if isinstance(buffer, Array):
        buffer = np.asarray(host_of(buffer))
    made = np.ndarray(shape, dtype, buffer, offset, strides, order)
    if made.flags.writeable:  # memory that others see: NumPy writes it
        return made
    found = new_array(from_host(made))
    found._flags = {"readonly": True}
    return found


def _is_whole(x: Array) -> bool:
    """Whether an array has memory of its own, in C order."""
    return x._base is None and x._order is None


def _within(buffer: Array, shape: Any, dtype: Any, offset: int, strides: Any, order: Any) -> Array:
    """A view of these bytes of an array."""
    whole = not offset and strides is None and order in (None, "C") and buffer.dtype == dtype
    if whole and dtype is not None and buffer.shape == shape:  # as a class derived is often made
        return same(buffer)
    memory = np.empty(buffer.aval.nbytes, "b")  # for NumPy to look at, never read
    like = np.ndarray(shape, dtype, memory, offset, strides, order)
    start = _reshape(buffer, -1)
    if offset % like.itemsize or buffer.dtype != like.dtype:
        start = view_as(start, np.dtype(np.uint8))[offset:]
        whole_elements = start.shape[0] // like.itemsize * like.itemsize
        start = view_as(start[:whole_elements], like.dtype)
    else:
        start = start[offset // like.itemsize :]
    return as_strided(start, like.shape, like.strides)


_OF_A_COPY = (
    "fill", "getfield", "put", "resize", "setflags",
    "sort", "view",
)  # fmt: skip


def _of_a_copy(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a Scalar: as in NumPy, the method of an array that holds the number."""

    @functools.wraps(method)
    def of_scalar(self: Array, *args: Any, **kwargs: Any) -> Any:
        out = method(new_array(self._read()), *args, **kwargs)
        return new_scalar(out._read()) if type(out) is NDArray and not out.ndim else out

    return of_scalar


def _of_scalar(name: str, getter: Callable[[Array], Any]) -> property:
    """An attribute that is settable on arrays, as scalars have it."""

    def refuse(self: Scalar, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of 'numpy.generic' objects is not writable")

    if name == "flat":
        return property(lambda self: flatiter(new_array(self._read())), refuse)
    if name in ("real", "imag"):
        look = operator.attrgetter(name)
        getter = in_front("of_scalars", getter, function=look, quiet=quiet, operands=1)
    return property(getter, refuse)


def _absent(name: str, self: Scalar) -> Any:
    kind = f"numpy.{self.dtype.type.__name__}"
    raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=self)


def _copied_scalar(self: Scalar, order: str = "C") -> Scalar:
    order_argument(order)
    return new_scalar(self._read())


def _construct_scalar(cls: Any, value: Any = 0.0) -> Any:
    """`type(x)(value)` for a scalar x: a float64 if the value is not a NumPy number."""
    found = np.asarray(value)[()]
    found = found if isinstance(found, np.number | np.bool) else np.float64(value)
    return new_scalar(from_host(found))


def _attach() -> None:
    configure()
    attach_operators()
    Array.__new__ = _construct  # type: ignore[method-assign]
    Scalar.__new__ = _construct_scalar  # type: ignore[method-assign]
    Array.__init__ = lambda *args, **kwargs: None  # type: ignore[method-assign]
    methods = _METHODS | _conversions.METHODS | _attributes.METHODS | _memory.METHODS
    for name, function in methods.items():
        setattr(NDArray if name in _OF_CONTAINERS else Array, name, function)
    show_signatures((Array, NDArray), _OF_THE_NAMESPACE)
    show_names(Array, _OF_THE_NAMESPACE)
    for name, function in _memory.SCALAR_METHODS.items():
        setattr(Scalar, name, function)
    for name, accessors in (PROPERTIES | _memory.PROPERTIES).items():
        setattr(Array, name, property(*accessors))
    for name in _OF_A_COPY:
        setattr(Scalar, name, _of_a_copy(getattr(Array, name)))
    for name in ("dtype", "flat", "imag", "real", "shape", "strides"):
        setattr(Scalar, name, _of_scalar(name, PROPERTIES[name][0]))
    for name, code in _attributes.QUICK.items():
        for kind in (Array, Scalar):
            plain = vars(kind).get(name)
            if plain is not None:
                get = in_front("attribute", plain.fget, symbol=code)
                setattr(kind, name, property(get, plain.fset, doc=plain.__doc__))
    Scalar.T = property(lambda self: self)  # type: ignore[assignment]
    Scalar.copy = _copied_scalar  # type: ignore[method-assign]
    Scalar.__conform__ = _conversions.conform  # type: ignore[attr-defined]
    Scalar.__setstate__ = lambda self, state: None  # type: ignore[attr-defined]
    for name in ("argpartition", "ctypes", "dot", "mT", "partition"):
        setattr(Scalar, name, property(functools.partial(_absent, name)))
    Array.__array_priority__ = 100.0  # type: ignore[attr-defined]
    _subclass.attach(set(operator_names()), {**vars(ufuncs), "matmul": products.matmul})
    if BUILT:
        fastpath.take_slots()
        fastpath.take_calls(ufuncs.ufunc)
        _temporaries.show_callers(fastpath.note_callers)


# A Scalar is no container: programs ask with `hasattr`, and with the classes of `collections.abc`.
_OF_CONTAINERS = frozenset({"__contains__", "__iter__", "__len__"})


def _no_assignment(self: Scalar, index: Any, value: Any) -> None:
    raise TypeError(f"'numpy.{self.dtype.type.__name__}' object does not support item assignment")


def _refuse_contents() -> None:
    """Python iterates over whatever has `__getitem__`. NumPy's scalars have it and refuse."""
    if BUILT:
        fastpath.refuse_contents(Scalar)
        for kind in (NDArray, ufuncs.ufunc, flatiter):
            fastpath.name_in_errors(kind, f"numpy.{kind.__name__}")  # as NumPy's classes
    else:  # where `hasattr` finds these two
        Scalar.__iter__ = None  # type: ignore[attr-defined]
        Scalar.__setitem__ = _no_assignment  # type: ignore[attr-defined]


_attach()
_refuse_contents()
