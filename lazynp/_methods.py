"""The methods, operators and protocols of `Array`, attached from one table.

They are above `functions`, which builds on the bare handle; so no import points back.
"""

from __future__ import annotations

import functools
import gc
import math
import operator
import warnings
from collections.abc import Callable, Iterator
from sys import _getframe, getrefcount
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, from_host, new_array, new_scalar, write_lock
from lazynp._avals import Aval, on_device
from lazynp._fronts import in_front
from lazynp._node import AVAL, OP, VALUE, leaf
from lazynp._overrides import Overridden
from lazynp._quiet import quiet_result
from lazynp._strides import (
    copied_order,
    fortran_order,
    in_order,
    laid_out,
    layout,
    order_of_strides,
)
from lazynp._trace import description, host_value, local, seen_value, staged, there, watched
from lazynp._views import (
    Bitcast,
    Imag,
    Real,
    Reshape,
    transpose,
    turned,
    view,
)
from lazynp.functions import (
    _at,
    _memory,
    _subclass,
    creation,
    indexing,
    interchange,
    manipulation,
    products,
    reductions,
    sorting,
    tools,
    ufuncs,
)
from lazynp.functions._accelerated import configure
from lazynp.functions._arguments import (
    NO_COPY,
    converted,
    dtype_argument,
    is_fortran,
    order_argument,
    order_like,
)
from lazynp.functions._eager import by_numpy
from lazynp.functions._flags import Flags
from lazynp.functions._flat import flatiter
from lazynp.functions._foreign import elements
from lazynp.functions._getset import getitem, setitem
from lazynp.functions._host import host_into, write_on_host
from lazynp.functions._recording import as_array, cast, check_writeable, store
from lazynp.functions._reduce import NO_VALUE
from lazynp.functions._scalars import (
    AVALS,
    conversion_of,
    operator_of,
    quiet,
    scalar,
    swapped,
    unary_operator_of,
)
from lazynp.functions._selected import Selection
from lazynp.functions._stores import update_view
from lazynp.functions._strided import as_strided
from lazynp.functions._subclass import Subclass, of_class
from lazynp.functions._ufunc import defers, ufunc, yielded

# -- operators -------------------------------------------------------------------------------------

_BINARY = {
    "add": ufuncs.add,
    "sub": ufuncs.subtract,
    "mul": ufuncs.multiply,
    "truediv": ufuncs.divide,
    "floordiv": ufuncs.floor_divide,
    "mod": ufuncs.remainder,
    "divmod": ufuncs.divmod,
    "pow": ufuncs.power,
    "and": ufuncs.bitwise_and,
    "or": ufuncs.bitwise_or,
    "xor": ufuncs.bitwise_xor,
    "lshift": ufuncs.left_shift,
    "rshift": ufuncs.right_shift,
    "matmul": products.matmul,
}
_COMPARISONS = {
    "eq": ufuncs.equal,
    "ne": ufuncs.not_equal,
    "lt": ufuncs.less,
    "le": ufuncs.less_equal,
    "gt": ufuncs.greater,
    "ge": ufuncs.greater_equal,
}
_UNARY = {
    "neg": ufuncs.negative,
    "pos": ufuncs.positive,
    "abs": ufuncs.absolute,
    "invert": ufuncs.invert,
}


def _matmul_operator(self: Array, other: Any) -> Any:
    if type(self) is Scalar and (type(other) is Scalar or isinstance(other, _NUMBERS)):
        return NotImplemented
    if type(other) is not NDArray and defers(other):
        return yielded("matmul", self, other)
    return products.matmul_operator(self, other)


_NUMBERS = (np.generic, int, float, complex)


def _matmul_reflected(self: Array, other: Any) -> Any:
    if defers(other):
        return yielded("matmul", other, self)
    return products.matmul_operator(other, self)


def _in_place(function: Any, name: str) -> Any:
    is_ufunc = isinstance(function, ufunc)
    compute = function.in_place() if is_ufunc else lambda x, y: function(x, elements(y))

    def in_place(self: Array, other: Any) -> Any:
        if is_ufunc and local.recorder.eager and type(self) is NDArray:
            if update_view(self, function._numpy, other):
                return self
        if type(self) is Scalar:
            return NotImplemented  # rebinds, as a Python number
        if name == "matmul" and self.ndim and getattr(other, "ndim", 0) == 1:
            raise ValueError(_IN_PLACE_MATMUL)
        check_writeable(self)
        return update(self, compute(self, other), function)

    in_place.__name__ = f"__i{name}__"
    if name == "matmul" or not is_ufunc:
        return in_place
    return in_front("in_place", in_place, function=function._numpy)


