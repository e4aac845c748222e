"""Steps: reading, writing and layout of each against NumPy; basic indices and their joins."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as st_numpy

from lazynp._array import from_host
from lazynp._avals import aval_of
from lazynp._flush import host_value
from lazynp._node import leaf
from lazynp._steps import (
    Basic,
    Bitcast,
    Broadcast,
    Diagonal,
    Exact,
    Field,
    Imag,
    Real,
    Reshape,
    Slice,
    Transpose,
    basic_slice,
    checked,
    expand_ellipsis,
)
from tests.helpers import be_eager, fresh_start

Array = numpy.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    fresh_start()
    be_eager(False)


def values(shape: tuple[int, ...], dtype: Any = "f8") -> Array:
    count = math.prod(shape)
    a = numpy.arange(1, count + 1).reshape(shape)
    return (a * (1 + 2j) if numpy.dtype(dtype).kind == "c" else a).astype(dtype)


def sliced(shape: tuple[int, ...], *index: Any) -> Slice:
    return basic_slice(aval_of(shape, "f8"), index)


RECORDS = numpy.array([(1, 2.0, 3), (4, 5.0, 6)], "i4, f8, i2")
# A step and what it is taken of.
CASES: dict[str, tuple[Any, Array]] = {
    "row": (sliced((3, 4), 1), values((3, 4))),
    "columns": (sliced((3, 4), slice(None), slice(1, 3)), values((3, 4))),
    "backwards": (sliced((3, 4), slice(None, None, -1)), values((3, 4))),
    "strided": (sliced((7,), slice(5, None, -2)), values((7,))),
    "element": (sliced((3, 4), 1, -1), values((3, 4))),
    "new axes": (sliced((3, 4), None, 1, None), values((3, 4))),
    "nothing": (sliced((3, 4), slice(2, 1)), values((3, 4))),
    "ints": (basic_slice(aval_of((5,), "i8"), (slice(1, 4),)), values((5,), "i8")),
    "basic": (Basic(((1, slice(2)), aval_of((3, 4), "f8"))), values((3, 4))),
    "basic, one item": (Basic((slice(1, 3), aval_of((3, 4), "f8"))), values((3, 4))),
    "transpose": (Transpose((2, 0, 1)), values((2, 3, 4))),
    "no axes": (Transpose(()), values(())),
    "reshape": (Reshape((4, 3)), values((3, 4))),
    "flat": (Reshape((12,)), values((3, 4))),
    "one element": (Reshape((1,)), values((1, 1))),
    "narrower": (Bitcast(numpy.dtype("i4"), (3, 8)), values((3, 4), "i8")),
    "wider": (Bitcast(numpy.dtype("i8"), (3, 2)), values((3, 4), "i4")),
    "as wide": (Bitcast(numpy.dtype("u8"), (4,)), values((4,))),
    "real": (Real(), values((3, 2), "c16")),
    "imag": (Imag(), values((3, 2), "c16")),
    "real of single": (Real(), values((3,), "c8")),
    "real, other bytes": (Real(), values((3,), ">c16")),
    "imag, other bytes": (Imag(), values((3,), ">c8")),
    "diagonal": (Diagonal(0), values((3, 3))),
    "above": (Diagonal(2), values((3, 4))),
    "below": (Diagonal(-1), values((4, 3))),
    "many diagonals": (Diagonal(1), values((2, 3, 4))),
    "none of it": (Diagonal(7), values((3, 3))),
    "field": (Field("f1"), RECORDS),
    "fields": (Field(["f0", "f2"]), RECORDS),
}
BROADCAST = Broadcast((2, 3, 4)), values((3, 1))


def _same(got: Any, want: Any) -> None:
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    numpy.testing.assert_array_equal(got, want)


def taken(step: Any, a: Array) -> Any:
    return host_value(step.get(leaf(a)))


def put(step: Any, a: Array, new: Any) -> Any:
    return host_value(step.set(leaf(a), from_host(new)))


@pytest.mark.parametrize("name", list(CASES))
def test_get_is_what_layout_shows(name: str) -> None:
    step, a = CASES[name]
    _same(taken(step, a.copy()), step.layout(a))


@pytest.mark.parametrize("name", list(CASES))
def test_set_writes_where_layout_shows(name: str) -> None:
    step, a = CASES[name]
    want = a.copy()
    part = step.layout(want)
    new = part.copy()
    if new.dtype.names is None:
        new = (new * 3 + 1).astype(new.dtype)
    else:
        new[:] = new[::-1].copy()
    part[...] = new
    before = a.copy()
    got = put(step, before, new)
    _same(got, want)
    _same(before, a)  # a new value: the old one is as it was


@pytest.mark.parametrize("name", list(CASES))
def test_set_of_what_get_read_changes_nothing(name: str) -> None:
    step, a = CASES[name]
    _same(put(step, a.copy(), taken(step, a.copy())), a)


def test_layouts_are_numpys() -> None:
    """Each step by the expression of NumPy's that it stands for."""
    a, c = values((3, 4)), values((3, 2), "c16")
    expressions: list[tuple[Any, Array, Callable[[Array], Array]]] = [
        (sliced((3, 4), 1), a, lambda x: x[1]),
        (sliced((3, 4), slice(None, None, -2), None, 2), a, lambda x: x[::-2, None, 2]),
        (Basic(((..., 1), aval_of((3, 4), "f8"))), a, lambda x: x[..., 1]),
        (Transpose((1, 0)), a, lambda x: x.T),
        (Reshape((2, 6)), a, lambda x: x.reshape(2, 6)),
        (Reshape((12,)), a, lambda x: x.reshape(-1)),
        (Bitcast(numpy.dtype("f4"), (3, 8)), a, lambda x: x.view("f4")),
        (Real(), c, lambda x: x.real),
        (Imag(), c, lambda x: x.imag),
        (Broadcast((2, 3, 4)), a, lambda x: numpy.broadcast_to(x, (2, 3, 4))),
        (Diagonal(-1), a, lambda x: x.diagonal(-1)),
        (Field("f1"), RECORDS, lambda x: x["f1"]),
    ]
    for step, x, view in expressions:
        got, want = step.layout(x), view(x)
        _same(got, want)
        assert got.strides == want.strides and numpy.shares_memory(got, x)


