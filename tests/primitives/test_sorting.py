"""sort, argsort, sort_pairs, searchsorted: lowered against reference, and their rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from lazynp._avals import DEVICE_DTYPES, aval_of
from lazynp.primitives import sorting
from lazynp.primitives._order import has_negative_zero
from lazynp.primitives.sorting import argsort, searchsorted, sort, sort_pairs
from tests.primitives.harness import run_lowered
from tests.primitives.rules import check_batch, check_jvp

DTYPES = sorted(DEVICE_DTYPES, key=lambda d: (d.kind, d.itemsize))
FLOATS = [d for d in DTYPES if d.kind == "f"]
COMPLEX = [d for d in DTYPES if d.kind == "c"]
SMALL, LARGE = 11, 5000  # below and above where the native sort is taken


def hard(dtype: np.dtype[Any], size: int, seed: int = 0) -> Any:
    """Values of few kinds, so with many ties: nan of both signs, zeros of both, inf, denormals."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(size) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        pool = np.array([info.min, info.max, 0, 1, 2, info.max // 2, info.min // 2], dtype)
        return pool[rng.integers(0, len(pool), size)]
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        out = np.empty(size, dtype)
        out.real, out.imag = hard(part, size, seed + 1), hard(part, size, seed + 2)
        return out
    info = np.finfo(dtype)
    pool = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5, -1.5, info.max, info.min]
    tiny = np.array([1, 2, 3], f"i{dtype.itemsize}").view(dtype)  # denormals
    pool = np.concatenate([np.array(pool, dtype), tiny, -tiny])
    return np.where(
        rng.random(size) < 0.7,
        pool[rng.integers(0, len(pool), size)],
        rng.normal(size=size).astype(dtype),
    )


def no_negative_zero(x: Any) -> Any:
    return np.where(x == 0, np.zeros((), x.dtype), x)


def assert_same_values(got: Any, wanted: Any) -> None:
    """Equal, including signs of zeros. Ignores sign and payload of nan."""
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    if wanted.dtype.kind == "c":
        got, wanted = (np.stack([v.real, v.imag]) for v in (got, wanted))
    np.testing.assert_array_equal(got, wanted)
    if wanted.dtype.kind == "f":
        bits = np.dtype(f"i{wanted.dtype.itemsize}")
        valid = ~np.isnan(wanted)
        np.testing.assert_array_equal(got[valid].view(bits), wanted[valid].view(bits))


@pytest.mark.parametrize("size", [2, 3, 5, SMALL, LARGE])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sort(dtype: np.dtype[Any], size: int) -> None:
    x = hard(dtype, size)
    for values in (x, no_negative_zero(x)) if dtype.kind == "f" else (x,):
        (got,) = run_lowered(sort, values, axis=0)
        assert_same_values(got, np.sort(values, kind="stable"))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", ">f4", ">f8"])
