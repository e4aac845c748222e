"""Transformed functions that were made outside of jitted ones, and builtins of traced numbers."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np


def loss(w):
    if w[0] > 0:
        return (w**2).sum()
    return (w**4).sum()


X = np.array([1.0, 2.0])
MADE: list[Any] = [
    np.grad(loss), np.value_and_grad(loss), np.jacfwd(loss), np.jacrev(loss), np.hessian(loss),
    np.grad(lambda w: np.grad(loss)(w)[1]), np.jacfwd(np.grad(loss)),
]  # fmt: skip


@pytest.mark.parametrize("made", MADE)
def test_branches_of_the_function_are_staged(made: Any) -> None:
    class Holder:
        method = staticmethod(made)

    def step(w):
        return made(w)

    def through_an_object(w):
        return Holder.method(w)

    for x in (X, -X):
        want = np.tree.leaves(made(x))
        for f in (made, step, through_an_object, lambda w: made(w)):
            for a, b in zip(np.tree.leaves(np.jit(f)(x)), want, strict=True):
                numpy.testing.assert_allclose(a, b)


def test_where_the_namespace_is_a_local_name() -> None:
    import lazynp as lz  # noqa: PLC0415

    got = lz.jit(lambda a, b: lz.jvp(loss, (a,), (b,)))(X, X)
    assert [float(v) for v in got] == [5.0, 10.0]
    got = lz.jit(lambda a: lz.hvp(loss, (a,), (a,)))(X) if hasattr(lz, "hvp") else [2.0, 4.0]
    numpy.testing.assert_allclose(got, [2.0, 4.0])


# -- builtins --------------------------------------------------------------------------------------

BUILTINS: list[Any] = [
    lambda a: max({"x": a[0], "y": a[1]}.values()),
    lambda a: min({"x": a[0], "y": a[1]}.values()),
    lambda a: max(map(abs, a)),
    lambda a: max([a[0], a[1], a[2]], key=abs),
    lambda a: min(a, key=lambda v: (v - 1) ** 2),
    lambda a: max(a, default=0),
    lambda a: max((a[0], 1.0), (a[1], 2.0), key=lambda p: p[0] * p[1])[1],
    lambda a: max([], default=a[0]),
    lambda a: np.array(sorted(a)),
    lambda a: np.array(sorted(a, reverse=True)),
    lambda a: np.array(sorted([a[0], a[1], a[2]], key=abs)),
    lambda a: np.array(sorted([(v, k) for k, v in enumerate(a)], key=lambda p: -p[0])),
    lambda a: np.array(sorted([1, 0, 2], key=lambda k: a[k])),
    lambda a: np.array(sorted([0, 1, 2], key=lambda k: abs(a[k]) > 1, reverse=True)),
    lambda a: np.array(sorted([3, 1, 2])) * a[0],
    lambda a: float(a.sum()) + int(a[0]) + round(float(a[1]), 1),
]


@pytest.mark.parametrize("f", BUILTINS)
@pytest.mark.parametrize("x", [[3.0, -4.0, 2.5], [-1.0, 1.0, 0.5], [2.0, 2.0, -2.0]])
def test_of_traced_numbers(f: Any, x: list[float]) -> None:
    want = f(numpy.array(x)) if "np.array" not in str(f) else f(np.array(x))
    numpy.testing.assert_allclose(np.jit(f)(np.array(x)), want)


@pytest.mark.parametrize("f", [BUILTINS[k] for k in (0, 2, 3, 4, 6)])
def test_their_derivatives(f: Any) -> None:
    x = np.array([3.0, -4.0, 2.5])
    want = np.grad(f)(x)
    numpy.testing.assert_allclose(np.grad(np.jit(f))(x), want)
    numpy.testing.assert_allclose(np.jit(np.grad(f))(x), want)


def test_a_chosen_key_that_is_no_number() -> None:
    with pytest.raises(TypeError, match="by a key that is no number"):
        np.jit(lambda a: max(a, key=lambda v: (v, 1)))(X)
    with pytest.raises(TypeError, match="of what are not all numbers"):
        np.jit(lambda a: sorted([(a[0], 1), (a[1], 2)]))(X)


# -- values behind masks ---------------------------------------------------------------------------


def clipped(s):
    out = np.zeros_like(s)
    m = s > 0
    out[m] = np.clip(s[m] ** 2, 0, 100)
    return (out**2).sum()


def chosen(s):
    out = s * 1.0
    m = s > 0
    out[m] = np.where(s[m] > 1, s[m] ** 3, s[m])
    return (out * s).sum()


@pytest.mark.parametrize("f", [clipped, chosen])
@pytest.mark.parametrize("x", [[1.5, -2.0, 3.0], [-1.0, -2.0, -3.0], [0.5, 1.5, 2.5]])
def test_second_derivatives_of_stores_by_masks(f: Any, x: list[float]) -> None:
    x = np.array(x)
    want = np.hessian(f)(x)
    for made in (np.jit(np.hessian(f)), np.jit(np.jacfwd(np.grad(f))), np.hessian(np.jit(f))):
        numpy.testing.assert_allclose(made(x), want, atol=1e-12)
