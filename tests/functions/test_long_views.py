"""Views of views of views: basic steps of a long path are taken as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from tests.helpers import POLICIES, fresh_start


@pytest.fixture(autouse=True, params=POLICIES)
def policy(request: pytest.FixtureRequest) -> Iterator[str]:
    fresh_start()
    with np.config(execution=request.param):
        yield request.param


def an_index(data: Any, shape: tuple[int, ...]) -> Any:
    """A basic index that leaves axes, or a permutation."""
    if data.draw(st.integers(0, 5)) == 0:
        return list(data.draw(st.permutations(range(len(shape)))))
    items: list[Any] = []
    for length in shape:
        if data.draw(st.integers(0, 4)) == 0 and len(shape) < 4:
            items.append(None)
        kind = data.draw(st.integers(0, 5))
        if kind == 0 and length and len(shape) > 1:
            items.append(data.draw(st.integers(-length, length - 1)))
        elif kind < 3:
            items.append(slice(None))
        else:
            ends = st.none() | st.integers(-length - 1, length + 1)
            steps = st.sampled_from([None, 1, 1, 2, -1, -2])
            items.append(slice(data.draw(ends), data.draw(ends), data.draw(steps)))
    return (*items, ...)


@settings(max_examples=60)
@given(data=st.data())
def test_steps_are_joined(data: Any) -> None:
    x, y = numpy.arange(360.0).reshape(6, 5, 12), np.arange(360.0).reshape(6, 5, 12)
    v, w = x, y
    for _ in range(data.draw(st.integers(5, 9))):
        index = an_index(data, v.shape)
        v, w = (
            (v.transpose(index), w.transpose(index))
            if type(index) is list
            else (v[index], w[index])
        )
    assert w.shape == v.shape
    y += 0.5
    x += 0.5
    assert w.tolist() == v.tolist()
    v[...] = v * 2 + 1
    w[...] = w * 2 + 1
    assert w.tolist() == v.tolist()
    assert y.tolist() == x.tolist()
    assert v.size < 2 or w.flags.c_contiguous == v.flags.c_contiguous
    x[::2] = 7
    y[::2] = 7
    assert w.tolist() == v.tolist()


def test_a_store_through_a_thousand_views() -> None:
    """It took time that was cubic in their number."""
    x = np.arange(12_000.0).reshape(2, 6000)
    v = x
    for _ in range(1000):
        v = v[:, 1:]
    v[0, 0] = -1
    x[0, 1001] = -2
    assert v[0, :3].tolist() == [-1, -2, 1002]
    assert x[0, 999:1003].tolist() == [999, -1, -2, 1002]
    assert len(v._path) < 10


def test_in_functions_that_are_staged() -> None:
    def g(v: Any) -> Any:
        v[1] = 50
        return v.sum()

    y, z = np.arange(30.0), numpy.arange(30.0)
    for _ in range(3):
        v, w = y, z
        for _ in range(9):
            v, w = v[1:-1], w[1:-1]
        assert float(np.jit(g)(v)) == g(w)
        assert y.tolist() == z.tolist()
