"""Elementwise operations, with guards that make XLA's arithmetic agree with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp.lowering._core import Core, Value
from lazynp.lowering._rounding import FUSABLE

BOOL = np.dtype(np.bool_)
_EXTREMA = {"stablehlo.maximum": "GT", "stablehlo.minimum": "LT"}


class Elementwise(Core):
    """Operations whose operands and results all have one shape."""

    def unary(self, name: str, x: Value) -> Value:
        return self.op(name, x, out=x.aval)

    def binary(self, name: str, x: Value, y: Value) -> Value:
        if name in _EXTREMA and x.aval.dtype.kind == "f":
            return self._extremum(x, y, _EXTREMA[name])
        return self.op(name, x, y, out=x.aval)

    def maximum(self, x: Value, y: Value) -> Value:
        """The larger value; nan if either is nan."""
        return self.binary("stablehlo.maximum", x, y)

    def minimum(self, x: Value, y: Value) -> Value:
        """The smaller value; nan if either is nan."""
        return self.binary("stablehlo.minimum", x, y)

    def _extremum(self, x: Value, y: Value, direction: str) -> Value:
        """Written as selects. XLA's maximum and minimum lose nan wherever they end up in a library
        kernel: in a reduction, or fused into the sum that uses them. The selects cost no time.
        """
        first = self.or_(self.compare(x, y, direction), self.compare(x, x, "NE"))
        return self.select(first, x, y)

    def product(self, x: Value, y: Value) -> Value:
        """x * y, rounded as NumPy rounds it, whatever is added to it later."""
        dtype = x.aval.dtype
        if dtype.kind == "c":
            return self._complex_product(x, y)
        if dtype not in FUSABLE:
            return self.op("stablehlo.multiply", x, y, out=x.aval)
        for a, b in ((x, y), (y, x)):
            if isinstance(b.static, float) and b.static < 0:
                # the guard does nothing where the compiler can tell that the product is negative
                b = self.constant(-b.static, b.aval.dtype, b.aval.shape)
                return self.unary("stablehlo.negate", self.multiplied(a, b))
        return self.multiplied(x, y)

    def hidden(self, x: Value) -> Value:
        """x, with its value hidden from XLA if it is a floating constant. Use it for operands of
        additions: XLA simplifies x + 0.0 (also with -0.0) and (x + 1e20) - 1e20 to x. It costs no
        time.
        """
        if not x.fixed or x.aval.dtype.kind not in "fc":
            return x
        if x.static is None or not x.aval.shape:
            (value,) = self.op("stablehlo.optimization_barrier", x, out=[x.aval])
            value.fixed = True  # XLA may still fold operations on this and other constants
            return value
        one = self.hidden(self.constant(x.static, x.aval.dtype))
        return self.op(
            "stablehlo.broadcast_in_dim", one, out=x.aval, attrs="broadcast_dimensions = array<i64>"
        )

    def _complex_product(self, x: Value, y: Value) -> Value:
        """Where the processor can, NumPy's kernel rounds the second product of each part and fuses
        the first. The compiler does the same here, if the first is used only once.
        """
        (a, b), (c, d) = ((self.real(v), self.imag(v)) for v in (x, y))
        ac, ad, bd, bc = (
            self.op("stablehlo.multiply", u, v, out=u.aval)
            for u, v in ((a, c), (a, d), (b, d), (b, c))
        )
        # Not the guard of other products: after an integer minimum the vectoriser pairs a*a with
        # b*b, unfused.
        nan = self.constant(np.nan, a.aval.dtype, a.aval.shape)
        bd, bc = (self.select(self.compare(p, p, "NE"), nan, p) for p in (bd, bc))
        ac, ad, bd, bc = map(self.hidden, (ac, ad, bd, bc))
        re = self.op("stablehlo.subtract", ac, bd, out=a.aval)
        return self.complex(re, self.op("stablehlo.add", ad, bc, out=a.aval))

    def compare(self, x: Value, y: Value, direction: str, total: bool = False) -> Value:
        """Compare; direction is EQ, NE, LT, LE, GT or GE. `total`: IEEE 754 totalOrder."""
        kind = x.aval.dtype.kind
        if kind in "fc":
            how = "TOTALORDER" if total else "FLOAT"
        else:
            how = "SIGNED" if kind == "i" else "UNSIGNED"
        return self.op(
            "stablehlo.compare", x, y,
            out=aval_of(x.aval.shape, BOOL),
            attrs=f"comparison_direction = #stablehlo<comparison_direction {direction}>, "
            f"compare_type = #stablehlo<comparison_type {how}>",
        )  # fmt: skip

    def select(self, c: Value, x: Value, y: Value) -> Value:
        return self.op("stablehlo.select", c, x, y, out=x.aval)

    def not_(self, x: Value) -> Value:
        return self.unary("stablehlo.not", x)

    def and_(self, x: Value, y: Value) -> Value:
        return self.binary("stablehlo.and", x, y)

    def or_(self, x: Value, y: Value) -> Value:
        return self.binary("stablehlo.or", x, y)

    def convert(self, x: Value, dtype: np.dtype[Any]) -> Value:
        """XLA's conversion: floats saturate to integers, and nan becomes 0."""
        if x.aval.dtype == dtype:
            return x
        return self.op("stablehlo.convert", x, out=aval_of(x.aval.shape, dtype))

    def bitcast(self, x: Value, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Value:
        """The same bits. A smaller dtype adds a last axis; a larger dtype consumes it."""
        return self.op("stablehlo.bitcast_convert", x, out=aval_of(shape, dtype))

    def real(self, x: Value) -> Value:
        return x.parts[0] if x.parts else self.op("stablehlo.real", x, out=_real_aval(x.aval))

    def imag(self, x: Value) -> Value:
        return x.parts[1] if x.parts else self.op("stablehlo.imag", x, out=_real_aval(x.aval))

    def complex(self, re: Value, im: Value) -> Value:
        dtype = np.dtype(f"c{2 * re.aval.dtype.itemsize}")
        value = self.op("stablehlo.complex", re, im, out=aval_of(re.aval.shape, dtype))
        value.parts = re, im
        return value


def _real_aval(aval: Aval) -> Aval:
    if aval.dtype.kind != "c":
        return aval
    return aval_of(aval.shape, np.dtype(f"f{aval.dtype.itemsize // 2}"))
