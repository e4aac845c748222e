"""What the derivatives of products and accumulations are made of: linear_recurrence by C and by
Python, other_products, and sums of exponentials.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lazynp._fronts import BUILT
from lazynp.primitives import _cumulative, reduction
from tests.primitives.harness import elsewhere, run_lowered
from tests.primitives.rules import check_batch, check_jvp

INF = np.inf


def draw(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


# -- linear_recurrence ---------------------------------------------------------------------------


def recurrence(a: Any, x: Any, axis: int, backwards: bool) -> Any:
    """By its definition, place by place."""
    out = np.moveaxis(x.copy(), axis, 0)
    factors = np.moveaxis(a, axis, 0)
    order = range(len(out) - 2, -1, -1) if backwards else range(1, len(out))
    for i in order:
        out[i] += factors[i] * out[i + 1 if backwards else i - 1]
    return np.moveaxis(out, 0, axis)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("built", [True, False])
def test_recurrences(
    monkeypatch: pytest.MonkeyPatch, built: bool, dtype: str, backwards: bool
) -> None:
    monkeypatch.setattr(_cumulative, "BUILT", built and BUILT)
    cases = [((9,), 0), ((1,), 0), ((0,), 0), ((3, 0, 2), 1), ((4, 5), 0), ((4, 5), 1)]
    for shape, axis in [*cases, ((2, 3, 20), 1), ((3, 4, 2), 2), ((5, 2, 3), 0)]:
        a, x = draw(dtype, shape), draw(dtype, shape, 1)
        kept = x.copy()
        found = reduction.linear_recurrence.reference(a, x, axis=axis, backwards=backwards)
        expected = recurrence(a, x, axis, backwards)
        # NumPy's product of complex numbers may be rounded once
        eps = float(16 * np.finfo(dtype).eps) if dtype[0] == "c" else 0
        np.testing.assert_allclose(found, expected, rtol=eps, atol=eps)
        np.testing.assert_array_equal(x, kept)
        assert found.dtype == x.dtype


def test_recurrences_of_arrays_in_other_orders() -> None:
    a, x = draw("f8", (4, 6)), draw("f8", (4, 6), 1)
    for f in (lambda v: v.T, lambda v: v[:, ::-2], lambda v: np.asfortranarray(v)):
        found = reduction.linear_recurrence.reference(f(a), f(x), axis=0, backwards=True)
        np.testing.assert_array_equal(found, recurrence(f(a), f(x), 0, True))


# -- other_products ------------------------------------------------------------------------------


def others(x: Any, axis: int) -> Any:
    rows = np.moveaxis(x, axis, 0)
    parts = [np.multiply.reduce(np.delete(rows, i, 0), axis=0) for i in range(len(rows))]
    return np.moveaxis(np.array(parts).reshape(rows.shape), 0, axis)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 127, 128, 300, 4200])
def test_other_products(n: int) -> None:
    for shape, axis in [((n,), 0), ((2, n, 3), 1)]:
        x = np.random.default_rng(n).uniform(0.9, 1.1, shape)
        expected = others(x, axis) if n < 1000 else x.prod(axis, keepdims=True) / x
        prim = reduction.other_products
        for found in (
            prim.reference(x, axis=axis),
            run_lowered(prim, x, axis=axis)[0],
            run_lowered(elsewhere(prim), x, axis=axis)[0],
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 150])
def test_other_products_with_zeros(n: int) -> None:
    """One zero leaves the product of the others at its place; two leave nothing."""
    prim = reduction.other_products
    places = range(n) if n < 10 else (0, 31, 32, 149)
    for i in places:
        for j in places:
            x = np.random.default_rng(n).uniform(0.9, 1.1, n)
            x[[i, j]] = 0
            expected = others(x, 0)
            np.testing.assert_allclose(prim.reference(x, axis=0), expected, rtol=1e-12)
            if i == j or j == places[-1]:
                np.testing.assert_allclose(run_lowered(prim, x, axis=0)[0], expected, rtol=1e-12)


def test_other_products_where_a_quotient_would_fail() -> None:
    x = np.array([1e-200, 1e-200, 1.0])
    np.testing.assert_allclose(reduction.other_products.reference(x, axis=0), [1e-200, 1e-200, 0])


def test_other_products_rules() -> None:
    prim = reduction.other_products
    for shape, axis in [((5,), 0), ((3, 4, 2), 1), ((2, 1), 1)]:
        check_jvp(prim, [draw("f8", shape)], [0], axis=axis)
        check_batch(prim, [draw("f8", (3, *shape))], [True], axis=axis)
    x = np.array([2.0, 0.0, 3.0, 0.0])
    check_jvp(prim, [x], [0], axis=0)
    assert prim.reference(np.empty((0, 3)), axis=0).shape == (0, 3)
    assert run_lowered(prim, np.empty((0, 3)), axis=0)[0].shape == (0, 3)


# -- sums of exponentials ------------------------------------------------------------------------

LOG_SUMS = [
    (reduction.reduce_logaddexp, reduction.cumlogaddexp),
    (reduction.reduce_logaddexp2, reduction.cumlogaddexp2),
]
EDGES = [
    [0.0, 1.0, -2.0],
    [-INF, -INF, -INF],
    [-INF, 3.0, -INF, 1.0],
    [1.0, INF, 2.0],
    [-INF, INF, INF],
    [INF, -INF],
    [1.0, np.nan, 2.0],
    [-INF, np.nan],
    [1000.0, 1000.0, -1000.0],
    [-800.0, -801.0, -INF],
    [7.0],
]


@pytest.mark.parametrize(("whole", "running"), LOG_SUMS, ids=str)
def test_log_sums(whole: Any, running: Any) -> None:
    for row in EDGES:
        x = np.array(row)
        for prim, params in ((whole, {"axes": (0,)}), (running, {"axis": 0})):
            with np.errstate(all="ignore"):
                expected = prim.reference(x, **params)
            (found,) = run_lowered(prim, x, **params)
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize(("whole", "running"), LOG_SUMS, ids=str)
def test_log_sums_of_shapes(whole: Any, running: Any, dtype: str) -> None:
    close: Any = {"rtol": 64 * np.finfo(dtype).eps, "atol": 64 * np.finfo(dtype).eps}
    for shape in [(7,), (3, 4, 5), (0, 3), (3, 0)]:
        x = draw(dtype, shape)
        for axis in range(len(shape)):
            axes = (axis,)
            (found,) = run_lowered(whole, x, axes=axes)
            assert found.dtype == x.dtype
            np.testing.assert_allclose(found, whole.reference(x, axes=axes), **close)
            (found,) = run_lowered(running, x, axis=axis)
            np.testing.assert_allclose(found, running.reference(x, axis=axis), **close)
    x = draw(dtype, (3, 4, 5))
    for axes in ((), (0, 2), (0, 1, 2)):
        (found,) = run_lowered(whole, x, axes=axes)
        np.testing.assert_allclose(found, whole.reference(x, axes=axes), **close)


@pytest.mark.parametrize(("whole", "running"), LOG_SUMS, ids=str)
def test_log_sum_rules(whole: Any, running: Any) -> None:
    for shape in [(6,), (3, 4)]:
        last = len(shape) - 1
        check_jvp(whole, [draw("f8", shape)], [0], axes=(last,))
        check_jvp(running, [draw("f8", shape)], [0], axis=last)
        check_batch(whole, [draw("f8", (3, *shape))], [True], axes=(last,))
        check_batch(running, [draw("f8", (3, *shape))], [True], axis=last)


def test_products_of_whole_numbers() -> None:
    x = np.arange(1, 6)
    expected = [math.factorial(5) // i for i in x]
    np.testing.assert_array_equal(reduction.other_products.reference(x, axis=0), expected)
