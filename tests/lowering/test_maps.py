"""Memory maps run out: tables are emptied, then compiling is refused; nothing ends the process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import lazynp as np
from lazynp import _plan
from lazynp._memo import sizes
from lazynp.lowering import _maps
from tests.helpers import fresh_start

needs_limit = pytest.mark.skipif(_maps.limit() is None, reason="this system tells of no limit")


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    fresh_start()
    yield
    _maps._left, _maps._full = _maps._EVERY, False


def programs(first: int, last: int) -> None:
    """Programs of these lengths, each compiled."""
    with np.config(execution="compiled", cache="off"):
        for n in range(first, last):
            x = np.arange(5.0)
            for _ in range(n):
                x = np.sin(x) + x
            assert np.isfinite(x).all()


def set_limit(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """As if the maps that there are now were this share of the most."""
    most = int(_maps.count() / share)
    monkeypatch.setattr(_maps, "limit", lambda: most)
    _maps._left = 1


@needs_limit
def test_programs_are_forgotten_when_few_maps_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    programs(1, 12)
    before = dict(sizes())["plans"]
    set_limit(monkeypatch, 0.8)
    programs(12, 14)
    assert before >= 10
    assert dict(sizes())["plans"] <= 4
    assert len(_plan._compiled) <= 4


@needs_limit
def test_compiling_is_refused_when_none_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    programs(1, 2)
    set_limit(monkeypatch, 5.0)
    with pytest.raises(MemoryError, match="memory maps"):
        programs(14, 15)
    with np.config(execution="adaptive"):  # NumPy goes on
        x = np.ones(300_000)
        for _ in range(20):
            x = np.sin(x) * 0.5 + np.cos(x)
        assert np.isfinite(x).all()
    monkeypatch.undo()
    _maps._left = 1
    programs(14, 15)


def test_a_system_that_tells_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_maps, "limit", lambda: None)
    _maps._left = 1
    programs(1, 3)
