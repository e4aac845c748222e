"""Utility functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import ALL, NUMERIC, arrays, axes_of, axis_of, check, make, xp


@pytest.mark.parametrize("function", ["all", "any"])
@given(st.data(), arrays(ALL), st.booleans())
def test_truth(function: str, data: Any, x: Any, keepdims: bool) -> None:
    axis = data.draw(axes_of(x.ndim))
    oracle = getattr(np, function)
    wanted = np.asarray(oracle(x != 0, axis=axis, keepdims=keepdims))
    check(getattr(xp, function)(make(x), axis=axis, keepdims=keepdims), wanted)
    check(getattr(xp, function)(make(x)), np.asarray(oracle(x != 0)))


@pytest.mark.parametrize("function, wanted", [("all", True), ("any", False)])
def test_truth_of_nothing(function: str, wanted: bool) -> None:
    """ "If x is an empty array", all is True and any is False."""
    check(getattr(xp, function)(make(np.ones((0,), bool))), np.asarray(wanted))


@pytest.mark.parametrize("function", ["all", "any"])
@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_special_values_are_true(function: str, name: str) -> None:
    """ "positive infinity, negative infinity, and NaN must evaluate to True" """
    x = make(np.asarray([np.nan, np.inf, -np.inf], name))
    check(getattr(xp, function)(x), np.asarray(True))


@given(st.data(), arrays(NUMERIC, ((3,), (1,), (2, 3), (2, 1, 3))), st.integers(0, 3))
def test_diff(data: Any, x: Any, n: int) -> None:
    axis = data.draw(axis_of(x.ndim))
    check(xp.diff(make(x), axis=axis, n=n), np.diff(x, n=n, axis=axis))
    check(xp.diff(make(x)), np.diff(x))


@given(st.data(), arrays(NUMERIC, ((3,), (2, 3))), st.booleans(), st.booleans(),
       st.integers(1, 2))  # fmt: skip
def test_diff_with_ends(data: Any, x: Any, before: bool, after: bool, n: int) -> None:
    """ "prior to computing differences": second differences include the ends."""
    axis = data.draw(axis_of(x.ndim))
    shape = list(x.shape)
    shape[axis] = data.draw(st.integers(1, 2))
    parts = [data.draw(arrays(x.dtype.name, (tuple(shape),))) for _ in range(2)]
    joined = np.concatenate([*parts[:before], x, *parts[1:][:after]], axis=axis)
    out = xp.diff(
        make(x), axis=axis, n=n,
        prepend=make(parts[0]) if before else None, append=make(parts[1]) if after else None,
    )  # fmt: skip
    check(out, np.diff(joined, axis=axis, n=n))


@pytest.mark.parametrize("function", ["all", "any", "diff"])
def test_invalid_axes_raise(function: str) -> None:
    for axis in (2, -3):
        with pytest.raises(Exception):  # noqa: B017
            getattr(xp, function)(make(np.ones((2, 3))), axis=axis)
