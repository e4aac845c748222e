"""Statistical functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import (
    COMPLEX,
    FLOATING,
    FLOATS,
    NUMERIC,
    PROPER,
    REAL,
    SIGNED,
    UNSIGNED,
    arrays,
    axes_of,
    axis_of,
    check,
    dtype,
    host,
    make,
    tolerance,
    xp,
)  # fmt: skip

ranked = arrays(NUMERIC, ((3,), (1,), (2, 3), (3, 1), (2, 1, 3)))


def _wide(name: str) -> str:
    return "int64" if name in SIGNED else "uint64" if name in UNSIGNED else name


@pytest.mark.parametrize("function", ["max", "min"])
@given(st.data(), arrays(REAL, PROPER), st.booleans())
def test_extrema(function: str, data: Any, x: Any, keepdims: bool) -> None:
    axis = data.draw(axes_of(x.ndim))
    oracle = getattr(np, function)
    wanted = np.asarray(oracle(x, axis=axis, keepdims=keepdims))
    check(getattr(xp, function)(make(x), axis=axis, keepdims=keepdims), wanted)
    check(getattr(xp, function)(make(x)), np.asarray(oracle(x)))


@pytest.mark.parametrize("function", ["sum", "prod"])
@given(st.data(), arrays(NUMERIC), st.booleans())
def test_totals(function: str, data: Any, x: Any, keepdims: bool) -> None:
    axis = data.draw(axes_of(x.ndim))
    name = _wide(x.dtype.name)
    wanted = np.asarray(getattr(np, function)(x, axis=axis, keepdims=keepdims, dtype=name))
    out = getattr(xp, function)(make(x), axis=axis, keepdims=keepdims)
    check(out, wanted, rtol=tolerance(name))
    total = np.asarray(getattr(np, function)(x, dtype=name))
    check(getattr(xp, function)(make(x)), total, rtol=tolerance(name))


@pytest.mark.parametrize("function", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@given(st.data(), arrays(REAL, ((3,), (0,))))
def test_dtype_argument(function: str, data: Any, x: Any) -> None:
    """The input is cast first: "intended to help prevent overflows"."""
    kinds = [k for k in (SIGNED, UNSIGNED, FLOATS) if x.dtype.name in k]
    name = data.draw(st.sampled_from(kinds[0]))
    oracle = {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}.get(function)
    wanted = (oracle or getattr(np, function))(x.astype(name), dtype=name)
    out = getattr(xp, function)(make(x), dtype=dtype(name))
    check(out, np.asarray(wanted), rtol=tolerance(name))


@pytest.mark.parametrize("function, neutral", [("sum", 0), ("prod", 1)])
@pytest.mark.parametrize("name", NUMERIC)
def test_empty_totals(function: str, neutral: int, name: str) -> None:
    """ "If M is 0, the sum must be 0", "the product must be 1"."""
    x = make(np.ones((2, 0), name))
    check(getattr(xp, function)(x), np.asarray(neutral, _wide(name)))
    check(getattr(xp, function)(x, axis=1), np.full(2, neutral, _wide(name)))


@pytest.mark.parametrize("function", ["mean", "var", "std"])
@given(st.data(), arrays(FLOATS, PROPER), st.booleans())
def test_moments(function: str, data: Any, x: Any, keepdims: bool) -> None:
    axis = data.draw(axes_of(x.ndim))
    if axis == ():
        axis = None
    wanted = getattr(np, function)(x.astype("f8"), axis=axis, keepdims=keepdims)
    out = getattr(xp, function)(make(x), axis=axis, keepdims=keepdims)
    check(out, np.asarray(wanted, x.dtype), rtol=20 * tolerance(x.dtype.name))
    assert getattr(xp, function)(make(x)).shape == ()


@given(st.data(), arrays(COMPLEX, PROPER))
def test_mean_of_complex(data: Any, x: Any) -> None:
    """2024.12: "Added complex data type support." """
    axis = data.draw(axes_of(x.ndim))
    wanted = np.asarray(np.mean(x.astype("c16"), axis=axis), x.dtype)
    check(xp.mean(make(x), axis=axis), wanted, rtol=tolerance(x.dtype.name))


@pytest.mark.parametrize("function", ["var", "std"])
@given(arrays(FLOATS, ((7,), (2, 3))), st.sampled_from([0, 1, 0.5, 2.0, 1.5]))
def test_correction(function: str, x: Any, correction: float) -> None:
    wanted = getattr(np, function)(x.astype("f8"), ddof=correction)
    out = getattr(xp, function)(make(x), correction=correction)
    check(out, np.asarray(wanted, x.dtype), rtol=20 * tolerance(x.dtype.name))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", ["var", "std"])
def test_too_few_elements(function: str, name: str) -> None:
    """ "If M - correction is less than or equal to 0, must be NaN." """
    x = make(np.asarray([1.0, 2.0, 4.0], name))
    for correction in (3, 4, 3.5):
        out = getattr(xp, function)(x, correction=correction)
        assert out.shape == () and out.dtype == x.dtype and math.isnan(float(out)), correction
    rows = getattr(xp, function)(make(np.ones((2, 1), name)), axis=1, correction=1)
    assert rows.shape == (2,) and np.isnan(host(rows)).all()


@pytest.mark.parametrize("name", FLOATING)
def test_mean_of_nothing(name: str) -> None:
    """ "If M is 0, must be NaN", of complex operands "NaN + NaN j"."""
    (got,) = np.atleast_1d(host(xp.mean(make(np.ones((0,), name)))))
    assert math.isnan(got.real) and (name in FLOATS or math.isnan(got.imag))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", ["max", "min", "mean", "std", "var", "sum", "prod"])
def test_nan_propagates(function: str, name: str) -> None:
    for x in ([math.nan, 1.0, 2.0], [1.0, 2.0, math.nan]):
        assert math.isnan(float(getattr(xp, function)(make(np.asarray(x, name)))))


@pytest.mark.parametrize("name", FLOATS)
def test_infinite_totals(name: str) -> None:
    """ "as if the operation is implemented by successive application of add", multiply."""
    inf = math.inf
    cases = [([inf, 1.0], inf, inf), ([inf, -inf], math.nan, -inf), ([inf, 0.0], inf, math.nan)]
    for values, total, product in cases:
        x = make(np.asarray(values, name))
        np.testing.assert_equal(float(xp.sum(x)), total)
        np.testing.assert_equal(float(xp.prod(x)), product)
        np.testing.assert_equal(host(xp.cumulative_sum(x)).tolist(), [values[0], total])
        np.testing.assert_equal(host(xp.cumulative_prod(x)).tolist(), [values[0], product])


@pytest.mark.parametrize("function, neutral", [("cumulative_sum", 0), ("cumulative_prod", 1)])
@given(st.data(), ranked, st.booleans())
def test_cumulative(function: str, neutral: int, data: Any, x: Any, initial: bool) -> None:
    axis = data.draw(axis_of(x.ndim))
    name = _wide(x.dtype.name)
    wanted = getattr(np, function[:3] + function[11:])(x, axis=axis, dtype=name)
    if initial:
        shape = list(x.shape)
        shape[axis] = 1
        wanted = np.concatenate([np.full(shape, neutral, name), wanted], axis=axis)
    out = getattr(xp, function)(make(x), axis=axis, include_initial=initial)
    check(out, wanted, rtol=tolerance(name))
    if x.ndim == 1 and not initial:
        check(getattr(xp, function)(make(x)), wanted, rtol=tolerance(name))


@pytest.mark.parametrize("function", ["cumulative_sum", "cumulative_prod"])
def test_cumulative_needs_an_axis(function: str) -> None:
    """ "if x has more than one dimension, providing an axis must be required" """
    with pytest.raises(Exception):  # noqa: B017
        getattr(xp, function)(make(np.ones((2, 3))))


@pytest.mark.parametrize("function", ["max", "min", "sum", "prod", "mean", "std", "var"])
def test_invalid_axes_raise(function: str) -> None:
    for axis in (2, -3, (0, 2)):
        with pytest.raises(Exception):  # noqa: B017
            getattr(xp, function)(make(np.ones((2, 3))), axis=axis)
