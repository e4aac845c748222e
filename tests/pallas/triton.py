"""A small interpreter of Triton modules, on NumPy arrays. Reading or writing outside of an array is
an error, as is an operation that it does not know.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from lazynp.lowering._mlir import _context

Array = np.ndarray[Any, Any]
_DTYPES = {
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
    "i1": "?",
    **{f"i{8 * n}": f"i{n}" for n in (1, 2, 4, 8)},
}


@dataclass
class Pointer:
    """Places in one array, seen as flat."""

    array: Array
    at: Array

    def checked(self, mask: Any) -> Array:
        inside = (self.at >= 0) & (self.at < self.array.size)
        assert (inside | ~np.asarray(mask, bool)).all(), "outside of the array"
        return np.where(inside, self.at, 0)


def _type(text: str) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype of a type."""
    found = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", text)
    sizes, element = found.groups() if found else ("", text)
    shape = tuple(map(int, sizes.split("x")[:-1]))
    return shape, None if "ptr" in element else np.dtype(_DTYPES[element])


def _unsigned(x: Any) -> Any:
    x = np.asarray(x)
    return x if x.dtype.kind == "b" else x.view(f"u{x.dtype.itemsize}")


def _divided(x: Any, y: Any) -> Any:
    """Towards zero, as C and XLA."""
    with np.errstate(all="ignore"):
        q = np.asarray(np.abs(x) // np.abs(y))
        return (np.sign(x) * np.sign(y) * q).astype(np.asarray(x).dtype)


_INTEGERS = [  # MLIR's numbers of predicates
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    *[lambda x, y, f=f: f(_unsigned(x), _unsigned(y))
      for f in (operator.lt, operator.le, operator.gt, operator.ge)],
]  # fmt: skip
_FLOATS = {
    1: operator.eq,
    2: operator.gt,
    3: operator.ge,
    4: operator.lt,
    5: operator.le,
    13: operator.ne,
}
_LIBRARY = {
    "tanh": np.tanh, "expm1": np.expm1, "log1p": np.log1p, "pow": np.power, "rint": np.rint,
    "cbrt": np.cbrt, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": scipy.special.erf,
    "erfc": scipy.special.erfc, "lgamma": scipy.special.gammaln, "nextafter": np.nextafter,
    "erfinv": scipy.special.erfinv, "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
}  # fmt: skip
_OPS: dict[str, Callable[..., Any]] = {
    "arith.addf": np.add, "arith.addi": np.add, "arith.subf": np.subtract,
    "arith.subi": np.subtract, "arith.mulf": np.multiply, "arith.muli": np.multiply,
    "arith.divf": np.divide, "tt.precise_divf": np.divide, "arith.divsi": _divided,
    "arith.divui": lambda x, y: (_unsigned(x) // _unsigned(y)).view(np.asarray(x).dtype),
    "arith.remf": np.fmod, "arith.remsi": np.fmod, "arith.maxsi": np.maximum,
    "arith.remui": lambda x, y: (_unsigned(x) % _unsigned(y)).view(np.asarray(x).dtype),
    "arith.minsi": np.minimum, "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or,
    "arith.maxui": lambda x, y: np.where(_unsigned(x) > _unsigned(y), x, y),
    "arith.minui": lambda x, y: np.where(_unsigned(x) < _unsigned(y), x, y),
    "arith.xori": np.bitwise_xor, "arith.shli": np.left_shift, "arith.shrsi": np.right_shift,
    "arith.shrui": lambda x, y: (_unsigned(x) >> _unsigned(y)).view(np.asarray(x).dtype),
    "arith.negf": np.negative, "arith.select": np.where, "math.absf": np.abs, "math.absi": np.abs,
    "math.ceil": np.ceil, "math.floor": np.floor, "math.exp": np.exp, "math.log": np.log,
    "math.sin": np.sin, "math.cos": np.cos, "math.sqrt": np.sqrt, "tt.precise_sqrt": np.sqrt,
}  # fmt: skip
_CONVERSIONS = {
    "arith.extsi", "arith.trunci", "arith.extf", "arith.truncf", "arith.sitofp", "arith.fptosi",
    "arith.fptoui",
}  # fmt: skip


class Program:
    """One program of a launched kernel."""

    def __init__(self, place: Sequence[int]) -> None:
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
            shape, dtype = _type(str(op.results[0].type))
            if op.name in _CONVERSIONS:
                x = np.asarray(xs[0])
                x = -x.astype("i1") if x.dtype == bool else x  # i1 is signed
                return [x.astype(dtype)]
            found = np.asarray(_OPS[op.name](*xs))
        assert found.shape == shape and found.dtype == dtype, (op.name, found.dtype, dtype)
        return [found]

    # -- values ------------------------------------------------------------------------------------

    def arith_constant(self, op: Any, xs: Any) -> Any:
        shape, dtype = _type(str(op.results[0].type))
        text = re.search(r"constant (?:dense<(.*?)>|(\S+))", str(op))
        value = next(g for g in text.groups() if g)
        if value.startswith("0x"):
            bits = np.array(int(value, 16), f"u{dtype.itemsize}")
            return [np.full(shape, bits.view(dtype))]
        if dtype.kind == "b":
            return [np.full(shape, value == "true")]
        return [np.full(shape, float(value) if dtype.kind == "f" else int(value), dtype)]

    def arith_extui(self, op: Any, xs: Any) -> Any:
        return [_unsigned(xs[0]).astype(_type(str(op.results[0].type))[1])]

    def arith_uitofp(self, op: Any, xs: Any) -> Any:
        return self.arith_extui(op, xs)

    def arith_bitcast(self, op: Any, xs: Any) -> Any:
        return [np.asarray(xs[0]).view(_type(str(op.results[0].type))[1])]

    def arith_cmpi(self, op: Any, xs: Any) -> Any:
        return [np.asarray(_INTEGERS[op.attributes["predicate"].value](*xs))]

    def arith_cmpf(self, op: Any, xs: Any) -> Any:
        return [np.asarray(_FLOATS[op.attributes["predicate"].value](*xs))]

    def tt_extern_elementwise(self, op: Any, xs: Any) -> Any:
        name = op.attributes["symbol"].value.removeprefix("__nv_")
        f = _LIBRARY.get(name) or _LIBRARY[name.removesuffix("f")]
        return [np.asarray(f(*xs)).astype(xs[0].dtype)]

    # -- shapes ------------------------------------------------------------------------------------

    def tt_get_program_id(self, op: Any, xs: Any) -> Any:
        return [np.int32(self.place["xyz".index(str(op).split()[3])])]

    def tt_make_range(self, op: Any, xs: Any) -> Any:
        return [np.arange(op.attributes["start"].value, op.attributes["end"].value, dtype="i4")]

    def tt_splat(self, op: Any, xs: Any) -> Any:
        shape, _ = _type(str(op.results[0].type))
        if isinstance(xs[0], Pointer):
            return [Pointer(xs[0].array, np.broadcast_to(xs[0].at, shape))]
        return [np.broadcast_to(xs[0], shape)]

    tt_broadcast = tt_splat

    def tt_expand_dims(self, op: Any, xs: Any) -> Any:
        return [np.expand_dims(xs[0], op.attributes["axis"].value)]

    def tt_reshape(self, op: Any, xs: Any) -> Any:
        return [xs[0].reshape(_type(str(op.results[0].type))[0])]

    def tt_trans(self, op: Any, xs: Any) -> Any:
        return [xs[0].transpose(list(op.attributes["order"]))]

    def tt_dot(self, op: Any, xs: Any) -> Any:
        assert min(*xs[0].shape, *xs[1].shape) >= 16
        return [(xs[0] @ xs[1] + xs[2]).astype(xs[2].dtype)]

    def tt_reduce(self, op: Any, xs: Any) -> Any:
        axis = op.attributes["axis"].value
        rows = [list(np.moveaxis(x, axis, 0)) for x in xs]
        acc = [r[0] for r in rows]
        for elements in zip(*[r[1:] for r in rows], strict=True):
            acc = self.each(op.regions[0].blocks[0], [*acc, *elements])
        return acc

    def each(self, block: Any, args: list[Any]) -> list[Any]:
        """Run a block on numbers, once for each element."""
        shape = np.shape(args[0])
        rows = [self.block(block, [np.asarray(a)[i] for a in args]) for i in np.ndindex(*shape)]
        return [np.asarray(c).reshape(shape) for c in zip(*rows, strict=True)]

    # -- memory ------------------------------------------------------------------------------------

    def tt_addptr(self, op: Any, xs: Any) -> Any:
        return [Pointer(xs[0].array, xs[0].at + xs[1])]

    def tt_load(self, op: Any, xs: Any) -> Any:
        pointer, *rest = xs
        mask = rest[0] if rest else True
        got = pointer.array.reshape(-1)[pointer.checked(mask)]
        return [np.where(mask, got, rest[1]).astype(got.dtype) if rest else got]

    def tt_store(self, op: Any, xs: Any) -> Any:
        pointer, value, *rest = xs
        mask = np.broadcast_to(rest[0] if rest else True, np.shape(value))
        at = pointer.checked(mask)
        pointer.array.reshape(-1)[at[mask]] = np.asarray(value)[mask]
        return []

    def gpu_barrier(self, op: Any, xs: Any) -> Any:
        return []

    def tt_atomic_rmw(self, op: Any, xs: Any) -> Any:
        pointer, value, mask = xs
        ufuncs = {1: np.bitwise_and, 2: np.bitwise_or, 3: np.bitwise_xor, 4: np.add, 5: np.add,
                  6: np.maximum, 7: np.minimum, 8: np.maximum, 9: np.minimum}  # fmt: skip
        flat, mask = pointer.array.reshape(-1), np.broadcast_to(mask, np.shape(value))
        at = pointer.checked(mask)
        old = flat[at]
        ufunc = ufuncs[op.attributes["atomic_rmw_op"].value]
        ufunc.at(flat, at[mask], np.asarray(value)[mask])
        return [old]

    # -- control -----------------------------------------------------------------------------------

    def scf_for(self, op: Any, xs: Any) -> Any:
        lower, upper, step, *state = xs
        for i in range(int(lower), int(upper), int(step)):
            state = self.block(op.regions[0].blocks[0], [np.int64(i), *state])
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


def launch(kernel: Any, arrays: Sequence[Array]) -> None:
    """Run all programs, in any order: here the last comes first. arrays: inputs, then outputs."""
    ir, context = _context()
    module = ir.Module.parse(kernel.text, context)
    function = module.body.operations[0].operation
    block = function.regions[0].blocks[0]
    assert len(block.arguments) == len(arrays)
    held = [a.view("i1") if a.dtype == bool else a for a in arrays]
    held = [a.view(f"i{a.dtype.itemsize}") if a.dtype.kind == "u" else a for a in held]
    for place in itertools.product(*[range(n)[::-1] for n in kernel.grid]):
        Program(place).block(block, [Pointer(a, np.int64(0)) for a in held])
