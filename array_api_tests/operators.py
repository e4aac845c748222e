"""Operators and elementwise functions: the dtypes they accept, and what they compute."""

from __future__ import annotations

import operator as operator_module
from typing import Any, NamedTuple

import numpy as np

from array_api_tests.support import (
    ALL,
    COMPLEX,
    FLOATING,
    FLOATS,
    INTEGERS,
    NUMERIC,
    REAL,
    real_name,
)  # fmt: skip
from array_api_tests.traced import traced


class Function(NamedTuple):
    """An elementwise function. `out` maps the dtype of the operand to that of the result."""

    dtypes: tuple[str, ...]
    oracle: Any
    values: tuple[Any, ...] | None = None  # operands, if not from the pool
    out: Any = str
    loose: float = 1.0  # factor for wider tolerances
    second: tuple[Any, ...] | None = None


def _bool(name: str) -> str:
    return "bool"


_BITS = ("bool", *INTEGERS)
_UNIT = (-1.0, -0.5, 0.0, 0.25, 0.75, 1.0)
_ABOVE = (0.0, 0.5, 1.0, 1.5, 2.0, 7.0, 100.0)
_POSITIVE = (0.125, 0.5, 1.0, 2.0, 7.0, 100.0)

UNARY = {
    "abs": Function(NUMERIC, np.abs, out=real_name),
    "acos": Function(FLOATING, np.arccos, _UNIT),
    "acosh": Function(FLOATING, np.arccosh, (1.0, 1.5, 2.0, 7.0, 100.0)),
    "asin": Function(FLOATING, np.arcsin, _UNIT),
    "asinh": Function(FLOATING, np.arcsinh),
    "atan": Function(FLOATING, np.arctan),
    "atanh": Function(FLOATING, np.arctanh, (-0.9, -0.5, 0.0, 0.25, 0.75)),
    "bitwise_invert": Function(_BITS, np.invert),
    "ceil": Function(REAL, np.ceil),
    "conj": Function(NUMERIC, np.conj),
    "cos": Function(FLOATING, np.cos, loose=100),
    "cosh": Function(FLOATING, np.cosh, (0.0, 0.5, -0.5, 1.0, -3.0, 7.0)),
    "exp": Function(FLOATING, np.exp, (0.0, 0.5, -0.5, 1.0, -3.0, 7.0)),
    "expm1": Function(FLOATING, np.expm1, (0.0, 0.5, -0.5, 1.0, -3.0, 7.0)),
    "floor": Function(REAL, np.floor),
    "imag": Function(COMPLEX, np.imag, out=real_name),
    "isfinite": Function(NUMERIC, np.isfinite, out=_bool),
    "isinf": Function(NUMERIC, np.isinf, out=_bool),
    "isnan": Function(NUMERIC, np.isnan, out=_bool),
    "log": Function(FLOATING, np.log, _POSITIVE),
    "log1p": Function(FLOATING, np.log1p, _ABOVE),
    "log2": Function(FLOATING, np.log2, _POSITIVE),
    "log10": Function(FLOATING, np.log10, _POSITIVE),
    "logical_not": Function(("bool",), np.logical_not),
    "negative": Function(NUMERIC, np.negative),
    "positive": Function(NUMERIC, np.positive),
    "real": Function(NUMERIC, np.real, out=real_name),
    "reciprocal": Function(FLOATING, np.reciprocal, _POSITIVE),
    "round": Function(NUMERIC, np.round),
    "sign": Function(NUMERIC, np.sign),
    "signbit": Function(FLOATS, np.signbit, out=_bool),
    "sin": Function(FLOATING, np.sin, loose=100),
    "sinh": Function(FLOATING, np.sinh, (0.0, 0.5, -0.5, 1.0, -3.0, 7.0)),
    "sqrt": Function(FLOATING, np.sqrt, _ABOVE),
    "square": Function(NUMERIC, np.square),
    "tan": Function(FLOATING, np.tan, (0.0, 0.5, -0.5, 1.0, -3.0)),
    "tanh": Function(FLOATING, np.tanh),
    "trunc": Function(REAL, np.trunc),
}
_NONZERO = (1, 2, 3, 5, 7, 100)
_SHIFTS = (0, 1, 2, 3, 5)
_EXPONENTS = (0, 1, 2, 3)
BINARY = {
    "add": Function(NUMERIC, np.add),
    "atan2": Function(FLOATS, np.arctan2),
    "bitwise_and": Function(_BITS, np.bitwise_and),
    "bitwise_left_shift": Function(INTEGERS, np.left_shift, second=_SHIFTS),
    "bitwise_or": Function(_BITS, np.bitwise_or),
    "bitwise_right_shift": Function(INTEGERS, np.right_shift, second=_SHIFTS),
    "bitwise_xor": Function(_BITS, np.bitwise_xor),
    "copysign": Function(FLOATS, np.copysign),
    "divide": Function(FLOATING, np.divide, second=_NONZERO),
    "equal": Function(ALL, np.equal, out=_bool),
    "floor_divide": Function(REAL, np.floor_divide, second=_NONZERO),
    "greater": Function(REAL, np.greater, out=_bool),
    "greater_equal": Function(REAL, np.greater_equal, out=_bool),
    "hypot": Function(FLOATS, np.hypot),
    "less": Function(REAL, np.less, out=_bool),
    "less_equal": Function(REAL, np.less_equal, out=_bool),
    "logaddexp": Function(FLOATS, np.logaddexp),
    "logical_and": Function(("bool",), np.logical_and),
    "logical_or": Function(("bool",), np.logical_or),
    "logical_xor": Function(("bool",), np.logical_xor),
    "maximum": Function(REAL, np.maximum),
    "minimum": Function(REAL, np.minimum),
    "multiply": Function(NUMERIC, np.multiply),
    "nextafter": Function(FLOATS, np.nextafter, values=(1.0, -2.5, 100.0, 0.125)),
    "not_equal": Function(ALL, np.not_equal, out=_bool),
    "pow": Function(NUMERIC, np.power, second=_EXPONENTS, loose=10),
    "remainder": Function(REAL, np.remainder, second=_NONZERO),
    "subtract": Function(NUMERIC, np.subtract),
}
# operators of the array object, by function
OPERATORS = {
    "__add__": "add", "__and__": "bitwise_and", "__eq__": "equal", "__floordiv__": "floor_divide",
    "__ge__": "greater_equal", "__gt__": "greater", "__le__": "less_equal",
    "__lshift__": "bitwise_left_shift", "__lt__": "less", "__mod__": "remainder",
    "__mul__": "multiply", "__ne__": "not_equal", "__or__": "bitwise_or", "__pow__": "pow",
    "__rshift__": "bitwise_right_shift", "__sub__": "subtract", "__truediv__": "divide",
    "__xor__": "bitwise_xor",
}  # fmt: skip
UNARY_OPERATORS = {
    "__abs__": "abs", "__invert__": "bitwise_invert", "__neg__": "negative", "__pos__": "positive",
}  # fmt: skip
REFLECTED = tuple(
    n for n in OPERATORS if n not in ("__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__")
)


def symbol(operator: str) -> Any:
    """The operator, as Python applies it to two objects."""
    name = operator.strip("_")
    name = {"and": "and_", "or": "or_"}.get(name, name)
    return traced(getattr(operator_module, name))


def scalar_of(name: str, value: Any) -> Any:
    """A Python scalar of the kind of a dtype."""
    if name == "bool":
        return bool(value)
    if name in COMPLEX:
        return complex(value)
    return float(value) if name in FLOATS else int(value)
