"""Lists, dicts and objects that a jitted function makes in any way may be changed by branches; and
builtins of traced truths.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np


class Cell:
    def __init__(self) -> None:
        self.v = 0.0


def repeated(np, x):
    m = [[0.0] * 2, [0.0] * 2]
    if x[0] > 0:
        m[0][0] = x[1]
    return m[0][0], m[1][0]


def repeated_in_a_comprehension(np, x):
    m = [[0.0] * 2 for _ in range(3)]
    if x[0] > 0:
        m[2][1] = x[1]
    return m[2][1], m[0][1]


def the_same_row_twice(np, x):
    m = [[0.0] * 2] * 2
    if x[0] > 0:
        m[0][0] = x[1]
    return m[0][0], m[1][0]


def appended(np, x):
    m: list[Any] = []
    for k in range(3):
        m.append([0.0] * (k + 1))
    if x[0] > 0:
        m[1][0] = x[1]
    return m[1][0], m[2][0]


def copied(np, x):
    row = [1.0, 2.0]
    m = [row.copy(), list(row), row[:]]
    if x[0] > 0:
        m[0][0] = x[1]
        m[1][1] = x[2]
    return m[0][0], m[1][1], m[2][0], row[0]


def dicts(np, x):
    m = {k: [0.0] * 2 for k in "ab"}
    n = [{"v": 0.0}.copy() for _ in range(2)]
    if x[0] > 0:
        m["a"][1] = x[1]
        n[1]["v"] = x[2]
    return m["a"][1], m["b"][1], n[1]["v"], n[0]["v"]


def objects(np, x):
    cells = [Cell() for _ in range(3)]
    for k in range(4):
        cells[0].v += x[k]
    if x[0] > 0:
        cells[1].v = x[1]
    return cells[0].v, cells[1].v, cells[2].v


def edit_distance(np, x):
    n = len(x)
    d = [[0] * (n + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        d[i][0] = i
        d[0][i] = i
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            if x[i - 1] == x[n - j]:
                d[i][j] = d[i - 1][j - 1]
            else:
                d[i][j] = 1 + min(d[i - 1][j], d[i][j - 1], d[i - 1][j - 1])
    return (d[n][n],)


MADE = [
    repeated, repeated_in_a_comprehension, the_same_row_twice, appended, copied, dicts, objects,
    edit_distance,
]  # fmt: skip
VECTORS = [[1.0, 2.0, 3.0, 2.0], [-1.0, 2.0, 2.0, 5.0]]


@pytest.mark.parametrize("values", VECTORS)
@pytest.mark.parametrize("function", MADE)
def test_what_a_function_makes_may_change(function: Any, values: list[float]) -> None:
    want = function(numpy, numpy.array(values))
    got = np.jit(lambda x: function(np, x))(np.array(values))
    assert [float(a) for a in got] == [float(b) for b in want]


def test_what_others_hold_is_refused() -> None:
    held = [[0.0] * 2]

    def f(x: Any) -> Any:
        if x[0] > 0:
            held[0][0] = x[1]
        return x

    with pytest.raises(TypeError, match="of an object from outside gets what is only traced"):
        np.jit(f)(np.array([1.0, 2.0]))
    assert held == [[0.0, 0.0]]


def largest_of_some(x):
    return max((v for v in x if v < 2.5), default=-5.0)


def largest_of_none(x):
    return max((v for v in x if v > 50), default=x[1] - 5.0)


def least_of_a_list(x):
    k = 2.0
    return min([v * k for v in x if v > 50], default=k)


def _above(v):
    return v > 1


BUILTINS = [
    lambda x: any([x[0] > 1, x[1] > 1, x[3] > 1]), lambda x: all([x[0] > 1, x[1] > 1]),
    lambda x: any(x > 4), lambda x: all(x > -3), lambda x: all((x[0] > -5, True)),
    lambda x: any(map(_above, x)), lambda x: all(map(_above, x)),
    lambda x: any([False, x[0] > 0]), lambda x: all([True, x[0] > 0]), lambda x: any([1, x[0] > 0]),
    lambda x: max(x > 2), lambda x: min(x > 2), largest_of_some, largest_of_none, least_of_a_list,
]  # fmt: skip


@pytest.mark.parametrize("values", VECTORS)
@pytest.mark.parametrize("k", range(len(BUILTINS)))
def test_builtins_of_traced_truths(k: int, values: list[float]) -> None:
    want = BUILTINS[k](numpy.array(values))
    got = np.jit(BUILTINS[k])(np.array(values))
    assert got == want and isinstance(numpy.asarray(got)[()], numpy.bool_) is isinstance(
        numpy.asarray(want)[()], numpy.bool_
    )


def test_a_part_of_unknown_length_beside_an_array_names_the_cure() -> None:
    def f(x: Any, h: Any, places: Any) -> Any:
        for i in places:
            x[i : i + 3] += h
        return x

    with pytest.raises(ValueError, match=r"\(\?,\) \(3,\) .* write x\[i \+ np.arange\(n\)\]"):
        np.jit(f)(np.zeros(10), np.ones(3), np.array([1, 4, 2]))
