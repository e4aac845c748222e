"""Arrays that a branch picks, and that are written afterwards: refused, or as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np


def filled(np, x, c):
    y = x if c > 0 else x * 2
    x.fill(7)
    return y


def added(np, x, c):
    z = x * 2
    y = z if c > 0 else x
    z += 7
    return y


def part_added(np, x, c):
    z = x * 2
    y = z[1:] if c > 0 else x[1:]
    z += 7
    return y.sum()


def sorted_in_place(np, x, c):
    y = x * 3
    if c > 0:
        y = x
    x.sort()
    return y


def copied_into(np, x, c):
    y = x if c > 0 else x * 2
    np.copyto(x, 1)
    return y[1:] + 1


def out_of_a_ufunc(np, x, c):
    y = x if c > 0 else x * 2
    np.add(x, 1, out=x)
    return y


def at(np, x, c):
    y = x if c > 0 else x * 2
    np.add.at(x, [0], 5)
    return y


def in_a_list(np, x, c):
    ys = [x, x * 2]
    y = ys[0] if c > 0 else ys[1]
    x *= 3
    return y


def by_a_function(np, x, c):
    def change(a):
        a.fill(3)

    y = x * 1
    if c > 0:
        y = x
    change(x)
    return y


def view_of_it_written(np, x, c):
    y = x if c > 0 else x * 2
    x[1:].fill(9)
    return y


def read_in_a_loop_that_writes(np, x, c):
    y = x if c > 0 else x * 2
    total = 0.0
    for _ in range(40):
        total = total + y.sum()
        np.multiply(x, 1.5, out=x)
    return total


def written_in_a_branch(np, x, c):
    y = x if c > 0 else x * 2
    if c > 1:
        np.negative(x, out=x)
    return y


REFUSED = [
    filled, added, part_added, sorted_in_place, copied_into, out_of_a_ufunc, at, in_a_list,
    by_a_function, view_of_it_written, read_in_a_loop_that_writes, written_in_a_branch,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED)
@pytest.mark.parametrize("c", [-1.0, 1.0])
def test_an_array_that_may_be_out_of_date_is_refused(
    function: Callable[..., Any], c: float
) -> None:
    x = np.array([3.0, 1.0, 2.0])
    with pytest.raises(TypeError, match="a branch gives an array another name"):
        np.jit(lambda x, c: function(np, x, c))(x, np.array(c))
    assert x.tolist() == [3, 1, 2]


def used_before(np, x, c):
    y = x if c > 0 else x * 2
    total = y.sum()
    x.fill(7)
    return total


def bound_anew(np, x, c):
    y = x if c > 0 else x * 2
    z = y + 1
    y = z
    np.add(x, 1, out=x)
    return y


def copy_picked(np, x, c):
    y = x.copy() if c > 0 else x * 2
    x.fill(7)
    return y


def picked_each_round(np, x, c):
    w, total = x * 2, 0.0
    for _ in range(40):
        v = x if c > total else w
        total = total + v.sum()
        np.multiply(x, 0.5, out=x)
    return total


def other_array_written(np, x, c):
    z = x * 2
    y = x if c > 0 else x * 3
    z.fill(7)
    return y + z


def name_bound_not_written(np, x, c):
    y = x if c > 0 else x * 2
    x = x + 1
    return x * y


KEPT = [
    used_before, bound_anew, copy_picked, picked_each_round, other_array_written,
    name_bound_not_written,
]  # fmt: skip


@pytest.mark.parametrize("function", KEPT)
@pytest.mark.parametrize("c", [-1.0, 1.0])
def test_what_cannot_be_out_of_date_is_as_in_numpy(function: Callable[..., Any], c: float) -> None:
    theirs, ours = numpy.array([3.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.0])
    want = function(numpy, theirs, c)
    got = np.jit(lambda x, c: function(np, x, c))(ours, np.array(c))
    numpy.testing.assert_array_equal(got, want)
    numpy.testing.assert_array_equal(ours, theirs)
