"""Functions that return None on some paths, and what their callers do with it, under `jit`."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp

np: Any = lazynp
RNG = numpy.random.default_rng(0)


def place(x: Any, t: Any) -> Any:
    for i in range(len(x)):
        if x[i] > t:
            return i
    return None


def place_or_nothing(x: Any, t: Any) -> Any:
    for i in range(len(x)):
        if x[i] > t:
            return i


def sum_if_large(x: Any, t: Any) -> Any:
    if x.sum() < t:
        return None
    return x.sum() * 2


def one_of_three(x: Any, t: Any) -> Any:
    if x[0] > t:
        return x[0]
    if x[1] > t:
        return None
    if x[2] > t:
        return x[2]


def place_by_while(x: Any, t: Any) -> Any:
    i = 0
    while i < len(x):
        if x[i] > t:
            return i
        i += 1
    return None


def least_above(x: Any, t: Any) -> Any:
    best = None
    for v in x:
        if v > t and (best is None or v < best):
            best = v
    return best


def pair(x: Any, t: Any) -> Any:
    for i in range(len(x)):
        if x[i] > t:
            return (i, x[i])
    return None


FOUND = [place, place_or_nothing, sum_if_large, one_of_three, place_by_while, least_above]


def users_of(find: Any) -> list[Any]:
    def tested(x: Any, t: Any) -> Any:
        r = find(x, t)
        if r is None:
            return -1.0
        return r * 2.0

    def in_a_ternary(x: Any, t: Any) -> Any:
        r = find(x, t)
        return 0.0 if r is None else r + 1.0

    def in_a_loop(x: Any, t: Any) -> Any:
        n = 0.0
        for k in range(4):
            r = find(x, t + 0.2 * k)
            if r is not None:
                n += r
        return n

    def in_a_closure(x: Any, t: Any) -> Any:
        def of(y: Any) -> Any:
            r = find(y, t)
            if r is not None and r > 0.5:
                return r + y[0]
            return y[1]

        return of(x) + of(x * 2)

    return [tested, in_a_ternary, in_a_loop, in_a_closure]


def of_a_pair(x: Any, t: Any) -> Any:
    r = pair(x, t)
    if r is None:
        return -1.0
    i, v = r
    return i + v


CALLS = [*(f for find in FOUND for f in users_of(find)), of_a_pair]
LIMITS = [0.2, 0.5, 0.9, 1.5, 5.0]


@pytest.mark.parametrize("k", range(len(CALLS)))
def test_what_a_function_returns_may_be_none(k: int) -> None:
    jitted = np.jit(CALLS[k])
    for x in RNG.random((3, 8)):
        for t in LIMITS:
            got = jitted(np.asarray(x), np.asarray(t))
            assert float(got) == pytest.approx(float(CALLS[k](x, t)))
    assert "unrolled" not in str(np.explain(jitted))


@pytest.mark.parametrize("find", FOUND)
def test_a_program_cannot_return_none(find: Any) -> None:
    with pytest.raises(TypeError, match="is None, |returns a value or None"):
        float(np.jit(find)(np.zeros(8), np.asarray(5.0)))


def uses(x: Any, t: Any) -> Any:
    return place(x, t) + 1


def test_other_uses_of_what_is_none() -> None:
    with pytest.raises(TypeError, match="the result is None"):
        float(np.jit(uses)(np.zeros(8), np.asarray(5.0)))
    assert int(np.jit(uses)(np.arange(8.0), np.asarray(2.5))) == 4


def hot(x: Any, t: Any) -> Any:
    a = b = None
    for v in x:
        if v > t:
            a = v
        elif v == t:
            b = v
    if a is not None:
        return a
    return b


def test_calls_that_become_programs_give_none() -> None:
    """Nobody has asked for a program here: what none of them can do is Python's."""
    x, limits = np.arange(500) / 7, (0.0, 3000.0, -300.0, 5 / 7)
    wanted = [hot(numpy.arange(500) / 7, t) for t in limits]
    for _ in range(40):
        for t, want in zip(limits, wanted, strict=True):
            assert hot(x, t) == want
