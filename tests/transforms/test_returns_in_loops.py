"""`return` inside loops that write arrays: values, what becomes of the arguments, and which arrays
are the same object, as in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import pytest

import lazynp

np: Any = lazynp


def sweep(u: Any, t: Any) -> Any:
    for _ in range(100):
        old = u.copy()
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        if np.abs(u - old).max() < t:
            return u
    return u


def with_rounds(u: Any, t: Any) -> Any:
    for it in range(100):
        old = u.copy()
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        if np.abs(u - old).max() < t:
            return u, it
    return u, -1


def endless(u: Any, t: Any) -> Any:
    k = 0
    while True:
        u[1:-1] *= 0.5 + t / 10
        k += 1
        if u[1] < 0.1 or k > 20:
            return u, k


def named_anew(u0: Any, t: Any) -> Any:
    u = u0.copy()
    for _ in range(60):
        old = u
        u = u.copy()
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        if np.abs(u - old).max() < t:
            return u
    return u


def nested(y: Any, t: Any) -> Any:
    for _ in range(5):
        for _ in range(9):
            y[0] += t
            if y[0] > 4.0:
                return t + y[0], y
        y[:] = np.tanh(y)
    return t, y


def of_parts(y: Any, t: Any) -> Any:
    for k in range(12):
        y[0] += t
        if y[0] > 2:
            return y.sum(), y, k + 1, (y, 2)
    return y.sum(), y, 0, (y, 3)


def two_returns(y: Any, t: Any) -> Any:
    for k in range(50):
        y[0] += t
        if y[0] > 3.0:
            return y, k
        y[1] -= t
        if y[1] < -1.0:
            return y, -k
    y[2] = 7.0
    return y, -1


def with_an_else(y: Any, t: Any) -> Any:
    for k in range(10):
        y[0] += t
        if y[0] > 2.5:
            return y, k
    else:
        y[1] = 7.0
    y[1] += 1
    return y, -1


def in_a_branch(y: Any, t: Any) -> Any:
    if t > 0.5:
        while y[0] < 3:
            y += t
            if y[1] > 1:
                return y
        y *= 2
    else:
        y -= 1
    y[0] = 9
    return y


def of_a_helper(y: Any, t: Any) -> Any:
    def inner(z: Any) -> Any:
        for _ in range(30):
            z[0] += t
            if z[0] > 2:
                return z
        return z

    w = inner(y)
    w[1] = 5.0
    return y, w


def of_a_view(y: Any, t: Any) -> Any:
    v = y[:2]
    for i in range(50):
        v[i % 2] += t
        if y[0] > 2:
            return v
    return v


def swapped(y: Any, t: Any) -> Any:
    a, b = y.copy(), y * 2
    for _ in range(12):
        a, b = b, a
        a[0] += t
        if a[0] > 4:
            return b, a
        b[1] -= t
    return a, b


def after_a_break(y: Any, t: Any) -> Any:
    n = 0
    for i in range(20):
        for k in range(20):
            y[k % 2] += t
            n += 1
            if y[0] > 3.0:
                return y, i, k, n
            if y[1] > 2.5:
                break
        if n > 50:
            return y, -1, -1, n
    return y, 0, 0, n


class Found(NamedTuple):
    y: Any
    rounds: Any


def in_a_context(y: Any, t: Any) -> Any:
    with np.errstate(all="ignore"):
        for k in range(40):
            y[0] += t
            if y[0] > 3:
                return y, k
    y[1] = 9.0
    return y * 2, -1


def context_in_a_loop(y: Any, t: Any) -> Any:
    for k in range(40):
        with np.errstate(all="ignore"):
            y[0] += t
            if y[0] > 3:
                return y, k
    return y * 2, -1


def with_finally(y: Any, t: Any) -> Any:
    try:
        for k in range(40):
            y[0] += t
            if y[0] > 3:
                return y, k
    finally:
        y[1] = 7.0
    return y * 2, -1


def finally_in_a_loop(y: Any, t: Any) -> Any:
    for k in range(20):
        try:
            y[0] += t
            if y[0] > 3:
                return y, k
        finally:
            y[1] += 1.0
    return y, -1


def finally_binds(y: Any, t: Any) -> Any:
    z = y
    for k in range(20):
        try:
            y = y + t
            if y[0] > 3:
                return y.sum(), k
        finally:
            z = y
    return z.sum(), -1


def with_handlers(y: Any, t: Any) -> Any:
    for k in range(20):
        try:
            y[0] += t
            if y[0] > 3:
                return y, k
            if y[0] < -3:
                raise ValueError
        except ValueError:
            y[1] = 7.0
            return y, -k
    return y, -1


def in_a_dict(y: Any, t: Any) -> Any:
    k = 0
    while True:
        y[0] += 1
        k += 1
        if y[0] * t > 3 or k > 30:
            return {"y": y, "k": k, "sum": y.sum()}


def in_an_object(y: Any, t: Any) -> Any:
    for k in range(30):
        y[0] += t
        if y[0] > 3:
            return Found(y, rounds=k + 1)
    return Found(y, rounds=-1)


def in_a_list(y: Any, t: Any) -> Any:
    for k in range(30):
        y[0] += t
        if y[0] > 3:
            return [y, [k, y.sum()]]
    return [y, [-1, 0.0]]


def in_an_else(y: Any, t: Any) -> Any:
    for k in range(30):
        y[0] += t
        if y[0] > 3:
            return y, k
    else:
        return y, -1


FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    sweep, with_rounds, endless, named_anew, nested, of_parts, two_returns, with_an_else,
    in_a_branch, of_a_helper, of_a_view, swapped, after_a_break, in_a_context, context_in_a_loop,
    with_finally, finally_in_a_loop, finally_binds, with_handlers, in_a_dict, in_an_object,
    in_a_list, in_an_else,
]  # fmt: skip


def flat(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    return [x for part in tree for x in flat(part)] if isinstance(tree, (tuple, list)) else [tree]


def outcome(module: Any, function: Callable[[Any, Any], Any], t: float) -> list[Any]:
    global np
    y = module.array([1.0, 0.0, 0.5, 4.0])
    np = module
    try:
        found = flat(function(y, module.float64(t)))
    finally:
        np = lazynp
    return [*(numpy.asarray(x).tolist() for x in found), numpy.asarray(y).tolist()]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_arguments(function: Callable[[Any, Any], Any]) -> None:
    staged = lazynp.jit(function)  # one program for all of them
    for t in (0.7, 0.1, 1e-3, -0.5, 0.7):
        want = outcome(numpy, function, t)
        got = outcome(lazynp, staged, t)
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            numpy.testing.assert_allclose(g, w, rtol=1e-12, err_msg=str(t))


def test_a_helper_gives_the_array_itself() -> None:
    """A write to what it returned, after one loop or another, is one to its argument."""
    y = lazynp.array([1.0, 0.0])
    result, same = lazynp.jit(of_a_helper)(y, 0.7)
    assert y.tolist() == result.tolist() == same.tolist() == [2.4, 5.0]


def test_derivatives() -> None:
    def loss(y: Any) -> Any:
        u, it = with_rounds(y.copy(), 1e-3)
        return (u * u).sum() + it

    y = lazynp.array([1.0, 0.0, 0.5, 4.0])
    got = numpy.asarray(lazynp.grad(lazynp.jit(loss))(y))
    for k in range(4):
        d = numpy.zeros(4)
        d[k] = 1e-6
        there, back = (float(loss(lazynp.asarray(numpy.asarray(y) + s * d))) for s in (1, -1))
        assert abs(got[k] - (there - back) / 2e-6) < 1e-5
