"""Kernels for NVIDIA GPUs, as modules of Triton's dialect. JAX has deprecated its Triton back end;
`_triton*.py` hold all that would go with it.

The builder has the methods of the one for StableHLO, so the `lower` rules of primitives serve here
too. A value of no axes is a scalar; others are tensors, whose sizes must be powers of 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._errors import LoweringError
from lazynp.lowering._arith import FLOAT32, INT32
from lazynp.lowering._core import Body, Value, Values
from lazynp.lowering._kernel_body import InMemory
from lazynp.lowering._text import ELEMENT_TYPES

_DOT = 16  # the least size of a product's factors


def element_text(dtype: np.dtype[Any]) -> str:
    """The type of an element: Triton's integers have no sign."""
    text = ELEMENT_TYPES.get(dtype)
    if text is None or dtype.kind == "c":
        raise LoweringError(f"Triton has no {dtype}")
    return text.removeprefix("u")


def tensor_text(shape: tuple[int, ...], element: str) -> str:
    """`tensor<16x16xf32>`, or the element's type."""
    if any(n & (n - 1) or not n for n in shape):
        raise LoweringError(f"Triton's tensors have sizes that are powers of 2, got shape {shape}")
    return "tensor<" + "".join(f"{n}x" for n in shape) + f"{element}>" if shape else element


def kind(aval: Aval) -> str:
    return tensor_text(aval.shape, element_text(aval.dtype))


# of floats: the names in libdevice, without `__nv_` and the `f` of float32
_LIBRARY = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan",
    "atan2": "atan2", "atanh": "atanh", "cbrt": "cbrt", "cosh": "cosh",
    "erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "exponential_minus_one": "expm1",
    "lgamma": "lgamma", "log_plus_one": "log1p", "next_after": "nextafter", "power": "pow",
    "round_nearest_afz": "round", "round_nearest_even": "rint", "sinh": "sinh", "tan": "tan",
    "tanh": "tanh",
}  # fmt: skip

# of float32: the plain ones are approximations
_EXACT = {"divide": "tt.precise_divf", "sqrt": "tt.precise_sqrt"}


