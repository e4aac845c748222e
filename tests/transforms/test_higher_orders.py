"""Derivatives of higher order where a rule has a case of its own: powers at exponents 0 and 1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp import grad, hessian, jacfwd, jacrev, jit, jvp

Function = Callable[..., Any]


def _forward(f: Function, i: int) -> Function:
    def derivative(*xs: Any) -> Any:
        moved = tuple(float(k == i) + 0 * x for k, x in enumerate(xs))
        return jvp(f, xs, moved)[1]

    return derivative


def _reverse(f: Function, i: int) -> Function:
    return lambda *xs: grad(f, i, holomorphic=np.iscomplexobj(xs[0]))(*xs)


MODES: dict[str, Callable[[Function, int], Function]] = {
    "forward": _forward,
    "reverse": _reverse,
    "jit": lambda f, i: jit(_reverse(f, i)),
}


def _close(got: Any, want: Any, tol: float = 1e-12) -> None:
    numpy.testing.assert_allclose(got, want, rtol=tol, atol=tol)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("power", [np.power, np.float_power])
@pytest.mark.parametrize("x", [2.0, 0.3, 1.5 + 0.5j])
def test_powers(mode: str, power: Any, x: Any) -> None:
    """As the derivatives of exp(y log(x)), by the two operands in each order."""
    derive = MODES[mode]
    # LLVM takes half a minute for all the third derivatives of complex numbers
    few = np.config.execution == "compiled" and isinstance(x, complex)
    for order in (1, 2) if few else (1, 2, 3):
        for places in itertools.product((0, 1), repeat=order):
            f: Function = power
            g: Function = lambda x, y: np.exp(y * np.log(x))  # noqa: E731
            for i in places:
                f, g = derive(f, i), derive(g, i)
            for y in (0.0, 1.0, 2.0, -1.0, 0.5):
                with np.config(execution="reference"):
                    want = numpy.asarray(g(x, y + 0 * x))
                _close(f(x, y + 0 * x), want, 1e-11)


@pytest.mark.parametrize("execution", ["reference", "adaptive", "compiled"])
def test_hessians_of_powers(execution: str) -> None:
    want = [[0, 0.5], [0.5, numpy.log(2) ** 2]]
    p = np.array([2.0, 0.0])
    with np.config(execution=execution):
        for h in (hessian, lambda f: jacrev(jacrev(f)), lambda f: jacfwd(jacfwd(f))):
            _close(h(lambda p: p[0] ** p[1])(p), want)
            _close(jit(h(lambda p: p[0] ** p[1]))(p), want)
        _close(grad(grad(lambda v: (2 + v) ** v))(0.0), 1 + numpy.log(2) ** 2)
        _close(grad(grad(grad(lambda v: (1 + v) ** v)))(0.0), -3.0)


# base, exponent: the derivatives by the base, of orders 1 to 3
BASES = [
    (0.0, 0.0, [0, 0, 0]), (0.0, 1.0, [1, 0, 0]), (0.0, 2.0, [0, 2, 0]), (0.0, 3.0, [0, 0, 6]),
    (-2.0, 0.0, [0, 0, 0]), (-2.0, 1.0, [1, 0, 0]), (-2.0, 3.0, [12, -12, 6]),
    (5e-324, 0.0, [0, 0, 0]), (numpy.inf, 0.0, [0, 0, 0]), (-2.0, -1.0, [-0.25, -0.25, -0.375]),
]  # fmt: skip


@pytest.mark.parametrize(("x", "y", "want"), BASES)
def test_by_bases(x: float, y: float, want: list[float]) -> None:
    for mode in MODES.values():
        f: Function = lambda x: np.power(x, numpy.array(y))  # noqa: E731
        for w in want:
            f = mode(f, 0)
            assert float(f(x)) == w


def test_at_zero_to_the_power_of_zero() -> None:
    assert np.hessian(lambda p: p[0] ** p[1])(np.zeros(2)).tolist() == [[0, 0], [0, 0]]


@settings(max_examples=25, deadline=None)
@given(
    places=st.lists(st.integers(0, 2), min_size=1, max_size=5),
    values=st.lists(st.sampled_from([0.0, 0.0, 2.0, -3.0]), min_size=5, max_size=5),
)
def test_products_at_places_with_zeros(places: list[int], values: list[float]) -> None:
    """The product of all other factors is zero beside a zero, its derivative is not."""
    n, base = len(places), numpy.array([2.0, 0.5, -1.0])
    x = numpy.array(values[:n])

    def products(x: Any) -> Any:
        y = np.array(base)
        np.multiply.at(y, places, x)
        return (y * np.array([1.0, 10.0, 100.0])).sum()

    def without(*left_out: int) -> Any:
        """The derivative by some factors at one place: the product of all others there."""
        (place,) = {places[i] for i in left_out}
        here = [x[k] for k in range(n) if places[k] == place and k not in left_out]
        return base[place] * 10.0**place * math.prod(here)

    slope = [without(i) for i in range(n)]
    bend = [
        [without(i, k) if i != k and places[i] == places[k] else 0.0 for k in range(n)]
        for i in range(n)
    ]
    numpy.testing.assert_allclose(np.grad(products)(x), slope, atol=1e-12)
    for second in (
        np.hessian(products),
        np.jacrev(np.grad(products)),
        np.jacfwd(np.jacfwd(products)),
    ):
        numpy.testing.assert_allclose(second(x), bend, atol=1e-12)


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "hypot"])
def test_reductions_over_no_slices(name: str) -> None:
    def none(x: Any) -> Any:
        made = getattr(np, name).reduceat(x, numpy.zeros(0, int), axis=1)
        assert made.shape == (3, 0) and made.dtype == x.dtype
        return made.sum() + x[0, 1]

    want = numpy.zeros((3, 2))
    want[0, 1] = 1
    assert np.grad(none)(np.ones((3, 2))).tolist() == want.tolist()
    assert np.jit(np.grad(none))(np.ones((3, 2))).tolist() == want.tolist()
