"""scipy.integrate and sums of squares: their results depend on what the user's function reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import scipy.integrate as si
import scipy.optimize as so

import lazynp as np

X = numpy.array([0.8, 0.5, 1.3])
TIGHT = {"rtol": 1e-10, "atol": 1e-11}
INF = numpy.inf


pytestmark = pytest.mark.usefixtures("hooked")


def _pendulum(t: Any, y: Any, a: Any, b: Any) -> Any:
    return [y[1], -a * np.sin(y[0]) - b * y[1]]


def _decay(times: Any, **options: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        found = si.solve_ivp(
            lambda t, y: -x[0] * y + x[1] * t, times, x[1:], **TIGHT, **options
        )  # fmt: skip
        return (found.y * found.y)[:, -1].sum()

    return f


PLACES = numpy.linspace(0.0, 2.0, 6)


def _fitted(x: Any) -> Any:
    places = numpy.linspace(0.0, 1.0, 3)
    best, spread = so.curve_fit(
        lambda t, a: a * np.exp(-t), places, numpy.exp(-places) + 0.1 * x, sigma=[1.0, 2.0, 1.0],
        ftol=1e-13, xtol=1e-13,
    )  # fmt: skip
    return best[0] + spread[0, 0]


def _falls(x: Any) -> Any:
    """When and how a ball hits the ground, and when it is highest."""

    def ground(t: Any, y: Any) -> Any:
        return y[0] - 0.1 * x[1]

    def top(t: Any, y: Any) -> Any:
        return y[1]

    vars(ground).update(terminal=True, direction=-1)
    found = si.solve_ivp(
        lambda t, y: [y[1], -9.8 * x[1]], [0.1, 3], [x[0], x[2]], events=[ground, top], **TIGHT
    )
    ends = found.t_events[0][0] + found.t_events[1][0] + found.t[-1]
    return ends + found.y_events[0][0, 1] + found.y[1, -1]


def _between(x: Any) -> Any:
    found = si.solve_ivp(
        lambda t, y: -x[0] * y, (0, 0.9), x[1:], dense_output=True, rtol=1e-8, atol=1e-9
    )
    return found.sol(0.5 * x[1])[0] + found.sol([0.7, 0.2])[1, 0]


def _by_times(method: str) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        found = si.solve_ivp(
            lambda t, y: [-x[0] * y[0] + np.sin(t)],
            (0.1 * x[1], 0.7 * x[2]),
            [1.0],
            method,
            **TIGHT,
        )
        at = si.solve_ivp(
            lambda t, y: -x[0] * y, (0, 1.0), [1.0], method, np.array([0.2, 0.5]) * x[2], **TIGHT
        )
        return found.y[0, -1] * found.t[-1] + at.y[0, 0] * at.y[0, 1]

    return f


CALLS: dict[str, Callable[[Any], Any]] = {
    "quad": lambda x: si.quad(lambda t: np.exp(-x[0] * t) * x[1], 0, x[2])[0],
    "quad limits": lambda x: si.quad(numpy.cos, -x[1], x[0])[0],
    "quad of nothing": lambda x: si.quad(lambda t: x[0] + t, x[1], x[1])[0],
    "quad args": lambda x: si.quad(lambda t, k: np.exp(-k * t * t), 0, 1, (x[1],), epsabs=1e-12)[0],
    "quad of the line": lambda x: si.quad(lambda t: np.exp(-x[0] * t * t + x[1] * t), -INF, INF)[0],
    "quad upwards": lambda x: si.quad(lambda t: np.exp(-x[0] * t), x[1], INF)[0],
    "quad downwards": lambda x: si.quad(lambda t: np.exp(x[0] * t), -INF, x[1])[0],
    "quad twice": lambda x: si.quad(
        lambda u: si.quad(lambda v: np.exp(-x[0] * u * v), 0, 1)[0], 0, x[1]
    )[0],
    "solve_ivp": lambda x: si.solve_ivp(
        _pendulum, (0, 1), [x[2], 0.0], args=(x[0], x[1]), **TIGHT
    ).y[0, -1],
    "solve_ivp at times": _decay((0, 1), t_eval=[0.0, 0.3, 0.9]),
    "solve_ivp backwards": _decay((1, 0), t_eval=[1.0, 0.3]),
    "solve_ivp RK23": lambda x: si.solve_ivp(
        lambda t, y: -x[0] * y, (0, 0.3), x[1:], "RK23", rtol=1e-8, atol=1e-9
    ).y[1, -1],
    "solve_ivp LSODA": lambda x: si.solve_ivp(
        lambda t, y: -x[0] * y, (0, 0.3), x[1:], "LSODA", **TIGHT
    ).y[1, -1],
    "solve_ivp vectorized": _decay((0, 0.3), vectorized=True),
    "solve_ivp events": _falls,
    "solve_ivp dense_output": _between,
    "solve_ivp by its times": _by_times("DOP853"),
    "quad_vec": lambda x: si.quad_vec(lambda t: np.exp(-x * t), 0, x[1])[0].prod(),
    "odeint": lambda x: si.odeint(lambda y, t: -x[0] * y, x[1:], [0, 0.2, 0.5], **TIGHT)[2].sum(),
    "odeint tfirst": lambda x: si.odeint(
        _pendulum, [x[2], 0.0], [0, 0.4], (x[0], x[1]), tfirst=True, **TIGHT
    )[1, 0],
    "least_squares": lambda x: so.least_squares(
        lambda z: z**3 + z - x, numpy.ones(3), xtol=1e-14, gtol=1e-14
    ).x.prod(),
    "least_squares in bounds": lambda x: so.least_squares(
        lambda z: np.stack([z[0] - 3 * x[0], z[1] - z[0] * x[1], z[0] * z[1] - x[2]]),
        [0.1, 0.1],
        bounds=([0.0, -1.0], [0.6, 5.0]),
        xtol=1e-14,
        gtol=1e-14,
        ftol=1e-14,
    ).x.sum(),
    "curve_fit": _fitted,
    "curve_fit in bounds": lambda x: so.curve_fit(
        lambda t, a, c: a * numpy.exp(-PLACES) + c,
        PLACES,
        2 * numpy.exp(-PLACES) - x[0] * PLACES,
        bounds=(-0.3, [3.0, 2.0]),
        method="dogbox",
    )[0].sum(),
}


@pytest.mark.parametrize("name", CALLS)
def test_value_and_derivative(name: str) -> None:
    f = CALLS[name]
    step = 1e-3
    if name == "quad of nothing":
        assert float(np.grad(f)(np.array(X))[1]) == 0
        return
    expected = [
        (float(f(X + step * e)) - float(f(X - step * e))) / (2 * step) for e in numpy.eye(3)
    ]
    with np.config(execution="reference"):  # many small operations
        value, found = np.value_and_grad(f)(np.array(X))
        _, moved = np.jvp(f, (np.array(X),), (np.array([0.3, -0.5, 1.0]),))
    numpy.testing.assert_allclose(value, float(f(X)), rtol=1e-9)
    numpy.testing.assert_allclose(
        found, expected, atol=2e-5 * (1 + abs(numpy.array(expected)).max())
    )
    numpy.testing.assert_allclose(moved, found @ numpy.array([0.3, -0.5, 1.0]), rtol=1e-9)


def test_the_derivative_of_an_exponential_decay() -> None:
    def f(k: Any) -> Any:
        return si.solve_ivp(lambda t, y: -k * y, (0, 1), [2.0], **TIGHT).y[0, -1]

    with np.config(execution="reference"):
        numpy.testing.assert_allclose(np.grad(f)(0.7), -2 * numpy.exp(-0.7), rtol=1e-8)
        numpy.testing.assert_allclose(np.grad(np.grad(f))(0.7), 2 * numpy.exp(-0.7), rtol=1e-7)


def test_what_has_no_derivative_says_so() -> None:
    refused: list[Callable[[Any], Any]] = [
        lambda x: si.quad(lambda t: x[0] * t, 0, 1, points=[0.5])[0],
        lambda x: si.quad(lambda t: x[0] * t, 0, 1, full_output=1)[0],
        lambda x: si.solve_ivp(lambda t, y: -y * x[0], (0, 1), [1.0], dense_output=True).sol(2.0)[
            0
        ],
        lambda x: si.quad_vec(lambda t: np.exp(-x * t), 0, INF)[0],
        lambda x: si.odeint(lambda y, t: -y * x[0], [1.0], [0, 1], full_output=True)[0][1, 0],
        lambda x: so.least_squares(lambda z: z - x, numpy.ones(3), loss="cauchy").x.sum(),
        lambda x: so.least_squares(lambda z: z - x, numpy.ones(3), bounds=(0, 2 * x)).x.sum(),
        lambda x: so.curve_fit(lambda t, a: a * t, [1, 2, 3], x, bounds=(0, x[0]))[0][0],
    ]
    for f in refused:
        with pytest.raises(TypeError, match="no derivative is implemented for"):
            np.grad(f)(np.array(X))
    with pytest.raises(TypeError, match="need values|only traced"):
        np.jit(CALLS["solve_ivp"])(np.array(X))


def test_what_reads_nothing_traced_is_scipys_own() -> None:
    def f(x: Any) -> Any:
        area, error = si.quad(lambda t: t * t, 0, 3)
        assert type(area) is float and error > 0
        states = si.odeint(lambda y, t: -y, [1.0], [0, 1])
        assert type(states) is numpy.ndarray
        return x * area

    assert float(np.grad(f)(2.0)) == pytest.approx(9.0)
