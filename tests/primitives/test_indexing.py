"""take, put, put_mask, put_masked_values, take_mask: lowered against reference, and their rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from lazynp._avals import DEVICE_DTYPES, aval_of
from lazynp.primitives.indexing import put, put_mask, put_masked_values, take, take_mask
from tests.primitives.harness import elsewhere, run_lowered
from tests.primitives.rules import array, check_batch, check_jvp, check_transpose, value

DTYPES = sorted(DEVICE_DTYPES, key=lambda d: (d.kind, d.itemsize))
MODES = ("set", "add", "multiply", "minimum", "maximum")
F8 = np.dtype("f8")

# x's shape, the indexed axes, the shape of the indices
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "vector": ((5,), (0,), (7,)),
    "rows": ((5, 3), (0,), (7,)),
    "columns": ((3, 5), (1,), (7,)),
    "elements": ((4, 5), (0, 1), (9,)),
    "apart": ((4, 2, 3), (0, 2), (6,)),
    "grid": ((4, 5), (1,), (2, 3)),
    "one": ((4, 5), (1,), (1,)),
    "scalar": ((4, 5), (0, 1), ()),
    "scalar row": ((4, 5), (0,), ()),
    "no index": ((4, 5), (0,), (0,)),
    "empty rows": ((4, 0), (0,), (3,)),
    "nothing": ((0, 4), (0,), (0,)),
}


def draw(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.kind == "c" else x).astype(dtype)


def draw_indices(name: str, seed: int = 2) -> list[Any]:
    """With duplicates."""
    x_shape, axes, shape = CASES[name]
    rng = np.random.default_rng(seed)
    return [
        rng.integers(0, x_shape[a], shape) if x_shape[a] else np.empty(shape, int) for a in axes
    ]


def rest_of(name: str) -> tuple[int, ...]:
    x_shape, axes, shape = CASES[name]
    return shape + tuple(d for i, d in enumerate(x_shape) if i not in axes)


def assert_same(got: Any, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)


# -- take ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_take(name: str) -> None:
    x_shape, axes, _ = CASES[name]
    x, indices = draw(F8, x_shape, 0), draw_indices(name)
    wanted = np.moveaxis(x, axes, range(len(axes)))[tuple(indices)]
    assert_same(np.asarray(take.reference(x, *indices, axes=axes)), wanted)
    (got,) = run_lowered(take, x, *indices, axes=axes)
    assert_same(got, wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_take_dtypes(dtype: np.dtype[Any]) -> None:
    for name in ("rows", "scalar"):
        x_shape, axes, _ = CASES[name]
        x, indices = draw(dtype, x_shape, 0), draw_indices(name)
        (got,) = run_lowered(take, x, *indices, axes=axes)
        assert_same(got, take.reference(x, *indices, axes=axes))


def test_take_abstract_rejects() -> None:
    x, i, j = (aval_of(s, np.dtype(t)) for s, t in (((3, 4), "f8"), ((2,), "i8"), ((2,), "i4")))
    with pytest.raises(IndexError, match="int64"):
        take.abstract(x, j, axes=(0,))
    with pytest.raises(TypeError, match="one index array per axis"):
        take.abstract(x, i, axes=(0, 1))
    with pytest.raises(TypeError, match="sorted axes"):
        take.abstract(x, i, i, axes=(1, 0))


@pytest.mark.parametrize("name", CASES)
def test_take_rules(name: str) -> None:
    x_shape, axes, _ = CASES[name]
    x, indices = draw(F8, x_shape, 0), draw_indices(name)
    check_jvp(take, (x, *indices), (0,), axes=axes)
    check_transpose(take, (x, *indices), (0,), axes=axes)
    stacked_x = draw(F8, (3, *x_shape), 1)
    stacked = [np.stack(columns) for columns in zip(*(draw_indices(name, s) for s in (2, 3, 4)))]
    unbatched = (False,) * len(axes)
    check_batch(take, (stacked_x, *indices), (True, *unbatched), axes=axes)
    check_batch(take, (x, *stacked), (False, *[True] * len(axes)), axes=axes)
    check_batch(take, (stacked_x, *stacked), (True, *[True] * len(axes)), axes=axes)
    if len(axes) > 1:
        check_batch(take, (x, stacked[0], *indices[1:]), (False, True, *unbatched[1:]), axes=axes)


# -- put -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CASES)
def test_put(name: str, mode: str) -> None:
    x_shape, axes, _ = CASES[name]
    x, u, indices = draw(F8, x_shape, 0), draw(F8, rest_of(name), 1), draw_indices(name)
    wanted = put.reference(x, u, *indices, axes=axes, mode=mode)
    (got,) = run_lowered(put, x, u, *indices, axes=axes, mode=mode)
    assert got.shape == wanted.shape == x_shape
    np.testing.assert_array_equal(got, wanted)
    again = x.copy()
    assert put.inplace(again, u, *indices, axes=axes, mode=mode) is again
    assert_same(again, wanted)
    if mode == "set":  # one after the other: the last of duplicates stays
        one_by_one = np.moveaxis(x, axes, range(len(axes)))  # a view of x, no longer needed
        rows = u.reshape(indices[0].size, *u.shape[indices[0].ndim :])
        for k in range(indices[0].size):
            one_by_one[tuple(int(i.flat[k]) for i in indices)] = rows[k]
        np.testing.assert_array_equal(wanted, x)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_put_dtypes(dtype: np.dtype[Any], mode: str) -> None:
    x_shape, axes, _ = CASES["elements"]
    x, u = draw(dtype, x_shape, 0), draw(dtype, rest_of("elements"), 1)
    indices = [np.array([0, 0, 3, 1, 0, 0, 3, 3, 2])] * 2
    with np.errstate(all="ignore"):
        wanted = put.reference(x, u, *indices, axes=axes, mode=mode)
    (got,) = run_lowered(put, x, u, *indices, axes=axes, mode=mode)
    assert got.dtype == wanted.dtype == dtype
    if dtype.kind in "fc":
        tolerance = 4 * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("mode", ["minimum", "maximum"])
def test_put_extremum_keeps_nan(mode: str, dtype: str) -> None:
    x = np.array([1, np.nan, 3, 4, -np.inf, 1], dtype)
    u = np.array([np.nan, 2, np.inf, -1, 0, 5, np.nan, 1, 1], dtype)
    if dtype[0] == "c":
        u[[1, 5]] += 2j
        u[8] = complex(1, np.nan)
    i = np.array([0, 1, 2, 3, 3, 3, 4, 4, 5])
    (got,) = run_lowered(put, x, u, i, axes=(0,), mode=mode)
    assert_same(got, put.reference(x, u, i, axes=(0,), mode=mode))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i8", "f2", "?"])
@pytest.mark.parametrize(
    ("shape", "axes", "count"),
    [((7, 5), (0,), 40), ((5, 7), (1,), 40), ((6, 8), (0, 1), 200), ((4, 3, 6), (0, 2), 90),
     ((4, 3, 6), (2, 0), 90), ((9,), (0,), 300), ((3, 4, 2), (0, 1, 2), 100)],
)  # fmt: skip
def test_put_adds_many(shape: Any, axes: Any, count: int, dtype: str) -> None:
    """In the order of the indices, as `add.at` does, to the bit."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=shape) * 7).astype(dtype)
    rest = tuple(n for i, n in enumerate(shape) if i not in axes)
    u = (rng.normal(size=(count, *rest)) * 7).astype(dtype)
    indices = tuple(rng.integers(0, shape[a], count) for a in axes)
    wanted = np.moveaxis(x.copy(), axes, range(len(axes)))
    np.add.at(wanted, indices, u)
    wanted = np.moveaxis(wanted, range(len(axes)), axes)
    kept = x.copy()
    assert_same(put.reference(x, u, *indices, axes=axes, mode="add"), wanted)
    assert_same(x, kept)
    apart, u = tuple(i.reshape(2, -1) for i in indices), u.reshape(2, count // 2, *rest)
    found = put.reference(x, u, *apart, axes=axes, mode="add")
    assert_same(found, wanted)


def test_put_last_of_many_duplicates_wins() -> None:
    rng = np.random.default_rng(0)
    i, u = rng.integers(0, 100, 20_000), rng.normal(size=20_000)
    (got,) = run_lowered(put, np.zeros(100), u, i, axes=(0,), mode="set")
    wanted = np.zeros(100)
    wanted[i] = u
    assert_same(got, wanted)


def test_put_last_without_an_order() -> None:
    """The form for platforms whose scatter takes updates in any order."""

    class Unordered:
        name, abstract, multiple_results, kind, free = "put", put.abstract, False, "update", False
        cost = put.cost

        @staticmethod
        def lower(b: Any, *operands: Any, **params: Any) -> Any:
            return elsewhere(put).lower(b, *operands, **params)

    for name in ("vector", "rows", "columns", "elements", "apart", "grid"):
        x_shape, axes, _ = CASES[name]
        x, u, indices = draw(F8, x_shape, 0), draw(F8, rest_of(name), 1), draw_indices(name)
        (got,) = run_lowered(Unordered, x, u, *indices, axes=axes, mode="set")
        assert_same(got, put.reference(x, u, *indices, axes=axes, mode="set"))


def test_put_casts_and_broadcasts() -> None:
    x, i = np.zeros((3, 2), "f4"), np.array([0, 2])
    got = put.reference(x, 1, i, axes=(0,), mode="set")
    assert_same(got, np.array([[1, 1], [0, 0], [1, 1]], "f4"))
    ins = aval_of((3, 2), np.dtype("f4")), int, aval_of((2,), np.dtype("i8"))
    explicit = put.explicit(ins, {"axes": (0,), "mode": "set"})
    assert explicit[1] is aval_of((2, 2), np.dtype("f4"))
    assert not x.any()


@given(
    x=hnp.arrays("f8", (5,), elements={"min_value": -9, "max_value": 9}),
    u=hnp.arrays("f8", (7,), elements={"min_value": -9, "max_value": 9}),
    i=hnp.arrays("i8", (7,), elements=st.integers(0, 4)),
    mode=st.sampled_from(MODES),
)
def test_put_drawn(x: Any, u: Any, i: Any, mode: str) -> None:
    x, u = x + 0.0, u + 0.0  # NumPy does not specify which zero wins an extremum
    (got,) = run_lowered(put, x, u, i, axes=(0,), mode=mode)
    wanted = put.reference(x, u, i, axes=(0,), mode=mode)
    np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("moving", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("mode", MODES)
def test_put_jvp(mode: str, moving: tuple[int, ...]) -> None:
    for name in ("vector", "columns", "elements", "scalar", "no index"):
        x_shape, axes, _ = CASES[name]
        x, u, indices = draw(F8, x_shape, 0), draw(F8, rest_of(name), 1), draw_indices(name)
        check_jvp(put, (x, u, *indices), moving, axes=axes, mode=mode)


def test_put_multiply_jvp_with_zeros() -> None:
    """The product of the other factors exists where a factor is zero."""
    x, u = np.array([2.0, 3.0, 0.0]), np.array([0.0, 5.0, 0.0, 0.0, 7.0])
    i = np.array([0, 0, 1, 1, 2])
    check_jvp(put, (x, u, i), (0, 1), axes=(0,), mode="multiply")


def test_put_extremum_jvp_of_ties() -> None:
    """All values that attain the extremum share the derivative."""
    x, u, i = array([1.0, 5.0]), array([1.0, 1.0, 2.0]), array([0, 0, 1])
    tangents = array([3.0, 1.0]), array([6.0, 9.0, 1.0]), None
    _, out_dot = put.jvp((x, u, i), tangents, axes=(0,), mode="maximum")
    np.testing.assert_allclose(value(out_dot), [6.0, 1.0])


@pytest.mark.parametrize("mode", ["set", "add"])
@pytest.mark.parametrize("name", CASES)
def test_put_transpose(name: str, mode: str) -> None:
    x_shape, axes, _ = CASES[name]
    x, u, indices = draw(F8, x_shape, 0), draw(F8, rest_of(name), 1), draw_indices(name)
    check_transpose(put, (x, u, *indices), (0, 1), axes=axes, mode=mode)
    check_transpose(put, (np.zeros(x_shape), u, *indices), (1,), axes=axes, mode=mode)
    check_transpose(put, (x, np.zeros_like(u), *indices), (0,), axes=axes, mode=mode)


def test_put_multiply_transpose() -> None:
    x_shape, axes, _ = CASES["columns"]
    u, indices = draw(F8, rest_of("columns"), 1), draw_indices("columns")
    check_transpose(put, (draw(F8, x_shape, 0), u, *indices), (0,), axes=axes, mode="multiply")


@pytest.mark.parametrize("name", CASES)
def test_put_batch(name: str) -> None:
    x_shape, axes, _ = CASES[name]
    x, u, indices = draw(F8, x_shape, 0), draw(F8, rest_of(name), 1), draw_indices(name)
    xs, us = draw(F8, (3, *x_shape), 3), draw(F8, (3, *u.shape), 4)
    stacked = [np.stack(columns) for columns in zip(*(draw_indices(name, s) for s in (2, 3, 4)))]
    no, yes = (False,) * len(axes), (True,) * len(axes)
    for operands, batched in (
        ((xs, u, *indices), (True, False, *no)),
        ((x, us, *indices), (False, True, *no)),
        ((xs, us, *indices), (True, True, *no)),
        ((x, u, *stacked), (False, False, *yes)),
        ((xs, us, *stacked), (True, True, *yes)),
        ((xs, u, stacked[0], *indices[1:]), (True, False, True, *no[1:])),
    ):
        check_batch(put, operands, batched, axes=axes, mode="set")
    check_batch(put, (xs, us, *stacked), (True, True, *yes), axes=axes, mode="add")


# -- masks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_put_mask(dtype: np.dtype[Any]) -> None:
    x, u, mask = draw(dtype, (4, 5), 0), draw(dtype, (4, 5), 1), draw(np.dtype("?"), (4, 5), 2)
    wanted = x.copy()
    wanted[mask] = u[mask]
    assert_same(put_mask.reference(x, mask, u), wanted)
    (got,) = run_lowered(put_mask, x, mask, u)
    assert_same(got, wanted)
    one = u[0, 0]
    wanted[mask] = one
    assert_same(put_mask.reference(x, mask, one), wanted)
    assert put_mask.inplace(x, mask, one) is x
    assert_same(x, wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(11,), (3, 4)])
def test_put_masked_values(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    x, mask = draw(dtype, shape, 0), draw(np.dtype("?"), shape, 2)
    values = draw(dtype, (int(mask.sum()),), 3)
    wanted = x.copy()
    wanted[mask] = values
    assert_same(put_masked_values.reference(x, mask, values), wanted)
    (got,) = run_lowered(put_masked_values, x, mask, values)
    assert_same(got, wanted)
    assert put_masked_values.inplace(x, mask, values) is x
    assert_same(x, wanted)


@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (4,), (1, 1)])
def test_put_masked_values_edges(shape: tuple[int, ...], fill: bool) -> None:
    x, mask = draw(F8, shape, 0), np.full(shape, fill)
    values = draw(F8, (int(mask.sum()),), 3)
    (got,) = run_lowered(put_masked_values, np.asarray(x), mask, values)
    assert_same(got, put_masked_values.reference(x, mask, values))


