"""`with np.errstate(...)` in hot functions: programs ignore floating-point errors anyway."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.promoting import front, promoting

XS = [numpy.array([1.0, 2, -3, 0] * 4), numpy.array([0.0, 2, -3, 0] * 4)]


def around(x: Any) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):
        y = np.exp(x * 400)
        for i in range(x.shape[0]):
            if x[i] > 0:
                y[i] = 1.0
    return y


def within(x: Any) -> Any:
    s = 0.0
    for i in range(x.shape[0]):
        with np.errstate(all="ignore"):
            s += 1 / x[i]
    return s


def returning(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        if x[0] > 0:
            return x / 0
        return x / 2


def several(x: Any) -> Any:
    with np.errstate(divide="ignore"), np.errstate(invalid="ignore"):
        return x / 0


def raising(x: Any) -> Any:
    with np.errstate(divide="raise"):
        return 2 / x


def calling(x: Any) -> Any:
    with np.errstate(divide="ignore", call=print):
        return x + 1


def by_default(x: Any) -> Any:
    with np.errstate():
        return x + 1


@pytest.fixture
def hot() -> Iterator[None]:
    with promoting():
        yield


def outcome(f: Any, x: Any) -> Any:
    try:
        return repr(f(np.asarray(x)))
    except FloatingPointError as error:
        return repr(error)


@pytest.mark.own_policy
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [around, within, returning, several, raising, calling, by_default])
def test_blocks_that_only_ignore(f: Any, hot: None) -> None:
    before = np.geterr(), numpy.geterr()
    want = [outcome(f, x) for x in XS]
    made = front(f)
    for _ in range(3):
        assert [outcome(f, x) for x in XS] == want
        assert before == (np.geterr(), numpy.geterr())
    refused = f in (raising, calling, by_default)
    assert made.programs == (not refused), made.explained()
    assert ("errstate" in made.explained()) == refused