def test_negative_zeros_are_found(dtype: str) -> None:
    for values in ([], [0.0], [-0.0], [1.0, -0.0], [np.nan, 0.0, -1.0], [-np.nan, -0.0]):
        x = np.array(values, dtype)
        want = bool((np.signbit(x) & (x == 0)).any())
        wide = np.zeros((3, 2 * len(values) + 1), dtype)
        wide[1, 1::2] = x
        assert has_negative_zero(x) is has_negative_zero(wide[1, 1::2]) is want
        assert has_negative_zero(wide) is has_negative_zero(wide.T[::-1]) is want


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_argsort(dtype: np.dtype[Any], size: int) -> None:
    x = hard(dtype, size)
    (got,) = run_lowered(argsort, x, axis=0)
    wanted = np.argsort(x, kind="stable")
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_with_nan(dtype: np.dtype[Any]) -> None:
    """R + Rj, R + nan j, nan + Rj, nan + nan j."""
    nan = np.nan
    parts = [
        (nan, nan),
        (nan, 1),
        (1, nan),
        (2, 0),
        (-1, nan),
        (nan, 0),
        (1, 5),
        (1, 4),
        (nan, nan),
    ]
    x = np.array([complex(*p) for p in parts], dtype)
    (got,) = run_lowered(argsort, x, axis=0)
    np.testing.assert_array_equal(got, np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(got, [7, 6, 3, 4, 2, 5, 1, 0, 8])


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?", "c16"])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1,), (3, 1), (3, 4, 5), (70, 90)])
def test_axes(shape: tuple[int, ...], dtype: str) -> None:
    x = hard(np.dtype(dtype), int(np.prod(shape))).reshape(shape)
    for axis in range(len(shape)):
        (got,) = run_lowered(sort, x, axis=axis)
        wanted = np.sort(x, axis=axis, kind="stable")
        assert_same_values(got, wanted)
        (order,) = run_lowered(argsort, x, axis=axis)
        np.testing.assert_array_equal(order, np.argsort(x, axis=axis, kind="stable"))
        again = x.copy()
        assert sort.inplace(again, axis=axis) is again
        assert_same_values(again, wanted)


def pair_operands(dtype: np.dtype[Any], size: int, num_keys: int) -> tuple[Any, ...]:
    """Keys, the second of another dtype, then the positions and a payload."""
    second = hard(np.dtype("i2"), size, 5)
    columns = (hard(dtype, size), second, np.arange(size), hard(dtype, size, 9))
    return columns if num_keys == 2 else (columns[0], *columns[2:])


PAIRS = [
    (d, n, k) for d in DTYPES for n in (SMALL, LARGE) for k in (1, 2) if k == 1 or d.itemsize >= 4
]


@pytest.mark.parametrize(("dtype", "size", "num_keys"), PAIRS, ids=str)
def test_sort_pairs(dtype: np.dtype[Any], size: int, num_keys: int) -> None:
    operands = pair_operands(dtype, size, num_keys)
    got = run_lowered(sort_pairs, *operands, axis=0, num_keys=num_keys)
    order = np.lexsort(operands[num_keys - 1 :: -1])
    wanted = sort_pairs.reference(*operands, axis=0, num_keys=num_keys)
    for g, w, x in zip(got, wanted, operands, strict=True):
        assert_same_values(g, w)
        assert_same_values(w, x[order])


def test_sort_pairs_axes() -> None:
    x, y = hard(np.dtype("f8"), 60).reshape(3, 4, 5), np.arange(60).reshape(3, 4, 5)
    large = hard(np.dtype("f4"), 6300).reshape(70, 90), np.arange(6300).reshape(70, 90)
    empty = np.zeros((3, 0)), np.zeros((3, 0), int)
    for operands in ((x, y), large, empty):
        for axis in range(operands[0].ndim):
            got = run_lowered(sort_pairs, *operands, axis=axis, num_keys=1)
            wanted = sort_pairs.reference(*operands, axis=axis, num_keys=1)
            for g, w in zip(got, wanted, strict=True):
                assert_same_values(g, w)


def test_sort_pairs_keys_may_be_all() -> None:
    x, y = np.array([2, 1, 2, 1]), np.array([1.0, np.nan, 0.0, 3.0])
    got = run_lowered(sort_pairs, x, y, axis=0, num_keys=2)
    np.testing.assert_array_equal(got[0], [1, 1, 2, 2])
    np.testing.assert_array_equal(got[1], [3.0, np.nan, 0.0, 1.0])


def test_abstract_rejects() -> None:
    x, y = aval_of((3,), np.dtype("f8")), aval_of((4,), np.dtype("f8"))
    with pytest.raises(np.exceptions.AxisError, match="axis 1 is out of bounds"):
        sort.abstract(x, axis=1)
    with pytest.raises(ValueError, match="one shape"):
        sort_pairs.abstract(x, y, axis=0, num_keys=1)
    with pytest.raises(ValueError, match="keys"):
        sort_pairs.abstract(x, axis=0, num_keys=2)
    with pytest.raises(ValueError, match="search side must be 'left' or 'right'"):
        searchsorted.abstract(x, y, side="middle")
    with pytest.raises(ValueError, match="too deep"):
        searchsorted.abstract(aval_of((2, 2), np.dtype("f8")), y, side="left")


FLOAT_LISTS = hnp.arrays("f8", (SMALL,), elements=st.floats(width=64))


@given(x=FLOAT_LISTS)
def test_sort_drawn(x: Any) -> None:
    (got,) = run_lowered(sort, x, axis=0)
    assert_same_values(got, np.sort(x, kind="stable"))
    (order,) = run_lowered(argsort, x, axis=0)
    np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))


# -- searchsorted --------------------------------------------------------------------------------


SEARCHES = [(d, 7) for d in DTYPES] + [(np.dtype("f8"), n) for n in (1, 2, 8, 100)]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("dtype", "size"), SEARCHES, ids=str)
def test_searchsorted(dtype: np.dtype[Any], size: int, side: str) -> None:
    a = np.sort(hard(dtype, size))
    v = np.concatenate([a[:1], hard(dtype, 23, 3)])
    shapes: tuple[tuple[int, ...], ...] = ((24,), (2, 3, 4), ()) if dtype.char == "d" else ((24,),)
    for shape in shapes:
        values = v.reshape(shape) if shape else v[0]
        (got,) = run_lowered(searchsorted, a, values, side=side)
        wanted = searchsorted.reference(a, values, side=side)
        assert got.dtype == wanted.dtype == np.int64 and got.shape == wanted.shape
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_empty(side: str) -> None:
    for a, v in ((np.zeros(0), np.zeros(3)), (np.zeros(3), np.zeros((2, 0))), (np.zeros(0),) * 2):
        (got,) = run_lowered(searchsorted, a, v, side=side)
        assert got.dtype == np.int64 and got.shape == v.shape and not got.any()


@given(a=FLOAT_LISTS, v=FLOAT_LISTS, side=st.sampled_from(["left", "right"]))
def test_searchsorted_drawn(a: Any, v: Any, side: str) -> None:
    a = np.sort(a)
    (got,) = run_lowered(searchsorted, a, v, side=side)
    np.testing.assert_array_equal(got, np.searchsorted(a, v, side))  # type: ignore[call-overload]


