"""`x[m]` with a traced mask, in variables that branches and loops bind anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

Program = Callable[..., Any]
PROGRAMS: list[Program] = []


def program(f: Program) -> Program:
    PROGRAMS.append(f)
    return f


@program
def doubled(np: Any, x: Any) -> Any:
    y = x[x > 1]
    if x.sum() > 5:
        y = y * 2
    return y


@program
def by_other_masks(np: Any, x: Any) -> Any:
    if x.max() > 1.9:
        y = x[x > 1]
    else:
        y = x[x > 0.7]
    return y.sum(), y.shape[0]


@program
def returned(np: Any, x: Any) -> Any:
    if x[0] > 1:
        return x[x > 1], x.sum()
    return x[x <= 1] * 3, x[0]


@program
def in_branches_of_branches(np: Any, x: Any) -> Any:
    y = x[x > 1]
    if x[0] > 1:
        if x[1] > 1:
            y = y + 1
        else:
            y = x[x > 0.7]
    elif x[2] > 1:
        y = y - 1
    return np.sort(y), y.shape[0]


@program
def perhaps_none(np: Any, x: Any) -> Any:
    y = None
    if x[0] > 1:
        y = x[x > 1]
    return x.sum() if y is None else y.sum()


@program
def of_columns(np: Any, x: Any) -> Any:
    y = np.outer(x, x)[:, x > 1]
    if x[0] > 1:
        y = y * 2 + x[:, None]
    return y.sum(0), y


@program
def exchanged(np: Any, x: Any) -> Any:
    y, z = x[x > 1], x[x > 0.5]
    if x[0] > 1:
        y, z = z, y
    return y, z


@program
def in_a_dict(np: Any, x: Any) -> Any:
    d = {"a": x[x > 1], "b": 1.0}
    if x[0] > 1:
        d["a"] = d["a"] * 2
        d["b"] = 2.0
    return d["a"] * d["b"]


@program
def in_a_tuple(np: Any, x: Any) -> Any:
    t = (x[x > 1], 1.0)
    if x[0] > 1:
        t = (t[0] * 2, 2.0)
    return t[0], t[1]


@program
def in_an_expression(np: Any, x: Any) -> Any:
    y = x[x > 1] if x[0] > 1 else x[x > 0.5] * 2
    return y if y.sum() > 3 else -y


@program
def written_before(np: Any, x: Any) -> Any:
    y = x[x > 1]
    y[:1] = 0
    if x[0] > 1:
        y = y * 2
    return y


@program
def stored_again(np: Any, x: Any) -> Any:
    y = x[x > 1]
    if x[0] > 1:
        y = y * 2
    x[x > 1] = y
    return x


@program
def as_long_as_it_is_large(np: Any, x: Any) -> Any:
    y = x[x > 0.7]
    while y.sum() > 3:
        y = y / 2
    return y


@program
def by_a_rising_threshold(np: Any, x: Any) -> Any:
    t = 0.2
    y = x[x > t]
    while y.sum() > 3:
        t = t + 0.1
        y = x[x > t]
    return y, t


@program
def until_a_break(np: Any, x: Any) -> Any:
    s, y = 0.0, x[x > 1]
    for _ in range(6):
        if y.sum() > 4:
            break
        y = y * 1.5
        s += y.max(initial=0.0)
    return y, s


BOUNDED = [f for f in PROGRAMS if f not in (as_long_as_it_is_large, by_a_rising_threshold)]


def examples() -> list[Any]:
    g = numpy.random.default_rng(0)
    return [g.uniform(0.2, 2.2, n) for n in (3, 7, 3, 12, 3)]


def flat(tree: Any) -> list[Any]:
    return [numpy.asarray(x) for x in (tree if isinstance(tree, tuple) else (tree,))]


def squares(np: Any, tree: Any) -> Any:
    parts = tree if isinstance(tree, tuple) else (tree,)
    return sum((np.asarray(x) ** 2).sum() * (k + 1) for k, x in enumerate(parts))


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("axes", [None, ({}, {0: "n"})])
def test_as_numpy(f: Program, axes: Any) -> None:
    options = {} if axes is None else {"abstracted_axes": axes}
    jitted = np.jit(f, static_argnums=0, **options)
    for x in examples():
        given = x.copy()
        want, got = flat(f(numpy, given)), flat(jitted(np, np.array(x)))
        for a, b in zip(want, got, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            numpy.testing.assert_allclose(b, a, rtol=1e-12)


@pytest.mark.parametrize("f", BOUNDED)
def test_gradients(f: Program) -> None:
    gradient = np.jit(np.grad(lambda x: squares(np, f(np, x))))
    for x in examples():
        want = []
        for e in numpy.eye(x.size) * 1e-6:
            high, low = (float(squares(numpy, f(numpy, x + s * e))) for s in (1, -1))
            want.append((high - low) / 2e-6)
        numpy.testing.assert_allclose(numpy.asarray(gradient(np.array(x))), want, 1e-5, 1e-6)


def written_afterwards(x: Any) -> Any:
    y = z = x[x > 1]
    if x[0] > 1:
        z = y * 2
    y *= 3
    return z


def written_by_its_other_name(x: Any) -> Any:
    y = x[x > 1]
    if x[0] > 1:
        z = y
    else:
        z = y * 2
    z += 1
    return y


def written_in_a_tuple(x: Any) -> Any:
    y = x[x > 1]
    t = (y, 1.0)
    if x[0] > 1:
        t = (y * 2, 2.0)
    y *= 2
    return t[0]


def written_after_a_loop(x: Any) -> Any:
    y = z = x[x > 1]
    while y.sum() > 3:
        y = y / 2
    y[:1] = 7
    return z


@pytest.mark.parametrize(
    "f", [written_afterwards, written_by_its_other_name, written_in_a_tuple, written_after_a_loop]
)
@pytest.mark.parametrize("axes", [None, ({0: "n"},)])
def test_a_write_that_may_have_to_reach_another_name_is_refused(f: Any, axes: Any) -> None:
    options = {} if axes is None else {"abstracted_axes": axes}
    with pytest.raises(TypeError):
        np.jit(f, **options)(np.array([1.5, 0.3, 1.2]))