_IN_PLACE_MATMUL = (
    "inplace matrix multiplication requires the first operand to have at least one and the second "
    "at least two dimensions."
)


def update(self: Array, result: Array, function: Any) -> Array:
    """`self op= ...`: the value becomes the result, if dtype and shape allow."""
    if self._base is None and type(result) is NDArray and result._base is None and not staged:
        node, before = result._node, self._node
        aval = node[AVAL] if node[OP] is None else node[OP].aval
        known = before[AVAL] if before[OP] is None else before[OP].aval
        if aval is known and type(aval) is Aval:  # no tracer, of which a note would be taken
            self._node = node
            return self
    if result.aval is self.aval:
        with write_lock:
            self._write(result._read())
        return self
    if isinstance(function, ufunc):
        function._check_cast(result, self, "same_kind")
    return store(result, self)


def _attach_operators() -> None:
    for name, function in _BINARY.items():
        if isinstance(function, ufunc):
            setattr(Array, f"__{name}__", function.operator())
            setattr(Array, f"__r{name}__", function.operator(reflected=True))
        if name != "divmod":
            setattr(Array, f"__i{name}__", _in_place(function, name))
    for name, function in _COMPARISONS.items():
        setattr(Array, f"__{name}__", function.operator())
    for name, function in _UNARY.items():
        setattr(Array, f"__{name}__", function.operator())
    _attach_scalar_operators()
    for name, function in (_BINARY | _COMPARISONS | _UNARY).items():  # of x[m], m traced
        if isinstance(function, ufunc):
            setattr(Selection, f"__{name}__", lambda *operands, f=function: f(*operands))
            if name in _BINARY:
                setattr(Selection, f"__r{name}__", lambda x, y, f=function: f(y, x))
    Array.__matmul__ = in_front(  # type: ignore[attr-defined]
        "of_arrays", _matmul_operator, function=products.matmul_operator
    )
    Array.__rmatmul__ = _matmul_reflected  # type: ignore[attr-defined]
    Array.__getitem__ = getitem  # type: ignore[attr-defined]
    Array.__setitem__ = setitem  # type: ignore[attr-defined]
    Array.__delitem__ = _delitem  # type: ignore[attr-defined]
    Array.__hash__ = None  # type: ignore[assignment]
    Scalar.__hash__ = _hash  # type: ignore[assignment]
    Scalar.__getitem__ = _getitem_of_scalar  # type: ignore[attr-defined]
    Scalar.__setitem__ = _no_assignment  # type: ignore[attr-defined]


def _attach_scalar_operators() -> None:
    """Those of scalars that are there; the others go on to `Array`'s."""
    for name, function in (_BINARY | _COMPARISONS).items():
        if not isinstance(function, ufunc) or name == "divmod":
            continue
        plain = getattr(operator, f"__{name}__")
        known: dict[str, Any] = {"done": quiet, "operands": 2, "code": _CODES.get(name, "?")}
        known["memo"] = vars(Array)[f"__{name}__"]  # with arrays
        forward = operator_of(plain, function.operator(depth=2))
        forward = in_front("of_scalars", forward, function=plain, **known)
        setattr(Scalar, f"__{name}__", forward)
        if name in _BINARY:
            setattr(Scalar, f"__i{name}__", forward)
            general = function.operator(reflected=True, depth=2)
            reflected = operator_of(swapped(plain), general)
            known["memo"] = vars(Array)[f"__r{name}__"]
            reflected = in_front("of_scalars", reflected, function=plain, swap=True, **known)
            setattr(Scalar, f"__r{name}__", reflected)
    for name, function in _UNARY.items():
        plain = getattr(operator, f"__{name}__")
        single = unary_operator_of(plain, function.operator(depth=2))
        single = in_front("of_scalars", single, function=plain, done=quiet, operands=1)
        setattr(Scalar, f"__{name}__", single)
    for name, kind in (("bool", bool), ("int", int), ("float", float), ("index", operator.index)):
        convert = conversion_of(kind, _METHODS[f"__{name}__"])
        setattr(Scalar, f"__{name}__", in_front("converted", convert, function=kind))


