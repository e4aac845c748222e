"""dot_general: lowered against reference for every dtype, and its rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from lazynp._avals import DEVICE_DTYPES, aval_of
from lazynp.primitives.contraction import dot_general
from tests.primitives.harness import run_lowered
from tests.primitives.rules import check_batch, check_jvp, check_transpose

DTYPES = sorted(DEVICE_DTYPES, key=lambda d: (d.kind, d.itemsize))
MATMUL = (((1,), (0,)), ((), ()))

# name: shapes of x and y, dimension numbers, the same by einsum
CASES: dict[str, tuple[Any, Any, Any, str]] = {
    "matmul": ((3, 4), (4, 2), MATMUL, "ik,kj->ij"),
    "transposed": ((4, 3), (2, 4), (((0,), (1,)), ((), ())), "ki,jk->ij"),
    "inner": ((5,), (5,), (((0,), (0,)), ((), ())), "k,k->"),
    "matvec": ((3, 4), (4,), MATMUL, "ik,k->i"),
    "vecmat": ((4,), (4, 2), (((0,), (0,)), ((), ())), "k,kj->j"),
    "outer": ((3,), (2,), (((), ()), ((), ())), "i,j->ij"),
    "batched": ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,))), "bik,bkj->bij"),
    "odd axes": ((4, 2, 3), (3, 5, 2), (((2,), (0,)), ((1,), (2,))), "ibk,kjb->bij"),
    "two contracted": ((2, 3, 4), (4, 5, 3), (((1, 2), (2, 0)), ((), ())), "imn,njm->ij"),
}  # fmt: skip


def draw(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> Any:
    """Whole range for integers (products wrap around), about one for the others."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(shape) < 0.4
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_lowered(name: str, dtype: np.dtype[Any]) -> None:
    x_shape, y_shape, numbers, subscripts = CASES[name]
    x, y = draw(dtype, x_shape, 0), draw(dtype, y_shape, 1)
    (got,) = run_lowered(dot_general, x, y, dimension_numbers=numbers)
    reference = np.asarray(dot_general.reference(x, y, dimension_numbers=numbers))
    assert got.dtype == reference.dtype == dtype and got.shape == reference.shape
    if dtype.kind in "biu":
        np.testing.assert_array_equal(got, reference)
        if dtype.kind != "b":
            np.testing.assert_array_equal(reference, np.einsum(subscripts, x, y))
    else:
        tolerance = 8 * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(got, reference, rtol=tolerance, atol=tolerance)
        wide = "c16" if dtype.kind == "c" else "f8"
        wanted = np.einsum(subscripts, x.astype(wide), y.astype(wide))
        np.testing.assert_allclose(reference, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u4", "i8", "?", "c8"])
@pytest.mark.parametrize("shapes", [((3, 0), (0, 2)), ((0, 4), (4, 2)), ((0,), (0,))])
def test_empty(shapes: Any, dtype: str) -> None:
    """An empty sum is zero."""
    x, y = (np.zeros(s, dtype) for s in shapes)
    numbers = (((x.ndim - 1,), (0,)), ((), ()))
    (got,) = run_lowered(dot_general, x, y, dimension_numbers=numbers)
    wanted = np.matmul(x, y)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    assert not got.any()


def test_many_ones_of_bool() -> None:
    """More True than any small integer counts."""
    x = np.ones((2, 1 << 9), bool)
    (got,) = run_lowered(dot_general, x, x.T, dimension_numbers=MATMUL)
    assert got.all()


def test_float16_is_summed_in_float32() -> None:
    x = np.full((1, 4096), 1.0, "f2")  # 2048 + 1 is 2048 in float16
    (got,) = run_lowered(dot_general, x, x.T, dimension_numbers=MATMUL)
    assert got[0, 0] == 4096


def test_float32_keeps_its_digits() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((64, 64), "f4"), rng.random((64, 64), "f4")
    (got,) = run_lowered(dot_general, x, y, dimension_numbers=MATMUL)
    np.testing.assert_allclose(got, x.astype("f8") @ y.astype("f8"), rtol=2e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan_and_inf(dtype: str) -> None:
    x = np.array([[np.inf, 1, 0], [np.nan, 0, 0], [1, 2, 3], [-np.inf, np.inf, 0]], dtype)
    y = np.array([[1, 0], [1, -np.inf], [2, 0]], dtype)
    (got,) = run_lowered(dot_general, x, y, dimension_numbers=MATMUL)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, x @ y)


@given(
    st.data(), st.sampled_from(["f8", "i4", "i8", "u1"]), st.sampled_from(["matmul", "odd axes"])
)
def test_drawn(data: st.DataObject, dtype: str, name: str) -> None:
    x_shape, y_shape, numbers, _ = CASES[name]
    elements = {"min_value": -1e6, "max_value": 1e6} if dtype == "f8" else {}
    x, y = (data.draw(hnp.arrays(dtype, s, elements=elements)) for s in (x_shape, y_shape))
    (got,) = run_lowered(dot_general, x, y, dimension_numbers=numbers)
    reference = dot_general.reference(x, y, dimension_numbers=numbers)
    if dtype == "f8":
        np.testing.assert_allclose(got, reference, rtol=1e-12, atol=1e-2 * 2.0**-20)
    else:
        np.testing.assert_array_equal(got, reference)


# -- abstract, explicit --------------------------------------------------------------------------


def test_abstract_rejects() -> None:
    x, y = aval_of((3, 4), np.dtype("f8")), aval_of((3, 2), np.dtype("f8"))
    with pytest.raises(ValueError, match=r"shapes \(3, 4\) and \(3, 2\) not aligned: 4 \(dim 1\)"):
        dot_general.abstract(x, y, dimension_numbers=MATMUL)
    with pytest.raises(TypeError, match="one dtype"):
        dot_general.abstract(x, aval_of((4, 2), np.dtype("f4")), dimension_numbers=MATMUL)


def test_explicit_promotes() -> None:
    ins = aval_of((3, 4), np.dtype("i4")), aval_of((4, 2), np.dtype("f4"))
    explicit = dot_general.explicit(ins, {"dimension_numbers": MATMUL})
    assert explicit == (aval_of((3, 4), np.dtype("f8")), aval_of((4, 2), np.dtype("f8")))


# -- rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("moving", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", CASES)
def test_jvp(name: str, moving: tuple[int, ...]) -> None:
    x_shape, y_shape, numbers, _ = CASES[name]
    dtype = np.dtype("c16" if name == "batched" else "f8")
    operands = draw(dtype, x_shape, 0), draw(dtype, y_shape, 1)
    check_jvp(dot_general, operands, moving, dimension_numbers=numbers)


@pytest.mark.parametrize("linear", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_transpose(name: str, linear: int) -> None:
    x_shape, y_shape, numbers, _ = CASES[name]
    dtype = np.dtype("c16" if name == "batched" else "f8")
    operands = draw(dtype, x_shape, 0), draw(dtype, y_shape, 1)
    check_transpose(dot_general, operands, (linear,), dimension_numbers=numbers)


@pytest.mark.parametrize("batched", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("name", CASES)
def test_batch(name: str, batched: tuple[bool, bool]) -> None:
    x_shape, y_shape, numbers, _ = CASES[name]
    x = draw(np.dtype("f8"), (3, *x_shape) if batched[0] else x_shape, 0)
    y = draw(np.dtype("f8"), (3, *y_shape) if batched[1] else y_shape, 1)
    check_batch(dot_general, (x, y), batched, dimension_numbers=numbers)


def test_the_reference_sums_axes_as_they_lie_in_memory() -> None:
    """Windows of a picture: the innermost axis of the memory is innermost in the sum, as it is
    where `np.tensordot` is given the axes in this order. So the results have the same bits.
    """
    rng = np.random.default_rng(0)
    picture, filters = rng.random((20, 21, 3)), rng.random((5, 4, 3, 7))
    windows = np.lib.stride_tricks.sliding_window_view(picture, (5, 4), axis=(0, 1))
    numbers = (((2, 3, 4), (2, 0, 1)), ((), ()))
    got = dot_general.reference(windows, filters, dimension_numbers=numbers)
    wanted = np.tensordot(windows, filters, axes=((3, 4, 2), (0, 1, 2)))
    np.testing.assert_array_equal(got, wanted)
