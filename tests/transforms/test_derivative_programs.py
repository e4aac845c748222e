"""Derivatives of programs that were written for NumPy, against differences by NumPy itself."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, jvp, value_and_grad
from tests.transforms import derivative_models, derivative_programs

PROGRAMS = {
    name: (vars(module)[name], numpy.array(parameters, float))
    for module in (derivative_programs, derivative_models)
    for name, parameters in module.PARAMETERS.items()
}


def on_lazynp(f: Any) -> Any:
    """The same code, with lazynp's names."""
    return FunctionType(f.__code__, {**f.__globals__, "np": np}, f.__name__)


def by_differences(f: Any, p: Any, step: float = 1e-6) -> Any:
    """Of fourth order: an error of 1e-9 at best."""
    weights = {2: -1 / 12, 1: 2 / 3, -1: -2 / 3, -2: 1 / 12}
    return numpy.array(
        [
            sum(w * float(f(p + k * step * e)) for k, w in weights.items()) / step
            for e in numpy.eye(p.size)
        ]
    )


# under `compiled`, each takes seconds: every round is its own part of the program
LONG = """ode_rk4 cloth option springs spline garch kalman lstm dtw eikonal nbody arma vi
raymarch hmm hmm_log sinkhorn icp ising_mf""".split()


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_and_tangents(name: str) -> None:
    if name in LONG and np.config.execution == "compiled":
        pytest.skip("takes long to compile")
    f, p = PROGRAMS[name]
    expected = by_differences(f, p)
    scale = 1 + abs(expected).max()
    lazy = on_lazynp(f)
    for _ in range(3):  # the first by the rules, later ones by what was kept
        value, found = value_and_grad(lazy)(np.array(p))
        numpy.testing.assert_allclose(value, f(p), rtol=1e-11)
        numpy.testing.assert_allclose(found, expected, atol=1e-7 * scale)
    direction = numpy.linspace(-1, 1, p.size)
    value, tangent = jvp(lazy, (np.array(p),), (np.array(direction),))
    numpy.testing.assert_allclose(value, f(p), rtol=1e-11)
    numpy.testing.assert_allclose(tangent, expected @ direction, atol=1e-7 * scale * p.size)


# of each kind of program one or two; the others take seconds to compile
STAGED = "heat_inplace bezier fftfilter hmm_log robust conv2d survival imagefilter".split()


@pytest.mark.parametrize("name", STAGED)
def test_jitted(name: str) -> None:
    f, p = PROGRAMS[name]
    expected = by_differences(f, p)
    found = jit(grad(on_lazynp(f)))(np.array(p))
    numpy.testing.assert_allclose(found, expected, atol=1e-7 * (1 + abs(expected).max()))
