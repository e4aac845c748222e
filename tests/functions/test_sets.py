"""Set routines against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lazynp
from tests.functions.rows import check

nan = np.nan
DATA: dict[str, Any] = {
    "a": np.array([3, 1, 2, 3, 3, 1]),
    "b": np.array([[2, 7], [3, 2]]),
    "f": np.array([1.5, nan, 0.0, nan, -0.0, 1.5]),
    "c": np.array([1 + 1j, complex(nan, 1), complex(1, nan), 1 + 1j]),
    "m": np.array([True, False, True]),
    "u": np.array([2**63 + 1, 5, 2**53 + 1], np.uint64),
    "s": np.array([-1, 5, 2**53], np.int64),
    "h": np.array([3, 1, 3], np.uint8),
    "z": np.empty(0),
    "w": np.array(["b", "a", "b"]),
}

UNIQUE = """
np.unique(a)
np.unique(b)
np.unique(f)
np.unique(f, equal_nan=False)
np.unique(f, return_index=True, return_inverse=True, return_counts=True)
np.unique(f, return_counts=True, equal_nan=False)
np.unique(m, return_counts=True)
np.unique(h, True, True, True)
np.unique(a, return_index=True)
np.unique(a, return_inverse=True)
np.unique(b, return_inverse=True)
np.unique(b.T, return_index=True)
np.unique(3)
np.unique(3, return_inverse=True)
np.unique(z)
np.unique(z, True, True, True)
np.unique([2, 1, 2])
np.unique(a, axis=0)
np.unique(a, axis=1)
np.unique(b, axis=0)
np.unique(b, axis=1, return_index=True, return_inverse=True, return_counts=True)
np.unique(b, axis=2)
np.unique(w, return_counts=True)
np.unique(a, sorted=True)
np.unique_all(b)
np.unique_counts(a)
np.unique_inverse(b)
np.sort(np.unique_values(a))
"""

SETS = """
np.intersect1d(a, b)
np.intersect1d(a, b, return_indices=True)
np.intersect1d([1, 3, 5], [5, 1], assume_unique=True)
np.intersect1d([1, 3, 5], [5, 1], assume_unique=True, return_indices=True)
np.intersect1d(a, [])
np.intersect1d(a, [9.5])
np.intersect1d(w, ['a'])
np.union1d(a, b)
np.union1d(a, [2.5])
np.union1d([], [])
np.union1d(w, ['c'])
np.setdiff1d(a, b)
np.setdiff1d(a, [3], assume_unique=True)
np.setdiff1d(f, [0.0])
np.setdiff1d(w, ['a'])
np.setxor1d(a, b)
np.setxor1d([1, 2], [2, 3], assume_unique=True)
np.setxor1d([], [])
np.setxor1d(a, [])
np.isin(a, b)
np.isin(b, a)
np.isin(b, a, invert=True)
np.isin(3, a)
np.isin(a, 3)
np.isin(a, [])
np.isin(a, [], invert=True)
np.isin(f, f)
np.isin(a, [1.0, 2.5])
np.isin(u, s)
np.isin(s, u)
np.isin(h, [3, 300, -1])
np.isin(m, [1])
np.isin(c, [1 + 1j])
np.isin(a, b, kind='sort')
np.isin(a, b, kind='table')
np.isin(a, [1.0], kind='table')
np.isin(a, b, kind='foo')
np.isin(w, ['a'])
np.isin(a, b, assume_unique=True)
"""


def rows(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


@pytest.mark.parametrize("program", rows(UNIQUE + SETS))
def test_row(program: str) -> None:
    check(program, DATA, exact=True)


def test_complex_nans_are_equal() -> None:
    assert lazynp.unique(lazynp.array(DATA["c"])).shape == (2,)
    assert lazynp.unique(lazynp.array(DATA["c"]), equal_nan=False).shape == (3,)


def test_isin_computes_nothing() -> None:
    """In programs; elsewhere NumPy's own is the fastest."""
    x = lazynp.array(DATA["a"])
    before = lazynp.stats().cuts
    with lazynp.config(execution="compiled"):
        found = lazynp.isin(x + 1, x)
    assert lazynp.stats().cuts == before
    np.testing.assert_array_equal(np.asarray(found), np.isin(DATA["a"] + 1, DATA["a"]))


def test_names_of_results() -> None:
    x = lazynp.array(DATA["b"])
    assert lazynp.unique_all(x)._fields == np.unique_all(DATA["b"])._fields
    assert lazynp.unique_counts(x)._fields == np.unique_counts(DATA["b"])._fields
    assert lazynp.unique_inverse(x)._fields == np.unique_inverse(DATA["b"])._fields


small = st.lists(st.integers(0, 4), min_size=4, max_size=4)


@given(small, small, st.sampled_from(["f4", "i8", "u1"]))
def test_any_sets(left: list[int], right: list[int], dtype: str) -> None:
    data = {"x": np.array(left, dtype), "y": np.array(right)}
    check("np.unique(x, True, True, True)", data, exact=True)
    for name in ("intersect1d", "union1d", "setdiff1d", "setxor1d", "isin"):
        check(f"np.{name}(x, y)", data, exact=True)


@pytest.mark.parametrize("dtype", ["i8", "i4", "u8", "i2", "u1", "f8", "?"])
def test_many_elements(dtype: str) -> None:
    """NumPy's hash table would be slow for some of them."""
    rng = np.random.default_rng(3)
    compiled = lazynp.config.execution == "compiled"  # a program for each length
    for n in (257,) if compiled else (255, 257, 1000):
        for most in (2, 50, 10**6):
            x, y = (rng.integers(0, most, k).astype(dtype) for k in (n, n + 3))
            data = {"x": x, "y": y, "g": x.reshape(1, -1), "e": x[:0]}
            check("np.unique(x)", data, exact=True)
            check("np.unique(g)", data, exact=True)
            check("np.unique(x[::-1])", data, exact=True)
            check("np.unique(x, return_counts=True)", data, exact=True)
            check("np.unique(g, axis=0)", data, exact=True)
            for name in ("intersect1d", "union1d", "setdiff1d", "setxor1d"):
                check(f"np.{name}(x, y)", data, exact=True)
                check(f"np.{name}(x, g)", data, exact=True)
                check(f"np.{name}(x, e)", data, exact=True)
                check(f"np.{name}(x, y.astype('i8'))", data, exact=True)
    check("np.setdiff1d(x, y, True)", {"x": rng.permutation(999), "y": np.arange(300)}, exact=True)
