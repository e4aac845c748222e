"""Indexing: single axis, several axes, boolean, integer arrays; assignment; take."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import (
    ALL,
    COMPLEX,
    FLOATING,
    INTEGERS,
    NUMERIC,
    arrays,
    check,
    dtype,
    make,
    xp,
)  # fmt: skip
from array_api_tests.test_type_promotion import promoted
from array_api_tests.traced import traced

RANKED = ((3,), (0,), (2, 3), (3, 1), (2, 1, 3))
read, write = traced(operator.getitem), traced(operator.setitem)  # x[key], x[key] = value


@st.composite
def _slices(draw: Any, n: int) -> slice:
    """Slices with specified behaviour: bounds inside, with the sign of the step."""
    step = draw(st.sampled_from([None, 1, 2, 3, -1, -2]))
    if (step or 1) > 0:
        bounds = st.none() | st.integers(-n, n)
    else:
        bounds = st.none() | st.integers(-n, max(n - 1, 0))
    return slice(draw(bounds), draw(bounds), step)


@st.composite
def _keys(draw: Any, shape: tuple[int, ...], new: bool = True) -> Any:
    """Tuples of integers, slices, one ellipsis, and None (which assignment does not accept)."""
    used = draw(st.integers(0, len(shape)))
    split = draw(st.integers(0, used))
    items: list[Any] = []
    sizes = [*shape[:split], *shape[len(shape) - (used - split) :]]
    for n in sizes:
        single = st.integers(-n, n - 1) if n else _slices(n)
        items.append(draw(single | _slices(n)))
    if used < len(shape) or draw(st.booleans()):
        items.insert(split, ...)
    for _ in range(draw(st.integers(0, 2 if new else 0))):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@given(st.data(), arrays(ALL, RANKED))
def test_getitem(data: Any, x: Any) -> None:
    key = data.draw(_keys(x.shape))
    check(read(make(x), key), x[key])


@given(st.data(), arrays(ALL, ((3,),)))
def test_getitem_without_tuple(data: Any, x: Any) -> None:
    key = data.draw(st.integers(-3, 2) | _slices(3))
    check(read(make(x), key), x[key])


@given(x=arrays(ALL, ((), (3,), (2, 3))))
def test_empty_tuple_and_ellipsis(x: Any) -> None:
    """The empty tuple indexes 0-d arrays; the ellipsis indexes any array."""
    if not x.ndim:
        check(make(x)[()], x[()])
    check(make(x)[...], x[...])


@pytest.mark.parametrize("key", [(0, 0), (0, 0, 0), (..., 0, 0), (slice(None), 0), (..., ...)])
def test_too_many_indices(key: Any) -> None:
    """ "An IndexError exception must be raised if the number ... is greater than N"; likewise "if
    more than one ellipsis is provided"."""
    with pytest.raises(IndexError):
        _ = make([1, 2, 3])[key]


class _Index:
    """ "An integer index must be an object satisfying operator.index." """

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


@pytest.mark.parametrize("kind", [_Index, np.int64, np.uint8])
def test_index_objects(kind: Any) -> None:
    x = np.arange(12).reshape(3, 4)
    check(make(x)[kind(2), :], x[2, :])
    check(make(x)[kind(2), kind(1)], np.asarray(x[2, 1]))
    check(make(x)[:, kind(0)], x[:, 0])


def test_integer_arrays_without_dimensions() -> None:
    """ "must be equivalent to providing an integer index having the value int(tk)" """
    x, one = np.arange(12).reshape(3, 4), make(np.asarray(1))
    check(make(x)[2, one], np.asarray(x[2, 1]))
    check(make(x)[one, one], np.asarray(x[1, 1]))
    check(make(x[0])[(one,)], np.asarray(x[0, 1]))
    check(make(x)[one, make(np.asarray([0, -1]))], x[1, [0, -1]])


@pytest.mark.parametrize("start, step", [(None, -1), (-1, -2), (1, -1), (3, -3)])
def test_stops_before_the_first(start: int | None, step: int) -> None:
    """ "For k < 0, -n - 1 <= j <= max(0, n - 1)", of "-n <= i <= n"."""
    x = np.arange(3)
    check(make(x)[start:-4:step], x[start:-4:step])
    rows = np.arange(6).reshape(3, 2)
    check(make(rows)[start:-4:step, :], rows[start:-4:step])


def test_integers_and_slices_agree() -> None:
    """An integer `i` selects the same as `i:i+1`, a negative one as `n+i:n+i+1`, with one axis
    less.
    """
    x = np.arange(6).reshape(2, 3)
    for i in range(3):
        check(make(x)[:, i], x[:, i : i + 1].reshape(2))
        check(make(x)[:, i - 3], x[:, i : i + 1].reshape(2))
    check(make(x)[(slice(1, 2),) + (...,)], x[1:2])


@given(st.data(), arrays(NUMERIC, RANKED))
def test_setitem(data: Any, x: Any) -> None:
    key = data.draw(_keys(x.shape, new=False))
    target = x[key]
    value = data.draw(arrays(x.dtype.name, ((), target.shape)))
    a, wanted = make(x), x.copy()
    write(a, key, make(value))
    wanted[key] = value
    check(a, wanted)


@given(st.data(), arrays(NUMERIC, RANKED))
def test_setitem_of_scalars(data: Any, x: Any) -> None:
    key = data.draw(_keys(x.shape, new=False))
    a, wanted = make(x), x.copy()
    write(a, key, 1)
    wanted[key] = 1
    check(a, wanted)


