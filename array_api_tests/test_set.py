"""Set functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import (
    ALL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    arrays,
    check,
    dtype,
    host,
    make,
    pool,
    xp,
)  # fmt: skip

INDEX = "int64"


def _checked_values(values: Any, x: Any) -> list[Any]:
    """Each value once, in any order."""
    assert values.ndim == 1 and values.dtype == dtype(x.dtype.name)
    found = host(values).tolist()
    assert len(found) == len(set(found)) and set(found) == set(x.ravel().tolist())
    return found


@given(x=arrays(ALL))
def test_unique_values(x: Any) -> None:
    _checked_values(xp.unique_values(make(x)), x)


@given(x=arrays(ALL))
def test_unique_counts(x: Any) -> None:
    out = xp.unique_counts(make(x))
    values, counts = out
    assert out._fields == ("values", "counts")
    found = _checked_values(values, x)
    check(counts, np.asarray([(x == v).sum() for v in found], INDEX))


@given(x=arrays(ALL))
def test_unique_inverse(x: Any) -> None:
    out = xp.unique_inverse(make(x))
    assert out._fields == ("values", "inverse_indices")
    found = _checked_values(out.values, x)
    wanted = np.asarray([found.index(v) for v in x.ravel().tolist()], INDEX).reshape(x.shape)
    check(out.inverse_indices, wanted)


@given(x=arrays(ALL))
def test_unique_all(x: Any) -> None:
    out = xp.unique_all(make(x))
    assert out._fields == ("values", "indices", "inverse_indices", "counts")
    values, indices, inverse, counts = out
    found, flat = _checked_values(values, x), x.ravel().tolist()
    check(indices, np.asarray([flat.index(v) for v in found], INDEX))
    check(inverse, np.asarray([found.index(v) for v in flat], INDEX).reshape(x.shape))
    check(counts, np.asarray([flat.count(v) for v in found], INDEX))


@pytest.mark.parametrize("name", FLOATS + COMPLEX)
def test_nan_and_zeros(name: str) -> None:
    """ "nan values should be considered distinct", "signed zeros should not"."""
    x = make(np.asarray([math.nan, 0.0, math.nan, -0.0, 1.0], name))
    assert xp.unique_values(x).shape == (4,)
    values, counts = xp.unique_counts(x)
    by_value = sorted(zip(map(str, np.abs(host(values)).tolist()), host(counts).tolist()))
    assert by_value == [("0.0", 2), ("1.0", 1), ("nan", 1), ("nan", 1)]
    assert xp.unique_inverse(x).inverse_indices.shape == (5,)
    assert sorted(host(xp.unique_all(x).indices).tolist()) in ([0, 1, 2, 4], [0, 2, 3, 4])


@given(st.data(), st.sampled_from(INTEGERS), st.booleans())
def test_isin(data: Any, name: str, invert: bool) -> None:
    """2025.12. Compares by value; a scalar on either side."""
    x = data.draw(arrays(name))
    tests = data.draw(arrays(name, ((), (0,), (3,), (2, 3))))
    members = set(tests.ravel().tolist())
    wanted = np.asarray([(v in members) is not invert for v in x.ravel().tolist()], bool)
    check(xp.isin(make(x), make(tests), invert=invert), wanted.reshape(x.shape))
    value = data.draw(st.sampled_from(pool(name)))
    check(xp.isin(make(x), value, invert=invert), (x == value) ^ invert)
    check(xp.isin(value, make(tests)), np.asarray(value in members))


@pytest.mark.parametrize("one, other", [("int8", "int64"), ("int32", "int16"), ("uint8", "int16")])
def test_isin_of_mixed_integers(one: str, other: str) -> None:
    """Compares by value, also between dtypes that promote."""
    x, tests = np.asarray([1, 100, 3], one), np.asarray([3, 1, 1000], other)
    check(xp.isin(make(x), make(tests)), np.asarray([True, False, True]))
    check(xp.isin(make(tests), make(x)), np.asarray([True, True, False]))
