"""A small interpreter of what modules of kernels have in common: `arith`, `math`, `scf`. It runs on
NumPy arrays. An operation that it does not know is an error.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
DTYPES = {
    "f16": "f2", "f32": "f4", "f64": "f8", "i1": "?", "index": "i8",
    **{f"i{8 * n}": f"i{n}" for n in (1, 2, 4, 8)},
}  # fmt: skip


def type_of(text: str) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype of a type."""
    found = re.fullmatch(r"(?:tensor|vector)<((?:\d+x)*)(.*)>", text)
    sizes, element = found.groups() if found else ("", text)
    shape = tuple(map(int, sizes.split("x")[:-1]))
    return shape, None if "ptr" in element else np.dtype(DTYPES[element])


def unsigned(x: Any) -> Any:
    x = np.asarray(x)
    return x if x.dtype.kind == "b" else x.view(f"u{x.dtype.itemsize}")


def divided(x: Any, y: Any) -> Any:
    """Towards zero, as C and XLA."""
    with np.errstate(all="ignore"):
        q = np.asarray(np.abs(x) // np.abs(y))
        return (np.sign(x) * np.sign(y) * q).astype(np.asarray(x).dtype)


INTEGERS = [  # MLIR's numbers of predicates
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    *[lambda x, y, f=f: f(unsigned(x), unsigned(y))
      for f in (operator.lt, operator.le, operator.gt, operator.ge)],
]  # fmt: skip
FLOATS = {
    1: operator.eq,
    2: operator.gt,
    3: operator.ge,
    4: operator.lt,
    5: operator.le,
    13: operator.ne,
}
OPS: dict[str, Callable[..., Any]] = {
    "arith.addf": np.add, "arith.addi": np.add, "arith.subf": np.subtract,
    "arith.subi": np.subtract, "arith.mulf": np.multiply, "arith.muli": np.multiply,
    "arith.divf": np.divide, "arith.divsi": divided,
    "arith.divui": lambda x, y: (unsigned(x) // unsigned(y)).view(np.asarray(x).dtype),
    "arith.remf": np.fmod, "arith.remsi": np.fmod, "arith.maxsi": np.maximum,
    "arith.remui": lambda x, y: (unsigned(x) % unsigned(y)).view(np.asarray(x).dtype),
    "arith.minsi": np.minimum, "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or,
    "arith.maxui": lambda x, y: np.where(unsigned(x) > unsigned(y), x, y),
    "arith.minui": lambda x, y: np.where(unsigned(x) < unsigned(y), x, y),
    "arith.xori": np.bitwise_xor, "arith.shli": np.left_shift, "arith.shrsi": np.right_shift,
    "arith.shrui": lambda x, y: (unsigned(x) >> unsigned(y)).view(np.asarray(x).dtype),
    "arith.negf": np.negative, "arith.select": np.where, "math.absf": np.abs, "math.absi": np.abs,
    "math.ceil": np.ceil, "math.floor": np.floor, "math.exp": np.exp, "math.log": np.log,
    "math.sin": np.sin, "math.cos": np.cos, "math.sqrt": np.sqrt,
}  # fmt: skip
CONVERSIONS = {
    "arith.extsi", "arith.trunci", "arith.extf", "arith.truncf", "arith.sitofp", "arith.fptosi",
    "arith.fptoui",
}  # fmt: skip


class Program:
    """One program of a launched kernel: the dialects that all have in common."""

    ops = OPS

    def __init__(self, place: Sequence[int] = ()) -> None:
        self.place, self.values = place, {}

    def get(self, value: Any) -> Any:
        return self.values[value]

    def block(self, block: Any, args: Sequence[Any]) -> list[Any]:
        """Run a block; the values of its last operation."""
        self.values.update(zip(block.arguments, args, strict=True))
        for op in block.operations:
            op = op.operation
            operands = [self.get(v) for v in op.operands]
            if op.name.endswith((".yield", ".return", ".condition")):
                return operands
            outs = self.run(op, operands)
            self.values.update(zip(op.results, outs, strict=True))
        return []

    def run(self, op: Any, xs: list[Any]) -> Sequence[Any]:
        special = getattr(self, op.name.replace(".", "_"), None)
        with np.errstate(all="ignore"):
            if special is not None:
                return special(op, xs)
            shape, dtype = type_of(str(op.results[0].type))
            if op.name in CONVERSIONS:
                x = np.asarray(xs[0])
                x = -x.astype("i1") if x.dtype == bool else x  # i1 is signed
                return [x.astype(dtype)]
            found = np.asarray(self.ops[op.name](*xs))
        assert found.shape == shape and found.dtype == dtype, (op.name, found.dtype, dtype)
        return [found]

    # -- values ------------------------------------------------------------------------------------

    def arith_constant(self, op: Any, xs: Any) -> Any:
        shape, dtype = type_of(str(op.results[0].type))
        text = re.search(r"constant (?:dense<(.*?)>|(\S+))", str(op))
        value = next(g for g in text.groups() if g)
        if value.startswith("0x"):
            bits = np.array(int(value, 16), f"u{dtype.itemsize}")
            return [np.full(shape, bits.view(dtype))]
        if dtype.kind == "b":
            return [np.full(shape, value == "true")]
        return [np.full(shape, float(value) if dtype.kind == "f" else int(value), dtype)]

    def arith_extui(self, op: Any, xs: Any) -> Any:
        return [unsigned(xs[0]).astype(type_of(str(op.results[0].type))[1])]

    def arith_uitofp(self, op: Any, xs: Any) -> Any:
        return self.arith_extui(op, xs)

    def arith_bitcast(self, op: Any, xs: Any) -> Any:
        return [np.asarray(xs[0]).view(type_of(str(op.results[0].type))[1])]

    def arith_cmpi(self, op: Any, xs: Any) -> Any:
        return [np.asarray(INTEGERS[op.attributes["predicate"].value](*xs))]

    def arith_cmpf(self, op: Any, xs: Any) -> Any:
        return [np.asarray(FLOATS[op.attributes["predicate"].value](*xs))]

    # -- control -----------------------------------------------------------------------------------

    def scf_for(self, op: Any, xs: Any) -> Any:
        lower, upper, step, *state = xs
        for i in range(int(lower), int(upper), int(step)):
            state = self.block(op.regions[0].blocks[0], [np.asarray(i, lower.dtype), *state])
        return state

    def scf_while(self, op: Any, xs: Any) -> Any:
        state = xs
        while True:
            going, *state = self.block(op.regions[0].blocks[0], state)
            if not going:
                return state
            state = self.block(op.regions[1].blocks[0], state)

    def scf_if(self, op: Any, xs: Any) -> Any:
        return self.block(op.regions[0 if xs[0] else 1].blocks[0], [])
