"""A branch binds a variable anew, and the array in it is written afterwards: right where nothing
else refers to the old array, refused where something does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

Function = Callable[..., Any]


def once(np, q, c):
    q = q.copy()
    if q.sum() > c:
        q = q * 2
    q[0] = 7
    return q


def by_an_expression(np, q, c):
    q = q.copy()
    q = q if q.sum() > c else q * 2
    q[0] = 3
    q = q * 4 if q.sum() < c else (q + 1 if q[1] > c else q)
    q[1] += 3
    return q


def in_both(np, q, c):
    q = q.copy()
    if q.sum() > c:
        q[1] = 5
        q = q + 1
    else:
        q[2] = 9
    q[0] = 7
    return q


def view_of_itself(np, q, c):
    q = q.copy()
    if q.sum() > c:
        q = q[::-1]
    q[0] = 7
    return q


def exchanged(np, q, c):
    q = q.copy()
    p = q * 3
    if q.sum() > c:
        q, p = p, q
    q[0] = 7
    return q + 2 * p


def handed_on(np, q, c):
    q = q.copy()
    w = q + 1
    if q.sum() > c:
        w = q
        q = q * 2
    q[0] = 7
    w[1] += 2
    return q - w


def in_a_loop(np, q, c):
    q = q.copy()
    for _ in range(20):
        if q.sum() > c:
            q = q - q.mean()
        q[1] += 0.5
    return q


def exchanged_in_a_loop(np, q, c):
    q = q.copy()
    p = q * 2
    for t in range(20):
        if q.sum() > c:
            q, p = p, q
        q[t % 3] += 1
        p[2] *= 0.5
    return q - p


def changing_places(np, q, c):
    q = q.copy()
    p = q * 2
    for t in range(21):
        q, p = p, q
        if q.sum() > c:
            p[1] = 0.25
            if t % 3 == 0:
                q = q * 0.5
            q[2] = 0.5
        p[:] = np.tanh(q + 0.1 * p)
    return q - p


def until(np, q, c):
    q = q.copy()
    t = 0
    while t < 20 and q.sum() < 1000:
        if q.sum() > c:
            q = q * 0.5
        elif q[0] > 3:
            q = q - 1
        q[t % 3] += 1
        t += 1
    return q


def nested(np, q, c):
    q = q.copy()
    for _ in range(20):
        for k in range(10):
            if q.sum() > c:
                q = q * 0.5
            q[k % 3] += 1
        if q[0] > 2:
            q = np.roll(q, 1)
        if q[1] > 1:
            if q[2] > c:
                q = q * 0.5
            q[1] = 3
        q[0] -= 1
    return q


def with_a_helper(np, q, c):
    q = q.copy()

    def total():
        return q.sum()

    if total() > c:
        q = q * 2
    q[0] = 100
    return q + total()


OWN = [
    once, by_an_expression, in_both, view_of_itself, exchanged, handed_on, in_a_loop,
    exchanged_in_a_loop, changing_places, until, nested, with_a_helper,
]  # fmt: skip


@pytest.mark.parametrize("c", [-100.0, 8.0, 100.0])
@pytest.mark.parametrize("f", OWN)
def test_an_array_of_one_variable_may_be_written_after_a_branch(f: Function, c: float) -> None:
    x = np.arange(4.0)
    want = f(numpy, numpy.arange(4.0), c)
    numpy.testing.assert_allclose(np.jit(lambda x, c: f(np, x, c))(x, c), want, rtol=1e-12)
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("f", OWN)
def test_under_vmap_and_grad(f: Function) -> None:
    xs, cs = numpy.arange(12.0).reshape(3, 4), [-100.0, 8.0, 100.0]
    jitted = np.jit(lambda x, c: f(np, x, c))
    got = np.vmap(jitted)(np.array(xs), np.array(cs))
    numpy.testing.assert_allclose(got, [f(numpy, x, c) for x, c in zip(xs, cs)], rtol=1e-12)
    if f is until:  # a `while`: forward mode only
        return
    x = np.array([0.3, 1.2, -0.4, 2.1])
    weights = np.array([1.0, -2.0, 0.5, 3.0])
    plain = np.grad(lambda x: (f(np, x, 1.0) * weights).sum())(x)
    staged = np.grad(lambda x: (jitted(x, 1.0) * weights).sum())(x)
    numpy.testing.assert_allclose(staged, plain, rtol=1e-9)


def another_variable(np, q, c):
    q = q.copy()
    w = q
    if q.sum() > c:
        q = q * 2
    q[0] = 7
    return q, w


def another_by_an_expression(np, q, c):
    q = q.copy()
    w = q
    q = q if q.sum() > c else q * 2
    q[0] = 3
    return q, w


def a_view(np, q, c):
    q = q.copy()
    w = q[:2]
    if q.sum() > c:
        q = q * 2
    q[0] = 7
    return q, w


def an_argument(np, q, c):
    if q.sum() > c:
        q = q * 2
    q[0] = 7
    return q


def a_list(np, q, c):
    q = q.copy()
    held = [q]
    if q.sum() > c:
        q = q + 1
    q[0] = 7
    return q, held[0]


def an_argument_in_a_loop(np, q, c):
    for _ in range(20):
        if q.sum() > c:
            q = q * 0.5
        q[0] += 1
    return q


def another_before_the_loop(np, q, c):
    q = q.copy()
    w = q
    for _ in range(20):
        if q.sum() > c:
            q = q * 0.5
        q[0] += 1
    return q, w


def another_in_the_loop(np, q, c):
    q = q.copy()
    for t in range(20):
        old = q
        if q.sum() > c:
            q = q * 0.5
        q[t % 3] += 1
    return q, old


def the_best_so_far(np, q, c):
    q = q.copy()
    best = q.copy()
    for t in range(20):
        q[t % 3] += 1
        if q.sum() > c:
            best = q
    return q, best


def a_view_in_the_loop(np, q, c):
    q = q.copy()
    total = 0.0
    for _ in range(20):
        w = q[1:]
        if q.sum() > c:
            q = q * 0.5
        q[1:3] += 1
        total += w.sum()
    return q, total


SHARED = [
    another_variable, another_by_an_expression, a_view, an_argument, a_list, an_argument_in_a_loop,
    another_before_the_loop, another_in_the_loop, the_best_so_far, a_view_in_the_loop,
]  # fmt: skip


@pytest.mark.parametrize("c", [-100.0, 100.0])
@pytest.mark.parametrize("f", SHARED)
def test_an_array_that_others_have_is_refused(f: Function, c: float) -> None:
    x = np.arange(4.0)
    with pytest.raises(TypeError, match="another name.*use a copy"):
        np.jit(lambda x, c: f(np, x, c))(x, c)
    assert x.tolist() == [0, 1, 2, 3]