@given(mask=hnp.arrays("?", (11,)))
def test_put_masked_values_drawn(mask: Any) -> None:
    x, values = np.zeros(11), np.arange(1.0, 1 + mask.sum())
    (got,) = run_lowered(put_masked_values, x, mask, values)
    assert_same(got, put_masked_values.reference(x, mask, values))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(11,), (3, 4), (0,), (1, 1)])
def test_take_mask(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    x, mask = draw(dtype, shape, 0), draw(np.dtype("?"), shape, 2)
    for chosen in (mask, np.zeros_like(mask), np.ones_like(mask)):
        size = int(chosen.sum())
        assert_same(take_mask.reference(x, chosen, size=size), x[chosen])
        (got,) = run_lowered(take_mask, x, chosen, size=size)
        assert_same(got, x[chosen])


def test_mask_abstract_rejects() -> None:
    x, mask, short = aval_of((3,), F8), aval_of((3,), np.dtype("?")), aval_of((2,), np.dtype("?"))
    with pytest.raises(IndexError, match="mask of shape"):
        put_mask.abstract(x, short, x)
    with pytest.raises(ValueError, match="values of"):
        put_mask.abstract(x, mask, aval_of((), F8))
    with pytest.raises(ValueError, match="vector of"):
        put_masked_values.abstract(x, mask, aval_of((1, 1), F8))


@pytest.mark.parametrize("moving", [(0,), (2,), (0, 2)])
def test_mask_jvp_and_transpose(moving: tuple[int, ...]) -> None:
    x, u, mask = draw(F8, (3, 4), 0), draw(F8, (3, 4), 1), draw(np.dtype("?"), (3, 4), 2)
    values = draw(F8, (int(mask.sum()),), 3)
    for prim, last in ((put_mask, u), (put_masked_values, values)):
        check_jvp(prim, (x, mask, last), moving)
        zeroed = [
            v if i in (1, *moving) else np.zeros_like(v) for i, v in enumerate((x, mask, last))
        ]
        check_transpose(prim, zeroed, moving)
    check_jvp(take_mask, (x, mask), (0,), size=int(mask.sum()))
    check_transpose(take_mask, (x, mask), (0,), size=int(mask.sum()))


def test_mask_batch() -> None:
    x, mask = draw(F8, (3, 4), 0), draw(np.dtype("?"), (3, 4), 2)
    xs, us = draw(F8, (2, 3, 4), 3), draw(F8, (2, 3, 4), 4)
    masks = np.stack([mask, mask.T.reshape(3, 4)])  # as many True in each
    values, many = draw(F8, (int(mask.sum()),), 5), draw(F8, (2, int(mask.sum())), 6)
    for x_batched in (False, True):
        for mask_batched in (False, True):
            for last_batched in (False, True):
                batched = x_batched, mask_batched, last_batched
                if not any(batched):
                    continue
                first = xs if x_batched else x, masks if mask_batched else mask
                check_batch(put_mask, (*first, us if last_batched else us[0]), batched)
                last = many if last_batched else values
                check_batch(put_masked_values, (*first, last), batched)
            if x_batched or mask_batched:
                check_batch(take_mask, first, (x_batched, mask_batched), size=int(mask.sum()))
