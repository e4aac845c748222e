"""Elementwise operations, with the guards that make XLA's arithmetic NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp.lowering._core import Core, Value

BOOL = np.dtype(np.bool_)
_FUSABLE = (np.dtype("f4"), np.dtype("f8"))  # what is contracted; float16 is rounded every time
_EXTREMA = {"stablehlo.maximum": "GT", "stablehlo.minimum": "LT"}


class Elementwise(Core):
    """Operands and results all of one shape."""

    def unary(self, name: str, x: Value) -> Value:
        return self.op(name, x, out=x.aval)

    def binary(self, name: str, x: Value, y: Value) -> Value:
        if name in _EXTREMA and x.aval.dtype.kind == "f":
            return self._extremum(x, y, _EXTREMA[name])
        return self.op(name, x, y, out=x.aval)

    def maximum(self, x: Value, y: Value) -> Value:
        """The larger one; nan if either is."""
        return self.binary("stablehlo.maximum", x, y)

    def minimum(self, x: Value, y: Value) -> Value:
        """The smaller one; nan if either is."""
        return self.binary("stablehlo.minimum", x, y)

    def _extremum(self, x: Value, y: Value, direction: str) -> Value:
        """Spelled out because XLA's maximum and minimum lose nan wherever they end up in a library
        kernel: reduced over, or fused into the sum that uses them. It costs no time."""
        first = self.or_(self.compare(x, y, direction), self.compare(x, x, "NE"))
        return self.select(first, x, y)

    def product(self, x: Value, y: Value) -> Value:
        """x * y as NumPy rounds it, whatever is added to it later."""
        kind = x.aval.dtype.kind
        if kind == "c":
            return self._complex_product(x, y)
        return self.rounded(self.op("stablehlo.multiply", x, y, out=x.aval))

    def rounded(self, product: Value) -> Value:
        """Keeps a floating product from being contracted with an addition into one fused
        multiply-add: the code generator does not look through the select, which does nothing."""
        if product.aval.dtype not in _FUSABLE:
            return product
        nan = self.constant(np.nan, product.aval.dtype, product.aval.shape)
        return self.select(self.compare(product, product, "NE"), nan, product)

    def _complex_product(self, x: Value, y: Value) -> Value:
        """NumPy's kernel rounds the second product of each part and fuses the first, where the
        processor can; so does the compiler with this."""
        (a, b), (c, d) = ((self.real(v), self.imag(v)) for v in (x, y))
        bd, bc = self.product(b, d), self.product(b, c)
        ac, ad = (self.op("stablehlo.multiply", a, v, out=a.aval) for v in (c, d))
        re = self.op("stablehlo.subtract", ac, bd, out=a.aval)
        return self.complex(re, self.op("stablehlo.add", ad, bc, out=a.aval))

    def compare(self, x: Value, y: Value, direction: str, total: bool = False) -> Value:
        """Direction EQ, NE, LT, LE, GT or GE. `total`: the order of IEEE 754 totalOrder."""
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
        """XLA's conversion: floats saturate to integers and nan becomes 0."""
        if x.aval.dtype == dtype:
            return x
        return self.op("stablehlo.convert", x, out=aval_of(x.aval.shape, dtype))

    def bitcast(self, x: Value, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Value:
        """The same bits. To a smaller dtype a last axis is added, to a larger one it is taken."""
        return self.op("stablehlo.bitcast_convert", x, out=aval_of(shape, dtype))

    def real(self, x: Value) -> Value:
        return self.op("stablehlo.real", x, out=_real_aval(x.aval))

    def imag(self, x: Value) -> Value:
        return self.op("stablehlo.imag", x, out=_real_aval(x.aval))

    def complex(self, re: Value, im: Value) -> Value:
        dtype = np.dtype(f"c{2 * re.aval.dtype.itemsize}")
        return self.op("stablehlo.complex", re, im, out=aval_of(re.aval.shape, dtype))


def _real_aval(aval: Aval) -> Aval:
    if aval.dtype.kind != "c":
        return aval
    return aval_of(aval.shape, np.dtype(f"f{aval.dtype.itemsize // 2}"))
