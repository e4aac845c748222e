"""Manipulation functions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import ALL, PROPER, SHAPES, arrays, axis_of, check, make, xp

ranked = arrays(ALL, tuple(s for s in SHAPES if s))


@given(st.data(), st.integers(1, 3), st.sampled_from([(3,), (2, 3), (2, 1, 3), (2, 0)]))
def test_concat(data: Any, count: int, shape: tuple[int, ...]) -> None:
    axis = data.draw(st.none() | axis_of(len(shape)))
    name = data.draw(st.sampled_from(ALL))
    parts = []
    for _ in range(count):
        sizes = list(shape)
        if axis is not None:
            sizes[axis] = data.draw(st.sampled_from([1, 2]))
        parts.append(data.draw(arrays(name, (tuple(sizes),))))
    flat = [p.reshape(-1) for p in parts]
    wanted = np.concatenate(flat if axis is None else parts, axis=axis or 0)
    check(xp.concat([make(p) for p in parts], axis=axis), wanted)
    check(xp.concat(tuple(make(p) for p in parts), axis=axis), wanted)
    if axis == 0:
        check(xp.concat([make(p) for p in parts]), wanted)


@given(st.data(), arrays(ALL), st.integers(1, 3))
def test_stack(data: Any, x: Any, count: int) -> None:
    axis = data.draw(axis_of(x.ndim + 1))
    xs = [x] + [data.draw(arrays(x.dtype.name, (x.shape,))) for _ in range(count - 1)]
    check(xp.stack([make(v) for v in xs], axis=axis), np.stack(xs, axis=axis))
    if axis == 0:
        check(xp.stack(tuple(make(v) for v in xs)), np.stack(xs))


@given(st.data(), ranked)
def test_unstack(data: Any, x: Any) -> None:
    axis = data.draw(axis_of(x.ndim))
    out = xp.unstack(make(x), axis=axis)
    assert isinstance(out, tuple) and len(out) == x.shape[axis]
    for i, got in enumerate(out):
        check(got, np.take(x, i, axis=axis))
    assert len(xp.unstack(make(x))) == x.shape[0]


@given(st.data(), arrays(ALL))
def test_expand_dims(data: Any, x: Any) -> None:
    axis = data.draw(axis_of(x.ndim + 1))
    check(xp.expand_dims(make(x), axis), np.expand_dims(x, axis))
    check(xp.expand_dims(make(x), axis=axis), np.expand_dims(x, axis))


@given(st.data(), arrays(ALL))
def test_expand_dims_by_tuples(data: Any, x: Any) -> None:
    """2025.12: "Added support for specifying a tuple of axis positions." """
    count = data.draw(st.integers(0, 2))
    places = data.draw(st.permutations(range(x.ndim + count)))[:count]
    axes = tuple(p - data.draw(st.sampled_from([0, x.ndim + count])) for p in places)
    check(xp.expand_dims(make(x), axis=axes), np.expand_dims(x, axes))


@pytest.mark.parametrize("axis", [3, -4, (0, 5), (0, 0), (0, -4)])
def test_expand_dims_raises(axis: Any) -> None:
    with pytest.raises(Exception):  # noqa: B017
        xp.expand_dims(make(np.ones((2, 3))), axis=axis)


def test_expand_dims_raises_index_error() -> None:
    """ "If provided an invalid axis, an IndexError should be raised." """
    with pytest.raises(IndexError):
        xp.expand_dims(make(np.ones((2, 3))), axis=7)


@given(st.data(), arrays(ALL, ((3, 1), (1, 3, 1), (1,), (1, 1, 2))))
def test_squeeze(data: Any, x: Any) -> None:
    ones = [i for i, n in enumerate(x.shape) if n == 1]
    axes = data.draw(st.lists(st.sampled_from(ones), unique=True).map(tuple))
    check(xp.squeeze(make(x), axes), np.squeeze(x, axes))
    check(xp.squeeze(make(x), axis=ones[0]), np.squeeze(x, ones[0]))
    check(xp.squeeze(make(x), ones[0] - x.ndim), np.squeeze(x, ones[0]))


def test_squeeze_raises() -> None:
    """ "If a specified axis has a size greater than one, a ValueError must be raised." """
    with pytest.raises(ValueError):
        xp.squeeze(make(np.ones((2, 1))), axis=0)


@given(st.data(), arrays(ALL))
def test_flip(data: Any, x: Any) -> None:
    axis = data.draw(st.none() | (axis_of(x.ndim) if x.ndim else st.none()))
    check(xp.flip(make(x), axis=axis), np.flip(x, axis))
    if x.ndim > 1:
        check(xp.flip(make(x), axis=(0, -1)), np.flip(x, (0, -1)))
    check(xp.flip(make(x)), np.flip(x))


@given(st.data(), arrays(ALL, ((3,), (2, 3), (2, 1, 3), (2, 0))))
def test_permute_dims(data: Any, x: Any) -> None:
    """2025.12: "Added support for negative axes." """
    axes = tuple(data.draw(st.permutations(range(x.ndim))))
    check(xp.permute_dims(make(x), axes), np.transpose(x, axes))
    negative = tuple(a - x.ndim for a in axes)
    check(xp.permute_dims(make(x), axes=negative), np.transpose(x, axes))


@given(st.data(), arrays(ALL, ((3,), (2, 3), (2, 1, 3))))
def test_moveaxis(data: Any, x: Any) -> None:
    source, destination = data.draw(axis_of(x.ndim)), data.draw(axis_of(x.ndim))
    wanted = np.moveaxis(x, source, destination)
    check(xp.moveaxis(make(x), source, destination), wanted)
    if x.ndim > 1:
        check(xp.moveaxis(make(x), (0, 1), (-1, 0)), np.moveaxis(x, (0, 1), (-1, 0)))


_FACTORS = {0: [(0,), (0, 2), (3, 0)], 1: [(), (1,), (1, 1)], 3: [(3,), (1, 3), (3, 1), (-1,)],
            6: [(6,), (2, 3), (3, 2), (-1, 2), (1, 6, -1)]}  # fmt: skip


@given(st.data(), arrays(ALL), st.sampled_from([None, True]))
def test_reshape(data: Any, x: Any, copy: bool | None) -> None:
    shape = data.draw(st.sampled_from(_FACTORS[x.size]))
    check(xp.reshape(make(x), shape, copy=copy), x.reshape(shape))
    check(xp.reshape(make(x), shape=shape), x.reshape(shape))


def test_reshape_copies() -> None:
    a = make([1, 2, 3, 4])
    b, c = xp.reshape(a, (2, 2), copy=True), xp.reshape(a, (2, 2), copy=False)
    a[0] = 9
    check(b, np.asarray([[1, 2], [3, 4]]))
    check(c, np.asarray([[9, 2], [3, 4]]))


def test_reshape_refuses_to_copy() -> None:
    """ "If copy=False and a copy would be necessary, a ValueError should be raised." """
    with pytest.raises(ValueError):
        xp.reshape(xp.permute_dims(make(np.ones((2, 3))), (1, 0)), (6,), copy=False)


def test_reshape_raises() -> None:
    for shape in ((4,), (-1, 4), (-1, -1)):
        with pytest.raises(Exception):  # noqa: B017
            xp.reshape(make(np.ones(6)), shape)


@given(st.data(), arrays(ALL), st.integers(-4, 4))
def test_roll(data: Any, x: Any, shift: int) -> None:
    check(xp.roll(make(x), shift), np.roll(x, shift))
    if x.ndim:
        axis = data.draw(axis_of(x.ndim))
        check(xp.roll(make(x), shift, axis=axis), np.roll(x, shift, axis))
    if x.ndim > 1:
        check(xp.roll(make(x), (shift, 1), axis=(0, -1)), np.roll(x, (shift, 1), (0, -1)))
        check(xp.roll(make(x), shift=shift, axis=(0, 1)), np.roll(x, shift, (0, 1)))


@given(st.data(), arrays(ALL, PROPER), st.integers(0, 3))
def test_repeat(data: Any, x: Any, count: int) -> None:
    check(xp.repeat(make(x), count), np.repeat(x, count))
    if x.ndim:
        axis = data.draw(axis_of(x.ndim))
        check(xp.repeat(make(x), count, axis=axis), np.repeat(x, count, axis))
        each = np.arange(x.shape[axis]) % 3
        check(xp.repeat(make(x), make(each), axis=axis), np.repeat(x, each, axis))
    one = np.asarray([count])
    check(xp.repeat(make(x), make(one)), np.repeat(x, one))


@given(arrays(ALL), st.lists(st.integers(0, 2), max_size=3).map(tuple))
def test_tile(x: Any, repetitions: tuple[int, ...]) -> None:
    check(xp.tile(make(x), repetitions), np.tile(x, repetitions))


def _invalid_axis_calls() -> list[Any]:
    x = np.ones((2, 3))
    return [
        lambda: xp.concat([make(x), make(x)], axis=2),
        lambda: xp.stack([make(x), make(x)], axis=3),
        lambda: xp.flip(make(x), axis=2),
        lambda: xp.moveaxis(make(x), 2, 0),
        lambda: xp.permute_dims(make(x), (0, 2)),
        lambda: xp.permute_dims(make(x), (0, 0)),
        lambda: xp.roll(make(x), 1, axis=2),
        lambda: xp.repeat(make(x), 2, axis=-3),
        lambda: xp.unstack(make(x), axis=2),
        lambda: xp.concat([make(x), make(np.ones((3, 2)))], axis=0),
        lambda: xp.stack([make(x), make(np.ones((3, 2)))]),
    ]


@pytest.mark.parametrize("call", _invalid_axis_calls(), ids=itertools.count())
def test_invalid_axes_raise(call: Any) -> None:
    """ "If provided an invalid axis, the function must raise an exception." """
    with pytest.raises(Exception):  # noqa: B017
        call()