_CODES = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/",
    "lt": "<", "gt": ">", "le": "l", "ge": "g", "eq": "=", "ne": "!",
}  # fmt: skip
_ATTRIBUTES = {"shape": "s", "dtype": "d", "ndim": "n", "size": "z"}


def _delitem(self: Array, index: Any) -> None:
    raise ValueError("cannot delete array elements")


def _getitem_of_scalar(self: Scalar, index: Any) -> Any:
    """What a 0-d array gives for the index, of a copy: what is done to it is not done to this."""
    try:
        return getitem(new_array(self._read()), index)
    except IndexError:
        raise IndexError("invalid index to scalar variable.") from None  # NumPy's words


def _no_assignment(self: Scalar, index: Any, value: Any) -> None:
    raise TypeError(f"'numpy.{self.dtype.type.__name__}' object does not support item assignment")


def _hash(self: Scalar) -> int:
    return hash(_host(self))


# -- conversions: these look at the value ----------------------------------------------------------


def _host(self: Array) -> Any:
    return host_value(self._read())


def _seen(self: Array) -> Any:
    """The value for who only looks at it: while differentiating, the primal."""
    return seen_value(self._read())


def _real_host(self: Array) -> Any:
    """A 0-d complex array is no real number, where NumPy's complex scalars are, with a warning."""
    value = _host(self)
    return value if isinstance(self, Scalar) or self.dtype.kind != "c" else np.asarray(value)


def _seen_real(self: Array) -> Any:
    value = _seen(self)
    return value if isinstance(self, Scalar) or self.dtype.kind != "c" else np.asarray(value)


def _array(self: Array, dtype: Any = None, copy: bool | None = None) -> Any:
    """For `numpy.asarray`: a read-only view of the value, or a copy where one is asked for."""
    value = np.asarray(_host(self))
    if copy is None and _memory.scipy_asks(_getframe(1), self):
        copy = True
    if dtype is not None and np.dtype(dtype) != value.dtype:
        if copy is False:
            raise ValueError(NO_COPY)
        return value.astype(dtype)
    if copy:
        return value.copy()
    if value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def _buffer(self: Array, flags: int) -> memoryview:
    """The buffer protocol, which Python 3.12 and later ask classes for: read-only."""
    try:
        value = _host(self)
    except FloatingPointError as error:  # of a NaN: it is raised once
        _memory.unheard[:] = [(self._node, error)]
        raise
    if _memory.scipy_asks(_getframe(1), self) and on_device(self.dtype):
        copied: Any = np.array(value)
        return memoryview(copied)
    if flags & 1:  # PyBUF_WRITABLE
        raise BufferError("the memory of a lazy array is read-only: use lazynp.writable")
    if not on_device(self.dtype):
        raise BufferError(f"no buffer for {self.dtype}: use numpy.asarray")
    try:
        return memoryview(_array(self))
    except ValueError as e:  # dtypes that the protocol has no name for
        raise BufferError(str(e)) from None


def _len(self: Array) -> int:
    if not self.ndim:
        raise TypeError("len() of unsized object")
    return self.shape[0]


def _iter(self: Array) -> Iterator[Any]:
    if not self.ndim:
        raise TypeError("iteration over a 0-d array")
    return _elements(self) if self.ndim == 1 else (getitem(self, i) for i in range(self.shape[0]))


def _elements(self: Array) -> Iterator[Any]:
    """As they are when it is their turn: the array may be written meanwhile."""
    for i in range(self.shape[0]):
        value = self._read()[2]
        element = value[i] if type(value) is np.ndarray and value.ndim == 1 else None
        aval = AVALS.get(type(element))
        yield getitem(self, i) if aval is None else scalar(element, aval)


def _contains(self: Array, item: Any) -> bool:
    if isinstance(self, Scalar):
        kind = self.dtype.type.__name__
        raise TypeError(f"argument of type 'numpy.{kind}' is not iterable")
    return bool(reductions.any(operator.eq(self, item)))


def _complex(self: Array) -> complex:
    """NaN is NaN + NaN j, as the array API standard has it; of a Scalar NaN + 0j, as of a float."""
    out = complex(_host(self))
    if out.real != out.real and type(self) is NDArray and self.dtype.kind == "f":
        return complex(math.nan, math.nan)
    return out


def _index(self: Array) -> int:
    return operator.index(_seen(self))


def _format(self: Array, spec: str) -> str:
    return description(self._read()) or format(_seen(self), spec)


def _item(self: Array, *args: Any) -> Any:
    return np.asarray(_host(self)).item(*args)


