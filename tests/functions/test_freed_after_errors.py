"""An exception that was caught keeps no array: `x.resize` works, and memory is free at once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest

import lazynp as np

FAILING: dict[str, Callable[[Any], Any]] = {
    "split": lambda x: np.split(x, 2), "hsplit": lambda x: np.hsplit(x, 7),
    "reshape": lambda x: x.reshape(2, 2), "concatenate": lambda x: np.concatenate([x, [[1.0]]]),
    "an index": lambda x: x[7], "+": lambda x: x + np.ones(2), "dot": lambda x: x.dot(np.ones(2)),
    "sum": lambda x: x.sum(axis=3), "stack": lambda x: np.stack([x, np.ones(2)]),
    "take": lambda x: np.take(x, 9), "where": lambda x: np.where(x > 1, x, np.ones(2)),
    "sort": lambda x: np.sort(x, axis=4), "solve": lambda x: np.linalg.solve(x, x),
    "a store": lambda x: x.__setitem__(slice(0, 2), np.ones(3)), "fft": lambda x: np.fft.fft(x, 0),
    "swapaxes": lambda x: np.swapaxes(x, 0, 4), "einsum": lambda x: np.einsum("ij", x),
    "delete": lambda x: np.delete(x, 9), "insert": lambda x: np.insert(x, 9, 1),
    "interp": lambda x: np.interp(x, [1], [1, 2]), "polyfit": lambda x: np.polyfit(x, x[:2], 1),
    "histogram": lambda x: np.histogram(x, -1), "unique": lambda x: np.unique(x, axis=3),
    "roll": lambda x: np.roll(x, 1, axis=4), "matmul": lambda x: x @ np.ones((2, 2)),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILING)
def test_nothing_keeps_the_array(name: str) -> None:
    gc.disable()
    try:
        for _ in range(3):
            x = np.arange(3.0)
            before = sys.getrefcount(x)
            try:
                FAILING[name](x)
            except Exception:
                failed = True
            else:
                failed = False
            assert failed and sys.getrefcount(x) == before
            x.resize(9)
            assert x.shape == (9,)
    finally:
        gc.enable()


def test_growing_asks_nobody_who_refers_to_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """It walked through all objects of the process, at each call."""

    class Holder:
        pass

    def walked(*_: Any) -> Any:
        raise AssertionError("gc.get_referrers")

    monkeypatch.setattr(gc, "get_referrers", walked)
    holder: Any = Holder()
    holder.data = np.zeros((1, 3))
    x = np.zeros(4)
    for n in range(5, 9):
        x.resize(n)
        x[-1] = n
        holder.data.resize((n, 3))
    assert x.tolist() == [0.0] * 4 + [5.0, 6.0, 7.0, 8.0] and holder.data.shape == (8, 3)
    other = x
    with pytest.raises(ValueError, match="cannot resize an array"):
        other.resize(3)
    del other
    part = x[:2]
    with pytest.raises(ValueError, match="cannot resize an array"):
        x.resize(3)
    del part
    x.resize(3)
    assert x.shape == (3,)
