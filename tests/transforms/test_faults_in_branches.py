"""Under `jit`, only a branch or a loop round that runs raises what it would raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np


def picked(x: Any, c: Any) -> Any:
    return x[4] if c > 0 else x[0]


def stored(x: Any, c: Any) -> Any:
    if c > 0:
        x[7] = 1
    return x.sum()


def rounds(x: Any, c: Any) -> Any:
    s = 0.0
    for i in range(6):
        if c > 0:
            s = s + x[i]
        else:
            s = s + 1
    return s


def of_pythons(x: Any, c: Any) -> Any:
    y = x[0]
    if c > 5:
        y = y * {"a": 1}["b"]
    elif c > 2:
        y = y * [1, 2][3]
    elif c > 0:
        y = y / (1 // (x.ndim - 1))
    return y


def operand(x: Any, c: Any) -> Any:
    return 1.0 if c > 0 and x[5] > 1 else 2.0


@pytest.mark.parametrize("f", [picked, stored, rounds, of_pythons, operand])
def test_as_in_python(f: Callable[[Any, Any], Any]) -> None:
    compiled = np.jit(f)
    for c in (-1.0, 1.0, 3.0, 7.0, -2.0):
        found = []
        for m, g in ((numpy, f), (np, compiled)):
            try:
                found.append(float(g(m.array([1.0, 2, 3]), c)))
            except (IndexError, KeyError, ZeroDivisionError) as error:
                found.append(type(error))
        assert found[0] == found[1], c


def no_element(x: Any, c: Any) -> Any:
    while x[0] > c:
        x = x * x[7]
    return x


def of_a_list(x: Any, c: Any) -> Any:
    while x[0] > c:
        x = x / 2 * [1, 2][3]
    return x


def inner_loop(x: Any, c: Any) -> Any:
    while x[0] > c:
        for _ in range(20):
            x[5] = x[5] + 1
    return x


def counted(x: Any, c: Any) -> Any:
    for _ in range(np_int(c)):
        x = x * x[7]
    return x


def counted_with_a_jump(x: Any, c: Any) -> Any:
    s = 0.0
    for _ in range(np_int(c)):
        s = s + 1 // (x.ndim - 1)
        if s > 3:
            break
    return s


def counted_and_raised(x: Any, c: Any) -> Any:
    for _ in range(np_int(c)):
        raise ValueError("a round")
    return x


def np_int(c: Any) -> Any:
    return (c * 1).astype(int)


LOOPS = [no_element, of_a_list, inner_loop, counted, counted_with_a_jump, counted_and_raised]


@pytest.mark.parametrize("f", LOOPS)
def test_a_loop_without_rounds_raises_nothing(f: Callable[[Any, Any], Any]) -> None:
    compiled = np.jit(f)
    for c in (1.5, 0.5, -2.0, 5.0):
        found = []
        for m, g in ((numpy, f), (np, compiled)):
            try:
                out = g(m.array([1.0, 2, 3]), m.float64(c))
                found.append(numpy.asarray(out).tolist())
            except (IndexError, ZeroDivisionError, ValueError) as error:
                found.append((type(error), str(error).split("\n")[0]))
        assert found[0] == found[1], c
