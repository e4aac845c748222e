"""Arrays that change places in a staged loop: `u, v = v, u` after a round that writes one."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np


def two(u, n):
    v = u.copy()
    for _ in range(n):
        v[1:-1] = 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:]
        u, v = v, u
    return u, v


def three(u, n):
    a, b, c = u, u * 2, u * 3
    for i in range(n):
        a[1:] += 0.5 * b[:-1] + i
        a, b, c = b, c, a
    return a, b, c


def both_arguments(u, v, n):
    for _ in range(n):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u[0] += 1
        u, v = v, u
    return u


def nested(u, n):
    v = u.copy()
    for _ in range(3):
        for i in range(n):
            v[1:] = u[:-1] + 0.1 * i
            u, v = v, u
        u[0] *= 0.5
    return u


def backwards(u, n):
    v = u.copy()
    for i in range(n - 1, -1, -1):
        v[:] = u * 0.5 + i
        u, v = v, u
    return v


def of_an_array(u, n):
    v = u.copy()
    weights = u[:1] * np.ones(n)
    for w in weights:
        v[:] = u * 0.5 + w
        u, v = v, u
    return u


def renewed(u, n):
    for i in range(n):
        new = u.copy()
        new[1:-1] = 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:]
        new[0] += i
        u = new
    return u


def renewed_until(u, n):
    u, done = u * 1.0, u[0] * 0
    while done < n:
        new = np_like(u).empty_like(u)
        new[:] = 0.5 * u
        new[1:] -= 0.25 * u[:-1]
        done += np_like(u).abs(new - u).max() * 0 + 1
        u = new
    return u


def renewed_and_turned(u, n):
    for i in range(n):
        new = u * 0.5
        new[0] = i
        u = new[::-1]
    return u


def remembered(u, n):
    """A round writes the array that it finds under another name."""
    new = u * 1.0
    for i in range(n):
        new[0] += 1
        total = u[0] + i
        new = u.copy()
        new[1:] = 0.5 * u[:-1] + total
        u = new
    return u


def renewed_now_and_then(u, n):
    new = u * 2.0
    for i in range(n):
        if i % 3 == 0:
            new = u.copy()
        new[1] += u[0]
        u = new
    return u


def until_it_stays(u, n):
    w = u * 1.0
    w[0] = n  # before the branch gives w another name
    while True:
        new = w.copy()
        new[1:] = np_like(u).minimum(w[1:], 2 * w[:-1])
        if (new == w).all():
            return w
        w = new


FUNCTIONS = [
    two, three, both_arguments, nested, backwards, of_an_array, renewed, renewed_until,
    renewed_and_turned, until_it_stays,
]  # fmt: skip
OTHERS = [remembered, renewed_now_and_then]  # one array under two names as a round begins


def np_like(x: Any) -> Any:
    return numpy if type(x) is numpy.ndarray else np


def arguments(f: Any, n: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    count = f.__code__.co_argcount - 1
    given = [numpy.random.default_rng([seed, k]).random(7) for k in range(count)]
    return [*map(numpy.array, given), n], [*map(np.array, given), n]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 9, 10, 11, 24])
@pytest.mark.parametrize("f", FUNCTIONS + OTHERS, ids=lambda f: f.__name__)
def test_each_array_is_written_in_its_place(f: Any, n: int) -> None:
    theirs, ours = arguments(f, n)
    want, got = f(*theirs), np.jit(f, static_argnums=-1)(*ours)
    for g, w in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        numpy.testing.assert_allclose(g, w, rtol=1e-12)
        assert [g is x for x in ours] == [w is x for x in theirs]
    for g, w in zip(ours, theirs, strict=True):
        numpy.testing.assert_allclose(g, w, rtol=1e-12)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_loop_is_staged(f: Any) -> None:
    jitted = np.jit(f, static_argnums=-1)
    few, many = (len(str(jitted.lower(*arguments(f, n)[1]).jaxpr)) for n in (24, 2400))
    assert many < 1.2 * few + 100


def test_gradients() -> None:
    def loss(u: Any, n: int, **options: Any) -> Any:
        w = u * 1.0
        return (np.jit(two, **options)(w, n)[0] ** 2).sum() + (w**3).sum()

    _, (u, _) = arguments(two, 12)
    got, want = (np.grad(loss)(u, 12, **o) for o in ({}, {"loops": "unroll"}))
    numpy.testing.assert_allclose(got, want, rtol=1e-12)


def test_vmap() -> None:
    _, (u, _) = arguments(two, 12)
    got = np.vmap(lambda u: np.jit(two)(u * 1.0, 12)[0])(np.stack([u, 2 * u]))
    want = np.jit(two)(u.copy(), 12)[0]
    numpy.testing.assert_allclose(got, np.stack([want, 2 * want]), rtol=1e-12)


def test_an_unknown_number_of_rounds_is_refused() -> None:
    """Where each array ends is not known; a copy of the argument ends anywhere."""

    def until(u, limit):
        v = u.copy()
        while u.sum() > limit:
            v[:] = u * 0.5
            u, v = v, u
        return u

    def of_a_copy(u, limit):
        return until(u.copy(), limit)

    u = np.ones(5)
    with pytest.raises(TypeError, match="`u` and `v` change places and are written in place"):
        np.jit(until)(u, 0.3)
    want = until(numpy.ones(5), 0.3)
    numpy.testing.assert_allclose(np.jit(of_a_copy)(u, 0.3), want)
    assert (u == 1).all()


def test_an_array_that_is_written_in_the_next_round_gets_no_other_name() -> None:
    def f(u: Any, n: int) -> Any:
        w, y = u * 1.0, u * 2.0
        for i in range(n):
            w[0] += 1
            if u[1] > i:
                y = w
        return y

    u = np.ones(4) * 0.5
    with pytest.raises(TypeError, match="gives an array another name"):
        np.jit(f, static_argnums=1)(u, 20)
    numpy.testing.assert_allclose(f(u, 20), f(numpy.ones(4) * 0.5, 20))
