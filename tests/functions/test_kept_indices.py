"""Indices with lists of numbers: found once for a type, and as NumPy's each time."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp.functions import _kept_indices

X = numpy.arange(24.0).reshape(2, 3, 4)


def outcome(module: Any, index: Any, traced: bool) -> Any:
    """What is read at an index, and what is written there; or the error."""

    def both(x: Any) -> Any:
        got = x[index]
        y = x.copy()
        y[index] = 2 * got + 1
        return got * 1, y

    try:
        found = both(module.array(X)) if not traced else np.jit(both)(X)
    except IndexError as error:
        return str(error)
    return [(numpy.asarray(a).tolist(), numpy.shape(a)) for a in found]


item = st.one_of(
    st.lists(st.integers(-3, 2), min_size=0, max_size=3),
    st.integers(-3, 2),
    st.just(None),
    st.just(Ellipsis),
    st.builds(slice, st.none() | st.integers(-2, 2), st.none() | st.integers(-2, 4)),
    st.lists(st.booleans(), min_size=2, max_size=2),
)


@settings(max_examples=60, deadline=None)
@given(items=st.lists(item, min_size=1, max_size=3), single=st.booleans())
def test_indices_mean_the_same_each_time(items: list[Any], single: bool) -> None:
    index = items[0] if single else tuple(items)
    if not any(isinstance(i, list) for i in items) or items.count(Ellipsis) > 1:
        return
    want = outcome(numpy, index, False)
    for traced in (False, False, True, True):
        assert outcome(np, index, traced) == want

    def read(x: Any) -> Any:
        return (x[index] ** 2).sum()

    if type(want) is not str and X[index].size:
        slope = numpy.zeros_like(X)
        numpy.add.at(slope, index, 2 * X[index])
        for _ in range(3):
            assert numpy.asarray(np.grad(read)(X)).tolist() == slope.tolist()


def test_a_list_that_changes_is_another_index() -> None:
    places = [0, 1]

    def read(x: Any) -> Any:
        return (x[places] * np.array([1.0, 10.0])).sum()

    for wanted in ([1.0, 10, 0], [0, 1, 10.0], [0, 11.0, 0]):
        for _ in range(2):
            places[:] = {1.0: [0, 1]}.get(wanted[0], [1, 2] if wanted[2] else [1, 1])
            assert np.grad(read)(np.ones(3)).tolist() == wanted


def test_bools_and_other_types_of_arrays_have_entries_of_their_own() -> None:
    x = np.arange(3.0)
    for index in ([0, 1, 1], [False, True, True], [0, 1, 1]):
        for _ in range(2):
            assert np.jit(lambda x, i=index: x[i])(x).tolist() == numpy.arange(3.0)[index].tolist()
    for n in (3, 5, 3):
        assert np.grad(lambda x: x[[-1, 0]][0])(np.ones(n)).tolist() == [0.0] * (n - 1) + [1.0]
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 3"):
        np.grad(lambda x: x[[4, 0]].sum())(np.ones(3))


def test_an_index_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    original = _kept_indices.keep

    def noted(key: Any, meaning: Any) -> None:
        found.append(key)
        original(key, meaning)

    monkeypatch.setattr("lazynp.functions._advanced.keep", noted)

    def edges(x: Any) -> Any:
        y = x.copy()
        for _ in range(3):
            y[:, [0, -1]] = y[:, [1, -2]]
        return y.sum()

    for _ in range(2):
        np.grad(edges)(np.ones((5, 7)))
    assert len(found) <= 2
