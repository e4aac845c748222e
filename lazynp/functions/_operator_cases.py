"""Where an operator does not do what its ufunc does: some operands decide themselves."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar
from lazynp._flush import host_value
from lazynp._later import is_of_numpys_class
from lazynp._node import is_tracer
from lazynp._values import knowable
from lazynp.functions._host import host_call, to_device, to_host
from lazynp.functions._operands import as_array
from lazynp.functions._subclass import Subclass, functions as ufuncs, takes_over
from lazynp.primitives import elementwise

OPERATORS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "power": operator.pow, "left_shift": operator.lshift, "right_shift": operator.rshift,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "divmod": divmod, "negative": operator.neg, "positive": operator.pos,
    "absolute": abs, "invert": operator.invert, "matmul": operator.matmul,
}  # fmt: skip

COMPARES = {"equal": operator.eq, "not_equal": operator.ne}
_ORDERS = {
    "less": operator.lt, "less_equal": operator.le,
    "greater": operator.gt, "greater_equal": operator.ge,
}  # fmt: skip
_BY_PYTHON = {
    **COMPARES, **_ORDERS,
    "divmod": divmod, "floor_divide": operator.floordiv, "remainder": operator.mod,
}  # fmt: skip


_NO_LOOP: Any = sys.modules["numpy._core._exceptions"]._UFuncNoLoopError


def compared(compare: Any, function: Any, x: Any, y: Any) -> Any:
    """`function(x, y)`, or for records what the operator `compare` of NumPy's gives: it refuses
    what its ufunc takes, and other values that cannot be compared are unequal.
    """
    try:
        if not any(isinstance(v, Array) and v.dtype.kind == "V" for v in (x, y)):
            return function(x, y)
    except TypeError as error:
        refused = takes_over(type(x)) or takes_over(type(y))
        if refused and not isinstance(error, _NO_LOOP):
            raise
    return host_call(compare, x, y)


def defers(other: Any) -> bool:
    """Whether NumPy's operators would defer to this operand."""
    if isinstance(other, (Array, np.ndarray, np.generic)):
        return is_of_numpys_class(type(other))
    kind = type(other)
    if getattr(kind, "__array_ufunc__", defers) is None:
        return True
    return not hasattr(kind, "__array_ufunc__") and getattr(kind, "__array_priority__", 0) > 0


def is_for_matrices(name: str, x: Any, y: Any) -> bool:
    """Whether NumPy runs this operator: a matrix has called it, or has none of its own."""
    matrix = isinstance(x, np.matrix) or name == "power" and isinstance(y, np.matrix)
    return matrix and name in OPERATORS


def yielded(name: str, x: Any, y: Any) -> Any:
    """The operator's result where one side defers: the other side's method decides. Sparse arrays
    accept only NumPy's dense arrays, so they get those, unless the value is traced. NumPy's scalars
    do not defer to a masked array or a matrix: their ufunc wraps the result.
    """
    if any(isinstance(v, Array) and is_traced(v._read()) for v in (x, y)):
        return NotImplemented
    function = OPERATORS.get(name)
    sparse = [type(v).__module__.startswith("scipy.sparse") for v in (x, y)]
    by_numpy = any(sparse) or type(x) is Scalar and isinstance(y, np.ndarray)
    return function(*to_host((x, y))) if function and by_numpy else NotImplemented


def is_traced(node: Any) -> bool:
    return is_tracer(node) or not knowable(node)


def by_python(name: str, x: Any, y: Any) -> Any:
    """What an operator gives of a scalar and an object that NumPy knows nothing of, None elsewhere.

    NumPy's scalars become Python's numbers then, and the object's own method decides. Sums and
    products of objects come to the same. Comparisons do not, because a ufunc makes bools of their
    results; there is no `divmod` of objects, and complex numbers have no remainder.
    """
    function = _BY_PYTHON.get(name)
    if function is None:
        return None
    number, other = (x, y) if type(x) is Scalar else (y, x)
    if type(number) is not Scalar or not _is_one_object(other) or is_traced(number._read()):
        return None
    values = [host_value(v._read()) if v is number else v for v in (x, y)]
    return (to_device(function(*values)),)


_ARRAYS = ("__array__", "__array_ufunc__", "__array_interface__", "__array_struct__", "__dlpack__")


def _is_one_object(x: Any) -> bool:
    kind = type(x)
    if kind in (int, float, bool, complex, list, tuple, str) or isinstance(x, (Array, np.generic)):
        return False
    if kind.__module__.startswith("lazynp") or any([hasattr(kind, name) for name in _ARRAYS]):
        return False
    made = np.asarray(x)
    return made.dtype == object and not made.ndim


_OF_ONE = {(int, 2): "square", (int, -1): "reciprocal", (float, 0.5): "sqrt"}


def power_of_one(x: Any, y: Any) -> Any:
    """The ufunc of one operand that NumPy takes for `x ** y`, where that shows: classes of arrays
    are asked with it, and for bools, the dtype differs from that of `power(x, 2)`.
    """
    name = _OF_ONE.get((type(y), y)) if type(y) is int or type(y) is float else None
    if name is None or type(x) is Scalar:
        return None
    kind = as_array(x).dtype.kind
    if isinstance(x, Subclass):
        taken = kind in "fc" or name == "square" and kind != "O"
    else:
        taken = name == "square" and kind == "b"
    return ufuncs[name] if taken else None


def repeated(x: Any, y: Any) -> Any:
    """x * y where that repeats a sequence, as in Python: NumPy's scalars do this, arrays do not.
    None elsewhere. Python refuses numbers that are no ints.
    """
    number, sequence = (x, y) if type(x) is Scalar else (y, x)
    if type(number) is not Scalar or not isinstance(sequence, _REPEATED):
        return None
    return sequence * operator.index(number) if number.dtype.kind in "iu" else NotImplemented


_REPEATED = (list, tuple, str, bytes, bytearray)


def included(ufunc: np.ufunc, inputs: tuple[Any, ...], where: Array) -> tuple[Any, ...]:
    """The operands of what is computed: where they are excluded, integers may have any power."""
    if ufunc is not np.power or type(inputs[1]) is float:
        return inputs
    x, y = inputs
    if type(y) is int:
        return x, y if y >= 0 or np.any(host_value(where._read())) else 1
    y = as_array(y)
    return (x, elementwise.select(where, y, 1)) if y.dtype.kind == "i" else inputs
