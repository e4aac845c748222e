"""The compiled tier computes what was written: XLA must not simplify it.

+ - * / and casts give the same bits in both tiers, for every value, also where an operand is a
constant of the program. (tests/lowering shows this for sums, products and their lowering.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.0, -2.5, 0.1, 1e20, 1e-9, numpy.inf, -numpy.inf, numpy.nan]
ALL = [(x, y) for x in SPECIAL for y in SPECIAL]

# Each is rewritten by XLA's algebraic simplifier into something that is equal over the reals.
EXACT: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add zero": lambda np, x, y: x + 0.0,
    "add zeros": lambda np, x, y: x + np.zeros(x.shape),
    "subtract negative zero": lambda np, x, y: x - -0.0,
    "zero minus": lambda np, x, y: 0.0 - x,
    "zeros minus": lambda np, x, y: np.zeros(x.shape) - x,
    "negated difference": lambda np, x, y: -(x - y),
    "absorbed": lambda np, x, y: (x + 1e20) - 1e20,
    "rounding by 2**52": lambda np, x, y: (x + 2.0**52) - 2.0**52,
    "absorbed by an array": lambda np, x, y: (x + np.full(x.shape, 1e20)) - np.full(x.shape, 1e20),
    "constants in a row": lambda np, x, y: ((0.1 + x) + 0.2) + 0.3,
    "constant minus constant minus": lambda np, x, y: 0.1 - (0.3 - x),
    "add a remainder of constants": lambda np, x, y: x + np.full(x.shape, 1.3) % 1.3,
    "product with a bool": lambda np, x, y: x * (y > 0),
    "bool times constant": lambda np, x, y: (y > 0) * -3.0 + x * (x > 0),
    "scaled twice": lambda np, x, y: (x * 0.1) * 3.0,
    "scaled back": lambda np, x, y: (x * 3.0) / 3.0,
    "overflow in the middle": lambda np, x, y: (x * 1e300) * 1e300 * 1e-300,
    "quotient of quotients": lambda np, x, y: (x / y) / 3.0,
    "divided by a quotient": lambda np, x, y: 1.0 / (x / y),
    "times zero": lambda np, x, y: x * 0.0,
    "minus itself": lambda np, x, y: x - x,
    "over itself": lambda np, x, y: x / x,
    "common factor": lambda np, x, y: x * 3.0 + y * 3.0,
    "square of a root": lambda np, x, y: np.sqrt(x) * np.sqrt(x),
    "root of a square": lambda np, x, y: np.sqrt(x * x),
    "multiply and add": lambda np, x, y: x * y + x,
    "complex plus zero": lambda np, x, y: (x + 1j * y) + 0.0,
    "complex times real": lambda np, x, y: (np.zeros(x.shape) + 2j) * x,
}


def same_bits(got: Any, expected: Any) -> None:
    got, expected = numpy.asarray(got), numpy.asarray(expected)
    assert got.dtype == expected.dtype
    for part in ("real", "imag"):
        g, e = getattr(got, part), getattr(expected, part)
        numpy.testing.assert_array_equal(g, e)
        numbers = ~numpy.isnan(e)
        numpy.testing.assert_array_equal(numpy.signbit(g[numbers]), numpy.signbit(e[numbers]))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", EXACT)
def test_exact_operations_are_numpys(name: str, dtype: str) -> None:
    x, y = (numpy.array(column, dtype) for column in zip(*ALL, strict=True))
    with numpy.errstate(all="ignore"):
        expected = EXACT[name](numpy, x, y)
    with np.config(execution="compiled"):
        got = EXACT[name](np, np.array(x), np.array(y))
        if numpy.asarray(expected).dtype.kind == "c":  # NumPy's own loops differ in fused products
            finite = numpy.isfinite(expected)
            numpy.testing.assert_allclose(numpy.asarray(got)[finite], expected[finite], rtol=1e-6)
        else:
            same_bits(got, expected)


# Rewritten too: over the reals these are equal to something shorter.
CLOSE: dict[str, Callable[[Any, Any], Any]] = {
    "log of exp": lambda np, x: np.log(np.exp(x)),
    "product of exps": lambda np, x: np.exp(x) * np.exp(-x),
    "quotient of exps": lambda np, x: np.exp(x) / np.exp(x),
    "over exp": lambda np, x: 1.0 / np.exp(x),
    "power of power": lambda np, x: (x**2.0) ** 0.5,
    "power of root": lambda np, x: np.sqrt(x) ** 2.0,
    "over root": lambda np, x: 1.0 / np.sqrt(x),
    "log of power": lambda np, x: np.log(x**2.0),
    "log of root": lambda np, x: np.log(np.sqrt(x)),
    "expm1 by hand": lambda np, x: np.exp(x) - 1.0,
    "log1p by hand": lambda np, x: np.log(x + 1.0),
}


@pytest.mark.parametrize("name", CLOSE)
def test_functions_overflow_and_cancel_where_numpys_do(name: str) -> None:
    x = numpy.array([0.0, -0.0, 1.0, -1.0, 0.3, 1e-9, 400.0, -400.0, 800.0, -800.0, numpy.inf,
                     -numpy.inf, numpy.nan, 1e200, -1e200])  # fmt: skip
    with numpy.errstate(all="ignore"):
        expected = CLOSE[name](numpy, x)
    with np.config(execution="compiled"):
        numpy.testing.assert_allclose(numpy.asarray(CLOSE[name](np, np.array(x))), expected, 1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "?", "c16"])
@pytest.mark.parametrize("rows", [(2,), (3,), (7,), (129,), (3, 1, 5)])
def test_few_rows_reduced_to_a_wide_one(rows: tuple[int, ...], dtype: str) -> None:
    """Sum by halves (odd numbers of rows have none); whole numbers make sums exact."""
    rng = numpy.random.default_rng(0)
    x = rng.integers(-3, 4, (*rows, 4099)).astype(dtype)
    if x.dtype.kind in "fc":
        x[..., 5] = numpy.nan
        x[-1, ..., 6] = numpy.nan
        x[0, ..., 7] = -numpy.inf
    axes = tuple(range(len(rows)))
    lazy = np.array(x)
    with np.config(execution="compiled"):
        for name in ("sum", "any", "all") + (("max", "min") if dtype != "c16" else ()):
            want = getattr(x, name)(axis=axes)
            numpy.testing.assert_array_equal(numpy.asarray(getattr(lazy, name)(axis=axes)), want)
