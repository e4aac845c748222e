"""A small interpreter of Triton modules, on NumPy arrays. Reading or writing outside of an array is
an error, as is an operation that it does not know.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from lazynp.lowering._mlir import _context
from tests.pallas import dialects
from tests.pallas.dialects import Array, type_of


@dataclass
class Pointer:
    """Places in one array, seen as flat."""

    array: Array
    at: Array

    def checked(self, mask: Any) -> Array:
        inside = (self.at >= 0) & (self.at < self.array.size)
        assert (inside | ~np.asarray(mask, bool)).all(), "outside of the array"
        return np.where(inside, self.at, 0)


_LIBRARY = {
    "tanh": np.tanh, "expm1": np.expm1, "log1p": np.log1p, "pow": np.power, "rint": np.rint,
    "cbrt": np.cbrt, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": scipy.special.erf,
    "erfc": scipy.special.erfc, "lgamma": scipy.special.gammaln, "nextafter": np.nextafter,
    "erfinv": scipy.special.erfinv, "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
}  # fmt: skip


class Program(dialects.Program):
    """One program of a launched kernel."""

    ops = dialects.OPS | {"tt.precise_divf": np.divide, "tt.precise_sqrt": np.sqrt}

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
        shape, _ = type_of(str(op.results[0].type))
        if isinstance(xs[0], Pointer):
            return [Pointer(xs[0].array, np.broadcast_to(xs[0].at, shape))]
        return [np.broadcast_to(xs[0], shape)]

    tt_broadcast = tt_splat

    def tt_expand_dims(self, op: Any, xs: Any) -> Any:
        return [np.expand_dims(xs[0], op.attributes["axis"].value)]

    def tt_reshape(self, op: Any, xs: Any) -> Any:
        return [xs[0].reshape(type_of(str(op.results[0].type))[0])]

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
