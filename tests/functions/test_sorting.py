"""Sorting and searching against NumPy, nan and signed zeros included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lazynp
from lazynp.functions._releases import SINCE_2_5
from tests.functions.rows import check, run, same

nan = np.nan
DATA: dict[str, Any] = {
    "v": np.array([3.0, nan, -1.0, 0.0, -0.0, np.inf, 2.0, nan, -np.inf]),
    "a": np.array([[3, 1, 2], [9, 7, 8], [4, 4, 0]]),
    "t": (np.arange(24) * 7 % 11).reshape(2, 3, 4),
    "u": np.array([200, 3, 7, 255, 0], np.uint8),
    "m": np.array([True, False, True, False]),
    "f": np.array([2.5, -1, 0, 7], np.float32),
    "h": np.array([2.5, -1, 0, 7], np.float16),
    "c": np.array([2 + 1j, 1 + 5j, 1 - 5j, nan + 0j, complex(0, nan), 1 + 5j]),
    "o": np.array([1.0, 2, 2, 5, 8]),
    "z": np.empty((0, 3)),
    "e": np.array(3),
}

SORT = """
np.sort(v)
np.sort(v, descending=True)
np.sort(a, axis=0, descending=True)
np.sort(a, axis=None, descending=True, stable=True)
np.sort(a, kind="stable", descending=True)
np.sort([3, 1, 2], descending=1), np.sort([3, 1, 2], descending=None)
np.sort([True, False, True], descending=True)
np.sort(np.array([3, 0, 255], "u1"), descending=True)
np.sort([2.0, np.nan, -np.inf, 5.0, np.inf], descending=True)
np.sort([1 + 1j, 2, 1 + 2j, -3j], descending=True)
np.sort(["b", "c", "a"], descending=True)
np.argsort(t, descending=True, stable=True)
np.argsort([2, 1, 2, 1], descending=True, stable=True)
np.argsort([2.0, np.nan, 3.0], descending=True)
v.argsort(descending=True)
v.sort(descending=True); v
a.sort(axis=0, descending=True); a
np.sort(a)
np.sort(a, axis=0)
np.sort(a, axis=None)
np.sort(t, axis=1)
np.sort(u)
np.sort(m)
np.sort(f)
np.sort(h)
np.sort(c)
np.sort(z)
np.sort(z, axis=0)
np.sort([3, 1, 2], kind='stable')
np.sort([3, 1, 2], stable=True)
np.sort([3, 1, 2], kind='heapsort')
np.sort(e)
np.sort(3, axis=None)
np.sort(a, kind='foo')
np.sort(a, kind='stable', stable=True)
np.sort(a, order='x')
np.sort(a, axis=3)
a.sort(); a
a.sort(axis=0); a
a.T.sort(); a
a[:, ::2].sort(axis=0); a
t[1].sort(); t
np.argsort(v, kind='stable')
np.argsort(a, kind='stable')
np.argsort(t, axis=0, kind='stable')
np.argsort(t, axis=None, kind='stable')
np.argsort(m, stable=True)
np.argsort(c, kind='stable')
np.argsort(3)
np.argsort(z)
np.argsort(a, axis=2)
a.argsort(0)
np.sort_complex(a)
np.sort_complex(f)
np.sort_complex(u)
np.sort_complex(c)
np.sort_complex(3)
np.lexsort((a[0], a[1]))
np.lexsort(([1, 1, 0, 0], [2.5, 1, 2.5, 1]))
np.lexsort(a)
np.lexsort(t)
np.lexsort((t, t[::-1]), axis=1)
np.lexsort((1, 2))
np.lexsort([])
np.lexsort(3)
np.lexsort([[1, 2], [1]])
np.lexsort((o, u))
np.lexsort((a, a), axis=4)
np.lexsort((z, z))
"""

SEARCH = """
np.searchsorted(o, 2)
np.searchsorted(o, 2, side='right')
np.searchsorted(o, [0, 2, 5.5, 99, nan])
np.searchsorted(o, [[0, 2], [3, 8]], 'right')
np.searchsorted(np.sort(v), v)
np.searchsorted(np.sort(v), v, 'right')
np.searchsorted(np.sort(c), c)
np.searchsorted([1, 2, 3], 2.5)
np.searchsorted(np.sort(f), 2.5000000001)
np.searchsorted(np.sort(u), a)
np.searchsorted([False, True], [True, False])
np.searchsorted([], [1.0, 2])
np.searchsorted(o, [])
np.searchsorted(a, 1)
np.searchsorted(3, 1)
np.searchsorted(o, 1, side='x')
np.searchsorted(a[0], [1, 2], sorter=[1, 2, 0])
np.searchsorted(a[0], 2, sorter=np.argsort(a[0]))
np.searchsorted(a[0], 2, sorter=[1])
np.searchsorted(a[0], 2, sorter=[1.0, 2, 0])
np.searchsorted(a[0], 99, sorter=[1, 2, 9])
o.searchsorted([2, 3])
o.searchsorted(2)
"""

PARTITION_ERRORS = """
np.partition(o, 5)
np.partition(o, -6)
np.partition(o, [0, 7])
np.partition(o, 1.0)
np.partition(o, True)
np.partition(o, 1, kind='foo')
np.partition(o, 1, order='x')
np.partition(o, 1, axis=1)
np.partition(3, 0)
np.argpartition(o, 9)
o.partition(9)
"""


def rows(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


@pytest.mark.parametrize("program", rows(SORT + SEARCH + PARTITION_ERRORS))
def test_row(program: str) -> None:
    check(program, DATA, exact=True)


@pytest.mark.parametrize("program", rows(PARTITION_ERRORS))
def test_message(program: str) -> None:
    check(program, DATA, message=True)


def test_signs_of_zeros_keep_their_order() -> None:
    x = np.array([0.0, -0.0, 1.0, -0.0, 0.0])
    ours = np.asarray(lazynp.sort(lazynp.array(x), kind="stable"))
    np.testing.assert_array_equal(np.signbit(ours), np.signbit(np.sort(x, kind="stable")))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("kth", [0, 2, -1, [0, 1]])
def test_partition(axis: Any, kth: Any) -> None:
    """The elements at kth are those of a sorted array, smaller ones before, larger after."""
    x = np.random.default_rng(0).permutation(16).reshape(4, 4)
    ours = np.asarray(lazynp.partition(lazynp.array(x), kth, axis=axis))
    order = lazynp.argpartition(lazynp.array(x), kth, axis=axis)
    chosen = lazynp.take_along_axis(lazynp.array(x), order, axis)
    np.testing.assert_array_equal(np.asarray(chosen), ours)
    expected = np.partition(x, kth, axis=axis)
    along = 0 if axis is None else axis
    np.testing.assert_array_equal(
        np.take(ours, kth, axis=along), np.take(expected, kth, axis=along)
    )
    last = np.max(np.atleast_1d(kth))
    places = range(ours.shape[along])
    before, after = (
        np.sort(np.take(p, places[: last + 1 if last >= 0 else None], axis=along), axis=along)
        for p in (ours, expected)
    )
    np.testing.assert_array_equal(before, after)


def test_partition_in_place() -> None:
    x = lazynp.array([3, 1, 2, 0])
    assert x.partition(1) is None
    assert sorted(x[:2].tolist()) == [0, 1]


@pytest.mark.parametrize("dtype", ["O", "U2", "M8[D]", "f4,i4"])
def test_host_dtypes(dtype: str) -> None:
    if dtype == "f4,i4":
        x = np.array([(2, 1), (1, 2), (1, 1)], dtype)
    else:
        x = np.array([3, 1, 2]).astype(np.int64).astype(dtype)
    programs = ["np.sort(x)", "np.argsort(x, kind='stable')", "np.sort(x, axis=None)"]
    programs += ["np.sort(x, order='f1')", "np.argsort(x, order=['f1', 'f0'])"]
    for program in programs:
        numpys, _ = run(program, np, {"x": x})
        ours, _ = run(program, lazynp, {"x": x})
        assert isinstance(ours, Exception) == isinstance(numpys, Exception), program
        if not isinstance(numpys, Exception):
            same(ours, numpys, exact=True, where=program)


values = st.sampled_from([0, 1, 2, -3, nan, np.inf, -np.inf, 1.5])


@given(st.lists(values, min_size=6, max_size=6), st.sampled_from([0, 1, -1, None]),
       st.sampled_from(["f4", "f8", "c16", "i4"]))  # fmt: skip
def test_any_sort(elements: list[float], axis: int | None, dtype: str) -> None:
    x = np.nan_to_num(np.array(elements), posinf=9, neginf=-9) if dtype == "i4" else elements
    data = {"x": np.array(x).reshape(2, 3).astype(dtype)}
    check(f"np.sort(x, axis={axis})", data, exact=True)
    check(f"np.argsort(x, axis={axis}, kind='stable')", data, exact=True)


@pytest.mark.parametrize("dtype", ["i4", "i8", "u4", "u8"])
@pytest.mark.parametrize("size", [1024, 1025, 5000, 20001])
def test_integers_that_are_close_together(dtype: str, size: int) -> None:
    """Rows of few distinct integers, at both ends of their range, and rows of a little more."""
    ends, rng = np.iinfo(dtype), np.random.default_rng(0)
    for low, high in (
        (0, 1), (3, 2050), (3, 2051), (ends.min, ends.min + 2047), (ends.max - 2048, ends.max),
    ):  # fmt: skip
        x = rng.integers(low, high, size, dtype=dtype, endpoint=True)
        x[0], x[-1] = low, high
        for row in (x, x[::-1].copy(), np.sort(x), x[1::2]):
            wanted = np.argsort(row, kind="stable")
            assert np.asarray(lazynp.argsort(lazynp.array(row), kind="stable")).tolist() == (
                wanted.tolist()
            )
        rows = x[: size // 2 * 2].reshape(2, -1)
        rows[1, 0] = rows[0, 0] if low else high  # of two rows, one may be for other means
        found = lazynp.argsort(lazynp.array(rows), axis=1, kind="stable")
        assert np.asarray(found).tolist() == np.argsort(rows, axis=1, kind="stable").tolist()


@pytest.mark.skipif(not SINCE_2_5, reason="NumPy has `descending` since 2.5")
def test_descending_order_is_traced() -> None:
    x = np.array([[2.0, np.nan, -1.0, 2.0], [0.5, 3.0, -np.inf, 1.0]])
    want = np.sort(x, descending=True)  # type: ignore[call-overload]
    for transform in (lazynp.jit, lazynp.vmap):
        assert np.array_equal(transform(lambda v: lazynp.sort(v, descending=True))(x), want, True)
    g = lazynp.grad(lambda v: (lazynp.sort(v, descending=True) * np.arange(3.0)).sum())(
        x[1, [0, 1, 3]]
    )
    assert g.tolist() == [2.0, 0.0, 1.0]