class Triton(InMemory):
    """Writes the body of a kernel."""

    dialect = "Triton"
    element = staticmethod(element_text)
    kind = staticmethod(kind)

    # -- elementwise -------------------------------------------------------------------------------

    def elementwise(self, name: str, operands: Values) -> Value:
        aval = operands[0].aval
        if aval.dtype == FLOAT32 and name in _EXACT:
            args = ", ".join([self.use(v) for v in operands])
            return self.write(f"{_EXACT[name]} {args} : {kind(aval)}", aval)
        if name in _LIBRARY and aval.dtype.kind == "f":
            return self._library(name, operands)
        return super().elementwise(name, operands)

    def _library(self, name: str, operands: Values) -> Value:
        """A function of libdevice, which has those of float32 and float64."""
        dtype = operands[0].aval.dtype
        if dtype.itemsize < 4:
            wide = [self.convert(v, FLOAT32) for v in operands]
            return self.convert(self._library(name, wide), dtype)
        symbol = f"__nv_{_LIBRARY[name]}{'f' if dtype == FLOAT32 else ''}"
        args, aval = ", ".join([self.use(v) for v in operands]), operands[0].aval
        types = ", ".join([kind(v.aval) for v in operands])
        return self.write(
            f'tt.extern_elementwise {args} {{libname = "", libpath = "", pure = true, '
            f'symbol = "{symbol}"}} : ({types}) -> {kind(aval)}', aval,
        )  # fmt: skip

    # -- shapes ------------------------------------------------------------------------------------

    def iota(self, shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> Value:
        n = shape[axis]
        tensor_text((n,), "i32")
        made = self.write(
            f"tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32>",
            aval_of((n,), INT32),
        )
        return self.broadcast_in_dim(self.convert(made, dtype), shape, (axis,))

    def _spread(self, x: Value, out: Aval) -> Value:
        name = "tt.broadcast" if x.aval.shape else "tt.splat"
        return self.write(f"{name} {self.use(x)} : {kind(x.aval)} -> {kind(out)}", out)

    def _reshaped(self, x: Value, out: Aval) -> Value:
        shape = out.shape
        if [n for n in shape if n != 1] == list(x.aval.shape) and len(shape) > x.aval.ndim:
            for axis in [k for k, n in enumerate(shape) if n == 1]:  # cheaper than a reshape
                wide = list(x.aval.shape)
                wide.insert(axis, 1)
                aval = aval_of(tuple(wide), x.aval.dtype)
                text = f"tt.expand_dims {self.use(x)} {{axis = {axis} : i32}}"
                x = self.write(f"{text} : {kind(x.aval)} -> {kind(aval)}", aval)
            return x
        return self.write(f"tt.reshape {self.use(x)} : {kind(x.aval)} -> {kind(out)}", out)

    def _first(self, x: Value) -> Value:
        while x.aval.shape:  # each axis has one element
            x = self._reduced([x], 0, lambda b, old, new: new)[0]
        return x

    def _transposed(self, x: Value, perm: Sequence[int], out: Aval) -> Value:
        order = ", ".join(map(str, perm))
        return self.write(
            f"tt.trans {self.use(x)} {{order = array<i32: {order}>}} : "
            f"{kind(x.aval)} -> {kind(out)}", out,
        )  # fmt: skip

    # -- reductions and products -------------------------------------------------------------------

    def reduce(
        self, xs: Values, inits: Values, axes: Sequence[int], body: Body, name: str = ""
    ) -> list[Value]:
        """Rules begin reductions with neutral elements, which Triton does not need."""
        for axis in sorted(axes, reverse=True):
            xs = self._reduced(xs, axis, body)
        return list(xs)

    def _reduced(self, xs: Values, axis: int, body: Body) -> list[Value]:
        n, shape = len(xs), xs[0].aval.shape
        scalars = [aval_of((), x.aval.dtype) for x in xs]
        args, text = self.block(
            scalars * 2, lambda b, a: body(b, a[:n], a[n:]), "tt.reduce.return"
        )  # fmt: skip
        outs = [aval_of((*shape[:axis], *shape[axis + 1 :]), x.aval.dtype) for x in xs]
        name, head = self._fresh(), ", ".join(f"{a.name}: {kind(a.aval)}" for a in args)
        self.line(
            f'{name}{f":{n}" if n > 1 else ""} = "tt.reduce"({", ".join(map(self.use, xs))}) '
            f"<{{axis = {axis} : i32}}> ({{\n^bb0({head}):\n{text}\n}}) : "
            f"({', '.join(kind(x.aval) for x in xs)}) -> ({', '.join(map(kind, outs))})"
        )
        return [Value(f"{name}#{k}" if n > 1 else name, a) for k, a in enumerate(outs)]

    def dot_general(
        self, x: Value, y: Value, contracting: Any, batching: Any = ((), ()), dtype: Any = None
    ) -> Value:
        """The product of two matrices, in full precision."""
        i, k = self.contracted(x, y, contracting, batching)
        if min(*x.aval.shape, *y.aval.shape) < _DOT:
            raise LoweringError(
                f"Triton multiplies matrices of at least {_DOT} rows and columns, got {x.aval} "
                f"and {y.aval}"
            )
        x = x if i == 1 else self.transpose(x, (1, 0))
        y = y if k == 0 else self.transpose(y, (1, 0))
        out = aval_of((x.aval.shape[0], y.aval.shape[1]), dtype or x.aval.dtype)
        start = self.constant(0, out.dtype, out.shape)
        names = ", ".join(map(self.use, (x, y, start)))
        types = f"{kind(x.aval)} * {kind(y.aval)} -> {kind(out)}"
        return self.write(f"tt.dot {names}, inputPrecision = ieee : {types}", out)
