"""Searching functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import (
    ALL,
    FLOATS,
    NUMERIC,
    PAIRS,
    PROPER,
    REAL,
    arrays,
    axes_of,
    axis_of,
    check,
    make,
    pool,
    xp,
)  # fmt: skip

INDEX = "int64"


@pytest.mark.parametrize("function", ["argmax", "argmin"])
@given(st.data(), arrays(REAL, PROPER), st.booleans())
def test_arg(function: str, data: Any, x: Any, keepdims: bool) -> None:
    """The first of several; the result has the index dtype."""
    axis = data.draw(st.none() | (axis_of(x.ndim) if x.ndim else st.none()))
    oracle = getattr(np, function)
    wanted = np.asarray(oracle(x, axis=axis, keepdims=keepdims))
    check(getattr(xp, function)(make(x), axis=axis, keepdims=keepdims), wanted, dtype=INDEX)
    check(getattr(xp, function)(make(x)), np.asarray(oracle(x)), dtype=INDEX)


@pytest.mark.parametrize("name", FLOATS)
def test_arg_of_nan(name: str) -> None:
    """NaN propagates through max and min, and these return its place."""
    x = make(np.asarray([1.0, np.nan, 3.0, np.nan], name))
    assert int(xp.argmax(x)) == 1 and int(xp.argmin(x)) == 1


@given(st.data(), arrays(ALL), st.booleans())
def test_count_nonzero(data: Any, x: Any, keepdims: bool) -> None:
    axis = data.draw(axes_of(x.ndim))
    wanted = np.asarray(np.sum(x != 0, axis=axis, keepdims=keepdims, dtype=INDEX))
    check(xp.count_nonzero(make(x), axis=axis, keepdims=keepdims), wanted)
    check(xp.count_nonzero(make(x)), np.asarray(np.sum(x != 0)))


@given(x=arrays(ALL, ((3,), (0,), (2, 3), (2, 1, 3), (2, 0))))
def test_nonzero(x: Any) -> None:
    """ "a tuple of k arrays, one for each dimension", in C order."""
    out = xp.nonzero(make(x))
    assert isinstance(out, tuple) and len(out) == x.ndim
    for got, wanted in zip(out, np.nonzero(x)):
        check(got, wanted, dtype=INDEX)


def test_nonzero_raises() -> None:
    """ "If x is zero-dimensional, the function must raise an exception." """
    with pytest.raises(Exception):  # noqa: B017
        xp.nonzero(make(1))


@pytest.mark.parametrize("side", ["left", "right"])
@given(st.data(), st.sampled_from(REAL), st.booleans())
def test_searchsorted(side: str, data: Any, name: str, with_sorter: bool) -> None:
    x = data.draw(arrays(name, ((3,), (1,), (0,))))
    values = data.draw(arrays(name, ((), (3,), (2, 3), (0,))))
    ordered = np.sort(x)
    below = np.less if side == "left" else np.less_equal
    wanted = np.asarray(below(ordered, values[..., None]).sum(axis=-1), INDEX)
    if with_sorter:
        order = make(np.argsort(x, kind="stable"))
        check(xp.searchsorted(make(x), make(values), side=side, sorter=order), wanted)
    check(xp.searchsorted(make(ordered), make(values), side=side), wanted)
    if side == "left":
        check(xp.searchsorted(make(ordered), make(values)), wanted)


@pytest.mark.parametrize("one, other", [
    ("int8", "int64"), ("int64", "int16"), ("uint8", "int16"), ("float32", "float64"),
    ("float64", "float32"),
])  # fmt: skip
def test_searchsorted_of_mixed_dtypes(one: str, other: str) -> None:
    x, values = np.asarray([1, 3, 5], one), np.asarray([3, 0, 100], other)
    check(xp.searchsorted(make(x), make(values)), np.asarray([1, 0, 3], INDEX))
    check(xp.searchsorted(make(x), make(values), side="right"), np.asarray([2, 0, 3], INDEX))


@given(st.data(), st.sampled_from(REAL))
def test_searchsorted_of_scalars(data: Any, name: str) -> None:
    """2025.12: "add scalar argument support" """
    x = np.sort(data.draw(arrays(name, ((3,),))))
    value = data.draw(st.sampled_from(pool(name)))
    check(xp.searchsorted(make(x), value), np.asarray((x < value).sum(), INDEX))
    check(xp.searchsorted(make(x), value, side="right"), np.asarray((x <= value).sum(), INDEX))


@given(st.data(), st.sampled_from(ALL), st.sampled_from(PAIRS))
def test_where(data: Any, name: str, shapes: Any) -> None:
    condition = data.draw(arrays("bool", (*shapes, ())))
    x, y = data.draw(arrays(name, (shapes[0],))), data.draw(arrays(name, (shapes[1],)))
    check(xp.where(make(condition), make(x), make(y)), np.where(condition, x, y))


@given(st.data(), st.sampled_from(NUMERIC))
def test_where_with_scalars(data: Any, name: str) -> None:
    """2024.12: in the dtype of the array."""
    condition = data.draw(arrays("bool", ((3,), ())))
    x = data.draw(arrays(name, ((3,),)))
    check(xp.where(make(condition), make(x), 1), np.where(condition, x, x.dtype.type(1)))
    check(xp.where(make(condition), 2, make(x)), np.where(condition, x.dtype.type(2), x))
