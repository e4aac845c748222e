"""The operators of `Array` and `Scalar`, attached from tables."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, new_array, write_lock
from lazynp._avals import Aval
from lazynp._conversions import METHODS, host_of
from lazynp._fronts import in_front
from lazynp._node import AVAL, OP
from lazynp._recorder import staged
from lazynp._values import watched
from lazynp.functions import (
    products,
    ufuncs,
)
from lazynp.functions._eager import by_method
from lazynp.functions._foreign import decides, elements
from lazynp.functions._getset import getitem, setitem
from lazynp.functions._operands import cast, check_writeable, store
from lazynp.functions._operator_cases import defers, is_traced, power_of_one, yielded
from lazynp.functions._parts import Part, store as store_in
from lazynp.functions._scalars import (
    OF_SCALARS,
    conversion_of,
    operator_of,
    quiet,
    reader_of,
    swapped,
    unary_operator_of,
)
from lazynp.functions._selected import Selection
from lazynp.functions._stores import update_view
from lazynp.functions._ufunc import ufunc
from lazynp.functions._with_size import with_size

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


def _lacks_matmul(x: Array) -> bool:
    """Whether NumPy has a scalar here, without this operator. (The inputs of staged functions are
    Scalars of any shape, for they cannot be written.)
    """
    return type(x) is Scalar and not x.ndim


def _matmul_operator(self: Array, other: Any) -> Any:
    if _lacks_matmul(self) and not isinstance(other, (NDArray, np.ndarray)):
        return NotImplemented
    if type(other) is not NDArray and defers(other):
        return yielded("matmul", self, other)
    if type(other) is Part:
        return NotImplemented  # it knows
    return products.matmul_operator(self, other)


def _matmul_reflected(self: Array, other: Any) -> Any:
    if _lacks_matmul(self) and not isinstance(other, (NDArray, np.ndarray)):
        return NotImplemented
    if defers(other):
        return yielded("matmul", other, self)
    return products.matmul_operator(other, self)


def _in_place(function: Any, name: str) -> Any:
    is_ufunc = isinstance(function, ufunc)
    compute = function.in_place() if is_ufunc else lambda x, y: function(x, elements(y))

    def in_place(self: Array, other: Any) -> Any:
        if is_ufunc and type(self) is NDArray and update_view(self, function._numpy, other):
            return self
        if type(self) is Scalar:
            return NotImplemented  # rebinds, as a Python number
        if type(other) is not NDArray and defers(other) and not isinstance(other, np.ndarray):
            return _yielded_in_place(function, self, other)
        overridden = type(other) is not NDArray and decides(other)
        if type(self) is not NDArray and name != "matmul":
            overridden = overridden or decides(self)
        if overridden and not is_traced(self._read()):
            single = power_of_one(self, other) if name == "pow" else None
            return function(self, other, out=self) if single is None else single(self, out=self)
        check_writeable(self)
        try:
            if name == "matmul" and self.ndim and np.ndim(other) == 1:
                raise ValueError(_IN_PLACE_MATMUL)
            result = compute(self, other)
            if name == "matmul" and result.shape != self.shape:
                _refuse_shapes(self.shape, np.shape(other))
            return update(self, result, function)
        except Exception as e:  # elements of object arrays raise whatever they like
            failure = e
        try:
            if is_ufunc:  # not in the handler: its error would name this one as its context
                plain = np.asarray(other) if isinstance(other, np.ndarray) else other
                function.check_in_place(self, plain)  # also by a masked array, or a matrix
            raise failure
        finally:
            del failure  # a cycle with its traceback, which keeps the array

    in_place.__name__ = f"__i{name}__"
    if name == "matmul" or not is_ufunc:
        return in_place
    method = operator.ipow if name == "pow" else None
    return in_front("in_place", in_place, function=function._numpy, operator=compute, method=method)


def _yielded_in_place(function: Any, self: Array, other: Any) -> Any:
    """`self op= other` binds what the method of `other` gives, but not if it refuses ufuncs."""
    if hasattr(other, "__array_ufunc__"):
        kind = type(other).__name__
        raise TypeError(f"operand {kind!r} does not support ufuncs (__array_ufunc__=None)")
    return yielded(function.__name__, self, other)


def _refuse_shapes(ours: tuple[int, ...], others: tuple[int, ...]) -> None:
    """NumPy's error of `x @= y`, where the product has another shape than x: it broadcasts none."""
    x = np.empty(ours)
    x @= np.broadcast_to(0.0, others)


