"""Views of large arrays that were written let go of what they showed before."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _stale
from lazynp._avals import aval_of
from lazynp._node import AVAL, VALUE, leaf
from lazynp._stale import LARGE, let_go, note, write_lock
from tests.helpers import be_eager, fresh_start, in_thread

COUNT = LARGE // 8


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh_start()
    be_eager(False)
    monkeypatch.setattr(_stale, "_views", [])
    monkeypatch.setattr(_stale, "_enough", 1)


def array(count: int = COUNT) -> Any:
    x = np.array(numpy.arange(float(count)))
    float(x[0])
    return x


def listed() -> list[Any]:
    return [ref() for ref in _stale._views]


@pytest.mark.parametrize("count, noted", [(COUNT - 1, False), (COUNT, True)])
def test_views_of_large_arrays_are_listed(count: int, noted: bool) -> None:
    x = array(count)
    v = x[1:]
    assert any(w is v for w in listed()) is noted


def test_what_shows_nothing_is_not_listed() -> None:
    v = array()[1:]
    _stale._views.clear()
    v._seen = None
    note(v)
    assert listed() == []


CHANGES: dict[str, Callable[[Any], None]] = {
    "element": lambda x: x.__setitem__(0, 5.0),
    "in place": lambda x: x.__iadd__(1.0),
    "other view": lambda x: x[2:].__setitem__(0, 5.0),
    "fill": lambda x: x.fill(3.0),
}


@pytest.mark.parametrize("name", list(CHANGES))
def test_a_view_of_what_was_written_lets_go(name: str) -> None:
    x, want = array(), numpy.arange(float(COUNT))
    v, shown = x[1:], want[1:]
    kept = x[:3].copy()
    CHANGES[name](x)
    CHANGES[name](want)
    before = v._node
    let_go()
    assert v._seen is None and v._node is not before and v._node[VALUE] is None
    assert all(w is not v for w in listed())
    assert v._node[AVAL] is aval_of(shown.shape, shown.dtype)  # known all the same
    numpy.testing.assert_array_equal(v, shown)
    numpy.testing.assert_array_equal(kept, numpy.arange(3.0))


def test_a_view_of_what_was_not_written_keeps_what_it_has() -> None:
    x, y = array(), array()
    v, w = x[1:], y[1:]
    x[0] = 5.0
    before = w._node
    let_go()
    assert w._node is before and w._seen is y._node
    assert any(u is w for u in listed()) and all(u is not v for u in listed())


def test_views_that_are_gone_are_forgotten() -> None:
    x = array()
    v = x[1:]
    for _ in range(5):
        note(v)  # listed more than once
    del v
    gc.collect()
    let_go()
    assert listed() == []
    v = x[1:]
    for _ in range(5):
        note(v)
    let_go()
    assert len(listed()) == 1


def test_the_old_version_is_freed() -> None:
    class Memory:
        """What an old version holds, to be referred to weakly."""

    x = array()
    v, memory = x[1:], Memory()
    alive = weakref.ref(memory)
    v._node = leaf(numpy.zeros(COUNT - 1))
    v._node.append(memory)  # dies with the node
    del memory
    x[0] = 2.0
    assert alive() is not None
    let_go()
    assert alive() is None


def test_the_list_is_looked_through_when_it_has_grown() -> None:
    x = array()
    views = [x[k:] for k in range(64)]
    let_go()
    assert len(listed()) == 64
    x[0] = 5.0
    more = x[1:]
    let_go()  # two more would be needed
    assert views[0]._seen is not None
    even_more = [x[k:] for k in range(4)]
    let_go()
    assert all(v._seen is None for v in views)
    assert more._seen is x._node and even_more[0]._seen is x._node


def test_nothing_is_let_go_while_another_thread_writes() -> None:
    x = array()
    v = x[1:]
    x[0] = 5.0
    with write_lock:
        in_thread(let_go)
        assert v._seen is not None
    in_thread(let_go)
    assert v._seen is None
