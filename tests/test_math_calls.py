"""What an error names in place of a function of `math` that cannot take a traced value."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy
import pytest

import lazynp as np

WEIGHTS = numpy.ones(2)
CALLS: list[tuple[Any, Any, str]] = [
    (np.grad, lambda x: math.sin(x), "math.sin takes no traced value: write np.sin"),
    (np.jit, lambda x: math.gamma(x), "write np.special.gamma"),
    (np.jit, lambda x: cmath.phase(x), "cmath.phase takes no traced value: write np.angle"),
    (np.grad, lambda x: WEIGHTS.dot([x, x]), "numpy's method dot .* write np.dot"),
    (np.grad, lambda x: WEIGHTS.T.dot([x, x]), "numpy's method dot .* write np.dot"),
    (np.grad, math.sin, "math.sin takes no traced value: write np.sin"),
    (np.jacfwd, math.erf, "math.erf takes no traced value: write np.special.erf"),
    (lambda f: lambda x: np.vjp(f, x), cmath.exp, "cmath.exp takes no .* write np.exp"),
    (lambda f: lambda x: np.vmap(f)(np.stack([x, x])), math.sin, "write np.sin"),
    (np.jit, math.sin, "write np.sin"),
]


@pytest.mark.parametrize("transform, call, says", CALLS)
def test_what_to_write_instead(transform: Any, call: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        transform(call)(np.asarray(0.5))


def test_other_calls_are_not_named() -> None:
    for call in (lambda x: math.remainder(x, 2.0), lambda x: list(range(x))):
        with pytest.raises(TypeError) as error:
            np.jit(call)(np.asarray(0.5))
        assert "takes no traced value" not in str(error.value)
