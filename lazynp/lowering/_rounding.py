"""Products that the compiler must not contract with an addition into one fused multiply-add.

The guard is an integer minimum on the bits of the product: nothing at the level of floats keeps
LLVM from contracting for less. A chain of ten operations with five products takes 5.6 us guarded,
3.9 unguarded, for 10^4 numbers. So a product is guarded only where its value can meet an addition:
directly, or through operations that XLA fuses and that leave it as it is. What becomes of a product
is known when its region is complete; until then its line is a `Product`.

A product that only meets another product, a quotient or a root is hidden by a barrier instead. The
barrier keeps XLA's simplifier from making `x * 0.3` of `(x * 0.1) * 3.0`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp.lowering._text import type_text

# The dtypes that XLA contracts, and the integers of the same size. float16 is among them on
# processors that compute with it (AVX512-FP16); others round it after each operation anyway.
FUSABLE = {np.dtype(f"f{size}"): np.dtype(f"i{size}") for size in (2, 4, 8)}

_BARE, _HIDDEN, _ROUNDED = range(3)

# The value itself goes on: through these a product can still meet an addition.
_TRANSPARENT = frozenset(
    f"stablehlo.{name}"
    for name in (
        "abs", "bitcast_convert", "broadcast_in_dim", "complex", "concatenate", "convert",
        "dynamic_slice", "dynamic_update_slice", "gather", "imag", "negate", "optimization_barrier",
        "pad", "real", "reshape", "reverse", "select", "slice", "transpose",
    )
)  # fmt: skip
# These round their results themselves. Any operation not listed here may add.
_ROUNDING = dict.fromkeys(
    [f"stablehlo.{name}" for name in ("multiply", "divide", "sqrt", "floor", "ceil")], _HIDDEN
) | dict.fromkeys(["stablehlo.compare", "stablehlo.is_finite", "func.call"], _BARE)


class Product:
    """The line of a product, written when it is known what reads it."""

    __slots__ = ("number", "operands", "aval", "need")

    def __init__(self, number: int, operands: str, aval: Aval) -> None:
        self.number, self.operands, self.aval, self.need = number, operands, aval, _BARE

    def lines(self, limits: dict[Aval, str]) -> Iterable[str]:
        """`limits`: the names of the constants with the bits of nan, by aval."""
        kind, n = type_text(self.aval), self.number
        made = f"%p{n}" if self.need else f"%{n}"
        yield f'{made} = "stablehlo.multiply"({self.operands}) : ({kind}, {kind}) -> {kind}'
        if self.need == _HIDDEN:
            yield f'%{n} = "stablehlo.optimization_barrier"(%p{n}) : ({kind}) -> ({kind})'
        elif self.need == _ROUNDED:
            bits = type_text(bits_of(self.aval))
            limit = limits.setdefault(self.aval, f"%l{n}")
            yield f'%q{n} = "stablehlo.bitcast_convert"(%p{n}) : ({kind}) -> {bits}'
            yield f'%r{n} = "stablehlo.minimum"(%q{n}, {limit}) : ({bits}, {bits}) -> {bits}'
            yield f'%{n} = "stablehlo.bitcast_convert"(%r{n}) : ({bits}) -> {kind}'


NONE: frozenset[Product] = frozenset()


def met(name: str, operands: Iterable[Any], outs: Sequence[Aval]) -> frozenset[Product]:
    """Note how an operation reads the products among its operands. Returns the products that its
    results still are.
    """
    products = NONE.union(*[v.products for v in operands])
    if name in _TRANSPARENT:
        if name == "stablehlo.bitcast_convert" or outs[0].dtype.kind in "fc":
            return products
        return NONE  # rounded to integers
    need = _ROUNDING.get(name, _ROUNDED)
    for product in products:
        if product.need < need:
            product.need = need
    return NONE


def written(lines: Iterable[str | Product]) -> list[str]:
    """The lines of a complete region."""
    limits: dict[Aval, str] = {}
    body: list[str] = []
    for line in lines:
        if isinstance(line, str):
            body.append(line)
        else:
            body += line.lines(limits)
    return [*(_limit(name, aval) for aval, name in limits.items()), *body]


def bits_of(aval: Aval) -> Aval:
    return aval_of(aval.shape, FUSABLE[aval.dtype])


def _limit(name: str, aval: Aval) -> str:
    """The bits of a positive nan as an integer constant. As integers, the bits of finite numbers
    and inf are not larger, and those of negative floats are smaller.
    """
    kind, bits = type_text(bits_of(aval)), int(_NANS[aval.dtype])
    return f'{name} = "stablehlo.constant"() <{{value = dense<{bits}> : {kind}}}> : () -> {kind}'


_NANS = {f: np.array(np.nan, f).view(i) for f, i in FUSABLE.items()}