def _tolist(self: Array) -> Any:
    return _host(self).tolist()


def _tobytes(self: Array, order: Any = "C") -> bytes:
    if order == "A":
        order = "F" if is_fortran(self) else "C"
    return np.asarray(_host(self)).tobytes(order)


def _str(self: Array) -> str:
    return description(self._read()) or str(_seen(self))


def _repr(self: Array) -> str:
    unknown = description(self._read())
    if unknown is not None:
        return unknown
    value = _seen(self)
    return repr(value if isinstance(self, Scalar) else np.asarray(value))


# -- copies, pickling ------------------------------------------------------------------------------


def _copy(self: Array, order: str = "C") -> Array:
    return in_order(new_array(self._read()), order_like(self, order_argument(order)))


def _flatten(self: Array, order: str = "C") -> Array:
    return _copy(manipulation.ravel(self, order))


def _flattened(value: Any, order: Any = "C") -> Any:
    return np.asarray(value).flatten(order)


def _dunder_copy(self: Array) -> Array:
    return new_scalar(self._read()) if isinstance(self, Scalar) else _copy(self, "K")


def _rebuild(value: Any, scalar: bool) -> Array:
    node = from_host(value)
    if scalar:
        return new_scalar(node)
    return in_order(new_array(node), order_of_strides(value))


def _reduce(self: Array) -> Any:
    value = _host(self)
    if self._order is not None:
        value = laid_out(np.asarray(value), self)
    return _rebuild, (value, isinstance(self, Scalar))


