"""Kernels for TPUs, in the dialects that Mosaic compiles: `vector`, `arith`, `math`, `scf`, `tpu`.

A value of no axes is a scalar; others are vectors of any rank. Mosaic has no 64-bit numbers. The
places and counters of a kernel, which are int64 for NumPy, are int32 here; sums in int64 are
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._errors import LoweringError
from lazynp._jaxpr import Eqn
from lazynp.lowering._arith import BOOL, FLOAT32, INT32, INT64
from lazynp.lowering._arith_ops import MATH
from lazynp.lowering._core import Body, Value, Values, concatenated
from lazynp.lowering._kernel_body import InMemory
from lazynp.lowering._text import dims

# in vectors and scalars; int64 stands for places
_ELEMENTS = {
    "?": "i1", "b": "i8", "B": "i8", "h": "i16", "H": "i16", "i": "i32", "I": "i32", "f": "f32",
}  # fmt: skip
_PLACES = np.iinfo(INT32)

# how an operation reduces, by kind: f floats, i signed, u unsigned integers
_REDUCTIONS = {
    ("add", "f"): "add", ("add", "i"): "add", ("add", "u"): "add",
    ("multiply", "f"): "mul", ("multiply", "i"): "mul", ("multiply", "u"): "mul",
    ("maximum", "f"): "maximumf", ("maximum", "i"): "maxsi", ("maximum", "u"): "maxui",
    ("minimum", "f"): "minimumf", ("minimum", "i"): "minsi", ("minimum", "u"): "minui",
    ("and", "i"): "and", ("and", "u"): "and", ("or", "i"): "or", ("or", "u"): "or",
    ("xor", "i"): "xor", ("xor", "u"): "xor",
}  # fmt: skip
# primitives of float32, by the names of operations
_OWN = {"erf": "erf", "expm1": "exponential_minus_one", "logistic": "logistic"}
_LOGIC = {"or": "maximum", "and": "minimum", "maximum": "maximum", "minimum": "minimum"}


def element_text(dtype: np.dtype[Any]) -> str:
    """The type of an element: integers have no sign."""
    text = "i32" if dtype == INT64 else _ELEMENTS.get(dtype.char)
    if text is None:
        raise LoweringError(f"Mosaic has no {dtype}")
    return text


def vector_text(shape: Sequence[int], dtype: np.dtype[Any]) -> str:
    """`vector<8x128xf32>`"""
    return f"vector<{''.join(f'{n}x' for n in shape)}{element_text(dtype)}>"


def kind(aval: Aval) -> str:
    return vector_text(aval.shape, aval.dtype) if aval.shape else element_text(aval.dtype)


class Mosaic(InMemory):
    """Writes the body of a kernel."""

    dialect = "Mosaic"
    counter = INT32
    element = staticmethod(element_text)
    kind = staticmethod(kind)
    math = MATH | {
        "atan2": "math.atan2", "log_plus_one": "math.log1p", "power": "math.powf",
        "round_nearest_afz": "math.round", "round_nearest_even": "math.roundeven",
        "rsqrt": "math.rsqrt", "tan": "math.tan", "tanh": "math.tanh",
        "exponential_minus_one": "math.expm1", "erf": "math.erf",
        "maximum": "arith.maximumf", "minimum": "arith.minimumf",
    }  # fmt: skip

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._truths: set[str] = set()  # int64 values that are 0 or 1

    def _equation(self, eqn: Eqn, operands: list[Any]) -> Sequence[Any]:
        """Rules that reach NumPy's precision by float64 give way to Mosaic's own operations."""
        name = _OWN.get(eqn.primitive.name)
        if name is not None and eqn.outputs[0].aval.dtype == FLOAT32:
            return (self.elementwise(name, self.settled(operands)),)
        return super()._equation(eqn, operands)

    def _constant(self, value: Value) -> str:
        static, dtype = value.static, value.aval.dtype
        if dtype == INT64 and static is not None and not _PLACES.min <= static <= _PLACES.max:
            raise LoweringError(f"Mosaic has no int64, in which {static} fits")
        return super()._constant(value)

    def convert(self, x: Value, dtype: np.dtype[Any]) -> Value:
        if dtype == INT64 and x.aval.dtype == np.dtype("u4"):
            raise LoweringError("Mosaic has no int64, in which each uint32 fits")
        made = super().convert(x, dtype)
        if dtype == INT64 and x.aval.dtype == BOOL:
            self._truths.add(made.name)
        return made

    def binary(self, name: str, x: Value, y: Value) -> Value:
        """Mosaic's extrema keep NaN, as NumPy's."""
        return self.op(name, x, y, out=x.aval)

    # -- shapes ------------------------------------------------------------------------------------

    def iota(self, shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> Value:
        out = aval_of(tuple(shape), INT32)
        text = f"tpu.iota {{dimensions = array<i32: {axis}>}} : {kind(out)}"
        return self.convert(self.write(text, out), dtype)

    def _spread(self, x: Value, out: Aval) -> Value:
        return self.write(f"vector.broadcast {self.use(x)} : {kind(x.aval)} to {kind(out)}", out)

    def _reshaped(self, x: Value, out: Aval) -> Value:
        return self.write(f"vector.shape_cast {self.use(x)} : {kind(x.aval)} to {kind(out)}", out)

    def _first(self, x: Value) -> Value:
        at = dims([0] * x.aval.ndim)
        out = aval_of((), x.aval.dtype)
        text = f"vector.extract {self.use(x)}{at} : {kind(out)} from {kind(x.aval)}"
        return self.write(text, out)

    def _transposed(self, x: Value, perm: Sequence[int], out: Aval) -> Value:
        types = f"{kind(x.aval)} to {kind(out)}"
        return self.write(f"vector.transpose {self.use(x)}, {dims(perm)} : {types}", out)

    def concatenate(self, xs: Values, axis: int) -> Value:
        if len(xs) == 1:
            return xs[0]
        out = concatenated(xs, axis)
        names, types = ", ".join(map(self.use, xs)), ", ".join(kind(x.aval) for x in xs)
        text = f"tpu.concatenate {names} in {axis} : {types} -> {kind(out)}"
        return self.write(text, out)

    def slice(
        self, x: Value, starts: Sequence[int], limits: Sequence[int],
        strides: Sequence[int] | None = None,
    ) -> Value:  # fmt: skip
        if strides is not None and any(s != 1 for s in strides):
            raise self.lacks("part of a value, in steps")
        shape = tuple(b - a for a, b in zip(starts, limits, strict=True))
        out = aval_of(shape, x.aval.dtype)
        if out.shape == x.aval.shape:
            return x
        if x.static is not None:
            return self.constant(x.static, out.dtype, out.shape)
        return self.write(  # the short form differs between releases
            f'"vector.extract_strided_slice"({self.use(x)}) {{offsets = {dims(starts)}, '
            f"sizes = {dims(shape)}, strides = {dims([1] * len(shape))}}} : "
            f"({kind(x.aval)}) -> {kind(out)}", out,
        )  # fmt: skip

    # -- reductions and products -------------------------------------------------------------------

    def reduce(
        self, xs: Values, inits: Values, axes: Sequence[int], body: Body, name: str = ""
    ) -> list[Value]:
        (x, *more), short = xs, name.removeprefix("stablehlo.")
        dtype, axes = x.aval.dtype, sorted(axes)
        if dtype == BOOL and short in _LOGIC and not more:
            whole = [self.convert(v, INT32) for v in (x, inits[0])]
            found = self.reduce(whole[:1], whole[1:], axes, body, _LOGIC[short])
            return [self.convert(found[0], BOOL)]
        how = _REDUCTIONS.get((short, dtype.kind))
        if how is None or more:
            raise self.lacks("this reduction")
        if dtype.itemsize == 8 and x.name not in self._truths:  # of which int32 holds the number
            raise LoweringError(f"Mosaic has no {dtype}: say in which dtype to reduce")
        kept = tuple(n for a, n in enumerate(x.aval.shape) if a not in axes)
        if not kept:  # of vectors, a vector remains
            x, axes, kept = self.reshape(x, (1, *x.aval.shape)), [a + 1 for a in axes], (1,)
            return [self._first(self._reduced(how, x, inits[0], axes, kept))]
        return [self._reduced(how, x, inits[0], axes, kept)]

    def _reduced(
        self, how: str, x: Value, init: Value, axes: Sequence[int], kept: tuple[int, ...]
    ) -> Value:
        begin = self.broadcast_in_dim(init, kept, ())
        types = f"{kind(x.aval)} to {kind(begin.aval)}"
        names = f"{self.use(x)}, {self.use(begin)}"
        return self.write(
            f"vector.multi_reduction <{how}>, {names} {dims(axes)} : {types}", begin.aval
        )

    def dot_general(
        self, x: Value, y: Value, contracting: Any, batching: Any = ((), ()), dtype: Any = None
    ) -> Value:
        """The product of two matrices, in full precision."""
        i, k = self.contracted(x, y, contracting, batching)
        if x.aval.dtype.kind != "f":
            raise LoweringError(f"Mosaic multiplies matrices of floats, got {x.aval}")
        out = aval_of((x.aval.shape[1 - i], y.aval.shape[1 - k]), dtype or x.aval.dtype)
        start = self.constant(0, out.dtype, out.shape)
        names = ", ".join(map(self.use, (x, y, start)))
        numbers = f"[{i}], [{k}], [{1 - i}], [{1 - k}], [0, {1 - i}, 1, {1 - k}], [], []"
        return self.write(
            f"tpu.matmul {names} {{dimension_numbers = #tpu.dot_dimension_numbers<{numbers}>, "
            "precision = #tpu.contract_precision<fp32>, transpose_lhs_hint = false} : "
            f"{kind(x.aval)}, {kind(y.aval)}, {kind(out)} -> {kind(out)}", out,
        )  # fmt: skip
