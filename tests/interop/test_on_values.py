"""What SciPy calls for values alone takes no part in the derivative, so it records no tangents."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import scipy.integrate
import scipy.optimize

import lazynp as np
from lazynp.interop._calls import is_traced

pytestmark = pytest.mark.usefixtures("hooked")


SEEN: list[bool] = []


def _noted(p: Any) -> Any:
    SEEN.append(is_traced(p))
    return p


def closed(p: Any) -> Callable[[Any], Any]:
    return lambda x: np.exp(-_noted(p) * x)


def by_default(p: Any) -> Callable[[Any], Any]:
    return lambda x, p=p, *, q=p: np.exp(-_noted(p) * x) + 0 * q


def inner(p: Any) -> Callable[[Any], Any]:
    rate = closed(p)
    return lambda x: rate(x)


def in_a_tuple(p: Any) -> Callable[[Any], Any]:
    pair = (1, (p,))
    return lambda x: np.exp(-_noted(pair[1][0]) * x)


def partial(p: Any) -> Callable[[Any], Any]:
    return functools.partial(lambda p, x, q: np.exp(-_noted(p) * x) + 0 * q, p, q=p)


MAKERS = [closed, by_default, inner, in_a_tuple, partial]
SEARCHES: dict[str, Callable[[Any], Any]] = {
    "quad": lambda f: scipy.integrate.quad(f, 0.0, 2.0)[0],
    "quad_vec": lambda f: scipy.integrate.quad_vec(f, 0.0, 2.0)[0],
    "brentq": lambda f: scipy.optimize.brentq(lambda x: f(x) - 0.5, 0.1, 5.0, xtol=1e-14),
    "odeint": lambda f: scipy.integrate.odeint(lambda y, t: -f(t) * y, 1.0, [0.0, 1.0])[-1, 0],
    "solve_ivp": lambda f: scipy.integrate.solve_ivp(
        lambda t, y: -f(t) * y, (0, 1), [1.0], rtol=1e-9, atol=1e-12
    ).y[0, -1],
}  # fmt: skip


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", list(SEARCHES))
def test_scipy_calls_functions_of_values(name: str, maker: Any) -> None:
    search = SEARCHES[name]

    def f(p: Any) -> Any:
        return search(maker(p))

    h = 1e-5
    want = (f(0.8 + h) - f(0.8 - h)) / (2 * h)
    for derivative in (np.grad(f), lambda p: np.jvp(f, (p,), (1.0,))[1]):
        SEEN.clear()
        numpy.testing.assert_allclose(derivative(np.asarray(0.8)), want, rtol=1e-6)
        assert SEEN.count(True) and SEEN.count(False) >= (5 if name == "brentq" else 20)
        if name in ("quad", "quad_vec"):
            assert SEEN.count(True) <= 2  # to see that it is traced, and at all places at once


def test_an_integrand_that_branches_or_has_effects() -> None:
    """It is called for one place after the other."""

    def f(p: Any) -> Any:
        return scipy.integrate.quad(lambda x: p * x if x < p else p**2, 0.0, 2.0)[0]

    numpy.testing.assert_allclose(np.grad(f)(1.2), 1.5 * 1.2**2 + 4 * 1.2 - 3 * 1.2**2, rtol=1e-2)


class Model:
    def __init__(self, rate: Any) -> None:
        self.rate = rate

    def slope(self, x: Any) -> Any:
        return np.exp(-self.rate * x)


def test_objects_are_left_as_they_are() -> None:
    def f(p: Any) -> Any:
        model, calls = Model(p), [0]

        def counted(x: Any) -> Any:
            calls[0] += 1
            return model.slope(x) * (1 + 0 * p)

        found = scipy.integrate.quad(counted, 0.0, 2.0)[0]
        assert calls[0] > 21
        return found

    want = (2 * 0.8 + 1) * numpy.exp(-1.6) / 0.64 - 1 / 0.64
    numpy.testing.assert_allclose(np.grad(f)(0.8), want)


def test_one_derivative_of_a_search_takes_one_step() -> None:
    """Of Newton's, with the value of the Jacobian; more derivatives take as many as they need."""
    calls: list[Any] = []

    def root(s: Any) -> Any:
        def miss(z: Any) -> Any:
            calls.append(is_traced(s))
            return z**3 + s * z - 1

        return scipy.optimize.brentq(miss, 0.0, 3.0, xtol=1e-15)

    first, second = np.grad(root), np.grad(np.grad(root))
    slope = first(0.9)
    assert sum(calls) == 2  # whether it is traced, and the step
    bent, h = second(0.9), 1e-4
    numpy.testing.assert_allclose(slope, (root(0.9 + h) - root(0.9 - h)) / (2 * h), rtol=1e-6)
    numpy.testing.assert_allclose(bent, (first(0.9 + h) - first(0.9 - h)) / (2 * h), rtol=1e-6)
