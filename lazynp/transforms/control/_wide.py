"""Python's ints from 2**63 up to 2**64, as hashes and random numbers have them: traced ones are of
uint64, and numbers of Python's like those of int64.

A result that int64 holds for certain, as that of `z >> 11` or `z & 255`, is of int64 again. One
that neither holds is an OverflowError, as beyond int64.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._dimensions import as_number
from lazynp._intervals import interval
from lazynp._node import aval_of_node
from lazynp.primitives import elementwise
from lazynp.primitives.checks import check_later
from lazynp.transforms.control._state import pythons, user_line

BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
    "RShift": operator.rshift,
}  # fmt: skip
_INT, _WIDE, _FLOAT = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float64)
_HALF, ALL = 1 << 63, 1 << 64


def is_wide(x: Any) -> bool:
    """Whether this is such an int, known or traced."""
    if type(x) is int:
        return _HALF <= x < ALL
    if not isinstance(x, Array):
        return False
    aval = aval_of_node(x._read())
    return aval.weak and not aval.shape and aval.dtype == _WIDE


def as_traced(x: Any) -> Any:
    """A number as a program takes it: a size has no value there, and an int 64 bits."""
    return pythons(np.uint64(x), _WIDE) if type(x) is int and is_wide(x) else as_number(x)


def low_bits(x: Any) -> Any:
    """The int of int64 with the low bits of this one."""
    if isinstance(x, Array):
        return pythons(x, _INT) if x.dtype == _WIDE else x
    return (x + _HALF) % ALL - _HALF


def masked(x: Any, mask: int) -> Any:
    """The low bits of an int that may have wrapped, traced."""
    if mask < _HALF:
        return low_bits(x) & mask
    x = pythons(x, _WIDE)
    return x if mask == ALL - 1 else pythons(elementwise.bitwise_and(x, np.uint64(mask)), _WIDE)


def narrowed(x: Any, line: int) -> Any:
    """This int as one of int64, which the program checks."""
    if not isinstance(x, Array) or x.dtype != _WIDE:
        return x
    if interval(x._read())[1] >= _HALF:
        _refuse(elementwise.greater_equal(x, np.uint64(_HALF)), line)
    return pythons(x, _INT)


def needs_wide(name: str, a: Any, b: Any) -> bool:
    """Whether `of_wide` computes this of two ints."""
    return is_wide(a) or is_wide(b) or name == "Mod" and type(b) is int and b == ALL


def of_wide(name: str, a: Any, b: Any, line: int) -> Any:
    """`a + b` and the like, of two ints, at least one of which is wide."""
    if name == "Div":
        return pythons(elementwise.divide(_real(a), _real(b)), _FLOAT)
    if name == "BitAnd":
        low = [x for x in (a, b) if not is_wide(x) and _least(x) >= 0]
        out = elementwise.bitwise_and(_bits(a), _bits(b))
        return pythons(out, _INT if low else _WIDE)
    if name not in _COMPUTE:
        return BITWISE.get(name, pow)(narrowed(a, line), narrowed(b, line))
    if name == "Mod" and type(b) is int and b == ALL:
        return masked(a, ALL - 1)
    x, y = _whole(a, line), _whole(b, line)
    out, beyond = _COMPUTE[name](x, y)
    if beyond is not None:
        _refuse(beyond, line)
    fits = name == "RShift" and _least(b) > 0 or name == "FloorDiv" and _least(b) > 1
    if name == "Mod":
        fits = not is_wide(b) or type(b) is int and b == _HALF
    return pythons(out, _INT if fits else _WIDE)


def _least(x: Any) -> int:
    return interval(x._read())[0] if isinstance(x, Array) else x


def _real(x: Any) -> Any:
    return elementwise.convert(x, dtype=_FLOAT) if isinstance(x, Array) else np.float64(x)


def _bits(x: Any) -> Any:
    return elementwise.convert(x, dtype=_WIDE) if isinstance(x, Array) else np.uint64(x % ALL)


def _whole(x: Any, line: int) -> Any:
    """The number as one of uint64. A negative one is refused."""
    if isinstance(x, Array) and x.dtype != _WIDE and _least(x) < 0:
        _refuse(elementwise.less(x, 0), line, _NEGATIVE)
    elif not isinstance(x, Array) and not 0 <= x < ALL:
        _refuse(np.bool_(True), line, _NEGATIVE if x < 0 else _LARGE)
    return _bits(x)


_LARGE = "an int of more than 64 bits; write a float, or make the argument static"
_NEGATIVE = "a negative int beside one of 64 bits; make the argument static"


def _refuse(bad: Any, line: int, why: str = _LARGE) -> None:
    check_later(bad, OverflowError, f"line {line or user_line()}: {why}")


def _added(x: Any, y: Any) -> tuple[Any, Any]:
    out = elementwise.add(x, y)
    return out, elementwise.less(out, x)


def _subtracted(x: Any, y: Any) -> tuple[Any, Any]:
    return elementwise.subtract(x, y), elementwise.less(x, y)


def _multiplied(x: Any, y: Any) -> tuple[Any, Any]:
    most = elementwise.floor_divide(np.uint64(ALL - 1), elementwise.maximum(y, np.uint64(1)))
    return elementwise.multiply(x, y), elementwise.greater(x, most)


def _shifted(x: Any, y: Any) -> tuple[Any, Any]:
    out = elementwise.left_shift(x, y)
    return out, elementwise.not_equal(elementwise.right_shift(out, y), x)


def _exact(function: Any) -> Any:
    return lambda x, y: (function(x, y), None)


_COMPUTE: dict[str, Any] = {
    "Add": _added, "Sub": _subtracted, "Mult": _multiplied, "LShift": _shifted,
    "BitOr": _exact(elementwise.bitwise_or), "BitXor": _exact(elementwise.bitwise_xor),
    "RShift": _exact(elementwise.right_shift), "FloorDiv": _exact(elementwise.floor_divide),
    "Mod": _exact(elementwise.remainder),
}  # fmt: skip
