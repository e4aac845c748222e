"""Broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.operators import BINARY
from array_api_tests.support import check, make, xp

dimensions = st.lists(st.sampled_from([1, 2, 3, 0]), max_size=3).map(tuple)


def _by_the_algorithm(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...] | None:
    """The algorithm in the standard's chapter: one dimension at a time, from the last."""
    shape: list[int] = []
    for i in range(1, max(len(first), len(second)) + 1):
        d1 = first[-i] if i <= len(first) else 1
        d2 = second[-i] if i <= len(second) else 1
        if d1 != 1 and d2 != 1 and d1 != d2:
            return None
        shape.insert(0, d2 if d1 == 1 else d1)
    return tuple(shape)


@given(dimensions, dimensions)
def test_operations_follow_the_algorithm(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """ "must raise an exception" if shapes are not compatible."""
    x, y = np.ones(first, "int32"), np.full(second, 2, "int32")
    wanted = _by_the_algorithm(first, second)
    if wanted is None:
        with pytest.raises(Exception):  # noqa: B017
            xp.add(make(x), make(y))
        with pytest.raises(Exception):  # noqa: B017
            make(x) * make(y)
        return
    check(xp.add(make(x), make(y)), np.full(wanted, 3, "int32"))
    check(make(x) * make(y), np.full(wanted, 2, "int32"))


@given(dimensions, dimensions)
def test_broadcast_shapes(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """2025.12. "ValueError should be raised" if they are not compatible."""
    wanted = _by_the_algorithm(first, second)
    if wanted is None:
        with pytest.raises(ValueError):
            xp.broadcast_shapes(first, second)
    else:
        assert xp.broadcast_shapes(first, second) == wanted


@pytest.mark.parametrize("shapes", [((3,), (2,)), ((2, 3), (2,)), ((0,), (2,)), ((2, 3), (3, 2))])
def test_incompatible_shapes_raise(shapes: Any) -> None:
    with pytest.raises(Exception):  # noqa: B017
        xp.add(*(make(np.ones(s)) for s in shapes))


def test_broadcast_shapes_of_few() -> None:
    assert xp.broadcast_shapes() == ()
    assert xp.broadcast_shapes((2, 3)) == (2, 3)
    assert xp.broadcast_shapes((2, 1), (3,), ()) == (2, 3)


@pytest.mark.parametrize("function", BINARY)
def test_every_function_broadcasts(function: str) -> None:
    name = BINARY[function].dtypes[-1]
    x, y = np.ones((3, 1), name), np.ones((2, 1, 4), name)
    out = getattr(xp, function)(make(x), make(y))
    assert out.shape == (2, 3, 4)


def test_in_place_keeps_the_shape() -> None:
    """ "an in-place operation must not change the shape of the in-place array" """
    x = make(np.ones((2, 3)))
    x += make(np.ones(3))
    check(x, np.full((2, 3), 2.0))
    small = make(np.ones((1, 3)))
    with pytest.raises(Exception):  # noqa: B017
        small += make(np.ones((2, 3)))
