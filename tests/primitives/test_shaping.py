"""The structural primitives: lowered against reference for every dtype, and their rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.exceptions import AxisError

from lazynp import _reference
from lazynp._avals import DEVICE_DTYPES, aval_of
from lazynp._node import ARGS, VALUE, leaf, op_of
from lazynp.primitives import shaping
from tests.primitives.harness import Static, lowered_text, run_lowered
from tests.primitives.rules import array, check_batch, check_jvp, check_transpose, value

DTYPES = sorted(DEVICE_DTYPES, key=lambda d: (d.kind, d.itemsize))
FLOATS = [np.dtype("f8"), np.dtype("c16")]


def draw(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> Any:
    """Random bits of the whole range for integers, normal numbers for the others."""
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.asarray(rng.integers(info.min, info.max, shape, dtype, endpoint=True))
    x = rng.normal(size=shape)
    return np.asarray((x + 1j * rng.normal(size=shape) if dtype.kind == "c" else x).astype(dtype))


def check(prim: Any, *operands: Any, **params: Any) -> Any:
    """Lowered, reference and abstract agree to the last bit."""
    (got,) = run_lowered(prim, *operands, **params)
    raw = [x.value if isinstance(x, Static) else x for x in operands]
    ref = np.asarray(prim.reference(*raw, **params))
    assert (got.dtype, got.shape) == (ref.dtype, ref.shape)
    np.testing.assert_array_equal(got, ref)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(ref))
    return got


# -- one operand, plain parameters -------------------------------------------------------------

# name: primitive, shapes of the operands, parameters
CASES: dict[str, tuple[Any, list[tuple[int, ...]], dict[str, Any]]] = {
    "broadcast rows": (shaping.broadcast_in_dim, [(3,)], {"shape": (2, 3), "dims": (1,)}),
    "broadcast ones": (shaping.broadcast_in_dim, [(2, 1)], {"shape": (2, 4, 3), "dims": (0, 2)}),
    "broadcast 0-d": (shaping.broadcast_in_dim, [()], {"shape": (2, 2), "dims": ()}),
    "broadcast to empty": (shaping.broadcast_in_dim, [(1,)], {"shape": (0, 3), "dims": (1,)}),
    "reshape": (shaping.reshape, [(4, 3)], {"shape": (2, 6)}),
    "reshape to 0-d": (shaping.reshape, [(1, 1)], {"shape": ()}),
    "reshape empty": (shaping.reshape, [(0, 3)], {"shape": (5, 0)}),
    "transpose": (shaping.transpose, [(2, 3, 4)], {"permutation": (2, 0, 1)}),
    "reverse": (shaping.reverse, [(3, 4)], {"axes": (1,)}),
    "reverse all": (shaping.reverse, [(3, 4)], {"axes": (0, 1)}),
    "concatenate": (shaping.concatenate, [(2, 3), (2, 0), (2, 1)], {"axis": 1}),
    "concatenate empties": (shaping.concatenate, [(0, 2), (0, 2)], {"axis": 0}),
    "concatenate one": (shaping.concatenate, [(2, 2)], {"axis": 0}),
    "stack": (shaping.stack, [(), (), ()], {}),
    "stack one": (shaping.stack, [()], {}),
    "pad": (
        shaping.pad, [(2, 3), ()], {"low": (1, 0), "high": (0, 2), "interior": (2, 0)},
    ),
    "pad negative": (
        shaping.pad, [(4, 5), ()], {"low": (-1, 2), "high": (1, -3), "interior": (0, 1)},
    ),
    "pad empty": (
        shaping.pad, [(0, 2), ()], {"low": (2, 0), "high": (1, 1), "interior": (0, 3)},
    ),
    "pad 0-d": (shaping.pad, [(), ()], {"low": (), "high": (), "interior": ()}),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_lowered(name: str, dtype: np.dtype[Any]) -> None:
    prim, shapes, params = CASES[name]
    check(prim, *[draw(dtype, s, i) for i, s in enumerate(shapes)], **params)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_rules(name: str, dtype: np.dtype[Any]) -> None:
    prim, shapes, params = CASES[name]
    operands = [draw(dtype, s, i) for i, s in enumerate(shapes)]
    every = tuple(range(len(operands)))
    check_transpose(prim, operands, every, **params)
    for some in {every, every[:1], every[-1:]}:
        check_jvp(prim, operands, some, **params)
        batched = [i in some for i in every]
        rows = [draw(dtype, (3, *s) if b else s) for s, b in zip(shapes, batched, strict=True)]
        check_batch(prim, rows, batched, **params)


# -- full, iota --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_full(dtype: np.dtype[Any]) -> None:
    check(shaping.full, draw(dtype, ()), shape=(2, 3), dtype=dtype)
    check(shaping.full, Static(draw(dtype, ())[()]), shape=(3,), dtype=dtype)
    check(shaping.full, draw(dtype, ()), shape=(0,), dtype=dtype)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_full_special(dtype: str, special: float) -> None:
    check(shaping.full, Static(np.dtype(dtype).type(special)), shape=(2,), dtype=np.dtype(dtype))


def test_full_rules() -> None:
    params = {"shape": (2, 3), "dtype": np.dtype("f8")}
    check_transpose(shaping.full, [np.array(1.5)], [0], **params)
    check_jvp(shaping.full, [np.array(1.5)], [0], **params)
    check_batch(shaping.full, [np.array([1.5, 2.5])], [True], **params)
    assert shaping.full.explicit is not None
    assert shaping.full.explicit((int,), params) == (aval_of((), "f8"),)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_iota(dtype: np.dtype[Any]) -> None:
    check(shaping.iota, shape=(300, 2), axis=0, dtype=dtype)
    check(shaping.iota, shape=(2, 0), axis=1, dtype=dtype)


def test_iota_of_float16_rounds_as_a_cast() -> None:
    check(shaping.iota, shape=(5000,), axis=0, dtype=np.dtype("f2"))


# -- constant ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_constant(dtype: np.dtype[Any]) -> None:
    for shape in ((2, 3), (0, 3), ()):
        check(shaping.constant, array=shaping.Constant(draw(dtype, shape)))


def test_constant_rules() -> None:
    array = shaping.Constant(np.arange(6.0).reshape(2, 3))
    assert {array: 1}[shaping.Constant(array.value)] == 1
    assert array != shaping.Constant(array.value.T) and array != array.value
    out, tangent = shaping.constant.jvp((), (), array=array)
    assert tangent is None and out.tolist() == array.value.tolist()
    rows = shaping.constant.batch(2, (), array=array)
    assert rows.tolist() == [array.value.tolist()] * 2
    shaping.constant.reference(array=array)[0] = 7.0  # the program that runs may write there
    assert out.tolist() == array.value.tolist()


# -- bitcast -----------------------------------------------------------------------------------


@pytest.mark.parametrize("new", DTYPES, ids=str)
@pytest.mark.parametrize("old", DTYPES, ids=str)
def test_bitcast(old: np.dtype[Any], new: np.dtype[Any]) -> None:
    x = draw(old, (2, 16))
    if new.kind == "b":  # NumPy keeps any byte in a bool: those would not compare
        x = (draw("?", x.view("u1").shape).view("u1")).view(old)
    shape = (2, 16 * old.itemsize // new.itemsize)
    (got,) = run_lowered(shaping.bitcast, x, dtype=new, shape=shape)
    ref = shaping.bitcast.reference(x, dtype=new, shape=shape)
    assert got.dtype == new and got.shape == shape
    np.testing.assert_array_equal(got.view("u1"), ref.view("u1"))


def test_bitcast_edges() -> None:
    f4 = np.dtype("f4")
    assert run_lowered(shaping.bitcast, np.zeros((3, 0)), dtype=f4, shape=(3, 0))[0].shape == (3, 0)
    check(shaping.bitcast, np.array(1.5), dtype=np.dtype("u8"), shape=())
    with pytest.raises(ValueError, match="bytes"):
        shaping.bitcast.abstract(aval_of((3,), "f8"), dtype=f4, shape=(3,))


@pytest.mark.parametrize("old, new", [("c16", "f8"), ("f8", "c16"), ("f8", "f8"), ("c8", "c8")])
def test_bitcast_rules(old: str, new: str) -> None:
    x, new_dtype = draw(old, (3, 4)), np.dtype(new)
    params = {"dtype": new_dtype, "shape": (3, 4 * x.dtype.itemsize // new_dtype.itemsize)}
    check_batch(shaping.bitcast, [draw(old, (2, 3, 4))], [True], **params)
    if x.dtype.itemsize >= 8 and old != "c8":
        check_jvp(shaping.bitcast, [x], [0], **params)


def test_bitcast_without_a_derivative() -> None:
    x, t = array(np.ones(2)), array(np.ones(2))
    assert shaping.bitcast.jvp((x,), (t,), dtype=np.dtype("i8"), shape=(2,))[1] is None
    with pytest.raises(TypeError, match="no derivative"):
        shaping.bitcast.jvp((x,), (t,), dtype=np.dtype("f4"), shape=(4,))


# -- slice and update_slice --------------------------------------------------------------------

Index = tuple[Any, ...]

# shape of x, the index as NumPy writes it
INDICES: dict[str, tuple[tuple[int, ...], Index]] = {
    "row": ((4, 5), (2,)),
    "element": ((4, 5), (3, 0)),
    "rows": ((4, 5), (slice(1, 3),)),
    "inside": ((4, 5), (slice(1, -1), slice(1, -1))),
    "strided": ((4, 7), (slice(None), slice(1, None, 3))),
    "backwards": ((4, 5), (slice(None, None, -1),)),
    "backwards, strided": ((9, 4), (slice(7, 0, -3), slice(None, None, -1))),
    "newaxis": ((4, 5), (None, slice(1, 2), None, 3)),
    "empty": ((4, 5), (slice(2, 2), 1)),
    "empty, backwards": ((4, 5), (slice(0, 3, -1),)),
    "empty, before the first": ((1, 5), (slice(-3, None, -40),)),
    "of empty": ((0, 3), (slice(None), slice(1, None))),
    "one, large step": ((4, 5), (slice(1, 2, 50), slice(3, 0, -7))),
    "all": ((4, 5), (slice(None), slice(None))),
    "3-d": ((3, 4, 6), (slice(2, 0, -1), 1, slice(0, None, 2))),
    "0-d": ((), ()),
    "0-d, newaxis": ((), (None,)),
    "1-d": ((6,), (slice(4, 1, -1),)),
}  # fmt: skip


def spec(shape: tuple[int, ...], index: Index) -> tuple[list[int], dict[str, Any]]:
    """Starts and parameters for an index of integers, slices and None."""
    axes, starts, sizes, strides, result, axis = [], [], [], [], [], 0
    for item in index:
        if item is None:
            result.append(1)
            continue
        if isinstance(item, slice):
            start, stop, stride = item.indices(shape[axis])
            size = len(range(start, stop, stride))
            result.append(size)
        else:
            start, size, stride = item, 1, 1
        if not (isinstance(item, slice) and item == slice(None)):
            axes.append(axis)
            starts.append(start)
            sizes.append(size)
            strides.append(stride)
        axis += 1
    params = {
        "axes": tuple(axes), "sizes": tuple(sizes), "strides": tuple(strides),
        "shape": (*result, *shape[axis:]),
    }  # fmt: skip
    return starts, params


# every index in one dtype of each kind, two indices in every dtype
SLICES = [
    (name, d) for name in INDICES for d in DTYPES if d.char in "?fDB" or name in ("3-d", "inside")
]


@pytest.mark.parametrize("static", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("name, dtype", SLICES, ids=str)
def test_slice(name: str, dtype: np.dtype[Any], static: bool) -> None:
    shape, index = INDICES[name]
    starts, params = spec(shape, index)
    operands = [Static(s) if static else np.int64(s) for s in starts]
    x = draw(dtype, shape)
    np.testing.assert_array_equal(check(shaping.slice, x, *operands, **params), x[index])
    u = draw(dtype, params["shape"], 1)
    wanted = x.copy()
    wanted[index] = u
    np.testing.assert_array_equal(check(shaping.update_slice, x, u, *operands, **params), wanted)


@given(st.data(), st.sampled_from([((4,), (3,)), ((2, -3), (3, 2)), ((-1, 2), (4, 1))]))
def test_dynamic_starts(data: st.DataObject, how: Any) -> None:
    """One program for every start."""
    strides, sizes = how
    shape = (9, 7)[: len(strides)] if len(strides) == 2 else (11,)
    starts = []
    for n, size, stride in zip(shape, sizes, strides, strict=True):
        reach = (size - 1) * stride
        starts.append(data.draw(st.integers(max(0, -reach), n - 1 - max(0, reach))))
    params = {
        "axes": tuple(range(len(shape))), "sizes": sizes, "strides": strides, "shape": sizes,
    }  # fmt: skip
    operands = [np.int64(s) for s in starts]
    x = draw("f8", shape)
    index = shaping.index_of(len(shape), tuple(starts), params["axes"], sizes, strides)
    np.testing.assert_array_equal(check(shaping.slice, x, *operands, **params), x[index])
    check(shaping.update_slice, x, draw("f8", sizes, 1), *operands, **params)


# the shape of x, the index, whether the starts are constants, the case, a word of its StableHLO
LARGE = (400, 400)
UPDATE_CASES: list[tuple[tuple[int, ...], Index, bool, str, str]] = [
    ((8, 8), (slice(1, -1), slice(1, -1)), True, "dus", "dynamic_update_slice"),
    (LARGE, (slice(1, -1), slice(1, -1)), True, "select", "stablehlo.pad"),
    (LARGE, (slice(1, -1), slice(1, -1)), False, "dus", "dynamic_update_slice"),
    (LARGE, (3,), True, "dus", "dynamic_update_slice"),
    (LARGE, (slice(None), slice(None)), True, "whole", "return"),
    (LARGE, (slice(None, None, -1),), True, "whole", "reverse"),
    (LARGE, (slice(0, 0),), True, "none", "return"),
    (LARGE, (slice(1, None, 2), slice(None, None, -2)), True, "select", "stablehlo.pad"),
    (LARGE, (slice(2, None, 2), slice(1, None, 3)), False, "box", "dynamic_slice"),
    (LARGE, (7, slice(None, None, 2)), True, "box", "dynamic_update_slice"),
    ((160000,), (slice(None, None, 401),), True, "scatter", "scatter"),
    ((160000,), (slice(399, None, 399),), False, "scatter", "scatter"),
    ((9, 9), (slice(8, None, -3), slice(1, None, 2)), True, "select", "select"),
]


@pytest.mark.parametrize("shape, index, static, case, word", UPDATE_CASES)
def test_update_cases(
    shape: tuple[int, ...], index: Index, static: bool, case: str, word: str
) -> None:
    starts, params = spec(shape, index)
    x, u = draw("f8", shape), draw("f8", params["shape"], 1)
    assert shaping.update_case(aval_of(shape, "f8"), static=static, **params) == case
    operands = [Static(s) if static else np.int64(s) for s in starts]
    assert word in lowered_text(shaping.update_slice, x, u, *operands, **params)
    check(shaping.update_slice, x, u, *operands, **params)


def test_update_that_does_not_read_its_target_stays_in_place() -> None:
    _, params = spec(LARGE, (slice(1, -1), slice(1, -1)))
    aval = aval_of(LARGE, "f8")
    assert shaping.update_case(aval, static=True, reads_target=False, **params) == "dus"


def test_write_slice_writes_in_place() -> None:
    starts, params = spec((4, 5), (slice(None, None, -2), 3))
    x = draw("f8", (4, 5))
    wanted = x.copy()
    wanted[::-2, 3] = 7
    assert shaping.write_slice(x, 7, *starts, **params) is x
    np.testing.assert_array_equal(x, wanted)


BATCHED_STARTS = {  # shape of x, axes, sizes, strides, starts along each axis, shape of one slice
    "row": ((5, 4), (0,), (1,), (1,), [[0, 4, 2]], (4,)),
    "window": ((7, 4), (0,), (3,), (1,), [[0, 4, 2]], (3, 4)),
    "strided": ((7, 8), (0, 1), (2, 3), (3, -2), [[0, 3, 1], [4, 7, 5]], (2, 3)),
    "two axes of starts": ((5, 4), (1,), (2,), (1,), [[[0, 2], [1, 1]]], (5, 2)),
    "empty": ((5, 4), (0,), (0,), (1,), [[0, 2]], (0, 4)),
}  # fmt: skip


def _batched_starts(name: str) -> tuple[Any, list[Any], dict[str, Any]]:
    shape, axes, sizes, strides, starts, one = BATCHED_STARTS[name]
    params = {"axes": axes, "sizes": sizes, "strides": strides, "shape": one}
    return draw("f8", shape), [np.array(s) for s in starts], params


ONE_SLICE = {  # shape of x, axes, sizes, strides, starts, shape of the slice
    "row": ((5, 4), (0,), (1,), (1,), [2], (4,)),
    "inner": ((5, 6), (0, 1), (3, 4), (1, 1), [1, 1], (3, 4)),
    "strided": ((7, 8), (0, 1), (2, 3), (3, -2), [1, 7], (2, 3)),
    "with a new axis": ((5, 4), (1,), (2,), (1,), [1], (5, 1, 2)),
    "whole": ((3,), (), (), (), [], (3,)),
    "element": ((5, 4), (0, 1), (1, 1), (1, 1), [2, 3], ()),
    "empty": ((5, 4), (0,), (0,), (1,), [0], (0, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_SLICE)
def test_adding_to_one_slice(name: str) -> None:
    shape, axes, sizes, strides, starts, one = ONE_SLICE[name]
    params = {"axes": axes, "sizes": sizes, "strides": strides, "shape": one}
    x, u = draw("f8", shape), draw("f8", one, 1)
    index = shaping.index_of(x.ndim, tuple(starts), axes, sizes, strides)
    want = x.copy()
    want[index] += u.reshape(want[index].shape)
    start_leaves = [np.int64(s) for s in starts]
    (added,) = run_lowered(shaping.add_slice, x, u, *start_leaves, **params)
    np.testing.assert_array_equal(added, want)
    np.testing.assert_array_equal(shaping.add_slice.reference(x, u, *starts, **params), want)
    check_transpose(shaping.add_slice, [x, u, *start_leaves], [0, 1], **params)
    still = [False] * len(starts)
    xs, us = draw("f8", (2, *shape)), draw("f8", (2, *one), 1)
    check_batch(shaping.add_slice, [xs, us, *start_leaves], [True, True, *still], **params)

    ins = aval_of(shape, x.dtype), aval_of(one, u.dtype), *[int for _ in starts]
    op = op_of(shaping.add_slice, params, ins)
    assert op.reuses and op.primitive.adds
    again = x.copy()
    before = id(again)
    for k in range(1, 4):  # each sum is made in the memory of the one before
        node = [op, (leaf(again), leaf(k * u), *starts), None, None, 0]
        del again
        _reference.run([node], node)
        again = node[VALUE]
        assert id(again) == before and node[ARGS] is None
    want = x.copy()
    want[index] += (6 * u).reshape(want[index].shape)
    np.testing.assert_allclose(again, want, rtol=1e-14)


@pytest.mark.parametrize("name", BATCHED_STARTS)
def test_many_slices(name: str) -> None:
    x, starts, params = _batched_starts(name)
    got = check(shaping.slice, x, *starts, **params)
    u = draw("f8", got.shape, 1)
    (added,) = run_lowered(shaping.add_slice, x, u, *starts, **params)
    np.testing.assert_allclose(added, shaping.add_slice.reference(x, u, *starts, **params))
    check_transpose(shaping.slice, [x, *starts], [0], **params)
    check_transpose(shaping.add_slice, [x, u, *starts], [0, 1], **params)
    check_batch(shaping.slice, [x, *starts], [False] + [True] * len(starts), **params)
    xs = draw("f8", (2, *x.shape))
    check_batch(shaping.slice, [xs, *starts], [True] + [False] * len(starts), **params)
    both = [np.stack([s, s[::-1]]) for s in starts]
    check_batch(shaping.slice, [xs, *both], [True] * (1 + len(starts)), **params)
    us = draw("f8", (2, *got.shape), 1)
    still = [False] * len(starts)
    check_batch(shaping.add_slice, [x, us, *starts], [False, True, *still], **params)
    check_batch(shaping.add_slice, [xs, us, *both], [True] * (2 + len(starts)), **params)


@pytest.mark.parametrize("name", ["row", "inside", "backwards, strided", "newaxis", "3-d", "all"])
def test_slice_rules(name: str) -> None:
    shape, index = INDICES[name]
    starts, params = spec(shape, index)
    fixed = [np.int64(s) for s in starts]
    still = [False] * len(starts)
    x, u = draw("f8", shape), draw("f8", params["shape"], 1)
    check_transpose(shaping.slice, [x, *fixed], [0], **params)
    check_jvp(shaping.slice, [x, *fixed], [0], **params)
    xs, us = draw("f8", (3, *shape)), draw("f8", (3, *params["shape"]), 1)
    check_batch(shaping.slice, [xs, *fixed], [True, *still], **params)
    for linear in ([0], [1], [0, 1]):
        check_transpose(shaping.update_slice, [x, u, *fixed], [0, 1], **params)
        check_jvp(shaping.update_slice, [x, u, *fixed], linear, **params)
        operands = [xs if 0 in linear else x, us if 1 in linear else u, *fixed]
        check_batch(shaping.update_slice, operands, [0 in linear, 1 in linear, *still], **params)


def test_update_slice_batched_starts() -> None:
    params = {"axes": (0,), "sizes": (2,), "strides": (-2,), "shape": (2,)}
    x, xs, u, us = (draw("f8", s, 1) for s in [(6,), (3, 6), (2,), (3, 2)])
    starts = np.array([2, 5, 3])
    for x_ in (x, xs):
        for u_ in (u, us):
            batched = [x_ is xs, u_ is us, True]
            check_batch(shaping.update_slice, [x_, u_, starts], batched, **params)
    lead = np.arange(3)
    params = {"axes": (0, 1), "sizes": (1, 2), "strides": (1, -2), "shape": (2,)}
    check(shaping.update_slice, xs, us, lead, starts, **params)
    check_transpose(shaping.update_slice, [xs, us, lead, starts], [0, 1], **params)


def test_update_casts_as_numpy_does() -> None:
    x, params = np.zeros(4, "i4"), {"axes": (0,), "sizes": (2,), "strides": (1,), "shape": (2,)}
    assert shaping.update_slice.explicit is not None
    avals = shaping.update_slice.explicit((aval_of((4,), "i4"), float, int), params)
    assert avals == (aval_of((4,), "i4"), aval_of((2,), "i4"), aval_of((), "i8"))
    out = shaping.update_slice.reference(x, 2.7, 1, **params)
    np.testing.assert_array_equal(out, np.array([0, 2, 2, 0], "i4"))
    moved = shaping.update_slice(array(x), array(np.array([1.9, -1.9])), 1, **params)
    np.testing.assert_array_equal(value(moved), np.array([0, 1, -1, 0], "i4"))


# -- errors ------------------------------------------------------------------------------------

F8 = aval_of((2, 3), "f8")
ERRORS: list[tuple[Any, list[Any], dict[str, Any], type[Exception], str]] = [
    (shaping.reshape, [F8], {"shape": (4,)}, ValueError,
     r"cannot reshape array of size 6 into shape \(4,\)"),
    (shaping.reshape, [F8], {"shape": (4, 5)}, ValueError,
     r"cannot reshape array of size 6 into shape \(4,5\)"),
    (shaping.transpose, [F8], {"permutation": (0,)}, ValueError, "axes don't match array"),
    (shaping.transpose, [F8], {"permutation": (0, 0)}, ValueError, "repeated axis in transpose"),
    (shaping.broadcast_in_dim, [F8], {"shape": (2,), "dims": (0, 1)}, ValueError,
     "could not be broadcast together with remapped shapes"),
    (shaping.reverse, [F8], {"axes": (2,)}, AxisError, "axis 2 is out of bounds"),
    (shaping.concatenate, [], {"axis": 0}, ValueError, "need at least one array to concatenate"),
    (shaping.concatenate, [aval_of((), "f8")], {"axis": 0}, ValueError,
     "zero-dimensional arrays cannot be concatenated"),
    (shaping.concatenate, [F8], {"axis": 2}, AxisError, "axis 2 is out of bounds"),
    (shaping.concatenate, [F8, aval_of((2, 4), "f8")], {"axis": 0}, ValueError,
     "all the input array dimensions except for the concatenation axis must match exactly, but "
     "along dimension 1, the array at index 0 has size 3 and the array at index 1 has size 4"),
    (shaping.concatenate, [F8, aval_of((3,), "f8")], {"axis": 0}, ValueError,
     "all the input arrays must have same number of dimensions, but the array at index 0 has 2 "
     r"dimension\(s\) and the array at index 1 has 1 dimension\(s\)"),
    (shaping.stack, [], {}, ValueError, "need at least one number to stack"),
    (shaping.stack, [F8], {}, ValueError, r"numbers are required, got shape \(2, 3\)"),
    (shaping.stack, [aval_of((), "f8"), aval_of((), "f4")], {}, TypeError, "one dtype is required"),
    (shaping.slice, [F8, aval_of((), "i8")],
     {"axes": (1,), "sizes": (4,), "strides": (1,), "shape": (2, 4)}, ValueError, "do not fit"),
    (shaping.slice, [F8, aval_of((), "i8")],
     {"axes": (1,), "sizes": (2,), "strides": (0,), "shape": (2, 2)}, ValueError,
     "slice step cannot be zero"),
    (shaping.update_slice, [F8, aval_of((4,), "f8"), aval_of((), "i8")],
     {"axes": (0,), "sizes": (1,), "strides": (1,), "shape": (3,)}, ValueError,
     r"could not broadcast input array from shape \(4,\) into shape \(3,\)"),
    (shaping.pad, [F8, aval_of((), "f8")],
     {"low": (-3, 0), "high": (0, 0), "interior": (0, 0)}, ValueError, "cut more"),
]  # fmt: skip


@pytest.mark.parametrize("prim, avals, params, kind, message", ERRORS)
def test_errors(prim: Any, avals: Any, params: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        prim.abstract(*avals, **params)
