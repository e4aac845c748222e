"""Views: of what is there and of what is pending, whose they are, and what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as st_numpy

import lazynp as np
from lazynp import _policy
from lazynp._node import VALUE
from lazynp._recorder import local
from lazynp._steps import Basic, Broadcast, Diagonal, Reshape, Step, Transpose
from lazynp._views import reshape, shown, transpose, turned, view
from tests.helpers import POLICIES, be_eager, fresh_start, is_eager

DATA = numpy.arange(24.0).reshape(2, 3, 4)


@pytest.fixture(params=[*POLICIES, "eager"], autouse=True)
def _execution(request: pytest.FixtureRequest) -> Iterator[None]:
    fresh_start()
    with np.config(execution="adaptive" if request.param == "eager" else request.param):
        be_eager(request.param == "eager")
        yield
    be_eager(False)


def array(a: Any = DATA) -> Any:
    return np.array(a)


def taken(x: Any, index: Any) -> Any:
    """`shown` by a basic index."""
    return shown(x, lambda a: a[index], lambda _: Basic((index, x.aval)), plain=True)


def recording() -> bool:
    return not is_eager()


# -- shown -----------------------------------------------------------------------------------------


def test_what_is_there_is_shown_where_it_is() -> None:
    x = array()
    memory = x._node[VALUE]
    v = taken(x, slice(1, 2))
    if recording():
        assert v is None
        return
    assert type(v) is np.ndarray and v._base is x
    assert numpy.shares_memory(v._node[VALUE], memory)
    w = taken(v, (0, 1))  # the owner is the array's own
    assert w._base is x and len(w._path) == 2 and numpy.shares_memory(w._node[VALUE], memory)
    numpy.testing.assert_array_equal(w, DATA[1:2][0, 1])


def test_what_is_not_shown() -> None:
    be_eager()
    index = slice(1, None)
    with local.recorder.recording():
        pending = array() + 1.0
    large = array(numpy.zeros(_policy.LARGEST))
    for x in (pending, large, array(DATA.astype("O")), array().sum(), array(DATA.astype(">f8"))):
        assert taken(x, index) is None
    x = array()

    def fails(a: Any) -> Any:
        raise ValueError

    assert shown(x, fails, lambda _: Reshape((24,))) is None  # a copy in NumPy
    assert shown(x, lambda a: a[0, 0, 0], lambda _: Reshape(())) is None  # no array
    ordered = np.asarray(array(), order="F")
    assert shown(ordered, lambda a: a[1:], lambda _: Reshape((1, 3, 4))) is None  # another order


def test_views_of_what_is_read_only_are() -> None:
    x = array()
    x.flags.writeable = False
    for v in (x[1], x.T, x.reshape(-1), view(x, Transpose((0, 2, 1)))):
        assert not v.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            v[0] = 1.0
    v = view(array(), Transpose((0, 2, 1)), readonly=True)
    assert not v.flags.writeable


# -- view ------------------------------------------------------------------------------------------

STEPS: dict[str, tuple[Step, Callable[[Any], Any]]] = {
    "transpose": (Transpose((2, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "reshape": (Reshape((4, 6)), lambda a: a.reshape(4, 6)),
    "broadcast": (Broadcast((5, 2, 3, 4)), lambda a: numpy.broadcast_to(a, (5, 2, 3, 4))),
    "diagonal": (Diagonal(1), lambda a: a.diagonal(1, -2, -1)),
}


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("name", list(STEPS))
def test_a_view_follows_its_owner(name: str, pending: bool) -> None:
    step, theirs = STEPS[name]
    a = DATA.copy()
    x = array() * 1.0 if pending else array()
    v, w = view(x, step), theirs(a)
    assert v._base is x and v._path == (step,) and type(v) is np.ndarray
    assert (v.shape, v.dtype) == (w.shape, w.dtype)
    assert v._order is (True if step.turns else None)
    x[1, 1] = -5.0
    a[1, 1] = -5.0
    numpy.testing.assert_array_equal(v, w)
    x *= 2.0
    a *= 2.0
    numpy.testing.assert_array_equal(v, w)
    u = view(v, Transpose(tuple(range(v.ndim))[::-1]))
    assert u._base is x and len(u._path) == 2 and u._order is True
    numpy.testing.assert_array_equal(u, w.T)


def test_turned_is_transposed() -> None:
    for ndim in range(5):
        a = numpy.arange(float(numpy.prod(range(1, ndim + 1)))).reshape(range(1, ndim + 1))
        x = array(a)
        if ndim == 0:
            continue  # of no dimension is a Scalar, which has no views
        for v in (turned(x), x.T, transpose(x, range(ndim)[::-1])):
            assert v._base is x and v.strides == a.T.strides
            numpy.testing.assert_array_equal(v, a.T)
    deep = array(numpy.zeros((1,) * 12))
    assert turned(deep).shape == (1,) * 12


# An array, the shape it is given, and whether NumPy makes a view.
RESHAPED: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], bool]] = {
    "whole": (lambda a: a, (4, 6), True),
    "flat": (lambda a: a, (24,), True),
    "rows": (lambda a: a[1:], (12,), True),
    "columns": (lambda a: a[:, :, 1:3], (12,), False),
    "spread": (lambda a: a[:, :, ::2], (2, 6), True),
    "turned": (lambda a: a.T, (24,), False),
    "turned, split": (lambda a: a.T, (2, 2, 3, 2), True),
    "backwards": (lambda a: a[::-1], (24,), False),
    "backwards in one": (lambda a: a.reshape(-1)[::-1], (4, 6), True),
    "one element": (lambda a: a[:1, :1, :1], (1,), True),
    "nothing": (lambda a: a[:0], (0,), True),
    "new axes": (lambda a: a, (2, 1, 3, 1, 4), True),
}


@pytest.mark.parametrize("name", list(RESHAPED))
def test_a_reshape_is_a_view_where_numpys_is(name: str) -> None:
    part, shape, is_view = RESHAPED[name]
    x, a = array(), DATA.copy()
    y, b = part(x), part(a)
    v, w = reshape(y, shape), b.reshape(shape)
    assert (v._base is not None) is is_view
    if w.size:
        assert numpy.shares_memory(w, a) is is_view  # so it is in NumPy
    assert v.strides == w.strides
    numpy.testing.assert_array_equal(v, w)
    v[...] = -1.0
    w[...] = -1.0
    numpy.testing.assert_array_equal(x, a)


def test_a_reshape_of_fortrans_order() -> None:
    a = numpy.asfortranarray(DATA)
    x = np.asarray(array(), order="F")
    assert x.strides == a.strides
    for shape in ((24,), (2, 12), (2, 1, 3, 4)):
        v, w = reshape(x, shape), a.reshape(shape)
        assert (v._base is not None) is numpy.shares_memory(a, w)
        numpy.testing.assert_array_equal(v, w)


# -- any views of any views ------------------------------------------------------------------------


def _steps(shape: tuple[int, ...]) -> st.SearchStrategy[Callable[[Any], Any]]:
    index = st_numpy.basic_indices(shape, allow_newaxis=True, max_dims=4)
    slices = index.map(lambda i: lambda a: a[(*i, ...) if type(i) is tuple and ... not in i else i])
    turns = st.permutations(range(len(shape))).map(lambda p: lambda a: a.transpose(p))
    size = int(numpy.prod(shape))
    shapes = {(size,), (1, *shape), (*shape, 1), shape[::-1]}
    reshapes = st.sampled_from(sorted(shapes)).map(lambda s: lambda a: a.reshape(s))
    return st.one_of(slices, turns, reshapes)


@given(st.data())
def test_what_is_written_through_one_view_shows_in_all(data: st.DataObject) -> None:
    """Views of views, some of what is pending, written in any order."""
    arrays: list[tuple[Any, Any]] = [(array() * 1.0, DATA.copy())]
    for k in range(data.draw(st.integers(1, 6))):
        x, a = data.draw(st.sampled_from(arrays))
        if data.draw(st.booleans()):
            step = data.draw(_steps(a.shape))
            theirs = step(a)
            if isinstance(theirs, numpy.ndarray) and theirs.ndim:
                arrays.append((step(x), theirs))
        elif data.draw(st.booleans()):
            arrays.append((x.copy(), a.copy()))
        else:
            x += 0.5
            a += 0.5
            if a.ndim and a.shape[0]:
                x[0] = float(k)
                a[0] = float(k)
        if data.draw(st.booleans()):
            float(x.sum())
    for x, a in arrays:
        assert x.shape == a.shape and (x.strides == a.strides or not a.size)
        numpy.testing.assert_array_equal(x, a)