_IN_PLACE_MATMUL = (
    "inplace matrix multiplication requires the first operand to have at least one and the second "
    "at least two dimensions."
)


def update(self: Array, result: Array, function: Any) -> Array:
    """`self op= ...`: the result becomes the value, if dtype and shape allow."""
    if self._base is None and type(result) is NDArray and result._base is None and not staged:
        node, before = result._node, self._node
        aval = node[AVAL] if node[OP] is None else node[OP].aval
        known = before[AVAL] if before[OP] is None else before[OP].aval
        if aval is known and type(aval) is Aval:  # not a tracer, which would have to be noted
            self._node = node
            return self
    if result.aval is self.aval:
        with write_lock:
            self._write(result._read())
        return self
    if isinstance(function, ufunc):
        function._check_cast(result, self, "same_kind")
    return store(result, self)


def _in_place_of_part(function: Any) -> Any:
    def operate(self: Part, other: Any) -> Part:
        result = function(self, other)
        if type(result) is not Part or result.whole.shape != self.whole.shape:
            self.unknown()
        function._check_cast(result.whole, self.whole, "same_kind")
        store_in(self, Part(cast(result.whole, self.dtype), result.regions))
        return self

    return operate


def _in_place_of_selection(function: Any) -> Any:
    def operate(self: Selection, other: Any) -> Any:
        return self.changed_by(function, other)

    return operate


def _calling(function: Any, reflected: bool = False) -> Any:
    def operate(x: Any, *others: Any) -> Any:
        return function(*others, x) if reflected else function(x, *others)

    return operate


def attach_operators() -> None:
    for name, function in _BINARY.items():
        if isinstance(function, ufunc):
            setattr(Array, f"__{name}__", function.operator())
            setattr(Array, f"__r{name}__", function.operator(reflected=True))
        if name != "divmod":
            setattr(Array, f"__i{name}__", _in_place(function, name))
    by_numpys = by_method(np.ndarray.__divmod__, 2, function=np.divmod)
    Array.__divmod__ = by_numpys(Array.__divmod__)  # type: ignore[attr-defined]
    reflected = by_method(np.ndarray.__rdivmod__, 2)
    Array.__rdivmod__ = reflected(Array.__rdivmod__)  # type: ignore[attr-defined]
    for name, function in _COMPARISONS.items():
        setattr(Array, f"__{name}__", function.operator())
    for name, function in _UNARY.items():
        setattr(Array, f"__{name}__", function.operator())
    _attach_scalar_operators()
    for name, function in (_BINARY | _COMPARISONS | _UNARY).items():  # of x[m], m traced
        if isinstance(function, ufunc):
            for unsized in (Selection, Part):
                setattr(unsized, f"__{name}__", with_size(_calling(function), _calling(function)))
                if name in _BINARY:
                    reflected = _calling(function, True)
                    setattr(unsized, f"__r{name}__", with_size(reflected, reflected))
            if name in _BINARY:
                setattr(Part, f"__i{name}__", _in_place_of_part(function))
                setattr(Selection, f"__i{name}__", _in_place_of_selection(function))
    Array.__matmul__ = in_front(  # type: ignore[attr-defined]
        "of_arrays", _matmul_operator, function=products.matmul_operator
    )
    Array.__rmatmul__ = _matmul_reflected  # type: ignore[attr-defined]
    Array.__getitem__ = getitem  # type: ignore[attr-defined]
    NDArray.__setitem__ = setitem  # type: ignore[attr-defined]
    NDArray.__delitem__ = _delitem  # type: ignore[attr-defined]
    Array.__hash__ = None  # type: ignore[assignment]
    Scalar.__getitem__ = _getitem_of_scalar  # type: ignore[attr-defined]