@given(x=arrays(NUMERIC, ((), (3,))))
def test_setitem_everywhere(x: Any) -> None:
    for key in (..., ()) if not x.ndim else (...,):
        a = make(x)
        a[key] = 2
        check(a, np.full_like(x, 2))


@pytest.mark.parametrize("own, other", [(a, b) for a in NUMERIC for b in NUMERIC
                                        if promoted(a, b) == a])  # fmt: skip
def test_setitem_keeps_the_dtype(own: str, other: str) -> None:
    """2025.12: "value must be promoted to the data type of self according to Type Promotion"."""
    a = make(np.zeros(3, own))
    a[1:] = make(np.ones(2, other))
    check(a, np.asarray([0, 1, 1], own))
    a[0] = make(np.asarray(7, other))
    check(a, np.asarray([7, 1, 1], own))


@pytest.mark.parametrize("name", ALL)
def test_setitem_of_each_kind_of_scalar(name: str) -> None:
    scalars: list[Any] = [True] if name == "bool" else [3]
    scalars += [2.5] if name in FLOATING else []
    scalars += [1 - 2j] if name in COMPLEX else []
    for scalar in scalars:
        a = make(np.zeros(2, name))
        a[1] = scalar
        check(a, np.asarray([0, scalar], name))


@given(st.data(), arrays(ALL, ((), (3,), (2, 3), (2, 1, 3), (2, 0))))
def test_boolean_index(data: Any, x: Any) -> None:
    """ "A boolean array index must be the sole index", of the same shape."""
    mask = data.draw(arrays("bool", (x.shape,)))
    check(make(x)[make(mask)], x[mask])


@given(st.data(), arrays(ALL, ((3,), (2, 3), (2, 1, 3))))
def test_boolean_index_of_leading_axes(data: Any, x: Any) -> None:
    """ "must replace the first M dimensions of A with a single dimension" """
    mask = data.draw(arrays("bool", tuple(x.shape[:m] for m in range(x.ndim + 1))))
    check(make(x)[make(mask)], x[mask])


def test_boolean_index_that_does_not_fit() -> None:
    """ "If N < M, then an IndexError"; likewise if a size is neither the axis's nor 0."""
    x = np.arange(6).reshape(2, 3)
    for shape in ((2, 3, 1), (3,), (3, 2), (2, 2)):
        with pytest.raises(IndexError):
            _ = make(x)[make(np.ones(shape, bool))]
    for shape in ((0,), (0, 3), (2, 0)):
        mask = np.ones(shape, bool)
        check(make(x)[make(mask)], np.zeros((0, *x.shape[len(shape) :]), x.dtype))


@given(st.data(), arrays(NUMERIC, ((3,), (2, 3))))
def test_boolean_assignment(data: Any, x: Any) -> None:
    mask = data.draw(arrays("bool", (x.shape,)))
    a, wanted = make(x), x.copy()
    a[make(mask)] = 1
    wanted[mask] = 1
    check(a, wanted)


@given(st.data(), arrays(ALL, ((3,), (2, 3), (2, 1, 3))))
def test_integer_arrays(data: Any, x: Any) -> None:
    """2024.12: an integer, or integer array, for every axis; the arrays broadcast."""
    shape = data.draw(st.sampled_from([(1,), (3,), (2, 3)]))
    key = tuple(
        data.draw(
            st.integers(-n, n - 1) if n > 1 and i else arrays("int64", (shape,), range(-n, n))
        )
        for i, n in enumerate(x.shape)
    )
    ours = tuple(make(k) if isinstance(k, np.ndarray) else k for k in key)
    check(read(make(x), ours), x[key])


@given(st.data(), arrays(ALL, ((3,), (2, 3))), st.sampled_from([None, -1, 0]))
def test_take(data: Any, x: Any, axis: int | None) -> None:
    if axis is None and x.ndim > 1:
        axis = 0
    n = x.shape[axis or 0]
    name = data.draw(st.sampled_from([i for i in INTEGERS if i.startswith("int")]))
    index = data.draw(arrays(name, ((1,), (3,), (0,)), range(-n, n)))
    wanted = np.take(x, index, axis=0 if axis is None else axis)
    check(xp.take(make(x), make(index), axis=axis), wanted)
    if x.ndim == 1:
        check(xp.take(make(x), make(index)), wanted)


def test_take_needs_an_axis() -> None:
    """ "If x has more than one dimension, providing an axis must be required." """
    with pytest.raises(Exception):  # noqa: B017
        xp.take(make(np.ones((2, 3))), make([0, 1]))


@given(st.data(), arrays(ALL, ((3,), (2, 3), (2, 1, 3))), st.integers(-1, 0))
def test_take_along_axis(data: Any, x: Any, axis: int) -> None:
    n = x.shape[axis]
    shape = list(x.shape)
    shape[axis] = data.draw(st.integers(1, 3))
    index = data.draw(arrays("int64", (tuple(shape),), range(-n, n)))
    wanted = np.take_along_axis(x, index, axis=axis)
    check(xp.take_along_axis(make(x), make(index), axis=axis), wanted)
    if axis == -1:
        check(xp.take_along_axis(make(x), make(index)), wanted)


def test_views_or_copies_of_results() -> None:
    """Reading does not change the array."""
    x = make(np.arange(6).reshape(2, 3))
    _ = x[0, :] + 1
    check(x, np.arange(6).reshape(2, 3))
    assert x.dtype == dtype("int64")