def _astype(
    self: Array,
    dtype: Any,
    order: str = "K",
    casting: Any = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Array:
    """A copy in another dtype. `subok` has no effect."""
    dtype = dtype_argument(dtype)
    order = order_argument(order)
    if local.recorder.eager and order == "K" and casting == "unsafe" and self.dtype != dtype:
        out = _cast_at_once(self, dtype)
        if out is not None:
            return out
    if casting == "same_value":  # whether it raises depends on the data
        same = np.asarray(_host(self)).astype(dtype, casting=casting)
        return (new_scalar if isinstance(self, Scalar) else new_array)(from_host(same))
    if not np.can_cast(self.dtype, dtype, casting):
        np.empty(0, self.dtype).astype(dtype, casting=casting)  # NumPy's own exception
    if self.dtype == dtype:
        if not copy:
            return self
        return _copy(self, order) if self.ndim else _dunder_copy(self)
    if isinstance(self, Scalar) and not on_device(dtype):
        return _host(self).astype(dtype)  # a string as long as this one is, a date, an object
    out = in_order(converted(self, dtype), order_like(self, order_argument(order)))
    return new_scalar(out._read()) if isinstance(self, Scalar) else out


def _cast_at_once(self: Array, dtype: Any) -> Array | None:
    """By NumPy, in a loop of small operations. Not where a warning is to name the user's line."""
    value = there(self._read())
    if value is None or value.nbytes > local.recorder.largest or not on_device(value.dtype):
        return None
    if not on_device(dtype) or value.dtype.kind == "c" and dtype.kind != "c" or watched():
        return None
    node = leaf(quiet_result(local.recorder.quiet, value.astype, dtype))
    if type(self) is Scalar:
        return new_scalar(node)
    return in_order(new_array(node), None if self._order is None else copied_order(self))


def _view(self: Array, dtype: Any = NO_VALUE, type: Any = None) -> Any:
    """A view of the same memory; with a dtype, of its bytes read as that dtype."""
    dtype = None if dtype is NO_VALUE else np.dtype(float) if dtype is None else dtype
    if isinstance(dtype, __builtins_type__) and issubclass(dtype, Array):
        dtype, type = None, dtype
    if isinstance(type, __builtins_type__) and issubclass(type, Array):
        made = view(self, Reshape(self.shape)) if dtype is None else _view(self, dtype)
        return made if type is NDArray else of_class(type, made, self)
    if dtype is None and type is None:
        return _kept_class(self, view(self, Reshape(self.shape)))
    for kind in (dtype, type):
        if isinstance(kind, __builtins_type__) and issubclass(kind, np.ndarray):
            copied = np.array(_host(self))  # a recarray, a matrix: NumPy's, of a copy
            return copied.view(kind) if dtype is None or kind is dtype else copied.view(dtype, kind)
    dtype = np.dtype(dtype)
    if dtype == self.dtype:
        return _kept_class(self, view(self, Reshape(self.shape)))
    shape = layout(self).view(dtype).shape  # NumPy's checks and errors
    return _kept_class(self, view(self, Bitcast(dtype, shape)))


def _kept_class(self: Array, made: Array) -> Array:
    return of_class(type(self), made, self) if isinstance(self, Subclass) else made


__builtins_type__ = type


# -- attributes ------------------------------------------------------------------------------------


def _set_shape(self: Array, shape: Any) -> None:
    new = manipulation.reshape(self, shape)
    if new._base is None:
        raise AttributeError(
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with "
            "the desired shape."
        )
    if self._base is None:  # views of this owner must go on seeing its memory
        if new.shape != self.shape:
            owner = new_array(self._read())
            owner._order, self._order = self._order, self._order and True
            self._base, self._path, self._seen = owner, (Reshape(new.shape),), owner._node
            self._node = new._read()
        return
    self._path, self._node, self._seen = new._path, new._read(), new._seen


def _dtype(self: Array) -> np.dtype[Any]:
    dtype = self.aval.dtype
    if dtype.names is None:
        return dtype
    value = self._read()[VALUE]  # whose own it is: the names in it can be changed
    return value.dtype if isinstance(value, (np.ndarray, np.generic)) else dtype


def _set_dtype(self: Array, dtype: Any) -> None:
    new = _view(self, dtype)
    if self._base is None:
        owner = new_array(self._read())
        owner._flags, owner._order = self._flags, self._order
        self._order = self._order and True
        self._base, self._path, self._seen = owner, new._path, owner._node
        self._node = new._read()
    else:
        self._path, self._node, self._seen = new._path, new._read(), new._seen


def _set_strides(self: Array, strides: Any) -> None:
    warnings.warn(_STRIDES, DeprecationWarning, stacklevel=2)
    target = tuple([operator.index(s) for s in strides])
    if len(target) != self.ndim:
        raise ValueError(f"strides must be  same length as shape ({self.ndim})")
    if target == self.strides:
        return
    try:
        new = as_strided(self, self.shape, target)
    except ValueError:
        new = self
    if new is self or new._base is None:  # or it would cut elements into pieces
        raise ValueError("strides is not compatible with available memory")
    if self._base is None:
        owner = new_array(self._read())
        owner._flags, owner._order = self._flags, self._order
        self._base = owner
    self._path, self._node, self._seen = new._path, new._read(), self._owner()._node
    self._order = True


_STRIDES = (
    "Setting the strides on a NumPy array has been deprecated in NumPy 2.4.\n"
    "As an alternative, you can create a new view using np.lib.stride_tricks.as_strided, or "
    "create a new array with the desired strides."
)


def _setstate(self: Array, state: Any) -> None:
    """What pickle calls with what NumPy's arrays are pickled as."""
    memory: Any = np.empty(0)
    memory.__setstate__(state)
    self._base, self._node, self._flags = None, from_host(memory), None
    self._order = order_of_strides(memory)


def _real(self: Array) -> Array:
    if self.dtype.kind != "c":
        return self
    if isinstance(self, Scalar):
        return new_scalar(Real().get(self._read()))
    return view(self, Real())


def _imag(self: Array) -> Array:
    if self.dtype.kind == "c":
        if isinstance(self, Scalar):
            return new_scalar(Imag().get(self._read()))
        return view(self, Imag())
    zeros = creation.zeros(self.shape, self.dtype)
    if isinstance(self, Scalar):
        return new_scalar(zeros._read())
    zeros._flags = {"readonly": True}
    return zeros


def _set_real(self: Array, value: Any) -> None:
    setitem(_real(self), ..., _part(self, value))


def _set_imag(self: Array, value: Any) -> None:
    if self.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    setitem(_imag(self), ..., _part(self, value))


def _part(self: Array, value: Any) -> Any:
    """What a part of a complex number is set to: the imaginary part is lost, with a warning."""
    given = as_array(value)
    if self.dtype.kind != "c" or given.dtype.kind != "c":
        return value
    return converted(given, self.dtype.type(0).real.dtype)


def _base(self: Array) -> Array | None:
    return self._base


def _setflags(self: Array, write: Any = None, align: Any = None, uic: Any = None) -> None:
    if uic:
        raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
    if write is not None:
        Flags(self).writeable = write


def _matrix_transpose(self: Array) -> Array:
    if self.ndim < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    return transpose(self, (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2))


def _set_flat(self: Array, value: Any) -> None:
    flatiter(self)[:] = value


# -- methods with a signature of their own ---------------------------------------------------------


def _reshape(self: Array, *shape: Any, order: str = "C", copy: Any = None) -> Array:
    if not shape:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    target = shape[0] if len(shape) == 1 else shape
    return manipulation.reshape(self, target, order=order, copy=copy)


def _transpose(self: Array, *axes: Any) -> Array:
    target = axes[0] if len(axes) == 1 else (axes or None)
    return manipulation.transpose(self, target)


def _getfield(self: Array, dtype: Any, offset: int = 0) -> Array:
    """A view, unless the field is at no multiple of its size: then a copy."""
    dtype = np.dtype(dtype)
    value = np.empty((), self.dtype).getfield(dtype, offset)  # raises for one out of bounds
    if offset % value.itemsize or self.dtype.itemsize % value.itemsize:
        return new_array(from_host(np.asarray(_host(self)).getfield(dtype, offset)))
    parts = _view(getitem(self, (..., None)), dtype)
    return getitem(parts, (..., offset // value.itemsize))


def _fill(self: Array, value: Any) -> None:
    if self.dtype.kind == "O":
        with write_on_host(self) as memory:
            memory.fill(value)
        return
    if isinstance(value, (list, tuple)) or np.ndim(value) and self.dtype.kind not in "OV":
        np.empty(1, self.dtype).fill(
            np.asarray(_host(value)) if isinstance(value, Array) else value
        )
    setitem(self, ..., value)


def _sort(self: Array, axis: int = -1, kind: Any = None, order: Any = None, **kw: Any) -> None:
    check_writeable(self)
    store(sorting.sort(self, axis, kind, order, **kw), self)


def _partition(self: Array, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None):
    check_writeable(self)
    store(sorting.partition(self, kth, axis, kind, order), self)


def _resize(self: Array, *shape: Any, refcheck: bool = True) -> None:
    if shape in ((), (None,)):
        return
    if self._base is not None:
        raise ValueError("cannot resize this array: it does not own its data")
    target = shape[0] if len(shape) == 1 else shape
    target = (target,) if isinstance(target, int) else tuple(target)
    if any(n < 0 for n in target):
        raise ValueError("negative dimensions not allowed")
    count = int(np.prod(target, dtype=np.int64))
    views = refcheck and any(
        isinstance(v, Array) and v._base is self for v in gc.get_referrers(self)
    )
    if views and count == self.size and not is_fortran(self):  # in the same memory
        return _set_shape(self, target)
    counted = type(self) is NDArray and type(self.aval) is Aval and not staged
    if _getframe(1).f_globals.get("__name__") == _subclass.__name__:  # it holds the array too
        counted = False
    counted = counted and count != self.size and refcheck
    if views or counted and getrefcount(self) > _REFERENCES:
        raise ValueError(
            "cannot resize an array that references or is referenced\nby another object in this "
            "way.\nUse the np.resize function to get a new resized copy or\n set refcheck=False "
            "to disable this check"
        )
    flags = layout(self).flags
    if not flags.c_contiguous and not flags.f_contiguous:
        raise ValueError("resize only works on single-segment arrays")
    order = "F" if is_fortran(self) else "C"  # the elements stay where they are in memory
    flat = manipulation.ravel(new_array(self._read()), order)
    if count > flat.size:
        flat = manipulation.concatenate([flat, creation.zeros(count - flat.size, self.dtype)])
        flat = cast(flat, self.dtype)
    self._node = manipulation.reshape(getitem(flat, slice(0, count)), target, order)._read()
    self._order = fortran_order(len(target)) if order == "F" else None


class _Counted:
    def references(self, *shape: Any, refcheck: bool = True) -> int:
        return getrefcount(self)


def _references() -> int:
    """To an object that one variable holds, as its own method counts them."""
    x = _Counted()
    return x.references(1)


_REFERENCES = _references()


def _byteswap(self: Array, inplace: bool = False) -> Array:
    if inplace and isinstance(self, Scalar):
        raise ValueError("cannot byteswap a scalar in-place")
    swapped = new_array(from_host(np.asarray(_host(self)).byteswap()))
    if isinstance(self, Scalar):
        return new_scalar(swapped._read())
    return store(swapped, self) if inplace else swapped


def _choose(self: Array, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    return indexing.choose(self, choices, out=out, mode=mode)


def _compress(self: Array, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return indexing.compress(condition, self, axis=axis, out=out)


def _clip(self: Array, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    return reductions.clipped(self, min, max, out, **kwargs)


def _searchsorted(self: Array, v: Any, side: str = "left", sorter: Any = None) -> Any:
    return sorting.searchsorted(self, elements(v), side, sorter)


def _conjugate(self: Array, out: Any = None, /) -> Any:
    if self.dtype.kind in "SUVMm":
        raise TypeError("cannot conjugate non-numeric dtype")
    if self.dtype.kind in "cO":
        return ufuncs.conjugate(self, out=out)
    return self if out is None else store(self, out)


def _dot(self: Array, b: Any, out: Any = None) -> Any:
    try:
        return products.dot(self, b, out)
    except Overridden:
        return host_into(np.dot, self, b, out=out)


_METHODS: dict[str, Callable[..., Any]] = {
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
    "put": indexing.put,
    "ravel": manipulation.ravel,
    "repeat": manipulation.repeat,
    "round": reductions.round,
    "squeeze": manipulation.squeeze,
    "std": reductions.std,
    "sum": reductions.sum,
    "swapaxes": manipulation.swapaxes,
    "take": indexing.take,
    "trace": indexing.trace,
    "var": reductions.var,
    # with a signature of their own
    "__array__": _array,
    "__buffer__": _buffer,
    "__bytes__": lambda self: bytes(_host(self)) if type(self) is Scalar else _tobytes(self),
    "__bool__": lambda self: bool(_seen(self)),
    "__complex__": _complex,
    "__contains__": _contains,
    "__copy__": _dunder_copy,
    "__dlpack__": interchange.dlpack,
    "__dlpack_device__": interchange.dlpack_device,
    "__float__": lambda self: float(_real_host(self)),
    "__format__": _format,
    "__index__": _index,
    "__int__": lambda self: int(_seen_real(self)),
    "__iter__": in_front("iterate", _iter, function=getitem),
    "__len__": _len,
    "__reduce__": _reduce,
    "__setstate__": _setstate,
    "__repr__": _repr,
    "__str__": _str,
    "astype": _astype,
    "byteswap": _byteswap,
    "choose": _choose,
    "clip": _clip,
    "compress": _compress,
    "conj": _conjugate,
    "conjugate": _conjugate,
    "copy": _copy,
    "dot": _dot,
    "fill": _fill,
    "flatten": by_numpy(_flattened)(_flatten),
    "getfield": _getfield,
    "item": _item,
    "partition": _partition,
    "reshape": _reshape,
    "resize": _resize,
    "searchsorted": _searchsorted,
    "setflags": _setflags,
    "sort": _sort,
    "to_device": interchange.to_device,
    "tobytes": _tobytes,
    "tolist": _tolist,
    "transpose": _transpose,
    "view": _view,
}
_PROPERTIES: dict[str, tuple[Any, ...]] = {
    "at": (_at.At,),
    "T": (turned,),
    "mT": (_matrix_transpose,),
    "base": (_base,),
    "dtype": (_dtype, _set_dtype),
    "flags": (Flags,),
    "flat": (flatiter, _set_flat),
    "imag": (_imag, _set_imag),
    "itemsize": (lambda self: self.dtype.itemsize,),
    "jaxpr": (tools.array_jaxpr,),
    "nbytes": (lambda self: self.aval.nbytes,),
    "real": (_real, _set_real),
    "shape": (lambda self: self.aval.shape, _set_shape),
    "strides": (lambda self: layout(self).strides, _set_strides),
    "device": (lambda self: "cpu",),
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
    """`numpy.ndarray(...)`. A view of a lazy array, also by its `data`; of other memory that
    can be written, an array of NumPy's; of what cannot, a copy. Without a buffer, zeros."""
    if cls is not NDArray:  # derived from it, and lazy
        made = _construct(NDArray, shape, dtype, buffer, offset, strides, order)
        return of_class(cls, made if isinstance(made, Array) else new_array(from_host(made)), None)
    if buffer is None:
        objects = dtype is not None and np.dtype(dtype).hasobject  # None, if nothing is said
        return (creation.empty if objects else creation.zeros)(shape, dtype, order or "C")
    buffer = _memory.array_of(buffer)
    if isinstance(buffer, NDArray) and not isinstance(buffer, np.ndarray):
        if layout(buffer).flags.c_contiguous:
            return _within(buffer, shape, dtype, offset, strides, order)
    if isinstance(buffer, Array):
        buffer = np.asarray(_host(buffer))
    made = np.ndarray(shape, dtype, buffer, offset, strides, order)
    if made.flags.writeable:  # memory that others see: NumPy writes it
        return made
    found = new_array(from_host(made))
    found._flags = {"readonly": True}
    return found


def _within(buffer: Array, shape: Any, dtype: Any, offset: int, strides: Any, order: Any) -> Array:
    """A view of these bytes of an array."""
    memory = np.empty(buffer.aval.nbytes, "b")  # for NumPy to look at, never read
    like = np.ndarray(shape, dtype, memory, offset, strides, order)
    if offset % like.itemsize or buffer.dtype != like.dtype:
        return new_array(from_host(np.ndarray(shape, dtype, _host(buffer), offset, strides, order)))
    start = _reshape(buffer, -1)[offset // like.itemsize :]
    return as_strided(start, like.shape, like.strides)


_OF_A_COPY = (
    "fill", "getfield", "put", "resize", "setflags",
    "sort", "view",
)  # fmt: skip


def _of_a_copy(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a Scalar: as NumPy's, it is that of an array that holds the number."""

    @functools.wraps(method)
    def of_scalar(self: Array, *args: Any, **kwargs: Any) -> Any:
        out = method(new_array(self._read()), *args, **kwargs)
        return new_scalar(out._read()) if type(out) is NDArray and not out.ndim else out

    return of_scalar


def _of_scalar(name: str, getter: Callable[[Array], Any]) -> property:
    """An attribute of arrays that can be set, as scalars have it."""

    def refuse(self: Scalar, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of 'numpy.generic' objects is not writable")

    if name == "flat":
        return property(lambda self: flatiter(new_array(self._read())), refuse)
    return property(getter, refuse)


def _absent(name: str, self: Scalar) -> Any:
    kind = f"numpy.{self.dtype.type.__name__}"
    raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=self)


def _copied_scalar(self: Scalar, order: str = "C") -> Scalar:
    order_argument(order)
    return new_scalar(self._read())


def _construct_scalar(cls: Any, value: Any = 0.0) -> Any:
    """`type(x)(value)` for a scalar x: a float64, where the value is no number of NumPy's."""
    found = np.asarray(value)[()]
    found = found if isinstance(found, np.number | np.bool) else np.float64(value)
    return new_scalar(from_host(found))


def _attach() -> None:
    configure()
    _attach_operators()
    Array.__new__ = _construct  # type: ignore[method-assign]
    Scalar.__new__ = _construct_scalar  # type: ignore[method-assign]
    Array.__init__ = lambda *args, **kwargs: None  # type: ignore[method-assign]
    for name, function in _METHODS.items():
        setattr(Array, name, function)
    for name, function in _memory.METHODS.items():
        setattr(Array, name, function)
    for name, function in _memory.SCALAR_METHODS.items():
        setattr(Scalar, name, function)
    for name, accessors in (_PROPERTIES | _memory.PROPERTIES).items():
        setattr(Array, name, property(*accessors))
    for name in _OF_A_COPY:
        setattr(Scalar, name, _of_a_copy(getattr(Array, name)))
    for name in ("dtype", "flat", "imag", "real", "shape", "strides"):
        setattr(Scalar, name, _of_scalar(name, _PROPERTIES[name][0]))
    for name, code in _ATTRIBUTES.items():
        for kind in (Array, Scalar):
            plain = vars(kind).get(name)
            if plain is not None:
                get = in_front("attribute", plain.fget, code=code)
                setattr(kind, name, property(get, plain.fset, doc=plain.__doc__))
    Scalar.T = property(lambda self: self)  # type: ignore[assignment]
    Scalar.copy = _copied_scalar  # type: ignore[method-assign]
    Scalar.__setstate__ = lambda self, state: None  # type: ignore[attr-defined]
    for name in ("argpartition", "ctypes", "dot", "mT", "partition"):
        setattr(Scalar, name, property(functools.partial(_absent, name)))
    Array.__array_priority__ = 100.0  # type: ignore[attr-defined]
    _subclass.attach(set(_operator_names()), {**vars(ufuncs), "matmul": products.matmul})


def _operator_names() -> Iterator[str]:
    for name in _BINARY.keys() - {"matmul"}:
        yield from (f"__{name}__", f"__r{name}__", f"__i{name}__")
    for name in (*_COMPARISONS, *_UNARY):
        yield f"__{name}__"


_attach()