_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _attach_scalar_operators() -> None:
    """Operators of available scalars; other operands go to `Array`'s."""
    for name, function in (_BINARY | _COMPARISONS).items():
        if not isinstance(function, ufunc) or name in ("divmod", "matmul"):
            continue
        plain = getattr(operator, f"__{name}__")
        known: dict[str, Any] = {"quiet": quiet, "operands": 2, "symbol": _CODES.get(name, "?")}
        known["operator"] = vars(Array)[f"__{name}__"]  # with arrays
        forward = operator_of(plain, function.operator(depth=2))
        forward = in_front("of_scalars", forward, function=plain, **known)
        setattr(Scalar, f"__{name}__", forward)
        if name in _BINARY:
            setattr(Scalar, f"__i{name}__", forward)
            general = function.operator(reflected=True, depth=2)
            reflected = operator_of(swapped(plain), general)
            known["operator"] = vars(Array)[f"__r{name}__"]
            reflected = in_front("of_scalars", reflected, function=plain, swap=True, **known)
            setattr(Scalar, f"__r{name}__", reflected)
    for name, function in (_BINARY | _COMPARISONS).items():
        other = vars(Scalar).get(f"__{_MIRRORED.get(name, 'r' + name)}__")
        if name not in ("divmod", "matmul") and isinstance(function, ufunc):
            OF_SCALARS[function._numpy] = vars(Scalar)[f"__{name}__"], other
    for name, function in _UNARY.items():
        plain = getattr(operator, f"__{name}__")
        single = unary_operator_of(plain, function.operator(depth=2))
        single = in_front(
            "of_scalars", single, function=plain, quiet=quiet, operands=1,
            symbol=_CODES.get(name, "?"),
        )  # fmt: skip
        setattr(Scalar, f"__{name}__", single)
    for name in ("__divmod__", "__rdivmod__"):
        setattr(Scalar, name, _divmod_of(vars(Array)[name], name == "__rdivmod__"))
    for name, kind in (("bool", bool), ("int", int), ("float", float), ("index", operator.index)):
        convert = conversion_of(kind, METHODS[f"__{name}__"])
        setattr(Scalar, f"__{name}__", in_front("converted", convert, function=kind))
        symbol, general = "i" if kind is operator.index else "?", METHODS[f"__{name}__"]
        of_array = in_front("converted", general, function=kind, symbol=symbol)
        setattr(NDArray, f"__{name}__", of_array)
    convert = conversion_of(complex, METHODS["__complex__"])
    Scalar.__complex__ = in_front("converted", convert, function=complex)  # type: ignore
    readers = {"hash": _hash, "repr": METHODS["__repr__"], "str": METHODS["__str__"]}
    for look in (hash, repr, str):
        read = reader_of(look, readers[look.__name__])
        setattr(Scalar, f"__{look.__name__}__", in_front("converted", read, function=look))
    read = reader_of(np.generic.item, METHODS["item"])
    read = in_front("converted", read, function=np.generic.item)
    Scalar.item = read  # type: ignore[method-assign]
    read = reader_of(format, METHODS["__format__"])
    read = in_front("converted", read, function=format, operands=2)
    Scalar.__format__ = read  # type: ignore[method-assign]


_NUMBERS = {Scalar, int, float, bool}
_CODES = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "d", "mod": "%",
    "lt": "<", "gt": ">", "le": "l", "ge": "g", "eq": "=", "ne": "!", "neg": "-", "abs": "a",
    "pow": "^", "and": "&", "or": "|", "xor": "x", "lshift": "L", "rshift": "R",
    "invert": "~",
}  # fmt: skip


def _delitem(self: Array, index: Any) -> None:
    raise ValueError("cannot delete array elements")


def _getitem_of_scalar(self: Scalar, index: Any) -> Any:
    """Indexing a scalar: indexes a copy, so that writes to the result do not change the scalar."""
    try:
        return getitem(new_array(self._read()), index)
    except (IndexError, TypeError, ValueError, OverflowError):
        raise IndexError("invalid index to scalar variable.") from None  # NumPy's words


def _divmod_of(general: Any, reflected: bool) -> Any:
    """`divmod` of a Scalar and a number, by two operators that have fronts."""

    def call(self: Scalar, other: Any) -> Any:
        if type(other) in _NUMBERS and not watched():
            x, y = (other, self) if reflected else (self, other)
            try:
                return x // y, x % y
            except TypeError:  # of a complex number
                pass
        return general(self, other)

    return call


def _hash(self: Scalar) -> int:
    return hash(host_of(self))


def operator_names() -> Iterator[str]:
    for name in _BINARY.keys() - {"matmul"}:
        yield from (f"__{name}__", f"__r{name}__", f"__i{name}__")
    for name in (*_COMPARISONS, *_UNARY):
        yield f"__{name}__"
