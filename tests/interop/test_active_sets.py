"""Linear programs and bounded least squares of scipy.optimize: their derivatives are those of
differences of SciPy's own results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import scipy.optimize as opt

import lazynp as np
from lazynp.interop import scipy as hooks

A = numpy.array([[2.0, 1.0], [1.0, 3.0]])
TALL = numpy.array([[1.0, 2.0, 0.3], [0.5, -1.0, 2.0], [1.0, 1.0, 0.3], [0.2, 0.7, -0.4]])
Y = numpy.array([1.0, -2.0, 3.0, 0.5])
COSTS = numpy.array([[4.0, 1.0, 3.0], [2.0, 0.5, 5.0]])
SUMS = numpy.vstack(
    [numpy.kron(numpy.eye(2), numpy.ones(3)), numpy.kron(numpy.ones(2), numpy.eye(3))]
)


@pytest.fixture(autouse=True, scope="module")
def _hooked() -> Iterator[None]:
    hooks.hook()
    yield
    hooks.unhook()


def _program(p: Any, **bounds: Any) -> Any:
    """p: seven numbers around 0 that move costs, rows and right-hand sides."""
    c = np.asarray([-1.0, -1.2]) + p[:2]
    return opt.linprog(c, A_ub=A + p[2], b_ub=np.asarray([4.0, 5.0]) + p[3:5], **bounds)


# what is called, at which place
CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "linprog": (lambda p: _program(p).x, numpy.zeros(5)),
    "linprog fun": (lambda p: _program(p).fun, numpy.zeros(5)),
    "linprog slack": (lambda p: _program(p, bounds=(0, 0.7)).slack, numpy.zeros(5)),
    "linprog prices": (lambda p: _program(p).ineqlin.marginals, numpy.zeros(5)),
    "linprog prices of a bound": (
        lambda p: _program(p, bounds=[(0, 0.7), (None, None)]).upper.marginals, numpy.zeros(5),
    ),
    "linprog bounds": (
        lambda p: _program(p, bounds=[(p[0], 0.7 + p[1]), (0.3, 0.3 + p[4] ** 2)]).x,
        numpy.array([0.0, 0.1, 0.0, 0.0, 0.2]),
    ),
    "linprog an array of bounds": (
        lambda p: opt.linprog([1.0, -2.0], bounds=np.stack([p, p + p**2], 1)).x,
        numpy.array([0.3, 0.4]),
    ),
    "linprog a list of traced numbers": (
        lambda p: opt.linprog([-p[0], -1.0], [[p[1], 1.0], [1.0, 3.0]], [4.0, p[0]]).x,
        numpy.array([2.5, 1.7]),
    ),
    "linprog a fixed variable": (
        lambda p: opt.linprog(
            [1.0, 2.0], A_eq=[[p[0], 1.0]], b_eq=[1.0], bounds=[(p[1], p[1]), (0, 9)]
        ).x,
        numpy.array([0.7, 0.4]),
    ),
    "linprog one equation too many": (
        # five sums, of which the fifth follows from the others
        lambda p: opt.linprog(
            COSTS.ravel() + p[0] * numpy.arange(6.0), A_eq=SUMS,
            b_eq=np.stack([2.0 + p[1], 3.0 - p[1], 1.0 + p[0], 1.5 + p[1], 2.5 - p[0] - p[1]]),
        ).x,
        numpy.array([0.1, 0.3]),
    ),
    "nnls": (lambda p: opt.nnls(TALL + p[0], Y * p[1])[0], numpy.array([0.0, 1.0])),
    "nnls norm": (lambda p: opt.nnls(TALL * p[1] + p[0], Y)[1], numpy.array([0.1, 1.0])),
    "lsq_linear": (lambda p: opt.lsq_linear(TALL + p[0], Y * p[1]).x, numpy.array([0.0, 1.0])),
    "lsq_linear bounds": (
        lambda p: opt.lsq_linear(TALL + p[0], Y, (-0.5 * p[1], [0.6, 9.0, p[1]]), "bvls").x,
        numpy.array([0.0, 1.0]),
    ),
    "lsq_linear cost": (
        lambda p: opt.lsq_linear(TALL, Y + p, bounds=(-0.5, 0.6)).cost, numpy.zeros(4),
    ),
    "lsq_linear underdetermined": (
        lambda p: opt.lsq_linear(TALL[:2] * p[0], Y[:2] + p[1]).x, numpy.array([1.2, 0.1]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    f, at = CASES[name]
    d, h = numpy.cos(1.0 + numpy.arange(at.size)), 1e-5
    want = (numpy.asarray(f(at + h * d)) - f(at - h * d)) / (2 * h)
    value, got = np.jvp(f, (np.asarray(at),), (np.asarray(d),))
    numpy.testing.assert_allclose(numpy.asarray(value), f(at), rtol=1e-7, atol=1e-9)
    numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-6, atol=1e-7)
    reverse = np.grad(lambda p: np.sum(f(p)))(np.asarray(at))
    assert float(reverse @ d) == pytest.approx(want.sum(), rel=1e-6, abs=1e-7)
    h = 1e-3
    curve = (numpy.sum(f(at + h * d)) - 2 * numpy.sum(f(at)) + numpy.sum(f(at - h * d))) / h**2
    second = np.hessian(lambda p: np.sum(f(p)))(np.asarray(at))
    assert float(d @ numpy.asarray(second) @ d) == pytest.approx(curve, rel=1e-4, abs=1e-3)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "no single vertex": lambda t: opt.linprog([-1.0, -1.0], [[1.0, 1.0]], t),
    "a degenerate vertex": lambda t: opt.linprog(
        [-1.0, -2.0], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], np.stack([t, t, 2 * t])
    ),
    "as many zeros as there are not in a vertex": lambda t: opt.linprog(
        COSTS.ravel(), A_eq=SUMS, b_eq=np.stack([2 * t, 2.5, t, 1.5, 2.0])
    ),
    "infeasible": lambda t: opt.linprog([1.0], [[1.0]], -t),
    "no single nonnegative solution": lambda t: opt.nnls(numpy.ones((3, 2)), t * numpy.ones(3)),
    "a bound that does not press": lambda t: opt.nnls(numpy.eye(2), np.stack([t, 0 * t])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_where_there_is_no_derivative(name: str) -> None:
    with pytest.raises(RuntimeError, match="there is no derivative"):
        np.jvp(REFUSED[name], (1.0,), (1.0,))


def test_what_is_refused() -> None:
    for f in (
        lambda t: opt.linprog([-1.0], [[1.0]], t, integrality=1),
        lambda t: np.jit(lambda t: opt.linprog([-1.0], [[1.0]], t).x)(t),
    ):
        with pytest.raises(TypeError):
            np.jvp(f, (1.0,), (1.0,))
