"""Which operation of MLIR's `arith` and `math` does an elementwise operation."""

from __future__ import annotations

from typing import Any

import numpy as np

# by name and kind: f floats, i signed, u unsigned integers and bools
PLAIN = {
    ("add", "f"): "arith.addf", ("add", "i"): "arith.addi", ("add", "u"): "arith.addi",
    ("subtract", "f"): "arith.subf", ("subtract", "i"): "arith.subi",
    ("subtract", "u"): "arith.subi",
    ("multiply", "f"): "arith.mulf", ("multiply", "i"): "arith.muli",
    ("multiply", "u"): "arith.muli",
    ("divide", "f"): "arith.divf", ("divide", "i"): "arith.divsi", ("divide", "u"): "arith.divui",
    ("remainder", "f"): "arith.remf", ("remainder", "i"): "arith.remsi",
    ("remainder", "u"): "arith.remui",
    ("maximum", "i"): "arith.maxsi", ("maximum", "u"): "arith.maxui",
    ("minimum", "i"): "arith.minsi", ("minimum", "u"): "arith.minui",
    ("and", "i"): "arith.andi", ("and", "u"): "arith.andi",
    ("or", "i"): "arith.ori", ("or", "u"): "arith.ori",
    ("xor", "i"): "arith.xori", ("xor", "u"): "arith.xori",
    ("shift_left", "i"): "arith.shli", ("shift_left", "u"): "arith.shli",
    ("shift_right_arithmetic", "i"): "arith.shrsi",
    ("shift_right_logical", "i"): "arith.shrui", ("shift_right_logical", "u"): "arith.shrui",
    ("negate", "f"): "arith.negf", ("abs", "i"): "math.absi",
}  # fmt: skip

# of floats
MATH = {
    "abs": "math.absf", "ceil": "math.ceil", "cosine": "math.cos", "exponential": "math.exp",
    "floor": "math.floor", "log": "math.log", "sine": "math.sin", "sqrt": "math.sqrt",
}  # fmt: skip

# directions, and whether numbers have no sign
COMPARISONS = {
    (d, u): d.lower() if d in ("EQ", "NE") else ("u" if u else "s") + d.lower()
    for d in ("EQ", "NE", "LT", "LE", "GT", "GE")
    for u in (False, True)
}


def conversion(source: np.dtype[Any], dtype: np.dtype[Any]) -> str:
    """The operation of `arith` that converts numbers; dtypes of different types."""
    wider = dtype.itemsize > source.itemsize or source.kind == "b"
    if source.kind == "f" and dtype.kind == "f":
        return "extf" if wider else "truncf"
    if source.kind == "f":
        return "fptoui" if dtype.kind == "u" else "fptosi"
    unsigned = source.kind in "ub"
    if dtype.kind == "f":
        return "uitofp" if unsigned else "sitofp"
    if not wider:
        return "trunci"
    return "extui" if unsigned else "extsi"