# -- rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1])
def test_jvp(axis: int) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 4, 5))
    check_jvp(sort, (x,), (0,), axis=axis)
    for moving in ((0,), (1,), (0, 1)):
        check_jvp(sort_pairs, (x, y), moving, axis=axis, num_keys=1)


@pytest.mark.parametrize("prim", [sort, argsort], ids=str)
def test_batch(prim: Any) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4, 5))
    for axis in (0, 1):
        check_batch(prim, (x,), (True,), axis=axis)


def test_sort_pairs_batch() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 3, 4))
    for batched in ((True, True), (True, False), (False, True)):
        operands = [v if b else v[0] for v, b in zip((x, y), batched, strict=True)]
        check_batch(sort_pairs, operands, batched, axis=0, num_keys=1)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_batch(side: str) -> None:
    rng = np.random.default_rng(0)
    a, v = np.sort(rng.normal(size=(3, 7)).round(1)), rng.normal(size=(3, 2, 5)).round(1)
    for batched in ((True, True), (True, False), (False, True)):
        operands = [x if b else x[0] for x, b in zip((a, v), batched, strict=True)]
        check_batch(searchsorted, operands, batched, side=side)
    deep = np.sort(rng.normal(size=(2, 3, 7)).round(1)), rng.normal(size=(2, 3, 5)).round(1)
    (got,) = run_lowered(searchsorted, *deep, side=side, batch_dims=2)
    np.testing.assert_array_equal(got, searchsorted.reference(*deep, side=side, batch_dims=2))
    check_batch(searchsorted, deep, (True, True), side=side, batch_dims=1)
    check_batch(searchsorted, (deep[0], deep[1][0]), (True, False), side=side, batch_dims=1)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("distinct", [10**9, 5000, 300, 1])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u4", "i2", "?"])
def test_the_reference_of_argsort_is_numpys_stable_one(
    dtype: str, distinct: int, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the quick one, and puts equal elements in their order."""
    monkeypatch.setattr(sorting, "_WIDE", wide)
    rng = np.random.default_rng(distinct)
    with np.errstate(all="ignore"):
        x = (rng.integers(0, distinct, (3, 4500)) - distinct // 2).astype(dtype)
    if dtype[0] == "f":
        x[0, ::7] = -0.0
        x[1, ::700] = np.nan
    for rows in (x, x[:1, ::-1], x.T[:, 1:]):
        for axis in (0, 1):
            expected = np.argsort(rows, axis=axis, kind="stable")
            got = argsort.reference(rows, axis=axis)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", ["i8", "u8", "i4", "u4"])
@pytest.mark.parametrize(
    "kind", ["whole range", "half range", "in order", "falling", "few", "two rows"]
)
def test_the_order_of_integers(kind: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers and positions that share 64 bits, or do not; and what is in order already."""
    monkeypatch.setattr(sorting, "_WIDE", True)
    rng = np.random.default_rng(5)
    limits = np.iinfo(dtype)
    least, most = (limits.min, limits.max) if kind == "whole range" else (0, limits.max >> 8)
    x = rng.integers(least, most, 9000, dtype=dtype, endpoint=True)
    if kind == "in order":
        x.sort()
    elif kind == "falling":
        x = np.sort(x)[::-1]
    elif kind == "few":
        x %= 7
    elif kind == "two rows":
        x = x.reshape(2, 4500)
    got = argsort.reference(x, axis=x.ndim - 1)
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("length", [2, 100, 1025, 5000])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("kind", ["bits", "few", "near", "in order", "falling", "one"])
def test_the_order_by_bits(
    kind: str, wide: bool, length: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros of both signs, infinities, NaNs of both signs, subnormals, and all other bits."""
    monkeypatch.setattr(sorting, "_WIDE", wide)
    monkeypatch.setattr(sorting, "QUICK_FROM", 1 if sorting.BUILT else 256)
    rng = np.random.default_rng(length)
    x = rng.integers(0, 256, length * 8 * 3, np.uint8).view(dtype)[: 3 * length].reshape(3, length)
    if kind == "few":
        x = rng.choice(x.ravel()[:7], x.shape)
        if dtype[0] == "f":
            x[rng.random(x.shape) < 0.5] *= 0  # NaNs, and zeros of both signs
    elif kind == "near":  # but for two, they differ in their last bits
        x = np.repeat(x[:, :1], length, axis=1)
        x.view(f"u{x.itemsize}")[:] ^= rng.integers(0, 64, x.shape, f"u{x.itemsize}")
        x[:, 1], x[:, -1] = 3, 1e9
    elif kind == "in order" or kind == "falling":
        x = np.sort(x)[:, :: 1 if kind == "in order" else -1]
    elif kind == "one":
        x = np.full_like(x, x[0, 0])
    for rows in (x, x[1], x.T):
        for axis in range(rows.ndim):
            got = argsort.reference(rows, axis=axis)
            expected = np.argsort(rows, axis=axis, kind="stable")
            assert got.dtype == expected.dtype and (got.flags.owndata or not sorting.BUILT)
            np.testing.assert_array_equal(got, expected)
