"""The spelling of types, attributes and constants in StableHLO text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval
from lazynp._errors import LoweringError

ELEMENT_TYPES: dict[np.dtype[Any], str] = {
    np.dtype(name): text
    for name, text in {
        "bool": "i1",
        "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
        "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
        "float16": "f16", "float32": "f32", "float64": "f64",
        "complex64": "complex<f32>", "complex128": "complex<f64>",
    }.items()
}  # fmt: skip

_types: dict[Aval, str] = {}


def type_text(aval: Aval) -> str:
    """`tensor<2x3xf64>`"""
    try:
        return _types[aval]
    except KeyError:
        pass
    element = ELEMENT_TYPES.get(aval.dtype)
    if element is None:
        raise LoweringError(f"arrays of {aval.dtype} exist on the host only")
    dims = "".join(f"{d}x" for d in aval.shape)
    text = _types[aval] = f"tensor<{dims}{element}>"
    return text


def ints(values: Iterable[int]) -> str:
    """`array<i64: 0, 1>`"""
    text = ", ".join(map(str, values))
    return f"array<i64: {text}>" if text else "array<i64>"


def dims(values: Iterable[int]) -> str:
    """`[0, 1]`"""
    return "[" + ", ".join(map(str, values)) + "]"


def layouts_text(avals: Sequence[Aval], layouts: Sequence[Sequence[int]] | None = None) -> str:
    """The layouts of a call's operands or results, minor to major. The default is row-major."""
    if layouts is None:
        layouts = [tuple(range(a.ndim))[::-1] for a in avals]
    texts = [f"dense<{dims(o) if o else ''}> : tensor<{len(o)}xindex>" for o in layouts]
    return "[" + ", ".join(texts) + "]"


_BITS = {"float16": ("u2", 4), "float32": ("u4", 8), "float64": ("u8", 16)}


def _float_text(value: Any) -> str:
    """All bits of a float in hexadecimal, so that nan, inf, -0.0 and every digit are preserved."""
    unsigned, digits = _BITS[value.dtype.name]
    return f"0x{int(value.view(unsigned)):0{digits}X}"


def scalar_text(value: Any, dtype: np.dtype[Any]) -> str:
    """One element in the form of `dense<...>`; the value is cast to the dtype exactly."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return str(int(value))
    scalar = dtype.type(value)
    if dtype.kind == "f":
        return _float_text(scalar)
    return f"({_float_text(scalar.real)}, {_float_text(scalar.imag)})"


def dense_text(array: np.ndarray[Any, Any]) -> str:
    """All elements of an array in the form of `dense<...>`."""
    if array.size == 0:
        return ""
    if array.dtype.kind == "b":  # the hexadecimal form packs bools into bits
        return _nested(array)
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return f'"0x{little.tobytes().hex().upper()}"'


def _nested(array: np.ndarray[Any, Any]) -> str:
    if array.ndim == 0:
        return scalar_text(array[()], array.dtype)
    return "[" + ", ".join(_nested(row) for row in array) + "]"


def text(value: str) -> str:
    """A string in quotes."""
    value = value.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A")
    return f'"{value}"'


def flag(value: bool) -> str:
    return "true" if value else "false"
