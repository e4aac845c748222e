"""Reductions and cumulative operations: lowered against reference, accuracy, nan, rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.exceptions import AxisError

from lazynp._avals import DEVICE_DTYPES, aval_of
from lazynp._primitive import Undefined
from lazynp.primitives import reduction
from tests.primitives.harness import elsewhere, run_lowered
from tests.primitives.rules import array, check_batch, check_jvp, check_transpose, value

DTYPES = sorted(DEVICE_DTYPES, key=lambda d: (d.kind, d.itemsize))
INEXACT = [d for d in DTYPES if d.kind in "fc"]
EXACT = [d for d in DTYPES if d.kind in "biu"]

SUMS = [reduction.reduce_sum, reduction.reduce_prod]
EXTREMA = [reduction.reduce_max, reduction.reduce_min]
BITWISE = [reduction.reduce_and, reduction.reduce_or, reduction.reduce_xor]
ARGS = [reduction.argmax, reduction.argmin]
SCANS = [reduction.cumsum, reduction.cumprod, reduction.cummax, reduction.cummin]

AXES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((7,), (0,)),
    ((3, 4, 5), (1,)),
    ((3, 4, 5), (0, 2)),
    ((3, 4, 5), (0, 1, 2)),
    ((3, 4), ()),
    ((), ()),
    ((0, 3), (1,)),
    ((3, 1), (1,)),
]
NEEDS_IDENTITY = [((0, 3), (0,)), ((2, 0, 3), (0, 1)), ((0,), (0,))]


def draw(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> Any:
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.asarray(rng.integers(info.min, info.max, shape, dtype, endpoint=True))
    x = rng.normal(size=shape)
    return np.asarray((x + 1j * rng.normal(size=shape) if dtype.kind == "c" else x).astype(dtype))


def compare(prim: Any, x: Any, ulps: float = 0, **params: Any) -> Any:
    (got,) = run_lowered(prim, x, **params)
    with np.errstate(all="ignore"):
        ref = np.asarray(prim.reference(x, **params))
    assert (got.dtype, got.shape) == (ref.dtype, ref.shape)
    if ulps and x.dtype.kind in "fc" and ref.size:
        eps = float(np.finfo(x.dtype).eps)
        scale = max(1.0, float(np.abs(ref).max()))
        np.testing.assert_allclose(got, ref, rtol=ulps * eps, atol=ulps * eps * scale)
    else:
        np.testing.assert_array_equal(got, ref)
    return got


# -- lowered against reference -----------------------------------------------------------------


@pytest.mark.parametrize("prim", [*SUMS, *EXTREMA], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions(prim: Any, dtype: np.dtype[Any]) -> None:
    for shape, axes in AXES:
        compare(prim, draw(dtype, shape), ulps=0 if prim in EXTREMA else 8, axes=axes)


@pytest.mark.parametrize("prim", BITWISE, ids=str)
@pytest.mark.parametrize("dtype", EXACT, ids=str)
def test_bitwise(prim: Any, dtype: np.dtype[Any]) -> None:
    for shape, axes in AXES[:4] + NEEDS_IDENTITY[:1]:
        compare(prim, draw(dtype, shape), axes=axes)


@pytest.mark.parametrize("prim", [*SUMS, *BITWISE], ids=str)
def test_identity_of_empty(prim: Any) -> None:
    for shape, axes in NEEDS_IDENTITY:
        compare(prim, np.zeros(shape, "i4"), axes=axes)


@pytest.mark.parametrize("prim", ARGS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_args(prim: Any, dtype: np.dtype[Any]) -> None:
    for shape, axis in [((7,), 0), ((3, 4, 5), 1), ((6, 2), 0), ((0, 3), 1), ((70000,), 0)]:
        x = draw(dtype, shape)
        if x.ndim == 2:
            x = x.round() if dtype.kind in "fc" else x // 100 if dtype.kind != "b" else x
        compare(prim, x, axis=axis)


@pytest.mark.parametrize("prim", SCANS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scans(prim: Any, dtype: np.dtype[Any]) -> None:
    """Bit for bit, float16 included; products of complex numbers are rounded otherwise."""
    ulps = 8 if prim is reduction.cumprod and dtype.kind == "c" else 0
    for shape, axis in [((40,), 0), ((3, 9, 2), 1), ((4, 6), 1), ((0, 3), 0), ((1,), 0)]:
        compare(prim, draw(dtype, shape), ulps=ulps, axis=axis)


# -- nan, ties, infinities ---------------------------------------------------------------------

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.0, -1.0]


@given(st.lists(st.sampled_from(SPECIAL), min_size=6, max_size=6), st.sampled_from(["f2", "f8"]))
def test_special_values(values: list[float], dtype: str) -> None:
    x = np.array(values, dtype)
    for prim in EXTREMA:
        compare(prim, x, axes=(0,))
    for prim in ARGS:
        compare(prim, x, axis=0)
    for prim in [reduction.cummax, reduction.cummin]:
        got = compare(prim, x, axis=0)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(prim.reference(x, axis=0)))


PARTS = st.sampled_from([np.nan, np.inf, 0.0, 1.0, 2.0])


@given(st.lists(st.tuples(PARTS, PARTS), min_size=4, max_size=4))
def test_special_complex_values(pairs: list[tuple[float, float]]) -> None:
    x = np.array([complex(*p) for p in pairs])
    for prim in ARGS:
        compare(prim, x, axis=0)
    for prim in EXTREMA:
        compare(prim, x, axes=(0,))
    for prim in [reduction.cummax, reduction.cummin]:
        compare(prim, x, axis=0)


@pytest.mark.parametrize("place", [0, 3, 50_000, 99_998, 99_999])
@pytest.mark.parametrize("dtype", INEXACT, ids=str)
def test_one_nan_among_many(dtype: np.dtype[Any], place: int) -> None:
    x = draw(dtype, (100_000,))
    x[place] = np.nan if dtype.kind == "f" else complex(0, np.nan)
    for prim in EXTREMA:
        assert np.isnan(run_lowered(prim, x, axes=(0,))[0])
        rows = x.reshape(100, 1000)
        for axis in (0, 1):
            compare(prim, rows, axes=(axis,))
    for prim in ARGS:
        assert run_lowered(prim, x, axis=0)[0] == place


@pytest.mark.parametrize("prim", EXTREMA, ids=str)
def test_all_nan_and_infinite(prim: Any) -> None:
    for fill in (np.nan, np.inf, -np.inf):
        compare(prim, np.full(100_000, fill), axes=(0,))


def test_first_of_ties_wins() -> None:
    for dtype in ("?", "i8", "u1", "f4", "c16"):
        x = np.zeros(100_000, dtype)
        assert run_lowered(reduction.argmax, x, axis=0)[0] == 0
        x[[777, 5000]] = 1
        assert run_lowered(reduction.argmax, x, axis=0)[0] == 777
        assert run_lowered(reduction.argmin, x, axis=0)[0] == 0


# -- accuracy ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape, axes", [((100_000,), (0,)), ((300, 400), (0,)),
                                         ((300, 400), (1,)), ((300, 400), (0, 1))])  # fmt: skip
def test_sums_are_as_good_as_pairwise(dtype: str, shape: Any, axes: Any) -> None:
    for x in (draw(dtype, shape) + 2, np.full(shape, 0.1, dtype)):
        x = (x / 1024).astype(dtype) if dtype == "f2" else x
        exact = np.add.reduce(x, axis=axes, dtype="G" if x.dtype.kind == "c" else "g")
        (got,) = run_lowered(reduction.reduce_sum, x, axes=axes)
        ref = np.add.reduce(x, axis=axes, dtype=dtype)
        eps = float(np.finfo(dtype).eps)
        error, yardstick = (float(np.max(np.abs(v - exact) / np.abs(exact))) for v in (got, ref))
        assert error <= max(yardstick, 8 * eps)


def test_float16_sums_overflow_only_at_the_end() -> None:
    x = np.array([6e4, 6e4, -6e4, -6e4], "f2")
    assert run_lowered(reduction.reduce_sum, x, axes=(0,))[0] == 0


def test_long_scans_are_bit_identical() -> None:
    for dtype in ("f4", "f8", "f2"):
        compare(reduction.cumsum, draw(dtype, (20_000,)), axis=0)
    rows = draw("f8", (300, 200))
    for axis in (0, 1):
        compare(reduction.cumsum, rows, axis=axis)
        compare(reduction.cummax, rows, axis=axis)


def test_scan_keeps_the_first_element() -> None:
    """Not 0 + x, which would lose -0.0, nor 1 * x, which would turn a complex inf into nan."""
    x = np.array([-0.0, -0.0, 1.0])
    assert np.signbit(run_lowered(reduction.cumsum, x, axis=0)[0][:2]).all()
    compare(reduction.cumprod, np.array([complex(np.inf, 1), 1]), ulps=1, axis=0)


@pytest.mark.parametrize("backwards", [False, True])
def test_linear_recurrence(backwards: bool) -> None:
    prim, params = reduction.linear_recurrence, {"axis": 1, "backwards": backwards}
    a, x = draw("f8", (3, 5, 2)), draw("f8", (3, 5, 2), 1)
    (got,) = run_lowered(prim, a, x, **params)
    np.testing.assert_array_equal(got, prim.reference(a, x, **params))
    check_transpose(prim, [a, x], [1], **params)
    for moving in ([0], [1], [0, 1]):
        check_jvp(prim, [a, x], moving, **params)
        rows = [draw("f8", (4, 3, 5, 2), i) if i in moving else v for i, v in enumerate((a, x))]
        check_batch(prim, rows, [i in moving for i in range(2)], **params)


@pytest.mark.parametrize("prim", SCANS, ids=str)
def test_scans_elsewhere(prim: Any) -> None:
    for dtype in ("i4", "f8", "c16", "?"):
        for shape, axis in [((37,), 0), ((3, 8), 1)]:
            compare(elsewhere(prim), draw(dtype, shape), ulps=64, axis=axis)
    x = np.array([-0.0, -0.0, np.inf, -np.inf, 1, np.nan, 2])
    compare(elsewhere(prim), x, axis=0)


@pytest.mark.parametrize("backwards", [False, True])
def test_linear_recurrence_elsewhere(backwards: bool) -> None:
    prim, params = reduction.linear_recurrence, {"axis": 1, "backwards": backwards}
    a, x = draw("f8", (3, 13)), draw("f8", (3, 13), 1)
    (got,) = run_lowered(elsewhere(prim), a, x, **params)
    np.testing.assert_allclose(got, prim.reference(a, x, **params), rtol=1e-12, atol=1e-12)


# -- rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("prim", [*SUMS, *EXTREMA], ids=str)
def test_reduction_rules(prim: Any, dtype: str) -> None:
    for shape, axes in AXES[:6]:
        check_jvp(prim, [draw(dtype, shape)], [0], tolerance=1e-6, axes=axes)
        check_batch(prim, [draw(dtype, (3, *shape))], [True], axes=axes)
        if prim is reduction.reduce_sum:
            check_transpose(prim, [draw(dtype, shape)], [0], axes=axes)


@pytest.mark.parametrize("prim", SCANS, ids=str)
def test_scan_rules(prim: Any) -> None:
    for shape, axis in [((6,), 0), ((3, 4, 2), 1), ((2, 5), 1)]:
        check_jvp(prim, [draw("f8", shape)], [0], axis=axis)
        check_batch(prim, [draw("f8", (3, *shape))], [True], axis=axis)
        if prim is reduction.cumsum:
            check_transpose(prim, [draw("f8", shape)], [0], axis=axis)


@pytest.mark.parametrize("zeros", [[], [1], [0, 3], [0, 1, 2, 3]])
def test_products_with_zeros(zeros: list[int]) -> None:
    x = np.arange(1.0, 5.0)
    x[zeros] = 0
    check_jvp(reduction.reduce_prod, [x], [0], axes=(0,))
    check_jvp(reduction.reduce_prod, [x.reshape(2, 2)], [0], axes=(1, 0)[::-1])
    check_jvp(reduction.cumprod, [x], [0], axis=0)


def test_ties_share_the_tangent() -> None:
    x, dx = array(np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])), array(np.arange(6.0).reshape(2, 3))
    _, tangent = reduction.reduce_max.jvp((x,), (dx,), axes=(1,))
    np.testing.assert_allclose(value(tangent), [1.5, 4.0])


def test_running_extrema_share_the_tangent_of_ties() -> None:
    x, dx = np.array([1.0, 1.0, 3.0, 2.0, 3.0, np.nan, 5.0]), np.arange(1.0, 8.0)
    _, tangent = reduction.cummax.jvp((array(x),), (array(dx),), axis=0)
    np.testing.assert_array_equal(value(tangent), [1, 1.5, 3, 3, 4, 6, 6])
    _, tangent = reduction.cummin.jvp((array(-x),), (array(dx),), axis=0)
    np.testing.assert_array_equal(value(tangent), [1, 1.5, 3, 3, 4, 6, 6])


def test_arg_rules() -> None:
    for prim in ARGS:
        check_batch(prim, [draw("f8", (3, 4, 5))], [True], axis=1)
        assert prim.jvp((array(np.ones(3)),), (array(np.ones(3)),), axis=0)[1] is None


def test_no_tangent_means_none() -> None:
    x = array(np.ones((2, 2)))
    for prim in [*SUMS, *EXTREMA]:
        assert prim.jvp((x,), (None,), axes=(0,))[1] is None
    for prim in SCANS:
        assert prim.jvp((x,), (None,), axis=0)[1] is None


def test_linear_recurrence_is_linear_in_one_operand() -> None:
    aval = aval_of((3,), "f8")
    with pytest.raises(TypeError, match="second operand"):
        reduction.linear_recurrence.transpose(
            array(np.ones(3)), Undefined(aval), array(np.ones(3)), axis=0, backwards=False
        )


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("prim", EXTREMA, ids=str)
def test_no_identity(prim: Any) -> None:
    name = {"reduce_max": "maximum", "reduce_min": "minimum"}[prim.name]
    message = f"zero-size array to reduction operation {name} which has no identity"
    for shape, axes in [*NEEDS_IDENTITY, ((0, 0), (1,))]:
        with pytest.raises(ValueError, match=message):
            prim.abstract(aval_of(shape, "f8"), axes=axes)
        with pytest.raises(ValueError, match=message):
            prim.reference(np.zeros(shape), axes=axes)


@pytest.mark.parametrize("prim", ARGS, ids=str)
def test_no_place(prim: Any) -> None:
    for shape, axis in [((0,), 0), ((0, 3), 0), ((0, 0), 1)]:
        with pytest.raises(ValueError, match=f"attempt to get {prim.name} of an empty sequence"):
            prim.abstract(aval_of(shape, "f8"), axis=axis)


def test_bad_axes() -> None:
    aval = aval_of((2, 3), "f8")
    with pytest.raises(AxisError, match="axis 2 is out of bounds for array of dimension 2"):
        reduction.reduce_sum.abstract(aval, axes=(2,))
    with pytest.raises(AxisError):
        reduction.cumsum.abstract(aval, axis=2)
    with pytest.raises(ValueError, match="duplicate"):
        reduction.reduce_max.abstract(aval, axes=(1, 1))
