"""Arithmetic where plain XLA differs from NumPy: each of these has been seen to go wrong."""

from __future__ import annotations

import numpy as np
import pytest

from lazynp import lowering
from tests.lowering.helpers import compiled, evaluate

N = 100_000
FLOATS = pytest.mark.parametrize("dtype", [np.dtype("f4"), np.dtype("f8")], ids=str)


def draw(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.random(shape) - 0.5
    if dtype.kind == "c":
        values = values + 1j * (rng.random(shape) - 0.5)
    return values.astype(dtype)


def add(b, x, y):
    return b.binary("stablehlo.add", x, y)


def subtract(b, x, y):
    return b.binary("stablehlo.subtract", x, y)


def total(b, x, axes):
    init = b.constant(0, x.aval.dtype)
    return b.reduce([x], [init], axes, lambda b, s, t: [add(b, s[0], t[0])])[0]


# -- products are rounded ----------------------------------------------------------------------


def polynomial(b, x, y, z):
    for _ in range(5):
        x = add(b, b.product(x, y), z)
    return x


def polynomial_numpy(x, y, z):
    for _ in range(5):
        x = x * y + z
    return x


def reshaped(b, x, y, z):
    p = b.reshape(b.product(x, y), (N // 10, 10))
    return b.reshape(add(b, p, b.reshape(z, (N // 10, 10))), (N,))


def reversed_(b, x, y, z):
    return add(b, b.reverse(b.product(x, y), (0,)), z)


def scaled(b, x, y, z):
    return subtract(b, z, b.product(x, b.constant(1.1, x.aval.dtype, x.aval.shape)))


PRODUCTS = {
    "added": (lambda b, x, y, z: add(b, b.product(x, y), z), lambda x, y, z: x * y + z),
    "subtracted": (lambda b, x, y, z: subtract(b, z, b.product(x, y)), lambda x, y, z: z - x * y),
    "two": (
        lambda b, x, y, z: subtract(b, b.product(x, y), b.product(y, z)),
        lambda x, y, z: x * y - y * z,
    ),
    "chain": (polynomial, polynomial_numpy),
    "reshaped": (reshaped, lambda x, y, z: x * y + z),
    "reversed": (reversed_, lambda x, y, z: (x * y)[::-1] + z),
    "by constant": (scaled, lambda x, y, z: z - x * x.dtype.type(1.1)),
    "squared": (lambda b, x, y, z: add(b, b.product(x, x), z), lambda x, y, z: x * x + z),
}


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_bit_identical(name, dtype):
    lower, numpy = PRODUCTS[name]
    args = [draw(np.dtype(dtype), N, seed=s) for s in range(3)]
    np.testing.assert_array_equal(evaluate(lower, *args), numpy(*args))


@FLOATS
def test_broadcast_products_are_bit_identical(dtype):
    x, y, z = draw(dtype, 300), draw(dtype, 200, seed=1), draw(dtype, 300, 200, seed=2)

    def lower(b, x, y, z):
        shape = z.aval.shape
        p = b.product(b.broadcast_in_dim(x, shape, (0,)), b.broadcast_in_dim(y, shape, (1,)))
        return add(b, p, z)

    np.testing.assert_array_equal(evaluate(lower, x, y, z), x[:, None] * y + z)


@FLOATS
def test_products_that_are_summed_over_two_elements(dtype):
    """A sum of two products is one rounding after two, whichever way it is reduced."""
    x, y = draw(dtype, N, 2), draw(dtype, N, 2, seed=1)
    got = evaluate(lambda b, x, y: total(b, b.product(x, y), (1,)), x, y)
    np.testing.assert_array_equal(got, (x * y).sum(1))


@FLOATS
def test_products_inside_a_loop(dtype):
    x, y, z = (draw(dtype, 1000, seed=s) for s in range(3))

    def lower(b, x, y, z):
        i8 = np.dtype("i8")
        return b.while_loop(
            lambda b, s: b.compare(s[0], b.constant(5, i8), "LT"),
            lambda b, s: [add(b, s[0], b.constant(1, i8)), add(b, b.product(s[1], y), z)],
            [b.constant(0, i8), x],
        )[1]

    np.testing.assert_array_equal(evaluate(lower, x, y, z), polynomial_numpy(x, y, z))


@FLOATS
def test_products_of_special_values(dtype):
    """The guard must change neither nan, inf and -0.0 nor their signs."""
    values = np.array([np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 1, -1, 1e30, -1e30], dtype)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = x * y
    got = evaluate(lambda b, x, y: b.product(x, y), x, y)
    np.testing.assert_array_equal(got, expected)
    known = ~np.isnan(expected) | ~(np.isnan(x) & np.isnan(y))  # of two nans either may win
    np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(expected)[known])


def test_integer_products_wrap():
    x = np.array([2**62, -(2**63), 3], "i8")
    np.testing.assert_array_equal(evaluate(lambda b, x: b.product(x, x), x), x * x)


# -- nan in maximum and minimum ----------------------------------------------------------------


SHAPES = [
    ((1000,), (0,)),
    ((4097,), (0,)),
    ((10_000,), (0,)),
    ((200, 200), (0,)),
    ((200, 200), (1,)),
    ((200, 200), (0, 1)),
    ((3, 20_000), (1,)),
    ((20, 30, 40), (1,)),
]


@FLOATS
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("shape, axes", SHAPES, ids=str)
def test_reductions_keep_nan(name, shape, axes, dtype):
    program = compiled(lambda b, x: getattr(b, "reduce_" + name)(x, axes), np.zeros(shape, dtype))
    clean = draw(dtype, *shape) * 100
    one = clean.copy()
    one.flat[one.size // 3] = np.nan
    infinite = clean.copy()
    infinite.flat[:2] = np.inf, -np.inf
    every = np.full(shape, np.nan, dtype)
    large = np.full(shape, np.finfo(dtype).max)
    for x in (clean, one, infinite, every, large, -large, np.full(shape, -np.inf, dtype)):
        np.testing.assert_array_equal(_run(program, x), getattr(x, name)(axes))


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "i8", "f2"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_reductions_of_other_dtypes(name, dtype):
    x = (draw(np.dtype("f8"), 100, 100) * 200 + 100).astype(dtype)
    if dtype == "f2":
        x[3, 4] = np.nan
    got = evaluate(lambda b, x: getattr(b, "reduce_" + name)(x, (1,)), x)
    np.testing.assert_array_equal(got, getattr(x, name)(1))


@FLOATS
@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("swap", [False, True])
def test_elementwise_extrema_keep_nan_also_when_summed(name, swap, dtype):
    """XLA fuses its own into the sum, in a kernel that loses nan."""
    x = draw(dtype, N)
    x[77] = np.nan

    def lower(b, x):
        half = b.constant(0.25, x.aval.dtype, x.aval.shape)
        m = b.binary("stablehlo." + name, *((half, x) if swap else (x, half)))
        return [m, total(b, m, (0,))]

    elements, summed = evaluate(lower, x)
    np.testing.assert_array_equal(elements, getattr(np, name)(x, dtype.type(0.25)))
    assert np.isnan(summed)
    assert np.isnan(evaluate(lambda b, x: lower(b, x)[1], x))


@FLOATS
def test_a_reducer_written_with_maximum_keeps_nan(dtype):
    x = draw(dtype, N)
    x[5] = np.nan

    def lower(b, x):
        init = b.constant(-np.inf, x.aval.dtype)
        return b.reduce([x], [init], (0,), lambda b, s, t: [b.maximum(s[0], t[0])])[0]

    assert np.isnan(evaluate(lower, x))


# -- sums --------------------------------------------------------------------------------------


SUMS = [((1_000_000,), (0,)), ((1000, 1000), (0,)), ((1000, 1000), (1,)), ((4000,), (0,))]


@FLOATS
@pytest.mark.parametrize("shape, axes", SUMS, ids=str)
def test_sums_are_as_good_as_pairwise(shape, axes, dtype):
    x = draw(dtype, *shape) + dtype.type(0.6)
    exact = x.astype(np.longdouble).sum(axes)
    error = np.abs(evaluate(lambda b, x: total(b, x, axes), x) - exact) / exact
    assert error.max() <= 4 * np.finfo(dtype).eps


@FLOATS
def test_sums_keep_special_values(dtype):
    program = compiled(lambda b, x: total(b, x, (0,)), np.zeros(N, dtype))
    x = draw(dtype, N)
    for values, expected in (
        ([np.nan], np.nan), ([np.inf], np.inf), ([-np.inf], -np.inf), ([np.inf, -np.inf], np.nan),
    ):  # fmt: skip
        y = x.copy()
        y[100 : 100 + len(values)] = values
        np.testing.assert_array_equal(_run(program, y), expected)


def _run(program, x):
    return lowering.host(program.run([lowering.put(x)])[0])
