"""Derivatives of chains of Runge-Kutta steps: all steps together give those of one after the
other, which all other cases take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import scipy.integrate as si

import lazynp as np
from lazynp.interop import _integrals, _steps_at_once

X = numpy.array([0.8, 0.5, 1.3])
INF = numpy.inf


pytestmark = pytest.mark.usefixtures("hooked")


def _pendulum(t: Any, y: Any, a: Any, b: Any) -> Any:
    return [y[1], -a * np.sin(y[0]) - b * y[1] + np.cos(t)]


def _ivp(**options: Any) -> Callable[[Any], Any]:
    given: Any = {"t_span": (0.0, 3.0), "rtol": 1e-7, "atol": 1e-8} | options
    weights = numpy.linspace(1.0, 2.0, 4)

    def f(x: Any) -> Any:
        found = si.solve_ivp(_pendulum, y0=[x[2], 0.3], args=(x[0], x[1]), **given)
        return (found.y[:, -4:] @ weights[-found.y[:, -4:].shape[1] :]).sum() + found.y[0, 1]

    return f


def _sizes(x: Any) -> Any:
    """An array of states, an integrand that writes in place, and parameters in an object."""

    class Rates:
        growth = x[0] * np.arange(1.0, 6.0)

    def change(y: Any, t: Any, rates: Any) -> Any:
        out = np.zeros(5)
        out[1:] = -rates.growth[1:] * y[1:] + y[:-1] * y[1:]
        out[0] = x[1] - y[0]
        return out

    return si.odeint(change, np.full(5, 0.3) * x[2], numpy.linspace(0, 1, 9), (Rates(),)).sum()


def _only_the_start(x: Any) -> Any:
    return si.odeint(lambda y, t: -y * y, x, [0, 0.5, 4.0, 4.5]).prod()


def _fall(x: Any) -> Any:
    def ground(t: Any, y: Any) -> Any:
        return y[0]

    vars(ground).update(terminal=True)
    found = si.solve_ivp(
        lambda t, y: [y[1], -x[1] - x[0] * y[1] * abs(y[1])], (0, 9), [x[2], 0.5], events=ground,
        max_step=0.1, dense_output=True,
    )  # fmt: skip
    return found.t_events[0][0] + found.y[1, -1] + found.sol(0.33)[0]


CALLS: dict[str, Callable[[Any], Any]] = {
    "RK45": _ivp(),
    "at times": _ivp(t_eval=numpy.linspace(0.1, 3, 7)),
    "at the begin and the end": _ivp(t_eval=[0.0, 3.0]),
    "backwards": _ivp(t_span=(3.0, 0.5), t_eval=[3.0, 1.2, 0.5]),
    "RK23": _ivp(method="RK23", rtol=1e-5, atol=1e-6, t_eval=[1.0, 2.9]),
    "DOP853": _ivp(method="DOP853"),
    "LSODA": _ivp(method="LSODA"),
    "events": _fall,
    "sizes": _sizes,
    "only the start": _only_the_start,
}


def _derivatives(f: Callable[[Any], Any]) -> tuple[Any, ...]:
    x, along = np.array(X), np.array([0.3, -0.5, 1.0])
    with np.config(execution="reference"):
        value, slope = np.value_and_grad(f)(x)
        moved = np.jvp(f, (x,), (along,))[1]
        bent = np.hvp(f, (x,), (along,))
    return float(value), numpy.asarray(slope), float(moved), numpy.asarray(bent)


@pytest.mark.parametrize("name", CALLS)
def test_all_steps_together_and_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once: list[bool] = []

    def watched(*args: Any) -> Any:
        out = _steps_at_once.states(*args)
        at_once.append(out is not None)
        return out

    monkeypatch.setattr(_integrals, "states", watched)
    found = _derivatives(CALLS[name])
    assert at_once and all(at_once)
    monkeypatch.setattr(_integrals, "states", lambda *_: None)
    for got, want in zip(found, _derivatives(CALLS[name]), strict=True):
        numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def _branches(x: Any) -> Any:
    def change(y: Any, t: Any) -> Any:
        return -x[0] * y if t < 0.3 else -x[1] * y

    return si.odeint(change, x[2:], [0.0, 0.3, 1.0], tcrit=[0.3])[-1, 0]


def _remembers(x: Any) -> Any:
    calls: list[float] = []

    def change(y: Any, t: Any) -> Any:
        calls.append(1.0)
        return -x[0] * y * (1 + 1e-3 * (len(calls) % 2))

    return si.odeint(change, x[2:], [0.0, 1.0], rtol=1e-5, atol=1e-5)[-1, 0]


def test_what_reads_values_is_repeated_step_by_step() -> None:
    with np.config(execution="reference"):
        slope = np.grad(_branches)(np.array(X))
        end = 1.3 * numpy.exp(-0.8 * 0.3 - 0.5 * 0.7)
        want = [-0.3 * end, -0.7 * end, end / 1.3]
        numpy.testing.assert_allclose(slope, want, rtol=1e-4)
        slope = np.grad(_remembers)(np.array(X))
    numpy.testing.assert_allclose(slope[0], -1.3 * numpy.exp(-0.8), rtol=5e-3)


def test_higher_derivatives() -> None:
    def f(k: Any) -> Any:
        return si.odeint(lambda y, t: -k * y, [2.0], [0.0, 1.0], rtol=1e-11, atol=1e-11)[-1, 0]

    with np.config(execution="reference"):
        derivative: Any = f
        for order in (1, 2, 3, 4):
            derivative = np.grad(derivative)
            want = (-1) ** order * 2 * numpy.exp(-0.7)
            assert float(derivative(0.7)) == pytest.approx(want, rel=1e-8)
