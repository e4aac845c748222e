"""A traced branch may return an array, or bind it to another name, and later code may write it:
where nothing else refers to the array, there is no other name left.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np


def given(np, x, t):
    y = x * 2
    if x.sum() > t:
        return y
    return x * 3


def in_a_dict(np, x, t):
    y = x * 2
    if x.sum() > t:
        return {"x": y, "n": 1}
    return {"x": x * 3, "n": 2}


def halved(np, x, t):
    while True:
        x = x * 0.5
        if abs(x).max() < t:
            return x


def halved_in_a_tuple(np, x, t):
    n = 0
    while True:
        x = x * 0.5
        n += 1
        if abs(x).max() < t:
            return x, n


def halved_in_a_dict(np, x, t):
    while True:
        x = x * 0.5
        if abs(x).max() < t:
            return {"x": x}


def found_in_a_loop(np, x, t):
    for _ in range(20):
        x = x * 0.9
        if x.max() < t:
            return x
    return x - 1


def written_before(np, x, t):
    y = x * 2
    if x.sum() > t:
        y[1] = -1
        return y
    y[2] = -2
    return y * 3


def bound_to_another(np, x, t):
    y = x * 2
    if x.sum() > t:
        z = y
    else:
        z = x - 1
    z[1] += 5
    return z


def bound_in_each_round(np, x, t):
    total = x * 0
    for i in range(12):
        y = x * i
        if y.sum() > t:
            z = y
        else:
            z = y * 2
        z[0] += i
        total += z
    return total


FUNCTIONS = [
    given, in_a_dict, halved, halved_in_a_tuple, halved_in_a_dict, found_in_a_loop, written_before,
    bound_to_another, bound_in_each_round,
]  # fmt: skip


@pytest.mark.parametrize("t", [0.3, 3.0, 100.0])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_nothing_else_refers_to_may_be_written(function: Any, t: float) -> None:
    def later(np: Any, x: Any, t: Any) -> Any:
        r = function(np, x, t)
        r = r["x"] if isinstance(r, dict) else r[0] if isinstance(r, tuple) else r
        r[0] = 7
        r *= 2
        return r, r.sum()

    x = numpy.arange(4.0)
    want = later(numpy, x.copy(), t)
    y = np.array(x)
    got = np.jit(lambda x, t: later(np, x, t))(y, t)
    for a, b in zip(got, want, strict=True):
        numpy.testing.assert_allclose(a, b)
    numpy.testing.assert_array_equal(y, x)


# -- where something does --------------------------------------------------------------------------


def of_the_caller(np, x, t):
    def inner(p):
        if p.sum() > t:
            return p
        return p * 2

    y = x * 2
    r = inner(y)
    r[0] = 7
    return r.sum() + y.sum()


def in_a_list(np, x, t):
    y = x * 2
    held = [y]
    if x.sum() > t:
        z = y
    else:
        z = x - 1
    z[1] += 5
    return z, held[0] + 0


def of_two_names(np, x, t):
    y = x * 2
    w = y
    if x.sum() > t:
        z = y
    else:
        z = x - 1
    z[1] += 5
    return z + w


def read_by_a_function(np, x, t):
    y = x * 2

    def total():
        return y.sum()

    if x.sum() > t:
        z = y
    else:
        z = x - 1
    z[1] += 5
    return z, total()


def seen_by_a_view(np, x, t):
    y = x * 2
    part = y[1:]
    if x.sum() > t:
        z = y
    else:
        z = x - 1
    z[1] += 5
    return z, part + 0


def a_view(np, x, t):
    base = x * 2
    y = base[1:]
    if x.sum() > t:
        z = y
    else:
        z = x[1:] - 1
    z[1] += 5
    return z, base + 0


def read_in_the_next_round(np, x, t):
    y, total = x * 2, x * 0
    for i in range(12):
        if y.sum() > t + i:
            z = y
        else:
            z = y * 2
        z[0] += i
        total += z
    return total


def an_argument(np, x, t):
    if x.sum() > t:
        z = x
    else:
        z = x * 2
    z[0] = 7
    return z


def in_two_places(np, x, t):
    y = x * 2
    if x.sum() > t:
        a, b = y, y
    else:
        a, b = x + 1, x + 2
    a[0] = 7
    return a, b + 0


OTHERS = [
    of_the_caller, in_a_list, of_two_names, read_by_a_function, seen_by_a_view, a_view,
    read_in_the_next_round, an_argument, in_two_places,
]  # fmt: skip


@pytest.mark.parametrize("t", [-3.0, 3.0, 100.0])
@pytest.mark.parametrize("function", OTHERS)
def test_what_something_refers_to_is_right_or_refused(function: Any, t: float) -> None:
    x, y = numpy.arange(4.0), np.arange(4.0)
    want = function(numpy, x, t)
    try:
        got = np.jit(lambda x, t: function(np, x, t))(y, t)
    except TypeError as error:
        assert "another name" in str(error) or "written in place" in str(error)
        assert y.tolist() == [0, 1, 2, 3]
        return
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for a, b in pairs:
        numpy.testing.assert_allclose(a, b)
    numpy.testing.assert_array_equal(y, x)
