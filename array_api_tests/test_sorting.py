"""Sorting functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import REAL, arrays, axis_of, check, host, make, xp

ranked = arrays(REAL, ((3,), (1,), (0,), (2, 3), (3, 1), (2, 1, 3), (7,)))


def _sorted(x: Any, axis: int, descending: bool) -> Any:
    ordered = np.sort(x, axis=axis)
    return np.flip(ordered, axis) if descending else ordered


@given(st.data(), ranked, st.booleans(), st.booleans())
def test_sort(data: Any, x: Any, descending: bool, stable: bool) -> None:
    axis = data.draw(axis_of(x.ndim))
    out = xp.sort(make(x), axis=axis, descending=descending, stable=stable)
    check(out, _sorted(x, axis, descending))


@given(ranked)
def test_sort_by_default(x: Any) -> None:
    check(xp.sort(make(x)), _sorted(x, -1, False))


def _stable_order(x: Any, descending: bool) -> Any:
    """The stable order of a vector: equal elements keep their order, in either direction."""
    values = x.tolist()
    return sorted(range(len(values)), key=lambda i: (-values[i] if descending else values[i], i))


@given(st.data(), ranked, st.booleans())
def test_stable_argsort(data: Any, x: Any, descending: bool) -> None:
    axis = data.draw(axis_of(x.ndim))
    wanted = np.apply_along_axis(_stable_order, axis, x, descending) if x.size else x
    out = xp.argsort(make(x), axis=axis, descending=descending, stable=True)
    check(out, np.asarray(wanted, "int64").reshape(x.shape))


@given(st.data(), ranked, st.booleans())
def test_unstable_argsort(data: Any, x: Any, descending: bool) -> None:
    """Equal elements may have any order."""
    axis = data.draw(axis_of(x.ndim))
    order = xp.argsort(make(x), axis=axis, descending=descending, stable=False)
    assert order.dtype == xp.int64 and order.shape == x.shape
    got = np.take_along_axis(x, host(order), axis)
    np.testing.assert_array_equal(got, _sorted(x, axis, descending))


@given(ranked)
def test_argsort_by_default(x: Any) -> None:
    got = np.take_along_axis(x, host(xp.argsort(make(x))), -1)
    np.testing.assert_array_equal(got, np.sort(x))


@pytest.mark.parametrize("function", ["sort", "argsort"])
def test_invalid_axes_raise(function: str) -> None:
    with pytest.raises(Exception):  # noqa: B017
        getattr(xp, function)(make([1.0, 2.0]), axis=1)


def test_long_arrays_are_stable() -> None:
    x = np.arange(300) * 7 % 5
    for descending in (False, True):
        out = xp.argsort(make(x), descending=descending)
        assert host(out).tolist() == _stable_order(x, descending)