def test_broadcast_is_read_only() -> None:
    step, a = BROADCAST
    _same(taken(step, a), numpy.broadcast_to(a, (2, 3, 4)))
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        step.set(leaf(a), leaf(values((2, 3, 4))))


@pytest.mark.parametrize("name", list(CASES))
def test_plain_steps_are_views_of_any_array(name: str) -> None:
    """Of one in Fortran's order, of a part of one, of one with negative strides."""
    step, a = CASES[name]
    if not step.plain:
        return
    spread = numpy.zeros([2 * n for n in a.shape], a.dtype)
    spread = spread[(*[slice(None, None, 2) for _ in a.shape], ...)]
    spread[...] = a
    for x in (a.copy("F"), spread, a[..., ::-1].copy()[..., ::-1] if a.ndim else a.copy()):
        view = step.layout(x)
        _same(view, step.layout(a))
        assert view.size == 0 or numpy.shares_memory(view, x)
        assert isinstance(view, numpy.ndarray)  # also of one element


def test_a_reshape_that_is_a_copy_has_no_layout() -> None:
    assert not Reshape((12,)).plain
    with pytest.raises(ValueError):
        Reshape((12,)).layout(values((3, 4)).T)
    with pytest.raises(ValueError):
        Reshape((2, 6)).layout(values((3, 8))[:, :4])


def test_which_steps_turn_axes() -> None:
    turning = {name for name, (step, _) in CASES.items() if step.turns}
    assert turning == {
        "transpose", "no axes", "diagonal", "above", "below", "many diagonals", "none of it",
    }  # fmt: skip
    assert BROADCAST[0].turns
    assert all(isinstance(step, Exact) and not step.overlaps for step, _ in CASES.values())


# -- basic indices ---------------------------------------------------------------------------------

