"""Programs of hot functions that are traced again, in the midst of a call, for another number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.promoting import front, promoting

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def adaptive() -> Iterator[None]:
    with promoting():
        yield


def logged(a, n):
    log = []
    for _ in range(n):
        for j in range(1, len(a) - 1):
            a[j] = 0.5 * (a[j - 1] + a[j + 1])
        log.append(float(a[3]))
    return log


def keyed(a, n):
    found = {}
    for i in range(n):
        a[1:-1] = 0.5 * (a[2:] + a[:-2])
        found[f"round {i}"] = a.sum()
    return found


class Run:
    def __init__(self) -> None:
        self.a = np.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0])
        self.tag, self.count = "", 0

    def step(self, n: int) -> Any:
        log = [float(logged(self.a, 1)[0]) for _ in range(n)]
        self.count, self.tag = len(log), f"{len(log)} rounds"
        return log


NUMBERS = [9, 9, 9, 10, 10, 11, 12, 12, 13, 14, 9, 15, 15, 16, 30, 30, 3, 3, 40, 41, 9, 9]


@pytest.mark.parametrize("f", [logged, keyed])
def test_results_have_the_length_of_their_own_call(f: Any) -> None:
    hot = front(f)
    for n in NUMBERS:
        ours, theirs = np.ones(6), numpy.ones(6)
        ours[0] = theirs[0] = 2.0
        got, want = f(ours, n), hot.plain(theirs, n)
        assert len(got) == len(want) == n
        if isinstance(want, dict):
            assert list(got) == list(want)
            got, want = list(got.values()), list(want.values())
        numpy.testing.assert_allclose(np.array(got), want, rtol=1e-12)
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert hot.programs, hot.explained()


def test_and_so_have_attributes() -> None:
    hot, mine, other = front(Run.step), Run(), Run()
    for n in NUMBERS:
        got, want = mine.step(n), hot.plain(other, n)
        assert (len(got), mine.count, mine.tag) == (n, n, f"{n} rounds")
        numpy.testing.assert_allclose(np.array(got), np.array(want), rtol=1e-12)
        numpy.testing.assert_allclose(mine.a, other.a, rtol=1e-12)
