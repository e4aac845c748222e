"""`shuffle` writes where NumPy's does, and draws what NumPy's draws, call after call."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest

import lazynp as np

ARRAYS: dict[str, Any] = {
    "numbers": numpy.arange(10),
    "rows": numpy.arange(12.0).reshape(4, 3),
    "columns": numpy.arange(12.0).reshape(4, 3).T,
    "blocks": numpy.arange(24).reshape(2, 3, 4)[:, ::-1],
    "complex": numpy.ones(4) * 1j * numpy.arange(4),
    "text": numpy.array(["a", "b", "c"]),
    "none": numpy.zeros(0),
    "no axis": numpy.array(3),
}
GENERATORS = ["default_rng", "RandomState"]


def outcome(rng: Any, x: Any, *axis: int) -> Any:
    try:
        return rng.shuffle(x, *axis)
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_and_their_views(kind: str, name: str) -> None:
    ours, theirs = (getattr(m.random, kind)(5) for m in (np, numpy))
    x, want = np.array(ARRAYS[name]), ARRAYS[name].copy(order="K")
    view, copy = x[...], x.copy()
    axes: list[tuple[int, ...]] = [(0,), (1,)] if kind == "default_rng" else [(1,)]
    for axis in [(), (), (), *axes]:
        assert outcome(ours, x, *axis) == outcome(theirs, want, *axis)
        for shown in (x, view):
            numpy.testing.assert_array_equal(numpy.asarray(shown), want)
    numpy.testing.assert_array_equal(numpy.asarray(copy), ARRAYS[name])
    assert ours.standard_normal() == theirs.standard_normal()


@pytest.mark.parametrize("kind", GENERATORS)
def test_parts_of_arrays_lists_and_what_may_not_be_written(kind: str) -> None:
    ours, theirs = (getattr(m.random, kind)(6) for m in (np, numpy))
    x, want = np.arange(20), numpy.arange(20)
    for part in (slice(2, 9), slice(None, None, 3), slice(None, None, -1)) * 2:
        ours.shuffle(x[part])
        theirs.shuffle(want[part])
        numpy.testing.assert_array_equal(numpy.asarray(x), want)
    items, wanted = list(range(5)), list(range(5))
    ours.shuffle(items)
    theirs.shuffle(wanted)
    assert items == wanted
    x.flags.writeable = want.flags.writeable = False
    for _ in range(2):
        assert outcome(ours, x) == outcome(theirs, want)


def test_a_class_of_its_own_and_pickles() -> None:
    class Counted(np.random.Generator):
        calls = 0

        def shuffle(self, x: Any, axis: int = 0) -> None:
            self.calls += 1
            super().shuffle(x, axis)

    counted: Any = Counted(np.random.PCG64(1))
    for _ in range(3):
        counted.shuffle(np.arange(4))
    assert counted.calls == 3
    rng = np.random.default_rng(3)
    for _ in range(2):
        again, x, y = pickle.loads(pickle.dumps(rng.shuffle)), np.arange(9), np.arange(9)
        again(x)
        rng.shuffle(y)
        numpy.testing.assert_array_equal(x, y)


def test_the_global_state() -> None:
    x, want = np.arange(9), numpy.arange(9)
    for _ in range(3):
        numpy.random.seed(4)
        np.random.shuffle(x)
        numpy.random.seed(4)
        numpy.random.shuffle(want)
        numpy.testing.assert_array_equal(numpy.asarray(x), want)
