"""`:=` in a later operand of `and` and `or`, under `jit`: it is done where Python does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np


def relaxed(x: Any, g: Any) -> Any:
    if g[0] > 0 and (alt := x[0] + g[0]) < 3:
        x[0] = alt
    return x


def otherwise(x: Any, g: Any) -> Any:
    if g[0] > 5 or (alt := x[0] + g[0]) < 3:
        x[1] = g[0]
    else:
        x[1] = alt
    return x


def rounds(x: Any, g: Any) -> Any:
    n = 0
    while n < 10 and abs(x[0] - g[0]) < 99 and (error := abs(x[0] - g[0])) > 1e-3:
        x[0] = 0.5 * (x[0] + g[0]) - 0.0 * error
        n += 1
    return x, n


def picked(x: Any, g: Any) -> Any:
    y = x[0] if g[0] > 0 and (t := x[1]) > 1 and (u := t * 2) > 3 and u < 99 else x[2]
    return y


def turned(x: Any, g: Any) -> Any:
    return x[0] if not (g[0] > 0 and (t := x[1]) > 1) else t * 2


def in_a_loop(x: Any, g: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        if x[i] > 1 and (q := x[i] * g[0]) > 2 and q < 5:
            total += q
        elif x[i] > 0 and (q := x[i] + 1) > 1.5:
            total -= q
    return total


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    relaxed, otherwise, rounds, picked, turned, in_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("g", [1.0, -1.0, 7.0])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_in_python(program: Callable[[Any, Any], Any], g: float) -> None:
    compiled = np.jit(program)
    for values in ([0.0, 2, 3], [2.5, 0.5, 1], [1.0, 5, 0]):
        want = program(numpy.array(values), numpy.full(3, g))
        got = compiled(np.array(values), np.full(3, g))
        for a, b in zip(got if isinstance(want, tuple) else (got,),
                        want if isinstance(want, tuple) else (want,), strict=True):  # fmt: skip
            numpy.testing.assert_allclose(numpy.asarray(a), b, rtol=1e-15)
