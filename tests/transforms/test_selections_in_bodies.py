"""`x[m] *= 2` with a traced mask, in bodies of loops and branches that are staged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy
import pytest

import lazynp as np


def in_a_branch(np, x):
    x = x.copy()
    if x.sum() > 0:
        x[x > 0] *= 0.5
    return x


def in_both_branches(np, x):
    x = x.copy()
    if x[0] > 0:
        x[x > 0] /= 2
    else:
        x[x < 0] -= 1
    return x


def in_a_while(np, x):
    x = x.copy()
    while x.sum() > 0.1:
        x[x > 0] -= 0.3
    return x


def in_a_loop(np, x):
    x = x.copy()
    for i in range(200):
        x[x > 0.01 * i] *= 0.99
    return x


def in_a_loop_with_a_break(np, x):
    x = x.copy()
    for _ in range(50):
        m = x > 0.5
        x[m] *= 0.9
        if x.max() < 0.6:
            break
    return x


def by_a_reduction(np, x):
    x = x.copy()
    if x.sum() > 0:
        m = x > 0
        x[m] += x[m].mean()
    return x


def by_a_selection(np, x):
    x = x.copy()
    if x.sum() > 0:
        m = x > 0
        x[m] *= (x * 3)[m]
    return x


def by_every_operator(np, x):
    x = x.copy()
    if x.sum() > 0:
        m = x > 0
        x[m] += 2
        x[m] -= 0.5
        x[m] *= 3
        x[m] /= 7
        x[m] **= 2
        x[~m] //= 0.37
        x[m] %= 0.3
    return x


def named(np, x):
    x = x.copy()
    if x.sum() > 0:
        m = x > 0
        y = x[m]
        z = y
        y *= 2
        x[m] = z
        y += 1
        return x.sum() + y.sum()
    return x.sum() * 3


def of_rows(np, x):
    x = np.outer(x, x + 2)
    if x.sum() > 0:
        x[x[:, 0] > 0] *= 3
        x[:, x[1] < 0] += 1
        x[x > 1] -= 1
    return x


def of_a_view(np, x):
    x = x.copy()
    y = x[1:]
    while x.sum() > 0.5:
        y[y > 0] *= 0.8
        x[0] -= 0.2
    return x


def of_an_attribute(np, x):
    s = SimpleNamespace(x=x.copy())
    if x.sum() > 0:
        s.x[s.x > 0] *= 2
    return s.x


def of_a_list(np, x):
    arrays = [x.copy(), x * 2]
    if x.sum() > 0:
        arrays[1][arrays[1] > 0] *= 2
    return arrays[0] + arrays[1]


def nested(np, x):
    x = x.copy()
    while x.sum() > 0.3:
        if x[1] < 0:
            x[x < 0] *= 1.1
        else:
            x[x > 1] *= 0.7
    return x


FUNCTIONS = [
    in_a_branch, in_both_branches, in_a_while, in_a_loop, in_a_loop_with_a_break, by_a_reduction,
    by_a_selection, by_every_operator, named, of_rows, of_a_view, of_an_attribute, of_a_list,
    nested,
]  # fmt: skip
POINTS = [[1.03, -2.13, 3.21], [-1.0, -2.5, 0.4], [0.7, -0.1, 0.2]]


def _close(got: Any, want: Any, tol: float = 1e-12) -> None:
    numpy.testing.assert_allclose(got, want, rtol=tol, atol=tol)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_as_numpy(f: Any) -> None:
    jitted = np.jit(lambda x: f(np, x))
    wanted = [f(numpy, numpy.array(p)) for p in POINTS]
    for p, want in zip(POINTS, wanted, strict=True):
        x = np.array(p)
        _close(jitted(x), want)
        assert x.tolist() == p
    _close(np.vmap(jitted)(np.array(POINTS)), wanted)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives(f: Any) -> None:
    jitted = np.jit(lambda x: (f(np, x) ** 2).sum())
    for p in POINTS:
        want, h = [], 1e-6
        for d in numpy.eye(3):
            high, low = [(f(numpy, p + s * h * d) ** 2).sum() for s in (1, -1)]
            want.append((high - low) / (2 * h))
        x = np.array(p)
        _close(np.grad(lambda x: (f(np, x) ** 2).sum())(x), want, 1e-6)
        _close(np.jacfwd(jitted)(x), want, 1e-6)
        _close(np.grad(jitted)(x), want, 1e-6)
        _close(np.jit(np.grad(lambda x: (f(np, x) ** 2).sum()))(x), want, 1e-6)


def test_another_name_from_outside_is_refused() -> None:
    """The write would not reach it."""

    def f(x: Any) -> Any:
        y = x[x > 0]
        z = y
        if x.sum() > 0:
            y *= 2
        return z.sum()

    with pytest.raises(TypeError):
        np.jit(f)(np.array([1.0, -2, 3]))