shapes = st_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def indices(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    items = st.one_of(
        st.integers(-5, 5), st.slices(5), st.none(), st.just(Ellipsis),
        st.builds(slice, st.integers(-6, 6), st.integers(-6, 6), st.sampled_from([1, -1, 2, -3])),
    )  # fmt: skip
    valid = st_numpy.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True)
    made = valid.map(lambda i: i if isinstance(i, tuple) else (i,))
    return st.one_of(made, made, st.lists(items, max_size=4).map(tuple))


def outcome(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except IndexError as error:
        return type(error), str(error)


@given(st.data(), shapes)
def test_any_basic_index(data: st.DataObject, shape: tuple[int, ...]) -> None:
    a = values(shape)
    index = data.draw(indices(shape))
    want = outcome(lambda: a[(*index, ...)] if Ellipsis not in index else a[index])
    step = outcome(lambda: basic_slice(aval_of(shape, "f8"), index))
    if isinstance(want, tuple):
        assert step[0] is IndexError
        # of two faults either may be named; NumPy counts the Ellipsis that was added here
        if "too many indices" not in want[1] and index.count(Ellipsis) < 2:
            assert step == want
        return
    _same(step.layout(a), numpy.asarray(want))
    _same(taken(step, a.copy()), numpy.asarray(want))
    changed = a.copy()
    changed[index] = -1.0
    _same(put(step, a.copy(), numpy.full(numpy.shape(want), -1.0)), changed)


@given(st.data(), shapes)
def test_two_slices_in_one(data: st.DataObject, shape: tuple[int, ...]) -> None:
    a = values(shape)
    first = basic_slice(aval_of(shape, "f8"), data.draw(_basic(shape)))
    middle = first.layout(a)
    second = basic_slice(aval_of(middle.shape, "f8"), data.draw(_basic(middle.shape)))
    want = second.layout(middle)
    both = first.then(second)
    if both is None:
        assert None in first.index and 0 in want.shape  # a new axis that was sliced away
        return
    got = both.layout(a)
    _same(got, want)
    if want.size > 1:
        assert numpy.shares_memory(got, want)
        assert [s for s, n in zip(got.strides, got.shape, strict=True) if n > 1] == [
            s for s, n in zip(want.strides, want.shape, strict=True) if n > 1
        ]
    _same(taken(both, a.copy()), want)
    changed = a.copy()
    both.layout(changed)[...] = -1.0
    _same(put(both, a.copy(), numpy.full(want.shape, -1.0)), changed)


@given(st.data(), shapes)
def test_a_slice_from_other_starts(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """What `index` shows, which NumPy reads and writes, is what the primitive takes."""
    a = values(shape)
    step = basic_slice(aval_of(shape, "f8"), data.draw(_basic(shape)))
    starts = []
    for axis, size, stride in zip(*(step.params[k] for k in _PLACES), strict=True):
        spare = shape[axis] - 1 - abs(stride) * (size - 1) if size else 0
        start = data.draw(st.integers(0, spare))
        starts.append(start + abs(stride) * (size - 1) if size and stride < 0 else start)
    moved = step.moved(tuple(starts))
    _same(moved.layout(a), taken(moved, a.copy()))
    assert moved.starts == tuple(starts) and moved.params == step.params


_PLACES = ("axes", "sizes", "strides")


@st.composite
def _basic(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Slices, mostly: where two of them meet, there is something to join."""
    items: list[Any] = []
    for length in shape:
        if draw(st.integers(0, 5)) == 0:
            items.append(None)
        whole = st.slices(length)
        some = st.integers(-length, length - 1) if length else whole
        items.append(draw(st.one_of(whole, whole, some)))
    return tuple(items)


@pytest.mark.parametrize(
    "first, second",
    [
        (slice(1, 6), slice(2, 4)),
        (slice(None, None, 2), slice(1, 3)),
        (slice(1, None), slice(None, None, 3)),
        (slice(6, 0, -2), slice(None, None, -1)),
        (slice(6, 0, -2), slice(1, None)),
        (slice(None, None, -1), slice(None, None, -1)),
        (slice(None, None, -3), -1),
        (slice(2, 5), slice(3, 3)),
        (slice(4, 4), slice(None)),
        ((None, slice(2, 5)), (0, slice(1, None))),
        ((None, slice(2, 5)), (slice(None), None, 1)),
        ((1, None), (None, 0)),
    ],
)
def test_pairs_of_slices(first: Any, second: Any) -> None:
    a = values((7,))
    steps = []
    for index in (first, second):
        shape = a[first].shape if steps else a.shape
        steps.append(basic_slice(aval_of(shape, "f8"), index if type(index) is tuple else (index,)))
    both = steps[0].then(steps[1])
    assert both is not None
    want = numpy.asarray(a[first][second])
    _same(both.layout(a), want)
    _same(taken(both, a.copy()), want)


def test_what_joins() -> None:
    aval = aval_of((3, 4), "f8")
    rows, turned = sliced((3, 4), slice(1, 3)), Transpose((1, 0))
    basic = Basic((slice(1, 3), aval))
    for first in (rows, basic):
        for second in (sliced((2, 4), 1), Basic((1, aval_of((2, 4), "f8")))):
            both = first.then(second)
            assert both is not None
            _same(both.layout(values((3, 4))), values((3, 4))[2])
        assert first.then(turned) is None
    assert turned.then(rows) is None
    both = Transpose((2, 0, 1)).then(Transpose((1, 0, 2)))
    assert both is not None
    a = values((2, 3, 4))
    _same(both.layout(a), a.transpose(2, 0, 1).transpose(1, 0, 2))
    for step in (Reshape((12,)), Real(), Imag(), Diagonal(0), Broadcast((3, 4)), Field("f0")):
        assert step.then(rows) is None and step.then(step) is None


# -- integers and ellipses -------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 3])
@pytest.mark.parametrize("item", [0, 1, 2, 3, -1, -3, -4, True, numpy.int8(-1), 1 << 62])
def test_checked(item: Any, length: int) -> None:
    def theirs() -> int:
        return int(numpy.arange(length)[int(item)])

    assert outcome(lambda: checked(item, 0, length)) == outcome(theirs)


@pytest.mark.parametrize("item", [1 << 63, -(1 << 63) - 1, 1 << 64, -(1 << 70)])
def test_integers_that_fit_nowhere(item: int) -> None:
    with pytest.raises((IndexError, OverflowError)) as ours:
        checked(item, 0, 3)
    with pytest.raises((IndexError, OverflowError)) as theirs:
        numpy.arange(3)[item]
    assert ours.type is theirs.type and str(ours.value) == str(theirs.value)


def test_the_axis_is_named() -> None:
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 2 with size 4"):
        checked(5, 2, 4)
    with pytest.raises(TypeError):
        checked(1.0, 0, 4)


ALL = slice(None)


@pytest.mark.parametrize(
    "index, ndim, whole",
    [
        ((), 0, ()),
        ((), 2, (ALL, ALL)),
        ((1,), 2, (1, ALL)),
        ((..., 1), 3, (ALL, ALL, 1)),
        ((0, ..., 1), 2, (0, 1)),
        ((None, 1), 2, (None, 1, ALL)),
        ((None, ...), 1, (None, ALL)),
        ((..., None), 1, (ALL, None)),
    ],
)
def test_ellipsis(index: Any, ndim: int, whole: Any) -> None:
    assert expand_ellipsis(index, ndim) == whole


def test_ellipsis_beside_a_mask() -> None:
    assert expand_ellipsis(("mask", ...), 3, taken=2) == ("mask", ALL)


@pytest.mark.parametrize("index, ndim", [((1, 2), 1), ((1,), 0), ((..., 1, ...), 2)])
def test_errors_of_ellipsis_are_numpys(index: Any, ndim: int) -> None:
    with pytest.raises(IndexError) as theirs:
        numpy.zeros((3,) * ndim)[index]
    with pytest.raises(IndexError) as ours:
        expand_ellipsis(index, ndim)
    assert str(ours.value) == str(theirs.value)
