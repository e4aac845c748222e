"""Parts of views with strides of their own: a read or a write looks at the part only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp.functions import _strided
from tests.functions.test_long_views import an_index
from tests.helpers import POLICIES, fresh_start

FORMS = [  # elements of the array; shape and strides of the view
    (30, (25, 6), (8, 8)), (30, (5, 6), (48, 8)), (30, (4, 3, 2), (16, 8, 96)),
    (24, (3, 4), (64, 0)), (24, (12,), (16,)), (20, (3, 3), (-16, 8)),
]  # fmt: skip


@pytest.fixture(autouse=True, params=POLICIES)
def policy(request: pytest.FixtureRequest) -> Iterator[str]:
    fresh_start()
    with np.config(execution=request.param):
        yield request.param


def strided(np: Any, form: Any) -> tuple[Any, Any]:
    n, shape, strides = form
    x = np.arange(float(n))
    base = x[10:] if strides[0] < 0 else x
    return x, np.lib.stride_tricks.as_strided(base, shape, strides)


@settings(max_examples=60)
@given(st.data())
def test_reads_and_writes_of_parts(data: Any) -> None:
    form = data.draw(st.sampled_from(FORMS))
    (ours, mine), (theirs, its) = strided(np, form), strided(numpy, form)
    for _ in range(data.draw(st.integers(1, 3))):
        index = an_index(data, its.shape)
        if isinstance(index, list):
            mine, its = mine.transpose(index), its.transpose(index)
            continue
        kind = data.draw(st.integers(0, 3))
        if kind == 0:
            mine[index], its[index] = 7.0, 7.0
        elif kind == 1 and its[index].size == numpy.unique(its[index]).size:
            mine[index] += 0.5  # of places that meet, NumPy's result depends on the order
            its[index] += 0.5
        elif kind == 2:
            mine, its = mine[index], its[index]
            if not isinstance(its, numpy.ndarray):
                break
        numpy.testing.assert_array_equal(mine[...], its[...])
        numpy.testing.assert_array_equal(ours, theirs)
    numpy.testing.assert_array_equal(mine, its)
    numpy.testing.assert_array_equal(ours, theirs)


def test_a_write_looks_at_the_places_of_the_part(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    places = _strided.Strided._places

    def noted(self: Any) -> Any:
        found = places(self)
        sizes.append(found.size)
        return found

    monkeypatch.setattr(_strided.Strided, "_places", noted)
    x = np.arange(10000.0)
    windows = np.lib.stride_tricks.sliding_window_view(x, 50, writeable=True)
    y = numpy.arange(10000.0)
    theirs = numpy.lib.stride_tricks.sliding_window_view(y, 50, writeable=True)
    for w in (windows, theirs):
        w[70, ::2] += 1.0
        w[3] = 5.0
        row = w[100]
        row[2:] -= 1.0
    assert sizes and max(sizes) <= 50
    numpy.testing.assert_array_equal(x, y)
    numpy.testing.assert_array_equal(windows[3], theirs[3])


@pytest.mark.parametrize("index", [
    (4, -1), (numpy.int64(2), 0), (4, -1, ...), (..., 4, 1), (0, 0, None), (np.array(3), 1),
    (3, True),
])  # fmt: skip
def test_one_element(index: Any, policy: str) -> None:
    """It is a scalar, but with an Ellipsis."""
    values = numpy.arange(-4, 8).astype("i2")
    found = [
        m.lib.stride_tricks.sliding_window_view(m.asarray(values), 2, 0)[index] for m in (np, numpy)
    ]
    assert found[0].dtype == found[1].dtype and found[0].tolist() == found[1].tolist()
    assert isinstance(found[0], np.ndarray) == isinstance(found[1], numpy.ndarray)
