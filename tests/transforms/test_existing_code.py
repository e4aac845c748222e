"""Derivatives of code that exists, against differences of what NumPy and SciPy compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.interop import scipy as hooks
from tests.transforms import existing_fits, existing_idioms, existing_science

PROGRAMS = {
    name: (vars(module)[name], numpy.array(parameters, float))
    for module in (existing_science, existing_fits, existing_idioms)
    for name, parameters in module.PARAMETERS.items()
}
_STEP, _WEIGHTS = 2e-4, {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}


@pytest.fixture(autouse=True, scope="module")
def _by_numpy() -> Iterator[None]:
    before = np.config.execution
    np.config(execution="reference")  # compilation is not the subject
    yield
    np.config(execution=before)
    hooks.unhook()


def _difference(f: Any, p: Any, direction: Any) -> float:
    """Of sixth order."""
    return (
        sum(
            w * (float(f(p + k * _STEP * direction)) - float(f(p - k * _STEP * direction)))
            for k, w in _WEIGHTS.items()
        )
        / _STEP
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_and_tangent(name: str) -> None:
    f, p = PROGRAMS[name]
    direction = numpy.cos(3.0 * numpy.arange(p.size))
    direction /= numpy.sqrt(direction @ direction)
    expected = _difference(f, p, direction)
    lazy, x = np.adopt(f), np.asarray(p)
    value, moved = np.jvp(lazy, (x,), (np.asarray(direction),))
    numpy.testing.assert_allclose(value, f(p), rtol=1e-10)
    found = numpy.asarray(np.grad(lazy)(x))
    scale = 1 + abs(found).max()
    assert abs(float(moved) - expected) < 1e-6 * scale
    assert abs(found @ direction - float(moved)) < 1e-10 * scale
